package decrypt

import (
	"bytes"
	"context"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/plugin/source"
)

// Options say what an FS decrypts, and with what.
type Options struct {
	Keys Keys
	// Context bounds what is asked of key services; nil is the background.
	Context context.Context //nolint:containedctx // io/fs has none to pass
	// Permit is what the policy allows; nil allows everything.
	Permit *Permit
	// Secrets gets every decrypted value. It may be nil.
	Secrets *redact.Values
	// AsStored gives encrypted files as they are stored: for a look at a
	// repository that is not to see a secret.
	AsStored bool
}

// FS is a View whose SOPS files are plaintext. It is safe for concurrent use by
// the goroutines of one render, and not to be shared between renders.
type FS struct {
	*source.View // what is not about contents
	options      Options

	ring func() *ring

	mu     sync.Mutex
	files  map[string]*file // those that are encrypted, by name
	opened []Opened
}

// Opened is a file that was decrypted.
type Opened struct {
	Path string `json:"path"`
	// Keys are those that opened it, by their public parts, such as the recipient
	// of an age identity.
	Keys []string `json:"keys"`
}

var _ interface {
	fs.StatFS
	fs.ReadFileFS
	fs.ReadDirFS
	fs.ReadLinkFS
	source.Unsealer
} = (*FS)(nil)

// New returns the view with SOPS files in plaintext. Keys are looked for when the
// first encrypted file is read.
func New(view *source.View, o Options) *FS {
	silence()
	if o.Context == nil {
		o.Context = context.Background()
	}
	if o.Secrets == nil {
		o.Secrets = &redact.Values{}
	}
	return &FS{
		View: view, options: o, files: map[string]*file{},
		ring: sync.OnceValue(func() *ring { return o.Keys.load() }),
	}
}

// Opened returns the files that were decrypted so far, in the order of their paths.
func (f *FS) Opened() []Opened {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.SortedFunc(slices.Values(f.opened), func(a, b Opened) int { return strings.Compare(a.Path, b.Path) })
}

// ReadFile returns the content of a file, decrypted if it is encrypted. As with
// [source.View.ReadFile], it must not be modified.
func (f *FS) ReadFile(name string) ([]byte, error) {
	stored, open, err := f.ReadSealed(name)
	if err != nil || open == nil {
		return stored, err
	}
	return open()
}

// Open opens a file or folder. The size that Stat of an encrypted file gives is
// that of the plaintext; the Stat of the FS, which decrypts nothing, has the
// stored one.
func (f *FS) Open(name string) (fs.File, error) {
	opened, err := f.View.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := opened.Stat()
	if err != nil || info.IsDir() {
		return opened, err
	}
	_, unseal, err := f.ReadSealed(name)
	if err != nil || unseal == nil {
		return opened, err
	}
	plain, err := unseal()
	if err != nil {
		return nil, err
	}
	return &plainFile{Reader: bytes.NewReader(plain), info: plainInfo{info, int64(len(plain))}}, nil
}

// ReadSealed implements [source.Unsealer].
func (f *FS) ReadSealed(name string) (stored []byte, open func() ([]byte, error), err error) {
	stored, err = f.View.ReadFile(name)
	if err != nil || !mayBeEncrypted(stored) {
		return stored, nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known, seen := f.files[name]
	if !seen {
		if f.options.AsStored || f.options.Permit.check(name) != nil {
			known = lookAt(name, stored) // nothing of a stranger's is parsed for no use
		} else {
			known = recognise(name, stored)
		}
		f.files[name] = known
	}
	switch {
	case known == nil:
		return stored, nil, nil
	case f.options.AsStored:
		return stored, func() ([]byte, error) { return stored, nil }, nil
	}
	return stored, func() ([]byte, error) { return f.plaintext(known) }, nil
}

func (f *FS) plaintext(file *file) ([]byte, error) {
	file.once.Do(func() {
		var keys []string
		file.plain, keys, file.err = file.decrypt(&f.options, f.ring)
		if file.err == nil {
			f.mu.Lock()
			f.opened = append(f.opened, Opened{file.name, keys})
			f.mu.Unlock()
		}
	})
	return file.plain, file.err
}

type plainFile struct {
	*bytes.Reader
	info plainInfo
}

func (p *plainFile) Stat() (fs.FileInfo, error) { return p.info, nil }
func (p *plainFile) Close() error               { return nil }

type plainInfo struct {
	fs.FileInfo
	size int64
}

func (i plainInfo) Size() int64 { return i.size }
