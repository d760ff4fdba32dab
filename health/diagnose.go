package health

import (
	"slices"
	"strings"

	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"hallmark.dev/hallmark/internal/fields"
)

// diagnose finds what is wrong with rules that are each without fault: one that no
// object can reach, one that holds for no object, and a check that never says
// Healthy. It is exact in what it reports and does not find everything: whether
// an expression can be true is not decidable in general.
func (p *parser) diagnose(spec fields.Field) {
	healthy := false
	for i, rule := range p.check.Rules {
		healthy = healthy || rule.Status == Healthy
		if rule.NoStatus || strings.Contains(rule.Label, ".") || rule.Label == "observedGeneration" {
			continue
		}
		fault := func(text string) {
			p.reader.Faults.Add(p.reader.Fault(rule.Line, rule.Col, rule.Label+": "+text))
		}
		if rule.When != nil {
			if why := p.never(rule.When); why != "" {
				fault("can never hold: " + why)
				continue
			}
		} else if rule.Col == 0 {
			continue // otherwise, as it is where the spec has none
		}
		if earlier := p.check.before(i); earlier != nil {
			fault("is never reached: " + earlier.Label + " holds wherever it does")
		}
	}
	if !healthy {
		spec.Faultf("no rule gives Healthy: a wave with such an object would wait for ever")
	}
}

// before is a rule in front of the i-th that holds wherever that does, or nil.
func (c *Check) before(i int) *Rule {
	for j := range c.Rules[:i] {
		earlier := &c.Rules[j]
		if earlier.When == nil {
			continue
		}
		a, b := logic{earlier.When}, logic{c.Rules[i].When}
		if a.always() || c.Rules[i].When != nil && implies(b.root(), a.root()) {
			return earlier
		}
	}
	return nil
}

// logic is an expression seen as a formula.
type logic struct{ expr *Expr }

func (l logic) root() formula {
	native := l.expr.AST.NativeRep()
	return formula{native.Expr(), &printer{native.SourceInfo()}}
}

func (l logic) always() bool { return l.root().isLiteral(true) }

// never says why an expression can never be true, or nothing.
func (p *parser) never(e *Expr) string {
	f := logic{e}.root()
	if why := f.contradiction(); why != "" {
		return why
	}
	kinds := map[string]bool{}
	for _, t := range p.check.Targets {
		for _, k := range t.Kinds {
			if strings.Contains(k, "*") {
				return ""
			}
			kinds[k] = true
		}
	}
	for _, part := range f.conjuncts() {
		d, ok := part.domain()
		if !ok || d.not || d.subject != "kind" {
			continue
		}
		if !slices.ContainsFunc(d.values, func(v any) bool { text, ok := v.(types.String); return ok && kinds[string(text)] }) {
			return "the kind is none of the targets"
		}
	}
	return ""
}

// A formula is an expression that is true, false or an error.
type formula struct {
	celast.Expr
	*printer
}

func (f formula) with(e celast.Expr) formula { return formula{e, f.printer} }

func (f formula) isLiteral(b bool) bool {
	return f.Kind() == celast.LiteralKind && f.AsLiteral() == types.Bool(b)
}

// operands is x and y where f is a call of the operator with those, nil otherwise.
func (f formula) operands(operator string) []formula {
	if f.Kind() != celast.CallKind || f.AsCall().FunctionName() != operator {
		return nil
	}
	var out []formula
	for _, arg := range f.AsCall().Args() {
		out = append(out, f.with(arg))
	}
	return out
}

func (f formula) conjuncts() []formula {
	if sides := f.operands("_&&_"); sides != nil {
		return append(sides[0].conjuncts(), sides[1].conjuncts()...)
	}
	return []formula{f}
}

// contradiction says why f can never be true, or nothing.
func (f formula) contradiction() string {
	if f.isLiteral(false) {
		return "it is false"
	}
	if sides := f.operands("_||_"); sides != nil {
		if sides[0].contradiction() != "" {
			return sides[1].contradiction()
		}
		return ""
	}
	parts := f.conjuncts()
	for i, part := range parts {
		if len(parts) > 1 || part.operands("_&&_") != nil {
			if why := part.contradiction(); why != "" {
				return why
			}
		}
		if _, test, ok := part.quantified("exists"); ok {
			if why := test.contradiction(); why != "" {
				return why
			}
		}
		for _, other := range parts[:i] {
			if why := excludes(other, part); why != "" {
				return why
			}
		}
	}
	return ""
}

// excludes says why two formulas cannot both be true, or nothing.
func excludes(a, b formula) string {
	for _, pair := range [][2]formula{{a, b}, {b, a}} {
		if negated := pair[0].operands("!_"); negated != nil && negated[0].text() == pair[1].text() {
			return "it asks for " + pair[1].text() + " and for its opposite"
		}
	}
	x, ok := a.domain()
	y, ok2 := b.domain()
	if ok && ok2 && x.subject == y.subject && !x.overlaps(y) {
		return x.subject + " cannot be both what " + a.text() + " and what " + b.text() + " asks for"
	}
	low, ok := a.bound()
	high, ok2 := b.bound()
	if ok && ok2 && low.subject == high.subject && low.lower != high.lower {
		if !low.lower {
			low, high = high, low
		}
		if low.n > high.n || low.n == high.n && (low.strict || high.strict) {
			return low.subject + " cannot be both what " + a.text() + " and what " + b.text() + " asks for"
		}
	}
	return ""
}

// implies reports whether b is true wherever a is. It finds what people write: the
// same condition with one more demand, one value of a list, one side of an or.
func implies(a, b formula) bool {
	switch {
	case a.isLiteral(false), b.isLiteral(true), a.text() == b.text():
		return true
	}
	if sides := a.operands("_||_"); sides != nil {
		return implies(sides[0], b) && implies(sides[1], b)
	}
	if sides := b.operands("_&&_"); sides != nil {
		return implies(a, sides[0]) && implies(a, sides[1])
	}
	if sides := b.operands("_||_"); sides != nil && (implies(a, sides[0]) || implies(a, sides[1])) {
		return true
	}
	if sides := a.operands("_&&_"); sides != nil && (implies(sides[0], b) || implies(sides[1], b)) {
		return true
	}
	for _, macro := range []string{"exists", "all"} {
		over, test, ok := a.quantified(macro)
		over2, test2, ok2 := b.quantified(macro)
		if ok && ok2 && over == over2 && implies(test, test2) {
			return true
		}
	}
	if x, ok := a.domain(); ok {
		if y, ok := b.domain(); ok && x.subject == y.subject {
			return x.within(y)
		}
	}
	x, ok := a.bound()
	y, ok2 := b.bound()
	return ok && ok2 && x.subject == y.subject && x.lower == y.lower && x.tighter(y)
}
