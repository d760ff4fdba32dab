package stamp

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// Path names a field of an object from its root. An element is a string, the key
// of a map, or an int, the 0-based index of a list. As in RFC 6901 the value
// decides which of the two an element means, so "0" and 0 are the same element:
// a path that was read from a JSON pointer names the field it was written from.
//
// The last element of a path is removed from its map or list, as jq's delpaths
// removes it; a list gets shorter. A path to a field that is not there removes
// nothing.
type Path []any

var (
	escapePointer   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapePointer = strings.NewReplacer("~0", "~", "~1", "/")
)

// ParsePath reads an RFC 6901 JSON pointer such as
// "/spec/template/spec/containers/0/env/1/value".
func ParsePath(pointer string) (Path, error) {
	if !strings.HasPrefix(pointer, "/") {
		return nil, fmt.Errorf("the JSON pointer %q does not start with a slash", pointer)
	}
	tokens := strings.Split(pointer[1:], "/")
	path := make(Path, len(tokens))
	for i, token := range tokens {
		if rest := strings.NewReplacer("~0", "", "~1", "").Replace(token); strings.Contains(rest, "~") {
			return nil, fmt.Errorf("the JSON pointer %q has a ~ that neither 0 nor 1 follows", pointer)
		}
		path[i] = unescapePointer.Replace(token)
	}
	return path, nil
}

// Pointer returns p as an RFC 6901 JSON pointer. Elements that are neither
// string nor int, which [Apply] and [Verify] refuse, are written as fmt prints
// them.
func (p Path) Pointer() string {
	var b strings.Builder
	for _, element := range p {
		b.WriteByte('/')
		if token, err := pathToken(element); err == nil {
			b.WriteString(escapePointer.Replace(token))
		} else {
			b.WriteString(escapePointer.Replace(fmt.Sprint(element)))
		}
	}
	return b.String()
}

func pathToken(element any) (string, error) {
	switch element := element.(type) {
	case string:
		return element, nil
	case int:
		return strconv.Itoa(element), nil
	}
	return "", fmt.Errorf("%v is a %T, want a string or an int", element, element)
}

// A pathTree is the set of an object's ignored paths. It is built as one tree so
// that removing a list item does not move the items that later paths name.
type pathTree struct {
	remove   bool
	children map[string]*pathTree
}

func compileIgnore(ignore map[object.ID][]Path) (map[object.ID]*pathTree, error) {
	if len(ignore) == 0 {
		return nil, nil
	}
	trees := make(map[object.ID]*pathTree, len(ignore))
	for _, id := range slices.SortedFunc(maps.Keys(ignore), object.ID.Compare) {
		root := &pathTree{}
		for _, path := range ignore[id] {
			if err := root.add(path); err != nil {
				return nil, fmt.Errorf("ignored field of %s: %w", id, err)
			}
		}
		trees[id] = root
	}
	return trees, nil
}

func (t *pathTree) add(path Path) error {
	if len(path) == 0 {
		return fmt.Errorf("the path is empty, want at least one element")
	}
	for _, element := range path {
		token, err := pathToken(element)
		if err != nil {
			return fmt.Errorf("path element %w", err)
		}
		if t.children == nil {
			t.children = make(map[string]*pathTree)
		}
		next := t.children[token]
		if next == nil {
			next = &pathTree{}
			t.children[token] = next
		}
		t = next
	}
	t.remove = true
	return nil
}

// prune returns v without the paths of t. Only what lies on a path is copied.
func (t *pathTree) prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for token, child := range t.children {
			field, ok := v[token]
			switch {
			case !ok:
			case child.remove:
				delete(out, token)
			default:
				out[token] = child.prune(field)
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for i, item := range v {
			child := t.children[strconv.Itoa(i)]
			switch {
			case child == nil:
				out = append(out, item)
			case !child.remove:
				out = append(out, child.prune(item))
			}
		}
		return out
	}
	return v
}
