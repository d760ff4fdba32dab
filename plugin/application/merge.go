package application

import (
	"fmt"
	"maps"
	"strconv"
)

// fill returns a template with what base has and it has not, as mergo.Merge does on
// Argo CD's types: a field that is empty or false counts as one that is not there.
func fill(over, base map[string]any) map[string]any {
	out := maps.Clone(over)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range base {
		was, isMapping := out[key].(map[string]any)
		below, both := value.(map[string]any)
		switch {
		case isMapping && both && key != "valuesObject": // whose text is one value
			out[key] = fill(was, below)
		case empty(out[key]) && (key != "valuesObject" || out[key] == nil):
			out[key] = value
		}
	}
	return out
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case int64:
		return v == 0
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// override returns parameters with those of over in place of their own; mappings are
// merged, as mergo.Merge does with WithOverride.
func override(base, over map[string]any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range over {
		below, isMapping := widened(value)
		was, wasMapping := widened(out[key])
		switch {
		case !isMapping || !wasMapping || len(was) == 0:
			out[key] = value
		case sameType(out[key], value):
			out[key] = narrowed(override(was, below))
		default:
			out[key] = override(was, below)
		}
	}
	return out
}

// widened returns a mapping of either type as one of values of any type.
func widened(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return v, true
	case map[string]string:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = value
		}
		return out, true
	}
	return nil, false
}

// sameType reports whether both are map[string]string.
func sameType(a, b any) bool {
	_, first := a.(map[string]string)
	_, second := b.(map[string]string)
	return first && second
}

func narrowed(m map[string]any) map[string]string {
	out := make(map[string]string, len(m))
	for key, value := range m {
		out[key], _ = value.(string)
	}
	return out
}

// flatten returns parameters by their paths, such as "owner.teams.0". Only mappings and
// lists of a JSON decoder have paths.
func flatten(params map[string]any) map[string]string {
	out := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				walk(path+"."+key, value)
			}
		case []any:
			for i, value := range v {
				walk(path+"."+strconv.Itoa(i), value)
			}
		default:
			out[path] = fmt.Sprint(v)
		}
	}
	for key, value := range params {
		walk(key, value)
	}
	return out
}

// jsonValue returns a value as a JSON decoder yields it, with float64 for each number,
// and shares nothing with it: templates may change their parameters.
func jsonValue(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = jsonValue(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = jsonValue(value)
		}
		return out
	}
	return v
}
