package main

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The command line is tested by scripts, one for each risk, in testdata/script.
// `go test ./cmd/hallmark -update` writes the files that `cmp` compares anew.
var update = flag.Bool("update", false, "update the expected output inside the scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"hallmark": func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			root, err := os.Getwd()
			if err != nil {
				return err
			}
			env.Setenv("EXAMPLES", root+"/../../examples")
			return nil
		},
	})
}
