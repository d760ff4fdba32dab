package object

import "testing"

func TestLookup(t *testing.T) {
	t.Parallel()
	v := map[string]any{"a": []any{map[string]any{"b": "x", "none": nil}}}
	for _, tt := range []struct {
		path []any
		want any
		ok   bool
	}{
		{[]any{"a", 0, "b"}, "x", true},
		{[]any{"a", 0, "none"}, nil, true}, // a null is there
		{[]any{"a", 0, "c"}, nil, false},
		{[]any{"a", 1}, nil, false},
		{[]any{"a", -1}, nil, false},
		{[]any{"a", "0"}, nil, false},
		{[]any{0}, nil, false},
		{[]any{"a", 0, "b", "c"}, nil, false},
	} {
		if got, ok := Lookup(v, tt.path); got != tt.want || ok != tt.ok {
			t.Errorf("%v: got %v, %t, want %v, %t", tt.path, got, ok, tt.want, tt.ok)
		}
	}
	if got, ok := Lookup("x", nil); got != "x" || !ok {
		t.Errorf("got %v, %t at no path", got, ok)
	}
}
