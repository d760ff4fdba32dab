package yamldoc

import (
	"strings"
)

// fast is the reader of the strict subset. It is one pass over the text with
// one function per construct. Every function returns false to decline, which
// abandons the whole document to the library; there is no partial result and
// no error message of its own, with one exception, tooDeep.
//
// Between constructs the reader stands on the first character of the next line
// that has content, whose column is in indent (-1 at the end of the text).
// Wherever the library compares a column with "parser.indent", the functions
// below take that number as their argument parent.
type fast struct {
	text     string
	pos      int
	indent   int
	depth    int
	maxDepth int
	tabs     bool // the text has tab characters somewhere
	tooDeep  bool // declined at pos because of maxDepth, not because of the syntax

	// Collections under construction. A nested collection leaves both as it
	// found them, so a collection can be allocated once, at its final size.
	items []any
	pairs []pair

	// Scalars that are not a slice of text (escapes, folding, removed
	// indentation) are appended here and sliced from it: a few large
	// allocations where there would be one per scalar.
	arena strings.Builder

	// Strings that were put in an interface before. Putting a string in an
	// interface allocates, and a schema says "type: string" thousands of times.
	boxes [256]any
}

type pair struct {
	key   string
	value any
}

// parse reads a whole document. It reports false when the text is outside the
// subset; then the value means nothing.
func (p *fast) parse(text string) (any, bool) {
	flags := classify(text)
	if flags&declined != 0 {
		return nil, false
	}
	p.text, p.tabs = text, flags&hasTab != 0
	if !p.content() {
		// Only a leading "---" may stand here; a second one is declined below.
		if !strings.HasPrefix(p.text[p.pos:], "---") || p.indent != 0 {
			return nil, false
		}
		p.pos += len("---")
		if !p.endLine() || !p.content() {
			return nil, false
		}
	}
	if p.indent < 0 {
		return nil, true
	}
	v, ok := p.node(p.indent, -1)
	return v, ok && p.indent < 0
}

// content moves from the start of a line to the next line that is neither
// blank nor a comment.
func (p *fast) content() bool {
	for i := p.pos; ; {
		start := i
		for i < len(p.text) && p.text[i] == ' ' {
			i++
		}
		if i == len(p.text) {
			p.pos, p.indent = i, -1
			return true
		}
		switch p.text[i] {
		case '\n':
			i++
			continue
		case '#':
			i = p.lineEnd(i)
			if i < len(p.text) {
				i++
			}
			continue
		case '\t':
			return false
		}
		p.pos, p.indent = i, i-start
		// Document markers and directives are the library's business.
		return p.indent > 0 || !p.marker()
	}
}

// marker reports whether the line at pos, which is not indented, may be a
// document marker or a directive.
func (p *fast) marker() bool {
	switch p.text[p.pos] {
	case '%':
		return true
	case '-', '.':
		rest := p.text[p.pos:]
		return (strings.HasPrefix(rest, "---") || strings.HasPrefix(rest, "...")) && p.blank(p.pos+3)
	}
	return false
}

// blank reports whether position i is a space, a line end or the end.
func (p *fast) blank(i int) bool {
	return i >= len(p.text) || p.text[i] == ' ' || p.text[i] == '\n'
}

func (p *fast) lineEnd(i int) int {
	if n := strings.IndexByte(p.text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(p.text)
}

func (p *fast) skipSpaces(i int) int {
	for i < len(p.text) && p.text[i] == ' ' {
		i++
	}
	return i
}

// endLine accepts blanks and a comment up to the end of the line and moves past
// it. The library also takes a '#' that touches the token before it; that is
// declined.
func (p *fast) endLine() bool {
	i := p.skipSpaces(p.pos)
	switch {
	case i == len(p.text):
	case p.text[i] == '\n':
		i++
	case p.text[i] == '#' && i > p.pos:
		i = min(p.lineEnd(i)+1, len(p.text))
	default:
		return false
	}
	p.pos = i
	return true
}

// enter counts a collection that begins at position start.
func (p *fast) enter(start int) bool {
	if p.depth++; p.depth > p.maxDepth {
		p.tooDeep, p.pos = true, start
		return false
	}
	return true
}

// node reads the node whose first character, at pos, stands in column col, in a
// place where a block collection may begin.
func (p *fast) node(col, parent int) (any, bool) {
	if p.text[p.pos] == '-' && p.blank(p.pos+1) {
		return p.sequence(col)
	}
	start := p.pos
	key, isKey, ok := p.key()
	switch {
	case !ok:
		return nil, false
	case isKey:
		if !p.enter(start) {
			return nil, false
		}
		return p.mapping(col, key)
	case parent < 0 && p.text[p.pos] != '{' && p.text[p.pos] != '[':
		// A document that is one scalar: rare, and markers could hide in it.
		return nil, false
	}
	return p.value(parent)
}

// sequence reads a block sequence from its first "-". It also serves the
// sequence that stands in the column of its parent key, which differs for the
// library only in where it ends, and the caller checks that.
func (p *fast) sequence(col int) (any, bool) {
	if !p.enter(p.pos) {
		return nil, false
	}
	base := len(p.items)
	for {
		p.pos++
		var item any
		var ok bool
		i := p.skipSpaces(p.pos)
		if i < len(p.text) && p.text[i] != '\n' && p.text[i] != '#' {
			itemCol := col + 1 + i - p.pos
			p.pos = i
			item, ok = p.node(itemCol, col)
		} else if ok = p.endLine() && p.content(); ok && p.indent > col {
			item, ok = p.node(p.indent, col)
		}
		if !ok {
			return nil, false
		}
		p.items = append(p.items, item)
		if p.indent != col || p.text[p.pos] != '-' || !p.blank(p.pos+1) {
			break
		}
	}
	if p.indent > col {
		return nil, false
	}
	list := make([]any, len(p.items)-base)
	copy(list, p.items[base:])
	clear(p.items[base:])
	p.items = p.items[:base]
	p.depth--
	return list, true
}

// mapping reads a block mapping that has been entered and whose first key has
// been read.
func (p *fast) mapping(col int, key string) (any, bool) {
	base := len(p.pairs)
	for {
		value, ok := p.entry(col)
		if !ok {
			return nil, false
		}
		p.pairs = append(p.pairs, pair{key, value})
		if p.indent != col {
			break
		}
		var isKey bool
		if key, isKey, ok = p.key(); !ok || !isKey {
			return nil, false
		}
	}
	if p.indent > col {
		return nil, false
	}
	m := p.collect(base)
	p.depth--
	return m, true
}

// collect makes a map of the pairs from base on. A repeated key keeps the last
// value, as the library does outside its strict mode.
func (p *fast) collect(base int) map[string]any {
	m := make(map[string]any, len(p.pairs)-base)
	for _, pair := range p.pairs[base:] {
		m[pair.key] = pair.value
	}
	clear(p.pairs[base:])
	p.pairs = p.pairs[:base]
	return m
}

// entry reads the value after "key:".
func (p *fast) entry(col int) (any, bool) {
	i := p.pos
	if i < len(p.text) && p.text[i] == ' ' {
		if i = p.skipSpaces(i + 1); i < len(p.text) && p.text[i] != '\n' && p.text[i] != '#' {
			p.pos = i
			return p.value(col)
		}
	}
	if !p.endLine() || !p.content() {
		return nil, false
	}
	switch {
	case p.indent > col:
		return p.node(p.indent, col)
	case p.indent == col && p.text[p.pos] == '-' && p.blank(p.pos+1):
		return p.sequence(col)
	}
	return nil, true
}

// maxKey keeps clear of the library's rule that the ':' must come within 1024
// characters.
const maxKey = 1000

// key reads "key:" if there is one at pos, moving behind the colon; otherwise
// it leaves pos where it is.
func (p *fast) key() (key string, isKey, ok bool) {
	start := p.pos
	switch c := p.text[start]; c {
	case '"', '\'':
		key, oneLine, ok := p.quoted(c)
		i := p.pos
		if !ok {
			return "", false, false
		}
		if !oneLine || i >= len(p.text) || p.text[i] != ':' || !p.blank(i+1) || i-start > maxKey {
			p.pos = start
			return "", false, true
		}
		p.pos = i + 1
		return key, true, true
	case '[', '{', '|', '>':
		return "", false, true
	case ':':
		// A scalar may begin like this. A key may too, and is declined in plain,
		// because of the colon in what looks like a scalar.
		return "", false, true
	case '-':
		if p.blank(start + 1) {
			return "", false, true
		}
	}
	if firstChars[p.text[start]] == notPlain {
		return "", false, false
	}
	for i := start; i < len(p.text); i++ {
		switch p.text[i] {
		case ':':
			if !p.blank(i + 1) {
				continue
			}
			key = strings.TrimRight(p.text[start:i], " ")
			if i-start > maxKey || !stringKey(key) {
				return "", false, false
			}
			p.pos = i + 1
			return key, true, true
		case '\n':
			return "", false, true
		case '#':
			if p.text[i-1] == ' ' {
				return "", false, true
			}
		case '\t':
			return "", false, false
		}
	}
	return "", false, true
}
