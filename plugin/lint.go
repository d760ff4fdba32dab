package plugin

import (
	"cmp"
	"fmt"
	"io/fs"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/evidence"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/policy"
	"hallmark.dev/hallmark/plugin/rules"
)

// Finding is what a release rule says of an object. One that is waived has its
// Waiver set, and nothing comes of it.
type Finding struct {
	rules.Finding
	// Level is what the policy makes of it: [policy.LevelWarn] or
	// [policy.LevelDeny].
	Level policy.Level
}

// BuiltIn reports whether the rule is one of hallmark's, and not one of a team's.
func (f Finding) BuiltIn() bool {
	_, found := rules.Find(f.Rule)
	return found
}

// Denied reports whether a render is refused for it.
func (f Finding) Denied() bool { return f.Level == policy.LevelDeny && f.Waiver == nil }

// fault is the finding as messages have it.
func (f Finding) fault() *diag.Error {
	return &diag.Error{File: f.Origin, Line: f.Line, Msg: fmt.Sprintf("%s: %s (rule %s)", f.Object, f.Message, f.Rule)}
}

// before orders findings as their faults are listed.
func (f Finding) before(other *Finding) bool {
	return cmp.Or(cmp.Compare(f.Origin, other.Origin), cmp.Compare(f.Line, other.Line), cmp.Compare(f.fault().Msg, other.fault().Msg)) < 0
}

// Lint is the section of the policy's rule for the application that says which
// release rules are checked, nil where there is none.
func (r *Request) Lint() *policy.Lint { return r.rule().Lint }

// maxFindings bounds the warnings about findings.
const maxFindings = 20

// lint runs the release rules over objects that have passed the gate. The error has
// the findings that refuse the render.
func (s *session) lint(out *Output, objects []object.Object) error {
	if s.rule.Lint == nil && !s.Review {
		return nil
	}
	s.linted = true
	s.findings = s.check(out, objects)
	s.waivers = rules.WaivedUntil(objects, s.Today)
	if s.Found != nil {
		s.Found(s.findings)
	}
	if s.Review {
		return nil
	}
	var denied diag.List
	var first *Finding // as the list has them
	warned := 0
	for i, f := range s.findings {
		switch {
		case f.Denied():
			denied.Add(f.fault())
			if first == nil || f.before(first) {
				first = &s.findings[i]
			}
		case f.Waiver == nil:
			if warned++; warned <= maxFindings {
				out.Warnings = append(out.Warnings, f.fault().Error())
			}
		}
	}
	if warned > maxFindings {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d more findings of release rules; `hallmark lint` lists all", warned-maxFindings))
	}
	if first == nil {
		return nil
	}
	return diag.WithHint(denied.Err(), s.remedy(first))
}

// remedy is what helps against a finding.
func (s *session) remedy(f *Finding) string {
	var ways []string
	if f.Remedy != "" {
		ways = append(ways, f.Remedy)
	}
	if s.rule.Lint.TakesWaivers() && f.Rule != "waiver" {
		ways = append(ways, fmt.Sprintf("an annotation on the object waives the rule until a day, %s%s: \"2027-03-31 the reason\"", rules.WaiverPrefix, f.Rule))
	}
	if f.BuiltIn() {
		ways = append(ways, fmt.Sprintf("`hallmark lint --explain %s` says more", f.Rule))
	} else {
		ways = append(ways, fmt.Sprintf("the rule is the platform team's own, in %s", s.rule))
	}
	return strings.Join(ways, "; ")
}

// check returns what the rules find, with no decrypted value in it.
func (s *session) check(out *Output, objects []object.Object) []Finding {
	lint := s.rule.Lint
	o := rules.Options{
		Namespace: s.Namespace, Today: s.Today, Literal: s.literal(),
		Enabled:  func(rule string) bool { return lint.Level(rule) != policy.LevelOff },
		Unstable: map[object.ID][][]any{},
		HealthChecked: func(group, kind string) bool {
			return lint.HealthChecked(group, kind) || s.HealthChecked != nil && s.HealthChecked(group, kind)
		},
	}
	for _, u := range out.Unstable {
		o.Unstable[u.Object] = append(o.Unstable[u.Object], u.Path)
	}
	secret := len(s.tree.Opened()) > 0 || len(out.Derived) > 0
	if secret { // what is derived stands in no repository either
		o.Decrypted = s.secrets.In
	}
	if lint != nil {
		for _, rule := range lint.Team {
			if lint.Level(rule.Name()) == policy.LevelOff {
				rule = silent{rule}
			}
			o.Team = append(o.Team, rule)
		}
	}
	found := rules.Check(objects, o)
	findings := make([]Finding, len(found))
	for i, f := range found {
		if !lint.TakesWaivers() {
			f.Waiver = nil
		}
		findings[i] = Finding{Finding: f, Level: lint.Of(f)}
	}
	if secret {
		s.hide(findings)
	}
	return findings
}

// silent is a rule that is switched off. It is still one that a waiver may name.
type silent struct{ rules.TeamRule }

func (silent) Check([]object.Object, string, func(int, string)) {}

// literal says of which objects the data stands in the repository as it is. The
// output of a chart is computed, also where a kustomization inflates it.
func (s *session) literal() func(object.Object) bool {
	switch s.renderer.(type) {
	case plainRenderer:
		return func(object.Object) bool { return true }
	case kustomizeRenderer:
		// A view of its own, since a look is no read of the render.
		view := s.Tree.View()
		return func(o object.Object) bool {
			if strings.Contains(o.Origin, "/templates/") || !fs.ValidPath(o.Origin) {
				return false
			}
			info, err := fs.Stat(view, o.Origin)
			return err == nil && info.Mode().IsRegular()
		}
	}
	return func(object.Object) bool { return false }
}

// hide takes decrypted and derived values out of findings, all in one go, because a search
// costs as much as a long text.
func (s *session) hide(findings []Finding) {
	var texts []*string
	for i := range findings {
		f := &findings[i]
		texts = append(texts, &f.Message, &f.Field, &f.Remedy, &f.Origin, &f.Object.Kind, &f.Object.Namespace, &f.Object.Name)
		if f.Waiver != nil {
			waiver := *f.Waiver
			f.Waiver = &waiver
			texts = append(texts, &waiver.Reason)
		}
	}
	var all strings.Builder
	for _, text := range texts {
		*text = strings.ReplaceAll(*text, "\n", " ")
		all.WriteString(*text + "\n")
	}
	clean := strings.Split(strings.TrimSuffix(s.secrets.Text(all.String()), "\n"), "\n")
	for i, text := range texts {
		if len(clean) == len(texts) {
			*text = clean[i]
		} else { // a value spans lines, and those of two texts looked like it
			*text = s.secrets.Text(*text)
		}
	}
}

// recorded are the findings as the evidence has them.
func (s *session) recorded() *evidence.Lint {
	if !s.linted {
		return nil
	}
	out := &evidence.Lint{}
	for _, f := range s.findings {
		next := evidence.Finding{
			Rule: f.Rule, Level: string(f.Level), Object: f.Object, Field: f.Field, Message: f.Message,
		}
		if f.Waiver != nil {
			next.Waiver = &evidence.Waiver{Day: f.Waiver.Day(), Reason: f.Waiver.Reason}
		}
		out.Findings = append(out.Findings, next)
	}
	return out
}
