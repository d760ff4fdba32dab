package health

import (
	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// First is the name of hallmark's own macro; the others have theirs in cel-go's
// package operators.
const First = "first"

// Loop is a macro that the parser turned into a comprehension, seen as the macro
// again.
type Loop struct {
	Macro     string // exists, all, exists_one, filter, map or first
	Over      celast.Expr
	Variable  string
	Test      celast.Expr // nil for a map without one
	Transform celast.Expr // of a map
}

// LoopOf takes a comprehension apart; false for one of another macro. The shapes are
// those of cel-go's parser/macro.go, and that of firstMacro.
func LoopOf(e celast.Expr) (l Loop, ok bool) {
	comp := e.AsComprehension()
	step := comp.LoopStep()
	if comp.HasIterVar2() || step.Kind() != celast.CallKind {
		return Loop{}, false
	}
	l = Loop{Over: comp.IterRange(), Variable: comp.IterVar()}
	onlyElement := func(list celast.Expr) celast.Expr { return list.AsList().Elements()[0] }
	args := step.AsCall().Args()
	switch step.AsCall().FunctionName() {
	case operators.LogicalOr:
		l.Macro, l.Test = operators.Exists, args[1]
	case operators.LogicalAnd:
		l.Macro, l.Test = operators.All, args[1]
	case operators.Add:
		l.Macro, l.Transform = operators.Map, onlyElement(args[1])
	case operators.Conditional:
		l.Test = args[0]
		if result := comp.Result(); result.Kind() == celast.CallKind && result.AsCall().FunctionName() == operators.Index {
			// size(found) == 0 && !@not_strictly_false(!test) ? found + [x] : found
			l.Macro, l.Test = First, args[0].AsCall().Args()[1]
			for range 3 {
				l.Test = l.Test.AsCall().Args()[0]
			}
			break
		}
		added := args[1].AsCall().Args()[1]
		if added.Kind() != celast.ListKind {
			l.Macro = operators.ExistsOne
			break
		}
		l.Macro, l.Transform = operators.Map, onlyElement(added)
		if l.Transform.Kind() == celast.IdentKind && l.Transform.AsIdent() == l.Variable {
			l.Macro = operators.Filter
		}
	default:
		return Loop{}, false
	}
	return l, true
}

// firstMacro is list.first(x, test): the first element for which the test is true,
// whatever it is for the others, also an error; an error where it is true for none.
// As in exists(), the keys of a map are its elements. It expands to
//
//	list.fold(found = [], size(found) == 0 && isTrue(test) ? found + [x] : found)[0]
//
// where isTrue(test) is !@not_strictly_false(!test), which is false for an error.
var firstMacro = cel.ReceiverMacro(First, 2, func(f cel.MacroExprFactory, target celast.Expr, args []celast.Expr) (celast.Expr, *cel.Error) {
	if args[0].Kind() != celast.IdentKind {
		return nil, f.NewError(args[0].ID(), "argument is not an identifier")
	}
	variable := args[0].AsIdent()
	isTrue := f.NewCall(operators.LogicalNot, f.NewCall(operators.NotStrictlyFalse, f.NewCall(operators.LogicalNot, args[1])))
	none := f.NewCall(operators.Equals, f.NewCall("size", f.NewAccuIdent()), f.NewLiteral(types.IntZero))
	found := f.NewCall(operators.Add, f.NewAccuIdent(), f.NewList(f.NewIdent(variable)))
	step := f.NewCall(operators.Conditional, f.NewCall(operators.LogicalAnd, none, isTrue), found, f.NewAccuIdent())
	return f.NewComprehension(target, variable, f.AccuIdentName(), f.NewList(), f.NewLiteral(types.True), step,
		f.NewCall(operators.Index, f.NewAccuIdent(), f.NewLiteral(types.IntZero))), nil
})
