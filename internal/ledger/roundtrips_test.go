package ledger_test

import (
	"testing"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/pgtest"
)

// The test counts how often an executor waits for the database, once it is connected.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	_, dsn := installed(t)
	p := pgtest.NewProxy(t, dsn)
	_, l := open(t, p.DSN)
	if _, err := l.Version(t.Context()); err != nil { // connects
		t.Fatal(err)
	}
	last := p.RoundTrips()
	costs := func(what string, want int) {
		t.Helper()
		now := p.RoundTrips()
		if now-last != want {
			t.Errorf("%s costs %d round trips, want %d", what, now-last, want)
		}
		last = now
	}
	costs("nothing", 0)
	if !claim(t, l, first).Granted {
		t.Error("not granted")
	}
	costs("a claim that is granted", 1)
	if claim(t, l, other).Granted {
		t.Error("granted twice")
	}
	costs("a claim that is refused", 2)
	if _, held, err := l.Renew(t.Context(), key, first, hour); err != nil || !held {
		t.Error(held, err)
	}
	costs("a renewal", 1)
	if _, held, err := l.Renew(t.Context(), key, other, hour); err != nil || held {
		t.Error(held, err)
	}
	costs("a renewal of a lease that is lost", 1)
	if complete(t, l, other, ledger.Outcome{State: ledger.Succeeded}) {
		t.Error("completed by another")
	}
	costs("a completion that is refused", 2)
	if !complete(t, l, first, ledger.Outcome{State: ledger.Succeeded}) {
		t.Error("not completed")
	}
	costs("a completion", 1)
	c := one(t, l)
	costs("a look at all changes", 1)
	if err := l.Recheck(t.Context(), c, []ledger.Invariant{{Name: "a"}}); err != nil {
		t.Error(err)
	}
	costs("new outcomes of invariants", 1)
	if claim(t, l, other).Granted {
		t.Error("granted when it is done")
	}
	costs("a claim of what is done", 2)
	if err := l.Install(t.Context()); err != nil {
		t.Error(err)
	}
	costs("an installation where all is there", 1)
	if _, _, err := l.Recover(t.Context(), ledger.Recovery{Key: key, Verdict: ledger.Retry, Reopen: true, Reason: "r", Evidence: "e"}); err != nil {
		t.Error(err)
	}
	costs("a decision", 6)
	if !claim(t, l, other).Granted {
		t.Error("the issued attempt is not granted")
	}
	costs("a claim of an issued attempt", 1)
}
