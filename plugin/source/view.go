package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"
)

// View is one render's access to a Tree: the files as io/fs interfaces, and a
// record of what was read. It is safe for concurrent use by the goroutines of
// one render, and not to be shared between renders.
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
	visited map[string]struct{}      // names counted against limits.files
	listed  map[string][]fs.DirEntry // listings, by name
	read    map[string]*content      // by name
	bytes   int64                    // sum over read
}

type content struct {
	data   []byte
	digest string // empty until asked for
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
		visited: map[string]struct{}{},
		listed:  map[string][]fs.DirEntry{},
		read:    map[string]*content{},
	}
}

// Open opens a file, which counts as reading it, or a folder. Links are
// followed. A file is also an io.Seeker and an io.ReaderAt.
func (v *View) Open(name string) (fs.File, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p, n, err := v.locate("open", name, true)
	if err != nil {
		return nil, err
	}
	fi := newInfo(name, n)
	if n.mode.IsDir() {
		return &openDir{view: v, name: name, info: fi}, nil
	}
	data, err := v.content(name, p, n)
	if err != nil {
		return nil, err
	}
	fi.size = int64(len(data))
	return &openFile{Reader: bytes.NewReader(data), info: fi}, nil
}

// ReadFile returns the content of a file, following links. The slice is shared
// with every other reader of the file, in other views too, and must not be
// modified: this is stricter than fs.ReadFileFS, and spares a copy of each file
// for each render. A caller that edits in place has to clone first.
func (v *View) ReadFile(name string) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p, n, err := v.locate("open", name, true)
	if err != nil {
		return nil, err
	}
	return v.content(name, p, n)
}

// Stat describes what name leads to, following links.
func (v *View) Stat(name string) (fs.FileInfo, error) { return v.info("stat", name, true) }

// Lstat describes name; if it is a link, the link itself.
func (v *View) Lstat(name string) (fs.FileInfo, error) { return v.info("lstat", name, false) }

func (v *View) info(op, name string, follow bool) (fs.FileInfo, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, n, err := v.locate(op, name, follow)
	if err != nil {
		return nil, err
	}
	return newInfo(name, n), nil
}

// ReadDir lists a folder, sorted by name, also through a link.
func (v *View) ReadDir(name string) ([]fs.DirEntry, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p, n, err := v.locate("readdir", name, true)
	if err != nil {
		return nil, err
	}
	if !n.mode.IsDir() {
		return nil, pathError("readdir", name, errors.New("not a folder but a "+kind(n.mode)))
	}
	entries, ok := v.listed[name]
	if !ok {
		if entries, err = v.list(name, p, n); err != nil {
			return nil, pathError("readdir", name, err)
		}
		v.listed[name] = entries
	}
	// Callers of fs.ReadDir may sort and filter in place.
	return slices.Clone(entries), nil
}

func (v *View) list(name, p string, n *node) ([]fs.DirEntry, error) {
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

// ReadLink returns the target of a link, always relative to the folder that the
// link stands in: io/fs knows no absolute paths, so an absolute target inside
// the root is given as a relative one. One outside is given as it is.
func (v *View) ReadLink(name string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, n, err := v.locate("readlink", name, false)
	if err != nil {
		return "", err
	}
	if n.mode&fs.ModeSymlink == 0 {
		return "", pathError("readlink", name, fs.ErrInvalid)
	}
	return n.link, nil
}

// Resolve returns the path that name leads to once every link in it is
// followed. The path must exist.
func (v *View) Resolve(name string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p, _, err := v.locate("resolve", name, true)
	return p, err
}

// Files returns what was read so far, sorted by path.
func (v *View) Files() []File {
	v.mu.Lock()
	defer v.mu.Unlock()
	files := make([]File, 0, len(v.read))
	for _, name := range slices.Sorted(maps.Keys(v.read)) {
		c := v.read[name]
		if c.digest == "" {
			sum := sha256.Sum256(c.data)
			c.digest = "sha256:" + hex.EncodeToString(sum[:])
		}
		files = append(files, File{Path: name, Size: int64(len(c.data)), Digest: c.digest})
	}
	return files
}

// locate finds the physical path and the node of name, and counts the visit.
func (v *View) locate(op, name string, follow bool) (string, *node, error) {
	if !fs.ValidPath(name) {
		return "", nil, pathError(op, name, fs.ErrInvalid)
	}
	if len(name) > maxPath {
		return "", nil, pathError(op, name[:80]+"...", errors.New("name is longer than 4096 bytes"))
	}
	p, n, err := v.links.resolve(name, follow)
	if err == nil {
		err = v.visit(name)
	}
	if err != nil {
		return "", nil, pathError(op, name, err)
	}
	return p, n, nil
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

// content returns the content of the file n at p and records it under name.
func (v *View) content(name, p string, n *node) ([]byte, error) {
	if !n.mode.IsRegular() {
		return nil, pathError("open", name, errors.New("not a file but a "+kind(n.mode)))
	}
	if c, ok := v.read[name]; ok {
		return c.data, nil
	}
	left := v.lim.TreeBytes - v.bytes
	data, size, err := v.store.load(p, n, min(v.lim.FileBytes, left))
	switch {
	case err != nil:
	case size > v.lim.FileBytes:
		err = &LimitError{Limit: limitFileBytes, Value: size, Max: v.lim.FileBytes, Path: name}
	case size > left:
		err = &LimitError{Limit: limitTreeBytes, Value: v.bytes + size, Max: v.lim.TreeBytes, Path: name}
	}
	if err != nil {
		return nil, pathError("open", name, err)
	}
	v.bytes += size
	v.read[name] = &content{data: data}
	return data, nil
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}
