package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"hallmark.dev/hallmark/internal/sealtest"
	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/policy"
)

func rules(text string) []byte {
	return []byte("apiVersion: hallmark.dev/v1\nkind: RenderPolicy\nspec: {rules: [" + text + "]}\n")
}

// replace swaps a file as a mount of Kubernetes does.
func replace(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// TestPolicy changes the policy and the keys of a running server.
func TestPolicy(t *testing.T) {
	t.Parallel()
	const secret = "correct horse battery staple"
	key, other := sealtest.NewKey(t), sealtest.NewKey(t)
	file := filepath.Join(t.TempDir(), "policy.yaml")
	replace(t, file, rules("{name: shop, match: {project: shop}, decryption: {keys: [age]}}"))
	var changes atomic.Int64
	source, err := policy.Watch(file, false, func(error) { changes.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, func(o *Options) { o.Policy, o.Keys = source, plugin.Keys{Paths: []string{key.File}} })
	root := checkout(t, map[string]string{
		"app/s.yaml": sealtest.Seal(t, "yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: "+secret+"}\n", key),
	})
	render := func(project string) error {
		response, err := r.generate(t.Context(), root, env("ARGOCD_APP_PROJECT_NAME="+project))
		if err == nil && !strings.Contains(response.Manifests[0], secret) {
			t.Errorf("got %s", response.Manifests[0])
		}
		return err
	}
	expect := func(what, project, want string) {
		t.Helper()
		err := render(project)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", what, err, want)
		}
	}
	healthy := func(want float64) {
		t.Helper()
		if got := metric(t, scraped(t, r), "hallmark_policy_last_reload_successful"); got != want {
			t.Errorf("hallmark_policy_last_reload_successful is %v, want %v", got, want)
		}
	}
	expect("the project of the rule", "shop", "")
	expect("another project", "blog", `app/s.yaml: the file is encrypted with SOPS and may not be decrypted: the policy's default, since no rule matches project "blog"`)
	healthy(1)

	replace(t, file, rules("{name: shop, match: {project: shop}}"))
	expect("a rule that lost its decryption", "shop", `rule "shop" (`+file+`:3) does not allow it`)

	replace(t, file, rules("{name: shop, decryption: {keys: [age]}, "))
	healthy(0) // before any request
	expect("the rules before a broken change", "shop", `rule "shop"`)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	healthy(0)
	expect("the rules before the file went", "shop", `rule "shop"`)

	replace(t, file, rules("{name: all, decryption: {keys: [age]}}"))
	healthy(1)
	expect("a good change", "blog", "")
	if changes.Load() != 4 {
		t.Errorf("%d changes were told, want 4", changes.Load())
	}

	replace(t, key.File, []byte(other.Identity))
	expect("another key", "shop", "it is encrypted for "+key.Recipient+"; tried "+other.Recipient)
	if text := scraped(t, r); !strings.Contains(text, `hallmark_requests_total{method="GenerateManifest",outcome="key"} 1`) {
		t.Errorf("no outcome for it:\n%s", ours(text))
	}
	replace(t, key.File, []byte(key.Identity))
	expect("the key that came back", "shop", "")
	for _, never := range []string{secret, key.Identity, other.Identity} {
		if strings.Contains(r.logged()+scraped(t, r), never) {
			t.Error("the log or a metric holds a secret")
		}
	}
	if !strings.Contains(r.logged(), `"decrypted":[{"path":"app/s.yaml","keys":["`+key.Recipient+`"]}]`) || metric(t, scraped(t, r), "hallmark_decrypted_files_total") != 3 {
		t.Errorf("the log does not say what was decrypted:\n%s", r.logged())
	}
}

// TestTreeLimitsOfThePolicy: what a project may send is bounded while it is
// received.
func TestTreeLimitsOfThePolicy(t *testing.T) {
	t.Parallel()
	p, err := policy.Parse("policy.yaml", rules("{name: small, match: {project: small}, limits: {files: 2}}"))
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, func(o *Options) { o.Policy = fixed{p} })
	root := checkout(t, map[string]string{"app/a.yaml": configMap("a", "b"), "app/b.yaml": configMap("b", "b"), "app/c.yaml": configMap("c", "b")})
	if _, err := r.generate(t.Context(), root, env("ARGOCD_APP_PROJECT_NAME=small")); err == nil || !strings.Contains(err.Error(), "limits.files") {
		t.Error(errors.Join(errors.New("got"), err))
	}
	if _, err := r.generate(t.Context(), root, env("ARGOCD_APP_PROJECT_NAME=other")); err != nil {
		t.Error(err)
	}
}

type fixed struct{ *plugin.Policy }

func (f fixed) Current() *plugin.Policy { return f.Policy }
func (fixed) Healthy() bool             { return true }

func scraped(t *testing.T, r *running) string {
	t.Helper()
	_, text := r.probe(t, "/metrics")
	return text
}
