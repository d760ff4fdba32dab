package ledger_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/pgtest"
)

// until waits for what SQL says, on a busy machine for long.
func until(t testing.TB, dsn, sql string) {
	t.Helper()
	conn := pgtest.Connect(t, dsn)
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var is bool
		if err := conn.QueryRow(context.Background(), sql).Scan(&is); err != nil {
			t.Fatal(err)
		}
		if is {
			return
		}
	}
	t.Fatalf("never: %s", sql)
}

// An address that cannot be read is not repeated.
func TestOpen(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://marker:marker-secret@127.0.0.1:marker/marker",
		"postgres://marker:marker-secret@127.0.0.1/marker?sslmode=marker",
		"postgres://marker:marker%ZZsecret@127.0.0.1/marker",
		"postgres://marker:marker/secret@127.0.0.1/marker",
		"host=127.0.0.1 user=marker password=marker-secret port=marker",
		"host=127.0.0.1 password='marker-secret",
		"host=127.0.0.1 password=marker-secret sslmode=verify-full sslrootcert=/nowhere/marker",
		"marker-secret",
	} {
		_, err := ledger.Open(ledger.Config{DSN: dsn, Source: "$HALLMARK_LEDGER_DSN"})
		if err == nil || !strings.Contains(err.Error(), "$HALLMARK_LEDGER_DSN") {
			t.Errorf("%s: %v", dsn, err)
		}
		quiet(t, err)
	}
}

// What libpq knows and pgx does not never reaches the server as a setting: it is refused
// by name where it matters, and passed over where not.
func TestOpenKeywords(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"hostaddr", "requirepeer", "sslcrl", "sslcrldir", "ssl_min_protocol_version", "gssencmode"} {
		value := "marker-value"
		if word == "gssencmode" {
			value = "require"
		}
		for _, dsn := range []string{"host=127.0.0.1 " + word + "=" + value, "postgres://127.0.0.1/x?" + word + "=" + value} {
			_, err := ledger.Open(ledger.Config{DSN: dsn, Source: "the test"})
			if err == nil || !strings.Contains(err.Error(), "the test has \""+word+"\"") {
				t.Errorf("%s: %v", dsn, err)
			}
			quiet(t, err)
		}
	}
	dsn := at(t, pgtest.Start(t).Database(t), func(u *url.URL) {
		u.RawQuery += "&keepalives=1&keepalives_idle=30&gssencmode=disable&tcp_user_timeout=1000&load_balance_hosts=random&hostaddr=&fallback_application_name=marker"
	})
	_, l := open(t, dsn)
	if err := l.Install(t.Context()); err != nil {
		t.Error(err)
	}
}

// A connection that the server ended while nobody used it is replaced, and nothing is
// lost: each call works as if nothing had been.
func TestIdleConnectionEnded(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	admin := server.Database(t)
	for _, name := range []string{"claim", "renew", "complete", "recover", "recheck", "changes", "attempts", "decisions", "version", "install"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, server, admin)
			if name != "claim" {
				if err := calls["claim"](t.Context(), s.open(t)); err != nil {
					t.Fatal(err)
				}
			}
			l := s.open(t)
			if _, err := l.Version(t.Context()); err != nil { // connects
				t.Fatal(err)
			}
			s.endConnections(t)
			if err := calls[name](t.Context(), l); err != nil {
				t.Error(err)
			}
			if name == "changes" {
				s.endConnections(t)
				if all, _, err := l.Changes(t.Context(), nil); err != nil || len(all) != 1 {
					t.Errorf("%d changes, %v", len(all), err)
				}
			}
			if decided, err := l.Decisions(t.Context(), nil); err != nil || name == "recover" && len(decided) != 1 {
				t.Errorf("%d decisions, %v", len(decided), err)
			}
		})
	}
	t.Run("check", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, server, admin)
		db, _ := open(t, s.dsn)
		for range 2 {
			if got := db.Check(t.Context(), ledger.Query{Name: "a", SQL: "SELECT true"}); got.Holds == nil || !*got.Holds {
				t.Errorf("%+v", got)
			}
			s.endConnections(t)
		}
	})
}

// endConnections ends the role's connections and waits until they are gone.
func (s *site) endConnections(t testing.TB) {
	t.Helper()
	s.server.Exec(t, s.admin, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '"+s.role+"'")
	until(t, s.admin, "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE usename = '"+s.role+"')")
}

// What the network and the context do to a call.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := newSite(t, server, markerDatabase(t, server))
	p := pgtest.NewProxy(t, s.dsn)
	db, err := ledger.Open(ledger.Config{DSN: p.DSN, Source: "the test", Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	l := ledger.New(db, s.schema)
	connects := func() { // which takes its time
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); ; {
			_, err := l.Version(t.Context())
			if err == nil {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}
	connects()
	p.Cut()
	for _, name := range []string{"changes", "claim", "recover"} { // the first on a connection that was there
		err := calls[name](t.Context(), l)
		if ledger.KindOf(err) != ledger.Unreachable || !strings.Contains(err.Error(), "the database cannot be reached: no answer in time") || diag.Hint(err) != "the address is that of the test" {
			t.Errorf("%s: %v, hint %q", name, err, diag.Hint(err))
		}
		quiet(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = calls["claim"](ctx, l)
	if ledger.KindOf(err) != ledger.Unreachable || !strings.Contains(err.Error(), "stopped while waiting for the database") {
		t.Errorf("%v", err)
	}
	quiet(t, err)
	p.Mend()
	connects()
	p.OnData(func(bool, []byte) bool { p.Drop(); return true })
	err = calls["changes"](t.Context(), l)
	if ledger.KindOf(err) != ledger.Unreachable {
		t.Errorf("%v", err)
	}
	quiet(t, err)
}

// A name is no reason: what fails otherwise is not taken for TLS because of it.
func TestNamesAreNoReasons(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	for _, name := range []string{"tls", "certificate"} {
		p := pgtest.NewProxy(t, at(t, server.Database(t), func(u *url.URL) { u.Path, u.User = "/"+name, url.UserPassword(name, name) }))
		p.OnData(func(bool, []byte) bool { p.Drop(); return true })
		_, l := open(t, p.DSN)
		if _, err := l.Version(t.Context()); ledger.KindOf(err) != ledger.Unreachable || strings.Contains(err.Error(), "TLS") {
			t.Errorf("%v", err)
		}
	}
}

// An error of the caller's own comes back as it is.
func TestQueryError(t *testing.T) {
	t.Parallel()
	db, _ := open(t, pgtest.Start(t).Database(t))
	own := errors.New("own")
	n := 0
	err := db.Query(t.Context(), func(func(...any) error) error { n++; return own }, "SELECT generate_series(1, 3)")
	if !errors.Is(err, own) || ledger.KindOf(err) != ledger.Other || n != 1 {
		t.Errorf("%v of kind %s after %d rows", err, ledger.KindOf(err), n)
	}
	var got []int
	if err := db.Query(t.Context(), func(scan func(...any) error) error {
		got = append(got, 0)
		return scan(&got[len(got)-1])
	}, "SELECT generate_series(1, $1::integer)", 3); err != nil || !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("%v, %v", got, err)
	}
}

// A connection that breaks between rows is an error: nobody gets the first ones twice.
func TestQueryBreaks(t *testing.T) {
	t.Parallel()
	p := pgtest.NewProxy(t, pgtest.Start(t).Database(t))
	db, _ := open(t, p.DSN)
	rows := 0
	count := func(func(...any) error) error { rows++; return nil }
	if err := db.Query(t.Context(), count, "SELECT 1"); err != nil { // connects
		t.Fatal(err)
	}
	var answers atomic.Int64
	p.OnData(func(toServer bool, _ []byte) bool {
		if !toServer && answers.Add(1) == 3 {
			p.Drop()
		}
		return true
	})
	rows = 0
	err := db.Query(t.Context(), count, "SELECT repeat('x', 1000) FROM generate_series(1, 10000)")
	if ledger.KindOf(err) != ledger.Unreachable || rows == 0 || rows >= 10_000 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// One connection serves whoever comes, one after the other; closed, it is made again.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	db, _ := open(t, pgtest.Start(t).Database(t))
	pids := make([]int, 20)
	var wg sync.WaitGroup
	for i := range pids {
		wg.Go(func() {
			if err := db.Query(context.Background(), func(scan func(...any) error) error { return scan(&pids[i]) }, "SELECT pg_backend_pid() FROM pg_sleep(0.01)"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if pids[0] == 0 || len(slices.Compact(slices.Clone(pids))) != 1 {
		t.Errorf("backends %v", pids)
	}
	for range 10 {
		wg.Go(db.Close)
		wg.Go(func() {
			if got := db.Check(context.Background(), ledger.Query{Name: "a", SQL: "SELECT pg_sleep(0.01) IS NOT NULL"}); got.Holds == nil || !*got.Holds {
				t.Errorf("%+v", got)
			}
		})
	}
	wg.Wait()
}

// Whoever waits for the connection waits no longer than a statement may take.
func TestTurnTimeout(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Database(t)
	db, err := ledger.Open(ledger.Config{DSN: dsn, Source: "the test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = db.Check(ctx, ledger.Query{Name: "long", SQL: "SELECT pg_sleep(600) IS NULL"}) })
	until(t, dsn, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid())")
	short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	err = db.Query(short, func(func(...any) error) error { return nil }, "SELECT 1")
	if ledger.KindOf(err) != ledger.Unreachable || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("%v", err)
	}
	cancel()
	wg.Wait()
}
