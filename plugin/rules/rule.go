package rules

import (
	"cmp"
	"math"
	"slices"

	"hallmark.dev/hallmark/internal/object"
)

// Severity says how bad a finding is.
type Severity string

// The severities, the worst first. A finding of Info is advice: it fails nothing
// unless a policy denies it by name.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Rule is one release rule.
type Rule struct {
	// ID is the name in policies, waivers and reports: "job-deadline".
	ID string
	// Group is the heading under which the list of rules has it.
	Group string
	// Reason says in one line what goes wrong otherwise.
	Reason string
	// Remedy says in one line what to do.
	Remedy string
	// Severity is that of its findings, or of the worst of them: what a rule
	// advises is Info whatever its severity.
	Severity Severity

	check func(*render, report)
	// advise reports findings of Info. Most rules have none beside check.
	advise func(*render, report)
}

// The groups, in the order of the list of rules.
const (
	groupJobs       = "Jobs"
	groupOrder      = "Order of a sync"
	groupWriters    = "Two writers"
	groupDeletion   = "Deletion"
	groupReferences = "References"
	groupSupply     = "Images and secrets"
	groupWaivers    = "Waivers"
)

// All returns the rules in the order of their groups, and in a group in the order in
// which a reader wants them.
func All() []Rule {
	return slices.Concat(jobRules, orderRules, writerRules, deletionRules, referenceRules, supplyRules, waiverRules)
}

// Find returns the rule of that id.
func Find(id string) (Rule, bool) {
	all := All()
	if i := slices.IndexFunc(all, func(r Rule) bool { return r.ID == id }); i >= 0 {
		return all[i], true
	}
	return Rule{}, false
}

// Finding is a fault of one object.
type Finding struct {
	// Rule is the id of the rule, for a team's rule its own name.
	Rule     string
	Severity Severity
	// Object is the identity as the object states it, Origin and Line the place
	// that it comes from; see [object.Object].
	Object object.ID
	Origin string
	Line   int
	// Field is the RFC 6901 pointer of the field, or "" for the whole object. The
	// field may be absent.
	Field string
	// Message is the fact, Remedy what to do about it. Neither holds a value of a
	// Secret.
	Message string
	Remedy  string
	// Waiver is set where an annotation waives the rule.
	Waiver *Waiver
}

func (f Finding) compare(other Finding) int {
	return cmp.Or(
		cmp.Compare(f.Origin, other.Origin),
		cmp.Compare(f.Line, other.Line),
		f.Object.Compare(other.Object),
		cmp.Compare(f.Rule, other.Rule),
		cmp.Compare(f.Field, other.Field),
		cmp.Compare(f.Message, other.Message),
		cmp.Compare(f.until(), other.until()),
	)
}

// until orders two findings that nothing else tells apart, as on objects whose names
// are generated: where one of them is not waived, that comes first.
func (f Finding) until() int64 {
	if f.Waiver == nil {
		return math.MinInt64
	}
	return f.Waiver.Until.Unix()
}

// path leads to a field: keys (strings) and indexes (ints).
type path []any

// under returns the path of a field below p.
func (p path) under(elements ...any) path { return append(slices.Clip(p), elements...) }

// report adds a finding of the rule that is checked. The format has no full stop and
// no value of a Secret.
type report func(o *item, at path, format string, args ...any)
