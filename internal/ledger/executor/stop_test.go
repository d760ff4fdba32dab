package executor_test

import (
	"context"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/executor"
	"hallmark.dev/hallmark/internal/pgtest"
)

// SIGTERM for the executor comes to all of the group. Exit code 0 proves nothing then.
func TestTerm(t *testing.T) {
	t.Parallel()
	child := `sh -c 'trap "echo x >>\"\$D/term\"; exit 0" TERM; echo $$ >"$D/child"; ` + until("never") + `' & `
	for name, c := range map[string]struct {
		script  string // writes to pid when it is to be told
		grace   time.Duration
		again   bool // it is told twice
		outcome executor.Outcome
		state   ledger.State
		code    int
		message string
		term    int // how many processes say that they were told
	}{
		"by default": {ranAndPid + until("never"), patience, false,
			executor.CommandFailed, ledger.Failed, executor.ExitFailed, "told to stop: the command was ended by the signal terminated", 0},
		"exit code 0": {`trap 'echo x >>"$D/term"; exit 0' TERM; ` + ranAndPid + until("never"), patience, false,
			executor.CommandFailed, ledger.Failed, executor.ExitFailed, "told to stop: the command ended with exit code 0, and nobody knows whether it had finished", 1},
		"exit code 9": {`trap 'echo x >>"$D/term"; exit 9' TERM; ` + ranAndPid + until("never"), patience, false,
			executor.CommandFailed, ledger.Failed, executor.ExitFailed, "told to stop: the command ended with exit code 9", 1},
		"a child": {child + `trap 'wait; exit 0' TERM; ` + until("child") + `; ` + ranAndPid + until("never"), patience, false,
			executor.CommandFailed, ledger.Failed, executor.ExitFailed, "told to stop: the command ended with exit code 0, and nobody knows whether it had finished", 1},
		"a child of one that dies": {child + `` + until("child") + `; ` + ranAndPid + until("never"), patience, false,
			executor.CommandFailed, ledger.Failed, executor.ExitFailed, "ended by the signal terminated", 1},
		"paused": {`trap 'echo x >>"$D/term"; exit 0' TERM; ` + ranAndPid + `kill -STOP $$; ` + until("never"), patience, false,
			executor.CommandFailed, ledger.Failed, executor.ExitFailed, "told to stop: the command ended with exit code 0, and nobody knows whether it had finished", 1},
		"a paused child": {`sh -c 'trap "echo x >>\"\$D/term\"; exit 0" TERM; echo $$ >"$D/child"; kill -STOP $$; ` + until("never") + `' & trap 'wait; exit 0' TERM; ` + until("child") + `; ` + ranAndPid + until("never"), patience, false,
			executor.CommandFailed, ledger.Failed, executor.ExitFailed, "told to stop: the command ended with exit code 0, and nobody knows whether it had finished", 1},
		"deaf": {`trap '' TERM; ` + ranAndPid + until("never"), time.Second, false,
			executor.CommandFailed, ledger.Failed, executor.ExitFailed, "told to stop: the command was ended by the signal killed", 0},
		"a deaf child": {`(trap '' TERM; echo x >"$D/deaf"; ` + until("never") + `) & trap 'exit 0' TERM; ` + until("deaf") + `; ` + ranAndPid + until("never"), 3 * time.Second, false,
			executor.CommandFailed, ledger.Failed, executor.ExitFailed, "told to stop: the command ended with exit code 0 and left processes at work", 0},
		"twice": {`trap 'echo x >>"$D/term"; n=$((n+1)); echo $n >"$D/told"; ` + until("go") + `; exit 0' TERM; ` + ranAndPid + until("never"), patience, true,
			executor.CommandFailed, ledger.Failed, executor.ExitFailed, "told to stop: the command ended with exit code 0, and nobody knows whether it had finished", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			s := b.setup(1)
			s.Grace = c.grace
			p := b.spawn(t, s, c.script)
			p.pid(t, b, "pid")
			for who, paused := range map[string]bool{"pid": name == "paused", "child": name == "a paused child"} {
				if paused {
					pid := p.pid(t, b, who)
					await(t, "the process to pause", func() bool { return stateOf(pid) == 'T' })
				}
			}
			p.signal(syscall.SIGTERM)
			if c.again {
				p.pid(t, b, "told")
				p.signal(syscall.SIGTERM)
				b.touch(t, "go")
			}
			r, code := p.result(t)
			want(t, b, r, c.outcome, c.state)
			if code != c.code || !strings.Contains(r.Message, c.message) || len(b.lines(t, "term")) != c.term {
				t.Errorf("exit code %d, %d were told, %+v", code, len(b.lines(t, "term")), r)
			}
			for _, name := range []string{"pid", "child"} {
				if len(b.lines(t, name)) > 0 && !dead(b.pid(t, name)) {
					t.Errorf("%s is alive", name)
				}
			}
			if c.state == ledger.Succeeded && (len(r.Invariants) != 1 || r.Invariants[0].Holds == nil) {
				t.Errorf("the invariants are %+v", r.Invariants)
			}
		})
	}
}

// All of the group have the grace, also when the first of them has ended long since.
func TestGraceOfGroup(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := b.options(t, 1, `sh -c 'trap "sleep 5; echo x >>\"\$D/clean\"; exit" TERM; echo $$ >"$D/pid"; `+until("never")+`' & wait`)
	o.Grace = patience
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := begin(ctx, t, o)
	b.pid(t, "pid")
	stop()
	r := wait(t, "the end", ended)
	want(t, b, r, executor.CommandFailed, ledger.Failed)
	if len(b.lines(t, "clean")) != 1 || r.Command.Left {
		t.Errorf("a child of the command was killed before the grace was over: %+v", r.Command)
	}
}

// Told to stop at a message, an executor says what it did, and the ledger the same.
func TestTermAtMessage(t *testing.T) {
	t.Parallel()
	type end struct {
		outcome executor.Outcome
		state   ledger.State
	}
	for _, c := range []struct {
		name    string
		text    string
		answer  bool
		ran     int
		ends    []end // one of them: a message may come before the signal does
		message string
	}{
		{"before the claim", "application_name", false, 0, []end{{executor.Unreachable, ledger.Absent}}, "stopped"},
		{"the claim", claiming, false, 0, []end{{executor.Unreachable, ledger.Absent}, {executor.Unreachable, ledger.Running}, {executor.CommandFailed, ledger.Failed}}, ""},
		{"the answer to the claim", claiming, true, 0, []end{{executor.CommandFailed, ledger.Failed}}, "started"},
		{"the invariants", checking, false, 1, []end{{executor.Done, ledger.Succeeded}}, "done"},
		{"the completion", completing, false, 1, []end{{executor.Done, ledger.Succeeded}}, "done"},
		{"the answer to the completion", completing, true, 1, []end{{executor.Done, ledger.Succeeded}}, "done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			proxy := pgtest.NewProxy(t, b.dsn)
			o := b.through(proxy.DSN).options(t, 1, ranAndPid)
			o.Invariants = b.setup(1).Invariants
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			proxy.OnData(after(c.text, c.answer, func() bool { stop(); return true }))
			r := wait(t, "the end", begin(ctx, t, o))
			state, found := b.state(t), false
			for _, e := range c.ends {
				found = found || e == end{r.Outcome, state}
			}
			if !found || b.ran(t) != c.ran || !strings.Contains(r.Message, c.message) {
				t.Errorf("it ran %d times, is %s, and says %+v", b.ran(t), state, r)
			}
		})
	}
}

// A network that is cut, or an invariant without end, does not hold an executor that was
// told to stop, however long the lease is.
func TestTermIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cut     string // the network is, at this statement
		endless bool   // the invariant is
		outcome executor.Outcome
		state   ledger.State
	}{
		"invariants cut":     {checking, false, executor.NotRecorded, ledger.Running},
		"completion cut":     {completing, false, executor.NotRecorded, ledger.Running},
		"claim cut":          {claiming, false, executor.Unreachable, ledger.Absent},
		"endless invariants": {"", true, executor.InvariantUnchecked, ledger.Succeeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			proxy := pgtest.NewProxy(t, b.dsn)
			o := b.through(proxy.DSN).options(t, 1, ranAndPid)
			o.Ledger = ledger.New(mustOpen(t, ledger.Config{DSN: proxy.DSN, Source: "the test", Timeout: time.Hour}), "")
			o.Check = mustOpen(t, ledger.Config{DSN: proxy.DSN, Source: "the test", Timeout: time.Hour})
			o.Invariants = b.setup(1).Invariants
			at := c.cut
			if c.endless {
				at = "pg_sleep"
				o.Invariants = []ledger.Query{{Name: "endless", SQL: "SELECT pg_sleep(3600) IS NOT NULL"}}
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			proxy.OnData(after(at, false, func() bool { stop(); return c.cut == "" }))
			r := wait(t, "the end", begin(ctx, t, o))
			if c.state != ledger.Absent {
				want(t, b, r, c.outcome, c.state)
			} else if r.Outcome != c.outcome {
				t.Errorf("the result is %+v", r)
			}
			if c.endless && (len(r.Invariants) != 1 || r.Invariants[0].Holds != nil) {
				t.Errorf("the invariants are %+v", r.Invariants)
			}
		})
	}
}

// toldContext has ended, and does not say so by its channel.
type toldContext struct {
	context.Context
	told *atomic.Bool
}

func (c toldContext) Err() error {
	if c.told.Load() {
		return context.Canceled
	}
	return nil
}

// Between the answer to the claim and the start of the command nothing is started.
func TestTermBeforeStart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	proxy := pgtest.NewProxy(t, b.dsn)
	ctx := toldContext{t.Context(), &atomic.Bool{}}
	proxy.OnData(after(claiming, true, func() bool { ctx.told.Store(true); return true }))
	r := wait(t, "the end", begin(ctx, t, b.through(proxy.DSN).options(t, 1, ranAndPid)))
	want(t, b, r, executor.CommandFailed, ledger.Failed)
	if b.ran(t) != 0 || r.Command != nil || !strings.Contains(r.Message, "told to stop before the command was started") {
		t.Errorf("it ran %d times: %+v", b.ran(t), r)
	}
}

// A process that was told to stop before it asked for anything leaves nothing behind.
func TestTermBeforeAll(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r := run(ctx, t, b.options(t, 1, ranAndPid))
	if r.Outcome != executor.Unreachable || b.state(t) != ledger.Absent || b.ran(t) != 0 {
		t.Errorf("it is %s: %+v", b.state(t), r)
	}
}
