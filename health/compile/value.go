package compile

import (
	"math"

	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"hallmark.dev/hallmark/lua/ast"
)

// maxWhole is the largest number up to which Lua holds every whole number.
const maxWhole = 1<<53 - 1

// maxWork bounds what an expression may come to: the operands of a condition whose
// value is needed are translated twice, and so on inwards.
const maxWork = 5_000

// tooMuch reports whether an expression has become too large, and says so once.
func (c *compiler) tooMuch(e celast.Expr) bool {
	if c.work++; c.work == maxWork {
		c.refuse(e, "conditions inside of comparisons are nested too deeply: a script would grow beyond bounds; split the rule")
	}
	return c.work >= maxWork
}

// value is a Lua expression for the value of e, nil where e is an error.
func (c *compiler) value(e celast.Expr) ast.Expr {
	if c.tooMuch(e) {
		return ast.Nil{}
	}
	if c.isOptional(e) {
		return c.refuse(e, "an optional value has to end in orValue(), hasValue() or value()")
	}
	switch e.Kind() {
	case celast.LiteralKind:
		return c.literal(e)
	case celast.IdentKind:
		return c.variable(e.AsIdent())
	case celast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			return c.truth(e)
		}
		return c.field(c.value(e.AsSelect().Operand()), e.AsSelect().FieldName())
	case celast.ListKind:
		return c.list(e)
	case celast.MapKind:
		return c.mapping(e)
	case celast.CallKind:
		return c.callValue(e)
	case celast.ComprehensionKind:
		return c.loopValue(e)
	default:
		return c.refuse(e, "messages of a type have no place in a health check")
	}
}

func (c *compiler) literal(e celast.Expr) ast.Expr {
	switch v := e.AsLiteral().(type) {
	case types.String:
		return ast.String(v)
	case types.Bool:
		return ast.Bool(v)
	case types.Int:
		if v > maxWhole || v < -maxWhole {
			return c.refuse(e, "the number %d is beyond 2^53, where Lua loses digits: compare texts, or a smaller number", int64(v))
		}
		return ast.Number(v)
	case types.Double:
		if n := float64(v); !math.IsInf(n, 0) && !math.IsNaN(n) {
			return ast.Number(n)
		}
		return c.refuse(e, "an infinite number")
	case types.Uint:
		return c.refuse(e, "unsigned numbers: the numbers of an object are not, leave out the u")
	case types.Null:
		return c.refuse(e, "null: Argo CD's Lua cannot tell it from an absent field; ask with has() whether there is a value")
	case types.Bytes:
		return c.refuse(e, "bytes: write a text, without the b")
	default:
		return c.refuse(e, "a literal of type %s", v.Type().TypeName())
	}
}

func (c *compiler) variable(name string) ast.Expr {
	for i := len(c.scope) - 1; i >= 0; i-- {
		if c.scope[i].cel == name && c.scope[i].value != nil {
			return c.scope[i].value
		}
		if c.scope[i].cel == name {
			return ast.Name(c.scope[i].lua)
		}
	}
	return c.path(nil, name)
}

// field is x[key], or nil: the local of a path where x is one.
func (c *compiler) field(x ast.Expr, key string) ast.Expr {
	if c.isPath(x) {
		return c.path(x, key)
	}
	return c.call("field", x, ast.String(key))
}

// truth is the value of a condition: true, false, or nil for an error.
func (c *compiler) truth(e celast.Expr) ast.Expr {
	return c.call("truth", c.when(e, true), c.when(e, false))
}

func (c *compiler) list(e celast.Expr) ast.Expr {
	list := e.AsList()
	if len(list.OptionalIndices()) > 0 {
		return c.refuse(e, "optional elements of a list: use a condition ? [element] : []")
	}
	var items []ast.Expr
	whole := true
	for _, element := range list.Elements() {
		item := c.value(element)
		whole = whole && isLiteral(item)
		items = append(items, item)
	}
	if whole {
		return ast.Table{Items: items}
	}
	return c.call("complete", ast.Number(len(items)), ast.Table{Items: items})
}

func (c *compiler) mapping(e celast.Expr) ast.Expr {
	var fields []ast.Field
	seen := map[string]bool{}
	whole := true
	for _, entry := range e.AsMap().Entries() {
		key, ok := stringLiteral(entry.AsMapEntry().Key())
		switch {
		case !ok:
			return c.refuse(entry.AsMapEntry().Key(), "a map of keys that are not literal texts")
		case seen[key]:
			return c.refuse(entry.AsMapEntry().Key(), "the key %q stands twice in the map", key)
		case entry.AsMapEntry().IsOptional():
			return c.refuse(e, "optional entries of a map")
		}
		seen[key] = true
		value := c.value(entry.AsMapEntry().Value())
		whole = whole && isLiteral(value)
		fields = append(fields, ast.Field{Key: key, Value: value})
	}
	if whole {
		return ast.Table{Fields: fields}
	}
	return c.call("complete", ast.Number(len(fields)), ast.Table{Fields: fields})
}

func stringLiteral(e celast.Expr) (string, bool) {
	if e.Kind() != celast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

var arithmetic = map[string]string{
	operators.Add: "add", operators.Subtract: "subtract", operators.Multiply: "multiply", operators.Divide: "divide",
	operators.Modulo: "modulo",
}

func (c *compiler) callValue(e celast.Expr) ast.Expr {
	call := e.AsCall()
	args := call.Args()
	switch op := call.FunctionName(); op {
	case operators.LogicalNot, operators.LogicalAnd, operators.LogicalOr, operators.NotEquals,
		operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return c.truth(e)
	case operators.Equals:
		if c.whenEmpty(op, args[0], args[1], true) != nil {
			return c.truth(e)
		}
		return c.equality(args[0], args[1], c.value(args[0]), c.value(args[1]))
	case operators.In:
		if items, ok := c.literals(args[1]); ok {
			return c.call("oneOf", c.value(args[0]), ast.Table{Items: items})
		}
		return c.call("contains", c.value(args[1]), c.value(args[0]))
	case operators.Conditional:
		return c.call("choose", c.when(args[0], true), c.when(args[0], false), c.value(args[1]), c.value(args[2]))
	case operators.Index:
		return c.index(c.value(args[0]), args[1])
	case operators.Add:
		return c.sum(e)
	case operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo:
		if refused := c.wantInts(e); refused != nil {
			return refused
		}
		return c.call(arithmetic[op], c.value(args[0]), c.value(args[1]))
	case operators.Negate:
		if refused := c.wantInts(e); refused != nil {
			return refused
		}
		return c.call("negate", c.value(args[0]))
	default:
		return c.function(e)
	}
}

// wantInts refuses arithmetic with anything that the checker knows to be no int.
func (c *compiler) wantInts(e celast.Expr) ast.Expr {
	for _, arg := range e.AsCall().Args() {
		switch t := c.types[arg.ID()]; t.Kind() {
		case types.IntKind, types.DynKind:
		case types.DoubleKind:
			return c.refuse(arg, "arithmetic with decimals: Lua has one kind of number, so that 3.0 would divide as 3; compare decimals, or make them whole with int()")
		default:
			return c.refuse(arg, "arithmetic with a value of type %s", t.TypeName())
		}
	}
	return nil
}

// sum is a + b, of ints, texts or lists.
func (c *compiler) sum(e celast.Expr) ast.Expr {
	operands := c.flattenSum(e)
	for _, o := range operands {
		if o.Kind() == celast.ListKind && o.AsList().Size() == 0 {
			// The checker gives its elements whatever type fits first, and so those of the other list.
			return c.refuse(o, "an empty list adds nothing: leave it out")
		}
	}
	var kinds []types.Kind
	for _, o := range operands {
		kinds = append(kinds, c.types[o.ID()].Kind())
	}
	has := func(k types.Kind) bool {
		for _, kind := range kinds {
			if kind == k {
				return true
			}
		}
		return false
	}
	if len(operands) > 2 || has(types.StringKind) {
		// All are texts, or the sum is an error.
		var values []ast.Expr
		for _, o := range operands {
			values = append(values, c.value(o))
		}
		return c.concat(values)
	}
	args := e.AsCall().Args()
	helper := "plus"
	switch {
	case has(types.IntKind):
		helper = "add"
	case has(types.ListKind):
		helper = "append"
	case has(types.DynKind) && !has(types.DoubleKind):
	default:
		if refused := c.wantInts(e); refused != nil {
			return refused
		}
	}
	return c.call(helper, c.value(args[0]), c.value(args[1]))
}

// flattenSum is the operands of a chain of + that begins with a text, or with
// anything to which a text is added, so that all of it are texts; for any other
// sum just its two operands.
func (c *compiler) flattenSum(e celast.Expr) []celast.Expr {
	args := e.AsCall().Args()
	left := args[0]
	if isCall(left, operators.Add) && c.types[left.ID()].Kind() == types.StringKind {
		return append(c.flattenSum(left), args[1])
	}
	return args
}

// index is x[key].
func (c *compiler) index(x ast.Expr, key celast.Expr) ast.Expr {
	if name, ok := stringLiteral(key); ok {
		return c.field(x, name)
	}
	if n, ok := intLiteral(key); ok && n >= -1 && n < maxWhole {
		return c.call("field", x, ast.Number(n+1)) // lists of Lua begin at 1
	}
	switch t := c.types[key.ID()]; t.Kind() {
	case types.IntKind, types.StringKind, types.DynKind:
		return c.call("at", x, c.value(key))
	default:
		return c.refuse(key, "an index of type %s", t.TypeName())
	}
}
