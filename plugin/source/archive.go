package source

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// Archive is how the tgz of a repository is taken in for one application, the
// way that Argo CD's repo-server sends it to a plugin.
//
// Of a monorepo an application needs its own folder, and perhaps a base or a
// file of values elsewhere. So what lies in the folder is unpacked, and what lies
// outside as well, up to farBytes: an ordinary repository is unpacked whole. The
// contents beyond that are left in the compressed archive, which then stays in
// memory; names, sizes and links are there for all files. A View that reads such
// a file does not notice, except in time: it is looked for in the archive, and
// taken from it together with what lies near it. What a View answers depends on
// the archive alone.
//
// The memory is that of the application's files, of the compressed archive and
// of a few times farBytes, but never more than the whole tree and the archive.
type Archive struct {
	Limits Limits
	// App is the application's folder in the archive; empty or "." for the root,
	// which has everything unpacked.
	App string
	// Prefix is the folder of the repository that the archive holds; empty or "."
	// for the whole. If repo-server is told to heed the annotation
	// argocd.argoproj.io/manifest-generate-paths it sends no more than the
	// deepest folder that holds all of the annotation's paths. See [Tree.Below].
	Prefix string

	far int64 // farBytes, or less in tests
}

// farBytes is how much content outside of the application's folder is unpacked
// at a time: a constant that is more than most repositories hold, and that
// dozens of requests at once can afford.
const farBytes = 16 << 20

// Read reads a tar archive in gzip to its end, and verifies its checksum. Nothing
// is written to disk. It takes what a repository holds, regular files, folders
// and symlinks, and hard links to earlier entries; PAX global headers are
// skipped, and of two entries with one name the last wins.
//
// Refused are: absolute names and names with a ".." element, also when a
// backslash would make them so; symlinks that lead out of the root, read or not
// (*EscapeError); devices and other special files; entries below a file or a
// link; anything above the limits (*LimitError); and an archive that is damaged,
// has no end marker, or has more than padding after it. A missing end marker is
// an error because an archive cut between two entries would be a smaller
// repository, and a render of it would prune what is missing.
//
// A symlink to a path that does not exist, and a loop of symlinks, are errors
// only for the View that reads them.
func (a Archive) Read(r io.Reader) (*Tree, error) {
	app, prefix := path.Clean(a.App), path.Clean(a.Prefix)
	if !fs.ValidPath(app) {
		return nil, fmt.Errorf("application path %q leaves the archive", a.App)
	}
	if !fs.ValidPath(prefix) {
		return nil, fmt.Errorf("archive path %q leaves the repository", a.Prefix)
	}
	in := newIntake(a.Limits)
	in.far = cmp.Or(a.far, farBytes)
	// Bounded before decompression too: empty gzip members can follow each other
	// for ever and decompress to nothing.
	r = in.bound(r)
	var stream *spool
	if app != "." {
		stream = &spool{}
		r = io.TeeReader(r, stream)
		in.pack = farPacker(app, in.far)
		defer in.digest(func(name string) bool { return strings.HasPrefix(name, app+"/") })()
	}
	gz, err := gzip.NewReader(bufio.NewReaderSize(r, 64<<10))
	if err != nil {
		return nil, in.damage(err)
	}
	if err := in.read(gz); err != nil {
		return nil, err
	}
	return in.tree(stream, prefix)
}

// farPacker leaves files outside of the folder app packed that would make it more
// than the given bytes of such files that are not.
func farPacker(app string, left int64) func(name string, size int64) bool {
	return func(name string, size int64) bool {
		if strings.HasPrefix(name, app+"/") {
			return false
		}
		if size > left {
			return true
		}
		left -= size
		return false
	}
}

// unpacked is a tree that was read from an archive.
type unpacked struct {
	memory
	rest *rest // nil if nothing was left packed
}

func (u *unpacked) load(p string, n *node, most int64) ([]byte, int64, error) {
	if n.pack == 0 || n.size > most {
		return u.memory.load(p, n, most)
	}
	data, err := u.rest.load(p, n.pack)
	return data, n.size, err
}
