package policy

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/plugin/rules"
)

// The job rules may be absent from a build of this package alone; the waiver rule is
// always there.
const builtIn = "waiver"

// lintOf reads a section; each of its lines is one of the file from line 7 on.
func lintOf(t testing.TB, section string) (*Lint, error) {
	t.Helper()
	text := head + "  - name: a\n    lint:\n" + regexp.MustCompile(`(?m)^`).ReplaceAllString(section, "      ")
	p, err := Parse("policy.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	return p.For(Subject{}).Lint, nil
}

// team is a rule of a team.
const team = "policies: [{name: owner-label, matchConstraints: {resourceRules: [{kinds: [Deployment]}]}, validations: [{expression: 'false'}]}]"

func TestLint(t *testing.T) {
	t.Parallel()
	l, err := lintOf(t, "default: deny\nrules: {waiver: off, owner-label: warn}\nwaivers: false\nhealthChecks: [{group: example.com, kinds: [Widget]}]\n"+team)
	if err != nil {
		t.Fatal(err)
	}
	for rule, want := range map[string]Level{builtIn: LevelOff, "owner-label": LevelWarn, "another": LevelDeny} {
		if got := l.Level(rule); got != want {
			t.Errorf("%s: got %q, want %q", rule, got, want)
		}
	}
	if l.TakesWaivers() || !l.HealthChecked("example.com", "Widget") || l.HealthChecked("example.com", "Gadget") || l.HealthChecked("", "Widget") {
		t.Errorf("got %+v", l)
	}
	if len(l.Team) != 1 || l.Team[0].Name() != "owner-label" {
		t.Errorf("got the team's rules %v", l.Team)
	}
}

func TestLintLeftOut(t *testing.T) {
	t.Parallel()
	l, err := lintOf(t, "{}")
	if err != nil {
		t.Fatal(err)
	}
	if l.Level(builtIn) != LevelWarn || !l.TakesWaivers() || l.HealthChecked("", "") || len(l.Team) > 0 {
		t.Errorf("got %+v", l)
	}
	if none := mustParse(t, head+"  - name: a\n").For(Subject{}).Lint; none != nil {
		t.Errorf("got %+v without a section", none)
	} else if none.Level(builtIn) != LevelWarn || !none.TakesWaivers() || none.HealthChecked("", "") {
		t.Error("a review without a policy does not warn")
	}
}

// Advice is denied by name only.
func TestLevelOfAdvice(t *testing.T) {
	t.Parallel()
	for section, want := range map[string][2]Level{ // of advice, of a warning
		"default: deny":                         {LevelWarn, LevelDeny},
		"default: deny\nrules: {waiver: deny}":  {LevelDeny, LevelDeny},
		"default: warn\nrules: {waiver: deny}":  {LevelDeny, LevelDeny},
		"default: deny\nrules: {waiver: warn}":  {LevelWarn, LevelWarn},
		"default: deny\nrules: {waiver: 'off'}": {LevelOff, LevelOff},
		"default: off":                          {LevelOff, LevelOff},
	} {
		l, err := lintOf(t, section)
		if err != nil {
			t.Fatal(err)
		}
		got := [2]Level{l.Of(rules.Finding{Rule: builtIn, Severity: rules.Info}), l.Of(rules.Finding{Rule: builtIn, Severity: rules.Warning})}
		if got != want {
			t.Errorf("%q: got %q, want %q", section, got, want)
		}
	}
}

func TestLintFaults(t *testing.T) {
	t.Parallel()
	rule := func(fields string) string {
		return "policies:\n  - name: owner-label\n" + regexp.MustCompile(`(?m)^`).ReplaceAllString(fields, "    ")
	}
	const about = "matchConstraints: {resourceRules: [{kinds: [Deployment]}]}\n"
	const isFalse = "validations: [{expression: 'false'}]\n"
	for name, tt := range map[string]struct{ section, want string }{
		"not a mapping":      {"[]", "7:7: rules[0].lint: got list, want a mapping"},
		"unknown field":      {"levels: {}", `7:7: rules[0].lint: unknown field "levels", want one of default, rules, waivers, healthChecks, policies`},
		"default":            {"default: error", `7:16: rules[0].lint.default: got "error", want one of off, warn, deny`},
		"default, a flag":    {"default: true", "7:16: rules[0].lint.default: got bool, want one of off, warn, deny"},
		"waivers":            {"waivers: never", "7:16: rules[0].lint.waivers: got string, want true or false"},
		"unknown rule":       {"rules:\n  waver: deny", `8:16: rules[0].lint.rules.waver: there is no rule "waver"; did you mean waiver?`},
		"unknown team rule":  {"rules: {owners-label: deny}\n" + team, `7:29: rules[0].lint.rules.owners-label: there is no rule "owners-label"; did you mean owner-label?`},
		"a word of the name": {"rules: {label: deny}\n" + team, `7:22: rules[0].lint.rules.label: there is no rule "label"; did you mean owner-label?`},
		"nothing near":       {"rules: {zzz: deny}", `7:20: rules[0].lint.rules.zzz: there is no rule "zzz"`},
		"rules, a list":      {"rules: [waiver]", "7:14: rules[0].lint.rules: got list, want a mapping of rules to levels"},
		"level":              {"rules: {waiver: block}", `7:23: rules[0].lint.rules.waiver: got "block", want one of off, warn, deny`},
		"health checks": {"healthChecks: [{kinds: [Widget]}, {group: a}]",
			"7:22: rules[0].lint.healthChecks[0]: group: missing, want the API group of the kinds\n7:41: rules[0].lint.healthChecks[1]: kinds: missing, want at least one"},
		"the name of a built-in rule": {"policies: [{name: waiver, " + strings.TrimSpace(about) + ", " + strings.TrimSpace(isFalse) + "}]",
			`7:18: rules[0].lint.policies[0]: the name "waiver" is that of a built-in rule`},
		"a name twice": {strings.TrimSuffix(team, "]") + ", " + strings.TrimPrefix(team, "policies: ["), `7:137: rules[0].lint.policies[1]: the name "owner-label" is taken by the rule in line 7`},
		"no name":      {"policies: [{" + strings.TrimSpace(about) + ", " + strings.TrimSpace(isFalse) + "}]", "7:18: rules[0].lint.policies[0]: name: missing, want a name that no other rule has"},
		"a name that is no annotation": {"policies: [{name: Owner Label, " + strings.TrimSpace(about) + ", " + strings.TrimSpace(isFalse) + "}]",
			`7:25: rules[0].lint.policies[0].name: got "Owner Label", want lower-case letters, digits and hyphens, at most 63, since the name goes into the annotation that waives the rule`},
		"nothing else": {rule("failurePolicy: Fail"),
			"8:11: rules[0].lint.policies[0]: matchConstraints: missing, want the resources that the rule is about\n8:11: rules[0].lint.policies[0]: validations: missing, want at least one"},
		"what cannot be had": {rule(about + isFalse + "paramKind: {apiVersion: v1, kind: ConfigMap}\nauditAnnotations: [{key: a}]"),
			"11:22: rules[0].lint.policies[0].paramKind: a parameter is an object of the cluster, which is not seen here; write its value into a variable\n" +
				"12:29: rules[0].lint.policies[0].auditAnnotations: there is no audit log here; leave it out, or leave the rule to the cluster"},
		"syntax": {rule(about + "validations:\n  - expression: object.spec.replicas <\n"),
			"11:49: CEL: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"},
		"in the second line of a block": {rule(about + "validations:\n  - message: m\n    expression: |\n      object.spec.a == 1 &&\n        replicas < 5\n"),
			"14:19: CEL: undeclared reference to 'replicas'"},
		"authorizer": {rule(about + "validations: [{expression: \"authorizer.group('').resource('pods').check('get').allowed()\"}]"),
			"10:39: CEL: authorizer: who may do what is known to a cluster only"},
		"request.userInfo": {rule(about + "validations: [{expression: \"request.userInfo.username == 'a' && request.options == null\"}]"),
			"10:46: CEL: request.userInfo: a render is nobody's request\n10:82: CEL: request.options: a render is nobody's request"},
		"a type that is not known": {rule(about + "validations: [{expression: object.spec.suspend}]"), "10:49: got an expression of type dyn, want bool"},
		"not bool":                 {rule(about + "validations: [{expression: size(object.spec)}]"), "10:42: got an expression of type int, want bool"},
		"a message that is no text": {rule(about + "validations: [{expression: 'false', messageExpression: \"1\"}]"),
			"10:67: got an expression of type int, want string"},
		"a message of two lines": {rule(about + "validations: [{expression: 'false', message: \"a\\nb\"}]"), "10:56: rules[0].lint.policies[0].validations[0].message: the message has more than one line"},
		"no message for two lines": {rule(about + "validations:\n  - expression: |-\n      true &&\n      false"),
			"11:15: rules[0].lint.policies[0].validations[0]: message: missing, and an expression of several lines cannot be one"},
		"reason":                 {rule(about + "validations: [{expression: 'false', reason: Because}]"), `10:55: rules[0].lint.policies[0].validations[0].reason: got "Because", want one of Unauthorized, Forbidden, Invalid, RequestEntityTooLarge`},
		"an expression is empty": {rule(about + "validations: [{expression: ' '}]"), "10:38: rules[0].lint.policies[0].validations[0].expression: the expression is empty"},
		"conditions": {rule(about + isFalse + "matchConditions: [{expression: 'true'}, {name: a, expression: namespaceObject == null}, {name: a, expression: 'true'}]"),
			"11:29: rules[0].lint.policies[0].matchConditions[0]: name: missing\n11:73: CEL: undeclared reference to 'namespaceObject'\n" +
				`11:106: rules[0].lint.policies[0].matchConditions[2].name: there are two conditions "a"`},
		"variables": {rule(about + "variables: [{name: in, expression: '1'}, {name: b, expression: variables.c}, {name: c, expression: '1'}, {name: c, expression: '2'}, {name: d}]\nvalidations: [{expression: variables.c == 'x'}]"),
			`10:30: rules[0].lint.policies[0].variables[0].name: "in" cannot be the name of a variable` + "\n10:74: CEL: there is no variable \"c\" above\n" +
				`10:123: rules[0].lint.policies[0].variables[3].name: there are two variables "c"` + "\n10:144: rules[0].lint.policies[0].variables[4]: expression: missing\n" +
				"11:50: CEL: found no matching overload for '_==_' applied to '(int, string)'"},
		"constraints": {rule("matchConstraints:\n  resourceRules: [{apiGroups: []}, {resources: [a], kinds: [A]}, {resources: [a], operations: [READ], scope: Cluster}]\n  matchPolicy: Fuzzy\n  objectSelector: {matchExpressions: [{key: a, operator: Like}]}\n" + isFalse),
			"10:29: rules[0].lint.policies[0].matchConstraints.resourceRules[0]: resources: missing, want at least one, or kinds\n" +
				"10:41: rules[0].lint.policies[0].matchConstraints.resourceRules[0].apiGroups: the list is empty, so nothing matches\n" +
				"10:70: rules[0].lint.policies[0].matchConstraints.resourceRules[1].kinds: resources and kinds are both there, want one of them\n" +
				`10:106: rules[0].lint.policies[0].matchConstraints.resourceRules[2].operations[0]: got "READ", want one of *, CREATE, UPDATE, DELETE, CONNECT` + "\n" +
				"10:120: rules[0].lint.policies[0].matchConstraints.resourceRules[2].scope: whether a custom resource is namespaced is known to a cluster only; name the resources\n" +
				`11:26: rules[0].lint.policies[0].matchConstraints.matchPolicy: got "Fuzzy", want one of Exact, Equivalent` + "\n" +
				`12:68: rules[0].lint.policies[0].matchConstraints.objectSelector.matchExpressions[0].operator: got "Like", want one of In, NotIn, Exists, DoesNotExist`},
		"a selector": {rule("matchConstraints:\n  resourceRules: [{kinds: [A]}]\n  objectSelector: {matchLabels: {a: 1}}\n  namespaceSelector: {matchExpressions: [{key: a, operator: In}]}\n" + isFalse),
			"11:43: rules[0].lint.policies[0].matchConstraints.objectSelector.matchLabels: a: got number, want a string\n" +
				"12:32: rules[0].lint.policies[0].matchConstraints.namespaceSelector: values: Invalid value: []string(nil): for 'in', 'notin' operators, values set can't be empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := lintOf(t, tt.section)
			if err == nil {
				t.Fatal("no fault")
			}
			if got := strings.ReplaceAll(err.Error(), "policy.yaml:", ""); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// A fault of an expression has the remedy that its author needs.
func TestLintRemedies(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"spec.replicas == 1":   "an expression begins at object, oldObject, request, params, namespaceObject or variables",
		"variables.a == 1":     "an expression sees the variables that are declared above it; matchConditions see none",
		"object.spec.x":        "compare the field with something, or convert it: field == true, string(field)",
		"authorizer == null":   "leave the condition to the policy in the cluster; the package comment of plugin/rules/admission lists what is not as there",
		"must have an owner !": "an expression is CEL; a plain text needs quotes of its own: \"'text'\"",
	} {
		_, err := lintOf(t, "policies: [{name: a, matchConstraints: {resourceRules: [{kinds: [A]}]}, validations: [{expression: "+expression+"}]}]")
		if got := diag.Hint(err); got != want {
			t.Errorf("%s: got %q, want %q (%v)", expression, got, want, err)
		}
	}
}

// A cache tells the rules of two policies apart by their JSON.
func TestLintInJSON(t *testing.T) {
	t.Parallel()
	var texts []string
	for _, section := range []string{
		"{}", "default: deny", "rules: {waiver: deny}", "waivers: false", "healthChecks: [{group: a, kinds: [B]}]", team,
		strings.Replace(team, "'false'", "'true'", 1), strings.Replace(team, "Deployment", "Job", 1), strings.Replace(team, "'false'", "'false', message: m", 1),
	} {
		l, err := lintOf(t, section)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(&Rule{Lint: l})
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(texts, string(text)) {
			t.Errorf("%s: the JSON %s is that of another section", section, text)
		}
		texts = append(texts, string(text))
	}
}

// The example in the package comment is whole.
func TestPackageCommentLint(t *testing.T) {
	t.Parallel()
	text := regexp.MustCompile(`(?m)^lint:\n`).ReplaceAllString(strings.TrimRight(examples(t)[3], "\n"), "")
	text = strings.ReplaceAll(text, "job-deadline: deny, image-tag: off, ", "")
	l, err := lintOf(t, regexp.MustCompile(`(?m)^  `).ReplaceAllString(text, ""))
	if err != nil {
		t.Fatal(err)
	}
	if l.Level("owner-label") != LevelDeny || len(l.Team) != 1 || len(l.HealthChecks) != 1 {
		t.Errorf("got %+v", l)
	}
}
