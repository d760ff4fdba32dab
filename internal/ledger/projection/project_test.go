package projection

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"hallmark.dev/hallmark/internal/ledger"
)

var update = flag.Bool("update", false, "write the goldens anew")

const (
	index  = "shop:add-order-index:v3"
	totals = "shop:fill-totals:v1"
)

var (
	began  = time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)
	looked = began.Add(time.Hour)
	before = looked.Add(-time.Minute)
	lease  = began.Add(10 * time.Minute)
	ended  = began.Add(2 * time.Minute)
	yes    = true
	no     = false
)

// A verdict is a case of TestVerdicts and of the goldens.
type verdictCase struct {
	title           string // what the golden says of it
	health, kstatus string
	object          func(*MigrationLedger)
	records         []ledger.Change
	fault           Fault
	// ready is the status of the Ready condition, reason and the rest its own.
	ready, reason, message string
	conditions             string // the types of the others
	summary                string
}

func done(key string) ledger.Change {
	return ledger.Change{
		Key: key, State: ledger.Succeeded, SourceRevision: "4f1c2ad", Attempt: 1, Issued: 1, StartedAt: &began, FinishedAt: &ended,
		JobUID: "0c1d5f5e-6c2f-4a57-9d0e-6a2f0a8a1b11", ResultDigest: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", SchemaVersion: "42",
	}
}

func with(c ledger.Change, edit func(*ledger.Change)) ledger.Change {
	edit(&c)
	return c
}

func run(key string, expired bool) ledger.Change {
	return with(done(key), func(c *ledger.Change) {
		c.State, c.FinishedAt, c.ResultDigest, c.SchemaVersion = ledger.Running, nil, "", ""
		c.LeaseUntil, c.LeaseExpired = &lease, expired
	})
}

func failure(key string) ledger.Change {
	return with(done(key), func(c *ledger.Change) {
		c.State, c.Failure, c.ResultDigest, c.SchemaVersion = ledger.Failed, "the command ended with exit code 3", "", ""
	})
}

func checked(key string, holds *bool) ledger.Change {
	return with(done(key), func(c *ledger.Change) {
		c.Invariants = []ledger.Invariant{
			{Name: "totals-match", Holds: &yes, CheckedAt: &ended}, {Name: "no-null-totals", Holds: holds, CheckedAt: &ended, Detail: "the query returned false"},
		}
		if holds == nil || *holds {
			c.Invariants[1].Detail = ""
		}
	})
}

// readBefore is the object after an earlier look that found these records.
func readBefore(records ...ledger.Change) func(*MigrationLedger) {
	return func(o *MigrationLedger) {
		o.Generation--
		o.Status = Project(o, Reading{Records: byKey(records), Now: before})
		o.Generation++
		o.Status.ObservedGeneration = o.Generation
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].ObservedGeneration = o.Generation
		}
	}
}

func byKey(records []ledger.Change) map[string]*ledger.Change {
	m := map[string]*ledger.Change{}
	for i, r := range records {
		m[r.Key] = &records[i]
	}
	return m
}

var verdictCases = map[string]verdictCase{
	"succeeded": {
		title: "both changes are recorded as done", health: "Healthy", kstatus: "Current",
		records: []ledger.Change{done(index), checked(totals, &yes)},
		ready:   "True", reason: "Succeeded", message: "recorded as done: " + index + ", " + totals, summary: "2/2",
	},
	"nothing-recorded": {
		title: "nothing is recorded", health: "Progressing", kstatus: "InProgress",
		ready: "False", reason: "NotRecorded", message: "waiting for " + index + ", " + totals, conditions: "Reconciling", summary: "0/2",
	},
	"one-recorded": {
		title: "one of two is recorded", health: "Progressing", kstatus: "InProgress",
		records: []ledger.Change{done(index)},
		ready:   "False", reason: "NotRecorded", message: "waiting for " + totals, conditions: "Reconciling", summary: "1/2",
	},
	"running": {
		title: "one runs, and its lease is not over", health: "Progressing", kstatus: "InProgress",
		records: []ledger.Change{run(index, false), done(totals)},
		ready:   "False", reason: "Running", message: "running: " + index, conditions: "Reconciling", summary: "1/2",
	},
	"lease-expired": {
		title: "one was run by somebody who is gone", health: "Degraded", kstatus: "Failed",
		records: []ledger.Change{run(index, true)},
		ready:   "False", reason: "LeaseExpired", message: "investigate, do not re-run: " + index + ": the lease ended at 2026-01-02T03:14:05Z",
		conditions: "Stalled LeaseExpired", summary: "0/2",
	},
	"failed": {
		title: "one failed", health: "Degraded", kstatus: "Failed",
		records: []ledger.Change{done(index), failure(totals)},
		ready:   "False", reason: "Failed", message: "failed: " + totals, conditions: "Stalled", summary: "1/2",
	},
	"failed-and-lease-expired": {
		title: "one failed, the lease of the other is over", health: "Degraded", kstatus: "Failed",
		records: []ledger.Change{run(index, true), failure(totals)},
		ready:   "False", reason: "Failed", message: "failed: " + totals, conditions: "Stalled LeaseExpired", summary: "0/2",
	},
	"attempt-issued": {
		title: "one failed, and a person issued a new attempt, which has not begun", health: "Progressing", kstatus: "InProgress",
		records: []ledger.Change{with(failure(index), func(c *ledger.Change) { c.Issued = 2 }), done(totals)},
		ready:   "False", reason: "NotRecorded", message: "waiting for " + index + " (attempt 2)", conditions: "Reconciling", summary: "1/2",
	},
	"invariant-broken": {
		title: "one is done and not well", health: "Degraded", kstatus: "Failed",
		records: []ledger.Change{done(index), checked(totals, &no)},
		ready:   "False", reason: "InvariantBroken", message: "an invariant is broken: " + totals + " (no-null-totals)", conditions: "Stalled", summary: "1/2",
	},
	"invariant-broken-by-another-revision": {
		title: "one is done by another revision than the one asked for, and not well", health: "Degraded", kstatus: "Failed",
		object:  func(o *MigrationLedger) { o.Spec.Changes[1].SourceRevision = "09be1f7" },
		records: []ledger.Change{done(index), checked(totals, &no)},
		ready:   "False", reason: "InvariantBroken", message: "an invariant is broken: " + totals + " (no-null-totals)", conditions: "Stalled", summary: "1/2",
	},
	"invariant-not-checked": {
		title: "one is done and could not be checked", health: "Progressing", kstatus: "InProgress",
		records: []ledger.Change{done(index), checked(totals, nil)},
		ready:   "False", reason: "InvariantUnchecked", message: "an invariant is not checked yet: " + totals + " (no-null-totals)", conditions: "Reconciling", summary: "1/2",
	},
	"invariant-not-recorded": {
		title: "one is done without the invariant that is asked for", health: "Progressing", kstatus: "InProgress",
		object:  func(o *MigrationLedger) { o.Spec.Changes[0].Invariants = []string{"index-is-valid"} },
		records: []ledger.Change{done(index), done(totals)},
		ready:   "False", reason: "InvariantUnchecked", message: "an invariant is not checked yet: " + index + " (index-is-valid)", conditions: "Reconciling", summary: "1/2",
	},
	"other-revision": {
		title: "one was recorded by another revision than the one asked for", health: "Progressing", kstatus: "InProgress",
		object:  func(o *MigrationLedger) { o.Spec.Changes[0].SourceRevision = "09be1f7" },
		records: []ledger.Change{done(index), done(totals)},
		ready:   "False", reason: "OtherRevision", message: "recorded by another revision: " + index + " by 4f1c2ad, not 09be1f7", conditions: "Reconciling", summary: "1/2",
	},
	"rendered-revision": {
		title: "recorded by the revision that the object was rendered from", health: "Healthy", kstatus: "Current",
		object: func(o *MigrationLedger) {
			o.Annotations = map[string]string{AnnotationSourceRevision: "4f1c2ad"}
			o.Spec.Changes[0].RequireRenderedRevision = true
		},
		records: []ledger.Change{done(index), done(totals)},
		ready:   "True", reason: "Succeeded", message: "recorded as done: " + index + ", " + totals, summary: "2/2",
	},
	"rendered-revision-is-another": {
		title: "recorded by a revision before the one that the object was rendered from", health: "Progressing", kstatus: "InProgress",
		object: func(o *MigrationLedger) {
			o.Annotations = map[string]string{AnnotationSourceRevision: "77aa001"}
			o.Spec.Changes[0].RequireRenderedRevision = true
		},
		records: []ledger.Change{done(index), done(totals)},
		ready:   "False", reason: "OtherRevision", message: "recorded by another revision: " + index + " by 4f1c2ad, not 77aa001", conditions: "Reconciling", summary: "1/2",
	},
	"rendered-revision-not-stamped": {
		title: "the rendered revision is asked for and the object has none", health: "Progressing", kstatus: "InProgress",
		object:  func(o *MigrationLedger) { o.Spec.Changes[0].RequireRenderedRevision = true },
		records: []ledger.Change{done(index), done(totals)},
		ready:   "False", reason: "RevisionNotStamped", message: "the object has no annotation hallmark.dev/source-revision, which is asked for by " + index,
		conditions: "Reconciling", summary: "1/2",
	},
	"other-target": {
		title: "the rows speak of another target, as those of a copied database do", health: "Progressing", kstatus: "InProgress",
		object: func(o *MigrationLedger) { o.Spec.Target = "east" },
		records: []ledger.Change{
			with(done(index), func(c *ledger.Change) { c.Target = "west" }), with(done(totals), func(c *ledger.Change) { c.Target = "east" }),
		},
		ready: "False", reason: "StateUnknown", message: "not known: " + index + " (recorded for target west)", conditions: "Reconciling", summary: "1/2",
	},
	"no-target": {
		title: "the rows speak of no target and one is asked for", health: "Progressing", kstatus: "InProgress",
		object:  func(o *MigrationLedger) { o.Spec.Target = "east" },
		records: []ledger.Change{failure(index), done(totals)},
		ready:   "False", reason: "StateUnknown",
		message:    "not known: " + index + " (recorded without a target), " + totals + " (recorded without a target)",
		conditions: "Reconciling", summary: "0/2",
	},
	"not-known": {
		title: "the tool's table cannot tell", health: "Progressing", kstatus: "InProgress",
		object: func(o *MigrationLedger) { o.Spec.Tool = "golang-migrate" },
		records: []ledger.Change{
			done(index), {Key: totals, State: ledger.Unknown, Failure: "dirty: running and failed look the same"},
		},
		ready: "False", reason: "StateUnknown", message: "not known: " + totals + " (dirty: running and failed look the same)", conditions: "Reconciling", summary: "1/2",
	},
	"undone": {
		title: "the tool undid one", health: "Progressing", kstatus: "InProgress",
		object:  func(o *MigrationLedger) { o.Spec.Tool = "flyway" },
		records: []ledger.Change{done(index), {Key: totals, State: ledger.Absent, Failure: "it was undone"}},
		ready:   "False", reason: "NotRecorded", message: "waiting for " + totals + " (it was undone)", conditions: "Reconciling", summary: "1/2",
	},
	"marked-as-done": {
		title: "a person marked one as done in the tool's table", health: "Healthy", kstatus: "Current",
		object:  func(o *MigrationLedger) { o.Spec.Tool = "flyway" },
		records: []ledger.Change{done(index), {Key: totals, State: ledger.Succeeded, Failure: "marked as the baseline, not run"}},
		ready:   "True", reason: "Succeeded", message: "recorded as done: " + index + ", " + totals, summary: "2/2",
	},
	"database-unreachable": {
		title: "nothing was ever read", health: "Progressing", kstatus: "InProgress",
		fault: FaultOf(ledger.Unreachable),
		ready: "False", reason: "DatabaseUnreachable", message: `waiting for database "default": it cannot be reached`, conditions: "Reconciling DatabaseUnreachable",
	},
	"database-unreachable-after-success": {
		title: "all was done when the database was last read", health: "Healthy", kstatus: "Current",
		object: readBefore(done(index), done(totals)), fault: FaultOf(ledger.Denied),
		ready: "True", reason: "Succeeded", message: "recorded as done: " + index + ", " + totals, conditions: "DatabaseUnreachable", summary: "2/2",
	},
	"database-unreachable-after-failure": {
		title: "one had failed when the database was last read", health: "Degraded", kstatus: "Failed",
		object: readBefore(done(index), failure(totals)), fault: FaultOf(ledger.Forbidden),
		ready: "False", reason: "Failed", message: "failed: " + totals, conditions: "Stalled DatabaseUnreachable", summary: "1/2",
	},
	"database-unreachable-while-running": {
		title: "one ran when the database was last read", health: "Progressing", kstatus: "InProgress",
		object: readBefore(run(index, false), done(totals)), fault: FaultOf(ledger.Conflict),
		ready: "False", reason: "Running", message: "running: " + index, conditions: "Reconciling DatabaseUnreachable", summary: "1/2",
	},
	"database-unreachable-with-a-new-generation": {
		title: "all was done for the generation before this one", health: "Progressing", kstatus: "InProgress",
		object: func(o *MigrationLedger) {
			readBefore(done(index), done(totals))(o)
			o.Generation++
		},
		fault: NotConfigured,
		ready: "True", reason: "Succeeded", message: "recorded as done: " + index + ", " + totals, conditions: "DatabaseUnreachable", summary: "2/2",
	},
}

func (c verdictCase) project() (*MigrationLedger, Status) {
	o := &MigrationLedger{
		TypeMeta:   metav1.TypeMeta{APIVersion: GroupVersion.String(), Kind: Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "checkout", Generation: 3},
		Spec:       Spec{Database: "default", Tool: Hallmark, Changes: []ChangeSpec{{Key: index}, {Key: totals}}},
		Status:     Status{ObservedGeneration: neverObserved},
	}
	if c.object != nil {
		c.object(o)
	}
	return o, Project(o, Reading{Records: byKey(c.records), Fault: c.fault, Now: looked})
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for name, tc := range verdictCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, status := tc.project()
			var ready metav1.Condition
			var others []string
			for _, c := range status.Conditions {
				if c.Type == "Ready" {
					ready = c
				} else {
					others = append(others, c.Type)
					if c.Status != metav1.ConditionTrue || c.Reason == "" || c.Message == "" {
						t.Errorf("got %+v, want it True with a reason and a message", c)
					}
				}
			}
			if string(ready.Status) != tc.ready || ready.Reason != tc.reason || ready.Message != tc.message {
				t.Errorf("got Ready %s, reason %s: %s\nwant %s, %s: %s", ready.Status, ready.Reason, ready.Message, tc.ready, tc.reason, tc.message)
			}
			if got := strings.Join(others, " "); got != tc.conditions {
				t.Errorf("got beside Ready %q, want %q", got, tc.conditions)
			}
			if status.Summary != tc.summary {
				t.Errorf("got summary %q, want %q", status.Summary, tc.summary)
			}
			golden(t, name, tc, o, status)
		})
	}
}

// golden compares the whole object with testdata/verdicts. What health checks and
// kstatus make of these is tested where those are.
func golden(t *testing.T, name string, tc verdictCase, o *MigrationLedger, status Status) {
	t.Helper()
	whole := *o
	whole.Status = status
	text, err := yaml.Marshal(&whole)
	if err != nil {
		t.Fatal(err)
	}
	text = fmt.Appendf(nil, "# %s\n# health: %s\n# kstatus: %s\n%s", tc.title, tc.health, tc.kstatus, text)
	text = bytes.ReplaceAll(text, []byte("  creationTimestamp: null\n"), nil)
	file := filepath.Join("testdata", "verdicts", name+".yaml")
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("%s differs, -update writes it:\n%s", file, diff)
	}
}

// A golden that no case has would go on to be read elsewhere.
func TestGoldensHaveCases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "verdicts", "*"))
	if err != nil || len(files) != len(verdictCases) && !*update {
		t.Errorf("got %d files and %d cases, %v", len(files), len(verdictCases), err)
	}
}

// Each verdict has a case.
func TestVerdictsAreCovered(t *testing.T) {
	t.Parallel()
	for _, v := range verdicts {
		covered := false
		for _, tc := range verdictCases {
			covered = covered || tc.reason == v.reason
		}
		if !covered {
			t.Errorf("no case has the reason %s", v.reason)
		}
	}
}

// What a later look finds moves the time of those conditions whose status it changes.
func TestTransitions(t *testing.T) {
	t.Parallel()
	o, _ := verdictCase{}.project()
	now := looked
	step := func(records ...ledger.Change) map[string]time.Duration {
		now = now.Add(time.Minute)
		o.Status = Project(o, Reading{Records: byKey(records), Now: now})
		at := map[string]time.Duration{}
		for _, c := range o.Status.Conditions {
			at[c.Type] = c.LastTransitionTime.Sub(looked.Truncate(time.Second))
		}
		return at
	}
	for i, want := range []struct {
		records []ledger.Change
		at      map[string]time.Duration
	}{
		{nil, map[string]time.Duration{"Ready": 1 * time.Minute, "Reconciling": 1 * time.Minute}},
		{[]ledger.Change{run(index, false)}, map[string]time.Duration{"Ready": 1 * time.Minute, "Reconciling": 1 * time.Minute}},
		{[]ledger.Change{run(index, true)}, map[string]time.Duration{"Ready": 1 * time.Minute, "Stalled": 3 * time.Minute, "LeaseExpired": 3 * time.Minute}},
		{[]ledger.Change{failure(index)}, map[string]time.Duration{"Ready": 1 * time.Minute, "Stalled": 3 * time.Minute}},
		{[]ledger.Change{done(index), done(totals)}, map[string]time.Duration{"Ready": 5 * time.Minute}},
		{[]ledger.Change{done(index), done(totals)}, map[string]time.Duration{"Ready": 5 * time.Minute}},
	} {
		if got := step(want.records...); !cmp.Equal(got, want.at) {
			t.Errorf("step %d: got %v, want %v", i+1, got, want.at)
		}
	}
}

// A renewal of the lease moves the time of the lease and nothing else.
func TestRenewal(t *testing.T) {
	t.Parallel()
	o, _ := verdictCase{}.project()
	o.Status = Project(o, Reading{Records: byKey([]ledger.Change{run(index, false)}), Now: looked})
	later := lease.Add(time.Minute)
	renewed := Project(o, Reading{Records: byKey([]ledger.Change{with(run(index, false), func(c *ledger.Change) { c.LeaseUntil = &later })}), Now: looked.Add(time.Minute)})
	if Equal(o.Status, renewed) {
		t.Error("the renewal does not show")
	}
	renewed.Changes[0].LeaseUntil = o.Status.Changes[0].LeaseUntil
	if diff := cmp.Diff(o.Status, renewed); diff != "" {
		t.Errorf("beside the lease there differs:\n%s", diff)
	}
}

// A hundred changes with long names make no message that the API server refuses, and
// one that a person reads.
func TestLongMessages(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 1500)
	var ask []ChangeSpec
	records := map[string]ledger.Change{}
	for i := range 100 {
		key := fmt.Sprintf("%03d%s", i, long)
		ask = append(ask, ChangeSpec{Key: key, SourceRevision: long, Invariants: []string{long}})
		records[key] = ledger.Change{Key: key, SourceRevision: "r" + long, Failure: long, LeaseUntil: &lease}
	}
	for _, edit := range []func(*ledger.Change){
		func(c *ledger.Change) { c.State = ledger.Failed },
		func(c *ledger.Change) { c.State, c.LeaseExpired = ledger.Running, true },
		func(c *ledger.Change) { c.State = ledger.Succeeded },
		func(c *ledger.Change) { c.State = ledger.Unknown },
		func(c *ledger.Change) {
			for i := range 100 {
				c.Invariants = append(c.Invariants, ledger.Invariant{Name: fmt.Sprint(i, long), Holds: &no, Detail: long})
			}
			c.State = ledger.Succeeded
		},
	} {
		edited := map[string]*ledger.Change{}
		for key, c := range records {
			edited[key] = new(with(c, edit))
		}
		status := Project(&MigrationLedger{Spec: Spec{Changes: ask}}, Reading{Records: edited, Now: looked})
		for _, c := range status.Conditions {
			if len(c.Message) > 10_000 || !strings.Contains(c.Message, " and 95 more") {
				t.Errorf("got %d bytes: %.300s ... %s", len(c.Message), c.Message, c.Message[len(c.Message)-40:])
			}
		}
		for _, c := range status.Changes {
			if len(c.Message) > 4096 {
				t.Errorf("got a message of %d bytes", len(c.Message))
			}
		}
	}
}

func TestNoChanges(t *testing.T) {
	t.Parallel()
	status := Project(&MigrationLedger{}, Reading{Now: looked})
	if c := status.Conditions; len(c) != 2 || c[0].Status != metav1.ConditionFalse || c[1].Type != "Reconciling" || c[0].Reason != "NoChanges" {
		t.Errorf("got %+v, want that it waits", c)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	seen := map[string]ledger.Kind{}
	for _, kind := range []ledger.Kind{ledger.Unreachable, ledger.Denied, ledger.Forbidden, ledger.NotInstalled, ledger.Conflict, ledger.Other} {
		message := FaultOf(kind).message()
		if other, twice := seen[message]; twice {
			t.Errorf("%s and %s are told alike: %s", kind, other, message)
		}
		seen[message] = kind
	}
	if FaultOf(ledger.ReadOnly) != FaultOf(ledger.Other) { // a projection writes nothing
		t.Error("read-only is told apart")
	}
}

// The copies of the API types share nothing with what they were copied from.
func TestDeepCopy(t *testing.T) {
	t.Parallel()
	o, status := verdictCases["invariant-broken"].project()
	o.Status, o.Annotations, o.Spec.Changes[0].Invariants = status, map[string]string{"a": "b"}, []string{"i"}
	o.Status.Changes[0].LeaseUntil = at(&lease)
	broken := slices.IndexFunc(o.Status.Changes, func(c ChangeStatus) bool { return len(c.Invariants) > 0 })
	o.Status.Changes[broken].Invariants[0].Holds = new(false)
	list := &MigrationLedgerList{Items: []MigrationLedger{*o}}
	copied := list.DeepCopyObject().(*MigrationLedgerList)
	if diff := cmp.Diff(list, copied); diff != "" {
		t.Fatal(diff)
	}
	unchanged, err := json.Marshal(copied)
	if err != nil {
		t.Fatal(err)
	}
	o.Annotations["a"] = "c"
	o.Spec.Changes[0].Invariants[0] = "j"
	o.Spec.Changes[0].Key = "k"
	o.Status.Conditions[0].Reason = "R"
	for i := range o.Status.Changes {
		for _, at := range []*metav1.Time{o.Status.Changes[i].LeaseUntil, o.Status.Changes[i].StartedAt, o.Status.Changes[i].FinishedAt} {
			if at != nil {
				at.Time = time.Unix(0, 0)
			}
		}
	}
	o.Status.Changes[broken].Invariants[0].CheckedAt.Time = time.Unix(0, 0)
	*o.Status.Changes[broken].Invariants[0].Holds = true
	o.Status.Changes[broken].Invariants[0].Name = "z"
	if after, err := json.Marshal(copied); err != nil || !bytes.Equal(unchanged, after) {
		t.Errorf("the copy changed: %s\n%s\n%v", unchanged, after, err)
	}
}
