package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/plugin/source"
)

// view is the files of a revision.
func (c clone) view(g *gitObjects, revision string) *source.View {
	c.Helper()
	commit, err := g.commit(revision)
	if err != nil {
		c.Fatal(err)
	}
	tree, err := g.tree(commit, source.Limits{})
	if err != nil {
		c.Fatal(err)
	}
	return tree.View()
}

// holds checks the content of a file.
func (c clone) holds(files fs.FS, name, want string) {
	c.Helper()
	if got, err := fs.ReadFile(files, name); string(got) != want || err != nil {
		c.Errorf("%s: got %q, %v, want %q", name, got, err, want)
	}
}

// partialOrigin is a repository that clones with --filter can be made of. The file
// both.yaml is the same in the tag old and now, the others have changed.
func partialOrigin(t *testing.T) clone {
	t.Helper()
	origin := newRepository(t)
	origin.git("config", "uploadpack.allowFilter", "true")
	origin.git("config", "uploadpack.allowAnySHA1InWant", "true")
	origin.commit("both.yaml", "a: 1\n")
	if err := os.Symlink("web/old.yaml", filepath.Join(origin.dir, "link.yaml")); err != nil {
		t.Skipf("no symlinks: %v", err)
	}
	origin.commit("web/old.yaml", "a: 2\n")
	origin.git("tag", "old")
	origin.git("rm", "-q", "link.yaml")
	origin.commit("web/old.yaml", "a: 3\n")
	return origin
}

// A partial clone has the files of what was checked out. The others are an error for
// who reads them, and nothing goes to the network for them.
func TestTreePartial(t *testing.T) {
	origin := partialOrigin(t)
	for _, gitVersion := range []string{"this", "older"} {
		t.Run(gitVersion, func(t *testing.T) {
			here := clone{t, origin.dir}.clone("--filter=blob:none")
			url := here.git("remote", "get-url", "origin")
			marker := filepath.Join(t.TempDir(), "fetched")
			here.git("config", "protocol.ext.allow", "always")
			here.git("config", "protocol.file.allow", "always")
			here.git("config", "core.sshCommand", "touch "+marker)
			if gitVersion == "older" {
				gitBefore245(t)
			}
			for _, remote := range []string{url, "ext::touch " + marker, "git@git.example.com:shop/deployments.git"} {
				here.git("config", "remote.origin.url", remote)
				g := here.objects()
				id := here.git("rev-parse", "old")
				files := here.view(g, "old")
				for range 2 {
					for _, name := range []string{"web/old.yaml", "link.yaml"} {
						_, err := fs.ReadFile(files, name)
						if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.HasSuffix(err.Error(), "its content is not in this clone") ||
							!strings.HasPrefix(diag.Hint(err), "this clone is partial: git checkout "+id+", once,") {
							t.Errorf("%s: %s: got %v, hint %q", remote, name, err, diag.Hint(err))
						}
					}
					here.holds(files, "both.yaml", "a: 1\n")
				}
				if info, err := fs.Stat(files, "both.yaml"); err != nil || info.Size() != 5 {
					t.Errorf("%s: both.yaml: got %v, %v, want 5 bytes", remote, info, err)
				}
				here.holds(here.view(g, "HEAD"), "web/old.yaml", "a: 3\n")
				if _, err := g.commit(strings.Repeat("0", 40)); err == nil || !strings.Contains(err.Error(), "does not exist") {
					t.Errorf("%s: a commit that is not here: got %v", remote, err)
				}
				if commit, _, err := g.pinned("old"); commit != id || err != nil {
					t.Errorf("%s: a tag: got %q, %v, want %s", remote, commit, err, id)
				}
			}
			if _, err := os.Stat(marker); err == nil {
				t.Error("the remote was asked")
			}
		})
	}
}

// gitBefore245 puts a git into PATH that does not know GIT_NO_LAZY_FETCH, as those
// before 2.45 and their last patches do not.
func gitBefore245(t *testing.T) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := "#!/bin/sh\nunset GIT_NO_LAZY_FETCH\nexec " + git + ` "$@"` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// Both remedies of the hint bring what is missing.
func TestTreePartialRemedies(t *testing.T) {
	t.Parallel()
	origin := partialOrigin(t)
	for name, remedy := range map[string][]string{
		"checkout": {"checkout", "-q", "old"},
		"refetch":  {"fetch", "-q", "--refetch", "--no-filter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here := clone{t, origin.dir}.clone("--filter=blob:none")
			if name == "refetch" && !strings.Contains(here.gitHelp("fetch"), "--[no-]refetch") && !strings.Contains(here.gitHelp("fetch"), "--refetch") {
				t.Skip("this git has no fetch --refetch")
			}
			here.git(remedy...)
			files := here.view(here.objects(), "old")
			here.holds(files, "web/old.yaml", "a: 2\n")
			here.holds(files, "link.yaml", "a: 2\n")
		})
	}
}

// gitHelp is the options of a command.
func (c clone) gitHelp(command string) string {
	out, _ := exec.Command("git", command, "-h").CombinedOutput() // it ends with 129
	return string(out)
}

// A clone without trees cannot list the files of a commit, and git does not go to the
// network for them.
func TestTreeWithoutTrees(t *testing.T) {
	here := partialOrigin(t).clone("--filter=tree:0")
	marker := filepath.Join(t.TempDir(), "fetched")
	here.git("config", "protocol.ext.allow", "always")
	here.git("config", "remote.origin.url", "ext::touch "+marker)
	id := here.git("rev-parse", "old")
	gitBefore245(t)
	here.holds(here.view(here.objects(), "HEAD"), "web/old.yaml", "a: 3\n")
	_, err := here.objects().tree(id, source.Limits{})
	if err == nil || !strings.Contains(err.Error(), "reading the tree of "+id) || !strings.Contains(diag.Hint(err), "this clone is partial") {
		t.Errorf("got %v, hint %q", err, diag.Hint(err))
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the remote was asked")
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]string{"sha1": nil, "sha256": {"--object-format=sha256"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here := newRepository(t, options...)
			other := newRepository(t, options...)
			other.commit("charts/web/Chart.yaml", "name: web\n")
			here.git("submodule", "add", "-q", other.dir, "vendor/shop")
			blob := here.gitFrom("a: 1\n", "hash-object", "-w", "--stdin")
			lfs := here.gitFrom("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "hash-object", "-w", "--stdin")
			here.gitFrom("100644 "+blob+"\tb\xff.yaml\x00"+"100644 "+blob+"\tline\nbreak\ttab\"\\ .yaml\x00"+"100644 "+blob+"\té.yaml\x00"+
				"100755 "+blob+"\trun.sh\x00"+"100644 "+lfs+"\tlarge.bin\x00", "update-index", "-z", "--add", "--index-info")
			here.git("commit", "-q", "-m", "one")
			id := here.git("rev-parse", "HEAD")
			linked := clone{t, filepath.Join(t.TempDir(), "linked")}
			here.git("worktree", "add", "-q", "--detach", linked.dir)
			shared := clone{t, filepath.Join(t.TempDir(), "shared")}
			here.git("clone", "-q", "--shared", "--no-checkout", here.dir, shared.dir)
			for kind, c := range map[string]clone{"itself": here, "work tree": linked, "alternates": shared} {
				g := c.objects()
				if commit, note, err := g.pinned(id[:10]); commit != id || note != "" || err != nil {
					t.Errorf("%s: the short id: got %q, %q, %v, want %s", kind, commit, note, err, id)
				}
				tree, err := g.tree(id, source.Limits{})
				if err != nil {
					t.Errorf("%s: %v", kind, err)
					continue
				}
				files := tree.View()
				for _, name := range []string{"line\nbreak\ttab\"\\ .yaml", "é.yaml", "run.sh"} {
					c.holds(files, name, "a: 1\n")
				}
				if _, err := fs.ReadFile(files, "b\xff.yaml"); !errors.Is(err, fs.ErrInvalid) {
					t.Errorf("%s: a name that is not UTF-8: got %v", kind, err)
				}
				if _, err := fs.ReadFile(files, "large.bin"); err == nil || !strings.Contains(err.Error(), "Git LFS") {
					t.Errorf("%s: a file of Git LFS: got %v", kind, err)
				}
				for folder, want := range map[string]string{"vendor/shop": "vendor/shop", "vendor/shop/charts/web": "vendor/shop", "vendor": "", "vendor/shopping": ""} {
					if got := tree.in(folder); got != want {
						t.Errorf("%s: %q is in the submodule %q, want %q", kind, folder, got, want)
					}
				}
			}
		})
	}
}

// Replacements are of one clone: a commit is what its id says.
func TestTreeIgnoresReplacements(t *testing.T) {
	t.Parallel()
	here := newRepository(t)
	first := here.commit("a.yaml", "a: 1\n")
	blob := here.git("rev-parse", "HEAD:a.yaml")
	second := here.commit("a.yaml", "a: 2\n")
	here.git("replace", first, second)
	here.holds(here.view(here.objects(), first), "a.yaml", "a: 1\n")
	here.git("replace", "-d", first)
	here.git("replace", blob, here.git("rev-parse", "HEAD:a.yaml"))
	here.holds(here.view(here.objects(), first), "a.yaml", "a: 1\n")
}

func TestTreeEmpty(t *testing.T) {
	t.Parallel()
	here := newRepository(t)
	here.git("commit", "-q", "--allow-empty", "-m", "nothing")
	if entries, err := fs.ReadDir(here.view(here.objects(), "HEAD"), "."); len(entries) > 0 || err != nil {
		t.Errorf("got %v, %v, want no files", entries, err)
	}
}

// The variables by which a hook of git names its own repository are not for this one.
func TestTreeUnderAHook(t *testing.T) {
	here, other := newRepository(t), newRepository(t)
	here.commit("a.yaml", "a: here\n")
	other.commit("a.yaml", "a: other\n")
	other.git("tag", "v9.0.0")
	t.Setenv("GIT_DIR", filepath.Join(other.dir, ".git"))
	t.Setenv("GIT_WORK_TREE", other.dir)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other.dir, ".git", "index"))
	t.Setenv("GIT_OBJECT_DIRECTORY", filepath.Join(other.dir, ".git", "objects"))
	g := here.objects()
	here.holds(here.view(g, "main"), "a.yaml", "a: here\n")
	if commit, _, err := g.pinned(">=1"); err == nil {
		t.Errorf("a tag of the other repository: got %q", commit)
	}
}

// A damaged object is an error of its file; the next file is read all the same.
func TestTreeDamaged(t *testing.T) {
	t.Parallel()
	here := newRepository(t)
	here.commit("a.yaml", "a: 1\n")
	here.commit("b.yaml", "a: 2\n")
	here.commit("c.yaml", "a: 3\n")
	var long strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&long, "a%d: %[1]d\n", i)
	}
	here.commit("long.yaml", long.String())
	loose := func(name string) string {
		id := here.git("rev-parse", "HEAD:"+name)
		return filepath.Join(here.dir, ".git", "objects", id[:2], id[2:])
	}
	g := here.objects()
	files := here.view(g, "HEAD")
	for _, err := range []error{
		os.Chmod(loose("a.yaml"), 0o600),
		os.WriteFile(loose("a.yaml"), []byte("x"), 0o644),
		os.Remove(loose("b.yaml")),
		os.Chmod(loose("long.yaml"), 0o600),
		os.Truncate(loose("long.yaml"), 20_000),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"long.yaml", "a.yaml"} { // git ends at the first
		if _, err := fs.ReadFile(files, name); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a damaged file %s: got %v", name, err)
		}
	}
	if _, err := fs.ReadFile(files, "b.yaml"); !errors.Is(err, errAbsent) || !strings.Contains(diag.Hint(err), "git fsck") {
		t.Errorf("a lost file: got %v, hint %q", err, diag.Hint(err))
	}
	here.holds(files, "c.yaml", "a: 3\n")
	g.close()
	here.holds(here.view(g, "HEAD"), "c.yaml", "a: 3\n")
}
