package history

import (
	"context"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/ledger"
)

// golangMigrateSQL reads the one row of the table, and how many there are.
// Source: github.com/golang-migrate/migrate/v4/database/pgx/v5, SetVersion.
const golangMigrateSQL = `SELECT version, dirty, count(*) OVER () FROM {table} LIMIT 1`

func readGolangMigrate(ctx context.Context, db *ledger.DB, from table, _ []string) (lookup, error) {
	var version *int64
	var dirty *bool
	var rows int64
	err := db.Query(ctx, func(scan func(...any) error) error { return scan(&version, &dirty, &rows) }, from.in(golangMigrateSQL))

	return func(key string) ledger.Change {
		asked, ok := versionNumber(key)
		switch {
		case !ok:
			return unknown("the key is not a version number")
		case rows == 0:
			return ledger.Change{State: ledger.Absent, Failure: "no version is recorded"}
		case rows > 1:
			return unknown("the table has %d rows, and golang-migrate keeps one", rows)
		case version == nil || dirty == nil:
			return unknown("the row lacks its version or whether it is dirty")
		case *dirty && *version == asked:
			return unknown("dirty: it is running or failed, or the undoing of the version above it is or did; the table cannot tell")
		case *dirty:
			return unknown("the table is dirty at version %d: a migration is running or failed, perhaps the undoing of this one; the table cannot tell", *version)
		case *version == asked:
			return ledger.Change{State: ledger.Succeeded, SchemaVersion: strconv.FormatInt(asked, 10)}
		case *version > asked:
			return unknown("version %d is recorded and those below it are not: golang-migrate passes over a file that was added later with a lower number", *version)
		}
		return ledger.Change{State: ledger.Absent, Failure: "the recorded version is " + strconv.FormatInt(*version, 10)}
	}, err
}

// versionNumber reads a version as golang-migrate and goose have them in the names of
// files.
func versionNumber(key string) (int64, bool) {
	n, err := strconv.ParseInt(key, 10, 64)
	return n, err == nil && !strings.ContainsAny(key, "+-")
}
