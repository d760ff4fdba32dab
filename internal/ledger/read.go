package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// columns of ledger_changes, in the order that rows takes them.
const columns = `change_key, target, source_revision, state, attempt, issued, token::text, lease_until,
    COALESCE(lease_until <= clock_timestamp(), false), started_at, finished_at, schema_version, result_digest,
    job_uid, executor, failure, invariants::text`

const columnCount = 17

// rowSQL reads what stands of a key.
const rowSQL = "SELECT " + columns + " FROM {schema}.ledger_changes WHERE change_key = $1"

// row is a Change and the token, which stays in this package.
type row struct {
	Change
	token string
}

// rows runs a statement that returns the columns.
func (l *Ledger) rows(ctx context.Context, sql string, args ...any) ([]row, error) {
	var out []row
	err := l.db.Query(ctx, func(scan func(...any) error) error {
		var r row
		if err := r.scan(scan); err != nil {
			return err
		}
		out = append(out, r)
		return nil
	}, sql, args...)
	return out, err
}

// scan reads the columns, behind those of before.
func (r *row) scan(scan func(...any) error, before ...any) error {
	var invariants string
	if err := scan(append(before, &r.Key, &r.Target, &r.SourceRevision, &r.State, &r.Attempt, &r.Issued, &r.token, &r.LeaseUntil,
		&r.LeaseExpired, &r.StartedAt, &r.FinishedAt, &r.SchemaVersion, &r.ResultDigest,
		&r.JobUID, &r.Executor, &r.Failure, &invariants)...); err != nil {
		return ofRow(r.Key, err)
	}
	var entries []json.RawMessage
	if err := json.Unmarshal([]byte(invariants), &entries); err != nil {
		return ofRow(r.Key, &Error{Kind: Other, Fact: "the invariants are not a list"})
	}
	r.Invariants = make([]Invariant, len(entries))
	for i, entry := range entries {
		r.Invariants[i] = readInvariant(entry)
	}
	return nil
}

// ofRow says which row cannot be read. Its key is the first of the columns.
func ofRow(key string, err error) error {
	if err == nil || key == "" {
		return err
	}
	return fmt.Errorf("the row of %q: %w", key, err)
}

// readInvariant is an entry that this package, or somebody else, wrote. One that cannot
// be read counts as not checked: it must not hide what is recorded of the change.
func readInvariant(entry json.RawMessage) Invariant {
	var i Invariant
	if err := json.Unmarshal(entry, &i); err == nil && i.Name != "" {
		return i
	}
	var named struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(entry, &named) // "" where the name is not to be had
	return Invariant{Name: named.Name, Detail: "the entry in the ledger cannot be read"}
}

// Changes are the rows of the keys, of all where keys is nil, by key. A key of which
// nothing is recorded has none. now is the database's time. One round trip.
func (l *Ledger) Changes(ctx context.Context, keys []string) (changes []Change, now time.Time, err error) {
	// A row in any case, for the time.
	sql := "SELECT clock_timestamp(), r.* FROM (SELECT) AS one LEFT JOIN (SELECT true, " + columns + " FROM {schema}.ledger_changes"
	var args []any
	if keys != nil {
		sql += " WHERE change_key = ANY($1::text[])"
		args = append(args, keys)
	}
	err = l.db.Query(ctx, func(scan func(...any) error) error {
		var r row
		if now.IsZero() { // the first row, of which all columns are NULL where there is no row
			var present *bool
			before := []any{&now, &present}
			for range columnCount {
				before = append(before, new(any))
			}
			if err := scan(before...); err != nil || present == nil {
				return err
			}
		}
		if err := r.scan(scan, &now, new(bool)); err != nil {
			return err
		}
		changes = append(changes, r.Change)
		return nil
	}, l.sql(sql+") AS r ON true ORDER BY change_key"), args...)
	return changes, now, err
}

// Attempts are those of the keys, of all where keys is nil, in order.
func (l *Ledger) Attempts(ctx context.Context, keys []string) ([]Attempt, error) {
	var out []Attempt
	err := l.db.Query(ctx, func(scan func(...any) error) error {
		var a Attempt
		err := scan(&a.Key, &a.Attempt, &a.SourceRevision, &a.State, &a.StartedAt, &a.FinishedAt, &a.ExitCode, &a.ResultDigest, &a.JobUID, &a.Executor, &a.Failure)
		out = append(out, a)
		return ofRow(a.Key, err)
	}, l.sql(`SELECT change_key, attempt, source_revision, state, started_at, finished_at, exit_code, result_digest, job_uid, executor, failure
FROM {schema}.ledger_attempts WHERE $1::text[] IS NULL OR change_key = ANY($1::text[]) ORDER BY change_key, attempt`), keys)
	return out, err
}

// Decisions are those about the keys, about all where keys is nil, in order.
func (l *Ledger) Decisions(ctx context.Context, keys []string) ([]Decision, error) {
	var out []Decision
	err := l.db.Query(ctx, func(scan func(...any) error) error {
		var d Decision
		err := scan(&d.Key, &d.Attempt, &d.Verdict, &d.Issued, &d.Reason, &d.Evidence, &d.By, &d.Role, &d.At, &d.StateBefore, &d.LeaseBefore, &d.Forced)
		out = append(out, d)
		return ofRow(d.Key, err)
	}, l.sql(`SELECT change_key, attempt, verdict, issued, reason, evidence, decided_by, database_role, decided_at, state_before, lease_before, forced
FROM {schema}.ledger_decisions WHERE $1::text[] IS NULL OR change_key = ANY($1::text[]) ORDER BY change_key, id`), keys)
	return out, err
}
