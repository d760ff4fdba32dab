package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// margin is kept of the time that Argo CD gives a request, for the answer.
const margin = 100 * time.Millisecond

// slot is one request's share of the processors. It is given back when the
// request is answered and nobody works on it any more.
type slot struct {
	server *Server

	mu     sync.Mutex
	users  int // the request itself, until it is answered, and who works on it
	closed bool
}

// busyError says that no slot became free in time.
type busyError struct{ slots int }

func (e busyError) Error() string {
	return fmt.Sprintf("no render slot became free before Argo CD's deadline: all %d are taken (--max-in-flight)", e.slots)
}

// acquire waits for a slot. One that is free is taken even if the time is over
// already: the reason of the error is not that there was none.
func (s *Server) acquire(ctx context.Context) (*slot, error) {
	taken := &slot{server: s, users: 1}
	select {
	case s.slots <- struct{}{}:
		return taken, nil
	default:
	}
	// Not to the last moment: the client may have to send its repository before
	// it reads the answer, and a slot that comes so late is of no use.
	waits, early := ctx, time.Time{}
	if deadline, bounded := ctx.Deadline(); bounded {
		const share = 10 // of the time that is left
		early = deadline.Add(-deadline.Sub(s.options.Now()) / share)
		var cancel context.CancelFunc
		waits, cancel = context.WithDeadline(ctx, early)
		defer cancel()
	}
	select {
	case s.slots <- struct{}{}:
		return taken, nil
	case <-waits.Done():
		// A client whose time is over cancels, too.
		cause := context.Cause(waits)
		if errors.Is(cause, context.Canceled) && (early.IsZero() || s.options.Now().Before(early)) {
			return nil, cause
		}
		return nil, busyError{cap(s.slots)}
	}
}

func (s *slot) add() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
}

// done ends the work of one user.
func (s *slot) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	if s.closed {
		s.server.stuck.Add(-1)
	}
	<-s.server.slots
}

// answered says that the request itself needs the slot no more.
func (s *slot) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.users--; s.users > 0 {
		s.server.stuck.Add(1)
		return
	}
	<-s.server.slots
}
