package compile

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// generator makes well-typed expressions and objects of every shape. Keys and
// texts are from a small set, so that expressions find something in objects.
type generator struct {
	*rand.Rand
	openLibs bool
	scope    []string // iteration variables, which are dyn
}

var (
	genKeys  = []string{"a", "b", "c", "end", "x-y", "a.b/c"}
	genTexts = []string{"", "a", "b", "True", "é", "日本", "a b", "12", "-3", "007", "1.5", "9007199254740993", "a\nb", "\"]]", "ab", "abc"}
	genInts  = []int64{0, 1, 2, 3, -1, -2, 7, 10, 100, 1 << 52, 9007199254740991, -9007199254740991}
)

func pick[T any](g *generator, items ...T) T { return items[g.IntN(len(items))] }

// object is one object with a few top-level keys.
func (g *generator) object() map[string]any {
	o := map[string]any{"apiVersion": "example.com/v1", "kind": "Example", "metadata": map[string]any{"name": "x"}}
	for _, key := range []string{"status", "spec", "metadata"} {
		switch g.IntN(12) {
		case 0:
			delete(o, key)
		case 1:
			o[key] = g.json(3)
		default:
			o[key] = g.jsonMap(4)
		}
	}
	return o
}

func (g *generator) jsonMap(depth int) map[string]any {
	m := map[string]any{}
	for _, key := range genKeys {
		if g.IntN(6) > 0 {
			m[key] = g.json(depth - 1)
		}
	}
	return m
}

func (g *generator) json(depth int) any {
	n := 12
	if depth <= 0 {
		n = 7
	}
	switch g.IntN(n) {
	case 0:
		return nil
	case 1:
		return g.IntN(2) == 0
	case 2, 3:
		return pick(g, genTexts...)
	case 4:
		return pick(g, genInts...)
	case 5:
		return pick[any](g, 1.5, -0.5, 2.0, 1e21, float64(1<<53), int64(1<<53+1), int64(-1<<60), 0.1, 3.0, 1e-7, 1000000.5)
	case 6:
		return pick[any](g, []any{}, map[string]any{})
	case 7, 8, 9:
		list := []any{}
		for range g.IntN(4) {
			list = append(list, g.json(depth-1))
		}
		return list
	default:
		return g.jsonMap(depth)
	}
}

// text is a literal as CEL writes it.
func (g *generator) literalText() string { return strconv.Quote(pick(g, genTexts...)) }

// boolean makes an expression of type bool.
func (g *generator) boolean(depth int) string {
	if depth <= 0 {
		return pick(g, "true", "false", "has("+g.path(1)+")", g.path(1)+" == "+g.literalText())
	}
	d := depth - 1
	switch g.IntN(19) {
	case 0:
		return "(" + g.boolean(d) + " && " + g.boolean(d) + ")"
	case 1:
		return "(" + g.boolean(d) + " || " + g.boolean(d) + ")"
	case 2:
		return "!" + "(" + g.boolean(d) + ")"
	case 3:
		return "(" + g.boolean(d) + " ? " + g.boolean(d) + " : " + g.boolean(d) + ")"
	case 4, 5:
		return "(" + g.dyn(d) + pick(g, " == ", " != ") + g.dyn(d) + ")"
	case 6:
		return "(" + g.dyn(d) + pick(g, " == ", " != ", " < ", " >= ") + pick(g, g.literalText(), strconv.FormatInt(pick(g, genInts...), 10), "1.5") + ")"
	case 7:
		return "(" + g.dyn(d) + pick(g, " < ", " <= ", " > ", " >= ") + g.dyn(d) + ")"
	case 8:
		return "(" + g.integer(d) + pick(g, " < ", " <= ", " > ", " >= ", " == ", " != ") + pick(g, g.integer(d), g.dyn(d)) + ")"
	case 9:
		return "(" + g.dyn(d) + " in " + g.list(d) + ")"
	case 10:
		return "(" + pick(g, g.text(d), g.dyn(d)) + " in " + g.dyn(d) + ")"
	case 11:
		return "has(" + g.path(2) + ")"
	case 12, 13, 14:
		return g.loop(d, pick(g, "exists", "all", "exists_one"))
	case 15:
		return g.text(d) + ".startsWith(" + pick(g, g.text(d), g.dyn(d)) + ")"
	case 16:
		return g.optional(d) + ".hasValue()"
	case 17:
		return "(size(" + pick(g, g.dyn(d), g.list(d)) + ")" + pick(g, " == 0", " > 0", " != 0", " >= 1", " < 1", " <= 0", " == 2", " > 1") + ")"
	default:
		if g.openLibs {
			return pick(g, g.text(d), g.dyn(d)) + pick(g, ".contains(", ".endsWith(") + g.text(d) + ")"
		}
		return "(dyn(" + g.dyn(d) + ") || " + g.boolean(d) + ")"
	}
}

// loop is a macro over a list or a map, with a variable of its own that may hide
// another.
func (g *generator) loop(depth int, macro string) string {
	over := pick(g, g.dyn(depth), g.path(1), g.path(1), g.list(depth))
	variable := pick(g, "x", "y", "c", "status", "size")
	g.scope = append(g.scope, variable)
	defer func() { g.scope = g.scope[:len(g.scope)-1] }()
	test := g.boolean(depth - 1)
	if macro == "map" {
		test = g.dyn(depth - 1)
		if g.IntN(3) == 0 {
			test = g.boolean(depth-1) + ", " + test
		}
	}
	return fmt.Sprintf("%s.%s(%s, %s)", over, macro, variable, test)
}

func (g *generator) root() string {
	if n := len(g.scope); n > 0 && g.IntN(3) > 0 {
		return g.scope[g.IntN(n)]
	}
	return pick(g, "status", "status", "spec", "metadata")
}

// path is a selection of fields, as most expressions have.
func (g *generator) path(least int) string {
	var b strings.Builder
	b.WriteString(g.root())
	for range least + g.IntN(4)/3 {
		b.WriteString("." + pick(g, "a", "b", "c", "end"))
	}
	return b.String()
}

// dyn is an expression of unknown type.
func (g *generator) dyn(depth int) string {
	if depth <= 0 {
		return pick(g, g.path(1), g.path(0))
	}
	d := depth - 1
	switch g.IntN(14) {
	case 0:
		return g.dyn(d) + "[" + pick(g, "0", "1", "-1", "\"a\"", "\"x-y\"", "\"a.b/c\"", g.integer(d), g.dyn(d)) + "]"
	case 1:
		return g.optional(d) + ".orValue(" + pick(g, g.dyn(d), "dyn("+g.literalText()+")") + ")"
	case 2:
		return "(" + g.boolean(d) + " ? " + g.dyn(d) + " : dyn(" + pick(g, g.text(d), g.integer(d), g.list(d), g.boolean(d)) + "))"
	case 3:
		return "(" + g.dyn(d) + pick(g, " + ", " - ", " * ", " / ", " % ") + g.dyn(d) + ")"
	case 4:
		return "dyn(" + pick(g, g.text(d), g.integer(d), g.list(d), g.boolean(d)) + ")"
	case 5:
		return g.list(d) + "[" + pick(g, "0", "1", g.integer(d)) + "]"
	case 6:
		return g.loop(d, "first")
	case 7:
		return "{\"a\": " + pick(g, g.dyn(d), "dyn("+g.literalText()+")") + ", \"b\": " + g.dyn(d) + "}" + pick(g, "", ".a", "[\"b\"]", ".c")
	default:
		return g.path(1)
	}
}

func (g *generator) integer(depth int) string {
	if depth <= 0 {
		return strconv.FormatInt(pick(g, genInts...), 10)
	}
	d := depth - 1
	switch g.IntN(6) {
	case 0:
		return "int(" + pick(g, g.dyn(d), g.text(d), "1.5", "-1.5") + ")"
	case 1:
		return "size(" + pick(g, g.dyn(d), g.list(d)) + ")"
	case 2:
		return "(" + g.integer(d) + pick(g, " + ", " - ", " * ", " / ", " % ") + pick(g, g.integer(d), g.dyn(d)) + ")"
	case 3:
		return "-(" + g.integer(d) + ")"
	default:
		return strconv.FormatInt(pick(g, genInts...), 10)
	}
}

func (g *generator) text(depth int) string {
	if depth <= 0 {
		return pick(g, g.literalText(), g.literalText(), "kind")
	}
	d := depth - 1
	switch g.IntN(8) {
	case 0, 1:
		return "string(" + pick(g, g.dyn(d), g.integer(d), g.boolean(d), g.text(d), "1.5") + ")"
	case 2, 3:
		return "(" + g.text(d) + " + " + pick(g, g.text(d), g.dyn(d)) + ")"
	case 4:
		return pick(g, g.list(d), g.dyn(d)) + ".join(" + pick(g, "", "\", \"", g.text(d)) + ")"
	case 5:
		if g.openLibs {
			return pick(g, g.text(d)+".lowerAscii()", g.text(d)+".upperAscii()", g.text(d)+".replace(\"a\", \"%1\")",
				"\"%s of %d%%\".format(["+g.text(d)+", "+g.integer(d)+"])", g.text(d)+".split(\"b\").join(\".\")")
		}
		return g.literalText()
	default:
		return g.literalText()
	}
}

func (g *generator) list(depth int) string {
	if depth <= 0 {
		return pick(g, "[\"a\", \"b\"]", "[1, 2]", "[]", "[dyn(1), dyn(\"a\")]")
	}
	d := depth - 1
	switch g.IntN(6) {
	case 0:
		return g.loop(d, "filter")
	case 1, 2:
		return g.loop(d, "map")
	case 3:
		return "[" + g.dyn(d) + ", " + g.dyn(d) + "]"
	case 4:
		return "(" + g.list(d) + " + " + pick(g, g.list(d), g.dyn(d)) + ")"
	default:
		return "[" + g.literalText() + ", " + g.literalText() + "]"
	}
}

func (g *generator) optional(depth int) string {
	base := pick(g, g.path(0), g.path(1), g.path(1))
	var b strings.Builder
	b.WriteString(base + pick(g, ".?a", ".?b", "[?\"x-y\"]", "[?0]", "[?1]"))
	for range g.IntN(3) {
		b.WriteString(pick(g, ".?a", ".?c", ".b", "[?\"a.b/c\"]", "[?0]"))
	}
	if depth > 0 && g.IntN(4) == 0 {
		return b.String() + ".or(" + g.optional(0) + ")"
	}
	return b.String()
}
