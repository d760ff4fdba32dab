package main

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/health/suite"
)

func healthTestCommand(env *environment) *cobra.Command {
	var s specs
	var output string
	var cover int
	var verbose bool
	var maxTime time.Duration
	cmd := &cobra.Command{
		Use: "test [FILE|DIR]...", Short: "Run the cases of specs in Argo CD's Lua VM and in cel-go",
		Long: healthTestHelp, Example: healthTestExample,
		RunE: func(_ *cobra.Command, args []string) error {
			if output != "text" && output != "json" && output != "junit" {
				return usageError{fmt.Errorf("-o: got %q, want text, json or junit", output)}
			}
			if cover < 0 || cover > 100 {
				return usageError{fmt.Errorf("--cover: got %d, want a percentage from 0 to 100", cover)}
			}
			all, err := s.load(args)
			if err != nil {
				return err
			}
			subjects, err := compiled(all)
			if err != nil {
				return err
			}
			var reports []*suite.Report
			for _, subject := range subjects {
				report, err := suite.Run(subject, suite.Options{Now: env.now, CPU: threadTime, MaxTime: maxTime})
				if err != nil {
					return err
				}
				reports = append(reports, report)
			}
			suite.Sort(reports)
			var out bytes.Buffer
			switch output {
			case "json":
				err = suite.WriteJSON(&out, reports, cover)
			case "junit":
				err = suite.WriteJUnit(&out, reports, cover)
			default:
				err = suite.WriteText(&out, reports, suite.TextOptions{Verbose: verbose, Cover: cover})
			}
			if err != nil {
				return err
			}
			if _, err := env.stdout.Write(out.Bytes()); err != nil {
				return err
			}
			return testVerdict(reports, cover)
		},
	}
	s.flags(cmd)
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`format`: text, json or junit")
	cmd.Flags().IntVar(&cover, "cover", 0, "fail where the cases of a check reach less than this `percentage` of its rules")
	cmd.Flags().DurationVar(&maxTime, "max-time", suite.MaxTime, "the most processor time that a check may take for an object of the corpus, 0 for no bound")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "print every case, not only those that fail")
	return cmd
}

// testVerdict is the error of a run in which something failed. What failed is
// the result and stands on standard output.
func testVerdict(reports []*suite.Report, cover int) error {
	failed, low := 0, 0
	for _, r := range reports {
		failed += r.Failed()
		if r.Coverage() < cover {
			low++
		}
	}
	var errs []error
	if failed > 0 {
		errs = append(errs, fmt.Errorf("%s failed", count(failed, "case")))
	}
	if low > 0 {
		errs = append(errs, fmt.Errorf("%s with less than %d %% of the rules reached", count(low, "check"), cover))
	}
	return errors.Join(errs...)
}

// count is a number with its unit.
func count(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// now is the clock, which comes from here alone.
func (env *environment) now() time.Time { return time.Now() }
