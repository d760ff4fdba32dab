package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hallmark.dev/hallmark/internal/redact"
)

// DefaultFile is where a platform team mounts its policy.
const DefaultFile = "/etc/hallmark/policy.yaml"

// The values of determinism and of outsideSecrets.
const (
	Enforce = "enforce"
	Derive  = "derive"
	Warn    = "warn"
	Deny    = "deny"
	Allow   = "allow"
)

// Renderers returns the names that a rule may list.
func Renderers() []string { return []string{"helm3", "helm4", "kustomize", "plain"} }

// Subject is what rules are matched against: where an application belongs, where
// it comes from and where it goes.
type Subject struct{ Project, RepoURL, Namespace string }

// A Rule is what one application may do.
type Rule struct {
	// Name is that of the rule in the policy, "" for one that stands in no file.
	Name string
	// File and Line are where it stands; Line is 0 for one that stands in none.
	File string
	Line int

	Renderers   []string    // the allowed ones; nil allows all, an empty list none
	Decryption  *Decryption // nil allows none
	Determinism string      // what holds where the application says nothing; "" leaves it to the application
	Lenient     []string    // what the application may ask for in place of Enforce: Derive, Warn
	Derivation  *Derivation // nil where Lenient has no Derive
	AllowEmpty  bool        // whether the application may ask for allow-empty
	Limits      Limits
	Lint        *Lint // nil checks no release rules

	called  string // how String calls it where it stands in no file
	builtIn bool
}

// Limits are those that a rule sets. A field that is zero is not set.
type Limits struct {
	Files                int
	FileBytes, TreeBytes int64
	Objects, OutputBytes int
	MemoryBytes          int64
	RenderTime           time.Duration
}

// Derivation is what a rule says of values that are derived from a seed.
type Derivation struct {
	// Project is the one that values depend on where none is given, or "".
	Project string
	// OutsideSecrets says what becomes of such a value outside of the data of a
	// Secret: Deny, Warn or Allow.
	OutsideSecrets string
}

// AllowsDeterminism reports whether an application may ask for that mode.
func (r *Rule) AllowsDeterminism(mode string) bool {
	return mode == Enforce || slices.Contains(r.Lenient, mode)
}

// AllowsRenderer reports whether the renderer of that name may be used.
func (r *Rule) AllowsRenderer(name string) bool {
	return r.Renderers == nil || slices.Contains(r.Renderers, name)
}

// BuiltIn reports whether the rule is that of None or of Caller, so that there is
// no policy which could say something else. The default of a policy is not.
func (r *Rule) BuiltIn() bool { return r.builtIn }

// String names the rule in a message: `rule "payments" (policy.yaml:12)`.
func (r *Rule) String() string {
	if r.called != "" {
		return r.called
	}
	return fmt.Sprintf("rule %q (%s:%d)", r.Name, r.File, r.Line)
}

// A Policy is a list of rules, or one built-in rule. A nil *Policy is that of
// None. It does not change.
type Policy struct {
	rules []rule
	// always is the rule where there is no list.
	always *Rule
}

type rule struct {
	Rule
	match match
}

// None is the policy of a server without a policy file: nothing is decrypted or
// derived, and the rest is as the application asks.
func None() *Policy {
	return &Policy{always: &Rule{AllowEmpty: true, Lenient: []string{Warn}, called: "no policy", builtIn: true}}
}

// Caller is the policy of somebody who renders with their own rights and names no
// policy: what their keys open is decrypted, values are derived from their seed, and
// the rest is as the application asks.
func Caller() *Policy {
	return &Policy{always: &Rule{
		AllowEmpty: true, called: "no policy, with the caller's own keys", builtIn: true,
		Decryption: &Decryption{Any: true, OutsideSecrets: Warn},
		Lenient:    []string{Derive, Warn}, Derivation: &Derivation{Project: "default", OutsideSecrets: Warn},
	}}
}

// Len is the number of rules that the policy lists.
func (p *Policy) Len() int {
	if p == nil {
		return 0
	}
	return len(p.rules)
}

// For returns the rule for an application, never nil: where no rule matches, the
// default. It must not be changed.
func (p *Policy) For(s Subject) *Rule {
	rule, _ := p.Explain(s)
	return rule
}

// A Reason says why a rule does or does not match, in words for people:
// `project "x" does not match "payments"`.
type Reason struct {
	Rule    *Rule
	Matches bool
	Why     string
}

// Explain is For with the reasons: the rules in their order, up to and with the
// one that wins.
func (p *Policy) Explain(s Subject) (*Rule, []Reason) {
	if p == nil {
		p = None()
	}
	if p.always != nil {
		return p.always, nil
	}
	t := newTarget(s)
	var reasons []Reason
	for i := range p.rules {
		r := &p.rules[i]
		matches, why := r.match.explain(t)
		reasons = append(reasons, Reason{Rule: &r.Rule, Matches: matches, Why: why})
		if matches {
			return &r.Rule, reasons
		}
	}
	return &Rule{
		Determinism: Enforce,
		called: fmt.Sprintf("the policy's default, since no rule matches project %q, repository %q, namespace %q",
			s.Project, redact.URL(s.RepoURL), s.Namespace),
	}, reasons
}

// match is what a rule demands; a list that is nil demands nothing.
type match struct{ project, repoURL, namespace []pattern }

// target is a subject that is ready to be matched.
type target struct {
	Subject
	address parts // the normal form of RepoURL
	doubt   error // why it has none
}

func newTarget(s Subject) target {
	t := target{Subject: s}
	t.address, t.doubt = repository.normal(s.RepoURL)
	return t
}

func (m match) explain(t target) (matches bool, why string) {
	var met []string
	for _, demand := range []struct {
		what, shown string
		value       []string
		doubt       error
		patterns    []pattern
	}{
		{"project", t.Project, []string{t.Project}, nil, m.project},
		{"repository", redact.URL(t.RepoURL), t.address.list(), t.doubt, m.repoURL},
		{"namespace", t.Namespace, []string{t.Namespace}, nil, m.namespace},
	} {
		if demand.patterns == nil {
			continue
		}
		subject := fmt.Sprintf("%s %q", demand.what, demand.shown)
		i := slices.IndexFunc(demand.patterns, func(p pattern) bool { return p.matches(demand.value, demand.doubt) })
		switch {
		case i >= 0:
			met = append(met, fmt.Sprintf("%s matches %q", subject, redact.URL(demand.patterns[i].text)))
		case demand.doubt != nil:
			return false, fmt.Sprintf("%s matches no glob: %v", subject, demand.doubt)
		case len(demand.patterns) == 1:
			return false, fmt.Sprintf("%s does not match %q", subject, redact.URL(demand.patterns[0].text))
		default:
			var texts []string
			for _, p := range demand.patterns {
				texts = append(texts, fmt.Sprintf("%q", redact.URL(p.text)))
			}
			return false, fmt.Sprintf("%s matches none of %s", subject, strings.Join(texts, ", "))
		}
	}
	if met == nil {
		return true, "the rule matches everything"
	}
	return true, strings.Join(met, ", ")
}

// everything reports whether no subject fails the match.
func (m match) everything() bool {
	for _, patterns := range [][]pattern{m.project, m.repoURL, m.namespace} {
		if patterns != nil && !slices.ContainsFunc(patterns, func(p pattern) bool { return p.any }) {
			return false
		}
	}
	return true
}
