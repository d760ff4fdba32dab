package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/cluster"
	"hallmark.dev/hallmark/e2e/process"
	"hallmark.dev/hallmark/e2e/wait"
)

// repoServer is Argo CD's repo-server with redis. To render it needs no cluster.
type repoServer struct {
	*argocd.ArgoCD // without a cluster and a controller: only its sidecars are used
	connection     *grpc.ClientConn
}

func startRepoServer(b *testing.B) *repoServer {
	b.Helper()
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		b.Fatal(err)
	}
	dir := cluster.TempDir(b)
	s := &repoServer{ArgoCD: &argocd.ArgoCD{
		Release: argocd.Releases[0], Bin: bin, Plugins: filepath.Join(dir, "plugins"),
		Cluster: &cluster.Cluster{Dir: dir, Logs: filepath.Join(dir, "logs")},
	}}
	path := filepath.Join(dir, "path")
	for _, d := range []string{s.Plugins, s.Cluster.Logs, path} {
		if err := os.Mkdir(d, 0o700); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.Symlink(s.program(b, "helm3"), filepath.Join(path, "helm")); err != nil {
		b.Fatal(err)
	}
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		b.Fatal(err)
	}
	ports := cluster.Ports(b, 3)
	process.Start(b, process.Program{
		Name: "redis", Path: redis, Home: dir, Logs: s.Cluster.Logs,
		Args: []string{"--bind", "127.0.0.1", "--port", fmt.Sprint(ports[0]), "--save", "", "--appendonly", "no"},
	})
	address := fmt.Sprintf("127.0.0.1:%d", ports[1])
	server := process.Start(b, process.Program{
		Name: "repo-server", Path: s.program(b, s.Release.Program()), Home: dir, Logs: s.Cluster.Logs,
		Args: []string{
			"--redis", fmt.Sprintf("127.0.0.1:%d", ports[0]), "--disable-tls", "--address", "127.0.0.1", "--port", fmt.Sprint(ports[1]),
			"--metrics-address", "127.0.0.1", "--metrics-port", fmt.Sprint(ports[2]),
		},
		Env: []string{
			"PATH=" + path + ":" + os.Getenv("PATH"), "ARGOCD_BINARY_NAME=argocd-repo-server", "ARGOCD_GPG_ENABLED=false",
			"ARGOCD_PLUGINSOCKFILEPATH=" + s.Plugins, "ARGOCD_ASK_PASS_SOCK=" + filepath.Join(dir, "askpass.sock"),
			"ARGOCD_SSH_DATA_PATH=" + dir, "ARGOCD_TLS_DATA_PATH=" + dir,
		},
	})
	s.connection, err = grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(codec{}), grpc.MaxCallRecvMsgSize(largest)))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.connection.Close() })
	wait.Until(b, time.Minute, "repo-server answers", func() error {
		if err := server.Ended(); err != nil {
			return err
		}
		return s.connection.Invoke(context.Background(), "/grpc.health.v1.Health/Check", &message{}, &message{})
	}, server.Tail)
	return s
}

// program returns the path of one of the programs that `make bench-argocd` builds.
func (s *repoServer) program(b *testing.B, name string) string {
	b.Helper()
	file := filepath.Join(s.Bin, name)
	if _, err := os.Stat(file); err != nil {
		b.Fatalf("%v: run make bench-argocd", err)
	}
	return file
}

// servePlugin starts an argocd-cmp-server that runs a command.
func (s *repoServer) servePlugin(b *testing.B, name string, command ...string) {
	b.Helper()
	config, err := json.Marshal(map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ConfigManagementPlugin", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"generate": map[string]any{"command": command}},
	})
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plugin.yaml"), config, 0o600); err != nil {
		b.Fatal(err)
	}
	s.ServeExec(b, name, dir)
}

// request is what Argo CD's controller asks of repo-server about an application
// at the newest commit.
type request struct {
	app, repo, path string
	// plugin renders it; empty for native Helm.
	plugin string
	// replicas is the value of the chart that is given as a parameter.
	replicas int
}

const (
	namespace   = "shop"
	kubeVersion = "1.33"
)

var apiVersions = []string{"v1", "apps/v1", "batch/v1", "policy/v1", "autoscaling/v2", "networking.k8s.io/v1", "rbac.authorization.k8s.io/v1"}

// encode makes a ManifestRequest of it.
func (r request) encode() message {
	source := message{}.text(1, r.repo).text(2, r.path).text(4, "main")
	value := message{}.text(1, "replicas").text(2, fmt.Sprint(r.replicas))
	if r.plugin == "" {
		source = source.message(7, message{}.message(2, value)) // helm, parameters
	} else {
		parameter := message{}.text(1, "helm-parameters").message(3, message{}.message(1, value)) // map
		source = source.message(11, message{}.text(1, r.plugin).message(3, parameter))
	}
	m := message{}.message(1, message{}.text(1, r.repo)).text(2, "main").
		flag(3). // noCache
		text(4, "app.kubernetes.io/instance").text(5, r.app).text(8, namespace).
		message(10, source).text(14, kubeVersion)
	for _, v := range apiVersions {
		m = m.text(15, v)
	}
	return m
}

// environ are the variables that a plugin gets for the request.
func (r request) environ() []string {
	return []string{
		"ARGOCD_APP_NAME=" + r.app, "ARGOCD_APP_NAMESPACE=" + namespace, "ARGOCD_APP_REVISION=" + strings.Repeat("0", 40),
		"ARGOCD_APP_SOURCE_PATH=" + r.path, "ARGOCD_APP_SOURCE_REPO_URL=" + r.repo, "ARGOCD_APP_SOURCE_TARGET_REVISION=main",
		fmt.Sprintf(`ARGOCD_APP_PARAMETERS=[{"name":"helm-parameters","map":{"replicas":"%d"}}]`, r.replicas),
		"KUBE_VERSION=" + kubeVersion, "KUBE_API_VERSIONS=" + strings.Join(apiVersions, ","),
	}
}

// generate calls GenerateManifest.
func (s *repoServer) generate(r request) (message, error) {
	in, out := r.encode(), message{}
	if err := s.connection.Invoke(context.Background(), "/repository.RepoServerService/GenerateManifest", &in, &out); err != nil {
		return nil, fmt.Errorf("plugin %q: %w", r.plugin, err)
	}
	return out, nil
}
