package object

import "testing"

func TestMemo(t *testing.T) {
	t.Parallel()
	type key struct{}
	type other struct{}
	for _, m := range []*Memo{nil, {}} {
		m.Set(key{}, 1)
		got, ok := m.Get(key{})
		if ok != (m != nil) || ok && got != 1 {
			t.Errorf("got %v, %v from %v", got, ok, m)
		}
		if _, ok := m.Get(other{}); ok {
			t.Error("another key's result")
		}
	}
}
