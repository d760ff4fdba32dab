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
	// to a whole file, for which it would take seconds.
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

// forms returns what engines may print for a value; the same form may be in it
// more than once.
func forms(value string) []string {
	var out []string
	trimmed, token := strings.TrimSpace(value), len(value) <= maxToken
	for _, whole := range unique(value, trimmed, folded(value), strings.ToValidUTF8(value, replacement), string([]rune(value))) {
		for _, cased := range cases(whole, token) {
			out = append(out, quoted(cased, token)...)
			out = append(out, base64Forms(cased)...)
		}
		if anywhere(whole) {
			digits := hex.EncodeToString([]byte(whole))
			list := fmt.Sprint([]byte(whole))
			out = append(out, digits, strings.ToUpper(digits), list[1:len(list)-1])
		}
	}
	for _, number := range numbers(trimmed) {
		out = append(append(out, quoted(number, false)...), base64Forms(number)...)
	}
	if strings.Contains(trimmed, "\n") {
		seen := make(map[string]bool)
		for line := range strings.Lines(trimmed) {
			line = strings.TrimSpace(line)
			if len(line) < minForm || seen[line] {
				continue
			}
			seen[line] = true
			for _, whole := range unique(line, folded(line)) {
				out = append(out, base64Forms(whole)...)
				for _, cased := range cases(whole, token) {
					out = append(out, quoted(cased, token)...)
				}
			}
		}
	}
	return out
}

// replacement is what stands for a byte that is no UTF-8.
const replacement = string(utf8.RuneError)

// folded is s with a single space in place of white space: a message is one line.
func folded(s string) string { return strings.Join(strings.Fields(s), " ") }

// unique drops repetitions.
func unique(list ...string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// cases returns s and, for a token, its other cases.
func cases(s string, token bool) []string {
	if !token {
		return []string{s}
	}
	return []string{s, strings.ToLower(s), strings.ToUpper(s)}
}

// quoted returns s and the ways to write it between quotes and in a URL.
func quoted(s string, token bool) []string {
	query := url.QueryEscape(s)
	if query == s && !strings.Contains(s, "~") {
		return []string{s} // nothing in it that any of the others escapes
	}
	out := []string{
		s, goQuoted(s), inner(strconv.QuoteToASCII(s)), jsonQuoted(s, true), jsonQuoted(s, false),
		yamlDoubleQuoted(s), strings.ReplaceAll(s, "'", "''"), pointer.Replace(s),
		template.HTMLEscapeString(s), template.JSEscapeString(s),
	}
	if token {
		for _, once := range out {
			out = append(out, goQuoted(once))
		}
	}
	user := url.UserPassword("", s).String()
	return append(out, query, url.PathEscape(s), strings.TrimPrefix(user, ":"))
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

// base64Forms returns s in base64, alone and inside of a longer text.
func base64Forms(s string) []string {
	var out []string
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		whole := encoding.EncodeToString([]byte(s))
		out = append(out, whole, strings.TrimRight(whole, "="))
		if anywhere(s) {
			out = append(out, base64Inside(encoding, s)...)
		}
	}
	return out
}

// base64Inside returns what the base64 of any longer text has in it where s is
// in the text: for each of the three places that s can begin at in a group of
// three bytes, the characters that depend on s alone.
func base64Inside(encoding *base64.Encoding, s string) []string {
	var out []string
	for before := range 3 {
		text := encoding.EncodeToString([]byte("\x00\x00"[:before] + s))
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
