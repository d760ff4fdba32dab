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

// Least is the number of bytes from which on [Markdown] says what it cuts, and how much
// of it, for up to 999 applications of each status. With less room, it can be all to say
// how many applications have which status, and that the rest is cut; with less than 20
// bytes, not even that.
const Least = 256

// Markdown writes a report as a comment on a pull request, in GitHub's Markdown, in
// at most maxBytes bytes; 0 is no bound. GitHub takes 65,536 characters.
//
// What does not fit is left out as a whole. The heading, with the number of applications
// of each status, always stands, and below it how much of what is cut: see fit.go for
// what goes first. What comes from outside stands in code, where it is neither a link
// nor a mention.
func Markdown(w io.Writer, r *compare.Report, maxBytes int) error {
	if maxBytes <= 0 {
		maxBytes = math.MaxInt
	}
	_, err := io.WriteString(w, newComment(r).within(maxBytes))
	return err
}

// A comment is what Markdown can show of a report.
type comment struct {
	outline
	about    string
	notes    []string
	rows     []string // "" for an application that has none
	order    []int    // the places of the rows, those of most interest first
	refusals []refusal
	causes   []string
	details  []details
}

// A refusal is what says why something could not be rendered.
type refusal struct {
	first string
	more  []string
}

func newComment(r *compare.Report) *comment {
	c := &comment{outline: newOutline(r)}
	c.about = c.aboutText()
	c.notes = c.noteLines()
	c.rows = c.rowLines()
	c.order = slices.DeleteFunc(byInterest(c.apps), func(i int) bool { return c.rows[i] == "" })
	c.refusals = c.refusalLines()
	c.causes = c.causeLines()
	c.details = c.detailsOfAll()
	return c
}

// write is the Markdown of a selection.
func (c *comment) write(s selection) string {
	var b strings.Builder
	b.WriteString(c.heading() + "\n")
	if text := c.cut(s); text != "" {
		b.WriteString("\n" + text + "\n")
	}
	if s.about {
		b.WriteString("\n" + c.about)
	}
	for _, text := range c.notes[:s.notes] {
		b.WriteString("\n" + text + "\n")
	}
	if s.rows > 0 {
		b.WriteString("\n| application | status | added | removed | changed | unchanged |\n|---|---|--:|--:|--:|--:|\n")
		shown := slices.Clone(c.order[:s.rows])
		slices.Sort(shown)
		for _, i := range shown {
			b.WriteString(c.rows[i] + "\n")
		}
	}
	if s.causes > 0 {
		b.WriteString("\n#### Causes\n\n" + strings.Join(c.causes[:s.causes], "\n") + "\n")
	}
	if s.refusals > 0 {
		lines := c.refusalsShown(s)
		fence := fenceFor(lines)
		b.WriteString("\n#### Not rendered\n\n" + fence + "text\n" + strings.Join(lines, "\n") + "\n" + fence + "\n")
	}
	for _, text := range s.details {
		b.WriteString(text)
	}
	return b.String()
}

// heading is the summary, which always stands.
func (c *comment) heading() string { return "### hallmark: " + c.totals.statuses() }

func (c *comment) aboutText() string {
	objects := make([]string, 0, 4)
	n := c.totals.Objects
	for i, n := range []int{n.Added, n.Removed, n.Changed, n.Unchanged} {
		text := fmt.Sprintf("%d %s", n, []string{"added", "removed", "changed", "unchanged"}[i])
		if n > 0 && i < 3 {
			text = "**" + text + "**"
		}
		objects = append(objects, text)
	}
	return fmt.Sprintf("%s\n\nObjects: %s.\n",
		subject(c.report, " → ", func(s string) string { return code(s, 100) }), strings.Join(objects, ", "))
}

// noteLines are the notes on the whole comparison, each a paragraph.
func (c *comment) noteLines() []string {
	lines := make([]string, len(c.report.Notes))
	for i, note := range c.report.Notes {
		lines[i] = "Note: " + code(note, 500)
	}
	return lines
}

func (c *comment) rowLines() []string {
	rows := make([]string, len(c.apps))
	for i, app := range c.apps {
		if app.Status != compare.StatusUnchanged {
			n := app.Counts
			rows[i] = fmt.Sprintf("| %s | %s | %d | %d | %d | %d |", strings.ReplaceAll(code(app.Name, 80), "|", `\|`),
				printable(string(app.Status)), n.Added, n.Removed, n.Changed, n.Unchanged)
		}
	}
	return rows
}

func (c *comment) causeLines() []string {
	lines := make([]string, len(c.report.Causes))
	for i, cause := range c.report.Causes {
		where := make([]string, 0, 4)
		for _, name := range cause.Applications[:min(len(cause.Applications), cap(where))] {
			where = append(where, code(name, 60))
		}
		if n := len(cause.Applications) - len(where); n > 0 {
			where = append(where, fmt.Sprintf("%d more", n))
		}
		in := strings.Join(where, ", ")
		if all, ok := c.everywhere(cause); ok {
			in = all
		}
		lines[i] = fmt.Sprintf("%d. %s: %s, in %s", i+1, count(cause.Objects, "object"),
			code(shorten(cause.Path, 200)+": "+c.causeText(i, 80), 400), in)
	}
	return lines
}

func (c *comment) refusalLines() []refusal {
	var refusals []refusal
	for _, app := range c.apps {
		for _, problem := range app.Problems {
			lines := problemLines(c.report, app.Application, problem)
			for i, text := range lines {
				lines[i] = shorten(text, 500)
			}
			refusals = append(refusals, refusal{lines[0], lines[1:]})
		}
	}
	return refusals
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
