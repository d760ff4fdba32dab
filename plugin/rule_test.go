package plugin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/plugin/policy"
	"hallmark.dev/hallmark/plugin/source"
)

func parsePolicy(t *testing.T, rules string) *Policy {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte("apiVersion: hallmark.dev/v1\nkind: RenderPolicy\nspec:\n  rules:\n"+rules))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// An application can ask for less than its rule allows, and not for more, wherever
// it asks.
func TestWishes(t *testing.T) {
	t.Parallel()
	const (
		strict  = "  - {name: strict}\n"
		lenient = "  - {name: lenient, determinism: warn, allowEmpty: true}\n"
		random  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {{ randAlphaNum 8 }}}\n"
	)
	refused := func(what string) string { return what + ` by rule "strict" (policy.yaml:5)` }
	byDefault := func(what string) string {
		return what + ` by the policy's default, since no rule matches project "payments", repository "https://git.example.com/shop", namespace "shop"`
	}
	for name, tc := range map[string]struct {
		rules, template, file string
		wish                  string
		want                  string // of the error
	}{
		"warn, enforced":                  {strict, random, "", "determinism=warn", refused(`parameter "determinism": "warn" is weaker than "enforce", which holds`)},
		"warn in the file":                {strict, random, "determinism: warn", "", refused(`parameter "determinism": "warn" is weaker than "enforce", which holds`)},
		"warn, by the default":            {"  - {name: other, match: {project: other}, determinism: warn}\n", random, "", "determinism=warn", byDefault(`parameter "determinism": "warn" is weaker than "enforce", which holds`)},
		"nothing, enforced":               {strict, random, "", "", "differs from render to render"},
		"nothing, where it may differ":    {lenient, random, "", "", ""},
		"warn, where it may differ":       {lenient, random, "", "determinism=warn", ""},
		"enforce, where it may differ":    {lenient, random, "", "determinism=enforce", "differs from render to render"},
		"the file may be stricter":        {lenient, random, "determinism: enforce", "", "differs from render to render"},
		"empty, not allowed":              {strict, "", "", "allow-empty=true", refused(`parameter "allow-empty": an empty render is not allowed`)},
		"empty in the file":               {strict, "", "allow-empty: true", "", refused(`parameter "allow-empty": an empty render is not allowed`)},
		"empty, allowed":                  {lenient, "", "", "allow-empty=true", ""},
		"empty, allowed and not asked":    {lenient, "", "", "", "the render holds no objects"},
		"a renderer, not allowed":         {"  - {name: strict, renderers: [kustomize]}\n", configMap, "", "", refused(`the renderer "helm3" is not allowed`)},
		"no renderer at all":              {"  - {name: strict, renderers: []}\n", configMap, "", "renderer=plain", refused(`the renderer "plain" is not allowed`)},
		"a renderer in place of it":       {"  - {name: strict, renderers: [helm4]}\n", configMap, "renderer: helm4", "", ""},
		"a limit":                         {"  - {name: strict, limits: {outputBytes: 10}}\n", configMap, "", "", "the templates produced more than 10 bytes"},
		"project and namespace together":  {"  - {name: strict, match: {project: payments, namespace: shop}, renderers: []}\n", configMap, "", "", refused(`the renderer "helm3" is not allowed`)},
		"the namespace is Argo CD's":      {"  - {name: first, match: {namespace: other}}\n  - {name: strict, renderers: []}\n", configMap, "namespace: other", "namespace=other", `not allowed by rule "strict" (policy.yaml:6)`},
		"variables are no policy":         {"  - {name: first, match: {project: other}}\n  - {name: strict, renderers: []}\n", configMap, "", "", `not allowed by rule "strict" (policy.yaml:6)`},
		"both wishes are refused at once": {strict, "", "determinism: warn, allow-empty: true", "", "determinism"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"app/Chart.yaml": chartYAML, "app/templates/a.yaml": tc.template}
			if tc.file != "" {
				files["app/hallmark.yaml"] = "apiVersion: hallmark.dev/v1\nkind: Render\nspec: {" + tc.file + "}\n"
			}
			r := memory(files)
			r.Project, r.RepoURL, r.Policy = "payments", "https://git.example.com/shop", parsePolicy(t, tc.rules)
			r.Env = map[string]string{"ARGOCD_APP_PROJECT_NAME": "other", "ARGOCD_ENV_PROJECT": "other"}
			if tc.wish != "" {
				r.with(t, tc.wish)
			}
			_, err := Render(context.Background(), r)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if strings.HasPrefix(tc.want, `parameter "`) && !strings.Contains(diag.Hint(err), "hallmark policy explain") {
				t.Errorf("the hint is %q", diag.Hint(err))
			}
		})
	}
}

// Without a policy an application has its wishes, and nothing is decrypted.
func TestNoPolicy(t *testing.T) {
	t.Parallel()
	r := memory(map[string]string{"app/Chart.yaml": chartYAML, "app/templates/a.yaml": ""}).with(t, "allow-empty=true", "determinism=warn")
	mustRender(t, r)
}

// The tree is bounded by the rule before it is read.
func TestTreeLimitsOfThePolicy(t *testing.T) {
	t.Parallel()
	r := &Request{Project: "payments", Policy: parsePolicy(t, "  - {name: small, match: {project: payments}, limits: {files: 7, treeBytes: 100}}\n")}
	given := TreeLimits{Files: 1000, FileBytes: 50, TreeBytes: 5000}
	if got := r.TreeLimits(given); got != (TreeLimits{Files: 7, FileBytes: 50, TreeBytes: 100}) {
		t.Errorf("got %+v", got)
	}
	r.Project = "other"
	if got := r.TreeLimits(given); got != given {
		t.Errorf("got %+v", got)
	}
}

// A cached answer does not outlive a change of the policy.
func TestCacheAndPolicy(t *testing.T) {
	t.Parallel()
	cache := NewCache(1 << 20)
	tree := source.Memory(map[string]string{"app/a.yaml": configMap})
	for _, tc := range []struct {
		rules  string
		cached bool
		fails  bool
	}{
		{"  - {name: a}\n", false, false},
		{"  - {name: a}\n", true, false},
		{"  - {name: a, renderers: [helm3]}\n", false, true},
		{"  - {name: a, limits: {objects: 5}}\n", false, false},
	} {
		r := &Request{Tree: tree, Path: "app", App: "web", Policy: parsePolicy(t, tc.rules)}
		answer, err := cache.Render(context.Background(), r)
		if (err != nil) != tc.fails || err == nil && answer.Cached != tc.cached {
			t.Errorf("%s: %+v, %v", tc.rules, answer, err)
		}
	}
}

// The form in Argo CD's UI shows what the policy makes of a parameter that nobody
// gives.
func TestPolicyInAnnouncements(t *testing.T) {
	t.Parallel()
	r := memory(map[string]string{"app/a.yaml": configMap})
	r.Policy = parsePolicy(t, "  - {name: a, determinism: warn}\n")
	list, err := Announce(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if a.Name == "determinism" && a.String != "warn" {
			t.Errorf("got %q", a.String)
		}
	}
}

// config-hash through the pipeline: the hash moves with the ConfigMap alone, and
// needs a key where a Secret counts.
func TestConfigHash(t *testing.T) {
	t.Parallel()
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: a, image: a, envFrom: [{configMapRef: {name: c}}, {secretRef: {name: s}}]}]}}}\n"
	files := func(config, secret, unrelated string) map[string]string {
		return map[string]string{
			"app/d.yaml": deployment,
			"app/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: " + config + "}\n",
			"app/s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: " + secret + "}\n",
			"app/u.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: u}\nstringData: {a: " + unrelated + "}\n",
		}
	}
	hash := func(config, secret, unrelated string) any {
		r := memory(files(config, secret, unrelated)).with(t, "config-hash=true")
		r.HashKey = []byte("0123456789abcdef")
		return field(t, mustRender(t, r), "Deployment", "spec", "template", "metadata", "annotations", "hallmark.dev/config-hash")
	}
	first := hash("a", "b", "c")
	if hash("a", "b", "x") != first || hash("x", "b", "c") == first || hash("a", "x", "c") == first {
		t.Error("the hash does not move with what the workload reads, or moves with what it does not")
	}
	r := memory(files("a", "b", "c")).with(t, "config-hash=true")
	_, err := Render(context.Background(), r)
	if err == nil || !strings.Contains(err.Error(), `Deployment.apps "d"`) || !strings.Contains(diag.Hint(err), "--hash-key") {
		t.Errorf("without a key: %v, hint %q", err, diag.Hint(err))
	}
	var fault *diag.Error
	if !errors.As(err, &fault) || fault.File != "app/d.yaml" {
		t.Errorf("the fault names no file: %v", err)
	}
	if result := mustRender(t, memory(files("a", "b", "c"))); strings.Contains(result.Manifests()[0], "config-hash") {
		t.Error("nobody asked for it")
	}
}
