package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A render is short, and most of what it allocates lives until its end, so the
// heap may grow further than usual before it is collected. For a large one that
// would cost memory: once much is alive, the usual rule applies again.
const (
	eagerPercent = 400
	usualPercent = 100
	muchAlive    = 24 << 20 // bytes
)

// tuneCollector does this unless the user says otherwise.
func tuneCollector() {
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

// serverMemory is how far the memory of `hallmark serve` grows before it is
// collected more often, in bytes: enough for several large charts at once. It is
// no bound. What is alive, such as a few repositories of 100 MB, may take more, and
// then the limit moves up: a collector that cannot free anything would take half
// of the processors.
const serverMemory = 400 << 20

// limitMemory does this unless the user says otherwise.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetMemoryLimit(serverMemory)
	afterCollection(func() (again bool) {
		debug.SetMemoryLimit(max(serverMemory, liveBytes()*3/2))
		return true
	})
}

// liveBytes is what the last collection found in use.
func liveBytes() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(min(sample[0].Value.Uint64(), math.MaxInt64/2))
}
