package history

import (
	"context"
	"strconv"

	"hallmark.dev/hallmark/internal/ledger"
)

// gooseSQL gives a row in any case, for the lock. A lock whose lease is over is free.
// Source: github.com/pressly/goose/v3, internal/dialects/postgres.go and lock/internal/store.
var gooseSQL = `
SELECT l.held, r.* FROM (SELECT ` + lockHeld("$2", "locked AND lease_expires_at > now()", "locked", "lease_expires_at") + ` AS held) AS l LEFT JOIN (
    SELECT version_id, is_applied FROM {table} WHERE version_id IN (SELECT unnest($1::bigint[])) ORDER BY id) AS r ON true`

func readGoose(ctx context.Context, db *ledger.DB, from table, keys []string) (lookup, error) {
	versions := make([]int64, 0, len(keys))
	for _, key := range keys {
		if version, ok := versionNumber(key); ok {
			versions = append(versions, version)
		}
	}
	var held *bool
	applied := map[int64]*bool{}
	err := db.Query(ctx, func(scan func(...any) error) error {
		var version *int64
		var is *bool
		if err := scan(&held, &version, &is); err != nil || version == nil {
			return err
		}
		applied[*version] = is
		return nil
	}, from.in(gooseSQL), versions, from.beside("goose_lock").String())

	return func(key string) ledger.Change {
		version, ok := versionNumber(key)
		is, found := applied[version]
		switch {
		case !ok:
			return unknown("the key is not a version number")
		case version == 0:
			return unknown("version 0 is no migration: goose writes its row with the table")
		case !found:
			return noRow("goose", held)
		case is == nil:
			return unknown("the row does not say whether it is applied")
		case !*is:
			return ledger.Change{State: ledger.Absent, Failure: "it was undone"}
		}
		return ledger.Change{State: ledger.Succeeded, SchemaVersion: strconv.FormatInt(version, 10)}
	}, err
}
