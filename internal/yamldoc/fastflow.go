package yamldoc

// flow reads a flow collection from its opening bracket and moves behind the
// closing one. Comments, empty entries, keys without a value and plain scalars
// over several lines are declined.
func (p *fast) flow() (any, bool) {
	if !p.enter(p.pos) {
		return nil, false
	}
	list := p.text[p.pos] == '['
	closing := byte('}')
	if list {
		closing = ']'
	}
	p.pos++
	items, pairs := len(p.items), len(p.pairs)
	for {
		c, ok := p.flowNext()
		if !ok {
			return nil, false
		}
		if c == closing {
			break
		}
		var key string
		if !list {
			if key, ok = p.flowKey(); !ok {
				return nil, false
			}
		}
		value, ok := p.flowValue()
		if !ok {
			return nil, false
		}
		if list {
			p.items = append(p.items, value)
		} else {
			p.pairs = append(p.pairs, pair{key, value})
		}
		switch c, ok = p.flowNext(); {
		case !ok || c != ',' && c != closing:
			return nil, false
		case c == ',':
			p.pos++
		}
	}
	p.pos++
	p.depth--
	if !list {
		return p.collect(pairs), true
	}
	values := make([]any, len(p.items)-items)
	copy(values, p.items[items:])
	clear(p.items[items:])
	p.items = p.items[:items]
	return values, true
}

// flowNext moves to the next token inside a flow collection and returns its
// first character.
func (p *fast) flowNext() (byte, bool) {
	for ; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; c {
		case ' ':
		case '\n':
			if p.flowMarker(p.pos + 1) {
				return 0, false
			}
		default:
			return c, true
		}
	}
	return 0, false
}

// flowMarker reports whether the line at i begins like a document marker or a
// directive.
func (p *fast) flowMarker(i int) bool {
	return i < len(p.text) && (p.text[i] == '-' || p.text[i] == '.' || p.text[i] == '%')
}

// flowKey reads "key:" and stops at the value.
func (p *fast) flowKey() (string, bool) {
	start := p.pos
	if c := p.text[start]; c == '"' || c == '\'' {
		key, oneLine, ok := p.quoted(c)
		if !ok || !oneLine || p.pos-start > maxKey || p.pos >= len(p.text) || p.text[p.pos] != ':' {
			return "", false
		}
		p.pos++
		return key, true
	}
	key, ok := p.flowPlain()
	if !ok || len(key) > maxKey || p.pos != start+len(key) || p.text[p.pos] != ':' || !stringKey(key) {
		return "", false
	}
	p.pos++
	return key, true
}

func (p *fast) flowValue() (any, bool) {
	c, ok := p.flowNext()
	if !ok {
		return nil, false
	}
	switch c {
	case '[', '{':
		return p.flow()
	case '"', '\'':
		s, _, ok := p.quoted(c)
		return p.box(s), ok
	}
	s, ok := p.flowPlain()
	if !ok {
		return nil, false
	}
	if c, ok = p.flowNext(); !ok || c != ',' && c != ']' && c != '}' {
		return nil, false
	}
	return p.resolve(s)
}

// flowPlain reads a plain scalar without the blanks that follow it. It ends
// before a ',' a bracket, a line break or a ':' with a blank behind it.
func (p *fast) flowPlain() (string, bool) {
	start := p.pos
	if firstChars[p.text[start]] == notPlain || p.text[start] == ':' || p.text[start] == '-' && !p.flowWord(start+1) {
		return "", false
	}
	end := start // behind the last character that is not a blank
	for i := start; i < len(p.text); i++ {
		switch p.text[i] {
		case ',', ']', '}', '\n':
			p.pos = i
			return p.text[start:end], true
		case '[', '{', '?', '\t':
			return "", false
		case '#':
			if p.text[i-1] == ' ' {
				return "", false
			}
		case ':':
			if p.blank(i + 1) {
				p.pos = i
				return p.text[start:end], true
			}
			if !p.flowWord(i + 1) {
				return "", false
			}
		case ' ':
			continue
		}
		end = i + 1
	}
	return "", false
}

// flowWord reports whether position i holds a letter, a digit, '-' or '/', which
// are never indicators there.
func (p *fast) flowWord(i int) bool {
	if i >= len(p.text) {
		return false
	}
	c := p.text[i]
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '/'
}
