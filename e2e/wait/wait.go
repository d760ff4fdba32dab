// Package wait waits for conditions in tests: each wait has a bound, and one
// that ran out says what was waited for and what was seen last.
package wait

import (
	"testing"
	"time"
)

const (
	// Interval is the pause between two looks at a condition.
	Interval = 100 * time.Millisecond
	// Limit bounds every wait, and what others may take that a test waits for:
	// most of it takes seconds, and minutes on a machine that is busy.
	Limit = 5 * time.Minute
)

// Until calls probe until it returns nil. After Limit the test fails with what
// was waited for, the last error of probe and what explain adds for a person
// who looks for the cause; explain may be nil.
func Until(t testing.TB, what string, probe func() error, explain func() string) {
	t.Helper()
	deadline := time.Now().Add(Limit)
	for {
		err := probe()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			if explain == nil {
				explain = func() string { return "" }
			}
			t.Fatalf("%s: not within %s: %v\n%s", what, Limit, err, explain())
		}
		time.Sleep(Interval)
	}
}
