package admission

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"hallmark.dev/hallmark/internal/object"
)

var (
	kubeconfig = flag.String("kubeconfig", "", "write testdata/verdicts.json anew, with what this cluster says; the policies and namespaces of the test stay there")
	kubernetes = flag.String("kubernetes", "", "the version of the cluster, for the file")
)

const verdictsFile = "testdata/verdicts.json"

// verdicts is what an API server says: for each policy and object the messages, in
// their order.
type verdicts struct {
	Kubernetes string                         `json:"kubernetes"`
	Verdicts   map[string]map[string][]string `json:"verdicts"`
}

// namespaceLabels are on each namespace of the test.
var namespaceLabels = map[string]any{"env": "production"}

func corpus(t *testing.T) (policies string, list []object.Object) {
	t.Helper()
	data := func(name string) string {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	return data("policies.yaml"), objects(t, data("objects.yaml"))
}

// Each rule says of each object what the API server says of it, with the same message.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	policies, list := corpus(t)
	if *kubeconfig != "" {
		record(t, policies, list)
	}
	text, err := os.ReadFile(verdictsFile)
	if err != nil {
		t.Fatal(err)
	}
	var want verdicts
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	read := mustRead(t, policies)
	if len(read) == 0 || len(read) != len(want.Verdicts) {
		t.Fatalf("got %d rules and verdicts on %d; record them with -kubeconfig", len(read), len(want.Verdicts))
	}
	differs := 0
	for _, rule := range read {
		t.Run(rule.Name(), func(t *testing.T) {
			got := map[string][]string{}
			rule.Check(append(slices.Clone(list), namespaceOf(rule.Name())), rule.Name(), func(i int, message string) {
				if i < len(list) {
					got[key(list[i])] = append(got[key(list[i])], message)
				}
			})
			for _, o := range list {
				wanted := want.Verdicts[rule.Name()][key(o)]
				if len(wanted) > 0 {
					differs++
				}
				if !slices.Equal(got[key(o)], wanted) {
					t.Errorf("%s: got\n  %s\nKubernetes %s says\n  %s", key(o), strings.Join(got[key(o)], "\n  "), want.Kubernetes, strings.Join(wanted, "\n  "))
				}
			}
		})
	}
	if differs < 20 {
		t.Errorf("the corpus has %d objects that a rule says something of", differs)
	}
}

func key(o object.Object) string { return o.Kind() + " " + o.ID().Name }

func namespaceOf(policy string) object.Object {
	return object.Object{Value: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": policy, "labels": namespaceLabels},
	}}
}

// record asks an API server. Each policy is bound to a namespace of its own, and
// warns, since a refusal tells the first message only.
func record(t *testing.T, policies string, list []object.Object) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	heard := &warnings{}
	config.WarningHandler, config.QPS, config.Burst = heard, 200, 200
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	create := func(resource schema.GroupVersionResource, namespace string, value map[string]any, o metav1.CreateOptions) error {
		_, err := client.Resource(resource).Namespace(namespace).Create(t.Context(), &unstructured.Unstructured{Object: value}, o)
		return err
	}
	admission := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	read := mustRead(t, policies)
	for _, rule := range read {
		spec := jsonCopy(t, rule).(map[string]any)
		delete(spec, "name")
		for _, made := range []struct {
			resource schema.GroupVersionResource
			value    map[string]any
		}{
			{schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, jsonCopy(t, namespaceOf(rule.Name()).Value).(map[string]any)},
			{admission.WithResource("validatingadmissionpolicies"), map[string]any{
				"apiVersion": admission.String(), "kind": "ValidatingAdmissionPolicy", "metadata": map[string]any{"name": rule.Name()}, "spec": spec,
			}},
			{admission.WithResource("validatingadmissionpolicybindings"), map[string]any{
				"apiVersion": admission.String(), "kind": "ValidatingAdmissionPolicyBinding", "metadata": map[string]any{"name": rule.Name()},
				"spec": map[string]any{
					"policyName": rule.Name(), "validationActions": []any{"Warn"},
					"matchResources": map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{nameLabel: rule.Name()}}},
				},
			}},
		} {
			if err := create(made.resource, "", made.value, metav1.CreateOptions{}); err != nil {
				t.Fatalf("%s: %v", rule.Name(), err)
			}
		}
	}
	time.Sleep(10 * time.Second) // until the API server has seen its policies; this is no test
	out := verdicts{Kubernetes: *kubernetes, Verdicts: map[string]map[string][]string{}}
	for _, rule := range read {
		out.Verdicts[rule.Name()] = map[string][]string{}
		for _, o := range list {
			heard.take()
			s := newWorld(nil, rule.Name()).subject(o)
			resource := schema.GroupVersionResource{Group: s.id.Group, Version: s.version, Resource: s.resource}
			if err := create(resource, rule.Name(), jsonCopy(t, o.Value).(map[string]any), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				t.Fatalf("%s: %v", key(o), err)
			}
			prefix := fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%[1]s' with binding '%[1]s': ", rule.Name())
			for _, text := range heard.take() {
				message, ours := strings.CutPrefix(text, prefix)
				if !ours {
					t.Fatalf("%s, %s: got warning %q", rule.Name(), key(o), text)
				}
				out.Verdicts[rule.Name()][key(o)] = append(out.Verdicts[rule.Name()][key(o)], message)
			}
		}
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(verdictsFile, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}

func jsonCopy(t *testing.T, v any) (out any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// warnings keeps what an API server warns of.
type warnings struct {
	mu   sync.Mutex
	list []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.list
	w.list = nil
	return list
}
