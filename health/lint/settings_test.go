package lint

import (
	"context"
	"fmt"
	"testing"

	argosettings "github.com/argoproj/argo-cd/v2/util/settings"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// TestSettings reads ConfigMaps with Argo CD's own code beside ours. Both have to
// refuse the same ones, and see the same scripts in the others.
func TestSettings(t *testing.T) {
	t.Parallel()
	const script = "return {status = 'Healthy'}"
	type data = map[string]string
	health := func(key string) data { return data{"resource.customizations.health." + key: script} }
	for _, test := range []struct {
		name    string
		data    data
		refused string // the key that we name, "" for none
	}{
		{"nothing", nil, ""},
		{"other keys", data{"url": "https://argocd.example.com", "resource.exclusions": "- x: ["}, ""},
		{"a kind", health("cert-manager.io_Certificate"), ""},
		{"a core kind", health("ConfigMap"), ""},
		{"all", health("all"), ""},
		{"two underscores", health("a_b_c"), "resource.customizations.health.a_b_c"},
		{"two underscores of another type", data{"resource.customizations.actions.a_b_c": ""}, "resource.customizations.actions.a_b_c"},
		{"no kind", health(""), "resource.customizations.health."},
		{"no kind behind the underscore", health("a_"), ""},
		{"no group in front of the underscore", health("_A"), ""},
		{"too few parts", data{"resource.customizations.health": script}, ""},
		{"too few parts and a colon", data{"resource.customizations.": script}, ""},
		{"more dots", health("a.b.c.d_E"), ""},
		{"another beginning", data{"resource.customizationsother.health.x": script}, ""},
		{"another beginning and an unknown type", data{"resource.customizationsother.x.y": script}, "resource.customizationsother.x.y"},
		{"unknown type", data{"resource.customizations.lua.a_B": script}, "resource.customizations.lua.a_B"},
		{"the type in another case", data{"resource.customizations.Health.a_B": script}, "resource.customizations.Health.a_B"},
		{"useOpenLibs", data{"resource.customizations.useOpenLibs.a_B": "true", "resource.customizations.health.a_B": script}, ""},
		{"useOpenLibs as 1", data{"resource.customizations.useOpenLibs.a_B": "1"}, ""},
		{"useOpenLibs as T", data{"resource.customizations.useOpenLibs.a_B": "T"}, ""},
		{"useOpenLibs as yes", data{"resource.customizations.useOpenLibs.a_B": "yes"}, "resource.customizations.useOpenLibs.a_B"},
		{"useOpenLibs with a line break", data{"resource.customizations.useOpenLibs.a_B": "true\n"}, "resource.customizations.useOpenLibs.a_B"},
		{"useOpenLibs empty", data{"resource.customizations.useOpenLibs.a_B": ""}, "resource.customizations.useOpenLibs.a_B"},
		{"ignoreDifferences", data{"resource.customizations.ignoreDifferences.all": "jsonPointers: [/spec]"}, ""},
		{"ignoreDifferences of another type", data{"resource.customizations.ignoreDifferences.all": "jsonPointers: /spec"}, "resource.customizations.ignoreDifferences.all"},
		{"ignoreResourceUpdates that is no YAML", data{"resource.customizations.ignoreResourceUpdates.a_B": "{"}, "resource.customizations.ignoreResourceUpdates.a_B"},
		{"knownTypeFields", data{"resource.customizations.knownTypeFields.a_B": "- {field: spec, type: core/v1/PodSpec}"}, ""},
		{"knownTypeFields as a map", data{"resource.customizations.knownTypeFields.a_B": "{field: spec}"}, "resource.customizations.knownTypeFields.a_B"},
		{"empty YAML", data{customizationsKey: ""}, ""},
		{"YAML of comments", data{customizationsKey: "# nothing\n"}, ""},
		{"YAML", data{customizationsKey: "a/B: {health.lua: \"" + script + "\", health.lua.useOpenLibs: true}"}, ""},
		{"YAML with a quoted wildcard", data{customizationsKey: "'*.a/*': {health.lua: \"" + script + "\"}"}, ""},
		{"YAML with an unquoted wildcard", data{customizationsKey: "*.a/*: {health.lua: x}"}, customizationsKey},
		{"YAML with an unquoted wildcard inside", data{customizationsKey: "a.*/B: {health.lua: x}"}, ""},
		{"YAML that is a text", data{customizationsKey: "text"}, customizationsKey},
		{"YAML that is a list", data{customizationsKey: "[]"}, customizationsKey},
		{"a kind that is a text", data{customizationsKey: "a/B: text"}, customizationsKey},
		{"a kind that is null", data{customizationsKey: "a/B: null"}, customizationsKey}, // it panics
		{"a script that is a map", data{customizationsKey: "a/B: {health.lua: {}}"}, customizationsKey},
		{"a script that is a number", data{customizationsKey: "a/B: {health.lua: 3}"}, customizationsKey},
		{"useOpenLibs as a text in YAML", data{customizationsKey: "a/B: {health.lua.useOpenLibs: 'true'}"}, customizationsKey},
		{"useOpenLibs as yes in YAML", data{customizationsKey: "a/B: {health.lua.useOpenLibs: yes}"}, ""},
		{"ignoreDifferences as a map in YAML", data{customizationsKey: "a/B: {ignoreDifferences: {jsonPointers: []}}"}, customizationsKey},
		{"ignoreDifferences as a text in YAML", data{customizationsKey: "a/B: {ignoreDifferences: 'jsonPointers: [x]'}"}, ""},
		{"ignoreDifferences that is no YAML", data{customizationsKey: "a/B: {ignoreDifferences: '{'}"}, customizationsKey},
		{"unknown fields", data{customizationsKey: "a/B: {health: x, healthLua: y}"}, ""},
		{"fields in another case", data{customizationsKey: "a/B: {HEALTH.LUA: \"" + script + "\"}"}, ""},
		{"a tab", data{customizationsKey: "a/B:\n\thealth.lua: x"}, customizationsKey},
		{"a key twice", data{customizationsKey: "a/B: {health.lua: x}\na/B: {health.lua: \"" + script + "\"}"}, ""},
		{"both places", data{customizationsKey: "a/B: {health.lua: x, health.lua.useOpenLibs: true}", "resource.customizations.health.a_B": script}, ""},
		{"compare options", data{compareKey: "ignoreAggregatedRoles: true\nignoreResourceStatusField: all"}, ""},
		{"compare options off", data{compareKey: "ignoreResourceStatusField: off"}, ""},
		{"compare options as text", data{compareKey: "ignoreResourceStatusField: 'off'"}, ""},
		{"compare options that are no YAML", data{compareKey: "{"}, compareKey},
		{"compare options of another type", data{compareKey: "ignoreAggregatedRoles: 'true'"}, compareKey},
		{"compare options empty", data{compareKey: ""}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ours, refused := readSettings(test.data)
			theirs, err := argoSettings(t, test.data)
			if (err != nil) != (len(refused) > 0) {
				t.Fatalf("Argo CD gives error %v, we refuse %v", err, refused)
			}
			if key := refusedKeys(refused); key != test.refused {
				t.Errorf("refused is %q, want %q", key, test.refused)
			}
			if err != nil {
				return
			}
			for key, o := range theirs {
				if got := ours[key]; o.HealthLua != "" && (got == nil || got.script != o.HealthLua || got.useOpenLibs != o.UseOpenLibs) {
					t.Errorf("%s: got %+v, want %+v", key, got, o)
				}
			}
			for key, o := range ours {
				if o.script != theirs[key].HealthLua {
					t.Errorf("%s: got %q, Argo CD has %q", key, o.script, theirs[key].HealthLua)
				}
			}
		})
	}
}

func refusedKeys(refused []refusal) string {
	keys := ""
	for _, r := range refused {
		keys += r.key
	}
	return keys
}

// argoSettings is Argo CD's own reading. A panic, which ends the controller, counts as
// an error.
func argoSettings(t *testing.T, data map[string]string) (out map[string]argoOverride, err error) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	const namespace = "argocd"
	labels := map[string]string{"app.kubernetes.io/part-of": "argocd"}
	client := fake.NewClientset(
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "argocd-cm", Namespace: namespace, Labels: labels}, Data: data},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "argocd-secret", Namespace: namespace, Labels: labels}},
	)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	overrides, err := argosettings.NewSettingsManager(ctx, client, namespace).GetResourceOverrides()
	out = map[string]argoOverride{}
	for key, o := range overrides {
		out[key] = argoOverride{o.HealthLua, o.UseOpenLibs}
	}
	return out, err
}

type argoOverride struct {
	HealthLua   string
	UseOpenLibs bool
}

func (o argoOverride) String() string { return fmt.Sprintf("%q (%t)", o.HealthLua, o.UseOpenLibs) }
