package source

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// store is a tree by physical paths. The View that owns it serialises the calls.
type store interface {
	// stat returns the node at p, or fs.ErrNotExist.
	stat(p string) (*node, error)
	// list returns the entries of the folder n at p, sorted by name.
	list(p string, n *node) ([]child, error)
	// load returns the content of the regular file n at p and its size. If the
	// size is above most the content is nil.
	load(p string, n *node, most int64) ([]byte, int64, error)
}

// memory is a tree in memory, by path. Once finished it never changes, so that
// all views of a tree share it.
type memory map[string]*node

func (m memory) stat(p string) (*node, error) {
	if n, ok := m[p]; ok {
		return n, nil
	}
	return nil, fs.ErrNotExist
}

func (m memory) list(_ string, n *node) ([]child, error) { return n.kids, nil }

func (m memory) load(_ string, n *node, most int64) ([]byte, int64, error) {
	if n.size > most {
		return nil, n.size, nil
	}
	return n.data, n.size, nil
}

// builder fills a memory tree, in any order of paths.
type builder struct {
	nodes memory
	count map[string]int          // entries of each folder
	admit func(path string) error // asked before a path is added
}

func newMemory(admit func(string) error) *builder {
	return &builder{
		nodes: memory{".": {mode: fs.ModeDir}},
		count: map[string]int{},
		admit: admit,
	}
}

// put adds n at the clean path p, and the folders above it. A path that exists
// is replaced, but a folder keeps its content: as a folder it stays as it is,
// and anything else cannot take its place unless it is empty. A path whose
// parent is not a folder is refused, so nothing is ever put "through" a link.
func (b *builder) put(p string, n *node) error {
	if isGit(p) {
		return nil
	}
	if p == "." {
		if !n.mode.IsDir() {
			return fmt.Errorf("the repository root is a %s", kind(n.mode))
		}
		return nil
	}
	for i := range len(p) {
		if p[i] != '/' {
			continue
		}
		above := p[:i]
		if old, ok := b.nodes[above]; !ok {
			if err := b.add(above, &node{mode: fs.ModeDir}); err != nil {
				return err
			}
		} else if !old.mode.IsDir() {
			return fmt.Errorf("%q lies below %q, which is a %s", p, above, kind(old.mode))
		}
	}
	old, ok := b.nodes[p]
	switch {
	case !ok:
		return b.add(p, n)
	case old.mode.IsDir() && n.mode.IsDir():
		return nil
	case old.mode.IsDir() && b.count[p] > 0:
		return fmt.Errorf("%q is both a folder and a %s", p, kind(n.mode))
	}
	b.nodes[p] = n
	return nil
}

func (b *builder) add(p string, n *node) error {
	if err := b.admit(p); err != nil {
		return err
	}
	b.nodes[p] = n
	b.count[path.Dir(p)]++
	return nil
}

// finish fills in the listings of the folders.
func (b *builder) finish() memory {
	for p, n := range b.nodes {
		if p != "." {
			dir := b.nodes[path.Dir(p)]
			dir.kids = append(dir.kids, child{name: path.Base(p), mode: n.mode})
		}
	}
	for _, n := range b.nodes {
		slices.SortFunc(n.kids, compareChildren)
	}
	return b.nodes
}

func compareChildren(a, b child) int { return cmp.Compare(a.name, b.name) }

// kind names the type of a node for a message.
func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "folder"
	case mode&fs.ModeSymlink != 0:
		return "symlink"
	case mode.IsRegular():
		return "file"
	case mode&fs.ModeDevice != 0:
		return "device"
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	}
	return "special file"
}
