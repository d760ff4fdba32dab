package chart

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
)

// Helm unpacks each dependency in charts/*.tgz into memory, and each archive in
// it, and bounds them one by one (100 MiB): a small repository with a dozen of
// them takes gigabytes. checkArchives bounds them together, before Helm sees any
// of them, by reading through them and keeping nothing.
const (
	// maxUnpacked is how many bytes the archives of one chart may unpack to,
	// all together.
	maxUnpacked = 128 << 20
	// maxArchiveDepth is how deep archives may stand in each other. Helm knows
	// no bound; dependencies of dependencies are two.
	maxArchiveDepth = 8
)

func checkArchives(dir string, files []file, limit int64) error {
	budget := &unpackBudget{left: limit, leftRaw: limit}
	for _, f := range files {
		if !isArchive(f.name) {
			continue
		}
		name := path.Join(dir, f.name)
		err := budget.walk(bytes.NewReader(f.data), name, 1)
		switch {
		case errors.Is(err, errUnpacked):
			return diag.WithHint(
				&diag.Error{File: name, Msg: fmt.Sprintf("with this archive, those in charts/ unpack to more than %d bytes", limit)},
				"commit the dependencies as folders, or leave large files that are no templates out of their packages")
		case errors.Is(err, errNested):
			return &diag.Error{File: name, Msg: fmt.Sprintf("more than %d archives stand in each other", maxArchiveDepth)}
		}
		// Any other fault ends Helm's reading at the same place, with its words.
	}
	return nil
}

// isArchive tells whether Helm may unpack the file.
func isArchive(name string) bool {
	return strings.HasSuffix(name, ".tgz") && strings.Contains("/"+name, "/charts/")
}

var (
	errUnpacked = errors.New("too much to unpack")
	errNested   = errors.New("archives nested too deep")
)

// unpackBudget is what archives may still unpack to. A sparse file has more
// bytes than the stream that it is in, and headers are bytes of the stream only,
// so both are counted.
type unpackBudget struct{ left, leftRaw int64 }

// walk reads through an archive as Helm's LoadArchiveFiles does.
func (b *unpackBudget) walk(in io.Reader, name string, depth int) error {
	if depth > maxArchiveDepth {
		return errNested
	}
	unzipped, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	archive := tar.NewReader(&budgeted{unzipped, b})
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if b.left -= header.Size; b.left < 0 {
			return errUnpacked
		}
		entry := strings.ReplaceAll(header.Name, `\`, "/")
		if !isArchive(entry) {
			continue
		}
		if err := b.walk(archive, path.Join(name, entry), depth+1); errors.Is(err, errUnpacked) || errors.Is(err, errNested) {
			return err
		}
		// A fault in the inner archive: Helm reads the outer one to its end first.
	}
}

// budgeted takes what is read from the budget.
type budgeted struct {
	in     io.Reader
	budget *unpackBudget
}

func (r *budgeted) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if r.budget.leftRaw -= int64(n); r.budget.leftRaw < 0 {
		return 0, errUnpacked
	}
	return n, err
}
