package ast

import "slices"

// Map is e with f of each of its operands, arguments and entries in their place. It
// goes one level down, and so does not call f where e has none.
func Map(e Expr, f func(Expr) Expr) Expr {
	each := func(list []Expr) []Expr {
		out := make([]Expr, len(list))
		for i, item := range list {
			out[i] = f(item)
		}
		return out
	}
	switch e := e.(type) {
	case Index:
		return Index{X: f(e.X), Key: f(e.Key)}
	case Call:
		return Call{Func: f(e.Func), Args: each(e.Args)}
	case One:
		return One{X: f(e.X)}
	case Unary:
		return Unary{Op: e.Op, X: f(e.X)}
	case Binary:
		return Binary{Op: e.Op, X: f(e.X), Y: f(e.Y)}
	case Function:
		return Function{Params: e.Params, Result: f(e.Result)}
	case Table:
		fields := slices.Clone(e.Fields)
		for i := range fields {
			fields[i].Value = f(fields[i].Value)
		}
		return Table{Items: each(e.Items), Fields: fields}
	}
	return e
}

// Walk calls f for e and, where f returns true, for all below it.
func Walk(e Expr, f func(Expr) bool) {
	if e != nil && f(e) {
		Map(e, func(inner Expr) Expr {
			Walk(inner, f)
			return inner
		})
	}
}

// MapStmts is the statements with f of each expression in its place, of those inside
// of an If or a For too.
func MapStmts(stmts []Stmt, f func(Expr) Expr) []Stmt {
	out := make([]Stmt, len(stmts))
	for i, s := range stmts {
		switch s := s.(type) {
		case Local:
			if s.Value != nil {
				s.Value = f(s.Value)
			}
			out[i] = s
		case Assign:
			out[i] = Assign{Name: s.Name, Value: f(s.Value)}
		case If:
			out[i] = If{Cond: f(s.Cond), Then: MapStmts(s.Then, f)}
		case For:
			out[i] = For{Var: s.Var, List: s.List, Do: MapStmts(s.Do, f)}
		case Either:
			s.Of = slices.Clone(s.Of)
			for j := range s.Of {
				s.Of[j].Value = f(s.Of[j].Value)
			}
			out[i] = s
		case Return:
			out[i] = Return{Value: f(s.Value)}
		default:
			out[i] = s
		}
	}
	return out
}

// WalkStmts walks every expression of the statements.
func WalkStmts(stmts []Stmt, f func(Expr) bool) {
	MapStmts(stmts, func(e Expr) Expr {
		Walk(e, f)
		return e
	})
}
