package chart

import (
	"maps"
	"slices"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// difference compares two results document by document.
func difference(a, b []manifest) []Finding {
	if !sameDocuments(a, b) {
		return restructured(a, b)
	}
	var out []Finding
	for i := range a {
		if a[i].body == b[i].body {
			continue
		}
		id := a[i].id()
		Diff(a[i].value, b[i].value, func(path []any) {
			out = append(out, Finding{Object: id, Template: a[i].source, Path: path, document: i})
		})
	}
	return out
}

func sameDocuments(a, b []manifest) bool {
	return slices.EqualFunc(a, b, func(x, y manifest) bool { return x.source == y.source && x.kind == y.kind })
}

// restructured names the templates whose documents differ in number or kind.
func restructured(a, b []manifest) []Finding {
	shape := func(list []manifest) map[string]string {
		out := map[string]string{}
		for _, m := range list {
			out[m.source] += m.kind + "\n"
		}
		return out
	}
	left, right := shape(a), shape(b)
	all := maps.Clone(left)
	maps.Copy(all, right)
	var out []Finding
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if left[name] != right[name] {
			out = append(out, Finding{Template: name})
		}
	}
	return out
}

func (m manifest) id() object.ID {
	doc, _ := m.value.(map[string]any)
	return object.Object{Value: doc}.ID()
}

// Diff yields the path of each field in which two decoded documents differ: map
// keys (string) and list indexes (int).
func Diff(a, b any, yield func(path []any)) { diff(a, b, nil, yield) }

func diff(a, b any, at []any, yield func(path []any)) {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			break
		}
		keys := maps.Clone(a)
		maps.Copy(keys, b)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			_, inA := a[k]
			_, inB := b[k]
			next := append(slices.Clone(at), k)
			if inA != inB {
				yield(next)
				continue
			}
			diff(a[k], b[k], next, yield)
		}
		return
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		for i := range a {
			diff(a[i], b[i], append(slices.Clone(at), i), yield)
		}
		return
	case nil, string, bool, int64, float64:
		switch b.(type) {
		case nil, string, bool, int64, float64:
			if a == b {
				return
			}
		}
	}
	yield(at)
}

// Disturbed returns the stream with every field of Findings changed. A
// kustomization that is built from it differs from one that is built from Stream
// in just those fields that an unstable field of the chart reaches. It reports
// false if a finding is not about a field.
func (o *Output) Disturbed() ([]byte, bool) {
	paths := map[string][][]any{}
	key := func(template string, id object.ID) string { return template + "\n" + id.String() }
	for _, f := range o.Findings {
		if len(f.Path) == 0 {
			return nil, false
		}
		k := key(f.Template, f.Object)
		paths[k] = append(paths[k], f.Path)
	}
	var out []byte
	for _, obj := range o.Objects {
		var value any = obj.Value
		for _, p := range paths[key(obj.Origin, obj.ID())] {
			value = disturb(value, p)
		}
		out = yamldoc.AppendYAML(append(out, "---\n"...), value)
	}
	return out, true
}

// disturb returns v with another value at path; only what lies on the way is copied.
func disturb(v any, path []any) any {
	at, _ := object.Lookup(v, path)
	return object.With(v, path, other(at))
}

// other returns another value than v, of its type if that is a scalar.
func other(v any) any {
	switch v := v.(type) {
	case string:
		return v + "x"
	case int64:
		return v + 1
	case float64:
		return v + 1
	case bool:
		return !v
	}
	return "x"
}

// Altered returns the stream with some of the fields of Derived changed, by their index
// there: texts have what mark gives for them at their end.
func (o *Output) Altered(fields []int, mark func(n int) string) []byte {
	values := make([]any, len(o.Objects))
	for i, obj := range o.Objects {
		values[i] = obj.Value
	}
	for _, n := range fields {
		d := o.Derived[n]
		at, _ := object.Lookup(values[d.Document], d.Path)
		to := other(at)
		if text, ok := at.(string); ok {
			to = text + mark(n)
		}
		values[d.Document] = object.With(values[d.Document], d.Path, to)
	}
	var out []byte
	for _, value := range values {
		out = yamldoc.AppendYAML(append(out, "---\n"...), value)
	}
	return out
}
