package derive

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// index knows where the random values of a render are. Values go by their keys, see
// piece.key.
type index struct {
	scope Scope
	// texts are the texts of all documents that are more than text, by what they are
	// parsed from.
	texts  map[string]text
	leaves []leaf
	homes  map[string]home
	// pieces are the first prints of the values that have a home.
	pieces map[string]*piece
	// alias leads from a value in the input of a hash to the one that it stands for.
	alias map[string]string
	// unclear are those that stand for one of several, which cannot be told apart, and guessed
	// those and the ones that alias has by what stands in front of them.
	unclear, guessed map[string]bool
	// twins are the objects without a name that have the identity of another one.
	twins  map[object.ID]bool
	blocks []blockPlace // of PEM blocks, in the order of the documents
	// names are those of the items of lists, by the first item.
	names map[*any][]string
	// other is that of the other render, and kept are the PEM blocks that are in both.
	other *index
	kept  map[string]bool
}

type blockPlace struct {
	block string
	at    home
}

// leaf is a text of a document.
type leaf struct {
	index    int // of the document
	document map[string]any
	path     []any
	text     text
}

// where names the place of a leaf in a render.
func (l *leaf) where() string { return strconv.Itoa(l.index) + object.Pointer(l.path...) }

// isSteady reports whether the values of a text are those of the same executions in the
// other render: they are not where a template chooses one of two.
func (t text) isSteady(other text) bool {
	var nonces []string
	other.each(func(p *piece, _ bool) {
		if p.nonce != "" {
			nonces = append(nonces, p.nonce)
		}
	})
	steady := true
	t.each(func(p *piece, _ bool) {
		if p.nonce != "" {
			steady = steady && len(nonces) > 0 && nonces[0] == counterpart(p.nonce)
			nonces = nonces[min(1, len(nonces)):]
		}
	})
	return steady
}

// newIndex takes the texts of a render apart. Before anything can be asked, it has to be
// settled.
func newIndex(ctx context.Context, scope Scope, r Render) *index {
	x := &index{
		scope: scope, texts: map[string]text{}, homes: map[string]home{}, pieces: map[string]*piece{}, alias: map[string]string{},
		unclear: map[string]bool{}, guessed: map[string]bool{}, twins: map[object.ID]bool{}, names: map[*any][]string{},
	}
	seen := map[object.ID]bool{}
	for i, d := range r.Documents {
		if ctx.Err() != nil {
			break
		}
		for _, path := range objectsIn(d.Value) {
			if o, _ := owner(d.Value, path); object.Text(object.Field(o.Value, "metadata", "name")) == "" && o.GenerateName() != "" {
				id := scope.id(o)
				x.twins[id] = seen[id]
				seen[id] = true
			}
		}
		eachText(d.Value, nil, func(path []any, s string) {
			if t := x.parse(s); t != nil {
				x.leaves = append(x.leaves, leaf{i, d.Value, slices.Clone(path), t})
			}
		})
	}
	return x
}

// objectsIn returns paths into the objects of a document: itself, or the items of a List.
func objectsIn(document map[string]any) [][]any {
	if !isList(document) {
		return [][]any{nil}
	}
	var out [][]any
	for i := range object.Items(document["items"]) {
		out = append(out, []any{"items", i})
	}
	return out
}

// constant returns the keys of the PEM blocks that are in both renders.
func constant(first, second *index) map[string]bool {
	found := map[string]bool{}
	first.eachBlock(func(key string) { found[key] = false })
	second.eachBlock(func(key string) {
		if _, ok := found[key]; ok {
			found[key] = true
		}
	})
	return found
}

func (x *index) eachBlock(yield func(key string)) {
	for _, l := range x.leaves {
		l.text.each(func(p *piece, _ bool) {
			if p.kind == block {
				yield(p.key())
			}
		})
	}
}

// parse returns the text taken apart, or nil where it is just text.
func (x *index) parse(s string) text {
	if len(s) < len(FrameStart) {
		return nil
	}
	if t, ok := x.texts[s]; ok {
		return t
	}
	t := parse(s)
	if !t.special() {
		t = nil
	}
	x.texts[s] = t
	return t
}

// eachText yields the texts of a document and the paths to them, which it goes on to
// use.
func eachText(v any, path []any, yield func(path []any, s string)) {
	switch v := v.(type) {
	case string:
		yield(path, v)
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			eachText(v[key], append(path, key), yield)
		}
	case []any:
		for i, item := range v {
			eachText(item, append(path, i), yield)
		}
	}
}

// keys returns the keys of the values in a text in order of appearance, one for each
// print.
func (t text) keys() []string {
	var out []string
	t.each(func(p *piece, _ bool) { out = append(out, p.key()) })
	return out
}

// resolve returns the key that a value goes by in the end.
func (x *index) resolve(key string) string {
	for range MaxDepth {
		next, ok := x.alias[key]
		if !ok {
			break
		}
		key = next
	}
	return key
}

// settle finds out which values are one, and where each lives, see other and kept.
func (x *index) settle(r Render, other *index, kept map[string]bool) {
	x.other, x.kept = other, kept
	x.align(r, kept)
	x.findHomes()
}

// findHomes finds out where each value lives.
func (x *index) findHomes() {
	type occurrence struct {
		key string
		at  home
	}
	var prints []occurrence
	// Each list of blocks is numbered by itself, without those that stay as they are.
	blocks := map[string]int{}
	there := map[string]text{}
	for _, l := range x.other.leaves {
		there[l.where()] = l.text
	}
	for _, l := range x.leaves {
		whole := l.text.whole()
		place := x.place(l.document, l.path, false)
		filled := x.place(l.document, l.path, true)
		if !l.text.isSteady(there[l.where()]) {
			place.rank += rankUnsteady
			filled.rank += rankUnsteady
		}
		inFront := l.text.keysInFront()
		l.text.each(func(p *piece, inside bool) {
			key := x.resolve(p.key())
			at := place
			at.key, inFront = inFront[0], inFront[1:]
			switch {
			case inside:
				at.rank += rankInside
			case whole != nil && whole.key() == p.key():
				at = filled
			}
			if p.kind == block {
				if !x.kept[p.key()] {
					at.position = blocks[at.name()]
					blocks[at.name()]++
				}
				x.blocks = append(x.blocks, blockPlace{strings.TrimPrefix(key, blockKey), at})
			}
			prints = append(prints, occurrence{key, at})
			if best, ok := x.homes[key]; !ok || at.compare(best) < 0 {
				x.homes[key] = at
			}
			if x.pieces[key] == nil {
				x.pieces[key] = p
			}
		})
	}
	// Positions count the values that a field prints, also those that live elsewhere: when
	// one finds a better home, none of the others takes its place. In what is hashed just
	// those count that live there. Values of several kinds, and behind several keys, are
	// counted each by themselves.
	type field struct{ place, kind, key string }
	counts := map[field]int{}
	type counted struct {
		field
		value string
	}
	seen := map[counted]bool{}
	for _, p := range prints {
		h := x.homes[p.key]
		isHome := p.at.name() == h.name() && p.at.rank == h.rank && p.at.key == h.key
		f := field{p.at.name(), x.pieces[p.key].reason(), p.at.key}
		if x.pieces[p.key].kind == block || seen[counted{f, p.key}] || p.at.isHashed() && !isHome {
			continue
		}
		seen[counted{f, p.key}] = true
		if isHome {
			h.position = counts[f]
			x.homes[p.key] = h
		}
		counts[f]++
	}
}

const reasonDigest = "checksum"

// reason names the function that makes a value.
func (p *piece) reason() string {
	if p.kind == token {
		return tokenKinds[p.function].function
	}
	switch p.name {
	case "sha1", "sha256", "sha512", "adler32":
		return reasonDigest
	}
	return p.name
}
