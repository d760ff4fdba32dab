package executor_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/executor"
	"hallmark.dev/hallmark/internal/pgtest"
)

// ranAndPid is the side effect of a command, and who it is.
const ranAndPid = `echo x >>"$D/ran"; echo $$ >"$D/pid"; `

// The executor is killed at every step. What stands in the ledger then says what to do,
// and nothing is run again before a person decided that.
func TestKill(t *testing.T) {
	t.Parallel()
	const whole = ranAndPid + "exit 0"
	for i, c := range []struct {
		name   string
		text   string // of the statement at which it is killed
		answer bool   // that is, when the answer has come to the proxy
		passed bool   // what it is killed at is passed on
		lease  time.Duration
		script string
		ran    int
		state  ledger.State
	}{
		{"before the claim", claiming, false, false, time.Hour, whole, 0, ledger.Absent},
		{"the claim is sent", claiming, false, true, time.Hour, whole, 0, ledger.Unknown}, // it may be undone with the connection
		{"the claim is written", claiming, true, false, time.Hour, whole, 0, ledger.Running},
		{"the answer is sent", claiming, true, true, time.Hour, whole, 0, ledger.Running},
		{"a renewal", renewing, false, false, 15 * time.Second, ranAndPid + until("never"), 1, ledger.Running},
		{"a renewal is written", renewing, true, false, 15 * time.Second, ranAndPid + until("never"), 1, ledger.Running},
		{"before the invariants", "begin", false, false, time.Hour, whole, 1, ledger.Running},
		{"the invariants", checking, false, false, time.Hour, whole, 1, ledger.Running},
		{"after the invariants", checking, true, true, time.Hour, whole, 1, ledger.Running},
		{"before the completion", completing, false, false, time.Hour, whole, 1, ledger.Running},
		{"the completion is sent", completing, false, true, time.Hour, whole, 1, ledger.Unknown},
		{"the completion is written", completing, true, false, time.Hour, whole, 1, ledger.Succeeded},
		{"the completion is answered", completing, true, true, time.Hour, whole, 1, ledger.Succeeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			proxy := pgtest.NewProxy(t, b.dsn)
			started, killed := make(chan *child, 1), make(chan bool)
			proxy.OnData(after(c.text, c.answer, func() bool {
				(<-started).kill()
				close(killed)
				return c.passed
			}))
			s := b.through(proxy.DSN).setup(1)
			s.Lease = c.lease
			started <- b.spawn(t, s, c.script)
			wait(t, "the kill", killed)
			if c.ran > 0 {
				pid := b.pid(t, "pid")
				await(t, "the death of the command", func() bool { return dead(pid) })
			}
			if b.ran(t) != c.ran {
				t.Fatalf("it ran %d times, want %d", b.ran(t), c.ran)
			}
			state := c.state
			if state == ledger.Unknown {
				state = b.settled(t, proxy)
			}
			b.aftermath(t, state, i)
		})
	}
}

// The command is killed with its executor, also one that is about to run another.
func TestKillInCommand(t *testing.T) {
	t.Parallel()
	for i, script := range []string{
		ranAndPid + until("go") + `; echo x >>"$D/ran"`,
		ranAndPid + `sh -c '` + until("go") + `'; echo x >>"$D/ran"`,
		`trap '' TERM HUP INT; ` + ranAndPid + until("go") + `; echo x >>"$D/ran"`,
		ranAndPid + `kill -STOP $$; echo x >>"$D/ran"`,
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			c := b.spawn(t, b.setup(1), script)
			pid := c.pid(t, b, "pid")
			c.kill()
			await(t, "the death of the command", func() bool { return dead(pid) })
			b.touch(t, "go")
			b.aftermath(t, ledger.Running, i)
			if b.attempts(t) == "" {
				t.Error("no attempt is on record")
			}
		})
	}
}

// At whatever message it is killed, the rules hold.
func TestKillAnywhere(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		done := true
		for i, passed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d %t", n, passed), func(t *testing.T) {
				if killAt(t, n, passed, 2*n+i) {
					done = false
				}
			})
		}
		if done {
			if n < 20 {
				t.Errorf("the executor was done after %d messages: the proxy sees too little", n)
			}
			return
		}
	}
}

// killAt kills an executor at the n-th message, which is passed on or not. It reports
// whether there was one.
func killAt(t *testing.T, n int, passed bool, order int) bool {
	b := newBench(t)
	proxy := pgtest.NewProxy(t, b.dsn)
	started := make(chan *child, 1)
	var mu sync.Mutex
	var last []byte
	seen := 0
	proxy.OnData(func(_ bool, data []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen-1 != n {
			return true
		}
		(<-started).kill()
		last = data
		return passed
	})
	c := b.spawn(t, b.through(proxy.DSN).setup(1), ranAndPid+"exit 0")
	started <- c
	wait(t, "the end of the executor", c.ended)
	if len(b.lines(t, "pid")) > 0 {
		pid := b.pid(t, "pid")
		await(t, "the death of the command", func() bool { return dead(pid) })
	}
	state, ran := b.settled(t, proxy), b.ran(t)
	mu.Lock()
	at := last
	mu.Unlock()
	if ran > 1 || ran == 1 && state == ledger.Absent || ran == 0 && state == ledger.Succeeded {
		t.Errorf("it ran %d times and is %s, message %q", ran, state, at)
	}
	b.aftermath(t, state, order)
	return at != nil
}

// settled is the state once the server has done all that it was sent by executors that
// have died. What they sent behind the message that was kept back comes to the server.
func (b bench) settled(t testing.TB, proxy *pgtest.Proxy) ledger.State {
	t.Helper()
	conn := pgtest.Connect(t, b.dsn)
	await(t, "the server to notice the death", func() bool {
		proxy.Mend() // again and again: the cut may be still to come
		left := 0
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", b.application()).Scan(&left); err != nil {
			t.Fatal(err)
		}
		return left == 0
	})
	return b.state(t)
}

// aftermath lets other executors come to what a killed one left, and people decide
// about it, each time in another order.
func (b bench) aftermath(t testing.TB, state ledger.State, order int) {
	t.Helper()
	token, runs := 1, b.ran(t)
	next := func(outcome executor.Outcome, more int, says string) {
		t.Helper()
		token++
		o := b.options(t, token, `echo x >>"$D/ran"`)
		r := run(t.Context(), t, o)
		noSecret(t, r, o.Output.(*output).String())
		runs += more
		if r.Outcome != outcome || !strings.Contains(r.Next, says) || b.ran(t) != runs {
			t.Errorf("executor %d ends as %+v after %d runs, want %s, %q after %d", token, r, b.ran(t), outcome, says, runs)
		}
	}
	switch state {
	case ledger.Absent:
		next(executor.Done, 1, "nothing")
		next(executor.AlreadyDone, 0, "nothing")
		return
	case ledger.Succeeded:
		next(executor.AlreadyDone, 0, "nothing")
		return
	}
	if c := b.row(t); c.State != ledger.Running || c.Attempt != 1 {
		t.Fatalf("the row is %+v", c)
	}
	b.lease(t, "1 hour")
	next(executor.Held, 0, "wait")
	b.lease(t, "0")
	next(executor.Investigate, 0, "do not re-run")
	next(executor.Investigate, 0, "recover")
	decide := map[ledger.Verdict]func(){
		ledger.FoundFailed:    func() { next(executor.FailedBefore, 0, "recover") },
		ledger.FoundSucceeded: func() { next(executor.AlreadyDone, 0, "nothing") },
		ledger.Retry: func() {
			next(executor.Done, 1, "nothing")
			next(executor.AlreadyDone, 0, "nothing")
		},
	}
	orders := [][]ledger.Verdict{
		{ledger.FoundFailed, ledger.FoundSucceeded, ledger.Retry},
		{ledger.FoundSucceeded, ledger.FoundFailed, ledger.Retry},
		{ledger.Retry, ledger.FoundFailed, ledger.Retry},
	}
	for _, verdict := range orders[order%len(orders)] {
		b.recover(t, verdict)
		decide[verdict]()
	}
}
