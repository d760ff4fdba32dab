package compare

import (
	"bytes"
	"encoding/json"

	"hallmark.dev/hallmark/internal/object"
)

// A walker finds the fields in which two objects differ, and yields them in the order
// of the object: keys sorted, items of lists in their order in To.
type walker struct {
	names   renames
	hide    func(string) string
	renamed bool // metadata.name differs, and Object.Was says so
	id      object.ID

	path   []step
	fields []Field
}

func (w *walker) object(a, b map[string]any) { w.mapping(a, b) }

func (w *walker) within(s step, walk func()) {
	w.path = append(w.path, s)
	walk()
	w.path = w.path[:len(w.path)-1]
}

func (w *walker) value(a, b any) {
	if a == any(unstable) || b == any(unstable) {
		return
	}
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			w.mapping(a, b)
			return
		}
	case []any:
		if b, ok := b.([]any); ok {
			w.list(a, b)
			return
		}
	}
	if !same(a, b) {
		w.emit(Changed, a, b)
	}
}

func (w *walker) mapping(a, b map[string]any) {
	for _, key := range unionKeys(a, b) {
		x, inA := a[key]
		y, inB := b[key]
		w.within(step{key: key}, func() {
			switch {
			case inA && inB:
				if !w.renamed || !w.at("metadata", "name") {
					w.value(x, y)
				}
			case inA:
				w.lone(Removed, x)
			default:
				w.lone(Added, y)
			}
		})
	}
}

// lone is a field that one side does not have. A mapping whose keys are names that
// users choose is told key by key: that a label is the first of its object makes it
// no other label.
func (w *walker) lone(change Change, v any) {
	m, isMapping := v.(map[string]any)
	switch {
	case isMapping && len(m) > 0 && w.holdsEntries() && change == Added:
		w.mapping(nil, m)
	case isMapping && len(m) > 0 && w.holdsEntries():
		w.mapping(m, nil)
	case change == Added:
		w.emit(Added, nil, v)
	default:
		w.emit(Removed, v, nil)
	}
}

// holdsEntries reports whether the path leads to a mapping of entries.
func (w *walker) holdsEntries() bool {
	last := w.path[len(w.path)-1]
	switch last.key {
	case "labels", "annotations":
		return !last.list && len(w.path) > 1 && w.path[len(w.path)-2].key == "metadata"
	case "data", "binaryData", "stringData":
		return len(w.path) == 1 && w.id.Group == "" && (w.id.Kind == "ConfigMap" || w.id.Kind == "Secret")
	}
	return false
}

func (w *walker) at(keys ...string) bool {
	if len(w.path) != len(keys) {
		return false
	}
	for i, key := range keys {
		if w.path[i].list || w.path[i].key != key {
			return false
		}
	}
	return true
}

// emit reports the field at the path. A value that is concealed is one of a Secret,
// and stays hidden, as does a difference that is nothing but what was decrypted.
func (w *walker) emit(change Change, a, b any) {
	f := Field{
		Path: pathText(w.path), Pointer: pathPointer(w.path, change != Removed), Change: change, Cause: -1,
		From: a, To: b, Follows: w.names.follows(w.path, a, b), Hidden: concealed(a) || concealed(b),
	}
	f.hide(w.hide)
	w.fields = append(w.fields, f)
}

// hide takes what nobody may read out of a field. One that has no other difference is
// hidden.
func (f *Field) hide(hide func(string) string) {
	f.Path, f.Pointer, f.Follows = hide(f.Path), hide(f.Pointer), hide(f.Follows)
	f.From, f.To = hidden(f.From, hide), hidden(f.To, hide)
	if f.Hidden || f.Change == Changed && same(f.From, f.To) {
		f.From, f.To, f.Hidden, f.Follows = nil, nil, true, ""
	}
}

// order reports that the items of the list at the path stand in another order.
func (w *walker) order(from, to []any) {
	w.fields = append(w.fields, Field{
		Path: w.hide(pathText(w.path)), Pointer: w.hide(pathPointer(w.path, true)), Change: Changed,
		From: hidden(from, w.hide), To: hidden(to, w.hide), Order: true, Cause: -1,
	})
}

// hidden returns v with what was decrypted taken out of it, and v itself where there
// is nothing of that.
func hidden(v any, hide func(string) string) any {
	switch v := v.(type) {
	case string:
		return hide(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[hide(key)] = hidden(item, hide)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = hidden(item, hide)
		}
		return out
	}
	return v
}

// MarshalJSON writes a null that a side has, and nothing for a side that does not
// have the field: the two are a difference.
func (f Field) MarshalJSON() ([]byte, error) {
	out := struct {
		Path    string `json:"path"`
		Pointer string `json:"pointer"`
		Change  Change `json:"change"`
		From    *any   `json:"from,omitempty"`
		To      *any   `json:"to,omitempty"`
		Hidden  bool   `json:"hidden,omitempty"`
		Order   bool   `json:"order,omitempty"`
		Follows string `json:"follows,omitempty"`
		Cause   int    `json:"cause"`
	}{Path: f.Path, Pointer: f.Pointer, Change: f.Change, Hidden: f.Hidden, Order: f.Order, Follows: f.Follows, Cause: f.Cause}
	if !f.Hidden {
		if f.Change != Added {
			out.From = &f.From
		}
		if f.Change != Removed {
			out.To = &f.To
		}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(out)
	return b.Bytes(), err
}
