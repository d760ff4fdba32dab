package derive

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Frames say what the random functions print, not what the template does with it
// afterwards: what `randNumeric 4 | int` prints for a frame is 0. So a field counts as
// understood only if its value in the plain render has the form that its frames
// foretell: the same text round values of the right length and alphabet.

// match reports whether a value of the plain render can be one of t. It returns t with
// what only the value shows: whether base64 has padding, and which letters.
func (t text) match(value string) (text, bool) {
	var pattern strings.Builder
	pattern.WriteString(`(?s)^`)
	t.pattern(&pattern)
	pattern.WriteString(`$`)
	source := pattern.String()
	subject := value
	if !utf8.ValidString(source) || !utf8.ValidString(value) {
		// Patterns match characters; here each byte is one.
		source, subject = latin1(source), latin1(value)
	}
	compiled, err := regexp.Compile(source)
	if err != nil {
		return t, false
	}
	groups := compiled.FindStringSubmatchIndex(subject)
	if groups == nil {
		return t, false
	}
	out := slices.Clone(t)
	group := 1
	for i := range out {
		p := &out[i]
		if p.kind != encoded {
			continue
		}
		run := subject[groups[2*group]:groups[2*group+1]]
		group++
		bare := strings.TrimRight(run, "=")
		shown := lettersOf(run)
		decoded, err := encoding(shown, unpadded).DecodeString(bare)
		if err != nil || shown != eitherLetters && p.letters64 != eitherLetters && shown != p.letters64 {
			return t, false
		}
		inner, ok := p.parts.match(string(decoded))
		if !ok {
			return t, false
		}
		p.parts = inner
		if p.letters64 == eitherLetters {
			p.letters64 = shown
		}
		if p.padding == unknown && len(decoded)%3 != 0 {
			p.padding = padded
			if run == bare {
				p.padding = unpadded
			}
		}
	}
	return out, true
}

func latin1(s string) string {
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = rune(s[i])
	}
	return string(out)
}

// pattern writes a regular expression with a group for each piece of base64.
func (t text) pattern(b *strings.Builder) {
	for i := range t {
		p := &t[i]
		switch p.kind {
		case literal:
			b.WriteString(regexp.QuoteMeta(p.raw))
		case token:
			b.WriteString(p.tokenPattern(t.quoted(i)))
		case computed:
			b.WriteString(p.computedPattern())
		case encoded:
			b.WriteString(`([A-Za-z0-9+/_-]*={0,2})`)
		case block:
			b.WriteString(`-----BEGIN [^-]*-----[^-]*-----END [^-]*-----`)
		case broken:
			b.WriteString(`[^\x00-\x{10ffff}]`) // nothing
		}
	}
}

// quoted reports whether a piece stands in double quotes of the text.
func (t text) quoted(i int) bool {
	return i > 0 && i+1 < len(t) && strings.HasSuffix(t[i-1].raw, `"`) && strings.HasPrefix(t[i+1].raw, `"`)
}

// exact says that something is repeated n times, or at least often where that would
// make a large program of the pattern.
func exact(class string, n int) string {
	const most = 200
	if n > most {
		return fmt.Sprintf("%s{%d,}", class, most)
	}
	return fmt.Sprintf("%s{%d}", class, n)
}

func (p *piece) tokenPattern(quoted bool) string {
	n, _ := strconv.Atoi(p.size)
	class := ""
	switch p.function {
	case 'a':
		class = "[0-9A-Za-z]"
	case 'l':
		class = "[A-Za-z]"
	case 'd':
		class = "[0-9]"
	case 'p':
		class = `[ -~]`
		if quoted {
			class = `(?:[^"\\]|\\.)`
		}
	case 'b':
		const group = 3 // bytes make 4 characters
		class, n = "[0-9A-Za-z+/=]", (n+group-1)/group*4
	case 'u':
		return `(?i:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})`
	case 'i':
		return `-?[0-9]{1,19}`
	}
	switch p.letters {
	case lowerCase:
		class = strings.ReplaceAll(class, "A-Z", "")
	case upperCase:
		class = strings.ReplaceAll(class, "a-z", "")
		if class == "[]" {
			class = "[A-Z]"
		}
	}
	return exact(class, n)
}

// computedPattern gives the form of a result.
func (p *piece) computedPattern() string {
	switch p.name {
	case "sha1":
		return `[0-9a-f]{40}`
	case "sha256":
		return `[0-9a-f]{64}`
	case "sha512":
		return `[0-9a-f]{128}`
	case "adler32":
		return `[0-9]{1,10}`
	case "bcrypt":
		return `\$2a\$10\$[./A-Za-z0-9]{53}`
	}
	return `.*`
}

// numeric reports whether all values of a text are digits, at most with a minus in
// front. Where the plain render has a number for such a text it is not in quotes.
func (t text) numeric() bool {
	for i := range t {
		p := &t[i]
		switch {
		case p.kind == literal && strings.Trim(p.raw, digits) == "":
		case p.kind == literal && i == 0 && p.raw[0] == '-' && strings.Trim(p.raw[1:], digits) == "":
		case p.kind == token && (p.function == 'd' || p.function == 'i'):
		case p.kind == computed && p.name == "adler32":
		default:
			return false
		}
	}
	return true
}
