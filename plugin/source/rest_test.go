package source

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
)

func TestSpool(t *testing.T) {
	t.Parallel()
	stream := rand.NewChaCha8([32]byte{1}) // the same stream each time
	rng := rand.New(stream)                //nolint:gosec // likewise
	s := &spool{}
	var want []byte
	for range 300 {
		piece := make([]byte, rng.IntN(40_000))
		_, _ = stream.Read(piece) // never fails
		if n, err := s.Write(piece); n != len(piece) || err != nil {
			t.Fatalf("wrote %d of %d bytes, %v", n, len(piece), err)
		}
		want = append(want, piece...)
		clear(piece) // the caller's to change
	}
	if s.size != int64(len(want)) {
		t.Errorf("got size %d, want %d", s.size, len(want))
	}
	for _, release := range []bool{false, false, true} {
		if got, err := io.ReadAll(s.reader(release)); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("read %d bytes, %v, want %d", len(got), err, len(want))
		}
		for i, chunk := range s.chunks {
			if (chunk == nil) != release {
				t.Errorf("with release %t chunk %d has %d bytes", release, i, len(chunk))
			}
		}
	}
}
