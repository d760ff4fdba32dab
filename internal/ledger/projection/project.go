package projection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hallmark.dev/hallmark/internal/ledger"
)

// A Reading is what a look at the database of an object found.
type Reading struct {
	// Records has what is recorded, by key. A key that is not there is not recorded.
	Records map[string]*ledger.Change
	// Fault is why the database could not be read, "" where it was.
	Fault Fault
	// Now is when: the time of conditions that change. It decides nothing; whether a
	// lease is over, the database has said.
	Now time.Time
}

// Project is the status that an object is to have. It shares what it does not change
// with the object.
func Project(o *MigrationLedger, r Reading) Status {
	if r.Fault != "" {
		return unread(o, r)
	}
	status := Status{ObservedGeneration: o.Generation}
	var found [findings][]string
	for i := range o.Spec.Changes {
		c, f, phrase := judge(o, &o.Spec.Changes[i], r.Records)
		status.Changes = append(status.Changes, c)
		found[f] = append(found[f], phrase)
	}
	status.Summary = fmt.Sprintf("%d/%d", len(found[succeeded]), len(o.Spec.Changes))
	status.Conditions = conclude(o, found, r.Now)
	return status
}

// Equal reports whether writing a status in the place of another would change nothing.
func Equal(a, b Status) bool { return equality.Semantic.DeepEqual(a, b) }

// judge is what is known of a change, and its part in the verdict. The phrase names the
// change in a message.
func judge(o *MigrationLedger, want *ChangeSpec, records map[string]*ledger.Change) (ChangeStatus, finding, string) {
	key := short(want.Key)
	record, there := records[want.Key]
	if !there {
		record = &ledger.Change{State: ledger.Absent}
	}
	c := statusOf(want, record)
	switch {
	case there && o.Spec.Target != "" && record.Target != o.Spec.Target:
		c.State, c.Message = ledger.Unknown, "recorded for target "+short(record.Target)
		if record.Target == "" {
			c.Message = "recorded without a target"
		}
		return c, stateUnknown, key + " (" + c.Message + ")"
	case record.MayRun():
		c = ChangeStatus{Key: want.Key, State: ledger.Absent, Attempt: record.Issued}
		c.Message = fmt.Sprintf("attempt %d may run: a person issued it after attempt %d", record.Issued, record.Attempt)
		return c, notRecorded, fmt.Sprintf("%s (attempt %d)", key, record.Issued)
	}
	switch record.State {
	case ledger.Failed:
		return c, failed, key
	case ledger.Running:
		if record.LeaseExpired {
			ended := "the lease ended at an unknown time"
			if c.LeaseUntil != nil {
				ended = "the lease ended at " + c.LeaseUntil.Format(time.RFC3339)
			}
			c.Message = ended + ": investigate, do not re-run"
			return c, leaseExpired, key + ": " + ended
		}
		return c, running, key
	case ledger.Absent:
		if c.Message != "" {
			key += " (" + short(c.Message) + ")"
		}
		return c, notRecorded, key
	case ledger.Succeeded:
		f, phrase := judgeDone(o, want, &c)
		return c, f, phrase
	}
	c.State, c.Message = ledger.Unknown, cmp.Or(c.Message, "the state is not known")
	return c, stateUnknown, key + " (" + short(c.Message) + ")"
}

// judgeDone judges a change that is recorded as done.
func judgeDone(o *MigrationLedger, want *ChangeSpec, c *ChangeStatus) (finding, string) {
	key := short(want.Key)
	if broken := invariants(c, func(holds *bool) bool { return holds != nil && !*holds }); broken != "" {
		return invariantBroken, key + " (" + broken + ")"
	}
	revisions := []string{want.SourceRevision}
	if want.RequireRenderedRevision {
		rendered := o.Annotations[AnnotationSourceRevision]
		if rendered == "" {
			return revisionNotStamped, key
		}
		revisions = append(revisions, rendered)
	}
	for _, revision := range revisions {
		if revision != "" && revision != c.SourceRevision {
			return otherRevision, fmt.Sprintf("%s by %s, not %s", key, short(cmp.Or(c.SourceRevision, "one that is not known")), short(revision))
		}
	}
	if unchecked := invariants(c, func(holds *bool) bool { return holds == nil }); unchecked != "" {
		return invariantUnchecked, key + " (" + unchecked + ")"
	}
	return succeeded, key
}

// statusOf is the entry of a change as the record has it, with the invariants that were
// asked for and are not recorded.
func statusOf(want *ChangeSpec, record *ledger.Change) ChangeStatus {
	c := ChangeStatus{
		Key: want.Key, State: record.State, Attempt: record.Attempt,
		SourceRevision: record.SourceRevision, Target: record.Target,
		LeaseUntil: at(record.LeaseUntil), StartedAt: at(record.StartedAt), FinishedAt: at(record.FinishedAt),
		JobUID: record.JobUID, SchemaVersion: record.SchemaVersion, ResultDigest: record.ResultDigest,
		Message: clip(record.Failure),
	}
	byName := map[string]InvariantStatus{}
	for _, name := range want.Invariants {
		byName[name] = InvariantStatus{Name: name}
	}
	for _, i := range record.Invariants {
		byName[i.Name] = InvariantStatus{Name: i.Name, Holds: i.Holds, CheckedAt: at(i.CheckedAt), Detail: clip(i.Detail)}
	}
	for _, i := range byName {
		c.Invariants = append(c.Invariants, i)
	}
	slices.SortFunc(c.Invariants, func(a, b InvariantStatus) int { return strings.Compare(a.Name, b.Name) })
	return c
}

// invariants names those whose outcome is so.
func invariants(c *ChangeStatus, so func(holds *bool) bool) string {
	var names []string
	for _, i := range c.Invariants {
		if so(i.Holds) {
			names = append(names, short(i.Name))
		}
	}
	return list(names, ", ")
}

// neverObserved is the generation that a new object has observed, by the default that its
// CustomResourceDefinition gives.
const neverObserved = -1

// unread is the status of an object whose database cannot be read.
func unread(o *MigrationLedger, r Reading) Status {
	status := o.Status
	message := fmt.Sprintf("database %q: %s", short(o.Spec.Source().Database), r.Fault.message())
	add := []metav1.Condition{{Type: databaseUnreachable, Status: metav1.ConditionTrue, Reason: string(r.Fault), Message: message}}
	if o.Status.ObservedGeneration <= 0 { // nothing was ever read; the definition says -1
		message = "waiting for " + message
		add = []metav1.Condition{
			{Type: ready, Status: metav1.ConditionFalse, Reason: databaseUnreachable, Message: message},
			{Type: reconciling, Status: metav1.ConditionTrue, Reason: databaseUnreachable, Message: message},
			add[0],
		}
	}
	status.Conditions = nil
	for _, old := range o.Status.Conditions {
		if !slices.ContainsFunc(add, func(c metav1.Condition) bool { return c.Type == old.Type }) {
			status.Conditions = append(status.Conditions, old)
		}
	}
	status.Conditions = append(status.Conditions, timed(o, add, r.Now)...)
	return status
}
