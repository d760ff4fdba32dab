// Package process runs programs in the background of a test and ends them with
// it: by process id at the end of the test, and by the kernel should the test
// itself be killed.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// tailLines is how much of a log a failed test prints.
const tailLines = 30

// A Program is what to start.
type Program struct {
	// Name names the log, <Name>.log in Logs, to which a restart appends.
	Name string
	Path string
	Args []string
	// Env is added to PATH, HOME and TMPDIR of Home. Nothing else of the
	// test's own environment reaches a program, so that settings of the person
	// who runs the tests do not.
	Env  []string
	Home string // a folder that exists
	Logs string // a folder that exists
	// Grace is how long Stop waits after SIGTERM. Zero means SIGKILL at once,
	// for programs whose state is thrown away with the test.
	Grace time.Duration
}

// A Process is a program that was started.
type Process struct {
	program Program
	command *exec.Cmd
	ended   chan struct{}
	err     error // of Wait, once ended is closed
	stopped sync.Once
}

// Start starts a program. At the end of the test it is stopped, and if the test
// failed the end of its log is printed.
func Start(t testing.TB, p Program) *Process {
	t.Helper()
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()                 // the program has its own descriptor
	path, err := filepath.Abs(p.Path) // Home is another folder
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, p.Args...)
	c.Dir = p.Home
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.Home, "TMPDIR=" + p.Home}, p.Env...)
	c.Stdout, c.Stderr = log, log
	// A group of its own, so that what the program starts ends with it.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	process := &Process{program: p, command: c, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel sends the death signal when the thread that started the
		// program ends. This one is kept until the program has ended: on a shared
		// thread, a goroutine that takes it with it (package jail) would end the
		// program too.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.Start()
		started <- err
		if err == nil {
			process.err = c.Wait()
			close(process.ended)
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("starting %s: %v", p.Name, err)
	}
	t.Cleanup(func() {
		_ = process.Stop() // a test that cares has asked before
		if t.Failed() {
			t.Logf("end of %s:\n%s", p.logFile(), process.Tail())
		}
	})
	return process
}

func (p Program) logFile() string { return filepath.Join(p.Logs, p.Name+".log") }

// Name is the name of the program.
func (p *Process) Name() string { return p.program.Name }

// PID is the process id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ended returns an error if the program is no longer running.
func (p *Process) Ended() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s ended: %w", p.program.Name, errors.Join(p.err, errors.New("see its log")))
	default:
		return nil
	}
}

// Stop ends the program and returns what Wait returned: nil for exit code 0.
// Only the first call does anything; the others wait for it.
func (p *Process) Stop() error {
	p.stopped.Do(func() {
		if p.program.Grace > 0 {
			p.signal(syscall.SIGTERM)
			select {
			case <-p.ended:
			case <-time.After(p.program.Grace):
			}
		}
		p.signal(syscall.SIGKILL)
	})
	<-p.ended
	return p.err
}

// Kill ends the program as a crash does.
func (p *Process) Kill() {
	p.stopped.Do(func() { p.signal(syscall.SIGKILL) })
	<-p.ended
}

// signal reaches the whole group; an error means that it is gone already.
func (p *Process) signal(s syscall.Signal) { _ = syscall.Kill(-p.PID(), s) }

// Log is everything that the program printed so far.
func (p *Process) Log() []byte {
	data, err := os.ReadFile(p.program.logFile())
	if err != nil {
		return []byte(err.Error())
	}
	return data
}

// Tail is the end of the log.
func (p *Process) Tail() string { return tail(strings.Split(string(p.Log()), "\n")) }

// TailOf is the end of those lines of the log that hold word.
func (p *Process) TailOf(word string) string {
	var lines []string
	for line := range bytes.Lines(p.Log()) {
		if bytes.Contains(line, []byte(word)) {
			lines = append(lines, strings.TrimSuffix(string(line), "\n"))
		}
	}
	return tail(lines)
}

func tail(lines []string) string {
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		lines[i] = line[:min(len(line), 2000)]
	}
	return strings.Join(lines, "\n")
}
