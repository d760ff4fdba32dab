package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
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
	Input   io.Reader // its standard input; none where it is nil
	// Reap lets go of orphans that end while the command runs. Only a process that has no
	// other children may ask for it.
	Reap bool
	// Output gets the command's standard output and standard error, by one call at a
	// time. A call that blocks may go on after Run has returned.
	Output io.Writer
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
		return r, fmt.Errorf("the command %q cannot be run: %w", o.Command[0], reason(err))
	}
	asked := time.Now()
	claim, err := o.Ledger.Claim(ctx, o.Request)
	switch {
	case passing(err):
		return withdrawn(ctx, &o, r, err), nil
	case err != nil:
		return r, err
	}
	r.record(claim.Change)
	if !claim.Granted {
		return refused(ctx, &o, r, claim.Change)
	}
	e := &execution{o: &o, ctx: ctx, result: r}
	// The lease is renewed until everything is recorded, also by one that was told to stop.
	e.lease = keep(context.WithoutCancel(ctx), &o, asked)
	defer e.lease.release()
	return e.run(), nil
}

// reason is why a program cannot be run, without its name.
func reason(err error) error {
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number
	}
	return errors.Unwrap(err)
}

// withdrawn is the result of a claim that had no answer. Where it was written
// nevertheless, it is recorded that nothing was run.
func withdrawn(ctx context.Context, o *Options, r Result, claiming error) Result {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	failed := ledger.Outcome{State: ledger.Failed, ExitCode: -1, Failure: "the answer to the claim was lost, and the command was not started"}
	if c, completed, _ := o.Ledger.Complete(ctx, o.Request.Key, o.Request.Token, failed); completed {
		r.record(c)
		return r.end(CommandFailed, c.Failure)
	}
	return r.end(Unreachable, claiming.Error())
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
	o.Ledger.Disconnect() // one connection at a time is enough here, and a role may have no more
	r.Invariants = check(ctx, o)
	o.Check.Close()
	if len(r.Invariants)+len(c.Invariants) > 0 {
		err := o.Ledger.Recheck(ctx, c, r.Invariants)
		if passing(err) {
			return r.end(Unreachable, err.Error()), nil
		}
		if err != nil {
			return r, err
		}
	}
	outcome, message := judge(r.Invariants)
	if outcome == Done {
		return r.end(AlreadyDone, fmt.Sprintf("already done by attempt %d, not repeated", c.Attempt)), nil
	}
	return r.end(outcome, "already done, and "+message), nil
}

// passing reports whether there was an error that the same call may not meet again.
func passing(err error) bool {
	kind := ledger.KindOf(err)
	return err != nil && (kind == ledger.Unreachable || kind == ledger.Conflict)
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
	failed := ledger.Outcome{State: ledger.Failed, ExitCode: -1}
	switch {
	case e.ctx.Err() != nil:
		failed.Failure = "told to stop before the command was started"
		return e.complete(failed)
	case e.lease.over(): // the answer was late, or this process was paused
		failed.Failure = "the lease was over, or nearly, before the command was started"
		return e.complete(failed)
	}
	p, err := start(e.o)
	if err != nil {
		failed.Failure = "the command could not be started"
		if reason, ok := errors.AsType[syscall.Errno](err); ok {
			failed.Failure += ": " + reason.Error()
		}
		return e.complete(failed)
	}
	lost := e.watch(p)
	e.result.Command = &p.end
	failed.ExitCode, failed.ResultDigest = p.end.ExitCode, p.end.Digest
	switch end := p.end; {
	case lost:
		return e.lost()
	case end.Signal != "":
		failed.Failure = "the command was ended by the signal " + end.Signal
	case end.ExitCode != 0:
		failed.Failure = fmt.Sprintf("the command ended with exit code %d", end.ExitCode)
	case end.held:
		failed.Failure = "the command ended with exit code 0 and left processes at work, of which some have its output and could not be stopped"
	case end.Left:
		failed.Failure = "the command ended with exit code 0 and left processes at work, which were stopped"
	case end.told: // a tool that stops in order may well end so in the middle of its work
		failed.Failure = "the command ended with exit code 0, and nobody knows whether it had finished"
	default:
		return e.succeeded()
	}
	if p.end.told {
		failed.Failure = "told to stop: " + failed.Failure
	}
	return e.complete(failed)
}

// watch waits for the end of the command, and stops it where the executor is told to
// stop or the lease is lost, whichever leaves less time.
func (e *execution) watch(p *process) (lost bool) {
	told, gone := e.ctx.Done(), e.lease.lost
	for {
		select {
		case <-p.ended:
			return lost
		case <-told:
			told = nil
			defer p.stop(e.o.Grace).Stop()
		case <-gone:
			gone, lost = nil, true
			defer p.stop(min(e.o.Grace, e.lease.left())).Stop()
		}
	}
}

// bounded is a context for what follows the command: it ends some time after the lease,
// whose end the ledger knows better, and after the executor was told to stop.
func (e *execution) bounded(more time.Duration) (context.Context, context.CancelFunc) {
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
	go after(e.ctx.Done(), func() time.Duration { return more })
	go after(e.lease.lost, func() time.Duration { return more + max(0, time.Until(e.lease.deadline())) })
	return ctx, cancel
}

// succeeded checks the invariants and records that. One who was told to stop leaves time
// for the latter.
func (e *execution) succeeded() Result {
	ctx, cancel := e.bounded(recordTime)
	defer cancel()
	checks, done := e.bounded(recordTime / 2)
	defer done()
	return e.record(ctx, ledger.Outcome{State: ledger.Succeeded, ResultDigest: e.result.Command.Digest, Invariants: check(checks, e.o)})
}

func (e *execution) complete(o ledger.Outcome) Result {
	ctx, cancel := e.bounded(recordTime)
	defer cancel()
	return e.record(ctx, o)
}

// record records the outcome, again and again while that may be of use.
func (e *execution) record(ctx context.Context, o ledger.Outcome) Result {
	for {
		c, completed, err := e.o.Ledger.Complete(ctx, e.o.Request.Key, e.o.Request.Token, o)
		switch {
		case completed:
			e.result.record(c)
			return e.recorded(c)
		case err == nil && c.Key != "": // the attempt is no longer ours
			e.result.record(c)
			return e.lost()
		case err == nil:
			return e.result.end(NotRecorded, unrecorded(o, errors.New("its row is gone")))
		// A database that has just moved to another server may be read-only for a while.
		case ctx.Err() != nil || !passing(err) && ledger.KindOf(err) != ledger.ReadOnly:
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
	outcome, message := judge(c.Invariants)
	if outcome == Done {
		return e.result.end(Done, fmt.Sprintf("done by attempt %d", c.Attempt))
	}
	return e.result.end(outcome, "the command succeeded, and "+message)
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

// judge is the outcome of a change that is recorded as SUCCEEDED: one that is broken
// counts more than one that could not be checked.
func judge(all []ledger.Invariant) (outcome Outcome, message string) {
	switch doubt := ledger.Doubt(all); {
	case doubt == nil:
		return Done, ""
	case doubt.Holds == nil:
		return InvariantUnchecked, fmt.Sprintf("the invariant %q could not be checked: %s", doubt.Name, doubt.Detail)
	default:
		return InvariantBroken, fmt.Sprintf("the invariant %q is broken: %s", doubt.Name, doubt.Detail)
	}
}
