package rules

import (
	"cmp"
	"fmt"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// A backend is a reference to a port of a Service.
type backend struct {
	at              path
	namespace, name string
	port            any // a number or a name; nil for any
}

func checkBackends(r *render, report report) {
	for _, it := range r.items {
		for _, b := range backends(it) {
			service := r.find("", "Service", b.namespace, b.name)
			if service == nil {
				r.missing(it, b, likely, report)
				continue
			}
			if ports, ok := lacksPort(service, b.port); ok {
				report(it, b.at, "the Service %q has no port %v, only %s", b.name, b.port, ports)
			}
		}
	}
}

// adviseBackends says where the name of the release may be missing. That is advice,
// since another application may well have the Service with the short name.
func adviseBackends(r *render, report report) {
	for _, it := range r.items {
		for _, b := range backends(it) {
			if r.find("", "Service", b.namespace, b.name) == nil {
				r.missing(it, b, possible, report)
			}
		}
	}
}

// missing reports a Service that does not exist, where one is there that it is as near
// to as that. What a controller may make is passed over.
func (r *render) missing(it *item, b backend, want nearness, report report) {
	place := r.place(b.namespace)
	if b.name == "" || place.foreign {
		return
	}
	var nearest *item
	best := unlike
	for _, service := range place.services {
		if n := near(b.name, service.id.Name); n > best {
			nearest, best = service, n
		}
	}
	if nearest != nil && best == want {
		report(it, b.at, "the render has no Service %q, but %q", b.name, nearest.id.Name)
	}
}

// lacksPort reports whether a Service has no such port, and which it has.
func lacksPort(service *item, port any) (ports string, lacks bool) {
	list := object.Items(object.Field(service.Value, "spec", "ports"))
	if object.Field(service.Value, "spec", "type") == "ExternalName" || len(list) == 0 {
		return "", false
	}
	wanted, byNumber := whole(port)
	name := object.Text(port)
	if !byNumber && name == "" {
		return "", false
	}
	var has []string
	for _, p := range list {
		number, _ := whole(object.Field(p, "port"))
		its := object.Text(object.Field(p, "name"))
		if byNumber && number == wanted || !byNumber && its == name {
			return "", false
		}
		text := fmt.Sprint(number)
		if its != "" {
			text += " (" + its + ")"
		}
		has = append(has, text)
	}
	return strings.Join(has, ", "), true
}

// backends returns those of an object, with the namespaces in which they are looked
// for. References of the wrong shape are passed over.
func backends(it *item) []backend {
	switch {
	case it.is("networking.k8s.io", "Ingress") || it.is("extensions", "Ingress"):
		return ingressBackends(it)
	case it.id.Group == "gateway.networking.k8s.io" && strings.HasSuffix(it.id.Kind, "Route"):
		return routeBackends(it)
	case it.is("apiregistration.k8s.io", "APIService"):
		return called(path{"spec", "service"}, object.Field(it.Value, "spec", "service"))
	case it.is("apiextensions.k8s.io", "CustomResourceDefinition"):
		at := path{"spec", "conversion", "webhook", "clientConfig", "service"}
		return called(at, object.Field(it.Value, keys(at)...))
	case it.is("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") || it.is("admissionregistration.k8s.io", "MutatingWebhookConfiguration"):
		var out []backend
		for i, webhook := range object.Items(it.Value["webhooks"]) {
			out = append(out, called(path{"webhooks", i, "clientConfig", "service"}, object.Field(webhook, "clientConfig", "service"))...)
		}
		return out
	}
	return nil
}

// called is the Service that the API server calls, on port 443 where none is given.
func called(at path, service any) []backend {
	b := backend{
		at: at, namespace: object.Text(object.Field(service, "namespace")), name: object.Text(object.Field(service, "name")),
		port: object.Field(service, "port"),
	}
	if b.port == nil {
		b.port = int64(443)
	}
	return []backend{b}
}

func ingressBackends(it *item) []backend {
	var out []backend
	add := func(at path, v any) {
		b := backend{at: at.under("service"), namespace: it.id.Namespace, name: object.Text(object.Field(v, "service", "name"))}
		if port := object.Mapping(object.Field(v, "service", "port")); port["number"] != nil {
			b.port = port["number"]
		} else {
			b.port = port["name"]
		}
		if name := object.Text(object.Field(v, "serviceName")); name != "" { // v1beta1
			b = backend{at: at, namespace: it.id.Namespace, name: name, port: object.Field(v, "servicePort")}
		}
		if b.port != "use-annotation" { // an action of the AWS load balancer, and no Service
			out = append(out, b)
		}
	}
	spec := object.Mapping(it.Value["spec"])
	for _, field := range []string{"defaultBackend", "backend"} {
		add(path{"spec", field}, spec[field])
	}
	for i, rule := range object.Items(spec["rules"]) {
		for j, p := range object.Items(object.Field(rule, "http", "paths")) {
			add(path{"spec", "rules", i, "http", "paths", j, "backend"}, object.Field(p, "backend"))
		}
	}
	return out
}

func routeBackends(it *item) []backend {
	var out []backend
	add := func(at path, ref any) {
		group, kind := object.Text(object.Field(ref, "group")), object.Text(object.Field(ref, "kind"))
		if group != "" || kind != "" && kind != "Service" {
			return
		}
		out = append(out, backend{
			at: at, namespace: cmp.Or(object.Text(object.Field(ref, "namespace")), it.id.Namespace),
			name: object.Text(object.Field(ref, "name")), port: object.Field(ref, "port"),
		})
	}
	for i, rule := range object.Items(object.Field(it.Value, "spec", "rules")) {
		for j, ref := range object.Items(object.Field(rule, "backendRefs")) {
			add(path{"spec", "rules", i, "backendRefs", j}, ref)
		}
		for j, filter := range object.Items(object.Field(rule, "filters")) {
			if ref := object.Field(filter, "requestMirror", "backendRef"); ref != nil {
				add(path{"spec", "rules", i, "filters", j, "requestMirror", "backendRef"}, ref)
			}
		}
	}
	return out
}
