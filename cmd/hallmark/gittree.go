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

	refsOnce sync.Once
	refs     *references
	refsErr  error

	partialOnce sync.Once
	isPartial   bool

	mu     sync.Mutex // one question at a time
	batch  *exec.Cmd
	ask    io.WriteCloser
	out    io.ReadCloser
	tell   *bufio.Reader   // of out
	said   bytes.Buffer    // to standard error, complete once the process has ended
	absent map[string]bool // what a partial clone left out
}

// gitTree is the tree of a commit.
type gitTree struct {
	*source.Tree
	commit string
	// submodules are the folders whose content is in another repository.
	submodules []string
}

// errAbsent says that a content is missing in a clone.
var errAbsent = errors.New("its content is not in this clone")

// command is git, without the programs that a repository's configuration can name
// and without the network.
func (g *gitObjects) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(g.ctx, "git", append([]string{
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-C", g.top,
	}, args...)...)
	cmd.Env = append(gitEnvironment(os.Environ(), g.top),
		"GIT_ALLOW_PROTOCOL=none",  // no network, for git before 2.45 too
		"GIT_NO_REPLACE_OBJECTS=1", // which stay in one clone: Argo CD has none
		"LC_ALL=C")
	return cmd
}

// tree returns the files of a commit.
func (g *gitObjects) tree(commit string, limits source.Limits) (*gitTree, error) {
	fault := func(err error) error { return fmt.Errorf("reading the tree of %s: %w", commit, err) }
	out, err := g.command("ls-tree", "-r", "-z", "--full-tree", commit).Output()
	if err != nil {
		return nil, diag.WithHint(fault(gitFault(err)), g.howToComplete(commit))
	}
	t := &gitTree{commit: commit}
	var entries []source.Entry
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if line == "" {
			continue // an empty commit
		}
		// <mode> <type> <object>\t<path>
		head, name, _ := strings.Cut(line, "\t")
		field := strings.Fields(head)
		if len(field) != 3 {
			return nil, fault(fmt.Errorf("git printed %q", head))
		}
		e := source.Entry{Path: name, ID: field[2]}
		switch field[0] {
		case "160000":
			t.submodules = append(t.submodules, name)
			e.Mode = fs.ModeDir
		case "120000":
			e.Mode = fs.ModeSymlink
		}
		entries = append(entries, e)
	}
	if err := g.leftOut(commit); err != nil {
		return nil, fault(err)
	}
	if err := g.measure(entries); err != nil {
		return nil, fault(err)
	}
	t.Tree, err = source.Stored(entries, func(id string) ([]byte, error) {
		data, err := g.file(id)
		if errors.Is(err, errAbsent) {
			err = diag.WithHint(err, g.howToComplete(commit))
		}
		return data, err
	}, limits)
	return t, err
}

// leftOut notes the objects of a commit that a partial clone is without. Git before
// 2.45 goes to the network for such an object when it is asked for it, and ends if it
// may not; to list them is what no git goes there for.
func (g *gitObjects) leftOut(commit string) error {
	if !g.partial() {
		return nil
	}
	out, err := g.command("rev-list", "--objects", "--missing=print", commit+"^{tree}").Output()
	if err != nil {
		return gitFault(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.absent == nil {
		g.absent = map[string]bool{}
	}
	for line := range strings.Lines(string(out)) {
		if id, missing := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "?"); missing {
			g.absent[id] = true
		}
	}
	return nil
}

// partial reports whether the clone was made with --filter.
func (g *gitObjects) partial() bool {
	g.partialOnce.Do(func() {
		out, err := g.command("config", "--get-regexp", `^(remote\..*\.promisor|extensions\.partialclone)$`).Output()
		g.isPartial = err == nil && len(out) > 0
	})
	return g.isPartial
}

// howToComplete is how what a clone lacks of a commit comes into it.
func (g *gitObjects) howToComplete(commit string) string {
	if g.partial() {
		return "this clone is partial: git checkout " + commit + ", once, brings the files of that commit, and git fetch --refetch --no-filter those of all"
	}
	return "git fsck tells what the repository is without"
}

// measure fills in the sizes of the files and links that are here.
func (g *gitObjects) measure(entries []source.Entry) error {
	var ask strings.Builder
	size := map[string]int64{}
	g.mu.Lock()
	for _, e := range entries {
		if _, asked := size[e.ID]; !asked && !e.Mode.IsDir() && !g.absent[e.ID] {
			size[e.ID] = 0
			ask.WriteString(e.ID + "\n")
		}
	}
	g.mu.Unlock()
	cmd := g.command("cat-file", "--batch-check=%(objectname) %(objectsize)")
	cmd.Stdin = strings.NewReader(ask.String())
	out, err := cmd.Output()
	if err != nil {
		return gitFault(err)
	}
	for line := range strings.Lines(string(out)) {
		id, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil { // else it is "missing"
			size[id] = n
		}
	}
	for i := range entries {
		entries[i].Size = size[entries[i].ID]
	}
	return nil
}

// in returns the submodule that the folder lies in, or "".
func (t *gitTree) in(folder string) string {
	i := slices.IndexFunc(t.submodules, func(s string) bool { return s == folder || strings.HasPrefix(folder, s+"/") })
	if i < 0 {
		return ""
	}
	return t.submodules[i]
}

// missing says why a folder is not in the tree, or "".
func (t *gitTree) missing(folder string) string {
	if at := t.in(folder); at != "" {
		return fmt.Sprintf("%q is a submodule, whose files are in another repository", at)
	}
	return ""
}

// submodules returns what tells whether a folder of the work tree lies in a submodule.
func (g *gitObjects) submodules() (func(folder string) bool, error) {
	out, err := g.command("ls-files", "--stage", "-z").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the submodules: %w", gitFault(err))
	}
	t := &gitTree{}
	for line := range strings.SplitSeq(string(out), "\x00") {
		if mode, rest, _ := strings.Cut(line, " "); mode == "160000" {
			_, name, _ := strings.Cut(rest, "\t")
			t.submodules = append(t.submodules, name)
		}
	}
	return func(folder string) bool { return t.in(folder) != "" }, nil
}

// file is the content of a file in the object store.
func (g *gitObjects) file(id string) ([]byte, error) {
	data, err := g.read(id)
	if err == nil && bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/")) {
		return nil, errors.New("its content is with Git LFS, and not in the object store")
	}
	return data, err
}

// read asks the process of git for an object.
func (g *gitObjects) read(id string) ([]byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.absent[id] {
		return nil, errAbsent
	}
	if err := g.start(); err != nil {
		return nil, err
	}
	data, err := g.answer(id)
	if err != nil && !errors.Is(err, errAbsent) {
		// The next one asks another process: this one has ended, or is out of step.
		if g.end(); g.said.Len() > 0 {
			err = errors.New(oneLine(g.said.String()))
		}
		err = fmt.Errorf("asking git for %s: %w", id, err)
	}
	return data, err
}

// answer is one question to the process (git-cat-file(1), BATCH OUTPUT).
func (g *gitObjects) answer(id string) ([]byte, error) {
	if _, err := io.WriteString(g.ask, id+"\n"); err != nil {
		return nil, err
	}
	head, err := g.tell.ReadString('\n')
	if err != nil {
		return nil, err
	}
	field := strings.Fields(head)
	if len(field) == 2 && field[1] == "missing" {
		return nil, errAbsent
	}
	if len(field) != 3 {
		return nil, fmt.Errorf("it printed %q", head)
	}
	size, err := strconv.Atoi(field[2])
	if err != nil {
		return nil, fmt.Errorf("it printed %q", head)
	}
	data := make([]byte, size+1) // and a newline
	if _, err := io.ReadFull(g.tell, data); err != nil {
		return nil, err
	}
	return data[:size], nil
}

// start starts the process, unless it runs.
func (g *gitObjects) start() (err error) {
	if g.batch != nil {
		return nil
	}
	cmd := g.command("cat-file", "--batch")
	if g.ask, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if g.out, err = cmd.StdoutPipe(); err != nil {
		return err
	}
	g.tell = bufio.NewReaderSize(g.out, 64<<10)
	g.said.Reset()
	cmd.Stderr = &g.said
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting git: %w", gitFault(err))
	}
	g.batch = cmd
	return nil
}

// close ends the process.
func (g *gitObjects) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end()
}

func (g *gitObjects) end() {
	if g.batch != nil {
		_ = g.ask.Close()
		_ = g.out.Close()  // it may be in the middle of an answer
		_ = g.batch.Wait() // it ends with its input; what it says then does not matter
		g.batch = nil
	}
}

// gitFault is why git did nothing, in one line: what it wrote to standard error.
func gitFault(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("git is not installed: there is none in PATH")
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if text := oneLine(string(exit.Stderr)); text != "" {
			return errors.New(text)
		}
	}
	return err
}

// oneLine is a message of git without its line breaks.
func oneLine(text string) string {
	return strings.TrimPrefix(strings.Join(strings.Fields(text), " "), "fatal: ")
}
