package projection

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hallmark.dev/hallmark/internal/ledger"
)

// A history of random looks at random records, of which each status is checked against
// what the rules say of the records themselves.
func TestRandomReadings(t *testing.T) {
	t.Parallel()
	const histories, looks = 1000, 6
	counted := map[string]int{}
	for seed := range uint64(histories) {
		r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the same histories each time
		o := randomObject(r)
		now := looked
		for range looks {
			now = now.Add(time.Duration(r.IntN(100)) * time.Second)
			if r.IntN(4) == 0 {
				o.Generation++
				o.Spec = randomObject(r).Spec
			}
			reading := randomReading(r, o, now)
			untouched := o.DeepCopyObject()
			status := Project(o, reading)
			if !reflect.DeepEqual(untouched, o.DeepCopyObject()) {
				t.Fatalf("seed %d: the object changed:\n%s", seed, cmp.Diff(untouched, o.DeepCopyObject()))
			}
			counted[check(t, seed, o, reading, status)]++
			if t.Failed() {
				return
			}
			// What is stored is what was computed, and is computed again.
			text, err := json.Marshal(status)
			if err != nil {
				t.Fatal(err)
			}
			o.Status = Status{}
			if err := json.Unmarshal(text, &o.Status); err != nil {
				t.Fatal(err)
			}
			reading.Now = now.Add(time.Second)
			if !Equal(o.Status, status) || !Equal(Project(o, reading), status) {
				t.Fatalf("seed %d: the same look makes another status: %s", seed, cmp.Diff(status, Project(o, reading)))
			}
		}
	}
	for _, verdict := range []string{"True", "Reconciling", "Stalled", "fault"} {
		if counted[verdict] < histories/100 {
			t.Errorf("only %d of %d looks are %s: the test would miss too much", counted[verdict], histories*looks, verdict)
		}
	}
}

// good says by the records alone whether a change may count as done.
func good(o *MigrationLedger, want ChangeSpec, c *ledger.Change, there bool) bool {
	if !there || c.State != ledger.Succeeded || o.Spec.Target != "" && c.Target != o.Spec.Target {
		return false
	}
	if want.SourceRevision != "" && want.SourceRevision != c.SourceRevision {
		return false
	}
	if want.RequireRenderedRevision && (c.SourceRevision == "" || c.SourceRevision != o.Annotations["hallmark.dev/source-revision"]) {
		return false
	}
	holding := map[string]bool{}
	for _, i := range c.Invariants {
		if i.Holds == nil || !*i.Holds {
			return false
		}
		holding[i.Name] = true
	}
	return !slices.ContainsFunc(want.Invariants, func(name string) bool { return !holding[name] })
}

// check returns what the status is: True, Reconciling, Stalled or fault.
func check(t *testing.T, seed uint64, o *MigrationLedger, r Reading, status Status) string {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Errorf("seed %d: %s\nspec %+v\nrecords %+v\nstatus %+v", seed, fmt.Sprintf(format, args...), o.Spec, r.Records, status)
	}
	is := map[string]metav1.Condition{}
	for _, c := range status.Conditions {
		if _, twice := is[c.Type]; twice {
			fail("%s is there twice", c.Type)
		}
		is[c.Type] = c
		if len(c.Message) > 32768 || c.Reason == "" || c.LastTransitionTime.IsZero() {
			fail("%s is no condition that the API server takes", c.Type)
		}
		for _, old := range o.Status.Conditions {
			if old.Type == c.Type && (old.Status == c.Status) != old.LastTransitionTime.Equal(&c.LastTransitionTime) && !r.Now.Truncate(time.Second).Equal(old.LastTransitionTime.Time) {
				fail("%s went from %s to %s and its time from %s to %s", c.Type, old.Status, c.Status, old.LastTransitionTime, c.LastTransitionTime)
			}
		}
	}
	unreadable := is["DatabaseUnreachable"].Status == metav1.ConditionTrue
	if unreadable != (r.Fault != "") {
		fail("DatabaseUnreachable is %v", unreadable)
	}
	if unreadable {
		if !reflect.DeepEqual(status.Changes, o.Status.Changes) || max(0, status.ObservedGeneration) != max(0, o.Status.ObservedGeneration) {
			fail("what was read before changed")
		}
		if o.Status.ObservedGeneration <= 0 && (is["Ready"].Reason != "DatabaseUnreachable" || is["Reconciling"].Reason != "DatabaseUnreachable") {
			fail("nothing was ever read, and it does not wait for that")
		}
		return "fault"
	}
	all, over := len(o.Spec.Changes) > 0, false
	for i, want := range o.Spec.Changes {
		c, there := r.Records[want.Key]
		all = all && good(o, want, c, there)
		over = over || there && c.State == ledger.Running && c.LeaseExpired && (o.Spec.Target == "" || c.Target == o.Spec.Target)
		if status.Changes[i].Key != want.Key {
			fail("entry %d is %s", i, status.Changes[i].Key)
		}
	}
	if isReady := is["Ready"].Status == metav1.ConditionTrue; isReady != all {
		fail("Ready is %v, want %v", isReady, all)
	}
	if _, found := is["LeaseExpired"]; found != over {
		fail("LeaseExpired is %v, want %v", found, over)
	}
	if status.ObservedGeneration != o.Generation {
		fail("got generation %d", status.ObservedGeneration)
	}
	_, waits := is["Reconciling"]
	_, stuck := is["Stalled"]
	switch {
	case all && !waits && !stuck:
		return "True"
	case !all && waits && !stuck && !over:
		return "Reconciling"
	case !all && stuck && !waits:
		return "Stalled"
	}
	fail("Ready is %v, Reconciling %v, Stalled %v", all, waits, stuck)
	return ""
}

// one of several; the first is the likely one.
func one[T any](r *rand.Rand, likely T, others ...T) T {
	if i := r.IntN(3 * len(others)); i < len(others) {
		return others[i]
	}
	return likely
}

func randomObject(r *rand.Rand) *MigrationLedger {
	o := &MigrationLedger{ObjectMeta: metav1.ObjectMeta{Generation: 1, Annotations: one(r, map[string]string{AnnotationSourceRevision: "r1"}, nil)}}
	o.Spec.Target = one(r, "", "east")
	for i := range 1 + r.IntN(3) {
		o.Spec.Changes = append(o.Spec.Changes, ChangeSpec{
			Key: fmt.Sprint("k", i), SourceRevision: one(r, "", "r1"), RequireRenderedRevision: one(r, false, true), Invariants: one(r, nil, []string{"a"}, []string{"b", "a"}),
		})
	}
	return o
}

func randomReading(r *rand.Rand, o *MigrationLedger, now time.Time) Reading {
	reading := Reading{Now: now, Records: map[string]*ledger.Change{}, Fault: one(r, "", NotConfigured, FaultOf(ledger.Denied))}
	for _, want := range o.Spec.Changes {
		if r.IntN(8) == 0 {
			continue
		}
		until := now.Add(time.Duration(r.IntN(1000)) * time.Millisecond)
		c := ledger.Change{
			Key: want.Key, State: one(r, ledger.Succeeded, ledger.Running, ledger.Failed, ledger.Unknown), Attempt: 1, Issued: one(r, 1, 2),
			SourceRevision: one(r, "r1", "r2", ""), Target: one(r, o.Spec.Target, "west", ""),
		}
		if c.State == ledger.Running {
			c.LeaseUntil, c.LeaseExpired = &until, one(r, false, true)
		}
		for _, name := range []string{"b", "a", "c"} {
			if r.IntN(2) == 0 {
				c.Invariants = append(c.Invariants, ledger.Invariant{Name: name, Holds: one(r, &yes, &no, nil), CheckedAt: one(r, &now, nil)})
			}
		}
		reading.Records[want.Key] = &c
	}
	return reading
}
