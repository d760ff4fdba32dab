package server

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/policy"
)

// seedSet are seeds that a test changes.
type seedSet struct {
	seeds  atomic.Pointer[[]plugin.Seed]
	broken atomic.Bool
	looked atomic.Int64
}

func (s *seedSet) set(t *testing.T, text string) {
	t.Helper()
	seed, err := plugin.ReadSeed("seed-1", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s.seeds.Store(&[]plugin.Seed{seed})
}

func (s *seedSet) Current() []plugin.Seed { s.looked.Add(1); return *s.seeds.Load() }
func (s *seedSet) Healthy() bool          { return !s.broken.Load() }

// TestSeeds derives from a seed that changes while the server runs.
func TestSeeds(t *testing.T) {
	t.Parallel()
	const first, second = "gW6lM2Zk0b7yqJ1w5uXo9TQe4rVd8nCf", "Zm0vYt3hQe9KcWj5L1oXs7RbN8uDgPiA"
	seeds := &seedSet{}
	seeds.set(t, first)
	p, err := policy.Parse("policy.yaml", rules("{name: shop, match: {project: shop}, determinism: derive}"))
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, func(o *Options) { o.Policy, o.Seeds, o.Cache = fixed{p}, seeds, plugin.NewCache(1<<20) })
	root := checkout(t, map[string]string{
		"app/Chart.yaml": chartYAML,
		"app/templates/s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n" +
			"data: {a: {{ randAlphaNum 20 | b64enc }}, b: {{ randNumeric 12 | sha256sum | b64enc }}}\n",
	})
	value := func() string {
		t.Helper()
		response, err := r.generate(t.Context(), root, env("ARGOCD_APP_PROJECT_NAME=shop"))
		if err != nil {
			t.Fatal(err)
		}
		var secret struct{ Data map[string]string }
		if err := json.Unmarshal([]byte(response.Manifests[0]), &secret); err != nil {
			t.Fatal(err)
		}
		text, err := base64.StdEncoding.DecodeString(secret.Data["a"])
		if err != nil || len(text) != 20 {
			t.Fatalf("got %d characters, %v, want 20", len(text), err)
		}
		return string(text)
	}
	one := value()
	if value() != one {
		t.Error("the second answer has another value")
	}
	seeds.set(t, second)
	other := value()
	if other == one {
		t.Error("another seed gives the same value")
	}
	text := scraped(t, r)
	for _, want := range []string{`hallmark_derived_fields_total{reason="randAlphaNum"} 3`, `hallmark_cache_results_total{result="miss"} 3`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the metrics lack %s:\n%s", want, ours(text))
		}
	}
	if got := metric(t, text, "hallmark_seeds_last_reload_successful"); got != 1 {
		t.Errorf("hallmark_seeds_last_reload_successful is %v, want 1", got)
	}
	seeds.broken.Store(true)
	if got := metric(t, scraped(t, r), "hallmark_seeds_last_reload_successful"); got != 0 {
		t.Errorf("hallmark_seeds_last_reload_successful is %v, want 0", got)
	}
	if !strings.Contains(r.logged(), `"derived":2,"seed":"seed-1"`) {
		t.Errorf("the log does not say that values were derived:\n%s", r.logged())
	}
	for _, never := range []string{one, other, first, second} {
		if strings.Contains(r.logged()+scraped(t, r), never) {
			t.Error("the log or a metric holds a secret")
		}
	}
	if _, err := r.generate(t.Context(), root, env("ARGOCD_APP_PROJECT_NAME=blog", `ARGOCD_APP_PARAMETERS=[{"name":"determinism","string":"derive"}]`)); err == nil || !strings.Contains(err.Error(), `"derive" is not allowed by`) {
		t.Errorf("got %v", err)
	}
}
