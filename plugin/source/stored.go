package source

import (
	"fmt"
	"io/fs"
	"path"
)

// Entry is a path of a tree whose contents are elsewhere.
type Entry struct {
	// Path is relative to the root, with slashes.
	Path string
	// Mode has type bits only: none for a file, fs.ModeDir or fs.ModeSymlink.
	Mode fs.FileMode
	// Size is that of a file, in bytes.
	Size int64
	// ID is what the content of a file is read by.
	ID string
	// Link is the target of a symlink.
	Link string
}

// Stored returns the tree of the entries, such as those of a commit in git's object
// store; the folders above them are implied. The content of a file is read when a
// View asks for it, so that only what was visited and read counts against lim. read
// may be called by several goroutines at once.
func Stored(entries []Entry, read func(id string) ([]byte, error), lim Limits) (*Tree, error) {
	mem := newMemory(func(string) error { return nil })
	ids := map[*node]string{}
	for _, e := range entries {
		if !fs.ValidPath(e.Path) {
			return nil, fmt.Errorf("the path %q is none of a repository", e.Path)
		}
		n := &node{mode: e.Mode.Type(), size: e.Size, link: e.Link}
		if n.mode.IsRegular() {
			ids[n] = e.ID
		}
		if err := mem.put(e.Path, n); err != nil {
			return nil, err
		}
	}
	return &Tree{lim: lim.orDefault(), mem: &stored{mem.finish(), ids, read}, part: "."}, nil
}

// stored is a tree whose files are read by id.
type stored struct {
	memory
	ids  map[*node]string
	read func(id string) ([]byte, error)
}

func (s *stored) load(_ string, n *node, most int64) ([]byte, int64, error) {
	if n.size > most {
		return nil, n.size, nil
	}
	data, err := s.read(s.ids[n])
	return data, int64(len(data)), err
}

// With returns the tree with another one below the folder name of its root, as
// "$values": the source of an Application with several that another refers to. The
// folder is there for those who name it and not in the listing of the root. Links
// of one tree do not lead into the other.
func (t *Tree) With(name string, other *Tree) *Tree {
	both := *t
	both.beside = map[string]*Tree{name: other}
	for at, tree := range t.beside {
		if at != name {
			both.beside[at] = tree
		}
	}
	return &both
}

// beside is a store with others below folders of its root.
type beside struct {
	store
	others map[string]store
}

func (b *beside) at(p string) (store, string, string) {
	for name, other := range b.others {
		if p == name {
			return other, name, "."
		}
		if within(name, p) {
			return other, name, p[len(name)+1:]
		}
	}
	return b.store, "", p
}

func (b *beside) stat(p string) (*node, error) {
	st, name, inner := b.at(p)
	n, err := st.stat(inner)
	if err != nil || name == "" || n.mode&fs.ModeSymlink == 0 || path.IsAbs(n.link) {
		return n, err
	}
	// A link that climbs out of its own tree would go on in the one around it.
	if target := path.Join(path.Dir(inner), n.link); target == ".." || len(target) > 2 && target[:3] == "../" {
		return &node{mode: n.mode, link: "/" + n.link}, nil
	}
	return n, nil
}

func (b *beside) list(p string, n *node) ([]child, error) {
	st, _, inner := b.at(p)
	return st.list(inner, n)
}

func (b *beside) load(p string, n *node, most int64) ([]byte, int64, error) {
	st, _, inner := b.at(p)
	return st.load(inner, n, most)
}
