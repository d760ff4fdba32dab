package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v2/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v2/util/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hallmark.dev/hallmark/plugin"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// fakeStream is a stream that needs no client.
type fakeStream struct {
	grpc.ServerStream // nil; nothing else of it is called

	ctx      context.Context
	messages messages
	end      error // of the stream; nil for io.EOF
	answer   *apiclient.ManifestResponse
}

func (f *fakeStream) Context() context.Context { return f.ctx }

func (f *fakeStream) Recv() (*apiclient.AppStreamRequest, error) {
	if len(f.messages) == 0 {
		if f.end != nil {
			return nil, f.end
		}
		return nil, io.EOF
	}
	next := f.messages[0]
	f.messages = f.messages[1:]
	return next, nil
}

func (f *fakeStream) SendAndClose(answer *apiclient.ManifestResponse) error {
	f.answer = answer
	return nil
}

// script makes a stream of bytes: a command, a length, and as many bytes of
// what follows, as they are or as a piece of an archive that is fine.
func script(data, archive []byte) messages {
	var out messages
	take := func(from *[]byte, n int) []byte {
		n = min(n, len(*from))
		piece := (*from)[:n]
		*from = (*from)[n:]
		return piece
	}
	for len(data) >= 2 {
		command, n := data[0], int(data[1])
		data = data[2:]
		switch command % 6 {
		case 0:
			out = append(out, aboutApp(archive, env()))
		case 1: // lets the archive go on
			out = append(out, cmp.AppFileRequest(take(&archive, n*8)))
		case 2:
			out = append(out, cmp.AppFileRequest(take(&data, n)))
		case 3:
			out = append(out, aboutApp(archive, env("ARGOCD_APP_PARAMETERS="+string(take(&data, n)))))
		case 4:
			out = append(out, aboutApp(archive, env(), func(m *apiclient.ManifestRequestMetadata) { m.AppRelPath = string(take(&data, n)) }))
		case 5:
			out = append(out, &apiclient.AppStreamRequest{})
		}
	}
	return out
}

// Every stream is read to its end and answered, with an object only if all of
// the archive came behind the metadata, whatever its cuts.
func FuzzStream(f *testing.F) {
	archive := good(f)
	complete := append([]byte{0, 0}, bytes.Repeat([]byte{1, 1}, len(archive)/8+1)...)
	f.Add(complete)
	f.Add([]byte{0, 0, 1, 255})
	f.Add([]byte{0, 0, 1, 0, 1, 255})
	f.Add(complete[:len(complete)/2])
	f.Add(append(bytes.Clone(complete), 0, 0))
	f.Add(append([]byte{3, 2, '[', ']'}, complete[2:]...))
	f.Add(append([]byte{4, 5, '.', '.', '/', '.', '.'}, complete[2:]...))
	f.Add([]byte{5, 0, 0, 0, 2, 3, 'a', 'b', 'c'})
	f.Fuzz(func(t *testing.T, data []byte) {
		s := New(Options{Log: discard(), Now: time.Now, NewID: func() string { return "" }, Explain: error.Error})
		sent := script(data, archive)
		stream := &fakeStream{ctx: t.Context(), messages: sent}
		err := (&service{s}).GenerateManifest(stream)
		if len(stream.messages) > 0 {
			t.Errorf("%d messages were not read", len(stream.messages))
		}
		if code := status.Code(err); errors.Is(err, plugin.ErrPanic) || code == codes.Internal || code == codes.Unknown {
			t.Errorf("got error %v", err)
		}
		var came []byte
		for i, m := range sent {
			if isMeta := m.GetMetadata() != nil; isMeta != (i == 0) || i > 0 && m.GetFile() == nil {
				came = nil
				break
			}
			came = append(came, m.GetFile().GetChunk()...)
		}
		// script takes the checksum of what is left of the archive.
		if err == nil && !bytes.Equal(came, archive) {
			t.Errorf("answered a stream that is not the archive")
		}
		if (err == nil) != (stream.answer != nil) {
			t.Errorf("got answer %v with error %v", stream.answer, err)
		}
		eventually(t, "the slot is free", func() bool { return len(s.slots) == 0 })
	})
}

// The complete stream of the corpus is answered, or the target shows nothing.
func TestScriptIsAnswered(t *testing.T) {
	t.Parallel()
	archive := good(t)
	s := New(Options{Log: discard(), Now: time.Now, NewID: func() string { return "" }, Explain: error.Error})
	stream := &fakeStream{ctx: t.Context(), messages: script([]byte{0, 0, 1, 3, 1, 0, 1, 255}, archive)}
	if err := (&service{s}).GenerateManifest(stream); err != nil || len(stream.answer.Manifests) != 1 {
		t.Errorf("got %v, error %v, want one manifest", stream.answer, err)
	}
}
