package redact

import (
	"errors"
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
// The zero value is ready for use. A nil *Values knows no values; as with a nil
// map, only Add panics. Values is safe for concurrent use.
type Values struct {
	mu     sync.Mutex
	known  map[string]bool
	text   *scanner // for Text, made when it is needed first
	holder *holder  // for In, likewise
}

// Add makes a value known. It is cheap: forms are computed by the first Text or
// In that follows, and most requests end without an error.
func (v *Values) Add(secret string) {
	if strings.TrimSpace(secret) == "" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known[secret] {
		return
	}
	if v.known == nil {
		v.known = make(map[string]bool)
	}
	v.known[secret] = true
	v.text, v.holder = nil, nil
}

// Text returns s with "(secret)" in place of every known value. It takes time in
// proportion to the length of s, however many values there are.
func (v *Values) Text(s string) string {
	if v == nil || s == "" {
		return s
	}
	v.mu.Lock()
	if v.text == nil {
		v.text = newScanner(v.known)
	}
	scan := v.text
	v.mu.Unlock()
	return scan.replace(s)
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
	clean := &redacted{err: err, text: v.Text(text), hint: v.Text(hint)}
	if clean.text == text && clean.hint == hint {
		return err
	}
	return clean
}

// In reports whether a known value stands in s, as it is or in base64. Values
// of less than 8 bytes, not counting white space around them, are passed over:
// they stand in many places by chance. Its time does not depend on how many
// values there are.
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
