package object

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Spread calls work for each index from 0 to n-1, on as many goroutines as there
// are processors, and returns when all calls have. worker makes the function of
// one goroutine, which may keep a buffer between its calls.
//
// Indexes are handed out one at a time: a render often holds one definition that
// is as large as everything else together.
func Spread(n int, worker func() (work func(i int))) {
	var (
		next    atomic.Int64
		running sync.WaitGroup
	)
	for range min(runtime.GOMAXPROCS(0), n) {
		running.Go(func() {
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
}
