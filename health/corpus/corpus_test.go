package corpus_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/health/corpus"
)

func condition(kind, status string) map[string]any {
	return map[string]any{"type": kind, "status": status, "reason": "Because", "message": "as it is", "observedGeneration": int64(5)}
}

func seed() map[string]any {
	return map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w", "generation": int64(5), "labels": map[string]any{"app": "w"}},
		"spec":     map[string]any{"paused": false, "replicas": int64(3)},
		"status": map[string]any{
			"observedGeneration": int64(5), "phase": "Running",
			"conditions": []any{condition("A", "True"), condition("B", "True"), condition("C", "False")},
		},
	}
}

// TestCases names each variation that a check has to survive, and what it is.
func TestCases(t *testing.T) {
	t.Parallel()
	cases := map[string]corpus.Case{}
	for _, c := range corpus.Objects("example.com/v1", "Widget", []map[string]any{seed()}) {
		if _, twice := cases[c.Name]; twice {
			t.Errorf("two cases are called %q", c.Name)
		}
		cases[c.Name] = c
	}
	for _, test := range []struct {
		name string
		want corpus.Variation
		path string
		json string // of the value at path
	}{
		{"bare object", corpus.AsGiven, "status", "null"},
		{"bare object: status: {}", corpus.NoStatus, "status", "{}"},
		{"bare object: status: null", corpus.NoStatus, "status", "null"},
		{"bare object: status: true", corpus.Refused, "status", "true"},
		{"bare object: status: a text", corpus.Refused, "status", `"text"`},
		{"bare object: status: a number", corpus.Refused, "status", "7"},
		{"bare object: status: a list", corpus.Refused, "status", `["text"]`},
		{"bare object: status.conditions: []", corpus.EmptyList, "status", `{"conditions":[]}`},
		{"bare object: status.conditions: null", corpus.Absent, "status", `{"conditions":null}`},
		{"bare object: status.conditions: a map", corpus.Refused, "status.conditions", `{"text":"text"}`},
		{"bare object: status.conditions: a text", corpus.Refused, "status.conditions", `"text"`},
		{"bare object: status.conditions[0]: a text", corpus.Refused, "status.conditions", `["text"]`},
		{"bare object: status.conditions: [null]", corpus.Hole, "status.conditions", "[null]"},
		{"bare object: one condition without type", corpus.Absent, "status.conditions.0.type", "null"},
		{"bare object: one condition without status", corpus.Absent, "status.conditions.0", `{"message":"ready","reason":"Ready","type":"Ready"}`},
		{"bare object: one condition without reason", corpus.Absent, "status.conditions.0.reason", "null"},
		{"bare object: one condition without message", corpus.Absent, "status.conditions.0.message", "null"},
		{"bare object: one condition with status: true", corpus.Refused, "status.conditions.0.status", "true"},
		{"bare object: one condition with message: a number", corpus.Refused, "status.conditions.0.message", "7"},
		{"bare object: two conditions of one type", corpus.Double, "status.conditions.1.status", `"False"`},
		{"bare object: two conditions with a null between", corpus.Hole, "status.conditions.1", "null"},
		{"bare object: one condition with an unusual message", corpus.Message, "status.conditions.0.type", `"Ready"`},
		{"bare object: status.observedGeneration older", corpus.Stale, "status.observedGeneration", "1"},
		{"bare object: spec removed", corpus.Refused, "spec", "null"},
		{"bare object: metadata.generation removed", corpus.Absent, "metadata", `{"name":"example","namespace":"default"}`},
		{"bare object: metadata.deletionTimestamp set", corpus.Deleted, "metadata.deletionTimestamp", `"2024-05-01T10:00:00Z"`},

		{"object 1", corpus.AsGiven, "status.phase", `"Running"`},
		{"object 1: status removed", corpus.NoStatus, "status", "null"},
		{"object 1: metadata.labels removed", corpus.Absent, "metadata", `{"generation":5,"name":"w"}`},
		{"object 1: status.observedGeneration removed", corpus.Absent, "status.observedGeneration", "null"},
		{"object 1: status.observedGeneration older", corpus.Stale, "status.observedGeneration", "4"},
		{"object 1: status.observedGeneration older, a text", corpus.Observed, "status.observedGeneration", `"4"`},
		{"object 1: status.observedGeneration newer", corpus.Observed, "status.observedGeneration", "6"},
		{"object 1: status.observedGeneration equal, a text", corpus.Observed, "status.observedGeneration", `"5"`},
		{"object 1: status.observedGeneration -1", corpus.Observed, "status.observedGeneration", "-1"},
		{"object 1: status.observedGeneration a float", corpus.Observed, "status.observedGeneration", "4.5"},
		{"object 1: observedGeneration of all entries older", corpus.Stale, "status.conditions.2.observedGeneration", "4"},
		{"object 1: status.conditions: [], and nothing else in the status", corpus.EmptyList, "status", `{"conditions":[]}`},
		{"object 1: status.conditions reversed", corpus.Order, "status.conditions.0.type", `"C"`},
		{"object 1: status.conditions rotated by 1", corpus.Order, "status.conditions.0.type", `"B"`},
		{"object 1: status.conditions rotated by 2", corpus.Order, "status.conditions.2.type", `"B"`},
		{"object 1: status.conditions with a null in it", corpus.Hole, "status.conditions.1", "null"},
		{"object 1: status.conditions with a second of the type of [0] behind it", corpus.Double, "status.conditions.3.status", `"False"`},
		{"object 1: status.conditions with a second of the type of [2] in front of it", corpus.Double, "status.conditions.0.status", `"True"`},
		{"object 1: status.conditions[1].reason removed", corpus.Absent, "status.conditions.1", `{"message":"as it is","observedGeneration":5,"status":"True","type":"B"}`},
		{"object 1: status.conditions[1].reason: null", corpus.Absent, "status.conditions.1.reason", "null"},
		{"object 1: status.conditions[1].reason: a map", corpus.Refused, "status.conditions.1.reason", `{"text":"text"}`},
		{"object 1: status.conditions[1]: true", corpus.Refused, "status.conditions.1", "true"},
		{"object 1: status.phase: another text", corpus.Another, "status.phase", `"SomethingElse"`},
		{"object 1: status.phase removed", corpus.Absent, "status.phase", "null"},
		{"object 1: spec.replicas: 2^53+1", corpus.Another, "spec.replicas", "9007199254740993"},
		{"object 1: spec.replicas removed", corpus.Refused, "spec", `{"paused":false}`},
		{"object 1: spec.paused: true", corpus.Another, "spec.paused", "true"},
		{"object 1: status.conditions of 10000 entries", corpus.Large, "status.conditions.9999.type", `"A"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, ok := cases[test.name]
			if !ok {
				t.Fatal("there is no such case")
			}
			data, err := json.Marshal(value(c.Object, test.path))
			if err != nil {
				t.Fatal(err)
			}
			if c.Variation != test.want || string(data) != test.json {
				t.Errorf("got variation %d with %s = %s, want %d and %s", c.Variation, test.path, data, test.want, test.json)
			}
			base, _, varied := strings.Cut(c.Name, ": ")
			if !varied {
				base = ""
			}
			if c.Base != base {
				t.Errorf("got base %q, want %q", c.Base, base)
			}
		})
	}
}

// TestStaleAsWritten: a controller that writes the generation as a text writes an older
// one as a text as well.
func TestStaleAsWritten(t *testing.T) {
	t.Parallel()
	object := map[string]any{
		"metadata": map[string]any{"generation": int64(1)},
		"status":   map[string]any{"observedGeneration": "1", "parents": []any{map[string]any{"observedGeneration": int64(1)}}},
	}
	got := map[string]corpus.Variation{}
	for _, c := range corpus.Objects("v1", "Widget", []map[string]any{object}) {
		got[c.Name] = c.Variation
		if c.Name == "object 1: observedGeneration of all entries older" {
			if g := []any{value(c.Object, "metadata.generation"), value(c.Object, "status.observedGeneration"), value(c.Object, "status.parents.0.observedGeneration")}; !reflect.DeepEqual(g, []any{int64(2), "2", int64(1)}) {
				t.Errorf("got generations %v, want 2, \"2\" and 1", g)
			}
		}
	}
	for name, want := range map[string]corpus.Variation{
		"object 1: status.observedGeneration older, a text":     corpus.Stale,
		"object 1: status.observedGeneration older":             corpus.Observed,
		"object 1: observedGeneration of all entries older":     corpus.Stale,
		"bare object: status.observedGeneration older":          corpus.Stale,
		"bare object: status.observedGeneration older, a text":  corpus.Observed,
		"object 1: status.parents[0].observedGeneration: a map": corpus.Refused,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%q: got variation %d (there: %t), want %d", name, v, ok, want)
		}
	}
}

func value(v any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		switch parent := v.(type) {
		case map[string]any:
			v = parent[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(parent) {
				return nil
			}
			v = parent[i]
		default:
			return nil
		}
	}
	return v
}

func TestUnusualMessage(t *testing.T) {
	t.Parallel()
	for _, c := range corpus.Objects("v1", "Widget", []map[string]any{seed()}) {
		if c.Name == "object 1: status.conditions[0].message: unusual characters" {
			text, _ := value(c.Object, "status.conditions.0.message").(string)
			for _, part := range []string{"\n", "\x00", `"`, `'`, "]]", `\`, "ö", "語"} {
				if !strings.Contains(text, part) {
					t.Errorf("the message has no %q", part)
				}
			}
			return
		}
	}
	t.Error("there is no case with an unusual message")
}

func TestDeterministic(t *testing.T) {
	t.Parallel()
	given := []map[string]any{seed(), seed(), {"status": map[string]any{"n": 1.5}}}
	first := corpus.Objects("example.com/v1", "Widget", given)
	for range 3 {
		if again := corpus.Objects("example.com/v1", "Widget", given); !reflect.DeepEqual(first, again) {
			t.Fatal("the same seeds gave other cases")
		}
	}
	if want := []map[string]any{seed(), seed(), {"status": map[string]any{"n": 1.5}}}; !reflect.DeepEqual(given, want) {
		t.Errorf("the seeds were changed to %v", given)
	}
	last := first[slices.IndexFunc(first, func(c corpus.Case) bool { return c.Name == "object 3" })]
	if last.Object["kind"] != "Widget" || last.Object["apiVersion"] != "example.com/v1" {
		t.Errorf("a seed without kind is %v", last.Object)
	}
}

// TestEqualObjectsOnce: two equal seeds are no more work than one, but for the
// rotations, which are compared with their base.
func TestEqualObjectsOnce(t *testing.T) {
	t.Parallel()
	one := corpus.Objects("v1", "Widget", []map[string]any{seed()})
	two := corpus.Objects("v1", "Widget", []map[string]any{seed(), seed()})
	orders := 0
	for _, c := range one {
		if c.Variation == corpus.Order {
			orders++
		}
	}
	if want := len(one) + 1 + orders; len(two) != want {
		t.Errorf("got %d cases of two equal seeds, want %d", len(two), want)
	}
}

// TestBounds gives seeds far larger than the bounds.
func TestBounds(t *testing.T) {
	t.Parallel()
	large := func(n int) map[string]any {
		status := map[string]any{}
		for i := range 200 {
			var list []any
			for j := range 100 {
				list = append(list, condition(fmt.Sprint(n, i, j), "True"))
			}
			status[fmt.Sprintf("list%03d", i)] = list
			status[fmt.Sprintf("text%03d", i)] = fmt.Sprint(n, i)
		}
		return map[string]any{"metadata": map[string]any{"name": "w"}, "spec": status, "status": status}
	}
	var seeds []map[string]any
	for i := range 3 {
		seeds = append(seeds, large(i))
	}
	bySeed, largeCases := map[string]int{}, 0
	for _, c := range corpus.Objects("v1", "Widget", seeds) {
		bySeed[c.Base]++
		if c.Variation == corpus.Large {
			largeCases++
		}
	}
	for base, n := range bySeed {
		if n > 900 {
			t.Errorf("%q gives %d cases, want at most 900", base, n)
		}
	}
	if largeCases != 16 {
		t.Errorf("got %d large cases, want 16", largeCases)
	}
	var many []map[string]any
	for i := range 70 {
		many = append(many, map[string]any{"status": map[string]any{"phase": fmt.Sprint(i)}})
	}
	for _, c := range corpus.Objects("v1", "Widget", many) {
		if strings.HasPrefix(c.Base, "object 65") {
			t.Errorf("the 65th seed was varied: %q", c.Name)
		}
	}
}
