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
	"syscall"
	"time"
	_ "time/tzdata" // an image with nothing else in it has no time zones, and engines then silently take UTC

	_ "hallmark.dev/hallmark/internal/collector" // before the packages of Kubernetes
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
	// The date functions of templates print in the local time zone, an input
	// that no record shows. repo-server and its plugins run in containers, in
	// UTC; so a laptop gives the same bytes.
	time.Local = time.UTC

	// A closed pipe is an error of the write, so that what follows a failed
	// write is done: `hallmark render --evidence FILE | head` leaves no file.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal ends the work in order. A second one ends the process,
	// also where it waits for a reader of its output.
	context.AfterFunc(ctx, stop)
	env := &environment{stdin: stdin, stdout: stdout, stderr: stderr, getenv: os.Getenv, environ: os.Environ}
	root := rootCommand(env)
	root.SetArgs(args)
	return env.exit(root.ExecuteContext(ctx))
}
