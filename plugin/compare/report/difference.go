package report

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// A line is one line of a difference: an operation and the text without its line
// break.
type line struct {
	op   byte // one of the constants below
	text string
}

const (
	same    = ' '
	deleted = '-'
	added   = '+'
	hunk    = '@' // where a group of lines stands
)

// splitLines splits a text at its line breaks.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	last := len(lines) - 1
	if lines[last] == "" {
		return lines[:last]
	}
	return lines
}

const noBreak = `\ no line break at the end`

// unified is the difference of two texts with three lines of context. A text that is
// not there is "". That one text ends in a line break and the other does not is shown
// where there is no other difference.
func unified(from, to string) []line {
	a, b := splitLines(from), splitLines(to)
	switch {
	case from == to+"\n":
		b = append(b, noBreak)
	case to == from+"\n":
		a = append(a, noBreak)
	}
	const context = 3
	var lines []line
	diffs := lcs.DiffLines(a, b)
	for i := 0; i < len(diffs); {
		end := i + 1 // the differences of one group
		for end < len(diffs) && diffs[end].Start-diffs[end-1].End <= 2*context {
			end++
		}
		first, last := diffs[i], diffs[end-1]
		start, stop := max(0, first.Start-context), min(len(a), last.End+context)
		if from != "" && to != "" {
			lines = append(lines, line{hunk, fmt.Sprintf("@@ -%s +%s @@", span(start, stop),
				span(first.ReplStart-(first.Start-start), last.ReplEnd+(stop-last.End)))})
		}
		at := start
		for _, d := range diffs[i:end] {
			lines = append(lines, each(same, a[at:d.Start])...)
			lines = append(lines, each(deleted, a[d.Start:d.End])...)
			lines = append(lines, each(added, b[d.ReplStart:d.ReplEnd])...)
			at = d.End
		}
		lines = append(lines, each(same, a[at:stop])...)
		i = end
	}
	return lines
}

// span is a range of lines as the head of a hunk has it.
func span(start, end int) string {
	switch end - start {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, end-start)
}

func each(op byte, texts []string) []line {
	lines := make([]line, len(texts))
	for i, text := range texts {
		lines[i] = line{op, printable(text)}
	}
	return lines
}

// A segment is a part of a view side by side: lines that are the same, or rows of
// lines that differ.
type segment struct {
	// Same are lines of both sides.
	Same []string `json:"same,omitempty"`
	// Left is the number of lines of both sides that are left out.
	Left int `json:"left,omitempty"`
	// Rows are pairs of lines, nil for a side that has none there.
	Rows [][2]*string `json:"rows,omitempty"`
}

// maxSame is how many equal lines in a row a report carries. They are folded, and a
// definition of ten thousand lines that changes in one is not worth half a megabyte.
const maxSame = 400

// sideBySide aligns two texts line by line.
func sideBySide(from, to []byte) []segment {
	a, b := splitLines(string(from)), splitLines(string(to))
	segments := []segment{}
	at := 0
	for _, d := range append(lcs.DiffLines(a, b), lcs.Diff{Start: len(a), End: len(a)}) {
		segments = append(segments, equal(a[at:d.Start])...)
		if rows := pair(a[d.Start:d.End], b[d.ReplStart:d.ReplEnd]); len(rows) > 0 {
			segments = append(segments, segment{Rows: rows})
		}
		at = d.End
	}
	return segments
}

func equal(lines []string) []segment {
	shown := func(lines []string) segment {
		texts := make([]string, len(lines))
		for i, text := range lines {
			texts[i] = printable(text)
		}
		return segment{Same: texts}
	}
	switch {
	case len(lines) == 0:
		return nil
	case len(lines) <= maxSame:
		return []segment{shown(lines)}
	}
	const half = maxSame / 2
	return []segment{shown(lines[:half]), {Left: len(lines) - maxSame}, shown(lines[len(lines)-half:])}
}

// pair sets the lines of two blocks that differ beside each other: those with the
// same YAML key first, and what stands between them in its order.
func pair(a, b []string) [][2]*string {
	var rows [][2]*string
	beside := func(a, b []string) {
		for i := range max(len(a), len(b)) {
			var row [2]*string
			for side, lines := range [][]string{a, b} {
				if i < len(lines) {
					text := printable(lines[i])
					row[side] = &text
				}
			}
			rows = append(rows, row)
		}
	}
	at, other := 0, 0
	for _, d := range lcs.DiffLines(keys(a), keys(b)) {
		beside(a[at:d.Start], b[other:d.ReplStart])
		beside(a[d.Start:d.End], b[d.ReplStart:d.ReplEnd])
		at, other = d.End, d.ReplEnd
	}
	beside(a[at:], b[other:])
	return rows
}

// keys are lines without their values.
func keys(lines []string) []string {
	cut := make([]string, len(lines))
	for i, text := range lines {
		cut[i], _, _ = strings.Cut(text, ": ")
	}
	return cut
}
