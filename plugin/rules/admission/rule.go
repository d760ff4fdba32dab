package admission

import (
	"encoding/json"

	"github.com/google/cel-go/cel"

	"hallmark.dev/hallmark/plugin/rules"
)

// Rule is one rule of a team. It does not change, and is safe for concurrent use.
type Rule struct {
	name        string
	source      any // as it stands in the policy
	constraints constraints
	conditions  []*expression          // matchConditions
	variables   map[string]*expression // by the name that expressions have: "variables.x"
	validations []check
	ignore      bool // failurePolicy: Ignore
}

var _ rules.TeamRule = (*Rule)(nil)

// A check is a validation: what has to be true of an object.
type check struct {
	*expression
	message           string
	messageExpression *expression // nil where there is none
}

type expression struct {
	text    string
	program cel.Program
}

// Name is that of the rule in the policy.
func (r *Rule) Name() string { return r.name }

// MarshalJSON gives the rule as it stands in the policy, so that two rules that
// differ have two texts.
func (r *Rule) MarshalJSON() ([]byte, error) { return json.Marshal(r.source) }
