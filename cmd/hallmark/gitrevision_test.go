package main

import (
	"crypto/sha1" //nolint:gosec // the ids of git
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/diag"
)

// clone is a repository of a test.
type clone struct {
	*testing.T
	dir string
}

// newRepository makes an empty repository.
func newRepository(t *testing.T, args ...string) clone {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	c := clone{t, filepath.Join(t.TempDir(), "repo")}
	clone{t, "."}.git(append(append([]string{"init", "-q", "-b", "main"}, args...), c.dir)...)
	return c
}

// clone clones it by the protocol of git, and not by a copy of its files.
func (c clone) clone(args ...string) clone {
	c.Helper()
	made := clone{c.T, filepath.Join(c.TempDir(), "clone")}
	clone{c.T, "."}.git(append(append([]string{"clone", "-q"}, args...), "file://"+filepath.ToSlash(c.dir), made.dir)...)
	return made
}

// git runs git in the repository, and returns what it prints.
func (c clone) git(args ...string) string {
	c.Helper()
	return c.gitFrom("", args...)
}

func (c clone) gitFrom(input string, args ...string) string {
	c.Helper()
	cmd := exec.Command("git", append([]string{
		"-C", c.dir, "-c", "protocol.file.allow=always",
		"-c", "gc.auto=0", "-c", "maintenance.auto=false", // which would outlive the test
	}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") }) // of a hook
	cmd.Env = append(cmd.Env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=shop", "GIT_AUTHOR_EMAIL=shop@example.com", "GIT_COMMITTER_NAME=shop", "GIT_COMMITTER_EMAIL=shop@example.com")
	out, err := cmd.Output()
	if err != nil {
		c.Fatalf("git %q: %v", args, gitFault(err))
	}
	return strings.TrimSpace(string(out))
}

// commit writes a file and commits everything; the id is returned.
func (c clone) commit(name, content string) string {
	c.Helper()
	file := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		c.Fatal(err)
	}
	c.git("add", ".")
	c.git("commit", "-q", "-m", name)
	return c.git("rev-parse", "HEAD")
}

func (c clone) objects() *gitObjects {
	g := &gitObjects{ctx: c.Context(), top: c.dir}
	c.Cleanup(g.close)
	return g
}

// releases is a repository with tags and branches.
func releases(t *testing.T) clone {
	t.Helper()
	origin := newRepository(t)
	for _, tag := range []string{"v1.0.0", "v1.2.0", "v1.10.0", "2.0.0-rc.1", "nightly", "both", "cafe123", "1.x.y", "feature/tag"} {
		origin.commit("release", tag)
		origin.git("tag", "-a", "-m", tag, tag)
	}
	origin.git("tag", "light", "v1.0.0^{commit}")
	origin.git("tag", "folder", "HEAD^{tree}")
	origin.commit("release", "last")
	for _, branch := range []string{"both", "feature/x", "abcdef0", "3.x", strings.Repeat("a", 41)} {
		origin.git("branch", branch)
	}
	return origin
}

func TestPinned(t *testing.T) {
	t.Parallel()
	here := releases(t).clone()
	here.git("branch", "local")
	id := here.git("rev-parse", "v1.2.0^{commit}")
	tree := here.git("rev-parse", "HEAD^{tree}")
	for revision, want := range map[string]struct{ commit, note, fault string }{
		"": {}, "HEAD": {}, "main": {}, "local": {}, "feature/x": {}, "abcdef0": {}, "3.x": {},
		"refs/heads/main": {}, "refs/heads/feature/x": {}, strings.Repeat("a", 41): {},

		"v1.0.0":                 {commit: "v1.0.0"},
		"light":                  {commit: "v1.0.0"},
		"feature/tag":            {commit: "feature/tag"},
		"refs/tags/v1.0.0":       {commit: "v1.0.0"},
		"tags/v1.0.0":            {commit: "v1.0.0", note: "Argo CD does not know it by that name"},
		"cafe123":                {commit: "cafe123"},
		"both":                   {commit: "both", note: "a tag and a branch; the tag is taken"},
		id:                       {commit: id},
		strings.ToUpper(id):      {commit: id},
		id[:7]:                   {commit: id},
		strings.ToUpper(id)[:12]: {commit: id},

		// Ranges, of which a pre-release is no part unless it is named.
		"v1.*":         {commit: "v1.10.0"},
		"1.x":          {commit: "v1.10.0"},
		"*":            {commit: "v1.10.0"},
		">=1.0.0 <1.5": {commit: "v1.2.0"},
		"~1.2":         {commit: "v1.2.0"},
		"^1":           {commit: "v1.10.0"},
		">=2.0.0-0":    {commit: "2.0.0-rc.1"},
		"9.*":          {fault: `the revision "9.*" is a range of versions, and no tag of this clone is in it`},

		// A version is no range, and what git alone understands is nothing.
		"1.0.0":             {note: `targetRevision "1.0.0" is no tag, branch or commit of this clone; it is taken for a branch`},
		"main~1":            {note: "is no tag, branch or commit"},
		"gone":              {note: "is no tag, branch or commit"},
		"origin/main":       {note: "is no tag, branch or commit"},
		"refs/heads/v1.0.0": {note: "is no tag, branch or commit"},
		"--help":            {note: "is no tag, branch or commit"},
		id[:6]:              {note: "is no tag, branch or commit"},

		strings.Repeat("0", 40): {fault: `the revision "0000000000000000000000000000000000000000" does not exist`},
		strings.Repeat("0", 64): {fault: "does not exist"},
		"0000000":               {fault: `the revision "0000000" does not exist`},
		tree:                    {fault: "is a tree"},
		"folder":                {fault: `the revision "refs/tags/folder" is a tree (a folder), and not a commit`},
	} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			commit, note, err := clone{t, here.dir}.objects().pinned(revision)
			if want.commit != "" {
				want.commit = here.git("rev-parse", want.commit+"^{commit}")
			}
			if commit != want.commit {
				t.Errorf("got the commit %q, want %q", commit, want.commit)
			}
			if (note == "") != (want.note == "") || !strings.Contains(note, want.note) {
				t.Errorf("got the note %q, want %q", note, want.note)
			}
			if (err == nil) != (want.fault == "") || err != nil && !strings.Contains(err.Error(), want.fault) {
				t.Errorf("got the error %v, want %q", err, want.fault)
			}
		})
	}
}

// What a clone of CI lacks is not taken for a branch where that cannot be one.
func TestPinnedShallow(t *testing.T) {
	t.Parallel()
	origin := releases(t)
	here := origin.clone("--depth=1", "--no-tags")
	g := here.objects()
	id := origin.git("rev-parse", "v1.0.0^{commit}")
	for revision, hint := range map[string]string{
		id:                  "this clone is shallow: git fetch --unshallow --tags, or of this commit alone: git fetch origin " + id,
		strings.ToUpper(id): "this clone is shallow: git fetch --unshallow --tags, or of this commit alone: git fetch origin " + strings.ToUpper(id),
		id[:8]:              "this clone is shallow: git fetch --unshallow --tags",
		"v1.*":              "git fetch --tags",
	} {
		commit, _, err := g.pinned(revision)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("the revision %q ", revision)) || diag.Hint(err) != hint {
			t.Errorf("%s: got %q, %v, hint %q, want an error with the hint %q", revision, commit, err, diag.Hint(err), hint)
		}
	}
	if commit, note, err := g.pinned("v1.0.0"); commit != "" || note == "" || err != nil {
		t.Errorf("v1.0.0: got %q, %q, %v, want a note", commit, note, err)
	}
	here.git("fetch", "-q", "--unshallow", "--tags")
	g = here.objects()
	for _, revision := range []string{id, strings.ToUpper(id), id[:8], "v1.0.0", "~1.0"} {
		if commit, note, err := g.pinned(revision); commit != id || note != "" || err != nil {
			t.Errorf("%s once it is fetched: got %q, %q, %v, want %s", revision, commit, note, err, id)
		}
	}
}

func TestCommit(t *testing.T) {
	t.Parallel()
	here := releases(t).clone()
	g := here.objects()
	for _, revision := range []string{
		"HEAD", "main", "main~2", "v1.0.0", "v1.0.0~0", "origin/feature/x", "refs/remotes/origin/both", "@", "main@{0}", "HEAD^{/release}",
	} {
		want := here.git("rev-parse", "--verify", revision+"^{commit}")
		if got, err := g.commit(revision); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %s", revision, got, err, want)
		}
	}
	blob := here.git("rev-parse", "HEAD:release")
	for revision, want := range map[string][2]string{
		"":              {"the revision is empty, want a branch, a tag or a commit", ""},
		"main\nHEAD":    {`the revision "main\nHEAD" does not exist in this repository`, ""},
		"HEAD:":         {`the revision "HEAD:" is a tree (a folder), and not a commit`, "a branch, a tag or the id of a commit is wanted"},
		"folder":        {`the revision "folder" is a tree (a folder), and not a commit`, "a branch, a tag or the id of a commit is wanted"},
		"HEAD:release":  {`the revision "HEAD:release" is a blob (a file), and not a commit`, "a branch, a tag or the id of a commit is wanted"},
		blob:            {fmt.Sprintf("the revision %q is a blob (a file), and not a commit", blob), "a branch, a tag or the id of a commit is wanted"},
		"main..v1.0.0":  {`the revision "main..v1.0.0" is a range, and not one commit`, "give each end of it by its own"},
		"main...v1.0.0": {`the revision "main...v1.0.0" is a range, and not one commit`, "give each end of it by its own"},
		"^main":         {`the revision "^main" is a range, and not one commit`, "give each end of it by its own"},
		"--all":         {`the revision "--all" does not exist in this repository`, "git fetch --tags"},
		"main~99":       {`the revision "main~99" does not exist in this repository`, "git fetch --tags"},
		"feature/x":     {`the revision "feature/x" does not exist in this repository`, `it is here as "origin/feature/x"`},
		"gone":          {`the revision "gone" does not exist in this repository`, "fetch it first (a branch: git fetch origin gone:gone; a tag: git fetch origin tag gone); in CI a checkout often has one commit and no branches"},
		"origin/gone":   {`the revision "origin/gone" does not exist in this repository`, "fetch it first (git fetch origin gone:refs/remotes/origin/gone); in CI a checkout often has one commit and no branches"},
	} {
		if got, err := g.commit(revision); err == nil || err.Error() != want[0] || diag.Hint(err) != want[1] {
			t.Errorf("%q: got %q, %v, hint %q, want %q", revision, got, err, diag.Hint(err), want)
		}
	}
}

// A tag on an annotated tag is that commit, one on a folder says what it is.
func TestCommitOfTags(t *testing.T) {
	t.Parallel()
	here := newRepository(t)
	id := here.commit("a", "a")
	here.git("tag", "-a", "-m", "a", "inner")
	here.git("tag", "-a", "-m", "a", "outer", "inner")
	here.git("tag", "-a", "-m", "a", "folder", "HEAD^{tree}")
	if got, err := here.objects().commit("outer"); got != id || err != nil {
		t.Errorf("a tag of a tag: got %q, %v, want %s", got, err, id)
	}
	_, err := here.objects().commit("folder")
	if want := `the revision "folder" is a tag on a tree, and not on a commit`; err == nil || err.Error() != want {
		t.Errorf("a tag on a tree: got %v, want %q", err, want)
	}
}

func TestCommitAmbiguous(t *testing.T) {
	t.Parallel()
	here := newRepository(t)
	tree := here.git("rev-parse", here.commit("a", "a")+"^{tree}")
	// Two commits whose ids have the first seven digits in common, and a file with the
	// first six of one of them.
	text := func(i int) string {
		return fmt.Sprintf("tree %s\nauthor shop <shop@example.com> %d +0000\ncommitter shop <shop@example.com> 0 +0000\n\na\n", tree, i)
	}
	sum := func(kind, text string) string {
		sum := sha1.Sum(fmt.Appendf(nil, "%s %d\x00%s", kind, len(text), text)) //nolint:gosec // the ids of git
		return hex.EncodeToString(sum[:])
	}
	known := map[string]int{}
	short := ""
	for i := 0; short == ""; i++ {
		prefix := sum("commit", text(i))[:7]
		if other, found := known[prefix]; found {
			short = prefix
			for _, n := range []int{i, other} {
				here.gitFrom(text(n), "hash-object", "-t", "commit", "-w", "--stdin")
			}
		}
		known[prefix] = i
	}
	g := here.objects()
	want := fmt.Sprintf("the revision %q is ambiguous: the ids of several objects begin so", short)
	for name, resolve := range map[string]func() (string, error){
		"commit": func() (string, error) { return g.commit(short) },
		"pinned": func() (string, error) { commit, _, err := g.pinned(short); return commit, err },
	} {
		if got, err := resolve(); err == nil || err.Error() != want || diag.Hint(err) != "give more digits of the id" {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	// Where a file's id begins so as well, the commit is meant.
	head := here.git("rev-parse", "HEAD")
	for i := 0; ; i++ {
		if text := fmt.Sprint(i); sum("blob", text)[:4] == head[:4] {
			here.gitFrom(text, "hash-object", "-w", "--stdin")
			break
		}
	}
	if got, err := g.commit(head[:4]); got != head || err != nil {
		t.Errorf("the id of a commit and of a file: got %q, %v, want %s", got, err, head)
	}
}

// Where git refuses to work at all, that is what is said, and not that a revision does
// not exist.
func TestRevisionsWithoutGit(t *testing.T) {
	here := newRepository(t)
	id := here.commit("a", "a")
	broken := newRepository(t)
	if err := os.WriteFile(filepath.Join(broken.dir, ".git", "config"), []byte("[core\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	check := func(name, want string, g *gitObjects) {
		if _, err := g.commit("main"); err == nil || !strings.Contains(err.Error(), `the revision "main" cannot be looked up: `+want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
		if commit, note, err := g.pinned("main"); commit != "" || !strings.Contains(note, `targetRevision "main" is taken for a branch, because the tags cannot be listed: `+want) || err != nil {
			t.Errorf("%s: got %q, %q, %v, want a note with %q", name, commit, note, err, want)
		}
		for _, revision := range []string{id, id[:8]} {
			if _, _, err := g.pinned(revision); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: got %v, want %q", name, revision, err, want)
			}
		}
	}
	check("a broken repository", "bad config line 1", broken.objects())
	t.Setenv("PATH", t.TempDir())
	check("no git", "git is not installed", here.objects())
}
