package health

import (
	"slices"

	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	celparser "github.com/google/cel-go/parser"
)

// printer prints parts of an expression in one form, so that equal parts have
// equal texts.
type printer struct{ source *celast.SourceInfo }

func (f formula) text() string {
	text, err := celparser.Unparse(f.Expr, f.source)
	if err != nil {
		return "?"
	}
	return text
}

// quantified takes a macro apart: what it is over, with the variable's name, and
// the test.
func (f formula) quantified(macro string) (over string, test formula, ok bool) {
	if f.Kind() != celast.ComprehensionKind {
		return "", formula{}, false
	}
	comp := f.AsComprehension()
	step := f.with(comp.LoopStep())
	operator := map[string]string{"exists": "_||_", "all": "_&&_"}[macro]
	sides := step.operands(operator)
	if sides == nil || comp.HasIterVar2() {
		return "", formula{}, false
	}
	return f.with(comp.IterRange()).text() + " " + comp.IterVar(), sides[1], true
}

// A domain is what a comparison with literals leaves for its subject: some
// values, or all but some.
type domain struct {
	subject string
	values  []any // ref.Val
	not     bool
}

// domain takes e == 'a', e != 'a', e in ['a', 'b'], e == 'a' || e == 'b' and the
// negation of each apart.
func (f formula) domain() (d domain, ok bool) {
	if inner := f.operands("!_"); inner != nil {
		d, ok = inner[0].domain()
		d.not = !d.not
		return d, ok
	}
	if sides := f.operands("_||_"); sides != nil {
		d, ok = sides[0].domain()
		other, ok2 := sides[1].domain()
		d.values = append(d.values, other.values...)
		return d, ok && ok2 && d.subject == other.subject && !d.not && !other.not
	}
	for _, operator := range []string{"_==_", "_!=_"} {
		sides := f.operands(operator)
		if sides == nil {
			continue
		}
		if sides[0].Kind() == celast.LiteralKind {
			sides[0], sides[1] = sides[1], sides[0]
		}
		if sides[1].Kind() != celast.LiteralKind || sides[0].Kind() == celast.LiteralKind {
			return d, false
		}
		return domain{sides[0].text(), []any{sides[1].AsLiteral()}, operator == "_!=_"}, true
	}
	sides := f.operands("@in")
	if sides == nil || sides[1].Kind() != celast.ListKind {
		return d, false
	}
	d.subject = sides[0].text()
	for _, element := range sides[1].AsList().Elements() {
		if element.Kind() != celast.LiteralKind {
			return d, false
		}
		d.values = append(d.values, element.AsLiteral())
	}
	return d, true
}

func (d domain) has(v any) bool {
	return slices.ContainsFunc(d.values, func(w any) bool { return v.(ref.Val).Equal(w.(ref.Val)) == types.True })
}

// overlaps reports whether a value can be in both.
func (d domain) overlaps(e domain) bool {
	switch {
	case d.not && e.not:
		return true
	case d.not:
		return e.overlaps(d)
	}
	return slices.ContainsFunc(d.values, func(v any) bool { return e.has(v) != e.not })
}

// within reports whether every value of d is one of e.
func (d domain) within(e domain) bool {
	if d.not {
		return e.not && !slices.ContainsFunc(e.values, func(v any) bool { return !d.has(v) })
	}
	return !slices.ContainsFunc(d.values, func(v any) bool { return e.has(v) == e.not })
}

// A bound is a comparison with a whole number.
type bound struct {
	subject       string
	n             types.Int
	lower, strict bool
}

func (f formula) bound() (b bound, ok bool) {
	for _, operator := range []string{"_<_", "_<=_", "_>_", "_>=_"} {
		sides := f.operands(operator)
		if sides == nil {
			continue
		}
		if sides[0].Kind() == celast.LiteralKind {
			sides[0], sides[1], operator = sides[1], sides[0], Mirror(operator)
		}
		if sides[1].Kind() != celast.LiteralKind {
			return b, false
		}
		n, isInt := sides[1].AsLiteral().(types.Int)
		return bound{sides[0].text(), n, operator[1] == '>', operator == "_<_" || operator == "_>_"}, isInt
	}
	return b, false
}

// tighter reports whether whatever is within b is within c, of the same side.
func (b bound) tighter(c bound) bool {
	if b.n == c.n {
		return b.strict || !c.strict
	}
	return (b.n > c.n) == b.lower
}
