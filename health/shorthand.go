package health

import (
	"slices"
	"strings"

	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"hallmark.dev/hallmark/internal/fields"
)

// conditionDefaults are those of spec.conditions.
type conditionDefaults struct {
	path    string
	current bool
}

// A condition is the shorthand of that name: an entry of a list of conditions,
// such as Kubernetes' own.
//
//	condition: {type: Ready, status: "False", reason: [Failed, Error]}
//
// stands for
//
//	status.conditions.exists(c, c.type == 'Ready' && c.status == 'False' && c.reason in ['Failed', 'Error'])
//
// and a rule without a message says what that condition's message says. With
// notReason the reason must be absent or another.
type condition struct {
	conditionDefaults
	demands []demand
}

// demand is that a field of the entry is one of some texts, or none of them.
type demand struct {
	field  string
	values []string
	not    bool
}

func (p *parser) conditionDefaults(f fields.Field) conditionDefaults {
	d := conditionDefaults{path: "status.conditions"}
	if !f.There() {
		return d
	}
	m := f.Mapping("path", "current")
	d.path = p.path(m["path"], d.path)
	if current, found := m["current"]; found {
		d.current = current.Flag()
	}
	return d
}

// path reads an expression that other expressions are built from: fields of
// fields, so that it means the same wherever it stands.
func (p *parser) path(f fields.Field, standard string) string {
	if !f.There() {
		return standard
	}
	expr := p.written(f, nil)
	if expr == nil {
		return standard
	}
	if !isPath(expr.AST.NativeRep().Expr()) || strings.Contains(expr.Text, "//") {
		f.Faultf("got an expression, want a path such as %s", standard)
		return standard
	}
	return strings.TrimSpace(expr.Text)
}

// isPath reports whether e is a variable, a field of a path, or an entry of one
// under a literal key.
func isPath(e celast.Expr) bool {
	switch e.Kind() {
	case celast.IdentKind:
		return true
	case celast.SelectKind:
		return !e.AsSelect().IsTestOnly() && isPath(e.AsSelect().Operand())
	case celast.CallKind:
		call := e.AsCall()
		return call.FunctionName() == operators.Index && isPath(call.Args()[0]) && call.Args()[1].Kind() == celast.LiteralKind
	}
	return false
}

func (p *parser) conditionList(f fields.Field) []condition {
	if _, several := f.Value().([]any); !several {
		return []condition{p.condition(f)}
	}
	var all []condition
	for _, item := range f.List() {
		all = append(all, p.condition(item))
	}
	if len(all) == 0 {
		f.Faultf("the list is empty, so it is not known when the rule holds")
	}
	return all
}

func (p *parser) condition(f fields.Field) condition {
	c := condition{conditionDefaults: p.conditions}
	m := f.Mapping("type", "status", "reason", "notReason", "current", "path")
	if m == nil {
		return c
	}
	if _, found := m["type"]; !found {
		f.Faultf("type: missing, want the type of a condition such as Ready")
	}
	for _, name := range []string{"type", "status", "reason", "notReason"} {
		value, found := m[name]
		if !found {
			continue
		}
		d := demand{field: name, values: p.texts(value)}
		if name == "notReason" {
			d.field, d.not = "reason", true
		}
		for _, text := range d.values {
			if name == "status" && !slices.Contains([]string{"True", "False", "Unknown"}, text) {
				value.Faultf("got %q, want \"True\", \"False\" or \"Unknown\", the statuses of a condition", text)
			}
		}
		c.demands = append(c.demands, d)
	}
	if current, found := m["current"]; found {
		c.current = current.Flag()
	}
	if path, found := m["path"]; found {
		c.path = p.path(path, c.path)
	}
	return c
}

// texts reads one text or a list of texts.
func (p *parser) texts(f fields.Field) []string {
	items := []fields.Field{f}
	if list, several := f.Value().([]any); several {
		items = f.List()
		if len(list) == 0 {
			f.Faultf("the list is empty, so nothing is one of it")
		}
	}
	var out []string
	for _, item := range items {
		if _, isBool := item.Value().(bool); isBool {
			item.Faultf("got bool, want a string: YAML reads True, False and yes as truth values, write \"True\" in quotes")
			continue
		}
		text, ok := item.Text()
		if ok && slices.Contains(out, text) {
			item.Faultf("%q is there twice", text)
		} else if ok {
			out = append(out, text)
		}
	}
	return out
}

// oneOf is the test that what stands at a path is one of the field's texts.
func (p *parser) oneOf(f fields.Field, path string) string { return among(path, p.texts(f)) }

func among(path string, texts []string) string {
	if len(texts) == 1 {
		return path + " == " + quote(texts[0])
	}
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = quote(text)
	}
	return path + " in [" + strings.Join(quoted, ", ") + "]"
}

// holds is the CEL text that the condition stands for.
func (c condition) holds() string { return c.path + ".exists(c, " + c.test() + ")" }

// message is that of the first entry for which the condition holds.
func (c condition) message() string { return c.path + ".first(c, " + c.test() + ").message" }

func (c condition) test() string {
	var parts []string
	for _, d := range c.demands {
		part := among("c."+d.field, d.values)
		if d.not {
			part = "!(has(c." + d.field + ") && " + part + ")"
		}
		parts = append(parts, part)
	}
	if c.current {
		parts = append(parts, "(!has(c.observedGeneration) || !has(metadata.generation) || c.observedGeneration >= metadata.generation)")
	}
	return strings.Join(parts, " && ")
}
