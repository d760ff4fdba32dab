package rules

import (
	"cmp"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

var writerRules = []Rule{
	{
		ID: "replicas-autoscaler", Group: groupWriters, Severity: Warning,
		Reason: "each sync sets the number of replicas back to the one in Git, in the middle of the load for which the autoscaler raised it",
		Remedy: "leave spec.replicas out of the workload; for the change-over see how Argo CD and the autoscaler hand it on without a moment of one replica",
		check:  checkReplicasAutoscaler,
	},
	{
		ID: "two-controllers", Group: groupWriters, Severity: Error,
		Reason: "two controllers of one workload undo each other's work without end, or stop working",
		Remedy: "keep one of the two; where one hands over to the other, leave spec.replicas of the workload to them",
		check:  checkTwoControllers,
	},
	{
		ID: "immutable-field", Group: groupWriters, Severity: Error,
		Reason: "Kubernetes refuses to change the field, so that the next sync that brings another value fails",
		Remedy: "keep what changes with each release out of the field; make a Job a hook, name it by its content, or give it the sync option Force=true, which replaces it",
		check:  checkImmutable,
	},
}

// A scaler is an object that controls a workload, with what it points to.
type scaler struct {
	item   *item
	target object.ID
}

// ref is the target as a reference has it: kind and name, of the scaler's namespace.
func target(it *item, reference any, group, kind string) (object.ID, bool) {
	if version := object.Text(object.Field(reference, "apiVersion")); version != "" {
		group = object.Object{Value: map[string]any{"apiVersion": version}}.ID().Group
	}
	id := object.ID{
		Group: group, Kind: cmp.Or(object.Text(object.Field(reference, "kind")), kind),
		Namespace: it.id.Namespace, Name: object.Text(object.Field(reference, "name")),
	}
	return id, id.Name != "" && id.Kind != ""
}

// scalers returns the autoscalers of the render.
func (r *render) scalers() []scaler {
	if r.scaled == nil {
		r.scaled = r.findScalers()
	}
	return r.scaled
}

func (r *render) findScalers() []scaler {
	out := []scaler{}
	for _, it := range r.items {
		reference := object.Field(it.Value, "spec", "scaleTargetRef")
		var id object.ID
		var found bool
		switch {
		case it.is("autoscaling", "HorizontalPodAutoscaler"):
			id, found = target(it, reference, "", "")
		case it.is("keda.sh", "ScaledObject"):
			id, found = target(it, reference, "apps", "Deployment")
		}
		if found {
			out = append(out, scaler{it, id})
		}
	}
	return out
}

func checkReplicasAutoscaler(r *render, report report) {
	seen := map[object.ID]bool{}
	for _, s := range r.scalers() {
		workload := r.byID[s.target]
		if workload == nil || seen[s.target] || object.Field(workload.Value, "spec", "replicas") == nil {
			continue
		}
		seen[s.target] = true
		report(workload, path{"spec", "replicas"}, "spec.replicas is set, and %s %q scales this %s", s.item.id.Kind, s.item.id.Name, s.target.Kind)
	}
}

func checkTwoControllers(r *render, report report) {
	scaledBy := map[object.ID]*item{}
	for _, s := range r.scalers() {
		first := scaledBy[s.target]
		if first == nil {
			scaledBy[s.target] = s.item
			continue
		}
		if takesOver(first, s.item) || takesOver(s.item, first) {
			continue
		}
		report(s.item, path{"spec", "scaleTargetRef"}, "scales %s %q, which %s %q scales, too", s.target.Kind, s.target.Name, first.id.Kind, first.id.Name)
	}
	r.checkProgressive(scaledBy, report)
}

// takesOver reports whether a ScaledObject adopts a HorizontalPodAutoscaler in place
// of making one of its own.
func takesOver(scaledObject, hpa *item) bool {
	return scaledObject.is("keda.sh", "ScaledObject") && hpa.is("autoscaling", "HorizontalPodAutoscaler") &&
		scaledObject.annotation("scaledobject.keda.sh/transfer-hpa-ownership") == "true" &&
		object.Text(object.Field(scaledObject.Value, "spec", "advanced", "horizontalPodAutoscalerConfig", "name")) == hpa.id.Name
}

// checkProgressive looks at what Argo Rollouts and Flagger do to a Deployment: both
// scale it down and run copies of it.
func (r *render) checkProgressive(scaledBy map[object.ID]*item, report report) {
	controlled := map[object.ID]*item{}
	for _, it := range r.items {
		var field path
		switch {
		case it.is("flagger.app", "Canary"):
			field = path{"spec", "targetRef"}
		case it.is(argoGroup, "Rollout"):
			field = path{"spec", "workloadRef"}
		default:
			continue
		}
		id, found := target(it, object.Field(it.Value, keys(field)...), "", "")
		if !found {
			continue
		}
		if first := controlled[id]; first != nil {
			report(it, field, "takes %s %q over, as %s %q does", id.Kind, id.Name, first.id.Kind, first.id.Name)
			continue
		}
		controlled[id] = it
		if it.is(argoGroup, "Rollout") && scaledBy[id] != nil {
			report(it, field, "takes %s %q over, which %s %q scales", id.Kind, id.Name, scaledBy[id].id.Kind, scaledBy[id].id.Name)
		}
		if workload := r.byID[id]; workload != nil {
			r.checkHandedOver(it, workload, report)
		}
	}
}

// checkHandedOver looks at the replicas of a workload that another controller scales
// down.
func (r *render) checkHandedOver(by, workload *item, report report) {
	replicas := object.Field(workload.Value, "spec", "replicas")
	scaleDown := object.Text(object.Field(by.Value, "spec", "workloadRef", "scaleDown"))
	byHand := by.is(argoGroup, "Rollout") && (scaleDown == "" || scaleDown == "never")
	switch {
	case isZero(replicas) || workload.is("apps", "DaemonSet"):
	case byHand:
		report(workload, path{"spec", "replicas"}, "Rollout %q runs the pods of this %s, and nothing scales it to 0", by.id.Name, workload.id.Kind)
	case replicas != nil:
		report(workload, path{"spec", "replicas"}, "spec.replicas is set, and %s %q scales this %s to 0", by.id.Kind, by.id.Name, workload.id.Kind)
	}
}

// sameOrBelow reports whether one of two paths leads to the other.
func sameOrBelow(a, b []any) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// movesWithRelease reports whether a label or an annotation is one of those that
// charts set anew with each version or each change of their configuration.
func movesWithRelease(key string, value any) bool {
	text := object.Text(value)
	switch {
	case text == "":
		return false
	case key == "helm.sh/chart", key == "app.kubernetes.io/version", strings.HasPrefix(key, "checksum/"):
		return true
	case key == "chart":
		return chartVersion(text) != ""
	}
	name := lastElement(key)
	return strings.HasSuffix(name, "checksum") || strings.HasSuffix(name, "config-hash") || strings.HasPrefix(name, "checksum-")
}
