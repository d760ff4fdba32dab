package application

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/util/validation"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin/source"
)

// A reference is what Argo CD makes of a set, see testdata/reference.
type reference struct {
	Applications []map[string]any
	Error        string
}

// Each set of testdata/sets gives the applications that Argo CD's own packages gave for
// it, in the same order, and a fault where they gave an error.
func TestExpandIsArgoCD(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/sets/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	total := 0
	for _, file := range files {
		sets, repo, want := readSets(t, file)
		total += len(sets)
		for _, o := range sets {
			name := o.ID().Name
			t.Run(strings.TrimSuffix(path.Base(file), ".txtar")+"/"+name, func(t *testing.T) {
				t.Parallel()
				compareWithReference(t, o, repo, want[name])
			})
		}
	}
	if total < 90 {
		t.Errorf("got %d sets, want the whole corpus", total)
	}
}

func compareWithReference(t *testing.T, o object.Object, repo fs.FS, want reference) {
	t.Helper()
	got, err := Expand(o, Options{Here: func(string, string) (fs.FS, bool) { return repo, true }})
	list := []any{}
	for _, a := range got {
		value := jsonOf(t, a.Value)
		if value["kind"] != "Application" || value["apiVersion"] != "argoproj.io/v1alpha1" {
			t.Errorf("got %v %v", value["apiVersion"], value["kind"])
		}
		delete(value, "kind")
		delete(value, "apiVersion")
		list = append(list, significant(value))
	}
	if strings.Contains(string(yamldoc.AppendYAML(nil, o.Value)), "merge:") { // their order is random in Argo CD
		slices.SortStableFunc(list, func(a, b any) int {
			return strings.Compare(object.Text(object.Field(a, "metadata", "name")), object.Text(object.Field(b, "metadata", "name")))
		})
	}
	expected := []any{}
	for _, value := range want.Applications {
		// Argo CD gives it to the API server, which does not take such a name.
		if name := object.Text(object.Field(value, "metadata", "name")); len(validation.IsDNS1123Subdomain(name)) > 0 {
			want.Error = name + " is no name"
			continue
		}
		expected = append(expected, significant(value))
	}
	if (err != nil) != (want.Error != "") {
		t.Errorf("got error %v, Argo CD has %q", err, want.Error)
	}
	if diff := cmp.Diff(expected, list); diff != "" {
		t.Errorf("Argo CD (-), hallmark (+):\n%s", diff)
	}
}

// readSets returns the ApplicationSets of a file, the repository and what Argo CD makes
// of each, by name.
func readSets(t *testing.T, file string) (sets []object.Object, repo fs.FS, want map[string]reference) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	for _, f := range archive.Files {
		switch inside, found := strings.CutPrefix(f.Name, "repo/"); {
		case found:
			contents[inside] = string(f.Data)
		case f.Name == "sets.yaml":
			docs, err := yamldoc.Stream(file, f.Data)
			if err != nil {
				t.Fatal(err)
			}
			for _, doc := range docs {
				sets = append(sets, object.Object{Value: object.Mapping(doc.Value), Origin: "sets.yaml", Line: doc.Line})
			}
		default:
			if err := json.Unmarshal(f.Data, &want); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(sets) == 0 || len(sets) != len(want) {
		t.Fatalf("got %d sets and %d results: build them anew, see testdata/reference", len(sets), len(want))
	}
	return sets, source.Memory(contents).View(), want
}

func jsonOf(t *testing.T, v any) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.NewDecoder(bytes.NewReader(yamldoc.AppendJSON(nil, v, ""))).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// significant drops fields that are empty: Argo CD's types have no difference between
// those and ones that are not there. What is in valuesObject stays.
func significant(v any) any {
	m, is := v.(map[string]any)
	if !is {
		if list, is := v.([]any); is {
			for i := range list {
				list[i] = significant(list[i])
			}
		}
		return v
	}
	for key, value := range m {
		if key == "valuesObject" {
			continue
		}
		if m[key] = significant(value); empty(m[key]) {
			delete(m, key)
		}
	}
	return m
}
