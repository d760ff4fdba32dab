package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/executor"
)

// asProcess is the variable that makes this test program an executor, so that it can be
// killed and paused. It holds a setup.
const asProcess = "EXECUTOR_TEST_PROCESS"

// A setup is what an executor that is a process of its own is told, beside its command.
type setup struct {
	DSN, Key, Token       string
	Lease, Grace, Timeout time.Duration
	Invariants            []ledger.Query
	Times                 int // how often the command is run, each time under a key of its own
}

// process is main of such an executor: its arguments are the command.
func process() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	// Without a handler Go ends a process whose standard error nobody reads.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	var s setup
	if err := json.Unmarshal([]byte(os.Getenv(asProcess)), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if s.Times > 0 {
		if err := s.runOften(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	r, err := s.run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		return 1
	}
	return r.Outcome.ExitCode(0)
}

func (s setup) run(ctx context.Context) (executor.Result, error) {
	var dbs [2]*ledger.DB
	for i := range dbs {
		db, err := ledger.Open(ledger.Config{DSN: s.DSN, Source: "the test", Timeout: s.Timeout})
		if err != nil {
			return executor.Result{}, err
		}
		defer db.Close()
		dbs[i] = db
	}
	return executor.Run(ctx, s.options(dbs[0], dbs[1]))
}

func (s setup) options(db, check *ledger.DB) executor.Options {
	return executor.Options{
		Ledger: ledger.New(db, ""), Check: check, Grace: s.Grace, Output: os.Stderr, Invariants: s.Invariants,
		Request: ledger.Request{Key: s.Key, SourceRevision: "4b825dc", Lease: s.Lease, Token: s.Token},
		Command: os.Args[1:], Env: []string{"PATH=" + os.Getenv("PATH"), "D=" + os.Getenv("D")},
	}
}

// setup is that of an executor under a lease that no test outlives.
func (b bench) setup(token int) setup {
	return setup{
		DSN: b.dsn + "&application_name=" + b.application(), Key: b.key, Token: b.uuid(token), Lease: time.Hour, Grace: patience, Timeout: 30 * time.Second,
		Invariants: []ledger.Query{{Name: "holds", SQL: "SELECT true AS invariant_holds"}},
	}
}

// application is the name that the database knows the processes of a bench by.
func (b bench) application() string { return fmt.Sprint("child", b.number) }

// A child is an executor that is a process of its own.
type child struct {
	cmd            *exec.Cmd
	stdout, stderr output
	ended          chan struct{}
}

// spawn starts an executor of a shell script. What prepare does to it is done before.
func (b bench) spawn(t testing.TB, s setup, script string, prepare ...func(*exec.Cmd)) *child {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	told, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(program, "sh", "-c", script), ended: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), asProcess+"="+string(told), "D="+b.dir)
	c.cmd.Stdout, c.cmd.Stderr = &c.stdout, &c.stderr
	for _, f := range prepare {
		f(c.cmd)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait()
	}()
	t.Cleanup(c.kill)
	return c
}

func (c *child) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

// kill ends the executor as kill -9 does, and waits until it has ended.
func (c *child) kill() {
	c.signal(syscall.SIGKILL)
	<-c.ended
}

// pid waits until the command has written its number to a file.
func (c *child) pid(t testing.TB, b bench, name string) int {
	t.Helper()
	await(t, "a process to write its number to "+name, func() bool {
		select {
		case <-c.ended:
			if len(b.lines(t, name)) == 0 {
				t.Fatalf("the executor ended before the command wrote its number: %s, %s, %s", c.cmd.ProcessState, c.stdout.String(), c.stderr.String())
			}
		default:
		}
		return len(b.lines(t, name)) > 0
	})
	return b.pid(t, name)
}

// result waits for the end of an executor that nobody killed.
func (c *child) result(t testing.TB) (executor.Result, int) {
	t.Helper()
	wait(t, "the end of the executor", c.ended)
	noSecret(t, c.stdout.String(), c.stderr.String())
	var r executor.Result
	if out := c.stdout.String(); out != "" {
		if err := json.NewDecoder(strings.NewReader(out)).Decode(&r); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
	}
	return r, c.cmd.ProcessState.ExitCode()
}
