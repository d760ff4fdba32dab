package flux

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/clusterreader"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/engine"
	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/ssa"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"
)

const verdicts = "../../internal/ledger/projection/testdata/verdicts"

var ledgers = schema.GroupVersionKind{Group: "ledger.hallmark.dev", Version: "v1alpha1", Kind: "MigrationLedger"}

// A verdict is an object whose status hallmark ledger project has written, and what
// kstatus is to make of it.
type verdict struct {
	name   string
	want   kstatus.Status
	object *unstructured.Unstructured
}

func allVerdicts(t *testing.T) []verdict {
	t.Helper()
	files, err := filepath.Glob(verdicts + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := []verdict{{"created", kstatus.InProgressStatus, created(t)}}
	seen := map[kstatus.Status]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := regexp.MustCompile(`(?m)^# kstatus: (\w+)$`).FindSubmatch(data)
		if want == nil {
			t.Fatalf("%s does not say what kstatus is to make of it", file)
		}
		v := verdict{strings.TrimSuffix(filepath.Base(file), ".yaml"), kstatus.Status(want[1]), load(t, data)}
		seen[v.want]++
		all = append(all, v)
	}
	for _, s := range []kstatus.Status{kstatus.InProgressStatus, kstatus.FailedStatus, kstatus.CurrentStatus} {
		if seen[s] == 0 {
			t.Fatalf("no file in %s is %s", verdicts, s)
		}
	}
	return all
}

func load(t *testing.T, data []byte) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil { // as Flux reads it: whole numbers are an int64
		t.Fatal(err)
	}
	if u.GroupVersionKind() != ledgers {
		t.Fatalf("it is a %s", u.GroupVersionKind())
	}
	return u
}

// created is an object that was just applied: it has the status that the definition
// gives it.
func created(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema struct {
						Properties struct {
							Status struct {
								Default map[string]any `json:"default"`
							} `json:"status"`
						} `json:"properties"`
					} `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	data, err := os.ReadFile("../../manifests/ledger/crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &crd); err != nil {
		t.Fatal(err)
	}
	object, err := yaml.Marshal(map[string]any{
		"apiVersion": ledgers.GroupVersion().String(), "kind": ledgers.Kind,
		"metadata": map[string]any{"name": "checkout", "namespace": "shop", "generation": 1},
		"spec":     map[string]any{"changes": []any{map[string]any{"key": "shop:add-order-index:v3"}}},
		"status":   crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties.Status.Default,
	})
	if err != nil {
		t.Fatal(err)
	}
	return load(t, object)
}

// TestLedgerStatus asks kstatus, as Flux and Helm 4 do.
func TestLedgerStatus(t *testing.T) {
	t.Parallel()
	for _, v := range allVerdicts(t) {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			got, err := kstatus.Compute(v.object)
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != v.want {
				t.Errorf("got %s (%s), want %s", got.Status, got.Message, v.want)
			}
			if v.want != kstatus.CurrentStatus && got.Message == "" {
				t.Error("kstatus has no message")
			}
		})
	}
}

// A waiter waits for an object as kustomize-controller does for those of a Kustomization
// with wait or healthChecks: by the code that it does that with, on a cluster that is a
// map.
type waiter struct {
	client client.WithWatch
	looks  atomic.Int64 // how often somebody has looked at the object
	set    object.ObjMetadataSet
	wait   func(context.Context) error
}

func newWaiter(t *testing.T, u *unstructured.Unstructured) *waiter {
	t.Helper()
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(ledgers, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(ledgers.GroupVersion().WithKind(ledgers.Kind+"List"), &unstructured.UnstructuredList{})
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{ledgers.GroupVersion()})
	mapper.Add(ledgers, meta.RESTScopeNamespace)
	w := &waiter{}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(u.DeepCopy()).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
				defer w.looks.Add(1)
				return c.Get(ctx, key, o, options...)
			},
		}).Build()
	poller := polling.NewStatusPoller(w.client, mapper, polling.Options{
		ClusterReaderFactory: engine.ClusterReaderFactoryFunc(clusterreader.NewDirectClusterReader),
	})
	manager := ssa.NewResourceManager(w.client, poller, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
	w.set = object.UnstructuredSetToObjMetadataSet([]*unstructured.Unstructured{u})
	w.wait = func(ctx context.Context) error {
		return manager.WaitForSetWithContext(ctx, w.set, ssa.WaitOptions{Interval: time.Millisecond, Timeout: time.Minute})
	}
	return w
}

// write makes the object another one of the same name.
func (w *waiter) write(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	u = u.DeepCopy()
	old := &unstructured.Unstructured{}
	old.SetGroupVersionKind(ledgers)
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(u), old); err != nil {
		t.Fatal(err)
	}
	u.SetResourceVersion(old.GetResourceVersion())
	if err := w.client.Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
}

// TestKustomizationWaits requires that a Kustomization goes on where a ledger is good, fails
// where a person has to look, and waits otherwise, until it is good.
func TestKustomizationWaits(t *testing.T) {
	t.Parallel()
	all := allVerdicts(t)
	var good *unstructured.Unstructured
	for _, v := range all {
		if v.want == kstatus.CurrentStatus {
			good = v.object
		}
	}
	for _, v := range all {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			w := newWaiter(t, v.object)
			done := make(chan error, 1)
			go func() { done <- w.wait(t.Context()) }()
			if v.want == kstatus.InProgressStatus {
				for w.looks.Load() < 5 {
					select {
					case err := <-done:
						t.Fatalf("it did not wait: %v", err)
					case <-time.After(time.Millisecond):
					}
				}
				w.write(t, good)
			}
			err := <-done
			if v.want == kstatus.FailedStatus {
				want := fmt.Sprintf("failed early due to stalled resources: [%s/%s/%s status: 'Failed'", ledgers.Kind, v.object.GetNamespace(), v.object.GetName())
				if err == nil || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
				return
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}
