package health

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/fields"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// MaxFile bounds a file of specs, in bytes, also after its aliases are expanded.
const MaxFile = 1 << 20

const (
	apiVersion = "hallmark.dev/v1"
	kind       = "HealthCheck"
)

// Parse reads the specs of a file, one for each document. The error lists all
// faults of all of them, each with line, column and the line itself.
func Parse(file string, data []byte) ([]*Check, error) {
	if len(data) > MaxFile {
		return nil, &diag.Error{File: file, Msg: fmt.Sprintf("larger than %d bytes, the most that is read of health checks", MaxFile)}
	}
	docs, err := yamldoc.Limits{Bytes: MaxFile, Depth: 64}.Stream(file, data)
	if err != nil {
		return nil, err
	}
	docs = slices.DeleteFunc(docs, func(d yamldoc.Document) bool { return d.Value == nil })
	if len(docs) == 0 {
		return nil, &diag.Error{File: file, Msg: `the file is empty, want kind "HealthCheck"`}
	}
	var checks []*Check
	var faults diag.List
	hint := ""
	for _, doc := range docs {
		reader, root := fields.Open(file, doc, true)
		p := &parser{reader: reader}
		if check := p.document(root); check != nil {
			check.File, check.Source = file, string(doc.Text)
			checks = append(checks, check)
		}
		if err := reader.Err(); err != nil {
			faults = append(faults, reader.Faults...)
			if hint == "" {
				hint = diag.Hint(err)
			}
		}
	}
	if err := faults.Err(); err != nil {
		if hint != "" {
			err = diag.WithHint(err, hint)
		}
		return nil, err
	}
	return checks, nil
}

// A parser reads one document.
type parser struct {
	reader *fields.Reader
	compiler
	check      *Check
	conditions conditionDefaults
	phase      string // the path of the shorthand phase
}

// Header reads the fields that every document of hallmark has, and returns its
// name and its spec, which has the parts that are named; false if there is a fault.
func Header(root fields.Field, kind, parts string) (name string, spec fields.Field, ok bool) {
	top := root.Mapping("apiVersion", "kind", "metadata", "spec")
	if top == nil {
		return "", spec, false
	}
	for _, want := range [][2]string{{"apiVersion", apiVersion}, {"kind", kind}} {
		f, found := top[want[0]]
		if !found {
			root.Faultf("%s: missing, want %q", want[0], want[1])
		} else if got, ok := f.Text(); ok && got != want[1] {
			f.Faultf("got %q, want %q", got, want[1])
			return "", spec, false // of another kind nothing else is known
		}
	}
	if metadata, found := top["metadata"]; !found {
		root.Faultf("metadata: missing, want a mapping with a name")
	} else if f, found := metadata.Mapping("name")["name"]; !found {
		metadata.Faultf("name: missing, want a name such as certificate")
	} else if name, ok = f.Text(); ok && !nameForm.MatchString(name) {
		f.Faultf("got %q, want a name of lower case letters, digits, dashes and dots", name)
	}
	spec, ok = top["spec"]
	if !ok {
		root.Faultf("spec: missing, want a mapping with %s", parts)
	}
	return name, spec, ok
}

var (
	nameForm     = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	groupForm    = regexp.MustCompile(`^[a-z0-9*]([a-z0-9.*-]*[a-z0-9*])?$`)
	kindForm     = regexp.MustCompile(`^[A-Za-z*][A-Za-z0-9*]*$`)
	variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func (p *parser) document(root fields.Field) *Check {
	name, spec, ok := Header(root, kind, "targets and rules")
	if !ok {
		return nil
	}
	line, _ := root.Position()
	p.check = &Check{Name: name, Line: line}
	f := spec.Mapping("targets", "observedGeneration", "conditions", "phase", "variables", "useOpenLibs", "noStatus", "rules", "otherwise")
	if f == nil {
		return nil
	}
	p.targets(spec, f["targets"])
	p.variables(f["variables"])
	env, err := NewEnv(p.check.Variables)
	if err != nil {
		f["variables"].Faultf("%v", err)
		return nil
	}
	p.compiler = compiler{env: env, reader: p.reader, variables: p.check.Variables}
	if libs := f["useOpenLibs"]; libs.There() {
		p.check.UseOpenLibs = libs.Flag()
	}
	p.conditions = p.conditionDefaults(f["conditions"])
	p.phase = p.path(f["phase"], "status.phase")

	if noStatus := f["noStatus"]; noStatus.There() {
		rule := p.plain("noStatus", noStatus)
		rule.NoStatus = true
		p.add(rule)
	}
	if observed := f["observedGeneration"]; observed.There() {
		p.generationGate(observed)
	}
	if rules := f["rules"]; !rules.There() {
		spec.Faultf("rules: missing, want a list of rules")
	} else {
		for i, item := range rules.List() {
			p.rule(fmt.Sprintf("rule %d", i+1), item)
		}
	}
	otherwise := Rule{Label: "otherwise", Status: Progressing, Line: line}
	otherwise.Message = p.implied(spec, quote("no rule of the health check matches"), types.StringType)
	if given := f["otherwise"]; given.There() {
		otherwise = p.plain("otherwise", given)
	}
	p.add(otherwise)
	if len(p.reader.Faults) == 0 {
		p.diagnose(spec)
	}
	return p.check
}

func (p *parser) add(rules ...Rule) { p.check.Rules = append(p.check.Rules, rules...) }

func (p *parser) targets(spec, f fields.Field) {
	if !f.There() {
		spec.Faultf("targets: missing, want a list of {group, kinds}")
		return
	}
	items := f.List()
	if len(items) == 0 && f.Value() != nil {
		f.Faultf("the list is empty, so the check is for nothing")
	}
	for _, item := range items {
		var target Target
		m := item.Mapping("group", "kinds")
		if group, found := m["group"]; found {
			if text, ok := group.Text(); ok && text != "" && !groupForm.MatchString(text) {
				group.Faultf("got %q, want an API group without its version, such as cert-manager.io, or \"\" for the core group", text)
			} else {
				target.Group = text
			}
		} else if m != nil {
			item.Faultf("group: missing, want an API group, or \"\" for the core group")
		}
		if kinds, found := m["kinds"]; found {
			for _, k := range kinds.List() {
				if text, ok := k.Text(); ok && !kindForm.MatchString(text) {
					k.Faultf("got %q, want a kind such as Certificate, or a glob such as *", text)
				} else if ok && slices.Contains(target.Kinds, text) {
					k.Faultf("%q is there twice", text)
				} else if ok {
					target.Kinds = append(target.Kinds, text)
				}
			}
			if len(target.Kinds) == 0 {
				kinds.Faultf("no kinds, so the target is for nothing")
			}
		} else if m != nil {
			item.Faultf("kinds: missing, want a list of kinds, or [\"*\"]")
		}
		p.check.Targets = append(p.check.Targets, target)
	}
}

func (p *parser) variables(f fields.Field) {
	if !f.There() {
		return
	}
	for _, item := range f.List() {
		name, ok := item.Text()
		switch {
		case !ok:
		case !variableForm.MatchString(name):
			item.Faultf("got %q, want the name of a top-level key of the object", name)
		case slices.Contains([]string{"apiVersion", "kind", "metadata", "spec", "status"}, name), slices.Contains(p.check.Variables, name):
			item.Faultf("%q is there already", name)
		default:
			p.check.Variables = append(p.check.Variables, name)
		}
	}
}

// status reads the status of a rule or verdict. Two that Argo CD knows are
// refused with what they do.
func (p *parser) status(owner, f fields.Field) Status {
	const want = "Healthy, Progressing, Degraded or Suspended"
	if !f.There() {
		owner.Faultf("status: missing, want %s", want)
		return ""
	}
	text, ok := f.Text()
	switch status := Status(text); status {
	case Healthy, Progressing, Degraded, Suspended:
		return status
	case "Missing":
		f.Faultf("got Missing, want %s: Argo CD gives Missing to an object that is not there; from a check it makes a wave wait for ever and a hook pass", want)
	case "Unknown":
		f.Faultf("got Unknown, want %s: it is the worst status of all, makes the whole application Unknown, fails a hook and makes a wave wait for ever; what is not known yet is Progressing", want)
	default:
		if ok {
			hint := ""
			for _, s := range []Status{Healthy, Progressing, Degraded, Suspended} {
				if strings.EqualFold(string(s), text) {
					hint = fmt.Sprintf("; did you mean %s?", s)
				}
			}
			f.Faultf("got %q, want %s%s", text, want, hint)
		}
	}
	return ""
}

// plain reads a status and a message that is a plain text.
func (p *parser) plain(label string, f fields.Field) Rule {
	m := f.Mapping("status", "message")
	if m == nil {
		return Rule{}
	}
	rule := Rule{Label: label, Status: p.status(f, m["status"])}
	rule.Line, rule.Col = f.Position()
	if message, found := m["message"]; found {
		if text, ok := message.Text(); ok {
			rule.Message = p.implied(message, quote(text), types.StringType)
		}
	}
	return rule
}

// generationGate is the rule that an object whose latest generation the
// controller has not seen is Progressing.
func (p *parser) generationGate(f fields.Field) {
	observed := p.written(f, nil)
	if observed == nil {
		return
	}
	rule := Rule{Label: "observedGeneration", Status: Progressing}
	rule.Line, rule.Col = f.Position()
	rule.When = p.implied(f, fmt.Sprintf("int(string(%s)) < metadata.generation", observed.inner()), types.BoolType)
	rule.Message = p.implied(f, staleMessage, types.StringType)
	p.add(rule)
}

func (p *parser) rule(label string, f fields.Field) {
	m := f.Mapping("status", "when", "condition", "phase", "message", "kstatus", "job", "ledger")
	if m == nil {
		return
	}
	for _, name := range []string{"kstatus", "job", "ledger"} {
		if preset, found := m[name]; found {
			if len(m) > 1 {
				preset.Faultf("stands for whole rules, so nothing else can be beside it")
				return
			}
			p.preset(label, name, preset)
			return
		}
	}
	rule := Rule{Label: label, Status: p.status(f, m["status"])}
	rule.Line, rule.Col = f.Position()
	rule.When, rule.Message = p.demands(f, m)
	p.add(rule)
}

// demands reads what must hold for a rule, and its message.
func (p *parser) demands(f fields.Field, m map[string]fields.Field) (when, message *Expr) {
	before := len(p.reader.Faults)
	var parts []string
	var conditions []condition
	if c, found := m["condition"]; found {
		conditions = p.conditionList(c)
		for _, one := range conditions {
			parts = append(parts, one.holds())
		}
	}
	if phase, found := m["phase"]; found {
		parts = append(parts, p.oneOf(phase, p.phase))
	}
	written, hasWhen := m["when"]
	if hasWhen {
		if when = p.written(written, types.BoolType); len(parts) > 0 && when != nil {
			parts = append(parts, "("+when.inner()+")")
		}
	}
	switch {
	case len(m) > 0 && !hasWhen && len(parts) == 0 && len(p.reader.Faults) == before:
		f.Faultf("no when, condition or phase, so it is not known when the rule holds; what holds for everything else stands in otherwise")
	case len(p.reader.Faults) > before:
		return nil, nil
	case len(parts) > 0:
		when = p.implied(f, strings.Join(parts, " && "), types.BoolType)
	}
	if text, found := m["message"]; found {
		message = p.written(text, nil)
	} else if len(conditions) > 0 {
		message = p.implied(f, conditions[0].message(), nil)
	}
	return when, message
}

// quote is a text as a CEL literal.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range text {
		switch r {
		case '\'', '\\':
			b.WriteString(`\` + string(r))
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
