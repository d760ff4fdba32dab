package overlay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"text/template"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"
)

// Goldens hold what the reference CLI prints. To refresh them all:
//
//	go test ./plugin/overlay -run TestGolden -kustomize=PATH -helm=PATH
//
// with kustomize v5.8.2 and any Helm 3. An archive holds the tree, and besides:
// options.json (Options), edit.txt (the `kustomize edit` commands that mean the
// same), edited/kustomization.yaml (in place of commands, where there is none),
// want-<version>.yaml (the golden). Its comment names the folder to build (dir:) and
// further CLI arguments (args:).
var (
	kustomizeBinary = flag.String("kustomize", "", "path of kustomize; refreshes the goldens")
	helmBinary      = flag.String("helm", "", "path of helm, with -kustomize")
)

type goldenCase struct {
	archive *txtar.Archive
	tree    fstest.MapFS
	dir     string
	args    []string
	special map[string][]byte
}

// wantFile carries the version, so that a new one asks for new goldens.
const wantFile = "want-" + Version + ".yaml"

var specialFiles = []string{"options.json", "edit.txt", "edited/kustomization.yaml", wantFile}

func readCase(t *testing.T, file string) *goldenCase {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &goldenCase{archive: archive, tree: fstest.MapFS{}, special: map[string][]byte{}}
	for _, f := range archive.Files {
		if slices.Contains(specialFiles, f.Name) {
			c.special[f.Name] = f.Data
			continue
		}
		c.tree[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	for line := range strings.Lines(string(archive.Comment)) {
		if dir, ok := strings.CutPrefix(line, "dir: "); ok {
			c.dir = strings.TrimSpace(dir)
		}
		if args, ok := strings.CutPrefix(line, "args: "); ok {
			c.args = strings.Fields(args)
		}
	}
	if c.dir == "" {
		t.Fatalf("%s: no dir: line", file)
	}
	return c
}

func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d cases (%v), want the corpus", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			c := readCase(t, file)
			if *kustomizeBinary != "" {
				c.refresh(t, file)
			}
			var o Options
			if text := c.special["options.json"]; text != nil {
				decoder := json.NewDecoder(bytes.NewReader(text))
				decoder.DisallowUnknownFields()
				if err := decoder.Decode(&o); err != nil {
					t.Fatal(err)
				}
			}
			o.Inflate = tinyHelm(c.tree)
			objects, err := Build(t.Context(), c.tree, c.dir, o)
			if err != nil {
				t.Fatal(err)
			}
			var got []any
			for _, o := range objects {
				got = append(got, o.Value)
				if o.Origin == "" && c.dir != "over" {
					t.Errorf("%s has no origin", o.ID())
				}
			}
			want := printedObjects(t, c.special[wantFile])
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("objects differ from kustomize build (-want +got):\n%s", diff)
			}
		})
	}
}

// printedObjects parses the output of `kustomize build`.
func printedObjects(t *testing.T, printed []byte) []any {
	t.Helper()
	var objects []any
	for _, doc := range bytes.Split(append([]byte("\n"), printed...), []byte("\n---\n")) {
		value, err := parse(append(doc, '\n'))
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, value)
	}
	if len(objects) == 0 {
		t.Fatal("the golden is empty")
	}
	return objects
}

// refresh runs the reference CLI on the tree and stores what it prints.
func (c *goldenCase) refresh(t *testing.T, file string) {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, c.tree); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, filepath.FromSlash(c.dir))
	run := func(args ...string) []byte {
		t.Helper()
		command := exec.CommandContext(t.Context(), *kustomizeBinary, args...) // #nosec G204 -- the maintainer's own flag
		command.Dir = dir
		var stderr bytes.Buffer
		command.Stderr = &stderr
		out, err := command.Output()
		if err != nil {
			t.Fatalf("kustomize %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
		}
		return out
	}
	for line := range strings.Lines(string(c.special["edit.txt"])) {
		run(append([]string{"edit"}, strings.Fields(line)...)...)
	}
	if edited := c.special["edited/kustomization.yaml"]; edited != nil {
		if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), edited, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := run(append([]string{"build", "--enable-helm", "--helm-command", *helmBinary, "."}, c.args...)...)
	c.special[wantFile] = want
	c.archive.Files = slices.DeleteFunc(c.archive.Files, func(f txtar.File) bool { return f.Name == wantFile })
	c.archive.Files = append(c.archive.Files, txtar.File{Name: wantFile, Data: want})
	if err := os.WriteFile(file, txtar.Format(c.archive), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tinyHelm renders the charts of the goldens: enough of `helm template` for
// templates that use a release name, values and capabilities.
func tinyHelm(fsys fs.FS) InflateFunc {
	return func(_ context.Context, c Chart) ([]byte, error) {
		values := map[string]any{}
		own, err := fs.ReadFile(fsys, path.Join(c.Dir, "values.yaml"))
		if err != nil {
			return nil, err
		}
		for _, doc := range append([][]byte{own}, c.Values...) {
			var layer map[string]any
			if err := yaml.Unmarshal(doc, &layer); err != nil {
				return nil, err
			}
			layerOver(values, layer)
		}
		release := c.ReleaseName
		if c.NameTemplate != "" {
			release = c.NameTemplate
		}
		data := map[string]any{
			"Release": map[string]any{"Name": release, "Namespace": cmp.Or(c.Namespace, "default")},
			"Values":  values,
			"Capabilities": map[string]any{
				"KubeVersion": map[string]any{"Version": "v" + cmp.Or(c.KubeVersion, tinyHelmKubeVersion)},
				"APIVersions": apiVersions(c.APIVersions),
			},
		}
		functions := template.FuncMap{"quote": func(v any) string {
			if v == nil {
				return ""
			}
			return fmt.Sprintf("%q", fmt.Sprint(v))
		}}
		var plain, hooks bytes.Buffer
		if c.IncludeCRDs {
			if err := tinyRender(&plain, fsys, c, "crds/crd.yaml", data, functions); err != nil {
				return nil, err
			}
		}
		for _, name := range []string{"templates/sa.yaml", "templates/cm.yaml"} {
			if err := tinyRender(&plain, fsys, c, name, data, functions); err != nil {
				return nil, err
			}
		}
		if !c.SkipHooks && !c.SkipTests {
			if err := tinyRender(&hooks, fsys, c, "templates/tests/test.yaml", data, functions); err != nil {
				return nil, err
			}
		}
		if !c.SkipHooks {
			if err := tinyRender(&hooks, fsys, c, "templates/zhook.yaml", data, functions); err != nil {
				return nil, err
			}
		}
		return append(plain.Bytes(), hooks.Bytes()...), nil
	}
}

// tinyHelmKubeVersion is Helm's default in the release that made the goldens.
const tinyHelmKubeVersion = "1.37.0"

type apiVersions []string

// Has is what a chart calls.
func (a apiVersions) Has(name string) bool { return slices.Contains(a, name) }

func layerOver(values, layer map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(layer)) {
		below, belowOK := values[key].(map[string]any)
		above, aboveOK := layer[key].(map[string]any)
		switch {
		case belowOK && aboveOK:
			layerOver(below, above)
		case layer[key] == nil:
			delete(values, key)
		default:
			values[key] = layer[key]
		}
	}
}

func tinyRender(out *bytes.Buffer, fsys fs.FS, c Chart, name string, data any, functions template.FuncMap) error {
	text, err := fs.ReadFile(fsys, path.Join(c.Dir, name))
	if err != nil {
		return err
	}
	parsed, err := template.New(name).Funcs(functions).Parse(string(text))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "---\n# Source: %s/%s\n", c.Name, name)
	return parsed.Execute(out, data)
}
