package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v2/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v2/util/cmp"

	"hallmark.dev/hallmark/plugin"
)

// running is a server on a socket of its own, with what it logged.
type running struct {
	*Server
	client apiclient.ConfigManagementPluginServiceClient
	socket string
	stop   func() error // drains, and returns what Serve does

	mu  sync.Mutex
	log strings.Builder
}

func (r *running) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(p)
}

func (r *running) logged() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// start serves with the options that change made of the defaults.
func start(t *testing.T, change func(*Options)) *running {
	t.Helper()
	r := &running{}
	o := Options{
		Cache: plugin.NewCache(64 << 20), InFlight: 4, DrainTimeout: 10 * time.Second, Version: "test",
		Log: slog.New(slog.NewJSONHandler(r, nil)), Now: time.Now,
		NewID: func() string { return "id" }, Explain: func(err error) string { return "hallmark: error: " + err.Error() },
	}
	if change != nil {
		change(&o)
	}
	// Not t.TempDir(): its path can be longer than a socket's may be.
	dir, err := os.MkdirTemp("", "hm")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := Listen(t.Context(), dir, "hallmark", "")
	if err != nil {
		t.Fatal(err)
	}
	r.socket = listener.Addr().(*net.UnixAddr).Name
	r.Server = New(o)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, listener) }()
	r.stop = sync.OnceValue(func() error { cancel(); return <-served })
	closer, client, err := apiclient.NewConfigManagementPluginClientSet(r.socket).NewConfigManagementPluginClient()
	if err != nil {
		t.Fatal(err)
	}
	r.client = client
	t.Cleanup(func() {
		if err := closer.Close(); err != nil {
			t.Error(err)
		}
		_ = r.stop()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return r
}

// checkout writes files into a folder and returns it.
func checkout(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// env is what Argo CD says of an application.
func env(more ...string) []string {
	return append([]string{
		"ARGOCD_APP_NAME=web", "ARGOCD_APP_NAMESPACE=shop", "ARGOCD_APP_REVISION=0123456789abcdef",
		"ARGOCD_APP_SOURCE_PATH=app", "KUBE_VERSION=1.33",
	}, more...)
}

// generate sends a repository as repo-server does.
func (r *running) generate(ctx context.Context, root string, entries []string) (*apiclient.ManifestResponse, error) {
	stream, err := r.client.GenerateManifest(ctx)
	if err != nil {
		return nil, err
	}
	if err := cmp.SendRepoStream(ctx, filepath.Join(root, "app"), root, stream, entries, nil); err != nil {
		return nil, err
	}
	return stream.CloseAndRecv()
}

const chartYAML = "apiVersion: v2\nname: web\nversion: 1.0.0\n"

func configMap(name, body string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata:\n  a: " + body + "\n"
}

func TestGenerateManifest(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	root := checkout(t, map[string]string{
		"app/Chart.yaml": chartYAML, "app/values.yaml": "a: b\n", "app/templates/c.yaml": configMap("web", "{{ .Values.a }}"),
	})
	response, err := r.generate(t.Context(), root, env())
	if err != nil {
		t.Fatal(err)
	}
	if len(response.Manifests) != 1 {
		t.Fatalf("got %d manifests, want 1", len(response.Manifests))
	}
	var object struct {
		Metadata struct{ Annotations map[string]string }
		Data     map[string]string
	}
	if err := json.Unmarshal([]byte(response.Manifests[0]), &object); err != nil {
		t.Fatal(err)
	}
	if object.Data["a"] != "b" || object.Metadata.Annotations["hallmark.dev/source-revision"] != "0123456789abcdef" {
		t.Errorf("got %s", response.Manifests[0])
	}
	var line struct{ Msg, RenderHash string }
	if err := json.Unmarshal([]byte(lastLine(r.logged())), &line); err != nil {
		t.Fatal(err)
	}
	if line.Msg != "generated" || line.RenderHash != object.Metadata.Annotations["hallmark.dev/render-hash"] {
		t.Errorf("got log %s", r.logged())
	}
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndex(s, "\n")+1:]
}
