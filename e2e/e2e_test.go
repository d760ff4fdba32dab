package e2e

import (
	"cmp"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/cluster"
)

var bin = flag.String("bin", "../bin", "`folder` of the programs")

// root is the folder of hallmark's repository.
const root = ".."

// plugin is the name of the sidecar that scenarios share.
const plugin = "hallmark"

func TestMain(m *testing.M) {
	flag.Parse()
	// Scenarios wait most of the time, so more of them run than there are
	// processors, unless the command line says otherwise.
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", "6"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// A scenario is one named test, run for each release.
type scenario struct {
	name string
	run  func(*testing.T, *env)
}

var scenarios = []scenario{
	// The longest first.
	{"large-repository", largeRepository},
	{"upgrade", upgrade},
	{"derived", derived},
	{"fleet", fleet},
	{"killed", killed},
	{"policed", policed},
	{"linted", linted},
	{"sealed", sealed},
	{"landlocked", landlocked},
	{"forms", forms},
	{"native", native},
	{"unplaced", unplaced},
	{"unrelated-commit", unrelatedCommit},
	{"server-side-apply", serverSideApply},
	{"one-value", oneValue},
	{"renderer-change", rendererChange},
	{"refused", refused},
	{"large-parameter", largeParameter},
	{"exec", execMode},
	{"ui", ui},
}

func TestArgoCD(t *testing.T) {
	needPrograms(t, "etcd", "kube-apiserver", "kube-controller-manager", "argocd-2.14", "argocd-3.2", "helm3", "kustomize", "sops", "hallmark")
	needCommands(t, "redis-server", "git", "go", "sh")
	dir := t.TempDir()
	upgraded := sync.OnceValues(func() (string, error) { return buildUpgraded(dir) })
	for _, release := range argocd.Releases {
		t.Run(release.Version, func(t *testing.T) {
			c := cluster.Start(t, *bin)
			e := &env{ArgoCD: argocd.Start(t, c, release, *bin, root), upgraded: upgraded}
			e.sidecar = e.Serve(t, plugin, "")
			e.kubeVersion, e.apiVersions = probe(t, e.ArgoCD)
			for _, s := range scenarios {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					s.run(t, e)
				})
			}
		})
	}
}

// needPrograms skips the test if a program is not built, and fails it in CI.
func needPrograms(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(*bin, name)); err != nil {
			missing(t, "the program %s is not in %s: run `make e2e-tools build`", name, *bin)
		}
	}
}

// needCommands does the same for what the machine must have.
func needCommands(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			missing(t, "the command %s is not installed", name)
		}
	}
}

func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// env is what scenarios share: one Argo CD with one sidecar.
type env struct {
	*argocd.ArgoCD
	sidecar *argocd.Sidecar
	// What Argo CD tells plugins of the cluster.
	kubeVersion string
	apiVersions []string
	// upgraded builds another hallmark, once, and returns its path.
	upgraded func() (string, error)
}

// probePlugin answers with what it was told, as a ConfigMap.
const probePlugin = `apiVersion: argoproj.io/v1alpha1
kind: ConfigManagementPlugin
metadata:
  name: probe
spec:
  generate:
    command: [sh, -c]
    args:
      - |
        printf '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"}, "data": {"kubeVersion": "%s", "apiVersions": "%s"}}' "$KUBE_VERSION" "$KUBE_API_VERSIONS"
`

// probe finds out which Kubernetes version and API versions Argo CD tells
// plugins, so that `hallmark render` can be told the same.
func probe(t *testing.T, a *argocd.ArgoCD) (kubeVersion string, apiVersions []string) {
	t.Helper()
	config := t.TempDir()
	if err := os.WriteFile(filepath.Join(config, "plugin.yaml"), []byte(probePlugin), 0o600); err != nil {
		t.Fatal(err)
	}
	a.ServeExec(t, "probe", config)
	repo := argocd.NewRepository(t)
	repo.Write(t, "app/README", "not read\n")
	revision := repo.Commit(t, "probe")
	a.Create(t, "probe", "probe", argocd.Source{RepoURL: repo.URL, Path: "app", Plugin: &argocd.Plugin{Name: "probe"}}, argocd.AutoSync())
	app := a.WaitSynced(t, "probe", revision)
	data := a.Applied(t, app)[0].Manifest["data"].(map[string]any)
	kubeVersion = data["kubeVersion"].(string)
	apiVersions = strings.Split(data["apiVersions"].(string), ",")
	if kubeVersion == "" || !slices.Contains(apiVersions, "apps/v1/Deployment") {
		t.Fatalf("Argo CD told the plugin Kubernetes version %q and API versions %q", kubeVersion, apiVersions)
	}
	return kubeVersion, apiVersions
}

// deploy creates an Application and waits until its first sync has succeeded.
func (e *env) deploy(t *testing.T, name, namespace string, source argocd.Source, policy *argocd.SyncPolicy, revision string) *argocd.Application {
	t.Helper()
	e.Create(t, name, namespace, source, policy)
	if policy == nil {
		e.Sync(t, name)
	}
	return e.WaitSynced(t, name, revision)
}

// use is a source that the plugin called name renders.
func use(repo *argocd.Repository, path, name string, parameters ...argocd.Parameter) argocd.Source {
	return argocd.Source{RepoURL: repo.URL, Path: path, Plugin: &argocd.Plugin{Name: name, Parameters: parameters}}
}

func renderer(name string) argocd.Parameter { return argocd.Parameter{Name: "renderer", String: name} }

// helmValues are parameters of the chart.
func helmValues(values map[string]string) argocd.Parameter {
	return argocd.Parameter{Name: "helm-parameters", Map: values}
}

// The annotations of a stamp.
const (
	objectHash     = "hallmark.dev/object-hash"
	renderHash     = "hallmark.dev/render-hash"
	inputsHash     = "hallmark.dev/inputs-hash"
	sourceRevision = "hallmark.dev/source-revision"
	rendererOf     = "hallmark.dev/renderer"
)

var stamps = []string{objectHash, renderHash, inputsHash, sourceRevision, rendererOf}

// identity is kind and name of a manifest. No scenario has two objects of the
// same in one Application.
func identity(manifest cluster.Object) string {
	kind, _ := manifest["kind"].(string)
	name, _ := field(manifest, "metadata", "name").(string)
	return kind + "/" + name
}

// field walks down maps; it is nil where there is nothing.
func field(v any, path ...string) any {
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// stampOf returns the five annotations of a manifest, each of which must be there.
func stampOf(t *testing.T, manifest cluster.Object) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range stamps {
		value, _ := field(manifest, "metadata", "annotations", name).(string)
		if value == "" {
			t.Errorf("%s: no annotation %s", identity(manifest), name)
		}
		out[name] = value
	}
	return out
}

// manifests are what was applied of live objects, by identity.
func manifests(live []argocd.Live) map[string]cluster.Object {
	out := map[string]cluster.Object{}
	for _, l := range live {
		out[l.String()] = l.Manifest
	}
	return out
}

// equalObjects compares two sets of manifests.
func equalObjects(t *testing.T, gotName string, got map[string]cluster.Object, wantName string, want map[string]cluster.Object) {
	t.Helper()
	if g, w := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(g, w) {
		t.Fatalf("%s: objects %q\n%s: objects %q", gotName, g, wantName, w)
	}
	for id := range got {
		if !reflect.DeepEqual(got[id], want[id]) {
			t.Errorf("%s differs\n%s: %s\n%s: %s", id, gotName, text(t, got[id]), wantName, text(t, want[id]))
		}
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A snapshot is what must not move when nothing is to happen to an Application:
// its syncs, and its objects by id, generation and what was applied. Status is
// not in it.
type snapshot struct {
	syncs   int
	started string
	live    []argocd.Live
}

func (e *env) snapshot(t *testing.T, app *argocd.Application) snapshot {
	t.Helper()
	if len(app.Operation) > 0 {
		t.Fatalf("a sync of %q is to start:\n%s", app.Metadata.Name, app.Summary())
	}
	live := e.Applied(t, app)
	if len(live) == 0 {
		t.Fatalf("application %q has no objects", app.Metadata.Name)
	}
	for i := range live {
		live[i].Metadata.ResourceVersion = ""
	}
	return snapshot{len(app.Status.History), app.Status.OperationState.StartedAt, live}
}

// untouched checks that nothing has happened to an Application since before.
func (e *env) untouched(t *testing.T, app *argocd.Application, before snapshot) {
	t.Helper()
	after := e.snapshot(t, app)
	if after.syncs != before.syncs || after.started != before.started {
		t.Errorf("a sync of %q ran: %d in the history, the last from %s; before %d from %s",
			app.Metadata.Name, after.syncs, after.started, before.syncs, before.started)
	}
	if !reflect.DeepEqual(after.live, before.live) {
		t.Errorf("objects of %q were touched\nbefore: %s\nafter:  %s", app.Metadata.Name, text(t, before.live), text(t, after.live))
	}
}

// jobs are the ids of the hook Jobs of a snapshot: a Job that runs again is a
// new one. There must be some.
func (s snapshot) jobs(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, l := range s.live {
		if l.Kind == "Job" {
			out = append(out, l.Metadata.UID)
		}
	}
	if len(out) == 0 {
		t.Fatal("no hook Jobs in the cluster")
	}
	return out
}

// A command is `hallmark render` for what Argo CD asked the plugin.
type command struct {
	repo           *argocd.Repository
	path           string
	app, namespace string
	parameters     []argocd.Parameter
}

// render runs it on the work tree, which must be committed, and returns its
// objects, or what it printed on standard error.
func (e *env) render(t *testing.T, c command) (objects map[string]cluster.Object, stderr string) {
	t.Helper()
	args := []string{
		"render", filepath.Join(c.repo.Dir, c.path), "-o", "json",
		"--app", c.app, "--namespace", c.namespace, "--kube-version", e.kubeVersion,
	}
	for _, v := range e.apiVersions {
		args = append(args, "--api-versions", v)
	}
	if len(c.parameters) > 0 {
		file := filepath.Join(t.TempDir(), "parameters.json")
		if err := os.WriteFile(file, []byte(text(t, c.parameters)), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--params", file)
	}
	out, stderr, err := e.hallmark(nil, args...)
	if err != nil {
		return nil, stderr
	}
	var list struct{ Items []cluster.Object }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	objects = map[string]cluster.Object{}
	for _, o := range list.Items {
		objects[identity(o)] = o
	}
	return objects, stderr
}

// hallmark runs a command of it to the end.
func (e *env) hallmark(stdin []byte, args ...string) (stdout, stderr string, err error) {
	c := exec.Command(filepath.Join(e.Bin, "hallmark"), args...)
	var out, errs strings.Builder
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(string(stdin)), &out, &errs
	err = c.Run()
	return out.String(), errs.String(), err
}

// firstLine is hallmark's message without what stands in front of it on a
// terminal.
func firstLine(t *testing.T, stderr string) string {
	t.Helper()
	line, _, _ := strings.Cut(stderr, "\n")
	fact, found := strings.CutPrefix(line, "hallmark: error: ")
	if !found || fact == "" {
		t.Fatalf("hallmark render did not fail with a message of its own: %s", cmp.Or(stderr, "it did not fail"))
	}
	return fact
}
