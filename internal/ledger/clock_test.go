package ledger_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/pgtest"
)

// The package asks no clock of the executor's, and in SQL none that stands still while a
// transaction waits for a lock.
func TestNoOtherClock(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	standsStill := regexp.MustCompile(`(?i)\b(now\(\)|current_time|current_date|localtime|(transaction|statement)_timestamp)`)
	read, asked := 0, 0
	for _, f := range files {
		name := f.Name()
		if !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".sql") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		read++
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := standsStill.Find(data); found != nil {
			t.Errorf("%s asks %s", name, found)
		}
		asked += strings.Count(string(data), "clock_timestamp()")
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, data, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "After", "NewTimer", "Tick", "NewTicker", "AfterFunc"}, s.Sel.Name) {
					t.Errorf("%s uses time.%s", name, s.Sel.Name)
				}
			}
			return true
		})
	}
	if read < 8 || asked < 5 {
		t.Errorf("%d files and %d questions for the time are too few", read, asked)
	}
}

// The database's clock is days behind or ahead of that of everybody else, and its settings
// and those of the session are not the usual ones: leases are right by its own clock.
func TestClockSkew(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	for _, c := range []struct{ name, skew, settings, session string }{
		{"behind", "-3 days", "", ""},
		{"ahead", "3 days", "", ""},
		{"zone", "0", "SET timezone = 'Asia/Kolkata'", ""},
		{"zone of the session", "0", "SET timezone = 'Asia/Kolkata'", "&timezone=America/St_Johns"},
		{"style", "1 day", "SET datestyle = 'SQL, DMY'", ""},
		{"style and zone", "-1 day", "SET datestyle = 'German'", "&timezone=Pacific/Chatham"},
		{"style of intervals", "0", "SET intervalstyle = 'sql_standard'", "&intervalstyle=iso_8601"},
		{"strings", "0", "SET standard_conforming_strings = off", ""},
		{"encoding", "0", "SET client_encoding = 'LATIN1'", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			admin := server.Database(t)
			name := parse(t, admin).Path[1:]
			_, l := open(t, admin)
			if err := l.Install(t.Context()); err != nil {
				t.Fatal(err)
			}
			// PostgreSQL's own function is found later than this one.
			server.Exec(t, admin, `CREATE SCHEMA skew;
CREATE FUNCTION skew.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT pg_catalog.clock_timestamp() + interval ''`+c.skew+`''';
ALTER DATABASE `+name+` SET search_path = skew, pg_catalog`)
			if c.settings != "" {
				server.Exec(t, admin, "ALTER DATABASE "+name+" "+c.settings)
			}
			dsn := admin + c.session
			_, l = open(t, dsn)
			conn := pgtest.Connect(t, admin)
			seconds := func(sql string) float64 {
				t.Helper()
				var out float64
				if err := conn.QueryRow(t.Context(), "SELECT extract(epoch FROM "+sql+")::float8").Scan(&out); err != nil {
					t.Fatal(err)
				}
				return out
			}
			same := func(what string, got *time.Time, column string) {
				t.Helper()
				if want := seconds("(SELECT " + column + ")"); got == nil || math.Abs(float64(got.UnixMicro())/1e6-want) > 1e-5 {
					t.Errorf("%s is %v, and in the database %f", what, got, want)
				}
			}
			before := seconds("clock_timestamp()")
			r := request(first)
			r.SourceRevision = `Grüße \n 'quoted' "€" $1`
			got, err := l.Claim(t.Context(), r)
			if err != nil || !got.Granted || got.Change.LeaseExpired || got.Change.SourceRevision != r.SourceRevision {
				t.Fatalf("%+v, %v", got, err)
			}
			same("the lease", got.Change.LeaseUntil, "lease_until FROM hallmark.ledger_changes")
			same("the start", got.Change.StartedAt, "started_at FROM hallmark.ledger_changes")
			if lease := float64(got.Change.LeaseUntil.UnixMicro())/1e6 - before; lease < 3600 || lease > 3600+seconds("clock_timestamp()")-before {
				t.Errorf("the lease lasts %f s", lease)
			}
			if c := claim(t, l, other); c.Granted || c.Change.LeaseExpired {
				t.Errorf("to another: %+v", c)
			}
			until, held, err := l.Renew(t.Context(), key, first, 90*time.Minute)
			if err != nil || !held {
				t.Errorf("renewed: %v, %v", held, err)
			}
			same("the renewed lease", &until, "lease_until FROM hallmark.ledger_changes")
			if lease := float64(until.UnixMicro())/1e6 - before; lease < 5400 || lease > 5400+seconds("clock_timestamp()")-before {
				t.Errorf("the renewed lease lasts %f s", lease)
			}
			_, now, err := l.Changes(t.Context(), nil)
			if s := float64(now.UnixMicro()) / 1e6; err != nil || s < before || s > seconds("clock_timestamp()") {
				t.Errorf("the time is %s, %v", now, err)
			}
			if apart := time.Since(now).Abs() > 12*time.Hour; apart != (c.skew != "0") {
				t.Errorf("the clocks are %s apart", time.Since(now))
			}
			if !complete(t, l, first, ledger.Outcome{State: ledger.Failed, ExitCode: 1, Failure: r.SourceRevision}) {
				t.Error("it cannot be completed")
			}
			change := one(t, l)
			same("the end", change.FinishedAt, "finished_at FROM hallmark.ledger_changes")
			if change.Failure != r.SourceRevision {
				t.Errorf("the failure is %q", change.Failure)
			}
			_, d, err := l.Recover(t.Context(), ledger.Recovery{Key: key, Verdict: ledger.Retry, Reason: r.SourceRevision, Evidence: "e"})
			if err != nil {
				t.Fatal(err)
			}
			same("the decision", &d.At, "decided_at FROM hallmark.ledger_decisions")
			if c := claim(t, l, other); !c.Granted {
				t.Errorf("the issued attempt: %+v", c)
			}
			// A moment before its end the lease lasts, a moment after it does not.
			server.Exec(t, admin, "UPDATE hallmark.ledger_changes SET lease_until = clock_timestamp()")
			if c := one(t, l); !c.LeaseExpired || c.State != ledger.Running {
				t.Errorf("%+v", c)
			}
			if complete(t, l, other, ledger.Outcome{State: ledger.Succeeded}) {
				t.Error("it is completed after its lease")
			}
			var stored string
			if err := conn.QueryRow(t.Context(), "SELECT encode(convert_to(reason, 'UTF8'), 'escape') FROM hallmark.ledger_decisions").Scan(&stored); err != nil || !strings.Contains(stored, `Gr\303\274\303\237e`) {
				t.Errorf("stored %q, %v", stored, err)
			}
		})
	}
}

// A row that changed while a statement waited for it is looked at anew, with the time that
// it is then: its lease has ended.
func TestLeaseEndsWhileWaiting(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	for _, name := range []string{"renew", "complete"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, server, markerDatabase(t, server))
			l := s.open(t)
			claim(t, l, first)
			conn := pgtest.Connect(t, s.admin)
			if _, err := conn.Exec(t.Context(), "BEGIN"); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Exec(t.Context(), "UPDATE "+s.schema+".ledger_changes SET lease_until = clock_timestamp() + interval '1 second'"); err != nil {
				t.Fatal(err)
			}
			told := make(chan error, 1)
			may := false
			go func() {
				var err error
				if name == "renew" {
					_, may, err = l.Renew(t.Context(), key, first, hour)
				} else {
					_, may, err = l.Complete(t.Context(), key, first, ledger.Outcome{State: ledger.Succeeded})
				}
				told <- err
			}()
			until(t, s.admin, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE usename = '"+s.role+"' AND wait_event_type = 'Lock')")
			if _, err := conn.Exec(t.Context(), "SELECT pg_sleep(1.1)"); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
				t.Fatal(err)
			}
			if err := <-told; err != nil || may {
				t.Errorf("%v, %v", may, err)
			}
		})
	}
}
