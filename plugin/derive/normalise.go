package derive

import "strings"

// pairing holds two renders against each other: which value of the second stands where
// a value of the first does. It goes over both renders, so that it also shows whether
// two places share one value in both.
type pairing struct {
	there, back map[string]string
	shape       func(string) string // of a PEM block
}

// compare returns how two renders of a text differ beside the values themselves, or "".
func (p *pairing) compare(first, second text) string {
	if first.shape(p.shape) != second.shape(p.shape) {
		return Unexplained
	}
	keys := second.keys()
	for i, key := range first.keys() {
		other := keys[i]
		there, known := p.there[key]
		back, taken := p.back[other]
		if known && there != other || taken && back != key {
			return "it has a random value in common with another field in one render and not in the next"
		}
		p.there[key], p.back[other] = other, key
	}
	return ""
}

// random reports whether a text of the first render that was compared depends on a
// random value. A PEM block that is the same in both renders is none.
func (p *pairing) random(t text) bool {
	found := false
	t.each(func(piece *piece, _ bool) {
		key := piece.key()
		found = found || piece.kind != block || !p.constant(key)
	})
	return found
}

// constant reports whether a value is the same in both renders.
func (p *pairing) constant(key string) bool {
	return strings.HasPrefix(key, blockKey) && p.there[key] == key
}
