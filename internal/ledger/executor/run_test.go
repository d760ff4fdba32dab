package executor_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/executor"
	"hallmark.dev/hallmark/internal/pgtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(dsnOfProcess) != "" {
		os.Exit(process())
	}
	os.Exit(pgtest.Main(m))
}

const key = "checkout:add-order-index:v3"

// A bench is a database with a ledger, and a way to run commands against it.
type bench struct {
	dsn    string
	ledger *ledger.Ledger
}

func newBench(t testing.TB) bench {
	t.Helper()
	return benchAt(t, pgtest.Start(t).Database(t))
}

func benchAt(t testing.TB, dsn string) bench {
	t.Helper()
	l := ledger.New(connect(t, dsn), "")
	if err := l.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	return bench{dsn, l}
}

func connect(t testing.TB, dsn string) *ledger.DB {
	t.Helper()
	db, err := ledger.Open(ledger.Config{DSN: dsn, Source: "the test", Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// options are those of a run of a shell script, under a lease that no test outlives.
func (b bench) options(t testing.TB, token, script string) executor.Options {
	t.Helper()
	db := connect(t, b.dsn)
	return executor.Options{
		Ledger: ledger.New(db, ""), Check: connect(t, b.dsn), Grace: 20 * time.Second, Output: &output{},
		Request: ledger.Request{Key: key, SourceRevision: "4b825dc", Lease: time.Hour, Executor: "pod-" + token[:1], Token: token + "0000000-0000-4000-8000-000000000000"},
		Command: []string{"sh", "-c", script},
		Env:     []string{"PATH=" + os.Getenv("PATH")},
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

func run(t testing.TB, ctx context.Context, o executor.Options) executor.Result {
	t.Helper()
	r, err := executor.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (b bench) row(t testing.TB) ledger.Change {
	t.Helper()
	all, _, err := b.ledger.Changes(context.Background(), []string{key})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d rows, %v", len(all), err)
	}
	return all[0]
}

// want fails unless the result and the row are these.
func want(t testing.TB, b bench, r executor.Result, outcome executor.Outcome, state ledger.State) {
	t.Helper()
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
		"not checked":       {"true", []ledger.Query{{Name: "a", SQL: "SELECT pg_sleep(60) IS NULL"}}, executor.InvariantBroken, ledger.Succeeded, executor.InvariantBroken, "could not be checked"},
		"outlived":          {"sleep 1000 & true", nil, executor.CommandFailed, ledger.Failed, executor.FailedBefore, "left processes at work"},
		"outlived silently": {"sleep 1000 >/dev/null 2>&1 & true", nil, executor.CommandFailed, ledger.Failed, executor.FailedBefore, "left processes at work"},
		"outlived a moment": {"sleep 0.2 & true", nil, executor.Done, ledger.Succeeded, executor.AlreadyDone, "done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			o := b.options(t, "1", "echo ran >&2; "+c.script)
			o.Invariants = c.invariants
			if name == "not checked" {
				o.Check = mustOpen(t, ledger.Config{DSN: b.dsn, Timeout: time.Second})
			}
			r := run(t, t.Context(), o)
			want(t, b, r, c.first, c.state)
			if !strings.Contains(r.Message, c.message) {
				t.Errorf("the message is %q, want %q", r.Message, c.message)
			}
			if o.Output.(*output).String() == "" || r.Recorded.Attempt != 1 || len(r.Invariants) != len(c.invariants) {
				t.Errorf("output %q, %+v", o.Output, r)
			}
			again := b.options(t, "2", "echo ran >&2; "+c.script)
			again.Invariants, again.Check = o.Invariants, o.Check
			r = run(t, t.Context(), again)
			want(t, b, r, c.second, c.state)
			if again.Output.(*output).String() != "" || r.Command != nil {
				t.Error("it ran again")
			}
		})
	}
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

func TestInvariantMended(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := b.options(t, "1", "true")
	o.Invariants = []ledger.Query{{Name: "index", SQL: "SELECT count(*) = 0 FROM pg_tables WHERE tablename = 'bad'"}}
	pgtest.Start(t).Exec(t, b.dsn, "CREATE TABLE bad ()")
	want(t, b, run(t, t.Context(), o), executor.InvariantBroken, ledger.Succeeded)
	pgtest.Start(t).Exec(t, b.dsn, "DROP TABLE bad")
	o.Request.Token = strings.Replace(o.Request.Token, "1", "2", 1)
	want(t, b, run(t, t.Context(), o), executor.AlreadyDone, ledger.Succeeded)
	if c := b.row(t); len(c.Invariants) != 1 || !*c.Invariants[0].Holds {
		t.Errorf("recorded are %+v", c.Invariants)
	}
}

// The command that cannot be found is noticed before anything is claimed.
func TestNoCommand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := b.options(t, "1", "")
	o.Command = []string{"no-such-program"}
	if _, err := executor.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("the error is %v", err)
	}
	if all, _, err := b.ledger.Changes(t.Context(), nil); err != nil || len(all) != 0 {
		t.Errorf("claimed are %+v, %v", all, err)
	}
}
