package report

import (
	"cmp"
	"fmt"
	"strings"

	"hallmark.dev/hallmark/plugin/compare"
)

// subject says what was compared: "helm3 -> helm4, both at main (0123456789ab)".
// quote sets what comes from outside apart, and arrow stands between the two sides.
func subject(r *compare.Report, arrow string, quote func(string) string) string {
	from, to := r.From, r.To
	here, there := place(from, quote), place(to, quote)
	switch samePlace := from.Ref == to.Ref && from.Commit == to.Commit; {
	case samePlace && from.Renderer != to.Renderer:
		text := renderer(from, quote) + arrow + renderer(to, quote)
		if from.Ref == "" && from.Commit == "" {
			return text
		}
		return text + ", both at " + here
	case from.Renderer == to.Renderer && !samePlace:
		text := here + arrow + there
		if from.Renderer == "" {
			return text
		}
		return text + ", both with " + quote(from.Renderer)
	}
	return renderer(from, quote) + " at " + here + arrow + renderer(to, quote) + " at " + there
}

func renderer(side compare.Side, quote func(string) string) string {
	if side.Renderer == "" {
		return "each application's renderer"
	}
	return quote(side.Renderer)
}

// renderers are those of an application, one where both sides have the same or one is
// not there.
func renderers(app *compare.Application, arrow string) string {
	if app.From == app.To || app.From == "" || app.To == "" {
		return printable(cmp.Or(app.To, app.From))
	}
	return printable(app.From) + arrow + printable(app.To)
}

// place is a revision with its commit, in 12 characters as git has it.
func place(side compare.Side, quote func(string) string) string {
	commit, dirty := strings.CutSuffix(side.Commit, "-dirty")
	if runes := []rune(commit); len(runes) > 12 {
		commit = string(runes[:12])
	}
	if dirty {
		commit += "-dirty"
	}
	switch {
	case side.Ref == "" && commit == "":
		return "the work tree"
	case side.Ref == "":
		return "the work tree (" + quote(commit) + ")"
	case commit == "" || strings.HasPrefix(side.Commit, side.Ref):
		return quote(shorten(side.Ref, 100))
	}
	return quote(shorten(side.Ref, 100)) + " (" + quote(commit) + ")"
}

// verdict is the result of a comparison in a few words: "3 of 300 applications
// differ, 1 could not be rendered in full".
func (t totals) verdict() string {
	all := t.Applications
	if all.Total == 0 {
		return "no application was compared"
	}
	text := "no application differs"
	switch n := t.differ; n {
	case 0:
	case 1:
		text = "1 of " + count(all.Total, "application") + " differs"
	default:
		text = fmt.Sprintf("%d of %s differ", n, count(all.Total, "application"))
	}
	if all.Refused > 0 {
		text += fmt.Sprintf(", %d could not be rendered in full", all.Refused)
	}
	return text
}

// statuses is the number of applications of each status that there is: "3 changed, 1
// refused, 296 unchanged of 300 applications".
func (t totals) statuses() string {
	all := t.Applications
	switch all.Total {
	case 0:
		return "no application was compared"
	case all.Unchanged:
		return fmt.Sprintf("no application differs (%d unchanged)", all.Unchanged)
	}
	var parts []string
	for i, n := range []int{all.Added, all.Removed, all.Changed, all.Refused, all.Unchanged} {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, []string{"added", "removed", "changed", "refused", "unchanged"}[i]))
		}
	}
	return strings.Join(parts, ", ") + " of " + count(all.Total, "application")
}

// sideName names one side of a report by what sets it apart from the other: "with
// helm4", "at main". It is "" for both sides.
func sideName(r *compare.Report, side string) string {
	here, there := r.From, r.To
	switch side {
	case "":
		return ""
	case "to":
		here, there = there, here
	}
	var parts []string
	if here.Renderer != there.Renderer && here.Renderer != "" {
		parts = append(parts, "with "+printable(here.Renderer))
	}
	if here.Ref != there.Ref || here.Commit != there.Commit {
		parts = append(parts, "at "+place(here, printable))
	}
	if len(parts) == 0 {
		return printable(side)
	}
	return strings.Join(parts, " ")
}
