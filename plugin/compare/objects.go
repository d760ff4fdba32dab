package compare

import (
	"cmp"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin/stamp"
)

// Rendered is one of the two renders of an application.
type Rendered struct {
	// Objects are those of a plugin.Result, stamped or not. They are only read.
	Objects []object.Object
	// Namespace is the destination's. An object without a namespace is the same
	// as one in this namespace.
	Namespace string
	// Unstable are fields that differ from render to render. Their values are no
	// difference; that such a field appears or goes is one.
	Unstable map[object.ID][]stamp.Path
	// Hide takes decrypted values out of a text that is shown. It may be nil: the
	// values of the Secrets among Objects are hidden anyway.
	Hide func(string) string
}

// MaxText is the size in bytes up to which Object.Before and Object.After are kept.
const MaxText = 256 << 10

// Objects compares two renders of one application. It returns the objects that
// differ, ordered by identity, and counts all. The fields of an object that was
// added or removed as a whole are none.
//
// It works on one goroutine: whoever compares many applications runs several.
func Objects(from, to Rendered) ([]Object, Counts) {
	return objects(from, to, newHider(from, to))
}

func objects(from, to Rendered, hider *hider) ([]Object, Counts) {
	m := newMatcher(from, to)
	pairs := m.pairs()
	c := comparison{names: m.renames, hide: hider.text}
	var (
		out    []Object
		counts Counts
	)
	for _, p := range pairs {
		o, differs := c.object(p)
		switch {
		case !differs:
			counts.Unchanged++
			continue
		case o.Change == Added:
			counts.Added++
		case o.Change == Removed:
			counts.Removed++
		default:
			counts.Changed++
		}
		out = append(out, o)
	}
	// Equal names are those of objects that only have a prefix for one.
	slices.SortStableFunc(out, func(a, b Object) int {
		return cmp.Or(a.ID.Compare(b.ID), strings.Compare(string(a.Before), string(b.Before)), strings.Compare(string(a.After), string(b.After)))
	})
	return out, counts
}

// comparison is what the objects of one application have in common.
type comparison struct {
	names   renames
	hide    func(string) string
	printed []byte // text prints here
}

// object compares one pair and reports whether it differs.
func (c *comparison) object(p pair) (Object, bool) {
	switch {
	case p.from == nil:
		after, _ := conceal(p.to.value(), nil, p.to.IsSecret())
		return Object{ID: c.shown(p.to.named()), Change: Added, Origin: c.hide(p.to.Origin), After: c.text(after)}, true
	case p.to == nil:
		before, _ := conceal(p.from.value(), nil, p.from.IsSecret())
		return Object{ID: c.shown(p.from.named()), Change: Removed, Origin: c.hide(p.from.Origin), Before: c.text(before)}, true
	case p.change == "" && (p.from.volatile() || p.to.volatile()):
		return Object{}, false
	case p.change == "" && p.from.stable() && p.to.stable() && sameObject(p.from.Value, p.to.Value):
		return Object{}, false
	}
	before, after := oneNamespace(p.from.value(), p.to.value())
	before, after = conceal(before, after, p.from.IsSecret() || p.to.IsSecret())
	w := walker{names: c.names, hide: c.hide, renamed: p.change == Renamed, id: p.to.ID()}
	w.object(before, after)
	if p.change == "" && len(w.fields) == 0 {
		return Object{}, false
	}
	o := Object{ID: c.shown(p.to.named()), Change: cmp.Or(p.change, Changed), Origin: c.hide(p.to.Origin), Fields: w.fields}
	if p.change != "" {
		was := c.shown(p.from.named())
		o.Was = &was
	}
	o.Before, o.After = c.text(before), c.text(after)
	if o.Before == nil || o.After == nil {
		// One side alone would look like an object that was added or removed.
		o.Before, o.After = nil, nil
	}
	return o, true
}

func (c *comparison) shown(id object.ID) object.ID {
	return object.ID{Group: c.hide(id.Group), Kind: c.hide(id.Kind), Namespace: c.hide(id.Namespace), Name: c.hide(id.Name)}
}

// text prints an object, nil where it is too large.
func (c *comparison) text(value map[string]any) []byte {
	c.printed = yamldoc.AppendYAML(c.printed[:0], value)
	if len(c.printed) > MaxText {
		return nil
	}
	return []byte(c.hide(string(c.printed)))
}
