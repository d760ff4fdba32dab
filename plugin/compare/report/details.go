package report

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"hallmark.dev/hallmark/plugin/compare"
)

// Details are the objects of one application in Markdown: a block of code that can
// be opened, and that can be cut at the end of each of its lines.
type details struct {
	app    application
	lines  []string
	starts []int // the lines at which the objects begin
	end    int   // the line behind the last of them
	open   bool
}

func (c *comment) detailsOfAll() []details {
	list := make([]details, len(c.apps))
	only, n := 0, 0
	for i, app := range c.apps {
		list[i] = detailsOf(app)
		if len(list[i].lines) > 0 {
			only, n = i, n+1
		}
	}
	if n == 1 {
		list[only].open = true // nothing else to choose from
	}
	return list
}

func detailsOf(app application) details {
	d := details{app: app}
	for _, note := range app.Notes {
		d.add("# note: " + shorten(printable(note), 300))
	}
	for _, e := range app.listed {
		if len(d.lines) > 0 {
			d.add("")
		}
		d.starts = append(d.starts, len(d.lines))
		switch name := shorten(e.title, 300); e.sign {
		case added, deleted:
			d.add(string(e.sign) + " " + name)
		default:
			d.add("@@ " + name + " @@")
		}
		for i := range e.fields {
			d.field(newView(&e.fields[i]))
		}
		if len(e.causes) > 0 {
			d.add("  and by " + shorten(numbers(e.causes), 300))
		}
	}
	d.end = len(d.lines)
	if app.covered > 0 && len(d.lines) > 0 {
		d.add("")
		d.add("# " + shorten(byCauses(app), 300))
	}
	return d
}

func (d *details) add(text string) { d.lines = append(d.lines, text) }

// field adds the lines of one field. In a block of the language "diff" those that
// begin with "+", "-" and "!" have colours.
func (d *details) field(v view) {
	path := shorten(v.path, 300) + ":"
	switch {
	case len(v.lines) > 0:
		d.add("  " + path)
		for _, l := range v.lines {
			if l.op == hunk {
				d.add(l.text)
				continue
			}
			d.add(strings.TrimRight(string(l.op)+"   "+shorten(l.text, 300), " "))
		}
	case v.note != "":
		d.add("! " + path + " " + v.text(100))
	default:
		from, to := shortenPair(v.from, v.to, 200)
		if v.sign != added {
			d.add("- " + path + " " + from)
		}
		if v.sign != deleted {
			d.add("+ " + path + " " + to)
		}
	}
}

// cut is the Markdown of the first n lines, with what is missing counted.
func (d *details) cut(n int) string {
	lines := d.lines[:n]
	if n < len(d.lines) {
		lines = append(slices.Clone(lines), "# left out: "+strings.Join(d.missing(n), ", "))
	}
	fence := fenceFor(lines)
	open := ""
	if d.open {
		open = " open"
	}
	return fmt.Sprintf("\n<details%s><summary>%s: %s</summary>\n\n%sdiff\n%s\n%s\n\n</details>\n",
		open, summaryCode(d.app.Name), d.counts(), fence, strings.Join(lines, "\n"), fence)
}

// missing says what the lines from n on are about.
func (d *details) missing(n int) []string {
	var parts []string
	first := sort.SearchInts(d.starts, n)                                // of the objects that are missing
	switch between := first < len(d.starts) && d.starts[first] <= n+1; { // with a blank line in front
	case between || n >= d.end:
	case first == 0:
		parts = append(parts, "the rest of the notes")
	default:
		parts = append(parts, "the rest of this object")
	}
	if missing := len(d.starts) - first; missing > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s", missing, count(len(d.starts), "object")))
	}
	if d.app.covered > 0 {
		parts = append(parts, byCauses(d.app))
	}
	return parts
}

// within is the longest Markdown of d that fits into a room: all of it, or a part
// that shows more than the name of an object, or "".
func (d *details) within(room int) string {
	if text := d.cut(len(d.lines)); len(text) <= room {
		return text
	}
	n := sort.Search(len(d.lines), func(n int) bool { return len(d.cut(n)) > room }) - 1
	for n > 0 && (d.lines[n-1] == "" || slices.Contains(d.starts, n-1) && n < len(d.lines) && d.lines[n] != "") {
		n--
	}
	if n <= 0 || len(d.cut(n)) > room {
		return ""
	}
	return d.cut(n)
}

func (d *details) counts() string {
	var parts []string
	c := d.app.Counts
	for _, part := range []struct {
		n  int
		of string
	}{{c.Added, "added"}, {c.Removed, "removed"}, {c.Changed, "changed"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.of))
		}
	}
	if d.app.Status == compare.StatusRefused {
		parts = append(parts, "incomplete")
	}
	if len(parts) == 0 {
		return "notes"
	}
	return strings.Join(parts, ", ")
}
