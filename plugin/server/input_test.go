package server

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v2/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v2/util/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"hallmark.dev/hallmark/plugin"
)

// methods open a stream of each kind and make the message that answers it.
var methods = map[string]func(context.Context, apiclient.ConfigManagementPluginServiceClient) (clientStream, any, error){
	methodGenerate: func(ctx context.Context, c apiclient.ConfigManagementPluginServiceClient) (clientStream, any, error) {
		s, err := c.GenerateManifest(ctx)
		return s, &apiclient.ManifestResponse{}, err
	},
	methodMatch: func(ctx context.Context, c apiclient.ConfigManagementPluginServiceClient) (clientStream, any, error) {
		s, err := c.MatchRepository(ctx)
		return s, &apiclient.RepositoryResponse{}, err
	},
	methodAnnounce: func(ctx context.Context, c apiclient.ConfigManagementPluginServiceClient) (clientStream, any, error) {
		s, err := c.GetParametersAnnouncement(ctx)
		return s, &apiclient.ParametersAnnouncementResponse{}, err
	},
}

type clientStream interface {
	Send(*apiclient.AppStreamRequest) error
	CloseSend() error
	RecvMsg(any) error
}

// exchange sends messages as they are, and returns the answer. As for
// repo-server, a message that cannot be sent ends it: then the reason is lost.
func (r *running) exchange(ctx context.Context, method string, messages ...*apiclient.AppStreamRequest) (any, error) {
	stream, answer, err := methods[method](ctx, r.client)
	if err != nil {
		return nil, err
	}
	for i, m := range messages {
		if err := stream.Send(m); err != nil {
			return nil, fmt.Errorf("message %d of %d was not taken: %w", i+1, len(messages), err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	return answer, stream.RecvMsg(answer)
}

// entry is one of a tar archive.
type entry struct {
	tar.Header
	body string
}

func regular(name, body string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(body))}, body}
}

func special(kind byte, name, target string) entry {
	return entry{tar.Header{Name: name, Typeflag: kind, Linkname: target, Mode: 0o644}, ""}
}

// tgz packs entries.
func tgz(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	tw := tar.NewWriter(gz)
	for _, e := range entries {
		if err := tw.WriteHeader(&e.Header); err != nil {
			tb.Fatal(err)
		}
		if _, err := io.WriteString(tw, e.body); err != nil {
			tb.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), gz.Close()); err != nil {
		tb.Fatal(err)
	}
	return packed.Bytes()
}

// bomb is an archive of a file with size zeros, or with a header that claims so.
func bomb(tb testing.TB, size int64, complete bool) []byte {
	tb.Helper()
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	tw := tar.NewWriter(gz)
	if err := tw.WriteHeader(&tar.Header{Name: "app/bomb", Typeflag: tar.TypeReg, Mode: 0o644, Size: size}); err != nil {
		tb.Fatal(err)
	}
	if complete {
		zeros := make([]byte, 1<<20)
		for range size / int64(len(zeros)) {
			if _, err := tw.Write(zeros); err != nil {
				tb.Fatal(err)
			}
		}
		if err := tw.Close(); err != nil {
			tb.Fatal(err)
		}
	}
	if err := gz.Close(); err != nil {
		tb.Fatal(err)
	}
	return packed.Bytes()
}

// aboutApp is the first message for an archive, as repo-server words it.
func aboutApp(archive []byte, entries []string, change ...func(*apiclient.ManifestRequestMetadata)) *apiclient.AppStreamRequest {
	sum := sha256.Sum256(archive)
	meta := &apiclient.ManifestRequestMetadata{
		AppName: "app", AppRelPath: "app", Checksum: hex.EncodeToString(sum[:]), Size_: int64(len(archive)),
	}
	for _, e := range entries {
		name, value, _ := strings.Cut(e, "=")
		meta.Env = append(meta.Env, &apiclient.EnvEntry{Name: name, Value: value})
	}
	for _, c := range change {
		c(meta)
	}
	return &apiclient.AppStreamRequest{Request: &apiclient.AppStreamRequest_Metadata{Metadata: meta}}
}

// inChunks cuts an archive into messages of size bytes.
func inChunks(archive []byte, size int) []*apiclient.AppStreamRequest {
	var out []*apiclient.AppStreamRequest
	for len(archive) > 0 {
		n := min(size, len(archive))
		out = append(out, cmp.AppFileRequest(archive[:n]))
		archive = archive[n:]
	}
	return out
}

type messages = []*apiclient.AppStreamRequest

// whole is a stream that says nothing wrong about an archive.
func whole(archive []byte, change ...func(*apiclient.ManifestRequestMetadata)) messages {
	return append(messages{aboutApp(archive, env(), change...)}, inChunks(archive, 100)...)
}

func good(tb testing.TB) []byte {
	tb.Helper()
	return tgz(tb, regular("app/Chart.yaml", chartYAML), regular("app/values.yaml", "a: b\n"),
		regular("app/templates/c.yaml", configMap("web", "{{ .Values.a }}")))
}

// eventually waits for what other goroutines are about to do.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			var goroutines strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&goroutines, 1)
			tb.Fatalf("still not: %s\n%s", what, goroutines.String())
		}
	}
}

// badStreams are faults of a client or of an archive, for every method.
func badStreams(t *testing.T) map[string]struct {
	messages messages
	code     codes.Code
	want     string
} {
	ok := good(t)
	checksum := func(sum string) func(*apiclient.ManifestRequestMetadata) {
		return func(m *apiclient.ManifestRequestMetadata) { m.Checksum = sum }
	}
	at := func(path string) func(*apiclient.ManifestRequestMetadata) {
		return func(m *apiclient.ManifestRequestMetadata) { m.AppRelPath = path }
	}
	with := func(e entry) messages {
		return whole(tgz(t, e, regular("app/Chart.yaml", chartYAML), regular("app/templates/c.yaml", configMap("web", "b"))))
	}
	first := aboutApp(ok, env())
	return map[string]struct {
		messages messages
		code     codes.Code
		want     string
	}{
		"name with dots":                 {with(regular("../evil", "x")), codes.FailedPrecondition, `"../evil" leaves the repository root`},
		"name with dots in it":           {with(regular("app/../../evil", "x")), codes.FailedPrecondition, "leaves the repository root"},
		"name with backslashes":          {with(regular(`app\..\..\evil`, "x")), codes.FailedPrecondition, "leaves the repository root"},
		"absolute name":                  {with(regular("/tmp/evil", "x")), codes.FailedPrecondition, `"/tmp/evil" leaves the repository root`},
		"link out":                       {with(special(tar.TypeSymlink, "app/l", "../../etc")), codes.FailedPrecondition, `symlink "app/l" leaves the repository root`},
		"absolute link":                  {with(special(tar.TypeSymlink, "app/l", "/etc/passwd")), codes.FailedPrecondition, `symlink "app/l" leaves the repository root`},
		"hard link out":                  {with(special(tar.TypeLink, "app/l", "../../etc/passwd")), codes.FailedPrecondition, "leaves the repository root"},
		"device":                         {with(special(tar.TypeChar, "app/null", "")), codes.FailedPrecondition, `"app/null" is a`},
		"fifo":                           {with(special(tar.TypeFifo, "app/pipe", "")), codes.FailedPrecondition, `"app/pipe" is a`},
		"gzip bomb":                      {whole(bomb(t, 256<<20, true)), codes.ResourceExhausted, "limits.fileBytes"},
		"claim of a size":                {whole(bomb(t, 1<<50, false)), codes.ResourceExhausted, "limits.fileBytes"},
		"wrong checksum":                 {whole(ok, checksum(strings.Repeat("0", 64))), codes.InvalidArgument, "arrived damaged"},
		"no checksum":                    {whole(ok, checksum("")), codes.InvalidArgument, "arrived damaged"},
		"no hex checksum":                {whole(ok, checksum("sha256")), codes.InvalidArgument, "arrived damaged"},
		"cut":                            {append(messages{first}, inChunks(ok[:len(ok)/2], 100)...), codes.InvalidArgument, "arrived damaged"},
		"cut, and the sum is of that":    {whole(ok[:len(ok)/2]), codes.FailedPrecondition, "archive is cut short"},
		"more behind it":                 {append(messages{first}, inChunks(append(bytes.Clone(ok), 'x'), 100)...), codes.InvalidArgument, "arrived damaged"},
		"no gzip":                        {whole([]byte(strings.Repeat("no archive ", 100))), codes.FailedPrecondition, "archive is damaged"},
		"metadata alone":                 {messages{first}, codes.InvalidArgument, "arrived damaged"},
		"nothing":                        {nil, codes.InvalidArgument, "the stream is empty"},
		"archive first":                  {inChunks(ok, 100), codes.InvalidArgument, "first message holds no metadata"},
		"archive first, metadata behind": {append(inChunks(ok, 100), first), codes.InvalidArgument, "first message holds no metadata"},
		"empty message first":            {append(messages{{}}, whole(ok)...), codes.InvalidArgument, "first message holds no metadata"},
		"metadata twice":                 {append(messages{first}, whole(ok)...), codes.InvalidArgument, "in the middle of the stream"},
		"metadata at the end":            {append(whole(ok), first), codes.InvalidArgument, "in the middle of the stream"},
		"empty message in between":       {append(messages{first, {}}, inChunks(ok, 100)...), codes.InvalidArgument, "in the middle of the stream"},
		"folder outside":                 {whole(ok, at("..")), codes.FailedPrecondition, `application path ".." leaves the repository root`},
		"folder outside, on the way":     {whole(ok, at("app/../../etc")), codes.FailedPrecondition, "leaves the repository root"},
		"absolute folder":                {whole(ok, at("/app")), codes.FailedPrecondition, "leaves the repository root"},
	}
}

// Whatever a client sends, it gets a reason, nothing is written to disk, nothing
// stays behind and the next request is served.
func TestBadStreams(t *testing.T) { // not parallel: it counts goroutines, and looks at the folders of the process
	r := start(t, func(o *Options) { o.Discover = DiscoverAll })
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	t.Chdir(folder)
	next := func() {
		t.Helper()
		if _, err := r.exchange(t.Context(), methodGenerate, whole(good(t))...); err != nil {
			t.Fatalf("the next request: %v", err)
		}
	}
	next()
	free := func() bool { return len(r.slots) == 0 }
	eventually(t, "the slot is free", free)
	goroutines := runtime.NumGoroutine()
	bad := badStreams(t)
	for method := range methods {
		for name, tt := range bad {
			t.Run(method+"/"+name, func(t *testing.T) {
				_, err := r.exchange(t.Context(), method, tt.messages...)
				text := status.Convert(err).Message()
				if status.Code(err) != tt.code || !strings.HasPrefix(text, "hallmark: error: ") || !strings.Contains(text, tt.want) {
					t.Errorf("got error %v, want %s with %q", err, tt.code, tt.want)
				}
				next()
			})
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) > 0 {
		t.Errorf("got %v, %v in the folder, want nothing", entries, err)
	}
	eventually(t, "no goroutine more than before", func() bool { return runtime.NumGoroutine() <= goroutines })
	eventually(t, "the slots are free", free)
}

// What is wrong with an application is told by the method that needs it.
func TestBadApplications(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	ok := good(t)
	parameters := func(text string) messages {
		return append(messages{aboutApp(ok, env("ARGOCD_APP_PARAMETERS="+text))}, inChunks(ok, 100)...)
	}
	at := func(path string) messages {
		return whole(ok, func(m *apiclient.ManifestRequestMetadata) { m.AppRelPath = path })
	}
	for name, tt := range map[string]struct {
		messages messages
		want     string
		announce bool // whether its parameters are listed none the less
	}{
		"unknown parameter":   {parameters(`[{"name":"valuefiles","string":"s3cr3t"}]`), `unknown parameter "valuefiles"`, true},
		"broken JSON":         {parameters(`[{"name":"values","string":"s3cr3t`), "parameters: byte 34: not valid JSON", true},
		"another type":        {parameters(`{"values":"s3cr3t"}`), "parameters: byte", true},
		"parameter twice":     {parameters(`[{"name":"values","string":""},{"name":"values","string":""}]`), `parameter "values" is given twice`, true},
		"missing folder":      {at("other"), `application path "other" does not exist`, true},
		"folder that is none": {at("app/values.yaml"), `application path "app/values.yaml" is a file, want a folder`, true},
		"NUL in the folder":   {at("app\x00"), "does not exist", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := r.exchange(t.Context(), methodGenerate, tt.messages...)
			if text := status.Convert(err).Message(); status.Code(err) != codes.FailedPrecondition || !strings.Contains(text, tt.want) || strings.Contains(text, "s3cr3t") {
				t.Errorf("got error %v, want %s with %q", err, codes.FailedPrecondition, tt.want)
			}
			// The form in Argo CD's UI is where it is put right.
			answer, err := r.exchange(t.Context(), methodAnnounce, tt.messages...)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(answer.(*apiclient.ParametersAnnouncementResponse).ParameterAnnouncements); got != len(plugin.Specs()) {
				t.Errorf("got %d parameters, want all %d", got, len(plugin.Specs()))
			}
		})
	}
	t.Cleanup(func() {
		if strings.Contains(r.logged(), "s3cr3t") {
			t.Errorf("a value is in the log: %s", r.logged())
		}
		for line := range strings.Lines(r.logged()) {
			if !strings.Contains(line, `"app":"web"`) {
				t.Errorf("the line does not name the application: %s", line)
			}
		}
	})
}

// Bytes that are no text, where gRPC itself does not look.
func TestInvalidUTF8(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	ok := good(t)
	entries := env("ARGOCD_APP_PROJECT_NAME=\xff", "ARGOCD_ENV_\xfe=\xff", "=", "x", "KUBE_API_VERSIONS=,,")
	if _, err := r.exchange(t.Context(), methodGenerate, append(messages{aboutApp(ok, entries)}, inChunks(ok, 100)...)...); err != nil {
		t.Error(err)
	}
	_, err := r.exchange(t.Context(), methodGenerate, whole(ok, func(m *apiclient.ManifestRequestMetadata) { m.AppRelPath = "\xff" })...)
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("got error %v, want %s", err, codes.FailedPrecondition)
	}
}

// repo-server drops the reason if it cannot send all of a repository, so a
// refused one is read to its end. This one is larger than what the
// transport buffers, and refused at its first entry.
func TestRefusedRepositoryIsReadToItsEnd(t *testing.T) { // not parallel: the size of chunks is a variable of the process
	t.Setenv("ARGOCD_CMP_CHUNK_SIZE", "1024")
	r := start(t, func(o *Options) { o.TreeLimits = plugin.TreeLimits{FileBytes: 1 << 10} })
	noise := make([]byte, 6<<20)
	if _, err := rand.NewChaCha8([32]byte{}).Read(noise); err != nil {
		t.Fatal(err)
	}
	root := checkout(t, map[string]string{"a": strings.Repeat("#", 2<<10), "app/a.yaml": configMap("web", "b"), "z": string(noise)})
	_, err := r.generate(t.Context(), root, env())
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), `"a" has 2048 bytes, more than limits.fileBytes`) {
		t.Errorf("got error %v, want %s with limits.fileBytes", err, codes.ResourceExhausted)
	}
	// So is one whose application is refused before the first byte of it.
	_, err = r.generate(t.Context(), root, env("ARGOCD_APP_PARAMETERS=[{}]"))
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "unknown parameter") {
		t.Errorf("got error %v, want %s with an unknown parameter", err, codes.FailedPrecondition)
	}
	// And a stream that is none of an archive.
	noMetadata := inChunks(noise, 1<<10)
	if _, err := r.exchange(t.Context(), methodGenerate, noMetadata...); status.Code(err) != codes.InvalidArgument {
		t.Errorf("got error %v, want %s", err, codes.InvalidArgument)
	}
	twice := append(messages{aboutApp(noise, env()), aboutApp(noise, env())}, noMetadata...)
	if _, err := r.exchange(t.Context(), methodGenerate, twice...); status.Code(err) != codes.InvalidArgument {
		t.Errorf("got error %v, want %s", err, codes.InvalidArgument)
	}
}

// A client that goes away in the middle leaves nothing behind.
func TestCancelledStream(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *Options) { o.InFlight = 1 })
	ok := good(t)
	for method := range methods {
		ctx, cancel := context.WithCancel(t.Context())
		stream, answer, err := methods[method](ctx, r.client)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range whole(ok)[:2] {
			if err := stream.Send(m); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "a slot is taken", func() bool { return len(r.slots) == 1 })
		cancel()
		if err := stream.RecvMsg(answer); status.Code(err) != codes.Canceled {
			t.Errorf("%s: got error %v, want %s", method, err, codes.Canceled)
		}
		eventually(t, "the slot is free", func() bool { return len(r.slots) == 0 })
	}
	if _, err := r.exchange(t.Context(), methodGenerate, whole(ok)...); err != nil {
		t.Error(err)
	}
	eventually(t, "all of them are in the log", func() bool { return strings.Count(r.logged(), `"outcome":"canceled"`) == len(methods) })
}

// What the transport refuses is a fault of the stream, and says so.
func TestRefusedMessage(t *testing.T) {
	t.Parallel()
	s := New(Options{Log: discard(), Now: time.Now, NewID: func() string { return "" }, Explain: error.Error})
	stream := &fakeStream{ctx: t.Context(), messages: whole(good(t))[:1], end: status.Error(codes.ResourceExhausted, "message larger than max")}
	err := (&service{s}).GenerateManifest(stream)
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "larger than max") {
		t.Errorf("got error %v, want %s", err, codes.InvalidArgument)
	}
}

// An answer that Argo CD would not take is refused here, where the size can be
// told.
func TestAnswerIsTooLarge(t *testing.T) { // not parallel: the bound is a variable of Argo CD's package
	was := apiclient.MaxGRPCMessageSize
	t.Cleanup(func() { apiclient.MaxGRPCMessageSize = was })
	apiclient.MaxGRPCMessageSize = 2000
	r := start(t, nil)
	archive := tgz(t, regular("app/a.yaml", configMap("web", strings.Repeat("b", 4000))))
	_, err := r.exchange(t.Context(), methodGenerate, whole(archive)...)
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "more than the 2000 that Argo CD takes from a plugin") {
		t.Errorf("got error %v, want %s", err, codes.FailedPrecondition)
	}
}
