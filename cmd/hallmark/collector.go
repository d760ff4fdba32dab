package main

import (
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
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		if sample[0].Value.Uint64() < muchAlive {
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
