package infer_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/eval"
	"hallmark.dev/hallmark/health/infer"
	"hallmark.dev/hallmark/internal/yamldoc"
)

var update = flag.Bool("update", false, "write testdata/*/draft.yaml anew")

// TestDrafts drafts a check for each folder of testdata: from crd.yaml or crd.json
// and, where it is there, objects.yaml. The draft is draft.yaml. What it says of the
// objects in objects.yaml and verdicts.yaml stands in their annotation "want".
func TestDrafts(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob(filepath.Join("testdata", "*", "crd.*"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("no definitions in testdata, error %v", err)
	}
	for _, file := range folders {
		folder := filepath.Dir(file)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			var objects []infer.File
			if data, err := os.ReadFile(filepath.Join(folder, "objects.yaml")); err == nil {
				objects = append(objects, infer.File{Name: "objects.yaml", Data: data})
			}
			data := read(t, file)
			got, err := infer.Draft(infer.File{Name: filepath.Base(file), Data: data}, objects)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join(folder, "draft.yaml")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := read(t, golden); string(want) != string(got) {
				t.Errorf("the draft is not %s, which -update writes anew:\n%s", golden, got)
			}
			checks := parse(t, got)
			checkComments(t, string(got))
			for _, check := range checks {
				checkUnknown(t, check)
			}
			for _, name := range []string{"objects.yaml", "verdicts.yaml"} {
				if data, err := os.ReadFile(filepath.Join(folder, name)); err == nil {
					checkVerdicts(t, checks[0], name, data)
				}
			}
		})
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parse(t *testing.T, draft []byte) []*health.Check {
	t.Helper()
	checks, err := health.Parse("draft.yaml", draft)
	if err != nil {
		t.Fatalf("the draft has faults: %v\n%s", err, draft)
	}
	return checks
}

// checkComments: every rule stands under a guess, and every number that a comment
// refers to is in the list of decisions of its draft.
func checkComments(t *testing.T, text string) {
	t.Helper()
	rule := regexp.MustCompile(`(?m)^    - \{(?:status|kstatus)`)
	guess := regexp.MustCompile(`(?m)^    # guess: .*\n(?:    # .*\n)*    - \{`)
	if rules, guesses := rule.FindAllString(text, -1), guess.FindAllString(text, -1); len(rules) == 0 || len(rules) != len(guesses) {
		t.Errorf("%d rules, %d of them with a guess", len(rules), len(guesses))
	}
	for draft := range strings.SplitSeq(text, "\n---\n") {
		for _, m := range regexp.MustCompile(`\(decide: (\d+)\)`).FindAllStringSubmatch(draft, -1) {
			if !regexp.MustCompile(`(?m)^#\s+` + m[1] + `\. \S`).MatchString(draft) {
				t.Errorf("decision %s is not in the list", m[1])
			}
		}
	}
	for line := range strings.Lines(text) {
		// One long word cannot be broken.
		if n := utf8.RuneCountInString(line); strings.HasPrefix(strings.TrimSpace(line), "#") && n > 101 && len(strings.Fields(line)) > 3 {
			t.Errorf("a comment of %d characters: %s", n, line)
		}
	}
}

// checkUnknown: a draft says Healthy of no object that it knows nothing of.
func checkUnknown(t *testing.T, check *health.Check) {
	t.Helper()
	for _, status := range []any{
		nil, map[string]any{}, map[string]any{"unrelated": "x"}, map[string]any{"conditions": []any{}, "phase": "", "parents": []any{}},
		map[string]any{"conditions": []any{map[string]any{"type": "Other", "status": "True"}}, "phase": "Other", "state": "other"},
	} {
		got := verdict(t, check, map[string]any{"apiVersion": "x/v1", "kind": "X", "metadata": map[string]any{"generation": int64(1)}, "spec": map[string]any{}, "status": status})
		if got == health.Healthy {
			t.Errorf("%s: Healthy with the status %v", check.Name, status)
		}
	}
}

func checkVerdicts(t *testing.T, check *health.Check, file string, data []byte) {
	t.Helper()
	docs, err := yamldoc.Stream(file, data)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, d := range docs {
		objects := []any{d.Value}
		if list, ok := d.Value.(map[string]any)["items"].([]any); ok {
			objects = list
		}
		for _, o := range objects {
			object := o.(map[string]any)
			metadata := object["metadata"].(map[string]any)
			annotations, _ := metadata["annotations"].(map[string]any)
			if want, _ := annotations["want"].(string); want != "" {
				checked++
				if got := verdict(t, check, object); string(got) != want {
					t.Errorf("%s: %v is %s, want %s", file, metadata["name"], got, want)
				}
			}
		}
	}
	if checked == 0 {
		t.Errorf("%s has no object with the annotation want", file)
	}
}

func verdict(t *testing.T, check *health.Check, object map[string]any) health.Status {
	t.Helper()
	e, err := eval.New(check, func() int64 { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	return e.Eval(object).Verdict.Status
}
