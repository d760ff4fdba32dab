package rules

import (
	"fmt"
	"slices"

	"hallmark.dev/hallmark/internal/object"
)

var orderRules = []Rule{
	{
		ID: "hook-annotations", Group: groupOrder, Severity: Error,
		Reason: "Argo CD passes over annotations that it does not understand, without a word: the hook never runs, the wave is 0, the option is not set",
		Remedy: "write the annotation as Argo CD's documentation has it, in the metadata of the object itself",
		check:  checkHookAnnotations,
	},
	{
		ID: "hook-dependency", Group: groupOrder, Severity: Error,
		Reason: "the pod cannot start before the object is there, and Argo CD creates the object only when the pod has: the first sync hangs, and later ones run with what the last one left",
		Remedy: "make what the pod needs a hook of the same phase in an earlier wave, with a name of its own; or move the work behind it: into a later wave, or from PreSync to a Sync hook",
		check:  checkHookDependency,
	},
	{
		ID: "crd-order", Group: groupOrder, Severity: Warning,
		Reason: "Argo CD moves a definition to the phase and wave of its first resource, but not the controller and the webhooks that belong to it; and other tools do not move it",
		Remedy: "give the definition a lower wave than its resources, in the same phase or an earlier one",
		check:  checkCRDOrder,
	},
	{
		ID: "crd-same-wave", Group: groupOrder, Severity: Info,
		Reason: "within a wave Argo CD waits until a definition is established, but not for the controller that sets defaults, converts or admits its resources",
		Remedy: "give the resources a later wave than the definition and its controller, or deliver the definitions by an application of their own",
		check:  checkCRDSameWave,
	},
	{
		ID: "wave-health", Group: groupOrder, Severity: Warning,
		Reason: "a wave ends when its objects are healthy, and Argo CD takes a custom resource without a health check for healthy as soon as it is applied: the next wave does not wait",
		Remedy: "write a health check and build it into argocd-cm by `hallmark health build`; if Argo CD is taught it elsewhere, list the kind under lint.healthChecks of the policy",
		check:  checkWaveHealth,
	},
	{
		ID: "wave-phases", Group: groupOrder, Severity: Warning,
		Reason: "waves order objects within a phase only: all of PreSync runs before the first wave of Sync, and all of PostSync after the last",
		Remedy: "to run between two waves make the object a Sync hook with a wave between theirs; otherwise leave out its wave",
		check:  checkWavePhases,
	},
	{
		ID: "delete-hook", Group: groupOrder, Severity: Info,
		Reason: "hooks on deletion run when the whole Application is deleted, never when a sync prunes objects; Argo CD before 3.3 knows no PreDelete at all",
		Remedy: "protect what must not vanish without the hook by the sync options Prune=false or Prune=confirm, and where Argo CD is older do the work before the Application is deleted",
		check:  checkDeleteHook,
	},
}

// when tells a moment as the rest of a sentence has it, seen from another one.
func (m moment) when(from moment) string {
	if m.phase != from.phase {
		return fmt.Sprintf("in the %s phase", m.phase)
	}
	return fmt.Sprintf("in wave %d", m.wave)
}

type groupKind struct{ group, kind string }

func (it *item) groupKind() groupKind { return groupKind{it.id.Group, it.id.Kind} }

// A definition is a CustomResourceDefinition of the render with those objects of its
// kind that a sync applies.
type definition struct {
	crd       *item
	resources []*item
}

// definitions returns the CustomResourceDefinitions by the kind that they define, but
// for those that Argo CD leaves alone: they come from elsewhere.
func (r *render) definitions() map[groupKind]*definition {
	out := map[groupKind]*definition{}
	for _, it := range r.items {
		if it.is("apiextensions.k8s.io", "CustomResourceDefinition") && !it.skipped {
			out[groupKind{object.Text(object.Field(it.Value, "spec", "group")), object.Text(object.Field(it.Value, "spec", "names", "kind"))}] = &definition{crd: it}
		}
	}
	for _, it := range r.items {
		if d := out[it.groupKind()]; d != nil && len(it.moments) > 0 {
			d.resources = append(d.resources, it)
		}
	}
	return out
}

// report reports one finding for those resources of a definition for which that
// holds, on the first of them: they have one cause and one remedy.
func (d *definition) report(report report, holds func(*item) bool, format string, args func(*item) []any) {
	var first *item
	more := 0
	for _, it := range d.resources {
		switch {
		case !holds(it):
		case first == nil:
			first = it
		case it.moments[0].compare(first.moments[0]) < 0:
			first = it
			more++
		default:
			more++
		}
	}
	if first == nil {
		return
	}
	message := fmt.Sprintf(format, args(first)...)
	if more > 0 {
		message += fmt.Sprintf(" (and %d more of the kind)", more)
	}
	report(first, nil, "%s", message)
}

func checkCRDOrder(r *render, report report) {
	for _, d := range r.definitions() {
		name := d.crd.id.Name
		if len(d.crd.moments) == 0 {
			d.report(report, func(*item) bool { return true }, "needs the CustomResourceDefinition %q, a hook that Argo CD never applies in a sync", func(*item) []any { return []any{name} })
			continue
		}
		at := d.crd.moments[0]
		d.report(report, func(it *item) bool { return at.compare(it.moments[0]) > 0 },
			"comes %s, and its CustomResourceDefinition %q only %s", func(it *item) []any {
				return []any{it.moments[0].when(at), name, at.when(it.moments[0])}
			})
	}
}

func checkCRDSameWave(r *render, report report) {
	for _, d := range r.definitions() {
		if len(d.crd.moments) == 0 {
			continue
		}
		at := d.crd.moments[0]
		if len(d.resources) > 0 && isConfiguration(d.resources[0].id) && !r.admitted(d.resources[0].id.Group) {
			continue // nobody acts on the resources before the controller can
		}
		d.report(report, func(it *item) bool { return at == it.moments[0] },
			"comes in the same wave, %d, as its CustomResourceDefinition %q", func(*item) []any { return []any{at.wave, d.crd.id.Name} })
	}
}

// admitted reports whether an admission webhook of the render decides about the
// resources of a group, and refuses them while it cannot be reached.
func (r *render) admitted(group string) bool {
	for _, it := range r.items {
		if it.id.Group != "admissionregistration.k8s.io" {
			continue
		}
		for _, webhook := range object.Items(it.Value["webhooks"]) {
			if object.Text(object.Field(webhook, "failurePolicy")) == "Ignore" {
				continue
			}
			for _, rule := range object.Items(object.Field(webhook, "rules")) {
				if slices.Contains(object.Items(object.Field(rule, "apiGroups")), any(group)) {
					return true
				}
			}
		}
	}
	return false
}
