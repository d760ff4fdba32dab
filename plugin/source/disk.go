package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// disk is a folder on disk as one View sees it: whatever was asked once is
// answered the same way again, absence and errors included.
type disk struct {
	root     *os.Root
	abs      []string // absolute forms of root, each with a slash at its end
	maxNames int      // most entries of one folder

	nodes    map[string]*node
	missing  map[string]error
	listed   map[string]bool
	contents map[string][]byte
}

func newDisk(root *os.Root, abs []string, maxNames int) *disk {
	return &disk{
		root: root, abs: abs, maxNames: maxNames,
		nodes:    map[string]*node{},
		missing:  map[string]error{},
		listed:   map[string]bool{},
		contents: map[string][]byte{},
	}
}

func (d *disk) stat(p string) (*node, error) {
	if n, ok := d.nodes[p]; ok {
		return n, nil
	}
	if err, ok := d.missing[p]; ok {
		return nil, err
	}
	n, err := d.lstat(p)
	if err != nil {
		d.missing[p] = err
		return nil, err
	}
	d.nodes[p] = n
	return n, nil
}

func (d *disk) lstat(p string) (*node, error) {
	if isGit(p) {
		return nil, fs.ErrNotExist
	}
	info, err := d.root.Lstat(filepath.FromSlash(p))
	if err != nil {
		return nil, d.refusal(path.Dir(p), err)
	}
	n := &node{mode: info.Mode().Type()}
	switch {
	case n.mode.IsRegular():
		n.size = info.Size()
	case n.mode&fs.ModeSymlink != 0:
		target, err := d.root.Readlink(filepath.FromSlash(p))
		if err != nil {
			return nil, bare(err)
		}
		n.link = d.relative(p, target)
	}
	return n, nil
}

// relative returns the target of the link at p with slashes, and relative to
// p's folder if it is absolute and begins with the root's own path. What follows
// that prefix is not looked at: the resolver finds it out if it leaves again.
func (d *disk) relative(p, target string) string {
	slashed := filepath.ToSlash(target)
	if !filepath.IsAbs(target) {
		return slashed
	}
	for _, root := range d.abs {
		if rest, ok := strings.CutPrefix(slashed+"/", root); ok {
			return strings.Repeat("../", strings.Count(p, "/")) + "./" + strings.TrimSuffix(rest, "/")
		}
	}
	// On Windows "C:/x" would look relative to the resolver.
	return "/" + strings.TrimPrefix(slashed, "/")
}

func (d *disk) list(p string, n *node) ([]child, error) {
	if d.listed[p] {
		return n.kids, nil
	}
	f, err := d.open(p)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	var kids []child
	for {
		// In batches, so that a folder of millions ends at the limit.
		entries, err := f.ReadDir(1024)
		for _, e := range entries {
			if e.Name() != ".git" {
				kids = append(kids, child{name: e.Name(), mode: e.Type()})
			}
		}
		if len(kids) > d.maxNames {
			return nil, &LimitError{Limit: limitFiles, Value: int64(len(kids)), Max: int64(d.maxNames), Path: p}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, bare(err)
		}
	}
	slices.SortFunc(kids, compareChildren)
	n.kids, d.listed[p] = kids, true
	return kids, nil
}

func (d *disk) load(p string, _ *node, most int64) ([]byte, int64, error) {
	if data, ok := d.contents[p]; ok {
		if size := int64(len(data)); size > most {
			return nil, size, nil
		}
		return data, int64(len(data)), nil
	}
	f, err := d.open(p)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	info, err := f.Stat()
	if err != nil {
		return nil, 0, bare(err)
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("it became a %s while it was read", kind(info.Mode().Type()))
	}
	if info.Size() > most {
		return nil, info.Size(), nil
	}
	// One more byte than the file claims shows whether it grows meanwhile, or is
	// one of those in /proc that claim none.
	buf := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := buf.ReadFrom(io.LimitReader(f, most+1)); err != nil {
		return nil, 0, bare(err)
	}
	data := slices.Clip(buf.Bytes())
	size := int64(len(data))
	if size > most {
		return nil, size, nil
	}
	d.contents[p] = data
	return data, size, nil
}

// open opens the file or folder at p, at which stat has seen no link. Should one
// stand there by now, os.Root follows it only inside.
func (d *disk) open(p string) (*os.File, error) {
	flag := os.O_RDONLY
	if runtime.GOOS != "windows" {
		// A named pipe put in a file's place must not block the render.
		flag |= syscall.O_NONBLOCK
	}
	f, err := d.root.OpenFile(filepath.FromSlash(p), flag, 0)
	if err != nil {
		return nil, d.refusal(p, err)
	}
	return f, nil
}

// refusal returns what an error of os.Root means for the path p, which had no
// links when it was looked up. There is no exported error for leaving the root;
// a link that now stands in p and that os.Root does not follow is one.
func (d *disk) refusal(p string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return bare(err)
	}
	for ; p != "."; p = path.Dir(p) {
		if target, err := d.root.Readlink(filepath.FromSlash(p)); err == nil {
			return &EscapeError{Path: p, Target: d.relative(p, target)}
		}
	}
	return bare(err)
}

// bare takes the operation and path off an error of package os: the View puts
// the name on that the renderer asked for. An absent file is worded as in a tree
// in memory.
func bare(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fs.ErrNotExist
	}
	if outer := (*fs.PathError)(nil); errors.As(err, &outer) {
		return outer.Err
	}
	return err
}
