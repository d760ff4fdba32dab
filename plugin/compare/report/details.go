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
	open   bool
}

func (m *comment) details() []details {
	list := make([]details, len(m.apps))
	only, n := 0, 0
	for i, app := range m.apps {
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
		missing := len(d.starts) - sort.SearchInts(d.starts, n)
		text := "# the rest of this object is left out"
		if missing > 0 {
			text = fmt.Sprintf("# %d of %s left out", missing, count(len(d.starts), "object"))
			if missing > 1 || len(d.starts) > 1 {
				text = strings.Replace(text, " left out", " are left out", 1)
			}
		}
		lines = append(slices.Clone(lines), text)
	}
	fence := fenceFor(lines)
	open := ""
	if d.open {
		open = " open"
	}
	return fmt.Sprintf("\n<details%s><summary>%s: %s</summary>\n\n%sdiff\n%s\n%s\n\n</details>\n",
		open, summaryCode(d.app.Name), d.counts(), fence, strings.Join(lines, "\n"), fence)
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

// sizeOf is the size of all details.
func sizeOf(list []details) int {
	n := 0
	for i := range list {
		if len(list[i].lines) > 0 {
			n += len(list[i].cut(len(list[i].lines)))
		}
	}
	return n
}

// detailsWithin writes the details that fit into a room. Those with most to look at
// come first, and none takes more than half of what is left, so that one application
// does not hide the others; room that stays free then goes to those that were cut.
func (m *comment) detailsWithin(list []details, room int) {
	texts := make([]string, len(list))
	order := slices.DeleteFunc(byInterest(m.apps), func(i int) bool { return len(list[i].lines) == 0 })
	if sizeOf(list) <= room {
		for _, i := range order {
			texts[i] = list[i].cut(len(list[i].lines))
		}
	} else {
		for _, i := range order {
			texts[i] = list[i].within(room / 2)
			room -= len(texts[i])
		}
		for _, i := range order {
			text := list[i].within(room + len(texts[i]))
			room -= len(text) - len(texts[i])
			texts[i] = text
		}
	}
	apps, objects := 0, 0
	for i, text := range texts {
		m.WriteString(text)
		if text == "" && len(list[i].lines) > 0 {
			apps++
			objects += len(list[i].starts)
		}
	}
	if apps > 0 {
		fmt.Fprintf(m, "\nThe details of %s (%s) are left out: they do not fit into a comment.\n",
			count(apps, "application"), count(objects, "object"))
	}
}
