package health

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/ext"
)

// CELVersion is that of cel-go, as go.mod has it.
const CELVersion = "v0.31.0"

// Bounds of one expression: far above what a person writes, and low enough that
// no checker, printer or Lua function overflows.
const (
	maxExpression = 16 << 10 // characters
	maxNesting    = 50
)

// NewEnv is the environment that expressions are checked in: the variables and
// functions that Flux binds, and now() and first(), which are hallmark's own.
func NewEnv(variables []string, more ...cel.EnvOption) (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		ext.Strings(),
		cel.EnableMacroCallTracking(), // so that an expression can be printed
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ParserRecursionLimit(maxNesting),
		cel.Macros(firstMacro),
		cel.Function("now", cel.Overload("now_int", nil, cel.IntType)),
		cel.Variable("apiVersion", cel.StringType),
		cel.Variable("kind", cel.StringType),
		cel.Variable("metadata", cel.DynType),
		cel.Variable("spec", cel.DynType),
		cel.Variable("status", cel.DynType),
	}
	for _, name := range variables {
		options = append(options, cel.Variable(name, cel.DynType))
	}
	return cel.NewCustomEnv(append(append([]cel.EnvOption{cel.StdLib()}, options...), more...)...)
}

// EmptyTest reports whether a comparison of size(x), on the left, with the number
// n asks only if x is empty, and whether it holds for an empty x. That much can
// be told of a text, whose characters Lua cannot count without its string
// library.
func EmptyTest(operator string, n int64) (whenEmpty, ok bool) {
	switch {
	case n == 0 && (operator == operators.Equals || operator == operators.LessEquals),
		n == 1 && operator == operators.Less:
		return true, true
	case n == 0 && (operator == operators.NotEquals || operator == operators.Greater),
		n == 1 && operator == operators.GreaterEquals:
		return false, true
	}
	return false, false
}

// Mirror returns the comparison that says the same with its sides exchanged.
func Mirror(operator string) string {
	switch operator {
	case operators.Less:
		return operators.Greater
	case operators.LessEquals:
		return operators.GreaterEquals
	case operators.Greater:
		return operators.Less
	case operators.GreaterEquals:
		return operators.LessEquals
	}
	return operator
}
