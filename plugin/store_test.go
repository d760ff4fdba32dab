package plugin

import (
	"math/rand/v2"
	"sync"
	"testing"
)

func TestStore(t *testing.T) {
	t.Parallel()
	s := newStore[string, int](10)
	has := func(key string, want int) {
		t.Helper()
		if got, found := s.get(key); found != (want > 0) || got != want {
			t.Errorf("%s: got %d, %t, want %d", key, got, found, want)
		}
	}
	has("a", 0)
	s.put("a", 1, 4)
	s.put("b", 2, 4)
	has("a", 1) // and so b was not used for longer
	s.put("c", 3, 4)
	has("a", 1)
	has("b", 0)
	has("c", 3)
	s.put("a", 4, 6) // in place of the old one
	has("a", 4)
	has("c", 3)
	s.put("c", 5, 11) // more than there is: the old one is wrong now, and goes
	has("c", 0)
	has("a", 4)
	s.put("d", 6, 10)
	has("a", 0)
	has("d", 6)
	if got := s.size(); got != 10 {
		t.Errorf("got size %d, want 10", got)
	}
}

// With no room nothing is kept, and nothing goes wrong.
func TestStoreOfNothing(t *testing.T) {
	t.Parallel()
	for _, most := range []int64{0, -1} {
		s := newStore[string, int](most)
		s.put("a", 1, 0)
		if _, found := s.get("a"); found || s.size() != 0 {
			t.Errorf("a store of %d bytes keeps something", most)
		}
	}
}

// The bound holds, and the size is that of what is there, whatever was put.
func TestStoreIsBounded(t *testing.T) {
	t.Parallel()
	const most = 1000
	s := newStore[int, int64](most)
	var all sync.WaitGroup
	for seed := range uint64(4) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // not a secret
			for range 5000 {
				key, cost := random.IntN(50), random.Int64N(most*5/4)
				s.put(key, cost, cost)
				if got := s.size(); got > most || got < 0 {
					t.Errorf("got size %d, want at most %d", got, most)
				}
				if value, found := s.get(random.IntN(50)); found && value > most {
					t.Errorf("got a value of cost %d, want at most %d", value, most)
				}
			}
		})
	}
	all.Wait()
	var sum int64
	for key := range 50 {
		value, found := s.get(key)
		if found {
			sum += value
		}
	}
	if s.size() != sum || len(s.entries) != s.recent.Len() {
		t.Errorf("got size %d of values of %d, %d entries and a list of %d", s.size(), sum, len(s.entries), s.recent.Len())
	}
}
