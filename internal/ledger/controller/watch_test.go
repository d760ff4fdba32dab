package controller

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/controller/apitest"
	"hallmark.dev/hallmark/internal/ledger/projection"
	"hallmark.dev/hallmark/internal/pgtest"
)

// A change from nothing to its end, and nothing written that is not new.
func TestWatch(t *testing.T) {
	t.Parallel()
	f := set(t)
	f.api.Put(asks("shop", "a", first))
	f.watch(t)
	f.is(t, "shop", "a", "Ready", "False NotRecorded")
	f.claim(t, first, hour)
	f.is(t, "shop", "a", "Ready", "False Running")
	if _, done, err := f.ledger.Complete(t.Context(), first, token, ledger.Outcome{State: ledger.Succeeded}); err != nil || !done {
		t.Fatalf("got %v, %v", done, err)
	}
	o := f.is(t, "shop", "a", "Ready", "True Succeeded")
	if o.Status.Summary != "1/1" || o.Status.ObservedGeneration != 1 {
		t.Errorf("got %+v", o.Status)
	}
	f.looks(t, 3)
	if n := f.count("patch"); n != 3 {
		t.Errorf("got %d writes of three statuses", n)
	}
	f.rights(t)
	for _, change := range []string{"none to ABSENT", "ABSENT to RUNNING", "RUNNING to SUCCEEDED"} {
		if !strings.Contains(f.log.String(), `"`+first+": "+change+`"`) {
			t.Errorf("%q is not logged", change)
		}
	}
}

// Nothing happens in the cluster and nothing in the database when a lease runs out.
func TestLeaseRunsOut(t *testing.T) {
	t.Parallel()
	f := set(t)
	f.claim(t, first, time.Second)
	f.api.Put(asks("shop", "a", first))
	f.watch(t)
	o := f.is(t, "shop", "a", "LeaseExpired", "True Investigate")
	if condition(o, "Stalled") != "True LeaseExpired" || condition(o, "Ready") != "False LeaseExpired" {
		t.Errorf("got %+v", o.Status.Conditions)
	}
}

// With an hour between looks, what changes in the cluster is served nevertheless, and
// many changes at once by few queries.
func TestChangesAreServedSoon(t *testing.T) {
	t.Parallel()
	f := set(t, func(o *Options) { o.Interval = hour })
	f.record(t, first)
	f.api.Put(asks("shop", "a", first))
	f.watch(t)
	f.is(t, "shop", "a", "Ready", "True Succeeded")
	f.api.Put(asks("shop", "a", first, second))
	o := f.is(t, "shop", "a", "Ready", "False NotRecorded")
	if o.Status.ObservedGeneration != 2 {
		t.Errorf("got generation %d", o.Status.ObservedGeneration)
	}
	stamped := asks("shop", "a", first)
	stamped.Spec.Changes[0].RequireRenderedRevision = true
	f.api.Put(stamped)
	f.is(t, "shop", "a", "Ready", "False RevisionNotStamped")
	stamped.Annotations = map[string]string{projection.AnnotationSourceRevision: "4f1c2ad"}
	f.api.Put(stamped)
	f.is(t, "shop", "a", "Ready", "True Succeeded")

	const many = 200
	before, began := f.queries(t), time.Now()
	for i := range many {
		f.api.Put(asks("shop", fmt.Sprint("l", i), first))
	}
	for i := range many {
		f.is(t, "shop", fmt.Sprint("l", i), "Ready", "True Succeeded")
	}
	// One for each second that the machine took for them, and the one that goes on.
	if took, most := f.queries(t)-before, time.Since(began).Seconds()+1; took > most {
		t.Errorf("%d objects took %v queries, want at most %v", many, took, most)
	}
}

// The status that another writer spoiled is put right.
func TestSpoiledStatus(t *testing.T) {
	t.Parallel()
	f := set(t)
	f.record(t, first)
	f.api.Put(asks("shop", "a", first))
	f.watch(t)
	f.is(t, "shop", "a", "Ready", "True Succeeded")
	f.api.SetStatus("shop", "a", projection.Status{ObservedGeneration: 1, Summary: "9/9"})
	f.is(t, "shop", "a", "Ready", "True Succeeded")
}

// A database that goes away leaves the facts as they were and says so, a new object is
// told without a query, and a new generation is not observed.
func TestDatabaseGoesAway(t *testing.T) {
	t.Parallel()
	var proxy *pgtest.Proxy
	f := set(t, func(o *Options) {
		dsn, l := installed(t)
		(&fixture{ledger: l}).record(t, first)
		proxy = pgtest.NewProxy(t, dsn)
		db, err := ledger.Open(ledger.Config{DSN: proxy.DSN, Source: "the test", Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		o.Databases = func(_ string, use func(*ledger.DB) error) error { return use(db) }
	})
	f.api.Put(asks("shop", "a", first))
	f.watch(t)
	f.is(t, "shop", "a", "Ready", "True Succeeded")
	proxy.Cut()
	o := f.is(t, "shop", "a", "DatabaseUnreachable", "True Unreachable")
	if condition(o, "Ready") != "True Succeeded" || o.Status.ObservedGeneration != 1 || len(o.Status.Changes) != 1 {
		t.Errorf("got %+v, want the facts as they were", o.Status)
	}
	f.api.Put(asks("shop", "b", first))
	f.is(t, "shop", "b", "Ready", "False DatabaseUnreachable")
	f.api.Put(asks("shop", "a", first, second))
	for range 2 { // looks that begin after the change
		n := f.metric(t, `hallmark_ledger_queries_total{result="Unreachable"}`)
		eventually(t, "further tries", func() bool { return f.metric(t, `hallmark_ledger_queries_total{result="Unreachable"}`) > n })
	}
	if o := f.api.Get("shop", "a"); o.Status.ObservedGeneration != 1 || o.Generation != 2 {
		t.Errorf("generation %d was observed as %d", o.Generation, o.Status.ObservedGeneration)
	}
	proxy.Mend()
	f.is(t, "shop", "a", "Ready", "False NotRecorded")
	if o := f.is(t, "shop", "b", "Ready", "True Succeeded"); condition(o, "DatabaseUnreachable") != "" {
		t.Errorf("got %+v", o.Status.Conditions)
	}
	for _, message := range []string{`"msg":"the database cannot be read"`, `"msg":"the database can be read again"`} {
		if n := strings.Count(f.log.String(), message); n != 1 {
			t.Errorf("%s is logged %d times", message, n)
		}
	}
}

// What a database that does not answer costs, the others do not pay.
func TestDatabasesAreIndependent(t *testing.T) {
	t.Parallel()
	hangs := make(chan struct{})
	f := set(t, func(o *Options) {
		others := o.Databases
		o.Databases = func(name string, use func(*ledger.DB) error) error {
			if name == "hangs" {
				<-hangs
			}
			return others("default", use)
		}
	})
	defer close(hangs)
	other := asks("shop", "hangs", first)
	other.Spec.Database = "hangs"
	f.api.Put(other)
	f.api.Put(asks("shop", "a", first))
	f.watch(t)
	f.is(t, "shop", "a", "Ready", "False NotRecorded")
	f.record(t, first)
	f.is(t, "shop", "a", "Ready", "True Succeeded")
	if o := f.api.Get("shop", "hangs"); len(o.Status.Conditions) > 0 {
		t.Errorf("got %+v", o.Status)
	}
}

// Each refusal is tried again, and holds up no other object.
func TestRefusedWritesAreTriedAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code   int32
		reason metav1.StatusReason
		result string
	}{
		"busy":      {429, metav1.StatusReasonTooManyRequests, patchBusy},
		"broken":    {500, metav1.StatusReasonInternalError, patchFailed},
		"starting":  {503, metav1.StatusReasonServiceUnavailable, patchFailed},
		"conflict":  {409, metav1.StatusReasonConflict, patchConflict},
		"forbidden": {403, metav1.StatusReasonForbidden, patchForbidden},
		"invalid":   {422, metav1.StatusReasonInvalid, patchRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := set(t)
			var refused atomic.Int64
			f.api.Refuse(func(r apitest.Request) *metav1.Status {
				if r.Verb == "patch" && r.Name == "a" && refused.Add(1) <= 2 {
					return apitest.Status(tc.code, tc.reason)
				}
				return nil
			})
			f.api.Put(asks("shop", "a", first))
			f.api.Put(asks("shop", "b", first))
			f.watch(t)
			f.is(t, "shop", "b", "Ready", "False NotRecorded")
			f.is(t, "shop", "a", "Ready", "False NotRecorded")
			eventually(t, "writes counted", func() bool {
				return f.metric(t, `hallmark_ledger_status_writes_total{result="written"}`) == 2
			})
			if n := f.metric(t, `hallmark_ledger_status_writes_total{result="`+tc.result+`"}`); n != 2 {
				t.Errorf("got %v refusals, want 2", n)
			}
		})
	}
}

// An API server that refuses everything is not asked for every object at every look.
func TestOverload(t *testing.T) {
	t.Parallel()
	f := set(t, func(o *Options) { o.Interval = hour })
	f.api.Refuse(func(r apitest.Request) *metav1.Status {
		if r.Verb == "patch" {
			return apitest.Status(503, metav1.StatusReasonServiceUnavailable)
		}
		return nil
	})
	for i := range 50 {
		f.api.Put(asks("shop", fmt.Sprint("l", i), first))
	}
	f.watch(t)
	eventually(t, "writes", func() bool { return f.count("patch") >= maxFailures })
	f.api.Put(asks("shop", "new", first)) // another look
	f.looks(t, 1)
	eventually(t, "writes", func() bool { return f.count("patch") >= 2*maxFailures })
	if n := f.count("patch"); n != 2*maxFailures {
		t.Errorf("got %d writes in two looks, want %d", n, 2*maxFailures)
	}
}

// Objects come, change their database and go; nothing is written to those that are gone.
func TestComeAndGo(t *testing.T) {
	t.Parallel()
	f := set(t, func(o *Options) { o.Namespace = "shop" })
	f.watch(t)
	f.api.Put(asks("web", "other", first))
	f.api.Put(asks("shop", "a", first))
	f.is(t, "shop", "a", "Ready", "False NotRecorded")
	moved := asks("shop", "a", first)
	moved.Spec.Database = "elsewhere"
	f.api.Put(moved)
	f.is(t, "shop", "a", "DatabaseUnreachable", "True DatabaseNotConfigured")
	f.api.Delete("shop", "a")
	eventually(t, "forgotten sources", func() bool {
		f.turns.mu.Lock()
		defer f.turns.mu.Unlock()
		return len(f.turns.of) == 0
	})
	f.api.Put(asks("shop", "b", first))
	f.is(t, "shop", "b", "Ready", "False NotRecorded")
	if o := f.api.Get("web", "other"); len(o.Status.Conditions) > 0 {
		t.Error("wrote to another namespace")
	}
	f.rights(t)
}

// A watch that starts without the definition or without the right to list ends with a
// reason; one that loses them goes on.
func TestWatchRefused(t *testing.T) {
	t.Parallel()
	f := set(t)
	f.api.Refuse(func(apitest.Request) *metav1.Status { return apitest.Status(404, metav1.StatusReasonNotFound) })
	if err := f.Watch(t.Context()); err == nil || err.Error() != "listing MigrationLedgers: the API server knows no MigrationLedger" {
		t.Errorf("got %v", err)
	}
	f = set(t)
	var forbid atomic.Bool
	f.api.Refuse(func(r apitest.Request) *metav1.Status {
		if forbid.Load() && r.Verb != "patch" || r.Verb == "watch" && !forbid.Swap(true) {
			return apitest.Status(403, metav1.StatusReasonForbidden)
		}
		return nil
	})
	f.api.Put(asks("shop", "a", first))
	f.watch(t)
	f.is(t, "shop", "a", "Ready", "False NotRecorded")
	eventually(t, "words in the log", func() bool {
		return strings.Contains(f.log.String(), "watching MigrationLedgers: the API server forbids it")
	})
	f.record(t, first) // what is known goes on to be served, and is not written twice
	f.is(t, "shop", "a", "Ready", "True Succeeded")
	f.looks(t, 3)
	if n := f.count("patch"); n != 2 {
		t.Errorf("got %d writes of two statuses that the watch does not show", n)
	}
	forbid.Store(false)
	f.api.Refuse(nil)
	f.api.Put(asks("shop", "b", first))
	f.is(t, "shop", "b", "Ready", "True Succeeded")
}

func TestWatchEnds(t *testing.T) {
	t.Parallel()
	f := set(t)
	f.api.Put(asks("shop", "a", first))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Watch(ctx) }()
	f.is(t, "shop", "a", "Ready", "False NotRecorded")
	stop()
	if err := <-ended; err != nil {
		t.Errorf("got %v", err)
	}
}
