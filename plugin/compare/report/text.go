package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hallmark.dev/hallmark/plugin/compare"
)

// Options are those of [Text].
type Options struct {
	// Width is that of the terminal in columns. Values are shortened to fit into it;
	// with 0 to 200 characters.
	Width int
	// Colour marks what was added, removed and changed, for a terminal.
	Colour bool
	// Unchanged lists the unchanged applications too.
	Unchanged bool
}

// Text writes a report for people and for grep: each application, object and field
// has a line of its own, which begins with "+", "-" or "~" where something was added,
// removed or changed.
func Text(w io.Writer, r *compare.Report, o Options) error {
	p := textPrinter{outline: newOutline(r), Options: o}
	p.linef("compared: %s", subject(r, " -> ", printable))
	for _, note := range r.Notes {
		p.linef("note: %s", printable(note))
	}
	p.table()
	p.causes()
	for _, app := range p.apps {
		p.application(app)
	}
	p.covered()
	p.problems()
	p.summary()
	_, err := w.Write(p.Bytes())
	return err
}

type textPrinter struct {
	outline
	Options
	bytes.Buffer
}

func (p *textPrinter) linef(format string, args ...any) {
	fmt.Fprintf(p, format+"\n", args...)
}

// The colours of a terminal, as the numbers of its escapes.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
	bold   = "1"
	faint  = "2"
)

func (p *textPrinter) paint(colour, text string) string {
	if !p.Colour || colour == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func colourOf(op byte) string {
	switch op {
	case added:
		return green
	case deleted:
		return red
	case '~':
		return yellow
	case hunk:
		return cyan
	}
	return ""
}

func colourOfStatus(status compare.Status) string {
	switch status {
	case compare.StatusAdded:
		return green
	case compare.StatusRemoved, compare.StatusRefused:
		return red
	case compare.StatusChanged:
		return yellow
	}
	return ""
}

func (p *textPrinter) table() {
	rows := [][]string{{"APPLICATION", "STATUS", "ADDED", "REMOVED", "CHANGED", "UNCHANGED"}}
	colours := []string{bold}
	for _, app := range p.apps {
		if app.Status == compare.StatusUnchanged && !p.Unchanged {
			continue
		}
		c := app.Counts
		rows = append(rows, []string{p.fit(printable(app.Name), 50), printable(string(app.Status)),
			strconv.Itoa(c.Added), strconv.Itoa(c.Removed), strconv.Itoa(c.Changed), strconv.Itoa(c.Unchanged)})
		colours = append(colours, colourOfStatus(app.Status))
	}
	if len(rows) > 1 {
		p.linef("")
		p.rows(rows, colours)
	}
	if n := p.totals.Applications.Unchanged; n > 0 {
		p.linef("")
		p.linef("%s %s unchanged", count(n, "application"), isAre(n))
	}
}

// fit shortens a text that has a cell for itself, where the terminal has a width: it
// leaves room for the other columns.
func (p *textPrinter) fit(text string, others int) string {
	if p.Width == 0 {
		return text
	}
	const least = 20
	return shorten(text, max(least, p.Width-others))
}

// rows prints a table: two columns of words, the others of numbers.
func (p *textPrinter) rows(rows [][]string, colours []string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < 2 {
				cells[i] = cell + pad
			} else {
				cells[i] = pad + cell
			}
			if i == 1 || n == 0 {
				cells[i] = p.paint(colours[n], cells[i])
			}
		}
		p.linef("%s", strings.Join(cells, "  "))
	}
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func (p *textPrinter) causes() {
	if len(p.report.Causes) == 0 {
		return
	}
	p.heading("Causes")
	digits := len(strconv.Itoa(len(p.report.Causes)))
	for i, cause := range p.report.Causes {
		where, everywhere := p.everywhere(cause)
		switch {
		case everywhere:
		case len(cause.Applications) == 1:
			where = printable(cause.Applications[0])
		default:
			where = count(len(cause.Applications), "application")
		}
		head := fmt.Sprintf("  %*d. %s in %s: %s: ", digits, i+1, count(cause.Objects, "object"), where, printable(cause.Path))
		p.linef("%s%s", head, p.causeText(i, p.room(head, 2)))
		if len(cause.Applications) > 1 && !everywhere {
			p.linef("  %*s  %s", digits, "", p.paint(faint, names(cause.Applications, 8)))
		}
	}
}

// names lists names, the first few of them where there are many.
func names(list []string, most int) string {
	rest := ""
	if len(list) > most {
		list, rest = list[:most-1], fmt.Sprintf(" and %d more", len(list)-most+1)
	}
	texts := make([]string, len(list))
	for i, name := range list {
		texts[i] = printable(name)
	}
	return strings.Join(texts, ", ") + rest
}

// room is how many characters each of some values may have behind the head of a line.
func (p *textPrinter) room(head string, values int) int {
	if p.Width == 0 {
		return 200
	}
	const least, arrow = 30, 4
	return max(least, (p.Width-utf8.RuneCountInString(head)-arrow*(values-1))/values)
}

func (p *textPrinter) heading(text string) {
	p.linef("")
	p.linef("%s", p.paint(bold, text))
}

func (p *textPrinter) application(app application) {
	if len(app.listed)+len(app.Notes) == 0 {
		return
	}
	p.heading(printable(app.Name) + p.paint(faint, about(app.Application)))
	for _, note := range app.Notes {
		p.linef("  note: %s", printable(note))
	}
	for _, e := range app.listed {
		p.entry(e)
	}
	if app.covered > 0 {
		p.linef("  %s", byCauses(app))
	}
}

// covered lists the applications that change by causes alone, a line for each.
func (p *textPrinter) covered() {
	first := true
	for _, app := range p.apps {
		if app.covered == 0 || len(app.listed)+len(app.Notes) > 0 {
			continue
		}
		if first {
			p.heading("Only by causes")
			first = false
		}
		p.linef("  %s: %s by %s", printable(app.Name), count(app.covered, "object"), numbers(app.causes))
	}
}

// byCauses counts the objects that are not worth a line of their own.
func byCauses(app application) string {
	verb := " change only by "
	if app.covered == 1 {
		verb = " changes only by "
	}
	return count(app.covered, "object") + verb + numbers(app.causes)
}

// about is where an application stands and what it was rendered with, as text that
// follows its name.
func about(app *compare.Application) string {
	text := ""
	if app.Origin != "" && app.Origin != app.Name {
		text = " (" + printable(app.Origin) + ")"
	}
	if with := renderers(app, " -> "); with != "" {
		text += " " + with
	}
	return text
}

func (p *textPrinter) entry(e entry) {
	origin := ""
	if e.Origin != "" {
		origin = p.paint(faint, " ("+printable(e.Origin)+")")
	}
	p.linef("  %s%s", p.paint(colourOf(e.sign), string(e.sign)+" "+e.title), origin)
	for i := range e.fields {
		p.field(newView(&e.fields[i]))
	}
	if len(e.causes) > 0 {
		p.linef("      and by %s", numbers(e.causes))
	}
}

func (p *textPrinter) field(v view) {
	head := "      " + string(v.sign) + " " + v.path + ":"
	if len(v.lines) == 0 {
		values := 1
		if v.sign == '~' {
			values = 2
		}
		text := v.text(p.room(head+" ", values))
		if v.sign != '~' {
			p.linef("%s", p.paint(colourOf(v.sign), head+" "+text))
			return
		}
		p.linef("%s %s", head, text)
		return
	}
	p.linef("%s", head)
	const indent = "        "
	for _, l := range v.lines {
		text := l.text
		if l.op != hunk {
			text = string(l.op) + shorten(text, p.room(indent, 1))
		}
		p.linef("%s", strings.TrimRight(indent+p.paint(colourOf(l.op), text), " "))
	}
}

func (p *textPrinter) problems() {
	first := true
	for _, app := range p.apps {
		for _, problem := range app.Problems {
			if first {
				p.heading("Not rendered")
				first = false
			}
			for _, text := range problemLines(p.report, app.Application, problem) {
				p.linef("  %s", text)
			}
		}
	}
}

// problemLines say what of an application could not be rendered, and why.
func problemLines(r *compare.Report, app *compare.Application, problem compare.Problem) []string {
	head := printable(app.Name)
	if app.Origin != "" && app.Origin != app.Name {
		head += " (" + printable(app.Origin) + ")"
	}
	if problem.Source != "" {
		head += ", source " + printable(problem.Source)
	}
	if side := sideName(r, problem.Side); side != "" {
		head += ", " + side
	}
	if problem.Absent {
		head += ", not here"
	}
	message := messageLines(problem.Message)
	lines := []string{head + ": " + message[0]}
	for _, text := range message[1:] {
		lines = append(lines, "    "+text)
	}
	if problem.Hint != "" {
		lines = append(lines, "    hint: "+strings.Join(messageLines(problem.Hint), " "))
	}
	return lines
}

// messageLines are the lines of a message, at least one, without empty ones.
func messageLines(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = printable(strings.TrimRight(line, " \t\r"))
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	if len(lines) == 0 {
		return []string{"no reason is known"}
	}
	return lines
}

func (p *textPrinter) summary() {
	c := p.totals.Objects
	p.linef("")
	p.linef("%s; objects: %d added, %d removed, %d changed, %d unchanged", p.totals.verdict(), c.Added, c.Removed, c.Changed, c.Unchanged)
}
