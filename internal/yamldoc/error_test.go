package yamldoc

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/diag"
)

func TestErrorPositions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, data, want string }{
		{"parser, first line", "a: [b\n", "f.yaml:2: did not find expected ',' or ']'"},
		{"parser", "a: b\nc:\n  d: e\n f: g\n", "f.yaml:4: did not find expected key"},
		{"scanner, first line", "a: b: c\n", "f.yaml:1: mapping values are not allowed in this context"},
		{"scanner", "a: b\nc: d: e\n", "f.yaml:2: mapping values are not allowed in this context"},
		{"sequence in a mapping", "a: b\n- c\n", "f.yaml:2: did not find expected key"},
		{"second document", "a: b\n---\nc: d\ne: f: g\n", "f.yaml:4: mapping values are not allowed in this context"},
		{"second document, first line", "a: b\n---\nc: d: e\n", "f.yaml:3: mapping values are not allowed in this context"},
		{"tab", "a:\n\tb: c\n", "f.yaml:2:1: found character that cannot start any token"},
		{"tab behind spaces", "x: y\n---\na:\n  \tb: c\n", "f.yaml:4:3: found character that cannot start any token"},
		{"invalid UTF-8", "a: b\nc: é\xff\n", "f.yaml:2:5: invalid UTF-8"},
		{"control character", "a: b\n---\nc: d\nxy: \x01\n", "f.yaml:4:5: control character U+0001 is not allowed"},
		{"NUL", "a: \x00\n", "f.yaml:1:4: control character U+0000 is not allowed"},
		{"anchor", "a: b\nc: *d\n", "f.yaml:2:4: unknown anchor \"d\""},
		{"null key", "a: b\n~: c\n", "f.yaml:2:1: a map key must be a string, a number or a boolean, not null"},
		{"collection as a key", "a: b\n? [secret]\n: c\n", "f.yaml:2:3: a map key must be a string, a number or a boolean, not a collection"},
		{"infinity", "a: b\nc:\n- .inf\n", "f.yaml:3:3: NaN and infinity have no value in JSON"},
		{"tag", "a: !!int secret\n", "f.yaml:1: cannot decode !!str as a !!int"},
		{"separator", "a: b\n---\nc: d\n--- e\n", "f.yaml:4:1: only a comment may follow the document separator \"---\", got \"e\""},
		{"json", "{\"a\": 1}\n{\"b\": 2}\n{\"c\": x}\n", "f.yaml:3:7: invalid character 'x' looking for beginning of value"},
		{"json ends", "{\"a\": 1}\n{\"b\": 2}\n{\"c\": ", "f.yaml:3:7: unexpected end of JSON"},
		{"json number", "{\"a\": 1}\n{\"b\": 1e999}\n", "f.yaml:2: a number is out of range"},
		{"json encoding", "{\"a\": 1}\n{\"b\":\n\"\xff\"}\n", "f.yaml:3:2: invalid UTF-8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Stream("f.yaml", []byte(tc.data))
			if err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			var fault *diag.Error
			if !errors.As(err, &fault) {
				t.Errorf("got a %T, want a *diag.Error in it", err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error quotes a value: %v", err)
			}
		})
	}
}

func TestTabHasAHint(t *testing.T) {
	t.Parallel()
	_, err := Decode("f.yaml", []byte("a:\n\tb: c\n"))
	if !strings.Contains(diag.Hint(err), "indent with spaces") {
		t.Errorf("got hint %q", diag.Hint(err))
	}
}

func TestStreamKeepsWhatPrecedesAnError(t *testing.T) {
	t.Parallel()
	docs, err := Stream("f", []byte("a: b\n---\nc: d: e\n---\nf: g\n"))
	if err == nil || len(docs) != 1 || docs[0].Value == nil {
		t.Errorf("got %d documents and error %v, want the first document and an error", len(docs), err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	small := Limits{Bytes: 100, Depth: 3, Documents: 2}
	bomb := "a: &a xxxxxxxxxxxxxxxxxxxx\nb: [*a, *a, *a, *a, *a]\n"
	for _, tc := range []struct {
		name   string
		limits Limits
		data   string
		want   string // "" for no error
	}{
		{"fits", small, "a: {b: {c: d}}\n---\n- - - a\n", ""},
		{"bytes", small, strings.Repeat("a", 101), "f: larger than 100 bytes (limit Bytes)"},
		{"documents", small, "a: b\n---\nc: d\n---\ne: f\n", "f:5: more than 2 documents (limit Documents)"},
		{"documents of JSON", small, "{} {}\n{}", "f:2: more than 2 documents (limit Documents)"},
		{"depth of mappings", small, "x: y\n---\na:\n  b:\n    c:\n      d: e\n", "f:6:7: nested deeper than 3 levels (limit Depth)"},
		{"depth of sequences", small, "- - - - a\n", "f:1:7: nested deeper than 3 levels (limit Depth)"},
		{"depth of flow", small, "a: [[[b]]]\n", "f:1:6: nested deeper than 3 levels (limit Depth)"},
		{"depth in the library", small, "a: !!str b\nc: [[[b]]]\n", "f:2:6: nested deeper than 3 levels (limit Depth)"},
		{"depth of JSON", small, "{\"x\": \"[[[[\\\"[\"}\n{\"a\": [[[1]]]}", "f:2:9: nested deeper than 3 levels (limit Depth)"},
		{"expansion by keys", small, "a: &a {xxxxxxxxxxxxxxxxxxxx: b}\nb: [*a, *a, *a, *a, *a]\n", "f:1: expands to more than 100 bytes (limit Bytes)"},
		{"expansion by lists", small, "a: &a [b,b,b,b,b]\nb: [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", "f:1: expands to more than 100 bytes (limit Bytes)"},
		{"expansion", small, bomb, "f:1: expands to more than 100 bytes (limit Bytes)"},
		{"default depth", Limits{}, strings.Repeat("[", 100_000), "f:1:513: nested deeper than 512 levels (limit Depth)"},
		{"default depth, block", Limits{}, strings.Repeat("- ", 100_000) + "a", "f:1:1025: nested deeper than 512 levels (limit Depth)"},
		{"default depth, anchors", Limits{}, "a: &x b\nc: " + strings.Repeat("[", 600) + strings.Repeat("]", 600), "f:2:515: nested deeper than 512 levels (limit Depth)"},
		{"library's own depth", Limits{}, "a: &x b\nc: " + strings.Repeat("[", 20_000), "f:2: nested deeper than 512 levels (limit Depth)"},
		{"alias bomb", Limits{}, laughs(12), "f:1: aliases expand the document out of proportion to its size (limit of the YAML library)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := tc.limits.Stream("f", []byte(tc.data))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if _, err := small.Decode("f", []byte(strings.Repeat("a", 101))); err == nil {
		t.Error("Decode took more than the limit")
	}
}

// laughs is a document whose lists hold ten times as much at each level.
func laughs(levels int) string {
	var b strings.Builder
	b.WriteString("l0: &l0 x\n")
	for i := range levels {
		fmt.Fprintf(&b, "l%d: &l%[1]d [%s*l%d]\n", i+1, strings.Repeat(fmt.Sprintf("*l%d, ", i), 9), i)
	}
	return b.String()
}

func TestFind(t *testing.T) {
	t.Parallel()
	data := []byte(`# c
a:
  b: [x, {c: d}]
f: &f
  g: h
i:
  <<: *f
  j: *f
k: 1
k: 2
"l m": |
  n
`)
	for _, tc := range []struct {
		name string
		path []any
		line int
		col  int
		ok   bool
	}{
		{"root", nil, 2, 1, true},
		{"mapping", []any{"a"}, 3, 3, true},
		{"item", []any{"a", "b", 0}, 3, 7, true},
		{"in flow", []any{"a", "b", 1, "c"}, 3, 14, true},
		{"alias", []any{"i", "j", "g"}, 5, 6, true},
		{"merged", []any{"i", "g"}, 5, 6, true},
		{"last of equal keys", []any{"k"}, 10, 4, true},
		{"quoted key", []any{"l m"}, 11, 8, true},
		{"absent key", []any{"a", "x", "y"}, 3, 3, false},
		{"absent item", []any{"a", "b", 7}, 3, 6, false},
		{"key in a list", []any{"a", "b", "x"}, 3, 6, false},
		{"step of another type", []any{"a", 1.5}, 3, 3, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			line, col, ok := Find(data, tc.path...)
			if line != tc.line || col != tc.col || ok != tc.ok {
				t.Errorf("got %d:%d %v, want %d:%d %v", line, col, ok, tc.line, tc.col, tc.ok)
			}
		})
	}
	for _, text := range []string{"", "# c\n", "a: [", "a: &a {<<: *a}\n", "\xff\xfe\x00"} {
		if line, col, ok := Find([]byte(text), "a", "b"); ok {
			t.Errorf("found %d:%d in %q", line, col, text)
		}
	}
}
