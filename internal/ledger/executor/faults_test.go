package executor_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/executor"
	"hallmark.dev/hallmark/internal/pgtest"
)

// alter changes a setting of the database for the connections to come.
func (b bench) alter(t testing.TB, setting string) {
	t.Helper()
	pgtest.Start(t).Exec(t, b.dsn, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET `+strings.ReplaceAll(setting, "'", "''")+`', current_database()); END $$`)
}

// A database that does not let the executor work is told apart, and nothing is run.
func TestFaults(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	for name, c := range map[string]struct {
		dsn  func(*testing.T, bench) string
		kind ledger.Kind
		code int
		says string
	}{
		"wrong password": {func(t *testing.T, b bench) string {
			address, err := url.Parse(b.dsn)
			if err != nil {
				t.Fatal(err)
			}
			address.User = url.UserPassword("postgres", pgtest.Password+"!")
			return address.String()
		}, ledger.Denied, 1, "refuses the role or its password"},
		"may only read": {func(t *testing.T, b bench) string {
			return server.Role(t, b.dsn, "GRANT USAGE ON SCHEMA hallmark TO ROLE", "GRANT SELECT ON ALL TABLES IN SCHEMA hallmark TO ROLE")
		}, ledger.Forbidden, 1, "lacks a right"},
		"may not read": {func(t *testing.T, b bench) string { return server.Role(t, b.dsn) }, ledger.Forbidden, 1, "lacks a right"},
		"read-only": {func(t *testing.T, b bench) string {
			b.alter(t, "default_transaction_read_only = on")
			return b.dsn
		}, ledger.ReadOnly, 1, "takes no writes"},
		"not installed": {func(t *testing.T, _ bench) string { return server.Database(t) }, ledger.NotInstalled, 1, "the table does not exist"},
		"nobody there": {func(t *testing.T, b bench) string {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address, err := url.Parse(b.dsn)
			if err != nil {
				t.Fatal(err)
			}
			address.Host = l.Addr().String()
			_ = l.Close()
			return address.String()
		}, ledger.Unreachable, executor.ExitUnreachable, "cannot be reached: connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ownBench(t)
			there := b.through(c.dsn(t, b))
			r, err := executor.Run(t.Context(), there.options(t, 1, ranAndPid))
			if c.code == 1 {
				if err == nil || ledger.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("%+v, %v", r, err)
				}
				noSecret(t, errorText(err))
			} else if err != nil || r.Outcome != executor.Unreachable || !strings.Contains(r.Message, c.says) {
				t.Fatalf("%+v, %v", r, err)
			}
			noSecret(t, r)
			s := there.setup(2)
			s.DSN = there.dsn
			if r, code := b.spawn(t, s, ranAndPid).result(t); code != c.code {
				t.Errorf("the exit code is %d: %+v", code, r)
			}
			if state := b.state(t); state != ledger.Absent || b.ran(t) != 0 {
				t.Errorf("it ran %d times and is %s", b.ran(t), state)
			}
		})
	}
}

// Of many processes that want the same at once one runs it.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var all []*child
	for n := range 20 {
		all = append(all, b.spawn(t, b.setup(n+1), `echo x >>"$D/ran"; `+until("go")))
	}
	running := func() (left []*child) {
		for _, c := range all {
			select {
			case <-c.ended:
			default:
				left = append(left, c)
			}
		}
		return left
	}
	await(t, "all but one to end", func() bool { return len(running()) <= 1 && b.ran(t) > 0 })
	b.touch(t, "go")
	exits := map[int]int{}
	for _, c := range all {
		_, code := c.result(t)
		exits[code]++
	}
	if exits[executor.ExitDone] != 1 || exits[executor.ExitHeld] != 19 || b.ran(t) != 1 || b.attempts(t) != "SUCCEEDED" {
		t.Errorf("exit codes %v, it ran %d times", exits, b.ran(t))
	}
}

// Whatever isolation is the default, one of many runs, and none fails for the others.
func TestSerializable(t *testing.T) {
	t.Parallel()
	b := ownBench(t)
	b.alter(t, "default_transaction_isolation = 'serializable'")
	var all []<-chan executor.Result
	for n := range 8 {
		o := b.options(t, n+1, `echo x >>"$D/ran"`)
		o.Invariants = b.setup(1).Invariants
		all = append(all, begin(t.Context(), t, o))
	}
	outcomes := map[executor.Outcome]int{}
	for _, ended := range all {
		outcomes[wait(t, "the end", ended).Outcome]++
	}
	if outcomes[executor.Done] != 1 || outcomes[executor.Held]+outcomes[executor.AlreadyDone] != 7 || b.ran(t) != 1 {
		t.Errorf("it ran %d times: %v", b.ran(t), outcomes)
	}
}

// The clock of the database may be days off: it is never compared with that of the
// executor. clock_timestamp of another schema stands for it.
func TestSkew(t *testing.T) {
	t.Parallel()
	for _, skew := range []string{"3 days", "-3 days"} {
		t.Run(skew, func(t *testing.T) {
			t.Parallel()
			b := ownBench(t)
			pgtest.Start(t).Exec(t, b.dsn, `CREATE SCHEMA skewed; CREATE FUNCTION skewed.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
$$SELECT pg_catalog.clock_timestamp() + '`+skew+`'::interval$$`)
			b.alter(t, "search_path = skewed, pg_catalog")
			b.ledger = ledger.New(connect(t, b.dsn), "")
			o := b.options(t, 1, ranAndPid+until("go"))
			o.Request.Lease = unhurried
			o.Invariants = b.setup(1).Invariants
			ended := begin(t.Context(), t, o)
			b.pid(t, "pid")
			if off := time.Until(*b.row(t).StartedAt).Abs(); off < 2*24*time.Hour {
				t.Fatalf("the clock is off by %s only", off)
			}
			want(t, b, run(t.Context(), t, b.options(t, 2, ranAndPid)), executor.Held, ledger.Running)
			b.renewed(t, func() {})
			b.touch(t, "go")
			want(t, b, wait(t, "the end", ended), executor.Done, ledger.Succeeded)
			b.recover(t, ledger.Retry)
			o = b.options(t, 3, ranAndPid+until("never"))
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended = begin(ctx, t, o)
			await(t, "the second run", func() bool { return b.ran(t) == 2 })
			b.lease(t, "0")
			want(t, b, run(t.Context(), t, b.options(t, 4, ranAndPid)), executor.Investigate, ledger.Running)
			stop()
			want(t, b, wait(t, "the end", ended), executor.LeaseLost, ledger.Running)
		})
	}
}

// Nothing is left of a run in a process that goes on: no goroutine, child or open file.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"well":     `echo x >>"$D/ran"; echo some output; sleep 0.01 & exit 0`,
		"failed":   `echo x >>"$D/ran"; exit 3`,
		"its kill": `echo x >>"$D/ran"; kill -9 0`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			s := b.setup(1)
			s.Times = 200
			c := b.spawn(t, s, script)
			if _, code := c.result(t); code != 0 || b.ran(t) != s.Times {
				t.Errorf("exit code %d after %d runs: %s", code, b.ran(t), c.stderr.String())
			}
		})
	}
}

// runOften runs the command under many keys, and returns an error where something is left
// of that.
func (s setup) runOften(ctx context.Context) error {
	var dbs [2]*ledger.DB
	for i := range dbs {
		db, err := ledger.Open(ledger.Config{DSN: s.DSN, Source: "the test", Timeout: s.Timeout})
		if err != nil {
			return err
		}
		defer db.Close()
		dbs[i] = db
	}
	var before, now leftovers
	for n := range s.Times {
		o := s.options(dbs[0], dbs[1])
		o.Request.Key += fmt.Sprintf("-%d", n)
		o.Request.Token = fmt.Sprintf("%s%012d", s.Token[:24], n)
		if _, err := executor.Run(ctx, o); err != nil {
			return err
		}
		if n == 0 { // both are connected from now on
			before = count()
		}
	}
	for start := time.Now(); time.Since(start) < patience; time.Sleep(10 * time.Millisecond) {
		if now = count(); now.goroutines <= before.goroutines && now.files <= before.files && now.children == 0 {
			return nil
		}
	}
	stacks := make([]byte, 1<<20)
	return fmt.Errorf("%+v became %+v\n%s", before, now, stacks[:runtime.Stack(stacks, true)])
}

type leftovers struct{ goroutines, files, children int }

func count() leftovers {
	files, _ := filepath.Glob("/proc/self/fd/*")
	out := leftovers{goroutines: runtime.NumGoroutine(), files: len(files)}
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		out.children += len(strings.Fields(string(children)))
	}
	return out
}
