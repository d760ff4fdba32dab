package export

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/internal/diag"
)

// An entry is one target of one check.
type entry struct {
	group, kind string
	check       *health.Check
	lua         string
}

func (e entry) wildcard() bool { return strings.Contains(e.group+e.kind, "*") }

// target is the entry's target as argocd-cm spells it where wildcards may stand.
func (e entry) target() string {
	if e.group == "" {
		return e.kind
	}
	return e.group + "/" + e.kind
}

// entries are the targets of all scripts, sorted, each once.
func entries(scripts []Script) ([]entry, error) {
	var all []entry
	var faults diag.List
	for _, s := range scripts {
		for _, t := range s.Check.Targets {
			for _, kind := range t.Kinds {
				e := entry{collapse(t.Group), collapse(kind), s.Check, s.Lua}
				if kind == "" || strings.IndexFunc(e.group+e.kind, foreign) >= 0 {
					faults.Addf(s.Check.File, s.Check.Line, 0, "target group %q, kind %q: letters, digits, \"-\", \".\" and \"*\" are what it may have", t.Group, kind)
					continue
				}
				if !slices.Contains(all, e) {
					all = append(all, e)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.group, b.group), strings.Compare(a.kind, b.kind))
	})
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.check != b.check && clash(a, b) {
				faults.Add(clashFault(a, b))
			}
		}
	}
	return all, faults.Err()
}

// foreign reports whether a character is in the name of no group and no kind.
func foreign(r rune) bool {
	return r != '-' && r != '.' && r != '*' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// collapse writes "**" as "*", which means the same here but not everywhere.
func collapse(pattern string) string {
	for strings.Contains(pattern, "**") {
		pattern = strings.ReplaceAll(pattern, "**", "*")
	}
	return pattern
}

// clash reports whether some object would have two checks, neither before the
// other.
func clash(a, b entry) bool {
	if a.wildcard() != b.wildcard() {
		return false
	}
	return (a.group == "") == (b.group == "") && overlap(a.group, b.group) && overlap(a.kind, b.kind)
}

func clashFault(a, b entry) *diag.Error {
	// The fault stands at the later check, which is the one that was added.
	if cmp.Or(strings.Compare(a.check.File, b.check.File), cmp.Compare(a.check.Line, b.check.Line)) > 0 {
		a, b = b, a
	}
	fact := fmt.Sprintf("check %q and check %q at %s:%d are both for %s", b.check.Name, a.check.Name, a.check.File, a.check.Line, a.target())
	if a.wildcard() {
		fact = fmt.Sprintf("%s of check %q and %s of check %q at %s:%d can match the same kind, and Argo CD would pick one at random",
			b.target(), b.check.Name, a.target(), a.check.Name, a.check.File, a.check.Line)
	}
	return &diag.Error{File: b.check.File, Line: b.check.Line, Msg: fact}
}

// overlap reports whether some text matches both patterns.
func overlap(a, b string) bool {
	// reach[j] says whether a[:i] and b[:j] have a text in common.
	reach := make([]bool, len(b)+1)
	for i := 0; i <= len(a); i++ {
		previous := slices.Clone(reach)
		for j := 0; j <= len(b); j++ {
			switch {
			case i == 0 && j == 0:
				reach[j] = true
			case i > 0 && a[i-1] == '*':
				// The star takes nothing, or one more character of b.
				reach[j] = previous[j] || j > 0 && reach[j-1]
			case j > 0 && b[j-1] == '*':
				reach[j] = reach[j-1] || i > 0 && previous[j]
			default:
				reach[j] = i > 0 && j > 0 && a[i-1] == b[j-1] && previous[j-1]
			}
		}
	}
	return reach[len(b)]
}
