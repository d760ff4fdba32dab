package history

import (
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/ledger"
)

const cannotTell = "no row: not applied, running or failed, the table cannot tell"

func TestFlyway(t *testing.T) {
	t.Parallel()
	const insert = `; INSERT INTO flyway_schema_history (installed_rank, version, description, type, script, installed_by, execution_time, success) VALUES `
	index := known(ledger.Failed, "Flyway recorded a failure, outside a transaction: part of it may stand")
	index.SchemaVersion = "5"
	undone := known(ledger.Absent, "it was undone")
	undone.SchemaVersion = "3"
	half := known(ledger.Failed, "Flyway recorded that undoing it failed: part of it may stand")
	half.SchemaVersion = "4"
	gone := known(ledger.Unknown, "flyway repair marked it as deleted, since its script was gone: Flyway would run it again, and what it did before was not undone")
	gone.SchemaVersion = "6"
	noOutcome := known(ledger.Unknown, "the row does not say whether it succeeded")
	noOutcome.SchemaVersion = "20"
	below := known(ledger.Unknown, "no row, and the baseline is 10: what is not above it Flyway neither runs nor records")
	check(t, Flyway, []setting{
		{name: "history", sections: []string{"history"}, want: map[string]ledger.Change{
			"1": done("1", ""), "V1__init.sql": done("1", ""), "01.0": done("1", ""), "1_0": done("1", ""),
			"2": done("2", ""), "V2__orders.sql": done("2", ""), // undone, and applied again
			"3": undone, "V3__index.sql": undone, "U3__index.sql": undone,
			"4": half, "V4__half.sql": half,
			"5": index, "V5__concurrent_index.sql": index,
			"6": gone, "V6__gone.sql": gone,
			"7.10": done("7.10", ""), "007_10": done("7.10", ""), "V007_10__late.sql": done("7.10", ""),
			"7.1": done("7.1", ""), "7.01": done("7.1", ""), "8": done("8", ""), "db.migration.V8__Backfill": done("8", ""),
			"R__open_orders.sql": done("", "repeatable: the table cannot tell whether the script was changed since it ran"),
			"9":                  known(ledger.Unknown, cannotTell), "V9__new.sql": known(ledger.Unknown, cannotTell),
			"": known(ledger.Unknown, cannotTell), "v1": known(ledger.Unknown, cannotTell), "1.": known(ledger.Unknown, cannotTell),
			`"app"`: known(ledger.Unknown, cannotTell), // the row that says which schema Flyway made
		}},
		{name: "baseline", sections: []string{"baseline"}, want: map[string]ledger.Change{
			"10": done("10", "marked as the baseline, not run"), "12": done("12", ""), "9": below, "9.9.9": below, "V9__old.sql": below,
			"11": known(ledger.Unknown, cannotTell), "10.1": known(ledger.Unknown, cannotTell),
		}},
		{name: "baseline script", sections: []string{"baseline script"}, want: map[string]ledger.Change{
			"5": done("5", "a baseline script ran in place of all versions up to this one"),
			"4": known(ledger.Unknown, "no row, and the baseline is 5: what is not above it Flyway neither runs nor records"),
			"6": done("6", ""), "7": known(ledger.Unknown, cannotTell),
		}},
		{name: "baseline script of an older version", sections: []string{"baseline script"}, sql: `; UPDATE flyway_schema_history SET type = 'SQL_STATE_SCRIPT' WHERE installed_rank = 1`, want: map[string]ledger.Change{
			"5": done("5", "a baseline script ran in place of all versions up to this one"),
			"4": known(ledger.Unknown, "no row, and the baseline is 5: what is not above it Flyway neither runs nor records"),
		}},
		{name: "odd rows", sections: []string{"history"}, sql: `; ALTER TABLE flyway_schema_history DROP CONSTRAINT flyway_schema_history_pk;
			ALTER TABLE flyway_schema_history ALTER installed_rank DROP NOT NULL, ALTER success DROP NOT NULL, ALTER type DROP NOT NULL, ALTER script DROP NOT NULL` + insert + `
			(17, '20', '', 'SQL', 'V20__a.sql', '', 0, NULL), (18, '21', '', NULL, NULL, '', 0, true), (19, NULL, '', NULL, NULL, '', 0, NULL),
			(20, '22', '', 'sql', 'V22__a.sql', '', 0, false), (20, '22', '', 'sql', 'V22__a.sql', '', 0, false),
			(NULL, '23', '', 'SQL', 'V23__a.sql', '', 0, true),
			(-100, '24', 'flyway-lock', '', '', '', 0, true), (21, 'not a version', '', 'SQL', 'V25__a.sql', '', 0, true)`, want: map[string]ledger.Change{
			"20": noOutcome, "21": done("21", ""),
			"22": {State: ledger.Failed, SchemaVersion: "22", Failure: index.Failure},
			"23": known(ledger.Unknown, cannotTell), "24": known(ledger.Unknown, cannotTell),
			"V25__a.sql": done("not a version", ""),
		}},
		{name: "many rows", sql: `; INSERT INTO flyway_schema_history SELECT n, n::text, '', 'SQL', 'V' || n || '__a.sql', 0, '', now(), 0, n <> 9999 FROM generate_series(1, 10000) AS n`, want: map[string]ledger.Change{
			"1": done("1", ""), "V5000__a.sql": done("5000", ""), "10000": done("10000", ""), "10001": known(ledger.Unknown, cannotTell),
			"9999": {State: ledger.Failed, SchemaVersion: "9999", Failure: index.Failure},
		}},
	})
}

func TestLiquibase(t *testing.T) {
	t.Parallel()
	const insert = `; INSERT INTO databasechangelog (id, author, filename, dateexecuted, orderexecuted, exectype) VALUES `
	several := known(ledger.Unknown, "2 change sets go by this key: filename::id::author names one")
	check(t, Liquibase, []setting{
		{name: "history", sections: []string{"history", "free"}, want: map[string]ledger.Change{
			"create-orders": several, "create-orders::ada": done("", ""), "create-orders::grace": done("", ""),
			"changelog.sql::create-orders::ada": done("", ""), "changelog2.sql::create-orders::grace": done("", ""),
			"refresh-view": done("", ""), "index": done("", ""), "synced": done("", ""),
			"create-orders-again":                 done("", "marked as run, without being run"),
			"continue":                            known(ledger.Unknown, cannotTell+"; the lock of Liquibase is free"),
			"ignored":                             known(ledger.Unknown, cannotTell+"; the lock of Liquibase is free"),
			"changelog.sql::create-orders::grace": known(ledger.Unknown, cannotTell+"; the lock of Liquibase is free"),
			"":                                    known(ledger.Unknown, cannotTell+"; the lock of Liquibase is free"),
		}},
		{name: "lock held", sections: []string{"history", "held"}, want: map[string]ledger.Change{
			"killed": known(ledger.Unknown, cannotTell+"; the lock of Liquibase is held"), "index": done("", ""),
		}},
		{name: "empty table, lock held", sections: []string{"held"}, want: map[string]ledger.Change{
			"killed": known(ledger.Unknown, cannotTell+"; the lock of Liquibase is held"),
		}},
		{name: "no lock table", sections: []string{"history"}, sql: `; DROP TABLE databasechangeloglock`, want: map[string]ledger.Change{
			"killed": known(ledger.Unknown, cannotTell), "index": done("", ""),
		}},
		{name: "lock table of another shape", sections: []string{"history"}, sql: `; ALTER TABLE databasechangeloglock ALTER locked TYPE integer USING 0`, want: map[string]ledger.Change{
			"killed": known(ledger.Unknown, cannotTell), "index": done("", ""),
		}},
		{name: "in a schema of its own", sections: []string{"history", "held"}, table: "s.databasechangelog",
			sql: `; CREATE SCHEMA s; ALTER TABLE databasechangelog SET SCHEMA s; ALTER TABLE databasechangeloglock SET SCHEMA s`, want: map[string]ledger.Change{
				"killed": known(ledger.Unknown, cannotTell+"; the lock of Liquibase is held"), "index": done("", ""),
			}},
		{name: "odd rows", sections: []string{"free"}, sql: `; ALTER TABLE databasechangelog ALTER id DROP NOT NULL, ALTER author DROP NOT NULL, ALTER exectype DROP NOT NULL` + insert + `
			('twice', 'a', 'f', now(), 2, 'FAILED'), ('twice', 'a', 'f', now(), 3, 'EXECUTED'), ('twice', 'a', 'f', now(), 1, 'SKIPPED'),
			('failed', 'a', 'f', now(), 4, 'FAILED'), ('skipped', 'a', 'f', now(), 5, 'SKIPPED'), ('other', 'a', 'f', now(), 6, 'NEW'),
			(NULL, 'a', 'f', now(), 7, 'EXECUTED'), ('no author', NULL, 'f', now(), 8, 'EXECUTED'), ('null', 'a', 'f', now(), 9, NULL),
			('x::y', 'z', 'f', now(), 10, 'EXECUTED'), ('x', 'y', 'f', now(), 11, 'EXECUTED'), ('y', 'z', 'x', now(), 12, 'EXECUTED')`, want: map[string]ledger.Change{
			"twice":  done("", ""),
			"failed": known(ledger.Failed, "Liquibase recorded a failure"), "skipped": known(ledger.Unknown, "Liquibase recorded that it skipped it"),
			"other": known(ledger.Unknown, "the row does not say whether it ran"), "null": known(ledger.Unknown, "the row does not say whether it ran"),
			"no author": done("", ""), "::a": known(ledger.Unknown, cannotTell+"; the lock of Liquibase is free"),
			"x::y": several, "x::y::z": several, "f::x::y::z": done("", ""),
		}},
		{name: "many rows", sections: []string{"free"}, sql: strings.Replace(insert, "VALUES", "SELECT", 1) + `n::text, 'a', 'f', now(), n, 'EXECUTED' FROM generate_series(1, 10000) AS n`, want: map[string]ledger.Change{
			"1": done("", ""), "f::10000::a": done("", ""), "10001": known(ledger.Unknown, cannotTell+"; the lock of Liquibase is free"),
		}},
	})
}

func TestGolangMigrate(t *testing.T) {
	t.Parallel()
	noNumber := known(ledger.Unknown, "the key is not a version number")
	check(t, GolangMigrate, []setting{
		{name: "clean", sections: []string{"clean"}, want: map[string]ledger.Change{
			"2": done("2", ""), "000002": done("2", ""), "3": known(ledger.Absent, "the recorded version is 2"),
			"1": known(ledger.Unknown, "version 2 is recorded and those below it are not: golang-migrate passes over a file that was added later with a lower number"),
			"":  noNumber, "x": noNumber, "-1": noNumber, "+2": noNumber, "2_000": noNumber, "000002_second.up.sql": noNumber, "99999999999999999999": noNumber,
		}},
		{name: "dirty", sections: []string{"dirty"}, want: map[string]ledger.Change{
			"3": known(ledger.Unknown, "dirty: it is running or failed, or the undoing of the version above it is or did; the table cannot tell"),
			"2": known(ledger.Unknown, "the table is dirty at version 3: a migration is running or failed, perhaps the undoing of this one; the table cannot tell"),
			"4": known(ledger.Unknown, "the table is dirty at version 3: a migration is running or failed, perhaps the undoing of this one; the table cannot tell"),
		}},
		{name: "undoing the first", sections: []string{"undoing"}, want: map[string]ledger.Change{
			"1": known(ledger.Unknown, "the table is dirty at version -1: a migration is running or failed, perhaps the undoing of this one; the table cannot tell"),
		}},
		{name: "empty", sections: []string{"empty"}, want: map[string]ledger.Change{"1": known(ledger.Absent, "no version is recorded"), "x": noNumber}},
		{name: "clean below all", sql: `; INSERT INTO schema_migrations VALUES (-1, false)`, want: map[string]ledger.Change{
			"1": known(ledger.Absent, "the recorded version is -1"),
		}},
		{name: "the largest", sql: `; INSERT INTO schema_migrations VALUES (9223372036854775807, false)`, want: map[string]ledger.Change{
			"9223372036854775807": done("9223372036854775807", ""),
		}},
		{name: "two rows", sections: []string{"clean"}, sql: `; INSERT INTO schema_migrations VALUES (1, false)`, want: map[string]ledger.Change{
			"2": known(ledger.Unknown, "the table has 2 rows, and golang-migrate keeps one"),
		}},
		{name: "NULL", sql: `; ALTER TABLE schema_migrations ALTER dirty DROP NOT NULL; INSERT INTO schema_migrations VALUES (2, NULL)`, want: map[string]ledger.Change{
			"2": known(ledger.Unknown, "the row lacks its version or whether it is dirty"),
		}},
		{name: "many rows", sql: `; INSERT INTO schema_migrations SELECT n, false FROM generate_series(1, 10000) AS n`, want: map[string]ledger.Change{
			"10000": known(ledger.Unknown, "the table has 10000 rows, and golang-migrate keeps one"),
		}},
	})
}

func TestGoose(t *testing.T) {
	t.Parallel()
	noNumber := known(ledger.Unknown, "the key is not a version number")
	check(t, Goose, []setting{
		{name: "history", sections: []string{"history"}, want: map[string]ledger.Change{
			"1": done("1", ""), "00001": done("1", ""), "2": done("2", ""),
			"0":              known(ledger.Unknown, "version 0 is no migration: goose writes its row with the table"),
			"20260101000000": known(ledger.Unknown, cannotTell),
			"":               noNumber, "x": noNumber, "-1": noNumber, "00001_init.sql": noNumber, "99999999999999999999": noNumber,
		}},
		{name: "killed, its lease over", sections: []string{"history", "lock"}, want: map[string]ledger.Change{
			"1": done("1", ""), "20260103000000": known(ledger.Unknown, cannotTell+"; the lock of goose is free"),
		}},
		{name: "lock held", sections: []string{"history", "lock"}, sql: `; UPDATE goose_lock SET lease_expires_at = now() + interval '1 day'`, want: map[string]ledger.Change{
			"1": done("1", ""), "20260103000000": known(ledger.Unknown, cannotTell+"; the lock of goose is held"),
		}},
		{name: "lock free", sections: []string{"lock"}, sql: `; UPDATE goose_lock SET locked = false, locked_at = NULL, locked_by = NULL, lease_expires_at = NULL`, want: map[string]ledger.Change{
			"20260103000000": known(ledger.Unknown, cannotTell+"; the lock of goose is free"),
		}},
		{name: "lock table of another shape", sections: []string{"history", "lock"}, sql: `; ALTER TABLE goose_lock DROP lease_expires_at`, want: map[string]ledger.Change{
			"1": done("1", ""), "20260103000000": known(ledger.Unknown, cannotTell),
		}},
		// A goose before v3 wrote a row where the current one deletes.
		{name: "undone by an older goose", sections: []string{"history"}, sql: `; INSERT INTO goose_db_version (version_id, is_applied) VALUES (2, false), (1, false), (1, true)`, want: map[string]ledger.Change{
			"1": done("1", ""), "2": known(ledger.Absent, "it was undone"),
		}},
		{name: "NULL", sections: []string{"history"}, sql: `; ALTER TABLE goose_db_version ALTER is_applied DROP NOT NULL, ALTER version_id DROP NOT NULL;
			INSERT INTO goose_db_version (version_id, is_applied) VALUES (3, NULL), (NULL, true)`, want: map[string]ledger.Change{
			"3": known(ledger.Unknown, "the row does not say whether it is applied"), "1": done("1", ""),
		}},
		{name: "many rows", sql: `; INSERT INTO goose_db_version (version_id, is_applied) SELECT n, true FROM generate_series(1, 10000) AS n`, want: map[string]ledger.Change{
			"10000": done("10000", ""), "10001": known(ledger.Unknown, cannotTell),
		}},
	})
}

func TestAtlas(t *testing.T) {
	t.Parallel()
	const insert = `; INSERT INTO atlas_schema_revisions (version, description, type, applied, total, executed_at, execution_time, error, hash, operator_version) `
	started := func(text string, c ledger.Change) ledger.Change {
		c.StartedAt = moment(t, text)
		return c
	}
	at := func(version string, c ledger.Change) ledger.Change {
		c.SchemaVersion = version
		return c
	}
	absent := known(ledger.Absent, "no row: not applied, or in a transaction that is not committed")
	before := func(version string) ledger.Change {
		return known(ledger.Unknown, "no row, and the first recorded version is "+version+": a baseline or a checkpoint may cover what is before it")
	}
	history := map[string]ledger.Change{
		"20260101000001": started("2026-11-30T00:57:17.394796Z", done("20260101000001", "")),
		"20260101000002": started("2026-11-30T00:57:17.461567Z", done("20260101000002", "a person marked it as applied, after 1 of 3 statements")),
		"20260101000003": started("2026-11-30T00:57:17.646255Z", done("20260101000003", "a person marked it as applied, after 0 of 0 statements")),
		"20260101000004": started("2026-11-30T00:57:17.719828Z", done("20260101000004", "")),
		"20260101000005": started("2026-11-30T00:57:17.962845Z", at("20260101000005", known(ledger.Unknown, "begun, 1 of 3 statements applied, no error: it is running or was killed"))),
		"20260101000006": absent, "x": absent,
		"20260101000000": before("20260101000001"), "": before("20260101000001"), ".atlas_cloud_identifier": before("20260101000001"),
	}
	check(t, Atlas, []setting{
		{name: "history", sections: []string{"history"}, want: history},
		{name: "in its own schema", sections: []string{"history", "cloud"}, want: history,
			sql: `; CREATE SCHEMA atlas_schema_revisions; ALTER TABLE atlas_schema_revisions SET SCHEMA atlas_schema_revisions`},
		{name: "in both", sections: []string{"history"}, want: map[string]ledger.Change{"20260101000001": absent},
			sql: `; CREATE SCHEMA atlas_schema_revisions; CREATE TABLE atlas_schema_revisions.atlas_schema_revisions (LIKE atlas_schema_revisions)`},
		{name: "in both, with its name", sections: []string{"history"}, want: history, table: "public.atlas_schema_revisions",
			sql: `; CREATE SCHEMA atlas_schema_revisions; CREATE TABLE atlas_schema_revisions.atlas_schema_revisions (LIKE atlas_schema_revisions)`},
		{name: "failed", sections: []string{"failed"}, want: map[string]ledger.Change{
			"20260101000004": started("2026-11-30T00:57:17.719828Z", at("20260101000004", known(ledger.Failed, "Atlas recorded an error after 1 of 2 statements"))),
		}},
		{name: "baseline", sections: []string{"baseline", "cloud"}, want: map[string]ledger.Change{
			"20250101000000": started("2026-11-30T00:57:21.217659Z", done("20250101000000", "marked as the baseline, not run")),
			"20260101000000": started("2026-11-30T00:57:21.219308Z", done("20260101000000", "")),
			"20240101000000": before("20250101000000"), "20270101000000": absent,
		}},
		{name: "empty", want: map[string]ledger.Change{"1": absent, "": absent}},
		{name: "the identifier alone", sections: []string{"cloud"}, want: map[string]ledger.Change{"1": absent, ".": absent}},
		{name: "odd rows", sql: `; ALTER TABLE atlas_schema_revisions DROP CONSTRAINT atlas_schema_revisions_pkey;
			ALTER TABLE atlas_schema_revisions ALTER version DROP NOT NULL, ALTER applied DROP NOT NULL, ALTER type DROP NOT NULL, ALTER executed_at DROP NOT NULL` + insert + `VALUES
			('1', '', 2, NULL, 3, NULL, 0, NULL, '', ''), ('2', '', NULL, 1, 1, 'infinity', 0, NULL, '', ''), ('3', '', 2, 4, 3, '-infinity', 0, NULL, '', ''),
			('4', '', 0, 1, 1, '2026-01-01 12:00:00+02', 0, '', '', ''), (NULL, '', 2, 1, 1, NULL, 0, NULL, '', ''), ('5<&>''"', '', 2, 1, 1, NULL, 0, '<secret>', '', ''),
			('6', '', 2, 1, 1, NULL, 0, NULL, '', ''), ('6', '', 2, 1, 1, NULL, 0, NULL, '', '')`, want: map[string]ledger.Change{
			"1":          at("1", known(ledger.Unknown, "the row does not say how many statements were applied")),
			"2":          done("2", ""),
			"3":          at("3", known(ledger.Unknown, "begun, 4 of 3 statements applied, no error: it is running or was killed")),
			"4":          started("2026-01-01T10:00:00Z", done("4", "")),
			`5<&>'"`:     at(`5<&>'"`, known(ledger.Failed, "Atlas recorded an error after 1 of 1 statements")),
			"6":          done("6", ""),
			`{"7",NULL}`: absent,
		}},
		{name: "many rows", sql: insert + `SELECT lpad(n::text, 5, '0'), '', 2, 1, 1, '2026-01-01Z', 0, '', '', '' FROM generate_series(1, 10000) AS n`, want: map[string]ledger.Change{
			"10000": started("2026-01-01T00:00:00Z", done("10000", "")), "10001": absent, "00000": before("00001"),
		}},
	})
}

func TestPrisma(t *testing.T) {
	t.Parallel()
	const insert = `; INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, logs, rolled_back_at, applied_steps_count) `
	from := func(started, finished string, c ledger.Change) ledger.Change {
		if c.StartedAt = nil; started != "" {
			c.StartedAt = moment(t, started)
		}
		if finished != "" {
			c.FinishedAt = moment(t, finished)
		}
		return c
	}
	failed := known(ledger.Failed, "Prisma recorded an error: prisma migrate resolve tells it what a person found")
	begun := known(ledger.Unknown, "begun and not finished, no error: it is running or was killed")
	check(t, Prisma, []setting{
		{name: "history", sections: []string{"history", "killed"}, want: map[string]ledger.Change{
			"20260101000000_init":         from("2026-11-30T01:02:40.431Z", "2026-11-30T01:02:40.434Z", done("", "")),
			"20260102000000_retried":      from("2026-11-30T01:03:02.947Z", "2026-11-30T01:03:02.951Z", done("", "")),
			"20260103000000_given_up":     known(ledger.Absent, "a person recorded that it was rolled back"),
			"20260104000000_done_by_hand": from("2026-11-30T01:03:26.186Z", "2026-11-30T01:03:26.186Z", done("", "a person marked it as applied")),
			"20260105000000_baseline":     from("2026-11-30T01:03:37.001Z", "2026-11-30T01:03:37.001Z", done("", "a person marked it as applied")),
			"20260106000000_fails":        from("2026-11-30T01:03:48Z", "", failed),
			"20260107000000_killed":       from("2026-11-30T01:02:24.049Z", "", begun),
			"20260108000000_new":          known(ledger.Absent, "no row: Prisma writes one before it starts"),
			"20260101000000":              known(ledger.Absent, "no row: Prisma writes one before it starts"),
			"":                            known(ledger.Absent, "no row: Prisma writes one before it starts"),
		}},
		{name: "odd rows", sql: `; ALTER TABLE _prisma_migrations DROP CONSTRAINT _prisma_migrations_pkey;
			ALTER TABLE _prisma_migrations ALTER migration_name DROP NOT NULL, ALTER started_at DROP NOT NULL, ALTER applied_steps_count DROP NOT NULL` + insert + `VALUES
			('', '', 'failed, then finished', '2026-01-01Z', NULL, 'secret', NULL, 0), ('', '', 'failed, then finished', '2026-01-02Z', '2026-01-03Z', NULL, NULL, 1),
			('', '', 'two that failed', '2026-01-01Z', NULL, 'secret', NULL, 0), ('', '', 'two that failed', '2026-01-02Z', NULL, '', NULL, 0),
			('', '', 'failed and finished', '2026-01-01Z', '2026-01-02Z', 'secret', NULL, 1),
			('', '', 'NULL', NULL, NULL, NULL, NULL, NULL), ('', '', 'NULL, finished', NULL, '2026-01-02Z', NULL, NULL, NULL), ('', '', NULL, NULL, NULL, NULL, NULL, 0),
			('', '', 'for ever', '-infinity', 'infinity', NULL, NULL, 1), ('', '', 'rolled back and finished', '2026-01-01Z', '2026-01-01Z', NULL, '2026-01-01Z', 1)`, want: map[string]ledger.Change{
			"failed, then finished":    from("2026-01-01T00:00:00Z", "", failed),
			"two that failed":          from("2026-01-02T00:00:00Z", "", begun),
			"failed and finished":      from("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", done("", "")),
			"NULL":                     begun,
			"NULL, finished":           from("", "2026-01-02T00:00:00Z", done("", "")),
			"for ever":                 begun,
			"rolled back and finished": known(ledger.Absent, "a person recorded that it was rolled back"),
		}},
		{name: "many rows", sql: insert + `SELECT n, '', n, '2026-01-01Z', '2026-01-01Z', NULL, NULL, 1 FROM generate_series(1, 10000) AS n`, want: map[string]ledger.Change{
			"10000": from("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", done("", "")), "10001": known(ledger.Absent, "no row: Prisma writes one before it starts"),
		}},
	})
}
