package flux

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

const testdata = "../../health/export/testdata/flux"

// exprs is what stands below spec of a Kustomization and of a HelmRelease.
type exprs struct {
	Spec struct {
		HealthCheckExprs []kustomize.CustomHealthCheck `json:"healthCheckExprs"`
	} `json:"spec"`
}

type testCase struct {
	Name   string          `json:"name"`
	Want   string          `json:"want"`
	Object json.RawMessage `json:"object"`
}

func TestStatusOfGoldens(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(testdata + "/*/exprs.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files in %s, %v", len(files), testdata, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			var x exprs
			read(t, file, &x)
			var list struct {
				Cases []testCase `json:"cases"`
			}
			read(t, filepath.Join(filepath.Dir(file), "cases.yaml"), &list)
			if len(x.Spec.HealthCheckExprs) == 0 || len(list.Cases) == 0 {
				t.Fatalf("%d expressions, %d cases", len(x.Spec.HealthCheckExprs), len(list.Cases))
			}
			// The reader takes all expressions at once, and no two for one kind.
			if _, err := cel.NewStatusReader(x.Spec.HealthCheckExprs); err != nil {
				t.Fatal(err)
			}
			seen := map[string]int{}
			for _, c := range list.Cases {
				got, err := status(t, x.Spec.HealthCheckExprs, c)
				if got != c.Want {
					t.Errorf("%s: got %s, want %s (%v)", c.Name, got, c.Want, err)
				}
				seen[got]++
			}
			for _, s := range []string{"InProgress", "Failed", "Current"} {
				if seen[s] == 0 {
					t.Errorf("no case is %s: %v", s, seen)
				}
			}
		})
	}
}

// status is what Flux says of an object, "error" if it ends in one.
func status(t *testing.T, all []kustomize.CustomHealthCheck, c testCase) (string, error) {
	t.Helper()
	// As Flux reads it: whole numbers are an int64.
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(c.Object); err != nil {
		t.Fatal(err)
	}
	evaluator, err := evaluatorFor(all, u.GroupVersionKind().GroupKind())
	if err != nil {
		t.Fatal(err)
	}
	result, err := evaluator.Evaluate(t.Context(), u)
	if err != nil {
		return "error", err
	}
	return result.Status.String(), nil
}

// evaluatorFor chooses as Flux does: the kind's own expressions before its group's.
func evaluatorFor(all []kustomize.CustomHealthCheck, gk schema.GroupKind) (*cel.StatusEvaluator, error) {
	for _, kind := range []string{gk.Kind, ""} {
		for _, x := range all {
			of := schema.FromAPIVersionAndKind(x.APIVersion, x.Kind)
			if of.Group == gk.Group && of.Kind == kind {
				return cel.NewStatusEvaluator(&x.HealthCheckExpressions)
			}
		}
	}
	return nil, errors.New("no expressions for " + gk.String())
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(data)) == "" {
		t.Fatalf("%s is empty", file)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
