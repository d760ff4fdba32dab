package application

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A pathspec takes the files that git ls-files lists for it.
func TestPathspecIsGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	dir := t.TempDir()
	files := []string{
		"a", "b/a", "b/c/a.yaml", "b/c/ab.json", "aa/bb/cc.yaml", "a-b/[x].yaml", "x*y/a", "aa/bb/b.yaml",
		".h/a.yaml", "b/.h/x.yaml", "AB/é.yaml", "b/c-d/]a", "b/^a", "b/!a", `b/a\b`,
	}
	for _, name := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
		return string(out), err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}} {
		if _, err := git(args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, pattern := range []string{
		"a", "b", "b/", "b/c", "./b//c/", "b/.", "b/../a", "../a", "x/../../a", ".", "*", "**", "*.yaml", "*/a", "b/*", "b/**", "b/**/a.yaml", "**/a", "**/.", "?", "b?c/*",
		"aa/*", "aa/*/", "[ab]", "[!a]", "[^a]*", "[a-c]*", "[c-a]", "[a-", "[", "[]", "[]a]", "b/[]a]*", "*/[]]a", "[[:alpha:]]", "*[[:upper:]]*", "[[:nope:]]", "[[:alpha:]", "[a-[]*", "b/[!^]a", `b/[\^]a`,
		`\a`, `b/a\\b`, `b/a\`, "x*y/a", `x\*y/a`, "a-b/[x].yaml", `a-b/\[x].yaml`, "a-b/[[]x].yaml", "*é*", ".h", "*.h/*", "B", "AB", "c", "[!]]", "[a\\-b]-b/*", "[--a]*",
	} {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			out, gitErr := git("ls-files", "--full-name", "-z", "--", pattern)
			match, err := pathspec(pattern)
			if (err != nil) != (gitErr != nil) {
				t.Fatalf("got error %v, git has %v", err, gitErr)
			}
			var got []string
			for _, name := range files {
				if err == nil && match(name) {
					got = append(got, name)
				}
			}
			want := slices.DeleteFunc(strings.Split(out, "\x00"), func(s string) bool { return s == "" })
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got %q, git has %q", got, want)
			}
		})
	}
}

func TestPathspecMagic(t *testing.T) {
	t.Parallel()
	if _, err := pathspec(":(glob)apps/**"); err == nil {
		t.Error("got no error for magic")
	}
}
