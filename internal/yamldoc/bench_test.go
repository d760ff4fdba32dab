package yamldoc

import (
	"fmt"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"
)

// definition generates a document that looks like a custom resource definition,
// in the layout of controller-gen.
func definition(fields int) []byte {
	var b strings.Builder
	b.WriteString(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    controller-gen.kubebuilder.io/version: v0.16.5
  name: widgets.example.test
spec:
  group: example.test
  names:
    kind: Widget
    plural: widgets
  scope: Namespaced
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            properties:
`)
	for i := range fields {
		fmt.Fprintf(&b, `              field%d:
                description: |-
                  Field%[1]d is the number of widgets that the controller keeps.
                  It must not be negative. See https://example.test/docs: there
                  is a page about it.

                  Defaults to %[1]d.
                items:
                  properties:
                    name:
                      description: Name of the widget.
                      maxLength: 253
                      pattern: ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$
                      type: string
                    ports:
                      items:
                        format: int32
                        type: integer
                      type: array
                    weight:
                      anyOf:
                      - type: integer
                      - type: string
                      x-kubernetes-int-or-string: true
                  required:
                  - name
                  type: object
                minItems: %[1]d
                type: array
`, i)
	}
	b.WriteString("            type: object\n        type: object\n    served: true\n    storage: true\n    subresources: {}\n")
	return []byte(b.String())
}

func TestDefinitionTakesTheFastPath(t *testing.T) {
	t.Parallel()
	data := definition(20)
	if !checkDecode(t, data) {
		t.Error("the fast path declined the document that the benchmarks read")
	}
	v, err := Decode("f", data)
	if err != nil {
		t.Fatal(err)
	}
	checkRoundTrip(t, v)
}

func BenchmarkDecode(b *testing.B) {
	data := definition(500)
	b.Run("hallmark", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Decode("f", data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := reference(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAppendYAML(b *testing.B) {
	data := definition(500)
	v, err := Decode("f", data)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("hallmark", func(b *testing.B) {
		var dst []byte
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			dst = AppendYAML(dst[:0], v)
		}
	})
	b.Run("library", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := sigsyaml.Marshal(v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAppendJSON(b *testing.B) {
	data := definition(500)
	v, err := Decode("f", data)
	if err != nil {
		b.Fatal(err)
	}
	var dst []byte
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendJSON(dst[:0], v, "")
	}
}

func BenchmarkSplit(b *testing.B) {
	data := []byte(strings.Repeat(string(definition(20))+"---\n", 20))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		Split(data)
	}
}
