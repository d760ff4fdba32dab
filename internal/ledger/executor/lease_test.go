package executor_test

import (
	"fmt"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/executor"
	"hallmark.dev/hallmark/internal/pgtest"
)

// unhurried is the lease where one has to be renewed in time: a third of it is waited for,
// and the rest is for a busy machine.
const unhurried = 45 * time.Second

func expired(c ledger.Change) bool { return c.LeaseExpired }

// renewed waits until the lease was renewed since a moment ago.
func (b bench) renewed(t *testing.T, meanwhile func()) {
	t.Helper()
	before := *b.row(t).LeaseUntil
	b.await(t, "a renewal", func(c ledger.Change) bool { meanwhile(); return c.LeaseUntil.After(before) })
}

// An answer to a claim that comes when the lease is over gives no right any more.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	proxy := pgtest.NewProxy(t, b.dsn)
	claimed, pass := make(chan bool), make(chan bool)
	proxy.OnData(after(claiming, true, func() bool { claimed <- true; return <-pass }))
	o := b.through(proxy.DSN).options(t, 1, ranAndPid)
	o.Request.Lease = 2 * time.Second
	ended := begin(t.Context(), t, o)
	wait(t, "the claim", claimed)
	b.await(t, "the end of the lease", expired)
	pass <- true
	r := wait(t, "the end", ended)
	want(t, b, r, executor.LeaseLost, ledger.Running)
	if r.Command != nil || b.ran(t) != 0 {
		t.Errorf("the command was started after the lease: %+v", r)
	}
}

// An executor that was paused beyond its lease changes nothing when it wakes up,
// whether or not the command was paused with it, and whatever others did meanwhile.
func TestPaused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		command bool // is paused, too
		ends    bool // the command ends meanwhile
		retried bool // by another, after a decision
	}{
		{"the command goes on", false, false, false},
		{"the command ends", false, true, false},
		{"the command is paused", true, false, false},
		{"another runs it, the first command goes on", false, false, true},
		{"another ran it, the first command ended", false, true, true},
		{"another ran it, the first command was paused", true, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			s := b.setup(1)
			s.Lease = 10 * time.Second
			first := b.spawn(t, s, ranAndPid+until("go"))
			pid := first.pid(t, b, "pid")
			first.signal(syscall.SIGSTOP)
			if c.command {
				_ = syscall.Kill(-pid, syscall.SIGSTOP)
			}
			b.await(t, "the end of the lease", expired)
			if c.ends {
				b.touch(t, "go")
				await(t, "the end of the command", func() bool { return dead(pid) })
			}
			state, attempts := ledger.Running, "RUNNING"
			if c.retried {
				state, attempts = ledger.Succeeded, "FAILED SUCCEEDED"
				b.recover(t, ledger.Retry)
				want(t, b, run(t.Context(), t, b.options(t, 2, `echo x >>"$D/ran"`)), executor.Done, state)
			}
			before := b.row(t)
			first.signal(syscall.SIGCONT)
			r, code := first.result(t)
			if code != executor.ExitInvestigate {
				t.Errorf("the exit code is %d: %+v", code, r)
			}
			want(t, b, r, executor.LeaseLost, state)
			if !dead(pid) {
				t.Error("the command is left alone")
			}
			if now := b.row(t); !reflect.DeepEqual(now, before) || b.attempts(t) != attempts {
				t.Errorf("%+v became %+v, attempts %s", before, now, b.attempts(t))
			}
		})
	}
}

// The command is told to end before the lease is over, and does not live beyond it.
func TestCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		stop   bool // the executor is told to stop, too
		grace  time.Duration
		ended  executor.Command
	}{
		"in order":        {`trap 'echo x >>"$D/term"; exit 0' TERM; `, false, time.Hour, executor.Command{}},
		"by force":        {`trap '' TERM; `, false, time.Hour, executor.Command{ExitCode: -1, Signal: "killed"}},
		"without grace":   {`trap '' TERM; `, false, 0, executor.Command{ExitCode: -1, Signal: "killed"}},
		"after a SIGTERM": {`trap '' TERM; `, true, time.Hour, executor.Command{ExitCode: -1, Signal: "killed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			proxy := pgtest.NewProxy(t, b.dsn)
			s := b.through(proxy.DSN).setup(1)
			s.Lease, s.Grace = 20*time.Second, c.grace
			p := b.spawn(t, s, c.script+ranAndPid+until("never"))
			pid := p.pid(t, b, "pid")
			proxy.Cut()
			if c.stop {
				p.signal(syscall.SIGTERM)
			}
			b.await(t, "the end of the lease", expired)
			if !dead(pid) {
				t.Error("the command lives after its lease")
			}
			r, code := p.result(t)
			want(t, b, r, executor.LeaseLost, ledger.Running)
			if code != executor.ExitInvestigate || r.Command == nil || r.Command.ExitCode != c.ended.ExitCode || r.Command.Signal != c.ended.Signal {
				t.Errorf("exit code %d, the command ended as %+v", code, r.Command)
			}
			if strings.Contains(c.script, "term") && len(b.lines(t, "term")) != 1 {
				t.Error("the command was not told")
			}
			proxy.Mend()
			b.aftermath(t, ledger.Running, 0)
		})
	}
}

// A lease that was given up is not made longer when the network is back: whoever
// investigates would wait in vain.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	proxy := pgtest.NewProxy(t, b.dsn)
	o := b.through(proxy.DSN).options(t, 1, `trap 'echo x >>"$D/term"; `+until("go")+`; exit 0' TERM; `+ranAndPid+until("never"))
	o.Request.Lease = 15 * time.Second
	o.Ledger = ledger.New(mustOpen(t, ledger.Config{DSN: proxy.DSN, Source: "the test", Timeout: 2 * time.Second}), "")
	// A renewal that was only held up could still come to the server.
	proxy.OnData(after(renewing, false, func() bool { return false }))
	ended := begin(t.Context(), t, o)
	b.pid(t, "pid")
	before := *b.row(t).LeaseUntil
	await(t, "the command to be told", func() bool { return len(b.lines(t, "term")) > 0 })
	proxy.Mend()
	b.await(t, "the end of the lease", expired)
	b.touch(t, "go")
	want(t, b, wait(t, "the end", ended), executor.LeaseLost, ledger.Running)
	if until := *b.row(t).LeaseUntil; !until.Equal(before) {
		t.Errorf("the lease until %s became one until %s", before, until)
	}
}

// A lease outlives a network that is cut for less, and a connection that never works
// again.
func TestCutShort(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{false, true} {
		t.Run(fmt.Sprint(whole), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			proxy := pgtest.NewProxy(t, b.dsn)
			asked := make(chan bool, 1)
			proxy.OnData(after(renewing, false, func() bool { asked <- true; return whole }))
			o := b.through(proxy.DSN).options(t, 1, ranAndPid+until("go"))
			o.Request.Lease = unhurried
			ended := begin(t.Context(), t, o)
			b.pid(t, "pid")
			if whole {
				proxy.Cut()
			}
			wait(t, "a renewal", asked)
			b.renewed(t, proxy.Mend) // again and again: the cut may be still to come
			b.touch(t, "go")
			want(t, b, wait(t, "the end", ended), executor.Done, ledger.Succeeded)
		})
	}
}

// A completion is repeated while the lease lasts, and known again where only its answer
// was lost.
func TestCutAtCompletion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		answer  bool // it is written, and its answer is lost
		mended  bool
		outcome executor.Outcome
		state   ledger.State
	}{
		{"before it, mended", false, true, executor.Done, ledger.Succeeded},
		{"after it, mended", true, true, executor.Done, ledger.Succeeded},
		{"before it", false, false, executor.NotRecorded, ledger.Running},
		{"after it", true, false, executor.NotRecorded, ledger.Succeeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			proxy := pgtest.NewProxy(t, b.dsn)
			cut := make(chan bool)
			proxy.OnData(after(completing, c.answer, func() bool { close(cut); return false }))
			o := b.through(proxy.DSN).options(t, 1, ranAndPid+"exit 0")
			o.Ledger = ledger.New(mustOpen(t, ledger.Config{DSN: proxy.DSN, Source: "the test", Timeout: 3 * time.Second}), "")
			if !c.mended {
				o.Request.Lease = 10 * time.Second
			}
			ended := begin(t.Context(), t, o)
			wait(t, "the completion", cut)
			if c.mended {
				await(t, "the completion to come again", func() bool { proxy.Mend(); return len(ended) > 0 })
			}
			r := wait(t, "the end", ended)
			want(t, b, r, c.outcome, c.state)
			noSecret(t, r)
			if r.Command == nil || r.Command.ExitCode != 0 || !c.mended && !strings.Contains(r.Message, "the command succeeded") {
				t.Errorf("the result is %+v", r)
			}
			if b.ran(t) != 1 || b.attempts(t) != string(c.state) {
				t.Errorf("it ran %d times, attempts %s", b.ran(t), b.attempts(t))
			}
		})
	}
}

// A database that starts anew, or takes no writes for a while, delays a run.
func TestRestart(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t)
	b := benchAt(t, server.Database(t))
	proxy := pgtest.NewProxy(t, b.dsn)
	completes, pass := make(chan bool), make(chan bool)
	proxy.OnData(after(completing, false, func() bool { completes <- true; return <-pass }))
	o := b.through(proxy.DSN).options(t, 1, ranAndPid+until("go"))
	o.Request.Lease = unhurried
	ended := begin(t.Context(), t, o)
	b.pid(t, "pid")
	server.Stop(t)
	server.Continue(t)
	b.renewed(t, func() {})
	b.touch(t, "go")
	wait(t, "the completion", completes)
	server.Stop(t)
	pass <- true
	server.Continue(t)
	want(t, b, wait(t, "the end", ended), executor.Done, ledger.Succeeded)
}

func TestReadOnlyForAWhile(t *testing.T) {
	t.Parallel()
	b := ownBench(t)
	admin := pgtest.Start(t)
	refused := make(chan bool, 100)
	proxy := pgtest.NewProxy(t, b.dsn)
	proxy.OnData(func(toServer bool, data []byte) bool {
		if !toServer && strings.Contains(string(data), "C25006") {
			refused <- true
		}
		return true
	})
	o := b.through(proxy.DSN).options(t, 1, ranAndPid+until("go"))
	ended := begin(t.Context(), t, o)
	b.pid(t, "pid")
	admin.Exec(t, b.dsn, `DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET default_transaction_read_only = on'; END $$;
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	b.touch(t, "go")
	wait(t, "a refused completion", refused)
	admin.Exec(t, b.dsn, `BEGIN READ WRITE; DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' RESET default_transaction_read_only'; END $$; COMMIT;
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	want(t, b, wait(t, "the end", ended), executor.Done, ledger.Succeeded)
}

// A row that somebody deleted keeps nobody waiting.
func TestRowGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := b.options(t, 1, ranAndPid+until("go"))
	ended := begin(t.Context(), t, o)
	b.pid(t, "pid")
	where := " WHERE change_key = '" + b.key + "'"
	pgtest.Start(t).Exec(t, b.dsn, "DELETE FROM hallmark.ledger_attempts"+where+"; DELETE FROM hallmark.ledger_changes"+where)
	b.touch(t, "go")
	r := wait(t, "the end", ended)
	if r.Outcome != executor.NotRecorded || !strings.Contains(r.Message, "row is gone") || r.Command == nil {
		t.Errorf("the result is %+v", r)
	}
}

// A person decides while the command runs: the next renewal learns of it and the command
// is stopped, and what the person decided stays.
func TestForced(t *testing.T) {
	t.Parallel()
	for verdict, state := range map[ledger.Verdict]ledger.State{
		ledger.FoundSucceeded: ledger.Succeeded, ledger.FoundFailed: ledger.Failed, ledger.Retry: ledger.Failed,
	} {
		t.Run(string(verdict), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			o := b.options(t, 1, `trap 'echo x >>"$D/term"; exit 0' TERM; `+ranAndPid+until("never"))
			o.Request.Lease = unhurried
			ended := begin(t.Context(), t, o)
			pid := b.pid(t, "pid")
			b.recover(t, verdict)
			r := wait(t, "the end", ended)
			want(t, b, r, executor.LeaseLost, state)
			if !dead(pid) || len(b.lines(t, "term")) != 1 || !strings.Contains(r.Message, "decided") {
				t.Errorf("the command goes on, or was not told: %+v", r)
			}
			if b.attempts(t) != string(state) || b.row(t).MayRun() != (verdict == ledger.Retry) {
				t.Errorf("%+v, attempts %s", b.row(t), b.attempts(t))
			}
		})
	}
}
