package derive

import (
	"maps"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// What frames do not foretell, since the template does something with a value, shows if
// the chart is rendered once more and its calls get the derived values. Value gives them,
// and Adopt takes over what the chart made of them.

// Value returns the derived value in the place of a frame of Renders.First, and for one
// of a salted hash what that is of the input. It is false for a frame whose value lives
// nowhere.
func (r *Resolution) Value(frame, input string) (string, bool) {
	if r.resolver == nil {
		return "", false
	}
	t := parse(frame)
	if len(t) != 1 || t[0].kind != token && t[0].kind != computed {
		return "", false
	}
	e, p := &evaluation{values: r.resolver.values}, &t[0]
	if p.kind == token {
		value, err := e.token(p, false)
		return value, err == nil
	}
	if made, err := e.text(p.parts, true); err == nil && made == input {
		value, err := e.computed(p, false)
		return value, err == nil
	}
	key := p.key() + "\x00" + input
	value, ok := r.resolver.made[key]
	if !ok {
		h, err := e.lives(e.index.resolve(p.key()), p, false)
		if err != nil {
			return "", false
		}
		if value, err = compute(p.name, input, e.stream(h, p.reason(), input)); err != nil {
			return "", false
		}
		r.resolver.made[key] = value
	}
	return value, true
}

// Key names the value of a frame of Renders.First: two frames of one value have one key.
func (r *Resolution) Key(frame string) string {
	if r.resolver == nil {
		return frame
	}
	return r.resolver.index.resolve(parse(frame)[0].key())
}

// Lives returns the name of the field in which the value of a frame of Renders.First lives,
// or "".
func (r *Resolution) Lives(frame string) string {
	if r.resolver == nil {
		return ""
	}
	if h, ok := r.resolver.index.homes[r.Key(frame)]; ok {
		return h.name()
	}
	return ""
}

// Hashed reports whether the value of a frame of Renders.First stands in what is hashed, and
// nowhere else.
func (r *Resolution) Hashed(frame string) bool {
	if r.resolver == nil {
		return false
	}
	h, lives := r.resolver.index.homes[r.Key(frame)]
	return lives && h.isHashed()
}

func (h home) isHashed() bool { return h.rank%rankUnsteady >= rankInside }

// A Spot is a field that depends on a value, with what stands in front of what changes in it
// if the value does.
type Spot struct {
	Field
	InFront string
}

// Best returns the spot in whose field a value would live that is printed in none of them.
// There has to be one.
func (r *Resolution) Best(spots []Spot) (best int) {
	if r.resolver == nil {
		return 0
	}
	_, best = r.resolver.places(spots)
	return best
}

// places returns the place that each of some spots would be for a value, and which is best.
func (r *resolver) places(spots []Spot) (places []home, best int) {
	for i, s := range spots {
		places = append(places, r.spot(s))
		if places[i].compare(places[best]) < 0 {
			best = i
		}
	}
	return places, best
}

// spot returns the place that a spot would be for a value.
func (r *resolver) spot(s Spot) home {
	document := r.renders.First.Documents[s.Document].Value
	at := r.index.place(document, s.Path, false)
	if value, _ := object.Lookup(document, s.Path); r.index.holdsHashes(value) {
		at.rank += rankInside
	}
	at.key = keyBehind(s.InFront)
	at.unseen = true
	return at
}

// House makes one of some fields the home of a value that is printed in none of them, but
// that changes all of them. It reports whether it has another one now: it has none if it
// stands in a checksum for one of several others. Of several in one text the first has to
// come first.
func (r *Resolution) House(frame string, spots []Spot) bool {
	w := r.resolver
	if w == nil || len(spots) == 0 {
		return false
	}
	p := &parse(frame)[0]
	key := w.index.resolve(p.key())
	before, lives := w.index.homes[key]
	if lives && !before.isHashed() || w.index.unclear[key] {
		return false
	}
	places, n := w.places(spots)
	best := places[n]
	if lives && (best.isHashed() || best.name() == before.name()) {
		return false // it has this one
	}
	if w.index.twins[best.id] {
		return false
	}
	for _, other := range w.housed { // also those that live elsewhere, as in index.settle
		if other.reason == p.reason() && slices.ContainsFunc(other.places, func(at home) bool { return at.name() == best.name() && at.key == best.key }) {
			best.position++
		}
	}
	w.index.homes[key] = best
	delete(w.made, key) // what it was at the home before
	w.housed = append(w.housed, housed{best, p.reason(), spots, places})
	return true
}

// holdsHashes reports whether what depends on random values in a part of a render is hashes
// and nothing else.
func (x *index) holdsHashes(value any) bool {
	found, others := false, false
	eachText(value, nil, func(_ []any, s string) {
		x.parse(s).eachOutside(func(p *piece) {
			isHash := p.kind == computed && !salted(p.name) || p.kind == broken && strings.HasPrefix(p.raw, FrameStart+"c")
			found, others = found || isHash, others || !isHash
		})
	})
	return found && !others
}

// eachOutside yields the frames and blocks of a text that are not in the input of a
// function.
func (t text) eachOutside(yield func(*piece)) {
	for i := range t {
		switch t[i].kind {
		case literal:
		case encoded:
			t[i].parts.eachOutside(yield)
		default:
			yield(&t[i])
		}
	}
}

// InData reports whether a field is in the data of a Secret.
func (r *Resolution) InData(f Field) bool {
	return r.resolver != nil && inData(r.resolver.renders.First.Documents[f.Document].Value, f.Path)
}

// Guessed reports whether the value of a frame of Renders.First is taken to be another one,
// or one of several, since it seems to stand in what is hashed alone.
func (r *Resolution) Guessed(frame string) bool {
	return r.resolver != nil && r.resolver.index.guessed[parse(frame)[0].key()]
}

// Separate takes that back: the values are some of their own, and live where they would if
// they had never been taken for others.
func (r *Resolution) Separate(frames []string) {
	x := r.resolver.index
	for _, frame := range frames {
		key := parse(frame)[0].key()
		delete(x.alias, key)
		delete(x.unclear, key)
		delete(x.guessed, key)
	}
	again := *x
	again.homes, again.pieces, again.blocks = map[string]home{}, map[string]*piece{}, nil
	again.findHomes()
	for _, frame := range frames {
		key := parse(frame)[0].key()
		if h, lives := again.homes[key]; lives {
			x.homes[key], x.pieces[key] = h, again.pieces[key]
		}
	}
}

// Unite makes the value of one frame that of another one: it is made by a second execution
// of a template, for a checksum of the first.
func (r *Resolution) Unite(frame, with string) {
	x := r.resolver.index
	x.alias[parse(frame)[0].key()] = x.resolve(parse(with)[0].key())
}

// housed is a home that House found.
type housed struct {
	home
	reason string
	spots  []Spot // that depend on the value
	places []home // that these would be
}

// ReasonMade is that of a field in which no random value stands, but what a template made
// of one.
const ReasonMade = "template"

// Adopted is a field with the value that the chart made of derived ones.
type Adopted struct {
	Field
	Value any
	// Random says that the field depends on a random value.
	Random bool
	// Names are those of the fields in which values live that it depends on and that do not
	// stand in the field itself.
	Names []string
	// Digest says that nothing of such a value is in the field but by a digest function.
	Digest bool
}

// Adopt gives a field its value, and takes back that it is refused. It returns why the
// field must not have such a value, or "".
func (r *Resolution) Adopt(a Adopted) string {
	w := r.resolver
	if w == nil {
		return Unexplained
	}
	plain := w.renders.Plain.Documents[a.Document].Value
	if a.Random && isIdentity(plain, a.Path) {
		return aName
	}
	for _, other := range r.Refused {
		if other.Final && (a.holds(other.Field) || other.holds(a.Field)) {
			return other.Reason
		}
	}
	r.Derived = slices.DeleteFunc(r.Derived, func(d Derived) bool { return a.holds(d.Field) })
	r.Refused = slices.DeleteFunc(r.Refused, func(d Refused) bool { return a.holds(d.Field) })
	if a.Random {
		w.adopt(a)
	}
	if r.Values[a.Document] == nil {
		r.Values[a.Document] = plain
	}
	r.Values[a.Document] = object.Mapping(object.With(r.Values[a.Document], a.Path, a.Value))
	return ""
}

// holds reports whether another field is a part of f, or is f.
func (f Field) holds(other Field) bool {
	return f.Document == other.Document && len(other.Path) >= len(f.Path) && slices.Equal(other.Path[:len(f.Path)], f.Path)
}

// adopt notes of what the value of a field was made.
func (r *resolver) adopt(a Adopted) {
	r.document = a.Document
	e := &evaluation{values: r.values}
	first, _ := object.Lookup(r.renders.First.Documents[a.Document].Value, a.Path)
	eachText(first, nil, func(_ []any, s string) {
		_, _ = e.text(r.index.parse(s), false) // the reasons and names that are found on the way
	})
	for _, h := range r.housed {
		if slices.ContainsFunc(h.spots, func(other Spot) bool { return a.holds(other.Field) || other.holds(a.Field) }) {
			e.note(h.reason, a.Digest)
			a.Names = append(slices.Clone(a.Names), h.name())
		}
	}
	for _, name := range slices.Sorted(slices.Values(a.Names)) {
		if !slices.Contains(e.names, name) {
			e.names = append(e.names, name)
		}
	}
	switch {
	case len(e.reasons) > 0:
	case a.Digest:
		e.reasons = []string{reasonDigest}
	default:
		e.reasons = []string{ReasonMade}
	}
	if !a.Digest && slices.ContainsFunc(e.names, r.index.isSecret) || inData(r.renders.Plain.Documents[a.Document].Value, a.Path) {
		eachText(a.Value, nil, func(_ []any, s string) {
			e.secret(s)
			if decoded, err := encoding(lettersOf(s), padded).DecodeString(s); err == nil {
				e.secret(string(decoded))
			}
		})
	}
	r.derived(a.Path, e.reasons, e.names)
}

// isSecret reports whether a value that lives in the field of a name must not be seen.
func (x *index) isSecret(name string) bool {
	for key, h := range x.homes {
		if h.name() != name {
			continue
		}
		kind, rest, _ := strings.Cut(key, " ")
		if h.inData() || kind == "shuffle" || kind == "token" && tokenKinds[rest[0]].secret {
			return true
		}
	}
	return false
}

// Finish puts what is known in order, once everything is adopted.
func (r *Resolution) Finish() {
	if r.resolver == nil {
		return
	}
	r.Secrets = slices.Sorted(maps.Keys(r.resolver.secrets))
	slices.SortStableFunc(r.Derived, func(a, b Derived) int {
		if a.Document != b.Document {
			return a.Document - b.Document
		}
		return strings.Compare(object.Pointer(a.Path...), object.Pointer(b.Path...))
	})
}
