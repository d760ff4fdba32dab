package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
)

// View is one render's access to a Tree: the files as io/fs interfaces, and a
// record of what was asked and read. It is safe for concurrent use by the
// goroutines of one render, and not to be shared between renders.
//
// Errors are *fs.PathError with the name that was asked for; errors.As finds the
// *EscapeError or *LimitError inside. The two are never fs.ErrNotExist, so that
// nothing takes a refused file for an absent one.
type View struct {
	lim Limits

	// One lock for everything, disk reads included: the answers to a render have
	// to fit each other, and renderers hardly read in parallel.
	mu      sync.Mutex
	store   store
	links   *resolver
	asked   map[question]*answer // what was asked before is answered from here
	unsure  bool                 // whether an answer is not in asked, or is no fact
	visited map[string]struct{}  // names counted against limits.files
	read    map[string]*content  // by name
	bytes   int64                // sum over read
}

type content struct {
	node *node
	data []byte
}

// File is a file that was read.
type File struct {
	// Path is the name that it was asked for by. A file reached through a
	// symlink stands under the link's path, once for each path that was used.
	Path string
	// Size of the content in bytes.
	Size int64
	// Digest of the content: "sha256:" and 64 hex digits.
	Digest string
}

var _ interface {
	fs.StatFS
	fs.ReadFileFS
	fs.ReadDirFS
	fs.ReadLinkFS
} = (*View)(nil)

func newView(st store, lim Limits) *View {
	return &View{
		lim:     lim,
		store:   st,
		links:   newResolver(st.stat),
		asked:   map[question]*answer{},
		visited: map[string]struct{}{},
		read:    map[string]*content{},
	}
}

// Open opens a file, which counts as reading it, or a folder. Links are
// followed. A file is also an io.Seeker and an io.ReaderAt.
func (v *View) Open(name string) (fs.File, error) {
	a := v.ask(opOpen, name)
	switch {
	case a.err != nil:
		return nil, a.err
	case a.info.IsDir():
		return &openDir{view: v, name: name, info: a.info}, nil
	}
	return &openFile{Reader: bytes.NewReader(a.content.data), info: a.info}, nil
}

// ReadFile returns the content of a file, following links. The slice is shared
// with every other reader of the file, in other views too, and must not be
// modified: this is stricter than fs.ReadFileFS, and spares a copy of each file
// for each render. A caller that edits in place has to clone first.
func (v *View) ReadFile(name string) ([]byte, error) {
	a := v.ask(opRead, name)
	if a.err != nil {
		return nil, a.err
	}
	return a.content.data, nil
}

// Stat describes what name leads to, following links.
func (v *View) Stat(name string) (fs.FileInfo, error) { return v.describe(opStat, name) }

// Lstat describes name; if it is a link, the link itself.
func (v *View) Lstat(name string) (fs.FileInfo, error) { return v.describe(opLstat, name) }

func (v *View) describe(op op, name string) (fs.FileInfo, error) {
	a := v.ask(op, name)
	if a.err != nil {
		return nil, a.err
	}
	return a.info, nil
}

// ReadDir lists a folder, sorted by name, also through a link.
func (v *View) ReadDir(name string) ([]fs.DirEntry, error) {
	a := v.ask(opList, name)
	// Callers of fs.ReadDir may sort and filter in place.
	return slices.Clone(a.entries), a.err
}

// ReadLink returns the target of a link, always relative to the folder that the
// link stands in: io/fs knows no absolute paths, so an absolute target inside
// the root is given as a relative one. One outside is given as it is.
func (v *View) ReadLink(name string) (string, error) {
	a := v.ask(opLink, name)
	return a.path, a.err
}

// Resolve returns the path that name leads to once every link in it is
// followed. The path must exist.
func (v *View) Resolve(name string) (string, error) {
	a := v.ask(opResolve, name)
	return a.path, a.err
}

// Files returns what was read so far, sorted by path.
func (v *View) Files() []File {
	v.mu.Lock()
	defer v.mu.Unlock()
	files := make([]File, 0, len(v.read))
	for _, name := range slices.Sorted(maps.Keys(v.read)) {
		c := v.read[name]
		files = append(files, File{Path: name, Size: int64(len(c.data)), Digest: c.sum()})
	}
	return files
}

// answer finds the answer to q in the tree.
func (v *View) answer(q question) *answer {
	a := &answer{}
	if err := v.find(q, a); err != nil {
		return &answer{err: pathError(q.op.String(), q.name, err)}
	}
	return a
}

func (v *View) find(q question, a *answer) error {
	p, n, err := v.locate(q.name, q.op != opLstat && q.op != opLink)
	if err != nil {
		return err
	}
	switch q.op {
	case opStat, opLstat:
		a.info = newInfo(q.name, n)
	case opLink:
		if n.mode&fs.ModeSymlink == 0 {
			return &kindError{want: fs.ModeSymlink, got: n.mode}
		}
		a.path = n.link
	case opResolve:
		a.path = p
	case opList:
		a.entries, err = v.list(q.name, p, n)
	case opOpen:
		a.info = newInfo(q.name, n)
		if n.mode.IsDir() {
			return nil
		}
		if a.content, err = v.content(q.name, p, n); err == nil {
			a.info.size = int64(len(a.content.data))
		}
	case opRead:
		a.content, err = v.content(q.name, p, n)
	}
	return err
}

// locate finds the physical path and the node of name, and counts the visit.
func (v *View) locate(name string, follow bool) (string, *node, error) {
	p, n, err := v.links.resolve(name, follow)
	if err == nil {
		err = v.visit(name)
	}
	return p, n, err
}

// visit counts a name that exists against limits.files, once.
func (v *View) visit(name string) error {
	if _, ok := v.visited[name]; ok || name == "." {
		return nil
	}
	if len(v.visited) >= v.lim.Files {
		return &LimitError{Limit: limitFiles, Value: int64(len(v.visited)) + 1, Max: int64(v.lim.Files), Path: name}
	}
	v.visited[name] = struct{}{}
	return nil
}

// list returns the entries of the folder n at p under name.
func (v *View) list(name, p string, n *node) ([]fs.DirEntry, error) {
	if !n.mode.IsDir() {
		return nil, &kindError{want: fs.ModeDir, got: n.mode}
	}
	kids, err := v.store.list(p, n)
	if err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, 0, len(kids))
	for _, kid := range kids {
		full := join(name, kid.name)
		if err := v.visit(full); err != nil {
			return nil, err
		}
		entries = append(entries, &dirEntry{view: v, name: full, mode: kid.mode})
	}
	return entries, nil
}

// content returns the content of the file n at p and records it under name.
func (v *View) content(name, p string, n *node) (*content, error) {
	if !n.mode.IsRegular() {
		return nil, &kindError{want: 0, got: n.mode}
	}
	if c, ok := v.read[name]; ok {
		return c, nil
	}
	left := v.lim.TreeBytes - v.bytes
	data, size, err := v.store.load(p, n, min(v.lim.FileBytes, left))
	switch {
	case err != nil:
		return nil, err
	case size > v.lim.FileBytes:
		return nil, &LimitError{Limit: limitFileBytes, Value: size, Max: v.lim.FileBytes, Path: name}
	case size > left:
		return nil, &LimitError{Limit: limitTreeBytes, Value: v.bytes + size, Max: v.lim.TreeBytes, Path: name}
	}
	c := &content{n, data}
	v.bytes += size
	v.read[name] = c
	return c, nil
}

// sum returns the digest of the content. It is kept with the tree: another View
// may compare a trace with it, or several.
func (c *content) sum() string {
	if known := c.node.digest.Load(); known != nil {
		return *known
	}
	sum := sha256.Sum256(c.data)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	c.node.digest.Store(&digest)
	return digest
}

// kindError says that what stands at a path is not what the operation needs.
type kindError struct {
	want, got fs.FileMode // type bits
}

func (e *kindError) Error() string {
	return fmt.Sprintf("not a %s but a %s", kind(e.want), kind(e.got))
}

// Is makes it fs.ErrInvalid for ReadLink, as fs.ReadLinkFS asks for.
func (e *kindError) Is(target error) bool {
	return target == fs.ErrInvalid && e.want == fs.ModeSymlink
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}
