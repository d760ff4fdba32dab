package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/pgtest"
)

// A site is a ledger whose database, schema, role, password and values are all markers,
// which no error may have.
type site struct {
	server       *pgtest.Server
	admin, dsn   string // the addresses of the superuser and of the role
	schema, role string
}

// secrets are what no error may have: a wrong password, a value and a name have the
// marker, too.
var secrets = []string{"marker", "127.0.0.1", "localhost", "sslmode", url.QueryEscape(pgtest.Password)}

// markerDatabase is a new database with such a name.
func markerDatabase(t testing.TB, s *pgtest.Server) string {
	t.Helper()
	name := fmt.Sprintf("marker_%d", sites.Add(1))
	s.Exec(t, s.DSN("postgres"), "CREATE DATABASE "+name)
	return s.DSN(name)
}

var sites atomic.Int64

// newSite installs a ledger for a role of its own.
func newSite(t testing.TB, s *pgtest.Server, admin string) site {
	t.Helper()
	name := fmt.Sprintf("marker_%d", sites.Add(1))
	db, _ := open(t, admin)
	if err := ledger.New(db, name).Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := site{server: s, admin: admin, schema: name, role: name}
	out.dsn = at(t, admin, func(u *url.URL) { u.User = url.UserPassword(name, pgtest.Password) })
	out.exec(t, "CREATE ROLE ROLE LOGIN PASSWORD '"+pgtest.Password+"'; GRANT USAGE ON SCHEMA SCHEMA TO ROLE; GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA SCHEMA TO ROLE")
	return out
}

// exec runs statements in which ROLE and hallmark stand for the names.
func (s *site) exec(t testing.TB, sql string) {
	t.Helper()
	s.server.Exec(t, s.admin, strings.NewReplacer("ROLE ROLE", "ROLE "+s.role, "TO ROLE", "TO "+s.role, "FROM ROLE", "FROM "+s.role,
		"SCHEMA SCHEMA", "SCHEMA "+s.schema, "hallmark.", s.schema+".").Replace(sql))
}

// open is the ledger for the role, through a connection of its own.
func (s *site) open(t testing.TB) *ledger.Ledger {
	t.Helper()
	db, _ := open(t, s.dsn)
	return ledger.New(db, s.schema)
}

func parse(t testing.TB, dsn string) *url.URL {
	t.Helper()
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// at is a DSN with something changed.
func at(t testing.TB, dsn string, change func(*url.URL)) string {
	t.Helper()
	address := parse(t, dsn)
	change(address)
	return address.String()
}

// isolate makes transactions of a database have another isolation level.
func isolate(t testing.TB, dsn, level string) {
	t.Helper()
	pgtest.Start(t).Exec(t, dsn, "ALTER DATABASE "+parse(t, dsn).Path[1:]+" SET default_transaction_isolation = '"+level+"'")
}

// quiet checks that nothing that a caller can print of an error is secret.
func quiet(t testing.TB, err error) {
	t.Helper()
	var look func(err error)
	look = func(err error) {
		if err == nil {
			return
		}
		said := []string{err.Error(), fmt.Sprintf("%v %+v %#v %q", err, err, err, err), diag.Hint(err)}
		for _, secret := range secrets {
			if strings.Contains(strings.Join(said, "\n"), secret) {
				t.Errorf("an error of type %T has %q: %q", err, secret, said)
			}
		}
		look(errors.Unwrap(err))
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, err := range joined.Unwrap() {
				look(err)
			}
		}
	}
	look(err)
}

// calls are what needs the database. What they are given is a secret, but for the key:
// errors name it.
var calls = map[string]func(context.Context, *ledger.Ledger) error{
	"claim": func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Claim(ctx, ledger.Request{Key: key, SourceRevision: "marker", SchemaVersion: "marker", JobUID: "marker", Executor: "marker", Lease: hour, Token: first})
		return err
	},
	"renew": func(ctx context.Context, l *ledger.Ledger) error {
		_, _, err := l.Renew(ctx, key, first, hour)
		return err
	},
	"complete": func(ctx context.Context, l *ledger.Ledger) error {
		_, _, err := l.Complete(ctx, key, first, ledger.Outcome{State: ledger.Failed, ExitCode: 1, ResultDigest: "marker", Failure: "marker"})
		return err
	},
	"recover": func(ctx context.Context, l *ledger.Ledger) error {
		_, _, err := l.Recover(ctx, ledger.Recovery{Key: key, Verdict: ledger.FoundFailed, Reason: "marker", Evidence: "marker", By: "marker", ForceLive: true})
		return err
	},
	"recheck": func(ctx context.Context, l *ledger.Ledger) error {
		err := l.Recheck(ctx, ledger.Change{Key: key, Attempt: 1}, []ledger.Invariant{{Name: "marker", Detail: "marker"}})
		return err
	},
	"changes":   func(ctx context.Context, l *ledger.Ledger) error { _, _, err := l.Changes(ctx, nil); return err },
	"attempts":  func(ctx context.Context, l *ledger.Ledger) error { _, err := l.Attempts(ctx, nil); return err },
	"decisions": func(ctx context.Context, l *ledger.Ledger) error { _, err := l.Decisions(ctx, nil); return err },
	"version":   func(ctx context.Context, l *ledger.Ledger) error { _, err := l.Version(ctx); return err },
	"install":   func(ctx context.Context, l *ledger.Ledger) error { return l.Install(ctx) },
}

// Each case breaks something and says what the calls that meet it then tell, and which
// others work.
func TestFaults(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	admin := markerDatabase(t, server)
	exec := func(sql string) func(*testing.T, *site) {
		return func(t *testing.T, s *site) { s.exec(t, sql) }
	}
	address := func(change func(*url.URL)) func(*testing.T, *site) {
		return func(t *testing.T, s *site) { s.dsn = at(t, s.dsn, change) }
	}
	const (
		writes      = "claim renew complete recover recheck"
		reads       = "changes attempts decisions"
		all         = writes + " " + reads + " version install"
		unreachable = "the database cannot be reached: "
		denied      = "the database refuses the role or its password "
		readOnly    = "the database takes no writes: a standby, or a session that is read-only (SQLSTATE 25006)"
		forbidden   = "the role lacks a right on the schema or its tables (SQLSTATE 42501)"
		missing     = "the table does not exist (SQLSTATE 42P01)"
		source      = "the address is that of the test"
		install     = "`hallmark ledger install` creates the ledger's tables"
		rights      = "the role needs USAGE on the schema and SELECT, for a run INSERT and UPDATE, on its tables"
	)
	for _, c := range []struct {
		name         string
		breaks       func(*testing.T, *site)
		calls, works string
		kind         ledger.Kind
		fact, hint   string
	}{
		{"server not there", func(t *testing.T, s *site) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address(func(u *url.URL) { u.Host = l.Addr().String() })(t, s)
			_ = l.Close()
		}, all, "", ledger.Unreachable, unreachable + "connection refused", source},
		{"host unknown", address(func(u *url.URL) { u.Host = "marker-host.invalid" }), all, "", ledger.Unreachable, unreachable + "its host name is not known", source},
		{"wrong password", address(func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "marker-wrong") }), all, "", ledger.Denied, denied + "(SQLSTATE 28P01)", source},
		{"unknown role", address(func(u *url.URL) { u.User = url.UserPassword("marker_nobody", "marker-wrong") }), all, "", ledger.Denied, denied + "(SQLSTATE 28P01)", source},
		{"may not log in", exec("ALTER ROLE ROLE NOLOGIN"), all, "", ledger.Denied, denied + "(SQLSTATE 28000)", source},
		{"unknown database", address(func(u *url.URL) { u.Path = "/marker_nowhere" }), all, "", ledger.Denied, "the database of that name does not exist (SQLSTATE 3D000)", source},
		{"TLS", address(func(u *url.URL) { u.RawQuery = "sslmode=require" }), all, "", ledger.Unreachable, unreachable + "TLS is refused or its certificate is not trusted", source},
		{"too many connections", exec("ALTER ROLE ROLE CONNECTION LIMIT 0"), all, "", ledger.Unreachable, "the database has no room for more connections or work (SQLSTATE 53300)", source},
		{"read-only role", exec("ALTER ROLE ROLE SET default_transaction_read_only = on"), writes, reads + " version install", ledger.ReadOnly, readOnly, ""},
		{"read-only, and not installed", exec("ALTER ROLE ROLE SET default_transaction_read_only = on; DROP SCHEMA SCHEMA CASCADE"), "install", "", ledger.ReadOnly, readOnly, ""},
		{"may only read", exec("REVOKE INSERT, UPDATE ON ALL TABLES IN SCHEMA SCHEMA FROM ROLE"), writes, reads + " version install", ledger.Forbidden, forbidden, rights},
		{"no rights", exec("REVOKE USAGE ON SCHEMA SCHEMA FROM ROLE"), all, "", ledger.Forbidden, forbidden, rights},
		{"not installed", exec("DROP SCHEMA SCHEMA CASCADE; CREATE SCHEMA SCHEMA; GRANT USAGE ON SCHEMA SCHEMA TO ROLE"), writes + " " + reads + " version", "", ledger.NotInstalled, missing, install},
		{"no schema", exec("DROP SCHEMA SCHEMA CASCADE"), writes + " " + reads + " version", "", ledger.NotInstalled, missing, install},
		{"no schema, and no right to create it", exec("DROP SCHEMA SCHEMA CASCADE"), "install", "", ledger.Forbidden, forbidden, rights},
		{"other columns", exec("ALTER TABLE hallmark.ledger_changes RENAME token TO marker; ALTER TABLE hallmark.ledger_attempts RENAME executor TO marker;" +
			"ALTER TABLE hallmark.ledger_decisions RENAME evidence TO marker; ALTER TABLE hallmark.ledger_versions RENAME version TO marker"),
			"claim renew complete recover changes attempts decisions version install", "recheck", ledger.Other, "the table has other columns (SQLSTATE 42703)", ""},
		{"columns of other types", exec("ALTER TABLE hallmark.ledger_changes DROP CONSTRAINT ledger_changes_check, DROP CONSTRAINT ledger_changes_attempt_check, ALTER attempt TYPE text USING 'marker'"),
			"claim recheck", "renew attempts decisions", ledger.Other, "the database refused the statement (SQLSTATE 42", ""},
		{"values of other types", exec("ALTER TABLE hallmark.ledger_changes DROP CONSTRAINT ledger_changes_check, DROP CONSTRAINT ledger_changes_attempt_check, ALTER attempt TYPE text USING 'marker';" +
			"ALTER TABLE hallmark.ledger_attempts ALTER job_uid TYPE bytea USING 'marker', ALTER exit_code TYPE text USING 'marker'"),
			"changes attempts recover", "decisions", ledger.Other, "a column of the table has another type than it should have", ""},
		{"invariants of another form", exec(`ALTER TABLE hallmark.ledger_changes DROP CONSTRAINT ledger_changes_invariants_check; UPDATE hallmark.ledger_changes SET invariants = '"marker"'`),
			"changes", "attempts decisions", ledger.Other, `the row of "` + key + `": the invariants are not a list`, ""},
		{"a time without end", exec("ALTER TABLE hallmark.ledger_changes DROP CONSTRAINT ledger_changes_started_at_check; UPDATE hallmark.ledger_changes SET started_at = 'infinity'"),
			"changes", "attempts decisions", ledger.Other, `the row of "` + key + `": a column of the table has another type than it should have`, ""},
		{"a table gone", exec("DROP TABLE hallmark.ledger_decisions, hallmark.ledger_attempts"), "version install", "changes", ledger.Other,
			"version 1 of the ledger is recorded, and tables are missing: ledger_attempts, ledger_decisions", "restore them from a backup: they say what ran"},
		{"a standby is asked for", address(func(u *url.URL) { u.RawQuery += "&target_session_attrs=standby" }), all, "", ledger.Unreachable, "no server meets what the address asks for, ", source},
		{"channel binding is asked for", address(func(u *url.URL) { u.RawQuery += "&channel_binding=require" }), all, "", ledger.Unreachable, "no server meets what the address asks for, ", source},
		{"another method is asked for", address(func(u *url.URL) { u.RawQuery += "&require_auth=gss" }), all, "", ledger.Unreachable, "no server meets what the address asks for, ", source},
		{"statement timeout", func(t *testing.T, s *site) { s.exec(t, "ALTER ROLE ROLE SET statement_timeout = 100"); s.lock(t) },
			writes + " " + reads, "version install", ledger.Conflict, "the statement took too long (SQLSTATE 57014)", ""},
		{"lock timeout", func(t *testing.T, s *site) { s.exec(t, "ALTER ROLE ROLE SET lock_timeout = 100"); s.lock(t) },
			writes + " " + reads, "version install", ledger.Conflict, "a lock was not to be had in time (SQLSTATE 55P03)", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, server, admin)
			l := s.open(t)
			if err := calls["claim"](t.Context(), l); err != nil {
				t.Fatal(err)
			}
			c.breaks(t, &s)
			for _, call := range strings.Fields(c.calls) {
				err := calls[call](t.Context(), s.open(t))
				if err == nil || ledger.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.fact) || diag.Hint(err) != c.hint {
					t.Errorf("%s: %v is of kind %q, hint %q; want kind %q, %q, hint %q", call, err, ledger.KindOf(err), diag.Hint(err), c.kind, c.fact, c.hint)
				}
				quiet(t, err)
			}
			for _, call := range strings.Fields(c.works) {
				if err := calls[call](t.Context(), s.open(t)); err != nil {
					t.Errorf("%s: %v", call, err)
				}
			}
		})
	}
}

// lock locks the ledger's tables until the test ends.
func (s *site) lock(t testing.TB) {
	t.Helper()
	conn := pgtest.Connect(t, s.admin)
	tables := "ledger_changes, ledger_attempts, ledger_decisions"
	if _, err := conn.Exec(context.Background(), "SET search_path = "+s.schema); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(context.Background(), "BEGIN; LOCK TABLE "+tables); err != nil {
		t.Fatal(err)
	}
}

// A lock that is not to be had in time costs one wait, not one for each try.
func TestLockTimeoutOnce(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := newSite(t, server, server.Database(t))
	s.exec(t, "ALTER ROLE ROLE SET lock_timeout = 100")
	s.lock(t)
	p := pgtest.NewProxy(t, s.dsn)
	s.dsn = p.DSN
	l := s.open(t)
	if _, err := l.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := p.RoundTrips()
	if err := calls["claim"](t.Context(), l); ledger.KindOf(err) != ledger.Conflict || p.RoundTrips() != before+1 {
		t.Errorf("%d round trips for %v", p.RoundTrips()-before, err)
	}
}
