package admission

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"

	"hallmark.dev/hallmark/internal/fields"
)

// compile checks the expression that a field holds. It returns nil where that has
// faults, and its type where it has none. A want of nil takes every type. As for
// the API server, an expression of an unknown type (dyn) is none of bool.
func (r *Reader) compile(env *cel.Env, f fields.Field, want *cel.Type) (*expression, *cel.Type) {
	text, ok := f.Text()
	if !ok {
		return nil, nil
	}
	if strings.TrimSpace(text) == "" {
		f.Faultf("the expression is empty")
		return nil, nil
	}
	fault := func(offset int, message string) {
		line, col := f.PositionIn(offset)
		r.fields.Faults.Add(r.fields.Fault(line, col, message))
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		for _, e := range issues.Errors() {
			at := offset(text, e.Location)
			fault(at, "CEL: "+r.wording(e.Message, string([]rune(text)[at:]), f))
		}
		return nil, nil
	}
	out := ast.OutputType()
	if want != nil && !out.IsExactType(want) {
		fault(start(ast), "got an expression of type "+out.String()+", want "+want.String())
		if out.IsExactType(cel.DynType) {
			f.Remedy("compare the field with something, or convert it: field == true, string(field)")
		}
		return nil, nil
	}
	program, err := env.Program(ast)
	if err != nil {
		fault(0, "CEL: "+oneLine(err.Error()))
		return nil, nil
	}
	return &expression{text: text, program: program}, out
}

// start is the offset of the first character of the outermost expression.
func start(ast *cel.Ast) int {
	checked := ast.NativeRep()
	where, _ := checked.SourceInfo().GetOffsetRange(checked.Expr().ID())
	return int(where.Start)
}

// offset turns cel-go's line and column into a number of characters.
func offset(text string, at common.Location) int {
	n := 0
	for i, line := range strings.Split(text, "\n") {
		if i+1 == at.Line() {
			return min(n+at.Column(), utf8.RuneCountInString(text))
		}
		n += utf8.RuneCountInString(line) + 1
	}
	return 0
}

// unavailable is what a cluster has and a render has not, by how cel-go tells that
// it is not declared.
var unavailable = map[string]string{
	"undeclared reference to 'authorizer'": "authorizer: who may do what is known to a cluster only",
	"undefined field 'userInfo'":           "request.userInfo: a render is nobody's request",
	"undefined field 'options'":            "request.options: a render is nobody's request",
}

var variableThere = regexp.MustCompile(`^` + varVariables + `\.(\w+)`)

// wording is cel-go's message on one line, with the reason where it is about what
// cannot be had here. There is the text from where the fault is.
func (r *Reader) wording(message, there string, f fields.Field) string {
	message, _, _ = strings.Cut(message, " (in container")
	if reason, found := unavailable[message]; found {
		f.Remedy("leave the condition to the policy in the cluster; the package comment of plugin/rules/admission lists what is not as there")
		return reason
	}
	switch {
	case strings.HasPrefix(message, "undeclared reference to '"+varVariables+"'"):
		f.Remedy("an expression sees the variables that are declared above it; matchConditions see none")
		if m := variableThere.FindStringSubmatch(there); m != nil {
			return fmt.Sprintf("there is no variable %q above", m[1])
		}
	case strings.HasPrefix(message, "undeclared reference to '"+varNamespace+"'"):
		f.Remedy("matchConditions do not see namespaceObject; use it in a validation, or match with a namespaceSelector")
	case strings.HasPrefix(message, "undeclared reference to '"):
		f.Remedy("an expression begins at object, oldObject, request, params, namespaceObject or variables")
	case strings.HasPrefix(message, "Syntax error"):
		f.Remedy("an expression is CEL; a plain text needs quotes of its own: \"'text'\"")
	}
	return oneLine(message)
}

// oneLine puts a text on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
