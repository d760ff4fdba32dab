package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hallmark.dev/hallmark/lua/vm"
)

// static reports what the text of a script shows.
func (l *linter) static() {
	withLibraries := l.source.Lacking(true)
	l.lacking = l.source.Lacking(l.opts.OpenLibs)
	for _, u := range firstUses(l.lacking) {
		message, hint := lacking(u.Name, slices.Contains(withLibraries, u.Use))
		l.findings = append(l.findings, Finding{
			File: l.file, Line: u.Line, Rule: MissingLibrary, Severity: Error, Message: message, Hint: hint, Cases: u.lines,
		})
	}
	for _, u := range firstUses(l.source.Fenced()) {
		l.findings = append(l.findings, Finding{
			File: l.file, Line: u.Line, Rule: MachineAccess, Severity: Warning, Cases: u.lines,
			Message: u.Name + " reaches the machine that the script runs on, and raises here",
		})
	}
}

// told tells whether an error is what static has said of the line already.
func (l *linter) told(line int, msg string) bool {
	for _, u := range l.lacking {
		what := "object(nil) with key '"
		_, member, _ := strings.Cut(u.Name, ".")
		if method, ok := strings.CutPrefix(u.Name, ":"); ok {
			what, member = "object(string) with key '", method
		}
		if u.Line == line && member != "" && strings.HasSuffix(msg, what+member+"'") {
			return true
		}
	}
	return false
}

// lacking says what is not there. never tells that it is not there with useOpenLibs
// either.
func lacking(name string, never bool) (message, hint string) {
	const libraries = "set useOpenLibs for the kind, or do without"
	method, isMethod := strings.CutPrefix(name, ":")
	switch {
	case isMethod:
		return fmt.Sprintf("texts have no method %s: the string library is off", method),
			libraries + `; a text can be compared with ==, and its beginning with >= "abc" and < "abd"`
	case name == "os", strings.HasPrefix(name, "os."):
		return fmt.Sprintf("%s is nil: there is no global os", name), `write: local os = require("os"), which has time and date`
	case strings.HasPrefix(name, "require("):
		return name + " finds no such module", `require("os") is the only one`
	case !never:
		return fmt.Sprintf("%s is nil: its library is off", name), libraries
	}
	return fmt.Sprintf("%s is nil: neither the script nor Argo CD defines it", name), ""
}

// use is the first line that uses something, and how many lines do.
type use struct {
	vm.Use
	lines int
}

func firstUses(all []vm.Use) []use {
	var first []use
	for _, u := range all {
		i := slices.IndexFunc(first, func(f use) bool { return f.Name == u.Name })
		if i < 0 {
			first = append(first, use{Use: u})
			i = len(first) - 1
		}
		first[i].lines++
	}
	return first
}

// slow reports a case that took long. A machine that is busy with something else
// makes anything slow, so the least of some runs counts, less what it takes to do
// nothing with the same object.
func (l *linter) slow(r *result) {
	nothing, err := vm.Compile("", l.opts.OpenLibs)
	if err != nil {
		return
	}
	least := func(s *vm.Script) time.Duration {
		var least time.Duration
		for i := range 3 {
			begin := l.opts.Now()
			_, _ = s.Inspect(r.Object) // what it gives is known
			if took := l.opts.Now().Sub(begin); i == 0 || took < least {
				least = took
			}
		}
		return least
	}
	if least(l.script)-least(nothing) > slowLimit {
		l.report(r, 0, Slow, "", Warning, fmt.Sprintf("takes longer than %v", slowLimit), "")
	}
}
