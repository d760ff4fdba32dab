package compile

import (
	"fmt"
	"slices"

	"hallmark.dev/hallmark/lua/ast"
	"hallmark.dev/hallmark/lua/print"
)

// maxTests is how many functions get a name of their own.
const maxTests = 25

// hoist takes functions out of functions: one that needs nothing of what is around
// it is declared before the rule, so that it is made once and not for every entry
// of the outer list. The same function is declared once in a script.
func (c *compiler) hoist(e ast.Expr, outer []string) ast.Expr {
	each := func(list []ast.Expr) []ast.Expr {
		out := make([]ast.Expr, len(list))
		for i, item := range list {
			out[i] = c.hoist(item, outer)
		}
		return out
	}
	switch e := e.(type) {
	case ast.Binary:
		e.X, e.Y = c.hoist(e.X, outer), c.hoist(e.Y, outer)
		return e
	case ast.Unary:
		e.X = c.hoist(e.X, outer)
		return e
	case ast.One:
		e.X = c.hoist(e.X, outer)
		return e
	case ast.Call:
		e.Args = each(e.Args)
		return e
	case ast.Table:
		e.Items = each(e.Items)
		fields := slices.Clone(e.Fields)
		for i := range fields {
			fields[i].Value = c.hoist(fields[i].Value, outer)
		}
		e.Fields = fields
		return e
	case ast.Function:
		e.Result = c.hoist(e.Result, append(slices.Clone(outer), e.Params...))
		if len(outer) == 0 || uses(e.Result, outer, e.Params) {
			return e
		}
		return c.named(e)
	}
	return e
}

// named declares a function and returns its name.
func (c *compiler) named(f ast.Function) ast.Expr {
	text := print.Expr(f)
	if name, ok := c.tests[text]; ok {
		return ast.Name(name)
	}
	if len(c.tests) == maxTests {
		return f
	}
	name := c.name("", fmt.Sprintf("test%d", len(c.tests)+1))
	c.tests[text] = name
	c.declared = append(c.declared, ast.Local{Name: name, Value: f})
	return ast.Name(name)
}

// uses reports whether e names one of the outer variables, where that is not hidden
// by one of its own.
func uses(e ast.Expr, outer, own []string) bool {
	any := func(list ...ast.Expr) bool {
		return slices.ContainsFunc(list, func(item ast.Expr) bool { return uses(item, outer, own) })
	}
	switch e := e.(type) {
	case ast.Name:
		return slices.Contains(outer, string(e)) && !slices.Contains(own, string(e))
	case ast.Index:
		return any(e.X, e.Key)
	case ast.Call:
		return any(append([]ast.Expr{e.Func}, e.Args...)...)
	case ast.Unary:
		return any(e.X)
	case ast.One:
		return any(e.X)
	case ast.Binary:
		return any(e.X, e.Y)
	case ast.Function:
		return uses(e.Result, outer, append(slices.Clone(own), e.Params...))
	case ast.Table:
		if any(e.Items...) {
			return true
		}
		return slices.ContainsFunc(e.Fields, func(f ast.Field) bool { return any(f.Value) })
	}
	return false
}
