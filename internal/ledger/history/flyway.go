package history

import (
	"cmp"
	"context"
	"strings"

	"hallmark.dev/hallmark/internal/ledger"
)

// A flywayRow is one row of flyway_schema_history, the newest of its version, or of its
// script where it has no version.
type flywayRow struct {
	version, kind string
	success       *bool
}

// flywaySQL reads all rows of the versions and scripts that are asked for, so that an
// undo (U2__x.sql) is found by the script that it undid (V2__x.sql), and the baselines.
// The version is brought into one form as in [flywayVersion]. Rows below rank 0 are
// locks, in the forks of PostgreSQL that have no advisory locks.
// Source: org.flywaydb.core.internal.schemahistory, InsertRowLock and CoreMigrationType.
const flywaySQL = `
WITH h AS (
    SELECT installed_rank, script, COALESCE(upper(type), '') AS kind, success,
        regexp_replace(regexp_replace(replace(version, '_', '.'), '(^|\.)0+(?=[0-9])', '\1', 'g'), '(\.0)+$', '') AS version
    FROM {table} WHERE installed_rank >= 0 AND type IS DISTINCT FROM 'SCHEMA')
SELECT COALESCE(version, ''), COALESCE(script, ''), kind, success FROM h
WHERE script IN (SELECT unnest($1::text[])) OR version IN (SELECT unnest($2::text[]))
    OR version IN (SELECT version FROM h WHERE script IN (SELECT unnest($1::text[])))
    OR kind LIKE '%BASELINE' OR kind LIKE '%STATE_SCRIPT'
ORDER BY installed_rank`

func readFlyway(ctx context.Context, db *ledger.DB, from table, keys []string) (lookup, error) {
	versions := make([]string, 0, len(keys))
	for _, key := range keys {
		if version := flywayVersion(key); version != "" {
			versions = append(versions, version)
		}
	}
	var baseline string
	byVersion, byScript := map[string]flywayRow{}, map[string]flywayRow{}
	err := db.Query(ctx, func(scan func(...any) error) error {
		var row flywayRow
		var script string
		if err := scan(&row.version, &script, &row.kind, &row.success); err != nil {
			return err
		}
		byScript[script] = row
		if row.version != "" {
			byVersion[row.version] = row
			if row.isBaseline() && (baseline == "" || compareVersions(row.version, baseline) > 0) {
				baseline = row.version
			}
		}
		return nil
	}, from.in(flywaySQL), keys, versions)

	return func(key string) ledger.Change {
		row, found := byScript[key]
		if found && row.version != "" {
			row = byVersion[row.version]
		}
		version := flywayVersion(key)
		if !found {
			row, found = byVersion[version] // which has none for ""
		}
		switch {
		case found:
			return row.change()
		case baseline != "" && (version == "" || compareVersions(version, baseline) < 0):
			return unknown("no row, and the baseline is %s: what is not above it Flyway neither runs nor records", baseline)
		}
		return noRow("Flyway", nil)
	}, err
}

func (r flywayRow) isBaseline() bool {
	return strings.HasSuffix(r.kind, "BASELINE") || strings.HasSuffix(r.kind, "STATE_SCRIPT") // the older name
}

func (r flywayRow) change() ledger.Change {
	c := ledger.Change{State: ledger.Succeeded, SchemaVersion: r.version}
	done := r.success != nil && *r.success
	undo := strings.HasPrefix(r.kind, "UNDO")
	switch {
	case r.success == nil:
		c.State, c.Failure = ledger.Unknown, "the row does not say whether it succeeded"
	case r.kind == "DELETE":
		c.State = ledger.Unknown
		c.Failure = "flyway repair marked it as deleted, since its script was gone: Flyway would run it again, and what it did before was not undone"
	case undo && done:
		c.State, c.Failure = ledger.Absent, "it was undone"
	case undo:
		c.State, c.Failure = ledger.Failed, "Flyway recorded that undoing it failed: part of it may stand"
	case !done:
		c.State, c.Failure = ledger.Failed, "Flyway recorded a failure, outside a transaction: part of it may stand"
	case r.kind == "BASELINE":
		c.Failure = "marked as the baseline, not run"
	case r.isBaseline():
		c.Failure = "a baseline script ran in place of all versions up to this one"
	case r.version == "":
		c.Failure = "repeatable: the table cannot tell whether the script was changed since it ran"
	}
	return c
}

// flywayVersion is a version without what does not count, "" where the key is none:
// 1_2, 01.2 and 1.2.0 are 1.2. Source: org.flywaydb.core.api.MigrationVersion.
func flywayVersion(key string) string {
	parts := strings.Split(strings.ReplaceAll(key, "_", "."), ".")
	for i, part := range parts {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return ""
		}
		if parts[i] = strings.TrimLeft(part, "0"); parts[i] == "" {
			parts[i] = "0"
		}
	}
	for len(parts) > 1 && parts[len(parts)-1] == "0" {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, ".")
}

// compareVersions compares two versions in the form of [flywayVersion], part by part and
// as numbers of any size.
func compareVersions(a, b string) int {
	for a != "" || b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		if order := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); order != 0 {
			return order
		}
	}
	return 0
}
