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

// Lives returns the name of the field in which the value of a frame of Renders.First lives,
// or "".
func (r *Resolution) Lives(frame string) string {
	if h, ok := r.resolver.index.homes[r.resolver.index.resolve(parse(frame)[0].key())]; ok {
		return h.name()
	}
	return ""
}

// House makes one of some fields the home of a value that is printed in none of them, but
// that changes all of them. It reports whether it has one now: it has none if it stands
// in a checksum for one of several others.
func (r *Resolution) House(frame string, fields []Field) bool {
	w := r.resolver
	if w == nil || len(fields) == 0 {
		return false
	}
	p := &parse(frame)[0]
	key := w.index.resolve(p.key())
	if _, lives := w.index.homes[key]; lives || w.index.unclear[key] {
		return false
	}
	var best home
	for i, f := range fields {
		at := w.index.place(w.renders.First.Documents[f.Document].Value, f.Path, false)
		if i == 0 || at.compare(best) < 0 {
			best = at
		}
	}
	if w.index.twins[best.id] {
		return false
	}
	best.unseen = true
	for _, other := range w.housed {
		if other.name() == best.name() && other.reason == p.reason() {
			best.position++
		}
	}
	w.index.homes[key] = best
	w.housed = append(w.housed, housed{best, p.reason(), fields})
	return true
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
	fields []Field
}

// ReasonMade is that of a field in which no random value stands, but what a template made
// of one.
const ReasonMade = "template"

// Adopt gives a field the value that the chart made of derived ones, and takes back that
// it is refused. Random says that the field depends on one; names are those of the fields
// in which such values live that do not stand in the field itself. It returns why the field
// must not have such a value, or "".
func (r *Resolution) Adopt(f Field, value any, random bool, names []string) string {
	w := r.resolver
	if w == nil {
		return Unexplained
	}
	plain := w.renders.Plain.Documents[f.Document].Value
	if random && isIdentity(plain, f.Path) {
		return aName
	}
	for _, other := range r.Refused {
		if other.Final && (f.holds(other.Field) || other.holds(f)) {
			return other.Reason
		}
	}
	r.Derived = slices.DeleteFunc(r.Derived, func(d Derived) bool { return f.holds(d.Field) })
	r.Refused = slices.DeleteFunc(r.Refused, func(d Refused) bool { return f.holds(d.Field) })
	if random {
		w.adopt(f, value, names)
	}
	if r.Values[f.Document] == nil {
		r.Values[f.Document] = plain
	}
	r.Values[f.Document] = object.Mapping(object.With(r.Values[f.Document], f.Path, value))
	return ""
}

// holds reports whether another field is a part of f, or is f.
func (f Field) holds(other Field) bool {
	return f.Document == other.Document && len(other.Path) >= len(f.Path) && slices.Equal(other.Path[:len(f.Path)], f.Path)
}

// adopt notes of what the value of a field was made.
func (r *resolver) adopt(f Field, value any, names []string) {
	r.document = f.Document
	e := &evaluation{values: r.values}
	first, _ := object.Lookup(r.renders.First.Documents[f.Document].Value, f.Path)
	eachText(first, nil, func(_ []any, s string) {
		_, _ = e.text(r.index.parse(s), false) // the reasons and names that are found on the way
	})
	for _, h := range r.housed {
		if slices.ContainsFunc(h.fields, func(other Field) bool { return f.holds(other) || other.holds(f) }) {
			e.note(h.reason, false)
			e.name(h.home)
		}
	}
	for _, name := range names {
		if !slices.Contains(e.names, name) {
			e.names = append(e.names, name)
		}
	}
	if len(e.reasons) == 0 {
		e.reasons = []string{ReasonMade}
	}
	isSecret := slices.ContainsFunc(slices.Collect(maps.Values(tokenKinds)), func(k tokenKind) bool {
		return k.secret && slices.Contains(e.reasons, k.function)
	})
	if isSecret || inData(r.renders.Plain.Documents[f.Document].Value, f.Path) {
		eachText(value, nil, func(_ []any, s string) {
			e.secret(s)
			if decoded, err := encoding(lettersOf(s), padded).DecodeString(s); err == nil {
				e.secret(string(decoded))
			}
		})
	}
	r.derived(f.Path, e.reasons, e.names)
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
