package lint

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gobwas/glob"
)

// Two wildcard keys overlap where one group and kind matches both. Which pairs do is
// decided on the patterns, exactly up to 64 alternatives in braces: each is a sequence of sets of characters, some of
// which repeat, and the product of the sequences is searched for a word that all of
// them take. The patterns are those of github.com/gobwas/glob without separators,
// which Argo CD matches keys with: * and ** are any text, ? any character, [abc],
// [a-z] and [!a-z] one of a set, {a,b} either. That library does not match all that it
// should where there is a * within braces, so it has the last word on what was found.

// A charset is ranges of characters, or all but those.
type charset struct {
	ranges [][2]rune
	not    bool
}

func (c charset) has(r rune) bool {
	return slices.ContainsFunc(c.ranges, func(in [2]rune) bool { return in[0] <= r && r <= in[1] }) != c.not
}

// A term takes one character, or any number where it repeats.
type term struct {
	set    charset
	repeat bool
}

var (
	anything = charset{not: true}
	ofGroup  = charset{ranges: [][2]rune{{'a', 'z'}, {'0', '9'}, {'.', '.'}, {'-', '-'}}}
	ofKind   = charset{ranges: [][2]rune{{'A', 'Z'}, {'a', 'z'}, {'0', '9'}}}
	// A key is a group, a slash and a kind; or a kind of the core group.
	keyShapes = [][]term{
		{{set: ofGroup}, {set: ofGroup, repeat: true}, {set: single('/')}, {set: ofKind}, {set: ofKind, repeat: true}},
		{{set: ofKind}, {set: ofKind, repeat: true}},
	}
)

func single(r rune) charset { return charset{ranges: [][2]rune{{r, r}}} }

// isWildcard tells whether a key of overrides is a pattern and not only a name.
func isWildcard(key string) bool { return strings.ContainsAny(key, `*?[{\`) }

// pattern is a wildcard as Argo CD matches it.
type pattern struct{ compiled glob.Glob }

// newPattern compiles a key. The library panics on some that it has compiled, at any
// rate on those with a brace that is not closed.
func newPattern(key string) (p pattern, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the matcher crashes on it: %v", r)
		}
	}()
	parser := &patternParser{rest: key}
	if parser.sequence(false); parser.unclosed {
		return pattern{}, errors.New("a brace is not closed, and Argo CD may crash when it matches it")
	}
	p.compiled, err = glob.Compile(key)
	return p, err
}

// match guards the library; a key on which it panics matches nothing.
func (p pattern) match(key string) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return p.compiled.Match(key)
}

// overlap returns a group and kind that both patterns match: one of those that are
// known, or one that is made up.
func overlap(a, b string, known []string) (key string, ok bool) {
	first, err := newPattern(a)
	if err != nil {
		return "", false
	}
	second, err := newPattern(b)
	if err != nil {
		return "", false
	}
	for _, key := range known {
		if first.match(key) && second.match(key) {
			return key, true
		}
	}
	for _, left := range alternatives(a) {
		for _, right := range alternatives(b) {
			for _, shape := range keyShapes {
				if word, ok := meet(left, right, shape); ok && first.match(word) && second.match(word) {
					return word, true
				}
			}
		}
	}
	return "", false
}

// maxAlternatives bounds what the braces of a pattern are multiplied out to.
const maxAlternatives = 64

// alternatives multiplies out the braces.
func alternatives(pattern string) [][]term {
	p := &patternParser{rest: pattern}
	return p.sequence(false)
}

type patternParser struct {
	rest     string
	unclosed bool // a brace is
}

func (p *patternParser) next() rune {
	r, n := utf8.DecodeRuneInString(p.rest)
	p.rest = p.rest[n:]
	return r
}

func (p *patternParser) sequence(inBraces bool) [][]term {
	all := [][]term{nil}
	appendTerm := func(t term) {
		for i := range all {
			all[i] = append(slices.Clip(all[i]), t)
		}
	}
	for p.rest != "" {
		if inBraces && (p.rest[0] == ',' || p.rest[0] == '}') {
			break
		}
		switch r := p.next(); {
		case r == '*':
			appendTerm(term{set: anything, repeat: true})
		case r == '?':
			appendTerm(term{set: anything})
		case r == '[':
			appendTerm(term{set: p.set()})
		case r == '{':
			all = product(all, p.braces())
		case r == '\\' && p.rest != "":
			appendTerm(term{set: single(p.next())})
		default:
			appendTerm(term{set: single(r)})
		}
	}
	return all
}

func product(firsts, seconds [][]term) [][]term {
	var all [][]term
	for _, first := range firsts {
		for _, second := range seconds {
			if len(all) < maxAlternatives {
				all = append(all, slices.Concat(first, second))
			}
		}
	}
	return all
}

// braces reads the rest of {a,b}.
func (p *patternParser) braces() [][]term {
	var all [][]term
	for {
		all = append(all, p.sequence(true)...)
		if p.rest == "" {
			p.unclosed = true
			return all
		}
		if p.next() == '}' {
			return all
		}
	}
}

// set reads the rest of [abc], [a-z] or [!a-z].
func (p *patternParser) set() charset {
	inside, rest, _ := strings.Cut(p.rest, "]")
	p.rest = rest
	inside, not := strings.CutPrefix(inside, "!")
	set := charset{not: not}
	runes := []rune(inside)
	if len(runes) == 3 && runes[1] == '-' {
		set.ranges = [][2]rune{{runes[0], runes[2]}}
		return set
	}
	for _, r := range runes {
		set.ranges = append(set.ranges, [2]rune{r, r})
	}
	return set
}

// meet searches for the shortest word that all sequences take.
func meet(sequences ...[]term) (word string, ok bool) {
	type state [3]int
	type step struct {
		at   state
		word string
	}
	seen := map[state]bool{{}: true}
	queue := []step{{}}
	push := func(s step) {
		if !seen[s.at] {
			seen[s.at] = true
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		done := true
		var sets []charset
		for i, sequence := range sequences {
			if s.at[i] == len(sequence) {
				continue
			}
			t := sequence[s.at[i]]
			done = false
			sets = append(sets, t.set)
			if t.repeat { // it takes no more
				to := s
				to.at[i]++
				push(to)
			}
		}
		if done {
			return s.word, true
		}
		if len(sets) < len(sequences) {
			continue // one is at its end
		}
		if r, ok := common(sets); ok {
			to := step{at: s.at, word: s.word + string(r)}
			for i, sequence := range sequences {
				if !sequence[s.at[i]].repeat {
					to.at[i]++
				}
			}
			push(to)
		}
	}
	return "", false
}

// common returns a character that all sets have, a usual one first.
func common(sets []charset) (rune, bool) {
	candidates := []rune("xX.-/0")
	for _, set := range sets {
		for _, in := range set.ranges {
			candidates = append(candidates, in[0], in[1])
		}
	}
	for _, r := range candidates {
		if !slices.ContainsFunc(sets, func(s charset) bool { return !s.has(r) }) {
			return r, true
		}
	}
	return 0, false
}
