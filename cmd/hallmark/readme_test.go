package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hallmark.dev/hallmark/plugin/policy"
)

// The terminal sessions of the README are what a newcomer types first, so they are
// run, and their output has to be what the README shows.
func TestReadmeSession(t *testing.T) {
	t.Parallel()
	const file = "../../README.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```console\n(.*?)```").FindAllSubmatchIndex(data, -1)
	if len(blocks) < 2 {
		t.Fatalf("the README has %d console blocks", len(blocks))
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir+"/examples", os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	// The reader is in a clone, so paths are those of the repository.
	if err := os.Mkdir(dir+"/.git", 0o750); err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, block := range blocks {
		shown := string(data[block[2]:block[3]])
		ran := session(t, dir, shown)
		if ran != shown && !*update {
			t.Errorf("the README shows\n%s\nbut the session is\n%s", shown, ran)
		}
		text = strings.Replace(text, shown, ran, 1)
	}
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// session runs the commands of a block and returns them with what they print.
func session(t *testing.T, dir, shown string) string {
	t.Helper()
	var ran strings.Builder
	for line := range strings.Lines(shown) {
		command, found := strings.CutPrefix(line, "$ ")
		if !found {
			continue
		}
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		// Part of a session shows refusals.
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatalf("%s: %v", command, err)
		}
		ran.WriteString(line)
		ran.Write(out)
	}
	return ran.String()
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
	specs, err := (&specs{library: []string{"*"}}).libraryFiles()
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("has %d specs", len(specs)); !strings.Contains(text, want) {
		t.Errorf("the README does not say %q", want)
	}
	if want := fmt.Sprintf("190 fixtures of Argo CD's own scripts %d have another status", strings.Count(read(t, "../../health/library/differences.yaml"), "- group: ")); !strings.Contains(text, want) {
		t.Errorf("the README does not say %q", want)
	}
	errs := 0
	for _, found := range regexp.MustCompile(`(?m)^[a-z-]+: (\d+) errors, \d+ warnings, \d+ scripts$`).FindAllStringSubmatch(read(t, "../../health/lint/testdata/builtin.txt"), -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		errs += n
	}
	if want := fmt.Sprintf("%d errors in 73 of the 182 scripts", errs); !strings.Contains(text, want) {
		t.Errorf("the README does not say %q", want)
	}
	if lines := strings.Count(string(data), "\n"); lines > 150 {
		t.Errorf("the README has %d lines, more than 150", lines)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The example policy of the manifests is one.
func TestExamplePolicy(t *testing.T) {
	t.Parallel()
	if _, err := policy.Load("../../manifests/policy/policy.yaml"); err != nil {
		t.Error(err)
	}
}
