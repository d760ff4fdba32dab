package compile

import (
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"hallmark.dev/hallmark/lua/ast"
)

// optional is what an expression of optional type comes to: value is nil for none
// and for an error; defined is a condition that tells the two apart.
type optional struct{ value, defined ast.Expr }

// optionalOf translates a.?b, a[?b], what is selected from those, and or().
func (c *compiler) optionalOf(e celast.Expr) optional {
	switch e.Kind() {
	case celast.SelectKind:
		if sel := e.AsSelect(); !sel.IsTestOnly() {
			return c.further(c.optionalOf(sel.Operand()), ast.String(sel.FieldName()))
		}
	case celast.CallKind:
		call := e.AsCall()
		args := call.Args()
		switch call.FunctionName() {
		case operators.OptSelect, operators.OptIndex:
			key := c.optionalKey(args[1])
			if c.isOptional(args[0]) {
				return c.further(c.optionalOf(args[0]), key)
			}
			of := c.value(args[0])
			return optional{c.get(of, key), c.call("open", of, key)}
		case operators.Index:
			return c.further(c.optionalOf(args[0]), c.optionalKey(args[1]))
		case "or":
			a, b := c.optionalOf(call.Target()), c.optionalOf(args[0])
			none := ast.Binary{Op: "==", X: a.value, Y: ast.Nil{}}
			return optional{
				value:   c.call("choose", notNil(a.value), and(a.defined, none), a.value, b.value),
				defined: and(a.defined, or(notNil(a.value), b.defined)),
			}
		}
	}
	c.refuse(e, "an optional value other than .?field, [?key] and or()")
	return optional{ast.Nil{}, ast.Bool(true)}
}

// further selects from an optional value: none stays none.
func (c *compiler) further(o optional, key ast.Expr) optional {
	return optional{
		value:   c.get(o.value, key),
		defined: and(o.defined, or(ast.Binary{Op: "==", X: o.value, Y: ast.Nil{}}, c.call("open", o.value, key))),
	}
}

func (c *compiler) get(of, key ast.Expr) ast.Expr {
	if name, ok := key.(ast.String); ok {
		return c.field(of, string(name))
	}
	return c.call("field", of, key)
}

// optionalKey is a literal key, as Lua counts.
func (c *compiler) optionalKey(e celast.Expr) ast.Expr {
	if name, ok := stringLiteral(e); ok {
		return ast.String(name)
	}
	if n, ok := intLiteral(e); ok && n >= 0 && n < maxWhole {
		return ast.Number(n + 1)
	}
	return c.refuse(e, "an optional index that is not a literal text or position")
}

// isOptional reports whether e is an optional value. The checker calls x[?key] dyn where
// it does not know whether x is a list or a map.
func (c *compiler) isOptional(e celast.Expr) bool {
	switch {
	case isCall(e, operators.OptIndex), isCall(e, operators.OptSelect), c.types[e.ID()].TypeName() == "optional_type":
		return true
	case e.Kind() == celast.SelectKind && !e.AsSelect().IsTestOnly():
		return c.isOptional(e.AsSelect().Operand())
	case isCall(e, operators.Index):
		return c.isOptional(e.AsCall().Args()[0])
	}
	return false
}

// whenValue is a condition that holds where there is a value, or where there is none.
func (c *compiler) whenValue(o optional, want bool) ast.Expr {
	if want {
		return notNil(o.value)
	}
	return and(o.defined, ast.Binary{Op: "==", X: o.value, Y: ast.Nil{}})
}

// optionalResult is the value of orValue(), hasValue() or value().
func (c *compiler) optionalResult(e celast.Expr) ast.Expr {
	call := e.AsCall()
	if !c.isOptional(call.Target()) {
		return c.refuse(e, "%s() of something that is not optional", call.FunctionName())
	}
	if target := call.Target(); call.FunctionName() == "orValue" && (isCall(target, operators.OptSelect) || isCall(target, operators.OptIndex)) {
		if args := target.AsCall().Args(); !c.isOptional(args[0]) {
			key, helper := c.optionalKey(args[1]), "getOr"
			if _, isText := key.(ast.String); !isText {
				helper = "entryOr"
			}
			return c.call(helper, c.value(args[0]), key, c.value(call.Args()[0]))
		}
	}
	o := c.optionalOf(call.Target())
	none := ast.Binary{Op: "==", X: o.value, Y: ast.Nil{}}
	switch call.FunctionName() {
	case "hasValue":
		return c.call("truth", c.whenValue(o, true), c.whenValue(o, false))
	case "value":
		return o.value
	default:
		return c.call("choose", notNil(o.value), and(o.defined, none), o.value, c.value(call.Args()[0]))
	}
}
