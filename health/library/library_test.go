package library_test

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v2/resource_customizations"
	sigsyaml "sigs.k8s.io/yaml"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/compile"
	"hallmark.dev/hallmark/health/eval"
	"hallmark.dev/hallmark/health/export"
	"hallmark.dev/hallmark/health/library"
	"hallmark.dev/hallmark/health/suite"
	"hallmark.dev/hallmark/lua/vm"
)

// subjects is every spec of the library, compiled, with its cases.
func subjects(t testing.TB) []suite.Subject {
	t.Helper()
	all := load(t, library.Files, "*/*.yaml")
	if len(all) < 60 {
		t.Fatalf("only %d specs", len(all))
	}
	return all
}

// load is every spec in the files that match a pattern, compiled, with its cases.
func load(t testing.TB, from fs.ReadFileFS, pattern string) []suite.Subject {
	t.Helper()
	files, err := fs.Glob(from, pattern)
	if err != nil {
		t.Fatal(err)
	}
	var all []suite.Subject
	for _, file := range files {
		if strings.HasSuffix(file, "_test.yaml") {
			continue
		}
		checks, err := health.Parse(file, readFile(t, from, file))
		if err != nil {
			t.Fatal(err)
		}
		beside := strings.TrimSuffix(file, ".yaml") + "_test.yaml"
		tests, err := suite.Parse(beside, readFile(t, from, beside), from.ReadFile)
		if err != nil {
			t.Fatal(err)
		}
		for _, check := range checks {
			script, err := compile.Lua(check, "v0")
			if err != nil {
				t.Fatal(err)
			}
			s := suite.Subject{Check: check, Script: script}
			for _, one := range tests {
				if one.Name == check.Name {
					s.Cases = append(s.Cases, one.Cases...)
				}
			}
			all = append(all, s)
		}
	}
	return all
}

func readFile(t testing.TB, from fs.ReadFileFS, name string) []byte {
	t.Helper()
	data, err := from.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestCases runs the cases of every spec, which reach every rule. The robustness
// corpus is for `make health`, which takes minutes.
func TestCases(t *testing.T) {
	t.Parallel()
	for _, s := range subjects(t) {
		t.Run(s.Check.Name, func(t *testing.T) {
			t.Parallel()
			runAll(t, s)
		})
	}
}

// runAll runs the cases of a spec and requires that they reach every rule.
func runAll(t *testing.T, s suite.Subject) {
	t.Helper()
	for _, rule := range run(t, s).Unreached() {
		t.Errorf("%s:%d: no case reaches %s", s.Check.File, rule.Line, rule.Label)
	}
}

// run runs the cases of a spec in the VM and in cel-go.
func run(t *testing.T, s suite.Subject) *suite.Report {
	t.Helper()
	report, err := suite.Run(s, suite.Options{
		Now: func() time.Time { return time.Unix(1_800_000_000, 0) }, CPU: func() time.Duration { return 0 }, NoCorpus: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Cases {
		for _, fault := range c.Faults {
			t.Errorf("%s:%d: %s: %s", c.File, c.Line, c.Name, fault)
		}
	}
	return report
}

// TestTogether requires that the whole library can stand in one argocd-cm: no two
// specs are for one kind, and there is room.
func TestTogether(t *testing.T) {
	t.Parallel()
	if sizes, err := export.Size(scripts(subjects(t))); err != nil || sizes.Share() > 0.75 {
		t.Errorf("%v: %v", sizes.Share(), err)
	}
}

func scripts(all []suite.Subject) (out []export.Script) {
	for _, s := range all {
		out = append(out, export.Script{Check: s.Check, Lua: s.Script})
	}
	return out
}

// A fixture is an object of argo-cd's own tests, with what its script says.
type fixture struct {
	kind   vm.Kind
	name   string // of the file
	object map[string]any
	want   vm.Verdict
	ours   suite.Subject
}

// fixtures are those of the kinds that have a spec here.
func fixtures(t testing.TB) (all []fixture) {
	t.Helper()
	specs := subjects(t)
	selector, err := export.NewSelector(scripts(specs))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range vm.Builtins() {
		check := selector.For(kind.Group, kind.Kind)
		if check == nil {
			continue
		}
		i := slices.IndexFunc(specs, func(s suite.Subject) bool { return s.Check == check })
		folder := path.Join(kind.Group, kind.Kind)
		var tests struct {
			Tests []struct {
				InputPath    string     `json:"inputPath"`
				HealthStatus vm.Verdict `json:"healthStatus"`
			} `json:"tests"`
		}
		decode(t, path.Join(folder, "health_test.yaml"), &tests)
		for _, test := range tests.Tests {
			f := fixture{kind: kind, name: path.Base(test.InputPath), want: test.HealthStatus, ours: specs[i]}
			decode(t, path.Join(folder, test.InputPath), &f.object)
			all = append(all, f)
		}
	}
	return all
}

// decode reads a file of argo-cd as its own tests do.
func decode(t testing.TB, name string, into any) {
	t.Helper()
	data, err := resource_customizations.Embedded.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := sigsyaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// difference is an entry of differences.yaml.
type difference struct {
	Group, Kind, Fixture, Upstream, Ours, Why string
}

func (d difference) fixture() string { return fmt.Sprintf("%s/%s/%s", d.Group, d.Kind, d.Fixture) }

// TestFixtures runs each fixture of argo-cd for the kinds that have a spec here: cel-go and
// the VM agree, the status is argo-cd's, and where it is not, that stands in
// differences.yaml.
func TestFixtures(t *testing.T) {
	t.Parallel()
	var listed []difference
	if err := sigsyaml.Unmarshal(differences(t), &listed); err != nil {
		t.Fatal(err)
	}
	known := map[string]difference{}
	for _, d := range listed {
		if d.Why == "" || d.Upstream == d.Ours {
			t.Errorf("%s: no reason, or no difference", d.fixture())
		}
		known[d.fixture()] = d
	}
	all := fixtures(t)
	kinds, differ := map[vm.Kind]bool{}, 0
	for _, f := range all {
		kinds[f.kind] = true
		id := fmt.Sprintf("%s/%s/%s", f.kind.Group, f.kind.Kind, f.name)
		got, err := vm.Run(f.ours.Script, f.ours.Check.UseOpenLibs, f.object)
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		oracle, err := eval.New(f.ours.Check, func() int64 { return 1_800_000_000 })
		if err != nil {
			t.Fatal(err)
		}
		if says := oracle.Eval(f.object); string(says.Status) != got.Status || says.Message != got.Message {
			t.Errorf("%s: the VM says %+v, cel-go says %+v", id, got, says.Verdict)
		}
		d, isKnown := known[id]
		delete(known, id)
		switch {
		case got.Status == f.want.Status && isKnown:
			t.Errorf("%s: is listed as a difference, and both say %s", id, got.Status)
		case got.Status != f.want.Status && !isKnown:
			t.Errorf("%s: got %+v, argo-cd says %+v", id, got, f.want)
		case isKnown && (d.Upstream != f.want.Status || d.Ours != got.Status):
			t.Errorf("%s: got %s and argo-cd %s, listed are %s and %s", id, got.Status, f.want.Status, d.Ours, d.Upstream)
		}
		if got.Status != f.want.Status {
			differ++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		t.Errorf("%s: is listed, and there is no such fixture", id)
	}
	t.Logf("%d kinds, %d fixtures, of which %d differ", len(kinds), len(all), differ)
	if len(all) < 150 || 20*differ > len(all) {
		t.Errorf("%d of %d fixtures differ, want at most 5 %%", differ, len(all))
	}
}
