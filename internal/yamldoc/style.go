package yamldoc

import (
	"strings"
	"unicode/utf8"
)

type style int

const (
	stylePlain style = iota
	styleLiteral
	styleQuoted
)

// innerChars says what a byte means inside a plain scalar.
var innerChars = func() (t [256]byte) {
	for c := range t {
		if c < 0x20 || c == 0x7f {
			t[c] = innerQuote
		}
	}
	t[' '], t[':'], t['#'] = innerCheck, innerCheck, innerCheck
	t['\n'] = innerBreak
	t['\t'] = innerTab
	for c := utf8.RuneSelf; c < len(t); c++ {
		t[c] = innerRune
	}
	return t
}()

const (
	innerPlain = iota // the zero value
	innerCheck        // depends on its neighbour
	innerRune
	innerTab
	innerBreak
	innerQuote
)

// stringStyle chooses how to print a string: plain if every reader reads a plain
// scalar back as the same string, literal if it has line breaks and reads back
// exactly, otherwise quoted.
func stringStyle(s string) style {
	if s == "" {
		return styleQuoted
	}
	plain, lines := true, false
	for i := 0; i < len(s); {
		kind := innerChars[s[i]]
		if kind == innerPlain {
			i++
			continue
		}
		switch kind {
		case innerCheck:
			switch {
			case s[i] == ':':
				plain = plain && i+1 < len(s) && s[i+1] != ' '
			case s[i] == '#':
				plain = plain && i > 0 && s[i-1] != ' '
			default:
				plain = plain && i > 0 && i+1 < len(s)
			}
		case innerTab:
			plain = false
		case innerBreak:
			plain, lines = false, true
		case innerQuote:
			return styleQuoted
		case innerRune:
			r, size := utf8.DecodeRuneInString(s[i:])
			if !plainRune(r) || r == utf8.RuneError && size == 1 {
				return styleQuoted
			}
			i += size
			continue
		}
		i++
	}
	if plain && plainStart(s) {
		return stylePlain
	}
	if lines {
		// Blanks at the start of the first line with content would count as
		// indentation, and a scalar of line breaks alone has no such line.
		first := strings.TrimLeft(s, "\n")
		if first != "" && first[0] != ' ' && first[0] != '\t' {
			return styleLiteral
		}
	}
	return styleQuoted
}

// plainStart judges a string of harmless characters by its beginning: whether it
// could be an indicator, or a word or number of YAML 1.1 or 1.2.
func plainStart(s string) bool {
	switch c := s[0]; {
	case firstChars[c] == notPlain || c == ':' || c == '~':
		return false
	case c == '=':
		return s != "=" // the "default value" type of YAML 1.1
	case c == '<':
		return s != "<<"
	case c == '-' && (len(s) == 1 || !wordChar(s[1]) || strings.HasPrefix(s, "---")):
		return false
	case c == '.' && strings.HasPrefix(s, "..."):
		return false
	case firstChars[c] == maybeNumber:
		return !numberLike(s)
	case firstChars[c] == maybeWord && len(s) <= len("false"):
		return !wordLike(s)
	}
	return true
}

func wordChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.'
}

// wordLike is wider than any reader: all spellings in all mixtures of case.
func wordLike(s string) bool {
	switch is := func(word string) bool { return strings.EqualFold(s, word) }; len(s) {
	case 1:
		return is("y") || is("n")
	case 2:
		return is("no") || is("on")
	case 3:
		return is("yes") || is("off")
	case 4:
		return is("true") || is("null")
	case 5:
		return is("false")
	}
	return false
}

// numberLike reports whether s is made of the characters of numbers in every
// base, of base 60, of version-like floats and of timestamps. That is wider than
// any reader, and costs no more than quotes round "1.2.3".
func numberLike(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		case strings.IndexByte("._,:+- xXoOpPtTzZ", c) >= 0:
		default:
			switch strings.ToLower(strings.TrimLeft(s, "+-")) {
			case ".inf", ".nan":
				return true
			}
			return false
		}
	}
	return true
}
