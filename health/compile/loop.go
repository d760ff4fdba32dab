package compile

import (
	"slices"

	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/lua/ast"
	"hallmark.dev/hallmark/lua/print"
)

// loop is a macro that Lua can do; nil for another, which is refused.
func (c *compiler) loop(e celast.Expr) *health.Loop {
	l, ok := health.LoopOf(e)
	if !ok {
		c.refuse(e, "a macro other than exists, all, exists_one, filter and map")
		return nil
	}
	switch t := c.types[l.Over.ID()]; t.Kind() {
	case types.ListKind, types.MapKind, types.DynKind:
		return &l
	default:
		c.refuse(l.Over, "%s() over a value of type %s", l.Macro, t.TypeName())
		return nil
	}
}

func (c *compiler) whenLoop(e celast.Expr, want bool) ast.Expr {
	l := c.loop(e)
	if l == nil {
		return ast.Nil{}
	}
	if l.Macro != "exists" && l.Macro != "all" {
		return is(c.loopValue(e), want)
	}
	if l.Macro == "exists" && want {
		if call, ok := c.conditionCall(l); ok {
			return call
		}
	}
	if items, ok := c.literals(l.Over); ok && len(items) <= maxUnrolled {
		return c.unrolled(l, items, want)
	}
	over := c.value(l.Over)
	test, tables := c.guarded(l.Variable, l.Test, want)
	switch exists := (l.Macro == "exists") == want; {
	case exists && tables:
		return c.call("find", over, test)
	case exists:
		return c.call("any", over, test)
	case tables:
		return c.call("all", over, test)
	default:
		return c.call("every", over, test)
	}
}

// maxUnrolled is how many literals a loop may be over that is written out.
const maxUnrolled = 6

// unrolled is exists or all over literals, one after the other.
func (c *compiler) unrolled(l *health.Loop, items []ast.Expr, want bool) ast.Expr {
	exists := (l.Macro == "exists") == want
	cond := ast.Expr(ast.Bool(!exists))
	for _, item := range items {
		c.scope = append(c.scope, variable{cel: l.Variable, value: item})
		if test := c.when(l.Test, want); exists {
			cond = or(cond, test)
		} else {
			cond = and(cond, test)
		}
		c.scope = c.scope[:len(c.scope)-1]
	}
	return cond
}

// guarded is the test of a loop for a truth value. Where the test asks a field of the
// variable for a value, it cannot hold for anything but a map; asked first whether that
// is a table, every field of it is read as it is.
func (c *compiler) guarded(variable string, test celast.Expr, want bool) (f ast.Function, tables bool) {
	f = c.bind(variable, func() ast.Expr { return c.when(test, want) })
	name := ast.Name(f.Params[0])
	if !asksField(f.Result, name) {
		return f, false
	}
	isTable := ast.Binary{Op: "==", X: ast.Call{Func: ast.Name("type"), Args: []ast.Expr{name}}, Y: ast.String("table")}
	f.Result = and(isTable, withoutNil(readFields(f.Result, name, true)))
	return f, true
}

// strict are the helpers that are not true where an argument is nil.
var strict = map[ast.Expr]bool{
	ast.Name("all"): true, ast.Name("any"): true, ast.Name("atMost"): true, ast.Name("equal"): true, ast.Name("every"): true,
	ast.Name("find"): true, ast.Name("less"): true, ast.Name("older"): true, ast.Name("oneOf"): true, ast.Name("same"): true,
	ast.Name("startsWith"): true,
}

// asksField reports whether e holds only where the variable is a map in which a
// certain key has a value.
func asksField(e ast.Expr, variable ast.Name) bool {
	isField := func(e ast.Expr) bool {
		key, ok := fieldOf(e, variable)
		_, isText := key.(ast.String)
		return ok && isText
	}
	if call, ok := e.(ast.Call); ok && strict[call.Func] {
		return slices.ContainsFunc(call.Args, isField)
	}
	b, ok := e.(ast.Binary)
	switch {
	case ok && b.Op == "and":
		return asksField(b.X, variable) || asksField(b.Y, variable)
	case ok && b.Op == "or":
		return asksField(b.X, variable) && asksField(b.Y, variable)
	case ok && b.Op == "==":
		_, isBool := b.Y.(ast.Bool)
		return isLiteral(b.Y) && (isField(b.X) || isBool && asksField(b.X, variable))
	case ok && b.Op == "~=":
		return isField(b.X) && b.Y == ast.Expr(ast.Nil{})
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

// readFields replaces field(variable, key) by variable[key], where that is a table; where
// it is a map, lacks(variable, key) means that it has none. Inside a function that
// has a variable of that name the name means another.
func readFields(e ast.Expr, variable ast.Name, isMap bool) ast.Expr {
	if e == nil {
		return nil
	}
	if key, ok := fieldOf(e, variable); ok {
		return ast.Index{X: variable, Key: key}
	}
	switch inner := e.(type) {
	case ast.Call:
		if isMap && inner.Func == ast.Expr(ast.Name("lacks")) && inner.Args[0] == ast.Expr(variable) {
			return ast.Binary{Op: "==", X: ast.Index{X: variable, Key: inner.Args[1]}, Y: ast.Nil{}}
		}
	case ast.Function:
		if inner.Params[0] == string(variable) {
			return e
		}
	}
	return ast.Map(e, func(inner ast.Expr) ast.Expr { return readFields(inner, variable, isMap) })
}

// withoutNil makes x ~= y of x == nil or x ~= nil and x ~= y, also of several y.
func withoutNil(e ast.Expr) ast.Expr {
	e = ast.Map(e, withoutNil)
	b, ok := e.(ast.Binary)
	if !ok || b.Op != "or" {
		return e
	}
	none, ok := b.X.(ast.Binary)
	if !ok || none.Op != "==" || none.Y != ast.Expr(ast.Nil{}) {
		return e
	}
	x := print.Expr(none.X)
	rest := ast.Expr(ast.Bool(true))
	parts := operands(b.Y, "and")
	if print.Expr(parts[0]) != x+" ~= nil" || len(parts) == 1 {
		return e
	}
	for _, part := range parts[1:] {
		differs, ok := part.(ast.Binary)
		if !ok || differs.Op != "~=" || !isLiteral(differs.Y) || print.Expr(differs.X) != x {
			return e
		}
		rest = and(rest, part)
	}
	return rest
}

// operands is those of a chain of an operator.
func operands(e ast.Expr, op string) []ast.Expr {
	if b, ok := e.(ast.Binary); ok && b.Op == op {
		return append(operands(b.X, op), operands(b.Y, op)...)
	}
	return []ast.Expr{e}
}

func (c *compiler) loopValue(e celast.Expr) ast.Expr {
	l := c.loop(e)
	if l == nil {
		return ast.Nil{}
	}
	if l.Macro == "exists" || l.Macro == "all" {
		return c.truth(e)
	}
	if call, ok := c.conditionCall(l); ok {
		return call
	}
	over := c.value(l.Over)
	if l.Macro == "first" {
		test, tables := c.guarded(l.Variable, l.Test, true)
		if tables {
			return c.call("find", over, test)
		}
		return c.call("first", over, test)
	}
	if l.Test != nil {
		helper := "filter"
		if l.Macro == "exists_one" {
			helper = "one"
		}
		over = c.call(helper, over, c.bind(l.Variable, func() ast.Expr { return c.truthValue(l.Test) }))
	}
	if l.Macro != "map" {
		return over
	}
	return c.call("map", over, c.bind(l.Variable, func() ast.Expr { return c.value(l.Transform) }))
}

// truthValue is the value of a condition, nil for anything but true and false.
func (c *compiler) truthValue(e celast.Expr) ast.Expr {
	value := c.value(e)
	if c.types[e.ID()].Kind() == types.BoolKind {
		return value
	}
	return c.truth(e)
}
