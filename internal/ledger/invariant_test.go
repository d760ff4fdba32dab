package ledger_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/pgtest"
)

// Each case is a query and what is recorded of it. What the database holds, and what
// PostgreSQL says of it, has the marker; so have names in the queries.
func TestCheck(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := newSite(t, server, markerDatabase(t, server))
	s.exec(t, `
CREATE TABLE hallmark.data (word text, flag boolean);
INSERT INTO hallmark.data VALUES ('marker-value', true);
CREATE TABLE hallmark.secret AS SELECT 'marker-secret'::text AS word;
CREATE SEQUENCE hallmark.numbers;
CREATE FUNCTION hallmark.writes() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN INSERT INTO hallmark.data VALUES (''marker-written''); RETURN true; END';
CREATE FUNCTION hallmark.says() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''marker %'', (SELECT word FROM hallmark.data) USING DETAIL = ''marker'', HINT = ''marker''; END';
CREATE FUNCTION hallmark.notices() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE WARNING ''marker %'', (SELECT word FROM hallmark.data); RETURN true; END';
CREATE FUNCTION hallmark.conflicts() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN
	IF EXISTS (SELECT FROM pg_locks WHERE locktype = ''advisory'' AND pid = pg_backend_pid()) THEN RETURN true; END IF;
	PERFORM pg_advisory_lock(1); -- outlives the transaction
	RAISE SQLSTATE ''40001'';
END';
GRANT SELECT, INSERT, UPDATE ON hallmark.data TO ROLE;
GRANT ALL ON ALL SEQUENCES IN SCHEMA SCHEMA TO ROLE`)
	const (
		holds     = "holds"
		broken    = "broken"
		unchecked = "unchecked"
		refused   = "the database refuses the query (SQLSTATE "
		writes    = "the query writes, which an invariant may not (SQLSTATE 25006)"
	)
	for _, c := range []struct{ name, sql, want, detail string }{
		{"true", "SELECT true", holds, ""},
		{"true of rows", "SELECT count(*) = 1 FROM hallmark.data WHERE word = 'marker-value'", holds, ""},
		{"with a semicolon", "SELECT true; -- marker", holds, ""},
		{"with a notice", "SELECT hallmark.notices()", holds, ""},
		{"values", "VALUES (true)", holds, ""},
		{"false", "SELECT word = 'marker' FROM hallmark.data", broken, "the query returns false"},
		{"null", "SELECT NULL::boolean", broken, "the query returns NULL"},
		{"no row", "SELECT true FROM hallmark.data WHERE word = 'marker'", broken, "the query returns no row"},
		{"two rows", "SELECT true FROM generate_series(1, 2)", broken, "the query returns more than one row"},
		{"many rows", "SELECT true FROM generate_series(1, 100000)", broken, "the query returns more than one row"},
		{"false and true", "SELECT n = 2 FROM generate_series(1, 2) AS n", broken, "the query returns more than one row"},
		{"two columns", "SELECT true, word FROM hallmark.data", broken, "the query returns more than one column"},
		{"text", "SELECT word FROM hallmark.data", broken, "the query does not return a boolean"},
		{"text that is true", "SELECT 'true'", broken, "the query does not return a boolean"},
		{"a number", "SELECT 1", broken, "the query does not return a boolean"},
		{"nothing", "", broken, "the query returns no row"},
		{"a comment", "-- marker", broken, "the query returns no row"},
		{"no SQL", "marker", broken, refused + "42601)"},
		{"half", "SELECT 'marker", broken, refused + "42601)"},
		{"no number", "SELECT word::integer = 1 FROM hallmark.data", broken, refused + "22P02)"},
		{"zero", "SELECT 1/0 = 1", broken, refused + "22012)"},
		{"an error in the middle", "SELECT 1/(2-n) = 1 FROM generate_series(1, 3) AS n", broken, refused + "22012)"},
		{"no table", "SELECT true FROM marker", broken, refused + "42P01)"},
		{"no column", "SELECT marker FROM hallmark.data", broken, refused + "42703)"},
		{"an exception", "SELECT hallmark.says()", broken, refused + "P0001)"},
		{"a parameter", "SELECT $1::boolean", broken, refused + "08P01)"},
		{"two statements", "SELECT true; SELECT true", broken, refused + "42601)"},
		{"out of the transaction", "COMMIT; INSERT INTO hallmark.data VALUES ('marker-written')", broken, refused + "42601)"},
		{"a write", "INSERT INTO hallmark.data VALUES ('marker-written') RETURNING true", broken, writes},
		{"a write within", "WITH w AS (INSERT INTO hallmark.data VALUES ('marker-written') RETURNING true) SELECT true FROM w", broken, writes},
		{"an update", "UPDATE hallmark.data SET word = 'marker-written' RETURNING true", broken, writes},
		{"a function that writes", "SELECT hallmark.writes()", broken, writes},
		{"a sequence", "SELECT nextval('hallmark.numbers') > 0", broken, writes},
		{"a table", "CREATE TABLE hallmark.marker AS SELECT true", broken, writes},
		{"a lock for writers", "SELECT flag FROM hallmark.data FOR UPDATE", broken, writes},
		{"to write again", "SELECT set_config('transaction_read_only', 'off', true) = 'off'", broken, refused + "25001)"},
		{"to write ever", "SET TRANSACTION READ WRITE", broken, refused + "25001)"},
		{"the end", "COMMIT", broken, "the query returns no row"},
		{"no right", "SELECT true FROM hallmark.secret", unchecked, "the role lacks a right on the schema or its tables (SQLSTATE 42501)"},
		{"too long", "SELECT pg_sleep(600) IS NULL", unchecked, "the statement took too long (SQLSTATE 57014)"},
		{"killed", "SELECT pg_terminate_backend(pg_backend_pid())", unchecked, ""},
		{"a conflict, once", "SELECT hallmark.conflicts()", holds, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dsn := s.dsn
			if c.want == unchecked && strings.Contains(c.sql, "pg_sleep") {
				dsn = at(t, dsn, func(u *url.URL) { u.RawQuery += "&statement_timeout=200" })
			}
			db, _ := open(t, dsn)
			q := ledger.Query{Name: c.name, SQL: strings.ReplaceAll(c.sql, "hallmark.", s.schema+".")}
			got := db.Check(t.Context(), q)
			is := unchecked
			if got.Holds != nil && *got.Holds {
				is = holds
			} else if got.Holds != nil {
				is = broken
			}
			if is != c.want || got.Name != c.name || (got.CheckedAt == nil) != (c.want == unchecked) || c.detail != "" && got.Detail != c.detail || (got.Detail == "") != (c.want == holds) {
				t.Errorf("%s at %v, %q, want %s, %q", is, got.CheckedAt, got.Detail, c.want, c.detail)
			}
			if strings.Contains(got.Detail, "marker") {
				t.Errorf("the detail quotes the database: %q", got.Detail)
			}
			// Nothing was written, and the connection is as it was.
			if got := db.Check(t.Context(), ledger.Query{Name: "after", SQL: "SELECT NOT EXISTS (SELECT FROM " + s.schema + ".data WHERE word = 'marker-written')"}); got.Holds == nil || !*got.Holds {
				t.Errorf("afterwards: %+v", got)
			}
		})
	}
}

// What a query sets stays with it: neither the next one nor the ledger sees it.
func TestCheckLeavesNothing(t *testing.T) {
	t.Parallel()
	db, l := open(t, pgtest.Start(t).Database(t))
	if err := l.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	for set, next := range map[string]string{
		"SELECT set_config('search_path', '', false) = ''":                       "SELECT current_setting('search_path') <> ''",
		"SELECT set_config('default_transaction_read_only', 'on', false) = 'on'": "SELECT current_setting('default_transaction_read_only') = 'off'",
		"SELECT set_config('role', 'pg_monitor', false) = 'pg_monitor'":          "SELECT current_user = session_user",
		"SET ROLE pg_monitor": "SELECT current_user = session_user",
		"SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY": "SELECT current_setting('default_transaction_read_only') = 'off'",
	} {
		if got := db.Check(t.Context(), ledger.Query{SQL: set}); strings.HasPrefix(set, "SELECT") && (got.Holds == nil || !*got.Holds) {
			t.Errorf("%s: %+v", set, got)
		}
		if got := db.Check(t.Context(), ledger.Query{SQL: next}); got.Holds == nil || !*got.Holds {
			t.Errorf("after %s: %+v", set, got)
		}
	}
	if c := claim(t, l, first); !c.Granted {
		t.Errorf("%+v", c)
	}
}

// What cannot be asked is unchecked, and says no address.
func TestCheckUnreachable(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := newSite(t, server, markerDatabase(t, server))
	p := newLine(t, s.dsn)
	db, _ := open(t, p.DSN)
	for _, text := range []string{"begin read only", "SELECT clock_timestamp()", "SELECT 1 =", "rollback"} {
		_ = db.Check(t.Context(), ledger.Query{SQL: "SELECT true"}) // connects
		lost := p.lose(text, true, false)
		if got := db.Check(t.Context(), ledger.Query{Name: "a", SQL: "SELECT 1 = 1"}); got.Holds == nil || !*got.Holds || !lost() {
			t.Errorf("the answer to %s is lost: %+v, %v", text, got, lost())
		}
	}
	p.OnData(func(bool, []byte) bool { p.Drop(); return true })
	for _, dsn := range []string{p.DSN, at(t, s.dsn, func(u *url.URL) { u.User = url.UserPassword(s.role, "marker") }), at(t, s.dsn, func(u *url.URL) { u.Path = "/marker" })} {
		db, _ := open(t, dsn)
		got := db.Check(t.Context(), ledger.Query{Name: "a", SQL: "SELECT true"})
		if got.Holds != nil || got.CheckedAt != nil || got.Detail == "" {
			t.Errorf("%+v", got)
		}
		for _, secret := range secrets {
			if strings.Contains(got.Detail, secret) {
				t.Errorf("%q has %q", got.Detail, secret)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := db.Check(ctx, ledger.Query{Name: "a", SQL: "SELECT true"}); got.Holds != nil || got.CheckedAt != nil || got.Detail != "stopped while waiting for the database" {
		t.Errorf("%+v", got)
	}
}

// The time of a check is the database's, from before the query.
func TestCheckedAt(t *testing.T) {
	t.Parallel()
	db, l := open(t, pgtest.Start(t).Database(t))
	if err := l.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, before, err := l.Changes(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := db.Check(t.Context(), ledger.Query{Name: "a", SQL: "SELECT pg_sleep(0.2) IS NOT NULL"})
	_, after, err := l.Changes(t.Context(), nil)
	if err != nil || got.CheckedAt == nil || got.CheckedAt.Before(before) || got.CheckedAt.After(after.Add(-200*time.Millisecond)) {
		t.Errorf("checked at %v, between %s and %s, %v", got.CheckedAt, before, after, err)
	}
}
