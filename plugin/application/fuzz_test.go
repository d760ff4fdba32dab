package application

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// FuzzParse reads anything as a manifest: without a panic, the same each time, and
// either with a fault or with a source that says where it is.
func FuzzParse(f *testing.F) {
	for _, source := range []string{
		"", "helm: {values: a, valuesObject: {a: [1, null]}, parameters: [{name: a, value: b, forceString: true}]}",
		"kustomize: {replicas: [{name: a, count: 1}], patches: [{patch: a}]}", "directory: {jsonnet: {libs: [a]}}",
		"plugin: {env: [{name: a}], parameters: [{name: values, string: a}, {name: api-versions, array: [b]}]}", "helm: &a {}\nplugin: *a", "<<: {path: x}",
	} {
		f.Add([]byte(manifest(source)))
	}
	f.Add([]byte("kind: List\napiVersion: v1\nitems:\n- " + `{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		repo := fstest.MapFS{"app.yaml": {Data: data}}
		found, err := Find(repo, ".", Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range found.Applications {
			if a.Name == "" || len(a.Sources) == 0 || a.Sources[0].RepoURL == "" {
				t.Errorf("got %+v", a)
			}
			for _, s := range a.Sources {
				if same, err := s.Overridden(repo, "absent", "web"); err != nil || !reflect.DeepEqual(s, same) {
					t.Errorf("without overrides %+v became %+v, %v", s, same, err)
				}
			}
			if _, err := Parse(object.Object{Value: a.Value}); err != nil {
				t.Errorf("without its text it has faults: %v", err)
			}
		}
		again, _ := Find(repo, ".", Options{})
		if summary(found) != summary(again) {
			t.Errorf("got\n%s\nand then\n%s", summary(found), summary(again))
		}
	})
}

// FuzzExpand expands anything, with anything in a file of parameters.
func FuzzExpand(f *testing.F) {
	files, err := filepath.Glob("testdata/sets/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		docs, err := yamldoc.Stream(file, txtar.Parse(data).Files[0].Data)
		if err != nil {
			f.Fatal(err)
		}
		for _, doc := range docs {
			f.Add(doc.Text, []byte("cluster: {name: blue, ports: [1]}\nreplicas: 3\n"))
		}
	}
	f.Fuzz(func(t *testing.T, set, params []byte) {
		value, err := yamldoc.Decode("set.yaml", set)
		if err != nil {
			return
		}
		repo := fstest.MapFS{"apps/web/config.json": {Data: params}, "apps/list.yaml": {Data: params}, "services/pay/x": {}}
		opt := Options{Here: func(string, string) (fs.FS, bool) { return repo, true }}
		o := object.Object{Value: object.Mapping(value), Origin: "set.yaml"}
		made, err := Expand(o, opt)
		names := map[string]bool{}
		for _, a := range made {
			if a.Name == "" || a.From == "" || names[a.Name] {
				t.Errorf("got %+v", a)
			}
			names[a.Name] = true
		}
		again, errAgain := Expand(o, opt)
		if !reflect.DeepEqual(made, again) || (err == nil) != (errAgain == nil) || err != nil && err.Error() != errAgain.Error() {
			t.Errorf("got %v, %v\nand then %v, %v", made, err, again, errAgain)
		}
	})
}
