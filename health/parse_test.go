package health_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/library"
	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/yamldoc"
)

var update = flag.Bool("update", false, "write the goldens of testdata/faults anew")

// TestFaults compares the faults of each file, with the lines that they show.
func TestFaults(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/faults/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			checks, err := health.Parse(filepath.Base(file), read(t, file))
			if err == nil || checks != nil {
				t.Fatalf("got %v and no fault", checks)
			}
			var list diag.List
			if !errors.As(err, &list) {
				t.Fatalf("got %T, want a list of faults", err)
			}
			var got strings.Builder
			for _, fault := range list {
				fmt.Fprintln(&got, fault.Error())
				for _, line := range fault.Caret() {
					fmt.Fprintln(&got, "    | "+line)
				}
			}
			fmt.Fprintln(&got, "hint:", diag.Hint(err))
			golden := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(read(t, golden)), got.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
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

// specs is every spec that the project holds, by its file.
func specs(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{"covered.yaml": []byte(spec(`observedGeneration: status.observedGeneration
  rules:
    - {status: Suspended, condition: {type: Ready, status: "True", reason: Paused}}
    - {status: Healthy, condition: {type: Ready, status: "True"}}
    - kstatus: {}
    - ledger: {}`))}
	for _, pattern := range []string{"library/*/*.yaml", "compile/testdata/cases/*/spec.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.yaml") {
				all[file] = read(t, file)
			}
		}
	}
	if entries, err := library.Files.ReadDir("."); err != nil || len(entries) < 20 {
		t.Fatalf("the embedded library has %d groups: %v", len(entries), err)
	}
	return all
}

// TestExpand requires that an expanded spec parses, means the same, and has nothing
// more to expand.
func TestExpand(t *testing.T) {
	t.Parallel()
	for file, data := range specs(t) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			checks, err := health.Parse(file, data)
			if err != nil {
				t.Fatal(err)
			}
			for _, check := range checks {
				expanded, err := check.Expand()
				if err != nil {
					t.Fatal(err)
				}
				again, err := health.Parse("expanded.yaml", []byte(expanded))
				if err != nil {
					t.Fatalf("%v\n%s", err, expanded)
				}
				if diff := cmp.Diff(meaning(check), meaning(again[0])); diff != "" && file != "covered.yaml" {
					t.Errorf("-written +expanded:\n%s", diff)
				}
				twice, err := again[0].Expand()
				if err != nil || uncommented(twice) != uncommented(expanded) {
					t.Errorf("expanding twice gives (%v)\n%s", err, cmp.Diff(expanded, twice))
				}
			}
		})
	}
}

// meaning is what a check says, without where it says it.
func meaning(c *health.Check) []string {
	out := []string{fmt.Sprint(c.Name, c.Targets, c.Variables, c.UseOpenLibs)}
	for _, r := range c.Rules {
		line := fmt.Sprint(r.Status, r.NoStatus)
		for _, e := range []*health.Expr{r.When, r.Message} {
			if e != nil {
				line += " | " + e.Text
			}
		}
		out = append(out, line)
	}
	return out
}

func uncommented(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "#") }), "\n")
}

// TestSchema requires that the schema accepts every spec and refuses a fault of form,
// and that it knows the fields that the parser knows.
func TestSchema(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(health.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	documents := func(file string, data []byte) (all []any) {
		docs, err := yamldoc.Stream(file, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			asJSON, err := json.Marshal(d.Value)
			if err != nil {
				t.Fatal(err)
			}
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, value)
		}
		return all
	}
	for file, data := range specs(t) {
		for _, doc := range documents(file, data) {
			if err := compiled.Validate(doc); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	for _, file := range []string{"fields.yaml", "document.yaml"} {
		for i, doc := range documents(file, read(t, "testdata/faults/"+file)) {
			if compiled.Validate(doc) == nil {
				t.Errorf("%s: document %d is accepted", file, i+1)
			}
		}
	}
	spec := schema.(map[string]any)["properties"].(map[string]any)["spec"].(map[string]any)["properties"].(map[string]any)
	for _, fault := range strings.Split(string(read(t, "testdata/faults/fields.golden")), "\n") {
		if _, known, found := strings.Cut(fault, `spec: unknown field "rulez", want one of `); found {
			for _, name := range strings.Split(known, ", ") {
				if spec[name] == nil {
					t.Errorf("the schema has no %s", name)
				}
				delete(spec, name)
			}
		}
	}
	if len(spec) != 0 {
		t.Errorf("the parser does not know %v", spec)
	}
}

func TestParseBounds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "# nothing\n", "x.yaml: the file is empty"},
		{"no yaml", "a: [\n", "x.yaml:"},
		{"large", strings.Repeat("# comment\n", health.MaxFile/10+1), "larger than 1048576 bytes"},
		{"deep expression", spec("rules: [{status: Healthy, when: \"" + strings.Repeat("!(", 300) + "true" + strings.Repeat(")", 300) + "\"}]"), "recursion limit"},
		{"long expression", spec("rules: [{status: Healthy, when: \"status.a == '" + strings.Repeat("x", 20_000) + "'\"}]"), "size exceeds limit"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if _, err := health.Parse("x.yaml", []byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %.300v, want %q", err, tc.want)
			}
		})
	}
}

func spec(rest string) string {
	return "apiVersion: hallmark.dev/v1\nkind: HealthCheck\nmetadata: {name: x}\nspec:\n  targets: [{group: a.b, kinds: [C]}]\n  " + rest + "\n"
}

// FuzzParse looks for a panic, and for a check that cannot be expanded.
func FuzzParse(f *testing.F) {
	f.Add([]byte(spec("rules: [{status: Healthy, when: \"status.a\"}, {kstatus: {}}]")))
	f.Add(slices.Concat([]byte(spec("rules: []")), []byte("---\na: b\n")))
	f.Fuzz(func(t *testing.T, data []byte) {
		checks, err := health.Parse("x.yaml", data)
		if err != nil {
			return
		}
		for _, c := range checks {
			expanded, err := c.Expand()
			if err != nil {
				t.Fatal(err)
			}
			if again, err := health.Parse("x.yaml", []byte(expanded)); err != nil || len(again) != 1 {
				t.Fatalf("%v\n%s", err, expanded)
			}
		}
	})
}
