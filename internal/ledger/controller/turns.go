package controller

import (
	"strings"
	"sync"
	"time"

	"hallmark.dev/hallmark/internal/ledger/projection"
)

const (
	// soon is how long a changed object waits for others that change with it.
	soon = time.Second
	// parallel is how many sources are looked at at once: a few that do not answer must
	// not hold up the others.
	parallel = 16
)

// turns says when each source is looked at.
type turns struct {
	mu   sync.Mutex
	of   map[source]*turn
	busy int
}

// A turn is what is known of a source.
type turn struct {
	due   time.Time        // of the next look
	retry                  // not to be asked before
	fault projection.Fault // of the last look
	good  time.Time        // when it last could be read, at first when it came up
	busy  time.Time        // since when it is looked at, zero while it is not
	again bool             // something changed meanwhile
}

// key is a source as the index of the objects has it.
func key(s source) string { return strings.Join([]string{s.Database, s.Tool, s.Table}, "\x00") }

// changed brings the look of a source forward and reports whether somebody has to be
// woken for that.
func (t *turns) changed(s source, now, due time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.of[s]
	switch {
	case at == nil:
		t.of[s] = &turn{due: due, good: now}
		return true
	case !at.busy.IsZero():
		at.again = true
	case due.Before(at.due):
		at.due = due
		return true
	}
	return false
}

// take is the sources whose turn it is, as many as may be looked at, and when the next
// one is due; latest where none is before.
func (t *turns) take(now, latest time.Time) (sources []source, next time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	next = latest
	for s, at := range t.of {
		switch {
		case !at.busy.IsZero():
		case at.due.After(now):
			if at.due.Before(next) {
				next = at.due
			}
		case t.busy < parallel: // for the others it is when one of these ends
			at.busy = now
			t.busy++
			sources = append(sources, s)
		}
	}
	return sources, next
}

// known is the fault of the last look, and whether the source is not to be asked yet.
func (t *turns) known(s source, now time.Time) (projection.Fault, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.of[s]
	return at.fault, at.fault != "" && now.Before(at.at)
}

// ended is a look that is over. asked is whether the database was.
func (t *turns) ended(s source, fault projection.Fault, asked bool, now time.Time, o *Options) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.of[s]
	at.due = now.Add(o.later(o.Interval))
	switch {
	case !asked:
		at.due = at.at
	case fault == "":
		at.retry, at.fault, at.good = retry{}, "", now
	case fault == projection.NotConfigured: // to look costs nothing
		at.retry, at.fault = retry{}, fault
	default:
		at.failed(o, now, 0)
		at.fault, at.due = fault, at.at
	}
	if at.again {
		at.due = now.Add(o.later(o.soon()))
	}
	t.free(at)
}

// empty is a look that found no object: its source is forgotten, unless one came
// meanwhile.
func (t *turns) empty(s source, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.of[s]
	at.due = now
	if !at.again {
		delete(t.of, s)
	}
	t.free(at)
}

func (t *turns) free(at *turn) {
	at.busy, at.again = time.Time{}, false
	t.busy--
}

// soon is how long a changed object waits.
func (o *Options) soon() time.Duration { return min(soon, o.Interval) }

// oldest is for how long the source that could not be read for the longest time could
// not be, and busiest for how long a look goes on.
func (t *turns) oldest(now time.Time) (unread, busiest time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, at := range t.of {
		unread = max(unread, now.Sub(at.good))
		if !at.busy.IsZero() {
			busiest = max(busiest, now.Sub(at.busy))
		}
	}
	return unread, busiest
}
