package rules

import (
	"fmt"
	"slices"
	"time"

	"hallmark.dev/hallmark/internal/object"
)

// Options are what is known of a render beside its objects.
type Options struct {
	// Namespace is that of the destination: objects without one are in it.
	Namespace string
	// Today decides which waivers have expired. The zero time is before all of them.
	Today time.Time
	// Enabled reports whether a rule is checked, by its id. Nil enables all.
	Enabled func(rule string) bool
	// Unstable are the fields that differ from render to render, as paths of keys
	// and indexes.
	Unstable map[object.ID][][]any
	// Decrypted reports whether a text holds a decrypted value. Nil knows none.
	Decrypted func(text string) bool
	// Literal reports whether the data of an object stands in its origin as it is,
	// as in a plain file or a kustomization; a template may compute it. Nil means
	// that nothing does.
	Literal func(object.Object) bool
	// HealthChecked reports whether Argo CD can tell the health of a custom
	// resource. Nil means that it can of none.
	HealthChecked func(group, kind string) bool
	// Team are the rules of a team, each called with all objects.
	Team []TeamRule
}

// TeamRule is a rule that a policy brings along.
type TeamRule interface {
	// Name is that of the rule, as a waiver has it.
	Name() string
	// Check reports a finding for each object that breaks the rule: its index in
	// objects and the message. The context is the destination's namespace.
	Check(objects []object.Object, namespace string, report func(index int, message string))
}

// Check returns the findings in the objects of a render, ordered by their place,
// those that are waived among them. The objects must have passed package gate.
func Check(objects []object.Object, o Options) []Finding {
	r := newRender(objects, o)
	items := slices.Clone(r.items)
	slices.SortStableFunc(r.items, (*item).compare) // no finding depends on the renderer's order
	all := All()
	for _, rule := range all {
		r.known[rule.ID] = true
	}
	for _, rule := range o.Team {
		r.known[rule.Name()] = true
	}
	var findings []Finding
	for _, rule := range all {
		if o.Enabled != nil && !o.Enabled(rule.ID) {
			continue
		}
		add := func(severity Severity) report {
			return func(on *item, at path, format string, args ...any) {
				findings = append(findings, Finding{
					Rule: rule.ID, Severity: severity, Object: on.Object.ID(), Origin: on.Origin, Line: on.Line,
					Field: object.Pointer(at...), Message: fmt.Sprintf(format, args...), Remedy: rule.Remedy,
					Waiver: r.waiver(on, rule.ID),
				})
			}
		}
		rule.check(r, add(rule.Severity))
		if rule.advise != nil {
			rule.advise(r, add(Info))
		}
	}
	for _, rule := range o.Team {
		rule.Check(objects, o.Namespace, func(index int, message string) {
			on := items[index]
			findings = append(findings, Finding{
				Rule: rule.Name(), Severity: Error, Object: on.Object.ID(), Origin: on.Origin, Line: on.Line, Message: message,
				Waiver: r.waiver(on, rule.Name()),
			})
		})
	}
	slices.SortStableFunc(findings, Finding.compare)
	return slices.CompactFunc(findings, func(a, b Finding) bool { return a.compare(b) == 0 })
}
