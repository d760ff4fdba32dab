package compile

import (
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"hallmark.dev/hallmark/lua/ast"
	"hallmark.dev/hallmark/lua/print"
)

// Most checks ask for conditions by their type, so those have a helper of their own:
// a script is parsed each time that it runs, and that takes longer than all else it
// does. exists(c, ...) becomes condition(...) ~= nil, and first(c, ...) condition(...),
// where the test is that of the shorthand condition with one type, at most one
// status and literal reasons.

// conditionCall is the call of the helper; false for any other test.
func (c *compiler) conditionCall(l *loop) (ast.Expr, bool) {
	if l.macro != "exists" && l.macro != "first" {
		return nil, false
	}
	var kind, status, reasons ast.Expr
	current := false
	for _, part := range conjuncts(l.test) {
		field, value, ok := c.fieldDemand(l.variable, part)
		switch {
		case ok && field == "type" && kind == nil:
			kind = value
		case ok && field == "status" && status == nil && kind != nil:
			status = value
		case ok && field == "reason" && reasons == nil && kind != nil:
			reasons = value
		case !ok && !current && c.asksCurrent(l.variable, part):
			current = true
		default:
			return nil, false
		}
	}
	literal := func(e ast.Expr) bool { _, isText := e.(ast.String); return e == nil || isText }
	if kind == nil || !literal(kind) || !literal(status) {
		return nil, false
	}
	args := []ast.Expr{c.value(l.over), kind}
	if status != nil || reasons != nil {
		if status == nil {
			status = ast.Nil{}
		}
		args = append(args, status)
	}
	if reasons != nil {
		args = append(args, asKeys(reasons))
	}
	if current {
		return c.call("currentCondition", append([]ast.Expr{c.path(nil, "metadata")}, args...)...), true
	}
	return c.call("condition", args...), true
}

func conjuncts(e celast.Expr) []celast.Expr {
	if !isCall(e, operators.LogicalAnd) {
		return []celast.Expr{e}
	}
	args := e.AsCall().Args()
	return append(conjuncts(args[0]), conjuncts(args[1])...)
}

// fieldDemand takes v.field == 'text' and v.field in ['text', ...] apart.
func (c *compiler) fieldDemand(variable string, e celast.Expr) (field string, value ast.Expr, ok bool) {
	if !isCall(e, operators.Equals) && !isCall(e, operators.In) {
		return "", nil, false
	}
	args := e.AsCall().Args()
	if args[0].Kind() != celast.SelectKind || args[0].AsSelect().IsTestOnly() {
		return "", nil, false
	}
	of := args[0].AsSelect()
	if of.Operand().Kind() != celast.IdentKind || of.Operand().AsIdent() != variable {
		return "", nil, false
	}
	if text, isText := stringLiteral(args[1]); isText && isCall(e, operators.Equals) {
		return of.FieldName(), ast.String(text), true
	}
	items, ok := c.literals(args[1])
	for _, item := range items {
		if _, isText := item.(ast.String); !isText {
			return "", nil, false
		}
	}
	return of.FieldName(), ast.Table{Items: items}, ok
}

// asKeys is a table with the texts of a literal, or of a list of them, as keys.
func asKeys(e ast.Expr) ast.Expr {
	table, several := e.(ast.Table)
	if !several {
		table.Items = []ast.Expr{e}
	}
	var out ast.Table
	for _, item := range table.Items {
		out.Fields = append(out.Fields, ast.Field{Key: string(item.(ast.String)), Value: ast.Bool(true)})
	}
	return out
}

// findsTable reports whether what a search finds is a table.
func findsTable(search ast.Expr) bool {
	call, ok := search.(ast.Call)
	if !ok {
		return false
	}
	if name, ok := call.Func.(ast.Name); ok && (name == "condition" || name == "currentCondition") {
		return true
	}
	f, ok := call.Args[len(call.Args)-1].(ast.Function)
	return ok && len(f.Params) == 1 && startsWithTableTest(f)
}

// startsWithTableTest reports whether a function is true of tables only, as guarded
// makes one.
func startsWithTableTest(f ast.Function) bool {
	e := f.Result
	for {
		b, ok := e.(ast.Binary)
		if !ok || b.Op != "and" {
			return print.Expr(e) == "type("+f.Params[0]+`) == "table"`
		}
		e = b.X
	}
}
