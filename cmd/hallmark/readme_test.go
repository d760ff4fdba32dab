package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hallmark.dev/hallmark/plugin/policy"
)

// The terminal session at the top of the README is what a newcomer types first,
// so it is run, and its output has to be what the README shows.
func TestReadmeSession(t *testing.T) {
	t.Parallel()
	const file = "../../README.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```console\n(.*?)```").FindSubmatchIndex(data)
	if block == nil {
		t.Fatal("the README has no console block")
	}
	shown := string(data[block[2]:block[3]])
	dir := t.TempDir()
	if err := os.CopyFS(dir+"/examples", os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	// The reader is in a clone, so paths are those of the repository.
	if err := os.Mkdir(dir+"/.git", 0o750); err != nil {
		t.Fatal(err)
	}
	var ran strings.Builder
	for line := range strings.Lines(shown) {
		command, found := strings.CutPrefix(line, "$ ")
		if !found {
			continue
		}
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		// Part of the session shows refusals.
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatalf("%s: %v", command, err)
		}
		ran.WriteString(line)
		ran.Write(out)
	}
	if ran.String() == shown {
		return
	}
	if !*update {
		t.Fatalf("the README shows\n%s\nbut the session is\n%s", shown, ran.String())
	}
	text := string(data[:block[2]]) + ran.String() + string(data[block[3]:])
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The README says how many inputs the parity tests hold; it has to be true.
func TestReadmeCounts(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(data)), " ")
	for folder, format := range map[string]string{"helm": "%d charts (both Helms)", "kustomize": "and %d kustomizations"} {
		cases, err := filepath.Glob("../../plugin/testdata/" + folder + "/*/case.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(format, len(cases)); !strings.Contains(text, want) {
			t.Errorf("the README does not say %q", want)
		}
	}
	if lines := strings.Count(string(data), "\n"); lines > 150 {
		t.Errorf("the README has %d lines, more than 150", lines)
	}
}

// The policy in the README is one, and so is the example of the manifests.
func TestReadmePolicy(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(data, -1) {
		if !strings.Contains(string(block[1]), "kind: RenderPolicy") {
			continue
		}
		found = true
		if _, err := policy.Parse("README.md", block[1]); err != nil {
			t.Error(err)
		}
	}
	if !found {
		t.Error("the README has no policy")
	}
	if _, err := policy.Load("../../manifests/policy/policy.yaml"); err != nil {
		t.Error(err)
	}
}
