// Package argocd runs an Argo CD against a cluster of package cluster: redis,
// repo-server and application-controller as an installation has them, the
// plugins beside repo-server, and the git repositories and Applications of a
// test.
package argocd

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hallmark.dev/hallmark/e2e/cluster"
	"hallmark.dev/hallmark/e2e/process"
	"hallmark.dev/hallmark/e2e/wait"
)

// A Release is an Argo CD to run.
type Release struct {
	// Version names it, such as "2.14"; its program is argocd-<Version>.
	Version string
	// Module and tools are where its CRDs are found.
	module, tools string
}

// Releases are the Argo CDs that hallmark is proven on.
var Releases = []Release{
	{Version: "2.14", module: "github.com/argoproj/argo-cd/v2", tools: "argocd2"},
	{Version: "3.2", module: "github.com/argoproj/argo-cd/v3", tools: "argocd3"},
}

// Program is the file name of the release's one program for everything.
func (r Release) Program() string { return "argocd-" + r.Version }

// ModuleDir is the folder of the release's module in the module cache, where its
// manifests are. Root is the folder of hallmark's repository.
func (r Release) ModuleDir(root string) (string, error) {
	c := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", r.module)
	c.Dir = filepath.Join(root, "tools", r.tools)
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", r.module, err)
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		return "", fmt.Errorf("the module %s is not downloaded: run go mod download in %s", r.module, c.Dir)
	}
	return dir, nil
}

// Namespace is where Argo CD's own objects and the Applications live.
const Namespace = "argocd"

// An ArgoCD is a running Argo CD.
type ArgoCD struct {
	Release Release
	Cluster *cluster.Cluster
	// Bin is the folder of the programs, Root that of hallmark's repository.
	Bin, Root string
	// Plugins is the folder of the sockets that repo-server looks into.
	Plugins string
	// RepoServer is repo-server's address.
	RepoServer string

	controller, repoServer *process.Process
	path                   string // PATH with the released helm and kustomize on it
	env                    []string
}

// Start starts the release in a cluster, from the programs in bin. Root is the
// folder of hallmark's repository. Env sets options of the programs by their
// variables, over those that the package sets. It stops with the test.
func Start(t testing.TB, c *cluster.Cluster, release Release, bin, root string, env ...string) *ArgoCD {
	t.Helper()
	a := &ArgoCD{Release: release, Cluster: c, Bin: absolute(t, bin), Root: absolute(t, root), Plugins: filepath.Join(c.Dir, "plugins"), env: env}
	if err := os.Mkdir(a.Plugins, 0o700); err != nil {
		t.Fatal(err)
	}
	a.path = a.linkTools(t) + ":" + os.Getenv("PATH")
	if err := a.install(t); err != nil {
		t.Fatal(err)
	}
	ports := cluster.Ports(t, 4)
	redis, repoServer, repoServerMetrics, controllerMetrics := ports[0], ports[1], ports[2], ports[3]
	redisAddress := fmt.Sprintf("127.0.0.1:%d", redis)
	a.RepoServer = fmt.Sprintf("127.0.0.1:%d", repoServer)

	server, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	process.Start(t, process.Program{
		Name: "redis", Path: server, Home: c.Dir, Logs: c.Logs,
		Args: []string{"--bind", "127.0.0.1", "--port", fmt.Sprint(redis), "--save", "", "--appendonly", "no"},
	})
	a.repoServer = a.start(t, "repo-server",
		"--redis", redisAddress, "--disable-tls",
		"--address", "127.0.0.1", "--port", fmt.Sprint(repoServer),
		"--metrics-address", "127.0.0.1", "--metrics-port", fmt.Sprint(repoServerMetrics))
	// Applications are compared when something changed or a test asks: with
	// the usual interval a test could not tell what a comparison came from.
	// The metrics address of the controller cannot be set.
	a.controller = a.start(t, "application-controller",
		"--kubeconfig", c.Kubeconfig, "--namespace", Namespace, "--redis", redisAddress,
		"--repo-server", a.RepoServer, "--repo-server-plaintext",
		"--metrics-port", fmt.Sprint(controllerMetrics), "--app-resync", "86400")
	a.waitHealthy(t, a.repoServer, repoServerMetrics)
	a.waitHealthy(t, a.controller, controllerMetrics)
	return a
}

// start starts one of the programs that Argo CD's binary holds.
func (a *ArgoCD) start(t testing.TB, name string, args ...string) *process.Process {
	t.Helper()
	return process.Start(t, process.Program{
		Name: name, Path: filepath.Join(a.Bin, a.Release.Program()), Args: args, Home: a.Cluster.Dir, Logs: a.Cluster.Logs,
		Env: append([]string{
			"PATH=" + a.path,
			"ARGOCD_BINARY_NAME=argocd-" + name,
			"ARGOCD_PLUGINSOCKFILEPATH=" + a.Plugins,
			"ARGOCD_GPG_ENABLED=false",
			"ARGOCD_SYNC_WAVE_DELAY=0", // 2 s else, for other controllers than the ones here
			// A minute and less else, for machines that do nothing beside it: what
			// runs out of time is not tried again before a test asks.
			"ARGOCD_EXEC_TIMEOUT=" + wait.Limit.String(),
			"ARGOCD_GIT_REQUEST_TIMEOUT=" + wait.Limit.String(),
			fmt.Sprintf("ARGOCD_APPLICATION_CONTROLLER_REPO_SERVER_TIMEOUT_SECONDS=%.0f", wait.Limit.Seconds()),
			// What an image has below /app and /tmp.
			"ARGOCD_ASK_PASS_SOCK=" + filepath.Join(a.Cluster.Dir, "askpass.sock"),
			"ARGOCD_SSH_DATA_PATH=" + a.Cluster.Dir,
			"ARGOCD_TLS_DATA_PATH=" + a.Cluster.Dir,
		}, a.env...), // of two of a name the last counts
	})
}

// processes are Argo CD's own, which must live for the whole test.
func (a *ArgoCD) processes() []*process.Process {
	return []*process.Process{a.controller, a.repoServer}
}

func (a *ArgoCD) waitHealthy(t testing.TB, p *process.Process, port int) {
	t.Helper()
	wait.Until(t, "Argo CD "+a.Release.Version+" is healthy", func() error {
		if err := p.Ended(); err != nil {
			return err
		}
		response, err := http.Get(cluster.Loopback("http", port) + "/healthz")
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	}, p.Tail)
}

// linkTools makes a folder in which the released programs have the names that
// repo-server calls them by.
func (a *ArgoCD) linkTools(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(a.Cluster.Dir, "path")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, program := range map[string]string{"helm": "helm3", "kustomize": "kustomize"} {
		if err := os.Symlink(filepath.Join(a.Bin, program), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// install makes what an installation of Argo CD has in the cluster. Its
// argocd-cm is the one that hallmark ships, so that its rule is what is tested.
func (a *ArgoCD) install(t testing.TB) error {
	t.Helper()
	module, err := a.Release.ModuleDir(a.Root)
	if err != nil {
		return err
	}
	for _, name := range []string{"application", "appproject", "applicationset"} {
		data, err := os.ReadFile(filepath.Join(module, "manifests", "crds", name+"-crd.yaml"))
		if err != nil {
			return err
		}
		path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + name + "s.argoproj.io"
		if err := a.Cluster.ApplyYAML(path, data); err != nil {
			return err
		}
	}
	type object = cluster.Object
	meta := func(name string, labels ...string) object {
		m := object{"app.kubernetes.io/part-of": "argocd"}
		for _, l := range labels {
			key, value, _ := strings.Cut(l, "=")
			m[key] = value
		}
		return object{"namespace": Namespace, "name": name, "labels": m}
	}
	if err := a.Cluster.Apply(object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": Namespace}}); err != nil {
		return err
	}
	if err := a.applySettings(); err != nil {
		return err
	}
	access, err := json.Marshal(object{"bearerToken": a.Cluster.Token, "tlsClientConfig": object{"caData": a.Cluster.CA}})
	if err != nil {
		return err
	}
	for _, o := range []object{
		{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("argocd-rbac-cm")},
		{"apiVersion": "v1", "kind": "Secret", "metadata": meta("argocd-secret"), "stringData": object{"server.secretkey": "of no use without argocd-server"}},
		{"apiVersion": "v1", "kind": "Secret", "metadata": meta("cluster-e2e", "argocd.argoproj.io/secret-type=cluster"),
			"stringData": object{"name": "e2e", "server": a.Cluster.URL, "config": string(access)}},
	} {
		if err := a.Cluster.Apply(o); err != nil {
			return err
		}
	}
	wait.Until(t, "the API server serves AppProjects", func() error {
		return a.Cluster.Apply(object{"apiVersion": apiVersion, "kind": "AppProject", "metadata": meta("default"), "spec": object{
			"sourceRepos":              []string{"*"},
			"destinations":             []object{{"server": "*", "namespace": "*"}},
			"clusterResourceWhitelist": []object{{"group": "*", "kind": "*"}},
		}})
	}, nil)
	return nil
}

func (a *ArgoCD) applySettings() error {
	data, err := os.ReadFile(filepath.Join(a.Root, "manifests", "argocd-cm", "argocd-cm.yaml"))
	if err != nil {
		return err
	}
	const path = "/api/v1/namespaces/" + Namespace + "/configmaps/argocd-cm"
	if err := a.Cluster.ApplyYAML(path, data); err != nil {
		return err
	}
	return a.Cluster.Patch(path, cluster.MergePatch, cluster.Object{"metadata": cluster.Object{"labels": cluster.Object{"app.kubernetes.io/part-of": "argocd"}}})
}

func absolute(t testing.TB, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}
