// Package history reads the tables in which Flyway, Liquibase, golang-migrate, goose,
// Atlas and Prisma keep their history in PostgreSQL, and says of each change key what
// is known of it, as a [ledger.Change].
//
//	changes, err := history.Read(ctx, db, history.Goose, "", []string{"20260101000000"})
//
// A call is one SELECT, whatever the number of keys, and the server sends the rows of
// those keys and little else. A role with SELECT on the table (and USAGE on its schema) is enough.
//
// # Names of tables
//
// "table" or "schema.table", in the case that the table has: Liquibase's is lower-case
// in PostgreSQL. A name without a schema is found on the role's search_path. Where none
// is given it is the tool's own:
//
//	flyway          flyway_schema_history
//	liquibase       databasechangelog
//	golang-migrate  schema_migrations
//	goose           goose_db_version
//	atlas           atlas_schema_revisions, in the schema of that name where it is there
//	prisma          _prisma_migrations
//
// A table that is not there, and one with other columns (Rails has a schema_migrations
// too), are errors: that nothing is recorded must not be taken from a wrong name.
//
// # Keys
//
//	flyway          the version (1.2, 1_2, 01.2 and 1.2.0 are one) or the script
//	                as recorded (V2__add_index.sql); a repeatable one has only a script
//	liquibase       id, id::author or filename::id::author, which is how Liquibase itself
//	                names a change set. A key that fits several is UNKNOWN
//	golang-migrate  the version number; zeros before it do not count
//	goose           the version number; zeros before it do not count
//	atlas           the version: what stands before the first _ of the file's name
//	prisma          the name of the migration's folder
//
// # States
//
// Nothing is guessed. What a table cannot tell is UNKNOWN, and Failure says what it is.
// A failure is FAILED and says that the tool recorded one; its text, logs and SQL never
// leave the database, since they can hold values. Where a change that SUCCEEDED was
// marked so by a person and not run, Failure says that too.
//
// flyway: the row with the highest installed_rank counts. success false, which Flyway
// writes of a migration outside a transaction alone, is FAILED. One that fails in a
// transaction leaves no row, nor does one that runs, nor what a baseline covers: no row
// is UNKNOWN. UNDO_* is ABSENT again. DELETE, by repair, is UNKNOWN.
//
// liquibase: EXECUTED, RERAN and MARK_RAN are SUCCEEDED. What FAILED or was SKIPPED is
// not written by any current version, so that no row is UNKNOWN. Whether the row in
// databasechangeloglock holds the lock is said where it can be read; no lock expires.
//
// golang-migrate: one row has the newest version. Clean at the key it is SUCCEEDED,
// below it ABSENT, and above it UNKNOWN: a file with a lower number that was added later
// is never applied. So a release should name its newest version only. A dirty row is
// UNKNOWN for all keys: it is written before a migration starts, as the version below
// when one is undone, and stays after a failure.
//
// goose: a row is SUCCEEDED, and no row UNKNOWN. An older goose wrote a row with
// is_applied false when it undid one: ABSENT. The lock table goose_lock is looked at.
//
// atlas: an error is FAILED. All statements applied is SUCCEEDED, some are UNKNOWN (it
// runs, or was killed), with the counts. By default Atlas writes the row in the
// transaction of the migration, so that no row is ABSENT: nothing of it is committed.
// A version before the first recorded one is UNKNOWN: a baseline or a checkpoint may
// cover it.
//
// prisma: a row is written before the start. finished_at is SUCCEEDED, logs without it
// FAILED, neither UNKNOWN. Rows that a person marked as rolled back do not count.
//
// A row speaks of the script that ran. Whether the script was changed since, no table
// can tell: a changed one wants a new key. Tools can also be told to record what they
// did not run (Flyway's skipExecutingMigrations, Liquibase's changelog-sync,
// golang-migrate's force), and leave no trace of that.
//
// Times are taken from columns with a time zone only: the others are in the zone of
// whoever wrote them.
package history
