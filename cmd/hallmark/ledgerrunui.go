package main

const ledgerRunHelp = `Claim a change in the ledger, run the command, check the invariants and record what
came of it: the command of a Job's container, around any migration tool.

Only one executor gets the claim. A change that is recorded as SUCCEEDED is not
repeated, its invariants are checked anew. One that another executor runs, whose
lease ran out, or that failed, is not run: a person decides with hallmark ledger
recover. While the command runs the lease is renewed; when it is lost the command's
process group is stopped. So it is on SIGTERM, SIGINT, SIGHUP and SIGQUIT.

Standard output has the result, one JSON document. What the command writes goes to
standard error; it has this standard input, and no terminal. Its environment is this one's, without $HALLMARK_LEDGER_DSN and with
HALLMARK_CHANGE_KEY and HALLMARK_SOURCE_REVISION. Invariants run in the ledger's
database, in a transaction that may only read; those of the last run are on the record.

A command that was told to stop is recorded as failed even if it ends with exit code 0:
many tools stop in order in the middle of their work.

Exit codes:
  0  done, or done before and not repeated (see --already-done-exit-code)
  1  refused: a wrong password, a missing right, a command that is not there
  2  wrong usage
  3  held by another executor: run again later
  4  needs investigation: the lease ran out or was lost, or the row is of another target
  5  failed, now or before
  6  recorded as done, and an invariant is broken
  7  the database cannot be reached: nothing was run
  8  recorded as done, and an invariant could not be checked: run again`

const ledgerRunExample = `  hallmark ledger run --change-key checkout:add-order-index:v3 --source-revision 4b825dc \
    --invariant "order-index=SELECT indisvalid FROM pg_index WHERE indexrelid = 'orders_by_day'::regclass" \
    -- flyway migrate
  hallmark ledger run --change-key checkout:backfill:v1 --source-revision 4b825dc --lease 30m \
    --result-file /dev/termination-log --job-uid "$JOB_UID" -- ./backfill.sh`

const hintAssignment = "a variable for the command is set with `env NAME=VALUE PROGRAM`, or better in the pod's env"
