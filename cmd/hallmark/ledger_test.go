package main

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/pgtest"
)

// The commands of scripts that need a database. $DATABASE is the superuser's address of
// the newest one.

// scriptTest is the key of a script's test among its values.
type scriptTest struct{}

func testOf(ts *testscript.TestScript) testing.TB { return ts.Value(scriptTest{}).(testing.TB) }

// database makes a new, empty database and names it with $HALLMARK_LEDGER_DSN.
// database libpq names it with libpq's variables.
func database(ts *testscript.TestScript, neg bool, args []string) {
	byLibpq := len(args) == 1 && args[0] == "libpq"
	if neg || len(args) > 0 && !byLibpq {
		ts.Fatalf("usage: database [libpq]")
	}
	dsn := pgtest.Start(testOf(ts)).Database(testOf(ts))
	ts.Setenv("DATABASE", dsn)
	if !byLibpq {
		ts.Setenv(ledgerDSN, dsn)
		return
	}
	address, err := url.Parse(dsn)
	ts.Check(err)
	ts.Setenv("PGHOST", address.Hostname())
	ts.Setenv("PGPORT", address.Port())
	ts.Setenv("PGDATABASE", strings.TrimPrefix(address.Path, "/"))
	ts.Setenv("PGUSER", address.User.Username())
	ts.Setenv("PGPASSWORD", pgtest.Password)
	ts.Setenv("PGSSLMODE", "disable")
}

// role VARIABLE STATEMENT... makes a role, runs the statements, in which ROLE stands for
// its name, and sets the variable to its address of the database.
func role(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: role VARIABLE STATEMENT...")
	}
	ts.Setenv(args[0], pgtest.Start(testOf(ts)).Role(testOf(ts), ts.Getenv("DATABASE"), args[1:]...))
}

// sql STATEMENT... runs statements as the superuser; @FILE stands for those of a file.
func sql(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: sql STATEMENT|@FILE...")
	}
	for _, statement := range args {
		if file, found := strings.CutPrefix(statement, "@"); found {
			statement = ts.ReadFile(file)
		}
		pgtest.Start(testOf(ts)).Exec(testOf(ts), ts.Getenv("DATABASE"), statement)
	}
}

// record KEY live|expired|failed|succeeded [INVARIANT=true|false|unchecked]... brings a
// change into a state in the way that executors do. The revision is 4b825dc, and the
// lease of one that is live has an hour.
func record(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: record KEY live|expired|failed|succeeded [INVARIANT=true|false|unchecked]...")
	}
	key, state := args[0], args[1]
	db, err := ledger.Open(ledger.Config{DSN: ts.Getenv("DATABASE"), Source: "the script", Timeout: time.Minute})
	ts.Check(err)
	defer db.Close()
	l := ledger.New(db, "")
	ctx := testOf(ts).Context()
	request := ledger.Request{Key: key, SourceRevision: "4b825dc", SchemaVersion: "3", JobUID: "job-1", Executor: "pod-1", Lease: time.Hour, Token: newToken()}
	claim, err := l.Claim(ctx, request)
	ts.Check(err)
	if !claim.Granted {
		ts.Fatalf("%q cannot be claimed: it is %s", key, claim.Change.State)
	}
	outcome := ledger.Outcome{State: ledger.Succeeded, ResultDigest: "sha256:00"}
	for _, arg := range args[2:] {
		name, found, _ := strings.Cut(arg, "=")
		holds := found == "true"
		i := ledger.Invariant{Name: name, CheckedAt: claim.Change.StartedAt, Holds: &holds}
		switch found {
		case "false":
			i.Detail = "the query returns false"
		case "unchecked":
			i.Holds, i.CheckedAt, i.Detail = nil, nil, "a lock was not to be had in time"
		}
		outcome.Invariants = append(outcome.Invariants, i)
	}
	switch state {
	case "live":
		return
	case "expired":
		sql(ts, false, []string{"UPDATE hallmark.ledger_changes SET lease_until = clock_timestamp() - interval '3 minutes' WHERE change_key = '" + key + "'"})
		return
	case "failed":
		outcome = ledger.Outcome{State: ledger.Failed, ExitCode: 3, Failure: "the command ended with exit code 3"}
	case "succeeded":
	default:
		ts.Fatalf("unknown state %q", state)
	}
	_, completed, err := l.Complete(ctx, key, request.Token, outcome)
	ts.Check(err)
	if !completed {
		ts.Fatalf("%q cannot be completed", key)
	}
}
