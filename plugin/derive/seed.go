package derive

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"

	"hallmark.dev/hallmark/internal/diag"
)

// Seed is the secret that values are derived from. However it is printed, it shows
// its id and nothing of the key.
type Seed struct {
	id  string
	key []byte
}

// The bounds of a seed, in bytes. A key in hexadecimal digits has up to 16 different
// ones, and all but never fewer than the least.
const (
	leastSeed     = 32
	mostSeed      = 4096
	leastDistinct = 10
)

const seedHint = "make one with: head -c 32 /dev/urandom | base64 > seed"

// ReadSeed makes a seed of the content of a file. The key is the bytes as they are,
// without line ends at the end: base64 and hexadecimal digits are not decoded, so
// nothing is guessed, and one seed written in two ways is two seeds. The key needs at
// least 32 bytes of which 10 differ. The id is public; it names the seed in messages
// and in the evidence. No error quotes the data.
func ReadSeed(id string, data []byte) (*Seed, error) {
	key := bytes.TrimRight(data, "\r\n")
	distinct := map[byte]bool{}
	for _, b := range key {
		distinct[b] = true
	}
	var fault error
	switch {
	case len(key) < leastSeed:
		fault = fmt.Errorf("seed %q: got %d bytes, want at least %d", id, len(key), leastSeed)
	case len(key) > mostSeed:
		fault = fmt.Errorf("seed %q: got %d bytes, want at most %d", id, len(key), mostSeed)
	case len(distinct) < leastDistinct:
		fault = fmt.Errorf("seed %q: the bytes repeat, want a random key", id)
	default:
		return &Seed{id: id, key: bytes.Clone(key)}, nil
	}
	return nil, diag.WithHint(fault, seedHint)
}

// ID returns the name of the seed.
func (s Seed) ID() string { return s.id }

// String returns the name of the seed.
func (s Seed) String() string { return fmt.Sprintf("seed %q", s.id) }

// GoString is String.
func (s Seed) GoString() string { return s.String() }

// Format writes String whatever the verb is.
func (s Seed) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// LogValue is String.
func (s Seed) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON refuses: a seed belongs in no document.
func (Seed) MarshalJSON() ([]byte, error) { return nil, errors.New("a seed is not written") }

// MarshalText refuses, as MarshalJSON does.
func (Seed) MarshalText() ([]byte, error) { return nil, errors.New("a seed is not written") }
