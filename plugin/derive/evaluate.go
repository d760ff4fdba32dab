package derive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// leastSecret is from how many letters on a value is looked for in other texts: what is
// shorter stands in them by chance.
const leastSecret = 8

// values makes the values of one render, each once.
type values struct {
	ctx          context.Context //nolint:containedctx // of one call of Resolve
	options      Options
	index        *index
	pairs        *pairing
	certificates *certificates
	made         map[string]string
	secrets      map[string]bool
	// lettersOf tells the letters of base64 in the input of a hash by a field that has
	// the same.
	lettersOf func(*piece) letters64
}

// evaluation is that of one field.
type evaluation struct {
	*values
	inSecret       bool // the field is part of a Secret's data
	reasons, names []string
	until          time.Time
}

// text returns what a text is with values in place of its frames and blocks. Inside
// says that it is the input of a function.
func (e *evaluation) text(t text, inside bool) (string, error) {
	var b strings.Builder
	for i := range t {
		p := &t[i]
		var s string
		var err error
		switch p.kind {
		case literal:
			s = p.raw
		case token:
			if s, err = e.token(p, inside); err == nil && p.function == 'p' && !inside {
				s, err = t.escaped(i, s)
				e.secret(s)
			}
		case computed:
			s, err = e.computed(p, inside)
		case encoded:
			s, err = e.encoded(p, inside)
		case block:
			s, err = e.block(p, inside)
		case broken:
			err = errors.New(p.text)
		}
		if err != nil {
			return "", err
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

var errLetters = errors.New("it cannot be told which of the two alphabets its base64 has")

func (e *evaluation) encoded(p *piece, inside bool) (string, error) {
	s, err := e.text(p.parts, inside)
	if err != nil {
		return "", err
	}
	s = encoding(p.letters64, p.padding).EncodeToString([]byte(s))
	if p.letters64 != eitherLetters || lettersOf(s) == eitherLetters {
		return s, nil
	}
	letters := eitherLetters
	if inside {
		letters = e.lettersOf(p) // those of the field that the hash is over
	}
	switch letters {
	case eitherLetters:
		return "", errLetters
	case urlLetters:
		s = toURL.Replace(s)
	}
	return s, nil
}

var toURL = strings.NewReplacer("+", "-", "/", "_")

var escapeQuoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// Escape returns a text of printable ASCII as it stands in double quotes.
func Escape(text string) string { return escapeQuoted.Replace(text) }

// escaped returns a value of printable ASCII as it has to be written in the text round
// it, which a frame of letters and digits does not show.
func (t text) escaped(i int, value string) (string, error) {
	switch {
	case t.whole() != nil:
		return value, nil
	case t.quoted(i):
		return Escape(value), nil
	}
	return "", errors.New("randAscii stands inside a text that is not known to take all of its letters")
}

// lives notes the home of a value and returns it.
func (e *evaluation) lives(key string, p *piece, inside bool) (home, error) {
	h, ok := e.index.homes[key]
	switch {
	case !ok:
		return home{}, errors.New("a random value in it is not found among the objects")
	case e.index.unclear[key]:
		return home{}, errUnclear
	case e.index.twins[h.id]:
		return home{}, errTwins(h)
	}
	e.note(p.reason(), inside)
	e.name(h)
	return h, nil
}

var errUnclear = errors.New("it cannot be told which of the random values its checksum is over")

func errTwins(h home) error {
	return fmt.Errorf("there are several objects of the kind %s without a name whose generateName is %q, so their random values cannot be told apart",
		h.id.Kind, strings.TrimSuffix(h.id.Name, "%"))
}

func (e *evaluation) name(h home) {
	if name := h.name(); !slices.Contains(e.names, name) {
		e.names = append(e.names, name)
	}
}

func (e *evaluation) note(reason string, inside bool) {
	if !inside && reason != "" && !slices.Contains(e.reasons, reason) {
		e.reasons = append(e.reasons, reason)
	}
}

// stream is that of a value which lives in h. What the chart asks for is part of it: a
// longer password does not begin with the shorter one that it replaces, so nobody who
// knows that one knows a part of this.
func (e *evaluation) stream(h home, function, request string) io.Reader {
	identity := append(h.identity(), function, e.options.generationOf(h.name()), request)
	return e.options.stream(identity...)
}

func (e *evaluation) token(p *piece, inside bool) (string, error) {
	key := e.index.resolve(p.key())
	h, err := e.lives(key, p, inside)
	if err != nil {
		return "", err
	}
	value, ok := e.made[key]
	if !ok {
		if value, err = p.value(e.stream(h, p.reason(), p.size)); err != nil {
			return "", err
		}
		e.made[key] = value
	}
	value = p.letters.as(value)
	if tokenKinds[p.function].secret || h.inData() {
		e.secret(value)
	}
	return value, nil
}

func (e *evaluation) secret(value string) {
	if len(value) >= leastSecret {
		e.secrets[value] = true
	}
}

func (e *evaluation) computed(p *piece, inside bool) (string, error) {
	var h home
	var err error
	e.note(p.reason(), inside)
	key := e.index.resolve(p.key())
	if salted(p.name) {
		if h, err = e.lives(key, p, inside); err != nil {
			return "", err
		}
	}
	input, err := e.text(p.parts, true)
	if err != nil {
		return "", err
	}
	if !salted(p.name) {
		value, err := compute(p.name, input, nil)
		if e.inSecret && !inside && e.pairs.random(p.parts) {
			e.secret(value)
		}
		return value, err
	}
	value, ok := e.made[key]
	if !ok {
		if value, err = compute(p.name, input, e.stream(h, p.reason(), input)); err != nil {
			return "", err
		}
		e.made[key] = value
	}
	if p.name == "shuffle" {
		e.secret(value)
	}
	return value, nil
}

func (e *evaluation) block(p *piece, inside bool) (string, error) {
	if err := e.ctx.Err(); err != nil {
		return "", err
	}
	if e.pairs.constant(p.key()) {
		return p.raw, nil
	}
	key := e.index.resolve(p.key())
	if e.index.unclear[key] {
		return "", errUnclear
	}
	text := strings.TrimPrefix(key, blockKey)
	for _, at := range e.certificates.places(text) {
		if e.index.twins[at.id] {
			return "", errTwins(at)
		}
	}
	made, reason, until, err := e.certificates.replace(text)
	if err != nil {
		return "", err
	}
	e.note(reason, inside)
	for _, at := range e.certificates.places(text) {
		e.name(at)
	}
	if e.until.IsZero() || !until.IsZero() && until.Before(e.until) {
		e.until = until
	}
	if strings.Contains(blockType(made), "PRIVATE KEY") {
		e.secret(made)
	}
	return p.write(made), nil
}

// inData reports whether h is in the data of a Secret.
func (h home) inData() bool {
	return h.id.Group == "" && h.id.Kind == "Secret" && strings.HasPrefix(h.pointer, "/data/")
}

// inData reports whether a path leads into the data of a Secret.
func inData(document map[string]any, path []any) bool {
	o, path := owner(document, path)
	return o.IsSecret() && len(path) > 0 && (path[0] == "data" || path[0] == "stringData")
}

// isIdentity reports whether a path of a document is one of the fields by which objects
// are told apart, of the document or of an object inside of it.
func isIdentity(document map[string]any, path []any) bool {
	_, inner := owner(document, path)
	if len(inner) == 1 && (inner[0] == "apiVersion" || inner[0] == "kind") {
		return true
	}
	if len(path) < 2 || path[len(path)-2] != "metadata" {
		return false
	}
	last, _ := path[len(path)-1].(string)
	return last == "name" || last == "generateName" || last == "namespace"
}
