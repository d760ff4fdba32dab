package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"hallmark.dev/hallmark/internal/pgtest"
)

// The command line is tested by scripts, one for each risk, in testdata/script.
// `go test ./cmd/hallmark -update` writes the files that `cmp` compares anew.
var update = flag.Bool("update", false, "update the expected output inside the scripts")

func TestMain(m *testing.M) {
	testscript.Main(withServer{temporary{m}}, map[string]func(){
		"hallmark": func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// temporary gives the tests a folder for temporary files: argo-cd's client makes
// a folder for each repository that it sends, and leaves it there.
type temporary struct{ *testing.M }

func (m temporary) Run() int {
	dir, err := os.MkdirTemp("", "hm")
	if err != nil {
		panic(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			panic(err)
		}
	}()
	if err := os.Setenv("TMPDIR", dir); err != nil {
		panic(err)
	}
	return m.M.Run()
}

// withServer stops the database server of the tests, where one was started.
type withServer struct{ temporary }

func (m withServer) Run() int { return pgtest.Main(m.temporary) }

func TestScripts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts hundreds of processes")
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "database": database, "role": role, "sql": sql, "record": record,
		},
		Setup: func(env *testscript.Env) error {
			root, err := os.Getwd()
			if err != nil {
				return err
			}
			env.Values[scriptTest{}] = env.T()
			env.Setenv("EXAMPLES", root+"/../../examples")
			env.Setenv("SOPS", root+"/../../plugin/decrypt/testdata") // files encrypted by the real sops, and test-only keys
			return nil
		},
	})
}

// exits CODE PROGRAM ARG... is exec for a program that has to end with CODE,
// where `! exec` takes any failure.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code is %d, want %s", code, args[0])
	}
}
