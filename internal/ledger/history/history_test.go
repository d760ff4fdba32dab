package history

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// frozen is what stands in testdata/<tool>.sql: the tables, and then the sections that are
// named, each behind a line "-- == NAME".
func frozen(t testing.TB, tool Tool, sections ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", string(tool)+".sql"))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(data), "\n-- == ")
	sql := parts[0]
	for _, name := range sections {
		i := slices.IndexFunc(parts[1:], func(part string) bool { return strings.HasPrefix(part, name+"\n") })
		if i < 0 {
			t.Fatalf("testdata/%s.sql has no section %q", tool, name)
		}
		sql += strings.TrimPrefix(parts[1:][i], name)
	}
	return sql
}

func open(t testing.TB, dsn string) *ledger.DB {
	t.Helper()
	db, err := ledger.Open(ledger.Config{DSN: dsn, Source: "the test", Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// A setting is a database with a tool's table, and what is known of some keys there.
type setting struct {
	name     string
	sections []string
	sql      string // run after the sections
	table    string
	want     map[string]ledger.Change
}

// known is a state, and what the message says.
func known(state ledger.State, message string) ledger.Change {
	return ledger.Change{State: state, Failure: message}
}

// done is a change that succeeded, at a version.
func done(version, message string) ledger.Change {
	return ledger.Change{State: ledger.Succeeded, SchemaVersion: version, Failure: message}
}

// check reads all keys of each setting at once, and each by itself.
func check(t *testing.T, tool Tool, settings []setting) {
	t.Helper()
	server := pgtest.Start(t)
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			dsn := server.Database(t)
			server.Exec(t, dsn, frozen(t, tool, s.sections...)+"\n"+s.sql)
			db := open(t, dsn)
			var keys []string
			for key := range s.want {
				keys = append(keys, key)
				compare(t, db, tool, s.table, map[string]ledger.Change{key: s.want[key]}, key)
			}
			compare(t, db, tool, s.table, s.want, keys...)
		})
	}
}

func compare(t *testing.T, db *ledger.DB, tool Tool, table string, want map[string]ledger.Change, keys ...string) {
	t.Helper()
	got, err := Read(t.Context(), db, tool, table, keys)
	if err != nil {
		t.Fatalf("%q: %v", keys, err)
	}
	if len(got) != len(want) {
		t.Fatalf("%q: got %d changes, want %d", keys, len(got), len(want))
	}
	for key, w := range want {
		w.Key = key
		if g := words(got[key]); g != words(w) {
			t.Errorf("of %d keys, %q:\n got %s\nwant %s", len(keys), key, g, words(w))
		}
	}
}

// words is a change in words, times in UTC.
func words(c ledger.Change) string {
	at := func(t *time.Time) string {
		if t == nil {
			return "-"
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%s %s version %q, %s to %s: %s", c.Key, c.State, c.SchemaVersion, at(c.StartedAt), at(c.FinishedAt), c.Failure)
}

func moment(t testing.TB, text string) *time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return &at
}

// every lists the tools, what is loaded of them, a key that succeeded there, and the
// columns that count.
var every = []struct {
	tool     Tool
	sections []string
	key      string
	columns  string
}{
	{Flyway, []string{"history"}, "V1__init.sql", "installed_rank version type script success"},
	{Liquibase, []string{"history", "held"}, "changelog.sql::index::grace", "id dateexecuted orderexecuted exectype"},
	{GolangMigrate, []string{"clean"}, "2", "version dirty"},
	{Goose, []string{"history", "lock"}, "1", "id version_id is_applied"},
	{Atlas, []string{"history"}, "20260101000001", "version type applied total executed_at error"},
	{Prisma, []string{"history"}, "20260101000000_init", "finished_at migration_name logs started_at applied_steps_count"},
}

func TestEveryTool(t *testing.T) {
	t.Parallel()
	if len(every) != len(adapters) {
		t.Fatalf("%d tools are tested, %d can be read", len(every), len(adapters))
	}
	server := pgtest.Start(t)
	for _, e := range every {
		t.Run(string(e.tool), func(t *testing.T) {
			t.Parallel()
			dsn := server.Database(t)
			server.Exec(t, dsn, frozen(t, e.tool, e.sections...))
			own := adapters[e.tool].table

			t.Run("one round trip", func(t *testing.T) {
				t.Parallel()
				proxy := pgtest.NewProxy(t, dsn)
				db := open(t, proxy.DSN)
				for i, keys := range [][]string{nil, {e.key}, slices.Repeat([]string{e.key, "no such key"}, 500)} {
					if _, err := Read(t.Context(), db, e.tool, "", keys); err != nil {
						t.Fatal(err)
					}
					if got := proxy.RoundTrips(); got != i+1 {
						t.Errorf("%d round trips after %d reads", got, i+1)
					}
				}
			})
			t.Run("nothing is written", func(t *testing.T) {
				t.Parallel()
				succeeds(t, open(t, dsn+"&default_transaction_read_only=on"), e.tool, "", e.key)
			})
			t.Run("SELECT on the table is enough", func(t *testing.T) {
				t.Parallel()
				db := open(t, server.Role(t, dsn, "GRANT SELECT ON "+own+" TO ROLE"))
				succeeds(t, db, e.tool, "", e.key)
			})
			t.Run("no right", func(t *testing.T) {
				t.Parallel()
				_, err := Read(t.Context(), open(t, server.Role(t, dsn)), e.tool, "", []string{e.key})
				refused(t, err, ledger.Forbidden, `the role may not read the table "`+own+`" of `+string(e.tool)+" (SQLSTATE 42501)")
			})
			t.Run("no table", func(t *testing.T) {
				t.Parallel()
				_, err := Read(t.Context(), open(t, server.Database(t)), e.tool, "", []string{e.key})
				refused(t, err, ledger.NotInstalled, `there is no table "`+own+`" of `+string(e.tool)+" (SQLSTATE 42P01)")
			})
			t.Run("no table of that name", func(t *testing.T) {
				t.Parallel()
				for _, name := range []string{"elsewhere." + own, strings.ToUpper(own), `x"; DROP TABLE ` + own + `; --`} {
					_, err := Read(t.Context(), open(t, dsn), e.tool, name, []string{e.key})
					refused(t, err, ledger.NotInstalled, fmt.Sprintf("there is no table %q of %s (SQLSTATE 42P01)", name, e.tool))
				}
				succeeds(t, open(t, dsn), e.tool, own, e.key)
			})
			t.Run("another name and schema", func(t *testing.T) {
				t.Parallel()
				other := server.Database(t)
				server.Exec(t, other, frozen(t, e.tool, e.sections...)+`; CREATE SCHEMA "a "" b"; ALTER TABLE `+own+` SET SCHEMA "a "" b"; ALTER TABLE "a "" b".`+own+` RENAME TO "x'y%s"`)
				succeeds(t, open(t, other), e.tool, `a " b.x'y%s`, e.key)
			})
			t.Run("a table of another tool", func(t *testing.T) {
				t.Parallel()
				other := server.Database(t)
				server.Exec(t, other, "CREATE TABLE "+own+" (version varchar NOT NULL PRIMARY KEY); INSERT INTO "+own+" VALUES ('1')")
				_, err := Read(t.Context(), open(t, other), e.tool, "", []string{e.key})
				refused(t, err, ledger.Other, `the table "`+own+`" is none of `+string(e.tool)+": a column is missing or has another type")
			})
			t.Run("columns of other types", func(t *testing.T) {
				t.Parallel()
				otherTypes(t, server, e.tool, e.sections, e.key, e.columns)
			})
			t.Run("the database goes", func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_, err := Read(ctx, open(t, dsn), e.tool, "", []string{e.key})
				if err == nil || ledger.KindOf(err) != ledger.Unreachable {
					t.Errorf("got %v, want a database that cannot be reached", err)
				}
			})
		})
	}
}

// otherTypes makes one column after the other a point, which nothing that is read can be
// taken for. Where the column counts, a read is refused and says why.
func otherTypes(t *testing.T, server *pgtest.Server, tool Tool, sections []string, key string, counting string) {
	own, dsn := adapters[tool].table, server.Database(t)
	server.Exec(t, dsn, frozen(t, tool))
	var all, refusing []string
	err := open(t, dsn).Query(t.Context(), func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		all = append(all, name)
		return err
	}, "SELECT attname::text FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0", own)
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range all {
		server.Exec(t, dsn, fmt.Sprintf("CREATE SCHEMA %[2]s; SET search_path = %[2]s; %[3]s; ALTER TABLE %[1]s DROP COLUMN %[2]s CASCADE; ALTER TABLE %[1]s ADD COLUMN %[2]s point DEFAULT '(1,2)'",
			own, column, frozen(t, tool, sections...)))
		if _, err := Read(t.Context(), open(t, dsn+"&search_path="+column), tool, "", []string{key}); err != nil {
			refusing = append(refusing, column)
			refused(t, err, ledger.Other, `the table "`+own+`" is none of `+string(tool))
		}
	}
	if got := strings.Join(refusing, " "); got != counting {
		t.Errorf("got %s, want %s", got, counting)
	}
}

func succeeds(t *testing.T, db *ledger.DB, tool Tool, table, key string) {
	t.Helper()
	got, err := Read(t.Context(), db, tool, table, []string{key})
	if err != nil || got[key].State != ledger.Succeeded {
		t.Errorf("got %v, %v, want that %s succeeded", got, err, key)
	}
}

// refused holds an error to its kind and text, and to a remedy that is not the ledger's.
func refused(t *testing.T, err error, kind ledger.Kind, text string) {
	t.Helper()
	if err == nil || ledger.KindOf(err) != kind || !strings.HasPrefix(err.Error(), text) {
		t.Errorf("got %v (%s), want %s (%s)", err, ledger.KindOf(err), text, kind)
	}
	if hint := diag.Hint(err); hint == "" || strings.Contains(hint, "ledger") {
		t.Errorf("hint %q", hint)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".", "a.", ".a", "a.b.c", "..", "a\x00b", strings.Repeat("x", 64), "s." + strings.Repeat("é", 32)} {
		_, err := Read(t.Context(), open(t, "host=127.0.0.1"), Goose, name, nil)
		if err == nil || !strings.Contains(err.Error(), "want \"table\" or \"schema.table\"") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := Read(t.Context(), open(t, "host=127.0.0.1"), "alembic", "", nil); err == nil || err.Error() != `no tool "alembic" has a table that can be read` {
		t.Errorf("another tool: %v", err)
	}
}
