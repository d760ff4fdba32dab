package eval_test

import (
	"fmt"
	"testing"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/eval"
)

// TestObject has what an expression sees of an object where that is not what plain
// CEL says: the list of package health's comment.
func TestObject(t *testing.T) {
	t.Parallel()
	object := map[string]any{
		"kind": "Example",
		"status": map[string]any{
			"nil": nil, "hole": []any{nil, "a", nil}, "whole": 3.0, "half": 2.5, "huge": int64(1<<53 + 1), "most": int64(1<<53 - 1),
			"list": []any{}, "map": map[string]any{}, "keys": map[string]any{"b": 1, "a": 2}, "text": "é", "none": "", "zeros": "007",
		},
	}
	for expression, want := range map[string]bool{
		"has(status.nil)":                           false,
		"status.hole[0] == 'a'":                     true,
		"size(status.hole) == 1":                    true,
		"status.whole / 2 == 1":                     true,
		"status.whole == 3.0":                       true,
		"status.half > 2":                           true,
		"status.half + 1 > 0":                       false, // an error
		"status.half + status.half == 5.0":          false,
		"status.most + 1 > 0":                       false,
		"status.most - 1 > 0":                       true,
		"status.huge > status.most":                 true,
		"status.huge + 1 > 0":                       false,
		"string(status.huge) != ''":                 false,
		"status.list == status.map":                 true,
		"has(status.list.a) || true":                true,
		"!has(status.list.a)":                       true,
		"status.map + ['a'] == ['a']":               true,
		"status.keys.map(k, k).join() == 'ab'":      true,
		"{'b': 1, 'a': 2}.map(k, k).join() == 'ab'": true,
		"size(status.text) == 1":                    false,
		"size(status.text) > 0":                     true,
		"size(status.none) == 0":                    true,
		"0 == size(status.none)":                    true,
		"int(status.zeros) == 7":                    false,
		"int('-3') == -3":                           true,
		"status.hole.first(h, h > 1) == 'a'":        false,
		"status.hole.first(h, h == 'a') == 'a'":     true,
		"status.nothing == 1 || true":               true,
		"now() == 42":                               true,
	} {
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			check := parse(t, fmt.Sprintf("rules: [{status: Healthy, when: %q}]", expression))
			oracle, err := eval.New(check, func() int64 { return 42 })
			if err != nil {
				t.Fatal(err)
			}
			if got := oracle.Eval(object); (got.Status == health.Healthy) != want {
				t.Errorf("got %s, want true: %v", got.Status, want)
			}
		})
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"'text'": "text", "3": "3", "true": "true", "status.half": "2.5", "status.huge": "9007199254740992", "status.list": "",
		"status.nothing": "", "1 / 0": "", "status.half * 2": "",
	} {
		check := parse(t, fmt.Sprintf("rules: [{status: Healthy, when: \"true\", message: %q}]", message))
		oracle, err := eval.New(check, func() int64 { return 0 })
		if err != nil {
			t.Fatal(err)
		}
		object := map[string]any{"status": map[string]any{"half": 2.5, "huge": int64(1<<53 + 1), "list": []any{"a"}}}
		if got := oracle.Eval(object); got.Message != want {
			t.Errorf("%s: got %q, want %q", message, got.Message, want)
		}
	}
}

// The rules are tried in the order of the package comment.
func TestOrder(t *testing.T) {
	t.Parallel()
	check := parse(t, `observedGeneration: status.seen
  noStatus: {status: Progressing, message: none}
  rules: [{status: Healthy, when: "true"}]`)
	oracle, err := eval.New(check, func() int64 { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		object map[string]any
		rule   string
	}{
		{map[string]any{}, "noStatus"},
		{map[string]any{"status": nil}, "noStatus"},
		{map[string]any{"status": map[string]any{"a": nil}}, "noStatus"},
		{map[string]any{"status": ""}, "noStatus"},
		{map[string]any{"status": true}, "rule 1"},
		{map[string]any{"metadata": map[string]any{"generation": 2}, "status": map[string]any{"seen": "1"}}, "observedGeneration"},
		{map[string]any{"metadata": map[string]any{"generation": 2}, "status": map[string]any{"seen": 3}}, "rule 1"},
		{map[string]any{"metadata": map[string]any{"generation": 2}, "status": map[string]any{"other": 1}}, "rule 1"},
	} {
		if got := check.Rules[oracle.Eval(tc.object).Rule].Label; got != tc.rule {
			t.Errorf("%v: got %s, want %s", tc.object, got, tc.rule)
		}
	}
}

func parse(t *testing.T, rest string) *health.Check {
	t.Helper()
	checks, err := health.Parse("x.yaml", []byte("apiVersion: hallmark.dev/v1\nkind: HealthCheck\nmetadata: {name: x}\nspec:\n  targets: [{group: a.b, kinds: [C]}]\n  "+rest+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return checks[0]
}
