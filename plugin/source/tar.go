package source

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// intake is one archive being read.
type intake struct {
	lim   Limits
	build *builder
	// pack decides whether the content of a file, by its name and size, is left
	// in the archive.
	pack func(name string, size int64) bool
	far  int64 // how much of that is unpacked at a time
	// near decides whether a digest of a file is made ahead; nil: of none.
	near    func(name string) bool
	digests chan *node
	paths   int    // of the archive, implied folders among them
	bytes   int64  // of content
	entries int    // of any kind; it numbers the current one, from 1
	entry   string // the name of the current entry
}

func newIntake(lim Limits) *intake {
	in := &intake{lim: lim.orDefault(), pack: func(string, int64) bool { return false }}
	in.build = newMemory(in.admit)
	return in
}

// admit counts a path against limits.files.
func (in *intake) admit(p string) error {
	if in.paths++; in.paths > in.lim.Files {
		return &LimitError{Limit: limitFiles, Value: int64(in.paths), Max: int64(in.lim.Files), Path: p}
	}
	return nil
}

// bound limits the bytes of a whole stream, which holds more than contents: a
// header, padding and perhaps a long name for each entry, a record of padding at
// the end, and skipped entries. 4 KiB an entry is what honest archives stay far
// below.
func (in *intake) bound(r io.Reader) *meter {
	const perEntry, perArchive = 4 << 10, 64 << 10
	most := int64(math.MaxInt64)
	if files := int64(in.lim.Files); files < (math.MaxInt64-perArchive-in.lim.TreeBytes)/perEntry {
		most = in.lim.TreeBytes + files*perEntry + perArchive
	}
	return &meter{r: r, most: most, in: in}
}

// read fills in.build from the uncompressed stream r.
func (in *intake) read(r io.Reader) error {
	stream := in.bound(r)
	tr := tar.NewReader(stream)
	for {
		at := stream.n
		h, err := nextEntry(tr)
		if errors.Is(err, io.EOF) {
			return in.end(stream, stream.n-at)
		}
		if err != nil {
			return in.damage(err)
		}
		in.entries++
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		name, err := entryName(h.Name)
		if err != nil {
			return err
		}
		in.entry = name
		if err := in.add(name, h, tr); err != nil {
			return err
		}
	}
}

// nextEntry goes to the next entry. With GODEBUG=tarinsecurepath=0 a name that
// is refused or harmless anyway is an error that comes with its header.
func nextEntry(tr *tar.Reader) (*tar.Header, error) {
	h, err := tr.Next()
	if h != nil && errors.Is(err, tar.ErrInsecurePath) {
		err = nil
	}
	return h, err
}

// end checks what follows the last entry. Since every content was read, the
// final call to Next consumed less than a block of padding and then the end
// marker, unless there is none.
func (in *intake) end(stream *meter, consumed int64) error {
	const block = 512
	if consumed < block {
		return in.damage(io.ErrUnexpectedEOF)
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := stream.Read(buf)
		if rest := bytes.TrimLeft(buf[:n], "\x00"); len(rest) > 0 {
			return fmt.Errorf("archive has data after its end marker, at byte %d", stream.n-int64(len(rest)))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return in.damage(err)
		}
	}
}

// add takes one entry. Its content is read from r.
func (in *intake) add(name string, h *tar.Header, r io.Reader) error {
	if isGit(name) {
		// Read all the same, so that end finds the stream where it expects it,
		// and counted: a sparse file can claim any size at no cost.
		_, err := in.content(name, h.Size, r, false)
		return err
	}
	n := &node{}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		n.size = h.Size
		keep := !in.pack(name, h.Size)
		if !keep {
			n.pack = in.entries
		}
		var err error
		if n.data, err = in.content(name, h.Size, r, keep); err != nil {
			return err
		}
	case tar.TypeDir:
		n.mode = fs.ModeDir
	case tar.TypeSymlink:
		n.mode, n.link = fs.ModeSymlink, h.Linkname
		if len(n.link) > maxPath {
			return fmt.Errorf("symlink %.80q... has a target of %d bytes, want at most %d", name, len(n.link), maxPath)
		}
	case tar.TypeLink:
		target, err := entryName(h.Linkname)
		if err != nil {
			return fmt.Errorf("hard link %q: %w", name, err)
		}
		old, ok := in.build.nodes[target]
		if !ok || old.mode.IsDir() {
			return fmt.Errorf("hard link %q points to %q, which is not an earlier file of the archive", name, h.Linkname)
		}
		n = &node{mode: old.mode, size: old.size, data: old.data, pack: old.pack, link: old.link}
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		return fmt.Errorf("archive entry %q is a %s, want a file, folder or link", name, kind(h.FileInfo().Mode().Type()))
	default:
		return fmt.Errorf("archive entry %q has type %q, want a file, folder or link", name, h.Typeflag)
	}
	if _, ok := in.build.nodes[name]; ok && name != "." {
		// The builder counts new paths. An entry that comes again costs as much.
		if err := in.admit(name); err != nil {
			return err
		}
	}
	if in.near != nil && n.data != nil && in.near(name) {
		in.digests <- n
	}
	return in.build.put(name, n)
}

// digest has the digests of an application's own files made while the rest of the
// archive is unpacked: a render needs them for its inputs hash, and the answer to
// one from memory for nothing else. stop ends it when all is read.
func (in *intake) digest(near func(name string) bool) (stop func()) {
	const ahead = 256
	in.near, in.digests = near, make(chan *node, ahead)
	go func() {
		for n := range in.digests {
			(&content{node: n, data: n.data}).sum()
		}
	}()
	return func() { close(in.digests) }
}

// content reads a file of the size that its header claims, or past it. The limits
// are checked first and memory is taken as data arrives, so a false claim costs
// nothing.
func (in *intake) content(name string, size int64, r io.Reader, keep bool) ([]byte, error) {
	if size > in.lim.FileBytes && !isGit(name) {
		return nil, &LimitError{Limit: limitFileBytes, Value: size, Max: in.lim.FileBytes, Path: name}
	}
	if size > in.lim.TreeBytes-in.bytes {
		return nil, &LimitError{Limit: limitTreeBytes, Value: in.bytes + size, Max: in.lim.TreeBytes, Path: name}
	}
	in.bytes += size
	var data []byte
	var err error
	if keep {
		data, err = readEntry(r, size)
	} else {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		return nil, in.damage(err)
	}
	return data, nil
}

// readEntry reads a content that has the given size, if the header is right.
func readEntry(r io.Reader, size int64) ([]byte, error) {
	const trusted = 1 << 20
	if size <= trusted {
		data := make([]byte, size)
		_, err := io.ReadFull(r, data)
		return data, err
	}
	var buf bytes.Buffer
	_, err := buf.ReadFrom(r)
	// Growing leaves up to half of the buffer unused.
	return bytes.Clone(buf.Bytes()), err
}

// tree closes the intake: with every entry known, it checks the links. What was
// left packed is in stream; part is the folder of the repository that it is.
func (in *intake) tree(stream *spool, part string) (*Tree, error) {
	mem := in.build.finish()
	t := &Tree{
		lim: in.lim, mem: &unpacked{memory: mem, rest: newRest(mem, stream, in.far)}, part: part,
		entries: in.entries, bytes: in.bytes,
	}
	var links []string
	for p, n := range mem {
		if n.mode&fs.ModeSymlink != 0 {
			links = append(links, path.Join(part, p))
		}
	}
	slices.Sort(links) // the first one to leave is the one to name
	st := t.store()
	res := newResolver(st.stat)
	for _, p := range links {
		n, err := st.stat(p)
		if err != nil {
			return nil, err
		}
		f := res.follow(p, n)
		if escape := (*EscapeError)(nil); errors.As(f.err, &escape) {
			return nil, escape
		}
		// Where a link does not lead anywhere, what its text says has to do.
		if f.err != nil && climbs(path.Join(path.Dir(p), n.link)) {
			return nil, &EscapeError{Path: p, Target: n.link}
		}
	}
	return t, nil
}

// damage words an error of the tar or gzip reader.
func (in *intake) damage(err error) error {
	after := "its start"
	if in.entry != "" {
		after = fmt.Sprintf("entry %q", in.entry)
	}
	limit := (*LimitError)(nil)
	switch {
	case errors.As(err, &limit):
		return limit
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("archive is cut short after %s: %w", after, io.ErrUnexpectedEOF)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, tar.ErrHeader):
		return fmt.Errorf("archive is damaged after %s: %w", after, err)
	}
	return fmt.Errorf("reading the archive after %s: %w", after, err)
}

// entryName checks and cleans the name of an entry or the target of a hard link.
func entryName(name string) (string, error) {
	if name == "" || strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("archive entry has the name %q, want a path", name)
	}
	if len(name) > maxPath {
		return "", fmt.Errorf("archive entry %.80q... has a name of %d bytes, want at most %d", name, len(name), maxPath)
	}
	// Both readings of a backslash have to stay inside. One that does is a plain
	// character, as in systemd's "dev-disk-by\x2dlabel.mount".
	for _, reading := range []string{name, strings.ReplaceAll(name, `\`, "/")} {
		if path.IsAbs(reading) || slices.Contains(strings.Split(reading, "/"), "..") {
			return "", &EscapeError{Path: name}
		}
	}
	return path.Clean(name), nil
}

// climbs reports whether the clean path p begins with "..".
func climbs(p string) bool { return p == ".." || strings.HasPrefix(p, "../") }

// meter bounds the bytes read from r.
type meter struct {
	r       io.Reader
	n, most int64
	in      *intake
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	if m.n > m.most {
		return n, &LimitError{Limit: limitTreeBytes, Value: m.n, Max: m.in.lim.TreeBytes, Path: m.in.entry}
	}
	return n, err
}
