package directory

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// reference reads one file with the decoders that Argo CD calls and by the rules
// of its getObjsFromYAMLOrJson. Where it gives neither objects nor an error, the
// file is passed over.
func reference(file, text string) ([]map[string]any, error) {
	if strings.Contains(text, skipMarker) {
		return nil, nil
	}
	if strings.HasSuffix(file, ".json") {
		var u unstructured.Unstructured
		decoder := json.NewDecoder(strings.NewReader(text))
		if err := decoder.Decode(&u); err != nil {
			return nil, err
		}
		if decoder.More() {
			return nil, errors.New("multiple objects")
		}
		return []map[string]any{u.Object}, nil
	}
	var objs []map[string]any
	decoder := kubeyaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u)
		if errors.Is(err, io.EOF) {
			return objs, nil
		}
		if err != nil {
			if len(objs) > 0 || looksLikeManifest([]byte(text)) {
				return nil, err
			}
			return nil, nil
		}
		// The decoder hands out an object without content for a text of
		// separators; Argo CD's next step drops it.
		if u != nil {
			objs = append(objs, u.Object)
		}
	}
}

func compareWithReference(t *testing.T, file, text string) {
	t.Helper()
	want, wantErr := reference(file, text)
	objs, _, err := Load(t.Context(), tree(map[string]string{file: text}), ".", Options{})
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s %q: got error %v, want like %v", file, text, err, wantErr)
	}
	if err != nil {
		return
	}
	var got []map[string]any
	for _, obj := range objs {
		got = append(got, obj.Value)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s %q: (-reference +got)\n%s", file, text, diff)
	}
}

// referenceCorpus holds the shapes in which the decision between a manifest, a
// broken manifest and another file could go wrong.
var referenceCorpus = []string{
	"", "\n", "---\n", "--- # a\n---\n", "null\n", "~\n---\n", "# a\n", "...\n", "{}", "{}{}", "[]", "a", "5",
	"kind: A\n", "kind: A", "kind: ''\n", "kind: null\n", "kind: [A]\n", "apiVersion: a/b/c\nkind: A\n", "apiVersion: 1\nkind: A\n",
	"kind: A\n---\nkind: B\n", "kind: A\n---\n\n---\nkind: B\n", "kind: A\n---\n# a\n---\nkind: B\n", "kind: A\n--- \nkind: B\n",
	"kind: A\r\n---\r\nkind: B\r\n", "kind: A\n---kind: B\n", "kind: A\n--- kind: B\n", "kind: A\n...\nkind: B\n", "%YAML 1.1\n---\nkind: A\n",
	"kind: A\n---\na: b\n", "a: b\n---\nkind: A\n", "a: b\n---\napiVersion: v1\nkind: A\nmetadata: {}\n", "a: [\n", "kind: A\na: [\n",
	"apiVersion: v1\nkind: A\nmetadata: {}\na: [\n", "apiVersion: v1\nkind: A\nmetadata:\n\tname: a\n", "kind: A\nkind: B\n",
	"kind: A\na: &x {b: 1}\nc: *x\n", "kind: A\na: *x\n", "kind: A\na: 0777\nb: 1.0\nc: 1e3\nd: yes\ne: 0x10\nf: 12345678901234567890\n",
	"kind: A\n1: a\ntrue: b\n", "kind: A\na: !!binary aGVsbG8=\n", "kind: A\na: |\n  ---\n  b\n", "kind: A\nitems: null\n", "kind: List\nitems: [{kind: A}]\n",
	`{"kind":"A"}`, `{"kind":"A"}{"kind":"B"}`, "{\"kind\":\"A\"}\n{\"kind\":\"B\"}\n{\"kind\":\"C\"}", "{\"kind\":\"A\"}\n---\n{\"kind\":\"B\"}",
	"{\"kind\":\"A\"}{\"kind\":\"B\"}\n---\nkind: C\n", "{\"kind\":\"A\"}{\"a\":1}", "{\"kind\":\"A\"} # a\n", "{kind: A}\n---\nkind: B\n", "{\"kind\":\"A\"",
	"[{\"kind\":\"A\"}]", "{\"kind\":\"A\"}]", "{\"kind\":\"A\"}}", "{\"kind\":\"A\",\"kind\":\"B\"}", "{\"kind\":5}", "{\"kind\":\"A\",\"a\":1.5e3,\"b\":9007199254740993}",
	"\n\n  {\"kind\":\"A\"}\n", "{\"kind\":\"\\ud83d\\ude00\"}", "{{ if .a }}\nkind: A\n{{ end }}\n", "{{ .a }}\napiVersion: v1\nkind: A\nmetadata:\n", "- kind: A\n",
	"# +argocd:skip-file-rendering\nkind: [\n",
}

func TestReference(t *testing.T) {
	t.Parallel()
	for _, text := range referenceCorpus {
		for _, file := range []string{"a.yaml", "a.json"} {
			compareWithReference(t, file, text)
		}
	}
}

func FuzzReference(f *testing.F) {
	for _, text := range referenceCorpus {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// The differences that the packages directory and yamldoc state:
		// own configuration, byte order marks, and text that is not UTF-8.
		if strings.Contains(text, "hallmark.dev") || strings.HasPrefix(text, "\ufeff") || !utf8.ValidString(text) {
			return
		}
		for _, file := range []string{"a.yaml", "a.json"} {
			compareWithReference(t, file, text)
		}
	})
}
