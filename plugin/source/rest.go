package source

import (
	"archive/tar"
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// maxScans is how often an archive is gone through for a part of what is left in
// it. The time after that takes all: a render that asks for files here and there
// would otherwise read the archive over and over.
const maxScans = 3

// rest is the contents that were left in the compressed archive. A gzip stream
// has to be read from its start, so that each visit fetches more than the one
// file that is asked for.
type rest struct {
	mu       sync.Mutex
	stream   *spool         // nil once everything is unpacked
	far      int64          // see farBytes
	files    []packedFile   // of the tree, in the order of the archive
	bytes    int64          // still packed
	unpacked map[int][]byte // by number of the entry
	scans    int
}

// packedFile is a file whose content is left in the archive.
type packedFile struct {
	path  string
	entry int // its number in the archive
	size  int64
}

// newRest returns what m has left in stream, or nil if it is nothing.
func newRest(m memory, stream *spool, far int64) *rest {
	r := &rest{stream: stream, far: far, unpacked: map[int][]byte{}}
	for p, n := range m {
		if n.pack > 0 {
			r.files = append(r.files, packedFile{path: p, entry: n.pack, size: n.size})
		}
	}
	if len(r.files) == 0 {
		return nil
	}
	slices.SortFunc(r.files, func(a, b packedFile) int {
		return cmp.Or(cmp.Compare(a.entry, b.entry), cmp.Compare(a.path, b.path))
	})
	for i, f := range r.files {
		if i == 0 || f.entry != r.files[i-1].entry { // a hard link is no second content
			r.bytes += f.size
		}
	}
	return r
}

// load returns the content of an entry for the file at p.
func (r *rest) load(p string, entry int) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if data, ok := r.unpacked[entry]; ok {
		return data, nil
	}
	// Nothing is won by holding an archive that is larger than what is left in it.
	all := r.scans == maxScans || r.bytes <= r.stream.size
	r.scans++
	want := map[int]bool{entry: true}
	if all {
		for _, f := range r.files {
			want[f.entry] = true
		}
	} else {
		r.wantNear(p, want)
	}
	if err := r.unpack(want, all); err != nil {
		return nil, fmt.Errorf("unpacking it: %w", err)
	}
	if all {
		r.stream, r.files = nil, nil
	}
	return r.unpacked[entry], nil
}

// wantNear adds what lies near p, the nearest first, up to r.far bytes: the rest
// of its folder, with what is below, then that of the folder above. Of files
// equally near the small ones come first: they are manifests, and the large ones
// are not.
func (r *rest) wantNear(p string, want map[int]bool) {
	type neighbour struct {
		packedFile
		near int
	}
	var all []neighbour
	for _, f := range r.files {
		if r.unpacked[f.entry] == nil {
			all = append(all, neighbour{f, sharedFolders(p, f.path)})
		}
	}
	slices.SortStableFunc(all, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(b.near, a.near), cmp.Compare(a.size, b.size))
	})
	left := r.far
	for _, f := range all {
		if f.size <= left && !want[f.entry] {
			want[f.entry] = true
			left -= f.size
		}
	}
}

// sharedFolders is how many folders above p are also above q.
func sharedFolders(p, q string) int {
	count := 0
	for i := 0; i < len(p) && i < len(q) && p[i] == q[i]; i++ {
		if p[i] == '/' {
			count++
		}
	}
	return count
}

// unpack goes through the archive until it has the wanted entries. It has been
// read before, to its end and within the limits, so nothing is checked again.
// The last time, memory moves from the stream to the contents.
func (r *rest) unpack(want map[int]bool, last bool) error {
	gz, err := gzip.NewReader(bufio.NewReaderSize(r.stream.reader(last), 64<<10))
	if err != nil {
		return err
	}
	tr := tar.NewReader(gz)
	for number, missing := 1, len(want); missing > 0; number++ {
		h, err := nextEntry(tr)
		if err != nil {
			return err
		}
		if !want[number] {
			continue
		}
		missing--
		if r.unpacked[number] != nil {
			continue
		}
		data, err := readEntry(tr, h.Size)
		if err != nil {
			return err
		}
		r.unpacked[number] = data
		r.bytes -= h.Size
	}
	return nil
}

// spool keeps a stream in memory.
type spool struct {
	chunks [][]byte
	size   int64
}

// Write appends to the stream; it never fails.
func (s *spool) Write(p []byte) (int, error) {
	const smallest, largest = 32 << 10, 1 << 20
	written := len(p)
	for len(p) > 0 {
		last := len(s.chunks) - 1
		if last < 0 || len(s.chunks[last]) == cap(s.chunks[last]) {
			s.chunks = append(s.chunks, make([]byte, 0, min(max(s.size, smallest), largest)))
			last++
		}
		chunk := s.chunks[last]
		n := min(len(p), cap(chunk)-len(chunk))
		s.chunks[last] = append(chunk, p[:n]...)
		p = p[n:]
	}
	s.size += int64(written)
	return written, nil
}

// reader reads the stream from its start. With release it gives each part of it
// up once it is read.
func (s *spool) reader(release bool) io.Reader {
	chunks := s.chunks
	if !release {
		chunks = slices.Clone(chunks)
	}
	return &spoolReader{chunks: chunks}
}

type spoolReader struct {
	chunks [][]byte
}

func (r *spoolReader) Read(p []byte) (int, error) {
	for len(r.chunks) > 0 {
		if n := copy(p, r.chunks[0]); n > 0 {
			r.chunks[0] = r.chunks[0][n:]
			return n, nil
		}
		// The array of chunks lives on, and with it what it holds.
		r.chunks[0] = nil
		r.chunks = r.chunks[1:]
	}
	return 0, io.EOF
}
