package admission

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	apicel "k8s.io/apiserver/pkg/apis/cel"

	"hallmark.dev/hallmark/internal/object"
)

// renderBudget is the cost that one rule may spend on one render: as much as the API
// server allows it for 20 objects that each take the most, about 20 seconds. What
// rules usually cost is a ten-thousandth of that for an object.
const renderBudget = 20 * apicel.RuntimeCELCostBudget

var (
	errBudget    = errors.New("validation failed due to running out of cost budget, no further validation rules will be run")
	errNamespace = errors.New("the Namespace is not in the render")
)

// Check reports what is wrong with each object. See [rules.TeamRule].
func (r *Rule) Check(objects []object.Object, namespace string, report func(index int, message string)) {
	r.check(objects, namespace, renderBudget, report)
}

func (r *Rule) check(objects []object.Object, namespace string, left int64, report func(index int, message string)) {
	w := newWorld(objects, namespace)
	for i, o := range objects {
		s := w.subject(o)
		if !r.constraints.match(s) {
			continue
		}
		if left <= 0 {
			report(i, "the rule was not checked for this object and those behind it: it costs too much, as the API server counts cost")
			return
		}
		messages, cost := r.guarded(s, apicel.RuntimeCELCostBudget)
		left -= cost
		for _, message := range messages {
			report(i, oneLine(message))
		}
	}
}

// guarded is the edge at which a panic of CEL's libraries becomes an error of the
// rule. What it says may quote a value.
func (r *Rule) guarded(s *subject, budget int64) (messages []string, cost int64) {
	e := &evaluation{rule: r, subject: s, values: map[string]any{}}
	defer func() {
		if recover() != nil {
			messages, cost = []string{"the expressions of the rule cannot be evaluated: CEL panicked"}, e.cost
		}
	}()
	messages, failed := e.run(budget)
	if failed != nil {
		messages = nil
		if !r.ignore {
			messages = []string{failed.Error()}
		}
	}
	return messages, e.cost
}

// An evaluation is that of one rule for one object.
type evaluation struct {
	rule    *Rule
	subject *subject
	request map[string]any // made when it is asked for
	values  map[string]any // of the variables of the team that were asked for
	cost    int64
}

var _ cel.Activation = (*evaluation)(nil)

// ResolveName gives the value of a variable. Those of the team are evaluated when
// the first expression asks for them.
func (e *evaluation) ResolveName(name string) (any, bool) {
	switch name {
	case varObject:
		return e.subject.Value, true
	case varOldObject, varParams:
		return nil, true
	case varRequest:
		if e.request == nil {
			e.request = e.subject.request()
		}
		return e.request, true
	case varNamespace:
		value, known := e.subject.namespaceObject()
		if !known {
			return types.WrapErr(errNamespace), true
		}
		return value, true
	}
	variable, found := e.rule.variables[name]
	if !found {
		return nil, false
	}
	if value, known := e.values[name]; known {
		return value, true
	}
	var value any
	result, err := e.eval(variable)
	if value = result; err != nil {
		value = types.WrapErr(fmt.Errorf("composited variable %q fails to evaluate: %w", strings.TrimPrefix(name, varVariables+"."), err))
	}
	e.values[name] = value
	return value, true
}

// Parent returns nil: there is no outer scope.
func (e *evaluation) Parent() cel.Activation { return nil }

// eval evaluates an expression and adds up what it costs.
func (e *evaluation) eval(x *expression) (ref.Val, error) {
	value, details, err := x.program.Eval(e)
	if details == nil || details.ActualCost() == nil {
		return nil, errBudget // as for the API server: without a cost there is no bound
	}
	e.cost += int64(min(*details.ActualCost(), math.MaxInt32))
	return value, err
}

// decide evaluates an expression that stands in the rule for itself. Failed is set
// where the rule has spent what it may.
func (e *evaluation) decide(x *expression, most int64) (value ref.Val, err, failed error) {
	value, err = e.eval(x)
	if errors.Is(err, errBudget) || e.cost > most {
		return nil, nil, errBudget
	}
	if err == nil || errors.Is(err, errNamespace) {
		return value, err, nil
	}
	if e.subject.IsSecret() {
		return nil, fmt.Errorf("expression '%s' resulted in an error, which is not shown for a Secret", x.text), nil
	}
	return nil, fmt.Errorf("expression '%s' resulted in error: %w", x.text, err), nil
}

// run returns what the validations, which may cost up to budget, say against the
// object. An error is one of the
// rule as a whole. The order in which errors count, and the texts, are the API
// server's (package validating of k8s.io/apiserver).
func (e *evaluation) run(budget int64) (messages []string, failed error) {
	matches, failed := e.conditions()
	if !matches || failed != nil {
		return nil, failed
	}
	// The conditions have a budget of their own, and the variables none of them.
	most := e.cost + budget
	var broken []check
	var texts []string // beside broken, "" where the message is still to be made
	for _, v := range e.rule.validations {
		value, err, failed := e.decide(v.expression, most)
		switch {
		case failed != nil:
			return nil, failed
		case errors.Is(err, errNamespace):
		case err != nil && !e.rule.ignore:
			broken, texts = append(broken, v), append(texts, err.Error())
		case err == nil && value != types.True:
			broken, texts = append(broken, v), append(texts, "")
		}
	}
	for i, v := range broken {
		if texts[i] == "" {
			if texts[i], failed = e.message(v, most); failed != nil {
				return nil, failed
			}
		}
	}
	return texts, nil
}

// conditions reports whether the rule is about the object. One condition that is
// false decides, whatever the others do.
func (e *evaluation) conditions() (match bool, failed error) {
	var faults []error
	for _, c := range e.rule.conditions {
		value, err, failed := e.decide(c, apicel.RuntimeCELCostBudgetMatchConditions)
		switch {
		case failed != nil:
			return false, failed
		case err != nil:
			faults = append(faults, err)
		case value == types.False:
			return false, nil
		}
	}
	if err := utilerrors.NewAggregate(faults); err != nil {
		return false, err
	}
	return true, nil
}

// message is that of a validation which does not hold.
func (e *evaluation) message(v check, most int64) (text string, failed error) {
	if v.messageExpression != nil && !e.subject.IsSecret() {
		value, err, failed := e.decide(v.messageExpression, most)
		if failed != nil {
			return "", fmt.Errorf("failed messageExpression: %w", failed)
		}
		if s, ok := value.(types.String); err == nil && ok {
			text = strings.TrimSpace(string(s))
		}
		if len(text) > apicel.MaxEvaluatedMessageExpressionSizeBytes || strings.Contains(text, "\n") {
			text = ""
		}
	}
	if text == "" {
		text = v.message
	}
	if text == "" {
		text = "failed expression: " + strings.TrimSpace(v.text)
	}
	return text, nil
}
