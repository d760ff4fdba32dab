package compile_test

import (
	"os"
	"testing"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/compile"
)

func TestShow(t *testing.T) {
	f := os.Getenv("SHOW")
	data, err := os.ReadFile(f)
	if err != nil {
		t.Skip()
	}
	checks, err := health.Parse(f, data)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		s, err := compile.Lua(c, "v0")
		if err != nil {
			t.Fatal(err)
		}
		t.Log("\n" + s)
	}
}
