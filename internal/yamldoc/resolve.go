package yamldoc

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// firstChars says what a plain scalar can be, judged by its first byte. The
// kinds are those of the library's resolve table.
var firstChars = func() (t [256]byte) {
	set := func(kind byte, chars string) {
		for i := range len(chars) {
			t[chars[i]] = kind
		}
	}
	set(maybeWord, "yYnNtTfFoO~")
	set(maybeNumber, "0123456789+-.")
	set(notPlain, "?,[]{}#&*!|>'\"%@` \t\n")
	return t
}()

const (
	plainString = iota // the zero value
	maybeWord
	maybeNumber
	notPlain // an indicator: not a plain scalar at all
)

// word resolves the words of YAML 1.1 that are not strings, less the spellings
// of NaN and infinity, which have no value in JSON.
func word(s string) (v any, ok bool) {
	switch s {
	case "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y":
		return true, true
	case "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N":
		return false, true
	case "null", "Null", "NULL", "~":
		return nil, true
	}
	return nil, false
}

// stringKey reports whether a plain key surely is a string. Keys of other types
// and merge keys are the library's business.
func stringKey(s string) bool {
	switch firstChars[s[0]] {
	case maybeWord:
		_, ok := word(s)
		return !ok
	case maybeNumber:
		if !numeric(s) {
			return true
		}
		v, ok := number(s)
		_, isString := v.(string)
		return ok && isString
	}
	return s != "<<"
}

// resolve gives a plain scalar its value. It declines NaN and infinity.
func (p *fast) resolve(s string) (any, bool) {
	switch firstChars[s[0]] {
	case maybeWord:
		if len(s) <= len("false") {
			if v, ok := word(s); ok {
				return v, true
			}
		}
	case maybeNumber:
		if numeric(s) {
			return number(s)
		}
	}
	return p.box(s), true
}

// numeric reports whether s has no character that cannot be part of a number
// (nor of ".nan" and ".inf"). Timestamps count as strings, as for the library.
func numeric(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		case c == '.', c == '_', c == '+', c == '-':
		case c == 'x', c == 'X', c == 'o', c == 'O', c == 'i', c == 'I', c == 'n', c == 'N', c == 'p', c == 'P':
		default:
			return false
		}
	}
	return true
}

var floatForm = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// number resolves a scalar that begins with a digit, a sign or a dot in the
// order in which the library's resolve tries the forms.
func number(s string) (any, bool) {
	switch strings.TrimLeft(strings.ToLower(s), "+-") {
	case ".nan", ".inf":
		return nil, false
	}
	if s[0] == '.' {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return fromFloat(f), true
		}
		return s, true
	}
	plain := s
	if strings.IndexByte(s, '_') >= 0 {
		plain = strings.ReplaceAll(s, "_", "")
	}
	if i, err := strconv.ParseInt(plain, 0, 64); err == nil {
		return i, true
	}
	if u, err := strconv.ParseUint(plain, 0, 64); err == nil {
		return float64(u), true
	}
	if floatForm.MatchString(plain) {
		if f, err := strconv.ParseFloat(plain, 64); err == nil {
			return fromFloat(f), true
		}
	}
	// ParseInt has dealt with 0b, except for a sign behind the prefix.
	if strings.HasPrefix(plain, "0b") || strings.HasPrefix(plain, "-0b") {
		sign, digits, _ := strings.Cut(plain, "0b")
		if _, err := strconv.ParseInt(sign+digits, 2, 64); err == nil {
			return nil, false
		}
	}
	return s, true
}

// fromFloat gives the value that a float has after its way through JSON, where
// a whole number has no fraction to tell it from an integer: 1.0 is the integer
// 1, and 1e20, too large for an int64, stays a float.
func fromFloat(f float64) any {
	const exact = 1 << 53
	if f != math.Trunc(f) || math.Abs(f) >= 1e21 {
		return f
	}
	if math.Abs(f) < exact {
		return int64(f)
	}
	// The digits of JSON's shortest form, not those of the exact value.
	if i, err := strconv.ParseInt(strconv.FormatFloat(f, 'f', -1, 64), 10, 64); err == nil {
		return i
	}
	return f
}
