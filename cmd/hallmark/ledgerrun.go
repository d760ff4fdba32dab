package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/executor"
)

// runFlags are the flags of `hallmark ledger run`.
type runFlags struct {
	ledger      ledgerFlags
	request     ledger.Request
	invariants  []string
	grace       time.Duration
	resultFile  string
	install     bool
	alreadyDone int
}

// The bounds of a lease: a shorter one is not renewed in time by a busy machine, a longer
// one keeps people waiting before they may look.
const (
	minLease = 3 * time.Second
	maxLease = 24 * time.Hour
)

func ledgerRunCommand(env *environment) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run --change-key KEY --source-revision REVISION -- COMMAND...", Short: "Run a command once, under a claim",
		Long: ledgerRunHelp, Example: ledgerRunExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() != 0 {
				return usageError{errors.New("the command to run stands behind --")}
			}
			if program, _, assigns := strings.Cut(args[0], "="); assigns && !strings.Contains(program, "/") || isAddress(args[0]) {
				// It may hold a password.
				return usageError{diag.WithHint(errors.New("behind -- stands something else than a program"), hintAssignment)}
			}
			return env.runUnderClaim(cmd.Context(), &f, args)
		},
	}
	flags := cmd.Flags()
	f.ledger.flags(cmd)
	flags.StringVar(&f.request.Key, "change-key", "", "`key` of the change, such as checkout:add-order-index:v3 (required)")
	flags.StringVar(&f.request.SourceRevision, "source-revision", "", "`revision` that asks for the change (required)")
	flags.DurationVar(&f.request.Lease, "lease", 10*time.Minute, "how long others wait for a sign of life; it is renewed while the command runs")
	flags.StringArrayVar(&f.invariants, "invariant", nil, "`NAME=SQL` that must return true once the command has ended (repeatable)")
	flags.StringVar(&f.request.Target, "target", "", "`name` of the cluster or database, where each has a ledger of its own")
	flags.StringVar(&f.request.SchemaVersion, "schema-version", "", "`version` of the application's schema once the change is done")
	flags.StringVar(&f.request.JobUID, "job-uid", "", "`uid` of the Job")
	flags.StringVar(&f.request.Executor, "executor", "", "`name` of this executor (default: the host name, which is the pod's)")
	flags.DurationVar(&f.grace, "grace-period", 20*time.Second, "how long the command has between SIGTERM and SIGKILL; 10 s less than the pod's terminationGracePeriodSeconds")
	flags.StringVar(&f.resultFile, "result-file", "", "`file` that gets the result, too, such as /dev/termination-log")
	flags.BoolVar(&f.install, "install", false, "make the ledger's tables where they are missing; in a wrong database that is an empty ledger, in which nothing was done yet")
	flags.IntVar(&f.alreadyDone, "already-done-exit-code", executor.ExitDone, "exit `code` where the change was done before")
	return cmd
}

// check says which of the flags are wrong.
func (f *runFlags) check() ([]ledger.Query, error) {
	r := f.request
	for _, given := range [][2]string{{"--change-key", r.Key}, {"--source-revision", r.SourceRevision}} {
		if err := checkName(given[1]); err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", given[0], err)}
		}
	}
	for _, given := range [][2]string{{"--target", r.Target}, {"--schema-version", r.SchemaVersion}, {"--job-uid", r.JobUID}, {"--executor", r.Executor}} {
		if !utf8.ValidString(given[1]) {
			return nil, usageError{fmt.Errorf("%s: it is not valid UTF-8", given[0])}
		}
	}
	switch {
	case f.request.Lease < minLease || f.request.Lease > maxLease:
		return nil, usageError{fmt.Errorf("--lease: got %s, want %s to %s", f.request.Lease, minLease, maxLease)}
	case f.grace < 0:
		return nil, usageError{fmt.Errorf("--grace-period: got %s, want no less than 0", f.grace)}
	case f.alreadyDone < 0 || f.alreadyDone > 255:
		return nil, usageError{fmt.Errorf("--already-done-exit-code: got %d, want 0 to 255", f.alreadyDone)}
	}
	var out []ledger.Query
	for _, text := range f.invariants {
		name, sql, found := strings.Cut(text, "=")
		if !found || strings.TrimSpace(sql) == "" {
			return nil, usageError{errors.New("--invariant: want NAME=SQL")} // the text may hold values
		}
		if err := checkName(name); err != nil {
			return nil, usageError{fmt.Errorf("--invariant: the name: %w", err)}
		}
		if slices.ContainsFunc(out, func(q ledger.Query) bool { return q.Name == name }) {
			return nil, usageError{fmt.Errorf("--invariant: %q is there twice", name)}
		}
		out = append(out, ledger.Query{Name: name, SQL: sql})
	}
	return out, nil
}

// maxName is the longest name in the ledger, in bytes: that of a MigrationLedger.
const maxName = 253

// checkName says what is wrong with a key, a revision or the name of an invariant.
func checkName(s string) error {
	switch {
	case s == "":
		return errors.New("it is missing")
	case len(s) > maxName:
		return fmt.Errorf("it has %d bytes, want at most %d", len(s), maxName)
	case !utf8.ValidString(s):
		return errors.New("it is not valid UTF-8")
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return fmt.Errorf("%q has spaces or characters that are not printable", s)
	}
	return nil
}

func (env *environment) runUnderClaim(ctx context.Context, f *runFlags, command []string) error {
	invariants, err := f.check()
	if err != nil {
		return err
	}
	ctx, stop := steadfast(ctx)
	defer stop()
	checks, _, err := f.ledger.open(env)
	if err != nil {
		return err
	}
	defer checks.Close()
	// A renewal that gets no answer must leave time for the next.
	f.ledger.timeout = min(f.ledger.timeout, f.request.Lease/3)
	db, l, err := f.ledger.open(env)
	if err != nil {
		return err
	}
	defer db.Close()
	result, err := resultFile(f.resultFile)
	if err != nil {
		return err
	}
	defer result.close()
	if f.request.Executor == "" {
		f.request.Executor, _ = os.Hostname()
	}
	f.request.Token = newToken()
	o := executor.Options{
		Ledger: l, Request: f.request, Invariants: invariants, Check: checks, Grace: f.grace,
		Command: command, Env: f.environ(env), Input: env.stdin, Output: env.stderr, Reap: true,
	}
	r, err := executor.Run(ctx, o)
	if ledger.KindOf(err) == ledger.NotInstalled && f.install {
		if err := l.Install(ctx); err != nil {
			return err
		}
		r, err = executor.Run(ctx, o)
	}
	if err != nil {
		return err
	}
	data, err := indented(r)
	if err != nil {
		return err
	}
	_, err = env.stdout.Write(data)
	err = errors.Join(err, result.write(data))
	// What came of the change is recorded, whether or not it can be printed.
	code := r.Outcome.ExitCode(f.alreadyDone)
	if r.Outcome != executor.Done && r.Outcome != executor.AlreadyDone {
		return coded{diag.WithHint(errors.Join(errors.New(r.Message), err), r.Next), code}
	}
	return coded{err, code}
}

// steadfast is a context that ends with any signal that ends a process in order; a second
// one changes nothing while the command has its grace. The command has SIGPIPE, by which
// a pipeline ends: a signal that this process ignores, its children do as well. A write
// to a closed pipe stays an error.
func steadfast(ctx context.Context) (context.Context, context.CancelFunc) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
}

// A result is a file that is there already where Kubernetes mounts it, and cannot be
// replaced. Until there is something to write it stays as it is.
type result struct{ file *os.File }

func resultFile(name string) (result, error) {
	if name == "" {
		return result{}, nil
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	return result{file}, err
}

func (r result) write(data []byte) error {
	if r.file == nil {
		return nil
	}
	_, err := r.file.WriteAt(data, 0)
	// A device has no length.
	if info, statErr := r.file.Stat(); err == nil && statErr == nil && info.Mode().IsRegular() {
		err = r.file.Truncate(int64(len(data)))
	}
	return err
}

func (r result) close() {
	if r.file != nil {
		_ = r.file.Close()
	}
}

// environ is the environment of the command: without the address of the ledger, and with
// what it runs for.
func (f *runFlags) environ(env *environment) []string {
	out := slices.DeleteFunc(env.environ(), func(entry string) bool { return strings.HasPrefix(entry, ledgerDSN+"=") })
	return append(out, "HALLMARK_CHANGE_KEY="+f.request.Key, "HALLMARK_SOURCE_REVISION="+f.request.SourceRevision)
}

// newToken is a random UUID.
func newToken() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
