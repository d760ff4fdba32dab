package policy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	yamlv3 "go.yaml.in/yaml/v3"

	"hallmark.dev/hallmark/internal/diag"
)

// A reader collects the faults of one file.
type reader struct {
	file   string
	before int // lines in front of the document
	faults diag.List
	hint   string // the remedy of the first fault that has one
	hintAt [2]int // its line and column
}

// A field is a value and where it stands. The zero value is a field that is not
// there.
type field struct {
	r     *reader
	path  string // "rules[0].match", for messages
	value any
	node  *yamlv3.Node // nil where the place is not known
}

func (f field) position() (line, col int) {
	if f.node == nil {
		return f.r.before + 1, 0
	}
	return f.r.before + f.node.Line, f.node.Column
}

// faultf adds a fault at the field.
func (f field) faultf(format string, args ...any) {
	line, col := f.position()
	text := fmt.Sprintf(format, args...)
	if f.path != "" {
		text = f.path + ": " + text
	}
	f.r.faults.Add(&diag.Error{File: f.r.file, Line: line, Col: col, Msg: text})
}

// remedy says what helps against a fault at the field.
func (f field) remedy(hint string) {
	line, col := f.position()
	if at := [2]int{line, col}; f.r.hint == "" || slices.Compare(at[:], f.r.hintAt[:]) < 0 {
		f.r.hint, f.r.hintAt = hint, at
	}
}

// at returns the field of f that value is, with the place of node or else of f.
func (f field) at(path string, value any, node *yamlv3.Node) field {
	switch {
	case node != nil && node.Kind == yamlv3.AliasNode:
		node = node.Alias
	case node == nil && f.node != nil:
		node = &yamlv3.Node{Line: f.node.Line, Column: f.node.Column}
	}
	return field{r: f.r, path: path, value: value, node: node}
}

// mapping returns the fields of a mapping, and nil if f is none. It refuses
// fields that are not known, and those that are there twice: YAML takes the last,
// and a reader sees the first.
func (f field) mapping(known ...string) map[string]field {
	m, ok := f.value.(map[string]any)
	if !ok {
		f.faultf("got %s, want a mapping", kindOf(f.value))
		return nil
	}
	keys, values := map[string]*yamlv3.Node{}, map[string]*yamlv3.Node{}
	if f.node != nil && f.node.Kind == yamlv3.MappingNode {
		for i := 0; i+1 < len(f.node.Content); i += 2 {
			key := f.node.Content[i]
			here := f.at(f.path, nil, key)
			if first, twice := keys[key.Value]; twice {
				here.faultf("the field %q is there twice, first in line %d", key.Value, f.r.before+first.Line)
			} else if key.Tag == "!!merge" {
				here.faultf("fields cannot be merged from elsewhere (<<)")
			} else {
				keys[key.Value] = key
			}
			values[key.Value] = f.node.Content[i+1]
		}
	}
	fields := map[string]field{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, name) {
			f.at(f.path, nil, keys[name]).faultf("unknown field %q, want one of %s", name, strings.Join(known, ", "))
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

// list returns the items of a list.
func (f field) list() []field {
	items, ok := f.value.([]any)
	if !ok {
		f.faultf("got %s, want a list", kindOf(f.value))
		return nil
	}
	fields := make([]field, len(items))
	for i, item := range items {
		var node *yamlv3.Node
		if f.node != nil && f.node.Kind == yamlv3.SequenceNode && i < len(f.node.Content) {
			node = f.node.Content[i]
		}
		fields[i] = f.at(fmt.Sprintf("%s[%d]", f.path, i), item, node)
	}
	return fields
}

func (f field) text() (string, bool) {
	s, ok := f.value.(string)
	if !ok {
		f.faultf("got %s, want a string", kindOf(f.value))
	}
	return s, ok
}

func (f field) flag() bool {
	b, ok := f.value.(bool)
	if !ok {
		f.faultf("got %s, want true or false", kindOf(f.value))
	}
	return b
}

func (f field) oneOf(values ...string) string {
	s, ok := f.text()
	if ok && !slices.Contains(values, s) {
		f.faultf("got %q, want one of %s", s, strings.Join(values, ", "))
	}
	return s
}

// names returns a list of known names, not nil.
func (f field) names(what string, known []string) []string {
	names := []string{}
	for _, item := range f.list() {
		name, ok := item.text()
		switch {
		case !ok:
		case !slices.Contains(known, name):
			item.faultf("unknown %s %q, want one of %s", what, name, strings.Join(known, ", "))
		case slices.Contains(names, name):
			item.faultf("%q is there twice", name)
		default:
			names = append(names, name)
		}
	}
	return names
}

// patterns returns the globs of a field that holds one or a list, nil for a field
// that is not there.
func (f field) patterns(compile compiler) []pattern {
	if f.r == nil {
		return nil
	}
	items := []field{f}
	switch value := f.value.(type) {
	case string:
	case []any:
		if len(value) == 0 {
			f.faultf("the list is empty, so nothing matches")
		}
		items = f.list()
	default:
		f.faultf("got %s, want a glob or a list of globs", kindOf(f.value))
		return nil
	}
	patterns := []pattern{}
	for _, item := range items {
		text, ok := item.text()
		if !ok {
			continue
		}
		p, err := compile(text)
		if err != nil {
			item.faultf("%v", err)
		}
		patterns = append(patterns, p)
	}
	return patterns
}

// count returns a whole number above 0.
func (f field) count() int64 {
	switch n := f.value.(type) {
	case int64:
		if n > 0 && n <= math.MaxInt {
			return n
		}
		f.faultf("got %d, want a whole number above 0", n)
	case float64:
		f.faultf("got %v, want a whole number above 0", n)
	default:
		f.faultf("got %s, want a whole number above 0", kindOf(f.value))
	}
	return 0
}

func (f field) duration() time.Duration {
	text, ok := f.value.(string)
	if !ok {
		f.faultf("got %s, want a duration such as 90s", kindOf(f.value))
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		f.faultf("got %q, want a duration such as 90s", text)
	}
	return d
}

func kindOf(value any) string {
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
