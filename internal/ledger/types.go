package ledger

import "time"

// State is what is known of a change.
type State string

// The states. A row of the ledger has one of the first three.
const (
	Running   State = "RUNNING"
	Succeeded State = "SUCCEEDED"
	Failed    State = "FAILED"
	// Unknown is what the table of another tool cannot tell.
	Unknown State = "UNKNOWN"
	// Absent is a change of which nothing is recorded.
	Absent State = "ABSENT"
)

// Invariant is the outcome of an SQL query that must return true.
type Invariant struct {
	Name      string     `json:"name"`
	Holds     *bool      `json:"holds,omitempty"` // nil where it could not be checked
	CheckedAt *time.Time `json:"checkedAt,omitempty"`
	Detail    string     `json:"detail,omitempty"` // why it does not hold
}

// Doubt is the first invariant that is broken, else the first that could not be checked,
// and nil where all hold.
func Doubt(all []Invariant) *Invariant {
	var doubt *Invariant
	for i := range all {
		switch holds := all[i].Holds; {
		case holds != nil && !*holds:
			return &all[i]
		case holds == nil && doubt == nil:
			doubt = &all[i]
		}
	}
	return doubt
}

// Change is what the ledger has of a change: of its newest attempt.
type Change struct {
	Key            string
	Target         string
	SourceRevision string
	State          State
	Attempt        int
	Issued         int        // the newest attempt that may run: above Attempt once a person issued one
	LeaseUntil     *time.Time // while RUNNING
	LeaseExpired   bool       // by the database's clock
	StartedAt      *time.Time
	FinishedAt     *time.Time
	SchemaVersion  string
	ResultDigest   string
	JobUID         string
	Executor       string
	Failure        string // why it is FAILED; in a projection, what is not known
	Invariants     []Invariant
}

// MayRun reports whether a person issued an attempt that nobody has claimed yet.
func (c Change) MayRun() bool { return c.State == Failed && c.Issued > c.Attempt }

// Request is a wish to run a change.
type Request struct {
	Key            string
	Target         string
	SourceRevision string
	SchemaVersion  string
	JobUID         string
	Executor       string
	Lease          time.Duration
	Token          string // a UUID that nobody else has: it proves that a row is ours
}

// Claim is the answer to a Request.
type Claim struct {
	// Granted is the right to run the command, once, until the lease is over.
	Granted bool
	// Change is the row: ours, or the one that stands in the way.
	Change Change
}

// Outcome is how an execution ended.
type Outcome struct {
	State        State // Succeeded or Failed
	ExitCode     int   // of the command, or -1 where it has none
	ResultDigest string
	Failure      string
	Invariants   []Invariant
}

// Attempt is one time that a command may have run.
type Attempt struct {
	Key            string     `json:"changeKey"`
	Attempt        int        `json:"attempt"`
	SourceRevision string     `json:"sourceRevision"`
	State          State      `json:"state"`
	StartedAt      time.Time  `json:"startedAt"`
	FinishedAt     *time.Time `json:"finishedAt,omitempty"`
	ExitCode       *int       `json:"exitCode,omitempty"`
	ResultDigest   string     `json:"resultDigest,omitempty"`
	JobUID         string     `json:"jobUID,omitempty"`
	Executor       string     `json:"executor,omitempty"`
	Failure        string     `json:"failure,omitempty"`
}

// Verdict is what a person found out about an attempt.
type Verdict string

// The verdicts.
const (
	FoundSucceeded Verdict = "succeeded" // the side effect is there
	FoundFailed    Verdict = "failed"    // it is not, and nothing may run yet
	Retry          Verdict = "retry"     // it is not, or running it again is safe: one more attempt may run
)

// Decision is a verdict on the record.
type Decision struct {
	Key         string     `json:"changeKey"`
	Attempt     int        `json:"attempt"` // the one that was judged
	Verdict     Verdict    `json:"verdict"`
	Issued      *int       `json:"issued,omitempty"` // the attempt that may run now
	Reason      string     `json:"reason"`
	Evidence    string     `json:"evidence"`
	By          string     `json:"by,omitempty"`
	Role        string     `json:"databaseRole"` // the role that PostgreSQL knew the person by
	At          time.Time  `json:"at"`
	StateBefore State      `json:"stateBefore"`
	LeaseBefore *time.Time `json:"leaseBefore,omitempty"`
	Forced      bool       `json:"forced,omitempty"`
}
