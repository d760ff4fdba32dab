package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// placed is a finding with what it is about.
func placed(findings []Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, fmt.Sprintf("%d %s %s %s", f.Line, f.Severity, f.Rule, f.Key))
	}
	return out
}

// fine is a script without a fault, nothing and raising have one, on one line each.
const (
	fine    = `return {status = "Progressing", message = ""}`
	nothing = `return nil`
	raising = `local x = nil .. 1`
)

func TestConfigMap(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm}\ndata:\n"
	for _, test := range []struct {
		name, text string
		want       []string
		message    string // of the first
	}{
		{"sound", head + "  resource.customizations.health.x.io_A: |\n    " + fine, nil, ""},
		{"a literal", head + "  resource.customizations.health.x.io_A: |\n    -- one\n\n    " + nothing + " .. 1", []string{"8 error raises resource.customizations.health.x.io_A"}, "cannot perform concat operation between nil and number"},
		{"a quoted text", head + "  url: x\n  resource.customizations.health.x.io_A: \"" + nothing + " .. 1\"", []string{"6 error raises resource.customizations.health.x.io_A"}, ""},
		{"a literal in a literal", head + "  resource.customizations: |\n    x.io/A:\n      health.lua: |\n        -- one\n        x = \n        = y",
			[]string{"10 error syntax resource.customizations: x.io/A"}, "syntax error"},
		{"a plain text in a literal", head + "  resource.customizations: |\n    # x\n    x.io/A:\n      health.lua: " + nothing, []string{"8 error returns-nil resource.customizations: x.io/A"}, "returns nil"},
		{"a second document", "kind: ConfigMap\nmetadata: {name: other}\ndata: {resource.exclusions: x}\n---\n" + head + "  resource.customizations.health.A: |\n\n    " + raising,
			[]string{"11 error raises resource.customizations.health.A"}, ""},
		{"the data alone", "resource.customizations.health.A: " + nothing, []string{"1 error returns-nil resource.customizations.health.A"}, ""},
		{"values of the chart", "configs:\n  cm:\n    create: true\n    resource.customizations.health.A: |\n      " + raising + "\n    resource.customizations.useOpenLibs.A: true",
			[]string{"5 error raises resource.customizations.health.A"}, ""},
		{"values of a subchart", "argo-cd:\n  configs:\n    cm:\n      resource.customizations.health.A: " + nothing, []string{"4 error returns-nil resource.customizations.health.A"}, ""},
		{"the operator", "kind: ArgoCD\nspec:\n  resourceHealthChecks:\n  - {group: x.io, kind: B, check: '" + fine + "'}\n  - group: x.io\n    kind: A\n    check: |\n      -- one\n      " + raising,
			[]string{"9 error raises spec.resourceHealthChecks[1]"}, ""},
		{"JSON", `{"kind": "ConfigMap", "metadata": {"name": "argocd-cm"}, "data": {"resource.customizations.health.A": "return nil"}}`,
			[]string{"1 error returns-nil resource.customizations.health.A"}, ""},
		{"another name", "kind: ConfigMap\nmetadata: {name: patch}\ndata:\n  resource.customizations.health.A: " + nothing, []string{"4 error returns-nil resource.customizations.health.A"}, ""},

		{"libraries", head + "  resource.customizations.health.A: |\n    local s = string.lower('A')\n    " + fine + "\n  resource.customizations.useOpenLibs.A: 'true'", nil, ""},
		{"libraries in YAML", head + "  resource.customizations: |\n    x.io/A: {health.lua: 'local s = string.lower(\"A\") " + fine + "', health.lua.useOpenLibs: true}", nil, ""},
		{"no libraries", head + "  resource.customizations.health.A: |\n    local s = string.lower('A')\n    " + fine,
			[]string{"6 error missing-library resource.customizations.health.A"}, "string.lower is nil"},

		{"refused", head + "  url: x\n  resource.customizations.health.a_b_c: x\n  resource.customizations.kind.A: x\n  resource.customizations.useOpenLibs.A: 'yes'",
			[]string{"6 error refused resource.customizations.health.a_b_c", "7 error refused resource.customizations.kind.A", "8 error refused resource.customizations.useOpenLibs.A"},
			`more than one _ in "a_b_c"`},
		{"YAML that breaks off", head + "  resource.customizations: |\n    x.io/A:\n      health.lua: 'x", []string{"8 error refused resource.customizations"}, ""},
		{"another type", head + "  resource.customizations: |\n    x.io/A: {health.lua: 3}", []string{"5 error refused resource.customizations"}, "cannot unmarshal number"},
		{"a kind that is null", head + "  resource.customizations: |\n    x.io/A:", []string{"5 error refused resource.customizations"}, "x.io/A is null, on which Argo CD crashes"},
		{"compare options", head + "  resource.compareoptions: '{'", []string{"5 error refused resource.compareoptions"}, ""},
		{"an unquoted wildcard", head + "  resource.customizations: |\n    x.io/A: {}\n    *.x.io/*:\n      health.lua: x", []string{"7 error unquoted-wildcard resource.customizations"}, "*.x.io/* is an alias in YAML"},
		{"a wildcard in a key", head + "  resource.customizations.health.*.x.io_A: |\n    " + fine, []string{"5 error wildcard-split-key resource.customizations.health.*.x.io_A"}, "the API server takes"},
		{"a slash in a key", head + "  resource.customizations.health.x.io/A: |\n    " + fine, []string{"5 error refused resource.customizations.health.x.io/A"}, "no name of a key"},
		{"a boolean", head + "  resource.customizations.useOpenLibs.A: true\n  resource.customizations.health.A: " + fine, nil, ""},
		{"no text", head + "  admin.enabled: false\n  url:\n  resource.customizations.actions.A: {}",
			[]string{"5 error not-text admin.enabled", "6 error not-text url", "7 error not-text resource.customizations.actions.A"}, "the value is the value false without quotes"},

		{"all", head + "  resource.customizations.health.all: " + fine, []string{"5 warning wildcard-over-built-in resource.customizations.health.all"},
			"*/* wins against the checks that Argo CD brings along for apiregistration.k8s.io/APIService, apps/DaemonSet, apps/Deployment"},
		{"a wildcard over a script", head + "  resource.customizations: |\n    \"*.strimzi.io/*\": {health.lua: '" + fine + "'}", []string{"6 warning wildcard-over-built-in resource.customizations"}, "kafka.strimzi.io/Kafka"},
		{"a wildcard over a kind with a key", head + "  resource.customizations: |\n    \"batch/*\": {health.lua: '" + fine + "'}\n  resource.customizations.health.batch_Job: " + fine, nil, ""},
		{"overlap", head + "  resource.customizations: |\n    \"*.x.io/*\": {health.lua: '" + fine + "'}\n    a.*/*: {health.lua: '" + fine + "'}\n    b/*: {health.lua: '" + fine + "'}\n    c.*/*: {actions: x}",
			[]string{"7 error overlapping-wildcards resource.customizations"}, "*.x.io/* and a.*/* both match a.x.io/x"},
		{"no pattern", head + "  resource.customizations: |\n    \"x.io/[A\": {health.lua: '" + fine + "'}", []string{"6 error bad-pattern resource.customizations"}, "x.io/[A is no pattern"},
		{"an open brace", head + "  resource.customizations: |\n    \"x.io/{A\": {health.lua: '" + fine + "'}", []string{"6 error bad-pattern resource.customizations"}, "a brace is not closed, and Argo CD may crash"},
		{"two places", head + "  resource.customizations: |\n    x.io/A: {health.lua: '" + nothing + "'}\n  resource.customizations.health.x.io_A: " + fine,
			[]string{"7 warning two-places resource.customizations.health.x.io_A"}, "x.io/A has a health script in resource.customizations too"},

		{"ignored", head + "  resource.customizations.health: x\n  resource.customizations.health._A: " + fine + "\n  resource.customizations.health.x.io_: " + fine +
			"\n  resource.customization.health.x.io_A: x\n  resource.customizations.health.B: ''\n  resource.customizations.useOpenLibs.C: 'true'",
			[]string{
				"5 warning ignored resource.customizations.health", "6 warning ignored resource.customizations.health._A", "7 warning ignored resource.customizations.health.x.io_",
				"8 warning ignored resource.customization.health.x.io_A", "9 warning ignored resource.customizations.health.B", "10 warning ignored resource.customizations.useOpenLibs.C",
			}, ""},
		{"unknown fields", head + "  resource.customizations: |\n    x.io/A:\n      actions: x\n      health: x", []string{"8 warning ignored resource.customizations"}, `x.io/A: Argo CD knows no field "health"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			findings, err := ConfigMap("cm.yaml", []byte(test.text), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if test.name == "a boolean" { // the API server refuses it, and Argo CD would read true
				test.want = []string{"5 error not-text resource.customizations.useOpenLibs.A"}
			}
			if got := placed(findings); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q\n%+v", got, test.want, findings)
			}
			if test.message != "" && (len(findings) == 0 || !strings.Contains(findings[0].Message, test.message)) {
				t.Errorf("got %+v, want a message with %q", findings, test.message)
			}
		})
	}
}

func TestConfigMapFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"another kind", "kind: Secret\ndata: {a: b}", "cm.yaml: there is no argocd-cm in it"},
		{"another ConfigMap", "kind: ConfigMap\nmetadata: {name: x}\ndata: {a: b}", "cm.yaml: there is no argocd-cm in it"},
		{"a list", "- a", "cm.yaml: there is no argocd-cm in it"},
		{"nothing", "", "cm.yaml: there is no argocd-cm in it"},
		{"no YAML", "a: [", "cm.yaml:"},
		{"a script", fine, "cm.yaml:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if findings, err := ConfigMap("cm.yaml", []byte(test.text), Options{}); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v and error %v, want %q", findings, err, test.want)
			}
		})
	}
}

// TestConfigMapObjects: an object is tried on the script that Argo CD would take.
func TestConfigMapObjects(t *testing.T) {
	t.Parallel()
	const text = `
resource.customizations: |
  "*.x.io/*": {health.lua: 'return {status = obj.only_wildcard}'}
  a.x.io/A: {health.lua: 'return {status = obj.only_exact}'}
resource.customizations.health.C: return {status = obj.only_core}`
	object := func(version, kind string) Object {
		return Object{Name: kind, Value: map[string]any{"apiVersion": version, "kind": kind, "status": map[string]any{}}}
	}
	findings, err := ConfigMap("cm.yaml", []byte(text), Options{Objects: []Object{
		object("a.x.io/v1", "A"), object("a.x.io/v1", "B"), object("v1", "C"), object("c.io/v1", "C"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	// The script returns no status, and each object adds itself and an object without
	// its status to what was made up. The largest number of cases is that of the
	// script that got the most objects.
	cases := map[string]int{}
	for _, f := range findings {
		if f.Rule == InvalidStatus || f.Rule == ReturnsEmpty {
			cases[f.Key] += f.Cases
		}
	}
	without, err := ConfigMap("cm.yaml", []byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range without {
		if f.Rule == InvalidStatus || f.Rule == ReturnsEmpty {
			cases[f.Key] -= f.Cases
		}
	}
	for _, key := range []string{"resource.customizations: *.x.io/*", "resource.customizations: a.x.io/A", "resource.customizations.health.C"} {
		if cases[key] != cases["resource.customizations.health.C"] || cases[key] <= 0 {
			t.Errorf("%s was tried on %d more objects; every script should get one object: %v", key, cases[key], cases)
		}
	}
}
