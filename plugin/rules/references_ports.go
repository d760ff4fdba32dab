package rules

import (
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

func checkPorts(r *render, report report) {
	for _, it := range r.items {
		if !it.applied() {
			continue
		}
		if it.pod != nil {
			for _, c := range it.pod.containers() {
				checkProbes(it, c, report)
				checkTwice(it, c.at.under("ports"), object.Items(c.value["ports"]), report)
			}
		}
		if it.is("", "Service") {
			checkTwice(it, path{"spec", "ports"}, object.Items(object.Field(it.Value, "spec", "ports")), report)
			r.checkTargets(it, report)
		}
	}
}

// checkTwice looks for a name that a list of ports has twice.
func checkTwice(it *item, at path, ports []any, report report) {
	seen := map[string]bool{}
	for i, port := range ports {
		name := object.Text(object.Field(port, "name"))
		if name != "" && seen[name] {
			report(it, at.under(i, "name"), "there are two ports %q", name)
		}
		seen[name] = true
	}
}

// checkProbes looks for probes and hooks of the container's life at a port name: it
// must be one of the same container.
func checkProbes(it *item, c container, report report) {
	check := func(handler any, at path) {
		for _, how := range []string{"httpGet", "tcpSocket"} {
			name := object.Text(object.Field(handler, how, "port"))
			if name == "" || strings.Trim(name, "0123456789") == "" || hasPort(c, name) {
				continue
			}
			report(it, at.under(how, "port"), "the container %q has no port %q%s", c.name(), name, portsOf(it.pod, name))
		}
	}
	for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
		check(c.value[probe], c.at.under(probe))
	}
	for _, moment := range []string{"postStart", "preStop"} {
		check(object.Field(c.value, "lifecycle", moment), c.at.under("lifecycle", moment))
	}
}

func hasPort(c container, name string) bool {
	return slices.ContainsFunc(object.Items(c.value["ports"]), func(port any) bool {
		return object.Text(object.Field(port, "name")) == name
	})
}

// portsOf says which container of the pod has a port, as the end of a message.
func portsOf(p *pod, name string) string {
	for _, c := range p.containers() {
		if hasPort(c, name) {
			return "; it is one of the container \"" + c.name() + "\""
		}
	}
	return ""
}

// checkTargets looks for target ports by a name that no selected pod has. That a
// number is not among the ports is no fault: what containers declare need not be all
// that they listen on. Nor is a name at a headless Service, which is asked for the
// addresses of pods and not for ports.
func (r *render) checkTargets(it *item, report report) {
	s := equalities(object.Mapping(object.Field(it.Value, "spec", "selector")))
	spec := object.Mapping(it.Value["spec"])
	if len(s) == 0 || spec["type"] == "ExternalName" || spec["clusterIP"] == "None" || r.foreign(it.id.Namespace) {
		return
	}
	pods := r.selected(it.id.Namespace, s)
	if len(pods) == 0 || slices.ContainsFunc(pods, injected) {
		return
	}
	for i, port := range object.Items(object.Field(it.Value, "spec", "ports")) {
		name := object.Text(object.Field(port, "targetPort"))
		if name == "" || slices.ContainsFunc(pods, func(p *pod) bool {
			return slices.ContainsFunc(p.containers(), func(c container) bool { return hasPort(c, name) })
		}) {
			continue
		}
		report(it, path{"spec", "ports", i, "targetPort"}, "no container of %s has a port %q", pods[0].item.text(), name)
	}
}

// injected reports whether an admission webhook adds containers to the pods, and with
// them ports.
func injected(p *pod) bool {
	for _, set := range []map[string]any{p.labels, p.annotations} {
		for key, value := range set {
			if strings.Contains(key, "inject") && value != "false" && value != "disabled" {
				return true
			}
		}
	}
	return false
}
