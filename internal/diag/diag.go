// Package diag is the one shape of a message about a user's input: a position
// and a fact.
//
//	apps/web/values.yaml:12:5: replicas: got string, want integer
//
// Parsers and checkers return an *[Error], or collect several in a [List] so
// that a user sees all faults of a file at once, in the order of the file.
//
// A remedy is not part of the fact. It is attached with [WithHint] by the code
// that knows it and read with [Hint] by the command line, which prints it on a
// line of its own; so wrapping an error further up never buries the remedy in
// the middle of a sentence.
package diag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Error is one fault at one place. Parts of the position that are zero are
// unknown and left out of the text.
type Error struct {
	// File is the name to show, usually a path relative to the repository root.
	File string
	// Line and Col are 1-based; Col counts characters, not bytes.
	Line, Col int
	// Msg is the fact: lower case, no full stop, no secret value.
	Msg string
	// Excerpt is the line of the source that Line and Col point into, where a
	// person is to see it below the text. It is not part of the text.
	Excerpt string
}

// Error gives "<file>:<line>:<col>: <msg>".
func (e *Error) Error() string {
	var b strings.Builder
	for _, part := range []string{e.File, number(e.Line), number(e.Col)} {
		if part != "" {
			b.WriteString(part + ":")
		}
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	b.WriteString(e.Msg)
	return b.String()
}

func number(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func compare(a, b *Error) int {
	return cmp.Or(
		strings.Compare(a.File, b.File),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Col, b.Col),
		strings.Compare(a.Msg, b.Msg),
	)
}

// Caret is the excerpt and a line with a caret below column Col, or nothing
// where there is no excerpt. Tabs are kept, so that the caret stands right.
func (e *Error) Caret() []string {
	if e.Excerpt == "" || e.Col <= 0 {
		return nil
	}
	var before strings.Builder
	for i, r := range []rune(e.Excerpt) {
		if i == e.Col-1 {
			break
		}
		if r != '\t' {
			r = ' '
		}
		before.WriteRune(r)
	}
	return []string{e.Excerpt, before.String() + "^"}
}

// maxShown is how many faults a List prints: enough to fill a screen, few
// enough that Argo CD's condition, which carries the whole text, stays readable.
const maxShown = 20

// List collects faults. The zero value is ready to use. As an error it prints
// one fault per line, sorted by file, line and column, without repetitions, at
// most 20 of them followed by "and N more".
type List []*Error

// Add appends err.
func (l *List) Add(err *Error) { *l = append(*l, err) }

// Addf appends a fault at a position, see [Error], with a formatted message.
func (l *List) Addf(file string, line, col int, format string, args ...any) {
	l.Add(&Error{File: file, Line: line, Col: col, Msg: fmt.Sprintf(format, args...)})
}

// Err returns l, sorted and without repetitions, or nil when it is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l.sorted()
}

// Error implements error.
func (l List) Error() string {
	sorted := l.sorted()
	lines := make([]string, 0, maxShown+1)
	for i, e := range sorted {
		if i == maxShown {
			lines = append(lines, fmt.Sprintf("and %d more", len(sorted)-maxShown))
			break
		}
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As reach each *Error.
func (l List) Unwrap() []error {
	errs := make([]error, len(l))
	for i, e := range l {
		errs[i] = e
	}
	return errs
}

func (l List) sorted() List {
	sorted := slices.Clone(l)
	slices.SortStableFunc(sorted, compare)
	return slices.CompactFunc(sorted, func(a, b *Error) bool { return compare(a, b) == 0 })
}

type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// Hint returns the remedy.
func (h *hinted) Hint() string { return h.hint }

// WithHint attaches a remedy to err without changing its text. It returns nil
// for a nil err.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &hinted{error: err, hint: hint}
}

// Hint returns the first remedy in the tree of err, outermost first, or "". An
// error of any type tells its remedy by a method Hint() string.
func Hint(err error) string {
	var h interface {
		error
		Hint() string
	}
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
