package yamldoc

import (
	"encoding/binary"
	"unicode/utf8"
)

// What classify finds in a text.
const (
	declined = 1 << iota // characters that the fast reader leaves to the library
	hasTab
)

// classify looks at every character of text once. Declined are characters that
// YAML forbids, all line breaks but "\n", byte order marks and invalid UTF-8.
func classify(text string) (flags int) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for i := 0; i < len(text); {
		// Eight bytes at a time: printable ASCII needs no further look.
		if i+8 <= len(text) {
			w := binary.LittleEndian.Uint64([]byte(text[i : i+8]))
			control := (w - ones*0x20) &^ w
			del := w ^ ones*0x7f
			if (control|w|(del-ones)&^del)&high == 0 {
				i += 8
				continue
			}
		}
		end := min(i+8, len(text))
		for i < end {
			switch c := text[i]; {
			case c >= 0x20 && c < 0x7f, c == '\n':
				i++
			case c == '\t':
				flags |= hasTab
				i++
			case c < utf8.RuneSelf:
				return declined
			default:
				r, size := utf8.DecodeRuneInString(text[i:])
				if !plainRune(r) || r == utf8.RuneError && size == 1 {
					return declined
				}
				i += size
			}
		}
	}
	return flags
}

// plainRune reports whether a character beyond ASCII is allowed in YAML and has
// no meaning as a line break or a byte order mark.
func plainRune(r rune) bool {
	switch r {
	case 0x2028, 0x2029, 0xfeff, 0xfffe, 0xffff:
		return false
	}
	return r >= 0xa0
}

// forbidden finds the first character that no YAML text may contain.
func forbidden(text []byte) (offset int, r rune, found bool) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return i, r, true
		case r == '\t', r == '\n', r == '\r', r == 0x85:
		case r < 0x20, r >= 0x7f && r < 0xa0, r == 0xfffe, r == 0xffff:
			return i, r, true
		}
		i += size
	}
	return 0, 0, false
}

// invalidUTF8 finds the first byte that is not UTF-8.
func invalidUTF8(text []byte) (offset int, found bool) {
	if utf8.Valid(text) {
		return 0, false
	}
	for i := 0; ; {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size <= 1 {
			return i, true
		}
		i += size
	}
}

// jsonDepth returns the offset at which brackets first nest deeper than limit,
// or -1.
func jsonDepth(text []byte, limit int) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted:
			if c == '\\' {
				i++
			} else if c == '"' {
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '[' || c == '{':
			if depth++; depth > limit {
				return i
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return -1
}
