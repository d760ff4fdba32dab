package main

import (
	"fmt"

	"hallmark.dev/hallmark/internal/ledger"
)

// What `hallmark ledger` says to a person.

const ledgerHelp = `Work with the migration ledger: tables in PostgreSQL with a row for each side effect of a
release, such as a migration of a schema. A change is known by its key, runs once under
a claim, and is recorded with what came of it, so that a Job that is started again
repeats nothing. A lease that ran out means "investigate", never "it did not happen".

The database is the one whose address is in --dsn-file, else in $HALLMARK_LEDGER_DSN,
else in libpq's own variables (PGHOST, PGUSER, PGPASSFILE, ...), which also give what an
address leaves out. An address is postgres://USER:PASSWORD@HOST:PORT/DATABASE or libpq's
keywords. It is never an argument, since others can read those, and never printed.`

const ledgerExample = `  hallmark ledger install
  hallmark ledger run --change-key checkout:add-order-index:v3 --source-revision 4b825dc -- flyway migrate
  hallmark ledger status
  hallmark ledger recover --change-key checkout:add-order-index:v3 --verdict succeeded \
    --reason "the index is valid" --evidence "\d orders: orders_by_day, valid"`

const ledgerInstallHelp = `Make the tables of the ledger, or the steps that they lack. Nothing is ever dropped, and
where nothing is missing no right to make tables is needed. Says which version the
tables have.

Where only an administrator may make tables, --print gives the SQL; it needs no
database, and run again it does nothing.

Beside USAGE on the schema, the roles of the other commands need

  run      SELECT and INSERT on ledger_changes and ledger_attempts, and UPDATE of what
           changes in them: not of change_key, target and issued. A role that may write
           issued can let a change run again with no decision on record.
  recover  SELECT on both and on ledger_decisions; UPDATE of state, finished_at and
           failure on both, and of issued, token and lease_until on ledger_changes;
           INSERT on ledger_decisions, where a role without a right on database_role
           cannot decide in the name of another
  status   SELECT on ledger_changes, for --history and -o json on all three
  project  SELECT on ledger_changes

The statements are in manifests/ledger/README.md of hallmark.`

const ledgerInstallExample = `  hallmark ledger install
  hallmark ledger install --dsn-file /run/secrets/ledger/dsn --schema releases
  hallmark ledger install --print | psql -v ON_ERROR_STOP=1`

const ledgerStatusHelp = `Say of each KEY (default: all that are recorded) its state, what is left of its lease, the
attempt, the revision that ran it, what its invariants found, and what to do next. A KEY
of which nothing is recorded is ABSENT. The exit code is 0 whatever the states are.
Whether a lease is over is what the database's clock says.

With -o json the result is one object, with times in RFC 3339 and UTC; what is not known
is left out, but for the fields that are marked *:

  changes    by key: changeKey*, state* (RUNNING, SUCCEEDED, FAILED or ABSENT), target,
             sourceRevision*, attempt*, issued* (the newest attempt that may run, above
             attempt where a person issued one), leaseUntil, leaseExpired*, startedAt,
             finishedAt, schemaVersion, resultDigest, jobUID, executor, failure,
             invariants* (a list of name, holds, checkedAt and detail; without holds one
             was not checked) and next*
  attempts   by key and number: changeKey*, attempt*, sourceRevision*, state*,
             startedAt*, finishedAt, exitCode, resultDigest, jobUID, executor, failure
  decisions  what people recorded, by key and in their order: changeKey*, attempt*,
             verdict*, issued, reason*, evidence*, by, databaseRole*, at*, stateBefore*,
             leaseBefore, forced

With -o env the result is a line NAME=VALUE each for changeKey, state, sourceRevision,
leaseUntil, leaseExpired (true or false), invariants (hold, broken, unchecked or none) and
attempt, of one KEY, for kubectl create configmap --from-env-file. There an attempt that a
person issued is ABSENT until it begins, as in a MigrationLedger.`

const ledgerStatusExample = `  hallmark ledger status
  hallmark ledger status --history checkout:add-order-index:v3
  hallmark ledger status -o json | jq '.changes[] | select(.leaseExpired)'
  hallmark ledger status -o env checkout:add-order-index:v3 > order-index.env
  kubectl create configmap order-index --from-env-file order-index.env`

const ledgerRecoverHelp = `Record what you found out about the newest attempt of a change, which decides what
happens next:

  succeeded  the side effect is there: the change is done, and is not run again
  failed     it is not there: nothing runs until another decision
  retry      it is not there, or running it again does no harm: one more attempt may run,
             once

The reason and the evidence stay on the record, with the role that PostgreSQL knows you
by; what was recorded before stays, too. The execution that has the attempt can neither
renew its lease nor complete any more.

While a lease is not over the executor may be at work, and nothing is decided without
--force-live-lease. Stop it first: it learns of the decision only when it next renews
its lease, and with retry two executions could overlap. A change that SUCCEEDED is
decided about with --reopen-succeeded alone.

With -o json the result is one object: change and decision, each with the fields that
hallmark ledger status gives it.`

const ledgerRecoverExample = `  hallmark ledger recover --change-key checkout:add-order-index:v3 --verdict succeeded \
    --reason "the pod was evicted behind the last statement" --evidence "\d orders: orders_by_day, valid"
  hallmark ledger recover --change-key checkout:backfill:v1 --verdict retry --attempt 1 --by alex \
    --reason "no row was written" --evidence "SELECT count(*) FROM totals: 0"`

const (
	hintDSN        = "the address of the database has a password, which others could read there: put it into a file and name that with --dsn-file, or into $" + ledgerDSN
	hintNoDatabase = "name a file with its address with --dsn-file, or set $" + ledgerDSN + " or PGHOST"
	hintInstall    = "the role needs CREATE on the database, or its administrator runs what `hallmark ledger install --print` prints"
	hintRecover    = "a decision stays on the record: --reason says why, --evidence what you looked at and what it showed"

	warnForced = "the lease was not over: the executor may be at work until it next renews its lease, so see to it that it has stopped"
)

// nextStep is what a person does about a change.
func nextStep(c ledger.Change) string {
	invariants := outcomeOf(c.Invariants)
	switch {
	case c.State == ledger.Absent:
		return "run it: nothing is recorded"
	case c.MayRun():
		return fmt.Sprintf("run it: attempt %d may run", c.Issued)
	case c.State == ledger.Running && c.LeaseExpired:
		return "investigate, do not re-run; then hallmark ledger recover"
	case c.State == ledger.Running:
		return "wait until it ends"
	case c.State == ledger.Failed:
		return "find out how far it got, then hallmark ledger recover"
	case invariants == invariantsBroken:
		return "mend what the invariant looks at, then run the key again: it only checks"
	case invariants == invariantsUnchecked:
		return "run the key again: it only checks the invariants"
	}
	return "nothing"
}

// recordedDecision says what a decision did.
func recordedDecision(c ledger.Change, d ledger.Decision) string {
	switch d.Verdict {
	case ledger.Retry:
		return fmt.Sprintf("attempt %d of %q may run; attempt %d was %s", c.Issued, c.Key, d.Attempt, d.StateBefore)
	case ledger.FoundFailed:
		return fmt.Sprintf("attempt %d of %q is FAILED; it was %s", d.Attempt, c.Key, d.StateBefore)
	}
	return fmt.Sprintf("attempt %d of %q is SUCCEEDED; it was %s", d.Attempt, c.Key, d.StateBefore)
}

// afterDecision is what happens next.
func afterDecision(c ledger.Change, d ledger.Decision) string {
	switch d.Verdict {
	case ledger.Retry:
		return fmt.Sprintf("run it, for example by a sync that starts its Job again: attempt %d runs once", c.Issued)
	case ledger.FoundFailed:
		return "nothing runs until somebody decides --verdict retry"
	}
	return "the release can go on: a run of this key repeats nothing and checks its invariants"
}

// decided is a decision in the history.
func decided(d ledger.Decision) string {
	if d.Issued != nil {
		return fmt.Sprintf("%s, so attempt %d may run", d.Verdict, *d.Issued)
	}
	return string(d.Verdict)
}

// before is what was recorded when somebody decided.
func before(d ledger.Decision) string {
	switch {
	case d.LeaseBefore == nil:
		return string(d.StateBefore)
	case d.Forced:
		return fmt.Sprintf("%s, under a lease until %s that was not over", d.StateBefore, rfc3339(d.LeaseBefore))
	}
	return fmt.Sprintf("%s, under a lease that was over at %s", d.StateBefore, rfc3339(d.LeaseBefore))
}

// invariantVerdict is the outcome of an invariant in the history.
func invariantVerdict(i ledger.Invariant) string {
	switch outcome(i) {
	case invariantsHold:
		return "it holds"
	case invariantsBroken:
		return "it is broken"
	}
	return "it was not checked"
}
