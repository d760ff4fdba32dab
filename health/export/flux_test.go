package export

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/corpus"
	"hallmark.dev/hallmark/health/eval"
	"hallmark.dev/hallmark/health/library"
	"hallmark.dev/hallmark/health/suite"
)

// The statuses of Flux, and an error, at which it waits.
const (
	inProgress = "InProgress"
	failed     = "Failed"
	current    = "Current"
	fluxError  = "error"
)

// asFlux is what Flux says for a status.
func asFlux(s health.Status) string {
	switch s {
	case health.Healthy:
		return current
	case health.Degraded:
		return failed
	}
	return inProgress
}

// fluxEvaluator evaluates expressions in Flux's order and environment. That it does
// is tested in tools/flux, where Flux's own evaluator judges the same objects.
type fluxEvaluator struct {
	programs []cel.Program
	statuses []string
}

func newFluxEvaluator(t *testing.T, x fluxExprs) *fluxEvaluator {
	t.Helper()
	env, err := cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders())
	if err != nil {
		t.Fatal(err)
	}
	e := &fluxEvaluator{}
	for _, s := range [][2]string{{inProgress, x.inProgress}, {failed, x.failed}, {current, x.current}} {
		if s[1] == "" {
			continue
		}
		parsed, issues := env.Parse(s[1])
		if issues.Err() != nil {
			t.Fatalf("%s: %v", s[1], issues.Err())
		}
		program, err := env.Program(parsed)
		if err != nil {
			t.Fatal(err)
		}
		e.programs, e.statuses = append(e.programs, program), append(e.statuses, s[0])
	}
	return e
}

func (e *fluxEvaluator) eval(object map[string]any) (string, error) {
	if otherGeneration(object) {
		return inProgress, nil
	}
	for i, p := range e.programs {
		value, _, err := p.Eval(object)
		if err != nil {
			return fluxError, err
		}
		if b, ok := value.(types.Bool); !ok {
			return fluxError, fmt.Errorf("%v is no truth value", value)
		} else if b {
			return e.statuses[i], nil
		}
	}
	return inProgress, nil
}

// otherGeneration is Flux's gate.
func otherGeneration(object map[string]any) bool {
	status, _ := object["status"].(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	observed, ok1 := status["observedGeneration"].(int64)
	generation, ok2 := metadata["generation"].(int64)
	return ok1 && ok2 && observed != generation
}

// TestFluxOfLibrary evaluates the expressions of every check that ships, on the
// objects of its cases and the robustness corpus, and compares with the oracle.
func TestFluxOfLibrary(t *testing.T) {
	t.Parallel()
	checks := libraryChecks(t)
	for _, c := range checks {
		t.Run(c.check.Name, func(t *testing.T) {
			t.Parallel()
			sameAsOracle(t, c.check, c.objects)
		})
	}
}

// maxSeeds is how many objects of a check are varied; all are tried as they are.
const maxSeeds = 4

// sameAsOracle compares what Flux says with what the check says, for objects and
// their variations. Flux may end in an error only over an absent top-level key, a
// null, or a value of a type that a schema refuses.
func sameAsOracle(t *testing.T, check *health.Check, objects []map[string]any) {
	t.Helper()
	oracle, err := eval.New(check, func() int64 { return 1_700_000_000 })
	if err != nil {
		t.Fatal(err)
	}
	exprs, _ := fluxExpressions(check)
	flux := newFluxEvaluator(t, exprs)
	target := check.Targets[0]
	version := strings.TrimPrefix(strings.ReplaceAll(target.Group, "*", "example")+"/v1", "/")
	all := corpus.Objects(version, strings.ReplaceAll(target.Kinds[0], "*", "Example"), objects[:min(len(objects), maxSeeds)])
	for i, o := range objects {
		all = append(all, corpus.Case{Name: fmt.Sprint("object ", i+1), Object: o})
	}
	statuses := map[string]int{}
	for _, o := range all {
		want := asFlux(oracle.Eval(o.Object).Status)
		if otherGeneration(o.Object) {
			want = inProgress
		}
		got, err := flux.eval(o.Object)
		statuses[got]++
		switch {
		case got == want || hasOddValue(o.Object):
		case err == nil:
			text, _ := json.Marshal(o.Object)
			t.Errorf("%s: Flux says %s, want %s\n%.2000s", o.Name, got, want, text)
		case o.Variation != corpus.Refused && !missesKey(o.Object, check) && !guardless(err):
			t.Errorf("%s: %v", o.Name, err)
		}
	}
	if statuses[inProgress] == 0 || statuses[current]+statuses[failed]+statuses[fluxError] == 0 {
		t.Errorf("Flux says only %v", statuses)
	}
}

// missesKey reports whether an object lacks a top-level key that an expression of
// the check may name, or has something else than a map there.
func missesKey(object map[string]any, check *health.Check) bool {
	for _, key := range append([]string{"metadata", "spec", "status"}, check.Variables...) {
		if _, ok := object[key].(map[string]any); !ok {
			return true
		}
	}
	return false
}

// guardless reports whether an error is one of a value's type or content, which the
// expressions have no guard for. That a field, a key or an entry is absent is
// another.
func guardless(err error) bool {
	for _, text := range []string{"no such overload", "type conversion error", "expected iterable type", "unsupported index type"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// hasOddValue reports whether an object has what means one thing to Flux and another to
// Argo CD: a null, and a number that Lua cannot hold.
func hasOddValue(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case int64:
		return v > 1<<53 || v < -1<<53
	case float64:
		return v == math.Trunc(v)
	case []any:
		for _, item := range v {
			if hasOddValue(item) {
				return true
			}
		}
	case map[string]any:
		for _, item := range v {
			if hasOddValue(item) {
				return true
			}
		}
	}
	return false
}

// libraryCheck is a check that ships, with its cases.
type libraryCheck struct {
	check   *health.Check
	names   []string
	objects []map[string]any
}

func libraryChecks(t *testing.T) []libraryCheck {
	t.Helper()
	var all []libraryCheck
	files, err := fs.Glob(library.Files, "*/*_test.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := library.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests, err := suite.Parse(file, data, func(name string) ([]byte, error) { return library.Files.ReadFile(path.Join(path.Dir(file), name)) })
		if err != nil {
			t.Fatal(err)
		}
		for _, tc := range tests {
			spec, err := library.Files.ReadFile(tc.Check)
			if err != nil {
				t.Fatal(err)
			}
			checks, err := health.Parse(tc.Check, spec)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range checks {
				if c.Name != tc.Name {
					continue
				}
				lc := libraryCheck{check: c}
				for _, one := range tc.Cases {
					lc.names = append(lc.names, one.Name)
					lc.objects = append(lc.objects, one.Object)
				}
				all = append(all, lc)
			}
		}
	}
	return all
}
