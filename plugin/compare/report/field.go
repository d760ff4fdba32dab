package report

import (
	"fmt"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/plugin/compare"
)

// A view is a field as every format shows it: with a note in place of its values,
// with its values on one line each, or with the lines that differ.
type view struct {
	sign     byte
	path     string
	note     string
	from, to string
	lines    []line
}

func newView(f *compare.Field) view {
	v := view{sign: sign(f.Change), path: printable(f.Path)}
	switch {
	case f.Hidden:
		v.note = "(hidden) " + printable(string(f.Change))
	case f.Order:
		v.note = "order"
		v.from, v.to = items(f.From), items(f.To)
	case f.Follows != "":
		v.note = "follows the new name of " + printable(f.Follows)
	default:
		v.values(f)
	}
	return v
}

func (v *view) values(f *compare.Field) {
	from, fromFits := inline(f.From)
	to, toFits := inline(f.To)
	switch f.Change {
	case compare.Added:
		if v.to = to; !toFits {
			v.to, v.lines = "", unified("", written(f.To))
		}
	case compare.Removed:
		if v.from = from; !fromFits {
			v.from, v.lines = "", unified(written(f.From), "")
		}
	default:
		if v.from, v.to = from, to; !fromFits || !toFits {
			v.from, v.to, v.lines = "", "", unified(written(f.From), written(f.To))
		}
	}
}

// items are the names of the items of a list.
func items(v any) string {
	var names []string
	switch list := v.(type) {
	case []any:
		for _, item := range list {
			text, ok := inline(item)
			if !ok {
				text = "(an item)"
			}
			names = append(names, text)
		}
	case []string:
		for _, item := range list {
			names = append(names, word(item))
		}
	}
	return strings.Join(names, ", ")
}

// text is what stands behind the path of a field that fits on one line, with each
// value in at most room characters.
func (v view) text(room int) string {
	from, to := shortenPair(v.from, v.to, room)
	switch {
	case v.note != "" && from == "" && to == "":
		return v.note
	case v.note != "":
		return v.note + ": " + from + " -> " + to
	case v.sign == added:
		return to
	case v.sign == deleted:
		return from
	}
	return from + " -> " + to
}

// everywhere says that a cause is in all applications that differ, whose names need no
// list then.
func (o *outline) everywhere(cause compare.Cause) (text string, ok bool) {
	n := len(cause.Applications)
	return fmt.Sprintf("all %d applications that differ", n), n > 1 && n == o.totals.differ
}

// causeText is what a cause does to its path.
func (o *outline) causeText(i, room int) string {
	cause := o.report.Causes[i]
	var v view
	if sample := o.samples[i]; sample != nil {
		v = newView(sample)
		if sample.Hidden {
			return v.note
		}
	}
	prefix := ""
	if cause.Change != compare.Changed {
		prefix = printable(string(cause.Change)) + ": "
	}
	oneLine := v.path != "" && len(v.lines) == 0
	const example = 40
	switch {
	case cause.Whole && oneLine:
		return prefix + v.text(room)
	case cause.From != "" || cause.To != "":
		v = view{sign: sign(cause.Change), from: part(cause.From), to: part(cause.To)}
		return prefix + v.text(room)
	case oneLine:
		return prefix + "each in its own way, such as " + v.text(min(room, example))
	}
	return prefix + "each in its own way"
}

// part is a part of a value, which needs no quotes to be told from a number.
func part(s string) string {
	if s == "" || s != strings.TrimSpace(s) || strings.ContainsFunc(s, unseen) {
		return strconv.Quote(s)
	}
	return s
}
