package overlay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
)

// TestVersion ties Version to the api module: a new api module means a new
// release to compare with, and new goldens.
func TestVersion(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	const pinned = "\tsigs.k8s.io/kustomize/api v0.21.2\n"
	if Version != "v5.8.2" || !strings.Contains(string(mod), pinned) {
		t.Errorf("Version is %s, which is built on%s but go.mod says otherwise", Version, pinned)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	file := &fstest.MapFile{}
	tree := fstest.MapFS{
		"a/kustomization.yaml": file, "b/kustomization.yml": file, "c/Kustomization": file,
		"d/kustomize.yaml": file, "e/kustomization.yaml": file, "e/Kustomization": file,
		"f/kustomization.yaml/x": file,
	}
	for dir, want := range map[string]string{
		"a": "kustomization.yaml", "b": "kustomization.yml", "c": "Kustomization", "d": "", "f": "", "none": "",
	} {
		if name, ok, err := Find(tree, dir); name != want || ok != (want != "") || err != nil {
			t.Errorf("%s: got %q, %t, %v, want %q", dir, name, ok, err, want)
		}
	}
	if _, _, err := Find(tree, "e"); err == nil || err.Error() != "e: more than one kustomization file: kustomization.yaml, Kustomization" {
		t.Errorf("two files: got %v", err)
	}
}

func TestOptionErrors(t *testing.T) {
	t.Parallel()
	tree := archiveFS("-- app/kustomization.yaml --\nresources: [c.yaml]\ncommonLabels: {a: b}\nlabels: [{includeTemplates: true}]\ncommonAnnotations: {a: b}\n-- app/c.yaml --\n" + configMap)
	tests := []struct {
		name    string
		options Options
		want    string
		hint    string
	}{
		{"label exists", Options{CommonLabels: map[string]string{"a": "c"}}, `label "a" is already in the kustomization file`, "force"},
		{"annotation exists", Options{CommonAnnotations: map[string]string{"a": "c"}}, `annotation "a" is already in the kustomization file`, "force"},
		{"label without key", Options{CommonLabels: map[string]string{"": "c"}}, `label ":c": the key is empty`, ""},
		{"templates with selector", Options{CommonLabels: map[string]string{"x": "y"}, LabelIncludeTemplates: true}, "labels can include templates only without selector", ""},
		{"entry without pairs", Options{CommonLabels: map[string]string{"x": "y"}, LabelWithoutSelector: true, LabelIncludeTemplates: true}, "labels entry 1 has no pairs to add to", ""},
		{"image", Options{Images: []string{"nginx"}}, `image "nginx": want name=newname`, ""},
		{"component missing", Options{Components: []string{"../none"}}, `component "../none" does not exist below "app"`, "relative to the folder"},
		{"component outside", Options{Components: []string{"../../x"}}, `component "../../x" does not exist below "app"`, "relative to the folder"},
		{"component remote", Options{Components: []string{"https://h.example/r.git"}}, `component "https://h.example/r.git" is remote`, "vendor it"},
		{"component pattern", Options{Components: []string{"[*"}}, `component "[*": syntax error in pattern`, ""},
		{"patch option", Options{Patches: []Patch{{Patch: "x", Options: map[string]bool{"allowAll": true}}}}, `patch 1: unknown field "allowAll"`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := Build(t.Context(), tree, "app", test.options)
			if err == nil || !strings.HasPrefix(err.Error(), "app/kustomization.yaml: applying the options: "+test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if hint := diag.Hint(err); !strings.Contains(hint, test.hint) {
				t.Errorf("hint is %q, want %q", hint, test.hint)
			}
		})
	}
}

func TestDirOutsideTheTree(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"..", "../x", "/etc"} {
		if _, err := Build(t.Context(), fstest.MapFS{}, dir, Options{}); err == nil || !strings.Contains(err.Error(), "is not in the repository") {
			t.Errorf("%s: got %v", dir, err)
		}
	}
}

// TestGeneratedFilesKeepTheirHash is kustomize issue 4292: the order of the
// files of a generated ConfigMap must not change its hash.
func TestGeneratedFilesKeepTheirHash(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{}
	list := "configMapGenerator:\n- name: files\n  files:\n"
	for i := range 30 {
		name := fmt.Sprintf("f%02d.txt", (i*17)%30)
		tree[name] = &fstest.MapFile{Data: []byte("content of " + name + "\n")}
		list += "  - " + name + "\n"
	}
	tree["kustomization.yaml"] = &fstest.MapFile{Data: []byte(list)}
	for range 5 {
		objects, err := Build(t.Context(), tree, ".", Options{})
		if err != nil {
			t.Fatal(err)
		}
		// The name is what `kustomize build` v5.8.2 prints.
		const want = "files-ff9khm6k5b"
		if got := objects[0].ID().Name; got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

// waiting is a file system whose files cannot be read until it is released.
type waiting struct {
	fs.FS
	entered chan struct{}
	release chan struct{}
	once    *sync.Once
}

func (w waiting) Open(name string) (fs.File, error) {
	if name == "c.yaml" {
		w.once.Do(func() { close(w.entered) })
		<-w.release
	}
	return w.FS.Open(name)
}

func TestBuildEndsWithItsContext(t *testing.T) {
	t.Parallel()
	tree := archiveFS("-- kustomization.yaml --\nresources: [c.yaml]\n-- c.yaml --\n" + configMap)
	slow := waiting{tree, make(chan struct{}), make(chan struct{}), &sync.Once{}}
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := Build(ctx, slow, ".", Options{})
		first <- err
	}()
	<-slow.entered
	// A build that waits for the one that runs gives up.
	short, cancelShort := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancelShort()
	if _, err := Build(short, tree, ".", Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the build that was waiting: got %v", err)
	}
	cancel()
	close(slow.release)
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the build that was reading: got %v", err)
	}
	if objects, err := Build(t.Context(), tree, ".", Options{}); err != nil || len(objects) != 1 {
		t.Errorf("the next build: got %d objects, %v", len(objects), err)
	}
	if _, err := Build(ctx, tree, ".", Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is done before: got %v", err)
	}
}

// TestSchemaDoesNotLeak builds with a schema in which containers have no merge
// key, in the kustomization that is built and in a base, and with one that makes
// Kustomize panic. Whatever was built before, the schema must be the only one in
// its build, and gone in the next.
func TestSchemaDoesNotLeak(t *testing.T) {
	t.Parallel()
	const patched = `
-- top/kustomization.yaml --
resources: [../base]
TOP
-- base/kustomization.yaml --
resources: [d.yaml]
BASE
patches:
- patch: |-
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: d}
    spec: {template: {spec: {containers: [{name: b, image: "b:2"}]}}}
-- base/d.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {template: {spec: {containers: [{name: a, image: "a:1"}, {name: b, image: "b:1"}]}}}
-- FOLDER/schema.json --
SCHEMA
`
	const (
		noMergeKey = `{"definitions": {"v1.D": {"properties": {"spec": {"type": "object"}},
"x-kubernetes-group-version-kind": [{"group": "apps", "kind": "Deployment", "version": "v1"}]}}}`
		unrelated = `{"definitions": {}}`
		custom    = "openapi: {path: schema.json}"
	)
	type schemaCase struct {
		name, top, base, schema string
		containers              int
		err                     string
	}
	tests := []schemaCase{
		{name: "built-in", containers: 2},
		{name: "custom on top", top: custom, schema: noMergeKey, containers: 1},
		{name: "custom in a base", base: custom, schema: noMergeKey, containers: 1},
		{name: "custom without the kind", top: custom, schema: unrelated, containers: 1},
		{name: "broken", top: custom, schema: `{"definitions": 3}`, err: "the build panicked"},
	}
	// Each case runs after each other case.
	for _, before := range tests {
		for _, test := range tests {
			for _, current := range []schemaCase{before, test} {
				folder := "top"
				if current.base != "" {
					folder = "base"
				}
				tree := archiveFS(strings.NewReplacer("TOP", current.top, "BASE", current.base, "FOLDER", folder, "SCHEMA", current.schema).Replace(patched))
				objects, err := Build(t.Context(), tree, "top", Options{})
				if current.err != "" {
					if err == nil || !strings.Contains(err.Error(), current.err) {
						t.Errorf("%s after %s: got %v", test.name, before.name, err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				spec := objects[0].Value["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
				if got := len(spec["containers"].([]any)); got != current.containers {
					t.Errorf("%s after %s: got %d containers, want %d", test.name, before.name, got, current.containers)
				}
			}
		}
	}
}

func TestConcurrentBuildsDoNotMix(t *testing.T) {
	t.Parallel()
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			tree := archiveFS("-- kustomization.yaml --\nresources: [c.yaml]\nhelmCharts: [{name: t}]\n-- charts/t/values.yaml --\na: 1\n-- c.yaml --\n" + configMap)
			prefix := fmt.Sprintf("p%d-", i)
			objects, err := Build(t.Context(), tree, ".", Options{NamePrefix: prefix, Inflate: func(context.Context, Chart) ([]byte, error) {
				return []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: s" + prefix + "x}\n"), nil
			}})
			if err != nil || len(objects) != 2 {
				t.Errorf("got %d objects, %v", len(objects), err)
				return
			}
			names := []string{objects[0].ID().Name, objects[1].ID().Name}
			if diff := cmp.Diff([]string{prefix + "c", prefix + "s" + prefix + "x"}, names); diff != "" {
				t.Error(diff)
			}
		})
	}
	group.Wait()
}

// TestFactoriesAreKustomizes fails where an upgrade of Kustomize moves the maps
// that hook replaces, or renames the generator that would run helm. It holds
// the lock, so that no build has its own factories in place.
func TestFactoriesAreKustomizes(t *testing.T) {
	t.Parallel()
	building <- struct{}{}
	defer func() { <-building }()
	if len(generatorFactories) != 4 || len(transformerFactories) != 14 {
		t.Fatalf("got %d generators and %d transformers, want 4 and 14", len(generatorFactories), len(transformerFactories))
	}
	found := 0
	for _, factory := range generatorFactories {
		if fmt.Sprintf("%T", factory()) == inflationPlugin {
			found++
		}
	}
	if found != 1 {
		t.Errorf("found %d generators of type %s, want 1", found, inflationPlugin)
	}
}

// limited is a tree with one file that a limit keeps from being read.
type limited struct{ fs.FS }

var errLimit = errors.New("c.yaml has 9 bytes, the limit is 8")

func (u limited) Open(name string) (fs.File, error) {
	if name == "c.yaml" {
		return nil, errLimit
	}
	return u.FS.Open(name)
}

func TestReadErrorsKeepTheirType(t *testing.T) {
	t.Parallel()
	tree := archiveFS("-- kustomization.yaml --\nresources: [c.yaml]\n-- c.yaml --\n" + configMap)
	if _, err := Build(t.Context(), limited{tree}, ".", Options{}); !errors.Is(err, errLimit) {
		t.Errorf("got %v", err)
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	tree := archiveFS(`
-- top/kustomization.yaml --
resources: [../a, ../b, list.yaml]
namePrefix: p-
namespace: ns
components: [../comp]
patches:
- target: {kind: ConfigMap, name: item}
  patch: '[{"op": "replace", "path": "/metadata/name", "value": "renamed"}]'
  options: {allowNameChange: true}
- path: patch.yaml
generators: [gen.yaml]
helmCharts: [{name: t}]
-- top/gen.yaml --
apiVersion: builtin
kind: ConfigMapGenerator
metadata: {name: g}
name: external
literals: [a=b]
-- top/patch.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: item}
-- top/charts/t/values.yaml --
a: 1
-- top/list.yaml --
# comment
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: item}}
-- a/kustomization.yaml --
resources: [../base]
nameSuffix: -a
-- b/kustomization.yaml --
resources: [../base]
nameSuffix: -b
-- base/kustomization.yaml --
resources: [all.yaml]
secretGenerator: [{name: made, literals: [a=b]}]
-- base/all.yaml --

# first
apiVersion: v1
kind: Service
metadata:
  labels: {name: other}
  name: "web" # named
---
# second
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: role
-- comp/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [c.yaml]
-- comp/c.yaml --
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
`)
	inflate := func(context.Context, Chart) ([]byte, error) {
		return []byte("---\n# Source: t/templates/x.yaml\napiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n"), nil
	}
	objects, err := Build(t.Context(), tree, "top", Options{Inflate: inflate})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, o := range objects {
		got[o.Kind()+" "+o.ID().Name] = o.At()
	}
	want := map[string]string{
		"Service p-web-a":                 "base/all.yaml:3",
		"Service p-web-b":                 "base/all.yaml:3",
		"ClusterRole p-role-a":            "base/all.yaml:10",
		"ClusterRole p-role-b":            "base/all.yaml:10",
		"Secret p-made-a-k695gkmbtk":      "base/kustomization.yaml",
		"Secret p-made-b-k695gkmbtk":      "base/kustomization.yaml",
		"ConfigMap p-renamed":             "top/list.yaml:2",
		"ConfigMap p-c":                   "comp/c.yaml:1",
		"ConfigMap p-external-4h2mbtbbt6": "top/kustomization.yaml",
		"Pod p-x":                         "t/templates/x.yaml",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("origins (-want +got):\n%s", diff)
	}
}

// TestChartOutput covers what a chart may print besides objects.
func TestChartOutput(t *testing.T) {
	t.Parallel()
	tree := archiveFS("-- kustomization.yaml --\nhelmCharts: [{name: t}]\n-- charts/t/values.yaml --\na: 1\n")
	const object = "---\n# Source: t/templates/x.yaml\napiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"
	tests := []struct {
		name, stream string
		want         int
	}{
		{"nothing", "", 0},
		{"empty documents", "---\n---\n# Source: t/templates/y.yaml\n" + object, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			objects, err := Build(t.Context(), tree, ".", Options{Inflate: func(context.Context, Chart) ([]byte, error) {
				return []byte(test.stream), nil
			}})
			if err != nil || len(objects) != test.want {
				t.Errorf("got %d objects, %v, want %d", len(objects), err, test.want)
			}
		})
	}
}

// TestVersionedChart accepts a chart that helm pull would fetch where it is
// vendored, if it is of the wanted version.
func TestVersionedChart(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"charts/t", "charts/t-1.2.3", "charts/t-1.2.3/t"} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			tree := archiveFS("-- kustomization.yaml --\nhelmCharts: [{name: t, version: 1.2.3, repo: 'https://h.example'}]\n-- " + dir + "/Chart.yaml --\nversion: 1.2.3\n-- " + dir + "/values.yaml --\na: b")
			var got Chart
			_, err := Build(t.Context(), tree, ".", Options{Inflate: func(_ context.Context, c Chart) ([]byte, error) {
				got = c
				return nil, nil
			}})
			want := Chart{Dir: dir, Name: "t", Version: "1.2.3", Repo: "https://h.example", ReleaseName: "release-name", Values: [][]byte{[]byte("a: b\n")}}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v, (-want +got):\n%s", err, diff)
			}
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	tree := fstest.MapFS{}
	list := "namePrefix: p-\nnamespace: ns\ncommonLabels: {a: b}\nimages: [{name: nginx, newTag: '2'}]\nresources:\n"
	for i := range 100 {
		name := fmt.Sprintf("d%d.yaml", i)
		list += "- " + name + "\n"
		tree[name] = &fstest.MapFile{Data: fmt.Appendf(nil, `apiVersion: apps/v1
kind: Deployment
metadata:
  name: d%d
spec:
  replicas: 2
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec:
      containers:
      - name: web
        image: nginx:1
        env:
        - {name: A, value: "1"}
        - {name: B, value: "2"}
`, i)}
	}
	tree["kustomization.yaml"] = &fstest.MapFile{Data: []byte(list)}
	var objects []object.Object
	for b.Loop() {
		var err error
		if objects, err = Build(b.Context(), tree, ".", Options{}); err != nil {
			b.Fatal(err)
		}
	}
	if len(objects) != 100 {
		b.Fatalf("got %d objects", len(objects))
	}
}
