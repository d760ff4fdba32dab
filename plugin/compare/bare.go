package compare

import (
	"maps"
	"strconv"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/stamp"
)

// unstable stands in an object for a value that differs from render to render.
const unstable = "(differs from render to render)"

// bare returns an object without what is left out, and without annotations where
// none remain: a stamp creates that map. Only the maps on the way are copied.
func bare(value map[string]any) map[string]any {
	meta, ok := value["metadata"].(map[string]any)
	if !ok {
		return value
	}
	field, ok := meta["annotations"]
	annotations, isMap := field.(map[string]any)
	if !ok || field != nil && !isMap {
		return value
	}
	kept := make(map[string]any, len(annotations))
	for name, v := range annotations {
		if !stamp.LeavesOut(name) {
			kept[name] = v
		}
	}
	if len(kept) == len(annotations) && len(kept) > 0 {
		return value
	}
	value, meta = maps.Clone(value), maps.Clone(meta)
	value["metadata"] = meta
	if meta["annotations"] = kept; len(kept) == 0 {
		delete(meta, "annotations")
	}
	return value
}

// sameObject reports whether two stamped objects of one identity are the same, in
// one walk and without a copy. Their namespaces are one by identity.
func sameObject(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for key, x := range a {
		y, ok := b[key]
		if !ok {
			return false
		}
		ma, aIsMap := x.(map[string]any)
		mb, bIsMap := y.(map[string]any)
		if key == "metadata" && aIsMap && bIsMap {
			if !sameMetadata(ma, mb) {
				return false
			}
		} else if !same(x, y) {
			return false
		}
	}
	return true
}

func sameMetadata(a, b map[string]any) bool {
	for key, x := range a {
		if key == "annotations" || key == "namespace" {
			continue
		}
		if y, ok := b[key]; !ok || !same(x, y) {
			return false
		}
	}
	for key := range b {
		if _, ok := a[key]; !ok && key != "annotations" && key != "namespace" {
			return false
		}
	}
	x, y := a["annotations"], b["annotations"]
	ma, aIsMap := x.(map[string]any)
	mb, bIsMap := y.(map[string]any)
	if x != nil && !aIsMap || y != nil && !bIsMap {
		return same(x, y)
	}
	return coveredBy(ma, mb) && coveredBy(mb, ma)
}

// coveredBy reports whether b has all of a, but for what is left out.
func coveredBy(a, b map[string]any) bool {
	for name, x := range a {
		if stamp.LeavesOut(name) {
			continue
		}
		if y, ok := b[name]; !ok || !same(x, y) {
			return false
		}
	}
	return true
}

// oneNamespace writes the namespace that one of two objects of the same identity
// names into the other, which takes it from the destination.
func oneNamespace(a, b map[string]any) (map[string]any, map[string]any) {
	fill := func(value, other map[string]any) map[string]any {
		meta, otherMeta := object.Mapping(value["metadata"]), object.Mapping(other["metadata"])
		namespace := object.Text(otherMeta["namespace"])
		if meta == nil || namespace == "" || object.Text(meta["namespace"]) != "" {
			return value
		}
		value, meta = maps.Clone(value), maps.Clone(meta)
		meta["namespace"] = namespace
		value["metadata"] = meta
		return value
	}
	return fill(a, b), fill(b, a)
}

// marked returns v with the field at path replaced by [unstable], where there is
// such a field. Only what lies on the path is copied.
func marked(v any, path stamp.Path) any {
	if len(path) == 0 {
		return unstable
	}
	switch v := v.(type) {
	case map[string]any:
		key := ""
		switch element := path[0].(type) {
		case string:
			key = element
		case int:
			key = strconv.Itoa(element)
		default:
			return v
		}
		field, ok := v[key]
		if !ok {
			return v
		}
		v = maps.Clone(v)
		v[key] = marked(field, path[1:])
		return v
	case []any:
		i, isIndex := path[0].(int)
		if text, isText := path[0].(string); isText {
			var err error
			i, err = strconv.Atoi(text)
			isIndex = err == nil
		}
		if !isIndex || i < 0 || i >= len(v) {
			return v
		}
		out := make([]any, len(v))
		copy(out, v)
		out[i] = marked(v[i], path[1:])
		return out
	}
	return v
}
