package compile

import (
	"regexp"
	"strings"

	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"hallmark.dev/hallmark/lua/ast"
)

// textFunction is a call of a function that needs Lua's string library. args
// begin with the text.
func (c *compiler) textFunction(e celast.Expr, args []celast.Expr) ast.Expr {
	text := args[0]
	switch name := e.AsCall().FunctionName(); name {
	case "contains":
		return c.call("includes", c.value(text), c.value(args[1]))
	case "endsWith":
		return c.call("endsWith", c.value(text), c.value(args[1]))
	case "lowerAscii", "upperAscii":
		return c.call(name, c.value(text))
	case "matches":
		return c.matches(text, args[1])
	case "split":
		separator, ok := stringLiteral(args[1])
		if !ok || separator == "" || len(args) > 2 {
			return c.refuse(e, "split() by anything but one literal text that is not empty")
		}
		return c.call("split", c.value(text), ast.String(separator))
	case "replace":
		return c.replace(e, args)
	default:
		return c.format(e, args)
	}
}

func (c *compiler) matches(text, expression celast.Expr) ast.Expr {
	literal, ok := stringLiteral(expression)
	if !ok {
		return c.refuse(expression, "matches() with a regular expression that is not a literal text")
	}
	patterns, err := luaPatterns(literal)
	if err != nil {
		return c.refuse(expression, "%v", err)
	}
	args := []ast.Expr{c.value(text)}
	for _, p := range patterns {
		args = append(args, ast.String(p))
	}
	return c.call("matches", args...)
}

func (c *compiler) replace(e celast.Expr, args []celast.Expr) ast.Expr {
	old, ok := stringLiteral(args[1])
	replacement, ok2 := stringLiteral(args[2])
	if !ok || !ok2 || old == "" || len(args) > 3 {
		return c.refuse(e, "replace() of anything but one literal text, which is not empty, by another")
	}
	// The joined parts of a split text are the text with each separator replaced.
	return c.call("join", c.call("split", c.value(args[0]), ast.String(old)), ast.String(replacement))
}

var directive = regexp.MustCompile(`%[^%]?|%%`)

// format is a concatenation: each directive has its argument's text.
func (c *compiler) format(e celast.Expr, args []celast.Expr) ast.Expr {
	layout, ok := stringLiteral(args[0])
	if !ok || args[1].Kind() != celast.ListKind {
		return c.refuse(e, "format() of anything but a literal text with a literal list")
	}
	values := args[1].AsList().Elements()
	var parts []ast.Expr
	add := func(text string) {
		if text != "" {
			parts = append(parts, ast.String(text))
		}
	}
	at, next := 0, 0
	for at < len(layout) {
		i := strings.IndexByte(layout[at:], '%')
		if i < 0 {
			break
		}
		add(layout[at : at+i])
		at += i
		found := directive.FindString(layout[at:])
		if strings.HasPrefix(layout[at:], "%%") {
			found = "%%"
		}
		at += len(found)
		if found == "%%" {
			add("%")
			continue
		}
		if next == len(values) {
			return c.refuse(e, "format() with more directives than values")
		}
		value := values[next]
		next++
		kind := c.types[value.ID()].Kind()
		switch {
		case found == "%s" && (kind == types.StringKind || kind == types.IntKind || kind == types.BoolKind), found == "%d" && kind == types.IntKind:
			parts = append(parts, c.toString(value, value))
		case found == "%s" || found == "%d":
			return c.refuse(value, "format() prints %s here only of a text, a whole number or a truth value: make it one with string() or int()", found)
		default:
			return c.refuse(e, "the directive %q: format() knows %%s and %%d here", found)
		}
	}
	add(layout[at:])
	if next < len(values) {
		return c.refuse(values[next], "format() with more values than directives")
	}
	if len(parts) == 0 {
		return ast.String("")
	}
	return c.concat(parts)
}
