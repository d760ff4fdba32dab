package export

import (
	"fmt"
	"strings"
	"unicode"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// Flux is the checks as healthCheckExprs, which belong below spec of a Kustomization
// (kustomize.toolkit.fluxcd.io/v1) or of a HelmRelease (helm.toolkit.fluxcd.io/v2),
// and what Flux cannot express of them. The notes stand in the YAML as comments too.
func Flux(checks []*health.Check) ([]byte, []Note, error) {
	scripts := make([]Script, len(checks))
	for i, c := range checks {
		scripts[i].Check = c
	}
	all, err := entries(scripts)
	if err != nil {
		return nil, nil, err
	}
	notes := generalNotes()
	var out, items strings.Builder
	empty := true
	out.WriteString("# Health checks of Flux, written by hallmark health build, for the spec of a Kustomization\n" +
		"# with wait or healthChecks, or of a HelmRelease. Flux ignores the version in apiVersion.\n#\n" +
		"# What they do not say, or say in another way than in Argo CD:\n")
	for _, n := range notes {
		out.WriteString("# - " + n.Text + "\n")
	}
	for _, c := range checks {
		exprs, mine := fluxExpressions(c)
		var targets []entry
		for _, e := range all {
			switch {
			case e.check != c:
			case !inFlux(e):
				mine = append(mine, Note{c, fmt.Sprintf("target %s is left out: Flux knows one kind, or all kinds of one group", e.target())})
			default:
				targets = append(targets, e)
			}
		}
		if exprs.longest() > maxFluxExpression {
			mine = append(mine, Note{c, fmt.Sprintf("the check is left out: one of its expressions is longer than %d bytes", maxFluxExpression)})
			targets = nil
		}
		items.WriteString("    # " + oneLine(fmt.Sprintf("%s (%s:%d)", c.Name, c.File, c.Line)) + "\n")
		for _, n := range mine {
			fmt.Fprintf(&items, "    # - %s\n", n.Text)
		}
		for _, e := range targets {
			items.WriteString(exprs.item(e))
			empty = false
		}
		notes = append(notes, mine...)
	}
	out.WriteString("spec:\n  healthCheckExprs:")
	if empty {
		out.WriteString(" []")
	}
	out.WriteString("\n" + items.String())
	return []byte(out.String()), notes, nil
}

// maxFluxExpression is the length at which Flux's parser gives up.
const maxFluxExpression = 100_000

// oneLine keeps a name from ending a comment.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}

// inFlux reports whether Flux can be told a target.
func inFlux(e entry) bool {
	return !strings.Contains(e.group, "*") && (e.kind == "*" || !strings.Contains(e.kind, "*"))
}

// fluxExprs are the three expressions of a check; the first two may be empty.
type fluxExprs struct{ inProgress, failed, current string }

func (x fluxExprs) longest() int { return max(len(x.inProgress), len(x.failed), len(x.current)) }

// item is an item of the list healthCheckExprs. The fields stand in the order in
// which Flux tries them.
func (x fluxExprs) item(e entry) string {
	version := "v1"
	if e.group != "" {
		version = e.group + "/v1"
	}
	fields := [][2]string{{"apiVersion", version}}
	if e.kind != "*" {
		fields = append(fields, [2]string{"kind", e.kind})
	}
	fields = append(fields, [2]string{"inProgress", x.inProgress}, [2]string{"failed", x.failed}, [2]string{"current", x.current})
	var item string
	for _, f := range fields {
		if f[1] != "" {
			item += indented(yamldoc.AppendYAML(nil, map[string]any{f[0]: f[1]}), "      ")
		}
	}
	return "    - " + strings.TrimPrefix(item, "      ")
}

// # How rules become expressions
//
// A check has ordered rules, and one whose expression is an error does not match.
// Flux has three expressions, which it tries in this order until one is true:
// inProgress, failed, current. An error in one of them ends it: Flux waits, and asks
// again later. So each rule is first made total (total.go), and then
//
//	inProgress  a rule for Progressing or Suspended matches, and no earlier one for Degraded or Healthy
//	failed      a rule for Degraded matches, and no earlier one for Healthy
//	current     a rule for Healthy matches
//
// "And no earlier one" is left out where the two rules exclude each other. So is a
// rule of inProgress that excludes every later rule of the other two: InProgress is
// what Flux says where nothing is true.
//
// A rule with something that Flux lacks, such as now(), counts as one for
// Progressing that matches wherever it may. Then Flux waits where a check would
// decide, and never says Current where it would not.

// A fluxStep is a rule as Flux sees it.
type fluxStep struct {
	rule  health.Rule
	class fluxClass
	cond  formula
	keys  map[string]bool // the top-level keys that it names
	found *totalizer      // nil without an expression
}

type fluxClass int

const (
	waits fluxClass = iota
	fails
	isCurrent
)

func fluxSteps(c *health.Check) []fluxStep {
	var steps []fluxStep
	for _, r := range c.Rules {
		s := fluxStep{rule: r, class: waits, cond: constant(true)}
		switch r.Status {
		case health.Degraded:
			s.class = fails
		case health.Healthy:
			s.class = isCurrent
		}
		switch {
		case r.NoStatus:
			s.cond, s.keys = newAtom(atom{kind: emptyStatus}), map[string]bool{statusVariable: true}
		case r.When != nil:
			if s.cond, s.found = total(r.When); len(s.found.missing) > 0 {
				s.class = waits
			}
			s.keys = keysOf(r.When.AST.NativeRep().Expr())
		}
		steps = append(steps, s)
	}
	return steps
}

func fluxExpressions(c *health.Check) (fluxExprs, []Note) {
	steps := fluxSteps(c)
	var parts [isCurrent + 1][]formula
	for i, s := range steps {
		var earlier []formula
		for _, e := range steps[:i] {
			if e.class > s.class {
				earlier = append(earlier, not(e.cond))
			}
		}
		cond := without(s.cond, earlier)
		if s.class == waits && !matters(cond, steps[i+1:]) {
			continue
		}
		parts[s.class] = append(parts[s.class], cond)
	}
	exprs := fluxExprs{current: printCondition(some(parts[isCurrent]...))}
	if f := some(parts[waits]...); f != formula(constant(false)) {
		exprs.inProgress = printCondition(f)
	}
	if f := some(parts[fails]...); f != formula(constant(false)) {
		exprs.failed = printCondition(f)
	}
	return exprs, checkNotes(c, steps)
}

// alternatives are the parts of a disjunction.
func alternatives(f formula) []formula {
	if d, ok := f.(disjunction); ok {
		return d
	}
	return []formula{f}
}

// without is f where all conditions hold that exclude earlier rules.
func without(f formula, exclusions []formula) formula {
	if len(exclusions) == 0 {
		return f
	}
	var out []formula
	for _, a := range alternatives(f) {
		out = append(out, every(append([]formula{a}, exclusions...)...))
	}
	return some(out...)
}

// matters reports whether a rule that waits keeps an object from a later rule that
// does not.
func matters(f formula, later []fluxStep) bool {
	for _, s := range later {
		for _, a := range alternatives(f) {
			for _, b := range alternatives(s.cond) {
				if s.class != waits && every(a, b) != formula(constant(false)) {
					return true
				}
			}
		}
	}
	return false
}
