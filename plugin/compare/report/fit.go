package report

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// How a comment is made to fit
//
// A selection is what a comment shows. It begins with nothing but the heading and the
// line that says what is cut, and grows as long as the whole, which is written to be
// measured, fits: so what it takes to say what is cut is never forgotten. The order is
// that in which a reader would miss the parts:
//
//	1. refusals, a line of each, up to half of the room
//	2. what was compared, with the number of objects
//	3. rows of the table, those of most interest first; what follows waits for all of them
//	4. notes, causes and the further lines of refusals, each up to half of what is left
//	5. details, none of them more than half of what is left
//	6. what is still free goes to those of 1, 4 and 5 that had to share
//
// The first line of 1 and of each in 4 may take all that is left. The halves are there so
// that hundreds of refusals for one reason do not hide what changes elsewhere, nor causes
// the objects.

// A selection is what is shown of a comment: the first so many of each part.
type selection struct {
	about                         bool
	refusals, rows, notes, causes int
	whole                         int      // refusals that have all their lines
	narrow                        bool     // refusals in few characters
	details                       []string // of each application, "" for none
}

// within is the comment in at most room bytes.
func (c *comment) within(room int) string {
	all := selection{about: true, refusals: len(c.refusals), rows: len(c.order), notes: len(c.notes),
		causes: len(c.causes), whole: len(c.refusals), details: c.allDetails()}
	if text := c.write(all); len(text) <= room {
		return text
	}
	s := selection{details: make([]string, len(c.details))}
	if len(c.write(s)) > room {
		return c.least(room)
	}
	c.share(&s, &s.refusals, len(c.refusals), room)
	if s.refusals == 0 && len(c.refusals) > 0 {
		s.narrow = true
		c.grow(&s, &s.refusals, 1, room)
	}
	if s.about = true; len(c.write(s)) > room {
		s.about = false
	}
	c.grow(&s, &s.rows, len(c.order), room)
	if s.rows < len(c.order) {
		c.grow(&s, &s.refusals, len(c.refusals), room)
		return c.write(s)
	}
	c.share(&s, &s.notes, len(c.notes), room)
	c.share(&s, &s.causes, len(c.causes), room)
	c.share(&s, &s.whole, s.refusals, room)
	c.growDetails(&s, room)
	c.grow(&s, &s.refusals, len(c.refusals), room)
	c.grow(&s, &s.notes, len(c.notes), room)
	c.grow(&s, &s.causes, len(c.causes), room)
	c.grow(&s, &s.whole, s.refusals, room)
	return c.write(s)
}

// share grows a number of s within half of what is left of a room, to 1 at least where
// that fits into the whole of it.
func (c *comment) share(s *selection, n *int, most, room int) {
	used := len(c.write(*s))
	c.grow(s, n, most, used+(room-used)/2)
	if *n == 0 {
		c.grow(s, n, min(1, most), room)
	}
}

// grow makes a number of s, which points into it, as large as fits into a room.
func (c *comment) grow(s *selection, n *int, most, room int) {
	from := *n
	fits := func(i int) bool {
		*n = i
		return len(c.write(*s)) <= room
	}
	if from >= most || fits(most) {
		return
	}
	*n = from + max(0, sort.Search(most-from, func(i int) bool { return !fits(from + i) })-1)
}

// least is what can be said where there is no room to say what is cut.
func (c *comment) least(room int) string {
	t := c.totals.Applications
	var few []string
	for _, part := range []struct {
		n  int
		of string
	}{{t.Refused, "refused"}, {t.Added + t.Removed + t.Changed, "differing"}} {
		if part.n > 0 {
			few = append(few, fmt.Sprintf("%d %s", part.n, part.of))
		}
	}
	for _, text := range []string{
		c.heading() + "\n\nThe rest is cut.\n",
		c.totals.statuses() + "; the rest is cut\n",
		strings.Join(append(slices.Clone(few), "cut\n"), ", "),
		strings.Join(append(slices.Clone(few[:min(1, len(few))]), "cut\n"), ", "),
		"cut\n",
	} {
		if len(text) <= room {
			return text
		}
	}
	return ""
}

// cut says how much is not shown, "" where all is.
func (c *comment) cut(s selection) string {
	var parts []string
	part := func(shown, all int, before, of string) {
		switch missing := all - shown; {
		case missing == 0:
		case missing == all && all > 1:
			parts = append(parts, fmt.Sprintf("%sall %d %ss", before, all, of))
		default:
			parts = append(parts, fmt.Sprintf("%s%d of %s", before, missing, count(all, of)))
		}
	}
	part(s.rows, len(c.order), "", "application")
	part(s.refusals, len(c.refusals), "", "refusal")
	further := 0
	for i, r := range c.refusals[:s.refusals] {
		if i >= s.whole && len(r.more) > 0 {
			further++
		}
	}
	if further > 0 {
		parts = append(parts, "further lines of "+count(further, "refusal"))
	}
	part(s.causes, len(c.causes), "", "cause")
	shown, all := 0, 0
	for i := range c.details {
		if len(c.details[i].lines) > 0 {
			all++
			shown += min(1, len(s.details[i]))
		}
	}
	part(shown, all, "details of ", "application")
	part(s.notes, len(c.notes), "", "note")
	if !s.about {
		parts = append(parts, "both sides and the object counts")
	}
	if len(parts) == 0 {
		return ""
	}
	return "Cut to fit: " + strings.Join(parts, ", ") + "."
}

// refusalsShown are the lines of the refusals.
func (c *comment) refusalsShown(s selection) []string {
	const narrow = 120
	var lines []string
	for i, r := range c.refusals[:s.refusals] {
		if s.narrow {
			r.first = shorten(r.first, narrow)
		}
		lines = append(lines, r.first)
		if i < s.whole {
			lines = append(lines, r.more...)
		}
	}
	return lines
}

func (c *comment) allDetails() []string {
	texts := make([]string, len(c.details))
	for i := range c.details {
		if d := &c.details[i]; len(d.lines) > 0 {
			texts[i] = d.cut(len(d.lines))
		}
	}
	return texts
}

// growDetails adds the details that fit. Those with most to look at come first, and
// none takes more than half of what is left, so that one application does not hide the
// others; room that stays free then goes to those that were cut.
func (c *comment) growDetails(s *selection, room int) {
	// "all 12 applications" can become "11 of 12 applications", which is longer.
	room -= len(c.write(*s)) + len(strconv.Itoa(len(c.details)))
	order := slices.DeleteFunc(byInterest(c.apps), func(i int) bool { return len(c.details[i].lines) == 0 })
	for _, part := range []int{2, 1} {
		for _, i := range order {
			text := c.details[i].within(len(s.details[i]) + room/part)
			room -= len(text) - len(s.details[i])
			s.details[i] = text
		}
	}
}
