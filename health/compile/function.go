package compile

import (
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"hallmark.dev/hallmark/lua/ast"
)

// function is the value of a call of a named function.
func (c *compiler) function(e celast.Expr) ast.Expr {
	call := e.AsCall()
	args := call.Args()
	if call.IsMemberFunction() {
		args = append([]celast.Expr{call.Target()}, args...)
	}
	switch name := call.FunctionName(); name {
	case "now":
		return ast.Call{Func: ast.Index{X: ast.Name(c.library("os")), Key: ast.String("time")}}
	case "dyn":
		return c.value(args[0])
	case "size":
		return c.size(e, args[0])
	case "string":
		return c.toString(e, args[0])
	case "int":
		if t := c.types[args[0].ID()]; t.Kind() == types.TimestampKind || t.Kind() == types.UintKind {
			return c.refuse(e, "int() of a value of type %s", t.TypeName())
		}
		if c.types[args[0].ID()].Kind() == types.IntKind {
			return c.call("whole", c.value(args[0]))
		}
		return c.call("int", c.value(args[0]))
	case "startsWith":
		return c.call("startsWith", c.value(args[0]), c.value(args[1]))
	case "join":
		separator := ast.Expr(ast.String(""))
		if len(args) > 1 {
			separator = c.value(args[1])
		}
		return c.call("join", c.value(args[0]), separator)
	case "orValue", "hasValue", "value":
		return c.optionalResult(e)
	case "contains", "endsWith", "matches", "lowerAscii", "upperAscii", "split", "replace", "format":
		if !c.openLibs {
			c.hint = hintOpenLibs
			return c.refuse(e, "%s() needs Lua's string library, which Argo CD does not give to a health check by default", name)
		}
		return c.textFunction(e, args)
	case "timestamp", "duration":
		return c.refuse(e, "%s(): Lua has no calendar; compare texts such as \"2026-01-02T15:04:05Z\", which order as their times do, or seconds with now()", name)
	case "type":
		return c.refuse(e, "type(): Lua does not tell an int from a double, nor an empty list from an empty map")
	case "double", "uint", "bytes", "bool":
		return c.refuse(e, "%s(): has no exact counterpart in Lua; compare the value itself", name)
	default:
		return c.refuse(e, "%s() has no exact counterpart in Lua", name)
	}
}

const hintOpenLibs = "startsWith() and == need no library; or set spec.useOpenLibs: true, which goes into argocd-cm too and opens the whole of Lua's libraries to this script"

// library is the local that a library is loaded into.
func (c *compiler) library(name string) string {
	if _, loaded := c.byPath["require "+name]; !loaded {
		c.byPath["require "+name] = name
		c.locals = append(c.locals, ast.Local{Name: name, Value: ast.Call{Func: ast.Name("require"), Args: []ast.Expr{ast.String(name)}}})
	}
	return name
}

func (c *compiler) size(e, of celast.Expr) ast.Expr {
	if c.types[of.ID()].Kind() == types.StringKind && !c.openLibs {
		c.hint = "== '' asks whether a text is empty; or set spec.useOpenLibs: true"
		return c.refuse(e, "size() of a text: Lua counts its bytes, not its characters, without its string library")
	}
	if c.openLibs {
		return c.call("sizeOrLength", c.value(of))
	}
	return c.call("size", c.value(of))
}

func (c *compiler) toString(e, of celast.Expr) ast.Expr {
	switch t := c.types[of.ID()]; t.Kind() {
	case types.StringKind, types.IntKind, types.BoolKind, types.DoubleKind, types.DynKind:
		value := c.value(of)
		if literal, ok := value.(ast.String); ok {
			return literal
		}
		return c.call("str", value)
	default:
		return c.refuse(e, "string() of a value of type %s", t.TypeName())
	}
}
