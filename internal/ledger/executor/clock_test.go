package executor

import (
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/pgtest"
)

// The end of a lease is a reading of the monotonic clock, from the claim and after each
// renewal: a wall clock that is set meanwhile changes nothing.
func TestMonotonic(t *testing.T) {
	t.Parallel()
	db, err := ledger.Open(ledger.Config{DSN: pgtest.Start(t).Database(t), Source: "the test"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	o := &Options{Ledger: ledger.New(db, ""), Request: ledger.Request{Key: "k", Lease: 15 * time.Second, Token: "00000000-0000-4000-8000-000000000001"}}
	if err := o.Ledger.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	asked := time.Now()
	if c, err := o.Ledger.Claim(t.Context(), o.Request); err != nil || !c.Granted {
		t.Fatalf("%+v, %v", c, err)
	}
	k := keep(t.Context(), o, asked)
	defer k.release()
	first := k.deadline()
	for k.deadline().Equal(first) {
		select {
		case <-k.lost:
			t.Fatalf("the lease is lost: %s", k.reason())
		case <-time.After(10 * time.Millisecond):
		}
	}
	for _, end := range []time.Time{first, k.deadline()} {
		if !strings.Contains(end.String(), " m=") {
			t.Errorf("%s is a reading of the wall clock", end)
		}
	}
}
