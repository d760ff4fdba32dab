package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/argoproj/argo-cd/v2/cmpserver/apiclient"

	"hallmark.dev/hallmark/plugin"
)

// stream is what the three methods that take a repository have in common.
type stream interface {
	Recv() (*apiclient.AppStreamRequest, error)
	Context() context.Context
}

// protocolError is a fault of the client, not of a repository.
type protocolError struct{ msg string }

func (e protocolError) Error() string { return e.msg }

// metadata reads the first message of a stream.
func metadata(from stream) (*apiclient.ManifestRequestMetadata, error) {
	first, err := from.Recv()
	if errors.Is(err, io.EOF) {
		return nil, protocolError{"the stream is empty, want the application's metadata and the repository"}
	}
	if err != nil {
		return nil, err
	}
	meta := first.GetMetadata()
	if meta == nil {
		return nil, protocolError{"the first message holds no metadata, want the application's before the repository"}
	}
	return meta, nil
}

// request makes a request of what Argo CD says about the application.
func request(meta *apiclient.ManifestRequestMetadata) (*plugin.Request, error) {
	var entries []string
	for _, e := range meta.GetEnv() {
		entries = append(entries, e.GetName()+"="+e.GetValue())
	}
	return plugin.FromEnviron(entries)
}

// chunks is the archive that follows the metadata in a stream.
type chunks struct {
	from  stream
	sum   hash.Hash
	bytes int64
	left  []byte // of the current chunk
	err   error  // of the stream; io.EOF at its end
}

func newChunks(from stream) *chunks { return &chunks{from: from, sum: sha256.New()} }

func (c *chunks) Read(p []byte) (int, error) {
	for len(c.left) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		c.next()
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *chunks) next() {
	message, err := c.from.Recv()
	if err != nil {
		c.err = err
		return
	}
	file := message.GetFile()
	if file == nil {
		c.err = protocolError{"a message in the middle of the stream holds no part of the repository"}
		return
	}
	c.left = file.GetChunk()
	c.bytes += int64(len(c.left))
	c.sum.Write(c.left)
}

// rest drops what is left of the stream.
func (c *chunks) rest() {
	c.left = nil
	for c.err == nil {
		c.next()
	}
	var wrong protocolError
	if errors.As(c.err, &wrong) {
		exhaust(c.from) // the client goes on sending, and would not read an answer
	}
	c.left = nil
}

// exhaust reads a stream to its end.
func exhaust(from stream) {
	for err := error(nil); err == nil; {
		_, err = from.Recv()
	}
}

// drain reads a stream that nobody wants to its end, or until ctx is done.
func drain(ctx context.Context, from stream) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		exhaust(from)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// verify compares the archive, once it is read, with its checksum.
func (c *chunks) verify(checksum string) error {
	want, err := hex.DecodeString(checksum)
	if got := c.sum.Sum(nil); err != nil || !bytes.Equal(got, want) {
		return protocolError{fmt.Sprintf("the repository arrived damaged: its SHA-256 is %x, the metadata says %q", got, checksum)}
	}
	return nil
}

// receive reads the repository of a request. Whatever is wrong with it, the
// stream is read to its end.
func receive(r *plugin.Request, meta *apiclient.ManifestRequestMetadata, archive *chunks, limits plugin.TreeLimits) error {
	err := r.Receive(archive, meta.GetAppRelPath(), limits)
	archive.rest()
	if !errors.Is(archive.err, io.EOF) {
		return archive.err // cut short, or not an archive at all
	}
	if err != nil {
		// Damage on the way is the better reason for an archive that cannot be
		// read, where it is one.
		if wrong := archive.verify(meta.GetChecksum()); wrong != nil {
			return wrong
		}
		return err
	}
	return archive.verify(meta.GetChecksum())
}
