package report

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"

	"hallmark.dev/hallmark/plugin/compare"
)

// Markdown writes a report as a comment on a pull request, in GitHub's Markdown, in
// at most maxBytes bytes; 0 is no bound. GitHub takes 65,536 characters.
//
// What does not fit is left out as a whole and counted: first the details of the
// applications with the least to look at, then rows of the table, likewise. What
// comes from outside stands in code, where it is neither a link nor a mention.
func Markdown(w io.Writer, r *compare.Report, maxBytes int) error {
	if maxBytes <= 0 {
		maxBytes = math.MaxInt
	}
	m := comment{outline: newOutline(r)}
	_, err := io.WriteString(w, m.write(maxBytes))
	return err
}

// A comment is a report on its way to Markdown.
type comment struct {
	outline
	strings.Builder
}

// reserve is room for headings, for the fences of the problems and for the lines that
// say what was left out.
const reserve = 2000

func (m *comment) write(maxBytes int) string {
	head := m.head()
	if maxBytes-reserve < len(head) {
		return m.least(head, maxBytes)
	}
	room := maxBytes - reserve - len(head)
	notes, causes, problems := m.noteLines(), m.causeLines(), m.problemLines()
	rows, details := m.rowLines(), m.details()
	share := room
	if size(notes)+size(causes)+size(problems)+size(rows)+sizeOf(details) > room {
		const part = 4 // of the room is for the causes, and as much each for the problems and the notes
		share = room / part
	}
	m.WriteString(head)
	shownNotes := fits(notes, share)
	for _, text := range notes[:shownNotes] {
		m.WriteString(text + "\n")
	}
	room -= size(notes[:shownNotes])
	shownCauses, shownProblems := fits(causes, share), fits(problems, share)
	room -= size(causes[:shownCauses]) + size(problems[:shownProblems])
	room = m.table(rows, room)
	m.section("#### Causes", causes[:shownCauses], left(len(causes)-shownCauses, "cause is", "causes are"))
	m.problems(problems, shownProblems)
	m.detailsWithin(details, room)
	return m.String()
}

func (m *comment) head() string {
	objects := make([]string, 0, 4)
	c := m.totals.Objects
	for i, n := range []int{c.Added, c.Removed, c.Changed, c.Unchanged} {
		text := fmt.Sprintf("%d %s", n, []string{"added", "removed", "changed", "unchanged"}[i])
		if n > 0 && i < 3 {
			text = "**" + text + "**"
		}
		objects = append(objects, text)
	}
	return fmt.Sprintf("### hallmark: %s\n\n%s\n\nObjects: %s.\n", m.totals.verdict(),
		subject(m.report, " → ", func(s string) string { return code(s, 100) }), strings.Join(objects, ", "))
}

// least is what can be said in a room that is too small for more than a heading.
func (m *comment) least(head string, maxBytes int) string {
	first, _, _ := strings.Cut(head, "\n")
	for _, text := range []string{head, first + "\n"} {
		if len(text) <= maxBytes {
			return text
		}
	}
	return first[:maxBytes] // of ASCII
}

func size(lines []string) int {
	n := 0
	for _, text := range lines {
		n += len(text) + 1
	}
	return n
}

// fits is how many of some lines fit into a room.
func fits(lines []string, room int) int {
	for i, text := range lines {
		if room -= len(text) + 1; room < 0 {
			return i
		}
	}
	return len(lines)
}

// left says how many are left out, "" for none.
func left(n int, one, more string) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 more " + one + " left out."
	}
	return fmt.Sprintf("%d more %s left out.", n, more)
}

func (m *comment) section(heading string, lines []string, after string) {
	if len(lines) == 0 && after == "" {
		return
	}
	m.WriteString("\n" + heading + "\n\n")
	for _, text := range lines {
		m.WriteString(text + "\n")
	}
	if after != "" {
		m.WriteString("\n" + after + "\n")
	}
}

// rowLines are the rows of the table, "" for an application that has none.
func (m *comment) rowLines() []string {
	rows := make([]string, len(m.apps))
	for i, app := range m.apps {
		if app.Status != compare.StatusUnchanged {
			c := app.Counts
			rows[i] = fmt.Sprintf("| %s | %s | %d | %d | %d | %d |", strings.ReplaceAll(code(app.Name, 80), "|", `\|`),
				printable(string(app.Status)), c.Added, c.Removed, c.Changed, c.Unchanged)
		}
	}
	return rows
}

// table writes the rows that fit and returns the room that is left.
func (m *comment) table(rows []string, room int) int {
	shown, out := make([]bool, len(rows)), 0
	for _, i := range byInterest(m.apps) {
		switch {
		case rows[i] == "":
		case len(rows[i])+1 > room:
			room = 0 // a shorter one of less interest does not take its place
			out++
		default:
			room -= len(rows[i]) + 1
			shown[i] = true
		}
	}
	if slices.Contains(shown, true) {
		m.WriteString("\n| application | status | added | removed | changed | unchanged |\n|---|---|--:|--:|--:|--:|\n")
		for i, text := range rows {
			if shown[i] {
				m.WriteString(text + "\n")
			}
		}
	}
	if text := left(out, "application that is not unchanged is", "applications that are not unchanged are"); text != "" {
		m.WriteString("\n" + text + "\n")
	}
	if n := m.totals.Applications.Unchanged; n > 0 {
		fmt.Fprintf(m, "\n%s %s unchanged.\n", count(n, "application"), isAre(n))
	}
	return room
}

// noteLines are the notes on the whole comparison, each a paragraph.
func (m *comment) noteLines() []string {
	lines := make([]string, len(m.report.Notes))
	for i, note := range m.report.Notes {
		lines[i] = "\nNote: " + code(note, 500)
	}
	return lines
}

func (m *comment) causeLines() []string {
	lines := make([]string, len(m.report.Causes))
	for i, cause := range m.report.Causes {
		where := make([]string, 0, 4)
		for _, name := range cause.Applications[:min(len(cause.Applications), cap(where))] {
			where = append(where, code(name, 60))
		}
		if n := len(cause.Applications) - len(where); n > 0 {
			where = append(where, fmt.Sprintf("%d more", n))
		}
		in := strings.Join(where, ", ")
		if all, ok := m.everywhere(cause); ok {
			in = all
		}
		lines[i] = fmt.Sprintf("%d. %s: %s, in %s", i+1, count(cause.Objects, "object"),
			code(shorten(cause.Path, 200)+": "+m.causeText(i, 80), 400), in)
	}
	return lines
}

func (m *comment) problemLines() []string {
	var lines []string
	for _, app := range m.apps {
		for _, problem := range app.Problems {
			for _, text := range problemLines(m.report, app.Application, problem) {
				lines = append(lines, shorten(text, 500))
			}
		}
	}
	return lines
}

// problems writes what could not be rendered, in one block of code.
func (m *comment) problems(lines []string, shown int) {
	if len(lines) == 0 {
		return
	}
	var block []string
	if shown > 0 {
		fence := fenceFor(lines[:shown])
		block = slices.Concat([]string{fence + "text"}, lines[:shown], []string{fence})
	}
	m.section("#### Not rendered", block, left(len(lines)-shown, "line is", "lines are"))
}

// code is text from outside as a code span.
func code(s string, room int) string {
	if s = shorten(printable(s), room); s == "" {
		return "(none)"
	}
	quote := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || s[0] == ' ' || s[len(s)-1] == ' ' {
		s = " " + s + " "
	}
	return quote + s + quote
}

// fenceFor is a fence that no line can close.
func fenceFor(lines []string) string {
	longest := 2
	for _, text := range lines {
		longest = max(longest, longestRun(text))
	}
	return strings.Repeat("`", longest+1)
}

// longestRun is the length of the longest run of backticks.
func longestRun(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// summaryCode is text from outside as code in HTML.
func summaryCode(s string) string {
	return "<code>" + html.EscapeString(shorten(printable(s), 80)) + "</code>"
}
