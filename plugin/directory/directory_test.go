package directory

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf16"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/source"
)

func tree(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

// names lists objects as "name@origin:line".
func names(objs []object.Object) string {
	var list []string
	for _, obj := range objs {
		list = append(list, obj.ID().Name+"@"+obj.At())
	}
	return strings.Join(list, " ")
}

func lines(l diag.List) string {
	if len(l) == 0 {
		return ""
	}
	return l.Error()
}

func TestLoadSelectsFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, name := range []string{
		"a.yaml", "b.yml", "c.json.yaml", "d.YAML", "e.txt", "f", ".yaml", "conf.d/a.yaml", "conf.d/deep/b.yml", "z/z.yaml", "a-b.yaml",
	} {
		files["apps/web/"+name] = configMap("m")
	}
	files["apps/other.yaml"] = configMap("outside")
	for _, tc := range []struct {
		name string
		o    Options
		want string // paths below apps/web
	}{
		{"flat", Options{}, ".yaml a-b.yaml a.yaml b.yml c.json.yaml"},
		{"recurse in lexical order of the walk", Options{Recurse: true}, ".yaml a-b.yaml a.yaml b.yml c.json.yaml conf.d/a.yaml conf.d/deep/b.yml z/z.yaml"},
		{"include", Options{Include: "a.yaml"}, "a.yaml"},
		{"include alternatives", Options{Recurse: true, Include: "{a.yaml,z/*}"}, "a.yaml z/z.yaml"},
		{"star crosses slashes", Options{Recurse: true, Include: "conf*.yml"}, "conf.d/deep/b.yml"},
		{"double star", Options{Recurse: true, Include: "**/b.yml"}, "conf.d/deep/b.yml"},
		{"include names the path, not the base", Options{Recurse: true, Include: "z.yaml"}, ""},
		{"exclude", Options{Recurse: true, Exclude: "conf.d/*"}, ".yaml a-b.yaml a.yaml b.yml c.json.yaml z/z.yaml"},
		{"exclude wins", Options{Include: "*.yaml", Exclude: "a*"}, ".yaml c.json.yaml"},
		{"character class", Options{Include: "[ab].y*"}, "a.yaml b.yml"},
		{"include without recurse finds nothing below", Options{Include: "z/*"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			objs, warnings, err := Load(t.Context(), tree(files), "apps/web", tc.o)
			if err != nil || len(warnings) > 0 {
				t.Fatalf("got error %v and warnings %q", err, lines(warnings))
			}
			var got []string
			for _, obj := range objs {
				got = append(got, strings.TrimPrefix(obj.Origin, "apps/web/"))
			}
			if got := strings.Join(got, " "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestLoadPassesOverTheConfigurationOfSops: it stands in the folders of those who
// encrypt, and a warning at each render would tell them nothing.
func TestLoadPassesOverTheConfigurationOfSops(t *testing.T) {
	t.Parallel()
	rules := "creation_rules:\n- age: age1xyz\n"
	files := tree(map[string]string{".sops.yaml": rules, "sub/.sops.yaml": configMap("no"), "a.yaml": configMap("a"), "x.sops.yaml": configMap("x")})
	objs, warnings, err := Load(t.Context(), files, ".", Options{Recurse: true})
	if err != nil || names(objs) != "a@a.yaml:1 x@x.sops.yaml:1" || len(warnings) > 0 {
		t.Errorf("got %q, warnings %q, error %v", names(objs), lines(warnings), err)
	}
	if _, warnings, _ = Load(t.Context(), tree(map[string]string{"sops.yaml": rules}), ".", Options{}); len(warnings) != 1 {
		t.Errorf("got warnings %q for a file of another name, want one", lines(warnings))
	}
}

func TestLoadFromTheRoot(t *testing.T) {
	t.Parallel()
	objs, _, err := Load(t.Context(), tree(map[string]string{"a.yaml": configMap("a"), "x/b.yaml": configMap("b")}), ".", Options{Recurse: true, Include: "{a.yaml,x/b.yaml}"})
	if err != nil || names(objs) != "a@a.yaml:1 b@x/b.yaml:1" {
		t.Errorf("got %q and %v, want both files", names(objs), err)
	}
}

func TestLoadContent(t *testing.T) {
	t.Parallel()
	utf16Text := func(order binary.AppendByteOrder, s string) string {
		text := order.AppendUint16(nil, 0xfeff)
		for _, unit := range utf16.Encode([]rune(s)) {
			text = order.AppendUint16(text, unit)
		}
		return string(text)
	}
	const manyJSON = `{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}`
	for _, tc := range []struct {
		name, file, text string
		objs             string
		warning, fault   string // a part of it
	}{
		{name: "two documents", file: "a.yaml", text: configMap("a") + "---\n" + configMap("b"), objs: "a@a.yaml:1 b@a.yaml:6"},
		{name: "leading and trailing separators", file: "a.yaml", text: "---\n" + configMap("a") + "---\n---\n\n---\n", objs: "a@a.yaml:1"},
		{name: "empty document", file: "a.yaml", text: configMap("a") + "---\n\n---\n" + configMap("b"), objs: "a@a.yaml:1 b@a.yaml:8"},
		{name: "document of comments", file: "a.yaml", text: "# nothing\n---\n# here\n---\n" + configMap("b"), objs: "b@a.yaml:5"},
		{name: "null document", file: "a.yaml", text: "null\n---\n" + configMap("b"), objs: "b@a.yaml:3"},
		{name: "empty file", file: "a.yaml", text: ""},
		{name: "comments only", file: "a.yaml", text: "# apiVersion: v1\n# kind: A\n# metadata: {}\n"},
		{name: "CRLF", file: "a.yaml", text: strings.ReplaceAll(configMap("a")+"---\n"+configMap("b"), "\n", "\r\n"), objs: "a@a.yaml:1 b@a.yaml:6"},
		{name: "byte order mark", file: "a.yaml", text: "\xef\xbb\xbf" + configMap("a"), objs: "a@a.yaml:1"},
		{name: "UTF-16, little endian", file: "a.yaml", text: utf16Text(binary.LittleEndian, configMap("a")+"# \U0001F600\n"), objs: "a@a.yaml:1"},
		{name: "UTF-16, big endian", file: "a.yaml", text: utf16Text(binary.BigEndian, configMap("a")+"# \U0001F600\n"), objs: "a@a.yaml:1"},
		{name: "List", file: "a.yaml", text: "apiVersion: v1\nkind: List\nmetadata: {name: l}\nitems: [{kind: A}]\n", objs: "l@a.yaml:1"},
		{name: "List with null items", file: "a.yaml", text: "apiVersion: v1\nkind: List\nmetadata: {name: l}\nitems: null\n", objs: "l@a.yaml:1"},
		{name: "flow mapping", file: "a.yaml", text: "{apiVersion: v1, kind: A, metadata: {name: a}}\n", objs: "a@a.yaml:1"},
		{name: "no apiVersion and no name is for the gate", file: "a.yaml", text: "kind: A\n", objs: "@a.yaml:1"},

		{name: "JSON", file: "a.json", text: "\n{\"kind\": \"A\", \"metadata\": {\"name\": \"a\"}}\n", objs: "a@a.json:2"},
		{name: "JSON with a byte order mark", file: "a.json", text: "\xef\xbb\xbf" + manyJSON, objs: "a@a.json:1"},
		{name: "JSON in a YAML file", file: "a.yaml", text: manyJSON, objs: "a@a.yaml:1"},
		{name: "JSON in YAML documents", file: "a.yaml", text: manyJSON + "\n---\n" + manyJSON + "\n---\n" + configMap("b"), objs: "a@a.yaml:1 a@a.yaml:2 b@a.yaml:5"},
		{name: "stream of JSON in a YAML file", file: "a.yaml", text: manyJSON + manyJSON + "\n\n" + manyJSON, objs: "a@a.yaml:1 a@a.yaml:1 a@a.yaml:3"},
		{name: "characters outside the basic plane in JSON", file: "a.json", text: `{"kind":"A","metadata":{"name":"\ud83d\ude00"}}`, objs: "\U0001F600@a.json:1"},

		{name: "marker in a comment", file: "a.yaml", text: "# +argocd:skip-file-rendering\n" + configMap("a")},
		{name: "marker anywhere", file: "a.yaml", text: configMap("a") + "data: {a: '+argocd:skip-file-rendering'}\n"},
		{name: "marker in broken YAML", file: "a.yaml", text: "# +argocd:skip-file-rendering\n" + configMap("a") + ": [\n"},
		{name: "marker in jsonnet", file: "a.jsonnet", text: "// +argocd:skip-file-rendering\n{}"},
		{name: "marker in JSON", file: "a.json", text: `{"//": "+argocd:skip-file-rendering"}`},
		{name: "own configuration", file: "hallmark.yaml", text: "apiVersion: hallmark.dev/v1\nkind: Render\n---\napiVersion: hallmark.dev/v1\nkind: HealthCheck\n---\n" + configMap("a"), objs: "a@hallmark.yaml:7"},
		{name: "another kind of the group", file: "a.yaml", text: "apiVersion: hallmark.dev/v1\nkind: Migration\nmetadata: {name: m}\n", objs: "m@a.yaml:1"},
		{name: "a chart's and a kustomization's files", file: "kustomization.yaml", text: "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: {name: k}\n", objs: "k@kustomization.yaml:1"},

		{name: "values file", file: "values.yaml", text: "image:\n  tag: latest\n", warning: "values.yaml:1: passed over: object without kind"},
		{name: "list", file: "a.yaml", text: "- a\n- b\n", warning: "a.yaml:1: passed over: got an array, want an object"},
		{name: "scalar", file: "a.yaml", text: "text\n", warning: "a.yaml:1: passed over: got a single value, want an object"},
		{name: "unrelated broken YAML", file: "a.yaml", text: "a: [\n", warning: "passed over: "},
		{name: "template of a chart", file: "a.yaml", text: "{{- if .Values.a }}\na: b\n{{- end }}\n", warning: "passed over: "},
		{name: "values before a manifest", file: "a.yaml", text: "a: b\n---\n" + configMap("a"), fault: "a.yaml:1: object without kind"},
		{name: "values behind a manifest", file: "a.yaml", text: "kind: A\n---\na: b\n", fault: "a.yaml:3: object without kind"},
		{name: "broken manifest", file: "a.yaml", text: configMap("a") + "  b: [\n", fault: "a.yaml:"},
		{name: "broken document behind an object", file: "a.yaml", text: "kind: A\n---\na: [\n", fault: "a.yaml:"},
		{name: "kind is a number", file: "a.yaml", text: "apiVersion: v1\nkind: 5\nmetadata: {name: a}\n", fault: "a.yaml:1: object without kind"},
		{name: "apiVersion of three parts", file: "a.yaml", text: "apiVersion: a/b/c\nkind: A\nmetadata: {name: a}\n", fault: "a.yaml:1: apiVersion"},

		{name: "two objects in a JSON file", file: "a.json", text: manyJSON + "\n" + manyJSON, fault: "a.json:1: more than one JSON object"},
		{name: "array in a JSON file", file: "a.json", text: "[" + manyJSON + "]", fault: "a.json:1: got an array, want an object"},
		{name: "JSON without kind", file: "package.json", text: "\n{\"name\": \"a\"}", fault: "package.json:2: object without kind"},
		{name: "null in a JSON file", file: "a.json", text: "null", fault: "a.json:1: got null, want an object"},
		{name: "empty JSON file", file: "a.json", text: " \n", fault: "a.json: got an empty file"},
		{name: "broken JSON", file: "a.json", text: "{\n\"a\": hunter2}", fault: "a.json:2: not valid JSON: invalid character 'h'"},
		{name: "cut JSON", file: "a.json", text: "{\n\"a\":\n", fault: "a.json:3: not valid JSON: the file ends too early"},
		{name: "stream of JSON that breaks", file: "a.yaml", text: manyJSON + manyJSON + "\n}", fault: "a.yaml:2:1: invalid character"},
		{name: "jsonnet", file: "a.jsonnet", text: "{}", fault: "a.jsonnet: hallmark does not evaluate jsonnet"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			objs, warnings, err := Load(t.Context(), tree(map[string]string{tc.file: tc.text}), ".", Options{})
			if got := names(objs); got != tc.objs {
				t.Errorf("got objects %q, want %q", got, tc.objs)
			}
			if got := lines(warnings); !strings.Contains(got, tc.warning) || (tc.warning == "") != (got == "") {
				t.Errorf("got warnings %q, want %q", got, tc.warning)
			}
			switch {
			case tc.fault == "" && err != nil:
				t.Errorf("got error %q", err)
			case tc.fault != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.fault)):
				t.Errorf("got error %v, want %q", err, tc.fault)
			case tc.fault != "" && diag.Hint(err) == "":
				t.Errorf("error %q has no hint", err)
			case err != nil && strings.Contains(err.Error(), "hunter2"):
				t.Errorf("error %q quotes the file", err)
			}
		})
	}
}

func TestLoadReportsAllFaults(t *testing.T) {
	t.Parallel()
	fsys := tree(map[string]string{"a.json": "{}", "b.jsonnet": "", "c.yaml": configMap("c"), "d.yaml": "kind: A\n---\n[]\n"})
	_, _, err := Load(t.Context(), fsys, ".", Options{})
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v, want three faults", err)
	}
	if want := "directory-exclude"; !strings.Contains(diag.Hint(err), want) {
		t.Errorf("got hint %q, want %q in it", diag.Hint(err), want)
	}
}

func TestLoadJsonnetLeftOut(t *testing.T) {
	t.Parallel()
	objs, _, err := Load(t.Context(), tree(map[string]string{"a.jsonnet": "", "b.yaml": configMap("b"), "c.libsonnet": ""}), ".", Options{Exclude: "*.jsonnet"})
	if err != nil || names(objs) != "b@b.yaml:1" {
		t.Errorf("got %q and %v, want b", names(objs), err)
	}
}

func TestLoadRefusesBrokenGlob(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Include: "[a"}, {Exclude: "[a"}} {
		if _, _, err := Load(t.Context(), tree(nil), ".", o); err == nil || !strings.Contains(err.Error(), "does not compile") {
			t.Errorf("%+v: got %v, want a refusal of the glob", o, err)
		}
	}
}

func TestLoadWithoutDirectory(t *testing.T) {
	t.Parallel()
	if _, _, err := Load(t.Context(), tree(map[string]string{"a.yaml": ""}), "apps", Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}

func TestLoadStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Load(ctx, tree(map[string]string{"a.yaml": ""}), ".", Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestLoadSymlinks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, link, target string
		objs, warning      string
		refused            bool
	}{
		{name: "inside", link: "app/b.yaml", target: "../shared/s.yaml", objs: "a@app/a.yaml:1 s@app/b.yaml:1"},
		{name: "dangling", link: "app/b.yaml", target: "gone.yaml", objs: "a@app/a.yaml:1", warning: "app/b.yaml: the target of the symlink is missing"},
		{name: "to a folder", link: "app/b.yaml", target: "../shared", objs: "a@app/a.yaml:1", warning: "app/b.yaml: passed over: it is no regular file"},
		{name: "folder under a plain name", link: "app/shared", target: "../shared", objs: "a@app/a.yaml:1"},
		{name: "out of the root", link: "app/b.yaml", target: "../../outside.yaml", refused: true},
		{name: "out of the root, under another name", link: "app/b.txt", target: "../../outside.yaml", objs: "a@app/a.yaml:1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(t.TempDir(), "repo")
			for name, text := range map[string]string{"app/a.yaml": configMap("a"), "shared/s.yaml": configMap("s"), "../outside.yaml": configMap("o")} {
				file := filepath.Join(root, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(filepath.FromSlash(tc.target), filepath.Join(root, filepath.FromSlash(tc.link))); err != nil {
				t.Fatal(err)
			}
			repo, err := source.Dir(root, source.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = repo.Close() }()
			objs, warnings, err := Load(t.Context(), repo.View(), "app", Options{Recurse: true})
			if (err != nil) != tc.refused {
				t.Fatalf("got error %v, want one: %t", err, tc.refused)
			}
			if got := names(objs); got != tc.objs {
				t.Errorf("got objects %q, want %q", got, tc.objs)
			}
			if got := lines(warnings); got != tc.warning {
				t.Errorf("got warnings %q, want %q", got, tc.warning)
			}
		})
	}
}

// The matcher tries every combination of alternatives.
func TestGlobWithManyAlternatives(t *testing.T) {
	t.Parallel()
	pattern := strings.Repeat("{a*,*a}", 40)
	_, _, err := Load(context.Background(), fstest.MapFS{"app/" + strings.Repeat("a", 100) + ".yaml": {Data: []byte(configMap("a"))}}, "app", Options{Include: pattern})
	if err == nil || !strings.Contains(err.Error(), `parameter "directory-include": the glob has 40 groups of alternatives, more than 8`) {
		t.Errorf("got error %v", err)
	}
}

// TestGlobThatPanics: the library does at this one.
func TestGlobThatPanics(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{"a.yaml": &fstest.MapFile{Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")}}
	_, _, err := Load(context.Background(), fsys, ".", Options{Include: "{a.yaml*,a.yaml}"})
	if err == nil || !strings.Contains(err.Error(), "a.yaml: the glob library cannot match") {
		t.Errorf("got %v", err)
	}
}
