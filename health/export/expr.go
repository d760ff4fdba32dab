package export

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"

	"hallmark.dev/hallmark/health"
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

// call is opaque for a text that is a call.
func (t *totalizer) call(text string, of ...ast.Expr) formula {
	return t.opposable(text, "!"+text, of...)
}

// membership compares an expression with literals.
func (t *totalizer) membership(e ast.Expr, values []string, want bool) formula {
	return signed(t.atom(atom{kind: membership, text: t.operand(e, bySum), values: values}, e), want)
}

func (t *totalizer) presence(path []string) formula {
	return newAtom(atom{kind: presence, path: path})
}

func (t *totalizer) atom(a atom, of ...ast.Expr) formula {
	for _, e := range of {
		if what := lacking(e); what != "" {
			return t.lacks(what)
		}
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

// lacking is what an expression has that Flux does not have, if anything.
func lacking(e ast.Expr) (what string) {
	health.Walk(e, func(e ast.Expr) {
		switch e.Kind() {
		case ast.CallKind:
			if e.AsCall().FunctionName() == "now" {
				what = "now()"
			}
		case ast.ComprehensionKind:
			if _, ok := health.LoopOf(e); !ok {
				what = otherMacros
			}
		}
	})
	return what
}

// keysOf are the top-level keys of the object that an expression names.
func keysOf(e ast.Expr) map[string]bool {
	keys := map[string]bool{}
	var visit func(e ast.Expr, scope []string)
	visit = func(e ast.Expr, scope []string) {
		var parts []ast.Expr
		switch e.Kind() {
		case ast.IdentKind:
			if !slices.Contains(scope, e.AsIdent()) {
				keys[e.AsIdent()] = true
			}
		case ast.SelectKind:
			parts = append(parts, e.AsSelect().Operand())
		case ast.ListKind:
			parts = e.AsList().Elements()
		case ast.MapKind:
			for _, entry := range e.AsMap().Entries() {
				parts = append(parts, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
			}
		case ast.CallKind:
			if parts = e.AsCall().Args(); e.AsCall().IsMemberFunction() {
				parts = append([]ast.Expr{e.AsCall().Target()}, parts...)
			}
		case ast.ComprehensionKind:
			loop := e.AsComprehension()
			visit(loop.IterRange(), scope)
			scope = append(slices.Clone(scope), loop.IterVar(), loop.AccuVar())
			parts = append(parts, loop.LoopStep())
		}
		for _, p := range parts {
			visit(p, scope)
		}
	}
	visit(e, nil)
	return keys
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

// optionalPath is pathOf for a chain with .? in it.
func optionalPath(e ast.Expr) (path []string, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		if sel := e.AsSelect(); !sel.IsTestOnly() {
			path, ok = optionalPath(sel.Operand())
			return append(path, sel.FieldName()), ok
		}
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == operators.OptSelect {
			path, ok = optionalPath(call.Args()[0])
			field, _ := call.Args()[1].AsLiteral().(types.String)
			return append(path, string(field)), ok
		}
	}
	return pathOf(e)
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

// spellFirst makes text print list.first(c, test), which Flux does not have, as
// list.filter(c, total test)[0].
func (t *totalizer) spellFirst(e ast.Expr) {
	ast.PostOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.ComprehensionKind {
			return
		}
		l, _ := health.LoopOf(e)
		call, found := t.info.GetMacroCall(e.ID())
		if l.Macro != health.First || !found {
			return
		}
		fac := ast.NewExprFactory()
		// An identifier is printed as it is, whatever it is.
		test := fac.NewIdent(0, printFormula(t.inside(l, func() formula { return t.when(l.Test, true) })))
		filter := fac.NewMemberCall(0, operators.Filter, call.AsCall().Target(), fac.NewIdent(0, l.Variable), test)
		t.info.SetMacroCall(e.ID(), fac.NewCall(0, operators.Index, filter, fac.NewLiteral(0, types.IntZero)))
	}))
}

// otherMacros is what else is a comprehension.
const otherMacros = "macros other than exists, all, exists_one, filter, map and first"
