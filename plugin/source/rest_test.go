package source

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
)

func TestSpool(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same stream each time
	s := &spool{}
	var want []byte
	for range 300 {
		piece := make([]byte, rng.IntN(40_000))
		for i := range piece {
			piece[i] = byte(rng.Uint32())
		}
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
