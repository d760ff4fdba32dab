package object

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Spread calls work for each index from 0 to n-1, on as many goroutines as there
// are processors, and returns when all calls have. worker makes the function of
// one goroutine, which may keep a buffer between its calls.
//
// Indexes are handed out one at a time: a render often holds one definition that
// is as large as everything else together.
//
// A panic on one of the goroutines would end the process, out of reach of the
// caller's recover. So it is caught, no further index is handed out, and Spread
// panics with a [*WorkerPanic] when the calls that run have returned.
func Spread(n int, worker func() (work func(i int))) {
	var (
		next    atomic.Int64
		running sync.WaitGroup
		first   atomic.Pointer[WorkerPanic]
	)
	for range min(runtime.GOMAXPROCS(0), n) {
		running.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					first.CompareAndSwap(nil, &WorkerPanic{Value: r, Stack: debug.Stack()})
					next.Store(int64(n))
				}
			}()
			work := worker()
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				work(i)
			}
		})
	}
	running.Wait()
	if p := first.Load(); p != nil {
		panic(p)
	}
}

// WorkerPanic is what [Spread] panics with after a panic on one of its goroutines.
type WorkerPanic struct {
	// Value is what the goroutine panicked with.
	Value any
	// Stack is the stack of that goroutine, as debug.Stack formats it.
	Stack []byte
}

// Error gives the type of the panic's value. Its text may quote a secret.
func (p *WorkerPanic) Error() string { return fmt.Sprintf("panic of type %T in a worker", p.Value) }

// Unwrap returns the panic's value if it is an error, such as a runtime.Error.
func (p *WorkerPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
