package policy

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const three = head + `  - name: sandbox
    match: {project: sandbox-*, namespace: '*-dev'}
    determinism: warn
  - name: payments
    match:
      project: [payments, payments-*]
      repoURL: ['https://git.example.com/payments/*', 'git@git.example.com:payments/*']
    decryption: {keys: [age]}
  - name: rest
    match: {namespace: '{default,kube-*}'}
    renderers: []
`

func TestExplain(t *testing.T) {
	t.Parallel()
	p := mustParse(t, three)
	for _, test := range []struct {
		name    string
		subject Subject
		rule    string
		why     []string
	}{
		{"the first", Subject{"sandbox-a", "", "x-dev"}, `rule "sandbox" (policy.yaml:5)`, []string{
			`project "sandbox-a" matches "sandbox-*", namespace "x-dev" matches "*-dev"`,
		}},
		{"all demands count", Subject{"sandbox-a", "", "default"}, `rule "rest" (policy.yaml:13)`, []string{
			`namespace "default" does not match "*-dev"`,
			`project "sandbox-a" matches none of "payments", "payments-*"`,
			`namespace "default" matches "{default,kube-*}"`,
		}},
		{"one of a list", Subject{"payments-eu", "git@GIT.example.com:payments/api.git", "x"}, `rule "payments" (policy.yaml:8)`, []string{
			`project "payments-eu" does not match "sandbox-*"`,
			`project "payments-eu" matches "payments-*", repository "git@GIT.example.com:payments/api.git" matches "git@git.example.com:payments/*"`,
		}},
		{"none, without the password", Subject{"payments", "https://me:secret@git.example.com/other/api", "x"},
			`the policy's default, since no rule matches project "payments", repository "https://git.example.com/other/api", namespace "x"`, []string{
				`project "payments" does not match "sandbox-*"`,
				`repository "https://git.example.com/other/api" matches none of "https://git.example.com/payments/*", "git@git.example.com:payments/*"`,
				`namespace "x" does not match "{default,kube-*}"`,
			}},
		{"an address in doubt", Subject{"payments", "https://git.example.com/payments/../other", "default"}, `rule "rest" (policy.yaml:13)`, []string{
			`project "payments" does not match "sandbox-*"`,
			`repository "https://git.example.com/payments/../other" matches no glob: its path has the element ".."`,
			`namespace "default" matches "{default,kube-*}"`,
		}},
		{"nothing known", Subject{}, `the policy's default, since no rule matches project "", repository "", namespace ""`, []string{
			`project "" does not match "sandbox-*"`,
			`project "" matches none of "payments", "payments-*"`,
			`namespace "" does not match "{default,kube-*}"`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rule, reasons := p.Explain(test.subject)
			var why []string
			for i, r := range reasons {
				why = append(why, r.Why)
				if want := i == len(reasons)-1 && rule.Line > 0; r.Matches != want || want && r.Rule != rule {
					t.Errorf("reason %d: got %+v", i, r)
				}
			}
			if rule.String() != test.rule || !slices.Equal(why, test.why) {
				t.Errorf("got %s\n%s\nwant %s\n%s", rule, strings.Join(why, "\n"), test.rule, strings.Join(test.why, "\n"))
			}
			if again := p.For(test.subject); !reflect.DeepEqual(again, rule) {
				t.Errorf("For gave %s", again)
			}
		})
	}
	if _, reasons := mustParse(t, head+"  - {name: all, match: {}}\n").Explain(Subject{}); reasons[0].Why != "the rule matches everything" {
		t.Errorf("got %+v", reasons)
	}
}

func TestDefaultIsTheStrictest(t *testing.T) {
	t.Parallel()
	got := mustParse(t, three).For(Subject{})
	if got.Renderers != nil || got.Decryption != nil || got.Determinism != Enforce || got.AllowEmpty || got.Limits != (Limits{}) || got.Line != 0 || got.BuiltIn() {
		t.Errorf("got %+v", got)
	}
}

func TestBuiltIn(t *testing.T) {
	t.Parallel()
	var missing *Policy
	for name, p := range map[string]*Policy{"none": None(), "nil": missing} {
		rule, reasons := p.Explain(Subject{Project: "x"})
		if rule.String() != "no policy" || !rule.BuiltIn() || reasons != nil || p.Len() != 0 || rule.Decryption != nil || rule.Determinism != "" ||
			!rule.AllowEmpty || !rule.AllowsRenderer("helm4") || rule.Limits != (Limits{}) {
			t.Errorf("%s: got %+v", name, rule)
		}
	}
	rule := Caller().For(Subject{})
	if d := rule.Decryption; rule.String() != "no policy, with the caller's own keys" || !rule.BuiltIn() ||
		!d.AllowsKind("kms") || !d.AllowsKey("hc_vault", "http://127.0.0.1:1/v1/t/keys/x") || !d.AllowsKey("age", "") || !d.AllowsRole("x") ||
		d.OutsideSecrets != Warn || rule.Determinism != "" || !rule.AllowEmpty || !rule.AllowsRenderer("plain") {
		t.Errorf("got %+v", rule)
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	r := &Rule{Renderers: []string{"helm3"}}
	if !r.AllowsRenderer("helm3") || r.AllowsRenderer("helm4") || (&Rule{Renderers: []string{}}).AllowsRenderer("helm3") {
		t.Error("renderers")
	}
}

// A rule is part of the key of a cache.
func TestRuleAsJSON(t *testing.T) {
	t.Parallel()
	rules := map[string]*Rule{
		"none": None().For(Subject{}), "caller": Caller().For(Subject{}), "default": mustParse(t, three).For(Subject{}),
	}
	for _, keys := range []string{"[age]", "[pgp]", "[age: x]", "[age: w]", "[age: [x, w]]", "[kms]", "[kms], roles: [x]", "[age], outsideSecrets: warn"} {
		rules[keys] = mustParse(t, head+"  - {name: a, decryption: {keys: "+keys+"}}\n").For(Subject{})
	}
	seen := map[string]string{}
	for name, rule := range rules {
		data, err := json.Marshal(rule)
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[string(data)]; twice {
			t.Errorf("%s and %s are the same: %s", name, other, data)
		}
		seen[string(data)] = name
	}
}

func long(n int) string { return strings.Repeat("x", n) }
