package executor_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/executor"
	"hallmark.dev/hallmark/internal/pgtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProcess) != "" {
		os.Exit(process())
	}
	// Most tests wait for leases and not for the processor.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	os.Exit(pgtest.Main(m))
}

// A bench is a change in a ledger, and a way to run commands for it.
type bench struct {
	dsn    string
	number int64
	key    string
	dir    string // for files of commands, which know it as $D
	ledger *ledger.Ledger
}

var benches struct {
	sync.Mutex
	dsn   string // of the database that most share
	count atomic.Int64
}

// newBench is a change of its own in a database that others use, too.
func newBench(t testing.TB) bench {
	t.Helper()
	benches.Lock()
	defer benches.Unlock()
	if benches.dsn == "" {
		benches.dsn = pgtest.Start(t).Database(t)
	}
	return benchAt(t, benches.dsn)
}

// ownBench has a database of its own.
func ownBench(t testing.TB) bench {
	t.Helper()
	return benchAt(t, pgtest.Start(t).Database(t))
}

func benchAt(t testing.TB, dsn string) bench {
	t.Helper()
	l := ledger.New(connect(t, dsn), "")
	if err := l.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := benches.count.Add(1)
	return bench{dsn, n, fmt.Sprintf("checkout:add-order-index:v%d", n), t.TempDir(), l}
}

func connect(t testing.TB, dsn string) *ledger.DB {
	t.Helper()
	return mustOpen(t, ledger.Config{DSN: dsn, Source: "the test", Timeout: 30 * time.Second})
}

func mustOpen(t testing.TB, c ledger.Config) *ledger.DB {
	t.Helper()
	db, err := ledger.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// through is the same bench by another way, such as a proxy.
func (b bench) through(dsn string) bench {
	b.dsn = dsn
	return b
}

// uuid is a token of the bench.
func (b bench) uuid(token int) string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012d", b.number, token)
}

// options are those of a run of a shell script, under a lease that no test outlives.
func (b bench) options(t testing.TB, token int, script string) executor.Options {
	t.Helper()
	db := connect(t, b.dsn)
	return executor.Options{
		Ledger: ledger.New(db, ""), Check: connect(t, b.dsn), Grace: 20 * time.Second, Output: &output{},
		Request: ledger.Request{Key: b.key, SourceRevision: "4b825dc", Lease: time.Hour, Executor: fmt.Sprint("pod-", token), Token: b.uuid(token)},
		Command: []string{"sh", "-c", script},
		Env:     []string{"PATH=" + os.Getenv("PATH"), "D=" + b.dir},
	}
}

// output keeps what a command writes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func run(ctx context.Context, t testing.TB, o executor.Options) executor.Result {
	t.Helper()
	r, err := executor.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (b bench) row(t testing.TB) ledger.Change {
	t.Helper()
	all, _, err := b.ledger.Changes(context.Background(), []string{b.key})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d rows, %v", len(all), err)
	}
	return all[0]
}

// state is that of the row, Absent where there is none.
func (b bench) state(t testing.TB) ledger.State {
	t.Helper()
	all, _, err := b.ledger.Changes(context.Background(), []string{b.key})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		return ledger.Absent
	}
	return all[0].State
}

// want fails unless the result and the row are these.
func want(t testing.TB, b bench, r executor.Result, outcome executor.Outcome, state ledger.State) {
	t.Helper()
	noSecret(t, r)
	if r.Outcome != outcome || r.Next == "" || r.Message == "" {
		t.Errorf("the outcome is %+v, want %s", r, outcome)
	}
	if c := b.row(t); c.State != state {
		t.Errorf("the row is %+v, want %s", c, state)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script     string
		invariants []ledger.Query
		first      executor.Outcome
		state      ledger.State
		second     executor.Outcome // of the same again
		message    string
	}{
		"done":              {"echo moved", nil, executor.Done, ledger.Succeeded, executor.AlreadyDone, "done by attempt 1"},
		"failed":            {"exit 3", nil, executor.CommandFailed, ledger.Failed, executor.FailedBefore, "the command ended with exit code 3"},
		"signalled":         {"kill -9 $$", nil, executor.CommandFailed, ledger.Failed, executor.FailedBefore, "ended by the signal killed"},
		"holds":             {"true", []ledger.Query{{Name: "a", SQL: "SELECT true"}}, executor.Done, ledger.Succeeded, executor.AlreadyDone, "done"},
		"broken":            {"true", []ledger.Query{{Name: "a", SQL: "SELECT true"}, {Name: "b", SQL: "SELECT false"}}, executor.InvariantBroken, ledger.Succeeded, executor.InvariantBroken, `"b" is broken: the query returns false`},
		"no table":          {"true", []ledger.Query{{Name: "a", SQL: "SELECT true FROM orders"}}, executor.InvariantBroken, ledger.Succeeded, executor.InvariantBroken, "SQLSTATE 42P01"},
		"not checked":       {"true", []ledger.Query{{Name: "a", SQL: "SELECT pg_sleep(60) IS NULL"}}, executor.InvariantUnchecked, ledger.Succeeded, executor.InvariantUnchecked, "could not be checked"},
		"outlived":          {"sleep 1000 & true", nil, executor.CommandFailed, ledger.Failed, executor.FailedBefore, "left processes at work"},
		"outlived silently": {"sleep 1000 >/dev/null 2>&1 & true", nil, executor.CommandFailed, ledger.Failed, executor.FailedBefore, "left processes at work"},
		"outlived a moment": {"sleep 0.2 & true", nil, executor.Done, ledger.Succeeded, executor.AlreadyDone, "done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			o := b.options(t, 1, "echo ran >&2; "+c.script)
			o.Invariants = c.invariants
			if name == "not checked" {
				o.Check = mustOpen(t, ledger.Config{DSN: b.dsn, Timeout: time.Second})
			}
			r := run(t.Context(), t, o)
			want(t, b, r, c.first, c.state)
			if !strings.Contains(r.Message, c.message) {
				t.Errorf("the message is %q, want %q", r.Message, c.message)
			}
			if o.Output.(*output).String() == "" || r.Recorded.Attempt != 1 || len(r.Invariants) != len(c.invariants) {
				t.Errorf("output %q, %+v", o.Output, r)
			}
			again := b.options(t, 2, "echo ran >&2; "+c.script)
			again.Invariants, again.Check = o.Invariants, o.Check
			r = run(t.Context(), t, again)
			want(t, b, r, c.second, c.state)
			if again.Output.(*output).String() != "" || r.Command != nil {
				t.Error("it ran again")
			}
		})
	}
}

func TestInvariantMended(t *testing.T) {
	t.Parallel()
	b := ownBench(t)
	o := b.options(t, 1, "true")
	o.Invariants = []ledger.Query{{Name: "index", SQL: "SELECT count(*) = 0 FROM pg_tables WHERE tablename = 'bad'"}}
	pgtest.Start(t).Exec(t, b.dsn, "CREATE TABLE bad ()")
	want(t, b, run(t.Context(), t, o), executor.InvariantBroken, ledger.Succeeded)
	pgtest.Start(t).Exec(t, b.dsn, "DROP TABLE bad")
	o.Request.Token = b.uuid(2)
	want(t, b, run(t.Context(), t, o), executor.AlreadyDone, ledger.Succeeded)
	if c := b.row(t); len(c.Invariants) != 1 || !*c.Invariants[0].Holds {
		t.Errorf("recorded are %+v", c.Invariants)
	}
}

// The command that cannot be found is noticed before anything is claimed.
func TestNoCommand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := b.options(t, 1, "")
	o.Command = []string{"no-such-program"}
	if _, err := executor.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("the error is %v", err)
	}
	if state := b.state(t); state != ledger.Absent {
		t.Errorf("it is %s", state)
	}
}
