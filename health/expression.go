package health

import (
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/fields"
)

// Expr is a CEL expression that was type-checked.
type Expr struct {
	Text string
	AST  *cel.Ast

	place func(offset int) (line, col int)
	fault func(line, col int, text string) *diag.Error
}

// Fault is a fault at the character at an offset. In an expression that a shorthand
// stands for, that is the shorthand.
func (e *Expr) Fault(offset int, text string) *diag.Error {
	line, col := e.place(offset)
	return e.fault(line, col, text)
}

// inner is the text for use inside of another expression: a comment at its end must
// not hide what follows.
func (e *Expr) inner() string {
	if strings.Contains(e.Text, "//") {
		return e.Text + "\n"
	}
	return e.Text
}

// compiler type-checks the expressions of one check.
type compiler struct {
	env       *cel.Env
	reader    *fields.Reader
	variables []string
}

// written checks the expression that a field holds, nil if it has faults.
func (c *compiler) written(f fields.Field, want *types.Type) *Expr {
	text, ok := f.Text()
	if !ok {
		return nil
	}
	if strings.TrimSpace(text) == "" {
		f.Faultf("the expression is empty")
		return nil
	}
	expr := &Expr{Text: text, place: f.PositionIn, fault: c.reader.Fault}
	return c.check(expr, want, f)
}

// implied checks an expression that a field stands for. It has faults only where
// the field's own texts do, such as a path.
func (c *compiler) implied(f fields.Field, text string, want *types.Type) *Expr {
	line, col := f.Position()
	expr := &Expr{Text: text, place: func(int) (int, int) { return line, col }, fault: c.reader.Fault}
	return c.check(expr, want, f)
}

func (c *compiler) check(expr *Expr, want *types.Type, f fields.Field) *Expr {
	ast, issues := c.env.Compile(expr.Text)
	if issues.Err() != nil {
		for _, e := range issues.Errors() {
			c.reader.Faults.Add(expr.Fault(offsetOf(expr.Text, e.Location), "CEL: "+c.wording(e, f)))
		}
		return nil
	}
	if out := ast.OutputType(); want != nil && !out.IsExactType(want) && !out.IsExactType(types.DynType) {
		c.reader.Faults.Add(expr.Fault(firstOf(ast), "got an expression of type "+out.String()+", want "+want.String()))
		return nil
	}
	expr.AST = ast
	return expr
}

func firstOf(ast *cel.Ast) int {
	first := int32(0)
	if r, ok := ast.NativeRep().SourceInfo().GetOffsetRange(ast.NativeRep().Expr().ID()); ok {
		first = r.Start
	}
	return int(first)
}

// offsetOf turns cel-go's line and column into an offset in characters.
func offsetOf(text string, at common.Location) int {
	offset := 0
	for i, line := range strings.Split(text, "\n") {
		if i+1 == at.Line() {
			return offset + at.Column()
		}
		offset += utf8.RuneCountInString(line) + 1
	}
	return 0
}

// wording is cel-go's message in this program's manner, with a remedy for the
// mistakes that people make.
func (c *compiler) wording(e *cel.Error, f fields.Field) string {
	text := strings.TrimSpace(e.Message)
	text, _, _ = strings.Cut(text, " (in container")
	if name, found := strings.CutPrefix(text, "undeclared reference to '"); found {
		name, _, _ = strings.Cut(name, "'")
		if !strings.Contains(name, ".") {
			f.Remedy("an expression begins at the top-level keys apiVersion, kind, metadata, spec and status; name others, such as data, in spec.variables; a plain text needs quotes of its own: \"'text'\"")
		}
	}
	if strings.HasPrefix(text, "Syntax error") {
		f.Remedy("a condition and the message of a rule are CEL; a plain text needs quotes of its own: \"'text'\"")
	}
	return text
}

// Walk calls visit for e and every expression below it, outermost first, also for
// those that a macro stands for.
func Walk(e celast.Expr, visit func(celast.Expr)) {
	celast.PreOrderVisit(e, celast.NewExprVisitor(visit))
}
