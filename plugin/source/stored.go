package source

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
)

// Entry is a path of a tree whose contents are elsewhere.
type Entry struct {
	// Path is relative to the root, with slashes.
	Path string
	// Mode has type bits only: none for a file, fs.ModeDir or fs.ModeSymlink.
	Mode fs.FileMode
	// Size is that of the content in bytes, 0 where it is not known.
	Size int64
	// ID is what the content is read by: that of a file, or the target of a symlink.
	ID string
}

// Stored returns the tree of the entries, such as those of a commit in git's object
// store; the folders above them are implied. The content of a file and the target of
// a symlink are read when a View asks for them: only what was visited and read counts
// against lim, and what cannot be read is an error for those who want it. read may be
// called by several goroutines at once.
//
// A path that is not valid UTF-8, which git allows, is treated as [Dir] treats it: its
// folder lists it, and whoever asks for it gets fs.ErrInvalid, because io/fs knows no
// such names.
func Stored(entries []Entry, read func(id string) ([]byte, error), lim Limits) (*Tree, error) {
	mem := newMemory(func(string) error { return nil })
	st := &stored{ids: map[*node]string{}, links: map[string]func() (*node, error){}, read: read}
	for _, e := range entries {
		if !fs.ValidPath(strings.ToValidUTF8(e.Path, "\uFFFD")) {
			return nil, fmt.Errorf("the path %q is none of a repository", e.Path)
		}
		n := &node{mode: e.Mode.Type()}
		switch {
		case n.mode.IsRegular():
			n.size, st.ids[n] = e.Size, e.ID
		case n.mode&fs.ModeSymlink != 0:
			st.links[e.Path] = sync.OnceValues(func() (*node, error) { return st.link(e) })
		}
		if err := mem.put(e.Path, n); err != nil {
			return nil, err
		}
	}
	st.memory = mem.finish()
	return &Tree{lim: lim.orDefault(), mem: st, part: "."}, nil
}

// stored is a tree whose contents are read by id.
type stored struct {
	memory
	ids   map[*node]string                 // of files
	links map[string]func() (*node, error) // by path, with the target
	read  func(id string) ([]byte, error)
}

func (s *stored) stat(p string) (*node, error) {
	n, err := s.memory.stat(p)
	if err == nil && n.mode&fs.ModeSymlink != 0 {
		return s.links[p]()
	}
	return n, err
}

// link reads the target of a symlink.
func (s *stored) link(e Entry) (*node, error) {
	size, target := e.Size, []byte(nil)
	if size <= maxPath {
		var err error
		if target, err = s.read(e.ID); err != nil {
			return nil, fmt.Errorf("reading the symlink %q: %w", e.Path, err)
		}
		size = int64(len(target))
	}
	if size > maxPath {
		return nil, fmt.Errorf("symlink %q has a target of %d bytes, want at most %d", e.Path, size, maxPath)
	}
	return &node{mode: fs.ModeSymlink, link: string(target)}, nil
}

func (s *stored) load(_ string, n *node, most int64) ([]byte, int64, error) {
	if n.size > most {
		return nil, n.size, nil
	}
	data, err := s.read(s.ids[n])
	size := int64(len(data))
	if size > most {
		data = nil
	}
	return data, size, err
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
