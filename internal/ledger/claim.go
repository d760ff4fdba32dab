package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// A row comes back only to the one who has the right to run: where there was no row,
// or where a person issued an attempt that nobody claimed.
const claimSQL = `
WITH claimed AS (
    INSERT INTO {schema}.ledger_changes AS c
        (change_key, target, source_revision, state, attempt, issued, token, lease_until, started_at,
         schema_version, result_digest, job_uid, executor, failure, invariants)
    VALUES ($1, $2, $3, 'RUNNING', 1, 1, $4::uuid, clock_timestamp() + $5::interval, clock_timestamp(), $6, '', $7, $8, '', '[]')
    ON CONFLICT (change_key) DO UPDATE SET
        source_revision = EXCLUDED.source_revision, state = 'RUNNING', attempt = c.issued, token = EXCLUDED.token,
        lease_until = EXCLUDED.lease_until, started_at = EXCLUDED.started_at, finished_at = NULL,
        schema_version = EXCLUDED.schema_version, result_digest = '', job_uid = EXCLUDED.job_uid,
        executor = EXCLUDED.executor, failure = '', invariants = '[]'
    WHERE c.state = 'FAILED' AND c.issued > c.attempt AND c.target = EXCLUDED.target
    RETURNING *
), noted AS (
    INSERT INTO {schema}.ledger_attempts
        (change_key, attempt, token, source_revision, state, started_at, result_digest, job_uid, executor, failure)
    SELECT change_key, attempt, token, source_revision, state, started_at, '', job_uid, executor, '' FROM claimed
)
SELECT ` + columns + ` FROM claimed`

// Claim asks for the right to run a change. It takes one round trip where it is granted,
// two where not. Where the connection breaks, nobody knows whether the row was written:
// Claim asks again, and knows a row that is its own by the token.
func (l *Ledger) Claim(ctx context.Context, r Request) (Claim, error) {
	var out Claim
	err := l.twice(func() error {
		found, err := l.rows(ctx, l.sql(claimSQL), r.Key, r.Target, r.SourceRevision, r.Token, r.Lease, r.SchemaVersion, r.JobUID, r.Executor)
		if err != nil {
			return err
		}
		if len(found) == 1 {
			out = Claim{Granted: true, Change: found[0].Change}
			return nil
		}
		found, err = l.rows(ctx, l.sql(rowSQL), r.Key)
		if err != nil {
			return err
		}
		if len(found) == 0 { // rows are never deleted by hallmark
			return &Error{Kind: Conflict, Fact: fmt.Sprintf("the row of %q is gone since a moment ago", r.Key)}
		}
		row := found[0]
		out = Claim{Granted: row.token == r.Token && row.State == Running && !row.LeaseExpired, Change: row.Change}
		return nil
	})
	if err != nil {
		return Claim{}, fmt.Errorf("claiming %q: %w", r.Key, err)
	}
	return out, nil
}

// twice calls f again after a connection broke, and as often as needed after a
// conflict. f must be such that this does no harm.
func (l *Ledger) twice(f func() error) error {
	err := retried(f)
	if KindOf(err) == Unreachable {
		return retried(f)
	}
	return err
}

// Renew makes the lease of an execution last from now on. It is not held where somebody
// decided about the attempt, or where it ran out: then nothing may go on.
func (l *Ledger) Renew(ctx context.Context, key, token string, lease time.Duration) (until time.Time, held bool, err error) {
	err = l.twice(func() error {
		until, held = time.Time{}, false // a row may have come of a transaction that failed
		return l.db.Query(ctx, func(scan func(...any) error) error {
			held = true
			return scan(&until)
		}, l.sql(`UPDATE {schema}.ledger_changes SET lease_until = clock_timestamp() + $3::interval
WHERE change_key = $1 AND token = $2::uuid AND state = 'RUNNING' AND lease_until > clock_timestamp()
RETURNING lease_until`), key, token, lease)
	})
	if err != nil {
		return time.Time{}, false, fmt.Errorf("renewing the lease of %q: %w", key, err)
	}
	return until, held, nil
}

const completeSQL = `
WITH done AS (
    UPDATE {schema}.ledger_changes SET state = $3, lease_until = NULL, finished_at = clock_timestamp(),
        result_digest = $4, failure = $5, invariants = $6::jsonb
    WHERE change_key = $1 AND token = $2::uuid AND state = 'RUNNING' AND lease_until > clock_timestamp()
    RETURNING *
), noted AS (
    UPDATE {schema}.ledger_attempts AS a SET state = done.state, finished_at = done.finished_at, exit_code = $7::integer,
        result_digest = done.result_digest, failure = done.failure
    FROM done WHERE a.change_key = done.change_key AND a.attempt = done.attempt
)
SELECT ` + columns + ` FROM done`

// Complete writes how an execution ended. It is not written, and completed is false,
// where the attempt is no longer the caller's: then the row that stands there is
// returned. It takes one round trip, two where the first wrote nothing.
func (l *Ledger) Complete(ctx context.Context, key, token string, o Outcome) (c Change, completed bool, err error) {
	invariants, err := json.Marshal(append([]Invariant{}, o.Invariants...)) // [] and not null
	if err != nil {
		return Change{}, false, err
	}
	var code *int
	if o.ExitCode >= 0 {
		code = &o.ExitCode
	}
	err = l.twice(func() error {
		found, err := l.rows(ctx, l.sql(completeSQL), key, token, string(o.State), o.ResultDigest, o.Failure, string(invariants), code)
		if err != nil {
			return err
		}
		if len(found) == 1 {
			c, completed = found[0].Change, true
			return nil
		}
		found, err = l.rows(ctx, l.sql(rowSQL), key)
		if err != nil || len(found) == 0 {
			return err
		}
		// Written before, by a statement whose answer was lost: a person's decision
		// gives the row another token.
		c, completed = found[0].Change, found[0].token == token && found[0].State == o.State
		return nil
	})
	if err != nil {
		return Change{}, false, fmt.Errorf("completing %q: %w", key, err)
	}
	return c, completed, nil
}

// Recheck writes the outcome of invariants that were checked anew, in the place of those
// before, to a change that SUCCEEDED and is still at that attempt: what a release no
// longer asks is no longer held against it.
func (l *Ledger) Recheck(ctx context.Context, c Change, checked []Invariant) error {
	data, err := json.Marshal(append([]Invariant{}, checked...))
	if err != nil {
		return err
	}
	err = l.twice(func() error {
		return l.db.Query(ctx, func(func(...any) error) error { return nil },
			l.sql(`UPDATE {schema}.ledger_changes SET invariants = $3::jsonb WHERE change_key = $1 AND attempt = $2::integer AND state = 'SUCCEEDED'`),
			c.Key, c.Attempt, string(data))
	})
	if err != nil {
		return fmt.Errorf("recording the invariants of %q: %w", c.Key, err)
	}
	return nil
}
