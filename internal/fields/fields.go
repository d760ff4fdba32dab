// Package fields reads the documents that hallmark defines itself, such as a policy or a
// health check: a mapping of known fields, with every fault at its line and column, all at once.
package fields

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	yamlv3 "go.yaml.in/yaml/v3"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// A Reader collects the faults of one document.
type Reader struct {
	File   string
	Faults diag.List

	before   int      // lines in front of the document
	lines    []string // of the document
	excerpts bool
	hint     string // the remedy of the first fault that has one
	hintAt   [2]int // its line and column
}

// Open returns the root field of a document of file. With excerpts a fault
// carries the line that it is in.
func Open(file string, doc yamldoc.Document, excerpts bool) (*Reader, Field) {
	r := &Reader{File: file, before: doc.Line - 1, lines: strings.Split(string(doc.Text), "\n"), excerpts: excerpts}
	return r, Field{r: r, value: doc.Value, node: yamldoc.Node(doc.Text)}
}

// Err returns the faults, with the first remedy, or nil.
func (r *Reader) Err() error {
	err := r.Faults.Err()
	if err != nil && r.hint != "" {
		return diag.WithHint(err, r.hint)
	}
	return err
}

// Fault makes a fault at a place of the document's file.
func (r *Reader) Fault(line, col int, text string) *diag.Error {
	fault := &diag.Error{File: r.File, Line: line, Col: col, Msg: text}
	if i := line - r.before - 1; r.excerpts && i >= 0 && i < len(r.lines) {
		fault.Excerpt = r.lines[i]
	}
	return fault
}

// A Field is a value and where it stands. The zero value is a field that is not
// there.
type Field struct {
	r     *Reader
	path  string // "rules[0].match", for messages
	value any
	node  *yamlv3.Node // nil where the place is not known
}

// Value is what the field holds, nil for a field that is not there.
func (f Field) Value() any { return f.value }

// There reports whether the field is there.
func (f Field) There() bool { return f.r != nil }

// Position is the place in the file, from 1; a column of 0 is not known.
func (f Field) Position() (line, col int) {
	if f.node == nil {
		return f.r.before + 1, 0
	}
	return f.r.before + f.node.Line, f.node.Column
}

// Faultf adds a fault at the field.
func (f Field) Faultf(format string, args ...any) {
	line, col := f.Position()
	text := fmt.Sprintf(format, args...)
	if f.path != "" {
		text = f.path + ": " + text
	}
	f.r.Faults.Add(f.r.Fault(line, col, text))
}

// Remedy says what helps against a fault at the field.
func (f Field) Remedy(hint string) {
	line, col := f.Position()
	if at := [2]int{line, col}; f.r.hint == "" || slices.Compare(at[:], f.r.hintAt[:]) < 0 {
		f.r.hint, f.r.hintAt = hint, at
	}
}

// at returns the field of f that value is, with the place of node or else of f.
func (f Field) at(path string, value any, node *yamlv3.Node) Field {
	switch {
	case node != nil && node.Kind == yamlv3.AliasNode:
		node = node.Alias
	case node == nil && f.node != nil:
		node = &yamlv3.Node{Line: f.node.Line, Column: f.node.Column}
	}
	return Field{r: f.r, path: path, value: value, node: node}
}

// Mapping returns the fields of a mapping, and nil if f is none. It refuses
// fields that are not known, and those that are there twice: YAML takes the last,
// and a reader sees the first.
func (f Field) Mapping(known ...string) map[string]Field {
	m, ok := f.value.(map[string]any)
	if !ok {
		f.Faultf("got %s, want a mapping", KindOf(f.value))
		return nil
	}
	keys, values := map[string]*yamlv3.Node{}, map[string]*yamlv3.Node{}
	if f.node != nil && f.node.Kind == yamlv3.MappingNode {
		for i := 0; i+1 < len(f.node.Content); i += 2 {
			key := f.node.Content[i]
			here := f.at(f.path, nil, key)
			if first, twice := keys[key.Value]; twice {
				here.Faultf("the field %q is there twice, first in line %d", key.Value, f.r.before+first.Line)
			} else if key.Tag == "!!merge" {
				here.Faultf("fields cannot be merged from elsewhere (<<)")
			} else {
				keys[key.Value] = key
			}
			values[key.Value] = f.node.Content[i+1]
		}
	}
	fields := map[string]Field{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, name) {
			want := "no fields"
			if len(known) > 0 {
				want = "one of " + strings.Join(known, ", ")
			}
			f.at(f.path, nil, keys[name]).Faultf("unknown field %q, want %s", name, want)
			continue
		}
		path := name
		// "spec." in front of each path says nothing.
		if f.path != "" && f.path != "spec" {
			path = f.path + "." + name
		}
		fields[name] = f.at(path, m[name], values[name])
	}
	return fields
}

// List returns the items of a list.
func (f Field) List() []Field {
	items, ok := f.value.([]any)
	if !ok {
		f.Faultf("got %s, want a list", KindOf(f.value))
		return nil
	}
	fields := make([]Field, len(items))
	for i, item := range items {
		var node *yamlv3.Node
		if f.node != nil && f.node.Kind == yamlv3.SequenceNode && i < len(f.node.Content) {
			node = f.node.Content[i]
		}
		fields[i] = f.at(fmt.Sprintf("%s[%d]", f.path, i), item, node)
	}
	return fields
}

// Text returns a string; a fault and false for anything else.
func (f Field) Text() (string, bool) {
	s, ok := f.value.(string)
	if !ok {
		f.Faultf("got %s, want a string", KindOf(f.value))
	}
	return s, ok
}

// Flag returns a truth value; a fault for anything else.
func (f Field) Flag() bool {
	b, ok := f.value.(bool)
	if !ok {
		f.Faultf("got %s, want true or false", KindOf(f.value))
	}
	return b
}

// OneOf returns a text that is one of the values.
func (f Field) OneOf(values ...string) string {
	s, ok := f.Text()
	if ok && !slices.Contains(values, s) {
		f.Faultf("got %q, want one of %s", s, strings.Join(values, ", "))
	}
	return s
}

// Count returns a whole number above 0.
func (f Field) Count() int64 {
	switch n := f.value.(type) {
	case int64:
		if n > 0 && n <= math.MaxInt {
			return n
		}
		f.Faultf("got %d, want a whole number above 0", n)
	case float64:
		f.Faultf("got %v, want a whole number above 0", n)
	default:
		f.Faultf("got %s, want a whole number above 0", KindOf(f.value))
	}
	return 0
}

// Duration returns a duration above 0.
func (f Field) Duration() time.Duration {
	text, ok := f.value.(string)
	if !ok {
		f.Faultf("got %s, want a duration such as 90s", KindOf(f.value))
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		f.Faultf("got %q, want a duration such as 90s", text)
	}
	return d
}

// KindOf names the type of a value in a message.
func KindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "bool"
	case int64, float64:
		return "number"
	case []any:
		return "list"
	}
	return "mapping"
}
