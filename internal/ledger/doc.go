// Package ledger is the migration ledger: a release side effect as a row with a
// stable business key, which Argo CD, Flux and a person can gate on.
//
// The row is the authority. A Job that is Complete says that a container exited
// with 0, not that the side effect is committed; and a lease that ran out means
// "investigate", never "it did not happen".
//
// # The rules
//
// A change is known by its key, such as checkout:add-order-index:v3. Whoever wants to
// run it claims it; one statement inserts the row or does nothing, and only the one
// row that comes back gives the right to run. No row back means stop and read:
//
//	SUCCEEDED                  it is done: report success, run nothing
//	RUNNING, lease not over    somebody else runs it: stop
//	RUNNING, lease over        nobody knows how far it got: stop, a person investigates
//	FAILED                     stop until a person issues a new attempt
//
// The executor renews its lease while the command runs. It renews and completes only
// where key, token and RUNNING still match and the lease is not over, so a late
// executor never overwrites a newer attempt, and one that was paused beyond its lease
// cannot complete. A person decides with [Ledger.Recover], on the record: an attempt
// succeeded, failed, or a new attempt may run, once. So a command runs as often as
// there are decisions that it may run again, and once more.
//
//	            claim                      complete
//	(no row) ----------> RUNNING ----------------------> SUCCEEDED
//	                     ^  |  \  fail                     ^
//	       claim of the  |  |   '---------> FAILED --------+ recover: succeeded
//	     attempt that was|  | lease over       |           |
//	         issued      |  v                  |           |
//	                     |  RUNNING, expired --+-----------'
//	                     |      | recover: retry, failed
//	                     '------'
//
// Time is the database's alone (clock_timestamp()): clocks of executors and people are
// never compared with it. An executor measures how long ago it asked, on its own
// monotonic clock, and takes its lease for over by then.
//
// A command that ended well is SUCCEEDED with the outcome of each invariant. A broken
// invariant does not make it FAILED: the side effect is there, and running it again is
// not the remedy. A later run of the same key runs nothing and checks them anew.
//
// A row names its target, where each cluster has a database of its own. A row of
// another target came with a copy of that database: the claim stops and a person
// investigates.
//
// # The tables
//
// install.sql has them: ledger_changes (a row for each key), ledger_attempts (a row for
// each time a command may have run), ledger_decisions (what people recorded, never
// changed) and ledger_versions. [Ledger.Install] applies the steps that are missing, in
// one transaction, and never drops anything. A claim, a renewal and a completion are a
// statement each, which is one round trip: a claim that is not granted takes a second,
// to read.
//
// # Errors
//
// An error says what kind it is ([KindOf]) and PostgreSQL's SQLSTATE. It never holds the
// address of the database, a role, a password or a value: those can be secret, and
// PostgreSQL's own messages quote values.
package ledger
