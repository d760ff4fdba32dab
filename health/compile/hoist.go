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
	f, ok := e.(ast.Function)
	if !ok {
		return ast.Map(e, func(inner ast.Expr) ast.Expr { return c.hoist(inner, outer) })
	}
	f.Result = c.hoist(f.Result, append(slices.Clone(outer), f.Params...))
	if len(outer) == 0 || uses(f.Result, outer, f.Params) {
		return f
	}
	return c.named(f)
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
func uses(e ast.Expr, outer, own []string) (found bool) {
	ast.Walk(e, func(e ast.Expr) bool {
		switch e := e.(type) {
		case ast.Name:
			found = found || slices.Contains(outer, string(e)) && !slices.Contains(own, string(e))
		case ast.Function:
			found = found || uses(e.Result, outer, append(slices.Clone(own), e.Params...))
			return false
		}
		return !found
	})
	return found
}
