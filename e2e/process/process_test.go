package process_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hallmark.dev/hallmark/e2e/process"
	"hallmark.dev/hallmark/e2e/wait"
)

// parent is the variable that makes this program the test that is killed.
const parent = "E2E_PARENT"

func sleep(t testing.TB) *process.Process {
	dir := t.TempDir()
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	return process.Start(t, process.Program{Name: "sleep", Path: path, Args: []string{"600"}, Home: dir, Logs: dir})
}

// gone returns an error while a process or a thread runs.
func gone(id int) func() error {
	return func() error {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", id))
		if err == nil && !strings.Contains(string(status), "\nState:\tZ") { // Z has ended, and nobody asked how
			return fmt.Errorf("it is there:\n%s", status)
		}
		return nil
	}
}

// TestThread ends the thread of the goroutine that starts a program.
func TestThread(t *testing.T) {
	started, thread := make(chan *process.Process), 0
	var start func()
	start = func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if thread = syscall.Gettid(); thread == os.Getpid() {
			go start() // the main thread is the one that does not end
			return
		}
		started <- sleep(t)
	}
	go start()
	p := <-started
	wait.Until(t, "the thread has ended", gone(thread), nil)
	if err := p.Ended(); err != nil {
		t.Error(err)
	}
	if err := p.Stop(); err == nil || gone(p.PID())() != nil {
		t.Errorf("the program was not stopped: %v", err)
	}
}

// TestKilled kills a test that has started a program.
func TestKilled(t *testing.T) {
	if os.Getenv(parent) != "" {
		fmt.Println("pid", sleep(t).PID())
		time.Sleep(time.Hour)
	}
	c := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	c.Env = append(os.Environ(), parent+"=1", "TMPDIR="+t.TempDir())
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		if text, found := strings.CutPrefix(lines.Text(), "pid "); found {
			if pid, err = strconv.Atoi(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	if pid == 0 || gone(pid)() == nil {
		t.Fatal("the program did not start")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	wait.Until(t, "the program has ended", gone(pid), nil)
}
