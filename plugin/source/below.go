package source

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Below returns the tree as the folder dir of a repository of which nothing else
// is known; "" or "." is the whole. Names in its views are those of the
// repository. What lies elsewhere is neither there nor absent: a View that is
// asked for it, or for a listing of a folder above, answers with an error that is
// not fs.ErrNotExist. The two trees share what they hold, and are closed once.
func (t *Tree) Below(dir string) *Tree {
	part := *t
	part.part = path.Join(dir, t.part)
	return &part
}

// below is a store whose root is a folder of the repository.
type below struct {
	store
	root string
}

func (b *below) stat(p string) (*node, error) {
	switch {
	case within(b.root, p):
		return b.store.stat(b.inner(p))
	case within(p, b.root):
		return &node{mode: fs.ModeDir}, nil
	case isGit(p): // no tree has it
		return nil, fs.ErrNotExist
	}
	return nil, &unsentError{path: p, sent: b.root}
}

func (b *below) list(p string, n *node) ([]child, error) {
	if !within(b.root, p) {
		return nil, &unsentError{path: p, sent: b.root}
	}
	return b.store.list(b.inner(p), n)
}

func (b *below) load(p string, n *node, most int64) ([]byte, int64, error) {
	return b.store.load(b.inner(p), n, most)
}

// inner is the path in the store of one within the root.
func (b *below) inner(p string) string {
	if p == b.root {
		return "."
	}
	return strings.TrimPrefix(p, b.root+"/")
}

// within reports whether p is dir or lies in it.
func within(dir, p string) bool {
	return dir == "." || p == dir || strings.HasPrefix(p, dir+"/")
}

// unsentError says that nothing is known about a path. It is not fs.ErrNotExist:
// a file of values that may be missing would silently be.
type unsentError struct{ path, sent string }

func (e *unsentError) Error() string {
	return fmt.Sprintf("%q lies outside of %q, the only folder of the repository that was sent", e.path, e.sent)
}

// Hint says how to have it sent.
func (e *unsentError) Hint() string {
	return "name every folder that the application reads in its annotation argocd.argoproj.io/manifest-generate-paths"
}
