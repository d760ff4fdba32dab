package compile

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// Lua's patterns are not regular expressions: they have no alternation, and a
// repetition is of one character. What follows translates those regular
// expressions of which a finite number of Lua patterns say the same, byte for
// byte on UTF-8, and refuses the others.
//
// An alternation becomes several patterns, also one inside of a sequence, which
// is multiplied out; x{2,4} becomes xxx?x?. A single character that may be longer
// than a byte is matched as a first byte and the bytes that continue it; in a
// repetition of any such characters every byte may be taken by itself, because
// what comes after it begins a character.

// maxPatterns bounds what alternations multiply out to.
const maxPatterns = 32

// errPattern is what all refusals have in common.
var errPattern = errors.New("the regular expression has no exact Lua pattern")

func refusePattern(why string, args ...any) error {
	return fmt.Errorf("%w: %s; a comparison with == or in, startsWith() or contains() may do", errPattern, fmt.Sprintf(why, args...))
}

// luaPatterns returns patterns, one of which string.find finds just where the RE2
// expression matches.
func luaPatterns(expression string) ([]string, error) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("the regular expression does not parse: %w", err)
	}
	sequences, err := sequences(parsed)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, seq := range sequences {
		if seq = bare(seq); costly(seq) {
			return nil, refusePattern("it has several repetitions without a bound, which Lua could try for longer than Argo CD waits")
		}
		pattern, possible, err := join(seq)
		if err != nil {
			return nil, err
		}
		if possible {
			out = append(out, pattern)
		}
	}
	if len(out) == 0 {
		return nil, refusePattern("it matches nothing")
	}
	return out, nil
}

// An item is a piece of a Lua pattern. anchor is "^" or "$" for one that matches
// a place. star is set for a repetition without a bound that may be empty.
type item struct {
	text, anchor string
	star         bool
}

// bare is a sequence without the repetitions at its ends that matter to nothing: where
// any text may stand in front, none will do.
func bare(seq []item) []item {
	for len(seq) > 0 && seq[0].star {
		seq = seq[1:]
	}
	for len(seq) > 0 && seq[len(seq)-1].star {
		seq = seq[:len(seq)-1]
	}
	return seq
}

// costly reports whether a text of some thousand characters could take Lua longer
// than Argo CD waits: it tries every length of each repetition at every place.
func costly(seq []item) bool {
	stars := 0
	for _, it := range seq {
		if it.star {
			stars++
		}
	}
	if len(seq) > 0 && seq[0].anchor == "^" {
		return stars > 2
	}
	return stars > 1
}

// join prints a sequence. A sequence with an anchor at a place that it cannot be at,
// such as "a^", is not possible.
func join(seq []item) (pattern string, possible bool, err error) {
	var b strings.Builder
	for i, it := range seq {
		switch it.anchor {
		case "^":
			if b.Len() > 0 && b.String() != "^" {
				return "", false, refusePattern("^ after something")
			}
			if b.Len() == 0 {
				b.WriteByte('^')
			}
		case "$":
			for _, after := range seq[i+1:] {
				if after.anchor != "$" {
					return "", false, refusePattern("something after $")
				}
			}
			b.WriteByte('$')
			return b.String(), true, nil
		default:
			b.WriteString(it.text)
		}
	}
	return b.String(), true, nil
}

// sequences is the alternatives of an expression.
func sequences(re *syntax.Regexp) ([][]item, error) {
	one := func(items ...item) ([][]item, error) { return [][]item{items}, nil }
	if re.Flags&syntax.FoldCase != 0 && re.Op == syntax.OpLiteral {
		return nil, refusePattern("it ignores case")
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return one()
	case syntax.OpLiteral:
		return one(item{text: escape(string(re.Rune))})
	case syntax.OpCharClass, syntax.OpAnyCharNotNL, syntax.OpAnyChar:
		set, err := setOf(re)
		if err != nil {
			return nil, err
		}
		return one(item{text: set.single()})
	case syntax.OpBeginText:
		return one(item{anchor: "^"})
	case syntax.OpEndText:
		return one(item{anchor: "$"})
	case syntax.OpCapture:
		return sequences(re.Sub[0])
	case syntax.OpConcat:
		all := [][]item{nil}
		for _, sub := range re.Sub {
			next, err := sequences(sub)
			if err != nil {
				return nil, err
			}
			if all, err = product(all, next); err != nil {
				return nil, err
			}
		}
		return all, nil
	case syntax.OpAlternate:
		var all [][]item
		for _, sub := range re.Sub {
			next, err := sequences(sub)
			if err != nil {
				return nil, err
			}
			all = append(all, next...)
		}
		return bounded(all)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		return repetition(re)
	default:
		return nil, refusePattern("%q", re.String())
	}
}

func bounded(all [][]item) ([][]item, error) {
	if len(all) > maxPatterns {
		return nil, refusePattern("its alternatives come to more than %d", maxPatterns)
	}
	return all, nil
}

func product(a, b [][]item) ([][]item, error) {
	var all [][]item
	for _, x := range a {
		for _, y := range b {
			all = append(all, slices.Concat(x, y))
		}
	}
	return bounded(all)
}

func repetition(re *syntax.Regexp) ([][]item, error) {
	sub := re.Sub[0]
	for sub.Op == syntax.OpCapture {
		sub = sub.Sub[0]
	}
	least, most := re.Min, re.Max
	switch re.Op {
	case syntax.OpStar:
		least, most = 0, -1
	case syntax.OpPlus:
		least, most = 1, -1
	case syntax.OpQuest:
		least, most = 0, 1
	}
	if least > maxPatterns || most > maxPatterns {
		return nil, refusePattern("more than %d repetitions", maxPatterns)
	}
	set, err := setOf(sub)
	if err == nil && set.repeatable(least, most) {
		before := item{text: strings.Repeat(set.single(), least)}
		if most < 0 {
			return [][]item{{before, {text: set.bytes() + "*", star: true}}}, nil
		}
		before.text += strings.Repeat(set.bytes()+"?", most-least)
		return [][]item{{before}}, nil
	}
	if most < 0 {
		return nil, refusePattern("it repeats %q, which is more than one character", sub.String())
	}
	// A bounded repetition of anything else is multiplied out.
	times, err := sequences(sub)
	if err != nil {
		return nil, err
	}
	run := [][]item{nil}
	var all [][]item
	for n := 0; n <= most; n++ {
		if n >= least {
			all = append(all, run...)
		}
		if n < most {
			if run, err = product(run, times); err != nil {
				return nil, err
			}
		}
	}
	return bounded(all)
}

// A set is the characters that one place may have: an ASCII class, and all of
// the others or none.
type set struct {
	ascii [utf8.RuneSelf]bool
	wide  bool
}

func setOf(re *syntax.Regexp) (set, error) {
	var s set
	switch re.Op {
	case syntax.OpLiteral:
		if len(re.Rune) != 1 || re.Rune[0] >= utf8.RuneSelf || re.Flags&syntax.FoldCase != 0 {
			return s, refusePattern("%q is not one ASCII character", re.String())
		}
		s.ascii[re.Rune[0]] = true
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		for i := range s.ascii {
			s.ascii[i] = i != '\n' || re.Op == syntax.OpAnyChar
		}
		s.wide = true
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1] && r < utf8.RuneSelf; r++ {
				s.ascii[r] = true
			}
			if re.Rune[i+1] >= utf8.RuneSelf {
				if re.Rune[i] > utf8.RuneSelf || re.Rune[i+1] != utf8.MaxRune {
					return s, refusePattern("the class %s has some characters beyond ASCII and not all", re.String())
				}
				s.wide = true
			}
		}
	default:
		return s, refusePattern("%q is not one character", re.String())
	}
	return s, nil
}

// repeatable reports whether a repetition can be one of bytes. A bounded
// one of wide characters cannot: it would count bytes.
func (s set) repeatable(least, most int) bool { return !s.wide || most < 0 || most == least }

// single matches one character.
func (s set) single() string {
	if !s.wide {
		return s.bytes()
	}
	return "[" + s.members() + "\xc0-\xff][\x80-\xbf]*"
}

// bytes matches one byte of the characters.
func (s set) bytes() string {
	members := s.members()
	if s.wide {
		return "[" + members + "\x80-\xff]"
	}
	for i, in := range s.ascii {
		if in && members == escapeByte(byte(i)) {
			return members
		}
	}
	return "[" + members + "]"
}

func (s set) members() string {
	var b strings.Builder
	for i := 0; i < len(s.ascii); i++ {
		if !s.ascii[i] {
			continue
		}
		last := i
		for last+1 < len(s.ascii) && s.ascii[last+1] {
			last++
		}
		// A range is of letters or digits, or of everything between two control
		// characters, so that no end of one has a meaning of its own.
		if last-i >= 2 {
			b.WriteString(rangeText(byte(i), byte(last))) //nolint:gosec // both are below utf8.RuneSelf
		} else {
			for j := i; j <= last; j++ {
				b.WriteString(escapeByte(byte(j)))
			}
		}
		i = last
	}
	return b.String()
}

// rangeText is a range whose ends are plain: others are written one by one.
func rangeText(first, last byte) string {
	var b strings.Builder
	for first <= last && !plain(first) {
		b.WriteString(escapeByte(first))
		first++
	}
	var tail []byte
	for last > first && !plain(last) {
		tail = append([]byte(escapeByte(last)), tail...)
		last--
	}
	switch {
	case first > last:
	case last-first >= 2:
		b.WriteString(string(first) + "-" + string(last))
	default:
		for c := first; c <= last; c++ {
			b.WriteString(escapeByte(c))
		}
	}
	return b.String() + string(tail)
}

// plain reports whether a byte means itself everywhere in a pattern.
func plain(c byte) bool {
	return c < ' ' && c != 0 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == ' ' || c == 0x7f
}

func escapeByte(c byte) string {
	if plain(c) || c >= utf8.RuneSelf || c == 0 {
		return string([]byte{c})
	}
	return "%" + string(c)
}

func escape(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		b.WriteString(escapeByte(c))
	}
	return b.String()
}
