package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/executor"
)

// Variables of an executor that is a process of its own, this test program again, so that
// it can be killed and paused.
const (
	dsnOfProcess   = "EXECUTOR_TEST_DSN"
	leaseOfProcess = "EXECUTOR_TEST_LEASE"
	tokenOfProcess = "EXECUTOR_TEST_TOKEN"
)

// process is main of such an executor: its arguments are the command.
func process() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	lease, err := time.ParseDuration(os.Getenv(leaseOfProcess))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	open := func() *ledger.DB {
		db, err := ledger.Open(ledger.Config{DSN: os.Getenv(dsnOfProcess), Source: "the test", Timeout: max(time.Second, lease/3)})
		if err != nil {
			panic(err)
		}
		return db
	}
	r, err := executor.Run(ctx, executor.Options{
		Ledger: ledger.New(open(), ""), Check: open(), Grace: 5 * time.Second, Output: os.Stderr,
		Request:    ledger.Request{Key: key, SourceRevision: "4b825dc", Lease: lease, Token: os.Getenv(tokenOfProcess)},
		Invariants: []ledger.Query{{Name: "holds", SQL: "SELECT true AS invariant_holds"}},
		Command:    os.Args[1:], Env: []string{"PATH=" + os.Getenv("PATH")},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		return 1
	}
	return r.Outcome.ExitCode(0)
}
