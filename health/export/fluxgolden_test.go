package export

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/corpus"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// maxGoldenCases bounds the cases of one check in the golden files, and
// maxGoldenObject the size of an object there.
const (
	maxGoldenCases  = 60
	maxGoldenObject = 1 << 10
)

// TestFluxGoldens compares the checks of testdata/flux with the oracle, and writes
// what the nested module tools/flux reads: exprs.yaml, what Flux returns for the
// checks of a folder, and cases.yaml, objects with the status that Flux's own
// evaluator has to find, "error" where it ends in one.
func TestFluxGoldens(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("testdata/flux/*/check.yaml")
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d folders, %v", len(folders), err)
	}
	for _, file := range folders {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checks := parseFile(t, file)
			objects := readObjects(t, filepath.Join(filepath.Dir(file), "objects.yaml"))
			for _, c := range checks {
				mine := objectsOf(t, c, objects)
				if name != "limits" { // there Flux says something else, which the golden file shows
					sameAsOracle(t, c, mine)
				}
			}
			exprs, _, err := Flux(checks)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "flux/"+name+"/exprs.yaml", exprs)
			golden(t, "flux/"+name+"/cases.yaml", goldenCases(t, checks, objects))
		})
	}
}

func parseFile(t *testing.T, file string) []*health.Check {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	checks, err := health.Parse(filepath.Base(file), data)
	if err != nil {
		t.Fatal(err)
	}
	return checks
}

func readObjects(t *testing.T, file string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := yamldoc.Stream(file, data)
	if err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	for _, d := range docs {
		objects = append(objects, d.Value.(map[string]any))
	}
	return objects
}

// objectsOf are the objects of a check's first group.
func objectsOf(t *testing.T, check *health.Check, objects []map[string]any) []map[string]any {
	t.Helper()
	var mine []map[string]any
	for _, o := range objects {
		if strings.HasPrefix(o["apiVersion"].(string), check.Targets[0].Group+"/") {
			mine = append(mine, o)
		}
	}
	if len(mine) == 0 {
		t.Fatalf("no objects for %s", check.Name)
	}
	return mine
}

// goldenCases is a YAML document with a case on each line.
func goldenCases(t *testing.T, checks []*health.Check, objects []map[string]any) []byte {
	t.Helper()
	var out strings.Builder
	out.WriteString("# Objects, and what Flux says of them by exprs.yaml. Written by go test ./health/export -update.\ncases:\n")
	for _, c := range checks {
		exprs, _ := fluxExpressions(c)
		flux := newFluxEvaluator(t, exprs)
		mine := objectsOf(t, c, objects)
		var lines []string
		for _, o := range corpus.Objects(mine[0]["apiVersion"].(string), mine[0]["kind"].(string), mine) {
			status, _ := flux.eval(o.Object)
			line, err := json.Marshal(map[string]any{"name": o.Name, "object": o.Object, "want": status})
			if err != nil {
				t.Fatal(err)
			}
			if len(line) <= maxGoldenObject {
				lines = append(lines, string(line))
			}
		}
		step := max(1, len(lines)/maxGoldenCases)
		for i := 0; i < len(lines); i += step {
			fmt.Fprintf(&out, "  - %s\n", lines[i])
		}
	}
	return []byte(out.String())
}

func TestFluxNotes(t *testing.T) {
	t.Parallel()
	checks := parseFile(t, "testdata/flux/limits/check.yaml")
	text, notes, err := Flux(checks)
	if err != nil {
		t.Fatal(err)
	}
	mine := 0
	for _, n := range notes {
		if !strings.Contains(string(text), "# - "+n.Text+"\n") {
			t.Errorf("the YAML does not say %q", n.Text)
		}
		if n.Check != nil {
			mine++
			if !strings.HasPrefix(n.String(), "check.yaml:2: lease: ") {
				t.Errorf("got %s", n)
			}
		}
	}
	if mine != strings.Count(string(text), "    # - ") || mine == 0 {
		t.Errorf("%d notes on the check, and %d in the YAML", mine, strings.Count(string(text), "    # - "))
	}
}

// TestFluxLeftOut has checks of which Flux can be told nothing.
func TestFluxLeftOut(t *testing.T) {
	t.Parallel()
	wild := check("wild\ncard", 1, target("*.example.org", "*"))
	long := parseText(t, fmt.Sprintf(`
apiVersion: hallmark.dev/v1
kind: HealthCheck
metadata: {name: long}
spec:
  targets: [{group: long.example.org, kinds: [Thing]}]
  rules:
    - {status: Healthy, when: "status.a == '%s'"}
`, strings.Repeat("x", 10_000)))
	for i := range 11 {
		rule := long.Rules[0]
		rule.Label = fmt.Sprint("rule ", i)
		rule.When = condition(t, fmt.Sprintf("status.a%d == '%s'", i, strings.Repeat("x", 10_000)))
		long.Rules = append([]health.Rule{rule}, long.Rules...)
	}
	text, notes, err := Flux([]*health.Check{wild, long})
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Spec struct {
			HealthCheckExprs []any `json:"healthCheckExprs"`
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(text, &doc); err != nil || doc.Spec.HealthCheckExprs == nil || len(doc.Spec.HealthCheckExprs) > 0 {
		t.Errorf("got %v, %v", doc, err)
	}
	for _, want := range []string{
		"target *.example.org/* is left out: Flux knows one kind, or all kinds of one group",
		"the check is left out: one of its expressions is longer than 100000 bytes",
	} {
		if !slices.ContainsFunc(notes, func(n Note) bool { return n.Text == want }) {
			t.Errorf("no note %q in %v", want, notes)
		}
	}
	if _, _, err := Flux([]*health.Check{check("one", 1, target("a.io", "Kind")), check("two", 2, target("a.io", "Kind"))}); err == nil {
		t.Error("two checks for one kind are no error")
	}
}
