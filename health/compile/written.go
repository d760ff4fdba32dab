package compile

import (
	"slices"

	"hallmark.dev/hallmark/lua/ast"
)

// maxLoops is how many loops are written out.
const maxLoops = 2

// writeLoops writes the few calls of find and all in the conditions of rules out as loops,
// which are shorter than a helper and its function:
//
//	found = nil
//	for i = 1, #conditions do
//	  local c = conditions[i]
//	  if type(c) == "table" and c.type == "Ready" and c.message == "" then
//	    found = c
//	    break
//	  end
//	end
func (c *compiler) writeLoops(rules []rule) []rule {
	calls := 0
	for _, r := range rules {
		for _, stmts := range [][]ast.Stmt{r.declared, statements([]rule{r})} {
			ast.WalkStmts(stmts, func(e ast.Expr) bool {
				if call, ok := e.(ast.Call); ok && (call.Func == ast.Expr(ast.Name("find")) || call.Func == ast.Expr(ast.Name("all"))) {
					calls++
				}
				return true
			})
		}
	}
	if calls > maxLoops {
		return rules
	}
	out := slices.Clone(rules)
	for i := range out {
		c.writeLoop(&out[i])
	}
	return out
}

func (c *compiler) writeLoop(r *rule) {
	if list, f, ok := loopOf(r.search, "find"); ok && c.isLocal(list) {
		// Before what reads it.
		search := []ast.Stmt{ast.Assign{Name: r.variable, Value: ast.Nil{}}, c.searchLoop(list, f.Params[0], f.Result, r.variable, ast.Name(f.Params[0]))}
		r.loops, r.search, r.searches = append(search, r.loops...), nil, true
	}
	if r.cond == nil {
		return
	}
	parts := operands(r.cond, "and")
	for i, part := range parts {
		if list, f, ok := loopOf(part, "find"); ok && c.isLocal(list) {
			name := c.name("", "match")
			r.loops = append(r.loops, ast.Local{Name: name}, c.searchLoop(list, f.Params[0], f.Result, name, ast.Name(f.Params[0])))
			parts[i] = ast.Name(name)
		}
		if list, f, ok := loopOf(part, "all"); ok && c.isLocal(list) && searched(*r, parts, list) {
			name := c.name("", "differs")
			r.loops = append(r.loops, ast.Local{Name: name}, c.searchLoop(list, f.Params[0], ast.Unary{Op: "not", X: f.Result}, name, ast.Bool(true)))
			parts[i] = ast.Unary{Op: "not", X: ast.Name(name)}
		}
	}
	r.cond = ast.Bool(true)
	for _, part := range parts {
		r.cond = and(r.cond, part)
	}
}

// loopOf is the list and the test of a call of a helper, where the list is a name and the
// test a function.
func loopOf(e ast.Expr, helper string) (list string, f ast.Function, ok bool) {
	call, isCall := e.(ast.Call)
	if !isCall || call.Func != ast.Expr(ast.Name(helper)) {
		return "", f, false
	}
	name, isName := call.Args[0].(ast.Name)
	f, isFunction := call.Args[1].(ast.Function)
	return string(name), f, isName && isFunction
}

// searchLoop sets a variable where the test holds for an entry. The list is a table or is
// made one, see arrange.
func (c *compiler) searchLoop(list, entry string, test ast.Expr, variable string, value ast.Expr) ast.Stmt {
	return ast.For{Var: entry, List: list, Do: []ast.Stmt{
		ast.If{Cond: test, Then: []ast.Stmt{ast.Assign{Name: variable, Value: value}, ast.Break{}}},
	}}
}

// searched reports whether a rule holds only where there is a condition in the list, so
// that it is a list and not empty.
func searched(r rule, parts []ast.Expr, list string) bool {
	return slices.ContainsFunc(append(slices.Clone(parts), r.search), func(e ast.Expr) bool {
		call, ok := conditionOf(e)
		return ok && call.Args[argList] == ast.Expr(ast.Name(list))
	})
}
