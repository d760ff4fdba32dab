package executor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/executor"
	"hallmark.dev/hallmark/internal/pgtest"
)

// patience bounds the waits for what must happen, which a busy machine makes slow.
const patience = 2 * time.Minute

// await waits until something is so.
func await(t testing.TB, what string, so func() bool) {
	t.Helper()
	for start := time.Now(); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// wait waits for an event.
func wait[T any](t testing.TB, what string, event <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-event:
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
	}
	return value
}

// begin runs in the background.
func begin(ctx context.Context, t testing.TB, o executor.Options) <-chan executor.Result {
	t.Helper()
	ended := make(chan executor.Result, 1)
	go func() {
		r, err := executor.Run(ctx, o)
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	return ended
}

// lines are those that commands wrote to a file of the bench.
func (b bench) lines(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Fields(string(data))
}

// ran is how often commands ran, which write a line when they start.
func (b bench) ran(t testing.TB) int {
	t.Helper()
	return len(b.lines(t, "ran"))
}

// pid waits until a command has written its number.
func (b bench) pid(t testing.TB, name string) int {
	t.Helper()
	await(t, "a process to write its number to "+name, func() bool { return len(b.lines(t, name)) > 0 })
	pid, err := strconv.Atoi(b.lines(t, name)[0])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// touch makes a file that commands wait for.
func (b bench) touch(t testing.TB, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// until is a script that waits for such a file, or until the test is over.
func until(name string) string {
	return `while [ -d "$D" ] && [ ! -e "$D/` + name + `" ]; do sleep 0.02; done`
}

// dead reports whether a process does nothing any more. One whose parent has not looked
// at its end is dead as well.
func dead(pid int) bool { return strings.ContainsRune("ZX", stateOf(pid)) }

// stateOf is the letter that Linux has for the state of a process, X where there is none.
func stateOf(pid int) rune {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if _, state, found := bytes.Cut(stat, []byte(") ")); err == nil && found {
		return rune(state[0])
	}
	return 'X'
}

// await waits until the row is as it should be.
func (b bench) await(t testing.TB, what string, so func(ledger.Change) bool) {
	t.Helper()
	await(t, what, func() bool { return so(b.row(t)) })
}

// lease makes the lease end at a time from now on by the database's clock.
func (b bench) lease(t testing.TB, from string) {
	t.Helper()
	conn := pgtest.Connect(t, b.dsn)
	if _, err := conn.Exec(context.Background(), "UPDATE hallmark.ledger_changes SET lease_until = clock_timestamp() + $2::text::interval WHERE change_key = $1", b.key, from); err != nil {
		t.Fatal(err)
	}
}

func (b bench) recover(t testing.TB, verdict ledger.Verdict) {
	t.Helper()
	if _, _, err := b.ledger.Recover(context.Background(), ledger.Recovery{Key: b.key, Verdict: verdict, Reason: "looked", Evidence: "the file", ForceLive: true, Reopen: true}); err != nil {
		t.Fatal(err)
	}
}

// attempts are the states of the attempts.
func (b bench) attempts(t testing.TB) string {
	t.Helper()
	all, err := b.ledger.Attempts(context.Background(), []string{b.key})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range all {
		out = append(out, string(a.State))
	}
	return strings.Join(out, " ")
}

// noSecret fails where the address of the database, or its password, stands in a text.
func noSecret(t testing.TB, texts ...any) {
	t.Helper()
	for _, text := range texts {
		s, ok := text.(string)
		if !ok {
			data, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			s = string(data)
		}
		for _, secret := range []string{pgtest.Password, "marker-p", "%41", "127.0.0.1", "postgres", "invariant_holds"} {
			if strings.Contains(s, secret) {
				t.Errorf("%q stands in %s", secret, s)
			}
		}
	}
}

// errorText is an error with its hint.
func errorText(err error) string { return err.Error() + "\n" + diag.Hint(err) }

// after is a hook for a proxy. at is called for the first message to the server that has
// the text, or, where answer is set, for what the server says next; it returns whether
// that is passed on.
func after(text string, answer bool, at func() bool) func(bool, []byte) bool {
	var mu sync.Mutex
	asked, done := false, false
	return func(toServer bool, data []byte) bool {
		mu.Lock()
		is := toServer && bytes.Contains(data, []byte(text))
		now := !done && (is && !answer || !toServer && asked)
		asked, done = asked || is, done || now
		mu.Unlock()
		return !now || at()
	}
}

// Texts of the statements, by which a proxy knows them.
const (
	claiming   = "WITH claimed AS"
	renewing   = "SET lease_until = clock_timestamp() +"
	checking   = "AS invariant_holds"
	completing = "WITH done AS"
)
