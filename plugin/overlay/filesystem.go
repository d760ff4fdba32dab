package overlay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"hallmark.dev/hallmark/internal/yamldoc"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// mount is where the repository root appears to Kustomize, which thinks in
// absolute paths. It is a folder below "/", not "/" itself: filepath.Clean
// would otherwise turn a path that leaves the root ("/../x") silently into one
// that does not. No message shows it; see unmounted.
const mount = "/hallmark-repository-root"

// maxLinks bounds how many symbolic links one path may pass, as the kernel
// does; it breaks loops.
const maxLinks = 40

var errReadOnly = errors.New("the repository tree is read-only")

// tree is the repository as a filesys.FileSystem. Kustomize's loader calls
// CleanedAbs to find and confine a path and ReadFile to read it; both end in
// fsys, so that the files which a render consumed are on record there.
type tree struct {
	ctx  context.Context
	fsys fs.FS
	// replaced holds files whose content differs for Kustomize (not for its
	// plugins): the kustomization that the options edit, and what configures ksops.
	replaced map[string][]byte
	// onRead sees each file that Kustomize itself reads (not its plugins, see
	// guard); it may refuse it, or give other content.
	onRead func(name string, content []byte) ([]byte, error)
	// onFault sees the errors of fsys other than fs.ErrNotExist (a limit, a link
	// that leaves the root), which Kustomize would word as a missing file.
	onFault func(err error)
	// inPlugin is set while a plugin reads through its loader: it reads data,
	// even where the file is named kustomization.yaml.
	inPlugin bool
	// resolved caches the folders whose symbolic links are resolved.
	resolved map[string]string
}

func newTree(ctx context.Context, fsys fs.FS) *tree {
	return &tree{ctx: ctx, fsys: fsys, replaced: map[string][]byte{}, resolved: map[string]string{".": "."}}
}

// inside translates an absolute path of Kustomize into a name in fsys.
func inside(abs string) (string, bool) {
	abs = filepath.ToSlash(filepath.Clean(abs))
	if abs == mount {
		return ".", true
	}
	return strings.CutPrefix(abs, mount+"/")
}

// outside is the inverse of inside.
func outside(name string) string { return path.Join(mount, name) }

// unmounted rewrites a message of Kustomize so that paths are relative to the
// repository root.
func unmounted(message string) string {
	message = strings.ReplaceAll(message, mount+"/", "")
	return strings.ReplaceAll(message, mount, ".")
}

// resolve follows the symbolic links in name, the last element included. A
// link that leads out of the root is an error. A file system that resolves
// links itself (plugin/source) is asked; for others it is done here.
func (t *tree) resolve(name string) (string, error) {
	if tree, ok := t.fsys.(interface {
		Resolve(name string) (string, error)
	}); ok {
		return tree.Resolve(name)
	}
	links, ok := t.fsys.(interface {
		ReadLink(name string) (string, error)
	})
	if !ok {
		return name, nil
	}
	return t.resolveWith(links.ReadLink, name, maxLinks)
}

func (t *tree) resolveWith(readLink func(string) (string, error), name string, budget int) (string, error) {
	if done, ok := t.resolved[name]; ok {
		return done, nil
	}
	parent, err := t.resolveWith(readLink, path.Dir(name), budget)
	if err != nil {
		return "", err
	}
	full := path.Join(parent, path.Base(name))
	target, err := readLink(full)
	if err != nil {
		// Not a link, or absent, which the caller's Stat reports.
		t.resolved[name] = full
		return full, nil
	}
	if budget == 0 {
		return "", fmt.Errorf("%q: too many symbolic links", name)
	}
	if path.IsAbs(target) {
		return "", fmt.Errorf("%q is a symbolic link to the absolute path %q", full, target)
	}
	next := path.Join(parent, target)
	if !fs.ValidPath(next) {
		return "", fmt.Errorf("%q is a symbolic link that leaves the repository (to %q)", full, target)
	}
	done, err := t.resolveWith(readLink, next, budget-1)
	if err != nil {
		return "", err
	}
	t.resolved[name] = done
	return done, nil
}

// stat resolves name and says whether it is a folder.
func (t *tree) stat(name string) (resolved string, dir bool, err error) {
	if !fs.ValidPath(name) {
		return "", false, &fs.PathError{Op: "stat", Path: name, Err: errors.New("path leaves the repository")}
	}
	if resolved, err = t.resolve(name); err != nil {
		return "", false, err
	}
	info, err := fs.Stat(t.fsys, resolved)
	if err != nil {
		return "", false, err
	}
	return resolved, info.IsDir(), nil
}

// CleanedAbs implements filesys.FileSystem.
func (t *tree) CleanedAbs(abs string) (filesys.ConfirmedDir, string, error) {
	name, ok := inside(abs)
	if !ok {
		return "", "", fmt.Errorf("%q: %w", abs, errors.New("path leaves the repository"))
	}
	resolved, dir, err := t.stat(name)
	if err != nil {
		return "", "", t.report(err)
	}
	if dir {
		return filesys.ConfirmedDir(outside(resolved)), "", nil
	}
	return filesys.ConfirmedDir(outside(path.Dir(resolved))), path.Base(resolved), nil
}

// ReadFile implements filesys.FileSystem.
func (t *tree) ReadFile(abs string) ([]byte, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	name, ok := inside(abs)
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: abs, Err: fs.ErrNotExist}
	}
	content, replaced := t.replaced[name]
	if !replaced || t.inPlugin {
		var err error
		if content, err = fs.ReadFile(t.fsys, name); err != nil {
			return nil, t.report(err)
		}
	}
	// Kustomize's parser has no bound on what aliases expand to, or for ever.
	if err := yamldoc.CheckAliases(name, content); err != nil {
		return nil, t.report(err)
	}
	if yamldoc.SuspectMappings(content) {
		if err := yamldoc.CheckMappings(name, content); err != nil {
			return nil, t.report(err)
		}
	}
	if t.onRead != nil && !t.inPlugin {
		return t.onRead(name, content)
	}
	return content, nil
}

func (t *tree) report(err error) error {
	if t.onFault != nil && !errors.Is(err, fs.ErrNotExist) {
		t.onFault(err)
	}
	return err
}

// IsDir implements filesys.FileSystem.
func (t *tree) IsDir(abs string) bool {
	name, ok := inside(abs)
	if !ok {
		return false
	}
	_, dir, err := t.stat(name)
	return err == nil && dir
}

// Exists implements filesys.FileSystem.
func (t *tree) Exists(abs string) bool {
	name, ok := inside(abs)
	if !ok {
		return false
	}
	_, _, err := t.stat(name)
	return err == nil
}

// ReadDir implements filesys.FileSystem.
func (t *tree) ReadDir(abs string) ([]string, error) {
	name, ok := inside(abs)
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: abs, Err: fs.ErrNotExist}
	}
	entries, err := fs.ReadDir(t.fsys, name)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names, nil
}

// Glob implements filesys.FileSystem; like Kustomize's own it leaves hidden
// files out unless the pattern names them.
func (t *tree) Glob(pattern string) ([]string, error) {
	name, ok := inside(pattern)
	if !ok {
		return nil, nil
	}
	found, err := fs.Glob(t.fsys, name)
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i] = outside(found[i])
	}
	if filesys.IsHiddenFilePath(pattern) {
		return found, nil
	}
	return filesys.RemoveHiddenFiles(found), nil
}

// Walk implements filesys.FileSystem.
func (t *tree) Walk(abs string, visit filepath.WalkFunc) error {
	name, ok := inside(abs)
	if !ok {
		return visit(abs, nil, &fs.PathError{Op: "walk", Path: abs, Err: fs.ErrNotExist})
	}
	return fs.WalkDir(t.fsys, name, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return visit(outside(name), nil, err)
		}
		info, err := entry.Info()
		return visit(outside(name), info, err)
	})
}

// Open implements filesys.FileSystem. Kustomize never opens a file of the tree
// for streaming, so it is refused like the methods that write.
func (t *tree) Open(string) (filesys.File, error) { return nil, errReadOnly }

// Create implements filesys.FileSystem.
func (t *tree) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir implements filesys.FileSystem.
func (t *tree) Mkdir(string) error { return errReadOnly }

// MkdirAll implements filesys.FileSystem.
func (t *tree) MkdirAll(string) error { return errReadOnly }

// RemoveAll implements filesys.FileSystem.
func (t *tree) RemoveAll(string) error { return errReadOnly }

// WriteFile implements filesys.FileSystem.
func (t *tree) WriteFile(string, []byte) error { return errReadOnly }
