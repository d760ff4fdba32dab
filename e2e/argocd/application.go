package argocd

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/e2e/cluster"
	"hallmark.dev/hallmark/e2e/wait"
)

const (
	apiVersion  = "argoproj.io/v1alpha1"
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// Application is what the tests say and read of an Argo CD Application.
type Application struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   Metadata        `json:"metadata"`
	Spec       Spec            `json:"spec"`
	Operation  json.RawMessage `json:"operation,omitempty"`
	Status     *Status         `json:"status,omitempty"`
}

// Metadata is an object's metadata.
type Metadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace,omitempty"`
	UID             string            `json:"uid,omitempty"`
	Generation      int               `json:"generation,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

// Spec is an Application's spec.
type Spec struct {
	Project     string      `json:"project"`
	Source      Source      `json:"source"`
	Destination Destination `json:"destination"`
	SyncPolicy  *SyncPolicy `json:"syncPolicy,omitempty"`
}

// Source is where an Application's manifests come from and how.
type Source struct {
	RepoURL        string     `json:"repoURL"`
	Path           string     `json:"path"`
	TargetRevision string     `json:"targetRevision"`
	Plugin         *Plugin    `json:"plugin,omitempty"`
	Helm           *Helm      `json:"helm,omitempty"`
	Kustomize      *Kustomize `json:"kustomize,omitempty"`
	Directory      *Directory `json:"directory,omitempty"`
}

// Plugin names a config management plugin and its parameters.
type Plugin struct {
	Name       string      `json:"name"`
	Parameters []Parameter `json:"parameters,omitempty"`
}

// Parameter is one parameter of a plugin, in one of three forms.
type Parameter struct {
	Name   string            `json:"name"`
	String string            `json:"string,omitempty"`
	Array  []string          `json:"array,omitempty"`
	Map    map[string]string `json:"map,omitempty"`
}

// Helm are options of the native Helm source.
type Helm struct {
	ValueFiles []string `json:"valueFiles,omitempty"`
}

// Kustomize are options of the native Kustomize source.
type Kustomize struct {
	Namespace string `json:"namespace,omitempty"`
}

// Directory are options of the native source of plain files.
type Directory struct {
	Recurse bool `json:"recurse"`
}

// Destination is a cluster and a namespace.
type Destination struct {
	Server    string `json:"server"`
	Namespace string `json:"namespace"`
}

// SyncPolicy says what Argo CD does by itself.
type SyncPolicy struct {
	Automated   *Automated `json:"automated,omitempty"`
	SyncOptions []string   `json:"syncOptions,omitempty"`
}

// Automated are the options of automatic syncs.
type Automated struct {
	Prune    bool `json:"prune"`
	SelfHeal bool `json:"selfHeal"`
}

// Status is what the controller found.
type Status struct {
	Sync struct {
		Status   string `json:"status"`
		Revision string `json:"revision"`
	} `json:"sync"`
	Health         struct{ Status string } `json:"health"`
	Conditions     []Condition             `json:"conditions"`
	Resources      []Resource              `json:"resources"`
	OperationState *OperationState         `json:"operationState"`
	History        []struct{ ID int }      `json:"history"` // one entry a sync
}

// Condition is a remark of the controller, such as a ComparisonError.
type Condition struct{ Type, Message string }

// Resource is one object of an Application, and how it compares or how its last
// sync went.
type Resource struct {
	Group, Version, Kind, Namespace, Name string
	Status, Message                       string
	HookType, HookPhase                   string
	Health                                Health // from Argo CD 3 on only where it is told to keep it here
}

// Health is what a check said of an object.
type Health struct{ Status, Message string }

func (r Resource) apiVersion() string { return strings.TrimPrefix(r.Group+"/"+r.Version, "/") }

// String is kind and name.
func (r Resource) String() string { return r.Kind + "/" + r.Name }

// Info is a remark that goes with an operation.
type Info struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// OperationState is the last sync.
type OperationState struct {
	Operation struct {
		Info []Info `json:"info"`
	} `json:"operation"`
	Phase      string `json:"phase"`
	Message    string `json:"message"`
	StartedAt  string `json:"startedAt"`
	SyncResult struct {
		Revision  string     `json:"revision"`
		Source    Source     `json:"source"`
		Resources []Resource `json:"resources"`
	} `json:"syncResult"`
}

// Synced reports whether the Application was compared with revision, is Synced
// and has a finished sync and nothing to do.
func (app *Application) Synced(revision string) error {
	s := app.Status
	switch {
	case s.Sync.Revision != revision:
		return fmt.Errorf("revision is %q, want %q", s.Sync.Revision, revision)
	case s.Sync.Status != "Synced":
		return fmt.Errorf("sync status is %q", s.Sync.Status)
	case len(app.Operation) > 0 || s.OperationState == nil || s.OperationState.Phase != "Succeeded":
		return errors.New("the sync operation is not over")
	case len(s.Conditions) > 0:
		return fmt.Errorf("conditions: %+v", s.Conditions)
	}
	return nil
}

// OperationOf is the sync that StartSync returned mark for, nil if it has not
// started.
func (app *Application) OperationOf(mark Info) *OperationState {
	if state := app.Status.OperationState; state != nil && slices.Contains(state.Operation.Info, mark) {
		return state
	}
	return nil
}

// OutOfSync lists the objects that are OutOfSync.
func (app *Application) OutOfSync() []string {
	var out []string
	for _, r := range app.Status.Resources {
		if r.Status == "OutOfSync" {
			out = append(out, r.String())
		}
	}
	slices.Sort(out)
	return out
}

// Condition returns the message of the condition of a type, or "".
func (app *Application) Condition(kind string) string {
	for _, c := range app.Status.Conditions {
		if c.Type == kind {
			return c.Message
		}
	}
	return ""
}

// Summary is what a person needs to know about an Application that is not as it
// should be.
func (app *Application) Summary() string {
	shown := *app
	shown.Metadata = Metadata{Name: app.Metadata.Name, Annotations: app.Metadata.Annotations}
	data, err := json.MarshalIndent(&shown, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(data[:min(len(data), 8000)])
}

func appPath(name string) string {
	return "/apis/" + apiVersion + "/namespaces/" + Namespace + "/applications/" + name
}

// ServerSideApply is the sync option by which Argo CD leaves it to the API server
// to merge objects.
const ServerSideApply = "ServerSideApply=true"

// AutoSync is the policy of Applications that Argo CD keeps as the repository
// says, by every means it has.
func AutoSync(options ...string) *SyncPolicy {
	return &SyncPolicy{Automated: &Automated{Prune: true, SelfHeal: true}, SyncOptions: options}
}

// Create makes the destination's namespace and an Application.
func (a *ArgoCD) Create(t testing.TB, name, namespace string, source Source, policy *SyncPolicy) {
	t.Helper()
	source.TargetRevision = "main"
	err := errors.Join(
		a.Cluster.Apply(cluster.Object{"apiVersion": "v1", "kind": "Namespace", "metadata": cluster.Object{"name": namespace}}),
		a.Cluster.Apply(&Application{
			APIVersion: apiVersion, Kind: "Application",
			Metadata: Metadata{Namespace: Namespace, Name: name},
			Spec: Spec{
				Project: "default", Source: source, SyncPolicy: policy,
				Destination: Destination{Server: a.Cluster.URL, Namespace: namespace},
			},
		}))
	if err != nil {
		t.Fatal(err)
	}
}

// SetSource replaces the source of an Application.
func (a *ArgoCD) SetSource(t testing.TB, name string, source Source) {
	t.Helper()
	source.TargetRevision = "main"
	a.patch(t, name, cluster.JSONPatch, []cluster.Object{{"op": "replace", "path": "/spec/source", "value": source}})
}

// refresh is the annotation that asks for a comparison. The controller removes
// it when the comparison is made.
const refresh = "argocd.argoproj.io/refresh"

// Refresh asks for a comparison with the newest commit, and waits until it was
// made. A hard one does not use what repo-server remembers of the revision.
func (a *ArgoCD) Refresh(t testing.TB, name string, hard bool) *Application {
	t.Helper()
	a.RequestRefresh(t, name, hard)
	return a.AwaitRefresh(t, name)
}

// RequestRefresh asks for a comparison and does not wait. A request while an
// earlier one is worked on is lost, so AwaitRefresh belongs between two.
func (a *ArgoCD) RequestRefresh(t testing.TB, name string, hard bool) {
	t.Helper()
	kind := "normal"
	if hard {
		kind = "hard"
	}
	a.patch(t, name, cluster.MergePatch, cluster.Object{"metadata": cluster.Object{"annotations": cluster.Object{refresh: kind}}})
}

// AwaitRefresh waits until the comparison that was asked for is made.
func (a *ArgoCD) AwaitRefresh(t testing.TB, name string) *Application {
	t.Helper()
	return a.WaitFor(t, name, "is refreshed", func(app *Application) error {
		if _, asked := app.Metadata.Annotations[refresh]; asked {
			return errors.New("the annotation that asks for it is still there")
		}
		return nil
	})
}

// Sync syncs to the newest commit, as a person does by the button, and waits
// until that has succeeded.
func (a *ArgoCD) Sync(t testing.TB, name string) *Application {
	t.Helper()
	mark := a.StartSync(t, name)
	return a.WaitFor(t, name, "is synced by hand", func(app *Application) error {
		state := app.OperationOf(mark)
		switch {
		case state == nil:
			return errors.New("the sync has not started")
		case state.Phase != "Succeeded":
			return fmt.Errorf("the sync is %s: %s", state.Phase, state.Message)
		}
		return nil
	})
}

// StartSync is Sync that does not wait. What it returns tells this operation
// from an earlier one.
func (a *ArgoCD) StartSync(t testing.TB, name string) Info {
	t.Helper()
	mark := Info{Name: "e2e", Value: rand.Text()}
	a.patch(t, name, cluster.MergePatch, cluster.Object{
		"operation": cluster.Object{
			"initiatedBy": cluster.Object{"username": "e2e"},
			"info":        []Info{mark},
			"sync":        cluster.Object{"prune": true, "syncStrategy": cluster.Object{"hook": cluster.Object{}}},
		},
		// As argocd-server does: results of the last sync would count as those
		// of the new one.
		"status": cluster.Object{"operationState": nil},
	})
	return mark
}

func (a *ArgoCD) patch(t testing.TB, name, kind string, patch any) {
	t.Helper()
	if err := a.Cluster.Patch(appPath(name), kind, patch); err != nil {
		t.Fatal(err)
	}
}

// Application reads an Application.
func (a *ArgoCD) Application(name string) (*Application, error) {
	app := &Application{}
	if err := a.Cluster.Get(appPath(name), app); err != nil {
		return nil, err
	}
	if app.Status == nil {
		app.Status = &Status{}
	}
	return app, nil
}

// WaitFor waits until want returns nil for the Application.
func (a *ArgoCD) WaitFor(t testing.TB, name, what string, want func(*Application) error) *Application {
	t.Helper()
	var app *Application
	nudged := time.Now()
	wait.Until(t, fmt.Sprintf("application %q %s", name, what), func() error {
		for _, p := range a.processes() {
			if err := p.Ended(); err != nil {
				return err
			}
		}
		read, err := a.Application(name)
		if err != nil {
			return err
		}
		app = read
		if _, asked := app.Metadata.Annotations[refresh]; (asked || len(app.Operation) > 0) && time.Since(nudged) > nudgeAfter {
			a.nudge(t, name)
			nudged = time.Now()
		}
		return want(app)
	}, func() string { return a.explain(app, name) })
	return app
}

// nudgeAfter is longer than the controller takes to see a request.
const nudgeAfter = 3 * time.Second

// nudge makes the controller look at an Application again. When it writes a
// status it puts the answer into its cache, over a change that it saw in
// between; a request that falls there is not seen before the next event.
func (a *ArgoCD) nudge(t testing.TB, name string) {
	t.Helper()
	a.patch(t, name, cluster.MergePatch, cluster.Object{"metadata": cluster.Object{"annotations": cluster.Object{"e2e/nudge": rand.Text()}}})
}

// WaitSynced waits until the Application is Synced to revision.
func (a *ArgoCD) WaitSynced(t testing.TB, name, revision string) *Application {
	t.Helper()
	return a.WaitFor(t, name, "is Synced to "+revision, func(app *Application) error { return app.Synced(revision) })
}

func (a *ArgoCD) explain(app *Application, name string) string {
	var b strings.Builder
	if app != nil {
		fmt.Fprintf(&b, "%s\n", app.Summary())
	}
	for _, p := range a.processes() {
		fmt.Fprintf(&b, "%s about %q:\n%s\n", p.Name(), name, p.TailOf(name))
	}
	return b.String()
}

// Applied returns the objects of the last sync of an Application, hooks among
// them, as they are in the cluster.
func (a *ArgoCD) Applied(t testing.TB, app *Application) []Live {
	t.Helper()
	if app.Status.OperationState == nil {
		t.Fatalf("application %q was never synced", app.Metadata.Name)
	}
	serverSide := app.Spec.SyncPolicy != nil && slices.Contains(app.Spec.SyncPolicy.SyncOptions, ServerSideApply)
	var out []Live
	for _, r := range app.Status.OperationState.SyncResult.Resources {
		out = append(out, a.live(t, r, serverSide))
	}
	slices.SortFunc(out, func(x, y Live) int { return strings.Compare(x.String(), y.String()) })
	return out
}

// Live is an object in the cluster.
type Live struct {
	Resource
	Metadata Metadata
	// Manifest is what was applied, by the annotation that kubectl and Argo CD
	// leave: the object as repo-server gave it, with what Argo CD adds to it and
	// without what the API server and other controllers do. Server-side apply
	// leaves no annotation, and so no Manifest.
	Manifest cluster.Object
}

func (a *ArgoCD) live(t testing.TB, r Resource, serverSide bool) Live {
	t.Helper()
	path, err := a.Cluster.Path(r.apiVersion(), r.Kind, r.Namespace, r.Name)
	if err != nil {
		t.Fatal(err)
	}
	var object struct{ Metadata Metadata }
	if err := a.Cluster.Get(path, &object); err != nil {
		t.Fatal(err)
	}
	live := Live{Resource: r, Metadata: object.Metadata}
	text, found := live.Metadata.Annotations[lastApplied]
	if serverSide && !found {
		return live
	}
	if err := json.Unmarshal([]byte(text), &live.Manifest); err != nil {
		t.Fatalf("%s: annotation %s: %v", r, lastApplied, err)
	}
	return live
}
