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
		check:  checkWaivers, advise: adviseWaivers,
	},
}

func checkWaivers(r *render, report report) {
	for _, w := range r.waivers() {
		if fault := r.fault(w); fault != "" {
			report(w.item, w.at, "%s", fault)
		}
	}
}

// adviseWaivers says of which waivers nobody here can tell what they are for. The
// rules of a team stand in its policy, which is not at hand wherever somebody looks at
// a render.
func adviseWaivers(r *render, report report) {
	for _, w := range r.waivers() {
		if !r.known[w.id] && r.fault(w) == "" {
			report(w.item, w.at, "there is no built-in rule %q, and no policy here with rules of a team", w.id)
		}
	}
}

// A writtenWaiver is an annotation as it stands, for the rule of that id.
type writtenWaiver struct {
	item     *item
	at       path
	id, text string
}

func (r *render) waivers() (out []writtenWaiver) {
	for _, it := range r.items {
		for _, name := range slices.Sorted(maps.Keys(it.Annotations())) {
			if id, isWaiver := strings.CutPrefix(name, WaiverPrefix); isWaiver {
				out = append(out, writtenWaiver{it, path{"metadata", "annotations", name}, id, it.annotation(name)})
			}
		}
	}
	return out
}

// fault says what is wrong with a waiver, or "". A rule that is not known is a fault
// where its name is likely misspelt, or where the rules of a team are at hand.
func (r *render) fault(w writtenWaiver) string {
	waiver, err := parseWaiver(w.text)
	switch meant := r.meant(w.id); {
	case w.id == "waiver":
		return `the rule "waiver" cannot be waived`
	case meant != "":
		return fmt.Sprintf("%q is likely meant: there is no rule %q to waive", meant, w.id)
	case !r.known[w.id] && len(r.Team) > 0, w.id == "":
		return fmt.Sprintf("there is no rule %q to waive", w.id)
	case err != nil:
		return err.Error()
	case !r.Today.Before(waiver.Until):
		return fmt.Sprintf("the waiver of %s expired on %s (%s)", w.id, waiver.Day(), waiver.Reason)
	}
	return ""
}

// meant returns the rule whose name is the nearest to one that is not known, or "".
func (r *render) meant(id string) string {
	best, least := "", 3
	if r.known[id] {
		return best
	}
	for _, known := range slices.Sorted(maps.Keys(r.known)) {
		if d := distance(id, known); d < least && 4*d <= len(id) {
			best, least = known, d
		}
	}
	return best
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
