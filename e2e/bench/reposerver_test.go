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

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/cluster"
	"hallmark.dev/hallmark/e2e/process"
	"hallmark.dev/hallmark/e2e/reposerver"
	"hallmark.dev/hallmark/e2e/wait"
)

// repoServer is Argo CD's repo-server with redis. To render it needs no cluster.
type repoServer struct {
	*argocd.ArgoCD // without a cluster and a controller: only its sidecars are used
	client         *reposerver.Client
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
	s.client = reposerver.NewClient(b, address)
	wait.Until(b, "repo-server answers", func() error {
		if err := server.Ended(); err != nil {
			return err
		}
		return s.client.Healthy(context.Background())
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
func (r request) encode() reposerver.Message {
	source := reposerver.Message{}.Text(1, r.repo).Text(2, r.path).Text(4, "main")
	value := reposerver.Message{}.Text(1, "replicas").Text(2, fmt.Sprint(r.replicas))
	if r.plugin == "" {
		source = source.Message(7, reposerver.Message{}.Message(2, value)) // helm, parameters
	} else {
		parameter := reposerver.Message{}.Text(1, "helm-parameters").Message(3, reposerver.Message{}.Message(1, value)) // map
		source = source.Message(11, reposerver.Message{}.Text(1, r.plugin).Message(3, parameter))
	}
	m := reposerver.Message{}.Message(1, reposerver.Message{}.Text(1, r.repo)).Text(2, "main").
		Flag(3). // noCache
		Text(4, "app.kubernetes.io/instance").Text(5, r.app).Text(8, namespace).
		Message(10, source).Text(14, kubeVersion)
	for _, v := range apiVersions {
		m = m.Text(15, v)
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
func (s *repoServer) generate(r request) (reposerver.Message, error) {
	answer, err := s.client.GenerateManifest(context.Background(), r.encode())
	if err != nil {
		return nil, fmt.Errorf("plugin %q: %w", r.plugin, err)
	}
	return answer, nil
}
