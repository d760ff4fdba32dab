package source

import "io/fs"

// Unsealer is a file system that decrypts on read, for which ReadFile and
// Open of an encrypted file give its plaintext.
type Unsealer interface {
	// ReadSealed returns the content of a file as it is stored and, where that is
	// encrypted, the function that decrypts it; where it is not, open is nil. open
	// may be called at any time and any number of times, and its error says why the
	// file cannot be decrypted.
	ReadSealed(name string) (stored []byte, open func() ([]byte, error), err error)
}

// ReadSealed reads a file of fsys as its Unsealer does. In a file system without
// one nothing is encrypted.
func ReadSealed(fsys fs.FS, name string) (stored []byte, open func() ([]byte, error), err error) {
	if u, ok := fsys.(Unsealer); ok {
		return u.ReadSealed(name)
	}
	stored, err = fs.ReadFile(fsys, name)
	return stored, nil, err
}
