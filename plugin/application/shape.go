package application

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/fields"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// A shape says what a field may hold. null is allowed everywhere and means that the
// field is not there, as in a Go type that JSON is decoded into.
type shape struct {
	want   string           // for messages; "" takes anything
	is     func(v any) bool // of a scalar
	item   *shape           // of each item of a list, or each value of a table
	fields map[string]shape // of a record
}

// Scalars.
var (
	anything = shape{}
	text     = shape{want: "a string", is: func(v any) bool { _, ok := v.(string); return ok }}
	flag     = shape{want: "true or false", is: func(v any) bool { _, ok := v.(bool); return ok }}
	number   = shape{want: "a whole number", is: func(v any) bool { _, ok := v.(int64); return ok }}
	// numeral is Kubernetes' IntOrString.
	numeral = shape{want: "a whole number or a string", is: func(v any) bool { return text.is(v) || number.is(v) }}
)

func list(of shape) shape { return shape{want: "a list", item: &of} }

// table is a mapping with keys of the author's choice.
func table(of shape) shape { return shape{want: "a mapping", item: &of} }

// record is a mapping with fields that Argo CD knows.
func record(fields map[string]shape) shape { return shape{want: "a mapping", fields: fields} }

// with adds fields to a record.
func (s shape) with(fields map[string]shape) shape {
	all := maps.Clone(s.fields)
	maps.Copy(all, fields)
	return record(all)
}

// check adds a fault for each value below v that has another shape.
func (s shape) check(f *faults, path []any, v any) {
	if v == nil || s.want == "" {
		return
	}
	mapping, isMapping := v.(map[string]any)
	items, isList := v.([]any)
	switch {
	case s.want == "a list" && isList:
		for i, item := range items {
			s.item.check(f, below(path, i), item)
		}
	case s.want == "a mapping" && isMapping:
		for _, key := range slices.Sorted(maps.Keys(mapping)) {
			at := below(path, key)
			if s.item != nil {
				s.item.check(f, at, mapping[key])
			} else if known, found := s.fields[key]; found {
				known.check(f, at, mapping[key])
			} else {
				f.unknown(at, slices.Sorted(maps.Keys(s.fields)))
			}
		}
	case s.is == nil || !s.is(v):
		f.addf(path, "got %s, want %s", fields.KindOf(v), s.want)
		if s.want == text.want && !isMapping && !isList && f.hint == "" {
			f.hint = "write the value in quotes"
		}
	}
}

// below returns a path of its own.
func below(path []any, steps ...any) []any { return slices.Concat(path, steps) }

// faults collects those of one manifest.
type faults struct {
	file string
	line int    // of the manifest
	text []byte // the document that it is in; nil where that is not at hand
	base int    // the line in which text begins
	root []any  // where the manifest is in the document, for one in a List
	// about stands in front of each message, such as `application "web": `.
	about string

	list diag.List
	hint string
}

func (f *faults) addf(path []any, format string, args ...any) {
	f.add(path, false, fmt.Sprintf(format, args...))
}

// unknown adds a fault at the key of a field that is not known.
func (f *faults) unknown(path []any, known []string) {
	name := fmt.Sprint(path[len(path)-1])
	near := nearest(name, known)
	switch {
	case near != "":
		near = fmt.Sprintf(", did you mean %q?", near)
	case len(known) > 0:
		near = ", want one of " + strings.Join(known, ", ")
	}
	f.add(path, true, fmt.Sprintf("unknown field %q%s", name, near))
}

func (f *faults) add(path []any, atKey bool, message string) {
	line, col := f.line, 0
	if f.text != nil {
		whole := below(f.root, path...)
		l, c, _ := yamldoc.Find(f.text, whole...)
		if atKey {
			if key := keyNode(yamldoc.Node(f.text), whole); key != nil {
				l, c = key.Line, key.Column
			}
		}
		if l > 0 {
			line, col = f.base+l-1, c
		}
	}
	if atKey {
		path = path[:len(path)-1]
	}
	if name := pathText(path); name != "" {
		message = name + ": " + message
	}
	f.list.Addf(f.file, line, col, "%s", f.about+message)
}

// err returns the faults, sorted, or nil.
func (f *faults) err() error {
	err := f.list.Err()
	if err != nil && f.hint != "" {
		return diag.WithHint(err, f.hint)
	}
	return err
}

// keyNode returns the node of the key that a path ends with, or nil.
func keyNode(n *yamlv3.Node, path []any) *yamlv3.Node {
	for i, step := range path {
		if n != nil && n.Kind == yamlv3.AliasNode {
			n = n.Alias
		}
		if n == nil {
			return nil
		}
		var next *yamlv3.Node
		switch step := step.(type) {
		case int:
			if n.Kind == yamlv3.SequenceNode && step < len(n.Content) {
				next = n.Content[step]
			}
		case string:
			for k := 0; n.Kind == yamlv3.MappingNode && k+1 < len(n.Content); k += 2 {
				if n.Content[k].Value != step {
					continue
				}
				if next = n.Content[k+1]; i == len(path)-1 {
					next = n.Content[k]
				}
			}
		}
		n = next
	}
	return n
}

// pathText writes a path as a person reads it: source.helm.parameters[0]. "spec." in
// front says nothing.
func pathText(path []any) string {
	var b strings.Builder
	for i, step := range path {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			if i == 0 && step == "spec" && len(path) > 1 {
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

// nearest returns the known name that differs from name in case or in at most two
// characters, or "".
func nearest(name string, known []string) string {
	if len(name) > 64 {
		return "" // no field's name, and costly to compare
	}
	best, distance := "", 3
	for _, candidate := range known {
		if strings.EqualFold(candidate, name) {
			return candidate
		}
		// What is as short as the difference is not near, it is another word.
		if d := diag.Distance(candidate, name); d < distance && d < len(candidate)-1 {
			best, distance = candidate, d
		}
	}
	return best
}

// texts returns the strings of a list.
func texts(v any) []string {
	var out []string
	for _, item := range object.Items(v) {
		out = append(out, object.Text(item)) // null is "", as JSON is decoded
	}
	return out
}

// textTable returns the strings of a table, nil for none.
func textTable(v any) map[string]string {
	m := object.Mapping(v)
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for key, value := range m {
		out[key] = object.Text(value)
	}
	return out
}
