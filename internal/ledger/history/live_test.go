package history

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/pgtest"
)

// A live is a database that goose or golang-migrate works on, by the program of
// tools/migrations.
type live struct {
	server          *pgtest.Server
	program, folder string
	dsn             string
	db              *ledger.DB
	tool            Tool
}

func newLive(t *testing.T, tool Tool) *live {
	t.Helper()
	program, err := filepath.Abs("../../../bin/migrations")
	if err == nil {
		_, err = os.Stat(program)
	}
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatal(err)
	default:
		t.Skip("make migrations builds bin/migrations")
	}
	server := pgtest.Start(t)
	dsn := server.Database(t)
	return &live{server, program, t.TempDir(), dsn, open(t, dsn), tool}
}

func (l *live) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(l.folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (l *live) command(tool string, args ...string) *exec.Cmd {
	return exec.Command(l.program, append([]string{tool, l.dsn, l.folder}, args...)...)
}

// run runs the tool, which is to succeed, or to fail.
func (l *live) run(t *testing.T, succeeds bool, args ...string) {
	t.Helper()
	if out, err := l.command(string(l.tool), args...).CombinedOutput(); (err == nil) != succeeds {
		t.Fatalf("%s: %v %s", args, err, out)
	}
}

// is holds the keys to their states.
func (l *live) is(t *testing.T, when string, states map[string]ledger.State) {
	t.Helper()
	for key, want := range states {
		got, err := Read(t.Context(), l.db, l.tool, "", []string{key})
		if err != nil || got[key].State != want {
			t.Errorf("%s: %s: got %s (%s), %v, want %s", when, key, got[key].State, got[key].Failure, err, want)
		}
	}
}

// killed starts the tool, waits until it runs a statement that the test holds up, calls
// while and then kills the tool.
func (l *live) killed(t *testing.T, tool string, while func()) {
	t.Helper()
	ctx := t.Context()
	holder := pgtest.Connect(t, l.dsn)
	if _, err := holder.Exec(ctx, "SELECT pg_advisory_lock(7)"); err != nil {
		t.Fatal(err)
	}
	cmd := l.command(tool, "up")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var waits bool
		if err := holder.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))").Scan(&waits); err != nil {
			t.Fatal(err)
		}
		if waits {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the migration does not start")
		}
	}
	while()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

// sameTable holds testdata to the table that the tool makes.
func (l *live) sameTable(t *testing.T, name string, sections ...string) {
	t.Helper()
	dsn := l.server.Database(t)
	l.server.Exec(t, dsn, frozen(t, l.tool, sections...))
	shape := func(db *ledger.DB) string {
		var lines strings.Builder
		err := db.Query(t.Context(), func(scan func(...any) error) error {
			var column, kind string
			var notNull bool
			err := scan(&column, &kind, &notNull)
			fmt.Fprintln(&lines, column, kind, notNull)
			return err
		}, "SELECT attname::text, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 ORDER BY attnum", name)
		if err != nil {
			t.Fatal(err)
		}
		return lines.String()
	}
	if ours, theirs := shape(open(t, dsn)), shape(l.db); ours != theirs {
		t.Errorf("testdata has\n%s\n%s makes\n%s", ours, l.tool, theirs)
	}
}

func TestLiveGoose(t *testing.T) {
	t.Parallel()
	l := newLive(t, Goose)
	if _, err := Read(t.Context(), l.db, Goose, "", []string{"1"}); ledger.KindOf(err) != ledger.NotInstalled {
		t.Errorf("before the first run: %v", err)
	}
	l.write(t, "00001_a.sql", "-- +goose Up\nCREATE TABLE a ();\n-- +goose Down\nDROP TABLE a;")
	l.write(t, "00002_b.sql", "-- +goose Up\nCREATE TABLE b ();\n-- +goose Down\nDROP TABLE b;")
	l.run(t, true, "up")
	l.is(t, "up", map[string]ledger.State{"1": ledger.Succeeded, "2": ledger.Succeeded, "3": ledger.Unknown, "0": ledger.Unknown})
	l.run(t, true, "down")
	l.is(t, "down", map[string]ledger.State{"1": ledger.Succeeded, "2": ledger.Unknown})
	l.run(t, true, "up")
	l.is(t, "up again", map[string]ledger.State{"1": ledger.Succeeded, "2": ledger.Succeeded})

	l.write(t, "00003_c.sql", "-- +goose NO TRANSACTION\n-- +goose Up\nCREATE TABLE c ();\nINSERT INTO missing VALUES (1);")
	l.run(t, false, "up")
	l.is(t, "failed", map[string]ledger.State{"2": ledger.Succeeded, "3": ledger.Unknown})

	l.write(t, "00003_c.sql", "-- +goose NO TRANSACTION\n-- +goose Up\nSELECT pg_advisory_lock(7);")
	held := func(when string) {
		got, err := Read(t.Context(), l.db, Goose, "", []string{"3"})
		if c := got["3"]; err != nil || c.State != ledger.Unknown || !strings.HasSuffix(c.Failure, "the lock of goose is held") {
			t.Errorf("%s: %s %s, %v", when, c.State, c.Failure, err)
		}
	}
	l.killed(t, "goose-lock", func() { held("running") })
	l.server.Exec(t, l.dsn, "UPDATE goose_lock SET lease_expires_at = now() + interval '1 day'") // a slow test is not to see it end
	held("killed")
	l.sameTable(t, "goose_db_version")
	l.sameTable(t, "goose_lock", "lock")
}

func TestLiveGolangMigrate(t *testing.T) {
	t.Parallel()
	l := newLive(t, GolangMigrate)
	l.write(t, "1_a.up.sql", "CREATE TABLE a ()")
	l.write(t, "1_a.down.sql", "DROP TABLE missing")
	l.write(t, "2_b.up.sql", "CREATE TABLE b ()")
	l.write(t, "2_b.down.sql", "DROP TABLE b")
	l.run(t, true, "up")
	l.is(t, "up", map[string]ledger.State{"1": ledger.Unknown, "2": ledger.Succeeded, "3": ledger.Absent})

	dirty := map[string]ledger.State{"1": ledger.Unknown, "2": ledger.Unknown, "3": ledger.Unknown, "4": ledger.Unknown}
	l.write(t, "3_c.up.sql", "INSERT INTO missing VALUES (1)")
	l.run(t, false, "up")
	l.is(t, "failed", dirty)
	l.run(t, true, "force", "2")
	l.is(t, "forced", map[string]ledger.State{"1": ledger.Unknown, "2": ledger.Succeeded, "3": ledger.Absent})

	l.write(t, "3_c.up.sql", "SELECT pg_advisory_lock(7)")
	l.killed(t, "golang-migrate", func() { l.is(t, "running", dirty) })
	l.is(t, "killed", dirty)
}

// TestLiveGolangMigrateDown undoes: the row has the version below, which is what makes a
// dirty table say nothing of any version.
func TestLiveGolangMigrateDown(t *testing.T) {
	t.Parallel()
	l := newLive(t, GolangMigrate)
	l.write(t, "1_a.up.sql", "CREATE TABLE a ()")
	l.write(t, "1_a.down.sql", "DROP TABLE missing")
	l.write(t, "2_b.up.sql", "CREATE TABLE b ()")
	l.write(t, "2_b.down.sql", "DROP TABLE b")
	l.run(t, true, "up")
	l.run(t, true, "down", "1")
	l.is(t, "down to 1", map[string]ledger.State{"1": ledger.Succeeded, "2": ledger.Absent})
	l.run(t, false, "down", "1")
	l.is(t, "undoing 1 failed", map[string]ledger.State{"1": ledger.Unknown, "2": ledger.Unknown})
	l.sameTable(t, "schema_migrations")
	l.run(t, true, "force", "1")
	l.write(t, "1_a.down.sql", "DROP TABLE a")
	l.run(t, true, "down", "1")
	l.is(t, "all undone", map[string]ledger.State{"1": ledger.Absent, "2": ledger.Absent})
}
