package ast_test

import (
	"testing"

	"hallmark.dev/hallmark/lua/ast"
	"hallmark.dev/hallmark/lua/print"
)

// Every expression of every statement is reached, and the tree that was mapped stays as
// it was.
func TestMapStmts(t *testing.T) {
	t.Parallel()
	x := ast.Name("x")
	tree := []ast.Stmt{
		ast.Local{Name: "y"},
		ast.Local{Name: "z", Value: ast.Function{Params: []string{"a"}, Result: ast.Index{X: x, Key: x}}},
		ast.For{Var: "c", List: "z", Do: []ast.Stmt{ast.If{Cond: ast.Unary{Op: "not", X: x}, Then: []ast.Stmt{ast.Assign{Name: "y", Value: x}, ast.Break{}}}}},
		ast.Either{Of: []ast.Commented{
			{Comment: "1", Value: ast.Call{Func: x, Args: []ast.Expr{ast.One{X: x}, ast.Binary{Op: "==", X: x, Y: x}}}},
			{Comment: "2", Value: ast.Table{Items: []ast.Expr{x}, Fields: []ast.Field{{Key: "k", Value: x}}}},
		}},
		ast.Return{Value: x},
		ast.Comment("x"),
	}
	before := print.Block(tree)
	var rename func(ast.Expr) ast.Expr
	rename = func(e ast.Expr) ast.Expr {
		if e == ast.Expr(x) {
			return ast.Name("n")
		}
		return ast.Map(e, rename)
	}
	mapped := ast.MapStmts(tree, rename)
	counted := map[ast.Name]int{}
	ast.WalkStmts(mapped, func(e ast.Expr) bool {
		if name, ok := e.(ast.Name); ok {
			counted[name]++
		}
		return true
	})
	if counted["x"] != 0 || counted["n"] != 11 {
		t.Errorf("%d are as they were and %d were renamed, want 0 and 11", counted["x"], counted["n"])
	}
	if after := print.Block(tree); after != before {
		t.Errorf("the tree has become\n%s\nfrom\n%s", after, before)
	}
}
