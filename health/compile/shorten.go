package compile

import "hallmark.dev/hallmark/lua/ast"

// Argo CD parses a script each time that it runs it, which takes longer than all else
// that the script does. A call of a helper that does in a few words what it does is
// therefore written out: the helper is a function that Argo CD need not compile.

// shorten writes helpers out, where that is as exact.
func (c *compiler) shorten(stmts []ast.Stmt) []ast.Stmt {
	calls := map[ast.Expr]int{}
	ast.WalkStmts(stmts, func(e ast.Expr) bool {
		if call, ok := e.(ast.Call); ok {
			calls[call.Func]++
		}
		return true
	})
	s := shortener{prefixes: calls[ast.Name("startsWith")] <= maxWritten}
	if calls[ast.Name("lacks")] <= maxWritten {
		s.absent = c.absent
	}
	return s.stmts(stmts)
}

// maxWritten is how many calls of startsWith and lacks are written out.
const maxWritten = 2

type shortener struct {
	prefixes bool
	absent   func(ast.Call) ast.Expr // of a call of lacks, nil where it stays; may be nil
}

// absent is has(x.key) is false, written out, where both are locals.
func (c *compiler) absent(lacks ast.Call) ast.Expr {
	x, ok := lacks.Args[0].(ast.Name)
	if !ok || !c.isLocal(string(x)) {
		return nil
	}
	value, ok := c.path(x, string(lacks.Args[1].(ast.String))).(ast.Name)
	if !ok {
		return nil
	}
	isNil := func(e ast.Expr) ast.Expr { return ast.Binary{Op: "==", X: e, Y: ast.Nil{}} }
	noTable := ast.Binary{Op: "~=", X: ast.Call{Func: ast.Name("type"), Args: []ast.Expr{x}}, Y: ast.String("table")}
	return and(and(isNil(value), notNil(x)), or(noTable, isNil(ast.Index{X: x, Key: ast.Number(1)})))
}

func (s shortener) stmts(stmts []ast.Stmt) []ast.Stmt {
	out := make([]ast.Stmt, len(stmts))
	for i, stmt := range stmts {
		switch stmt := stmt.(type) {
		case ast.If:
			out[i] = ast.If{Cond: s.cond(stmt.Cond), Then: s.stmts(stmt.Then)}
		case ast.For:
			inner := s
			inner.absent = nil // a name may be that of the entry here
			out[i] = ast.For{Var: stmt.Var, List: stmt.List, Do: inner.stmts(stmt.Do)}
		default:
			out[i] = ast.MapStmts([]ast.Stmt{stmt}, s.value)[0]
		}
	}
	return out
}

// cond shortens what is only asked whether it holds.
func (s shortener) cond(e ast.Expr) ast.Expr {
	if b, ok := e.(ast.Binary); ok && (b.Op == "and" || b.Op == "or") {
		return ast.Binary{Op: b.Op, X: s.cond(b.X), Y: s.cond(b.Y)}
	}
	if not, ok := e.(ast.Unary); ok {
		return ast.Unary{Op: not.Op, X: s.cond(not.X)}
	}
	call, ok := e.(ast.Call)
	if !ok {
		return s.value(e)
	}
	typeIs := func(e ast.Expr, kind string) ast.Expr {
		return ast.Binary{Op: "==", X: ast.Call{Func: ast.Name("type"), Args: []ast.Expr{e}}, Y: ast.String(kind)}
	}
	switch call.Func {
	case ast.Expr(ast.Name("startsWith")):
		prefix, literal := call.Args[1].(ast.String)
		if x := call.Args[0]; s.prefixes && literal && isPlain(x) {
			// No byte of a text is 255.
			return and(and(typeIs(x, "string"), ast.Binary{Op: ">=", X: x, Y: prefix}), ast.Binary{Op: "<", X: x, Y: prefix + "\xff"})
		}
	case ast.Expr(ast.Name("lacks")):
		if s.absent != nil {
			if written := s.absent(call); written != nil {
				return written
			}
		}
	case ast.Expr(ast.Name("less")), ast.Expr(ast.Name("atMost")):
		op := "<"
		if call.Func == ast.Expr(ast.Name("atMost")) {
			op = "<="
		}
		x, y := call.Args[0], call.Args[1]
		asked := x
		if !isPlain(x) {
			asked = y
		}
		literal := y
		if isPlain(y) {
			literal = x
		}
		kind := ""
		switch literal.(type) {
		case ast.Number:
			kind = "number"
		case ast.String:
			kind = "string"
		}
		if kind != "" && isPlain(asked) {
			return and(typeIs(asked, kind), ast.Binary{Op: op, X: x, Y: y})
		}
	}
	return s.value(e)
}

// value shortens an expression whose value matters.
func (s shortener) value(e ast.Expr) ast.Expr {
	if f, ok := e.(ast.Function); ok {
		s.absent = nil // a name may be that of a variable here
		return ast.Map(f, s.value)
	}
	call, ok := e.(ast.Call)
	if !ok {
		return ast.Map(e, s.value)
	}
	switch call.Func {
	case ast.Expr(ast.Name("find")), ast.Expr(ast.Name("all")), ast.Expr(ast.Name("any")), ast.Expr(ast.Name("every")), ast.Expr(ast.Name("first")):
		if test, ok := call.Args[1].(ast.Function); ok {
			list := s.value(call.Args[0])
			s.absent = nil
			test.Result = s.cond(test.Result)
			return ast.Call{Func: call.Func, Args: []ast.Expr{list, test}}
		}
	case ast.Expr(ast.Name("choose")):
		yes, no, a, b := s.cond(call.Args[0]), s.cond(call.Args[1]), s.value(call.Args[2]), s.value(call.Args[3])
		if isTextOrNil(a) && isTextOrNil(b) {
			return or(or(and(yes, a), and(no, b)), ast.Nil{})
		}
		return ast.Call{Func: call.Func, Args: []ast.Expr{yes, no, a, b}}
	case ast.Expr(ast.Name("concat")):
		if text := joined(call.Args[1].(ast.Table).Items); text != nil {
			return text
		}
	}
	return ast.Map(e, s.value)
}

// isPlain reports whether e is a variable or a field of one, read as it is.
func isPlain(e ast.Expr) bool {
	if index, ok := e.(ast.Index); ok {
		_, isName := index.X.(ast.Name)
		_, isText := index.Key.(ast.String)
		return isName && isText
	}
	_, isName := e.(ast.Name)
	return isName
}

// isTextOrNil reports whether e is never false.
func isTextOrNil(e ast.Expr) bool {
	switch e := e.(type) {
	case ast.String:
		return true
	case ast.Call:
		return e.Func == ast.Expr(ast.Name("str")) || e.Func == ast.Expr(ast.Name("concat"))
	case ast.Binary:
		return e.Op == "or" && e.Y == ast.Expr(ast.Nil{}) && isJoined(e.X) || isJoined(e)
	}
	return false
}

// isJoined reports whether e is what joined makes: a test and then texts.
func isJoined(e ast.Expr) bool {
	b, ok := e.(ast.Binary)
	for ok && b.Op == "and" {
		b, ok = b.Y.(ast.Binary)
	}
	return ok && b.Op == ".."
}

// maxJoined is how many parts that are no literals are joined without a helper.
const maxJoined = 2

// joined is the texts one after another, nil unless they are literals and what can as
// well be written twice.
func joined(texts []ast.Expr) ast.Expr {
	var text, known ast.Expr
	parts := 0
	for _, t := range texts {
		if text == nil {
			text = t
		} else {
			text = ast.Binary{Op: "..", X: text, Y: t}
		}
		call, isCall := t.(ast.Call)
		var isKnown ast.Expr
		switch _, literal := t.(ast.String); {
		case literal:
			continue
		case isCall && call.Func == ast.Expr(ast.Name("str")) && isPlain(call.Args[0]):
			isKnown = t // it returns a text or nothing
		case isPlain(t):
			isKnown = ast.Binary{Op: "==", X: ast.Call{Func: ast.Name("type"), Args: []ast.Expr{t}}, Y: ast.String("string")}
		default:
			return nil
		}
		parts++
		if known == nil {
			known = isKnown
		} else {
			known = and(known, isKnown)
		}
	}
	if parts == 0 || parts > maxJoined {
		return nil
	}
	text = and(known, text)
	for _, o := range operands(known, "and") {
		if _, isCall := o.(ast.Call); !isCall {
			return or(text, ast.Nil{})
		}
	}
	return text
}

// literalVerdicts writes the verdicts out in a script in which every message is a literal, so
// that it needs no helper for them.
func literalVerdicts(blocks ...[]ast.Stmt) {
	literal := true
	message := func(e ast.Expr) (status, text ast.String, ok bool) {
		call, isCall := e.(ast.Call)
		literal = literal && (!isCall || call.Func != ast.Expr(ast.Name("report"))) // which needs the helper
		if !isCall || call.Func != ast.Expr(ast.Name("verdict")) {
			return "", "", false
		}
		status, _ = call.Args[0].(ast.String)
		text, ok = call.Args[1].(ast.String)
		literal = literal && ok
		return status, text, ok
	}
	for _, stmts := range blocks {
		ast.WalkStmts(stmts, func(e ast.Expr) bool { message(e); return true })
	}
	if !literal {
		return
	}
	for _, stmts := range blocks {
		copy(stmts, ast.MapStmts(stmts, func(e ast.Expr) ast.Expr {
			if status, text, ok := message(e); ok {
				return ast.Table{Fields: []ast.Field{{Key: "status", Value: status}, {Key: "message", Value: text}}}
			}
			return e
		}))
	}
}
