package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/chart"
	"hallmark.dev/hallmark/plugin/overlay"
	"hallmark.dev/hallmark/plugin/source"
)

// The parity tests compare what hallmark renders with what the real programs
// printed, object by object and in order. The programs' output is frozen in
// golden files; `make goldens` builds the programs and writes them anew.
var update = flag.Bool("update", false, "write golden files with the real helm and kustomize in -tools")

var tools = flag.String("tools", "../bin", "folder with the programs helm3, helm4 and kustomize")

// parityCase is a case.yaml.
type parityCase struct {
	Why         string            `json:"why"`
	Path        string            `json:"path"`
	App         string            `json:"app"`
	Namespace   string            `json:"namespace"`
	KubeVersion string            `json:"kubeVersion"`
	APIVersions []string          `json:"apiVersions"`
	Env         map[string]string `json:"env"`
	Params      map[string]any    `json:"params"`
	Engines     []string          `json:"engines"`
	// Error says that the real program refuses the input as well.
	Error bool `json:"error"`
	// Refused says that only hallmark refuses.
	Refused bool `json:"refused"`
	// Want is part of the message of a refusal: the file, field or key that a
	// good message names.
	Want string `json:"want"`

	dir string
}

func loadCase(t *testing.T, dir, defaultPath string) parityCase {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "case.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c := parityCase{Path: defaultPath, App: "checkout", Namespace: "shop", Engines: []string{RendererHelm3, RendererHelm4}, dir: dir}
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	if c.Why == "" {
		t.Errorf("%s: case.yaml does not say why", dir)
	}
	if (c.Error || c.Refused) && c.Want == "" {
		t.Errorf("%s: case.yaml does not say what a good message names (want)", dir)
	}
	return c
}

func (c parityCase) request(t *testing.T, renderer string) *Request {
	t.Helper()
	tree, err := source.Dir(filepath.Join(c.dir, "repo"), source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := &Request{
		Tree: tree, Path: c.Path, App: c.App, Namespace: c.Namespace, KubeVersion: c.KubeVersion,
		APIVersions: c.APIVersions, Env: c.Env, Revision: "0123456789abcdef0123456789abcdef01234567",
	}
	for name, value := range c.Params {
		if err := r.Parameters.assign(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Parameters.assign("renderer", renderer); err != nil {
		t.Fatal(err)
	}
	return r
}

// rendered runs the renderer alone: the gates refuse some of what helm prints.
func rendered(r *Request) ([]object.Object, error) {
	s, err := r.open(context.Background(), &crew{}, false)
	if err != nil {
		return nil, err
	}
	out, err := s.renderer.Render(context.Background(), s.in)
	if err != nil {
		return nil, err
	}
	return out.Objects, nil
}

// difference is a row of testdata/differences.yaml.
type difference struct {
	Case, Tool, What, Real, Here, Reason string
}

func knownDifferences(t *testing.T) []difference {
	t.Helper()
	data, err := os.ReadFile("testdata/differences.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list []difference
	if err := yaml.UnmarshalStrict(data, &list); err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		if d.What == "" || d.Real == "" || d.Here == "" || d.Reason == "" {
			t.Errorf("the row %q of differences.yaml is not complete", d.What)
		}
	}
	return list
}

func TestHelmParity(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/helm/*/case.yaml")
	if err != nil || len(cases) < 40 {
		t.Fatalf("got %d cases, want at least 40 (%v)", len(cases), err)
	}
	known := knownDifferences(t)
	for _, file := range cases {
		dir := filepath.Dir(file)
		c := loadCase(t, dir, "chart")
		for _, engine := range c.Engines {
			t.Run(filepath.Base(dir)+"/"+engine, func(t *testing.T) {
				t.Parallel()
				golden := filepath.Join(dir, engine+".golden.yaml")
				if *update {
					freezeHelm(t, c, engine, golden)
				}
				compareWithGolden(t, c, engine, golden, known)
			})
		}
	}
}

func TestKustomizeParity(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/kustomize/*/case.yaml")
	if err != nil || len(cases) < 30 {
		t.Fatalf("got %d cases, want at least 30 (%v)", len(cases), err)
	}
	known := knownDifferences(t)
	for _, file := range cases {
		dir := filepath.Dir(file)
		c := loadCase(t, dir, "app")
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			golden := filepath.Join(dir, "kustomize.golden.yaml")
			if *update && !c.Refused {
				freezeKustomize(t, c, golden)
			}
			compareWithGolden(t, c, RendererKustomize, golden, known)
		})
	}
}

func compareWithGolden(t *testing.T, c parityCase, renderer, golden string, known []difference) {
	t.Helper()
	got, err := rendered(c.request(t, renderer))
	if c.Error || c.Refused {
		if err == nil {
			t.Fatalf("got %d objects, want an error", len(got))
		}
		if !strings.Contains(err.Error(), c.Want) {
			t.Errorf("got error %q, want it to contain %q", err, c.Want)
		}
		return
	}
	if err != nil {
		t.Fatalf("got error %v, want the objects of %s", err, golden)
	}
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	diff := cmp.Diff(canonicalLines(t, parseLikeArgoCD(t, data)), canonicalLines(t, values(got)))
	row := slices.IndexFunc(known, func(d difference) bool {
		return d.Case == filepath.Base(c.dir) && strings.HasPrefix(renderer, d.Tool)
	})
	switch {
	case row < 0 && diff != "":
		t.Errorf("hallmark (+) differs from %s (-):\n%s", golden, diff)
	case row >= 0 && diff == "":
		t.Errorf("differences.yaml lists %q, but there is no difference", known[row].Case)
	}
}

func values(objects []object.Object) []any {
	out := make([]any, len(objects))
	for i, o := range objects {
		out[i] = o.Value
	}
	return out
}

// parseLikeArgoCD decodes a stream with the decoder that Argo CD uses, not with
// hallmark's own.
func parseLikeArgoCD(t *testing.T, data []byte) []any {
	t.Helper()
	decoder := kubeyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	var out []any
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) == 0 {
			continue // a document of comments
		}
		if value := decodeExactly(t, raw); value != nil {
			out = append(out, value)
		}
	}
}

// decodeExactly decodes JSON and keeps the digits of numbers: as float64, all
// integers above 2^53 that are close to each other would be the same.
func decodeExactly(t *testing.T, data []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// canonicalLines prints each object as one line of JSON with sorted keys.
func canonicalLines(t *testing.T, objects []any) []string {
	t.Helper()
	out := make([]string, len(objects))
	for i, o := range objects {
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if data, err = json.Marshal(canonicalNumbers(decodeExactly(t, data))); err != nil {
			t.Fatal(err)
		}
		out[i] = string(data)
	}
	return out
}

// canonicalNumbers gives numbers of one value one form, whatever their Go type
// and spelling was: 1.0, 1e0 and 1 are the same. As in Kubernetes, and so in
// Argo CD, an integer is exact if it fits an int64, and a float64 if not.
func canonicalNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = canonicalNumbers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = canonicalNumbers(e)
		}
	case json.Number:
		exact := new(big.Rat)
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			exact.SetInt64(i)
		} else if f, err := v.Float64(); err == nil {
			exact.SetFloat64(f)
		} else {
			return v
		}
		return json.RawMessage(`{"number":"` + exact.RatString() + `"}`)
	}
	return v
}

// A comparison that rounds cannot see a renderer that rounds.
func TestCanonicalLinesAreExact(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b any
		same bool
	}{
		{int64(9007199254740993), int64(9007199254740992), false},
		{json.Number("9007199254740993"), float64(9007199254740992), false},
		{json.Number("9223372036854775807"), json.Number("9223372036854775806"), false},
		{json.Number("-9007199254740993"), json.Number("-9007199254740992"), false},
		{json.Number("18446744073709551615"), float64(1 << 64), true},
		{json.Number("1.0"), int64(1), true},
		{json.Number("1e3"), float64(1000), true},
		{json.Number("0.1"), float64(0.1), true},
		{json.Number("1"), "1", false},
		{[]any{json.Number("2")}, []any{json.Number("2.5")}, false},
	} {
		a, b := canonicalLines(t, []any{tt.a}), canonicalLines(t, []any{tt.b})
		if got := slices.Equal(a, b); got != tt.same {
			t.Errorf("%v and %v: got %s and %s, want same %t", tt.a, tt.b, a, b, tt.same)
		}
	}
}

// freezeHelm writes what the real helm prints for the case, called as Argo CD
// calls it (util/helm/cmd.go template).
func freezeHelm(t *testing.T, c parityCase, engine, golden string) {
	t.Helper()
	r := c.request(t, engine)
	s, err := r.open(context.Background(), &crew{}, false)
	if err != nil {
		if c.Error {
			return
		}
		t.Fatal(err)
	}
	in := s.in
	root, err := filepath.Abs(filepath.Join(c.dir, "repo"))
	if err != nil {
		t.Fatal(err)
	}
	opts, err := helmOptions(in)
	if err != nil {
		if c.Error {
			return
		}
		t.Fatal(err)
	}
	args := []string{"template", ".", "--name-template", opts.ReleaseName, "--namespace", opts.Namespace}
	if opts.KubeVersion != "" {
		args = append(args, "--kube-version", opts.KubeVersion)
	}
	for _, a := range opts.Set {
		args = append(args, "--set", a.Name+"="+clean(a.Value))
	}
	for _, a := range opts.SetString {
		args = append(args, "--set-string", a.Name+"="+clean(a.Value))
	}
	for _, a := range opts.SetFile {
		args = append(args, "--set-file", a.Name+"="+clean(filepath.Join(root, a.Value)))
	}
	for i, doc := range opts.Values {
		file := filepath.Join(root, doc.Name)
		if i == len(opts.Values)-1 && in.Parameters.Values != "" {
			file = filepath.Join(t.TempDir(), "values.yaml")
			if err := os.WriteFile(file, doc.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args = append(args, "--values", file)
	}
	for _, v := range opts.APIVersions {
		args = append(args, "--api-versions", v)
	}
	if !opts.SkipCRDs {
		args = append(args, "--include-crds")
	}
	if opts.SkipSchemaValidation {
		args = append(args, "--skip-schema-validation")
	}
	if opts.SkipTests {
		args = append(args, "--skip-tests")
	}
	freeze(t, c, filepath.Join(root, c.Path), engine, golden, "# helm template "+chart.Engine(engine).Version(), args...)
}

// clean is Argo CD's cleanSetParameters.
func clean(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	return strings.ReplaceAll(strings.ReplaceAll(value, ",", `\,`), `\\,`, `\,`)
}

// freeze runs a program and keeps what it printed behind a head line.
func freeze(t *testing.T, c parityCase, dir, tool, golden, head string, args ...string) {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(*tools, tool))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "HELM_CACHE_HOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case c.Error && err == nil:
		t.Fatalf("%s accepts what the case calls an error", tool)
	case c.Error:
		return
	case err != nil:
		t.Fatalf("%s: %v\n%s", tool, err, stderr.Bytes())
	}
	if err := os.WriteFile(golden, append([]byte(head+"\n"), out...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// freezeKustomize edits a copy of the case's tree as Argo CD does and builds it
// (util/kustomize/kustomize.go Build).
func freezeKustomize(t *testing.T, c parityCase, golden string) {
	t.Helper()
	r := c.request(t, RendererKustomize)
	s, err := r.open(context.Background(), &crew{}, false)
	if err != nil {
		t.Fatal(err)
	}
	in := s.in
	opts, err := kustomizeOptions(in)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "repo")
	if err := os.CopyFS(root, os.DirFS(filepath.Join(c.dir, "repo"))); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, c.Path)
	edit := func(args ...string) bool {
		cmd := exec.Command(toolPath(t, "kustomize"), append([]string{"edit"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil && !c.Error {
			t.Fatalf("kustomize edit %v: %v\n%s", args, err, out)
		}
		return err == nil
	}
	for _, args := range editCommands(opts) {
		if !edit(args...) {
			return
		}
	}
	if len(opts.Patches) > 0 {
		appendPatches(t, dir, opts.Patches)
	}
	var components []string
	for _, name := range opts.Components {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil || !opts.IgnoreMissingComponents {
			components = append(components, name)
		}
	}
	if len(components) > 0 && !edit(append([]string{"add", "component"}, components...)...) {
		return
	}
	args := []string{"build", dir, "--enable-helm", "--helm-command", toolPath(t, "helm3")}
	if in.Parameters.KustomizeHelm == RendererHelm4 {
		args[4] = toolPath(t, "helm4")
	}
	if opts.KubeVersion != "" {
		args = append(args, "--helm-kube-version", opts.KubeVersion)
	}
	for _, v := range opts.APIVersions {
		args = append(args, "--helm-api-versions", v)
	}
	freeze(t, c, root, "kustomize", golden, "# kustomize build "+overlay.Version, args...)
}

func toolPath(t *testing.T, name string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join(*tools, name))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// appendPatches adds to the kustomization file's patches by a YAML round trip.
func appendPatches(t *testing.T, dir string, patches []overlay.Patch) {
	t.Helper()
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		file := filepath.Join(dir, name)
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		var kustomization map[string]any
		if err := yaml.Unmarshal(data, &kustomization); err != nil {
			t.Fatal(err)
		}
		list, _ := kustomization["patches"].([]any)
		for _, p := range patches {
			list = append(list, p)
		}
		kustomization["patches"] = list
		if data, err = yaml.Marshal(kustomization); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("%s: no kustomization", dir)
}

// editCommands are the `kustomize edit` calls of Argo CD, in its order.
func editCommands(o overlay.Options) [][]string {
	var out [][]string
	if o.NamePrefix != "" {
		out = append(out, []string{"set", "nameprefix", "--", o.NamePrefix})
	}
	if o.NameSuffix != "" {
		out = append(out, []string{"set", "namesuffix", "--", o.NameSuffix})
	}
	if len(o.Images) > 0 {
		out = append(out, append([]string{"set", "image"}, o.Images...))
	}
	if len(o.Replicas) > 0 {
		args := []string{"set", "replicas"}
		for _, r := range o.Replicas {
			args = append(args, fmt.Sprintf("%s=%d", r.Name, r.Count))
		}
		out = append(out, args)
	}
	if len(o.CommonLabels) > 0 {
		args := []string{"add", "label"}
		if o.ForceCommonLabels {
			args = append(args, "--force")
		}
		if o.LabelWithoutSelector {
			args = append(args, "--without-selector")
		}
		if o.LabelIncludeTemplates {
			args = append(args, "--include-templates")
		}
		for _, k := range sortedKeys(o.CommonLabels) {
			args = append(args, k+":"+o.CommonLabels[k])
		}
		out = append(out, args)
	}
	if len(o.CommonAnnotations) > 0 {
		args := []string{"add", "annotation"}
		if o.ForceCommonAnnotations {
			args = append(args, "--force")
		}
		for _, k := range sortedKeys(o.CommonAnnotations) {
			args = append(args, k+":"+o.CommonAnnotations[k])
		}
		out = append(out, args)
	}
	if o.Namespace != "" {
		out = append(out, []string{"set", "namespace", "--", o.Namespace})
	}
	return out
}
