package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"hallmark.dev/hallmark/internal/evidence"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin/derive"
	"hallmark.dev/hallmark/plugin/policy"
	"hallmark.dev/hallmark/plugin/source"
	"hallmark.dev/hallmark/plugin/stamp"
)

// The archives of testdata/derived are charts, each the smallest that shows one way in
// which public charts use random values. The text in front of the first file says which.
// Below chart/ are the chart's files (a Chart.yaml only where it says more than that of
// chartYAML) or those of a kustomization; want.yaml says what comes of them, see
// derivedWant.
const derivedArchives = "testdata/derived/*.txtar"

// derivedToday is the time of the renders.
var derivedToday = time.Date(2026, 6, 15, 9, 30, 0, 0, time.UTC)

type derivedCase struct {
	name  string
	files map[string]string
	want  derivedWant
}

func derivedCases(t *testing.T) []derivedCase {
	t.Helper()
	paths, err := filepath.Glob(derivedArchives)
	if err != nil {
		t.Fatal(err)
	}
	const least = 100
	if len(paths) < least {
		t.Fatalf("got %d archives, want %d", len(paths), least)
	}
	var out []derivedCase
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		archive := txtar.Parse(data)
		c := derivedCase{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), files: map[string]string{}}
		for _, f := range archive.Files {
			if f.Name == "want.yaml" {
				if err := yaml.UnmarshalStrict(f.Data, &c.want); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				continue
			}
			c.files[f.Name] = string(f.Data)
		}
		if len(archive.Comment) == 0 || (c.want.Derived == nil) == (c.want.Refused == nil) {
			t.Fatalf("%s: want a sentence in front, and one of derived and refused", path)
		}
		if !c.isKustomization() && c.files["chart/Chart.yaml"] == "" {
			c.files["chart/Chart.yaml"] = chartYAML
		}
		out = append(out, c)
	}
	return out
}

func (c derivedCase) isKustomization() bool { return c.files["chart/kustomization.yaml"] != "" }

// request renders the files, or those of the case, with an engine.
func (c derivedCase) request(t *testing.T, engine string, files map[string]string) *Request {
	t.Helper()
	if files == nil {
		files = c.files
	}
	r := &Request{
		Tree: source.Memory(files), Path: "chart", App: "web", Namespace: "shop", Project: "payments",
		Revision: "0123456789abcdef", KubeVersion: "1.31.2", Policy: policy.Caller(), Today: derivedToday, Version: "test",
		Limits: Limits{RenderTime: 10 * time.Minute}, // the machine can be busy
	}
	seed, err := ReadSeed("one", []byte("not a secret: the seed of the archives, 0123456789"))
	if err != nil {
		t.Fatal(err)
	}
	r.Seeds = []Seed{seed}
	renderer := "renderer="
	if c.isKustomization() {
		renderer = "kustomize-helm="
	}
	return r.with(t, append([]string{"determinism=derive", "release-name=web", renderer + engine}, c.want.Params...)...)
}

var derivedEngines = []string{RendererHelm3, RendererHelm4}

func mustDerive(t *testing.T, r *Request) *Result {
	t.Helper()
	result, err := Render(context.Background(), r)
	if err != nil {
		t.Fatalf("%s: %v", r.Parameters.Renderer, err)
	}
	return result
}

// Each chart gives what its archive says, with both engines, twice.
func TestDerivedCorpus(t *testing.T) {
	t.Parallel()
	for _, c := range derivedCases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && (c.want.Slow || c.want.Refused != nil) {
				t.Skip("takes seconds, or is refused")
			}
			if c.want.Refused != nil {
				for _, engine := range derivedEngines {
					c.checkRefused(t, engine)
				}
				return
			}
			if testing.Short() {
				c.checkDerived(t, mustDerive(t, c.request(t, RendererHelm3, nil)))
				return
			}
			var first *Result
			for _, engine := range derivedEngines {
				result := mustDerive(t, c.request(t, engine, nil))
				c.checkDerived(t, result)
				c.checkHidden(t, result)
				if first == nil {
					first = result
				}
				if diff := cmp.Diff(strippedValues(first), strippedValues(result)); diff != "" {
					t.Errorf("%s (-) and %s (+) differ:\n%s", derivedEngines[0], engine, diff)
				}
				if again := mustDerive(t, c.request(t, engine, nil)); streamOf(again) != streamOf(result) {
					t.Errorf("%s: a second render differs:\n%s", engine, cmp.Diff(strippedValues(result), strippedValues(again)))
				}
			}
			c.checkRest(t, first)
		})
	}
}

// streamOf is all that a render gave, as text.
func streamOf(r *Result) string {
	var out []byte
	for _, o := range r.Objects {
		out = append(yamldoc.AppendYAML(append(out, "---\n"...), o.Value), '\n')
	}
	record, err := evidence.Marshal(r.Evidence)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%s%s\n%s\n%s\n%v\n", out, record, strings.Join(r.Warnings, "\n"), r.RenderHash, r.renewed)
}

// strippedValues are the objects without what is stamped on them, which names the engine.
func strippedValues(r *Result) (out []map[string]any) {
	for _, o := range r.Objects {
		out = append(out, stamp.Strip(o).Value)
	}
	return out
}

func (c derivedCase) fields(r *Result) fieldsOf {
	var objects []object.Object
	for _, o := range r.Objects {
		objects = append(objects, stamp.Strip(o))
	}
	return fieldsByName(objects, r.Evidence.Namespace)
}

// printedAt is the name of the field as the chart printed it.
func printedAt(d Derived) string {
	id := d.Object
	if id.Namespace == d.namespace {
		id.Namespace = ""
	}
	return derive.Name(id, d.Path)
}

// derivedFields are the fields of a result with what they are made of, as want.yaml has
// them.
func derivedFields(r *Result) map[string]string {
	out := map[string]string{}
	for _, d := range r.Derived {
		name := printedAt(d)
		out[name] = d.Reason
		if len(d.Names) > 0 && !slices.Equal(d.Names, []string{name}) {
			out[name] += ", of " + strings.Join(d.Names, ", ")
		}
	}
	return out
}

func (c derivedCase) checkDerived(t *testing.T, r *Result) {
	t.Helper()
	if diff := cmp.Diff(c.want.Derived, derivedFields(r)); diff != "" {
		t.Errorf("derived fields (-want +got):\n%s", diff)
	}
	f := c.fields(r)
	c.want.expect(t, f)
	if name := leftover(f); name != "" {
		t.Errorf("%s holds a part of a frame", name)
	}
	report, err := stamp.Verify(r.Objects, stamp.Options{})
	if err != nil || !report.OK() {
		t.Errorf("verify: got findings %v and error %v", report.Findings, err)
	}
	if len(r.Evidence.Ignored) > 0 || len(r.Evidence.Derived) != len(r.Derived) {
		t.Errorf("the evidence has %d derived and %d ignored fields, want %d and none", len(r.Evidence.Derived), len(r.Evidence.Ignored), len(r.Derived))
	}
}

// checkRest compares a render with one in which templates have the derived values in place
// of random functions; or the fields that are not derived with those of a plain render.
func (c derivedCase) checkRest(t *testing.T, r *Result) {
	t.Helper()
	f := c.fields(r)
	if c.want.Instead == nil {
		other := c.fields(mustDerive(t, c.request(t, RendererHelm3, nil).with(t, "determinism=warn")))
		for name := range c.builtFields() {
			delete(f, name)
			delete(other, name)
		}
		if diff := cmp.Diff(other, f); diff != "" {
			t.Errorf("what is not derived (-plain +derived):\n%s", diff)
		}
		return
	}
	files := maps.Clone(c.files)
	for text, by := range c.want.Instead {
		filled, err := f.fill(by)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for name, content := range files {
			found = found || strings.Contains(content, text)
			files[name] = strings.ReplaceAll(content, text, filled)
		}
		if !found {
			t.Errorf("instead: %q is not in the chart", text)
		}
	}
	plain := mustDerive(t, c.request(t, RendererHelm3, files).with(t, "determinism=enforce"))
	if diff := cmp.Diff(strippedValues(plain), strippedValues(r)); diff != "" {
		t.Errorf("the chart with the values in its templates (-) gives something else than the derived render (+):\n%s", diff)
	}
}

// builtFields are the derived fields by their names in the result, where a kustomization
// can have put a prefix in front of those of objects.
func (c derivedCase) builtFields() map[string]string {
	out := map[string]string{}
	for name := range c.want.Derived {
		kind, rest, _ := strings.Cut(name, "/")
		out[kind+"/"+c.want.Prefix+rest] = name
	}
	for to, from := range c.want.Moved {
		out[to] = from
	}
	return out
}

// outcome is what a renderer gives, in front of the gates, and the error of the
// determinism gate.
func outcome(t *testing.T, r *Request) (out *Output, refused error) {
	t.Helper()
	_, err := within(context.Background(), r, func(ctx context.Context, w *crew) (*Result, error) {
		s, err := r.open(ctx, w, false)
		if err != nil {
			return nil, err
		}
		if out, err = s.renderer.Render(ctx, s.in); err != nil {
			return nil, err
		}
		refused = s.refuseUnstable(out)
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, refused
}

// refusedFields are what a render is refused for, with the place of each in the list of
// want.yaml, or -1.
func (c derivedCase) refusedFields(out *Output, namespace string) (got []string, places []int) {
	for _, u := range out.Unstable {
		field := u.Origin
		if u.Object != (object.ID{}) {
			id := u.Object
			if id.Namespace == namespace {
				id.Namespace = ""
			}
			field = derive.Name(id, u.Path)
		}
		got = append(got, field+": "+u.Reason)
		places = append(places, slices.IndexFunc(c.want.Refused, func(w refusedWant) bool {
			return regexp.MustCompile("^(?:"+w.Field+")$").MatchString(field) && regexp.MustCompile(w.Reason).MatchString(u.Reason)
		}))
	}
	return got, places
}

func (c derivedCase) checkRefused(t *testing.T, engine string) {
	t.Helper()
	r := c.request(t, engine, nil)
	out, refused := outcome(t, r)
	got, places := c.refusedFields(out, r.Namespace)
	for i, place := range places {
		if place < 0 || slices.Contains(places[:i], place) {
			t.Errorf("%s: it is refused for %s, or twice for it", engine, got[i])
		}
		if refused == nil || !strings.Contains(refused.Error(), out.Unstable[i].message()) {
			t.Errorf("%s: the error does not say %q: %v", engine, out.Unstable[i].message(), refused)
		}
	}
	for i, w := range c.want.Refused {
		if !slices.Contains(places, i) {
			t.Errorf("%s: it is not refused for %s: %s, but for %q", engine, w.Field, w.Reason, got)
		}
	}
}

// secretParts are the derived values that nobody may see outside of the objects: those of
// the fields, also decoded, and those that want.yaml looks at.
func (c derivedCase) secretParts(f fieldsOf) (parts []string) {
	// A hash in a ConfigMap, a time, an order, a number and a UUID are none.
	open := regexp.MustCompile(`^(now|order|checksum|uuidv4|randInt|certificate)(, of .*)?$`)
	built := c.builtFields()
	isSecret := func(field string) bool {
		name, derived := built[field]
		return derived && (!open.MatchString(c.want.Derived[name]) || strings.HasPrefix(name, "Secret/") && strings.HasPrefix(c.want.Derived[name], "checksum"))
	}
	refs := slices.Collect(maps.Keys(c.want.Values))
	for _, list := range slices.Concat(c.want.Same, c.want.Differ) {
		refs = append(refs, list...)
	}
	for field := range built {
		refs = append(refs, field, field+" | base64")
	}
	const least = 8 // what is shorter stands in texts by chance
	for _, ref := range refs {
		field, steps, _ := strings.Cut(ref, " | ")
		if !isSecret(field) || strings.Contains(steps, "sha256") {
			continue
		}
		value, err := f.value(ref)
		for _, line := range strings.Split(value, "\n") {
			if err == nil && len(line) >= least && !strings.HasPrefix(line, "-----") {
				parts = append(parts, line)
			}
		}
	}
	return parts
}

// checkHidden looks for derived values in what leaves a render beside its objects.
func (c derivedCase) checkHidden(t *testing.T, r *Result) {
	t.Helper()
	record, err := evidence.Marshal(r.Evidence)
	if err != nil {
		t.Fatal(err)
	}
	findings, err := json.Marshal(r.Findings)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"evidence": string(record), "warnings": strings.Join(r.Warnings, "\n"), "findings": string(findings)}
	c.notIn(t, c.secretParts(c.fields(r)), texts)
}

func (c derivedCase) notIn(t *testing.T, parts []string, texts map[string]string) {
	t.Helper()
	for _, what := range sortedKeys(texts) {
		for _, part := range parts {
			if strings.Contains(texts[what], part) {
				t.Errorf("the %s hold a part of a derived value (%d letters)", what, len(part))
			}
		}
	}
}
