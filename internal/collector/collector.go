// Package collector tunes Go's garbage collector for a process that is short.
//
// A render is short, and most of what it allocates lives until its end. The
// packages that are compiled in, Argo CD's and Kubernetes' above all, allocate 19
// MB before main begins, and collecting that alone costs a third of the start of
// the process. So nothing is collected before a process has taken some memory; then
// Go's usual rule applies. This package says so when it is initialised, which is
// early, since it imports nothing that is not there already: before Kubernetes.
//
// It is the one package with an init function. The environment variables GOGC and
// GOMEMLIMIT win.
package collector

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// uncollected is how much memory a process takes before it collects anything, in
// bytes: what the render of a large chart allocates altogether.
const uncollected = 96 << 20

func init() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(uncollected)
		afterCollection(func() (again bool) {
			debug.SetMemoryLimit(math.MaxInt64)
			debug.SetGCPercent(100)
			return false
		})
	}
}

// LimitMemory is for a process that is not short. The usual rule applies from now
// on, and from soft bytes on the collector works harder. That is no bound: what is
// alive may take more, and then the limit moves up, since a collector that cannot
// free anything would take half of the processors.
func LimitMemory(soft int64) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(100)
	debug.SetMemoryLimit(soft)
	afterCollection(func() (again bool) { // the first time it undoes what init does then
		debug.SetMemoryLimit(max(soft, liveBytes()*3/2))
		return true
	})
}

// liveBytes is what the last collection found in use.
func liveBytes() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(min(sample[0].Value.Uint64(), math.MaxInt64/2))
}

// afterCollection calls f after each garbage collection until it returns false:
// when the collector finds the sentinel unreachable, the next one takes its place.
func afterCollection(f func() (again bool)) {
	type sentinel struct{ _ *byte }
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		if f() {
			afterCollection(f)
		}
	})
}
