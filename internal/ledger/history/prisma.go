package history

import (
	"context"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
)

// A migration is one row of _prisma_migrations: one attempt.
type migration struct {
	started, finished *time.Time
	failed            bool // it has logs
	steps             *int64
}

// prismaSQL reads the attempts of the names in order. That an attempt has logs is read,
// and not what they say.
// Source: prisma-engines, schema-engine/connectors/schema-connector/src/migration_persistence.rs.
const prismaSQL = `
SELECT migration_name, rolled_back_at IS NOT NULL, COALESCE(logs, '') <> '',
    CASE WHEN isfinite(started_at) THEN started_at END, CASE WHEN isfinite(finished_at) THEN finished_at END, applied_steps_count
FROM {table} WHERE migration_name IN (SELECT unnest($1::text[]))
ORDER BY started_at NULLS FIRST, finished_at NULLS LAST`

func readPrisma(ctx context.Context, db *ledger.DB, from table, keys []string) (lookup, error) {
	attempts := map[string][]migration{}
	rolledBack := map[string]bool{}
	err := db.Query(ctx, func(scan func(...any) error) error {
		var name string
		var rolled bool
		var m migration
		if err := scan(&name, &rolled, &m.failed, &m.started, &m.finished, &m.steps); err != nil {
			return err
		}
		if rolled {
			rolledBack[name] = true
			return nil
		}
		attempts[name] = append(attempts[name], m)
		return nil
	}, from.in(prismaSQL), keys)

	return func(key string) ledger.Change {
		switch list := attempts[key]; {
		case len(list) > 0:
			return prismaChange(list)
		case rolledBack[key]:
			return ledger.Change{State: ledger.Absent, Failure: "a person recorded that it was rolled back"}
		}
		return ledger.Change{State: ledger.Absent, Failure: "no row: Prisma writes one before it starts"}
	}, err
}

// prismaChange judges the attempts that count. One that did not finish outweighs one that
// did: Prisma runs nothing more until a person has resolved it.
func prismaChange(list []migration) ledger.Change {
	decisive := list[len(list)-1]
	for _, m := range list {
		if m.finished == nil {
			decisive = m
		}
	}
	c := ledger.Change{State: ledger.Succeeded, StartedAt: decisive.started, FinishedAt: decisive.finished}
	switch {
	case decisive.finished == nil && decisive.failed:
		c.State, c.Failure = ledger.Failed, "Prisma recorded an error: prisma migrate resolve tells it what a person found"
	case decisive.finished == nil:
		c.State, c.Failure = ledger.Unknown, "begun and not finished, no error: it is running or was killed"
	case decisive.steps != nil && *decisive.steps == 0:
		c.Failure = "a person marked it as applied"
	}
	return c
}
