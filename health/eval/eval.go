package eval

import (
	"fmt"
	"math"
	"strconv"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"hallmark.dev/hallmark/health"
)

// Evaluator evaluates one check. It may be used by several goroutines.
type Evaluator struct {
	check *health.Check
	rules []programs
}

// programs are those of one rule, nil where it has none.
type programs struct{ when, message cel.Program }

// Result is a verdict and the rule that gave it.
type Result struct {
	health.Verdict
	Rule int // in the check's Rules
}

// New prepares a check. clock is the time in seconds since 1970, for now().
func New(check *health.Check, clock func() int64) (*Evaluator, error) {
	env, err := environment(check.Variables, clock)
	if err != nil {
		return nil, err
	}
	e := &Evaluator{check: check}
	for _, rule := range check.Rules {
		var p programs
		if p.when, err = program(env, rule.When, check.UseOpenLibs); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", check.Name, rule.Label, err)
		}
		if p.message, err = program(env, rule.Message, check.UseOpenLibs); err != nil {
			return nil, fmt.Errorf("%s: message of %s: %w", check.Name, rule.Label, err)
		}
		e.rules = append(e.rules, p)
	}
	return e, nil
}

func environment(variables []string, clock func() int64) (*cel.Env, error) {
	return health.NewEnv(variables, cel.CustomTypeAdapter(adapter{}), cel.Function("now",
		cel.Overload("now_int", nil, cel.IntType, cel.FunctionBinding(func(...ref.Val) ref.Val { return types.Int(clock()) }))))
}

func program(env *cel.Env, expr *health.Expr, openLibs bool) (cel.Program, error) {
	if expr == nil {
		return nil, nil
	}
	return env.Program(expr.AST, cel.CustomDecoratorV2(bounds{openLibs}.decorate))
}

// Eval says what the check says of an object, as encoding/json or the Kubernetes
// API machinery decodes it. It always has an answer.
func (e *Evaluator) Eval(object map[string]any) Result {
	object = seen(object)
	activation := any(object)
	for i, rule := range e.check.Rules {
		if !e.matches(i, object, activation) {
			continue
		}
		return Result{health.Verdict{Status: rule.Status, Message: text(e.rules[i].message, activation)}, i}
	}
	// The last rule matches everything.
	panic("health check without a last rule")
}

func (e *Evaluator) matches(i int, object map[string]any, activation any) bool {
	switch {
	case e.check.Rules[i].NoStatus:
		return empty(object["status"])
	case e.rules[i].when == nil:
		return true
	}
	value, _, err := e.rules[i].when.Eval(activation)
	return err == nil && value == types.True
}

func empty(status any) bool {
	switch status := status.(type) {
	case nil:
		return true
	case string:
		return status == ""
	case []any:
		return len(status) == 0
	case map[string]any:
		return len(status) == 0
	}
	return false
}

// text is a message: a text as it is, a number or a truth value as Lua prints it,
// and nothing for everything else.
func text(message cel.Program, activation any) string {
	if message == nil {
		return ""
	}
	value, _, err := message.Eval(activation)
	if err != nil {
		return ""
	}
	switch v := value.(type) {
	case types.String:
		return string(v)
	case types.Int:
		return strconv.FormatInt(int64(v), 10)
	case types.Double:
		if n := float64(v); n == math.Trunc(n) && math.Abs(n) < 1<<63 {
			return strconv.FormatInt(int64(n), 10)
		}
		return fmt.Sprint(float64(v))
	case types.Bool:
		return strconv.FormatBool(bool(v))
	}
	return ""
}

// Expressions prepares expressions that were checked with health.NewEnv. The
// function that it returns gives the value of each for an object; an error is a value
// of type *types.Err.
func Expressions(asts []*cel.Ast, openLibs bool) (func(object map[string]any) []ref.Val, error) {
	env, err := environment(nil, func() int64 { return 0 })
	if err != nil {
		return nil, err
	}
	var programs []cel.Program
	for _, a := range asts {
		p, err := program(env, &health.Expr{AST: a}, openLibs)
		if err != nil {
			return nil, err
		}
		programs = append(programs, p)
	}
	return func(object map[string]any) []ref.Val {
		activation := any(seen(object))
		values := make([]ref.Val, len(programs))
		for i, p := range programs {
			value, _, err := p.Eval(activation)
			if err != nil {
				value = types.WrapErr(err)
			}
			values[i] = value
		}
		return values
	}, nil
}
