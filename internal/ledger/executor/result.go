package executor

import (
	"time"

	"hallmark.dev/hallmark/internal/ledger"
)

// Outcome is how a run ended.
type Outcome string

// The outcomes.
const (
	Done            Outcome = "done"             // it ran, succeeded and is recorded
	AlreadyDone     Outcome = "already-done"     // it is recorded as SUCCEEDED: nothing was run
	Held            Outcome = "held"             // somebody else runs it: nothing was run
	Investigate     Outcome = "investigate"      // an attempt whose end nobody knows, or of another target: nothing was run
	FailedBefore    Outcome = "failed-before"    // an attempt failed and none was issued since: nothing was run
	CommandFailed   Outcome = "failed"           // it ran and failed, which is recorded
	LeaseLost       Outcome = "lease-lost"       // it was stopped because the lease was lost: nothing is recorded
	NotRecorded     Outcome = "not-recorded"     // it ran, and what came of it could not be recorded
	InvariantBroken Outcome = "invariant-broken" // it is recorded as SUCCEEDED, and an invariant does not hold
	// InvariantUnchecked is that it is recorded as SUCCEEDED, and the database could not
	// answer to an invariant.
	InvariantUnchecked Outcome = "invariant-unchecked"
	Unreachable        Outcome = "unreachable" // the database could not be reached before anything was run
)

// The exit codes of `hallmark ledger run`, a contract. 1 and 2 are those of every
// command of hallmark: refused, and wrong usage.
const (
	ExitDone            = 0
	ExitHeld            = 3
	ExitInvestigate     = 4
	ExitFailed          = 5
	ExitInvariantBroken = 6
	ExitUnreachable     = 7

	ExitInvariantUnchecked = 8
)

// ExitCode is what the process returns. alreadyDone is that of AlreadyDone.
func (o Outcome) ExitCode(alreadyDone int) int {
	switch o {
	case Done:
		return ExitDone
	case AlreadyDone:
		return alreadyDone
	case Held:
		return ExitHeld
	case CommandFailed, FailedBefore:
		return ExitFailed
	case InvariantBroken:
		return ExitInvariantBroken
	case InvariantUnchecked:
		return ExitInvariantUnchecked
	case Unreachable:
		return ExitUnreachable
	}
	return ExitInvestigate
}

// next is what to do about an outcome.
var next = map[Outcome]string{
	Done:               "nothing",
	AlreadyDone:        "nothing",
	Held:               "wait until it ends, then run again: nothing will be repeated",
	Investigate:        "do not re-run: find out how far it got, then record it with hallmark ledger recover",
	FailedBefore:       "find out how far it got, then record it with hallmark ledger recover",
	CommandFailed:      "find out how far it got, then record it with hallmark ledger recover",
	LeaseLost:          "do not re-run: find out how far it got, then record it with hallmark ledger recover",
	NotRecorded:        "do not re-run: once the lease is over, record this result with hallmark ledger recover",
	InvariantBroken:    "mend what the invariant looks at, then run again: the command is not repeated, the invariants are",
	InvariantUnchecked: "run again: the command is not repeated, the invariants are checked",
	Unreachable:        "run again when the database answers: nothing was run",
}

// Result is what a run says, as one JSON document. Times are the database's.
type Result struct {
	ChangeKey      string             `json:"changeKey"`
	Outcome        Outcome            `json:"outcome"`
	Message        string             `json:"message"`
	Next           string             `json:"next"`
	Target         string             `json:"target,omitempty"`
	SourceRevision string             `json:"sourceRevision"` // what was asked for
	Recorded       *Recorded          `json:"recorded,omitempty"`
	Command        *Command           `json:"command,omitempty"` // what was run
	Invariants     []ledger.Invariant `json:"invariants,omitempty"`
}

// Recorded is what the ledger has of the change.
type Recorded struct {
	State          ledger.State `json:"state"`
	Attempt        int          `json:"attempt"`
	SourceRevision string       `json:"sourceRevision"`
	Target         string       `json:"target,omitempty"`
	LeaseUntil     *time.Time   `json:"leaseUntil,omitempty"`
	StartedAt      *time.Time   `json:"startedAt,omitempty"`
	FinishedAt     *time.Time   `json:"finishedAt,omitempty"`
	SchemaVersion  string       `json:"schemaVersion,omitempty"`
	ResultDigest   string       `json:"resultDigest,omitempty"`
	JobUID         string       `json:"jobUID,omitempty"`
	Executor       string       `json:"executor,omitempty"`
	Failure        string       `json:"failure,omitempty"`
}

// Command is how the command ended.
type Command struct {
	ExitCode int    `json:"exitCode"` // -1 where a signal ended it
	Signal   string `json:"signal,omitempty"`
	Digest   string `json:"digest"` // sha256:<hex> of its standard output
	Seconds  int    `json:"seconds"`
	// Left is true where the command ended before processes that it had started.
	Left bool `json:"leftProcesses,omitempty"`
	held bool // by some that are out of reach: of another group, and with its output
	told bool // to end, before it had
}

func (r *Result) record(c ledger.Change) {
	r.Recorded = &Recorded{
		State: c.State, Attempt: c.Attempt, SourceRevision: c.SourceRevision, Target: c.Target, LeaseUntil: c.LeaseUntil,
		StartedAt: c.StartedAt, FinishedAt: c.FinishedAt, SchemaVersion: c.SchemaVersion, ResultDigest: c.ResultDigest,
		JobUID: c.JobUID, Executor: c.Executor, Failure: c.Failure,
	}
	r.Invariants = c.Invariants
}

func (r *Result) end(o Outcome, message string) Result {
	r.Outcome, r.Message, r.Next = o, message, next[o]
	return *r
}
