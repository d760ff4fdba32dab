// Package collector tunes Go's garbage collector for a process that is short.
//
// A render is short, and most of what it allocates lives until its end, so the
// heap may grow further than usual before it is collected. The packages that are
// compiled in, Argo CD's and Kubernetes' above all, allocate 16 MB before main
// begins, and collecting that costs a third of the start of the process. So this
// package turns the collector off when it is initialised; importing nothing, it
// is among the first of this module, and before Kubernetes.
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

const (
	eagerPercent = 400
	usualPercent = 100
	muchAlive    = 24 << 20 // bytes
)

func init() { //nolint:gochecknoinits // see the package comment
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(-1)
	}
}

// Start begins collection. For a large render a heap that may grow far would cost
// memory: once much is alive, the usual rule applies again.
func Start() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(eagerPercent)
	afterCollection(func() (again bool) {
		if liveBytes() < muchAlive {
			return true
		}
		debug.SetGCPercent(usualPercent)
		return false
	})
}

// LimitMemory has the collector work harder from soft bytes on. It is no bound:
// what is alive may take more, and then the limit moves up, since a collector that
// cannot free anything would take half of the processors.
func LimitMemory(soft int64) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(soft)
	afterCollection(func() (again bool) {
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
