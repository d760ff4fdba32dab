package object_test

import (
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"hallmark.dev/hallmark/internal/object"
)

func TestSpreadCallsEachIndexOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 1000} {
		calls := make([]atomic.Int32, n)
		object.Spread(n, func() func(int) { return func(i int) { calls[i].Add(1) } })
		for i := range calls {
			if got := calls[i].Load(); got != 1 {
				t.Errorf("n=%d: got %d calls for %d, want 1", n, got, i)
			}
		}
	}
}

// A panic of a worker reaches the caller, whole, and no worker is left running.
func TestSpreadHandsPanicsOn(t *testing.T) {
	t.Parallel()
	fault := errors.New("s3cr3t-marker")
	tests := map[string]struct {
		worker func() func(int)
		check  func(p *object.WorkerPanic) bool
	}{
		"in the work":    {func() func(int) { return func(i int) { panicAt(i, 7, fault) } }, func(p *object.WorkerPanic) bool { return errors.Is(p, fault) }},
		"in the worker":  {func() func(int) { panic("s3cr3t-marker") }, func(p *object.WorkerPanic) bool { return p.Value == "s3cr3t-marker" && p.Unwrap() == nil }},
		"of the runtime": {func() func(int) { return func(i int) { _ = []int{}[i] } }, func(p *object.WorkerPanic) bool { var e runtime.Error; return errors.As(p, &e) }},
		"in all calls":   {func() func(int) { return func(i int) { panic(i) } }, func(p *object.WorkerPanic) bool { _, ok := p.Value.(int); return ok }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var running atomic.Int32
			got := recovered(func() {
				object.Spread(100, func() func(int) {
					work := tt.worker()
					return func(i int) {
						running.Add(1)
						defer running.Add(-1)
						work(i)
					}
				})
			})
			p, ok := got.(*object.WorkerPanic)
			if !ok || !tt.check(p) {
				t.Fatalf("got panic %v", got)
			}
			if strings.Contains(p.Error(), "s3cr3t-marker") {
				t.Errorf("the error %q quotes the panic's value", p)
			}
			if !strings.Contains(string(p.Stack), "TestSpreadHandsPanicsOn") {
				t.Errorf("got stack %s, want the place of the panic", p.Stack)
			}
			if n := running.Load(); n != 0 {
				t.Errorf("%d calls still run", n)
			}
		})
	}
}

func panicAt(i, at int, err error) {
	if i == at {
		panic(err)
	}
}

func recovered(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}
