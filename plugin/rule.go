package plugin

import (
	"cmp"
	"errors"
	"fmt"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/plugin/decrypt"
	"hallmark.dev/hallmark/plugin/policy"
)

// Policy is a RenderPolicy.
type Policy = policy.Policy

// Keys say where the private keys for SOPS files are.
type Keys = decrypt.Keys

// rule is the rule of the policy for the application. What is matched is what
// Argo CD says of the Application, and nothing that its author can write.
func (r *Request) rule() *policy.Rule {
	return r.Policy.For(policy.Subject{Project: r.Project, RepoURL: r.RepoURL, Namespace: r.Namespace})
}

// limits are those of the render.
func (r *Request) limits() Limits {
	rule, l := r.rule().Limits, r.Limits
	return Limits{
		Objects:     cmp.Or(rule.Objects, l.Objects),
		OutputBytes: cmp.Or(rule.OutputBytes, l.OutputBytes),
		MemoryBytes: cmp.Or(rule.MemoryBytes, l.MemoryBytes),
		RenderTime:  cmp.Or(rule.RenderTime, l.RenderTime),
	}.orDefault()
}

// TreeLimits are the limits of the tree: those of the policy, else those given.
func (r *Request) TreeLimits(l TreeLimits) TreeLimits {
	rule := r.rule().Limits
	return TreeLimits{
		Files:     cmp.Or(rule.Files, l.Files),
		FileBytes: cmp.Or(rule.FileBytes, l.FileBytes),
		TreeBytes: cmp.Or(rule.TreeBytes, l.TreeBytes),
	}
}

const hintWish = "ask for something stricter, or let the platform team change the rule; `hallmark policy explain` shows which one wins"

// grant settles the parameters that a policy bounds, and refuses wishes for more
// than the rule allows.
func grant(rule *policy.Rule, p *Parameters) error {
	var faults []error
	switch mode := p.Determinism; {
	case mode == "":
		p.Determinism = rule.Determinism
	case rule.AllowsDeterminism(mode):
	case mode == DeterminismDerive:
		faults = append(faults, fmt.Errorf("parameter %q: %q is not allowed by %s", "determinism", mode, rule))
	default:
		faults = append(faults, fmt.Errorf("parameter %q: %q is weaker than %q, which holds by %s", "determinism", mode, rule.Determinism, rule))
	}
	if p.AllowEmpty && !rule.AllowEmpty {
		faults = append(faults, fmt.Errorf("parameter %q: an empty render is not allowed by %s", "allow-empty", rule))
	}
	if len(faults) == 0 {
		return nil
	}
	return diag.WithHint(errors.Join(faults...), hintWish)
}

// grantRenderer refuses a renderer that the rule does not allow.
func grantRenderer(rule *policy.Rule, name string) error {
	if rule.AllowsRenderer(name) {
		return nil
	}
	return diag.WithHint(fmt.Errorf("the renderer %q is not allowed by %s", name, rule),
		"the parameter \"renderer\" names another; or let the platform team change the rule, which `hallmark policy explain` shows")
}

// permit is what the rule says of decryption.
func permit(rule *policy.Rule) *decrypt.Permit {
	p := &decrypt.Permit{}
	if !rule.BuiltIn() {
		p.By = rule.String()
	}
	if d := rule.Decryption; d != nil {
		p.Decrypt = true
		if !d.Any {
			p.Key, p.Role = d.AllowsKey, d.AllowsRole
		}
	}
	return p
}

// IsKey reports whether err says that no key opened a file: a matter of those who
// hold the keys.
func IsKey(err error) bool { return errors.Is(err, decrypt.ErrKey) }

// IsForbidden reports whether err says that the policy keeps a file closed.
func IsForbidden(err error) bool { return errors.Is(err, decrypt.ErrForbidden) }

// Decrypted is a SOPS file that was decrypted, with the public parts of the keys
// that opened it.
type Decrypted = decrypt.Opened
