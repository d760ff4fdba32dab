package compile

import (
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/lua/ast"
)

// Most checks ask for conditions by their type, so those have a helper of their own:
// a script is parsed each time that it runs, and that takes longer than all else it
// does. exists(c, ...) and first(c, ...) become
//
//	condition(list, current, type, statuses, reasons)
//
// where the test is that of the shorthand condition with one type, at most two
// statuses and literal reasons. That is nil where there is none, and otherwise a map,
// which holds as a condition. finder.go makes the helper that the calls of a script
// need, and leaves out the arguments that it does not.

// The arguments of a call of condition, until finder.go rewrites it.
const (
	argList     = iota
	argCurrent  // a truth value
	argType     // a text
	argStatuses // a table of texts, without any where each will do
	argReasons  // likewise
)

// conditionCall is the call of the helper; false for any other test.
func (c *compiler) conditionCall(l *health.Loop) (ast.Expr, bool) {
	if l.Macro != "exists" && l.Macro != "first" {
		return nil, false
	}
	var kind, status, reasons []ast.Expr
	current := false
	for _, part := range conjuncts(l.Test) {
		field, values, ok := c.fieldDemand(l.Variable, part)
		switch {
		case ok && field == "type" && kind == nil && len(values) == 1:
			kind = values
		case ok && field == "status" && status == nil && kind != nil && len(values) <= 2:
			status = values
		case ok && field == "reason" && reasons == nil && kind != nil:
			reasons = values
		case !ok && !current && c.asksCurrent(l.Variable, part):
			current = true
		default:
			return nil, false
		}
	}
	if kind == nil {
		return nil, false
	}
	if current && !c.knowsGeneration() {
		return nil, false
	}
	return c.call("condition", c.value(l.Over), ast.Bool(current), kind[0], ast.Table{Items: status}, ast.Table{Items: reasons}), true
}

// knowsGeneration makes sure that the object's metadata and generation are locals, and
// is false where there are too many for that.
func (c *compiler) knowsGeneration() bool {
	metadata, ok := c.path(nil, "metadata").(ast.Name)
	if !ok {
		return false
	}
	_, ok = c.path(metadata, "generation").(ast.Name)
	return ok
}

func conjuncts(e celast.Expr) []celast.Expr {
	if !isCall(e, operators.LogicalAnd) {
		return []celast.Expr{e}
	}
	args := e.AsCall().Args()
	return append(conjuncts(args[0]), conjuncts(args[1])...)
}

// fieldDemand takes v.field == 'text' and v.field in ['text', ...] apart.
func (c *compiler) fieldDemand(variable string, e celast.Expr) (field string, values []ast.Expr, ok bool) {
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
		return of.FieldName(), []ast.Expr{ast.String(text)}, true
	}
	if !isCall(e, operators.In) {
		return "", nil, false
	}
	items, ok := c.literals(args[1])
	for _, item := range items {
		if _, isText := item.(ast.String); !isText {
			return "", nil, false
		}
	}
	return of.FieldName(), items, ok
}

// findsMap reports whether what a search finds is a map, where it finds something.
func findsMap(search ast.Expr) bool {
	call, ok := search.(ast.Call)
	return ok && (call.Func == ast.Expr(ast.Name("condition")) || call.Func == ast.Expr(ast.Name("find")))
}
