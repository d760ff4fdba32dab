package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/compile"
	"hallmark.dev/hallmark/health/eval"
	"hallmark.dev/hallmark/lua/vm"
)

// TestLarge has lists and maps of 10,000 entries, at which Lua's own functions raise
// (table.concat takes some thousands), and values that nest deeper than Lua calls.
func TestLarge(t *testing.T) {
	t.Parallel()
	const n = 10_000
	texts, entries, keys := make([]any, n), make([]any, n), map[string]any{}
	for i := range n {
		texts[i] = fmt.Sprint("text ", i)
		entries[i] = map[string]any{"type": fmt.Sprint("T", i), "status": "True", "n": int64(i)}
		keys[fmt.Sprint("key ", i)] = int64(i)
	}
	deep := func() any {
		var v any = "end"
		for range 400 {
			v = map[string]any{"in": []any{v}}
		}
		return v
	}
	object := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"status": map[string]any{"texts": texts, "entries": entries, "keys": keys, "one": deep(), "other": deep()},
	}
	for _, when := range []string{
		"size(status.texts.join(', ')) > 0", "status.keys.map(k, k).join() != ''", "size(status.keys.filter(k, k != 'key 1')) == 9999",
		"status.entries.map(e, e.n)[9999] == 9999", "status.entries.first(e, e.n > 9998).type == 'T9999'", "status.entries.exists_one(e, e.n == 7)",
		"size(status.entries + status.texts) == 20000", "'text 9999' in status.texts", "status.one == status.other", "status.entries == status.entries",
		"status.entries.all(e, has(e.type) && e.status == 'True')", "'key 9999' in status.keys", "size(status.keys) == 10000",
	} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			spec := fmt.Sprintf(`apiVersion: hallmark.dev/v1
kind: HealthCheck
metadata: {name: large}
spec:
  targets: [{group: example.com, kinds: [Widget]}]
  rules: [{status: Healthy, when: %q, message: "status.texts.join('; ')"}]
`, when)
			checks, err := health.Parse("large.yaml", []byte(spec))
			if err != nil {
				t.Fatal(err)
			}
			script, err := compile.Lua(checks[0], "v0")
			if err != nil {
				t.Fatal(err)
			}
			oracle, err := eval.New(checks[0], func() int64 { return 0 })
			if err != nil {
				t.Fatal(err)
			}
			want := oracle.Eval(object)
			got, err := patiently(func() (vm.Verdict, error) { return vm.Run(script, false, object) })
			if err != nil || got.Status != string(want.Status) || got.Message != want.Message || want.Status != health.Healthy {
				t.Errorf("got %s with %d bytes (%v), cel-go says %s with %d bytes", got.Status, len(got.Message), err, want.Status, len(want.Message))
			}
		})
	}
}

// patiently runs a script again where Argo CD's deadline has passed: a second of real
// time is soon over on a machine with other work.
func patiently(run func() (vm.Verdict, error)) (got vm.Verdict, err error) {
	for range 20 {
		if got, err = run(); err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
			break
		}
	}
	return got, err
}
