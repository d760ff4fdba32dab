package rules

import (
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// today is the day of the tests.
var today = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)

// objects decodes a YAML stream.
func objects(t testing.TB, text string) []object.Object {
	t.Helper()
	docs, err := yamldoc.Limits{}.Stream("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []object.Object
	for _, d := range docs {
		if m, ok := d.Value.(map[string]any); ok {
			out = append(out, object.Object{Value: m, Origin: "test.yaml", Line: d.Line})
		}
	}
	return out
}

// bookOptions are those of the examples: what stands in them is what stands in the
// repository, and Argo CD knows the health of one custom resource.
func bookOptions() Options {
	return Options{
		Namespace: "shop", Today: today, Literal: func(object.Object) bool { return true },
		HealthChecked: func(group, kind string) bool { return group == "postgresql.cnpg.io" && kind == "Cluster" },
	}
}

// of returns the findings of one rule.
func of(findings []Finding, rule string) (out []Finding) {
	for _, f := range findings {
		if f.Rule == rule {
			out = append(out, f)
		}
	}
	return out
}

// The examples of a rule show what it finds, and how that is put right. The first
// example has no other fault of its rule's group, so that a reader looks at the one.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, rule := range All() {
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			bad, good := rule.Examples()
			if bad == "" || good == "" {
				t.Fatal("the rule has no two examples in book/")
			}
			found := of(Check(objects(t, bad), bookOptions()), rule.ID)
			if len(found) == 0 {
				t.Error("the rule finds nothing in its first example")
			}
			for _, f := range found {
				if f.Message == "" || f.Remedy == "" || f.Object.Kind == "" || f.Line == 0 {
					t.Errorf("the finding %+v is not whole", f)
				}
			}
			if found := of(Check(objects(t, good), bookOptions()), rule.ID); len(found) > 0 {
				t.Errorf("the rule finds %+v in its second example", found)
			}
		})
	}
}

// What a rule says of itself has the form that reports, the list and the policy rely
// on.
func TestRulesAreWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, rule := range All() {
		if seen[rule.ID] {
			t.Errorf("there are two rules %q", rule.ID)
		}
		seen[rule.ID] = true
		for what, text := range map[string]string{"id": rule.ID, "group": rule.Group, "reason": rule.Reason, "remedy": rule.Remedy, "severity": string(rule.Severity)} {
			if text == "" || strings.Contains(text, "\n") || strings.HasSuffix(text, ".") {
				t.Errorf("%s: the %s is %q, want one line without a full stop", rule.ID, what, text)
			}
		}
		if strings.Trim(rule.ID, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(rule.ID) > 40 {
			t.Errorf("%q cannot be part of an annotation", rule.ID)
		}
	}
}
