package projection

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hallmark.dev/hallmark/internal/ledger"
)

// The types of conditions. All but Ready are there only while they are true.
const (
	ready               = "Ready"
	reconciling         = "Reconciling"
	stalled             = "Stalled"
	expired             = "LeaseExpired"
	databaseUnreachable = "DatabaseUnreachable"
)

// A finding is what one change adds to the verdict, the worst first.
type finding int

const (
	failed finding = iota
	invariantBroken
	leaseExpired
	stateUnknown
	revisionNotStamped
	otherRevision
	running
	notRecorded
	invariantUnchecked
	succeeded
	findings // how many there are
)

// verdicts says what a finding makes of an object: the condition beside Ready, its
// reason, and its message, which the changes' phrases end.
var verdicts = [findings]struct{ beside, reason, message, separator string }{
	failed:             {stalled, "Failed", "failed: ", ", "},
	invariantBroken:    {stalled, "InvariantBroken", "an invariant is broken: ", ", "},
	leaseExpired:       {stalled, "LeaseExpired", "investigate, do not re-run: ", "; "},
	stateUnknown:       {reconciling, "StateUnknown", "not known: ", ", "},
	revisionNotStamped: {reconciling, "RevisionNotStamped", "the object has no annotation " + AnnotationSourceRevision + ", which is asked for by ", ", "},
	otherRevision:      {reconciling, "OtherRevision", "recorded by another revision: ", "; "},
	running:            {reconciling, "Running", "running: ", ", "},
	notRecorded:        {reconciling, "NotRecorded", "waiting for ", ", "},
	invariantUnchecked: {reconciling, "InvariantUnchecked", "an invariant is not checked yet: ", ", "},
	succeeded:          {"", "Succeeded", "recorded as done: ", ", "},
}

// conclude is the conditions that the findings make, of which each has the phrases of
// its changes.
func conclude(o *MigrationLedger, found [findings][]string, now time.Time) []metav1.Condition {
	worst := failed
	for worst < succeeded && len(found[worst]) == 0 {
		worst++
	}
	v := verdicts[worst]
	message := v.message + list(found[worst], v.separator)
	if len(o.Spec.Changes) == 0 { // the API server refuses this; nothing proves nothing
		v.beside, v.reason, message = reconciling, "NoChanges", "no changes are asked for"
	}
	if v.beside == "" {
		return timed(o, []metav1.Condition{{Type: ready, Status: metav1.ConditionTrue, Reason: v.reason, Message: message}}, now)
	}
	conditions := []metav1.Condition{
		{Type: ready, Status: metav1.ConditionFalse, Reason: v.reason, Message: message},
		{Type: v.beside, Status: metav1.ConditionTrue, Reason: v.reason, Message: message},
	}
	if over := found[leaseExpired]; len(over) > 0 {
		conditions = append(conditions, metav1.Condition{Type: expired, Status: metav1.ConditionTrue, Reason: "Investigate", Message: list(over, "; ")})
	}
	return timed(o, conditions, now)
}

// timed adds to conditions what they have in common. A condition has changed when its
// status has, whatever its reason.
func timed(o *MigrationLedger, conditions []metav1.Condition, now time.Time) []metav1.Condition {
	for i := range conditions {
		c := &conditions[i]
		c.ObservedGeneration, c.LastTransitionTime = o.Generation, *at(&now)
		for _, old := range o.Status.Conditions {
			if old.Type == c.Type && old.Status == c.Status && !old.LastTransitionTime.IsZero() {
				c.LastTransitionTime = old.LastTransitionTime
			}
		}
	}
	return conditions
}

// Fault is why a database cannot be read, as the reason of a condition.
type Fault string

// NotConfigured is that nobody said where the database is.
const NotConfigured Fault = "DatabaseNotConfigured"

// FaultOf is what an error of package ledger is here.
func FaultOf(kind ledger.Kind) Fault {
	switch kind {
	case ledger.Unreachable:
		return "Unreachable"
	case ledger.Denied:
		return "AccessDenied"
	case ledger.Forbidden:
		return "RightMissing"
	case ledger.NotInstalled:
		return "NotInstalled"
	case ledger.Conflict:
		return "TimedOut"
	}
	return "QueryFailed"
}

// message is the fact, without an address: this is for everybody who may read the
// object.
func (f Fault) message() string {
	switch f {
	case NotConfigured:
		return "its address is not configured where hallmark ledger project runs"
	case "Unreachable":
		return "it cannot be reached"
	case "AccessDenied":
		return "it refuses the role, its password or the database's name"
	case "RightMissing":
		return "the role lacks the right to read the table"
	case "NotInstalled":
		return "the table is not there"
	case "TimedOut":
		return "it gave no answer in time"
	}
	return "the query failed, which the log of hallmark ledger project explains"
}

const (
	shown     = 5    // how many changes or invariants a message names
	shortText = 128  // how many characters it has of each name
	clipped   = 1024 // how many characters an entry keeps of a text that another process wrote
)

// list is the first items, and how many more there are.
func list(items []string, separator string) string {
	if len(items) <= shown {
		return strings.Join(items, separator)
	}
	return strings.Join(items[:shown], separator) + fmt.Sprintf(" and %d more", len(items)-shown)
}

func short(s string) string { return cut(s, shortText) }
func clip(s string) string  { return cut(s, clipped) }

// cut ends a text after so many characters.
func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "..."
}
