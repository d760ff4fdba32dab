package policy

import (
	"errors"
	"fmt"
	"slices"
)

// Bounds of one glob: on its text, on what its alternatives expand to, and on the
// sum of the texts of these.
const (
	maxGlob         = 512
	maxAlternatives = 64
	maxExpanded     = 4096
)

// A pattern is one glob of a policy.
type pattern struct {
	text string // as it is written
	any  bool   // it matches everything
	// alternatives are the globs without braces, of which one has to match: one
	// glob for each part that a value is cut into.
	alternatives [][]glob
}

// A compiler makes a pattern of a glob as it is written.
type compiler func(text string) (pattern, error)

// compilePattern expands the alternatives of text, cuts each into the globs for the
// parts of a value and compiles these. separator is what * does not match; 0 is
// none.
func compilePattern(text string, separator rune, cut func(string) ([]string, error)) (pattern, error) {
	p := pattern{text: text}
	switch {
	case text == "":
		return p, errors.New("the glob is empty")
	case text == "*" || text == "**":
		p.any = true
		return p, nil
	case len(text) > maxGlob:
		return p, fmt.Errorf("the glob has %d bytes, more than %d", len(text), maxGlob)
	case text[0] == '!':
		return p, errors.New("a glob cannot be negated: put a rule for the exception in front of this one")
	}
	alternatives, err := expand(text)
	if err != nil {
		return p, err
	}
	for _, alternative := range alternatives {
		parts, err := cut(alternative)
		if err != nil {
			return p, err
		}
		globs := make([]glob, len(parts))
		for i, part := range parts {
			if globs[i], err = compileGlob(part, separator); err != nil {
				return p, err
			}
		}
		p.alternatives = append(p.alternatives, globs)
	}
	return p, nil
}

// compileName is the compiler for names in which no character is special.
func compileName(text string) (pattern, error) {
	return compilePattern(text, 0, func(s string) ([]string, error) { return []string{s}, nil })
}

// matches reports whether the pattern matches the parts of a value, which there are
// none of where doubt says why.
func (p pattern) matches(value []string, doubt error) bool {
	if p.any {
		return true
	}
	if doubt != nil {
		return false
	}
	return slices.ContainsFunc(p.alternatives, func(globs []glob) bool {
		return slices.EqualFunc(globs, value, glob.match)
	})
}

// expand returns the globs without braces that text stands for.
func expand(text string) ([]string, error) {
	done, todo := []string(nil), []string{text}
	size := 0
	for len(todo) > 0 {
		next := todo[0]
		todo = todo[1:]
		parts, err := firstGroup(next)
		if err != nil {
			return nil, err
		}
		if parts == nil {
			done = append(done, next)
			size += len(next)
		} else {
			todo = append(parts, todo...)
		}
		if len(done)+len(todo) > maxAlternatives || size > maxExpanded {
			return nil, fmt.Errorf("the glob has more than %d alternatives, or more than %d bytes of them", maxAlternatives, maxExpanded)
		}
	}
	return done, nil
}

// firstGroup returns text once for each alternative of its first group, or nil if
// it has none.
func firstGroup(text string) ([]string, error) {
	start, depth := 0, 0
	var cuts []int // the commas of the first group
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			end, err := classEnd(text, i)
			if err != nil {
				return nil, err
			}
			i = end
		case '{':
			if depth++; depth == 1 {
				start = i
			}
		case ',':
			if depth == 1 {
				cuts = append(cuts, i)
			}
		case '}':
			if depth--; depth < 0 {
				return nil, errors.New("the glob has a } without a {")
			}
			if depth > 0 {
				continue
			}
			var parts []string
			from := start + 1
			for _, cut := range append(cuts, i) {
				parts = append(parts, text[:start]+text[from:cut]+text[i+1:])
				from = cut + 1
			}
			return parts, nil
		}
	}
	if depth > 0 {
		return nil, errors.New("the glob has a { without a }")
	}
	return nil, nil
}

// classEnd returns the index of the ] that ends the class at start.
func classEnd(text string, start int) (int, error) {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case ']':
			return i, nil
		}
	}
	return 0, errors.New("the glob has a [ without a ]")
}

// A glob is a sequence of tokens without alternatives.
type glob struct {
	tokens    []token
	separator rune
}

type token struct {
	kind tokenKind
	char rune // of a literal
	// spans are the ranges of a class, outside those that it excludes.
	spans   []span
	outside bool
}

type tokenKind byte

const (
	literal tokenKind = iota
	one               // ?
	class             // [a-z]
	run               // *
	all               // **
)

type span struct{ low, high rune }

func compileGlob(text string, separator rune) (glob, error) {
	g := glob{separator: separator}
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		t := token{kind: literal, char: runes[i]}
		switch runes[i] {
		case '\\':
			if i++; i == len(runes) {
				return g, errors.New("the glob ends in a backslash")
			}
			t.char = runes[i]
		case '?':
			t.kind = one
		case '*':
			t.kind = run
			for i+1 < len(runes) && runes[i+1] == '*' {
				t.kind = all
				i++
			}
		case '[':
			n, err := t.class(runes[i+1:])
			if err != nil {
				return g, err
			}
			i += n
		}
		g.tokens = append(g.tokens, t)
	}
	return g, nil
}

// class makes t the class that text begins with, behind its bracket, and returns
// its length with the bracket that ends it.
func (t *token) class(text []rune) (length int, err error) {
	t.kind = class
	i := 0
	if i < len(text) && text[i] == '!' {
		t.outside = true
		i++
	}
	next := func() (rune, bool) {
		if i < len(text) && text[i] == '\\' {
			i++
		}
		if i++; i > len(text) {
			return 0, false
		}
		return text[i-1], true
	}
	for i < len(text) && text[i] != ']' {
		low, ok := next()
		high := low
		if ok && i+1 < len(text) && text[i] == '-' && text[i+1] != ']' {
			i++
			high, ok = next()
		}
		if !ok {
			break
		}
		if low > high {
			return 0, fmt.Errorf("the glob has the range %q, which holds nothing", string([]rune{low, '-', high}))
		}
		t.spans = append(t.spans, span{low, high})
	}
	switch {
	case i >= len(text):
		return 0, errors.New("the glob has a [ without a ]")
	case t.spans == nil:
		return 0, errors.New("the glob has an empty class []")
	}
	return i + 1, nil
}

func (g glob) accepts(t token, r rune) bool {
	switch t.kind {
	case literal:
		return r == t.char
	case all:
		return true
	}
	if g.separator != 0 && r == g.separator {
		return false
	}
	if t.kind != class {
		return true
	}
	for _, s := range t.spans {
		if s.low <= r && r <= s.high {
			return !t.outside
		}
	}
	return t.outside
}

// match reads s once and keeps all positions in the glob that it can have reached.
// The time is that of both lengths multiplied, whatever they hold.
func (g glob) match(s string) bool {
	now, next := make([]bool, len(g.tokens)+1), make([]bool, len(g.tokens)+1)
	now[0] = true
	g.skip(now)
	for _, r := range s {
		clear(next)
		for i, t := range g.tokens {
			switch {
			case !now[i] || !g.accepts(t, r):
			case t.kind >= run:
				next[i] = true
			default:
				next[i+1] = true
			}
		}
		g.skip(next)
		now, next = next, now
	}
	return now[len(g.tokens)]
}

// skip adds the positions that are reached by a * or ** that matches nothing.
func (g glob) skip(reached []bool) {
	for i, t := range g.tokens {
		if reached[i] && t.kind >= run {
			reached[i+1] = true
		}
	}
}
