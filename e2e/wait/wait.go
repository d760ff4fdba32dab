// Package wait waits for conditions in tests: each wait has a bound, and one
// that ran out says what was waited for and what was seen last.
package wait

import (
	"testing"
	"time"
)

// Interval is the pause between two looks at a condition.
const Interval = 100 * time.Millisecond

// Until calls probe until it returns nil. After limit the test fails with what
// was waited for, the last error of probe and what explain adds for a person
// who looks for the cause; explain may be nil.
func Until(t testing.TB, limit time.Duration, what string, probe func() error, explain func() string) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := probe()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			if explain == nil {
				explain = func() string { return "" }
			}
			t.Fatalf("%s: not within %s: %v\n%s", what, limit, err, explain())
		}
		time.Sleep(Interval)
	}
}
