package rules

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/object"
)

// waived is a Deployment with a mutable image and an annotation.
func waived(annotation string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  annotations: {" + annotation + "}\nspec:\n  template:\n    spec:\n      containers: [{name: web, image: \"registry.example.com/web:latest\"}]\n"
}

func TestWaivers(t *testing.T) {
	t.Parallel()
	day := func(offset int) string { return today.AddDate(0, 0, offset).Format(time.DateOnly) }
	const name = WaiverPrefix + "image-tag: "
	tests := []struct {
		name, annotation string
		waived           bool
		fault            string // of the waiver
	}{
		{"holds", name + "'" + day(10) + " the vendor has no tags'", true, ""},
		{"its last day", name + "'" + day(0) + " the vendor has no tags'", true, ""},
		{"the day after", name + "'" + day(-1) + " the vendor has no tags'", false, "expired on " + day(-1)},
		{"no reason", name + "'" + day(10) + "'", false, "names no reason"},
		{"a reason without a word", name + "'" + day(10) + " ---'", false, "names no reason"},
		{"no day", name + "'the vendor has no tags'", false, "want a day such as"},
		{"a day that is none", name + "'2026-02-30 the vendor has no tags'", false, "want a day such as"},
		{"an unknown rule", WaiverPrefix + "image-tags: '" + day(10) + " the vendor has no tags'", false, `no rule "image-tags"`},
		{"the rule of waivers", WaiverPrefix + "waiver: '" + day(10) + " for ever'", false, "cannot be waived"},
		{"another rule", WaiverPrefix + "job-deadline: '" + day(10) + " the vendor has no tags'", false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			findings := Check(objects(t, waived(tt.annotation)), bookOptions())
			images := of(findings, "image-tag")
			if len(images) != 1 || (images[0].Waiver != nil) != tt.waived {
				t.Errorf("got %+v, want one finding, waived: %v", images, tt.waived)
			}
			faults := of(findings, "waiver")
			if tt.fault == "" && len(faults) > 0 || tt.fault != "" && (len(faults) != 1 || !strings.Contains(faults[0].Message, tt.fault)) {
				t.Errorf("got %+v, want %q", faults, tt.fault)
			}
		})
	}
}

// A waiver is for its own object.
func TestWaiverOfAnother(t *testing.T) {
	t.Parallel()
	text := waived(WaiverPrefix+"image-tag: '2026-12-31 the vendor has no tags'") + "---\n" + strings.Replace(waived(""), "name: web\n", "name: other\n", 1)
	for _, f := range of(Check(objects(t, text), bookOptions()), "image-tag") {
		if (f.Waiver != nil) != (f.Object.Name == "web") {
			t.Errorf("%s: waiver %v", f.Object, f.Waiver)
		}
	}
}

// all are the examples of all rules as one render, where they stand beside each other.
func all(t testing.TB) (out []object.Object) {
	t.Helper()
	for i, rule := range All() {
		bad, good := rule.Examples()
		for j, text := range []string{bad, good} {
			for _, o := range objects(t, text) {
				o.Origin = fmt.Sprintf("%02d-%d.yaml", i, j)
				object.Mapping(o.Value["metadata"])["namespace"] = fmt.Sprintf("n%d-%d", i, j)
				out = append(out, o)
			}
		}
	}
	return out
}

// The order of the objects and of their fields says nothing.
func TestOrderOfObjects(t *testing.T) {
	t.Parallel()
	// Each object once: which of two with one identity is meant is no matter of rules.
	seen := map[object.ID]bool{}
	list := slices.DeleteFunc(all(t), func(o object.Object) bool {
		twice := seen[o.ID()]
		seen[o.ID()] = true
		return twice
	})
	want := Check(list, bookOptions())
	if len(want) < 20 {
		t.Fatalf("%d findings, want many", len(want))
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a seed that is always the same
	for range 10 {
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if got := Check(list, bookOptions()); !reflect.DeepEqual(got, want) {
			t.Fatalf("in another order: got\n%+v\nwant\n%+v", got, want)
		}
	}
}

// Whatever stands in a field, a rule comes to an end: objects are those of strangers,
// and the API server has not seen them.
func TestOddShapes(t *testing.T) {
	t.Parallel()
	odd := []any{nil, "", "x", int64(-1), 1.5, true, []any{}, []any{nil}, []any{"x", int64(2)}, map[string]any{}, map[string]any{"": nil}}
	for _, rule := range All() {
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			bad, _ := rule.Examples()
			for n := 0; ; n++ { // the n-th place
				replaced := false
				for _, value := range odd {
					list := objects(t, bad)
					left := n
					for i := range list {
						list[i].Value, _ = replace(list[i].Value, &left, value).(map[string]any)
						if replaced = left < 0; replaced {
							break
						}
					}
					if !replaced {
						break
					}
					list = slices.DeleteFunc(list, func(o object.Object) bool { return o.Value == nil })
					Check(list, bookOptions())
				}
				if !replaced {
					if n < 5 {
						t.Errorf("%d places in the example", n)
					}
					return
				}
			}
		})
	}
}

// replace returns v with its left-th value replaced; left is negative after that.
func replace(v any, left *int, by any) any {
	if *left < 0 {
		return v
	}
	if *left == 0 {
		*left = -1
		return by
	}
	*left--
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			v[key] = replace(v[key], left, by)
		}
	case []any:
		for i := range v {
			v[i] = replace(v[i], left, by)
		}
	}
	return v
}
