package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/ledger"
)

// recoverFlags are a decision as it was given.
type recoverFlags struct {
	ledgerFlags
	key, verdict, reason, evidence, by string
	attempt                            int
	forceLive, reopen                  bool
	output                             string
}

func ledgerRecoverCommand(env *environment) *cobra.Command {
	var f recoverFlags
	cmd := &cobra.Command{
		Use: "recover", Short: "Record what a person found out about an attempt",
		Long: ledgerRecoverHelp, Example: ledgerRecoverExample, Args: ledgerArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.output != "text" && f.output != "json" {
				return usageError{fmt.Errorf("-o: got %q, want text or json", f.output)}
			}
			r, err := f.recovery()
			if err != nil {
				return err
			}
			return env.recoverChange(cmd.Context(), &f, r)
		},
	}
	f.flags(cmd)
	cmd.Flags().StringVar(&f.key, "change-key", "", "`key` of the change")
	cmd.Flags().StringVar(&f.verdict, "verdict", "", "`what` you found: succeeded, failed, or retry for one more attempt")
	cmd.Flags().StringVar(&f.reason, "reason", "", "`why` you decide so, kept for ever")
	cmd.Flags().StringVar(&f.evidence, "evidence", "", "`what` you looked at and what it showed, kept for ever")
	cmd.Flags().StringVar(&f.by, "by", "", "your `name`; the role that PostgreSQL knows you by is recorded in any case")
	cmd.Flags().IntVar(&f.attempt, "attempt", 0, "`number` of the attempt that you looked at, so that a newer one is not decided about (default: the newest)")
	cmd.Flags().BoolVar(&f.forceLive, "force-live-lease", false, "decide although the lease is not over, and the executor may be at work")
	cmd.Flags().BoolVar(&f.reopen, "reopen-succeeded", false, "decide although the change is recorded as SUCCEEDED")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "`format`: text or json")
	return cmd
}

// recovery is the decision, or what is missing of it. White space says nothing.
func (f *recoverFlags) recovery() (ledger.Recovery, error) {
	r := ledger.Recovery{
		Key: f.key, Verdict: ledger.Verdict(f.verdict), Reason: strings.TrimSpace(f.reason), Evidence: strings.TrimSpace(f.evidence),
		By: strings.TrimSpace(f.by), Attempt: f.attempt, ForceLive: f.forceLive, Reopen: f.reopen,
	}
	var missing, invalid []string
	for _, given := range []struct{ flag, value string }{
		{"--change-key", f.key}, {"--verdict", f.verdict}, {"--reason", f.reason}, {"--evidence", f.evidence}, {"--by", f.by},
	} {
		if given.flag != "--by" && strings.TrimSpace(given.value) == "" {
			missing = append(missing, given.flag)
		}
		if !utf8.ValidString(given.value) {
			invalid = append(invalid, given.flag)
		}
	}
	switch r.Verdict {
	case ledger.FoundSucceeded, ledger.FoundFailed, ledger.Retry:
	default:
		if len(missing) == 0 {
			return r, usageError{fmt.Errorf("--verdict: got %q, want succeeded, failed or retry", f.verdict)}
		}
	}
	switch {
	case len(missing) > 0:
		return r, usageError{diag.WithHint(errors.New("missing: "+strings.Join(missing, ", ")), hintRecover)}
	case len(invalid) > 0:
		return r, usageError{errors.New("not valid UTF-8: " + strings.Join(invalid, ", "))}
	case f.changed("attempt") && f.attempt < 1:
		return r, usageError{fmt.Errorf("--attempt: got %d, want 1 or more", f.attempt)}
	}
	return r, nil
}

// recovered is the object of -o json.
type recovered struct {
	Change   ledgerChange    `json:"change"`
	Decision ledger.Decision `json:"decision"`
}

func (env *environment) recoverChange(ctx context.Context, f *recoverFlags, r ledger.Recovery) error {
	db, l, err := f.open(env)
	if err != nil {
		return err
	}
	defer db.Close()
	c, d, err := l.Recover(ctx, r)
	if err != nil {
		return err
	}
	text := []byte(fmt.Sprintf("recorded: %s\nnext: %s\n", printable(recordedDecision(c, d)), afterDecision(c, d)))
	if f.output == "json" {
		if text, err = indented(recovered{shownChange(c), shownDecision(d)}); err != nil {
			return err
		}
	}
	if d.Forced {
		printWarnings(env.stderr, []string{warnForced})
	}
	_, err = env.stdout.Write(text)
	return err
}
