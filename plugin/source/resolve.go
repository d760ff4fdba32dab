package source

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"
)

// A physical path is one that leads to its node without passing through a
// symlink. Everything below the View works on physical paths; everything above
// it on the names that a renderer asked for.

// node is what stands at one physical path.
type node struct {
	mode fs.FileMode // only the type bits
	size int64       // of a regular file, in bytes
	link string      // target of a symlink, relative to its folder where it stays inside
	data []byte      // content of a regular file in memory
	pack int         // of one left in the archive: the number of its entry

	// digest of the content of a regular file, once a View needed it.
	digest atomic.Pointer[string]

	kids []child // content of a folder in memory
}

// child is one entry of a folder.
type child struct {
	name string
	mode fs.FileMode // only the type bits
}

const (
	// maxPath is PATH_MAX of Linux. Longer names could not have been checked
	// out, and links can make them without end.
	maxPath = 4096
	// maxHops is how many links Linux follows for one name (MAXSYMLINKS).
	maxHops = 40
	// maxDepth bounds how deep links may lead to links while resolving; see
	// resolver.follow for why it is twice maxHops.
	maxDepth = 2 * maxHops
)

var (
	errManyLinks = errors.New("more than 40 symlinks to follow")
	errDeep      = fmt.Errorf("%w, and no end in sight", errManyLinks)
	errAboveRoot = errors.New("path climbs above the root")
	errIsFolder  = errors.New("is a folder")
)

// resolver turns names into physical paths. It follows each link at most a few
// times however many names lead through it: a hostile archive can hold 50,000
// links with targets of 2,000 elements that lead to each other, and resolving
// each from the start would take minutes.
//
// It is not safe for concurrent use.
type resolver struct {
	// stat returns the node at a physical path, or fs.ErrNotExist.
	stat  func(p string) (*node, error)
	links map[string]followed // by the link's physical path
	depth int                 // of follow calls under way
}

// followed is where a link ends.
type followed struct {
	path string
	node *node
	hops int // links followed, itself included
	err  error
	busy bool // being resolved further up the stack
}

func newResolver(stat func(string) (*node, error)) *resolver {
	return &resolver{stat: stat, links: map[string]followed{}}
}

// resolve returns the physical path of name, and its node. If name itself is a
// symlink it is followed only with followLast.
func (r *resolver) resolve(name string, followLast bool) (string, *node, error) {
	f := r.walk(".", name, followLast)
	return f.path, f.node, f.err
}

// walk goes from the physical folder cur along rest.
func (r *resolver) walk(cur, rest string, followLast bool) followed {
	fail := func(err error) followed { return followed{err: err} }
	n, err := r.stat(cur)
	if err != nil {
		return fail(err)
	}
	hops := 0
	for rest != "" {
		var elem string
		elem, rest, _ = strings.Cut(rest, "/")
		if elem == "" || elem == "." {
			continue
		}
		// io/fs has no ENOTDIR; its implementations answer a path below a file
		// as one that does not exist.
		if !n.mode.IsDir() {
			return fail(fs.ErrNotExist)
		}
		if elem == ".." {
			if cur == "." {
				return fail(errAboveRoot)
			}
			// cur has no links in it, so its parent is the lexical one.
			cur = path.Dir(cur)
		} else {
			cur = join(cur, elem)
		}
		if n, err = r.stat(cur); err != nil {
			return fail(err)
		}
		if n.mode&fs.ModeSymlink != 0 && (rest != "" || followLast) {
			f := r.follow(cur, n)
			if f.err != nil {
				return f
			}
			cur, n = f.path, f.node
			if hops += f.hops; hops > maxHops {
				return fail(errManyLinks)
			}
		}
	}
	return followed{path: cur, node: n, hops: hops}
}

// follow returns where the link at the physical path p ends.
//
// Links lead to links, so this recurses, and remembers each result. A chain too
// deep for the recursion is also one with too many hops, but only for its upper
// links: whether the lower ones still resolve depends on how much of the chain
// is left below maxDepth. So when the bottom is hit at depth maxDepth, the links
// at the upper half, which have more than maxHops below them, are remembered as
// too long, and the lower half is left open. The answer never depends on which
// link was asked for first.
func (r *resolver) follow(p string, n *node) followed {
	if f, ok := r.links[p]; ok {
		if f.busy {
			return followed{err: fmt.Errorf("symlink %q leads back to itself", p)}
		}
		return f
	}
	if r.depth > maxDepth {
		return followed{err: errDeep}
	}
	r.links[p] = followed{busy: true}
	r.depth++
	var f followed
	switch {
	case path.IsAbs(n.link):
		f = followed{err: &EscapeError{Path: p, Target: n.link}}
	case n.link == "":
		f = followed{err: fs.ErrNotExist}
	default:
		f = r.walk(path.Dir(p), n.link, true)
	}
	r.depth--

	f.hops++
	switch {
	case errors.Is(f.err, errDeep):
		if maxDepth-r.depth < maxHops {
			delete(r.links, p)
			return f
		}
		// From here up the chain is too long for sure.
		f = followed{err: errManyLinks}
	case errors.Is(f.err, errAboveRoot):
		f.err = &EscapeError{Path: p, Target: n.link}
	case errors.Is(f.err, fs.ErrNotExist):
		// The link that dangles is the one to name, not those that lead to it.
		if dangling := (*danglingError)(nil); !errors.As(f.err, &dangling) {
			f.err = &danglingError{path: p, target: n.link}
		}
	case f.err == nil && f.hops > maxHops:
		f = followed{err: errManyLinks}
	}
	r.links[p] = f
	return f
}

// danglingError is fs.ErrNotExist for a symlink whose target is missing.
type danglingError struct{ path, target string }

func (e *danglingError) Error() string {
	return fmt.Sprintf("symlink %q points to %q, which does not exist", e.path, e.target)
}

func (e *danglingError) Unwrap() error { return fs.ErrNotExist }

// join is path.Join for a clean folder and one plain element.
func join(dir, elem string) string {
	if dir == "." {
		return elem
	}
	return dir + "/" + elem
}
