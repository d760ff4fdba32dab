package vm

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// Field is a value of the object that a script looks at.
type Field struct {
	// Path leads to it from the object. Each stands for any entry of a list or map.
	Path []string
	// Texts are what it is compared with, sorted, and Numbers likewise.
	Texts   []string
	Numbers []float64
	// Bool: compared with true or false. Number: calculated with. List: its length is
	// taken or ipairs walks over it. Pairs: pairs or next do.
	Bool, Number, List, Pairs bool
}

// Each is the element of a Field's Path that stands for any entry.
const Each = "[]"

// fields finds what a script looks at and what it compares that with.
//
// The script is read as a set of equations, without regard to the order of its
// statements: each variable may hold whatever is assigned to a variable of that name
// anywhere in its function. A function of the script is read anew for each call, with
// what that call passes. That says too much, never too little of what it follows, and
// what it is used for, objects to try a script on, may be too many. A value is a set
// of facts, each with one of these letters in front:
//
//	p  it is this field of the object
//	t  it is this text
//	k  it is a table of the script's own, with this key
//	e  with this text as a value
//	m  with this field of the object as a value
//	q  with this field of the object as a key
//
// The equations are solved by going over the script until nothing is new.
func fields(statements []ast.Stmt) []Field {
	const rounds = 8 // as many as assignments follow each other against the order of the script
	f := &flow{layers: []map[string]facts{{}}, functions: map[string]*ast.FunctionExpr{}, fields: map[string]*Field{}}
	for range rounds {
		f.changed = false
		f.block(statements)
		if !f.changed {
			break
		}
	}
	var found []Field
	for _, path := range slices.Sorted(maps.Keys(f.fields)) {
		field := *f.fields[path]
		slices.Sort(field.Texts)
		slices.Sort(field.Numbers)
		found = append(found, field)
	}
	return found
}

type facts map[string]bool

const (
	isField   = "p"
	isText    = "t"
	hasKey    = "k"
	hasText   = "e"
	hasField  = "m"
	keyedBy   = "q"
	separator = "\x1f"
	maxDepth  = 12 // steps of a path
	maxFields = 300
	maxCalls  = 4        // functions that call each other
	returned  = "return" // the name for what a function returns: no variable has it
)

// as returns the facts of one letter under another.
func (v facts) as(from, to string) facts {
	out := facts{}
	for fact := range v {
		if rest, ok := strings.CutPrefix(fact, from); ok {
			out[to+rest] = true
		}
	}
	return out
}

func (v facts) of(letter string) []string {
	var out []string
	for fact := range v {
		if rest, ok := strings.CutPrefix(fact, letter); ok {
			out = append(out, rest)
		}
	}
	slices.Sort(out)
	return out
}

func union(values ...facts) facts {
	out := facts{}
	for _, v := range values {
		maps.Copy(out, v)
	}
	return out
}

type flow struct {
	// layers are the variables of the script, and of the calls that are being read.
	layers    []map[string]facts
	functions map[string]*ast.FunctionExpr // by name
	fields    map[string]*Field
	changed   bool
}

func (f *flow) variable(name string) facts {
	for _, layer := range slices.Backward(f.layers) {
		if v, ok := layer[name]; ok {
			return v
		}
	}
	return nil
}

// learn adds to a variable: to one that is there, or else to a new global.
func (f *flow) learn(name string, v facts) {
	for i, layer := range slices.Backward(f.layers) {
		if _, ok := layer[name]; ok || i == 0 {
			f.learnIn(i, name, v)
			return
		}
	}
}

// declare adds to a local variable.
func (f *flow) declare(name string, v facts) { f.learnIn(len(f.layers)-1, name, v) }

func (f *flow) learnIn(i int, name string, v facts) {
	layer := f.layers[i]
	if layer[name] == nil {
		layer[name] = facts{}
	}
	for fact := range v {
		if !layer[name][fact] {
			layer[name][fact] = true
			// What a call learns of variables of its own is forgotten with it.
			f.changed = f.changed || i == 0
		}
	}
}

// field notes a path and returns its entry, nil where there are too many.
func (f *flow) field(path string) *Field {
	if path == "" {
		return nil
	}
	if found := f.fields[path]; found != nil {
		return found
	}
	steps := strings.Split(path, separator)
	if len(f.fields) >= maxFields || len(steps) > maxDepth {
		return nil
	}
	f.fields[path] = &Field{Path: steps}
	f.changed = true
	return f.fields[path]
}

func (f *flow) mark(v facts, do func(*Field)) {
	for _, path := range v.of(isField) {
		if field := f.field(path); field != nil {
			do(field)
		}
	}
}

// compared notes that a field is compared with texts.
func (f *flow) compared(v facts, texts []string) {
	f.mark(v, func(field *Field) {
		for _, text := range texts {
			if !slices.Contains(field.Texts, text) {
				field.Texts = append(field.Texts, text)
				f.changed = true
			}
		}
	})
}

func (f *flow) number(v facts, n ast.Expr) {
	f.mark(v, func(field *Field) {
		field.Number = true
		if n, ok := n.(*ast.NumberExpr); ok {
			if value, err := strconv.ParseFloat(n.Value, 64); err == nil && !slices.Contains(field.Numbers, value) {
				field.Numbers = append(field.Numbers, value)
			}
		}
	})
}

func (f *flow) block(statements []ast.Stmt) {
	for _, s := range statements {
		f.statement(s)
	}
}

func (f *flow) statement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		for i, target := range s.Lhs {
			if i < len(s.Rhs) {
				f.assign(target, s.Rhs[i])
			}
		}
	case *ast.LocalAssignStmt:
		for i, e := range s.Exprs {
			if i < len(s.Names) {
				f.bind(s.Names[i], e, f.declare)
			} else {
				f.eval(e)
			}
		}
	case *ast.FuncCallStmt:
		f.eval(s.Expr)
	case *ast.DoBlockStmt:
		f.block(s.Stmts)
	case *ast.WhileStmt:
		f.eval(s.Condition)
		f.block(s.Stmts)
	case *ast.RepeatStmt:
		f.block(s.Stmts)
		f.eval(s.Condition)
	case *ast.IfStmt:
		f.eval(s.Condition)
		f.block(s.Then)
		f.block(s.Else)
	case *ast.NumberForStmt:
		f.eval(s.Init)
		f.eval(s.Limit)
		f.block(s.Stmts)
	case *ast.GenericForStmt:
		f.loop(s)
		f.block(s.Stmts)
	case *ast.FuncDefStmt:
		name := s.Name.Method
		if s.Name.Receiver == nil {
			name = lastName(s.Name.Func)
		}
		f.function(name, s.Func)
	case *ast.ReturnStmt:
		for _, e := range s.Exprs {
			f.declare(returned, f.eval(e))
		}
	}
}

func (f *flow) bind(name string, e ast.Expr, to func(string, facts)) {
	if fn, ok := e.(*ast.FunctionExpr); ok {
		f.function(name, fn)
		return
	}
	to(name, f.eval(e))
}

// function notes a function, and reads it once for what it says by itself.
func (f *flow) function(name string, fn *ast.FunctionExpr) {
	if f.functions[name] == nil {
		f.functions[name] = fn
		f.changed = true
	}
	f.run(fn, nil)
}

// run reads a function with arguments and tells what it returns.
func (f *flow) run(fn *ast.FunctionExpr, args []facts) facts {
	if len(f.layers) > maxCalls {
		return facts{}
	}
	f.layers = append(f.layers, map[string]facts{returned: {}})
	for i, name := range fn.ParList.Names {
		if i < len(args) {
			f.declare(name, args[i])
		} else {
			f.declare(name, nil)
		}
	}
	f.block(fn.Stmts)
	f.block(fn.Stmts) // for what a loop learns in its end
	last := len(f.layers) - 1
	out := f.layers[last][returned]
	f.layers = f.layers[:last]
	return out
}

func (f *flow) assign(target, e ast.Expr) {
	switch target := target.(type) {
	case *ast.IdentExpr:
		f.bind(target.Value, e, f.learn)
	case *ast.AttrGetExpr:
		if fn, ok := e.(*ast.FunctionExpr); ok {
			f.function(lastName(target), fn)
			return
		}
		value, key := f.eval(e), f.eval(target.Key)
		if table, ok := target.Object.(*ast.IdentExpr); ok {
			f.learn(table.Value, union(key.as(isText, hasKey), key.as(isField, keyedBy), value.as(isText, hasText), value.as(isField, hasField)))
		}
	}
}

// loop gives the variables of a for what they run over.
func (f *flow) loop(s *ast.GenericForStmt) {
	over := facts{}
	for _, e := range s.Exprs {
		v := f.eval(e)
		if call, ok := e.(*ast.FuncCallExpr); ok && len(call.Args) > 0 {
			v = union(v, f.eval(call.Args[0]))
		}
		over = union(over, v)
	}
	f.declare(s.Names[0], union(over.as(hasKey, isText), over.as(keyedBy, isField)))
	if len(s.Names) > 1 {
		f.declare(s.Names[1], union(f.entries(over), over.as(hasText, isText), over.as(hasField, isField)))
	}
}

func (f *flow) entries(v facts) facts {
	out := facts{}
	for _, path := range v.of(isField) {
		f.step(out, path, Each)
	}
	return out
}

func (f *flow) step(out facts, path, key string) {
	if path != "" {
		path += separator
	}
	if f.field(path+key) != nil {
		out[isField+path+key] = true
	}
}

func (f *flow) eval(e ast.Expr) facts {
	switch e := e.(type) {
	case *ast.IdentExpr:
		if e.Value == "obj" {
			return facts{isField: true} // the empty path
		}
		return f.variable(e.Value)
	case *ast.StringExpr:
		return facts{isText + e.Value: true}
	case *ast.AttrGetExpr:
		return f.index(e)
	case *ast.LogicalOpExpr:
		return union(f.eval(e.Lhs), f.eval(e.Rhs))
	case *ast.RelationalOpExpr:
		f.relation(e)
	case *ast.StringConcatOpExpr:
		f.eval(e.Lhs)
		f.eval(e.Rhs)
	case *ast.ArithmeticOpExpr:
		f.number(f.eval(e.Lhs), e.Rhs)
		f.number(f.eval(e.Rhs), e.Lhs)
	case *ast.UnaryMinusOpExpr:
		f.number(f.eval(e.Expr), nil)
	case *ast.UnaryNotOpExpr:
		f.eval(e.Expr)
	case *ast.UnaryLenOpExpr:
		f.mark(f.eval(e.Expr), func(field *Field) { field.List = true })
	case *ast.TableExpr:
		return f.table(e)
	case *ast.FunctionExpr:
		f.run(e, nil)
	case *ast.FuncCallExpr:
		return f.call(e)
	}
	return facts{}
}

func (f *flow) index(e *ast.AttrGetExpr) facts {
	object, key := f.eval(e.Object), f.eval(e.Key)
	out := union(object.as(hasText, isText), object.as(hasField, isField))
	keys := key.of(isText)
	for _, path := range object.of(isField) {
		for _, k := range keys {
			f.step(out, path, k)
		}
		if len(keys) == 0 {
			f.step(out, path, Each)
		}
	}
	// known[obj.status.phase] compares with the keys of known, byType["Ready"] the
	// field that byType is keyed by.
	f.compared(key, object.of(hasKey))
	f.compared(object.as(keyedBy, isField), keys)
	return out
}

func (f *flow) relation(e *ast.RelationalOpExpr) {
	left, right := f.eval(e.Lhs), f.eval(e.Rhs)
	for _, side := range []struct {
		field facts
		other facts
		expr  ast.Expr
	}{{left, right, e.Rhs}, {right, left, e.Lhs}} {
		f.compared(side.field, side.other.of(isText))
		switch side.expr.(type) {
		case *ast.TrueExpr, *ast.FalseExpr:
			f.mark(side.field, func(field *Field) { field.Bool = true })
		case *ast.NumberExpr:
			f.number(side.field, side.expr)
		default:
			if e.Operator != "==" && e.Operator != "~=" && len(side.other.of(isText)) == 0 {
				f.number(side.field, nil)
			}
		}
	}
}

func (f *flow) table(e *ast.TableExpr) facts {
	out := facts{}
	for _, entry := range e.Fields {
		if entry.Key != nil {
			key := f.eval(entry.Key)
			out = union(out, key.as(isText, hasKey), key.as(isField, keyedBy))
			if fn, ok := entry.Value.(*ast.FunctionExpr); ok {
				for _, name := range key.of(isText) {
					f.function(name, fn)
				}
				continue
			}
		}
		value := f.eval(entry.Value)
		out = union(out, value.as(isText, hasText), value.as(isField, hasField))
	}
	return out
}

func (f *flow) call(e *ast.FuncCallExpr) facts {
	args := make([]facts, len(e.Args))
	for i, arg := range e.Args {
		args[i] = f.eval(arg)
	}
	name := e.Method
	if e.Receiver != nil {
		args = slices.Insert(args, 0, f.eval(e.Receiver))
	} else {
		name = lastName(e.Func)
		if _, ok := e.Func.(*ast.IdentExpr); !ok {
			f.eval(e.Func)
		}
	}
	if fn := f.functions[name]; fn != nil {
		if e.Receiver != nil && !slices.Contains(fn.ParList.Names, "self") {
			args = args[1:]
		}
		return f.run(fn, args)
	}
	if len(args) == 0 {
		return facts{}
	}
	return f.library(name, args, e.Args)
}

// library is a call of what the interpreter has.
func (f *flow) library(name string, args []facts, exprs []ast.Expr) facts {
	switch name {
	case "ipairs":
		f.mark(args[0], func(field *Field) { field.List = true })
		return args[0]
	case "pairs", "next":
		f.mark(args[0], func(field *Field) { field.Pairs = true })
		return args[0]
	case "tonumber":
		f.number(args[0], nil)
		return args[0]
	case "tostring", "lower", "upper", "sub":
		return args[0]
	case "find", "match", "gmatch", "gsub":
		if len(args) > 1 {
			for _, pattern := range args[1].of(isText) {
				f.compared(args[0], []string{strings.Trim(strings.ReplaceAll(pattern, "%", ""), "^$")})
			}
		}
		return args[0]
	case "concat", "sort", "unpack", "getn", "maxn":
		f.mark(args[0], func(field *Field) { field.List = true })
	case "insert":
		value := args[len(args)-1]
		if table, ok := exprs[0].(*ast.IdentExpr); ok {
			f.learn(table.Value, union(value.as(isText, hasText), value.as(isField, hasField)))
		}
	}
	return facts{}
}

// lastName is f of f, m.f and m["f"].
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.IdentExpr:
		return e.Value
	case *ast.AttrGetExpr:
		if key, ok := e.Key.(*ast.StringExpr); ok {
			return key.Value
		}
	}
	return ""
}
