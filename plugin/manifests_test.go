package plugin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin/stamp"

	"hallmark.dev/hallmark/internal/object"
)

// Manifests are the objects, each as one line of JSON.
func TestManifests(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ revision, file string }{
		"with a revision":            {"0123456789abcdef", configMap},
		"without":                    {"", configMap},
		"a revision to escape":       {"a\"b\\c\u2028<\n", configMap},
		"with other annotations":     {"0123", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations: {z: '1', a: '2'}\n"},
		"a revision in the file":     {"0123", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {" + stamp.AnnotationSourceRevision + ": forged}}\n"},
		"the same without ours":      {"", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {" + stamp.AnnotationSourceRevision + ": forged}}\n"},
		"the key at other depths":    {"0123", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {metadata: x}}\n" + stamp.AnnotationSourceRevision + ": x\ndata: {metadata: b, annotations: c, " + stamp.AnnotationSourceRevision + ": d}\n"},
		"text that Argo CD rereads":  {"0123", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    {{ \"<&>\" }}\n    é 😀\n  b: '1e3'\n  c: 'null'\n  d: \"\\u2028\\t\\0\"\n"},
		"numbers that do not fit in": {"0123", "apiVersion: v1\nkind: X\nmetadata: {name: a}\nspec: {a: 9007199254740993, b: 1.5, c: -0.0, d: 1e21}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := memory(map[string]string{"app/a.yaml": tt.file})
			r.Revision = tt.revision
			result := mustRender(t, r)
			manifests := result.Manifests()
			if len(manifests) != len(result.Objects) || len(manifests) != 1 {
				t.Fatalf("got %d manifests of %d objects", len(manifests), len(result.Objects))
			}
			// Printed in one go, not around the revision.
			if want := string(yamldoc.AppendJSON(nil, result.Objects[0].Value, "")); manifests[0] != want {
				t.Errorf("got  %s\nwant %s", manifests[0], want)
			}
			if strings.ContainsAny(manifests[0], "\n\r") {
				t.Errorf("got more than a line: %s", manifests[0])
			}
			var object struct {
				Metadata struct{ Annotations map[string]string }
			}
			if err := json.Unmarshal([]byte(manifests[0]), &object); err != nil {
				t.Fatal(err)
			}
			if got, found := object.Metadata.Annotations[stamp.AnnotationSourceRevision]; got != tt.revision || found != (tt.revision != "") {
				t.Errorf("got revision %q, want %q", got, tt.revision)
			}
		})
	}
}

// What is kept without its revision and put together again is what it was, for
// every shape of an object.
func TestJoinRevision(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `{"metadata":null}`, `{"metadata":[]}`, `{"metadata":{}}`, `{"metadata":{"annotations":null}}`,
		`{"metadata":{"annotations":{}}}`, `{"metadata":{"annotations":{"a":"b"}}}`, `{"metadata":{"annotations":"x","name":"y"},"z":1}`,
		`{"a":1,"metadata":{"a":1,"annotations":{"a":"b","hallmark.dev/source-revision":"REV","z":"c"},"z":1},"z":{"metadata":{"annotations":{"hallmark.dev/source-revision":"other"}}}}`,
	} {
		var value map[string]any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		printed, cut := printManifest([]byte("what was there "), object.Object{Value: value})
		printed, cut = printed[len("what was there "):], cut-len("what was there ")
		m := manifest{string(printed[:cut]), string(printed[cut:])}
		for _, revision := range []string{"REV", "", `"\`} {
			want := strings.ReplaceAll(text, `"REV"`, fmt.Sprintf("%q", revision))
			if diff := cmp.Diff(want, joinRevision([]manifest{m}, revision)[0]); diff != "" {
				t.Errorf("%s: -want +got:\n%s", text, diff)
			}
		}
	}
}
