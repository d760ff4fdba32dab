package ledger_test

import (
	"fmt"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/ledger"
)

// A model is the rules of the package comment for one change, without a database: what
// its tables hold after each operation, and the answer to each. It is compared with them
// in explore_test.go and race_test.go.
type model struct {
	state           ledger.State // "" where there is no row
	target          string
	attempt, issued int
	holder          string // the token that may renew and complete, "" since a person decided
	over            bool   // the lease ran out
	digest          string // of the result
	invariant       string // the name of the one that is recorded
	attempts        []attempt
	decisions       []string
	held            [executors]string // the token of the last attempt that each was granted
}

// An attempt is a time that a command may have run. Who ran it is in its token.
type attempt struct {
	token   string
	state   ledger.State
	code    string // what the command ended with, "-" where nobody knows
	failure string
}

const executors = 3

// An op is one operation of an executor or a person, or the end of a lease.
type op struct {
	what    string
	who     int    // the executor
	token   string // that it uses
	attempt int    // that the caller looked at, 0 for whichever is the newest
	how     ledger.Recovery
}

func (o op) String() string {
	switch o.what {
	case "recover":
		return fmt.Sprintf("recover %s (attempt %d, force %v, reopen %v)", o.how.Verdict, o.attempt, o.how.ForceLive, o.how.Reopen)
	case "recheck":
		return fmt.Sprintf("recheck attempt %d", o.attempt)
	case "expire":
		return o.what
	}
	return fmt.Sprintf("%s by %d with %s", o.what, o.who, o.token)
}

// ops are all that can be done to a change. Executors differ in nothing, so one without
// an attempt stands for all of them.
func (m *model) ops() []op {
	out := []op{
		{what: "expire"}, {what: "recheck", attempt: m.attempt}, {what: "recheck", attempt: m.attempt + 1},
		{what: "claim elsewhere", token: m.fresh(0)},
	}
	for who := range executors {
		if who == 0 || m.held[who-1] != "" {
			out = append(out, op{what: "claim", who: who, token: m.fresh(who)})
		}
		if m.held[who] != "" {
			for _, what := range []string{"ask again", "renew", "succeed", "fail"} {
				out = append(out, op{what: what, who: who, token: m.held[who]})
			}
		}
	}
	for _, v := range []ledger.Verdict{ledger.FoundSucceeded, ledger.FoundFailed, ledger.Retry} {
		for _, force := range []bool{false, true} {
			for _, reopen := range []bool{false, true} {
				out = append(out, op{what: "recover", how: ledger.Recovery{Verdict: v, ForceLive: force, Reopen: reopen}})
			}
		}
		for _, attempt := range []int{m.attempt, m.attempt + 1} {
			out = append(out, op{what: "recover", attempt: attempt, how: ledger.Recovery{Verdict: v, ForceLive: true, Reopen: true}})
		}
	}
	return out
}

// fresh is a token that nobody has used.
func (m *model) fresh(who int) string { return fmt.Sprintf("8%03d-%012d", who, len(m.attempts)+1) }

// clone is a model that changes by itself.
func (m *model) clone() *model {
	c := *m
	c.attempts, c.decisions = slices.Clone(m.attempts), slices.Clone(m.decisions)
	return &c
}

// grants is how often a command may have run, and may run without a further decision.
func (m *model) grants() (had, open int) { return len(m.attempts), m.issued - m.attempt }

// retries is how often a person decided that it may run again.
func (m *model) retries() int {
	n := 0
	for _, d := range m.decisions {
		if strings.HasPrefix(d, "retry") {
			n++
		}
	}
	return n
}

// do carries out an operation and says what its caller is told.
func (m *model) do(o op) string {
	mine := m.holder != "" && m.holder == o.token
	live := m.state == ledger.Running && !m.over
	switch o.what {
	case "claim", "ask again":
		return m.claim(o, "")
	case "claim elsewhere":
		return m.claim(o, "elsewhere")
	case "renew":
		if mine && live {
			return "held"
		}
		return "lost"
	case "succeed", "fail":
		return m.complete(o, mine && live, mine)
	case "expire":
		m.over = m.state == ledger.Running
	case "recheck":
		if m.state == ledger.Succeeded && o.attempt == m.attempt {
			m.invariant = "checked anew"
		}
	case "recover":
		return m.recover(o, live)
	}
	return ""
}

func (m *model) claim(o op, target string) string {
	switch {
	case m.state == "":
		m.target, m.attempt, m.issued = target, 1, 1
	case m.state == ledger.Failed && m.issued > m.attempt && m.target == target:
		if slices.ContainsFunc(m.attempts, func(a attempt) bool { return a.token == o.token }) {
			return "refused: a token is for one attempt"
		}
		m.attempt = m.issued
	case m.state == ledger.Running && !m.over && m.holder == o.token: // whose answer was lost
		return fmt.Sprintf("granted %d", m.attempt)
	default:
		return m.stands()
	}
	m.state, m.holder, m.over, m.digest, m.invariant = ledger.Running, o.token, false, "", ""
	m.attempts = append(m.attempts, attempt{o.token, ledger.Running, "-", ""})
	m.held[o.who] = o.token
	return fmt.Sprintf("granted %d", m.attempt)
}

// stands is what is told to one who may not go on.
func (m *model) stands() string {
	return fmt.Sprintf("not granted: %s, attempt %d, over %v", m.state, m.attempt, m.over)
}

func (m *model) complete(o op, may, mine bool) string {
	state, code, failure, invariant := ledger.Succeeded, "0", "", "checked"
	if o.what == "fail" {
		state, code, failure, invariant = ledger.Failed, "3", "exit code 3", ""
	}
	if may {
		m.state, m.digest, m.invariant = state, "sha256:"+code, invariant
		last := &m.attempts[len(m.attempts)-1]
		last.state, last.code, last.failure = state, code, failure
	}
	if may || mine && m.state == state { // written before
		return "completed"
	}
	return m.stands()
}

func (m *model) recover(o op, live bool) string {
	r := o.how
	switch {
	case m.state == "":
		return "refused: nothing is recorded"
	case o.attempt != 0 && o.attempt != m.attempt:
		return "refused: was looked at"
	case live && !r.ForceLive:
		return "refused: lease is not over"
	case m.state == ledger.Succeeded && r.Verdict == ledger.FoundSucceeded:
		return "refused: SUCCEEDED already"
	case m.state == ledger.Succeeded && !r.Reopen:
		return "refused: is recorded as SUCCEEDED"
	case m.issued > m.attempt && r.Verdict == ledger.Retry:
		return "refused: may run already"
	}
	m.decisions = append(m.decisions, fmt.Sprintf("%s %d from %s forced %v", r.Verdict, m.attempt, m.state, live))
	m.state, m.issued, m.holder, m.over = ledger.Failed, m.attempt, "", false
	failure := "a person found that it failed: because"
	switch r.Verdict {
	case ledger.FoundSucceeded:
		m.state, failure = ledger.Succeeded, ""
	case ledger.Retry:
		m.issued++
		failure = "a person decided that it may run again: because"
	}
	last := &m.attempts[len(m.attempts)-1]
	last.state = m.state
	if last.failure == "" { // what was recorded before stays
		last.failure = failure
	}
	return "decided " + m.decisions[len(m.decisions)-1]
}

// place is all that the next answers depend on: histories that meet in a place go on
// alike.
func (m *model) place() string {
	return fmt.Sprintf("%s %d of %d, target %q, holder %q, over %v; held %q", m.state, m.attempt, m.issued, m.target, m.holder, m.over, m.held)
}

// String is what the tables hold.
func (m *model) String() string {
	if m.state == "" {
		return "nothing"
	}
	out := fmt.Sprintf("%s %d of %d, target %q, holder %q, over %v, digest %q, invariant %q", m.state, m.attempt, m.issued, m.target, m.holder, m.over, m.digest, m.invariant)
	for i, a := range m.attempts {
		out += fmt.Sprintf("\n  attempt %d %s %s %s %q", i+1, a.token, a.state, a.code, a.failure)
	}
	return out + "\n  " + strings.Join(m.decisions, "\n  ")
}
