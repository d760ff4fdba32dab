package compile_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/compile"
	"hallmark.dev/hallmark/health/eval"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/lua/vm"
)

var update = flag.Bool("update", false, "write the scripts of testdata/cases anew")

// TestCases checks each case three ways: the script is the golden one, Argo CD's
// VM says of each object what is wanted, and so does cel-go.
func TestCases(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("testdata/cases/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			check := parseOne(t, filepath.Join(folder, "spec.yaml"))
			script, err := compile.Lua(check, "v0.0.0")
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join(folder, "script.lua")
			if *update {
				if err := os.WriteFile(golden, []byte(script), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := read(t, golden); cmp.Diff(string(want), script) != "" {
				t.Errorf("the script differs from %s (-want +got):\n%s", golden, cmp.Diff(string(want), script))
			}
			oracle, err := eval.New(check, func() int64 { return 1 })
			if err != nil {
				t.Fatal(err)
			}
			value, err := yamldoc.Decode("objects.yaml", read(t, filepath.Join(folder, "objects.yaml")))
			if err != nil {
				t.Fatal(err)
			}
			for i, item := range value.([]any) {
				object := item.(map[string]any)["object"].(map[string]any)
				wanted := item.(map[string]any)["want"].(map[string]any)
				want := vm.Verdict{Status: wanted["status"].(string), Message: wanted["message"].(string)}
				got, err := patiently(func() (vm.Verdict, error) { return vm.Run(script, check.UseOpenLibs, object) })
				if err != nil || got != want {
					t.Errorf("object %d: the VM says %+v (%v), want %+v", i+1, got, err, want)
				}
				if says := oracle.Eval(object); string(says.Status) != want.Status || says.Message != want.Message {
					t.Errorf("object %d: cel-go says %+v, want %+v", i+1, says, want)
				}
			}
		})
	}
}

func parseOne(t *testing.T, file string) *health.Check {
	t.Helper()
	checks, err := health.Parse(file, read(t, file))
	if err != nil {
		t.Fatal(err)
	}
	return checks[0]
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
