package plugin

import (
	linked "container/list"
	"sync"
)

// store keeps values by key, those that were used last, up to a number of
// bytes. It is safe for concurrent use; a nil store keeps nothing.
type store[K comparable, V any] struct {
	most int64

	mu      sync.Mutex
	used    int64
	entries map[K]*linked.Element
	recent  *linked.List // of *stored[K, V], the one used last in front
}

type stored[K comparable, V any] struct {
	key   K
	value V
	cost  int64
}

func newStore[K comparable, V any](most int64) *store[K, V] {
	if most <= 0 {
		return nil
	}
	return &store[K, V]{most: most, entries: map[K]*linked.Element{}, recent: linked.New()}
}

func (s *store[K, V]) get(key K) (value V, found bool) {
	if s == nil {
		return value, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, found := s.entries[key]
	if !found {
		return value, false
	}
	s.recent.MoveToFront(e)
	return e.Value.(*stored[K, V]).value, true
}

// put keeps value in place of the one under key, and drops the values that were
// not used for longest. One that costs more than the whole store is not kept.
func (s *store[K, V]) put(key K, value V, cost int64) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, found := s.entries[key]; found {
		s.drop(e)
	}
	if cost > s.most {
		return
	}
	s.entries[key] = s.recent.PushFront(&stored[K, V]{key, value, cost})
	for s.used += cost; s.used > s.most; {
		s.drop(s.recent.Back())
	}
}

func (s *store[K, V]) drop(e *linked.Element) {
	gone := s.recent.Remove(e).(*stored[K, V])
	delete(s.entries, gone.key)
	s.used -= gone.cost
}

// size is the cost of what is kept.
func (s *store[K, V]) size() int64 {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}
