package derive

import (
	"regexp"
	"strings"
)

// Several values can live in one text, such as a configuration in a field. They are told
// apart by the keys in front of them, so a line more in front of another one moves none:
//
//	password: <value>
//	{"password": "<value>"}
//	PASSWORD=<value>

// lineKey is the key at the begin of a line, or of a part of a list or mapping, as
// fragment leaves it.
var lineKey = regexp.MustCompile(`^-*(?:export)?([A-Za-z0-9_.-]+)[:=]`)

// keysInFront returns for each piece of a text that has a key, as each yields them, the
// one that stands in front of it in its line, or "". In base64, or in what is hashed, that
// is the one there if there is one.
func (t text) keysInFront() []string { return t.appendKeys(nil, "") }

// keyBehind returns the key in the last line of a text, or "".
func keyBehind(text string) string {
	lines := strings.Split(fragment(text), "\n")
	return keyOf(lines[len(lines)-1])
}

// keyOf returns the key that a line begins with, or "".
func keyOf(line string) string {
	m := lineKey.FindStringSubmatchIndex(line)
	if m == nil || strings.HasPrefix(line[m[1]:], "//") { // the scheme of a URL
		return ""
	}
	return line[m[2]:m[3]]
}

func (t text) appendKeys(out []string, outer string) []string {
	line := ""
	for i := range t {
		p := &t[i]
		if p.kind == literal {
			parts := strings.Split(fragment(p.raw), "\n")
			if len(parts) > 1 {
				line, outer = "", ""
			}
			if line += parts[len(parts)-1]; len(line) > mostContext {
				line = line[:mostContext]
			}
			continue
		}
		key := outer
		if inLine := keyOf(line); inLine != "" {
			key = inLine
		}
		if p.key() != "" {
			out = append(out, key)
		}
		out = p.parts.appendKeys(out, key)
		line += "\x00"
	}
	return out
}
