package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
)

// Options are what a run needs.
type Options struct {
	Ledger  *ledger.Ledger
	Request ledger.Request
	// Invariants are checked through Check, a connection of its own: the lease is renewed
	// meanwhile.
	Invariants []ledger.Query
	Check      *ledger.DB
	// Grace is how long the command has between SIGTERM and SIGKILL.
	Grace   time.Duration
	Command []string
	Env     []string  // of the command
	Output  io.Writer // gets its standard output and standard error
}

// recordTime is how long an executor that was told to stop goes on to record what came
// of it.
const recordTime = 4 * time.Second

// Run claims the change, runs the command where that is granted, and records what came of
// it. An error means that nothing was run, for a reason that the same call would meet
// again. ctx ends when the executor is told to stop.
func Run(ctx context.Context, o Options) (Result, error) {
	r := Result{ChangeKey: o.Request.Key, Target: o.Request.Target, SourceRevision: o.Request.SourceRevision}
	if _, err := exec.LookPath(o.Command[0]); err != nil {
		return r, fmt.Errorf("the command %q cannot be run: %w", o.Command[0], errors.Unwrap(err))
	}
	asked := time.Now()
	claim, err := o.Ledger.Claim(ctx, o.Request)
	switch {
	case err != nil && (ledger.KindOf(err) == ledger.Unreachable || ledger.KindOf(err) == ledger.Conflict):
		return r.end(Unreachable, err.Error()), nil
	case err != nil:
		return r, err
	}
	r.record(claim.Change)
	if !claim.Granted {
		return refused(ctx, &o, r, claim.Change)
	}
	o.Output = &drain{w: o.Output}
	e := &execution{o: &o, ctx: ctx, result: r}
	// The lease is renewed until everything is recorded, also by one that was told to stop.
	e.lease = keep(context.WithoutCancel(ctx), &o, asked)
	defer e.lease.release()
	return e.run(), nil
}

// refused says why nothing is run. Where the change is done, its invariants are checked.
func refused(ctx context.Context, o *Options, r Result, c ledger.Change) (Result, error) {
	switch {
	case c.Target != o.Request.Target:
		return r.end(Investigate, fmt.Sprintf("the row is of target %q and this is %q: the database may be a copy", c.Target, o.Request.Target)), nil
	case c.State == ledger.Running && !c.LeaseExpired:
		return r.end(Held, fmt.Sprintf("attempt %d runs under a lease until %s", c.Attempt, stamp(c.LeaseUntil))), nil
	case c.State == ledger.Running:
		return r.end(Investigate, fmt.Sprintf("the lease of attempt %d ran out at %s: nobody knows how far it got", c.Attempt, stamp(c.LeaseUntil))), nil
	case c.State == ledger.Failed:
		return r.end(FailedBefore, fmt.Sprintf("attempt %d failed: %s", c.Attempt, c.Failure)), nil
	}
	if checked := check(ctx, o); len(checked) > 0 {
		merged, err := o.Ledger.Recheck(ctx, c, checked)
		if ledger.KindOf(err) == ledger.Unreachable {
			return r.end(Unreachable, err.Error()), nil
		}
		if err != nil {
			return r, err
		}
		r.Invariants = merged
	}
	if broken := firstBroken(r.Invariants); broken != "" {
		return r.end(InvariantBroken, "already done, and "+broken), nil
	}
	return r.end(AlreadyDone, fmt.Sprintf("already done by attempt %d, not repeated", c.Attempt)), nil
}

func stamp(t *time.Time) string { return t.UTC().Format(time.RFC3339) }

// An execution is a run that was granted.
type execution struct {
	o      *Options
	ctx    context.Context // ends when the executor is told to stop
	lease  *keeper
	result Result
}

func (e *execution) run() Result {
	if e.ctx.Err() != nil {
		return e.complete(ledger.Outcome{State: ledger.Failed, ExitCode: -1, Failure: "told to stop before the command was started"})
	}
	p, err := start(e.o)
	if err != nil {
		return e.complete(ledger.Outcome{State: ledger.Failed, ExitCode: -1, Failure: "the command could not be started"})
	}
	stopped, lost := "", false
	select {
	case <-p.ended:
	case <-e.lease.lost:
		lost = true
		p.stop(max(0, min(e.o.Grace, time.Until(e.lease.deadline())*9/10)))
	case <-e.ctx.Done():
		stopped = "told to stop: "
		p.stop(e.o.Grace)
	}
	e.result.Command = &p.end
	switch end := p.end; {
	case lost:
		return e.lost()
	case end.Signal != "":
		return e.complete(ledger.Outcome{State: ledger.Failed, ExitCode: -1, ResultDigest: end.Digest, Failure: stopped + "the command was ended by the signal " + end.Signal})
	case end.ExitCode != 0:
		return e.complete(ledger.Outcome{State: ledger.Failed, ExitCode: end.ExitCode, ResultDigest: end.Digest, Failure: fmt.Sprintf("%sthe command ended with exit code %d", stopped, end.ExitCode)})
	case end.Left:
		return e.complete(ledger.Outcome{State: ledger.Failed, ExitCode: 0, ResultDigest: end.Digest, Failure: "the command ended with exit code 0 and left processes at work, which were stopped"})
	}
	checks, cancel := e.bounded()
	defer cancel()
	return e.complete(ledger.Outcome{State: ledger.Succeeded, ResultDigest: p.end.Digest, Invariants: check(checks, e.o)})
}

// bounded is a context for what follows the command: it ends with the lease, and soon
// after the executor was told to stop. What the ledger still takes, it takes.
func (e *execution) bounded() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.ctx))
	after := func(signal <-chan struct{}, wait func() time.Duration) {
		select {
		case <-ctx.Done():
			return
		case <-signal:
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait()):
			cancel()
		}
	}
	go after(e.ctx.Done(), func() time.Duration { return recordTime })
	go after(e.lease.lost, func() time.Duration { return time.Until(e.lease.deadline()) })
	return ctx, cancel
}

// complete records the outcome, again and again while the lease lasts.
func (e *execution) complete(o ledger.Outcome) Result {
	ctx, cancel := e.bounded()
	defer cancel()
	for {
		c, completed, err := e.o.Ledger.Complete(ctx, e.o.Request.Key, e.o.Request.Token, o)
		switch {
		case completed:
			e.result.record(c)
			return e.recorded(c)
		case err == nil && c.Key != "": // the attempt is no longer ours
			e.result.record(c)
			return e.lost()
		case ctx.Err() != nil || err != nil && ledger.KindOf(err) != ledger.Unreachable && ledger.KindOf(err) != ledger.Conflict:
			return e.result.end(NotRecorded, unrecorded(o, err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(time.Second, e.o.Request.Lease/20)):
		}
	}
}

func unrecorded(o ledger.Outcome, err error) string {
	ended := "the command succeeded"
	if o.State == ledger.Failed {
		ended = o.Failure
	}
	return fmt.Sprintf("%s, and that could not be recorded: %v", ended, err)
}

// recorded is the result of an outcome that the ledger has.
func (e *execution) recorded(c ledger.Change) Result {
	if c.State == ledger.Failed {
		return e.result.end(CommandFailed, c.Failure)
	}
	if broken := firstBroken(c.Invariants); broken != "" {
		return e.result.end(InvariantBroken, "the command succeeded, and "+broken)
	}
	return e.result.end(Done, fmt.Sprintf("done by attempt %d", c.Attempt))
}

// lost is the result of an execution whose lease was lost.
func (e *execution) lost() Result {
	message := "the lease was lost"
	if why := e.lease.reason(); why != "" {
		message += ": " + why
	}
	switch c := e.result.Command; {
	case c == nil:
		message += "; nothing was run"
	case c.Signal != "":
		message += "; the command was stopped"
	default:
		message += fmt.Sprintf("; the command had ended with exit code %d", c.ExitCode)
	}
	return e.result.end(LeaseLost, message)
}

// check runs the invariants in their order.
func check(ctx context.Context, o *Options) []ledger.Invariant {
	var out []ledger.Invariant
	for _, q := range o.Invariants {
		out = append(out, o.Check.Check(ctx, q))
	}
	return out
}

// firstBroken says which invariant does not hold, or could not be checked.
func firstBroken(all []ledger.Invariant) string {
	for _, i := range all {
		switch {
		case i.Holds == nil:
			return fmt.Sprintf("the invariant %q could not be checked: %s", i.Name, i.Detail)
		case !*i.Holds:
			return fmt.Sprintf("the invariant %q is broken: %s", i.Name, i.Detail)
		}
	}
	return ""
}

// drain passes on what it can and takes the rest: a command does not fail because its
// log is gone.
type drain struct {
	mu sync.Mutex
	w  io.Writer
}

func (d *drain) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = d.w.Write(p)
	return len(p), nil
}
