package rules

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// A selector is a list of demands on labels, all of which must hold.
type selector []demand

type demand struct {
	key, operator string // In, NotIn, Exists or DoesNotExist
	values        []string
}

// equalities is the selector of a mapping of labels.
func equalities(labels map[string]any) selector {
	var s selector
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		s = append(s, demand{key, "In", []string{object.Text(labels[key])}})
	}
	return s
}

// labelSelector reads a LabelSelector.
func labelSelector(v any) selector {
	s := equalities(object.Mapping(object.Field(v, "matchLabels")))
	for _, e := range object.Items(object.Field(v, "matchExpressions")) {
		d := demand{key: object.Text(object.Field(e, "key")), operator: object.Text(object.Field(e, "operator"))}
		for _, value := range object.Items(object.Field(e, "values")) {
			d.values = append(d.values, object.Text(value))
		}
		s = append(s, d)
	}
	return s
}

func (d demand) text() string {
	switch {
	case d.operator == "In" && len(d.values) == 1:
		return d.key + "=" + d.values[0]
	case d.operator == "Exists":
		return d.key
	case d.operator == "DoesNotExist":
		return "!" + d.key
	}
	return fmt.Sprintf("%s %s (%s)", d.key, strings.ToLower(d.operator), strings.Join(d.values, ", "))
}

func (d demand) met(p *pod) bool {
	if d.givenByController(p) {
		return true
	}
	value, found := p.labels[d.key]
	switch d.operator {
	case "In":
		return found && slices.Contains(d.values, object.Text(value))
	case "NotIn":
		return !found || !slices.Contains(d.values, object.Text(value))
	case "Exists":
		return found
	case "DoesNotExist":
		return !found
	}
	return true // the API server refuses it
}

// givenByController reports whether it is about a label that a controller of
// Kubernetes or a Rollout puts on each pod that it makes.
func (d demand) givenByController(p *pod) bool {
	switch d.key {
	case "statefulset.kubernetes.io/pod-name":
		return p.item.is("apps", "StatefulSet") && !slices.ContainsFunc(d.values, func(name string) bool {
			ordinal, found := strings.CutPrefix(name, p.item.id.Name+"-")
			_, err := strconv.ParseUint(ordinal, 10, 31)
			return !found || err != nil
		})
	case "apps.kubernetes.io/pod-index", "pod-template-hash", "controller-revision-hash", "rollouts-pod-template-hash", "controller-uid", "job-name":
		return true
	}
	return strings.HasPrefix(d.key, "batch.kubernetes.io/")
}

// unmet returns the demands that the pods do not meet.
func (s selector) unmet(p *pod) []demand {
	var out []demand
	for _, d := range s {
		if !d.met(p) {
			out = append(out, d)
		}
	}
	return out
}

// takes reports whether the pods meet all demands.
func (s selector) takes(p *pod) bool {
	return !slices.ContainsFunc(s, func(d demand) bool { return !d.met(p) })
}

// selected returns the pods of a namespace that a selector takes.
func (r *render) selected(namespace string, s selector) []*pod {
	var out []*pod
	for _, p := range r.pods(namespace) {
		if s.takes(p) {
			out = append(out, p)
		}
	}
	return out
}

// lost says why a selector takes no pods of the render, or "" where it takes some, or
// where it may be meant for pods that the render does not show.
//
// Nobody can tell which pods another application has in the namespace. But what
// shares a label with a workload of the render, or its name, is for that workload.
func (r *render) lost(it *item, s selector) string {
	if len(s) == 0 || len(r.selected(it.id.Namespace, s)) > 0 || r.foreign(it.id.Namespace) {
		return ""
	}
	var closest *pod
	var unmet []demand
	for _, p := range r.pods(it.id.Namespace) {
		if p.item.is("batch", "Job") || p.item.is("batch", "CronJob") || p.item.hook {
			continue
		}
		if u := s.unmet(p); closest == nil || len(u) < len(unmet) || len(u) == len(unmet) && p.item.id.Name == it.id.Name && closest.item.id.Name != it.id.Name {
			closest, unmet = p, u
		}
	}
	if closest == nil || r.strange(it, s, unmet, closest) || r.roles(it.id.Namespace, unmet) {
		return ""
	}
	var facts []string
	for _, d := range unmet {
		fact := "lacks " + d.text()
		if value, found := closest.labels[d.key]; found {
			fact = "has " + d.key + "=" + object.Text(value) + ", not " + d.text()
		}
		facts = append(facts, fact)
	}
	if 2*len(unmet) > len(s) && len(s) > 1 {
		return "no pod template of the render has all labels that it selects: " + s.text()
	}
	return fmt.Sprintf("it selects no pod template of the render; that of %s %s", closest.item.text(), strings.Join(facts, " and "))
}

func (s selector) text() string {
	var out []string
	for _, d := range s {
		out = append(out, d.text())
	}
	return strings.Join(out, ", ")
}

// strange reports whether no label of the selector is one that the workloads of the
// render use: it may be meant for the pods of an operator.
func (r *render) strange(it *item, s selector, unmet []demand, closest *pod) bool {
	if len(unmet) < len(s) || closest.item.id.Name == it.id.Name {
		return false
	}
	for _, p := range r.pods(it.id.Namespace) {
		for _, d := range s {
			if _, found := p.labels[d.key]; found {
				return false
			}
		}
	}
	return true
}

// roles reports whether the demands are about labels that the program in the pods
// changes at run time: the leader of a database, the unsealed of a vault.
func (r *render) roles(namespace string, demands []demand) bool {
	for _, d := range demands {
		for _, p := range r.pods(namespace) {
			if _, found := p.labels[d.key]; found {
				return false
			}
		}
		if !slices.ContainsFunc(words(d.text()), func(word string) bool {
			switch word {
			case "active", "current", "initialized", "leader", "master", "primary", "ready", "replica", "role", "sealed", "secondary", "slave", "standby":
				return true
			}
			return false
		}) {
			return false
		}
	}
	return len(demands) > 0
}

func checkServiceSelector(r *render, report report) {
	for _, it := range r.items {
		spec := object.Mapping(it.Value["spec"])
		if !it.is("", "Service") || spec["type"] == "ExternalName" {
			continue
		}
		if why := r.lost(it, equalities(object.Mapping(spec["selector"]))); why != "" {
			report(it, path{"spec", "selector"}, "%s", why)
		}
	}
}

func checkDisruption(r *render, report report) {
	for _, it := range r.items {
		if !it.is("policy", "PodDisruptionBudget") {
			continue
		}
		spec := object.Mapping(it.Value["spec"])
		s := labelSelector(spec["selector"])
		if why := r.lost(it, s); why != "" {
			report(it, path{"spec", "selector"}, "%s", why)
			continue
		}
		if spec["selector"] == nil {
			continue
		}
		if field, why := r.blocked(it.id.Namespace, spec, s); why != "" {
			report(it, path{"spec", field}, "%s", why)
		}
	}
}

// blocked says why a budget never allows an eviction, or "".
func (r *render) blocked(namespace string, spec map[string]any, s selector) (field, why string) {
	if number, share, ok := amount(spec["maxUnavailable"]); ok && number == 0 {
		return "maxUnavailable", "no pod may ever be evicted: maxUnavailable is 0" + share
	}
	number, share, ok := amount(spec["minAvailable"])
	if !ok {
		return "", ""
	}
	if share != "" && number >= 100 {
		return "minAvailable", fmt.Sprintf("no pod may ever be evicted: minAvailable is %d%%", number)
	}
	pods := r.selected(namespace, s)
	replicas := int64(0)
	for _, p := range pods {
		most, known := r.most(p.item)
		if !known {
			return "", ""
		}
		replicas += most
	}
	if replicas == 0 || r.foreign(namespace) {
		return "", ""
	}
	needed := number
	if share != "" {
		needed = (number*replicas + 99) / 100
	}
	if needed < replicas {
		return "", ""
	}
	return "minAvailable", fmt.Sprintf("no pod may ever be evicted: minAvailable is %d%s, and there is at most %d of %s", number, share, replicas, pods[0].item.text())
}

// amount reads an integer or a percentage, whose unit is "%".
func amount(v any) (number int64, unit string, ok bool) {
	if number, ok = whole(v); ok {
		return number, "", true
	}
	text, percent := strings.CutSuffix(object.Text(v), "%")
	number, err := strconv.ParseInt(text, 10, 32)
	return number, "%", percent && err == nil
}

// most returns the largest number of pods that a workload is to have.
func (r *render) most(workload *item) (int64, bool) {
	switch workload.id.Kind {
	case "Deployment", "StatefulSet", "ReplicaSet", "Rollout":
	default:
		return 0, false
	}
	for _, s := range r.scalers() {
		if s.target != workload.id {
			continue
		}
		for _, field := range []string{"maxReplicas", "maxReplicaCount"} {
			if most, ok := whole(object.Field(s.item.Value, "spec", field)); ok {
				return most, true
			}
		}
		return 0, false
	}
	replicas := object.Field(workload.Value, "spec", "replicas")
	if replicas == nil {
		return 1, true
	}
	return whole(replicas)
}
