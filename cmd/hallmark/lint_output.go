package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/policy"
	"hallmark.dev/hallmark/plugin/rules"
)

// ruleReport is the object of -o json; its fields are described in the help.
type ruleReport struct {
	App      string        `json:"app"`
	Path     string        `json:"path"`
	Renderer string        `json:"renderer"`
	Objects  int           `json:"objects"`
	Errors   int           `json:"errors"`
	Warnings int           `json:"warnings"`
	Infos    int           `json:"infos"`
	Denied   int           `json:"denied"`
	Waived   int           `json:"waived"`
	Findings []ruleFinding `json:"findings"`

	showWaived bool
}

type ruleFinding struct {
	Rule     string         `json:"rule"`
	Severity rules.Severity `json:"severity"`
	Level    policy.Level   `json:"level,omitempty"`
	Object   ruleObject     `json:"object"`
	Origin   string         `json:"origin"`
	File     string         `json:"file"`
	Line     int            `json:"line,omitempty"`
	Field    string         `json:"field,omitempty"`
	Message  string         `json:"message"`
	Remedy   string         `json:"remedy,omitempty"`
	Waiver   *ruleWaiver    `json:"waiver,omitempty"`

	id object.ID
	at location
}

type ruleObject struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type ruleWaiver struct {
	Until  string `json:"until"`
	Reason string `json:"reason"`
}

// newRuleReport is the report of a render: the findings of the rules that were asked
// for, with their places, sorted by these.
func newRuleReport(request *plugin.Request, result *plugin.Result, f *lintFlags) *ruleReport {
	r := &ruleReport{
		App: request.App, Path: request.Path, Renderer: result.Provenance.Renderer,
		Objects: len(result.Objects), Findings: []ruleFinding{}, showWaived: f.showWaived,
	}
	at := newLocations(request.Tree.View(), request.Path, r.Renderer)
	for _, found := range result.Findings {
		if len(f.rules) > 0 && !slices.Contains(f.rules, found.Rule) {
			continue
		}
		if request.Lint() == nil {
			found.Level = "" // nobody gave it
		}
		if found.Waiver != nil {
			r.Waived++
		} else {
			r.count(found)
		}
		if found.Waiver == nil || f.showWaived {
			r.Findings = append(r.Findings, newRuleFinding(found, at))
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b ruleFinding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return r
}

func (r *ruleReport) count(found plugin.Finding) {
	switch found.Severity {
	case rules.Error:
		r.Errors++
	case rules.Warning:
		r.Warnings++
	default:
		r.Infos++
	}
	if found.Denied() {
		r.Denied++
	}
}

func newRuleFinding(found plugin.Finding, all *locations) ruleFinding {
	at := all.find(found.Object, found.Origin, found.Line, found.Field)
	out := ruleFinding{
		Rule: found.Rule, Severity: found.Severity, Level: found.Level, Object: ruleObject(found.Object),
		Origin: found.Origin, File: at.File, Line: at.Line, Field: found.Field,
		Message: found.Message, Remedy: found.Remedy, id: found.Object, at: at,
	}
	if w := found.Waiver; w != nil {
		out.Waiver = &ruleWaiver{Until: w.Day(), Reason: w.Reason}
	}
	return out
}

func (r *ruleReport) write(w io.Writer, format string) error {
	var out []byte
	var err error
	switch format {
	case "json":
		out, err = indented(r)
	case "sarif":
		out, err = indented(r.sarif())
	case "github":
		out = r.github()
	default:
		out = r.text()
	}
	if err == nil {
		_, err = w.Write(out)
	}
	return err
}

// text has a line for each finding, and the remedy below the first of each rule.
func (r *ruleReport) text() []byte {
	var out bytes.Buffer
	line := func(format string, args ...any) { out.WriteString(printable(fmt.Sprintf(format, args...)) + "\n") }
	told := map[string]bool{}
	for _, f := range r.Findings {
		line("%s: %s: %s [%s]", f.where(), f.Severity, f.fact(), f.rule())
		if f.Remedy != "" && !told[f.Rule] {
			line("    remedy: %s", f.Remedy)
		}
		told[f.Rule] = true
	}
	line("%s", r.summary())
	return out.Bytes()
}

// where is the source of the object for a person: where it is not a file of the
// repository, as the renderer calls it.
func (f *ruleFinding) where() string {
	if f.at.Exact || f.Origin == "" {
		return f.at.String()
	}
	return fmt.Sprintf("%s: %s", f.at, f.Origin)
}

// fact says what is wrong with which field of which object.
func (f *ruleFinding) fact() string {
	what := f.id.String()
	if f.Field != "" {
		what += ": " + f.Field
	}
	return what + ": " + f.Message
}

// rule is the rule, with what the policy or a waiver makes of the finding.
func (f *ruleFinding) rule() string {
	switch {
	case f.Waiver != nil:
		return fmt.Sprintf("%s, waived until %s: %s", f.Rule, f.Waiver.Until, f.Waiver.Reason)
	case f.Level != "":
		return fmt.Sprintf("%s: %s", f.Rule, f.Level)
	}
	return f.Rule
}

// weight is the severity for a program that knows three: where the policy gives a
// level, what it denies is an error, and what it does not deny is none.
func (f *ruleFinding) weight() rules.Severity {
	switch {
	case f.Level == policy.LevelDeny:
		return rules.Error
	case f.Level != "" && f.Severity == rules.Error:
		return rules.Warning
	}
	return f.Severity
}

func (r *ruleReport) summary() string {
	in := "in " + count(r.Objects, "object")
	if r.Errors+r.Warnings+r.Infos == 0 {
		in = "ok: " + count(r.Objects, "object")
	} else {
		in = fmt.Sprintf("%s, %s, %d info %s", count(r.Errors, "error"), count(r.Warnings, "warning"), r.Infos, in)
	}
	if r.Denied > 0 {
		in += fmt.Sprintf("; the policy denies %d", r.Denied)
	}
	if r.Waived > 0 {
		in += fmt.Sprintf("; %d waived", r.Waived)
	}
	return in
}

// verdict is the error of a run whose findings fail it. They are the result and stand
// on standard output.
func (r *ruleReport) verdict(failOn string) error {
	failing, of := 0, ""
	switch failOn {
	case failOnNever:
	case failOnDeny:
		failing, of = r.Denied, "that the policy denies"
	case string(rules.Error):
		failing, of = r.Errors, "of severity error"
	case string(rules.Warning):
		failing, of = r.Errors+r.Warnings, "of severity warning or worse"
	default:
		failing, of = r.Errors+r.Warnings+r.Infos, "of severity info or worse"
	}
	if failing == 0 {
		return nil
	}
	return fmt.Errorf("%s %s", count(failing, "finding"), of)
}
