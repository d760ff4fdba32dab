package admission

import (
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// Which objects a rule is about, where the API server's verdicts are no guide: kinds in
// place of resources, names of resources that nobody defines, and what a render does
// not know.
func TestMatch(t *testing.T) {
	t.Parallel()
	const (
		widget     = "apiVersion: example.com/v1beta1\nkind: Widget\nmetadata: {name: w}\n"
		definition = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgetry.example.com}\nspec: {group: example.com, scope: Cluster, names: {kind: Widget, plural: widgetry}}\n"
		anyKind    = "resourceRules: [{resources: ['*']}]"
	)
	tests := map[string]struct {
		constraints, objects string
		want                 bool // about the first object
	}{
		"a kind":                       {"resourceRules: [{kinds: [Widget]}]", widget, true},
		"another kind":                 {"resourceRules: [{kinds: [Gadget]}]", widget, false},
		"a kind of another group":      {"resourceRules: [{apiGroups: [apps], kinds: [Widget]}]", widget, false},
		"a kind in another version":    {"resourceRules: [{apiVersions: [v1], kinds: [Widget]}]", widget, false},
		"every kind":                   {"resourceRules: [{kinds: ['*']}]", widget, true},
		"a plural by convention":       {"resourceRules: [{resources: [widgets]}]", widget, true},
		"a plural that is defined":     {"resourceRules: [{resources: [widgetry]}]", widget + definition, true},
		"not the one by convention":    {"resourceRules: [{resources: [widgets]}]", widget + definition, false},
		"updates":                      {"resourceRules: [{operations: [UPDATE], kinds: [Widget]}]", widget, true},
		"deletes":                      {"resourceRules: [{operations: [DELETE], kinds: [Widget]}]", widget, false},
		"excluded":                     {anyKind + "\nexcludeResourceRules: [{kinds: [Widget], resourceNames: [w]}]", widget, false},
		"another name is excluded":     {anyKind + "\nexcludeResourceRules: [{kinds: [Widget], resourceNames: [v]}]", widget, true},
		"labels, of no object":         {anyKind + "\nobjectSelector: {matchLabels: {a: b}}", widget, false},
		"a Namespace not known":        {anyKind + "\nnamespaceSelector: {matchLabels: {env: test}}", widget, false},
		"nor what it has not":          {anyKind + "\nnamespaceSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}", widget, false},
		"the name of a Namespace":      {anyKind + "\nnamespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}", widget, true},
		"another name":                 {anyKind + "\nnamespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [shop]}]}", widget, false},
		"a Namespace that is known":    {anyKind + "\nnamespaceSelector: {matchLabels: {env: production}}", widget + "---" + strings.TrimSuffix(shopNamespace, "---"), true},
		"one with other labels":        {anyKind + "\nnamespaceSelector: {matchLabels: {env: test}}", widget + "---" + strings.TrimSuffix(shopNamespace, "---"), false},
		"in no Namespace":              {anyKind + "\nnamespaceSelector: {matchLabels: {env: test}}", widget + definition, true},
		"a kind of Kubernetes in none": {anyKind + "\nnamespaceSelector: {matchLabels: {env: test}}", role, true},
		"a Namespace itself":           {anyKind + "\nnamespaceSelector: {matchLabels: {env: test}}", strings.TrimSuffix(shopNamespace, "---"), false},
		"an empty selector":            {anyKind + "\nnamespaceSelector: {}", widget, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule := mustRead(t, "- name: team\n  matchConstraints:\n    "+strings.ReplaceAll(tt.constraints, "\n", "\n    ")+"\n  validations: [{expression: 'false'}]")[0]
			got := false
			rule.Check(objects(t, tt.objects), "shop", func(i int, _ string) { got = got || i == 0 })
			if got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

func TestPlural(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"Deployment": "deployments", "Ingress": "ingresses", "NetworkPolicy": "networkpolicies", "Gateway": "gateways", "Endpoints": "endpoints",
		"StorageClass": "storageclasses", "IPAddress": "ipaddresses", "Mesh": "meshes", "Prometheus": "prometheuses", "CronJob": "cronjobs", "": "",
	} {
		if got := plural(kind); got != want {
			t.Errorf("%s: got %q, want %q", kind, got, want)
		}
	}
}

// Rules are told about every object that a render can hold, also of odd shapes.
func FuzzCheck(f *testing.F) {
	f.Add("metadata: {name: a, labels: [1]}\nspec: {replicas: x}")
	f.Add("metadata: 1\nkind: 2\napiVersion: a/b/c")
	rules := mustRead(f, "- {name: team, matchConstraints: {resourceRules: [{resources: ['*']}], objectSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}}, "+
		"validations: [{expression: \"object.spec.replicas > 1 && request.name == 'a' && namespaceObject == null\", messageExpression: string(object.spec.replicas)}]}")
	f.Fuzz(func(t *testing.T, text string) {
		docs, err := yamldoc.Limits{}.Stream("fuzz.yaml", []byte(text))
		if err != nil {
			t.Skip()
		}
		var list []object.Object
		for _, d := range docs {
			if value, ok := d.Value.(map[string]any); ok {
				list = append(list, object.Object{Value: value})
			}
		}
		rules[0].Check(list, "shop", func(i int, message string) {
			if message == "" || strings.Contains(message, "\n") || strings.Contains(message, "panicked") {
				t.Errorf("got %q of object %d", message, i)
			}
		})
	})
}
