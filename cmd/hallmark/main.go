// Command hallmark renders Kubernetes manifests for Argo CD, refuses what must
// not reach a cluster, and stamps the rest with where it came from.
//
// main only wires: each subcommand has a file that turns flags into a request,
// and ui.go holds everything that a person reads.
package main

import (
	"context"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is main without the process: it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// Helm and Kustomize write warnings to the standard loggers, Kustomize also
	// to os.Stderr, and some of them quote values. What a user needs to know,
	// hallmark says itself, through the writer that it was given.
	log.SetOutput(io.Discard)
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stderr = null
	}
	tuneCollector()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	env := &environment{stdin: stdin, stdout: stdout, stderr: stderr, getenv: os.Getenv}
	root := rootCommand(env)
	root.SetArgs(args)
	return env.exit(root.ExecuteContext(ctx))
}

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
