package yamldoc

import (
	"strings"
	"unicode/utf8"
)

// value reads a node that cannot be a block collection, because it stands on
// the line of its key or because node has ruled that out.
func (p *fast) value(parent int) (any, bool) {
	switch c := p.text[p.pos]; c {
	case '"', '\'':
		s, _, ok := p.quoted(c)
		if !ok || !p.endLine() || !p.content() {
			return nil, false
		}
		return p.box(s), true
	case '|', '>':
		return p.blockScalar(parent)
	case '[', '{':
		v, ok := p.flow()
		if !ok || !p.endLine() || !p.content() {
			return nil, false
		}
		return v, true
	case '-', ':':
		if p.blank(p.pos + 1) {
			return nil, false
		}
	default:
		if firstChars[c] == notPlain {
			return nil, false
		}
	}
	return p.plain(parent)
}

// box puts s in an interface, reusing an earlier one for a short string that
// was seen before.
func (p *fast) box(s string) any {
	if len(s) == 0 || len(s) > 32 {
		return s
	}
	slot := &p.boxes[uint8(len(s)*37)^s[0]^s[len(s)-1]<<1^s[len(s)/2]<<2] //nolint:gosec // a hash may wrap
	if old, ok := (*slot).(string); ok && old == s {
		return *slot
	}
	*slot = s
	return *slot
}

// plainLine returns the part of the line at pos that belongs to a plain scalar,
// without trailing blanks. With comment, a comment follows, which ends the
// scalar. It moves pos to the start of the next line.
func (p *fast) plainLine() (s string, comment, ok bool) {
	end := p.lineEnd(p.pos)
	line := p.text[p.pos:end]
	p.pos = min(end+1, len(p.text))
	for i := strings.IndexByte(line, '#'); i >= 0; {
		if i == 0 || line[i-1] == ' ' {
			line, comment = line[:i], true
			break
		}
		next := strings.IndexByte(line[i+1:], '#')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	if p.tabs && strings.IndexByte(line, '\t') >= 0 {
		return "", false, false
	}
	for i := 0; ; i++ {
		next := strings.IndexByte(line[i:], ':')
		if next < 0 {
			break
		}
		if i += next; i+1 == len(line) || line[i+1] == ' ' {
			return "", false, false // "a: b: c", an error or a key
		}
	}
	return strings.TrimRight(line, " "), comment, true
}

// plain reads a plain scalar, which goes on over each following line that is
// indented deeper than parent.
func (p *fast) plain(parent int) (any, bool) {
	s, comment, ok := p.plainLine()
	if !ok {
		return nil, false
	}
	// One line is by far the most frequent case: decide it without building.
	mark := -1
	for breaks := 1; !comment; {
		start := p.pos
		i := p.skipSpaces(start)
		if i == len(p.text) {
			break
		}
		c := p.text[i]
		if c == '\n' {
			breaks++
			p.pos = i + 1
			continue
		}
		if i-start <= parent || c == '#' {
			break
		}
		if c == '\t' {
			return nil, false
		}
		if mark < 0 {
			mark = p.begin()
			p.arena.WriteString(s)
		}
		p.pos = i
		if s, comment, ok = p.plainLine(); !ok {
			return nil, false
		}
		p.breaks(breaks)
		p.arena.WriteString(s)
		breaks = 1
	}
	if !p.content() {
		return nil, false
	}
	if mark >= 0 {
		// More than one word, so a string: nothing else has blanks inside.
		return p.box(p.arena.String()[mark:]), true
	}
	return p.resolve(s)
}

// breaks writes n folded line breaks: one is a space, more are one less.
func (p *fast) breaks(n int) {
	if n == 1 {
		p.arena.WriteByte(' ')
		return
	}
	p.newlines(n - 1)
}

func (p *fast) newlines(n int) {
	for range n {
		p.arena.WriteByte('\n')
	}
}

// begin opens a scalar in the arena and returns where it starts.
func (p *fast) begin() int {
	const chunk, low = 32 << 10, 1 << 10
	if p.arena.Cap()-p.arena.Len() < low {
		p.arena.Reset() // earlier scalars keep the old memory
		p.arena.Grow(min(chunk, len(p.text)-p.pos+low))
	}
	return p.arena.Len()
}

// quoted reads a quoted scalar and moves behind the closing quote.
func (p *fast) quoted(quote byte) (s string, oneLine, ok bool) {
	start := p.pos + 1
	for i := start; i < len(p.text); i++ {
		c := p.text[i]
		if c == quote {
			if quote == '\'' && i+1 < len(p.text) && p.text[i+1] == '\'' {
				break
			}
			p.pos = i + 1
			return p.text[start:i], true, true
		}
		if c == '\n' || c == '\\' && quote == '"' {
			break
		}
	}
	return p.quotedSlow(quote, start)
}

// quotedSlow follows the library's scanner step by step: a run of non-blanks, a
// run of blanks and line breaks, and so on to the closing quote.
func (p *fast) quotedSlow(quote byte, i int) (s string, oneLine, ok bool) {
	mark := p.begin()
	oneLine = true
	for {
		escaped := false // a line break was escaped: no space in its place
	run:
		for i < len(p.text) {
			c := p.text[i]
			switch {
			case c == ' ' || c == '\t' || c == '\n':
				break run
			case c == quote && quote == '\'' && i+1 < len(p.text) && p.text[i+1] == '\'':
				p.arena.WriteByte('\'')
				i += 2
			case c == quote:
				p.pos = i + 1
				return p.arena.String()[mark:], oneLine, true
			case c == '\\' && quote == '"':
				if i+1 < len(p.text) && p.text[i+1] == '\n' {
					escaped = true
					i += 2
					break run
				}
				if i = p.escape(i + 1); i < 0 {
					return "", false, false
				}
			default:
				p.arena.WriteByte(c)
				i++
			}
		}
		blanks, breaks := i, 0
		for i < len(p.text) && (p.text[i] == ' ' || p.text[i] == '\t' || p.text[i] == '\n') {
			if p.text[i] == '\n' {
				breaks++
			}
			i++
		}
		if i >= len(p.text) {
			return "", false, false
		}
		if breaks > 0 || escaped {
			oneLine = false
			// A document marker in a quoted scalar is an error.
			if c := p.text[i]; p.text[i-1] == '\n' && (c == '-' || c == '.') {
				return "", false, false
			}
		}
		switch {
		case escaped:
			p.newlines(breaks)
		case breaks > 0:
			p.breaks(breaks)
		default:
			p.arena.WriteString(p.text[blanks:i])
		}
	}
}

// escape decodes the escape whose letter is at i and returns the position
// behind it, or -1 to decline.
func (p *fast) escape(i int) int {
	if i >= len(p.text) {
		return -1
	}
	digits := 0
	switch c := p.text[i]; c {
	case '"', '\'', '\\', ' ':
		p.arena.WriteByte(c)
	case '0':
		p.arena.WriteByte(0)
	case 'a':
		p.arena.WriteByte('\a')
	case 'b':
		p.arena.WriteByte('\b')
	case 't':
		p.arena.WriteByte('\t')
	case 'n':
		p.arena.WriteByte('\n')
	case 'v':
		p.arena.WriteByte('\v')
	case 'f':
		p.arena.WriteByte('\f')
	case 'r':
		p.arena.WriteByte('\r')
	case 'e':
		p.arena.WriteByte(0x1b)
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		return -1
	}
	i++
	if digits == 0 {
		return i
	}
	if i+digits > len(p.text) {
		return -1
	}
	var r rune
	for _, c := range []byte(p.text[i : i+digits]) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		if r >= 1<<24 {
			return -1
		}
		r = r<<4 | rune(c)
	}
	if !utf8.ValidRune(r) {
		return -1
	}
	p.arena.WriteRune(r)
	return i + digits
}

// blockScalar reads a literal or folded scalar from its indicator.
func (p *fast) blockScalar(parent int) (any, bool) {
	literal := p.text[p.pos] == '|'
	chomp, indent, ok := p.blockHeader(parent)
	if !ok {
		return nil, false
	}
	if indent == 0 {
		if indent, ok = p.blockIndent(parent); !ok {
			return nil, false
		}
	}
	mark := p.begin()
	// pending: the line before ended in a break that is not written yet;
	// breaks: further line breaks after it; wasBlank: it began with a blank.
	pending, breaks, wasBlank := false, 0, false
	i := p.pos
	for {
		start := i
		for i < len(p.text) && i-start < indent && p.text[i] == ' ' {
			i++
		}
		if i == len(p.text) {
			p.pos = i
			break
		}
		c := p.text[i]
		if c == '\n' {
			breaks++
			i++
			continue
		}
		if i-start < indent {
			p.pos = start
			if c == '\t' {
				return nil, false
			}
			break
		}
		blank := c == ' ' || c == '\t'
		switch {
		case pending && !literal && !wasBlank && !blank:
			if breaks == 0 {
				p.arena.WriteByte(' ')
			}
		case pending:
			p.arena.WriteByte('\n')
		}
		p.newlines(breaks)
		breaks, wasBlank = 0, blank
		end := p.lineEnd(i)
		p.arena.WriteString(p.text[i:end])
		pending = end < len(p.text)
		i = min(end+1, len(p.text))
	}
	if pending && chomp != '-' {
		p.arena.WriteByte('\n')
	}
	if chomp == '+' {
		p.newlines(breaks)
	}
	if !p.content() {
		return nil, false
	}
	return p.box(p.arena.String()[mark:]), true
}

// blockHeader reads the indicators, in either order, and the rest of their line.
func (p *fast) blockHeader(parent int) (chomp byte, indent int, ok bool) {
	for i := p.pos + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case (c == '-' || c == '+') && chomp == 0:
			chomp = c
		case c >= '1' && c <= '9' && indent == 0:
			indent = parent + int(c-'0')
		case c == ' ' || c == '\n':
			p.pos = i
			return chomp, indent, p.endLine()
		default:
			return 0, 0, false
		}
	}
	return 0, 0, false
}

// blockIndent finds the indentation of a block scalar from its first line with
// content. Leading blank lines that are longer than that line are declined, and
// so is a scalar without content: the library has rules of its own for both.
func (p *fast) blockIndent(parent int) (int, bool) {
	longest := 0
	for start := p.pos; ; {
		i := p.skipSpaces(start)
		if i == len(p.text) || p.text[i] == '\t' {
			return 0, false
		}
		spaces := i - start
		if p.text[i] != '\n' {
			return spaces, spaces > parent && spaces >= longest
		}
		longest = max(longest, spaces)
		start = i + 1
	}
}
