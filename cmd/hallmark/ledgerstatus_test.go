package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	kubectl "k8s.io/kubectl/pkg/cmd/util"

	"hallmark.dev/hallmark/internal/ledger"
)

func TestLedgerStatusText(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	until := func(d time.Duration) *time.Time { u := now.Add(d); return &u }
	yes, no := true, false
	holds, broken, unchecked := ledger.Invariant{Name: "a", Holds: &yes}, ledger.Invariant{Name: "b", Holds: &no}, ledger.Invariant{Name: "c"}
	done := func(all ...ledger.Invariant) ledger.Change {
		return ledger.Change{State: ledger.Succeeded, Attempt: 1, Issued: 1, Invariants: all}
	}
	const commit = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	for _, c := range []struct {
		name   string
		change ledger.Change
		want   string // the cells behind the key
	}{
		{"absent", ledger.Change{State: ledger.Absent}, "ABSENT|-|-|-|-|run it: nothing is recorded"},
		{"live", ledger.Change{State: ledger.Running, Attempt: 1, Issued: 1, LeaseUntil: until(250*time.Second + time.Millisecond)},
			"RUNNING|live, 4m10s left|1|-|-|wait until it ends"},
		// The two readings of the database's clock may be a moment apart.
		{"about to expire", ledger.Change{State: ledger.Running, Attempt: 1, Issued: 1, LeaseUntil: until(-time.Millisecond)},
			"RUNNING|live, 0s left|1|-|-|wait until it ends"},
		{"just expired", ledger.Change{State: ledger.Running, Attempt: 1, Issued: 1, LeaseUntil: until(time.Millisecond), LeaseExpired: true},
			"RUNNING|expired 0s ago|1|-|-|investigate, do not re-run; then hallmark ledger recover"},
		{"expired", ledger.Change{State: ledger.Running, Attempt: 2, Issued: 2, LeaseUntil: until(-26 * time.Hour), LeaseExpired: true},
			"RUNNING|expired 26h0m0s ago|2|-|-|investigate, do not re-run; then hallmark ledger recover"},
		{"failed", ledger.Change{State: ledger.Failed, Attempt: 1, Issued: 1}, "FAILED|-|1|-|-|find out how far it got, then hallmark ledger recover"},
		{"issued", ledger.Change{State: ledger.Failed, Attempt: 1, Issued: 2}, "FAILED|-|1|-|-|run it: attempt 2 may run"},
		{"no invariants", done(), "SUCCEEDED|-|1|-|-|nothing"},
		{"hold", done(holds, holds), "SUCCEEDED|-|1|-|2 of 2 hold|nothing"},
		{"broken", done(unchecked, holds, broken), "SUCCEEDED|-|1|-|b broken, c unchecked|mend what the invariant looks at, then run the key again: it only checks"},
		{"unchecked", done(holds, unchecked), "SUCCEEDED|-|1|-|c unchecked|run the key again: it only checks the invariants"},
		{"many", done(broken, broken, broken, broken, unchecked), "SUCCEEDED|-|1|-|b broken, b broken, b broken, 2 more|mend what the invariant looks at, then run the key again: it only checks"},
		{"a commit", ledger.Change{State: ledger.Failed, Attempt: 1, Issued: 1, SourceRevision: commit}, "FAILED|-|1|4b825dc642cb|-|find out how far it got, then hallmark ledger recover"},
		{"a long revision", ledger.Change{State: ledger.Failed, Attempt: 1, Issued: 1, SourceRevision: strings.Repeat("語", 41)}, "FAILED|-|1|" + strings.Repeat("語", 39) + "…|-|find out how far it got, then hallmark ledger recover"},
		{"not of this terminal", ledger.Change{State: ledger.Failed, Attempt: 1, Issued: 1, SourceRevision: "a\x1b[31m\nb\tc\u202e"}, "FAILED|-|1|a\uFFFD[31m b c\uFFFD|-|find out how far it got, then hallmark ledger recover"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.change.Key = "k"
			s := ledgerStatus{Changes: []ledgerChange{shownChange(c.change)}, now: now}
			text, err := s.print("text")
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(text), "\n")
			if len(lines) != 3 || lines[2] != "" {
				t.Fatalf("got %d lines, want two:\n%s", len(lines), text)
			}
			if got := cells(lines[0]); got != "KEY|STATE|LEASE|ATTEMPT|REVISION|INVARIANTS|NEXT" {
				t.Errorf("the header is %s", got)
			}
			if got := cells(lines[1]); got != "k|"+c.want {
				t.Errorf("got  %s\nwant %s", got, "k|"+c.want)
			}
		})
	}
}

// cells are those of a line of a table, which two spaces or more divide.
func cells(line string) string {
	var out []string
	for cell := range strings.SplitSeq(line, "  ") {
		if cell = strings.TrimSpace(cell); cell != "" {
			out = append(out, cell)
		}
	}
	return strings.Join(out, "|")
}

// The lines are read by the function that kubectl reads them with.
func TestLedgerStatusEnv(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	holds, broken, unchecked := ledger.Invariant{Holds: &yes}, ledger.Invariant{Holds: &no}, ledger.Invariant{}
	until := time.Date(2026, 1, 2, 3, 4, 5, 678, time.FixedZone("east", 3600))
	for _, c := range []struct {
		name   string
		change ledger.Change
		want   []string // the values in their order, nil where there is no way to write them
	}{
		{"absent", ledger.Change{Key: "k", State: ledger.Absent}, []string{"k", "ABSENT", "", "", "false", "none", "0"}},
		{"failed", ledger.Change{Key: "k", State: ledger.Failed, Attempt: 2, Issued: 2}, []string{"k", "FAILED", "", "", "false", "none", "2"}},
		{"issued", ledger.Change{Key: "k", State: ledger.Failed, Attempt: 2, Issued: 3}, []string{"k", "ABSENT", "", "", "false", "none", "3"}},
		{"expired", ledger.Change{Key: "k", State: ledger.Running, Attempt: 2, SourceRevision: "4b825dc", LeaseUntil: &until, LeaseExpired: true},
			[]string{"k", "RUNNING", "4b825dc", "2026-01-02T02:04:05Z", "true", "none", "2"}},
		{"hold", ledger.Change{Key: ` a "b" $c=d #語 `, State: ledger.Succeeded, Attempt: 1, Invariants: []ledger.Invariant{holds, holds}},
			[]string{` a "b" $c=d #語 `, "SUCCEEDED", "", "", "false", "hold", "1"}},
		{"broken", ledger.Change{Key: "k", State: ledger.Succeeded, Attempt: 1, Invariants: []ledger.Invariant{unchecked, holds, broken}},
			[]string{"k", "SUCCEEDED", "", "", "false", "broken", "1"}},
		{"unchecked", ledger.Change{Key: "k", State: ledger.Succeeded, Attempt: 1, Invariants: []ledger.Invariant{holds, unchecked}},
			[]string{"k", "SUCCEEDED", "", "", "false", "unchecked", "1"}},
		{"a line more", ledger.Change{Key: "k", State: ledger.Failed, Attempt: 1, SourceRevision: "a\nstate=SUCCEEDED"}, nil},
		{"a line that ends early", ledger.Change{Key: "k\r", State: ledger.Failed, Attempt: 1}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			shown := shownChange(c.change)
			text, err := shown.env()
			if c.want == nil {
				if err == nil || len(text) > 0 {
					t.Errorf("got %q, want an error", text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "env")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			var names, values []string
			if err := kubectl.AddFromEnvFile(file, func(name, value string) error {
				names, values = append(names, name), append(values, value)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if want := []string{"changeKey", "state", "sourceRevision", "leaseUntil", "leaseExpired", "invariants", "attempt"}; !slices.Equal(names, want) {
				t.Errorf("the names are %q, want %q", names, want)
			}
			if !slices.Equal(values, c.want) {
				t.Errorf("the values are %q, want %q", values, c.want)
			}
		})
	}
}

// Attempts and decisions stand with their change, wherever they are in the lists.
func TestLedgerHistoryByChange(t *testing.T) {
	t.Parallel()
	s := ledgerStatus{history: true}
	for _, key := range []string{"a", "b", "c"} {
		s.Changes = append(s.Changes, ledgerChange{Key: key, State: ledger.Failed})
	}
	for attempt := 1; attempt <= 2; attempt++ {
		for _, key := range []string{"c", "a"} {
			s.Attempts = append(s.Attempts, ledger.Attempt{Key: key, Attempt: attempt, Executor: "by " + key})
			s.Decisions = append(s.Decisions, ledger.Decision{Key: key, Attempt: attempt, Reason: "of " + key})
		}
	}
	text, err := s.print("text")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(text), "\n\n")
	var got []string
	for line := range strings.Lines(shown) {
		switch words := strings.Fields(line); {
		case len(words) == 1: // a key
			got = append(got, words[0])
		case len(words) > 3 && words[0] == "decision":
			got = append(got, "decision "+strings.TrimSuffix(words[3], ":"))
		case len(words) > 1 && words[0] == "attempt":
			got = append(got, "attempt "+words[1])
		case len(words) == 3 && (words[0] == "executor" || words[0] == "reason"):
			got = append(got, strings.Join(words, " "))
		}
	}
	of := func(key string) []string {
		return []string{
			key, "attempt 1", "executor by " + key, "decision 1", "reason of " + key,
			"attempt 2", "executor by " + key, "decision 2", "reason of " + key,
		}
	}
	if want := slices.Concat(of("a"), []string{"b"}, of("c")); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
