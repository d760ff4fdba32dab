package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/pgtest"
)

// contents is all that a schema has: its tables' columns, constraints and rows.
func contents(t testing.TB, dsn, schema string) string {
	t.Helper()
	conn := pgtest.Connect(t, dsn)
	var out string
	if err := conn.QueryRow(context.Background(), `
SELECT COALESCE(string_agg(line, E'\n' ORDER BY line), '') FROM (
	SELECT format('%s.%s %s %s %s', table_name, column_name, data_type, is_nullable, column_default) AS line FROM information_schema.columns WHERE table_schema = $1
	UNION ALL SELECT format('%s %s', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint WHERE connamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)
	UNION ALL SELECT format('%s %s', relname, query_to_xml('SELECT * FROM ' || oid::regclass, true, true, '')) FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND relkind = 'r'
) AS lines`, schema).Scan(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// installAtOnce installs the same ledger through several connections at the same time.
func installAtOnce(ledgers []*ledger.Ledger) error {
	errs := make([]error, len(ledgers))
	atOnce(len(errs), func(i int) { errs[i] = ledgers[i].Install(context.Background()) })
	return errors.Join(errs...)
}

func TestInstallAtOnce(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.Start(t).Database(t)
			isolate(t, dsn, level)
			dbs := make([]*ledger.DB, 10)
			for i := range dbs {
				dbs[i] = mustDB(t, dsn)
			}
			for n := range 5 {
				schema := fmt.Sprint("schema", n)
				ledgers := make([]*ledger.Ledger, len(dbs))
				for i, db := range dbs {
					ledgers[i] = ledger.New(db, schema)
				}
				if err := installAtOnce(ledgers); err != nil {
					t.Fatal(err)
				}
				if c := claim(t, ledgers[0], first); !c.Granted {
					t.Errorf("%+v", c)
				}
				before := contents(t, dsn, schema)
				if err := installAtOnce(ledgers); err != nil {
					t.Error(err)
				}
				if after := contents(t, dsn, schema); after != before || !strings.Contains(before, key) {
					t.Errorf("installed again:\n%s\nbefore:\n%s", after, before)
				}
			}
		})
	}
}

// One who may not create anything can install where all is installed, and is refused
// where it is not; either way nothing changes.
func TestInstallWithoutRights(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	admin := server.Database(t)
	script := func(s *site) error {
		db, _ := open(t, s.dsn)
		_, err := pgtest.Connect(t, s.dsn).PgConn().Exec(t.Context(), ledger.New(db, s.schema).Script()).ReadAll()
		return err
	}
	t.Run("installed", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, server, admin)
		claim(t, s.open(t), first)
		before := contents(t, admin, s.schema)
		if err := s.open(t).Install(t.Context()); err != nil {
			t.Error(err)
		}
		if err := script(&s); err != nil {
			t.Error(err)
		}
		if after := contents(t, admin, s.schema); after != before {
			t.Errorf("changed:\n%s\nbefore:\n%s", after, before)
		}
	})
	for name, sql := range map[string]string{
		"no schema":      "DROP SCHEMA SCHEMA CASCADE",
		"no tables":      "DROP TABLE hallmark.ledger_attempts, hallmark.ledger_decisions, hallmark.ledger_changes, hallmark.ledger_versions",
		"no version yet": "DROP TABLE hallmark.ledger_attempts, hallmark.ledger_decisions, hallmark.ledger_changes; DELETE FROM hallmark.ledger_versions",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, server, admin)
			s.exec(t, sql)
			before := contents(t, admin, s.schema)
			l := s.open(t)
			err := l.Install(t.Context())
			if ledger.KindOf(err) != ledger.Forbidden {
				t.Errorf("%v", err)
			}
			quiet(t, err)
			if err := script(&s); err == nil {
				t.Error("the script was not refused")
			}
			if _, err := l.Version(t.Context()); err != nil && ledger.KindOf(err) != ledger.NotInstalled { // the connection can be used
				t.Error(err)
			}
			if after := contents(t, admin, s.schema); after != before {
				t.Errorf("changed:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// Tables that are somebody else's, or a newer hallmark's, stay as they are.
func TestInstallKeeps(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	for name, c := range map[string]struct{ sql, err string }{
		"a table of that name": {"CREATE SCHEMA hallmark; CREATE TABLE hallmark.ledger_attempts (word text); INSERT INTO hallmark.ledger_attempts VALUES ('kept')", "SQLSTATE 42P07"},
		"versions of another":  {"CREATE SCHEMA hallmark; CREATE TABLE hallmark.ledger_versions (word text); INSERT INTO hallmark.ledger_versions VALUES ('kept')", "the table has other columns"},
		"a newer version": {"CREATE SCHEMA hallmark; CREATE TABLE hallmark.ledger_versions (version integer, word text); INSERT INTO hallmark.ledger_versions VALUES (1000, 'kept');" +
			"CREATE TABLE hallmark.ledger_changes (); CREATE TABLE hallmark.ledger_attempts (); CREATE TABLE hallmark.ledger_decisions ()", ""},
		"no tables of it": {"CREATE SCHEMA hallmark; CREATE TABLE hallmark.ledger_versions (version integer); INSERT INTO hallmark.ledger_versions VALUES (1)", "tables are missing: ledger_attempts, ledger_changes, ledger_decisions"},
		"other tables":    {"CREATE SCHEMA hallmark; CREATE TABLE hallmark.other (word text); INSERT INTO hallmark.other VALUES ('kept')", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := server.Database(t)
			server.Exec(t, dsn, c.sql)
			before := contents(t, dsn, "hallmark")
			_, l := open(t, dsn)
			err := l.Install(t.Context())
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q", err, c.err)
			}
			after := contents(t, dsn, "hallmark")
			if c.err != "" && after != before {
				t.Errorf("changed:\n%s\nbefore:\n%s", after, before)
			}
			for line := range strings.Lines(before + "\n") {
				if !strings.Contains(after, strings.TrimSpace(line)) {
					t.Errorf("gone: %s", line)
				}
			}
			if err := l.Install(t.Context()); (err == nil) != (c.err == "") {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// What an administrator runs by psql makes what Install makes, drops nothing, and does
// nothing when it is run again.
func TestScript(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	dsn := server.Database(t)
	_, l := open(t, dsn)
	if found := regexp.MustCompile(`(?i)\b(drop|delete|truncate|cascade|replace)\b`).FindString(l.Script()); found != "" {
		t.Errorf("the script says %s", found)
	}
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("psql is not there")
	}
	for _, schema := range []string{"hallmark", `Odd "schema's"`, "a$hallmark$b$hallmark1$"} {
		script := ledger.New(mustDB(t, dsn), schema).Script()
		var made []string
		for range 2 {
			cmd := exec.CommandContext(t.Context(), psql, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-", dsn)
			cmd.Stdin = strings.NewReader(script)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			made = append(made, contents(t, dsn, schema))
		}
		if made[0] != made[1] {
			t.Errorf("run again:\n%s\nbefore:\n%s", made[1], made[0])
		}
		installed := server.Database(t)
		if err := ledger.New(mustDB(t, installed), schema).Install(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Times and the names of roles are those of each.
		plain := regexp.MustCompile(`<installed_\w+>[^<]*<`)
		if a, b := plain.ReplaceAllString(made[0], ""), plain.ReplaceAllString(contents(t, installed, schema), ""); a != b || len(a) < 1000 {
			t.Errorf("by psql:\n%s\nby Install:\n%s", a, b)
		}
	}
	if c := claim(t, l, first); !c.Granted {
		t.Errorf("%+v", c)
	}
}

// A release asks for all of its keys in one question.
func TestChangesOfManyKeys(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	l, dsn := installed(t)
	server.Exec(t, dsn, `INSERT INTO hallmark.ledger_changes
SELECT 'many:' || lpad(n::text, 5, '0'), '', 'r', 'SUCCEEDED', 1, 1, gen_random_uuid(), NULL, clock_timestamp(), clock_timestamp(), '', '', '', '', '', '[]' FROM generate_series(0, 29999) n`)
	var keys []string
	for n := range 20_000 { // half of them are there
		keys = append(keys, fmt.Sprintf("many:%05d", 20_000+n))
	}
	p := pgtest.NewProxy(t, dsn)
	_, through := open(t, p.DSN)
	if _, err := through.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := p.RoundTrips()
	all, now, err := through.Changes(t.Context(), keys)
	if err != nil || len(all) != 10_000 || now.IsZero() || !slices.IsSortedFunc(all, func(a, b ledger.Change) int { return strings.Compare(a.Key, b.Key) }) || all[0].Key != keys[0] {
		t.Errorf("%d changes, %v", len(all), err)
	}
	if n := p.RoundTrips() - before; n != 1 {
		t.Errorf("%d round trips", n)
	}
	if all, _, err := l.Changes(t.Context(), nil); err != nil || len(all) != 30_000 {
		t.Errorf("%d changes of all, %v", len(all), err)
	}
	if all, now, err := l.Changes(t.Context(), []string{}); err != nil || len(all) != 0 || now.IsZero() {
		t.Errorf("%d changes of no key, %v", len(all), err)
	}
}
