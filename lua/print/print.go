package print

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"hallmark.dev/hallmark/lua/ast"
)

// width is where a condition is broken into lines.
const width = 100

// Block prints statements. It panics at a node that is not one of package ast's,
// which only a change of that package can bring about.
func Block(stmts []ast.Stmt) string {
	var p printer
	p.block(stmts, 0)
	return p.b.String()
}

// Expr prints one expression in one line.
func Expr(e ast.Expr) string { return expr(e, 0) }

type printer struct{ b strings.Builder }

func (p *printer) line(depth int, text string) {
	p.b.WriteString(strings.Repeat("  ", depth) + text + "\n")
}

func (p *printer) block(stmts []ast.Stmt, depth int) {
	for _, s := range stmts {
		switch s := s.(type) {
		case ast.Blank:
			p.b.WriteByte('\n')
		case ast.Comment:
			p.comment(string(s), depth)
		case ast.Verbatim:
			p.b.WriteString(strings.TrimRight(string(s), "\n") + "\n")
		case ast.Local:
			switch value := s.Value.(type) {
			case nil:
				p.line(depth, "local "+s.Name)
			case ast.Function:
				p.line(depth, "local function "+s.Name+"("+strings.Join(value.Params, ", ")+")")
				p.line(depth+1, long("return ", value.Result, 0, depth+1))
				p.line(depth, "end")
			default:
				p.line(depth, long("local "+s.Name+" = ", value, 0, depth))
			}
		case ast.Assign:
			p.line(depth, long(s.Name+" = ", s.Value, 0, depth))
		case ast.Return:
			p.line(depth, long("return ", s.Value, 0, depth))
		case ast.For:
			p.line(depth, "for i = 1, #"+s.List+" do")
			p.line(depth+1, "local "+s.Var+" = "+s.List+"[i]")
			p.block(s.Do, depth+1)
			p.line(depth, "end")
		case ast.Either:
			if s.Name == "" {
				p.line(depth, "return")
			} else {
				p.line(depth, s.Name+" =")
			}
			prefix := ""
			for _, c := range s.Of {
				p.comment(c.Comment, depth+1)
				p.line(depth+1, long(prefix, c.Value, precedence["or"]+1, depth+1))
				prefix = "or "
			}
		case ast.Break:
			p.line(depth, "break")
		case ast.If:
			p.condition(s.Cond, depth)
			p.block(s.Then, depth+1)
			p.line(depth, "end")
		default:
			panic(fmt.Sprintf("lua: unsupported statement %T", s))
		}
	}
}

func (p *printer) comment(text string, depth int) {
	for l := range strings.SplitSeq(text, "\n") {
		p.line(depth, strings.TrimRight("-- "+printable(l), " \t"))
	}
}

// condition prints "if ... then", a long one with one operand of its outermost
// operator in each line.
func (p *printer) condition(cond ast.Expr, depth int) {
	outer, ok := cond.(ast.Binary)
	if fits("if  then"+expr(cond, 0), depth) || !ok || outer.Op != "and" && outer.Op != "or" {
		p.line(depth, long("if ", cond, 0, depth)+" then")
		return
	}
	for i, o := range flatten(cond, outer.Op) {
		prefix := "  " + outer.Op + " "
		if i == 0 {
			prefix = "if "
		}
		p.line(depth, long(prefix, o, precedence[outer.Op]+1, depth+min(i, 1)))
	}
	p.line(depth, "then")
}

func fits(line string, depth int) bool { return 2*depth+len(line) <= width }

// long prints an expression behind a prefix. Where that is too long for one line, a
// function that is the last argument gets lines of its own, and otherwise each
// argument, entry or operand does.
func long(prefix string, e ast.Expr, least, depth int) string {
	text := prefix + expr(e, least)
	if fits(text, depth) {
		return text
	}
	in, out := "\n"+strings.Repeat("  ", depth+1), "\n"+strings.Repeat("  ", depth)
	switch e := e.(type) {
	case ast.One:
		return long(prefix+"(", e.X, 0, depth) + ")"
	case ast.Function:
		return prefix + head(e) + in + long("return ", e.Result, 0, depth+1) + out + "end"
	case ast.Call:
		return prefix + expr(e.Func, highest) + "(" + longArgs(prefix, e, depth) + ")"
	case ast.Table:
		if len(e.Items) > 0 {
			break // literals, which are as easily read in one line
		}
		var b strings.Builder
		for _, f := range e.Fields {
			b.WriteString(in + long(key(f.Key)+" = ", f.Value, 0, depth+1) + ",")
		}
		return prefix + "{" + b.String() + out + "}"
	case ast.Binary:
		if e.Op != "and" && e.Op != "or" || precedence[e.Op] < least {
			break
		}
		var lines []string
		for i, o := range flatten(e, e.Op) {
			if i == 0 {
				lines = append(lines, long(prefix, o, precedence[e.Op]+1, depth))
			} else {
				lines = append(lines, long(e.Op+" ", o, precedence[e.Op]+1, depth+1))
			}
		}
		return strings.Join(lines, in)
	}
	return text
}

// longArgs prints the arguments of a call that is too long for its line.
func longArgs(prefix string, e ast.Call, depth int) string {
	in, out := "\n"+strings.Repeat("  ", depth+1), "\n"+strings.Repeat("  ", depth)
	if len(e.Args) == 0 {
		return ""
	}
	last := len(e.Args) - 1
	before := list(e.Args[:last])
	if last > 0 {
		before += ", "
	}
	switch arg := e.Args[last].(type) {
	case ast.Function:
		if fits(prefix+expr(e.Func, highest)+before+head(arg), depth) {
			return before + long("", arg, 0, depth)
		}
	case ast.Call:
		if last == 0 {
			return long("", arg, 0, depth)
		}
	}
	args := make([]string, len(e.Args))
	for i, arg := range e.Args {
		args[i] = in + long("", arg, 0, depth+1)
	}
	return strings.Join(args, ",") + out
}

func head(f ast.Function) string { return "function(" + strings.Join(f.Params, ", ") + ")" }

func flatten(e ast.Expr, op string) []ast.Expr {
	if b, ok := e.(ast.Binary); ok && b.Op == op {
		return append(flatten(b.X, op), flatten(b.Y, op)...)
	}
	return []ast.Expr{e}
}

// The precedence of operators, from the Lua 5.1 manual, 2.5.6.
var precedence = map[string]int{
	"or": 1, "and": 2,
	"<": 3, ">": 3, "<=": 3, ">=": 3, "~=": 3, "==": 3,
	"..": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6,
}

const (
	unaryPrecedence = 7
	highest         = 8 // what is indexed or called
)

// expr prints e, in parentheses where its operator binds less than least.
func expr(e ast.Expr, least int) string {
	text, own := bare(e)
	if own < least {
		return "(" + text + ")"
	}
	return text
}

// bare returns the text of e and how strongly its outermost operator binds.
func bare(e ast.Expr) (string, int) {
	switch e := e.(type) {
	case ast.Name:
		return string(e), highest
	case ast.String:
		return Quote(string(e)), highest - 1
	case ast.Number:
		return number(float64(e))
	case ast.Bool:
		return strconv.FormatBool(bool(e)), highest - 1
	case ast.Nil:
		return "nil", highest - 1
	case ast.Index:
		x := expr(e.X, highest)
		if key, ok := e.Key.(ast.String); ok && IsName(string(key)) {
			return x + "." + string(key), highest
		}
		return x + "[" + expr(e.Key, 0) + "]", highest
	case ast.Call:
		return expr(e.Func, highest) + "(" + list(e.Args) + ")", highest
	case ast.One:
		return "(" + expr(e.X, 0) + ")", highest
	case ast.Unary:
		space := ""
		if e.Op == "not" {
			space = " "
		}
		x := expr(e.X, unaryPrecedence)
		if strings.HasPrefix(x, "-") {
			x = "(" + x + ")" // two dashes begin a comment
		}
		return e.Op + space + x, unaryPrecedence
	case ast.Binary:
		own := precedence[e.Op]
		if own == 0 {
			panic(fmt.Sprintf("lua: unsupported operator %q", e.Op))
		}
		right := own + 1
		if e.Op == "and" || e.Op == "or" || e.Op == ".." {
			right = own // these are associative
		}
		left := own
		if own == precedence["=="] {
			left = own + 1 // a comparison of a comparison is easily misread
		}
		return expr(e.X, left) + " " + e.Op + " " + expr(e.Y, right), own
	case ast.Function:
		return head(e) + " return " + expr(e.Result, 0) + " end", highest - 1
	case ast.Table:
		return table(e), highest - 1
	default:
		panic(fmt.Sprintf("lua: unsupported expression %T", e))
	}
}

func list(items []ast.Expr) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = expr(item, 0)
	}
	return strings.Join(texts, ", ")
}

func table(t ast.Table) string {
	var parts []string
	if len(t.Items) > 0 {
		parts = append(parts, list(t.Items))
	}
	for _, f := range t.Fields {
		parts = append(parts, key(f.Key)+" = "+expr(f.Value, 0))
	}
	if len(parts) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// key is the key of a table's entry.
func key(name string) string {
	if IsName(name) {
		return name
	}
	return "[" + Quote(name) + "]"
}

func number(n float64) (string, int) {
	text := strconv.FormatFloat(n, 'g', -1, 64)
	if n == math.Trunc(n) && math.Abs(n) <= 1<<53 {
		text = strconv.FormatFloat(n, 'f', 0, 64)
	}
	if math.Signbit(n) {
		return text, unaryPrecedence
	}
	return text, highest - 1
}

// Quote prints a text as a Lua string in double quotes. What is not printable
// UTF-8 becomes decimal escapes of three digits, which a digit may follow.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + s[:size])
		case r == '\n':
			b.WriteString(`\n`)
		case r == utf8.RuneError && size == 1 || !strconv.IsPrint(r):
			for _, c := range []byte(s[:size]) {
				fmt.Fprintf(&b, `\%03d`, c)
			}
		default:
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	b.WriteByte('"')
	return b.String()
}

// printable makes a line of a comment safe: what could end the line, or turn its
// direction around, is replaced. A text that follows "-- " cannot open a long
// comment, which begins with "--[".
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == utf8.RuneError || strconv.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, line)
}

var keywords = map[string]bool{
	"and": true, "break": true, "do": true, "else": true, "elseif": true, "end": true, "false": true, "for": true,
	"function": true, "goto": true, "if": true, "in": true, "local": true, "nil": true, "not": true, "or": true,
	"repeat": true, "return": true, "then": true, "true": true, "until": true, "while": true,
}

// IsName reports whether s is a Lua name: ASCII letters, digits and underscores,
// no digit first, no keyword. "goto" is one in Argo CD's VM.
func IsName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && !keywords[s]
}
