package ledger_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/pgtest"
)

// A table is the ledger under test, with as many histories as wanted: each has a key of
// its own, which is a number, and its executors have tokens that begin with that number.
type table struct {
	l    *ledger.Ledger
	conn *pgx.Conn // beside the ledger
}

func newTable(t testing.TB, dsn string) *table {
	t.Helper()
	_, l := open(t, dsn)
	b := &table{l: l, conn: pgtest.Connect(t, dsn)}
	if _, err := b.conn.Exec(context.Background(), "SET default_transaction_isolation = 'read committed'"); err != nil {
		t.Fatal(err)
	}
	return b
}

func keyOf(n int64) string                  { return fmt.Sprintf("history:%08x", n) }
func tokenOf(n int64, suffix string) string { return fmt.Sprintf("%08x-0000-4000-%s", n, suffix) }

// refusals are the texts by which errors are known.
var refusals = []string{"nothing is recorded", "was looked at", "lease is not over", "SUCCEEDED already", "is recorded as SUCCEEDED", "may run already"}

// do carries out an operation on the history n and says what its caller is told, in the
// words of the model.
func (b *table) do(ctx context.Context, n int64, o op) string {
	key, token := keyOf(n), tokenOf(n, o.token)
	stands := func(c ledger.Change) string {
		return fmt.Sprintf("not granted: %s, attempt %d, over %v", c.State, c.Attempt, c.LeaseExpired)
	}
	var err error
	switch o.what {
	case "claim", "claim elsewhere", "ask again":
		who := fmt.Sprint("executor ", o.who)
		r := ledger.Request{Key: key, Token: token, Lease: hour, Executor: who, JobUID: who, SourceRevision: who, SchemaVersion: who}
		if o.what == "claim elsewhere" {
			r.Target = "elsewhere"
		}
		var c ledger.Claim
		if c, err = b.l.Claim(ctx, r); err == nil && c.Granted {
			return fmt.Sprintf("granted %d", c.Change.Attempt)
		} else if err == nil {
			return stands(c.Change)
		}
		if strings.Contains(err.Error(), "23505") {
			return "refused: a token is for one attempt"
		}
	case "renew":
		var held bool
		if _, held, err = b.l.Renew(ctx, key, token, 2*hour); err == nil && held {
			return "held"
		} else if err == nil {
			return "lost"
		}
	case "succeed", "fail":
		out := ledger.Outcome{State: ledger.Succeeded, ResultDigest: "sha256:0", Invariants: []ledger.Invariant{{Name: "checked", Holds: &yes}}}
		if o.what == "fail" {
			out = ledger.Outcome{State: ledger.Failed, ExitCode: 3, ResultDigest: "sha256:3", Failure: "exit code 3"}
		}
		var c ledger.Change
		var completed bool
		if c, completed, err = b.l.Complete(ctx, key, token, out); err == nil && completed {
			return "completed"
		} else if err == nil {
			return stands(c)
		}
	case "expire":
		_, err = b.conn.Exec(ctx, "UPDATE hallmark.ledger_changes SET lease_until = clock_timestamp() WHERE change_key = $1 AND state = 'RUNNING'", key)
	case "recheck":
		err = b.l.Recheck(ctx, ledger.Change{Key: key, Attempt: o.attempt}, []ledger.Invariant{{Name: "checked anew"}})
	case "recover":
		r := o.how
		r.Key, r.Attempt, r.Reason, r.Evidence = key, o.attempt, "because", "evidence"
		var c ledger.Change
		var d ledger.Decision
		if c, d, err = b.l.Recover(ctx, r); err == nil {
			if c.State == ledger.Running || c.Attempt != d.Attempt || d.Issued != nil != (d.Verdict == ledger.Retry) {
				return fmt.Sprintf("%+v decided %+v", c, d)
			}
			return fmt.Sprintf("decided %s %d from %s forced %v", d.Verdict, d.Attempt, d.StateBefore, d.Forced)
		}
		for _, text := range refusals {
			if strings.Contains(err.Error(), text) {
				return "refused: " + text
			}
		}
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// A row of each history, in the words of the model.
const describe = `
SELECT c.change_key, format('%s %s of %s, target "%s", holder "%s", over %s, digest "%s", invariant "%s"', state, attempt, issued, target,
	CASE WHEN token::text LIKE '%-0000-4000-8%' THEN substr(token::text, 20) ELSE '' END,
	CASE WHEN lease_until <= clock_timestamp() THEN 'true' ELSE 'false' END, result_digest, invariants->0->>'name') ||
	(SELECT string_agg(format(E'\n  attempt %s %s %s %s "%s"', attempt, substr(token::text, 20), state, COALESCE(exit_code::text, '-'), failure), '' ORDER BY attempt)
		FROM hallmark.ledger_attempts a WHERE a.change_key = c.change_key) || E'\n  ' ||
	COALESCE((SELECT string_agg(format('%s %s from %s forced %s', verdict, attempt, state_before, CASE WHEN forced THEN 'true' ELSE 'false' END), E'\n  ' ORDER BY id)
		FROM hallmark.ledger_decisions d WHERE d.change_key = c.change_key), ''),
	-- What one column says, another does not deny.
	(failure = '') = (state <> 'FAILED') AND jsonb_array_length(invariants) <= 1 AND
	executor = 'executor ' || substr((SELECT token::text FROM hallmark.ledger_attempts a WHERE (a.change_key, a.attempt) = (c.change_key, c.attempt)), 23, 1) AND
	(job_uid, source_revision, schema_version) = (executor, executor, executor) AND
	NOT EXISTS (SELECT FROM hallmark.ledger_attempts a WHERE a.change_key = c.change_key AND ((state = 'RUNNING') <> (finished_at IS NULL) OR started_at > finished_at
		OR job_uid <> executor OR source_revision <> executor OR a.attempt = c.attempt AND (a.state, a.started_at, a.executor, a.result_digest) IS DISTINCT FROM (c.state, c.started_at, c.executor, c.result_digest)))
FROM hallmark.ledger_changes c WHERE change_key = ANY($1)`

// rows are what the tables hold of the keys.
func (b *table) rows(t testing.TB, keys []string) map[string]string {
	rows, err := b.conn.Query(context.Background(), describe, keys)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	var key, row string
	var sane bool
	if _, err := pgx.ForEachRow(rows, []any{&key, &row, &sane}, func() error {
		if !sane {
			row += "\nand columns that deny each other"
		}
		out[key] = row
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// compare reports where a history is not what the model says.
func compare(got string, there bool, m *model) string {
	if !there {
		got = "nothing"
	}
	if want := m.String(); got != want {
		return fmt.Sprintf("the tables hold\n%s\nwant\n%s", got, want)
	}
	// A command runs as often as people decided that it may run again, and once more.
	if had, open := m.grants(); had+open > 1+m.retries() {
		return fmt.Sprintf("granted %d times, and %d may be, after %d decisions", had, open, m.retries())
	}
	return ""
}

// copies makes histories from .. from+count-1 that are like n.
func (b *table) copies(t testing.TB, n, from, count int64) {
	const to = `(SELECT lpad(to_hex(n), 8, '0') AS number FROM generate_series($2::bigint, $3::bigint) n) AS copies`
	const record = `(jsonb_populate_record(c, jsonb_build_object('change_key', 'history:' || number, 'token', number || substr(token::text, 9)))).*`
	for _, sql := range []string{
		`INSERT INTO hallmark.ledger_changes SELECT ` + record + ` FROM hallmark.ledger_changes c, ` + to + ` WHERE change_key = $1`,
		`INSERT INTO hallmark.ledger_attempts SELECT ` + record + ` FROM hallmark.ledger_attempts c, ` + to + ` WHERE change_key = $1`,
		`INSERT INTO hallmark.ledger_decisions (change_key, attempt, verdict, issued, reason, evidence, decided_by, decided_at, state_before, lease_before, forced)
SELECT 'history:' || number, attempt, verdict, issued, reason, evidence, decided_by, decided_at, state_before, lease_before, forced
FROM hallmark.ledger_decisions, ` + to + ` WHERE change_key = $1 ORDER BY decided_at`,
	} {
		if _, err := b.conn.Exec(context.Background(), sql, keyOf(n), from, from+count-1); err != nil {
			t.Error(err)
		}
	}
}

// A spot is where a history is after some operations.
type spot struct {
	m    *model
	n    int64
	path []op
}

// The test does everything that executors and a person can do, on the real tables, and
// compares each answer and what the tables hold afterwards with the model. Histories
// share their beginning, as copies of its rows. Those that meet go on as one: up to a
// depth where all three tables hold the same, beyond it where the answers depend on the
// same.
func TestEveryHistory(t *testing.T) {
	t.Parallel()
	depth := 5
	if testing.Short() {
		depth = 3
	}
	t.Run(fmt.Sprintf("of %d operations", depth), func(t *testing.T) {
		t.Parallel()
		explore(t, depth, 1000, func(m *model) string { return m.String() + m.place() })
	})
	t.Run("of 3 attempts", func(t *testing.T) {
		t.Parallel()
		explore(t, 1000, 3, (*model).place)
	})
}

// explore goes on until it has done so many operations, or claimed so many attempts, or
// has been everywhere.
func explore(t *testing.T, depth, attempts int, meet func(*model) string) {
	_, dsn := installed(t)
	pgtest.Start(t).Exec(t, dsn, "CREATE INDEX ON hallmark.ledger_decisions (change_key)") // there are few where people decide
	tables := []*table{newTable(t, dsn), newTable(t, dsn)}
	var next atomic.Int64
	start := &model{}
	seen, level := map[string]bool{meet(start): true}, []spot{{m: start}}
	answers, did, longest := map[string]int{}, 0, 0
	for ; len(level) > 0 && longest < depth; longest++ {
		found := make([][]spot, len(level))
		told := make([][]string, len(level))
		work := make(chan int)
		var wg sync.WaitGroup
		for _, b := range tables {
			wg.Go(func() {
				for i := range work {
					found[i], told[i] = b.expand(t, level[i], &next)
				}
			})
		}
		for i := range level {
			work <- i
		}
		close(work)
		wg.Wait()
		if t.Failed() {
			return
		}
		level = level[:0]
		for i := range found {
			did += len(found[i])
			for _, answer := range told[i] {
				answers[strings.TrimRight(strings.SplitN(answer, " ", 2)[0], ":")]++
			}
			for _, s := range found[i] {
				if !seen[meet(s.m)] && len(s.m.attempts) <= attempts {
					seen[meet(s.m)] = true
					level = append(level, s)
				}
			}
		}
	}
	t.Logf("%d operations, at most %d in a row, %d different states of the tables, answers %v", did, longest, len(seen), answers)
	for _, answer := range []string{"granted", "not", "held", "lost", "completed", "decided", "refused"} {
		if answers[answer] == 0 {
			t.Errorf("nobody was told %q", answer)
		}
	}
}

// expand does all that can be done, each to a copy of the history.
func (b *table) expand(t testing.TB, from spot, next *atomic.Int64) (found []spot, answers []string) {
	if t.Failed() {
		return nil, nil
	}
	ops := from.m.ops()
	first := next.Add(int64(len(ops))) - int64(len(ops)) + 1
	b.copies(t, from.n, first, int64(len(ops)))
	canComplete := 0
	var keys []string
	for i, o := range ops {
		s := spot{from.m.clone(), first + int64(i), append(slices.Clone(from.path), o)}
		got, want := b.do(context.Background(), s.n, o), s.m.do(o)
		if got != want {
			t.Errorf("%v: told %q, want %q", s.path, got, want)
		}
		if from.m.state == ledger.Running && o.what == "succeed" && got == "completed" {
			canComplete++
		}
		found, answers, keys = append(found, s), append(answers, got), append(keys, keyOf(s.n))
	}
	if canComplete > 1 {
		t.Errorf("%v: %d executors can complete it", from.path, canComplete)
	}
	rows := b.rows(t, keys)
	for _, s := range found {
		row, there := rows[keyOf(s.n)]
		if differs := compare(row, there, s.m); differs != "" {
			t.Errorf("%v: %s", s.path, differs)
		}
	}
	return found, answers
}

// history carries out operations that choose picks, one after the other, on one row.
func (b *table) history(t testing.TB, n int64, choose func(*model) (op, bool)) *model {
	m := &model{}
	var path []op
	for {
		o, more := choose(m)
		if !more {
			return m
		}
		path = append(path, o)
		want := m.do(o)
		if got := b.do(context.Background(), n, o); got != want {
			t.Fatalf("%v: told %q, want %q", path, got, want)
		}
		row, there := b.rows(t, []string{keyOf(n)})[keyOf(n)]
		if differs := compare(row, there, m); differs != "" {
			t.Fatalf("%v: %s", path, differs)
		}
	}
}

// Long histories of one row, by chance: what only many operations bring about.
func TestLongHistories(t *testing.T) {
	t.Parallel()
	_, dsn := installed(t)
	for seed := range int64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			b := newTable(t, dsn)
			random := rand.New(rand.NewPCG(uint64(seed), 0)) //nolint:gosec // the same histories each time
			left := 200
			m := b.history(t, seed, func(m *model) (op, bool) {
				left--
				return pick(random, m), left >= 0
			})
			if len(m.attempts) < 5 {
				t.Errorf("only %d attempts in a long history", len(m.attempts))
			}
		})
	}
}

// Rows that no operation makes, but an administrator could: an issued attempt is claimed
// where the change is FAILED, and nowhere else.
func TestOddRows(t *testing.T) {
	t.Parallel()
	_, dsn := installed(t)
	b := newTable(t, dsn)
	for n, c := range []struct{ sql, claim, retry string }{
		{"state = 'RUNNING', finished_at = NULL, lease_until = clock_timestamp() + interval '1 hour'", "not granted: RUNNING, attempt 1, over false", "refused: lease is not over"},
		{"state = 'RUNNING', finished_at = NULL, lease_until = clock_timestamp()", "not granted: RUNNING, attempt 1, over true", "decided retry 1 from RUNNING forced false"},
		{"state = 'SUCCEEDED'", "not granted: SUCCEEDED, attempt 1, over false", "refused: is recorded as SUCCEEDED"},
		{"state = 'FAILED'", "granted 3", "refused: lease is not over"},
	} {
		m, id := &model{}, int64(n)
		for _, what := range []string{"claim", "fail"} {
			o := op{what: what, token: cmp.Or(m.held[0], m.fresh(0))}
			if got, want := b.do(t.Context(), id, o), m.do(o); got != want {
				t.Fatalf("told %q, want %q", got, want)
			}
		}
		pgtest.Start(t).Exec(t, dsn, "UPDATE hallmark.ledger_changes SET issued = 3, "+c.sql+" WHERE change_key = '"+keyOf(id)+"'")
		if got := b.do(t.Context(), id, op{what: "claim", who: 1, token: m.fresh(1)}); got != c.claim {
			t.Errorf("%s: a claim is told %q, want %q", c.sql, got, c.claim)
		}
		if got := b.do(t.Context(), id, op{what: "recover", how: ledger.Recovery{Verdict: ledger.Retry}}); got != c.retry {
			t.Errorf("%s: a decision is told %q, want %q", c.sql, got, c.retry)
		}
	}
}

// A byte is an operation.
func FuzzHistory(f *testing.F) {
	f.Add([]byte("\x04\x05\x0b\x13\x07\x08\x09"))
	_, dsn := installed(f)
	b := newTable(f, dsn)
	n := int64(0)
	f.Fuzz(func(t *testing.T, data []byte) {
		n++
		b.history(t, n, func(m *model) (op, bool) {
			if len(data) == 0 {
				return op{}, false
			}
			o := m.ops()[int(data[0])%len(m.ops())]
			data = data[1:]
			return o, true
		})
	})
}
