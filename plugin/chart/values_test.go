package chart

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/bmatcuk/doublestar/v4"
)

func TestResolveValueFiles(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{}
	for _, name := range []string{"shared.yaml", "apps/web/values.yaml", "apps/web/a.yaml", "apps/web/b.yaml", "apps/web/env/c.yaml", "apps/web/env/deep/d.yaml", "apps/web/env/notes.txt"} {
		fsys[name] = &fstest.MapFile{Data: []byte("a: b\n")}
	}
	tests := []struct {
		name     string
		patterns []string
		ignore   bool
		want     []string
		err      string
	}{
		{name: "none"},
		{name: "relative", patterns: []string{"a.yaml", "./b.yaml"}, want: []string{"apps/web/a.yaml", "apps/web/b.yaml"}},
		{name: "repository root", patterns: []string{"/shared.yaml"}, want: []string{"shared.yaml"}},
		{name: "up and inside", patterns: []string{"../../shared.yaml", "../web/a.yaml"}, want: []string{"shared.yaml", "apps/web/a.yaml"}},
		{name: "twice counts once", patterns: []string{"a.yaml", "b.yaml", "./a.yaml"}, want: []string{"apps/web/a.yaml", "apps/web/b.yaml"}},
		{name: "glob", patterns: []string{"?.yaml"}, want: []string{"apps/web/a.yaml", "apps/web/b.yaml"}},
		{name: "explicit keeps its place", patterns: []string{"*.yaml", "a.yaml"}, want: []string{"apps/web/b.yaml", "apps/web/values.yaml", "apps/web/a.yaml"}},
		{name: "class", patterns: []string{"[b-z].yaml"}, want: []string{"apps/web/b.yaml"}},
		{name: "no match", patterns: []string{"x*.yaml"}, err: "no file matches"},
		{name: "no match ignored", patterns: []string{"x*.yaml", "a.yaml"}, ignore: true, want: []string{"apps/web/a.yaml"}},
		{name: "missing", patterns: []string{"x.yaml"}, err: `apps/web/x.yaml: value file "x.yaml" does not exist`},
		{name: "missing ignored", patterns: []string{"x.yaml", "a.yaml"}, ignore: true, want: []string{"apps/web/a.yaml"}},
		{name: "out of the root", patterns: []string{"../../../etc/passwd"}, ignore: true, err: "leaves the repository root"},
		{name: "out of the root, absolute", patterns: []string{"/../etc/passwd"}, ignore: true, err: "leaves the repository root"},
		{name: "the root", patterns: []string{"/"}, err: "is the repository root"},
		{name: "URL", patterns: []string{"https://example.com/a.yaml"}, ignore: true, err: `the URL scheme "https" is not allowed`},
		{name: "bad glob", patterns: []string{"a[.yaml"}, err: "syntax error in pattern"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ResolveValueFiles(fsys, "apps/web", tt.patterns, tt.ignore)
			if tt.err != "" {
				wantError(t, err, tt.err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// The order of a glob's matches decides which value wins. Argo CD takes it from
// doublestar.FilepathGlob.
func TestGlobOrder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"z.yaml", "a/b/c.yaml", "a/a.yaml", "a/z.yaml", "b.yaml", "a.d/x.yaml", "a-b/x.yaml"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, pattern := range []string{"**/*.yaml", "*/*.yaml", "a/**/*.yaml", "**"} {
		want, err := doublestar.FilepathGlob(filepath.Join(root, pattern), doublestar.WithFilesOnly())
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			want[i] = strings.TrimPrefix(want[i], root+"/")
		}
		got, err := ResolveValueFiles(os.DirFS(root), ".", []string{pattern}, false)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", pattern, got, want)
		}
	}
}

func TestEscapeCommas(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"a": "a", "a,b": `a\,b`, `a\,b`: `a\,b`, "{a,b}": "{a,b}", "{a": "{a", ",,,,$$$$": `\,\,\,\,$$$$`, `\\,`: `\\,`,
	} {
		if got := escapeCommas(value); got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}

// Overlapping names have one meaning: Argo CD's own order comes from a Go map.
func TestAssignmentOrder(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine Engine) {
		files := map[string]string{
			"values.yaml":      "a: {b: chart, c: chart}\n",
			"templates/c.yaml": configMap("c", `a: {{ toJson .Values.a | quote }}`),
		}
		out, err := render(t, engine, files, Options{Set: []Assignment{{"a.b", "x"}, {"a.c", "null"}, {"a.d", "1"}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Objects[0].Value["data"]; !reflect.DeepEqual(got, map[string]any{"a": `{"b":"x","d":1}`}) {
			t.Errorf("got %v", got)
		}
		// Helm cannot set a field of what an assignment before made null.
		_, err = render(t, engine, files, Options{Set: []Assignment{{"a", "null"}, {"a.b", "x"}}})
		wantError(t, err, "helm-parameters[a.b]: ", "conflicts with one before it")
	})
}

func TestReleaseNameTemplate(t *testing.T) {
	t.Parallel()
	if got, err := ReleaseName(`{{ "Shop" | lower }}-{{ add 1 1 }}`); err != nil || got != "shop-2" {
		t.Errorf("got %q, %v, want shop-2", got, err)
	}
	for _, bad := range []string{"{{ randAlpha 12 }}", "{{ .Values.x.y }}{{ fail \"x\" }}", "{{"} {
		if _, err := ReleaseName(bad); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}
