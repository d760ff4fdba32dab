package object

import "sync"

// Memo keeps results that depend on nothing but the Value of one object. It
// belongs to whoever keeps the Value from one render to the next, such as a
// loaded chart its custom resource definitions, which are megabytes that never
// change. An object whose Value was replaced must not carry the old one's Memo.
//
// A nil Memo keeps nothing. A Memo is safe for concurrent use.
type Memo struct{ results sync.Map }

// Get returns the result under key. As with a context, keys are of types that
// only their owner has.
func (m *Memo) Get(key any) (result any, ok bool) {
	if m == nil {
		return nil, false
	}
	return m.results.Load(key)
}

// Set keeps a result.
func (m *Memo) Set(key, result any) {
	if m != nil {
		m.results.Store(key, result)
	}
}
