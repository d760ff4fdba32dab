package compile

import (
	"hallmark.dev/hallmark/lua/ast"
)

// arrange puts the locals in front of the rules. Where each path is below something
// that is asked for nothing else, such as the status for its conditions, that is
// made a table once and its fields are read as they are:
//
//	local status = obj.status
//	if type(status) ~= "table" then status = {} end
//	local conditions = status.conditions
//
// Otherwise the helper field reads them. noStatus, which must see the status as it
// is, comes before.
func (c *compiler) arrange(noStatus, rules []ast.Stmt) []ast.Stmt {
	parents := map[string]bool{}
	for _, s := range c.locals {
		if parent, _, ok := fieldLocal(s); ok {
			parents[parent] = true
		}
	}
	used := map[string]bool{}
	for _, s := range rules {
		namesIn(s, used)
	}
	for parent := range parents {
		if used[parent] {
			return append(append(c.locals, noStatus...), rules...)
		}
	}
	if called(rules)["field"] {
		return append(append(c.locals, noStatus...), rules...)
	}
	var roots, rest []ast.Stmt
	guarded := map[string]bool{}
	for _, s := range c.locals {
		parent, key, ok := fieldLocal(s)
		switch local, _ := s.(ast.Local); {
		case ok && !guarded[parent]:
			guarded[parent] = true
			isNoTable := ast.Binary{Op: "~=", X: ast.Call{Func: ast.Name("type"), Args: []ast.Expr{ast.Name(parent)}}, Y: ast.String("table")}
			rest = append(rest, ast.If{Cond: isNoTable, Then: []ast.Stmt{ast.Assign{Name: parent, Value: ast.Table{}}}})
			fallthrough
		case ok:
			rest = append(rest, ast.Local{Name: local.Name, Value: ast.Index{X: ast.Name(parent), Key: key}})
		case isRoot(local):
			roots = append(roots, s)
		default:
			rest = append(rest, s)
		}
	}
	if len(noStatus) > 0 {
		rest = append([]ast.Stmt{ast.Blank{}}, rest...)
	}
	out := append(append(roots, noStatus...), rest...)
	return append(out, rules...)
}

// fieldLocal takes local name = field(parent, key) apart.
func fieldLocal(s ast.Stmt) (parent string, key ast.Expr, ok bool) {
	local, isLocal := s.(ast.Local)
	call, isCall := local.Value.(ast.Call)
	if !isLocal || !isCall || call.Func != ast.Expr(ast.Name("field")) {
		return "", nil, false
	}
	name, isName := call.Args[0].(ast.Name)
	return string(name), call.Args[1], isName
}

// isRoot reports whether a local is a top-level key of the object.
func isRoot(l ast.Local) bool {
	index, ok := l.Value.(ast.Index)
	return ok && index.X == ast.Expr(ast.Name("obj"))
}

// namesIn collects the names of variables that a statement reads.
func namesIn(s ast.Stmt, names map[string]bool) {
	var expr func(e ast.Expr)
	expr = func(e ast.Expr) {
		switch e := e.(type) {
		case ast.Name:
			names[string(e)] = true
		case ast.Index:
			expr(e.X)
			expr(e.Key)
		case ast.Call:
			expr(e.Func)
			for _, arg := range e.Args {
				expr(arg)
			}
		case ast.One:
			expr(e.X)
		case ast.Unary:
			expr(e.X)
		case ast.Binary:
			expr(e.X)
			expr(e.Y)
		case ast.Function:
			expr(e.Result)
		case ast.Table:
			for _, item := range e.Items {
				expr(item)
			}
			for _, f := range e.Fields {
				expr(f.Value)
			}
		}
	}
	switch s := s.(type) {
	case ast.Local:
		expr(s.Value)
	case ast.Assign:
		expr(s.Value)
	case ast.Return:
		expr(s.Value)
	case ast.If:
		expr(s.Cond)
		for _, inner := range s.Then {
			namesIn(inner, names)
		}
	}
}
