package history

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/ledger"
)

// Tool is a migration tool whose table can be read.
type Tool string

// The tools, by the names that a spec gives.
const (
	Flyway        Tool = "flyway"
	Liquibase     Tool = "liquibase"
	GolangMigrate Tool = "golang-migrate"
	Goose         Tool = "goose"
	Atlas         Tool = "atlas"
	Prisma        Tool = "prisma"
)

// A lookup says what is known of a key, by what was read. It leaves the key out.
type lookup func(key string) ledger.Change

// An adapter knows one tool's table.
type adapter struct {
	table string // as the tool names it
	read  func(ctx context.Context, db *ledger.DB, from table, keys []string) (lookup, error)
}

var adapters = map[Tool]adapter{
	Flyway:        {"flyway_schema_history", readFlyway},
	Liquibase:     {"databasechangelog", readLiquibase},
	GolangMigrate: {"schema_migrations", readGolangMigrate},
	Goose:         {"goose_db_version", readGoose},
	Atlas:         {atlasTable, readAtlas},
	Prisma:        {"_prisma_migrations", readPrisma},
}

// Read is what the table of a tool has of each key, in one round trip. The table is the
// tool's own where the name is empty. Errors are those of [ledger.DB], by
// [ledger.KindOf]: a table that is not there is NotInstalled, one of another shape Other.
func Read(ctx context.Context, db *ledger.DB, tool Tool, name string, keys []string) (map[string]ledger.Change, error) {
	a, ok := adapters[tool]
	if !ok {
		return nil, fmt.Errorf("no tool %q has a table that can be read", tool)
	}
	from := table{name: a.table}
	if name != "" {
		var err error
		if from, err = parse(name); err != nil {
			return nil, err
		}
	}
	of, err := a.read(ctx, db, from, keys)
	if err != nil {
		return nil, explain(err, tool, from)
	}
	changes := make(map[string]ledger.Change, len(keys))
	for _, key := range keys {
		change := of(key)
		change.Key = key
		changes[key] = change
	}
	return changes, nil
}

// explain says what an error means for the table of a tool. The texts and hints of
// package ledger speak of the ledger's own tables.
func explain(err error, tool Tool, from table) error {
	found, ok := errors.AsType[*ledger.Error](err)
	if !ok {
		return err
	}
	said := func(hint, format string, args ...any) error {
		return diag.WithHint(&ledger.Error{Kind: found.Kind, Code: found.Code, Fact: fmt.Sprintf(format, args...)}, hint)
	}
	switch {
	case found.Kind == ledger.NotInstalled:
		return said("a tool makes its table when it first runs; a name is \"table\" or \"schema.table\", in the case that the table has",
			"there is no table %q of %s", from.plain(), tool)
	case found.Kind == ledger.Forbidden:
		return said("the role needs SELECT on the table and USAGE on its schema", "the role may not read the table %q of %s", from.plain(), tool)
	case isShape(found):
		return said("another tool may have a table of that name", "the table %q is none of %s: a column is missing or has another type", from.plain(), tool)
	}
	return err
}

// isShape reports whether a statement that is right for a tool's table was refused
// because of the table: a column or an operator that is not there, a value that cannot
// be compared, or one that came and could not be read.
func isShape(err *ledger.Error) bool {
	return err.Kind == ledger.Other && (err.Code == "" || err.Code == "22P02" || strings.HasPrefix(err.Code, "42"))
}

// unknown is a change of which the table cannot tell the state, and why.
func unknown(format string, args ...any) ledger.Change {
	return ledger.Change{State: ledger.Unknown, Failure: fmt.Sprintf(format, args...)}
}

// noRow is the change of a tool that writes its row when all is done. held is whether
// the tool's lock is held, where that can be read.
func noRow(tool string, held *bool) ledger.Change {
	lock := ""
	switch {
	case held != nil && *held:
		lock = "; the lock of " + tool + " is held"
	case held != nil:
		lock = "; the lock of " + tool + " is free"
	}
	return unknown("no row: not applied, running or failed, the table cannot tell%s", lock)
}
