package admission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"

	"hallmark.dev/hallmark/internal/fields"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// read reads a list of rules; the error has the faults.
func read(t testing.TB, text string) ([]*Rule, error) {
	t.Helper()
	docs, err := yamldoc.Limits{}.Stream("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	faults, root := fields.Open("policy.yaml", docs[0], false)
	r := NewReader(faults)
	var out []*Rule
	for _, item := range root.List() {
		out = append(out, r.Rule(item))
	}
	return out, faults.Err()
}

func mustRead(t testing.TB, text string) []*Rule {
	t.Helper()
	out, err := read(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func objects(t testing.TB, text string) []object.Object {
	t.Helper()
	docs, err := yamldoc.Limits{}.Stream("objects.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []object.Object
	for _, d := range docs {
		if m, ok := d.Value.(map[string]any); ok {
			out = append(out, object.Object{Value: m, Origin: "objects.yaml", Line: d.Line})
		}
	}
	return out
}

// found returns what a rule reports, each as "<kind> <name>: <message>".
func found(r *Rule, list []object.Object) []string {
	out := []string{}
	r.Check(list, "shop", func(i int, message string) {
		out = append(out, fmt.Sprintf("%s %s: %s", list[i].Kind(), list[i].ID().Name, message))
	})
	return out
}

const deployments = "matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}"

// web is a Deployment beside other objects.
const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web, tier: front}}
spec:
  replicas: 5
  template: {spec: {containers: [{name: app, image: registry.example.com/app:1}, {name: proxy, image: docker.io/proxy}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {size: 100Mi}
`

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rule, objects string
		want          []string
	}{
		"holds":   {deployments + "\nvalidations: [{expression: object.spec.replicas == 5}]", web, nil},
		"message": {deployments + "\nvalidations: [{expression: object.spec.replicas < 5, message: too many}]", web, []string{"Deployment web: too many"}},
		"message expression": {deployments + "\nvalidations: [{expression: object.spec.replicas < 5, messageExpression: \"'got ' + string(object.spec.replicas)\", message: too many}]", web,
			[]string{"Deployment web: got 5"}},
		"message expression errs": {deployments + "\nvalidations: [{expression: object.spec.replicas < 5, messageExpression: string(object.spec.none), message: too many}]", web,
			[]string{"Deployment web: too many"}},
		"message expression of two lines": {deployments + "\nvalidations: [{expression: object.spec.replicas < 5, messageExpression: \"'a\\\\nb'\", message: too many}]", web,
			[]string{"Deployment web: too many"}},
		"no message": {deployments + "\nvalidations: [{expression: ' object.spec.replicas < 5 '}]", web, []string{"Deployment web: failed expression: object.spec.replicas < 5"}},
		"two fail": {deployments + "\nvalidations: [{expression: object.spec.replicas < 5, message: a}, {expression: 'true'}, {expression: 'false', message: b}]", web,
			[]string{"Deployment web: a", "Deployment web: b"}},
		"an error is a finding": {deployments + "\nvalidations: [{expression: object.spec.none == 1}]", web,
			[]string{"Deployment web: expression 'object.spec.none == 1' resulted in error: no such key: none"}},
		"an error is none with Ignore": {deployments + "\nfailurePolicy: Ignore\nvalidations: [{expression: object.spec.none == 1}, {expression: 'false', message: still}]", web,
			[]string{"Deployment web: still"}},
		"variables": {deployments + `
variables:
  - {name: images, expression: "object.spec.template.spec.containers.map(c, c.image)"}
  - {name: foreign, expression: "variables.images.filter(i, !i.startsWith('registry.example.com/'))"}
validations: [{expression: variables.foreign.size() == 0, messageExpression: "'not ours: ' + variables.foreign.join(', ')"}]`, web,
			[]string{"Deployment web: not ours: docker.io/proxy"}},
		"a variable that nobody asks for": {deployments + "\nvariables: [{name: bad, expression: object.spec.none}]\nvalidations: [{expression: object.spec.replicas == 5 || variables.bad == 1}]", web, nil},
		"a variable that errs": {deployments + "\nvariables: [{name: bad, expression: object.spec.none}]\nvalidations: [{expression: variables.bad == 1}]", web,
			[]string{`Deployment web: expression 'variables.bad == 1' resulted in error: composited variable "bad" fails to evaluate: no such key: none`}},
		"a condition that is false":     {deployments + "\nmatchConditions: [{name: a, expression: object.metadata.name != 'web'}]\nvalidations: [{expression: 'false'}]", web, nil},
		"one condition false, one errs": {deployments + "\nmatchConditions: [{name: b, expression: object.none == 1}, {name: a, expression: 'false'}]\nvalidations: [{expression: 'false'}]", web, nil},
		"a condition that errs": {deployments + "\nmatchConditions: [{name: a, expression: object.none == 1}]\nvalidations: [{expression: 'false'}]", web,
			[]string{"Deployment web: expression 'object.none == 1' resulted in error: no such key: none"}},
		"a condition that errs, with Ignore": {deployments + "\nfailurePolicy: Ignore\nmatchConditions: [{name: a, expression: object.none == 1}]\nvalidations: [{expression: 'false'}]", web, nil},
		"what is bound": {deployments + `
validations:
  - expression: oldObject == null && params == null && request.operation == 'CREATE' && request.dryRun && request.name == 'web'
      && request.namespace == 'shop' && request.kind.kind == 'Deployment' && request.resource.resource == 'deployments'
      && request.requestKind.version == 'v1' && request.requestResource.group == 'apps' && !has(request.subResource)
    message: differs`, web, nil},
		"functions of Kubernetes": {`
matchConstraints: {resourceRules: [{kinds: [ConfigMap]}]}
validations:
  - expression: quantity(object.data.size).isLessThan(quantity('1Gi')) && ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.1.1')
      && url('https://a.example.com/b').getHost() == 'a.example.com' && 'abc'.find('b.') == 'bc' && [1, 2].sum() == 3
      && !format.dns1123Label().validate('a').hasValue() && object.?none.orValue(1) == 1 && semver('1.2.3').major() == 1
      && {'a':1}.all(k, v, v == 1) && sets.contains([1, 2], [1])
    message: one of them is not there`, web, nil},
		"too much cost": {deployments + "\nvalidations: [{expression: \"[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, true))))))\"}]", web,
			[]string{"Deployment web: expression '[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, true))))))' resulted in error: operation cancelled: actual cost limit exceeded"}},
		"namespaceObject, not in the render":           {deployments + "\nvalidations: [{expression: namespaceObject.metadata.labels.env == 'test'}]", web, nil},
		"namespaceObject, behind a variable":           {deployments + "\nvariables: [{name: env, expression: namespaceObject.metadata.labels.env}]\nvalidations: [{expression: variables.env == 'test'}]", web, nil},
		"namespaceObject, does not decide":             {deployments + "\nvalidations: [{expression: \"object.spec.replicas < 5 && namespaceObject.metadata.labels.env == 'test'\", message: too many}]", web, []string{"Deployment web: too many"}},
		"namespaceObject, in the render":               {deployments + "\nvalidations: [{expression: namespaceObject.metadata.labels.env == 'test', messageExpression: \"namespaceObject.metadata.name\"}]", shopNamespace + web, []string{"Deployment web: shop"}},
		"namespaceObject, for what is in no namespace": {"matchConstraints: {resourceRules: [{resources: [clusterroles]}]}\nvalidations: [{expression: namespaceObject != null, message: none}]", role, []string{"ClusterRole web: none"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule := mustRead(t, "- name: team\n  "+strings.ReplaceAll(tt.rule, "\n", "\n  "))[0]
			if got := found(rule, objects(t, tt.objects)); !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

const shopNamespace = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {env: production}}
---`

const role = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: web}
`

// Neither a message that is computed nor an error shows what a Secret holds.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	list := objects(t, `
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {password: s3cr3t-marker}
`)
	for _, validation := range []string{
		`{expression: "object.stringData.password == ''", messageExpression: "'got ' + object.stringData.password"}`,
		`{expression: "ip(object.stringData.password).family() == 4"}`, // which quotes it
		`{expression: "duration(object.stringData.password) == duration('1s')"}`,
	} {
		got := found(mustRead(t, "- {name: team, matchConstraints: {resourceRules: [{resources: [secrets]}]}, validations: ["+validation+"]}")[0], list)
		if len(got) != 1 || strings.Contains(got[0], "s3cr3t-marker") {
			t.Errorf("%s: got %q", validation, got)
		}
	}
}

// A rule that has spent what it may ends, and says so.
func TestCostOfARender(t *testing.T) {
	t.Parallel()
	r := mustRead(t, "- {name: team, "+deployments+", validations: [{expression: object.spec.replicas < 5}]}")[0]
	list := slices.Repeat(objects(t, web)[:1], 50)
	var got []string
	r.check(list, "shop", 1, func(i int, message string) { got = append(got, fmt.Sprint(i, " ", message)) })
	if len(got) != 2 || got[0] != "0 failed expression: object.spec.replicas < 5" || !strings.HasPrefix(got[1], "1 the rule was not checked for this object") {
		t.Errorf("got %q", got)
	}
}

// What the validations of one object may cost together is bounded, as for the API server.
func TestCostOfAnObject(t *testing.T) {
	t.Parallel()
	r := mustRead(t, "- {name: team, "+deployments+", validations: [{expression: object.spec.replicas == 1}, {expression: object.spec.replicas == 2}]}")[0]
	s := newWorld(nil, "shop").subject(objects(t, web)[0])
	whole, cost := r.guarded(s, 1000)
	if len(whole) != 2 || cost < 2 {
		t.Fatalf("got %q for %d", whole, cost)
	}
	want := []string{"validation failed due to running out of cost budget, no further validation rules will be run"}
	if got, _ := r.guarded(s, cost-1); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	r.ignore = true
	if got, _ := r.guarded(s, cost-1); len(got) > 0 {
		t.Errorf("got %q with failurePolicy Ignore", got)
	}
}

// A variable is evaluated once for an object, and not at all where nobody asks.
func TestVariablesAreEvaluatedOnce(t *testing.T) {
	t.Parallel()
	r := mustRead(t, "- {name: team, "+deployments+", variables: [{name: a, expression: '1'}, {name: b, expression: '1'}], validations: [{expression: variables.a == 1}, {expression: variables.a == variables.a}]}")[0]
	counts := map[string]int{}
	for name, v := range r.variables {
		v.program = counting{v.program, func() { counts[name]++ }}
	}
	r.Check(objects(t, web), "shop", func(int, string) {})
	if counts["variables.a"] != 1 || counts["variables.b"] != 0 {
		t.Errorf("got %v evaluations", counts)
	}
}

type counting struct {
	cel.Program
	count func()
}

func (c counting) Eval(vars any) (ref.Val, *cel.EvalDetails, error) {
	c.count()
	return c.Program.Eval(vars)
}

// A panic of a program is a finding.
func TestPanic(t *testing.T) {
	t.Parallel()
	r := mustRead(t, "- {name: team, "+deployments+", validations: [{expression: 'false'}]}")[0]
	r.validations[0].program = nil
	want := []string{"Deployment web: the expressions of the rule cannot be evaluated: CEL panicked"}
	if got := found(r, objects(t, web)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The JSON of a rule moves with each part of it: a cache tells rules apart by it.
func TestJSON(t *testing.T) {
	t.Parallel()
	text := func(rule string) string {
		data, err := json.Marshal(mustRead(t, rule)[0])
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	a := text("- {name: team, " + deployments + ", validations: [{expression: 'false'}]}")
	if b := text("- {name: team, " + deployments + ", validations: [{expression: '(false)'}]}"); a == b || !strings.Contains(a, "deployments") {
		t.Errorf("got %s for both", a)
	}
}
