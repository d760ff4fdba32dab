// Package source is the file tree of one repository, as renderers see it:
// bounded, confined to the repository root, and with a record of what was read.
//
// A [Tree] is where the files are: a folder on disk, read lazily ([Dir]), an
// archive held in memory ([Archive]), the paths of a commit whose contents are
// elsewhere ([Stored]) or a few literal files ([Memory]). A [View] is one render's
// access to it. The View implements fs.FS, fs.StatFS, fs.ReadFileFS, fs.ReadDirFS
// and fs.ReadLinkFS, and that is all a renderer may ask of it: a decrypting file
// system that wraps a View and implements the same five interfaces must be able to
// take its place. Beyond them there are three optional things, found by a type
// assertion: Resolve(string) (string, error), the record of [View.Files], and
// [Unsealer]. [Walk] works on any fs.FS.
//
// # Paths
//
// Names are those of io/fs: slash-separated, relative to the root, "." for the
// root itself. A backslash or a drive letter has no meaning in them. Links are
// resolved here, one element at a time, the way a kernel does it, and for a
// folder on disk every open goes through os.Root as well, so that a link
// swapped between check and open still cannot lead outside. A path that climbs
// above the root and would come back in counts as leaving it.
//
// A [Dir] follows absolute links whose target begins with the root's own path,
// because argocd-cmp-server turns every link of a repository into an absolute
// one when it unpacks it (util/io/files/tar.go in Argo CD). In an archive there
// is no such path, and absolute links are refused, as Argo CD itself does
// (util/app/path/path.go, CheckOutOfBoundsSymlinks).
//
// No tree contains an element named ".git". Git cannot track such a path, so it
// is never part of a commit; its content differs between two clones of the same
// commit, and a repo-server that is not told otherwise sends all of its packs
// to the plugin. Apart from that a Dir shows what is on disk, ignored and
// uncommitted files included.
//
// # Same input, same bytes
//
// Listings are sorted; modification times are zero and permissions fixed (0444
// and 0555), so that a laptop and a sidecar give a renderer the same facts.
// Within one View a path has one content, even if the disk changes meanwhile.
//
// # Limits
//
// [Limits] bound what a stranger's repository can cost. An archive is held to
// them while it is read, and its compressed size plays no part. A View is held
// to them again, by the names it was asked for and not by the files behind the
// names: a handful of links can give a tree with more paths than atoms.
//
// # Reuse
//
// repo-server sends the whole repository for every commit, and most commits do
// not concern most applications. A View records every question, those answered
// with "does not exist" included, and [View.Trace] is that record. Where
// [Trace.Same] finds that another tree would answer all of it the same, a render
// of it, which sees nothing else, would come to the same result.
package source

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Tree is the file tree of one repository. It is safe for concurrent use.
type Tree struct {
	lim Limits
	mem store    // nil for a folder on disk
	dir *os.Root // nil for a tree in memory
	abs []string // absolute forms of dir, each with a slash at its end

	part   string           // the folder of the repository that the tree is; "." for the whole
	beside map[string]*Tree // see With

	entries int   // of the archive that it was read from
	bytes   int64 // of their content
}

// Dir returns the tree of a folder on disk. Nothing is read until a View asks
// for it, and only what was visited and read counts against lim. An *EscapeError
// therefore comes from the View that touches the link.
//
// The Tree holds a file descriptor until Close.
func Dir(root string, lim Limits) (*Tree, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("opening the repository root: %w", err)
	}
	dir, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("opening the repository root: %w", err)
	}
	forms := []string{abs}
	// Links may have been made with either spelling where the root itself is
	// reached through a link, as /tmp is on macOS.
	if resolved, err := filepath.EvalSymlinks(abs); err == nil && resolved != abs {
		forms = append(forms, resolved)
	}
	for i, form := range forms {
		forms[i] = strings.TrimSuffix(filepath.ToSlash(form), "/") + "/"
	}
	return &Tree{lim: lim.orDefault(), dir: dir, abs: forms, part: "."}, nil
}

// Memory returns a tree of the given files, by path; the folders above them are
// implied. It is meant for tests and small synthetic trees, has no limits, and
// panics on a path that is not valid for io/fs or that is both file and folder.
func Memory(files map[string]string) *Tree {
	mem := newMemory(func(string) error { return nil })
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !fs.ValidPath(name) {
			panic(fmt.Sprintf("source.Memory: invalid path %q", name))
		}
		if err := mem.put(name, &node{size: int64(len(files[name])), data: []byte(files[name])}); err != nil {
			panic("source.Memory: " + err.Error())
		}
	}
	none := Limits{Files: math.MaxInt, FileBytes: math.MaxInt64, TreeBytes: math.MaxInt64}
	return &Tree{lim: none.orDefault(), mem: mem.finish(), part: "."}
}

// View returns a new view of the tree, with an empty record and, for a folder on
// disk, an empty cache. Each render takes its own.
func (t *Tree) View() *View { return newView(t.store(), t.lim) }

func (t *Tree) store() store {
	st := t.mem
	if st == nil {
		st = newDisk(t.dir, t.abs, t.lim.Files)
	}
	if t.part != "." {
		st = &below{st, t.part}
	}
	if len(t.beside) == 0 {
		return st
	}
	others := make(map[string]store, len(t.beside))
	for name, tree := range t.beside {
		others[name] = tree.store()
	}
	return &beside{st, others}
}

// Size returns how many entries the archive of the tree had, folders, links and
// .git included, and how many bytes of content: what was received, more than a
// View shows. For a tree that comes from no archive both are zero.
func (t *Tree) Size() (entries int, bytes int64) { return t.entries, t.bytes }

// Close releases the file descriptor of a folder on disk. Views of it keep what
// they have read and fail on anything else. For a tree in memory it does nothing.
func (t *Tree) Close() error {
	if t.dir == nil {
		return nil
	}
	return t.dir.Close()
}
