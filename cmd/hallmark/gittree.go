package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/plugin/source"
)

// gitObjects reads revisions of the repository at top from git's object store. The
// work tree and the index are not touched. One process of git answers for all files;
// it is started when the first is asked for, and no render starts one of its own.
type gitObjects struct {
	ctx context.Context
	top string

	mu    sync.Mutex // one question at a time
	batch *exec.Cmd
	ask   io.WriteCloser
	tell  *bufio.Reader
}

// gitTree is the tree of a commit.
type gitTree struct {
	*source.Tree
	commit string
	// submodules are the folders whose content is in another repository.
	submodules []string
}

// command is git, without the programs that a repository's configuration can name
// and without the network.
func (g *gitObjects) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(g.ctx, "git", append([]string{
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-C", g.top,
	}, args...)...)
	cmd.Env = gitEnvironment(os.Environ(), g.top)
	return cmd
}

// commit is the commit that a revision names.
func (g *gitObjects) commit(revision string) (string, error) {
	// What git says quotes the revision and its own commands.
	out, err := g.command("rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}").Output()
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		return "", diag.WithHint(fmt.Errorf("the revision %q does not exist in this repository", revision),
			"fetch it first (git fetch origin "+revision+"); in CI a checkout often has one commit and no branches")
	}
	return strings.TrimSpace(string(out)), err
}

// pinned returns the commit of a revision that does not move: a tag or the id of a
// commit. A branch is none.
func (g *gitObjects) pinned(revision string) (commit string, ok bool) {
	name := "refs/tags/" + revision
	if len(revision) >= 40 && strings.Trim(revision, "0123456789abcdef") == "" {
		name = revision
	}
	commit, err := g.commit(name)
	return commit, err == nil
}

// tree returns the files of a commit.
func (g *gitObjects) tree(commit string, limits source.Limits) (*gitTree, error) {
	out, err := g.command("ls-tree", "-r", "-z", "-l", "--full-tree", commit).Output()
	if err != nil {
		return nil, fmt.Errorf("reading the tree of %s: %w", commit, gitFault(err))
	}
	t := &gitTree{commit: commit}
	var entries []source.Entry
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if line == "" {
			continue // an empty commit
		}
		// <mode> <type> <object> <size, padded>\t<path>
		head, name, _ := strings.Cut(line, "\t")
		field := strings.Fields(head)
		if len(field) != 4 {
			return nil, fmt.Errorf("reading the tree of %s: git printed %q", commit, head)
		}
		e := source.Entry{Path: name, ID: field[2]}
		switch field[0] {
		case "160000":
			t.submodules = append(t.submodules, name)
			e.Mode = fs.ModeDir
		case "120000":
			target, err := g.read(e.ID)
			if err != nil {
				return nil, err
			}
			e.Mode, e.Link = fs.ModeSymlink, string(target)
		default:
			if e.Size, err = strconv.ParseInt(field[3], 10, 64); err != nil {
				return nil, fmt.Errorf("reading the tree of %s: git printed %q", commit, head)
			}
		}
		entries = append(entries, e)
	}
	t.Tree, err = source.Stored(entries, g.file, limits)
	return t, err
}

// in returns the submodule that the folder lies in, or "".
func (t *gitTree) in(folder string) string {
	i := slices.IndexFunc(t.submodules, func(s string) bool { return s == folder || strings.HasPrefix(folder, s+"/") })
	if i < 0 {
		return ""
	}
	return t.submodules[i]
}

// file is the content of a file in the object store.
func (g *gitObjects) file(id string) ([]byte, error) {
	data, err := g.read(id)
	if err == nil && bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")) {
		return nil, errors.New("its content is with Git LFS, and not in the object store")
	}
	return data, err
}

// read asks the process of git for an object (git-cat-file(1), BATCH OUTPUT).
func (g *gitObjects) read(id string) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.start(); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(g.ask, id+"\n"); err != nil {
		return nil, fmt.Errorf("asking git for %s: %w", id, err)
	}
	head, err := g.tell.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("asking git for %s: %w", id, err)
	}
	field := strings.Fields(head)
	if len(field) != 3 { // "<object> missing" in a partial clone
		return nil, diag.WithHint(fmt.Errorf("the object %s is not in this clone", id), "fetch the whole history: git fetch --refetch --filter=blob:none brings no files, git fetch --unshallow all")
	}
	size, err := strconv.Atoi(field[2])
	if err != nil {
		return nil, fmt.Errorf("asking git for %s: it printed %q", id, head)
	}
	data := make([]byte, size+1) // and a newline
	if _, err := io.ReadFull(g.tell, data); err != nil {
		return nil, fmt.Errorf("asking git for %s: %w", id, err)
	}
	return data[:size], nil
}

// start starts the process, once.
func (g *gitObjects) start() (err error) {
	if g.batch != nil {
		return nil
	}
	cmd := g.command("cat-file", "--batch")
	if g.ask, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	g.tell = bufio.NewReaderSize(out, 64<<10)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting git: %w", err)
	}
	g.batch = cmd
	return nil
}

// close ends the process.
func (g *gitObjects) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.batch != nil {
		_ = g.ask.Close()
		_ = g.batch.Wait() // it ends with its input; what it says then does not matter
		g.batch = nil
	}
}

// gitFault is what git wrote to standard error, in one line.
func gitFault(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if text := strings.Join(strings.Fields(string(exit.Stderr)), " "); text != "" {
			return errors.New(strings.TrimPrefix(text, "fatal: "))
		}
	}
	return err
}
