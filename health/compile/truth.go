package compile

import (
	"fmt"

	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/lua/ast"
)

// when is a Lua condition that holds exactly where e has the truth value want. It
// does not where e is an error.
func (c *compiler) when(e celast.Expr, want bool) ast.Expr {
	if c.tooMuch(e) {
		return ast.Nil{}
	}
	switch e.Kind() {
	case celast.LiteralKind:
		if b, ok := e.AsLiteral().(types.Bool); ok {
			return ast.Bool(bool(b) == want)
		}
	case celast.SelectKind:
		if sel := e.AsSelect(); sel.IsTestOnly() {
			operand := c.value(sel.Operand())
			if want {
				return notNil(c.field(operand, sel.FieldName()))
			}
			return c.call("lacks", operand, ast.String(sel.FieldName()))
		}
	case celast.CallKind:
		if cond := c.whenCall(e, want); cond != nil {
			return cond
		}
	case celast.ComprehensionKind:
		return c.whenLoop(e, want)
	}
	return is(c.value(e), want)
}

// whenCall is nil for a call whose value decides.
func (c *compiler) whenCall(e celast.Expr, want bool) ast.Expr {
	call := e.AsCall()
	args := call.Args()
	switch op := call.FunctionName(); op {
	case operators.LogicalNot:
		return c.when(args[0], !want)
	case operators.LogicalAnd:
		if want {
			return and(c.when(args[0], true), c.when(args[1], true))
		}
		return or(c.when(args[0], false), c.when(args[1], false))
	case operators.LogicalOr:
		if entry, ok := c.currentEntry(e); ok && want {
			return c.call("current", entry, c.path(nil, "metadata"))
		}
		if want {
			return or(c.when(args[0], true), c.when(args[1], true))
		}
		return and(c.when(args[0], false), c.when(args[1], false))
	case operators.Conditional:
		return or(and(c.when(args[0], true), c.when(args[1], want)), and(c.when(args[0], false), c.when(args[2], want)))
	case operators.NotEquals:
		return c.whenEqual(args[0], args[1], !want)
	case operators.Equals:
		return c.whenEqual(args[0], args[1], want)
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return c.whenOrdered(op, args[0], args[1], want)
	case operators.In:
		return c.whenIn(e, args[0], args[1], want)
	case "hasValue":
		if c.isOptional(call.Target()) {
			return c.whenValue(c.optionalOf(call.Target()), want)
		}
	}
	return nil
}

// currentEntry is the variable of the innermost loop where e asks whether that is
// an entry of the current generation, as the shorthand condition does.
func (c *compiler) currentEntry(e celast.Expr) (ast.Expr, bool) {
	if len(c.scope) == 0 {
		return nil, false
	}
	v := c.scope[len(c.scope)-1]
	return ast.Name(v.lua), v.value == nil && c.asksCurrent(v.cel, e)
}

func (c *compiler) asksCurrent(variable string, e celast.Expr) bool {
	for _, v := range c.scope {
		if v.cel == "metadata" {
			return false
		}
	}
	text, err := parser.Unparse(e, c.source)
	return err == nil && variable != "metadata" &&
		text == fmt.Sprintf("!has(%[1]s.observedGeneration) || !has(metadata.generation) || %[1]s.observedGeneration >= metadata.generation", variable)
}

// whenEqual is a == b where want is true, and a != b otherwise.
func (c *compiler) whenEqual(a, b celast.Expr, want bool) ast.Expr {
	if cond := c.whenEmpty(operators.Equals, a, b, want); cond != nil {
		return cond
	}
	x, y := c.value(a), c.value(b)
	if isLiteral(x) {
		x, y = y, x
	}
	if !isLiteral(y) {
		if isSimple(x) && isSimple(y) && (c.isScalar(a) || c.isScalar(b)) {
			if want {
				return and(notNil(x), ast.Binary{Op: "==", X: x, Y: y})
			}
			return and(and(notNil(x), notNil(y)), ast.Binary{Op: "~=", X: x, Y: y})
		}
		return is(c.equality(a, b, x, y), want)
	}
	if want {
		return ast.Binary{Op: "==", X: x, Y: y}
	}
	if isSimple(x) {
		return and(notNil(x), ast.Binary{Op: "~=", X: x, Y: y})
	}
	return is(c.call("equal", x, y), false)
}

// isSimple reports whether e may as well be written twice: it is a variable or a field
// of one, or the text of that.
func isSimple(e ast.Expr) bool {
	call, ok := e.(ast.Call)
	if !ok {
		_, isName := e.(ast.Name)
		return isName
	}
	switch call.Func {
	case ast.Expr(ast.Name("field")):
		_, isName := call.Args[0].(ast.Name)
		_, isText := call.Args[1].(ast.String)
		return isName && isText
	case ast.Expr(ast.Name("str")):
		_, isName := call.Args[0].(ast.Name)
		return isName
	}
	return false
}

// equality is true, false, or nil for an error.
func (c *compiler) equality(a, b celast.Expr, x, y ast.Expr) ast.Expr {
	if c.isScalar(a) || c.isScalar(b) {
		return c.call("equal", x, y)
	}
	return c.call("same", x, y)
}

func (c *compiler) whenOrdered(op string, a, b celast.Expr, want bool) ast.Expr {
	if cond := c.whenEmpty(op, a, b, want); cond != nil {
		return cond
	}
	if seen, ok := observed(a); ok && op == operators.Less && want {
		return c.older(c.value(seen), c.value(b))
	}
	if op == operators.Greater || op == operators.GreaterEquals {
		op, a, b = health.Mirror(op), b, a
	}
	x, y := c.value(a), c.value(b)
	switch {
	case op == operators.Less && want:
		return c.call("less", x, y)
	case op == operators.Less:
		return c.call("atMost", y, x)
	case want:
		return c.call("atMost", x, y)
	default:
		return c.call("less", y, x)
	}
}

// maxSeen is how many generations are compared without a helper.
const maxSeen = 3

// older compares a generation, which may be a text, with that of the object. At
// the top of a rule it is written out.
func (c *compiler) older(seen, generation ast.Expr) ast.Expr {
	path, isName := seen.(ast.Name)
	_, simple := generation.(ast.Name)
	name := "seen " + string(path)
	n, declared := c.byPath[name]
	if !isName || !simple || len(c.scope) > 0 || !declared && c.seen == maxSeen {
		return c.call("older", seen, generation)
	}
	if !declared {
		c.seen++
		n = c.name("", "seen")
		c.byPath[name] = n
		c.declared = append(c.declared, ast.Local{Name: n, Value: c.call("tonumber", path)})
	}
	return c.isOlder(n, path, generation)
}

// isOlder is the comparison where the local n is tonumber(seen).
func (c *compiler) isOlder(n string, seen, generation ast.Expr) ast.Expr {
	binary := func(x ast.Expr, op string, y ast.Expr) ast.Expr { return ast.Binary{Op: op, X: x, Y: y} }
	cond := ast.Expr(ast.Name(n))
	for _, test := range []ast.Expr{
		binary(c.call("tostring", ast.Name(n)), "==", c.call("tostring", seen)),
		binary(binary(ast.Name(n), "%", ast.Number(1)), "==", ast.Number(0)),
		binary(ast.Name(n), ">", ast.Number(-maxWhole-1)),
		binary(ast.Name(n), "<", ast.Number(maxWhole+1)),
		binary(c.call("type", generation), "==", ast.String("number")),
		binary(ast.Name(n), "<", generation),
	} {
		cond = and(cond, test)
	}
	return cond
}

// observed is e of int(string(e)), a generation in whatever form it is.
func observed(e celast.Expr) (celast.Expr, bool) {
	if !isCall(e, "int") || !isCall(e.AsCall().Args()[0], "string") {
		return nil, false
	}
	return e.AsCall().Args()[0].AsCall().Args()[0], true
}

// whenEmpty is a comparison of size(x) with a number that asks whether x is
// empty, nil for any other.
func (c *compiler) whenEmpty(op string, a, b celast.Expr, want bool) ast.Expr {
	if !isCall(a, "size") {
		a, b, op = b, a, health.Mirror(op)
	}
	n, ok := intLiteral(b)
	if !isCall(a, "size") || !ok {
		return nil
	}
	whenEmpty, ok := health.EmptyTest(op, n)
	if !ok {
		return nil
	}
	of := sizeOperand(a)
	return is(c.call("empty", c.value(of)), whenEmpty == want)
}

// maxSpelled is how many values of a list are compared one by one.
const maxSpelled = 12

func (c *compiler) whenIn(e, element, collection celast.Expr, want bool) ast.Expr {
	items, ok := c.literals(collection)
	if !ok {
		return is(c.value(e), want)
	}
	x := c.value(element)
	if !isSimple(x) || len(items) > maxSpelled {
		return is(c.call("oneOf", x, ast.Table{Items: items}), want)
	}
	if want {
		cond := ast.Expr(ast.Bool(false))
		for _, y := range items {
			cond = or(cond, ast.Binary{Op: "==", X: x, Y: y})
		}
		return cond
	}
	cond := notNil(x)
	for _, y := range items {
		cond = and(cond, ast.Binary{Op: "~=", X: x, Y: y})
	}
	return cond
}

// literals is the elements of a list of literals.
func (c *compiler) literals(e celast.Expr) (items []ast.Expr, ok bool) {
	if e.Kind() != celast.ListKind || e.AsList().Size() == 0 || len(e.AsList().OptionalIndices()) > 0 {
		return nil, false
	}
	for _, element := range e.AsList().Elements() {
		if element.Kind() != celast.LiteralKind {
			return nil, false
		}
		items = append(items, c.literal(element))
	}
	return items, true
}

func and(a, b ast.Expr) ast.Expr {
	switch {
	case a == ast.Expr(ast.Bool(true)):
		return b
	case b == ast.Expr(ast.Bool(true)):
		return a
	case a == ast.Expr(ast.Bool(false)), b == ast.Expr(ast.Bool(false)):
		return ast.Bool(false)
	}
	return ast.Binary{Op: "and", X: a, Y: b}
}

func or(a, b ast.Expr) ast.Expr {
	switch {
	case a == ast.Expr(ast.Bool(false)):
		return b
	case b == ast.Expr(ast.Bool(false)):
		return a
	case a == ast.Expr(ast.Bool(true)), b == ast.Expr(ast.Bool(true)):
		return ast.Bool(true)
	}
	return ast.Binary{Op: "or", X: a, Y: b}
}

func notNil(e ast.Expr) ast.Expr { return ast.Binary{Op: "~=", X: e, Y: ast.Nil{}} }

// is compares a value that is true, false or anything else with a truth value.
func is(e ast.Expr, want bool) ast.Expr {
	if call, ok := e.(ast.Call); ok && want && predicates[call.Func] {
		return e
	}
	return ast.Binary{Op: "==", X: e, Y: ast.Bool(want)}
}

// predicates are the helpers that return true, false or nil, and nothing else.
var predicates = map[ast.Expr]bool{
	ast.Name("contains"): true, ast.Name("empty"): true, ast.Name("endsWith"): true, ast.Name("equal"): true, ast.Name("includes"): true,
	ast.Name("matches"): true, ast.Name("one"): true, ast.Name("oneOf"): true, ast.Name("same"): true, ast.Name("startsWith"): true,
	ast.Name("truth"): true,
}

// isLiteral reports whether e is a literal, which is never nil.
func isLiteral(e ast.Expr) bool {
	switch e.(type) {
	case ast.String, ast.Number, ast.Bool:
		return true
	}
	return false
}

func isCall(e celast.Expr, function string) bool {
	return e.Kind() == celast.CallKind && e.AsCall().FunctionName() == function
}

// sizeOperand is x of size(x) and of x.size().
func sizeOperand(e celast.Expr) celast.Expr {
	if call := e.AsCall(); call.IsMemberFunction() {
		return call.Target()
	}
	return e.AsCall().Args()[0]
}

func intLiteral(e celast.Expr) (int64, bool) {
	if e.Kind() != celast.LiteralKind {
		return 0, false
	}
	n, ok := e.AsLiteral().(types.Int)
	return int64(n), ok
}

// isScalar reports whether the checker knows that e is a text, a number or a
// truth value.
func (c *compiler) isScalar(e celast.Expr) bool {
	switch c.types[e.ID()].Kind() {
	case types.StringKind, types.IntKind, types.DoubleKind, types.BoolKind:
		return true
	}
	return false
}
