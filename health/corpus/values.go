package corpus

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A sample is a value and what a name of a case calls it.
type sample struct {
	name  string
	value any
}

// others are values of the types that v is not of.
func others(v any) []sample {
	var all []sample
	if _, ok := v.(bool); !ok {
		all = append(all, sample{"true", true})
	}
	if _, ok := v.(string); !ok {
		all = append(all, sample{"a text", "text"})
	}
	switch v.(type) {
	case int64, float64, int:
	default:
		all = append(all, sample{"a number", int64(7)})
	}
	if _, ok := v.([]any); !ok {
		all = append(all, sample{"a list", []any{"text"}})
	}
	if _, ok := v.(map[string]any); !ok {
		all = append(all, sample{"a map", map[string]any{"text": "text"}})
	}
	return all
}

// another are other values of the type that v is of. 2^53+1 is the first whole
// number that a Lua number cannot hold.
func another(v any) []sample {
	switch v := v.(type) {
	case string:
		return []sample{{"another text", "SomethingElse"}, {"an empty text", ""}}
	case bool:
		return []sample{{fmt.Sprint(!v), !v}}
	case int64, float64, int:
		return []sample{{"0", int64(0)}, {"-1", int64(-1)}, {"2^53+1", int64(1<<53 + 1)}}
	}
	return nil
}

// emptied are values of the type that v is of, without anything in them.
func emptied(v any) []sample {
	switch v := v.(type) {
	case []any:
		if len(v) > 0 {
			return []sample{{"[]", []any{}}}
		}
	case map[string]any:
		if len(v) > 0 {
			return []sample{{"{}", map[string]any{}}}
		}
	}
	return nil
}

// unusual is a text of everything that quoting gets wrong.
const unusual = "it's \"quoted\" \\ and ]] closed\n--[[ over two lines\r\n\x00 größer 語 👍 \u202e %s %d ${x}"

// A place is the path to a value: string keys and int indexes.
type place []any

func (p place) String() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

// at returns the value at a path, nil where there is none.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				return nil
			}
			v = l[step]
		}
	}
	return v
}

// with returns object with another value at a path; what is on the way is copied, the
// rest is shared. A map that is missing on the way is made.
func with(object map[string]any, value any, path ...any) map[string]any {
	changed, _ := replaced(object, path, func(map[string]any, string) any { return value }).(map[string]any)
	return changed
}

// without returns object without the value at a path that ends in a key.
func without(object map[string]any, path ...any) map[string]any {
	if at(object, path[:len(path)-1]...) == nil {
		return object
	}
	changed, _ := replaced(object, path, nil).(map[string]any)
	return changed
}

func replaced(v any, path place, value func(map[string]any, string) any) any {
	if len(path) == 0 {
		return value(nil, "")
	}
	switch step := path[0].(type) {
	case int:
		l, _ := v.([]any)
		l = slices.Clone(l)
		l[step] = replaced(l[step], path[1:], value)
		return l
	case string:
		m, _ := v.(map[string]any)
		if m = maps.Clone(m); m == nil {
			m = map[string]any{}
		}
		if len(path) == 1 && value == nil {
			delete(m, step)
		} else {
			m[step] = replaced(m[step], path[1:], value)
		}
		return m
	}
	return v
}

// visitObject is visit for an object: first its status, then the rest of it.
func visitObject(object map[string]any, do func(place, any)) {
	if status, ok := object["status"]; ok {
		visit(map[string]any{"status": status}, nil, do)
	}
	visit(without(object, "status"), nil, do)
}

// visit calls do for each value below v in the order of keys and indexes, with at
// most maxItems entries of a list.
func visit(v any, path place, do func(place, any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			p := append(slices.Clone(path), key)
			do(p, v[key])
			visit(v[key], p, do)
		}
	case []any:
		for i, item := range v[:min(len(v), maxItems)] {
			p := append(slices.Clone(path), i)
			do(p, item)
			visit(item, p, do)
		}
	}
}
