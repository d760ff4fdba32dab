package redact

import (
	"math/bits"
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

func pieces(form string, yield func(string)) {
	for len(form) > maxPiece {
		yield(form[:maxPiece])
		form = form[min(maxPiece-minForm, len(form)-maxPiece):]
	}
	yield(form)
}

// heads is a filter: a bit for the first four bytes of each of many strings, or for
// all of one that is shorter.
type heads struct {
	bits  []uint64
	shift int
}

// newHeads makes room for so many strings.
func newHeads(count int) *heads {
	size := min(max(bits.Len(uint(count))+4, 10), 24) // one bit of 16 or more is set
	return &heads{bits: make([]uint64, 1<<size/64), shift: 32 - size}
}

func (h *heads) bit(s string) (word, bit int) {
	head := uint32(0)
	if len(s) >= minForm {
		head = uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
	} else {
		for i := range len(s) {
			head = head<<8 | uint32(s[i])
		}
	}
	n := int(head * 0x9E3779B1 >> h.shift)
	return n / 64, n % 64
}

func (h *heads) add(s string) {
	word, bit := h.bit(s)
	h.bits[word] |= 1 << bit
}

func (h *heads) has(s string) bool {
	word, bit := h.bit(s)
	return h.bits[word]&(1<<bit) != 0
}

// An index finds which of many strings of at least 4 bytes stand at a place of a
// text. The strings are sorted. Those that the text at a place begins with come
// before that text in the order, and what is between the longest of them and the
// text begins with it as well. So the longest is the neighbour that a binary
// search finds, or one of the strings that the neighbour begins with.
type index struct {
	sorted []string
	limit  int // how long they are at most
	// parent is the longest other string that a string begins with, or -1.
	parent []int
	// filter has the heads of all, because most places of a text need no search.
	filter *heads
}

func newIndex(all []string, limit int) *index {
	slices.Sort(all)
	all = slices.Compact(all)
	x := &index{sorted: all, limit: limit, parent: make([]int, len(all)), filter: newHeads(len(all))}
	for i, s := range all {
		p := i - 1
		for p >= 0 && !strings.HasPrefix(s, all[p]) {
			p = x.parent[p]
		}
		x.parent[i] = p
		x.filter.add(s)
	}
	return x
}

// at returns the longest string that s begins with, or -1, and how many bytes s
// has in common with the beginning of any string. s has at least four bytes.
func (x *index) at(s string) (longest, common int) {
	if !x.filter.has(s) {
		return -1, 0
	}
	s = s[:min(len(s), x.limit)]
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
	const block = 64
	n := 0
	for n+block <= min(len(a), len(b)) && a[n:n+block] == b[n:n+block] {
		n += block
	}
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

// A builder makes a scanner for some texts. It keeps all forms, for any text, unless
// they are too many.
type builder struct {
	texts    []string
	left     int     // bytes of forms that may be made
	made     int     // and those that were
	size     int     // bytes of those that are kept
	found    *places // in the texts, once they decide what is kept
	all      []string
	inQuotes map[string]bool
}

// overhead is what a piece takes besides its bytes.
const overhead = 40

// add takes the forms of a value, or reports that they are too many.
func (b *builder) add(value string, lines bool) bool {
	always := anywhere(value)
	forms(value, lines, func(form string) {
		if b.made += len(form) + overhead; b.full() {
			return
		}
		// What is made of a value that is replaced only in quotes is so too:
		// MQ==, the base64 of 1, says no more than 1 does.
		switch {
		case always && anywhere(form):
			pieces(form, func(piece string) { b.keep(piece, false) })
		case form != "" && len(form) <= maxPiece:
			b.keep(form, true)
		}
		if b.found == nil && b.size > maxKept {
			b.narrow()
		}
	})
	return !b.full()
}

func (b *builder) full() bool { return b.made > b.left || b.size > 2*maxKept }

func (b *builder) keep(piece string, quoted bool) {
	if b.found != nil {
		if !b.found.have(piece) {
			return
		}
		piece = strings.Clone(piece) // and not all that it is a piece of
	}
	b.size += len(piece) + overhead
	if quoted {
		b.inQuotes[piece] = true
	} else {
		b.all = append(b.all, piece)
	}
}

// narrow keeps from here on only what can be in the texts.
func (b *builder) narrow() {
	b.found = newPlaces(strings.Join(b.texts, "\n"))
	made, quoted := b.all, b.inQuotes
	b.all, b.inQuotes, b.size = nil, make(map[string]bool), 0
	for _, piece := range made {
		b.keep(piece, false)
	}
	for piece := range quoted {
		b.keep(piece, true)
	}
}

// places knows what stands in a text.
type places struct {
	text   string
	sorted []int  // the places, in the order of what stands there
	heads  *heads // what stands there begins with these
	cut    *heads // and these are followed by dots, and may be the beginning of anything
}

func newPlaces(text string) *places {
	p := &places{text: text, sorted: make([]int, len(text)), heads: newHeads(minForm * len(text)), cut: newHeads(len(text))}
	for i := range len(text) {
		p.sorted[i] = i
		for n := range min(minForm, len(text)-i) {
			p.heads.add(text[i : i+n+1])
		}
		if i+minForm <= len(text) && isCut(text[i+minForm:], maxPiece) {
			p.cut.add(text[i : i+minForm])
		}
	}
	slices.SortFunc(p.sorted, func(a, b int) int { return strings.Compare(p.at(a), p.at(b)) })
	return p
}

func (p *places) at(i int) string { return p.text[i:min(len(p.text), i+maxPiece)] }

// have reports whether a piece of a form, or the beginning of one that was cut, may
// be in the text.
func (p *places) have(piece string) bool {
	if !p.heads.has(piece) {
		return false
	}
	if len(piece) >= minForm && p.cut.has(piece) {
		return true
	}
	i := sort.Search(len(p.sorted), func(i int) bool { return p.at(p.sorted[i]) >= piece })
	return i < len(p.sorted) && strings.HasPrefix(p.at(p.sorted[i]), piece)
}

func (b *builder) scanner() *scanner {
	s := &scanner{forms: newIndex(b.all, maxPiece), inQuotes: b.inQuotes}
	for form := range b.inQuotes {
		s.maxInQuotes = max(s.maxInQuotes, len(form))
	}
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
	// forms are sorted, heads has the first bytes of each, and first says which is
	// the first form with a head.
	forms []string
	heads *index
	first []int
}

const (
	// minHeld is the length from which on a value does not stand in a text by chance.
	minHeld = 8
	// maxHead is the length of a head: no other text begins by chance as a value does.
	maxHead = 1 << 10
)

func newHolder(values map[string]bool) *holder {
	h := &holder{}
	for value := range values {
		// What holds the whole value, in base64 too, holds this as well.
		value = strings.TrimSpace(value)
		if len(value) < minHeld {
			continue
		}
		h.forms = append(h.forms, value)
		for _, form := range base64Inside(value) {
			h.forms = append(h.forms, form)
			if strings.ContainsAny(form, "+/") {
				h.forms = append(h.forms, toURL.Replace(form))
			}
		}
		if len(value) > maxToken {
			continue
		}
		for _, number := range numbers(value) {
			if len(number) >= minHeld {
				h.forms = append(h.forms, number)
			}
		}
	}
	slices.Sort(h.forms)
	h.forms = slices.Compact(h.forms)
	var heads []string
	for i, form := range h.forms {
		head := form[:min(len(form), maxHead)]
		if len(heads) == 0 || heads[len(heads)-1] != head {
			heads, h.first = append(heads, head), append(h.first, i)
		}
	}
	h.first = append(h.first, len(h.forms))
	h.heads = newIndex(heads, maxHead) // which keeps their order
	return h
}

// holds compares at each place, which takes long for text and values that are all
// alike. So there is a bound, in proportion to the text; behind it the answer is
// yes, because such values were made to be hard to find.
func (h *holder) holds(text string) bool {
	const unit = 64 // bytes that are compared at once
	left := 1<<20 + maxHead/unit*2*len(text)
	for i := range max(0, len(text)-minForm+1) {
		rest := text[i:]
		head, _ := h.heads.at(rest)
		for ; head >= 0; head = h.heads.parent[head] {
			for _, form := range h.forms[h.first[head]:h.first[head+1]] {
				if len(form) <= len(rest) {
					left -= len(form) / unit
				}
				if left--; left < 0 || strings.HasPrefix(rest, form) {
					return true
				}
			}
		}
	}
	return false
}
