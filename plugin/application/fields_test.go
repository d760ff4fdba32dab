package application

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
)

// The fields that are known are those of Argo CD 2.14, whose types hallmark builds with,
// and these, which newer versions have.
func TestFieldsAreThoseOfArgoCD(t *testing.T) {
	t.Parallel()
	newer := []string{
		"kustomize.ignoreMissingComponents", "kustomize.labelIncludeTemplates", "directory.disableExtensionFilter",
		"automated.enabled", "retry.refresh", "drySource.helm", "drySource.kustomize", "drySource.directory", "drySource.plugin",
		"syncSource.repoURL", "strategy.deletionOrder", "files[].exclude",
	}
	found := map[string]bool{}
	c := comparison{t: t, newer: newer, found: found}
	c.record("spec", specShape, reflect.TypeFor[v1alpha1.ApplicationSpec]())
	c.record("spec", setShape.fields["spec"], reflect.TypeFor[v1alpha1.ApplicationSetSpec]())
	if c.compared < 150 {
		t.Errorf("compared %d fields, which is not all", c.compared)
	}
	for _, name := range newer {
		if !found[name] {
			t.Errorf("%s is not newer, or not known", name)
		}
	}
}

type comparison struct {
	t        *testing.T
	newer    []string
	found    map[string]bool
	compared int
}

// record compares a record with a struct.
func (c *comparison) record(name string, s shape, typ reflect.Type) {
	known := map[string]reflect.Type{}
	var collect func(typ reflect.Type)
	collect = func(typ reflect.Type) {
		for f := range typ.Fields() {
			tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case tag == "-":
			case tag == "" && (strings.Contains(options, "inline") || f.Anonymous):
				inner := f.Type
				if inner.Kind() == reflect.Pointer {
					inner = inner.Elem()
				}
				collect(inner)
			case f.IsExported():
				known[tag] = f.Type
			}
		}
	}
	collect(typ)
	for _, field := range slices.Sorted(maps.Keys(known)) {
		have, found := s.fields[field]
		if !found {
			c.t.Errorf("%s.%s of Argo CD is not known", name, field)
			continue
		}
		c.compared++
		c.shape(field, have, known[field])
	}
	for _, field := range slices.Sorted(maps.Keys(s.fields)) {
		if known[field] != nil {
			continue
		}
		full := fmt.Sprintf("%s.%s", name, field)
		c.found[full] = true
		if !slices.Contains(c.newer, full) {
			c.t.Errorf("%s is no field of Argo CD", full)
		}
	}
}

func (c *comparison) shape(name string, s shape, typ reflect.Type) {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if s.want == "" {
		return // what is not looked into
	}
	want := ""
	switch typ.String() {
	case "v1.JSON": // a nested generator, or an element
		return
	case "runtime.RawExtension":
		want = "a mapping"
	case "intstr.IntOrString":
		want = "a whole number or a string"
	}
	switch typ.Kind() {
	case reflect.String:
		want = "a string"
	case reflect.Bool:
		want = "true or false"
	case reflect.Int64:
		want = "a whole number"
	case reflect.Slice:
		if want = "a list"; s.item != nil {
			c.shape(name+"[]", *s.item, typ.Elem())
		}
	case reflect.Map:
		if want = "a mapping"; s.item != nil {
			c.shape(name+"{}", *s.item, typ.Elem())
		}
	case reflect.Struct:
		if want == "" {
			want = "a mapping"
			c.record(name, s, typ)
		}
	}
	if s.want != want {
		c.t.Errorf("%s is %s, and here %s", name, want, s.want)
	}
}
