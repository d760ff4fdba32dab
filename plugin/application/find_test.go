package application

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"hallmark.dev/hallmark/plugin/source"
)

const setHead = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: previews, namespace: argocd}\nspec:\n"

const setTemplate = `  template:
    metadata: {name: "{{.name}}"}
    spec: {project: default, source: {repoURL: a, path: "{{.name}}"}, destination: {name: here}}
`

func app(name string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + "}\nspec: {source: {repoURL: a, path: b}, project: p, destination: {name: x}}\n"
}

// summary is what was found, one line each.
func summary(found Found) string {
	var lines []string
	for _, a := range found.Applications {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s:%d %s %s", a.File, a.Line, a.Name, a.From)))
	}
	for _, f := range found.Faults {
		lines = append(lines, fmt.Sprintf("fault %s:%d %q %s", f.File, f.Line, f.Name, f.Err))
	}
	return strings.Join(lines, "\n")
}

func TestFind(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files map[string]string
		want  string
	}{
		"in order of files": {map[string]string{"b/x.yml": app("b"), "a/x.yaml": app("a"), "c.txt": app("c"), ".git/x.yaml": app("d"), ".hidden/x.yaml": app("e")},
			".hidden/x.yaml:1 e\na/x.yaml:1 a\nb/x.yml:1 b"},
		"several documents": {map[string]string{"x.yaml": "# about\n\n" + app("a") + "---\nkind: ConfigMap\napiVersion: v1\n---\n# another\n" + app("b")},
			"x.yaml:3 a\nx.yaml:12 b"},
		"a List": {map[string]string{"x.yaml": "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(app("a"), "\n", "\n  ") + "\n- " +
			strings.ReplaceAll(app("b"), "\n", "\n  ") + "\n- {kind: ConfigMap}\n- null\n"}, "x.yaml:4 a\nx.yaml:9 b"},
		"a fault in a List": {map[string]string{"x.yaml": "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.Replace(app("a"), "path", "pat", 1), "\n", "\n  ") + "\n"},
			`fault x.yaml:4 "a" x.yaml:7:18: source: it has no path or chart` + "\n" + `x.yaml:7:31: source: unknown field "pat", did you mean "path"?`},
		"JSON": {map[string]string{"x.json": `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"a","namespace":"n"},"spec":{"source":{"repoURL":"r","path":"p"}}}`},
			"x.json:1 a"},
		"a broken one, the rest goes on": {map[string]string{"a.yaml": app("a"), "b.yaml": strings.Replace(app("b"), "project", "projekt", 1) + "---\n" + app("b2"), "c.yaml": "kind: Application\napiVersion: argoproj.io/v1alpha1\nmetadata: [\n", "d.yaml": app("d")},
			"a.yaml:1 a\nb.yaml:6 b2\nd.yaml:1 d\n" + `fault b.yaml:1 "b" b.yaml:4:39: spec: unknown field "projekt", did you mean "project"?` + "\n" + `fault c.yaml:4 "" c.yaml:4:`},
		"templates of charts": {map[string]string{"web/Chart.yaml": "name: web\n", "web/templates/app.yaml": app("{{ .Release.Name }}"), "web/templates/deep/b.yaml": app("b"), "docs/templates/c.yaml": app("c")},
			"docs/templates/c.yaml:1 c"},
		"templates elsewhere": {map[string]string{"a.yaml": "{{- if .Values.on }}\n" + app("a") + "{{- end }}\n"}, ""},
		"another group": {map[string]string{"a.yaml": strings.Replace(app("a"), "argoproj.io/v1alpha1", "app.k8s.io/v1beta1", 1) + "# argoproj.io\n",
			"b.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: a}\n"}, ""},
		"a set": {map[string]string{"s.yaml": setHead + "  goTemplate: true\n  generators: [{list: {elements: [{name: a}, {name: b}]}}]\n" + setTemplate},
			"s.yaml:1 a ApplicationSet argocd/previews\ns.yaml:1 b ApplicationSet argocd/previews"},
		"a set with a fault": {map[string]string{"s.yaml": setHead + "  goTemplate: true\n  generators:\n  - list: {elements: [{name: a}, {name: a}, {title: b}]}\n  - clusters: {}\n" + setTemplate},
			"s.yaml:1 a ApplicationSet argocd/previews\n" +
				`fault s.yaml:1 "argocd/a" s.yaml:1: application "a": an application of this ApplicationSet has the name already` + "\n" +
				`fault s.yaml:1 "argocd/<no value>" s.yaml:1: application "<no value>": metadata.name: "<no value>" is no name` + "\n" +
				`fault s.yaml:1 "ApplicationSet argocd/previews" s.yaml:8:15: generators[1].clusters: the generator asks a cluster, and so cannot be expanded here`},
		"an unknown field of a set": {map[string]string{"s.yaml": setHead + "  goTemplat: true\n  generators: [{list: {element: []}}]\n" + setTemplate},
			`fault s.yaml:1 "ApplicationSet argocd/previews" s.yaml:5:3: spec: unknown field "goTemplat", did you mean "goTemplate"?` + "\n" +
				`s.yaml:6:24: generators[0].list: unknown field "element", did you mean "elements"?`},
		"a set whose templates are not in quotes": {map[string]string{"s.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nspec:\n  goTemplate: true\n  template:\n    metadata: {name: {{.name}}}\n"},
			`fault s.yaml:6 "" s.yaml:6:`},
		"a patch": {map[string]string{"overlay/kustomization.yaml": "patches: [{path: patch/x.yaml}]\npatchesStrategicMerge: [y.yaml]\nresources: [z.yaml]\n",
			"overlay/patch/x.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: {targetRevision: v2}}\n",
			"overlay/y.yaml":       "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\nspec: {goTemplate: true}\n",
			"overlay/z.yaml":       "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: z}\nspec: {source: {targetRevision: v2}}\n"},
			`fault overlay/z.yaml:1 "z" overlay/z.yaml:4:16: source.repoURL: missing`},
		"nothing": {map[string]string{"README.md": "argoproj.io"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := Find(source.Memory(tt.files).View(), ".", Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, want := strings.Split(summary(found), "\n"), strings.Split(tt.want, "\n")
			if len(got) != len(want) || !slices.EqualFunc(got, want, strings.HasPrefix) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), tt.want)
			}
		})
	}
}

func TestFindBelow(t *testing.T) {
	t.Parallel()
	repo := fstest.MapFS{"a/x.yaml": {Data: []byte(app("a"))}, "b/x.yaml": {Data: []byte(app("b"))}, "a/link.yaml": {Data: []byte("../b/x.yaml"), Mode: fs.ModeSymlink}}
	found, err := Find(repo, "a", Options{})
	if got := summary(found); err != nil || got != "a/x.yaml:1 a" {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := Find(repo, "c", Options{}); err == nil {
		t.Error("got no error for a folder that is not there")
	}
}

// Fields that decide nothing about rendering may be what they like.
func TestFindLeavesTheRest(t *testing.T) {
	t.Parallel()
	text := strings.Replace(app("a"), "spec:", "status: {anything: [1]}\noperation: {x: y}\nspec:", 1)
	text = strings.Replace(text, "{name: a}", "{name: a, labels: {a: 1}, creationTimestamp: null, unknown: 1}", 1)
	if got := summary(find(t, text)); got != "app.yaml:1 a" {
		t.Errorf("got %s", got)
	}
}

// The repositories are asked for as the generator names them.
func TestFindAsksForRepositories(t *testing.T) {
	t.Parallel()
	set := func(revision string) string {
		return setHead + "  generators: [{git: {repoURL: https://user:s3cr3t@git.example.com/shop.git, revision: " + revision + ", directories: [{path: '*'}]}}]\n" +
			strings.ReplaceAll(setTemplate, "{{.name}}", "{{path}}")
	}
	repo := map[string]string{"a.yaml": set("main"), "b.yaml": set("v1")}
	opt := Options{Here: func(url, revision string) (fs.FS, bool) {
		if url != "https://user:s3cr3t@git.example.com/shop.git" {
			t.Errorf("got %q", url)
		}
		return fstest.MapFS{"web/x": {}}, revision == "main"
	}}
	found, err := Find(source.Memory(repo).View(), ".", opt)
	if err != nil {
		t.Fatal(err)
	}
	want := "a.yaml:1 web ApplicationSet argocd/previews\nfault b.yaml:1 \"ApplicationSet argocd/previews\" b.yaml:5:22: " +
		`generators[0].git: the repository https://git.example.com/shop.git at revision "v1" is not at hand`
	if got := summary(found); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	found, err = Find(source.Memory(repo).View(), ".", Options{})
	if err != nil || len(found.Faults) != 2 {
		t.Errorf("got %v, %v, want two faults without repositories", found.Faults, err)
	}
}

func TestNewGitFileGlobbing(t *testing.T) {
	t.Parallel()
	repo := source.Memory(map[string]string{"s.yaml": setHead + "  generators: [{git: {repoURL: r, revision: main, files: [{path: 'apps/**/c.yaml'}]}}]\n" + strings.ReplaceAll(setTemplate, "{{.name}}", "{{name}}"),
		"apps/c.yaml": "name: top\n", "apps/a/b/c.yaml": "name: deep\n"}).View()
	for globs, want := range map[bool][]string{false: {"deep"}, true: {"deep", "top"}} {
		found, err := Find(repo, ".", Options{Here: func(string, string) (fs.FS, bool) { return repo, true }, NewGitFileGlobbing: globs})
		names := map[string]bool{}
		for _, a := range found.Applications {
			names[a.Name] = true
		}
		if got := slices.Sorted(maps.Keys(names)); err != nil || !slices.Equal(got, want) {
			t.Errorf("globs %v: got %v, %v, want %v", globs, got, found.Faults, want)
		}
	}
}
