package source

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"sync"
	"time"
)

// info is the fs.FileInfo of every tree. Times and permissions are the same
// everywhere, see the package comment.
type info struct {
	name string
	size int64
	mode fs.FileMode
}

func newInfo(name string, n *node) *info {
	mode := n.mode | 0o444
	switch {
	case n.mode.IsDir():
		mode |= 0o111
	case n.mode&fs.ModeSymlink != 0:
		mode |= 0o777
	}
	return &info{name: path.Base(name), size: n.size, mode: mode}
}

func (i *info) Name() string       { return i.name }
func (i *info) Size() int64        { return i.size }
func (i *info) Mode() fs.FileMode  { return i.mode }
func (i *info) ModTime() time.Time { return time.Time{} }
func (i *info) IsDir() bool        { return i.mode.IsDir() }
func (i *info) Sys() any           { return nil }
func (i *info) String() string     { return fs.FormatFileInfo(i) }

// dirEntry is an entry of a listing. It asks the View for the rest: the entries
// of package os would look at the disk, past root and cache.
type dirEntry struct {
	view *View
	name string // from the root
	mode fs.FileMode
}

func (e *dirEntry) Name() string               { return path.Base(e.name) }
func (e *dirEntry) IsDir() bool                { return e.mode.IsDir() }
func (e *dirEntry) Type() fs.FileMode          { return e.mode }
func (e *dirEntry) Info() (fs.FileInfo, error) { return e.view.Lstat(e.name) }
func (e *dirEntry) String() string             { return fs.FormatDirEntry(e) }

// openFile is an open regular file. Its content is in memory, so that Close has
// nothing to release.
type openFile struct {
	*bytes.Reader
	info *info
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

// openDir is an open folder.
type openDir struct {
	view *View
	name string
	info *info

	mu      sync.Mutex
	entries []fs.DirEntry // not yet returned
	listed  bool
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, pathError("read", d.name, errIsFolder)
}

// ReadDir returns the next entries; fs.ReadDirFile explains count.
func (d *openDir) ReadDir(count int) ([]fs.DirEntry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.listed {
		entries, err := d.view.ReadDir(d.name)
		if err != nil {
			return nil, err
		}
		d.entries, d.listed = entries, true
	}
	if count > 0 && len(d.entries) == 0 {
		return nil, io.EOF
	}
	if count <= 0 || count > len(d.entries) {
		count = len(d.entries)
	}
	next := d.entries[:count:count]
	d.entries = d.entries[count:]
	return next, nil
}
