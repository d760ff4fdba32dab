package compile

import (
	"slices"

	"hallmark.dev/hallmark/lua/ast"
)

// arrange puts the locals in front of the rules, with the helper condition behind those
// that it reads. Something that is asked only for what is below it, such as the
// status for its conditions, is made a table once and its fields are read as they are:
//
//	local status = obj.status
//	if type(status) ~= "table" then status = {} end
//	local conditions = status.conditions
//
// What the rules ask for itself too stays as it is, beside such a table. Where they
// need the helper field anyway, that reads the fields of the locals too. noStatus,
// which must see the status as it is, comes before.
func (c *compiler) arrange(noStatus, rules []ast.Stmt) []ast.Stmt {
	find := c.newFinder(rules)
	used := called(rules)
	if find != nil {
		find.isTable = !find.lists && onlySearched(rules, find.list)
		rules = ast.MapStmts(rules, find.rewrite)
		used = called(rules)
		if find.current {
			used[find.metadata], used[find.generation] = true, true
		}
	}
	if c.besides(used) > maxBeside {
		used["field"] = true
	}
	var roots, rest []ast.Stmt
	tables := map[string]string{} // the table beside or in the place of a local
	for _, s := range c.locals {
		local := s.(ast.Local)
		parent, key, ok := fieldLocal(local)
		switch {
		case isRoot(local):
			roots = append(roots, s)
		case !ok || used["field"]:
			rest = append(rest, s)
		default:
			if tables[parent] == "" {
				var made ast.Stmt
				if tables[parent], made = c.asTable(parent, used[parent]); made != nil {
					rest = append(rest, made)
				}
			}
			rest = append(rest, ast.Local{Name: local.Name, Value: ast.Index{X: ast.Name(tables[parent]), Key: key}})
		}
	}
	searched := c.loopLists(rules)
	if find != nil && find.isTable && !slices.Contains(searched, find.list) {
		searched = append(searched, find.list)
	}
	for _, list := range searched {
		if tables[list] != list {
			_, made := c.asTable(list, false)
			rest = append(rest, made)
		}
	}
	if find != nil {
		rest = append(rest, ast.Blank{}, find.helper())
	}
	if len(noStatus) > 0 && len(rest) > 0 {
		rest = append([]ast.Stmt{ast.Blank{}}, rest...)
	}
	return slices.Concat(roots, noStatus, rest, rules)
}

// maxBeside is how many locals get a table beside them.
const maxBeside = 10

// besides is how many locals would.
func (c *compiler) besides(used map[string]bool) int {
	parents := map[string]bool{}
	for _, s := range c.locals {
		if parent, _, ok := fieldLocal(s.(ast.Local)); ok && used[parent] {
			parents[parent] = true
		}
	}
	return len(parents)
}

// loopLists is the lists of loops that can be made tables. A loop over another one is put
// behind a test.
func (c *compiler) loopLists(rules []ast.Stmt) (lists []string) {
	for i, s := range rules {
		loop, ok := s.(ast.For)
		switch {
		case !ok || slices.Contains(lists, loop.List):
		case onlySearched(rules, loop.List):
			lists = append(lists, loop.List)
		default:
			isTable := ast.Binary{Op: "==", X: ast.Call{Func: ast.Name("type"), Args: []ast.Expr{ast.Name(loop.List)}}, Y: ast.String("table")}
			rules[i] = ast.If{Cond: isTable, Then: []ast.Stmt{loop}}
		}
	}
	return lists
}

// asTable makes a local a table, or another one beside it where it is to keep its value.
func (c *compiler) asTable(name string, keep bool) (string, ast.Stmt) {
	typeOf := ast.Call{Func: ast.Name("type"), Args: []ast.Expr{ast.Name(name)}}
	if keep {
		beside := c.name("", name+"Fields")
		isTable := ast.Binary{Op: "==", X: typeOf, Y: ast.String("table")}
		return beside, ast.Local{Name: beside, Value: or(and(isTable, ast.Name(name)), ast.Table{})}
	}
	isNoTable := ast.Binary{Op: "~=", X: typeOf, Y: ast.String("table")}
	return name, ast.If{Cond: isNoTable, Then: []ast.Stmt{ast.Assign{Name: name, Value: ast.Table{}}}}
}

// onlySearched reports whether a local is used for nothing but searches, to which any
// value that is no table is a list without entries.
func onlySearched(stmts []ast.Stmt, name string) bool {
	only := true
	ast.WalkStmts(stmts, func(e ast.Expr) bool {
		call, ok := e.(ast.Call)
		if ok && (call.Func == ast.Expr(ast.Name("condition")) || call.Func == ast.Expr(ast.Name("find")) || call.Func == ast.Expr(ast.Name("any"))) &&
			call.Args[0] == ast.Expr(ast.Name(name)) {
			for _, arg := range call.Args[1:] {
				ast.Walk(arg, func(e ast.Expr) bool {
					only = only && e != ast.Expr(ast.Name(name))
					return true
				})
			}
			return false
		}
		only = only && e != ast.Expr(ast.Name(name))
		return true
	})
	return only
}

// fieldLocal takes local name = field(parent, key) apart.
func fieldLocal(local ast.Local) (parent string, key ast.Expr, ok bool) {
	call, isCall := local.Value.(ast.Call)
	if !isCall || call.Func != ast.Expr(ast.Name("field")) {
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
