package redact

import (
	"encoding/base64"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// A form of more than maxPiece bytes is looked for in pieces of that length, so
// that the time for one place of a text has a bound. Each piece overlaps the one
// before by minForm bytes: a form that was cut behind a piece then has enough of
// the next one left to be recognised.
const maxPiece = 64

func pieces(form string) []string {
	var out []string
	for len(form) > maxPiece {
		out = append(out, form[:maxPiece])
		form = form[min(maxPiece-minForm, len(form)-maxPiece):]
	}
	return append(out, form)
}

// An index finds which of many strings of 4 to 64 bytes stand at a place of a
// text. The strings are sorted. Those that the text at a place begins with come
// before that text in the order, and what is between the longest of them and the
// text begins with it as well. So the longest is the neighbour that a binary
// search finds, or one of the strings that the neighbour begins with.
type index struct {
	sorted []string
	// parent is the longest other string that a string begins with, or -1.
	parent []int
	// filter has a bit for the first four bytes of each string, because most
	// places of a text need no search.
	filter []uint64
}

const filterBits = 19

func newIndex(all []string) *index {
	slices.Sort(all)
	all = slices.Compact(all)
	x := &index{sorted: all, parent: make([]int, len(all)), filter: make([]uint64, 1<<filterBits/64)}
	for i, s := range all {
		p := i - 1
		for p >= 0 && !strings.HasPrefix(s, all[p]) {
			p = x.parent[p]
		}
		x.parent[i] = p
		bit := filterBit(s)
		x.filter[bit/64] |= 1 << (bit % 64)
	}
	return x
}

// filterBit hashes the first four bytes of s.
func filterBit(s string) uint32 {
	_ = s[3]
	head := uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
	return head * 0x9E3779B1 >> (32 - filterBits)
}

// at returns the longest string that s begins with, or -1, and how many bytes s
// has in common with the beginning of any string. s has at least four bytes.
func (x *index) at(s string) (longest, common int) {
	bit := filterBit(s)
	if x.filter[bit/64]&(1<<(bit%64)) == 0 {
		return -1, 0
	}
	s = s[:min(len(s), maxPiece)]
	after := sort.Search(len(x.sorted), func(i int) bool { return x.sorted[i] > s })
	longest = after - 1
	if longest >= 0 {
		common = commonPrefix(s, x.sorted[longest])
	}
	for longest >= 0 && len(x.sorted[longest]) > common {
		longest = x.parent[longest]
	}
	if after < len(x.sorted) {
		common = max(common, commonPrefix(s, x.sorted[after]))
	}
	return longest, common
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// A scanner takes values out of a text.
type scanner struct {
	forms *index
	// inQuotes are the forms that are replaced only in quotes, the longest has
	// maxInQuotes bytes.
	inQuotes    map[string]bool
	maxInQuotes int
}

func newScanner(values map[string]bool) *scanner {
	s := &scanner{inQuotes: make(map[string]bool)}
	var all []string
	seen := make(map[string]bool) // most forms of most values are the same
	for value := range values {
		always := anywhere(value)
		for _, form := range forms(value) {
			if always && seen[form] {
				continue
			}
			// What is made of a value that is replaced only in quotes is so too:
			// MQ==, the base64 of 1, says no more than 1 does.
			switch {
			case always && anywhere(form):
				seen[form] = true
				all = append(all, pieces(form)...)
			case form != "" && len(form) <= maxPiece:
				s.inQuotes[form] = true
				s.maxInQuotes = max(s.maxInQuotes, len(form))
			}
		}
	}
	s.forms = newIndex(all)
	return s
}

func (s *scanner) replace(text string) string {
	var out strings.Builder
	done, from, to := 0, 0, 0 // text[from:to] is found and not yet written
	found := func(start, end int) {
		// A piece of a form may begin or end inside of a character.
		for n := 1; n < utf8.UTFMax && start > 0 && !utf8.RuneStart(text[start]); n++ {
			start--
		}
		for n := 1; n < utf8.UTFMax && end < len(text) && !utf8.RuneStart(text[end]); n++ {
			end++
		}
		if start > to {
			if to > from {
				out.WriteString(text[done:from] + mark)
				done = to
			}
			from = start
		}
		to = max(to, end)
	}
	for i := range len(text) {
		if n := s.length(text[i:]); n > 0 && !inMark(text, i, i+n) {
			found(i, i+n)
		}
		if start, end := s.quotedAt(text, i); start < end {
			found(start, end)
		}
	}
	if to == from {
		return text
	}
	out.WriteString(text[done:from] + mark + text[to:])
	return out.String()
}

// length returns how many bytes at the beginning of text are a form or the
// beginning of one that was cut, or 0.
func (s *scanner) length(text string) int {
	if len(text) < minForm {
		return 0
	}
	longest, common := s.forms.at(text)
	if common >= minForm && isCut(text[minForm:], common-minForm) {
		return common
	}
	if longest < 0 {
		return 0
	}
	return len(s.forms.sorted[longest])
}

// isCut reports whether "..." or "…" begins within the first n bytes of text or
// behind them, with a space in front or without.
func isCut(text string, n int) bool {
	const dots, ellipsis = "...", "…" // both have three bytes
	if n < len(text) && text[n] == ' ' {
		n++
	}
	text = text[:min(len(text), n+len(dots))]
	return strings.Contains(text, dots) || strings.Contains(text, ellipsis)
}

// inMark reports whether text[from:to] is part of a mark that is there already:
// without this rule a value such as "secret" would be replaced in marks, and a
// text that passes twice would grow.
func inMark(text string, from, to int) bool {
	first, last := max(0, to-len(mark)), min(len(text), from+len(mark))
	return first < last && strings.Contains(text[first:last], mark)
}

// quotedAt returns where in text a form stands that is replaced only in quotes,
// if its opening quote is at i. The quotes may be escaped, being in quotes
// themselves.
func (s *scanner) quotedAt(text string, i int) (from, to int) {
	quote := text[i]
	if s.maxInQuotes == 0 || quote != '"' && quote != '\'' && quote != '`' {
		return 0, 0
	}
	from = i + 1
	rest := text[from:min(len(text), from+s.maxInQuotes+len(`\"`))]
	for n := range len(rest) {
		if rest[n] != quote {
			continue
		}
		// A form may have quotes or backslashes in it, so each end is tried.
		content := rest[:n]
		if s.inQuotes[content] {
			return from, from + n
		}
		if content = strings.TrimSuffix(content, `\`); i > 0 && text[i-1] == '\\' && s.inQuotes[content] {
			return from, from + len(content)
		}
	}
	return 0, 0
}

// A holder tells whether a text holds a value.
type holder struct {
	// heads has the first bytes of each form.
	heads *index
	// forms has the forms that begin with a head.
	forms map[string][]string
}

// minHeld is the length from which on a value does not stand in a text by chance.
const minHeld = 8

func newHolder(values map[string]bool) *holder {
	h := &holder{forms: make(map[string][]string)}
	var heads []string
	for value := range values {
		// What holds the whole value, in base64 too, holds this as well.
		value = strings.TrimSpace(value)
		if len(value) < minHeld {
			continue
		}
		all := append(base64Inside(base64.StdEncoding, value), base64Inside(base64.URLEncoding, value)...)
		all = append(all, value)
		for _, number := range numbers(value) {
			if len(number) >= minHeld {
				all = append(all, number)
			}
		}
		slices.Sort(all)
		for _, form := range slices.Compact(all) {
			head := form[:min(len(form), maxPiece)]
			heads = append(heads, head)
			h.forms[head] = append(h.forms[head], form)
		}
	}
	h.heads = newIndex(heads)
	return h
}

func (h *holder) holds(text string) bool {
	var missing map[int]bool // heads none of whose forms is in the text
	for i := range max(0, len(text)-minForm+1) {
		head, _ := h.heads.at(text[i:])
		for ; head >= 0; head = h.heads.parent[head] {
			if missing[head] {
				continue
			}
			for _, form := range h.forms[h.heads.sorted[head]] {
				if strings.Contains(text[i:], form) {
					return true
				}
			}
			if missing == nil {
				missing = make(map[int]bool)
			}
			missing[head] = true
		}
	}
	return false
}
