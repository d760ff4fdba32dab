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
	macro     string // exists, all, exists_one, filter, map or first
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
		if first := firstTest(comp); first != nil {
			l.macro, l.test = "first", first
			break
		}
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

// firstTest is the test of hallmark's own macro first, as health.NewEnv expands it;
// nil for another comprehension.
func firstTest(comp celast.ComprehensionExpr) celast.Expr {
	if !isCall(comp.Result(), operators.Index) {
		return nil
	}
	isTrue := comp.LoopStep().AsCall().Args()[0].AsCall().Args()[1]
	return isTrue.AsCall().Args()[0].AsCall().Args()[0].AsCall().Args()[0]
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
	if l.macro != "exists" && l.macro != "all" {
		return is(c.loopValue(e), want)
	}
	if want {
		if call, ok := c.conditionCall(l); ok {
			return notNil(call)
		}
	}
	over := c.value(l.over)
	test := c.guarded(l.variable, l.test, want)
	if (l.macro == "exists") == want {
		return c.call("any", over, test)
	}
	return c.call("every", over, test)
}

// guarded is the test of a loop for a truth value. Where the test asks a field of the
// variable for a value, it cannot hold for anything but a table; asked for that
// first, every field of it is read as it is.
func (c *compiler) guarded(variable string, test celast.Expr, want bool) ast.Expr {
	f := c.bind(variable, func() ast.Expr { return c.when(test, want) })
	name := ast.Name(f.Params[0])
	if !asksField(f.Result, name) {
		return f
	}
	isTable := ast.Binary{Op: "==", X: ast.Call{Func: ast.Name("type"), Args: []ast.Expr{name}}, Y: ast.String("table")}
	f.Result = and(isTable, readFields(f.Result, name))
	return f
}

// needsFirst are the helpers that are not true where their first argument is nil.
var needsFirst = map[ast.Expr]bool{ast.Name("oneOf"): true, ast.Name("any"): true, ast.Name("every"): true, ast.Name("equal"): true}

// asksField reports whether e holds only where a field of the variable is a
// certain value.
func asksField(e ast.Expr, variable ast.Name) bool {
	if call, ok := e.(ast.Call); ok && needsFirst[call.Func] {
		_, isField := fieldOf(call.Args[0], variable)
		return isField
	}
	b, ok := e.(ast.Binary)
	switch {
	case ok && b.Op == "and":
		return asksField(b.X, variable) || asksField(b.Y, variable)
	case ok && b.Op == "or":
		return asksField(b.X, variable) && asksField(b.Y, variable)
	case ok && b.Op == "==":
		_, isField := fieldOf(b.X, variable)
		return isField && isLiteral(b.Y)
	}
	return false
}

// fieldOf is the key where e is field(variable, key).
func fieldOf(e ast.Expr, variable ast.Name) (ast.Expr, bool) {
	call, ok := e.(ast.Call)
	if !ok || call.Func != ast.Expr(ast.Name("field")) || call.Args[0] != ast.Expr(variable) {
		return nil, false
	}
	return call.Args[1], true
}

// readFields replaces field(variable, key) by variable[key]. Inside a function that has
// a variable of that name the name means another.
func readFields(e ast.Expr, variable ast.Name) ast.Expr {
	if key, ok := fieldOf(e, variable); ok {
		return ast.Index{X: variable, Key: key}
	}
	each := func(list []ast.Expr) []ast.Expr {
		out := make([]ast.Expr, len(list))
		for i, item := range list {
			out[i] = readFields(item, variable)
		}
		return out
	}
	switch e := e.(type) {
	case ast.Binary:
		e.X, e.Y = readFields(e.X, variable), readFields(e.Y, variable)
		return e
	case ast.One:
		e.X = readFields(e.X, variable)
		return e
	case ast.Call:
		e.Args = each(e.Args)
		return e
	case ast.Function:
		if e.Params[0] != string(variable) {
			e.Result = readFields(e.Result, variable)
		}
		return e
	}
	return e
}

func (c *compiler) loopValue(e celast.Expr) ast.Expr {
	l := c.loop(e)
	if l == nil {
		return ast.Nil{}
	}
	if l.macro == "exists" || l.macro == "all" {
		return c.truth(e)
	}
	if call, ok := c.conditionCall(l); ok {
		return call
	}
	over := c.value(l.over)
	if l.macro == "first" {
		return c.call("first", over, c.guarded(l.variable, l.test, true))
	}
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
