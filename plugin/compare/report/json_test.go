package report

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"hallmark.dev/hallmark/plugin/compare"
)

// TestJSONKeepsStrings reads hostile strings back as they were.
func TestJSONKeepsStrings(t *testing.T) {
	t.Parallel()
	text, err := render(hostile(), "json")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range text {
		if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e') {
			t.Fatalf("%q is in the text", r)
		}
	}
	var got struct {
		APIVersion, Kind string
		Totals           totals
		Applications     []struct {
			Name    string
			Objects []struct {
				Object, Was struct{ Group, Kind, Namespace, Name string }
				Fields      []compare.Field
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if got.APIVersion != "hallmark.dev/v1" || got.Kind != "Comparison" || got.Totals.Applications.Refused != len(marks) || got.Totals.Objects.Changed != len(marks)+1 {
		t.Errorf("got %s %s %+v", got.APIVersion, got.Kind, got.Totals)
	}
	for i, mark := range marks {
		want := strings.ToValidUTF8(mark, "\ufffd")
		if mark == "\xff\xfe" {
			want = "\ufffd\ufffd" // each byte
		}
		app := got.Applications[i]
		object := app.Objects[0]
		if app.Name != want || object.Object.Name != want || object.Object.Group != "example.com" || object.Was.Name != want+"-old" || object.Fields[0].From != want {
			t.Errorf("got %+v, want %q", app, want)
		}
	}
}

// TestJSONHasNoNull: a reader loops over lists without asking.
func TestJSONHasNoNull(t *testing.T) {
	t.Parallel()
	for name, r := range cases() {
		text, err := render(r, "json")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, ": null") {
			t.Errorf("%s has a null:\n%.3000s", name, text)
		}
	}
	text, err := render(&compare.Report{Causes: []compare.Cause{{}}, Applications: []compare.Application{{Objects: []compare.Object{{}}}}}, "json")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"notes", "applications", "causes", "problems", "objects", "fields"} {
		if !regexp.MustCompile(`"` + list + `": \[`).MatchString(text) {
			t.Errorf("no list %q in\n%s", list, text)
		}
	}
}

// TestJSONLeavesTheReport: writing does not change what is written.
func TestJSONLeavesTheReport(t *testing.T) {
	t.Parallel()
	r := &compare.Report{Causes: []compare.Cause{{}}, Applications: []compare.Application{{}}}
	if _, err := render(r, "json"); err != nil {
		t.Fatal(err)
	}
	if r.Causes[0].Applications != nil || r.Notes != nil || r.Applications[0].Objects != nil {
		t.Errorf("got %+v", r)
	}
}

// TestDocumented: the package comment names every key of the JSON.
func TestDocumented(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range cases() {
		text, err := render(r, "json")
		if err != nil {
			t.Fatal(err)
		}
		if name == "hostile" || name == "many" {
			continue
		}
		keys := regexp.MustCompile(`(?m)^ *"(\w+)": `).FindAllStringSubmatch(withoutValues(text), -1)
		if len(keys) == 0 {
			t.Fatalf("%s: no keys", name)
		}
		for _, key := range keys {
			if !regexp.MustCompile(`\b` + key[1] + `\b`).Match(doc) {
				t.Errorf("doc.go does not say what %q is", key[1])
			}
		}
	}
}

// withoutValues drops the values of fields, which are data of any shape.
func withoutValues(text string) string {
	return regexp.MustCompile(`(?ms)^( *)"(from|to)": [\[{]\n.*?^( *)[\]}],?\n`).ReplaceAllString(text, "")
}
