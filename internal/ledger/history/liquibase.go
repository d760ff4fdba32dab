package history

import (
	"context"
	"strings"

	"hallmark.dev/hallmark/internal/ledger"
)

// A changeSet is what identifies a row of databasechangelog. The table has no key that
// would keep it from having two rows of one.
type changeSet struct{ id, author, filename string }

// names are the keys that a change set answers to.
func (c changeSet) names() []string {
	short := c.id + "::" + c.author
	return []string{c.id, short, c.filename + "::" + short}
}

// liquibaseSQL gives a row in any case, for the lock. The name of the lock's table is a
// setting of its own; the usual one is looked for beside the history.
// Source: liquibase.sqlgenerator.core, CreateDatabaseChangeLog(Lock)TableGenerator.
var liquibaseSQL = `
SELECT l.held, r.* FROM (SELECT ` + lockHeld("$2", "locked", "locked") + ` AS held) AS l LEFT JOIN (
    SELECT id, author, filename, COALESCE(exectype, '') FROM {table}
    WHERE id IN (SELECT unnest($1::text[])) OR id || '::' || author IN (SELECT unnest($1::text[]))
        OR filename || '::' || id || '::' || author IN (SELECT unnest($1::text[]))
    ORDER BY orderexecuted, dateexecuted) AS r ON true`

func readLiquibase(ctx context.Context, db *ledger.DB, from table, keys []string) (lookup, error) {
	var held *bool
	newest := map[changeSet]string{} // the exectype
	named := map[string]map[changeSet]bool{}
	err := db.Query(ctx, func(scan func(...any) error) error {
		var id, author, filename, kind *string
		if err := scan(&held, &id, &author, &filename, &kind); err != nil || kind == nil {
			return err
		}
		set := changeSet{text(id), text(author), text(filename)}
		newest[set] = *kind
		for _, name := range set.names() {
			if named[name] == nil {
				named[name] = map[changeSet]bool{}
			}
			named[name][set] = true
		}
		return nil
	}, from.in(liquibaseSQL), keys, from.beside("databasechangeloglock").String())

	return func(key string) ledger.Change {
		switch len(named[key]) {
		case 0:
			return noRow("Liquibase", held)
		case 1:
			for set := range named[key] {
				return liquibaseChange(newest[set])
			}
		}
		return unknown("%d change sets go by this key: filename::id::author names one", len(named[key]))
	}, err
}

func liquibaseChange(kind string) ledger.Change {
	switch strings.ToUpper(kind) {
	case "EXECUTED", "RERAN":
		return ledger.Change{State: ledger.Succeeded}
	case "MARK_RAN":
		return ledger.Change{State: ledger.Succeeded, Failure: "marked as run, without being run"}
	case "FAILED":
		return ledger.Change{State: ledger.Failed, Failure: "Liquibase recorded a failure"}
	case "SKIPPED":
		return unknown("Liquibase recorded that it skipped it")
	}
	return unknown("the row does not say whether it ran")
}

// text is a value that may be NULL.
func text(value *string) string {
	if value == nil {
		return ""
	}
	return *value
}
