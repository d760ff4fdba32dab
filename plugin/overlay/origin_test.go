package overlay

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIdentities(t *testing.T) {
	t.Parallel()
	type id struct{ group, kind, namespace, name string }
	tests := []struct {
		name, doc string
		want      []id
		scanned   bool // read without decoding
	}{
		{"block", "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: shop\n", []id{{"apps", "Deployment", "shop", "web"}}, true},
		{"quotes and comments", "kind: 'Pod' # a pod\napiVersion: \"v1\"\nmetadata: # meta\n  # own\n  name: \"a\" # b\n", []id{{"", "Pod", "default", "a"}}, false},
		{"indented four", "kind: Pod\napiVersion: v1\nmetadata:\n    labels:\n      name: no\n    name: yes\n", []id{{"", "Pod", "default", "yes"}}, true},
		{"other names below", "kind: Pod\napiVersion: v1\nspec:\n  name: no\nmetadata:\n  name: a\nx:\n  name: b\n", []id{{"", "Pod", "default", "a"}}, true},
		{"CRLF", "kind: Pod\r\napiVersion: v1\r\nmetadata:\r\n  name: a\r\n", []id{{"", "Pod", "default", "a"}}, true},
		{"flow metadata", "kind: Pod\napiVersion: v1\nmetadata: {name: n}\n", []id{{"", "Pod", "default", "n"}}, false},
		{"JSON", `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}}`, []id{{"", "Pod", "default", "a"}}, false},
		{"escape", "kind: Pod\napiVersion: v1\nmetadata:\n  name: \"a\\u0062\"\n", []id{{"", "Pod", "default", "ab"}}, false},
		{"anchor", "kind: &k Pod\napiVersion: v1\nmetadata:\n  name: a\n", []id{{"", "Pod", "default", "a"}}, false},
		{"list", "kind: PodList\napiVersion: v1\nitems:\n- kind: Pod\n  apiVersion: v1\n  metadata: {name: a}\n- 3\n", []id{{"", "Pod", "default", "a"}}, false},
		{"not YAML", "kind: [\n", nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []id
			for _, w := range identities([]byte(test.doc)) {
				got = append(got, id{w.group, w.kind, w.namespace, w.name})
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(id{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, ok := scan([]byte(test.doc)); ok != test.scanned {
				t.Errorf("scanned: %t, want %t", ok, test.scanned)
			}
		})
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	stream := "# head\n---\n\na: 1\n--- # sep\n# only a comment\n---\nb: 2\nc: 3"
	var got []string
	var lines []int
	for _, doc := range documents([]byte(stream)) {
		got = append(got, string(doc.content))
		lines = append(lines, doc.line)
	}
	if diff := cmp.Diff([]string{"\na: 1\n", "b: 2\nc: 3"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{4, 8}, lines); diff != "" {
		t.Error(diff)
	}
}
