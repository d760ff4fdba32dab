package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"
	"unicode/utf8"
)

const (
	// minForm is the length from which on a form is replaced wherever it stands.
	minForm = 4
	// maxToken is the longest value that is also looked for in upper and lower case
	// and quoted twice. Templates and messages do that to a name or a token, not
	// to a whole file. A longer one is taken in parts of this length.
	maxToken = 4 << 10
)

// words are what YAML and Go write for values that nobody keeps secret.
var words = []string{"true", "false", "null", "none", "<nil>"}

// anywhere reports whether a value or a form of one is replaced wherever it
// stands, and not only in quotes.
func anywhere(form string) bool {
	form = strings.TrimSpace(form)
	return len(form) >= minForm &&
		!slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(form, word) })
}

// forms calls yield with what engines may print for a value, and for its lines. The
// same form may come more than once.
func forms(value string, lines bool, yield func(string)) {
	token := len(value) <= maxToken
	for rest := value; rest != ""; {
		var chunk string
		chunk, rest = cutChunk(rest)
		trimmed := strings.TrimSpace(chunk)
		for _, whole := range add(nil, chunk, trimmed, folded(chunk), strings.ToValidUTF8(chunk, replacement), string([]rune(chunk))) {
			for _, cased := range cases(whole, token) {
				each(quoted(cased, token), yield)
				base64Forms(cased, yield)
			}
			if anywhere(whole) {
				digits := hex.EncodeToString([]byte(whole))
				yield(digits)
				yield(strings.ToUpper(digits))
				yield(byteList(whole))
			}
		}
		if lines && strings.Contains(trimmed, "\n") {
			lineForms(trimmed, token, yield)
		}
	}
	if !token {
		return
	}
	for _, number := range numbers(strings.TrimSpace(value)) {
		each(quoted(number, false), yield)
		base64Forms(number, yield)
	}
}

func lineForms(text string, token bool, yield func(string)) {
	seen := make(map[string]bool)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if len(line) < minForm || seen[line] {
			continue
		}
		seen[line] = true
		for _, whole := range add(nil, line, folded(line)) {
			base64Forms(whole, yield)
			for _, cased := range cases(whole, token) {
				each(quoted(cased, token), yield)
			}
		}
	}
}

// cutChunk takes the next part of a long value. A value is a file of any size, and
// a form of it several times as long: only those of one part are in memory at once.
// The part that follows repeats the end of this one, so that the forms of both
// overlap.
func cutChunk(value string) (chunk, rest string) {
	const overlap = 16
	if len(value) <= maxToken {
		return value, ""
	}
	end := maxToken
	for n := 1; n < utf8.UTFMax && !utf8.RuneStart(value[end]); n++ {
		end--
	}
	begin := end - overlap
	for n := 1; n < utf8.UTFMax && !utf8.RuneStart(value[begin]); n++ {
		begin--
	}
	return value[:end], value[begin:]
}

func each(list []string, yield func(string)) {
	for _, s := range list {
		yield(s)
	}
}

// add appends what is not in the list, which is short.
func add(list []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// byteList is s as %v prints bytes, without the brackets.
func byteList(s string) string {
	list := make([]byte, 0, len("255 ")*len(s))
	for i := range len(s) {
		list = append(strconv.AppendUint(list, uint64(s[i]), 10), ' ')
	}
	return strings.TrimSuffix(string(list), " ")
}

// replacement is what stands for a byte that is no UTF-8.
const replacement = string(utf8.RuneError)

// folded is s with a single space in place of white space: a message is one line.
func folded(s string) string { return strings.Join(strings.Fields(s), " ") }

// cases returns s and, for a token, its other cases.
func cases(s string, token bool) []string {
	if !token {
		return []string{s}
	}
	return add([]string{s}, strings.ToLower(s), strings.ToUpper(s))
}

// quoted returns s and the ways to write it between quotes and in a URL.
func quoted(s string, token bool) []string {
	query := url.QueryEscape(s)
	if query == s && !strings.Contains(s, "~") {
		return []string{s} // nothing in it that any of the others escapes
	}
	inGo := goQuoted(s)
	out := add(make([]string, 0, 8), s, inGo, inner(strconv.QuoteToASCII(s)), jsonQuoted(s, true))
	if strings.ContainsAny(s, "<>&") {
		out = add(out, jsonQuoted(s, false))
	}
	out = add(out, yamlDoubleQuoted(s), strings.ReplaceAll(s, "'", "''"), pointer.Replace(s),
		template.HTMLEscapeString(s), template.JSEscapeString(s))
	if token {
		for _, once := range out {
			if inGo != s || strings.ContainsAny(once, `"\\`) {
				out = add(out, goQuoted(once))
			}
		}
	}
	user := url.UserPassword("", s).String()
	return add(out, query, url.PathEscape(s), strings.TrimPrefix(user, ":"))
}

// pointer escapes a token of a JSON pointer (RFC 6901).
var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// inner takes the quotes off.
func inner(s string) string { return s[1 : len(s)-1] }

func goQuoted(s string) string { return inner(strconv.Quote(s)) }

func jsonQuoted(s string, html bool) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(html)
	if err := encoder.Encode(s); err != nil {
		return s // a string always has a JSON form
	}
	return inner(strings.TrimSuffix(b.String(), "\n"))
}

// yamlEscapes are those of libyaml's emitter and of its ports to Go, which also
// escape what is beyond U+FFFF.
var yamlEscapes = map[rune]string{
	0: `\0`, '\a': `\a`, '\b': `\b`, '\t': `\t`, '\n': `\n`, '\v': `\v`, '\f': `\f`, '\r': `\r`, 0x1b: `\e`,
	'"': `\"`, '\\': `\\`, 0x85: `\N`, 0xa0: `\_`, 0x2028: `\L`, 0x2029: `\P`,
}

func yamlDoubleQuoted(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r >= ' ' && r < 0x7f && r != '"' && r != '\\' {
			b.WriteByte(s[i])
			continue
		}
		escape, ok := yamlEscapes[r]
		switch {
		case ok:
			b.WriteString(escape)
		case r == utf8.RuneError || r <= 0xffff && unicode.IsPrint(r):
			// Also a byte that is not UTF-8, which r stands for.
			_, size := utf8.DecodeRuneInString(s[i:])
			b.WriteString(s[i : i+size])
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02X`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	return b.String()
}

// base64Forms calls yield with s in base64, alone and inside of a longer text.
func base64Forms(s string, yield func(string)) {
	whole := base64.StdEncoding.EncodeToString([]byte(s))
	raw := strings.TrimRight(whole, "=")
	list := []string{whole, raw}
	if anywhere(s) {
		// The whole begins with what the first of these is.
		list = append(base64Inside(s), whole[max(0, len(whole)-maxPiece):], raw[max(0, len(raw)-maxPiece):])
	}
	for _, form := range list {
		yield(form)
		if strings.ContainsAny(form, "+/") {
			yield(toURL.Replace(form))
		}
	}
}

// toURL makes the URL alphabet of base64 of the standard one.
var toURL = strings.NewReplacer("+", "-", "/", "_")

// base64Inside returns what the base64 of any longer text has in it where s is
// in the text: for each of the three places that s can begin at in a group of
// three bytes, the characters that depend on s alone.
func base64Inside(s string) []string {
	var out []string
	for before := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte("\x00\x00"[:before] + s))
		from := (before*8 + 5) / 6 // the first that has no bit of what is before
		to := (before + len(s)) * 8 / 6
		out = append(out, text[from:to])
	}
	return out
}

// numbers returns the notations of a number, or nothing where s is none.
func numbers(s string) []string {
	var out []string
	if i, err := strconv.ParseInt(s, 0, 64); err == nil {
		// Of 0x1F, 0o17 and 1_000 decoders of YAML print the decimal.
		out = append(out, strconv.FormatInt(i, 10))
		out = append(out, notations(float64(i))...)
	}
	if u, err := strconv.ParseUint(s, 0, 64); err == nil {
		out = append(out, strconv.FormatUint(u, 10))
		out = append(out, notations(float64(u))...)
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		out = append(out, notations(f)...)
	}
	return out
}

func notations(f float64) []string {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil
	}
	out := []string{fmt.Sprint(f), strconv.FormatFloat(f, 'f', 6, 64)}
	for _, format := range []byte("fgGeE") {
		out = append(out, strconv.FormatFloat(f, format, -1, 64))
	}
	if text, err := json.Marshal(f); err == nil {
		out = append(out, string(text))
	}
	return out
}
