package controller

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"hallmark.dev/hallmark/internal/ledger"
)

// No name of a database or an object becomes a label.
func TestLabels(t *testing.T) {
	t.Parallel()
	f := set(t)
	o := asks("marker-namespace", "marker-ledger", first)
	o.Spec.Database = "marker-database"
	f.api.Put(o)
	f.api.Put(asks("shop", "a", first))
	if _, err := f.Once(t.Context()); err == nil {
		t.Fatal("a database without an address is no error")
	}
	text := f.get(t, "/metrics", 200)
	if strings.Contains(text, "marker-") {
		t.Errorf("a name is in\n%s", text)
	}
	results := []string{
		queryOK, "DatabaseNotConfigured", "Unreachable", "AccessDenied", "RightMissing", "NotInstalled", "TimedOut", "QueryFailed",
		patchWritten, patchGone, patchConflict, patchForbidden, patchBusy, patchRefused, patchFailed,
	}
	found := regexp.MustCompile(`(?m)^hallmark_ledger_\w+\{result="(\w+)"\}`).FindAllStringSubmatch(text, -1)
	if len(found) != len(results) {
		t.Errorf("got %d results, want %d", len(found), len(results))
	}
	for _, m := range found {
		if !slices.Contains(results, m[1]) {
			t.Errorf("got result %q", m[1])
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("got %v, %v", problems, err)
	}
	if f.metric(t, `hallmark_ledger_queries_total{result="OK"}`) != 1 || f.metric(t, `hallmark_ledger_queries_total{result="DatabaseNotConfigured"}`) != 1 {
		t.Errorf("got\n%s", text)
	}
}

// A process is ready once it knows the objects, and to be started anew when its loop or
// a look does not go on.
func TestProbes(t *testing.T) {
	t.Parallel()
	now := &clock{now: time.Now()}
	var hangs chan struct{}
	f := set(t, func(o *Options) {
		o.Now = now.Now
		o.Interval = hour
		hangs = make(chan struct{})
		o.Databases = func(string, func(*ledger.DB) error) error {
			<-hangs
			return ErrNotConfigured
		}
	})
	f.get(t, "/readyz", 503)
	f.get(t, "/healthz", 200)
	f.api.Put(asks("shop", "a", first))
	f.watch(t)
	eventually(t, "looks", func() bool { _, busiest := f.turns.oldest(now.Now().Add(time.Minute)); return busiest > 0 })
	f.get(t, "/readyz", 200)
	f.get(t, "/healthz", 200)
	now.Add(10 * hour)
	if text := f.get(t, "/healthz", 503); !strings.Contains(text, "the loop has not turned since") {
		t.Errorf("got %s", text)
	}
	if unread := f.metric(t, "hallmark_ledger_unread_seconds"); unread < (10 * hour).Seconds() {
		t.Errorf("got %v seconds", unread)
	}
	f.rouse()
	eventually(t, "turns of the loop", func() bool { return f.alive() == nil })
	now.Add(20 * hour)
	f.rouse()
	eventually(t, "words about the look", func() bool {
		err := f.alive()
		return err != nil && strings.Contains(err.Error(), "a look has not ended for")
	})
	close(hangs)
	f.is(t, "shop", "a", "Ready", "False DatabaseUnreachable")
	eventually(t, "end of the look", func() bool { return f.alive() == nil })
}
