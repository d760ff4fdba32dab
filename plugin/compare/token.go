package compare

import (
	"strings"
	"unicode/utf8"
)

// maxToken bounds the values in which a token is looked for.
const maxToken = 1 << 10

// oneLine returns the values of a field where both are strings of one line.
func oneLine(f *Field) (from, to string, ok bool) {
	from, isText := f.From.(string)
	to, isTextToo := f.To.(string)
	line := func(s string) bool { return len(s) <= maxToken && !strings.Contains(s, "\n") }
	return from, to, isText && isTextToo && line(from) && line(to)
}

// checksum reports whether a value is nothing but a checksum: 32 hexadecimal digits
// or more, with or without the name of an algorithm in front.
func checksum(s string) bool {
	if algorithm, sum, ok := strings.Cut(s, ":"); ok && (algorithm == "sha256" || algorithm == "sha512" || algorithm == "hmac-sha256") {
		s = sum
	}
	return len(s) >= 32 && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// tokenChange returns what changes between two values that have a word in common. Where
// it is one token, in one place or in several, that is the token before and after:
// "1.4.0", "1.5.0". Otherwise it is both values with … for what they have in common:
// "…v1.4.0", "mirror.example.com/…v1.5.0". It reports false if nothing is in common, or
// if what changes is too little to be recognised in other values: a 1 that becomes
// a 2.
func tokenChange(from, to string) (old, by string, ok bool) {
	a, b := tokens(from), tokens(to)
	couples, ok := shortestEdit(a, b)
	if couples = telltale(couples, a); !ok || len(couples) == 0 {
		return "", "", false
	}
	var before, after strings.Builder
	one, changed := hunk{}, 0
	several, x, y := false, 0, 0
	for i, c := range append(couples, couple{len(a), len(b)}) {
		h := trim(a[x:c.from], b[y:c.to])
		if h != (hunk{}) {
			several = several || one != hunk{} && one != h
			one, changed = h, max(changed, utf8.RuneCountInString(h.old), utf8.RuneCountInString(h.by))
			before.WriteString(h.old)
			after.WriteString(h.by)
		}
		if i < len(couples) && (i == 0 || h != hunk{}) {
			before.WriteString("…")
			after.WriteString("…")
		}
		x, y = c.from+1, c.to+1
	}
	const least = 3
	switch {
	case changed < least:
		return "", "", false
	case several:
		return before.String(), after.String(), true
	}
	return one.old, one.by, true
}

// telltale leaves out the runs of common tokens without a word: that both values have
// a slash somewhere says nothing.
func telltale(couples []couple, tokens []string) []couple {
	var out []couple
	for start := 0; start < len(couples); {
		end, word := start, false
		for end < len(couples) && couples[end] == (couple{couples[start].from + end - start, couples[start].to + end - start}) {
			word = word || len(tokens[couples[end].from]) > 1
			end++
		}
		if word {
			out = append(out, couples[start:end]...)
		}
		start = end
	}
	return out
}

// A hunk is what stands between two runs of common tokens.
type hunk struct{ old, by string }

// trim returns a hunk without the tokens that both sides begin and end with.
func trim(a, b []string) hunk {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return hunk{strings.Join(a, ""), strings.Join(b, "")}
}

// tokens splits a value into words, which a version or a host name is one of, and the
// characters between them.
func tokens(s string) []string {
	var out []string
	start := 0
	for i, r := range s {
		if inToken(r) {
			continue
		}
		if i > start {
			out = append(out, s[start:i])
		}
		start = i + utf8.RuneLen(r)
		if r == utf8.RuneError { // a byte that is no UTF-8 has a shorter form
			_, size := utf8.DecodeRuneInString(s[i:])
			start = i + size
		}
		out = append(out, s[i:start])
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

func inToken(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '+'
}
