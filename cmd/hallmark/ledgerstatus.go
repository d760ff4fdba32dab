package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/internal/ledger"
)

func ledgerStatusCommand(env *environment) *cobra.Command {
	var f ledgerFlags
	var output string
	var history bool
	cmd := &cobra.Command{
		Use: "status [KEY]...", Short: "Say how far changes got, and what to do next",
		Long: ledgerStatusHelp, Example: ledgerStatusExample, Args: ledgerArgs(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, keys []string) error {
			switch {
			case output != "text" && output != "json" && output != "env":
				return usageError{fmt.Errorf("-o: got %q, want text, json or env", output)}
			case output == "env" && len(keys) != 1:
				return usageError{fmt.Errorf("-o env is for one KEY, got %d", len(keys))}
			case output == "env" && history:
				return usageError{errors.New("-o env has no room for --history")}
			}
			for _, key := range keys {
				if err := checkText("KEY", key); err != nil {
					return err
				}
			}
			db, l, err := f.open(env)
			if err != nil {
				return err
			}
			defer db.Close()
			s, err := readStatus(cmd.Context(), l, keys, history || output == "json")
			if err != nil {
				return fmt.Errorf("reading the ledger: %w", err)
			}
			text, err := s.print(output)
			if err != nil {
				return err
			}
			_, err = env.stdout.Write(text)
			return err
		},
	}
	f.flags(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`format`: text, json or env")
	cmd.Flags().BoolVar(&history, "history", false, "show attempts, decisions and what each invariant found as well, which json always does")
	return cmd
}

// checkText refuses what PostgreSQL has no place for.
func checkText(name, text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return usageError{fmt.Errorf("%s: it is empty", name)}
	case !utf8.ValidString(text):
		return usageError{fmt.Errorf("%s: it is not valid UTF-8", name)}
	}
	return nil
}

// ledgerStatus is the object of -o json; its fields are described in the help.
type ledgerStatus struct {
	Changes   []ledgerChange    `json:"changes"`
	Attempts  []ledger.Attempt  `json:"attempts"`
	Decisions []ledger.Decision `json:"decisions"`

	now     time.Time // the database's
	history bool
}

// ledgerChange is a change as commands print it.
type ledgerChange struct {
	Key            string             `json:"changeKey"`
	State          ledger.State       `json:"state"`
	Target         string             `json:"target,omitempty"`
	SourceRevision string             `json:"sourceRevision"`
	Attempt        int                `json:"attempt"`
	Issued         int                `json:"issued"`
	LeaseUntil     *time.Time         `json:"leaseUntil,omitempty"`
	LeaseExpired   bool               `json:"leaseExpired"`
	StartedAt      *time.Time         `json:"startedAt,omitempty"`
	FinishedAt     *time.Time         `json:"finishedAt,omitempty"`
	SchemaVersion  string             `json:"schemaVersion,omitempty"`
	ResultDigest   string             `json:"resultDigest,omitempty"`
	JobUID         string             `json:"jobUID,omitempty"`
	Executor       string             `json:"executor,omitempty"`
	Failure        string             `json:"failure,omitempty"`
	Invariants     []ledger.Invariant `json:"invariants"`
	Next           string             `json:"next"`
}

func shownChange(c ledger.Change) ledgerChange {
	shown := ledgerChange{
		Key: c.Key, State: c.State, Target: c.Target, SourceRevision: c.SourceRevision, Attempt: c.Attempt, Issued: c.Issued,
		LeaseUntil: utc(c.LeaseUntil), LeaseExpired: c.LeaseExpired, StartedAt: utc(c.StartedAt), FinishedAt: utc(c.FinishedAt),
		SchemaVersion: c.SchemaVersion, ResultDigest: c.ResultDigest, JobUID: c.JobUID, Executor: c.Executor, Failure: c.Failure,
		Invariants: append([]ledger.Invariant{}, c.Invariants...), Next: nextStep(c),
	}
	for i := range shown.Invariants {
		shown.Invariants[i].CheckedAt = utc(shown.Invariants[i].CheckedAt)
	}
	return shown
}

func shownDecision(d ledger.Decision) ledger.Decision {
	d.At, d.LeaseBefore = d.At.UTC(), utc(d.LeaseBefore)
	return d
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

// readStatus reads the changes of the keys, of all where there are none, with one that is
// ABSENT for a key of which nothing is recorded. The order is that of the keys' bytes:
// a database may have another.
func readStatus(ctx context.Context, l *ledger.Ledger, keys []string, history bool) (*ledgerStatus, error) {
	if len(keys) == 0 {
		keys = nil
	}
	changes, now, err := l.Changes(ctx, keys)
	if err != nil {
		return nil, err
	}
	found := make(map[string]bool, len(changes))
	for _, c := range changes {
		found[c.Key] = true
	}
	for _, key := range keys {
		if !found[key] {
			found[key] = true
			changes = append(changes, ledger.Change{Key: key, State: ledger.Absent})
		}
	}
	slices.SortFunc(changes, func(a, b ledger.Change) int { return strings.Compare(a.Key, b.Key) })
	s := &ledgerStatus{Changes: []ledgerChange{}, Attempts: []ledger.Attempt{}, Decisions: []ledger.Decision{}, now: now, history: history}
	for _, c := range changes {
		s.Changes = append(s.Changes, shownChange(c))
	}
	if !history {
		return s, nil
	}
	attempts, err := l.Attempts(ctx, keys)
	if err != nil {
		return nil, err
	}
	for _, a := range attempts {
		a.StartedAt, a.FinishedAt = a.StartedAt.UTC(), utc(a.FinishedAt)
		s.Attempts = append(s.Attempts, a)
	}
	decisions, err := l.Decisions(ctx, keys)
	if err != nil {
		return nil, err
	}
	for _, d := range decisions {
		s.Decisions = append(s.Decisions, shownDecision(d))
	}
	slices.SortStableFunc(s.Attempts, func(a, b ledger.Attempt) int { return strings.Compare(a.Key, b.Key) })
	slices.SortStableFunc(s.Decisions, func(a, b ledger.Decision) int { return strings.Compare(a.Key, b.Key) })
	return s, nil
}

func (s *ledgerStatus) print(format string) ([]byte, error) {
	switch format {
	case "json":
		return indented(s)
	case "env":
		return s.Changes[0].env()
	}
	return s.text()
}

// env is the change as lines name=value, as `kubectl create configmap --from-env-file`
// takes them: nothing is quoted there, so a value has to be one line.
func (c *ledgerChange) env() ([]byte, error) {
	state, attempt := c.State, c.Attempt
	if (ledger.Change{State: c.State, Attempt: c.Attempt, Issued: c.Issued}).MayRun() { // as a MigrationLedger says it
		state, attempt = ledger.Absent, c.Issued
	}
	lease := ""
	if c.LeaseUntil != nil {
		lease = c.LeaseUntil.Format(time.RFC3339)
	}
	var b bytes.Buffer
	for _, line := range [][2]string{
		{"changeKey", c.Key},
		{"state", string(state)},
		{"sourceRevision", c.SourceRevision},
		{"leaseUntil", lease},
		{"leaseExpired", strconv.FormatBool(c.LeaseExpired)},
		{"invariants", outcomeOf(c.Invariants)},
		{"attempt", strconv.Itoa(attempt)},
	} {
		if strings.ContainsFunc(line[1], unicode.IsControl) {
			return nil, fmt.Errorf("%s: got %q, and -o env has no place for a line break or another control character", line[0], line[1])
		}
		b.WriteString(line[0] + "=" + line[1] + "\n")
	}
	return b.Bytes(), nil
}

// What the invariants of a change say together.
const (
	invariantsNone      = "none"
	invariantsHold      = "hold"
	invariantsBroken    = "broken"
	invariantsUnchecked = "unchecked"
)

// outcomeOf is the worst of what invariants found.
func outcomeOf(all []ledger.Invariant) string {
	if len(all) == 0 {
		return invariantsNone
	}
	if doubt := ledger.Doubt(all); doubt != nil {
		return outcome(*doubt)
	}
	return invariantsHold
}

func outcome(i ledger.Invariant) string {
	switch {
	case i.Holds == nil:
		return invariantsUnchecked
	case *i.Holds:
		return invariantsHold
	}
	return invariantsBroken
}

func (s *ledgerStatus) text() ([]byte, error) {
	if len(s.Changes) == 0 {
		return []byte("nothing is recorded\n"), nil
	}
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 8, 2, ' ', 0)
	withTarget := slices.ContainsFunc(s.Changes, func(c ledgerChange) bool { return c.Target != "" })
	row := func(key, state, lease, attempt, revision, target, invariants, next string) {
		cells := []string{key, state, lease, attempt, revision, target, invariants, next}
		if !withTarget {
			cells = slices.Delete(cells, 5, 6)
		}
		for i, cell := range cells {
			// One line for each change, and no cell ends early.
			cells[i] = cmp.Or(printable(strings.NewReplacer("\n", " ", "\t", " ").Replace(cell)), "-")
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	row("KEY", "STATE", "LEASE", "ATTEMPT", "REVISION", "TARGET", "INVARIANTS", "NEXT")
	for _, c := range s.Changes {
		attempt := ""
		if c.Attempt > 0 {
			attempt = strconv.Itoa(c.Attempt)
		}
		row(c.Key, string(c.State), c.lease(s.now), attempt, shortRevision(c.SourceRevision), c.Target, c.invariants(), c.Next)
	}
	err := table.Flush()
	if s.history {
		h := s.byChange()
		for _, c := range s.Changes {
			h.print(&out, c)
		}
	}
	return out.Bytes(), err
}

// lease says how much of the lease is left by the database's clock, in whole seconds.
func (c *ledgerChange) lease(now time.Time) string {
	switch {
	case c.LeaseUntil == nil:
		return ""
	case c.LeaseExpired:
		return fmt.Sprintf("expired %s ago", max(0, now.Sub(*c.LeaseUntil)).Truncate(time.Second))
	}
	return fmt.Sprintf("live, %s left", max(0, c.LeaseUntil.Sub(now)).Truncate(time.Second))
}

// maxNamed is how many invariants a cell names.
const maxNamed = 3

// invariants names those that do not hold, the broken ones first.
func (c *ledgerChange) invariants() string {
	var bad []string
	for _, what := range []string{invariantsBroken, invariantsUnchecked} {
		for _, i := range c.Invariants {
			if outcome(i) == what {
				bad = append(bad, i.Name+" "+what)
			}
		}
	}
	switch more := len(bad) - maxNamed; {
	case len(c.Invariants) == 0:
		return ""
	case len(bad) == 0:
		return fmt.Sprintf("%d of %d hold", len(c.Invariants), len(c.Invariants))
	case more > 0:
		bad = append(bad[:maxNamed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(bad, ", ")
}

// shortRevision is a revision as a table has room for it: of a commit its first 12
// digits, of another as much as anybody can still read.
func shortRevision(revision string) string {
	const digits, room = 12, 40
	isCommit := len(revision) >= 40 && strings.Trim(revision, "0123456789abcdef") == ""
	switch letters := []rune(revision); {
	case isCommit:
		return revision[:digits]
	case len(letters) > room:
		return string(letters[:room-1]) + "…"
	}
	return revision
}

// history is what happened, by change, each in its order.
type history struct {
	attempts  map[string][]ledger.Attempt
	decisions map[judged][]ledger.Decision
}

// judged is the attempt that a decision is about.
type judged struct {
	key     string
	attempt int
}

func (s *ledgerStatus) byChange() history {
	h := history{map[string][]ledger.Attempt{}, map[judged][]ledger.Decision{}}
	for _, a := range s.Attempts {
		h.attempts[a.Key] = append(h.attempts[a.Key], a)
	}
	for _, d := range s.Decisions {
		about := judged{d.Key, d.Attempt}
		h.decisions[about] = append(h.decisions[about], d)
	}
	return h
}

// print writes what happened to a change, in its order: each attempt with the
// decisions about it, then what the invariants found.
func (h history) print(w io.Writer, c ledgerChange) {
	line := func(format string, args ...any) {
		fmt.Fprintln(w, printable(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")))
	}
	field := func(name, value string) {
		for part := range strings.Lines(value) {
			fmt.Fprintln(w, printable(fmt.Sprintf("    %-9s %s", name, strings.TrimRight(part, "\r\n"))))
			name = ""
		}
	}
	fmt.Fprintln(w)
	line("%s", c.Key)
	if c.State == ledger.Absent {
		line("  nothing is recorded")
	}
	for _, a := range h.attempts[c.Key] {
		line("  attempt %d is %s", a.Attempt, a.State)
		field("started", rfc3339(&a.StartedAt))
		field("finished", rfc3339(a.FinishedAt))
		field("revision", a.SourceRevision)
		field("executor", a.Executor)
		field("job UID", a.JobUID)
		if a.ExitCode != nil {
			field("exit code", strconv.Itoa(*a.ExitCode))
		}
		field("digest", a.ResultDigest)
		field("failure", a.Failure)
		for _, d := range h.decisions[judged{a.Key, a.Attempt}] {
			line("  decision about attempt %d: %s", d.Attempt, decided(d))
			field("at", rfc3339(&d.At))
			field("by", d.By)
			field("role", d.Role)
			field("before", before(d))
			field("reason", d.Reason)
			field("evidence", d.Evidence)
		}
	}
	for _, i := range c.Invariants {
		line("  invariant %s: %s", i.Name, invariantVerdict(i))
		field("checked", rfc3339(i.CheckedAt))
		field("detail", i.Detail)
	}
}

// rfc3339 is a time of the database for a person, "" where there is none.
func rfc3339(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
