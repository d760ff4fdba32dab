package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"hallmark.dev/hallmark/internal/ledger"
)

// levels are PostgreSQL's. The ledger's rules hold in each, and nobody is told that
// transactions could not be put into an order.
var levels = []string{"read committed", "repeatable read", "serializable"}

// A crowd is executors with a connection each.
type crowd []*ledger.Ledger

func newCrowd(t testing.TB, dsn string) crowd {
	t.Helper()
	c := make(crowd, 50)
	errs := make([]error, len(c))
	for i := range c {
		_, c[i] = open(t, dsn)
	}
	atOnce(len(c), func(i int) { _, errs[i] = c[i].Version(context.Background()) }) // connects
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return c
}

// atOnce calls f with 0 .. n-1 at the same time.
func atOnce(n int, f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

// claim lets all of them claim a key and checks that exactly one is granted it, as the
// attempt given, and that the others see it at work.
func (c crowd) claim(t *testing.T, key string, round, attempt int) {
	t.Helper()
	claims, errs := make([]ledger.Claim, len(c)), make([]error, len(c))
	atOnce(len(c), func(i int) {
		claims[i], errs[i] = c[i].Claim(context.Background(), ledger.Request{
			Key: key, Executor: fmt.Sprint(i), Lease: hour, Token: fmt.Sprintf("%08x-0000-4000-8000-%012x", round, attempt*100+i),
		})
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("round %d: %v", round, err)
	}
	granted := slices.IndexFunc(claims, func(c ledger.Claim) bool { return c.Granted })
	for i, got := range claims {
		if got.Granted != (i == granted) || got.Change.State != ledger.Running || got.Change.Attempt != attempt || got.Change.Executor != fmt.Sprint(granted) {
			t.Errorf("round %d: %d is granted the claim, and executor %d is told %+v", round, granted, i, got)
		}
	}
	attempts, err := c[0].Attempts(context.Background(), []string{key})
	if err != nil || len(attempts) != attempt || granted >= 0 && attempts[attempt-1].Executor != fmt.Sprint(granted) {
		t.Errorf("round %d: the attempts are %+v, %v", round, attempts, err)
	}
}

func rounds(n int) int {
	if testing.Short() {
		return n / 20
	}
	return n
}

// Fifty executors claim a key at the same time, and then an attempt that a person issued,
// whether or not the attempt before it is done.
func TestFiftyClaim(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) { // one after the other: a server has so many connections
			_, dsn := installed(t)
			isolate(t, dsn, level)
			c := newCrowd(t, dsn)
			keys, issued := rounds(1000), rounds(100)
			if level != levels[0] {
				keys, issued = rounds(40), rounds(40)
			}
			t.Run("a key", func(t *testing.T) {
				for round := 1; round <= keys && !t.Failed(); round++ {
					c.claim(t, fmt.Sprintf("round:%d", round), round, 1)
				}
			})
			t.Run("an issued attempt", func(t *testing.T) {
				c.claim(t, key, 0, 1)
				for attempt := 2; attempt <= issued && !t.Failed(); attempt++ {
					if _, _, err := c[0].Recover(t.Context(), ledger.Recovery{Key: key, Verdict: ledger.Retry, Reason: "r", Evidence: "e", ForceLive: true}); err != nil {
						t.Fatal(err)
					}
					c.claim(t, key, 0, attempt)
				}
			})
		})
	}
}

// The test lets executors and people do different things to one change at the same time.
// What they are told and what the tables hold must be what the model says of the same
// operations one after the other, in some order.
func TestAtTheSameTime(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			_, dsn := installed(t)
			isolate(t, dsn, level)
			tables := make([]*table, 6)
			for i := range tables {
				tables[i] = newTable(t, dsn)
			}
			random := rand.New(rand.NewPCG(6, uint64(len(level)))) //nolint:gosec // the same operations each time
			several := 0
			for round := range rounds(200) {
				m := &model{}
				for left := random.IntN(8); left >= 0; left-- { // begins anywhere
					o := pick(random, m)
					if got, want := tables[0].do(t.Context(), int64(round), o), m.do(o); got != want {
						t.Fatalf("%s: told %q, want %q", o, got, want)
					}
				}
				ops := make([]op, len(tables))
				for i := range ops {
					ops[i] = pick(random, m)
					if ops[i].token != "" && strings.HasPrefix(ops[i].what, "claim") {
						ops[i].token = fmt.Sprintf("8%03d-9%011d", ops[i].who, i) // nobody else's
					}
				}
				told := make([]string, len(ops))
				atOnce(len(ops), func(i int) { told[i] = tables[i].do(context.Background(), int64(round), ops[i]) })
				row, there := tables[0].rows(t, []string{keyOf(int64(round))})[keyOf(int64(round))]
				if order := m.order(ops, told, func(m *model) bool { return compare(row, there, m) == "" }); order == nil {
					t.Fatalf("from %s\nat the same time\n%v\nare told\n%q\nand leave\n%s", m, ops, told, row)
				}
				changed := 0
				for _, s := range told {
					if strings.HasPrefix(s, "granted") || strings.HasPrefix(s, "completed") || strings.HasPrefix(s, "decided") {
						changed++
					}
				}
				if changed > 1 {
					several++
				}
			}
			if n := rounds(200); several < n/10 {
				t.Errorf("in %d of %d rounds more than one operation did something", several, n)
			}
		})
	}
}

// order is an order of the operations, done one after the other, in which each caller is
// told what it was, and that leaves what it should; nil where there is none. One who may
// not go on is told what stands there a moment later.
func (m *model) order(ops []op, told []string, left func(*model) bool) []op {
	if len(ops) == 0 {
		if left(m) {
			return []op{}
		}
		return nil
	}
	for i, o := range ops {
		after := m.clone()
		got, want := told[i], after.do(o)
		if got != want && !(strings.HasPrefix(got, "not granted") && strings.HasPrefix(want, "not granted")) {
			continue
		}
		if rest := after.order(slices.Delete(slices.Clone(ops), i, i+1), slices.Delete(slices.Clone(told), i, i+1), left); rest != nil {
			return append([]op{o}, rest...)
		}
	}
	return nil
}

// pick is one of the operations by chance. A person has the most, and most do nothing in
// most states: half of the time it is a claim, and half of the time one that does something.
func pick(random *rand.Rand, m *model) op {
	ops := m.ops()
	keep := func(f func(op) bool) {
		if some := slices.DeleteFunc(slices.Clone(ops), func(o op) bool { return !f(o) }); len(some) > 0 {
			ops = some
		}
	}
	if random.IntN(2) == 0 {
		keep(func(o op) bool {
			after := m.clone()
			after.do(o)
			return after.String() != m.String()
		})
	}
	what := ops[random.IntN(len(ops))].what
	if random.IntN(3) == 0 {
		what = "claim"
	}
	keep(func(o op) bool { return strings.HasPrefix(o.what, what) })
	return ops[random.IntN(len(ops))]
}
