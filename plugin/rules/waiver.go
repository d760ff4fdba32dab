package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hallmark.dev/hallmark/internal/object"
)

// WaiverPrefix is in front of the rule's id in the annotation that waives it.
const WaiverPrefix = "waive.hallmark.dev/"

// Waiver is what an annotation says.
type Waiver struct {
	// Until is the first instant at which the waiver no longer holds.
	Until  time.Time
	Reason string
}

// Day is the last day on which the waiver holds, as it is written.
func (w Waiver) Day() string { return w.Until.AddDate(0, 0, -1).Format(time.DateOnly) }

// parseWaiver reads "2027-03-31 the reason".
func parseWaiver(text string) (Waiver, error) {
	day, reason, _ := strings.Cut(strings.TrimSpace(text), " ")
	last, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return Waiver{}, fmt.Errorf("want a day such as 2027-03-31 and a reason, got %q", text)
	}
	if reason = strings.TrimSpace(reason); !strings.ContainsFunc(reason, isLetter) {
		return Waiver{}, fmt.Errorf("the waiver names no reason behind its day")
	}
	return Waiver{Until: last.AddDate(0, 0, 1), Reason: reason}, nil
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127 }

var waiverRules = []Rule{
	{
		ID: "waiver", Group: groupWaivers, Severity: Error,
		Reason: "a waiver without an end or a reason is a rule that was switched off, and nobody knows why or until when",
		Remedy: "write the last day on which it holds and the reason, \"2027-03-31 the vendor's chart has no value for it\"; after that day fix the fault or decide anew",
		check:  checkWaivers,
	},
}

func checkWaivers(r *render, report report) {
	for _, it := range r.items {
		for _, name := range slices.Sorted(maps.Keys(it.Annotations())) {
			id, isWaiver := strings.CutPrefix(name, WaiverPrefix)
			if !isWaiver {
				continue
			}
			at := path{"metadata", "annotations", name}
			waiver, err := parseWaiver(it.annotation(name))
			switch {
			case !r.known[id]:
				report(it, at, "there is no rule %q to waive", id)
			case id == "waiver":
				report(it, at, "the rule %q cannot be waived", id)
			case err != nil:
				report(it, at, "%v", err)
			case !r.Today.Before(waiver.Until):
				report(it, at, "the waiver of %s expired on %s (%s)", id, waiver.Day(), waiver.Reason)
			}
		}
	}
}

// WaivedUntil is the instant at which the first waiver runs out that holds today, the
// zero time where none does. From then on the rules say something else, also where the
// waiver covers nothing: one that has expired is a finding.
func WaivedUntil(objects []object.Object, today time.Time) (next time.Time) {
	for _, o := range objects {
		for name, text := range o.Annotations() {
			if !strings.HasPrefix(name, WaiverPrefix) {
				continue
			}
			w, err := parseWaiver(object.Text(text))
			if err == nil && today.Before(w.Until) && (next.IsZero() || w.Until.Before(next)) {
				next = w.Until
			}
		}
	}
	return next
}

// waiver returns what waives a rule on an object today, or nil.
func (r *render) waiver(it *item, rule string) *Waiver {
	text, found := it.Annotations()[WaiverPrefix+rule].(string)
	if !found || rule == "waiver" {
		return nil
	}
	w, err := parseWaiver(text)
	if err != nil || !r.Today.Before(w.Until) {
		return nil
	}
	return &w
}
