package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v2/util/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
)

// served is a `hallmark serve` that runs.
type served struct {
	*exec.Cmd
	socket, http string
	connection   *grpc.ClientConn

	mu    sync.Mutex
	log   bytes.Buffer
	ended chan struct{} // closed when the log is complete
}

func (s *served) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// serve starts the command with a socket in dir, and waits until it serves.
func serve(t *testing.T, dir string, flags ...string) *served {
	t.Helper()
	return serveWith(t, nil, dir, flags...)
}

// serveWith is serve in another environment.
func serveWith(t *testing.T, environ []string, dir string, flags ...string) *served {
	t.Helper()
	s := &served{
		Cmd:   exec.Command("hallmark", append([]string{"serve", "--plugins-dir", dir, "--http-address", "127.0.0.1:0", "--drain-delay", "0s"}, flags...)...),
		ended: make(chan struct{}),
	}
	s.Env = environ
	stderr, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.ProcessState == nil {
			_ = s.Process.Kill()
			_ = s.Wait()
		}
	})
	serving := make(chan bool, 1)
	go func() {
		defer close(s.ended)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			s.mu.Lock()
			fmt.Fprintf(&s.log, "%s\n", lines.Bytes())
			s.mu.Unlock()
			var line struct{ Msg, Address, Socket string }
			_ = json.Unmarshal(lines.Bytes(), &line) // what is no JSON is for the log
			switch line.Msg {
			case "serving metrics and probes":
				s.http = line.Address
			case "serving":
				s.socket = line.Socket
				serving <- true
			}
		}
		close(serving)
	}()
	if !<-serving {
		t.Fatalf("it does not serve:\n%s", s.logged())
	}
	s.connection, err = grpc.NewClient("unix:"+s.socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(100<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.connection.Close() })
	return s
}

// stop ends it as kubelet does, and returns its exit code.
func (s *served) stop(t *testing.T) int {
	t.Helper()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-s.ended    // Wait closes the pipe, read or not
	_ = s.Wait() // the code says it
	return s.ProcessState.ExitCode()
}

// get asks for a page.
func (s *served) get(t *testing.T, page string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.http+page, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// sender is what Argo CD's SendRepoStream takes. Its message is of a package that
// is plugin/server's alone, so the type is taken from a function that makes one.
type sender[T any] struct{ grpc.ClientStream }

func (s sender[T]) Send(m T) error { return s.SendMsg(m) }

func senderOf[T any](stream grpc.ClientStream, _ func([]byte) T) sender[T] { return sender[T]{stream} }

// call sends the folder root with the application in app, as repo-server does, and
// returns the answer as it is on the wire.
func (s *served) call(ctx context.Context, method, root, app string, entries []string) ([]byte, error) {
	stream, err := s.connection.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, "/plugin.ConfigManagementPluginService/"+method, grpc.WaitForReady(true))
	if err != nil {
		return nil, err
	}
	if err := cmp.SendRepoStream(ctx, filepath.Join(root, app), root, senderOf(stream, cmp.AppFileRequest), entries, nil); err != nil {
		return nil, err
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	var answer emptypb.Empty
	if err := stream.RecvMsg(&answer); err != nil {
		return nil, err
	}
	return answer.ProtoReflect().GetUnknown(), nil
}

// generate returns the manifests.
func (s *served) generate(ctx context.Context, root, app string, entries []string) ([]string, error) {
	data, err := s.call(ctx, "GenerateManifest", root, app, entries)
	if err != nil {
		return nil, err
	}
	// The answer is one field: a list of strings, number 1.
	var manifests []string
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 || number != 1 || kind != protowire.BytesType {
			return nil, fmt.Errorf("field %d of type %d in the answer", number, kind)
		}
		text, m := protowire.ConsumeString(data[n:])
		if m < 0 {
			return nil, protowire.ParseError(m)
		}
		manifests = append(manifests, text)
		data = data[n+m:]
	}
	return manifests, nil
}

// sockets is a folder with a short path, as that of a socket has to be.
func sockets(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// write makes files below a folder of the test.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// execute runs `hallmark generate -o json` as argocd-cmp-server does: in a copy of
// what was sent, in a folder with a random name, with the entries on top of its
// own environment.
func execute(t *testing.T, root, app string, entries []string) (stdout, stderr string) {
	t.Helper()
	work := t.TempDir()
	copied := filepath.Join(work, "_cmp_server", "5cb0a5a8-random")
	if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(copied, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "hallmark", "generate", "-o", "json")
	cmd.Dir = filepath.Join(copied, app)
	cmd.Env = append(os.Environ(), "ARGOCD_CMP_WORKDIR="+work)
	for _, e := range entries {
		if !strings.HasSuffix(e, "=") { // those without a value are left out
			cmd.Env = append(cmd.Env, e)
		}
	}
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return out.String(), messages.String()
}

// Both modes give the same bytes, from memory too, or the same reason.
func TestModes(t *testing.T) {
	t.Parallel()
	s := serve(t, sockets(t))
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	broken := write(t, map[string]string{
		"empty/README.md": "nothing here\n", "values.yaml": "a: b\n",
		"chart/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "chart/templates/a.yaml": "a: {{ .Values.a.b.c }}\n",
		"twice/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "twice/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	})
	linked := write(t, map[string]string{"sub/real/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
	if err := os.Symlink("sub/real", filepath.Join(linked, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(linked, "sub", "link")); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		root       string // what is sent
		app        string // the folder in it
		path       string // and in the repository, where that is more
		parameters string
		refused    string
	}{
		"helm3":                     {root: examples, app: "checkout"},
		"helm4":                     {root: examples, app: "checkout", parameters: `[{"name":"renderer","string":"helm4"}]`},
		"value files":               {root: examples, app: "checkout", parameters: `[{"name":"value-files","array":["values-production.yaml"]},{"name":"helm-parameters","map":{"image.version":"$ARGOCD_APP_REVISION_SHORT"}}]`},
		"kustomize":                 {root: examples, app: "checkout-kustomize/overlays/production"},
		"plain":                     {root: examples, app: "checkout-plain"},
		"plain, recursive":          {root: examples, app: "checkout-plain", parameters: `[{"name":"directory-recurse","string":"true"}]`},
		"a part, and a chart in it": {root: filepath.Join(examples, "checkout"), app: ".", path: "examples/checkout", parameters: `[{"name":"value-files","array":["/examples/checkout/values-production.yaml"]}]`},
		"a part, and a folder deep": {root: filepath.Join(examples, "checkout-kustomize"), app: "overlays/production", path: "checkout-kustomize/overlays/production"},
		"a part too small":          {root: filepath.Join(examples, "checkout-kustomize", "overlays", "production"), app: ".", path: "overlays/production", refused: "hallmark: error: "},
		"a folder that is a link":   {root: linked, app: "link"},
		"a link in a part":          {root: filepath.Join(linked, "sub"), app: "link", path: "sub/link"},
		"another path":              {root: examples, app: "checkout", path: "other"},
		"missing value file":        {root: examples, app: "checkout", parameters: `[{"name":"value-files","array":["none.yaml"]}]`, refused: "none.yaml"},
		"value file outside":        {root: examples, app: "checkout", parameters: `[{"name":"value-files","array":["../../values.yaml"]}]`, refused: "hallmark: error: "},
		"unknown parameter":         {root: examples, app: "checkout", parameters: `[{"name":"value-file","string":"x"}]`, refused: `unknown parameter "value-file"`},
		"broken parameters":         {root: examples, app: "checkout", parameters: `[`, refused: "parameters: byte 1: not valid JSON"},
		"no parameters":             {root: examples, app: "checkout", parameters: " "},
		"empty":                     {root: broken, app: "empty", refused: "hallmark: error: "},
		"template":                  {root: broken, app: "chart", refused: "c/templates/a.yaml:1:"},
		"two faults":                {root: broken, app: "twice", refused: `ConfigMap "a"`},
		"the root":                  {root: broken, app: ".", refused: "hallmark: error: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := tt.path
			if path == "" {
				path = tt.app
			}
			for _, revision := range []string{"0123456789abcdef", "fedcba9876543210"} {
				entries := []string{
					"ARGOCD_APP_NAME=team-a_checkout", "ARGOCD_APP_NAMESPACE=shop", "ARGOCD_APP_PROJECT_NAME=team-a", "ARGOCD_APP_REVISION=" + revision,
					"ARGOCD_APP_REVISION_SHORT=" + revision[:7], "ARGOCD_APP_SOURCE_REPO_URL=https://git.example.com/shop.git", "ARGOCD_APP_SOURCE_PATH=" + path,
					"ARGOCD_APP_SOURCE_TARGET_REVISION=main", "KUBE_VERSION=1.33", "KUBE_API_VERSIONS=apps/v1,apps/v1/Deployment", "ARGOCD_APP_PARAMETERS=" + tt.parameters,
				}
				manifests, err := s.generate(t.Context(), tt.root, tt.app, entries)
				stdout, stderr := execute(t, tt.root, tt.app, entries)
				var lines strings.Builder
				for _, m := range manifests {
					lines.WriteString(m + "\n")
				}
				if (err != nil) != (tt.refused != "") || (err == nil) != (stdout != "") {
					t.Fatalf("got error %v, and from the command %q", err, stderr)
				}
				if err == nil && !strings.Contains(stdout, revision) {
					t.Errorf("got no revision in\n%s", stdout)
				}
				if lines.String() != stdout {
					t.Errorf("served\n%s\ngenerated\n%s", lines.String(), stdout)
				}
				if text := status.Convert(err).Message(); err != nil && (text != strings.TrimSpace(stderr) || !strings.Contains(text, tt.refused)) {
					t.Errorf("served    %q\ngenerated %q\nwant %q in both", text, stderr, tt.refused)
				}
			}
		})
	}
}

// What kubelet and an operator see from start to end.
func TestServe(t *testing.T) {
	t.Parallel()
	dir := sockets(t)
	s := serve(t, dir, "--name", "hallmark", "--plugin-version", "v1")
	if want := filepath.Join(dir, "hallmark-v1.sock"); s.socket != want {
		t.Errorf("got socket %s, want %s", s.socket, want)
	}
	for _, page := range []string{"/healthz", "/readyz", "/metrics"} {
		code, _ := s.get(t, page)
		// The line of the log is the one before it is ready.
		for deadline := time.Now().Add(time.Minute); code != http.StatusOK && time.Now().Before(deadline); code, _ = s.get(t, page) {
			time.Sleep(time.Millisecond)
		}
		if code != http.StatusOK {
			t.Errorf("got %d from %s, want %d", code, page, http.StatusOK)
		}
	}
	if _, text := s.get(t, "/metrics"); !strings.Contains(text, `hallmark_build_info{helm3="v3.`) {
		t.Errorf("the metrics do not tell what is compiled in:\n%s", text)
	}
	second := exec.CommandContext(t.Context(), "hallmark", "serve", "--plugins-dir", dir, "--plugin-version", "v1", "--http-address", "")
	text, err := second.CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != exitFailed || !strings.HasPrefix(string(text), "hallmark: error: a server is running on ") {
		t.Errorf("got error %v from a second server, and %s", err, text)
	}
	if code := s.stop(t); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
	if _, err := os.Lstat(s.socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if !strings.HasSuffix(s.logged(), `"msg":"stopped"}`+"\n") {
		t.Errorf("got log %s", s.logged())
	}
}

// endlessSlots is how many renders a server has that holdSlots occupies.
const endlessSlots = 3

// holdSlots asks for what has no end until the server says that all slots are held, and
// reports whether an error said why a request ended.
func (s *served) holdSlots(t *testing.T, root string, entries []string) (heard bool) {
	t.Helper()
	held := func() bool {
		code, text := s.get(t, "/healthz")
		return code == http.StatusServiceUnavailable && strings.Contains(text, "all 3 slots are held by renders")
	}
	// On a machine that is busy with other things a request may come too late to get
	// a slot, or to hear why it ended.
	const tries = 10 * endlessSlots
	for try := 0; try < endlessSlots || !held(); try++ {
		if try == tries {
			t.Fatalf("after %d requests the slots are not all held", tries)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := s.generate(ctx, root, "endless", entries)
		cancel()
		// Those that come before the last slot counts as held wait for one.
		if code := status.Code(err); code != codes.DeadlineExceeded && (code != codes.ResourceExhausted || try < endlessSlots) {
			t.Fatalf("got error %v, want %s", err, codes.DeadlineExceeded)
		}
		if strings.Contains(err.Error(), "hallmark: error: the request is not done before Argo CD's deadline") {
			heard = true
		}
	}
	return heard
}

// A template without an end: the user reads why while Argo CD still waits, the
// server asks to be started anew once all slots are gone, and its successor
// takes over the socket of a server that was killed.
func TestServeEndlessTemplates(t *testing.T) {
	t.Parallel()
	dir := sockets(t)
	root := write(t, map[string]string{
		"endless/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "endless/templates/a.yaml": "{{ range until 1000000 }}{{ range until 1000000 }}{{ end }}{{ end }}\n",
		"fine/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	})
	entries := []string{"ARGOCD_APP_NAME=web", "ARGOCD_APP_NAMESPACE=shop"}
	heard := false
	for servers := 0; !heard; servers++ {
		// The renders can leave no processor to whoever asked, who gives up before it hears.
		if servers == 5 {
			t.Fatal("no error says why")
		}
		s := serve(t, dir, "--max-in-flight", fmt.Sprint(endlessSlots))
		heard = s.holdSlots(t, root, entries)
		if err := s.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = s.Wait() // killed
	}

	next := serve(t, dir)
	if manifests, err := next.generate(t.Context(), root, "fine", entries); err != nil || len(manifests) != 1 {
		t.Errorf("got %d manifests, error %v from the next server", len(manifests), err)
	}
	if code := next.stop(t); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
}
