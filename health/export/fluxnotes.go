package export

import (
	"fmt"
	"slices"
	"strings"

	"hallmark.dev/hallmark/health"
)

// generalNotes are true of every check.
func generalNotes() []Note {
	return []Note{
		{Text: "Flux shows no message of a check."},
		{Text: "While status.observedGeneration is a number other than metadata.generation, Flux waits, whatever a check says."},
		{Text: "While a top-level key that an expression names is absent, Flux waits."},
		{Text: "A field that is null is there for Flux, and absent here."},
		{Text: "Where a function or a macro has no value, for null, another type, or a text that is no number, Flux waits; here the rule does not match."},
	}
}

// checkNotes say what of one check Flux cannot express.
func checkNotes(c *health.Check, steps []fluxStep) []Note {
	var notes []Note
	add := func(format string, args ...any) { notes = append(notes, Note{c, fmt.Sprintf(format, args...)}) }
	labels := func(match func(fluxStep) bool) string {
		var out []string
		for _, s := range steps {
			if match(s) {
				out = append(out, s.rule.Label)
			}
		}
		return strings.Join(out, ", ")
	}

	if l := labels(func(s fluxStep) bool { return s.rule.Status == health.Suspended }); l != "" {
		add("%s: Suspended is InProgress, so Flux waits", l)
	}
	for _, s := range steps {
		if s.found != nil && len(s.found.missing) > 0 {
			add("%s: Flux does not have %s; it waits where the rule may match", s.rule.Label, strings.Join(s.found.missing, ", "))
		}
	}
	if note := withoutStatus(steps); note != "" {
		add("%s", note)
	}
	for _, name := range c.Variables {
		if l := labels(func(s fluxStep) bool { return s.keys[name] }); l != "" {
			add("%s: Flux waits as long as an object has no key %s", l, name)
		}
	}
	if l := labels(func(s fluxStep) bool { return s.found != nil && s.found.comparesEmpty }); l != "" {
		add("%s: an empty list and an empty map are equal here, and not for Flux", l)
	}
	return notes
}

// withoutStatus is what becomes of an object without a status, if the check does
// not wait for it as Flux does.
func withoutStatus(steps []fluxStep) string {
	if !slices.ContainsFunc(steps, func(s fluxStep) bool { return s.keys[statusVariable] }) {
		return ""
	}
	for _, s := range steps {
		if s.rule.NoStatus {
			if s.class == waits {
				return ""
			}
			return fmt.Sprintf("noStatus: where there is no status at all Flux waits; an empty one is %s", s.rule.Status)
		}
		if s.class != waits && !s.keys[statusVariable] {
			return fmt.Sprintf("%s: where there is no status at all Flux waits", s.rule.Label)
		}
	}
	return ""
}
