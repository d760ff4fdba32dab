package report

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"hallmark.dev/hallmark/internal/yamldoc"
)

// printable shows what a terminal, a browser or an editor acts on instead of showing
// it: names and values come from repositories of strangers, and may hold escapes, or
// turn the direction of a line around, or hide in characters without width. Such a
// character is written as Go writes it in a string ("\x1b", "\u202e"), so that
// two values that differ in nothing else are seen to differ. Tabs stay.
func printable(s string) string {
	if !strings.ContainsFunc(s, unseen) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		char := s[i : i+size]
		if unseen(r) {
			char = strings.Trim(strconv.Quote(char), `"`)
		}
		b.WriteString(char)
		i += size
	}
	return b.String()
}

func unseen(r rune) bool { return r != '\t' && (r == utf8.RuneError || !strconv.IsPrint(r)) }

// inline is a value on one line: a scalar, or a collection that is short. ok is
// false for what needs lines of its own.
func inline(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		if strings.Contains(strings.TrimSuffix(v, "\n"), "\n") {
			return "", false
		}
		return word(v), true
	case map[string]any, []any:
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(v); err != nil {
			return "", false
		}
		text = printable(strings.TrimSuffix(b.String(), "\n"))
		return text, utf8.RuneCountInString(text) <= 60
	}
	return printable(strings.TrimSuffix(string(yamldoc.AppendYAML(nil, v)), "\n")), true
}

// word is a string as people write it, in quotes where it could be taken for
// something else, a number or nothing, or where it holds what cannot be seen.
func word(s string) string {
	switch s {
	case "", "null", "~", "true", "false":
		return strconv.Quote(s)
	}
	_, err := strconv.ParseFloat(s, 64)
	switch {
	case err == nil, s != strings.TrimSpace(s), strings.Contains(s, " -> "), strings.ContainsRune(s, '\t'), strings.ContainsFunc(s, unseen):
		return strconv.Quote(s)
	}
	return s
}

// written is a value over several lines: the lines of a string, or YAML.
func written(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(yamldoc.AppendYAML(nil, v))
}

const ellipsis = "…"

// shorten cuts s in its middle to at most room characters.
func shorten(s string, room int) string {
	if len(s) <= room {
		return s
	}
	runes := []rune(s)
	if len(runes) <= room {
		return s
	}
	head := room / 2
	tail := room - head - 1
	return string(runes[:head]) + ellipsis + string(runes[len(runes)-tail:])
}

// shortenPair cuts two values to at most room characters each. What they have in
// common goes first, so that what is left shows the difference.
func shortenPair(a, b string, room int) (string, string) {
	left, right := []rune(a), []rune(b)
	if len(left) <= room && len(right) <= room {
		return a, b
	}
	short := min(len(left), len(right))
	prefix := 0
	for prefix < short && left[prefix] == right[prefix] {
		prefix++
	}
	suffix := 0
	for suffix < short-prefix && left[len(left)-1-suffix] == right[len(right)-1-suffix] {
		suffix++
	}
	const around = 4 // a fourth of the room for what stands before and after
	keep := room / around
	cut := func(runes []rune) string {
		from, to := 0, len(runes)
		head, tail := "", ""
		if prefix > keep {
			from, head = prefix-keep+1, ellipsis
		}
		if suffix > keep {
			to, tail = len(runes)-suffix+keep-1, ellipsis
		}
		inner := shorten(string(runes[from:to]), room-utf8.RuneCountInString(head+tail))
		return head + inner + tail
	}
	return cut(left), cut(right)
}

// count says how many there are of something, "1 object" or "3 objects".
func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return strconv.Itoa(n) + " " + of + "s"
}
