package plugin

import (
	"context"
	"errors"
	"sync"

	"hallmark.dev/hallmark/plugin/chart"
	"hallmark.dev/hallmark/plugin/decrypt"
	"hallmark.dev/hallmark/plugin/overlay"
)

// within runs a render under its limits and returns when it does or when its
// time is over: what an engine, a pattern or a patch of a stranger's repository
// does may have no end. The goroutine behind it then runs on until it has;
// Request.Ended says when.
func within[T any](ctx context.Context, r *Request, render func(context.Context, *crew) (T, error)) (T, error) {
	ctx, release := guard(ctx, r.limits())
	defer release()
	c := &crew{ended: r.Ended}
	value, err := apart(ctx, c, func() (T, error) { return render(ctx, c) })
	if err != nil {
		return value, c.secrets.Error(explain(ctx, err))
	}
	return value, nil
}

// crew are the goroutines that work on a request.
type crew struct {
	ended func() // called when the last has ended; may be nil
	// secrets are the decrypted and derived values that they work with. No error of
	// theirs leaves without having passed it.
	secrets secrets

	mu    sync.Mutex
	count int
}

func (c *crew) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
}

func (c *crew) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count--; c.count == 0 && c.ended != nil {
		c.ended()
	}
}

// apart does work on a goroutine of the crew and returns when it is done or when
// ctx is. A panic becomes an error.
func apart[T any](ctx context.Context, c *crew, work func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	c.add()
	go func() {
		value, err := guarded(work)
		c.done() // before the answer, or it would look as if work outlasted it
		done <- answer{value, err}
	}()
	var none T
	select {
	case a := <-done:
		if a.err != nil {
			return none, a.err
		}
		return a.value, nil
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// guarded is the edge at which a panic becomes an error.
func guarded[T any](work func() (T, error)) (value T, err error) {
	defer func() {
		if recover() != nil {
			var none T
			value, err = none, ErrPanic
		}
	}()
	return work()
}

// ErrPanic stands for a panic outside of the engines, which have their own
// guards. What a panic says may quote a secret.
var ErrPanic = errors.New("hallmark panicked while rendering")

// IsPanic reports whether err stands for a panic, here or in an engine: a fault
// that is to be reported to those who wrote it.
func IsPanic(err error) bool {
	for _, known := range []error{ErrPanic, chart.ErrPanic, overlay.ErrPanic, decrypt.ErrPanic} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
