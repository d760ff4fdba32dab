package ledger_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const (
	key   = "checkout:add-order-index:v3"
	hour  = time.Hour
	first = "00000000-0000-4000-8000-000000000001"
	other = "00000000-0000-4000-8000-000000000002"
)

// open is a database and what is needed to look at it.
func open(t testing.TB, dsn string) (*ledger.DB, *ledger.Ledger) {
	t.Helper()
	db, err := ledger.Open(ledger.Config{DSN: dsn, Source: "the test", Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db, ledger.New(db, "")
}

// installed is a new database with a ledger.
func installed(t testing.TB) (*ledger.Ledger, string) {
	t.Helper()
	dsn := pgtest.Start(t).Database(t)
	_, l := open(t, dsn)
	if err := l.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l, dsn
}

func request(token string) ledger.Request {
	return ledger.Request{Key: key, SourceRevision: "4b825dc", SchemaVersion: "3", JobUID: "job", Executor: "pod", Lease: hour, Token: token}
}

func claim(t testing.TB, l *ledger.Ledger, token string) ledger.Claim {
	t.Helper()
	c, err := l.Claim(t.Context(), request(token))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// expire makes the leases of all changes run out. The rows change as little as can be.
func expire(t testing.TB, dsn string) {
	t.Helper()
	conn := pgtest.Connect(t, dsn)
	if _, err := conn.Exec(context.Background(), "UPDATE hallmark.ledger_changes SET lease_until = clock_timestamp() WHERE lease_until IS NOT NULL"); err != nil {
		t.Fatal(err)
	}
}

func complete(t testing.TB, l *ledger.Ledger, token string, o ledger.Outcome) bool {
	t.Helper()
	_, completed, err := l.Complete(t.Context(), key, token, o)
	if err != nil {
		t.Fatal(err)
	}
	return completed
}

func one(t testing.TB, l *ledger.Ledger) ledger.Change {
	t.Helper()
	all, _, err := l.Changes(t.Context(), nil)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d changes, %v", len(all), err)
	}
	return all[0]
}

var yes = true

func TestClaim(t *testing.T) {
	t.Parallel()
	l, dsn := installed(t)
	c := claim(t, l, first)
	if !c.Granted || c.Change.State != ledger.Running || c.Change.Attempt != 1 || c.Change.LeaseUntil == nil {
		t.Fatalf("the first claim is %+v", c)
	}
	if c := claim(t, l, other); c.Granted || c.Change.State != ledger.Running || c.Change.LeaseExpired {
		t.Errorf("a second claim is %+v", c)
	}
	if until, held, err := l.Renew(t.Context(), key, first, 2*hour); err != nil || !held || !until.After(c.Change.LeaseUntil.Add(hour-time.Minute)) {
		t.Errorf("the lease lasts until %s, held %v, %v", until, held, err)
	}
	if _, held, err := l.Renew(t.Context(), key, other, hour); err != nil || held {
		t.Errorf("somebody else renews it: %v, %v", held, err)
	}
	if complete(t, l, other, ledger.Outcome{State: ledger.Succeeded}) {
		t.Error("somebody else completes it")
	}
	done := ledger.Outcome{State: ledger.Succeeded, ResultDigest: "sha256:00", Invariants: []ledger.Invariant{{Name: "a", Holds: &yes}}}
	if !complete(t, l, first, done) {
		t.Error("it cannot be completed")
	}
	if !complete(t, l, first, done) {
		t.Error("a completion whose answer was lost is not known again")
	}
	expire(t, dsn) // nothing is left to run out
	got := claim(t, l, other)
	if got.Granted || got.Change.State != ledger.Succeeded || got.Change.LeaseUntil != nil || got.Change.FinishedAt == nil ||
		got.Change.ResultDigest != "sha256:00" || len(got.Change.Invariants) != 1 || !*got.Change.Invariants[0].Holds {
		t.Errorf("what is done is claimed: %+v", got)
	}
	attempts, err := l.Attempts(t.Context(), []string{key})
	if err != nil || len(attempts) != 1 || attempts[0].State != ledger.Succeeded || attempts[0].ExitCode == nil || *attempts[0].ExitCode != 0 {
		t.Errorf("the attempts are %+v, %v", attempts, err)
	}
}

func TestExpired(t *testing.T) {
	t.Parallel()
	l, dsn := installed(t)
	claim(t, l, first)
	expire(t, dsn)
	if c := claim(t, l, other); c.Granted || c.Change.State != ledger.Running || !c.Change.LeaseExpired {
		t.Errorf("an expired attempt is claimed: %+v", c)
	}
	if c := claim(t, l, first); c.Granted {
		t.Error("an expired attempt is claimed by its own executor")
	}
	if _, held, err := l.Renew(t.Context(), key, first, hour); err != nil || held {
		t.Errorf("an expired lease is renewed: %v, %v", held, err)
	}
	if complete(t, l, first, ledger.Outcome{State: ledger.Succeeded}) {
		t.Error("an expired attempt is completed")
	}
	if complete(t, l, first, ledger.Outcome{State: ledger.Failed, ExitCode: 1}) {
		t.Error("an expired attempt is failed")
	}
}

// Each case decides about a change in a state, with and without what allows it.
func TestRecover(t *testing.T) {
	t.Parallel()
	states := map[string]func(testing.TB, *ledger.Ledger, string){
		"none":    func(testing.TB, *ledger.Ledger, string) {},
		"live":    func(t testing.TB, l *ledger.Ledger, _ string) { claim(t, l, first) },
		"expired": func(t testing.TB, l *ledger.Ledger, dsn string) { claim(t, l, first); expire(t, dsn) },
		"failed": func(t testing.TB, l *ledger.Ledger, _ string) {
			claim(t, l, first)
			complete(t, l, first, ledger.Outcome{State: ledger.Failed, ExitCode: 3, Failure: "exit code 3"})
		},
		"succeeded": func(t testing.TB, l *ledger.Ledger, _ string) {
			claim(t, l, first)
			complete(t, l, first, ledger.Outcome{State: ledger.Succeeded})
		},
		"issued": func(t testing.TB, l *ledger.Ledger, dsn string) {
			claim(t, l, first)
			expire(t, dsn)
			if _, _, err := l.Recover(t.Context(), ledger.Recovery{Key: key, Verdict: ledger.Retry, Reason: "r", Evidence: "e"}); err != nil {
				t.Fatal(err)
			}
		},
	}
	const refused = "" // what a refusal leaves
	for _, c := range []struct {
		state   string
		verdict ledger.Verdict
		with    ledger.Recovery
		want    ledger.State
		runs    bool
		err     string
	}{
		{"none", ledger.Retry, ledger.Recovery{}, refused, false, "nothing is recorded"},
		{"live", ledger.FoundSucceeded, ledger.Recovery{}, refused, false, "lease is not over"},
		{"live", ledger.Retry, ledger.Recovery{}, refused, false, "lease is not over"},
		{"live", ledger.FoundFailed, ledger.Recovery{Reopen: true}, refused, false, "lease is not over"},
		{"live", ledger.Retry, ledger.Recovery{ForceLive: true}, ledger.Failed, true, ""},
		{"live", ledger.FoundSucceeded, ledger.Recovery{ForceLive: true}, ledger.Succeeded, false, ""},
		{"expired", ledger.FoundSucceeded, ledger.Recovery{}, ledger.Succeeded, false, ""},
		{"expired", ledger.FoundFailed, ledger.Recovery{}, ledger.Failed, false, ""},
		{"expired", ledger.Retry, ledger.Recovery{}, ledger.Failed, true, ""},
		{"expired", ledger.Retry, ledger.Recovery{Attempt: 2}, refused, false, "attempt 2 was looked at, and the newest is 1"},
		{"failed", ledger.FoundSucceeded, ledger.Recovery{Attempt: 1}, ledger.Succeeded, false, ""},
		{"failed", ledger.FoundFailed, ledger.Recovery{}, ledger.Failed, false, ""},
		{"failed", ledger.Retry, ledger.Recovery{}, ledger.Failed, true, ""},
		{"succeeded", ledger.FoundSucceeded, ledger.Recovery{Reopen: true}, refused, false, "SUCCEEDED already"},
		{"succeeded", ledger.FoundFailed, ledger.Recovery{ForceLive: true}, refused, false, "recorded as SUCCEEDED"},
		{"succeeded", ledger.Retry, ledger.Recovery{}, refused, false, "recorded as SUCCEEDED"},
		{"succeeded", ledger.Retry, ledger.Recovery{Reopen: true}, ledger.Failed, true, ""},
		{"issued", ledger.Retry, ledger.Recovery{}, refused, false, "attempt 2 may run already"},
		{"issued", ledger.FoundFailed, ledger.Recovery{}, ledger.Failed, false, ""}, // taken back
		{"issued", ledger.FoundSucceeded, ledger.Recovery{}, ledger.Succeeded, false, ""},
	} {
		t.Run(c.state+"-"+string(c.verdict)+"-"+c.err, func(t *testing.T) {
			t.Parallel()
			l, dsn := installed(t)
			states[c.state](t, l, dsn)
			before, _, err := l.Changes(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			decided, err := l.Decisions(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			r := c.with
			r.Key, r.Verdict, r.Reason, r.Evidence, r.By = key, c.verdict, "the index is there", "\\d orders", "somebody"
			change, decision, err := l.Recover(t.Context(), r)
			after, _, err2 := l.Changes(t.Context(), nil)
			if err2 != nil {
				t.Fatal(err2)
			}
			if c.want == refused {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("the error is %v, want %q", err, c.err)
				}
				if now, err := l.Decisions(t.Context(), nil); err != nil || len(now) != len(decided) || !slices.EqualFunc(before, after, func(a, b ledger.Change) bool { return a.State == b.State && a.Issued == b.Issued }) {
					t.Errorf("a refused decision changed something: %+v to %+v, %v", before, after, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if change.State != c.want || change.MayRun() != c.runs || decision.Role == "" || decision.StateBefore != before[0].State {
				t.Errorf("%+v by %+v", change, decision)
			}
			// Whoever had the attempt has lost it, and at most one more runs.
			if _, held, err := l.Renew(t.Context(), key, first, hour); err != nil || held {
				t.Errorf("the lease is renewed: %v %v", held, err)
			}
			if complete(t, l, first, ledger.Outcome{State: ledger.Failed}) || complete(t, l, first, ledger.Outcome{State: ledger.Succeeded}) {
				t.Error("the attempt that was decided about is completed")
			}
			if got := claim(t, l, other); got.Granted != c.runs || c.runs && got.Change.Attempt != 2 {
				t.Errorf("the next claim is %+v", got)
			}
			if got := claim(t, l, first); got.Granted {
				t.Errorf("the claim after it is %+v", got)
			}
			now, err := l.Decisions(t.Context(), []string{key})
			if err != nil || len(now) != len(decided)+1 || now[len(now)-1].Evidence != "\\d orders" {
				t.Errorf("the decisions are %+v, %v", now, err)
			}
		})
	}
}

func TestOtherTarget(t *testing.T) {
	t.Parallel()
	l, dsn := installed(t)
	claim(t, l, first)
	expire(t, dsn)
	if _, _, err := l.Recover(t.Context(), ledger.Recovery{Key: key, Verdict: ledger.Retry, Reason: "r", Evidence: "e"}); err != nil {
		t.Fatal(err)
	}
	elsewhere := request(other)
	elsewhere.Target = "eu-west-1"
	if c, err := l.Claim(t.Context(), elsewhere); err != nil || c.Granted {
		t.Errorf("an attempt for another target is claimed: %+v, %v", c, err)
	}
}

func TestInstall(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Database(t)
	_, l := open(t, dsn)
	if _, _, err := l.Changes(t.Context(), nil); ledger.KindOf(err) != ledger.NotInstalled || diag.Hint(err) == "" {
		t.Errorf("without tables: %v, hint %q", err, diag.Hint(err))
	}
	errs := make(chan error)
	for range 10 {
		_, l := open(t, dsn)
		go func() { errs <- l.Install(context.WithoutCancel(t.Context())) }()
	}
	for range 10 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	claim(t, l, first)
	pgtest.Start(t).Exec(t, dsn, l.Script()) // by hand, again
	if v, err := l.Version(t.Context()); err != nil || v != 1 || one(t, l).State != ledger.Running {
		t.Errorf("version %d, %v", v, err)
	}
	if all, now, err := l.Changes(t.Context(), []string{"none"}); err != nil || len(all) != 0 || now.IsZero() {
		t.Errorf("%d rows of a key that is not there, at %s, %v", len(all), now, err)
	}
	odd := ledger.New(mustDB(t, dsn), `Odd "schema's"`)
	if err := odd.Install(t.Context()); err != nil {
		t.Error(err)
	}
	if v, err := odd.Version(t.Context()); err != nil || v != 1 {
		t.Errorf("version %d, %v", v, err)
	}
}

func mustDB(t testing.TB, dsn string) *ledger.DB {
	t.Helper()
	db, _ := open(t, dsn)
	return db
}

// An entry that somebody wrote by hand does not hide the rest, and never counts as one
// that holds.
func TestOddInvariants(t *testing.T) {
	t.Parallel()
	l, dsn := installed(t)
	claim(t, l, first)
	pgtest.Start(t).Exec(t, dsn, `UPDATE hallmark.ledger_changes SET invariants = '[{"name": 1, "holds": true}, null, "a", {"holds": true},
		{"name": "b", "holds": "yes"}, {"name": "c", "holds": true, "checkedAt": "10000-01-01T00:00:00Z"}, {"name": "d", "holds": true}]'`)
	changes, _, err := l.Changes(t.Context(), nil)
	if err != nil || len(changes) != 1 || len(changes[0].Invariants) != 7 {
		t.Fatalf("%+v, %v", changes, err)
	}
	for n, name := range []string{"", "", "", "", "b", "c", "d"} {
		i := changes[0].Invariants[n]
		if i.Name != name || (i.Holds != nil) != (name == "d") || (i.Detail == "") != (name == "d") {
			t.Errorf("entry %d: %+v", n, i)
		}
	}
}

// The tables have no room for what a reader could not read.
func TestTablesRefuse(t *testing.T) {
	t.Parallel()
	l, dsn := installed(t)
	claim(t, l, first)
	if _, _, err := l.Recover(t.Context(), ledger.Recovery{Key: key, Verdict: ledger.Retry, Reason: "r", Evidence: "e", ForceLive: true}); err != nil {
		t.Fatal(err)
	}
	claim(t, l, other)
	conn := pgtest.Connect(t, dsn)
	for column, table := range map[string]string{
		"lease_until": "ledger_changes", "started_at": "ledger_changes", "finished_at": "ledger_attempts", "decided_at": "ledger_decisions", "lease_before": "ledger_decisions",
	} {
		for _, value := range []string{"infinity", "-infinity", "10000-01-01Z", "2000-01-01Z BC"} {
			if _, err := conn.Exec(t.Context(), "UPDATE hallmark."+table+" SET "+column+" = '"+value+"'"); err == nil || !strings.Contains(err.Error(), "_"+column+"_check") {
				t.Errorf("%s of %s = %s: %v", column, table, value, err)
			}
		}
	}
	for _, value := range []string{"{}", "null", "1"} {
		if _, err := conn.Exec(t.Context(), "UPDATE hallmark.ledger_changes SET invariants = '"+value+"'"); err == nil || !strings.Contains(err.Error(), "invariants_check") {
			t.Errorf("invariants = %s: %v", value, err)
		}
	}
}
