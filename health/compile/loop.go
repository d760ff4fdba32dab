package compile

import (
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"hallmark.dev/hallmark/lua/ast"
)

// A loop is a macro that the parser turned into a comprehension, seen as the
// macro again. The shapes are those of cel-go's parser/macro.go.
type loop struct {
	macro     string // exists, all, exists_one, filter or map
	over      celast.Expr
	variable  string
	test      celast.Expr // nil for a map without one
	transform celast.Expr // of a map
}

// asLoop is nil for a comprehension of another shape.
func asLoop(e celast.Expr) *loop {
	comp := e.AsComprehension()
	if comp.HasIterVar2() {
		return nil
	}
	l := &loop{over: comp.IterRange(), variable: comp.IterVar()}
	step := comp.LoopStep()
	if step.Kind() != celast.CallKind {
		return nil
	}
	args := step.AsCall().Args()
	switch step.AsCall().FunctionName() {
	case operators.LogicalOr:
		l.macro, l.test = "exists", args[1]
	case operators.LogicalAnd:
		l.macro, l.test = "all", args[1]
	case operators.Add:
		l.macro, l.transform = "map", onlyElement(args[1])
	case operators.Conditional:
		l.test = args[0]
		added := args[1].AsCall().Args()[1]
		if added.Kind() != celast.ListKind {
			l.macro = "exists_one"
			break
		}
		l.macro = "map"
		if l.transform = onlyElement(added); l.transform.Kind() == celast.IdentKind && l.transform.AsIdent() == l.variable {
			l.macro = "filter"
		}
	default:
		return nil
	}
	return l
}

func onlyElement(list celast.Expr) celast.Expr { return list.AsList().Elements()[0] }

func (c *compiler) loop(e celast.Expr) *loop {
	l := asLoop(e)
	if l == nil {
		c.refuse(e, "a macro other than exists, all, exists_one, filter and map")
		return nil
	}
	switch t := c.types[l.over.ID()]; t.Kind() {
	case types.ListKind, types.MapKind, types.DynKind:
		return l
	default:
		c.refuse(l.over, "%s() over a value of type %s", l.macro, t.TypeName())
		return nil
	}
}

func (c *compiler) whenLoop(e celast.Expr, want bool) ast.Expr {
	l := c.loop(e)
	if l == nil {
		return ast.Nil{}
	}
	over := c.value(l.over)
	if l.macro != "exists" && l.macro != "all" {
		return is(c.loopValue(e), want)
	}
	test := c.bind(l.variable, func() ast.Expr { return c.when(l.test, want) })
	if (l.macro == "exists") == want {
		return c.call("any", over, test)
	}
	return c.call("every", over, test)
}

func (c *compiler) loopValue(e celast.Expr) ast.Expr {
	l := c.loop(e)
	if l == nil {
		return ast.Nil{}
	}
	if l.macro == "exists" || l.macro == "all" {
		return c.truth(e)
	}
	over := c.value(l.over)
	if l.test != nil {
		helper := "filter"
		if l.macro == "exists_one" {
			helper = "one"
		}
		over = c.call(helper, over, c.bind(l.variable, func() ast.Expr { return c.truthValue(l.test) }))
	}
	if l.macro != "map" {
		return over
	}
	return c.call("map", over, c.bind(l.variable, func() ast.Expr { return c.value(l.transform) }))
}

// truthValue is the value of a condition, nil for anything but true and false.
func (c *compiler) truthValue(e celast.Expr) ast.Expr {
	value := c.value(e)
	if c.types[e.ID()].Kind() == types.BoolKind {
		return value
	}
	return c.truth(e)
}
