package e2e

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/cluster"
	"hallmark.dev/hallmark/e2e/wait"
)

// The checks that the test brings, and what it takes of hallmark's library.
var (
	ownChecks     = []string{"testdata/health/database.yaml", "testdata/health/queue.yaml"}
	libraryChecks = []string{"cert-manager.io/certificate", "crossplane.io/managed"}
)

// handwritten is a check that a team has in argocd-cm already.
const handwritten = "testdata/health/handwritten.yaml"

// TestHealth has clusters of its own: a change of argocd-cm makes Argo CD forget
// all that it knows of a cluster, in the middle of the other scenarios.
func TestHealth(t *testing.T) {
	needPrograms(t, "etcd", "kube-apiserver", "kube-controller-manager", "kubectl", "argocd-2.14", "argocd-3.2", "helm3", "kustomize", "hallmark")
	needCommands(t, "redis-server", "git", "go")
	for _, release := range argocd.Releases {
		t.Run(release.Version, func(t *testing.T) {
			c := cluster.Start(t, *bin)
			for _, k := range checkedKinds {
				k.define(t, c)
			}
			snapshots.define(t, c)
			e := &env{ArgoCD: argocd.Start(t, c, release, *bin, root,
				// In the Application, where people with kubectl look.
				"ARGOCD_APPLICATION_CONTROLLER_PERSIST_RESOURCE_HEALTH=true",
				// What an installation has. Argo CD learns of what it applied from
				// a watch, and without a pause may take the object from before it.
				"ARGOCD_SYNC_WAVE_DELAY=2")}
			installChecks(t, e)
			for _, k := range checkedKinds {
				t.Run("wave-"+k.name, func(t *testing.T) {
					t.Parallel()
					waves(t, e, k)
				})
			}
			t.Run("beside", func(t *testing.T) {
				t.Parallel()
				beside(t, e)
			})
		})
	}
}

// installChecks changes the argocd-cm of an Argo CD that runs, as a person does,
// and waits until it goes by it. The application of beside is there before.
func installChecks(t *testing.T, e *env) {
	t.Helper()
	k := kubectl{e.Cluster}
	repo := argocd.NewRepository(t)
	for _, kind := range append(slices.Clone(checkedKinds), snapshots) {
		repo.Write(t, "app/"+kind.plural+".yaml", kind.manifest("beside", "0", "one"))
	}
	repo.Commit(t, "one object of each kind")
	e.Create(t, "beside", "beside", argocd.Source{RepoURL: repo.URL, Path: "app"}, nil)
	// One wave, which waits for nothing.
	e.Sync(t, "beside")
	e.WaitFor(t, "beside", "has no health where Argo CD has no check", func(app *argocd.Application) error {
		return checkedKinds[0].is(app, argocd.Health{})
	})

	patch := filepath.Join(t.TempDir(), "argocd-cm.yaml")
	if err := os.WriteFile(patch, buildChecks(t, e), 0o600); err != nil {
		t.Fatal(err)
	}
	before := liveSettings(t, e)
	want := maps.Clone(before)
	for _, file := range []string{handwritten, patch} {
		k.run(t, nil, "patch", "configmap", "argocd-cm", "--namespace="+argocd.Namespace, "--patch-file="+file)
		maps.Copy(want, dataOf(t, file))
	}
	// What stood there, hallmark's own rule among it, still does.
	if after := liveSettings(t, e); !maps.Equal(after, want) {
		t.Fatalf("argocd-cm is %s\nwant %s", text(t, after), text(t, want))
	}
	if len(want) < len(before)+len(ownChecks)+len(libraryChecks)-1 { // the wildcards are one key
		t.Fatalf("the patch has the keys %s alone", text(t, want))
	}

	wait.Until(t, "Argo CD goes by the new checks", func() error {
		return checkedKinds[0].is(e.Refresh(t, "beside", false), checkedKinds[0].silent)
	}, nil)
}

func buildChecks(t *testing.T, e *env) []byte {
	t.Helper()
	args := append([]string{"health", "build", "--output", "argocd-cm-patch"}, ownChecks...)
	for _, name := range libraryChecks {
		args = append(args, "--library", name)
	}
	out, stderr, err := e.hallmark(nil, args...)
	if err != nil || stderr != "" {
		t.Fatalf("hallmark health build: %v: %s", err, stderr)
	}
	return []byte(out)
}

// liveSettings is the data of argocd-cm in the cluster.
func liveSettings(t *testing.T, e *env) map[string]string {
	t.Helper()
	var found struct{ Data map[string]string }
	if err := e.Cluster.Get("/api/v1/namespaces/"+argocd.Namespace+"/configmaps/argocd-cm", &found); err != nil {
		t.Fatal(err)
	}
	return found.Data
}

// dataOf is the data of a ConfigMap, or a patch for one, in a file.
func dataOf(t *testing.T, file string) map[string]string {
	t.Helper()
	var found struct{ Data map[string]string }
	content, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(content, &found)
	}
	if err != nil || len(found.Data) == 0 {
		t.Fatalf("%s has the data %v: %v", file, found.Data, err)
	}
	return found.Data
}

// A rollout is an Application with a custom resource in wave 0 and a Deployment
// in wave 1, both of the same name, in a namespace of that name.
type rollout struct {
	env  *env
	kind customKind
	app  string
	repo *argocd.Repository
}

// commit commits both objects in another round: each has a new generation.
func (r rollout) commit(t *testing.T, round string) string {
	t.Helper()
	r.repo.Write(t, "app/custom.yaml", r.kind.manifest(r.app, "0", round))
	r.repo.Write(t, "app/deployment.yaml", fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  annotations: {argocd.argoproj.io/sync-wave: "1"}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}, annotations: {round: %[2]s}}
    spec: {containers: [{name: server, image: "example.com/server:1"}]}
`, r.app, round))
	return r.repo.Commit(t, "round "+round)
}

// deployed is the round of the Deployment in the cluster, "" without one.
func (r rollout) deployed(t *testing.T) string {
	t.Helper()
	var found cluster.Object
	err := r.env.Cluster.Get("/apis/apps/v1/namespaces/"+r.app+"/deployments/"+r.app, &found)
	if err != nil && !cluster.NotFound(err) {
		t.Fatal(err)
	}
	round, _ := field(found, "spec", "template", "metadata", "annotations", "round").(string)
	return round
}

// report has the controller of the custom resource report.
func (r rollout) report(t *testing.T, status cluster.Object) {
	t.Helper()
	r.kind.report(t, r.env.Cluster, r.app, r.app, status)
}

// waits waits until the custom resource has the health and the sync waits for
// it; the Deployment is not touched.
func (r rollout) waits(t *testing.T, mark argocd.Info, health argocd.Health, deployed string) {
	t.Helper()
	want := fmt.Sprintf("waiting for healthy state of %s/%s/%s", r.kind.group, r.kind.kind, r.app)
	r.env.WaitFor(t, r.app, "waits with "+health.Message, func(app *argocd.Application) error {
		state := app.OperationOf(mark)
		if state == nil {
			return errors.New("the sync has not started")
		}
		if state.Phase != "Running" || state.Message != want {
			return fmt.Errorf("the sync is %s: %s; want Running: %s", state.Phase, state.Message, want)
		}
		return r.kind.is(app, health)
	})
	if got := r.deployed(t); got != deployed {
		t.Fatalf("the Deployment is of round %q while %s is %+v, want %q", got, r.kind.kind, health, deployed)
	}
}

// ends waits until the sync has ended and the custom resource has the health, of
// which the sync took note.
func (r rollout) ends(t *testing.T, mark argocd.Info, phase string, health argocd.Health, deployed string) *argocd.Application {
	t.Helper()
	app := r.env.WaitFor(t, r.app, "ends as "+phase+" with "+health.Message, func(app *argocd.Application) error {
		state := app.OperationOf(mark)
		if state == nil || state.Phase == "Running" {
			return errors.New("the sync has not ended")
		}
		if state.Phase != phase {
			return fmt.Errorf("the sync is %s: %s; want %s", state.Phase, state.Message, phase)
		}
		return r.kind.is(app, health)
	})
	result := app.Status.OperationState.SyncResult.Resources
	if noted, err := r.kind.find(result); err != nil || noted.HookPhase != phase || noted.Message != health.Message {
		t.Errorf("the sync ended with %q: %q for the custom resource, want %q: %q (%v)", noted.HookPhase, noted.Message, phase, health.Message, err)
	}
	if got := r.deployed(t); got != deployed {
		t.Fatalf("the Deployment is of round %q after the sync, want %q:\n%s", got, deployed, app.Summary())
	}
	return app
}

// waves holds a Deployment back until the custom resource is ready, over a
// failure, and again when both have changed.
func waves(t *testing.T, e *env, k customKind) {
	r := rollout{env: e, kind: k, app: "wave-" + k.name, repo: argocd.NewRepository(t)}
	r.commit(t, "one")
	e.Create(t, r.app, r.app, argocd.Source{RepoURL: r.repo.URL, Path: "app"}, nil)

	mark := e.StartSync(t, r.app)
	r.waits(t, mark, k.silent, "")
	r.report(t, k.failed.status)
	app := r.ends(t, mark, "Failed", k.failed.health, "")
	if app.Status.Health.Status != "Degraded" {
		t.Errorf("the application is %s, want Degraded", app.Status.Health.Status)
	}

	// A sync that starts while it is Degraded would fail at once.
	r.report(t, k.working.status)
	e.WaitFor(t, r.app, "is at work again", func(app *argocd.Application) error { return k.is(app, k.working.health) })
	mark = e.StartSync(t, r.app)
	r.waits(t, mark, k.working.health, "")
	first := k.ready(1)
	r.report(t, first.status)
	r.ends(t, mark, "Succeeded", first.health, "one")

	// What the controller said of generation 1 proves nothing of generation 2.
	revision := r.commit(t, "two")
	mark = e.StartSync(t, r.app)
	r.waits(t, mark, k.stale, "one")
	second := k.ready(2)
	r.report(t, second.status)
	r.ends(t, mark, "Succeeded", second.health, "two")
	e.WaitFor(t, r.app, "is Healthy", func(app *argocd.Application) error {
		if app.Status.Health.Status != "Healthy" {
			return fmt.Errorf("it is %s", app.Status.Health.Status)
		}
		return app.Synced(revision)
	})
	t.Logf("%s of %s is %q, the Deployment of round %s is there", k.kind, k.group, second.health.Message, r.deployed(t))
}

// scriptError is what Lua says of the handwritten check, in both releases.
const scriptError = "attempt to index a non-table object(nil) with key 'phase'"

// beside has the handwritten check fail among ours, which go on saying what is.
func beside(t *testing.T, e *env) {
	const app = "beside"
	broken := e.WaitFor(t, app, "shows the script error beside our checks", func(app *argocd.Application) error {
		for _, k := range checkedKinds {
			if err := k.is(app, k.silent); err != nil {
				return err
			}
		}
		return raises(app)
	})
	if broken.Status.Health.Status != "Unknown" {
		t.Errorf("the application is %s, want Unknown", broken.Status.Health.Status)
	}
	t.Logf("condition: %s", broken.Condition("ComparisonError"))

	for _, k := range checkedKinds {
		k.report(t, e.Cluster, app, app, k.ready(1).status)
	}
	e.WaitFor(t, app, "has all of ours Healthy beside the script error", func(app *argocd.Application) error {
		for _, k := range checkedKinds {
			if err := k.is(app, k.ready(1).health); err != nil {
				return err
			}
		}
		return raises(app)
	})

	// With a status the script has nothing to raise: it was read, and is its own.
	snapshots.report(t, e.Cluster, app, app, cluster.Object{"phase": "Done"})
	e.WaitFor(t, app, "is Healthy", func(app *argocd.Application) error {
		if got := app.Condition("ComparisonError"); got != "" {
			return errors.New(got)
		}
		if app.Status.Health.Status != "Healthy" {
			return fmt.Errorf("it is %s", app.Status.Health.Status)
		}
		return snapshots.is(app, healthy("archived"))
	})
}

// raises reports whether the script error is shown at the object and as a
// condition of the Application.
func raises(app *argocd.Application) error {
	r, err := snapshots.find(app.Status.Resources)
	switch condition := app.Condition("ComparisonError"); {
	case err != nil:
		return err
	case r.Health.Status != "Unknown" || !strings.Contains(r.Health.Message, scriptError):
		return fmt.Errorf("%s is %+v, want Unknown with %q", r, r.Health, scriptError)
	case !strings.Contains(condition, scriptError) || !strings.Contains(condition, r.Name):
		return fmt.Errorf("the ComparisonError is %q, want %q of %s", condition, scriptError, r.Name)
	}
	return nil
}
