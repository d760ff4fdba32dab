package infer

import (
	"maps"
	"slices"
	"strings"
)

// schema is a structural schema, or a part of one; nil says nothing. Its methods
// take what is of another shape than a schema has as absent.
type schema map[string]any

func (s schema) child(name string) schema {
	properties, _ := s["properties"].(map[string]any)
	child, _ := properties[name].(map[string]any)
	return child
}

// Bounds of what is looked at, far above what any definition has.
const (
	maxFields = 2000 // of one object
	maxTexts  = 200  // of one enum
)

// children are the names of the fields.
func (s schema) children() []string {
	properties, _ := s["properties"].(map[string]any)
	names := slices.Sorted(maps.Keys(properties))
	return names[:min(len(names), maxFields)]
}

func (s schema) at(path ...string) schema {
	for _, name := range path {
		s = s.child(name)
	}
	return s
}

func (s schema) items() schema {
	items, _ := s["items"].(map[string]any)
	return items
}

// is tells the type of a field.
func (s schema) is(types ...string) bool {
	name, _ := s["type"].(string)
	if list, ok := s["type"].([]any); ok { // ["string", "null"], which is no structural schema
		for _, item := range list {
			if text, _ := item.(string); text != "null" {
				name = text
			}
		}
	}
	return name != "" && slices.Contains(types, name)
}

func (s schema) isIntOrString() bool {
	flag, _ := s["x-kubernetes-int-or-string"].(bool)
	return flag
}

// open tells that fields may be there which the schema does not name.
func (s schema) open() bool {
	flag, _ := s["x-kubernetes-preserve-unknown-fields"].(bool)
	return flag || s["additionalProperties"] != nil
}

func (s schema) description() string {
	text, _ := s["description"].(string)
	return text
}

// enum returns the texts that a field may be: of several enums those in all, where
// they stand below allOf, and those in any below anyOf and oneOf.
func (s schema) enum() []string {
	values := texts(s["enum"])
	for _, part := range s.parts("allOf") {
		switch more := part.enum(); {
		case len(more) == 0:
		case len(values) == 0:
			values = more
		default:
			values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !slices.Contains(more, v) })
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		for _, part := range s.parts(key) {
			values = unite(values, part.enum())
		}
	}
	return values
}

func (s schema) parts(key string) []schema {
	list, _ := s[key].([]any)
	var parts []schema
	for _, item := range list {
		if part, ok := item.(map[string]any); ok {
			parts = append(parts, part)
		}
	}
	return parts
}

// texts returns the texts of a list, without the empty one.
func texts(v any) []string {
	list, _ := v.([]any)
	var found []string
	for _, item := range list {
		if text, ok := item.(string); ok && text != "" && len(found) < maxTexts {
			found = unite(found, []string{text})
		}
	}
	return found
}

// unite appends what is new.
func unite(values, more []string) []string {
	for _, v := range more {
		if !slices.Contains(values, v) {
			values = append(slices.Clip(values), v)
		}
	}
	return values
}

// isConditions tells that a field is a list of conditions: entries with a type and a
// status. sure is false where the schema does not say what the entries have.
func (s schema) isConditions() (ok, sure bool) {
	if !s.is("array") {
		return false, false
	}
	item := s.items()
	if len(item.children()) == 0 {
		return item == nil || item.open() || item.is("object"), false
	}
	ok = item.child("type").is("string") && item.child("status").is("string")
	return ok, ok
}

// A field is a part of a status and where it is.
type field struct {
	path []string
	schema
}

func (f field) name() string { return f.path[len(f.path)-1] }

// expr is the field in CEL.
func (f field) expr() string { return expr(f.path) }

// shown is the field as a person writes it.
func (f field) shown() string { return printable(strings.Join(f.path, ".")) }

// fields are the fields directly below the status and those one level deeper.
func (s schema) fields() []field {
	var direct, nested []field
	for _, name := range s.children() {
		one := field{[]string{"status", name}, s.child(name)}
		direct = append(direct, one)
		for _, below := range one.children() {
			nested = append(nested, field{[]string{"status", name, below}, one.child(below)})
		}
	}
	return append(direct, nested...)
}
