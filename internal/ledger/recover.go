package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"hallmark.dev/hallmark/internal/diag"
)

// Recovery is what a person found out about the newest attempt of a change.
type Recovery struct {
	Key     string
	Verdict Verdict
	// Reason and Evidence are kept for ever; both are needed.
	Reason, Evidence string
	By               string // who says so; PostgreSQL's role is kept as well
	Attempt          int    // the attempt that was looked at; 0 for the newest, whichever that is
	// ForceLive decides although the lease is not over: the executor may still be at
	// work, and learns of it at its next renewal.
	ForceLive bool
	// Reopen decides about a change that is recorded as SUCCEEDED.
	Reopen bool
}

// Recover records a decision and carries it out, in one transaction: the attempt
// is closed as SUCCEEDED or FAILED, or a new attempt may run. What was recorded
// before stays in the attempts and decisions. An execution that still holds the
// attempt cannot renew or complete any more.
func (l *Ledger) Recover(ctx context.Context, r Recovery) (Change, Decision, error) {
	var change Change
	var decision Decision
	err := l.db.transaction(ctx, func(ctx context.Context, tx pgx.Tx) error {
		found, now, err := l.lock(ctx, tx, r.Key)
		if err != nil {
			return err
		}
		if err := r.check(found); err != nil {
			return callerError{err}
		}
		decision = Decision{
			Key: r.Key, Attempt: found.Attempt, Verdict: r.Verdict, Reason: r.Reason, Evidence: r.Evidence, By: r.By, At: now,
			StateBefore: found.State, LeaseBefore: found.LeaseUntil, Forced: found.State == Running && !found.LeaseExpired,
		}
		change, err = l.decide(ctx, tx, &decision)
		return err
	})
	if err != nil {
		return Change{}, Decision{}, fmt.Errorf("recovering %q: %w", r.Key, err)
	}
	return change, decision, nil
}

// lock reads the row of a key and keeps others from changing it.
func (l *Ledger) lock(ctx context.Context, tx pgx.Tx, key string) (c Change, now time.Time, err error) {
	rows, err := tx.Query(ctx, l.sql("SELECT clock_timestamp(), "+columns+" FROM {schema}.ledger_changes WHERE change_key = $1 FOR UPDATE"), key)
	if err != nil {
		return Change{}, now, err
	}
	var r row
	if err := forEach(rows, func(scan func(...any) error) error { return r.scan(scan, &now) }); err != nil {
		return Change{}, now, err
	}
	if r.Key == "" {
		return Change{}, now, callerError{errors.New("nothing is recorded of this change")}
	}
	return r.Change, now, nil
}

// check says why the decision is not to be had.
func (r Recovery) check(c Change) error {
	switch live := c.State == Running && !c.LeaseExpired; {
	case r.Attempt != 0 && r.Attempt != c.Attempt:
		return fmt.Errorf("attempt %d was looked at, and the newest is %d", r.Attempt, c.Attempt)
	case live && !r.ForceLive:
		return diag.WithHint(fmt.Errorf("attempt %d is RUNNING and its lease is not over before %s", c.Attempt, c.LeaseUntil.UTC().Format(time.RFC3339)),
			"wait until then, or stop its executor and use --force-live-lease")
	case c.State == Succeeded && r.Verdict == FoundSucceeded:
		return errors.New("it is recorded as SUCCEEDED already")
	case c.State == Succeeded && !r.Reopen:
		return diag.WithHint(errors.New("it is recorded as SUCCEEDED"), "where it is certain that the side effect is not there, use --reopen-succeeded")
	case c.MayRun() && r.Verdict == Retry:
		return fmt.Errorf("attempt %d may run already, and has not been claimed yet", c.Issued)
	}
	return nil
}

// decide writes the decision and what follows from it.
func (l *Ledger) decide(ctx context.Context, tx pgx.Tx, d *Decision) (Change, error) {
	state, failure, issued := Failed, "a person found that it failed: "+d.Reason, d.Attempt
	switch d.Verdict {
	case FoundSucceeded:
		state, failure = Succeeded, ""
	case Retry:
		failure = "a person decided that it may run again: " + d.Reason
		issued = d.Attempt + 1
		d.Issued = &issued
	}
	// A new token: whoever holds the old one can neither renew nor complete.
	rows, err := tx.Query(ctx, l.sql(`UPDATE {schema}.ledger_changes SET state = $2, lease_until = NULL,
    finished_at = COALESCE(finished_at, $3), token = gen_random_uuid(), failure = $4, issued = $5::integer
WHERE change_key = $1 RETURNING `+columns), d.Key, string(state), d.At, failure, issued)
	if err != nil {
		return Change{}, err
	}
	var r row
	if err := forEach(rows, func(scan func(...any) error) error { return r.scan(scan) }); err != nil {
		return Change{}, err
	}
	if _, err := tx.Exec(ctx, l.sql(`UPDATE {schema}.ledger_attempts SET state = $3, failure = COALESCE(NULLIF(failure, ''), $4), finished_at = COALESCE(finished_at, $5)
WHERE change_key = $1 AND attempt = $2::integer`), d.Key, d.Attempt, string(state), failure, d.At); err != nil {
		return Change{}, err
	}
	return r.Change, tx.QueryRow(ctx, l.sql(`INSERT INTO {schema}.ledger_decisions
    (change_key, attempt, verdict, issued, reason, evidence, decided_by, decided_at, state_before, lease_before, forced)
VALUES ($1, $2::integer, $3, $4::integer, $5, $6, $7, $8, $9, $10, $11::boolean) RETURNING database_role`),
		d.Key, d.Attempt, string(d.Verdict), d.Issued, d.Reason, d.Evidence, d.By, d.At, string(d.StateBefore), d.LeaseBefore, d.Forced).Scan(&d.Role)
}
