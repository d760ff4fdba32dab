package admission

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/validation"

	"hallmark.dev/hallmark/internal/fields"
)

// The bounds of one rule. The first is the API server's.
const (
	maxConditions  = 64
	maxVariables   = 64
	maxValidations = 64
)

// A Reader reads rules. Its faults are those of the fields.Reader that it was made
// with.
type Reader struct {
	fields *fields.Reader
	env    *cel.Env // made for the first rule
}

// NewReader returns a reader of rules that stand in the document of f.
func NewReader(f *fields.Reader) *Reader { return &Reader{fields: f} }

// Rule reads one rule, nil where it is no mapping. Where it has faults, only its
// name can be relied on.
func (r *Reader) Rule(f fields.Field) *Rule {
	known := []string{"name", "matchConstraints", "matchConditions", "variables", "validations", "failurePolicy"}
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		if m, _ := f.Value().(map[string]any); m[name] != nil {
			known = append(known, name)
		}
	}
	m := f.Mapping(known...)
	if m == nil {
		return nil
	}
	for name, reason := range refused {
		if field, found := m[name]; found {
			field.Faultf("%s", reason)
		}
	}
	rule := &Rule{source: f.Value(), variables: map[string]*expression{}}
	rule.name = name(f, m)
	if constraints, found := m["matchConstraints"]; found {
		rule.constraints = readConstraints(constraints)
	} else {
		f.Faultf("matchConstraints: missing, want the resources that the rule is about")
	}
	if policy, found := m["failurePolicy"]; found {
		rule.ignore = policy.OneOf("Fail", "Ignore") == "Ignore"
	}
	if err := r.expressions(rule, f, m); err != nil {
		f.Faultf("%v", err) // of the libraries of CEL, which a test would have seen
	}
	return rule
}

// refused are the fields of a ValidatingAdmissionPolicy for which a render has
// nothing, with the reason.
var refused = map[string]string{
	"paramKind":        "a parameter is an object of the cluster, which is not seen here; write its value into a variable",
	"auditAnnotations": "there is no audit log here; leave it out, or leave the rule to the cluster",
}

// name reads the rule's name, which goes into the annotation that waives it.
func name(f fields.Field, m map[string]fields.Field) string {
	field, found := m["name"]
	if !found {
		f.Faultf("name: missing, want a name that no other rule has")
		return ""
	}
	text, ok := field.Text()
	if ok && len(validation.IsDNS1123Label(text)) > 0 {
		field.Faultf("got %q, want lower-case letters, digits and hyphens, at most 63, since the name goes into the annotation that waives the rule", text)
	}
	return text
}

// expressions compiles a rule in the order in which its parts may refer to each
// other.
func (r *Reader) expressions(rule *Rule, f fields.Field, m map[string]fields.Field) (err error) {
	if r.env == nil {
		if r.env, err = newEnvironment(); err != nil {
			return err
		}
	}
	names := map[string]bool{}
	for _, item := range items(m["matchConditions"], maxConditions) {
		c := item.Mapping("name", "expression")
		if c == nil {
			continue
		}
		// The API server takes a qualified name, and it stands in no annotation.
		unique(item, c["name"], names, "condition", func(s string) bool { return len(validation.IsQualifiedName(s)) == 0 })
		rule.conditions = append(rule.conditions, r.required(r.env, item, c, "expression"))
	}
	env, err := withNamespace(r.env)
	if err != nil {
		return err
	}
	names = map[string]bool{}
	for _, item := range items(m["variables"], maxVariables) {
		v := item.Mapping("name", "expression")
		if v == nil {
			continue
		}
		name := unique(item, v["name"], names, "variable", isIdentifier)
		field, found := v["expression"]
		if !found {
			item.Faultf("expression: missing")
			continue
		}
		compiled, t := r.compile(env, field, nil)
		if t == nil {
			t = cel.DynType // the fault is told once, and not where the variable is used
		}
		if !isIdentifier(name) {
			continue
		}
		if env, err = withVariable(env, name, t); err != nil {
			return err
		}
		rule.variables[qualified(name)] = compiled
	}
	list, found := m["validations"]
	if !found || len(list.List()) == 0 {
		f.Faultf("validations: missing, want at least one")
		return nil
	}
	for _, item := range items(list, maxValidations) {
		if v, ok := r.validation(env, item); ok {
			rule.validations = append(rule.validations, v)
		}
	}
	return nil
}

func (r *Reader) validation(env *cel.Env, item fields.Field) (v check, ok bool) {
	m := item.Mapping("expression", "message", "messageExpression", "reason")
	if m == nil {
		return v, false
	}
	if v.expression = r.required(env, item, m, "expression"); v.expression == nil {
		return v, false
	}
	message, found := m["message"]
	if found {
		v.message, ok = message.Text()
		v.message = strings.TrimSpace(v.message)
		switch {
		case ok && v.message == "":
			message.Faultf("the message is empty")
		case strings.ContainsAny(v.message, "\r\n"):
			message.Faultf("the message has more than one line")
		}
	} else if strings.Contains(strings.TrimSpace(v.text), "\n") {
		item.Faultf("message: missing, and an expression of several lines cannot be one")
	}
	if f, found := m["messageExpression"]; found {
		v.messageExpression, _ = r.compile(env, f, cel.StringType)
	}
	if f, found := m["reason"]; found {
		f.OneOf("Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge")
	}
	return v, true
}

// required compiles a condition that has to be there.
func (r *Reader) required(env *cel.Env, item fields.Field, m map[string]fields.Field, name string) *expression {
	f, found := m[name]
	if !found {
		item.Faultf("%s: missing", name)
		return nil
	}
	compiled, _ := r.compile(env, f, cel.BoolType)
	return compiled
}

// unique reads a name and adds it to those that are taken.
func unique(item, f fields.Field, taken map[string]bool, what string, valid func(string) bool) string {
	if !f.There() {
		item.Faultf("name: missing")
		return ""
	}
	text, ok := f.Text()
	switch {
	case !ok:
	case !valid(text):
		f.Faultf("%q cannot be the name of a %s", text, what)
	case taken[text]:
		f.Faultf("there are two %ss %q", what, text)
	}
	taken[text] = true
	return text
}

// items are those of a list with a bound; none where there is no list.
func items(f fields.Field, most int) []fields.Field {
	if !f.There() {
		return nil
	}
	list := f.List()
	if len(list) > most {
		f.Faultf("got %d, want at most %d", len(list), most)
		return list[:most]
	}
	return list
}

var identifier = regexp.MustCompile(`^[_a-zA-Z][_a-zA-Z0-9]*$`)

// isIdentifier reports whether CEL takes a text as a name.
func isIdentifier(text string) bool {
	reserved := []string{
		"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
		"let", "loop", "package", "namespace", "return", "var", "void", "while",
	}
	return identifier.MatchString(text) && !slices.Contains(reserved, text)
}
