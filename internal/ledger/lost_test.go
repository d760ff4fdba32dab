package ledger_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/pgtest"
)

// A line is the way to the database, on which one message can be lost.
type line struct {
	*pgtest.Proxy
	stop, done chan struct{}
}

func newLine(t testing.TB, dsn string) *line {
	l := &line{Proxy: pgtest.NewProxy(t, dsn), stop: make(chan struct{}), done: make(chan struct{})}
	go func() { // the network is soon mended
		defer close(l.done)
		for {
			select {
			case <-l.stop:
				return
			case <-time.After(10 * time.Millisecond):
				l.Mend()
			}
		}
	}()
	t.Cleanup(func() { close(l.stop); <-l.done })
	return l
}

// lose loses the next statement that has a text, or the answer to it, once: the
// connection breaks, or, where it hangs, nobody is told. It returns what says whether
// that has happened.
func (l *line) lose(text string, answer, hangs bool) func() bool {
	var mu sync.Mutex
	sent, lost := false, false
	l.OnData(func(toServer bool, data []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		if lost || sent == toServer || toServer && !bytes.Contains(data, []byte(text)) {
			return true
		}
		if toServer && answer {
			sent = true
			return true
		}
		lost = true
		if hangs {
			return false
		}
		l.Drop()
		return true
	})
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		return lost
	}
}

// A statement or the answer to it is lost, on a connection that was there or on a new one,
// which breaks or hangs. The executor then knows where it stands, and one attempt is
// recorded.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	admin := server.Database(t)
	done := ledger.Outcome{State: ledger.Succeeded, ResultDigest: "sha256:0"}
	var hanging sync.WaitGroup // those that wait for an answer do it together
	for _, c := range []struct {
		name, text string
		does       func(context.Context, *ledger.Ledger) (bool, error)
		after      ledger.State
	}{
		{"claim", "WITH claimed", func(ctx context.Context, l *ledger.Ledger) (bool, error) {
			c, err := l.Claim(ctx, request(first))
			return c.Granted && c.Change.Attempt == 1, err
		}, ledger.Running},
		{"renew", "SET lease_until", func(ctx context.Context, l *ledger.Ledger) (bool, error) {
			until, held, err := l.Renew(ctx, key, first, hour)
			return held && !until.IsZero(), err
		}, ledger.Running},
		{"complete", "WITH done", func(ctx context.Context, l *ledger.Ledger) (bool, error) {
			c, completed, err := l.Complete(ctx, key, first, done)
			return completed && c.State == ledger.Succeeded && c.ResultDigest == done.ResultDigest, err
		}, ledger.Succeeded},
	} {
		for n := range 6 {
			answer, fresh, hangs := n%2 == 0, n/2 == 0, n/2 == 1
			name := fmt.Sprintf("%s, answer %v, fresh %v, hangs %v", c.name, answer, fresh, hangs)
			s := newSite(t, server, admin)
			l := s.open(t)
			if c.name != "claim" {
				claim(t, l, first)
			}
			p := newLine(t, s.dsn)
			db, err := ledger.Open(ledger.Config{DSN: p.DSN, Source: "the test", Timeout: map[bool]time.Duration{true: 3 * time.Second}[hangs]})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(db.Close)
			through := ledger.New(db, s.schema)
			if !fresh {
				if _, err := through.Version(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			lost := p.lose(c.text, answer, hangs)
			check := func() {
				may, err := c.does(t.Context(), through)
				if err != nil || !may || !lost() {
					t.Errorf("%s: told %v, %v, lost %v", name, may, err, lost())
				}
				got, err := l.Claim(t.Context(), request(other))
				if err != nil || got.Granted || got.Change.State != c.after || got.Change.Attempt != 1 {
					t.Errorf("%s: another is told %+v, %v", name, got, err)
				}
				if attempts, err := l.Attempts(t.Context(), nil); err != nil || len(attempts) != 1 || attempts[0].State != c.after {
					t.Errorf("%s: the attempts are %+v, %v", name, attempts, err)
				}
			}
			if hangs {
				hanging.Go(check)
			} else {
				check()
			}
		}
	}
	hanging.Wait()
}

// Where the end of a decision is lost a person is told so, and finds it recorded once or
// not at all. Where it is lost before that, it is made anew.
func TestLostDecision(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	admin := server.Database(t)
	for _, c := range []struct {
		name, text    string
		answer, hangs bool
		recorded      int // decisions after the first try
		kind          ledger.Kind
		again         string // what is told to the second
	}{
		{"the end arrives", "commit", true, false, 1, ledger.Unreachable, "attempt 2 may run already"},
		{"the end arrives, and nobody is told", "commit", true, true, 1, ledger.Unreachable, "attempt 2 may run already"},
		{"the end does not arrive", "commit", false, false, 0, ledger.Unreachable, ""},
		{"a statement arrives", "UPDATE hallmark.ledger_changes", true, false, 1, "", "attempt 2 may run already"},
		{"a statement does not arrive", "UPDATE hallmark.ledger_attempts", false, false, 1, "", "attempt 2 may run already"},
		{"the beginning does not arrive", "begin", false, false, 1, "", "attempt 2 may run already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, server, admin)
			l := s.open(t)
			claim(t, l, first)
			p := newLine(t, s.dsn)
			db, err := ledger.Open(ledger.Config{DSN: p.DSN, Source: "the test", Timeout: 3 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(db.Close)
			through := ledger.New(db, s.schema)
			if _, err := through.Version(t.Context()); err != nil {
				t.Fatal(err)
			}
			lost := p.lose(strings.ReplaceAll(c.text, "hallmark.", `"`+s.schema+`".`), c.answer, c.hangs)
			retry := ledger.Recovery{Key: key, Verdict: ledger.Retry, Reason: "r", Evidence: "e", ForceLive: true}
			_, _, err = through.Recover(t.Context(), retry)
			if (err == nil) != (c.kind == "") || err != nil && ledger.KindOf(err) != c.kind || !lost() {
				t.Errorf("%v, lost %v", err, lost())
			}
			decided, err := l.Decisions(t.Context(), nil)
			if now := one(t, l); err != nil || len(decided) != c.recorded || now.MayRun() != (c.recorded == 1) {
				t.Errorf("%d decisions, %+v, %v", len(decided), now, err)
			}
			_, _, err = through.Recover(t.Context(), retry)
			if (err == nil) != (c.again == "") || err != nil && !strings.Contains(err.Error(), c.again) {
				t.Errorf("again: %v", err)
			}
			if a, b := claim(t, l, other), claim(t, l, "00000000-0000-4000-8000-000000000003"); !a.Granted || b.Granted || a.Change.Attempt != 2 {
				t.Errorf("claims %+v and %+v", a, b)
			}
		})
	}
}

// The database is stopped as by a crash and comes back: what was answered is there.
func TestRestart(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t)
	s := newSite(t, server, markerDatabase(t, server))
	l := s.open(t)
	restart := func() {
		t.Helper()
		server.Stop(t)
		for name, does := range calls {
			err := does(t.Context(), l)
			if ledger.KindOf(err) != ledger.Unreachable {
				t.Errorf("%s: %v", name, err)
			}
			quiet(t, err)
		}
		server.Continue(t)
	}

	// In the middle of a claim.
	s.lock(t)
	claimed := make(chan error, 1)
	go func() { claimed <- calls["claim"](context.Background(), l) }()
	until(t, s.admin, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE usename = '"+s.role+"' AND wait_event_type = 'Lock')")
	server.Stop(t)
	err := <-claimed
	if ledger.KindOf(err) != ledger.Unreachable {
		t.Errorf("in the middle: %v", err)
	}
	quiet(t, err)
	server.Continue(t)
	if all, _, err := l.Changes(t.Context(), nil); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}

	if c := claim(t, l, first); !c.Granted {
		t.Errorf("%+v", c)
	}
	restart()
	if c := claim(t, l, other); c.Granted || c.Change.State != ledger.Running {
		t.Errorf("after a restart: %+v", c)
	}
	if _, held, err := l.Renew(t.Context(), key, first, hour); err != nil || !held {
		t.Errorf("renewed: %v, %v", held, err)
	}
	restart()
	if !complete(t, l, first, ledger.Outcome{State: ledger.Succeeded}) {
		t.Error("it cannot be completed after a restart")
	}
	restart()
	if c := one(t, l); c.State != ledger.Succeeded || c.Attempt != 1 {
		t.Errorf("%+v", c)
	}
}

// Transactions that cannot be put into an order show that at their end, when their rows
// were already seen. They are done anew, a few times.
func TestConflicts(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	admin := server.Database(t)
	for _, name := range []string{"claim", "renew", "complete", "recover"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, server, admin)
			l := s.open(t)
			if name != "claim" {
				claim(t, l, first)
			}
			s.exec(t, `
CREATE SEQUENCE hallmark.tries;
CREATE TABLE hallmark.conflicts (left_over integer);
GRANT ALL ON ALL SEQUENCES IN SCHEMA SCHEMA TO ROLE;
GRANT ALL ON hallmark.conflicts TO ROLE;
INSERT INTO hallmark.conflicts VALUES (3);
CREATE FUNCTION hallmark.conflict() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
	IF nextval(''hallmark.tries'') <= (SELECT left_over FROM hallmark.conflicts) THEN RAISE SQLSTATE ''40001''; END IF;
	RETURN NULL;
END';
CREATE CONSTRAINT TRIGGER conflict AFTER INSERT OR UPDATE ON hallmark.ledger_changes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hallmark.conflict()`)
			s.exec(t, "UPDATE hallmark.conflicts SET left_over = 1000")
			err := calls[name](t.Context(), l)
			if ledger.KindOf(err) != ledger.Conflict || !strings.Contains(err.Error(), "the transaction could not be put into an order with others (SQLSTATE 40001)") {
				t.Errorf("%v", err)
			}
			quiet(t, err)
			var tries int
			if err := pgtest.Connect(t, admin).QueryRow(t.Context(), "SELECT last_value FROM "+s.schema+".tries").Scan(&tries); err != nil || tries < 4 || tries > 20 {
				t.Errorf("%d tries, %v", tries, err)
			}
			s.exec(t, fmt.Sprintf("UPDATE hallmark.conflicts SET left_over = %d", tries+3))
			if err := calls[name](t.Context(), l); err != nil {
				t.Error(err)
			}
			attempts, err := l.Attempts(t.Context(), nil)
			decisions, err2 := l.Decisions(t.Context(), nil)
			if err != nil || err2 != nil || len(attempts) != 1 || len(decisions) > 1 || (name == "recover") != (len(decisions) == 1) {
				t.Errorf("%d attempts, %d decisions, %v, %v", len(attempts), len(decisions), err, err2)
			}
		})
	}
}

// A renewal whose transaction failed at its end, after its row was seen, and that has no
// row when it is done anew: the lease is not held.
func TestRenewedInVain(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := newSite(t, server, server.Database(t))
	l := s.open(t)
	claim(t, l, first)
	s.exec(t, `
CREATE SEQUENCE hallmark.tries;
GRANT ALL ON ALL SEQUENCES IN SCHEMA SCHEMA TO ROLE;
CREATE FUNCTION hallmark.decided() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
	IF nextval(''hallmark.tries'') > 1 THEN RETURN NULL; END IF; -- as if a person had decided
	RETURN NEW;
END';
CREATE FUNCTION hallmark.conflict() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE SQLSTATE ''40001''; END';
CREATE TRIGGER decided BEFORE UPDATE ON hallmark.ledger_changes FOR EACH ROW EXECUTE FUNCTION hallmark.decided();
CREATE CONSTRAINT TRIGGER conflict AFTER UPDATE ON hallmark.ledger_changes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hallmark.conflict()`)
	if until, held, err := l.Renew(t.Context(), key, first, hour); err != nil || held || !until.IsZero() {
		t.Errorf("held %v until %s, %v", held, until, err)
	}
}
