package export

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// text is the CEL text of an expression.
func (t *totalizer) text(e ast.Expr) string {
	text, err := parser.Unparse(e, t.info, parser.WrapOnColumn(1<<20))
	if err != nil {
		t.lacks("an expression that cannot be printed")
	}
	return singleQuoted(text)
}

// Precedences of CEL's operators, from the tightest.
const (
	bySelection = 1 // a.b, a[b] and calls
	bySum       = 4 // what may stand beside ==, < and in
)

// operand is the text of an expression that stands in a larger one, in
// parentheses if its operator binds less tightly than the precedence given.
func (t *totalizer) operand(e ast.Expr, precedence int) string {
	if e.Kind() == ast.CallKind && operators.Precedence(e.AsCall().FunctionName()) > precedence {
		return "(" + t.text(e) + ")"
	}
	return t.text(e)
}

// opaque is an atom of a text made of expressions, or true if Flux lacks what
// they have.
func (t *totalizer) opaque(text string, of ...ast.Expr) formula {
	return t.atom(atom{kind: opaque, text: text}, of...)
}

// opposable is opaque for a text whose opposite is another text.
func (t *totalizer) opposable(text, opposite string, of ...ast.Expr) formula {
	return t.atom(atom{kind: opaque, text: text, opposite: opposite}, of...)
}

// membership compares an expression with literals.
func (t *totalizer) membership(e ast.Expr, values []string, want bool) formula {
	t.found[findsNull] = t.found[findsNull] || !want
	return signed(t.atom(atom{kind: membership, text: t.operand(e, bySum), values: values}, e), want)
}

func (t *totalizer) presence(path []string) formula {
	a := newAtom(atom{kind: presence, path: path})
	a.usesStatus = path[0] == statusVariable && !slices.Contains(t.scope, statusVariable)
	return a
}

func (t *totalizer) atom(a atom, of ...ast.Expr) formula {
	for _, e := range of {
		uses, now := t.inspect(e)
		if now {
			return t.lacks("now()")
		}
		a.usesStatus = a.usesStatus || uses
	}
	return newAtom(a)
}

// signed is f or its opposite; what Flux lacks may hold either way.
func signed(f formula, want bool) formula {
	if _, ok := f.(*atom); ok && !want {
		return not(f)
	}
	return f
}

// inspect reports whether an expression names the variable status, and whether it
// calls now().
func (t *totalizer) inspect(e ast.Expr) (status, now bool) {
	scope := t.scope
	var visit func(ast.Expr)
	visit = func(e ast.Expr) {
		switch e.Kind() {
		case ast.IdentKind:
			status = status || e.AsIdent() == statusVariable && !slices.Contains(scope, statusVariable)
		case ast.SelectKind:
			visit(e.AsSelect().Operand())
		case ast.ListKind:
			for _, element := range e.AsList().Elements() {
				visit(element)
			}
		case ast.MapKind:
			for _, entry := range e.AsMap().Entries() {
				visit(entry.AsMapEntry().Key())
				visit(entry.AsMapEntry().Value())
			}
		case ast.CallKind:
			now = now || e.AsCall().FunctionName() == "now"
			if e.AsCall().IsMemberFunction() {
				visit(e.AsCall().Target())
			}
			for _, arg := range e.AsCall().Args() {
				visit(arg)
			}
		case ast.ComprehensionKind:
			loop := e.AsComprehension()
			visit(loop.IterRange())
			outer := scope
			scope = append(slices.Clone(outer), loop.IterVar())
			visit(loop.LoopStep())
			scope = outer
		}
	}
	visit(e)
	return status, now
}

// pathOf is a chain of fields from a variable: status, conditions.
func pathOf(e ast.Expr) (path []string, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return []string{e.AsIdent()}, true
	case ast.SelectKind:
		if sel := e.AsSelect(); !sel.IsTestOnly() {
			path, ok = pathOf(sel.Operand())
			return append(path, sel.FieldName()), ok
		}
	}
	return nil, false
}

// literalText is the text of a literal for which the same text means the same
// value: a text, a whole number or a truth value.
func (t *totalizer) literalText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	switch e.AsLiteral().(type) {
	case types.String, types.Int, types.Bool:
		return t.text(e), true
	}
	return "", false
}

// literals is literalText for each element of a list.
func (t *totalizer) literals(list ast.Expr) (values []string, ok bool) {
	if list.Kind() != ast.ListKind {
		return nil, false
	}
	for _, element := range list.AsList().Elements() {
		value, ok := t.literalText(element)
		if !ok {
			return nil, false
		}
		if !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values, len(values) > 0 && len(list.AsList().OptionalIndices()) == 0
}

func isEmptyLiteral(e ast.Expr) bool {
	return e.Kind() == ast.ListKind && e.AsList().Size() == 0 || e.Kind() == ast.MapKind && e.AsMap().Size() == 0
}

func (t *totalizer) isBool(e ast.Expr) bool { return t.kind(e) == types.BoolKind }

func (t *totalizer) isOptional(e ast.Expr) bool {
	return t.kind(e) == types.OpaqueKind && t.types[e.ID()].TypeName() == "optional_type"
}

func (t *totalizer) kind(e ast.Expr) types.Kind {
	if checked, ok := t.types[e.ID()]; ok {
		return checked.Kind()
	}
	return types.DynKind
}

// A macroLoop is a macro that the parser turned into a comprehension, seen as the
// macro again. The shapes are those that the package parser of cel-go gives them.
type macroLoop struct {
	macro     string
	over      ast.Expr
	variable  string
	test      ast.Expr // nil for a map without one
	transform ast.Expr // of a map
}

// loopOf is false for a comprehension that is none of the macros.
func loopOf(e ast.Expr) (macroLoop, bool) {
	comp := e.AsComprehension()
	step := comp.LoopStep()
	if comp.HasIterVar2() || step.Kind() != ast.CallKind {
		return macroLoop{}, false
	}
	l := macroLoop{over: comp.IterRange(), variable: comp.IterVar()}
	args := step.AsCall().Args()
	switch step.AsCall().FunctionName() {
	case operators.LogicalOr:
		l.macro, l.test = operators.Exists, args[1]
	case operators.LogicalAnd:
		l.macro, l.test = operators.All, args[1]
	case operators.Add:
		l.macro, l.transform = operators.Map, args[1].AsList().Elements()[0]
	case operators.Conditional:
		l.test = args[0]
		if added := args[1].AsCall().Args()[1]; added.Kind() == ast.ListKind {
			l.macro, l.transform = operators.Map, added.AsList().Elements()[0]
		} else {
			l.macro = operators.ExistsOne
		}
	default:
		return macroLoop{}, false
	}
	return l, true
}
