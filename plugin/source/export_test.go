package source

import "io"

// Tar is Archive.Read without gzip, and with everything unpacked.
func Tar(r io.Reader, lim Limits) (*Tree, error) {
	in := newIntake(lim)
	if err := in.read(r); err != nil {
		return nil, err
	}
	return in.tree(nil, ".")
}

// Far returns a with another farBytes, so that small archives are packed too.
func (a Archive) Far(n int64) Archive {
	a.far = n
	return a
}

// Packed tells how many bytes of a tree are packed, how many bytes of archive
// are held for them, and how often they were gone through.
func Packed(t *Tree) (packed, held int64, scans int) {
	r := t.mem.(*unpacked).rest
	if r == nil {
		return 0, 0, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stream != nil {
		held = r.stream.size
	}
	return r.bytes, held, r.scans
}
