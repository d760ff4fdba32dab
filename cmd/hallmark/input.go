package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"hallmark.dev/hallmark/plugin/stamp"
)

// The most that is read of one file or of standard input, in bytes. The folder
// that is rendered has the limits of --limit instead.
const (
	maxManifests  = 512 << 20
	maxEvidence   = 64 << 20
	maxParameters = 8 << 20
	maxGitFile    = 1 << 20
	maxKey        = 64 << 10
)

// readFile reads a whole file of at most limit bytes. what is its content, for
// the message.
func readFile(file, what string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return readAll(f, file, what, limit)
}

// readAll is readFile for a stream that is open already.
func readAll(r io.Reader, name, what string, limit int64) ([]byte, error) {
	tooLarge := fmt.Errorf("%s: larger than %s, the most that hallmark reads of %s", name, sizeText(limit), what)
	var buf bytes.Buffer
	if f, ok := r.(*os.File); ok {
		// A file tells its size, so that a large one is refused unread and a
		// smaller one is read into one piece of memory.
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			if info.Size() > limit {
				return nil, tooLarge
			}
			buf.Grow(int(info.Size()) + bytes.MinRead)
		}
	}
	n, err := buf.ReadFrom(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, tooLarge
	}
	return buf.Bytes(), nil
}

func sizeText(bytes int64) string {
	if bytes >= 1<<20 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}

const hashKeyUsage = "`file` with the key, of 16 bytes or more, under which values of Secrets enter the hashes (one newline at its end does not count)"

// readKey reads the key for values of Secrets; no file means no key. One newline
// at the end does not count, so that echo and printf make the same key.
func readKey(file string) (stamp.Key, error) {
	if file == "" {
		return nil, nil
	}
	data, err := readFile(file, "a key", maxKey)
	if err != nil {
		return nil, err
	}
	// An empty file must not mean that there is no key.
	return append(stamp.Key{}, bytes.TrimSuffix(data, []byte("\n"))...), nil
}

// folder returns dir as an absolute path free of links, so that the root and the
// folder in it compare.
func folder(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(abs)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(resolved); err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%q does not exist", dir)
	case errors.Is(err, syscall.ENOTDIR):
		return "", fmt.Errorf("%q is not a folder", dir)
	case err != nil:
		return "", fmt.Errorf("%q: %w", dir, reason(err))
	}
	return resolved, nil
}

// within returns dir as a path relative to root, with slashes.
func within(root, dir string) (string, error) {
	rel, err := filepath.Rel(root, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%q is not inside the root %q", dir, root)
	}
	return filepath.ToSlash(rel), nil
}

// reason is why an operation on a file failed, without the name of the file: an
// absolute or a random one tells a user nothing.
func reason(err error) error {
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}
