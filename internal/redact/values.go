package redact

import (
	"errors"
	"slices"
	"strings"
	"sync"
)

// mark stands in a text for what was taken out of it.
const mark = "(secret)"

// Values knows the secret values of one request and takes them out of text that
// people read. The text of an engine's error quotes what the engine was given,
// in forms of the engine's own, so a value is looked for in all of these:
//
//   - as it is, without the white space around it, with one space for the white
//     space in it, with U+FFFD for what is no UTF-8, and all in lower or upper
//     case, because templates call trim, lower and upper (of a value of more than
//     4 KiB the case stays: it is a file), and a message is one line;
//   - each line of a value that has several, without the white space around it,
//     because a block of YAML is indented anew; a line has at least 4 bytes;
//   - as %q, %+q, JSON (with and without escapes for HTML) and both quoted styles
//     of YAML write it between their quotes, also with %q around that, because
//     errors quote errors; percent-encoded as in the path, the query and the
//     user part of a URL; as a token of a JSON pointer,
//     and as the functions html and js of templates write it;
//   - in base64, standard and URL alphabet, with and without padding, also inside
//     the base64 of a longer text, because that is what Secrets are made of; in
//     hexadecimal and as the list of numbers that %v makes of bytes;
//   - a number also in the notations of other engines, because a decoder that
//     reads 12345678 as a float prints 1.2345678e+07;
//   - its beginning, of 4 bytes or more, in front of "..." or "…" (with a
//     space between, or none), because decoders, templates and packages of ours
//     cut what they quote.
//
// All that is found goes, also where two values overlap. What is found side by
// side becomes one "(secret)".
//
// Some values would take half of a message with them. A value (or a form of it)
// of less than 4 bytes, and one that is a word of YAML such as true or null, goes
// only where it stands alone between quotes or backquotes, as engines print a
// value: with every 1 replaced, no line number would be left. White space around
// it does not count, and what is nothing but white space is no secret.
//
// Anybody can encrypt for a public key, and a value has up to a hundred forms. So
// there are bounds, and behind them Values is full: it forgets what it knows, and
// every message is withheld. The bounds are far from what a request has that is
// not made to reach them.
//
// The zero value is ready for use. A nil *Values knows no values; as with a nil
// map, only the methods that add panic. Values is safe for concurrent use.
type Values struct {
	mu sync.Mutex
	// known has the values, and whether their lines are values too.
	known map[string]bool
	// searched has, for the texts of Search, how deep they were searched.
	searched map[string]int
	// The bytes of known and searched, and of all forms that were built so far.
	bytes, looked, built int
	full                 bool
	text                 *scanner // for Text, made when it is needed first
	holder               *holder  // for In, likewise
}

// The bounds of what one request has known. They keep what a request can be made to
// remember, and one text to be redacted, below a second and about 64 MiB each. 10,000
// addresses of 70 bytes reach 60 % of maxValues, 40 % of maxBytes and 55 % of maxBuilt;
// 10,000 random passwords, or 500 keys of RSA in base64, less.
const (
	// maxValues and maxBytes bound the values, and with them what In needs.
	maxValues = 64 << 10
	maxBytes  = 4 << 20
	// maxLooked bounds the texts that are searched for inner values.
	maxLooked = 4 << 20
	// maxKept is the size up to which all forms stay in memory for the next text. If
	// there are more, only those are built up that can be in the text at hand.
	maxKept = 8 << 20
	// maxBuilt bounds the bytes of all forms that are made for one text, however few
	// are kept, and maxBuiltEver those for all texts together.
	maxBuilt     = 256 << 20
	maxBuiltEver = 4 * maxBuilt
	// maxText is the length at which a text is cut. Nobody reads on.
	maxText = 256 << 10
)

const (
	withheld = "the message is withheld: more was decrypted than can be looked for in it"
	hintFull = "split what is rendered, so that less is decrypted at once"
	// Unsearched says that objects were not searched with In because Full. Text and
	// Error leave it as it is.
	Unsearched = "decrypted values outside of Secrets were not looked for: more was decrypted than can be looked for"
)

// FullError is about a request whose Values are full. Its text passes Error, so it
// must not have anything from the request in it.
type FullError struct{ Msg string }

func (e *FullError) Error() string { return e.Msg }

// Add makes a value known. It is cheap: forms are computed by the first Text or
// In that follows, and most requests end without an error.
func (v *Values) Add(secret string) { v.add(secret, true) }

// AddWhole is Add for a text with lines that are no secrets by themselves.
func (v *Values) AddWhole(secret string) { v.add(secret, false) }

func (v *Values) add(secret string, lines bool) {
	if strings.TrimSpace(secret) == "" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.full {
		return
	}
	had, known := v.known[secret]
	switch {
	case known && (had || !lines):
		return
	case !known:
		v.bytes += len(secret)
	}
	if v.bytes > maxBytes || len(v.known) >= maxValues {
		v.fill()
		return
	}
	if v.known == nil {
		v.known = make(map[string]bool)
	}
	v.known[secret] = lines
	v.text, v.holder = nil, nil
}

// Search reports whether the values that a text holds have yet to be found, depth
// levels deep, and added. The same text is searched once.
func (v *Values) Search(text string, depth int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.full || v.searched[text] >= depth {
		return false
	}
	if v.looked += len(text); v.looked > maxLooked || len(v.searched) >= maxValues {
		v.fill()
		return false
	}
	if v.searched == nil {
		v.searched = make(map[string]int)
	}
	v.searched[text] = depth
	return true
}

// fill makes v full.
func (v *Values) fill() {
	v.full = true
	v.known, v.searched, v.text, v.holder = nil, nil, nil, nil
}

// Full reports whether more was added than can be looked for.
func (v *Values) Full() bool {
	if v == nil {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.full
}

// Text returns s with "(secret)" in place of every known value, or a sentence in
// place of s if v is full. It takes time in proportion to the length of s, however
// many values there are; of a very long text it returns the beginning.
func (v *Values) Text(s string) string { return v.texts(s)[0] }

func (v *Values) texts(list ...string) []string {
	if v == nil || !slices.ContainsFunc(list, func(s string) bool { return s != "" }) {
		return list
	}
	v.mu.Lock()
	if len(v.known) > 0 {
		for i, s := range list {
			if len(s) > maxText {
				list[i] = strings.ToValidUTF8(s[:maxText], "") + "..."
			}
		}
	}
	scan := v.scanner(list)
	v.mu.Unlock()
	for i, s := range list {
		switch {
		case scan != nil:
			list[i] = scan.replace(s)
		case s != "" && s != Unsearched && s != hintFull:
			list[i] = withheld
		}
	}
	return list
}

// scanner returns one for these texts, or nil if v is full.
func (v *Values) scanner(texts []string) *scanner {
	if v.full || v.text != nil {
		return v.text
	}
	b := &builder{texts: texts, left: min(maxBuilt, maxBuiltEver-v.built), inQuotes: make(map[string]bool)}
	for value, lines := range v.known {
		if !b.add(value, lines) {
			v.fill()
			return nil
		}
	}
	v.built += b.made
	scan := b.scanner()
	if b.found == nil {
		v.text = scan // it will do for every text that follows
	}
	return scan
}

// Error returns err with a text and a hint (a method Hint() string, as package
// diag has it) that hold no known value. The result unwraps to err, for errors.Is
// and errors.As: whoever shows the text of an error that was found in this way
// has to pass that through Text. It is nil for nil, and err itself where nothing
// has to be taken out.
func (v *Values) Error(err error) error {
	if v == nil || err == nil {
		return err
	}
	var hinted interface {
		error
		Hint() string
	}
	hint := ""
	if errors.As(err, &hinted) {
		hint = hinted.Hint()
	}
	text := err.Error()
	clean := &redacted{err: err}
	list := v.texts(text, hint)
	clean.text, clean.hint = list[0], list[1]
	if v.Full() {
		clean.text, clean.hint = withheld, hintFull
		if full := (*FullError)(nil); errors.As(err, &full) {
			clean.text = full.Msg
		}
	}
	if clean.text == text && clean.hint == hint {
		return err
	}
	return clean
}

// In reports whether a known value stands in s, as it is or in base64. Values
// of less than 8 bytes, not counting white space around them, are passed over:
// they stand in many places by chance. Its time does not depend on how many
// values there are. It reports false if v is full.
func (v *Values) In(s string) bool {
	if v == nil {
		return false
	}
	v.mu.Lock()
	if v.holder == nil {
		v.holder = newHolder(v.known)
	}
	h := v.holder
	v.mu.Unlock()
	return h.holds(s)
}

type redacted struct {
	err        error
	text, hint string
}

func (r *redacted) Error() string { return r.text }
func (r *redacted) Unwrap() error { return r.err }

// Hint returns the remedy, see package diag.
func (r *redacted) Hint() string { return r.hint }
