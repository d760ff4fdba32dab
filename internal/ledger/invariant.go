package ledger

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Query is an invariant: an SQL query that must return one row with one column, true.
type Query struct{ Name, SQL string }

// Check runs an invariant in a transaction that may only read and is rolled back. A query that the
// database refuses (a table that is not there, a write) does not hold; one that it could
// not answer (no connection, no right, no lock, no time) is not checked. Detail never has
// what the query read.
func (db *DB) Check(ctx context.Context, q Query) Invariant {
	out := Invariant{Name: q.Name}
	found := func(holds bool, detail string) { out.Holds, out.Detail = &holds, detail }
	err := retried(func() error {
		return db.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
			if err != nil {
				return err
			}
			var now time.Time
			var rows pgx.Rows
			if err = tx.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now); err == nil {
				out.CheckedAt = &now
				rows, err = tx.Query(ctx, q.SQL)
			}
			if err == nil {
				found(judge(rows))
				err = rows.Err()
			}
			// Never committed: a setting or a role that the query chose would stay.
			return cmp.Or(err, tx.Rollback(ctx))
		})
	})
	if err == nil {
		return out
	}
	out.Holds, out.Detail = nil, err.Error()
	answer, ok := errors.AsType[*Error](err)
	switch {
	case ok && answer.Code != "" && (answer.Kind == Other || answer.Kind == NotInstalled):
		found(false, "the database refuses the query (SQLSTATE "+answer.Code+")")
	case ok && answer.Kind == ReadOnly: // the transaction is, wherever it runs
		found(false, "the query writes, which an invariant may not (SQLSTATE "+answer.Code+")")
	default:
		out.CheckedAt = nil
	}
	return out
}

// judge says whether the answer to an invariant is one row with one column, true.
func judge(rows pgx.Rows) (holds bool, detail string) {
	defer rows.Close()
	n := 0
	for rows.Next() {
		n++
		columns := rows.FieldDescriptions()
		var value *bool
		switch {
		case len(columns) != 1:
			detail = "the query returns more than one column"
		case columns[0].DataTypeOID != boolOID:
			detail = "the query does not return a boolean"
		case rows.Scan(&value) != nil:
			detail = "the query does not return a boolean"
		case value == nil:
			detail = "the query returns NULL"
		default:
			holds = *value
			if !holds {
				detail = "the query returns false"
			}
		}
		if n > 1 {
			return false, "the query returns more than one row"
		}
	}
	if n == 0 && rows.Err() == nil {
		return false, "the query returns no row"
	}
	return holds, detail
}

// boolOID is PostgreSQL's type boolean.
const boolOID = 16
