package object

import (
	"slices"
	"sync/atomic"
	"testing"
)

func TestID(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value map[string]any
		want  ID
		text  string
	}{
		{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "shop"}},
			ID{"apps", "Deployment", "shop", "web"}, `Deployment.apps "shop/web"`},
		{map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}},
			ID{"", "Namespace", "", "shop"}, `Namespace "shop"`},
		{map[string]any{"apiVersion": 1, "kind": nil, "metadata": "x"}, ID{}, ` ""`},
		{map[string]any{}, ID{}, ` ""`},
	}
	for _, tt := range tests {
		got := Object{Value: tt.value}.ID()
		if got != tt.want || got.String() != tt.text {
			t.Errorf("%v: got %+v, %s, want %+v, %s", tt.value, got, got, tt.want, tt.text)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	want := []ID{
		{"", "ConfigMap", "a", "z"}, {"", "ConfigMap", "b", "a"}, {"", "Secret", "", ""},
		{"apps", "Deployment", "", "a"}, {"apps", "Deployment", "", "b"},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, ID.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAt(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Object{
		"(unknown origin)": {}, "a.yaml": {Origin: "a.yaml"}, "a.yaml:3": {Origin: "a.yaml", Line: 3},
	} {
		if got := o.At(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 1000} {
		counts := make([]atomic.Int32, n)
		Spread(n, func() func(int) { return func(i int) { counts[i].Add(1) } })
		for i := range counts {
			if got := counts[i].Load(); got != 1 {
				t.Errorf("%d of %d was called %d times", i, n, got)
			}
		}
	}
}
