package compare

import (
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// A step leads from a value to one in it: by the key of a mapping, or to an item of a
// list, whose place differs between the two sides.
type step struct {
	key      string
	list     bool
	from, to int    // of an item; where a side does not have it, the other's
	label    string // the name of an item, or its place
}

// pathText is a path for people: `spec.template.spec.containers[web].image`. A key or
// a name that could be mistaken is quoted.
func pathText(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		switch {
		case s.list:
			b.WriteByte('[')
			b.WriteString(s.label)
			b.WriteByte(']')
		case plainKey(s.key):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.key)
		default:
			b.WriteByte('[')
			b.WriteString(strconv.Quote(s.key))
			b.WriteByte(']')
		}
	}
	return b.String()
}

// pathPointer is the RFC 6901 pointer of a path on one side.
func pathPointer(steps []step, to bool) string {
	path := make([]any, len(steps))
	for i, s := range steps {
		switch {
		case !s.list:
			path[i] = s.key
		case to:
			path[i] = s.to
		default:
			path[i] = s.from
		}
	}
	return object.Pointer(path...)
}

func plainKey(key string) bool {
	for i, c := range []byte(key) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '-') {
			return false
		}
	}
	return key != ""
}

// itemLabel writes the name of a list item: as it is, if it cannot be mistaken for
// the end of the brackets or for a quoted key.
func itemLabel(name string) string {
	if name == "" || strings.ContainsAny(name, "[]\"\\") || strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// pathSegments splits the text of a path: `.image` and `spec` into keys, and what
// stands in brackets with them.
func pathSegments(path string) []string {
	var out []string
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, path[start:end])
		}
		start = end
	}
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case '.':
			cut(i)
			start = i + 1
		case '[':
			cut(i)
			i += bracketEnd(path[i:]) - 1
			cut(i + 1)
		}
	}
	cut(len(path))
	return out
}

// bracketEnd returns the length of the bracket that s begins with. What is in it may
// hold a bracket only within quotes.
func bracketEnd(s string) int {
	quoted := len(s) > 1 && s[1] == '"'
	for i := 1; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case quoted && i > 1 && s[i] == '"':
			quoted = false
		case !quoted && s[i] == ']':
			return i + 1
		}
	}
	return len(s)
}

// isItem reports whether a segment is the name of a list item. A key in brackets is
// always quoted, a name nearly never.
func isItem(segment string) bool {
	return strings.HasPrefix(segment, "[") && !strings.HasPrefix(segment, `["`)
}

// joinSegments is the reverse of pathSegments.
func joinSegments(segments []string) string {
	var b strings.Builder
	for _, s := range segments {
		if b.Len() > 0 && !strings.HasPrefix(s, "[") {
			b.WriteByte('.')
		}
		b.WriteString(s)
	}
	return b.String()
}
