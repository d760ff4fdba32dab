package gate

import (
	"fmt"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/object"
	"sigs.k8s.io/yaml"
)

// decode reads one object per YAML document, from a file "<n>.yaml".
func decode(t testing.TB, documents string) []object.Object {
	t.Helper()
	var objs []object.Object
	for i, text := range strings.Split(documents, "\n---\n") {
		var value map[string]any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		objs = append(objs, object.Object{Value: value, Origin: fmt.Sprintf("%d.yaml", i), Line: 7})
	}
	return objs
}

// wantFaults compares err with the faults a test expects, each a part of one
// message, and checks that there are no others.
func wantFaults(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		if len(want) > 0 {
			t.Errorf("no error, want %q", want)
		}
		return
	}
	got := err.Error()
	if len(want) == 0 {
		t.Errorf("got error %q, want none", got)
	}
	for _, part := range want {
		if !strings.Contains(got, part) {
			t.Errorf("got error %q, want %q in it", got, part)
		}
	}
	if faults := strings.Count(got, ".yaml:7"); faults > strings.Count(strings.Join(want, ""), ".yaml:7") {
		t.Errorf("got %d positions in %q, want only those of %q", faults, got, want)
	}
}

func TestCheckShape(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, yaml string
		want       []string
	}{
		{name: "complete", yaml: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}}"},
		{name: "generateName counts as a name", yaml: "{apiVersion: batch/v1, kind: Job, metadata: {generateName: migrate-}}"},
		{name: "cluster object without metadata but name", yaml: "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"},
		{name: "null maps", yaml: "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: null, annotations: null, namespace: null}}"},
		{name: "null label and annotation", yaml: "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {a: null}, annotations: {b: null}}}"},
		{name: "no kind", yaml: "{apiVersion: v1, metadata: {name: web}}", want: []string{`0.yaml:7`, `object "web": object without kind`}},
		{name: "no apiVersion", yaml: "{kind: Service, metadata: {name: web}}", want: []string{`0.yaml:7`, `Service "web": object without apiVersion`}},
		{name: "no name", yaml: "{apiVersion: v1, kind: Service, metadata: {}}", want: []string{`0.yaml:7`, `Service: object without metadata.name`}},
		{name: "empty name", yaml: "{apiVersion: v1, kind: Service, metadata: {name: ''}}", want: []string{`0.yaml:7`, `Service: object without metadata.name`}},
		{name: "no metadata", yaml: "{apiVersion: v1, kind: Service}", want: []string{`0.yaml:7`, `Service: object without metadata.name`}},
		{name: "nothing at all", yaml: "{}", want: []string{
			`0.yaml:7`, `object: object without apiVersion`, `0.yaml:7`, `object: object without kind`, `0.yaml:7`, `object: object without metadata.name`,
		}},
		{name: "kind is a number", yaml: "{apiVersion: v1, kind: 5, metadata: {name: web}}", want: []string{`0.yaml:7`, `"/kind": got number, want string`}},
		{name: "apiVersion is a boolean", yaml: "{apiVersion: true, kind: Service, metadata: {name: web}}", want: []string{`0.yaml:7`, `"/apiVersion": got boolean, want string`}},
		{name: "apiVersion with two slashes", yaml: "{apiVersion: a/b/c, kind: Service, metadata: {name: web}}", want: []string{`0.yaml:7`, `"/apiVersion": got "a/b/c", want a version or group/version`}},
		{name: "metadata is a string", yaml: "{apiVersion: v1, kind: Service, metadata: web}", want: []string{`0.yaml:7`, `Service: "/metadata": got string, want object`}},
		{name: "name is a number", yaml: "{apiVersion: v1, kind: Service, metadata: {name: 5}}", want: []string{`0.yaml:7`, `Service: "/metadata/name": got number, want string`}},
		{name: "namespace is a list", yaml: "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: [a]}}", want: []string{`0.yaml:7`, `"/metadata/namespace": got array, want string`}},
		{name: "labels is a list", yaml: "{apiVersion: v1, kind: Service, metadata: {name: web, labels: [a]}}", want: []string{`0.yaml:7`, `"/metadata/labels": got array, want object`}},
		{name: "label is a boolean", yaml: "{apiVersion: v1, kind: Service, metadata: {name: web, labels: {a/b: true}}}", want: []string{`0.yaml:7`, `"/metadata/labels/a~1b": got boolean, want string`}},
		{
			name: "annotation is a number", yaml: "{apiVersion: batch/v1, kind: Job, metadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/sync-wave: 1}}}",
			want: []string{`0.yaml:7`, `Job.batch "migrate": "/metadata/annotations/argocd.argoproj.io~1sync-wave": got number, want string`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			wantFaults(t, Check(decode(t, tc.yaml), Options{}), tc.want...)
		})
	}
}

func TestCheckDuplicates(t *testing.T) {
	t.Parallel()
	const both = "the same object stands in 0.yaml:7 and in 1.yaml:7"
	for _, tc := range []struct {
		name, yaml, namespace string
		want                  []string
	}{
		{name: "twice", yaml: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: ns}}\n---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: ns}}", want: []string{"1.yaml:7", `Deployment.apps "ns/a": ` + both}},
		{name: "another version of the group", yaml: "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}\n---\n{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: a}}", want: []string{"1.yaml:7", both}},
		{name: "destination namespace spelled out once", namespace: "ns", yaml: "{apiVersion: v1, kind: Service, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: a, namespace: ns}}", want: []string{"1.yaml:7", both}},
		{name: "three times", yaml: "{apiVersion: v1, kind: Service, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: a}}", want: []string{"1.yaml:7", both, "2.yaml:7", "stands in 0.yaml:7 and in 2.yaml:7"}},
		{name: "another namespace", namespace: "ns", yaml: "{apiVersion: v1, kind: Service, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: a, namespace: other}}"},
		{name: "another group", yaml: "{apiVersion: v1, kind: Service, metadata: {name: a}}\n---\n{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: a}}"},
		{name: "another kind", yaml: "{apiVersion: v1, kind: Service, metadata: {name: a}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"},
		{name: "generated names", yaml: "{apiVersion: batch/v1, kind: Job, metadata: {generateName: a-}}\n---\n{apiVersion: batch/v1, kind: Job, metadata: {generateName: a-}}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			wantFaults(t, Check(decode(t, tc.yaml), Options{Namespace: tc.namespace}), tc.want...)
		})
	}
}

func TestCheckEmptyAndLimit(t *testing.T) {
	t.Parallel()
	two := decode(t, "{apiVersion: v1, kind: Service, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: b}}")
	for _, tc := range []struct {
		name string
		objs []object.Object
		o    Options
		want string
	}{
		{name: "empty", want: "the render holds no objects"},
		{name: "empty allowed", o: Options{AllowEmpty: true}},
		{name: "no bound", objs: two},
		{name: "at the bound", objs: two, o: Options{MaxObjects: 2}},
		{name: "above the bound", objs: two, o: Options{MaxObjects: 1}, want: `the render holds 2 objects, more than limits.objects allows (1)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := Check(tc.objs, tc.o)
			if tc.want == "" {
				if err != nil {
					t.Errorf("got %q, want no error", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestCheckReportsAllFaults(t *testing.T) {
	t.Parallel()
	objs := decode(t, "{apiVersion: v1, kind: 5, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Secret, metadata: {name: b}, stringData: {p: 'ENC[AES256_GCM,data:x]'}}\n---\n{apiVersion: v1, kind: Service}")
	wantFaults(t, Check(objs, Options{}), "0.yaml:7", `"/kind"`, "1.yaml:7", `"/stringData/p"`, "2.yaml:7", "without metadata.name")
}

func TestExpand(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, yaml string
		names      string // of the objects that are left, with their origin
		want       []string
	}{
		{name: "no list", yaml: "{kind: A, metadata: {name: a}}", names: "a@0.yaml:7"},
		{name: "List in place", yaml: "{metadata: {name: a}}\n---\n{kind: List, items: [{metadata: {name: b}}, {metadata: {name: c}}]}\n---\n{metadata: {name: d}}", names: "a@0.yaml:7 b@1.yaml:7 c@1.yaml:7 d@2.yaml:7"},
		{name: "typed list", yaml: "{kind: ConfigMapList, items: [{metadata: {name: b}}]}", names: "b@0.yaml:7"},
		{name: "any object with an array of items", yaml: "{kind: Basket, items: [{metadata: {name: b}}], spec: {}}", names: "b@0.yaml:7"},
		{name: "empty list", yaml: "{kind: List, items: []}"},
		{name: "null items", yaml: "{kind: List, items: null}"},
		{name: "null items beside a spec", yaml: "{metadata: {name: a}, items: null, spec: {}}", names: "a@0.yaml:7"},
		{name: "null items beside a status", yaml: "{metadata: {name: a}, items: null, status: null}", names: "a@0.yaml:7"},
		{name: "items of another type", yaml: "{metadata: {name: a}, items: text}", names: "a@0.yaml:7"},
		{name: "item is a string", yaml: "{kind: List, items: [{metadata: {name: b}}, text]}", want: []string{"0.yaml:7", `List: "/items/1": got string, want object`}},
		{name: "item is null", yaml: "{kind: List, items: [null]}", want: []string{"0.yaml:7", `"/items/0": got null, want object`}},
		{name: "list in a list", yaml: "{kind: List, items: [{kind: List, items: []}]}", want: []string{"0.yaml:7", `"/items/0": got a List inside a List`}},
		{name: "null list in a list", yaml: "{kind: List, items: [{kind: List, items: null}]}", want: []string{"0.yaml:7", `"/items/0": got a List inside a List`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			objs, err := Expand(decode(t, tc.yaml))
			wantFaults(t, err, tc.want...)
			var names []string
			for _, obj := range objs {
				names = append(names, obj.ID().Name+"@"+obj.At())
			}
			if got := strings.Join(names, " "); got != tc.names {
				t.Errorf("got objects %q, want %q", got, tc.names)
			}
		})
	}
}
