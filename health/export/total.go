package export

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"hallmark.dev/hallmark/health"
)

const (
	statusVariable = "status"

	// maxFormula bounds how many conditions one rule becomes: each level of ?: and
	// of truth values that are compared writes its parts twice.
	maxFormula = 2000
)

// A totalizer turns an expression that may be an error into one that is never
// one, for Flux gives up at an error where a check goes on to its next rule.
//
// Like package compile it translates each condition twice: when(e, true) holds
// exactly where e is true, when(e, false) exactly where e is false, and where e is
// an error neither does. defined(e) holds where e has a value.
//
// What it does not guard against are values of another type than an operator or
// macro takes, which the schema of a kind rules out.
type totalizer struct {
	info  *ast.SourceInfo
	types map[int64]*types.Type
	scope []string // iteration variables

	budget  int
	missing []string // what Flux does not have
	// comparesEmpty is set if something is compared with [] or {}.
	comparesEmpty bool
}

// total is the formula for a checked condition, and what was found in it. What
// Flux does not have is taken to hold, so that with anything missing the formula
// says where the condition may be true.
func total(e *health.Expr) (formula, *totalizer) {
	checked := e.AST.NativeRep()
	t := &totalizer{info: ast.CopySourceInfo(checked.SourceInfo()), types: checked.TypeMap(), budget: maxFormula}
	t.spellFirst(checked.Expr())
	f := t.when(checked.Expr(), true)
	if t.budget < 0 {
		t.lacks("an expression that is this long when nothing in it can fail")
		return constant(true), t
	}
	return f, t
}

func (t *totalizer) lacks(what string) formula {
	if !slices.Contains(t.missing, what) {
		t.missing = append(t.missing, what)
	}
	return constant(true)
}

// when holds exactly where e has the truth value want.
func (t *totalizer) when(e ast.Expr, want bool) formula {
	if t.budget--; t.budget < 0 {
		return constant(true)
	}
	switch e.Kind() {
	case ast.LiteralKind:
		if b, ok := e.AsLiteral().(types.Bool); ok {
			return constant(bool(b) == want)
		}
	case ast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			return t.whenPresent(e, want)
		}
	case ast.CallKind:
		if f := t.whenCall(e, want); f != nil {
			return f
		}
	case ast.ComprehensionKind:
		if f := t.whenLoop(e, want); f != nil {
			return f
		}
	}
	if t.isBool(e) {
		text := t.operand(e, bySelection)
		return every(t.defined(e), signed(t.opposable(t.text(e), "!"+text, e), want))
	}
	// A value of any type is a condition only if it is a truth value.
	return every(t.defined(e), t.membership(e, []string{strconv.FormatBool(want)}, true))
}

// whenPresent is when for has().
func (t *totalizer) whenPresent(e ast.Expr, want bool) formula {
	sel := e.AsSelect()
	path, ok := pathOf(sel.Operand())
	if !ok || t.isOptional(sel.Operand()) {
		return every(t.defined(sel.Operand()), signed(t.call(t.text(e), e), want))
	}
	there := t.presence(append(path, sel.FieldName()))
	if want {
		return there
	}
	return every(t.defined(sel.Operand()), not(there))
}

// whenCall is nil for a call whose value decides.
func (t *totalizer) whenCall(e ast.Expr, want bool) formula {
	args := e.AsCall().Args()
	switch op := e.AsCall().FunctionName(); op {
	case operators.LogicalNot:
		return t.when(args[0], !want)
	case operators.LogicalAnd, operators.LogicalOr:
		if (op == operators.LogicalAnd) == want {
			return every(t.when(args[0], want), t.when(args[1], want))
		}
		return some(t.when(args[0], want), t.when(args[1], want))
	case operators.Conditional:
		return some(
			every(t.when(args[0], true), t.when(args[1], want)),
			every(t.when(args[0], false), t.when(args[2], want)))
	case operators.Equals, operators.NotEquals:
		return t.whenEqual(args[0], args[1], want == (op == operators.Equals))
	case operators.In:
		if values, ok := t.literals(args[1]); ok {
			return every(t.defined(args[0]), t.membership(args[0], values, want))
		}
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		opposite := t.operand(args[0], bySum) + " " + reversed[op] + " " + t.operand(args[1], bySum)
		return every(t.allDefined(args...), signed(t.opposable(t.text(e), opposite, e), want))
	}
	return nil
}

var reversed = map[string]string{
	operators.Less: ">=", operators.LessEquals: ">", operators.Greater: "<=", operators.GreaterEquals: "<",
}

func (t *totalizer) whenEqual(a, b ast.Expr, want bool) formula {
	t.comparesEmpty = t.comparesEmpty || isEmptyLiteral(a) || isEmptyLiteral(b)
	if _, ok := t.literalText(a); ok {
		a, b = b, a
	}
	if value, ok := t.literalText(b); ok {
		if t.isBool(a) {
			return t.when(a, want == (value == "true"))
		}
		return every(t.defined(a), t.membership(a, []string{value}, want))
	}
	x, y := t.operand(a, bySum), t.operand(b, bySum)
	return every(t.allDefined(a, b), signed(t.opposable(x+" == "+y, x+" != "+y, a, b), want))
}

// whenLoop is when for the macros exists and all, nil for another.
func (t *totalizer) whenLoop(e ast.Expr, want bool) formula {
	l, ok := health.LoopOf(e)
	if !ok || l.Macro != operators.Exists && l.Macro != operators.All {
		return nil
	}
	body := t.inside(l, func() formula { return t.when(l.Test, want) })
	return every(t.defined(l.Over), t.loop(l, (l.Macro == operators.All) == want, body))
}

// inside is a formula about the elements of a loop.
func (t *totalizer) inside(l health.Loop, f func() formula) formula {
	t.scope = append(t.scope, l.Variable)
	defer func() { t.scope = t.scope[:len(t.scope)-1] }()
	return f()
}

func (t *totalizer) loop(l health.Loop, universal bool, body formula) formula {
	if value, ok := body.(constant); ok && bool(value) == universal {
		return body // for no elements too
	}
	return t.atom(atom{kind: loop, text: t.operand(l.Over, bySelection), variable: l.Variable, universal: universal, body: body}, l.Over)
}

// defined holds where e has a value.
func (t *totalizer) defined(e ast.Expr) formula {
	if t.budget--; t.budget < 0 {
		return constant(true)
	}
	switch e.Kind() {
	case ast.SelectKind:
		return t.definedSelect(e)
	case ast.ListKind:
		return t.allDefined(e.AsList().Elements()...)
	case ast.MapKind:
		var parts []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			parts = append(parts, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return t.allDefined(parts...)
	case ast.CallKind:
		return t.definedCall(e)
	case ast.ComprehensionKind:
		return t.definedLoop(e)
	}
	return constant(true)
}

func (t *totalizer) allDefined(parts ...ast.Expr) formula {
	f := formula(constant(true))
	for _, p := range parts {
		f = every(f, t.defined(p))
	}
	return f
}

func (t *totalizer) definedSelect(e ast.Expr) formula {
	sel := e.AsSelect()
	if sel.IsTestOnly() || t.isOptional(sel.Operand()) {
		return t.defined(sel.Operand())
	}
	if path, ok := pathOf(e); ok {
		return t.presence(path)
	}
	return every(t.defined(sel.Operand()), t.call("has("+t.text(e)+")", e))
}

func (t *totalizer) definedCall(e ast.Expr) formula {
	call := e.AsCall()
	args := call.Args()
	if call.IsMemberFunction() {
		args = append([]ast.Expr{call.Target()}, args...)
	}
	switch op := call.FunctionName(); op {
	case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot:
		return some(t.when(e, true), t.when(e, false))
	case operators.Conditional:
		return some(
			every(t.when(args[0], true), t.defined(args[1])),
			every(t.when(args[0], false), t.defined(args[2])))
	case operators.Index:
		if t.isOptional(args[0]) {
			return t.allDefined(args...)
		}
		return every(t.allDefined(args...), t.within(args[0], args[1]))
	case operators.Divide, operators.Modulo:
		if n, ok := t.literalText(args[1]); ok && n != "0" {
			return t.allDefined(args...)
		}
		return every(t.allDefined(args...), t.membership(args[1], []string{"0"}, false))
	case "value":
		return every(t.defined(args[0]), t.hasValue(args[0]))
	case "orValue", "or":
		// The other value is not looked at where there is this one.
		return every(t.defined(args[0]), some(t.hasValue(args[0]), t.defined(args[1])))
	}
	return t.allDefined(args...)
}

// hasValue holds where an optional that is defined has a value.
func (t *totalizer) hasValue(optional ast.Expr) formula {
	if path, ok := optionalPath(optional); ok {
		return t.presence(path)
	}
	return t.call(t.operand(optional, bySelection)+".hasValue()", optional)
}

// within holds where a list or map has an index.
func (t *totalizer) within(of, index ast.Expr) formula {
	n, literal := t.literalText(index)
	switch {
	case t.kind(index) == types.StringKind:
		return t.opaque(t.operand(index, bySum)+" in "+t.operand(of, bySum), of, index)
	case literal && !strings.HasPrefix(n, "-"):
		return t.opaque("size("+t.text(of)+") > "+n, of)
	default:
		return t.call(t.operand(of, bySelection)+"[?"+t.text(index)+"].hasValue()", of, index)
	}
}

func (t *totalizer) definedLoop(e ast.Expr) formula {
	l, ok := health.LoopOf(e)
	if !ok {
		return t.lacks(otherMacros)
	}
	if l.Macro == operators.Exists || l.Macro == operators.All {
		return some(t.when(e, true), t.when(e, false))
	}
	if l.Macro == health.First {
		found := t.inside(l, func() formula { return t.when(l.Test, true) })
		return every(t.defined(l.Over), t.loop(l, false, found))
	}
	each := t.inside(l, func() formula {
		whole := formula(constant(true))
		if l.Transform != nil {
			whole = t.defined(l.Transform)
		}
		if l.Test == nil {
			return whole
		}
		return some(every(t.when(l.Test, true), whole), t.when(l.Test, false))
	})
	return every(t.defined(l.Over), t.loop(l, true, each))
}
