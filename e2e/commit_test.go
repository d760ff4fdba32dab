package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"hallmark.dev/hallmark/e2e/argocd"
)

func unrelatedCommit(t *testing.T, e *env) { commitElsewhere(t, e, "unrelated", argocd.AutoSync()) }

// serverSideApply does the same where the API server merges objects.
func serverSideApply(t *testing.T, e *env) {
	before := commitElsewhere(t, e, "server-side-apply", argocd.AutoSync(argocd.ServerSideApply))
	if before.live[0].Manifest != nil {
		t.Errorf("%s was applied on the client's side", before.live[0])
	}
}

// commitElsewhere commits to the repository, but not to the application, and
// returns what must not move.
func commitElsewhere(t *testing.T, e *env, app string, policy *argocd.SyncPolicy) snapshot {
	repo := argocd.NewRepository(t)
	repo.Copy(t, root+"/examples/checkout", "checkout")
	first := repo.Commit(t, "the application")
	before := e.snapshot(t, e.deploy(t, app, app, use(repo, "checkout", plugin), policy, first))
	before.jobs(t)

	repo.Write(t, "README.md", "not the application's\n")
	second := repo.Commit(t, "a file that the application does not read")
	e.Refresh(t, app, false)
	after := e.WaitSynced(t, app, second)
	e.untouched(t, after, before)

	old, now := e.sidecar.Generated(t, app, first, ""), e.sidecar.Generated(t, app, second, "")
	if !now.Cached {
		t.Errorf("the render of the new revision is not from memory: %+v", now)
	}
	if now.RenderHash != old.RenderHash || now.InputsHash != old.InputsHash {
		t.Errorf("a hash moved\nat %s: %+v\nat %s: %+v", first, old, second, now)
	}
	if live := before.live[0].Metadata.Annotations[renderHash]; now.RenderHash != live {
		t.Errorf("the log says render hash %q, the cluster %q", now.RenderHash, live)
	}
	return before
}

// oneValue changes one value, and what follows from it is seen before the sync
// and after it.
func oneValue(t *testing.T, e *env) {
	const app = "one-value"
	repo := argocd.NewRepository(t)
	repo.Copy(t, root+"/examples/checkout", "checkout")
	first := repo.Commit(t, "the application")
	before := manifests(e.Applied(t, e.deploy(t, app, app, use(repo, "checkout", plugin), nil, first)))

	repo.Replace(t, "checkout/values.yaml", "\nreplicas: 2\n", "\nreplicas: 3\n")
	second := repo.Commit(t, "one replica more")
	found := e.Refresh(t, app, false)
	if found.Status.Sync.Revision != second || !slices.Equal(found.OutOfSync(), []string{"Deployment/one-value-checkout"}) {
		t.Fatalf("OutOfSync is %q, want the Deployment alone:\n%s", found.OutOfSync(), found.Summary())
	}

	e.Sync(t, app)
	after := manifests(e.Applied(t, e.WaitSynced(t, app, second)))
	if len(after) != len(before) {
		t.Fatalf("%d objects, before %d", len(after), len(before))
	}
	hash := e.sidecar.Generated(t, app, second, "").RenderHash
	for id, m := range after {
		is, was := stampOf(t, m), stampOf(t, before[id])
		if is[renderHash] != hash || was[renderHash] == hash || is[sourceRevision] != second {
			t.Errorf("%s: %v after the commit, %v before; the log says %s", id, is, was, hash)
		}
		if changed := is[objectHash] != was[objectHash]; changed != (id == "Deployment/one-value-checkout") {
			t.Errorf("%s: object hash %s, before %s", id, is[objectHash], was[objectHash])
		}
	}
}

// rendererChange moves an Application from Helm 3 to Helm 4.
func rendererChange(t *testing.T, e *env) {
	const app = "renderer-change"
	repo := argocd.NewRepository(t)
	repo.Copy(t, root+"/examples/checkout", "checkout")
	revision := repo.Commit(t, "the application")
	before := e.snapshot(t, e.deploy(t, app, app, use(repo, "checkout", plugin, renderer("helm3")), argocd.AutoSync(), revision))
	before.jobs(t)

	e.SetSource(t, app, use(repo, "checkout", plugin, renderer("helm4")))
	e.sidecar.Generated(t, app, revision, e.rendererVersion(t, "helm4"))
	e.Refresh(t, app, true)
	e.untouched(t, e.WaitSynced(t, app, revision), before)
}

// rendererVersion is what hallmark writes into rendererOf.
func (e *env) rendererVersion(t *testing.T, name string) string {
	t.Helper()
	out, stderr, err := e.hallmark(nil, "version", "-o", "json")
	var versions map[string]string
	if err := errors.Join(err, json.Unmarshal([]byte(out), &versions)); err != nil {
		t.Fatalf("hallmark version: %v: %s", err, stderr)
	}
	return name + "/" + versions[name]
}

// smoke is a plain file of an object and a hook.
const smoke = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
---
apiVersion: batch/v1
kind: Job
metadata: {name: smoke, annotations: {argocd.argoproj.io/hook: PostSync}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: smoke, image: registry.example.com/smoke:v1}]
`

// upgrade replaces a sidecar by one whose renderers all have other versions.
func upgrade(t *testing.T, e *env) {
	const name = "hallmark-old"
	sidecar := e.Serve(t, name, "")
	repo := argocd.NewRepository(t)
	repo.Copy(t, root+"/examples", "examples")
	repo.Write(t, "plain/smoke.yaml", smoke)
	revision := repo.Commit(t, "the application")
	apps := map[string]snapshot{}
	for r, path := range map[string]string{
		"helm3": "examples/checkout", "helm4": "examples/checkout",
		"kustomize": "examples/checkout-kustomize/overlays/production", "plain": "plain",
	} {
		app := "upgrade-" + r
		source := use(repo, path, name, renderer(r), argocd.Parameter{Name: "kustomize-namespace", String: app})
		apps[app] = e.snapshot(t, e.deploy(t, app, app, source, argocd.AutoSync(), revision))
		apps[app].jobs(t)
	}

	program, err := e.upgraded()
	if err != nil {
		t.Fatal(err)
	}
	if err := sidecar.Stop(); err != nil {
		t.Errorf("the sidecar did not stop in order: %v", err)
	}
	sidecar.Replace(program)
	sidecar.Restart(t)
	for app, before := range apps {
		e.Refresh(t, app, true)
		e.untouched(t, e.WaitSynced(t, app, revision), before)
		was := before.live[0].Metadata.Annotations
		now := sidecar.Generated(t, app, revision, was[rendererOf]+upgradeSuffix)
		if now.RenderHash != was[renderHash] {
			t.Errorf("the upgrade moved the render hash from %s to %s", was[renderHash], now.RenderHash)
		}
		if now.InputsHash == was[inputsHash] {
			t.Error("the upgrade did not move the inputs hash")
		}
	}
}

// upgradeSuffix is what the upgraded program adds to the versions.
const upgradeSuffix = "+e2e"

// rendererVersions is how the sources say them, and how many there are where.
var (
	rendererVersions = regexp.MustCompile(`(?m)^((?:const|\t)\s*(?:helm3|helm4|plain|)[vV]ersion = "v[0-9.]+)"$`)
	versionsIn       = map[string]int{"plugin/chart/chart.go": 2, "plugin/overlay/build.go": 1, "plugin/renderers.go": 1}
)

// buildUpgraded builds hallmark into dir with other versions of the renderers
// in it, from the same sources but for the files that say them, in place of
// which the compiler sees others.
func buildUpgraded(dir string) (program string, err error) {
	replace := map[string]string{}
	for name, want := range versionsIn {
		file, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if n := len(rendererVersions.FindAll(source, -1)); n != want {
			return "", fmt.Errorf("%s says %d versions of renderers, want %d", name, n, want)
		}
		replace[file] = filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(replace[file], rendererVersions.ReplaceAll(source, []byte("${1}"+upgradeSuffix+`"`)), 0o600); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, data, 0o600); err != nil {
		return "", err
	}
	program = filepath.Join(dir, "hallmark")
	c := exec.Command("go", "build", "-trimpath", "-overlay", overlay, "-o", program, "./cmd/hallmark")
	c.Dir = root
	c.Env = append(os.Environ(), "CGO_ENABLED=0") // as `make build`, whose build cache serves this one
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the upgrade: %w\n%s", err, out)
	}
	return program, nil
}
