package vm

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// Source is what a script says, without running it.
type Source struct {
	// Fields are the fields of the object that the script looks at, sorted by path.
	Fields []Field
	// Texts are all texts of the script, sorted.
	Texts []string

	uses     []Use // in the order of lines
	requires []Use
	defined  map[string]bool // functions and fields that the script defines, by their last name
}

// Use is a place where a script uses something of the interpreter.
type Use struct {
	// Name is the thing: os, string.find, :lower for a method, require("io").
	Name string
	Line int
}

// Read parses a script. The error is an [*Error], that of [Load] where it is one of
// the syntax.
func Read(script string) (s *Source, err error) {
	defer recovered(&err)
	statements, err := parse.Parse(strings.NewReader(script), "<string>")
	if err != nil {
		return nil, scriptError(err)
	}
	w := &walker{source: &Source{defined: map[string]bool{}}, scope: &scope{}, globals: map[string]bool{}, texts: map[string]bool{}}
	w.block(statements)
	s = w.source
	// What is assigned anywhere is the script's own.
	s.uses = slices.DeleteFunc(s.uses, func(u Use) bool {
		first, _, _ := strings.Cut(u.Name, ".")
		return w.globals[first]
	})
	byLine := func(a, b Use) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name)) }
	slices.SortFunc(s.uses, byLine)
	s.uses = slices.Compact(s.uses)
	s.Texts = slices.Sorted(maps.Keys(w.texts))
	s.Fields = fields(statements)
	return s, nil
}

// Lacking lists what a script uses and the interpreter does not have: a global
// variable, a function of a library, a method of texts, a module. Whether a line is
// ever reached is not asked.
func (s *Source) Lacking(openLibs bool) []Use {
	state, err := newState(openLibs)
	if err != nil {
		return nil // it is built of constants
	}
	defer state.Close()
	var lacking []Use
	for _, u := range s.uses {
		if method, ok := strings.CutPrefix(u.Name, ":"); ok {
			if !openLibs && isStringMethod(method) && !s.defined[method] {
				lacking = append(lacking, u)
			}
			continue
		}
		name, member, _ := strings.Cut(u.Name, ".")
		value := state.GetGlobal(name)
		if table, ok := value.(*lua.LTable); ok && member != "" {
			value = table.RawGetString(member)
		}
		if value == lua.LNil {
			lacking = append(lacking, u)
		}
	}
	for _, u := range s.requires {
		module := strings.TrimSuffix(strings.TrimPrefix(u.Name, `require("`), `")`)
		if state.GetField(state.GetField(state.GetGlobal("package"), "loaded"), module) == lua.LNil && module != lua.OsLibName {
			lacking = append(lacking, u)
		}
	}
	return lacking
}

// Fenced lists what a script uses and [Run] takes away: what reaches the machine.
func (s *Source) Fenced() []Use {
	var fenced []Use
	for _, u := range s.uses {
		name, member, _ := strings.Cut(u.Name, ".")
		switch name {
		case "dofile", "loadfile", "io", "channel":
			fenced = append(fenced, u)
		case "os":
			if slices.Contains([]string{"execute", "exit", "getenv", "remove", "rename", "setenv", "setlocale", "tmpname"}, member) {
				fenced = append(fenced, u)
			}
		}
	}
	return fenced
}

func isStringMethod(name string) bool {
	return slices.Contains([]string{
		"byte", "char", "dump", "find", "format", "gmatch", "gsub", "len", "lower", "match", "rep", "reverse", "sub", "upper",
	}, name)
}

// scope is the local variables of a block.
type scope struct {
	outer *scope
	names map[string]bool
}

func (s *scope) declare(names ...string) {
	if s.names == nil {
		s.names = map[string]bool{}
	}
	for _, name := range names {
		s.names[name] = true
	}
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.names[name] {
			return true
		}
	}
	return false
}

// walker finds the uses of what a script does not define.
type walker struct {
	source  *Source
	scope   *scope
	globals map[string]bool // assigned
	texts   map[string]bool
}

func (w *walker) inner(do func()) {
	w.scope = &scope{outer: w.scope}
	do()
	w.scope = w.scope.outer
}

func (w *walker) block(statements []ast.Stmt) {
	w.inner(func() {
		for _, s := range statements {
			w.statement(s)
		}
	})
}

func (w *walker) statement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		w.exprs(s.Rhs)
		for _, target := range s.Lhs {
			w.assign(target)
		}
	case *ast.LocalAssignStmt:
		// A local function may call itself.
		if len(s.Exprs) == 1 {
			if _, ok := s.Exprs[0].(*ast.FunctionExpr); ok {
				w.define(s.Names[0])
				w.scope.declare(s.Names...)
			}
		}
		w.exprs(s.Exprs)
		w.scope.declare(s.Names...)
	case *ast.FuncCallStmt:
		w.expr(s.Expr)
	case *ast.DoBlockStmt:
		w.block(s.Stmts)
	case *ast.WhileStmt:
		w.expr(s.Condition)
		w.block(s.Stmts)
	case *ast.RepeatStmt:
		w.inner(func() { // the condition sees what the body declares
			for _, inner := range s.Stmts {
				w.statement(inner)
			}
			w.expr(s.Condition)
		})
	case *ast.IfStmt:
		w.expr(s.Condition)
		w.block(s.Then)
		w.block(s.Else)
	case *ast.NumberForStmt:
		w.expr(s.Init)
		w.expr(s.Limit)
		if s.Step != nil {
			w.expr(s.Step)
		}
		w.inner(func() {
			w.scope.declare(s.Name)
			w.block(s.Stmts)
		})
	case *ast.GenericForStmt:
		w.exprs(s.Exprs)
		w.inner(func() {
			w.scope.declare(s.Names...)
			w.block(s.Stmts)
		})
	case *ast.FuncDefStmt:
		if s.Name.Receiver == nil {
			w.assign(s.Name.Func)
			w.expr(s.Func)
			return
		}
		w.expr(s.Name.Receiver)
		w.define(s.Name.Method)
		w.inner(func() {
			w.scope.declare("self")
			w.expr(s.Func)
		})
	case *ast.ReturnStmt:
		w.exprs(s.Exprs)
	}
}

func (w *walker) define(name string) { w.source.defined[name] = true }

func (w *walker) assign(target ast.Expr) {
	switch target := target.(type) {
	case *ast.IdentExpr:
		w.define(target.Value)
		if !w.scope.has(target.Value) {
			w.globals[target.Value] = true
		}
	case *ast.AttrGetExpr:
		if key, ok := target.Key.(*ast.StringExpr); ok {
			w.define(key.Value)
		}
		w.expr(target)
	}
}

func (w *walker) exprs(list []ast.Expr) {
	for _, e := range list {
		w.expr(e)
	}
}

func (w *walker) expr(e ast.Expr) {
	switch e := e.(type) {
	case *ast.StringExpr:
		w.texts[e.Value] = true
	case *ast.IdentExpr:
		w.use(e, "")
	case *ast.AttrGetExpr:
		key, constant := e.Key.(*ast.StringExpr)
		if global, ok := e.Object.(*ast.IdentExpr); ok && constant {
			w.use(global, key.Value)
			return
		}
		w.expr(e.Object)
		if !constant {
			w.expr(e.Key)
		}
	case *ast.TableExpr:
		for _, f := range e.Fields {
			if key, ok := f.Key.(*ast.StringExpr); ok {
				w.define(key.Value)
			}
			if f.Key != nil {
				w.expr(f.Key)
			}
			w.expr(f.Value)
		}
	case *ast.FuncCallExpr:
		w.call(e)
	case *ast.FunctionExpr:
		w.inner(func() {
			w.scope.declare(e.ParList.Names...)
			w.block(e.Stmts)
		})
	default:
		for _, operand := range operands(e) {
			w.expr(operand)
		}
	}
}

func (w *walker) call(e *ast.FuncCallExpr) {
	if e.Receiver != nil {
		w.expr(e.Receiver)
		w.source.uses = append(w.source.uses, Use{Name: ":" + e.Method, Line: e.Line()})
	} else {
		w.expr(e.Func)
		if name, ok := e.Func.(*ast.IdentExpr); ok && name.Value == "require" && len(e.Args) == 1 {
			if module, ok := e.Args[0].(*ast.StringExpr); ok {
				w.source.requires = append(w.source.requires, Use{Name: `require("` + module.Value + `")`, Line: e.Line()})
			}
		}
	}
	w.exprs(e.Args)
}

func (w *walker) use(name *ast.IdentExpr, member string) {
	if w.scope.has(name.Value) || name.Value == "obj" {
		return
	}
	use := Use{Name: name.Value, Line: name.Line()}
	if member != "" {
		use.Name += "." + member
	}
	w.source.uses = append(w.source.uses, use)
}

// operands are the parts of an operator.
func operands(e ast.Expr) []ast.Expr {
	switch e := e.(type) {
	case *ast.LogicalOpExpr:
		return []ast.Expr{e.Lhs, e.Rhs}
	case *ast.RelationalOpExpr:
		return []ast.Expr{e.Lhs, e.Rhs}
	case *ast.StringConcatOpExpr:
		return []ast.Expr{e.Lhs, e.Rhs}
	case *ast.ArithmeticOpExpr:
		return []ast.Expr{e.Lhs, e.Rhs}
	case *ast.UnaryMinusOpExpr:
		return []ast.Expr{e.Expr}
	case *ast.UnaryNotOpExpr:
		return []ast.Expr{e.Expr}
	case *ast.UnaryLenOpExpr:
		return []ast.Expr{e.Expr}
	}
	return nil
}
