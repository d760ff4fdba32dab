package plugin

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The variables between TestDerivedProcesses and the processes that it starts.
const (
	envRuns = "HALLMARK_DERIVED_RUNS" // how many processes there are, 4 if it is not set
	envRun  = "HALLMARK_DERIVED_RUN"  // set in those: which of them it is, from 0
)

const (
	slowRuns = 4 // as many processes render the charts that take seconds
	between  = 37 * time.Minute
)

// Each of several processes renders all charts with both engines, in another time zone,
// with another number of processors and at another time. They give the same bytes.
func TestDerivedProcesses(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes that take seconds")
	}
	runs := 4
	if text := os.Getenv(envRuns); text != "" {
		var err error
		if runs, err = strconv.Atoi(text); err != nil || runs < 2 {
			t.Fatalf("%s: got %q, want a number from 2 on", envRuns, text)
		}
	}
	zones := []string{"UTC", "Asia/Kolkata", "America/St_Johns", "Pacific/Kiritimati"}
	var first map[string]string
	for run := range runs {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDerivedProcess$", "-test.count=1") //nolint:gosec // the test itself
		cmd.Env = append(os.Environ(), "TZ="+zones[run%len(zones)], fmt.Sprintf("GOMAXPROCS=%d", 1+run%3), fmt.Sprintf("%s=%d", envRun, run))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("process %d: %v\n%s", run, err, out)
		}
		digests := map[string]string{}
		for line := range bytes.Lines(out) {
			if f := strings.Fields(string(line)); len(f) == 3 && f[0] == "digest" {
				digests[f[1]] = f[2]
			}
		}
		if first == nil {
			first = digests
		}
		if want := len(processCases(t, run)) * len(derivedEngines); len(digests) != want {
			t.Fatalf("process %d renders %d times, want %d:\n%s", run, len(digests), want, out)
		}
		for _, name := range sortedKeys(digests) {
			if digests[name] != first[name] {
				t.Errorf("%s: process %d gives something else than process 0", name, run)
			}
		}
	}
}

// processCases are the charts that a process renders.
func processCases(t *testing.T, run int) []derivedCase {
	t.Helper()
	return slices.DeleteFunc(derivedCases(t), func(c derivedCase) bool { return c.want.Slow && run >= slowRuns })
}

// TestDerivedProcess is one of the processes.
func TestDerivedProcess(t *testing.T) {
	run, err := strconv.Atoi(os.Getenv(envRun))
	if err != nil {
		t.Skip("is started by TestDerivedProcesses")
	}
	time.Local = time.UTC // as the program does
	cases := processCases(t, run)
	if run%2 == 1 {
		slices.Reverse(cases)
	}
	for _, c := range cases {
		for _, engine := range derivedEngines {
			r := c.request(t, engine, nil)
			r.Today = r.Today.Add(time.Duration(run) * between)
			var text string
			if c.want.Refused == nil {
				text = streamOf(mustDerive(t, r))
			} else {
				out, _ := outcome(t, r)
				_, places := c.refusedFields(out, r.Namespace)
				for i, u := range out.Unstable {
					text += fmt.Sprintln(places[i], u.Reason) // the name of the object can be random
				}
			}
			fmt.Printf("digest %s/%s %x\n", c.name, engine, sha256.Sum256([]byte(text)))
		}
	}
}
