package stamp

import (
	"bytes"
	"fmt"
	"testing"

	"hallmark.dev/hallmark/internal/object"
)

// crdSet is custom resource definitions of 25 KB of JSON each. 100 of them are
// about what an operator's bundle of 4.5 MB of YAML decodes to.
func crdSet(tb testing.TB, count int) []object.Object {
	var schema func(depth int) map[string]any
	schema = func(depth int) map[string]any {
		properties := make(map[string]any)
		for i := range 5 {
			name := fmt.Sprintf("%cieldOfLevel%d", 'a'+rune((i*5)%26), depth)
			if depth == 0 {
				properties[name] = map[string]any{
					"description": "Says how many of <these> there are at most; zero means that there is no limit at all.",
					"type":        "integer", "format": "int32", "minimum": int64(0), "default": float64(i) + 0.5,
				}
				continue
			}
			properties[name] = schema(depth - 1)
		}
		return map[string]any{"type": "object", "properties": properties, "required": []any{"a", "b"}}
	}
	objs := make([]object.Object, count)
	size := 0
	for i := range objs {
		objs[i] = object.Object{Origin: "crds.yaml", Value: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": fmt.Sprintf("things%d.example.com", i), "annotations": map[string]any{"a": "b"}},
			"spec":     map[string]any{"versions": []any{map[string]any{"name": "v1", "schema": schema(2)}}},
		}}
		text, err := Canonical(objs[i], Options{})
		if err != nil {
			tb.Fatal(err)
		}
		size += len(text)
	}
	if each := size / count; each < 20_000 || each > 30_000 {
		tb.Fatalf("an object has %d bytes of canonical JSON", each)
	}
	if b, ok := tb.(*testing.B); ok {
		b.SetBytes(int64(size))
	}
	return objs
}

// BenchmarkCanonical is the measurement behind the choice of library. Run with
// -cpu 1 for one thread.
func BenchmarkCanonical(b *testing.B) {
	objs := crdSet(b, 100)
	b.Run("json-experiment", func(b *testing.B) {
		var buf bytes.Buffer
		for b.Loop() {
			for _, o := range objs {
				if _, err := appendCanonical(&buf, o.Value); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("encoding-json+jcs", func(b *testing.B) {
		for b.Loop() {
			for _, o := range objs {
				if _, err := canonicalByJCS(o.Value); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

func BenchmarkApply(b *testing.B) {
	objs := crdSet(b, 100)
	for b.Loop() {
		if _, err := Apply(objs, Provenance{Renderer: "plain/v1"}, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestBenchmarkSetsAgree(t *testing.T) {
	t.Parallel()
	for _, o := range crdSet(t, 4) {
		got, err := appendCanonical(new(bytes.Buffer), o.Value)
		if err != nil {
			t.Fatal(err)
		}
		want, err := canonicalByJCS(o.Value)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("got  %s\njcs  %s", got, want)
		}
	}
}
