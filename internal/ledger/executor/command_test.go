package executor_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/executor"
)

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func TestCommands(t *testing.T) {
	t.Parallel()
	const mega = 1 << 20
	for name, c := range map[string]struct {
		command []string // or
		script  string
		env     []string
		outcome executor.Outcome
		message string
		stdout  []byte
	}{
		"binary":          {script: `printf 'a\000\377\n\033b'`, outcome: executor.Done, stdout: []byte("a\x00\xff\n\x1bb")},
		"much":            {script: `head -c 104857600 /dev/zero; head -c 1048576 /dev/zero >&2`, outcome: executor.Done, stdout: make([]byte, 100*mega)},
		"standard error":  {script: `echo x >&2`, outcome: executor.Done, stdout: nil},
		"closed output":   {script: `exec >&- 2>&-; sleep 0.1`, outcome: executor.Done},
		"input":           {script: `cat`, outcome: executor.Done},
		"no environment":  {script: `[ -z "$D" ] && echo x`, env: []string{}, outcome: executor.Done, stdout: []byte("x\n")},
		"empty arguments": {command: []string{"sh", "-c", `[ $# = 2 ] && [ -z "$1$2" ]`, "sh", "", ""}, outcome: executor.Done},
		// Nothing tells of it: a process that leaves both group and output is out of reach.
		"a daemon of its own": {script: `setsid sh -c '` + until("never") + `' >/dev/null 2>&1 & exit 0`, outcome: executor.Done},
		"a daemon with the output": {script: `setsid sh -c 'echo x >"$D/daemon"; ` + until("never") + `' & ` + until("daemon"),
			outcome: executor.CommandFailed, message: "exit code 0 and left processes at work, of which some have its output and could not be stopped"},
		"a child at work": {script: `sh -c 'trap "" TERM; ` + until("never") + `' & exit 0`,
			outcome: executor.CommandFailed, message: "exit code 0 and left processes at work, which were stopped"},
		"a pipeline's end": {script: `(sleep 0.2; echo late) & exit 0`, outcome: executor.Done, stdout: []byte("late\n")},
		"many children":    {script: `for i in 1 2 3 4 5 6 7 8 9; do sleep 0.1 & done; exit 0`, outcome: executor.Done},
		"exit code 255":    {script: `exit 255`, outcome: executor.CommandFailed, message: "exit code 255"},
		"a signal":         {script: `kill -SEGV $$`, outcome: executor.CommandFailed, message: "ended by the signal segmentation fault"},
		"a NUL":            {command: []string{"sh", "-c", "true\x00"}, outcome: executor.CommandFailed, message: "could not be started: invalid argument"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			o := b.options(t, 1, c.script)
			if c.command != nil {
				o.Command = c.command
			}
			if c.env != nil {
				o.Env = c.env
			}
			r := run(t.Context(), t, o)
			state := ledger.Succeeded
			if c.outcome == executor.CommandFailed {
				state = ledger.Failed
			}
			want(t, b, r, c.outcome, state)
			if !strings.Contains(r.Message, c.message) {
				t.Errorf("the message is %q, want %q", r.Message, c.message)
			}
			if c.outcome == executor.Done && (r.Command.Digest != digestOf(c.stdout) || b.row(t).ResultDigest != r.Command.Digest) {
				t.Errorf("the digest is %s, want %s", r.Command.Digest, digestOf(c.stdout))
			}
			if out := o.Output.(*output).String(); len(out) < len(c.stdout) || name == "standard error" && out != "x\n" {
				t.Errorf("%d bytes of output, want %d", len(out), len(c.stdout))
			}
		})
	}
}

// What cannot be run is refused before anything is claimed, as far as that can be seen.
func TestNotExecutable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		command string
		claimed bool
		says    string
	}{
		"nothing":        {"", false, "executable file not found"},
		"no such name":   {"no-such-program", false, "executable file not found"},
		"no such file":   {dir + "/none", false, "no such file"},
		"a folder":       {dir, false, "is a directory"},
		"no right":       {file("plain", "#!/bin/sh\n", 0o600), false, "permission denied"},
		"no format":      {file("odd", "echo x", 0o700), true, "could not be started: exec format error"},
		"no interpreter": {file("lost", "#!/no/such/shell\n", 0o700), true, "could not be started: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			o := b.options(t, 1, "")
			o.Command = []string{c.command}
			r, err := executor.Run(t.Context(), o)
			if c.claimed {
				want(t, b, r, executor.CommandFailed, ledger.Failed)
				if err != nil || !strings.Contains(r.Message, c.says) || r.Command != nil {
					t.Errorf("%+v, %v", r, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %v, want %q", err, c.says)
			}
			if state := b.state(t); state != ledger.Absent {
				t.Errorf("it is %s", state)
			}
		})
	}
}

// A log that nobody reads delays what is recorded, and does not change it.
func TestBlockedOutput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script  string
		stop    bool
		outcome executor.Outcome
		state   ledger.State
	}{
		"a little":   {`echo some output`, false, executor.Done, ledger.Succeeded},
		"both":       {`echo some output; echo more >&2`, false, executor.Done, ledger.Succeeded},
		"in its way": {`head -c 1000000 /dev/zero`, true, executor.CommandFailed, ledger.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			o := b.options(t, 1, c.script)
			r, w := io.Pipe()
			defer func() { _ = r.Close() }()
			blocked := &signalled{w: w, began: make(chan bool, 100)}
			o.Output = blocked
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := begin(ctx, t, o)
			wait(t, "output", blocked.began)
			if c.stop {
				stop()
			}
			want(t, b, wait(t, "the end", ended), c.outcome, c.state)
		})
	}
}

// signalled tells when it is written to.
type signalled struct {
	w     io.Writer
	began chan bool
}

func (s *signalled) Write(p []byte) (int, error) {
	s.began <- true
	return s.w.Write(p)
}

// A slow log slows a command down, and loses nothing.
func TestSlowOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := b.options(t, 1, `head -c 3000000 /dev/zero; `+ranAndPid+`exit 0`)
	r, w := io.Pipe()
	blocked := &signalled{w: w, began: make(chan bool, 1000)}
	o.Output = blocked
	ended := begin(t.Context(), t, o)
	wait(t, "output", blocked.began)
	if b.ran(t) != 0 {
		t.Error("the command was not held up")
	}
	got := make(chan int)
	go func() {
		n, _ := io.Copy(io.Discard, r)
		got <- int(n)
	}()
	want(t, b, wait(t, "the end", ended), executor.Done, ledger.Succeeded)
	_ = w.Close()
	if n := wait(t, "the output", got); n != 3000000 {
		t.Errorf("%d bytes came through", n)
	}
}

// A standard error that is closed or full ends no command.
func TestLostOutput(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*testing.T, *exec.Cmd){
		"closed": func(t *testing.T, cmd *exec.Cmd) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = w.Close() })
			_ = r.Close()
			cmd.Stderr = w
		},
		"full": func(t *testing.T, cmd *exec.Cmd) {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = full.Close() })
			cmd.Stderr = full
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			p := b.spawn(t, b.setup(1), `head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; `+ranAndPid+`exit 0`, func(cmd *exec.Cmd) { prepare(t, cmd) })
			r, code := p.result(t)
			want(t, b, r, executor.Done, ledger.Succeeded)
			if code != 0 || b.ran(t) != 1 || r.Command.Digest != digestOf(bytes.Repeat([]byte{0}, 300000)) {
				t.Errorf("exit code %d, %+v", code, r)
			}
		})
	}
}

// A process of the group whose parent has left the group is none of the executor's
// children, and of the group nevertheless.
func TestParentLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := b.options(t, 1, `(sleep 1000 & echo $! >"$D/inside"; exec setsid sh -c 'echo $$ >"$D/outside"; exec sleep 1000') >/dev/null 2>&1 & `+until("outside")+`; exit 0`)
	r := run(t.Context(), t, o)
	outside := b.pid(t, "outside")
	defer func() { _ = syscall.Kill(outside, syscall.SIGKILL) }()
	want(t, b, r, executor.CommandFailed, ledger.Failed)
	if !r.Command.Left || !dead(b.pid(t, "inside")) {
		t.Errorf("the process in the group is dead: %v, %+v", dead(b.pid(t, "inside")), r.Command)
	}
}

// In a session of its own the command has no terminal: a question for a password is an
// error then, and no wait for ever.
func TestNoTerminal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := run(t.Context(), t, b.options(t, 1, `awk '{ exit $1 != $6 }' /proc/$$/stat`))
	want(t, b, r, executor.Done, ledger.Succeeded)
}
