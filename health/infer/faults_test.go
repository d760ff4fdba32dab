package infer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hallmark.dev/hallmark/health/infer"
	"hallmark.dev/hallmark/internal/diag"
)

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.test}
spec:
  group: example.test
  names: {kind: Thing, plural: things}
  versions:
    - name: v1
      storage: true
`

// TestFaults: what cannot be read is said with its place, and gives no draft.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, crd, want string }{
		{"not YAML", "a: [\n", "crd.yaml:2: "},
		{"empty", "# nothing\n", "crd.yaml: no objects, want a CustomResourceDefinition"},
		{"a list", "- a\n", "crd.yaml:1:1: got list, want mapping"},
		{"another kind", "apiVersion: v1\nkind: Service\n", `crd.yaml:2:7: got kind "Service" of apiVersion "v1", want a CustomResourceDefinition of apiextensions.k8s.io/v1`},
		{"another group", "apiVersion: other.test/v1\nkind: CustomResourceDefinition\n", `crd.yaml:2:7: got kind "CustomResourceDefinition" of apiVersion "other.test/v1"`},
		{"another version", "apiVersion: apiextensions.k8s.io/v2\nkind: CustomResourceDefinition\n", `crd.yaml:1:13: apiVersion: got "apiextensions.k8s.io/v2", want apiextensions.k8s.io/v1 or apiextensions.k8s.io/v1beta1`},
		{"an item that is none", "kind: List\nitems: [{kind: A}, 3]\n", "crd.yaml:2:20: items[1]: got number, want mapping"},
		{"no spec", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n", "crd.yaml:1:1: spec.group: missing"},
		{"a group that is none", strings.Replace(definition, "group: example.test", "group: 'a b'", 1), `crd.yaml:5:10: spec.group: got "a b", which is no valid name`},
		{"a group of another type", strings.Replace(definition, "group: example.test", "group: [x]", 1), "crd.yaml:5:10: spec.group: got list, want string"},
		{"a kind that is none", strings.Replace(definition, "kind: Thing", "kind: 'Th*'", 1), `crd.yaml:6:17: spec.names.kind: got "Th*", which is no valid name`},
		{"no version", strings.Split(definition, "  versions")[0], "crd.yaml:5:3: spec.versions: missing"},
		{"no stored version", strings.Replace(definition, "storage: true", "storage: false", 1), "crd.yaml:8:5: spec.versions: no version has storage: true"},
		{"a schema of another type", definition + "      schema: {openAPIV3Schema: x}\n", "crd.yaml:10:33: spec.versions[0].schema.openAPIV3Schema: got string, want mapping"},
		{"columns of another type", definition + "      additionalPrinterColumns: {}\n", "crd.yaml:10:33: spec.versions[0].additionalPrinterColumns: got mapping, want list"},
		{"twice", definition + "---\n" + definition, `crd.yaml:16:17: spec.names.kind: kind "Thing" of group "example.test" is defined twice`},
		{"the second of two", definition + "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: 1}\n", "crd.yaml:13:15: spec.group: got number, want string"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			draft, err := infer.Draft(infer.File{Name: "crd.yaml", Data: []byte(tc.crd)}, nil)
			checkFault(t, draft, err, tc.want)
		})
	}
}

func TestFaultsOfObjects(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, objects, want string }{
		{"not YAML", "a: 'b\n", "objects.yaml:"},
		{"a text", "x\n", "objects.yaml:1:1: got string, want mapping"},
		{"no kind", "apiVersion: v1\n", "objects.yaml:1:1: the object has no kind"},
		{"none of the kind", "apiVersion: v1\nkind: Service\n", "objects.yaml:2:7: no object of a kind that the definitions are of: Thing.example.test"},
		{"the kind of another group", "apiVersion: other.test/v1\nkind: Thing\n", "objects.yaml:2:7: no object of a kind that the definitions are of: Thing.example.test"},
		{"nothing", "", "objects.yaml: no object of a kind that the definitions are of: Thing.example.test"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			draft, err := infer.Draft(infer.File{Name: "crd.yaml", Data: []byte(definition)}, []infer.File{{Name: "objects.yaml", Data: []byte(tc.objects)}})
			checkFault(t, draft, err, tc.want)
		})
	}
}

func checkFault(t *testing.T, draft []byte, err error, want string) {
	t.Helper()
	if err == nil || len(draft) > 0 {
		t.Fatalf("got a draft and the error %v, want %s", err, want)
	}
	fault := (*diag.Error)(nil)
	if !errors.As(err, &fault) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestFaultsAreBounded: each place costs a parse of the whole file.
func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	var crd strings.Builder
	for i := range 200 {
		fmt.Fprintf(&crd, "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: 'x%d y'}\n", i)
	}
	_, err := infer.Draft(infer.File{Name: "crd.yaml", Data: []byte(crd.String())}, nil)
	var faults diag.List
	if !errors.As(err, &faults) || len(faults) < 20 || len(faults) > 40 {
		t.Errorf("got %d faults of 200 definitions", len(faults))
	}
}
