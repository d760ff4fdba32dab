package controller

import (
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/ledger/projection"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// A database that fails is asked after the interval, then twice that, and so on.
func TestBackOff(t *testing.T) {
	t.Parallel()
	o := &Options{Interval: 15 * time.Second, Random: func() float64 { return 0 }}
	s := source{Database: "a"}
	all := turns{of: map[source]*turn{}}
	now := begin
	all.changed(s, now, now)
	look := func(fault projection.Fault, asked bool) time.Duration {
		if due, _ := all.take(now, now.Add(time.Hour)); len(due) != 1 {
			t.Fatalf("at %s %v are due", now, due)
		}
		all.ended(s, fault, asked, now, o)
		wait := all.of[s].due.Sub(now)
		now = all.of[s].due
		return wait
	}
	for i, step := range []struct {
		fault projection.Fault
		want  time.Duration
	}{
		{"", 15 * time.Second},
		{"Unreachable", 15 * time.Second}, {"AccessDenied", 30 * time.Second}, {"Unreachable", time.Minute},
		{"Unreachable", 2 * time.Minute}, {"Unreachable", 2 * time.Minute}, {"", 15 * time.Second}, {"Unreachable", 15 * time.Second},
		// A file that is not there costs nothing to look for.
		{projection.NotConfigured, 15 * time.Second}, {projection.NotConfigured, 15 * time.Second}, {"Unreachable", 15 * time.Second},
	} {
		if got := look(step.fault, true); got != step.want {
			t.Errorf("step %d: got %s after %q, want %s", i+1, got, step.fault, step.want)
		}
	}
	// A change meanwhile brings a look, which does not ask the database.
	now = now.Add(-10 * time.Second)
	if fault, known := all.known(s, now); !known || fault != "Unreachable" {
		t.Errorf("got %q, %v", fault, known)
	}
	all.changed(s, now, now)
	if got := look("Unreachable", false); got != 10*time.Second {
		t.Errorf("got %s, want the try that was due", got)
	}
	if unread, _ := all.oldest(now); unread != now.Sub(begin.Add(15*time.Second+15*time.Second+30*time.Second+time.Minute+4*time.Minute)) {
		t.Errorf("unread for %s", unread)
	}
}

// Chance makes a wait longer and never shorter.
func TestJitter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		random float64
		want   time.Duration
	}{{0, 10 * time.Second}, {0.5, 10500 * time.Millisecond}} {
		o := &Options{Random: func() float64 { return tc.random }}
		if got := o.later(10 * time.Second); got != tc.want {
			t.Errorf("%v: got %s, want %s", tc.random, got, tc.want)
		}
	}
}

// The API server's own wish is a lower bound.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	o := &Options{Interval: time.Second, Random: func() float64 { return 0 }}
	var r retry
	for i, want := range []time.Duration{7 * time.Second, 7 * time.Second, 7 * time.Second, 8 * time.Second, 16 * time.Second} {
		if r.failed(o, begin, 7*time.Second); r.at.Sub(begin) != want {
			t.Errorf("failure %d: got %s, want %s", i+1, r.at.Sub(begin), want)
		}
	}
	for range 100 {
		r.failed(o, begin, 0)
	}
	if r.at.Sub(begin) != maxDelay {
		t.Errorf("got %s after many failures", r.at.Sub(begin))
	}
}

// Changes during a look make one more look, soon.
func TestChangesDuringALook(t *testing.T) {
	t.Parallel()
	o := &Options{Interval: time.Minute, Random: func() float64 { return 0 }}
	s := source{Database: "a"}
	all := turns{of: map[source]*turn{}}
	if !all.changed(s, begin, begin) {
		t.Error("nobody is woken for a new source")
	}
	all.take(begin, begin)
	for range 3 {
		if all.changed(s, begin, begin) {
			t.Error("somebody is woken during a look")
		}
	}
	if all.ended(s, "", true, begin, o); all.of[s].due != begin.Add(soon) {
		t.Errorf("the next look is at %s", all.of[s].due)
	}
	all.take(begin.Add(soon), begin)
	if all.ended(s, "", true, begin, o); all.of[s].due != begin.Add(time.Minute) {
		t.Errorf("the next look is at %s", all.of[s].due)
	}
	all.take(begin.Add(time.Minute), begin)
	all.changed(s, begin, begin)
	if all.empty(s, begin); all.of[s] == nil {
		t.Error("a source is forgotten for which an object came")
	}
	all.take(begin, begin)
	if all.empty(s, begin); all.of[s] != nil || all.busy != 0 {
		t.Errorf("got %+v", all.of[s])
	}
}

// No more than some sources are looked at at once, and none twice.
func TestParallel(t *testing.T) {
	t.Parallel()
	all := turns{of: map[source]*turn{}}
	for i := range parallel + 3 {
		all.changed(source{Database: string(rune('a' + i))}, begin, begin)
	}
	due, _ := all.take(begin, begin)
	more, _ := all.take(begin, begin)
	if len(due) != parallel || len(more) != 0 {
		t.Errorf("got %d and then %d", len(due), len(more))
	}
	all.ended(due[0], "", true, begin, &Options{Interval: time.Minute, Random: func() float64 { return 0 }})
	if more, _ = all.take(begin, begin); len(more) != 1 {
		t.Errorf("got %d when one had ended", len(more))
	}
}
