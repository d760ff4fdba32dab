package object

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Field returns the field of v at a path of keys, or nil where there is none.
func Field(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// Lookup returns the part of v at a path of keys (strings) and indexes (ints), and whether
// it is there.
func Lookup(v any, path []any) (any, bool) {
	for _, step := range path {
		switch at := v.(type) {
		case map[string]any:
			key, isKey := step.(string)
			next, ok := at[key]
			if !isKey || !ok {
				return nil, false
			}
			v = next
		case []any:
			index, isIndex := step.(int)
			if !isIndex || index < 0 || index >= len(at) {
				return nil, false
			}
			v = at[index]
		default:
			return nil, false
		}
	}
	return v, true
}

// With returns v with another value at a path of keys (strings) and indexes (ints), where
// it makes mappings and does not make lists longer. What does not lie on the way is shared
// with v.
func With(v any, path []any, value any) any {
	if len(path) == 0 {
		return value
	}
	switch step := path[0].(type) {
	case string:
		out := maps.Clone(Mapping(v))
		if out == nil {
			out = map[string]any{}
		}
		out[step] = With(out[step], path[1:], value)
		return out
	case int:
		out := slices.Clone(Items(v))
		if step < 0 || step >= len(out) {
			return v
		}
		out[step] = With(out[step], path[1:], value)
		return out
	}
	return v
}

// Items returns the items of a list, none where v is something else.
func Items(v any) []any {
	list, _ := v.([]any)
	return list
}

// Mapping returns v as a mapping, nil where it is something else.
func Mapping(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// Text returns v as a string, "" where it is something else.
func Text(v any) string { return str(v) }

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer returns a path of keys (strings) and indexes (ints) as an RFC 6901 JSON
// pointer.
func Pointer(path ...any) string {
	var b strings.Builder
	for _, element := range path {
		b.WriteByte('/')
		b.WriteString(escapePointer.Replace(fmt.Sprint(element)))
	}
	return b.String()
}
