package rules

import (
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/object"
)

// unnamed is a Job of the Sync phase whose name is generated, with an annotation.
func unnamed(annotation string) string {
	return "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: checkout-\n  annotations: {" + annotation + "}\n" +
		"spec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers: [{name: job, image: registry.example.com/checkout}]\n"
}

const untagged = WaiverPrefix + "image-tag: 2026-12-31 the vendor has no tags"

// Objects whose names are generated have one identity; the waiver of one is not that of
// the others, in whichever order they come and also where nothing tells them apart.
func TestWaiverOfGeneratedNames(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"the first is waived":  unnamed(untagged) + unnamed(""),
		"the second is waived": unnamed("") + unnamed(untagged),
	} {
		for _, lines := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				list := objects(t, text)
				if !lines {
					for i := range list {
						list[i].Line = 0
					}
				}
				got := of(Check(list, bookOptions()), "image-tag")
				if len(got) != 2 || (got[0].Waiver == nil) == (got[1].Waiver == nil) {
					t.Fatalf("got %+v, want one of two waived", got)
				}
				if !lines && got[0].Waiver != nil {
					t.Error("the waived one comes first")
				}
			})
		}
	}
}

// A rule that makes one finding of many objects has one of its own for each object that
// waives it, and names only the others.
func TestWaiverOfOneAmongMany(t *testing.T) {
	t.Parallel()
	definition := func(name, annotation string) string {
		return "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: " + name + "\n  annotations: {" + annotation + "}\n"
	}
	waiver := WaiverPrefix + "prune-decision: 2026-12-31 moves to the platform next"
	text := definition("a.example.com", waiver) + definition("b.example.com", "") + definition("c.example.com", "")
	got := of(Check(objects(t, text), bookOptions()), "prune-decision")
	if len(got) != 2 {
		t.Fatalf("got %+v, want two findings", got)
	}
	if got[0].Object.Name != "a.example.com" || got[0].Waiver == nil || strings.Contains(got[0].Message, "b.example.com") {
		t.Errorf("got %+v, want the waived one by itself", got[0])
	}
	if got[1].Object.Name != "b.example.com" || got[1].Waiver != nil || !strings.Contains(got[1].Message, `"c.example.com"`) || strings.Contains(got[1].Message, "a.example.com") {
		t.Errorf("got %+v, want the two others together", got[1])
	}
}

// A caller that knows no day takes every waiver for one that holds.
func TestWaiverWithoutADay(t *testing.T) {
	t.Parallel()
	o := bookOptions()
	o.Today = time.Time{}
	got := Check(objects(t, waived(WaiverPrefix+"image-tag: '2001-01-01 long ago'")), o)
	if images := of(got, "image-tag"); len(images) != 1 || images[0].Waiver == nil || images[0].Waiver.Day() != "2001-01-01" || images[0].Waiver.Reason != "long ago" {
		t.Errorf("got %+v, want a waiver until 2001-01-01", images)
	}
	if faults := of(got, "waiver"); len(faults) > 0 {
		t.Errorf("got %+v", faults)
	}
}

// The day ends at midnight in UTC, wherever the clock that asks stands.
func TestWaiverEndsInUTC(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 14*3600)
	for hour, holds := range map[int]bool{13: true, 14: false} { // 23:00 and 24:00 in UTC
		o := bookOptions()
		o.Today = time.Date(2027, 1, 1, hour, 0, 0, 0, east)
		got := of(Check(objects(t, waived(WaiverPrefix+"image-tag: '2026-12-31 for now'")), o), "image-tag")
		if len(got) != 1 || (got[0].Waiver != nil) != holds {
			t.Errorf("at %d o'clock: got %+v, want waived: %v", hour, got, holds)
		}
	}
}

// No waiver switches off the rule about waivers, not even one that is well formed.
func TestWaiverOfWaivers(t *testing.T) {
	t.Parallel()
	text := waived(WaiverPrefix + "waiver: 2026-12-31 nobody reads them, " + WaiverPrefix + "image-tag: never")
	got := of(Check(objects(t, text), bookOptions()), "waiver")
	if len(got) != 2 {
		t.Fatalf("got %+v, want two findings", got)
	}
	for _, f := range got {
		if f.Waiver != nil {
			t.Errorf("%s is waived", f.Message)
		}
	}
}

// teamRule is a rule of a team that finds nothing.
type teamRule string

func (r teamRule) Name() string { return string(r) }

func (teamRule) Check([]object.Object, string, func(int, string)) {}

// Whoever lints without the policy of the platform does not know the rules in it: a name
// that no built-in rule is near to may be that of one. With the policy it is a fault.
func TestWaiverOfATeamsRule(t *testing.T) {
	t.Parallel()
	team := []TeamRule{teamRule("owner-label"), teamRule("quota")}
	for _, tt := range []struct {
		name, rule, text string
		team             []TeamRule
		severity         Severity // "" for none
		message          string
	}{
		{"no policy", "owner-label", "2026-12-31 until the move", nil, Info, `there is no built-in rule "owner-label", and no policy here with rules of a team`},
		{"no policy, expired", "owner-label", "2026-01-31 until the move", nil, Error, "the waiver of owner-label expired on 2026-01-31 (until the move)"},
		{"no policy, no day", "owner-label", "later", nil, Error, `want a day such as 2027-03-31 and a reason, got "later"`},
		{"no policy, misspelt", "image-tga", "2026-12-31 until the move", nil, Error, `"image-tag" is likely meant: there is no rule "image-tga" to waive`},
		{"no policy, a letter too many", "job-secretss", "2026-12-31 until the move", nil, Error, `"job-secrets" is likely meant: there is no rule "job-secretss" to waive`},
		{"no policy, a short name", "jobs", "2026-12-31 until the move", nil, Info, `there is no built-in rule "jobs", and no policy here with rules of a team`},
		{"no policy, another short name", "job-url", "2026-12-31 until the move", nil, Info, `there is no built-in rule "job-url", and no policy here with rules of a team`},
		{"no name", "", "2026-12-31 until the move", nil, Error, `there is no rule "" to waive`},
		{"a rule of the policy", "owner-label", "2026-12-31 until the move", team, "", ""},
		{"a rule that the policy lacks", "owner-labels-and-more", "2026-12-31 until the move", team, Error, `there is no rule "owner-labels-and-more" to waive`},
		{"a rule of the policy, misspelt", "owner-lable", "2026-12-31 until the move", team, Error, `"owner-label" is likely meant: there is no rule "owner-lable" to waive`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := bookOptions()
			o.Team = tt.team
			got := of(Check(objects(t, waived(WaiverPrefix+tt.rule+": '"+tt.text+"'")), o), "waiver")
			switch {
			case tt.severity == "" && len(got) > 0:
				t.Errorf("got %+v, want nothing", got)
			case tt.severity != "" && (len(got) != 1 || got[0].Severity != tt.severity || got[0].Message != tt.message):
				t.Errorf("got %+v, want one %s: %s", got, tt.severity, tt.message)
			}
		})
	}
}
