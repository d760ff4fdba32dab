package fields_test

import (
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/fields"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// Each text holds one @, and PositionIn finds it from its offset in the value.
func TestPositionIn(t *testing.T) {
	t.Parallel()
	for name, document := range map[string]string{
		"plain":                  "text: ab @c\n",
		"first":                  "text: \"@b\"\n",
		"double quotes":          "text: \"a \\\"b\\\" @\"\n",
		"escapes":                "text: \"\\x41\\u00e9\\U0001F600\\t @\"\n",
		"single quotes":          "text: 'it''s ''a'' @'\n",
		"flow":                   "a: {b: [1, 2], text: \"x @\"}\n",
		"beyond ASCII":           "text: 日本 é @\n",
		"literal":                "text: |\n  a\n\n    b @\n",
		"literal, indented":      "a:\n    text: |-\n        a\n        b @\n",
		"folded":                 "text: >-\n  a\n  b\n\n  c @\n",
		"plain on several lines": "text: a\n  b\n  c @ d\n",
		"quoted, folded":         "text: \"a\n  b\n\n  c @\"\n",
		"quoted, line goes on":   "text: \"a \\\n  b @\"\n",
		"second document":        "---\na: b\n---\ntext: c @\n",
		"comment before":         "# text\n\ntext: c @ # here\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs, err := yamldoc.Stream("x.yaml", []byte(document))
			if err != nil {
				t.Fatal(err)
			}
			_, root := fields.Open("x.yaml", docs[len(docs)-1], true)
			top := root.Mapping("a", "text")
			f, found := top["text"]
			if !found {
				f = top["a"].Mapping("b", "text")["text"]
			}
			value, _ := f.Text()
			start, _, _ := strings.Cut(value, "@")
			line, col := f.PositionIn(len([]rune(start)))
			before, _, _ := strings.Cut(document, "@")
			wantLine := strings.Count(before, "\n") + 1
			wantCol := len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1
			if line != wantLine || col != wantCol {
				t.Errorf("got %d:%d, want %d:%d", line, col, wantLine, wantCol)
			}
		})
	}
}
