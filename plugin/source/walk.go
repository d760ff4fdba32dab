package source

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// Walk calls fn for dir and everything below it, and follows symlinks, in the
// order and with the rules of Helm's own walk (internal/sympath/walk.go in Helm
// 3 and 4), so that a chart has the same files here and there:
//
//   - entries come in byte order of their names, a folder before its content;
//   - a link is reported under its own path and with what it leads to;
//   - a link that leads nowhere ends the walk with an error, without asking fn;
//   - fs.SkipDir for a folder skips its content, for a link just the link, and
//     for a file the rest of its folder.
//
// It differs in two things. A link back to a folder that is being walked is an
// error at once, after fn had its chance to skip it, while Helm goes round until
// the kernel stops it. And a DirEntry has the name of the link where Helm's
// FileInfo has that of the target.
//
// fsys is any file system; one that is no fs.ReadLinkFS is taken to have no
// links. Pass the whole repository and name the folder in dir: in the result of
// fs.Sub a link to a folder beside it leads out. Links can spread a few folders
// over endlessly many paths; a View bounds that by its limits, also from under a
// wrapper, and other file systems do not.
func Walk(fsys fs.FS, dir string, fn fs.WalkDirFunc) error {
	w := &walker{fsys: fsys, fn: fn, resolve: linkResolver(fsys), walking: map[string]bool{}}
	err := w.start(dir)
	if errors.Is(err, fs.SkipDir) || errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

type walker struct {
	fsys    fs.FS
	fn      fs.WalkDirFunc
	resolve func(name string) (string, error) // nil without links
	walking map[string]bool                   // physical paths of the folders above
}

func (w *walker) start(dir string) error {
	info, err := fs.Lstat(w.fsys, dir)
	if err != nil {
		return w.fn(dir, nil, err)
	}
	// Folders above dir can be links too.
	physical := dir
	if w.resolve != nil && info.Mode()&fs.ModeSymlink == 0 {
		if physical, err = w.resolve(dir); err != nil {
			return w.fn(dir, nil, err)
		}
	}
	return w.walk(dir, physical, fs.FileInfoToDirEntry(info))
}

// walk visits name, at the given physical path unless it is a link.
func (w *walker) walk(name, physical string, d fs.DirEntry) error {
	if isLink(d) && w.resolve != nil {
		return w.follow(name)
	}
	if err := w.fn(name, d, nil); err != nil {
		return err
	}
	if !d.IsDir() {
		return nil
	}
	if w.walking[physical] {
		return pathError("walk", name, fmt.Errorf("it leads back to %q, which contains it", physical))
	}
	entries, err := fs.ReadDir(w.fsys, name)
	if err != nil {
		return w.fn(name, d, err)
	}
	w.walking[physical] = true
	defer delete(w.walking, physical)
	for _, e := range entries {
		err := w.walk(path.Join(name, e.Name()), path.Join(physical, e.Name()), e)
		if err != nil && (!errors.Is(err, fs.SkipDir) || !(e.IsDir() || isLink(e))) {
			return err
		}
	}
	return nil
}

// follow visits a link as what it leads to.
func (w *walker) follow(name string) error {
	physical, err := w.resolve(name)
	if err != nil {
		return err
	}
	info, err := fs.Stat(w.fsys, name)
	if err != nil {
		return err
	}
	err = w.walk(name, physical, fs.FileInfoToDirEntry(info))
	if errors.Is(err, fs.SkipDir) {
		return nil
	}
	return err
}

func isLink(d fs.DirEntry) bool { return d.Type()&fs.ModeSymlink != 0 }

// linkResolver returns how names of fsys become physical paths, or nil if it has
// no links.
func linkResolver(fsys fs.FS) func(string) (string, error) {
	if own, ok := fsys.(interface{ Resolve(string) (string, error) }); ok {
		return own.Resolve
	}
	links, ok := fsys.(fs.ReadLinkFS)
	if !ok {
		return nil
	}
	res := newResolver(func(p string) (*node, error) {
		info, err := links.Lstat(p)
		if err != nil {
			return nil, bare(err)
		}
		n := &node{mode: info.Mode().Type()}
		if n.mode&fs.ModeSymlink != 0 {
			n.link, err = links.ReadLink(p)
		}
		return n, err
	})
	return func(name string) (string, error) {
		p, _, err := res.resolve(name, true)
		if err != nil {
			return "", pathError("walk", name, err)
		}
		return p, nil
	}
}
