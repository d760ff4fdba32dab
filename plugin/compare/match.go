package compare

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/stamp"
)

// # How objects are paired
//
// Each step takes what the ones before it left:
//
//  1. the same group, kind, namespace and name, first as they are written, then with
//     the destination's namespace for one that is not written;
//  2. the same kind, namespace and name in another API group;
//  3. the same name but for a generated suffix (see [stem]);
//  4. the same content but for the name, and for the names of other objects that are
//     renamed in this step.
//
// Where several objects could be the same one, the most alike are paired first. What
// is left was removed or added.

// An item is an object of one side.
type item struct {
	object.Object
	namespace string // the destination's
	paths     []stamp.Path
	bare      map[string]any // value keeps it here
}

// stable reports whether no field is left out.
func (i *item) stable() bool { return len(i.paths) == 0 }

// volatile reports whether the object differs as a whole from render to render.
func (i *item) volatile() bool {
	return slices.ContainsFunc(i.paths, func(p stamp.Path) bool { return len(p) == 0 })
}

// value is the object as it is compared: without a stamp, and with what is not stable
// marked.
func (i *item) value() map[string]any {
	if i.bare != nil {
		return i.bare
	}
	i.bare = bare(i.Value)
	for _, p := range i.paths {
		if m, ok := marked(i.bare, p).(map[string]any); ok {
			i.bare = m
		}
	}
	return i.bare
}

// named is the identity for people: a name that the API server will complete is its
// beginning.
func (i *item) named() object.ID {
	id := i.ID()
	id.Name = cmp.Or(id.Name, i.GenerateName())
	return id
}

// placed is the identity with the namespace that the object will be in.
func (i *item) placed() object.ID {
	id := i.ID()
	id.Namespace = cmp.Or(id.Namespace, i.namespace)
	return id
}

// A pair is an object on both sides, or on one. change is [Renamed], or [Changed]
// where the object moved to another API group, or "" where the identity is the same.
type pair struct {
	from, to *item
	change   Change
}

type matcher struct {
	from, to []*item // those without a partner so far
	found    []pair
	renames  renames
}

func newMatcher(from, to Rendered) *matcher {
	items := func(r Rendered) []*item {
		list := make([]*item, len(r.Objects))
		for i, o := range r.Objects {
			list[i] = &item{Object: o, namespace: r.Namespace}
			if len(r.Unstable) > 0 {
				list[i].paths = r.Unstable[o.ID()]
			}
		}
		return list
	}
	return &matcher{from: items(from), to: items(to)}
}

// A key is what two objects share that may be one.
type key struct {
	object.ID
	generate string // metadata.generateName of one without a name
	content  digest
}

func (m *matcher) pairs() []pair {
	written := func(i *item) (key, bool) { return key{ID: i.ID(), generate: i.generate()}, true }
	m.match("", written, written, nil)
	if len(m.from) > 0 && len(m.to) > 0 {
		placed := func(i *item) (key, bool) { return key{ID: i.placed(), generate: i.generate()}, true }
		m.match("", placed, placed, nil)
	}
	if len(m.from) > 0 && len(m.to) > 0 {
		m.moved()
		m.suffixed()
		m.sameContent()
	}
	m.renames = newRenames(m.found)
	for _, i := range m.from {
		m.found = append(m.found, pair{from: i})
	}
	for _, i := range m.to {
		m.found = append(m.found, pair{to: i})
	}
	return m.found
}

func (i *item) generate() string {
	if i.ID().Name != "" {
		return ""
	}
	return i.GenerateName()
}

// match pairs the objects of both sides that have the same key, if accept is nil or
// agrees to what has one.
func (m *matcher) match(change Change, fromKey, toKey func(*item) (key, bool), accept func(from, to []*item) bool) {
	type group struct{ from, to []*item }
	groups := make(map[key]*group, len(m.from))
	for _, i := range m.from {
		if k, ok := fromKey(i); ok {
			g := groups[k]
			if g == nil {
				g = &group{}
				groups[k] = g
			}
			g.from = append(g.from, i)
		}
	}
	for _, i := range m.to {
		if k, ok := toKey(i); ok && groups[k] != nil {
			groups[k].to = append(groups[k].to, i)
		}
	}
	taken := map[*item]bool{}
	for _, g := range groups {
		if len(g.to) == 0 || accept != nil && !accept(g.from, g.to) {
			continue
		}
		for _, p := range closest(g.from, g.to) {
			p.change = change
			m.found = append(m.found, p)
			taken[p.from], taken[p.to] = true, true
		}
	}
	gone := func(i *item) bool { return taken[i] }
	m.from, m.to = slices.DeleteFunc(m.from, gone), slices.DeleteFunc(m.to, gone)
}

// closest pairs two groups of objects, the most alike first.
func closest(from, to []*item) []pair {
	if len(from) == 1 && len(to) == 1 {
		return []pair{{from: from[0], to: to[0]}}
	}
	order(from)
	order(to)
	const most = 1 << 10 // pairs to look at
	type candidate struct {
		pair
		likeness float64
	}
	var candidates []candidate
	for i, f := range from {
		for j, t := range to {
			switch {
			case len(from)*len(to) <= most:
				candidates = append(candidates, candidate{pair{from: f, to: t}, likeness(f.value(), t.value())})
			case i == j:
				candidates = append(candidates, candidate{pair: pair{from: f, to: t}})
			}
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(b.likeness, a.likeness) })
	taken := map[*item]bool{}
	var out []pair
	for _, c := range candidates {
		if !taken[c.from] && !taken[c.to] {
			taken[c.from], taken[c.to] = true, true
			out = append(out, c.pair)
		}
	}
	return out
}

// order sorts objects by what they are, so that their order in a render does not
// count.
func order(items []*item) {
	slices.SortFunc(items, func(a, b *item) int {
		if c := a.named().Compare(b.named()); c != 0 {
			return c
		}
		x, y := digestOf(a.value()), digestOf(b.value())
		return strings.Compare(string(x[:]), string(y[:]))
	})
}

func single(from, to []*item) bool { return len(from) == 1 && len(to) == 1 }

func (m *matcher) moved() {
	elsewhere := func(i *item) (key, bool) {
		id := i.placed()
		id.Group = ""
		return key{ID: id}, id.Name != ""
	}
	m.match(Changed, elsewhere, elsewhere, single)
}

func (m *matcher) suffixed() {
	stemmed := func(i *item) (key, bool) {
		id := i.placed()
		id.Name = stem(id.Name)
		return key{ID: id}, id.Name != ""
	}
	m.match(Renamed, stemmed, stemmed, nil)
}

// The letters of Kustomize's hash suffixes: those of hexadecimal digits, with g, h, k,
// m and t for 0, 1, 3, a and e, so that no suffix is a word (package hasher of its API).
const (
	kustomizeLetters = "2456789bcdfghkmt"
	kustomizeLength  = 10
	hexLetters       = "0123456789abcdef"
	hexLength        = 8
)

// stem returns a name without a generated suffix: that of Kustomize, or eight or more
// hexadecimal digits, as charts put part of a checksum or a date there.
func stem(name string) string {
	at := strings.LastIndexByte(name, '-')
	if at <= 0 {
		return name
	}
	suffix := name[at+1:]
	if len(suffix) == kustomizeLength && strings.Trim(suffix, kustomizeLetters) == "" ||
		len(suffix) >= hexLength && strings.Trim(suffix, hexLetters) == "" {
		return name[:at]
	}
	return name
}

// sameContent pairs objects that are equal but for names. Names may stand for each
// other at first; then a pair is kept only if whatever differs in it is the old and
// the new name of a kept pair.
func (m *matcher) sameContent() {
	before := len(m.found)
	m.match(Renamed, contentKey(m.from), contentKey(m.to), nil)
	kept := m.found[before:]
	for {
		renamed := make(map[[2]string]bool, len(kept))
		for _, p := range kept {
			renamed[[2]string{p.from.ID().Name, p.to.ID().Name}] = true
		}
		n := len(kept)
		kept = slices.DeleteFunc(kept, func(p pair) bool {
			if telling(p) && explained(nameless(p.from), nameless(p.to), renamed) {
				return false
			}
			m.from, m.to = append(m.from, p.from), append(m.to, p.to)
			return true
		})
		if len(kept) == n {
			break
		}
	}
	m.found = m.found[:before+len(kept)]
}

// contentKey returns the key of an object's content, in which the names of all given
// objects are one.
func contentKey(items []*item) func(*item) (key, bool) {
	names := make(map[string]bool, len(items))
	for _, i := range items {
		names[i.ID().Name] = true
	}
	anyName := func(s string) string {
		if names[s] {
			return "\x00"
		}
		return s
	}
	return func(i *item) (key, bool) {
		id := i.placed()
		named := id.Name != ""
		id.Name = ""
		return key{ID: id, content: hash(appendForm(nil, nameless(i), anyName))}, named
	}
}

// nameless returns an object without its name and namespace.
func nameless(i *item) map[string]any {
	value := maps.Clone(i.value())
	meta := maps.Clone(object.Mapping(value["metadata"]))
	delete(meta, "name")
	delete(meta, "namespace")
	value["metadata"] = meta
	return value
}

// telling reports whether two objects of equal content are likely to be one: there is
// enough of it, or their names are alike. Two ServiceAccounts are equal because there
// is nothing in them.
func telling(p pair) bool {
	const fields = 6 // with apiVersion and kind
	return alikeText(p.from.ID().Name, p.to.ID().Name) >= enough || scalars(nameless(p.from), fields) >= fields
}

// scalars counts the scalars in v, up to a number.
func scalars(v any, most int) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			if n < most {
				n += scalars(item, most-n)
			}
		}
		return n
	case []any:
		for _, item := range v {
			if n < most {
				n += scalars(item, most-n)
			}
		}
		return n
	}
	return 1
}

// explained reports whether two values differ in nothing but names that were changed.
func explained(a, b any, renamed map[[2]string]bool) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, x := range a {
			if y, ok := b[k]; !ok || !explained(x, y, renamed) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, func(x, y any) bool { return explained(x, y, renamed) })
	case string:
		if b, ok := b.(string); ok {
			return a == b || renamed[[2]string{a, b}]
		}
	}
	return same(a, b)
}
