package e2e

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/cluster"
)

// production is an option of the chart as an Application of the plugin has it.
var production = argocd.Parameter{Name: "value-files", Array: []string{"values-production.yaml"}}

// forms deploys examples/checkout in each form, and compares what is in the
// cluster with what `hallmark render` prints.
func forms(t *testing.T, e *env) {
	repo := argocd.NewRepository(t)
	repo.Copy(t, root+"/examples", "examples")
	revision := repo.Commit(t, "the service in three forms")
	for _, form := range []struct {
		name, path, namespace string
		parameters            []argocd.Parameter
		renderer              string
		objects               int
	}{
		{"checkout-helm3", "examples/checkout", "checkout-helm3", []argocd.Parameter{production}, "helm3/", 8},
		{"checkout-helm4", "examples/checkout", "checkout-helm4", []argocd.Parameter{production, renderer("helm4")}, "helm4/", 8},
		{"checkout-kustomize", "examples/checkout-kustomize/overlays/staging", "shop-staging", nil, "kustomize/", 6},
		{"checkout-plain", "examples/checkout-plain", "shop", nil, "plain/", 8},
	} {
		t.Run(form.name, func(t *testing.T) {
			t.Parallel()
			app := e.deploy(t, form.name, form.namespace, use(repo, form.path, plugin, form.parameters...), argocd.AutoSync(), revision)
			live := e.Applied(t, app)
			if len(live) != form.objects {
				t.Fatalf("%d objects in the cluster, want %d:\n%s", len(live), form.objects, app.Summary())
			}

			printed, stderr := e.render(t, command{repo, form.path, form.name, form.namespace, form.parameters})
			if printed == nil {
				t.Fatal(stderr)
			}
			for _, l := range live {
				got := maps.Clone(l.Metadata.Annotations) // of the live object itself
				maps.DeleteFunc(got, func(name, _ string) bool { return !slices.Contains(stamps, name) })
				want := stampOf(t, printed[l.String()])
				if !maps.Equal(got, want) {
					t.Errorf("%s\nin the cluster:   %s\nhallmark render: %s", l, text(t, got), text(t, want))
				}
				if got[sourceRevision] != revision || !strings.HasPrefix(got[rendererOf], form.renderer) {
					t.Errorf("%s: revision %q and renderer %q, want %q and %s...", l, got[sourceRevision], got[rendererOf], revision, form.renderer)
				}
			}

			applied := asList(t, live)
			out, stderr, err := e.hallmark(applied, "verify")
			if err != nil || !strings.HasPrefix(out, "ok: ") {
				t.Errorf("hallmark verify: %v: %s%s\n%s", err, out, stderr, applied)
			}
			// It must be able to fail.
			live[0].Manifest["e2e"] = "changed"
			if out, _, err := e.hallmark(asList(t, live), "verify"); err == nil {
				t.Errorf("hallmark verify accepted a changed object: %s", out)
			}
		})
	}
}

// unplaced deploys a chart whose objects name no namespace: Argo CD writes the
// destination's into them, and they verify all the same.
func unplaced(t *testing.T, e *env) {
	repo := argocd.NewRepository(t)
	repo.Write(t, "app/Chart.yaml", "apiVersion: v2\nname: unplaced\nversion: 1.0.0\n")
	repo.Write(t, "app/templates/all.yaml", `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {user: demo}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: before, annotations: {helm.sh/hook: pre-install}}
`)
	revision := repo.Commit(t, "no namespaces")
	// By hand: self-healing may follow a short sync with another, without hooks.
	live := e.Applied(t, e.deploy(t, "unplaced", "unplaced", use(repo, "app", plugin), nil, revision))
	for _, l := range live {
		if got := field(l.Manifest, "metadata", "namespace"); got != "unplaced" {
			t.Errorf("%s was applied with namespace %v", l, got)
		}
	}
	if out, stderr, err := e.hallmark(asList(t, live), "verify"); err != nil || !strings.HasPrefix(out, "ok: 3 objects") {
		t.Errorf("hallmark verify: %v: %s%s", err, out, stderr)
	}
}

// asList is the applied manifests as one List.
func asList(t *testing.T, live []argocd.Live) []byte {
	t.Helper()
	list := struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Items      []cluster.Object `json:"items"`
	}{APIVersion: "v1", Kind: "List"}
	for _, l := range live {
		list.Items = append(list.Items, l.Manifest)
	}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// native moves Applications from Argo CD's native sources to the plugin.
func native(t *testing.T, e *env) {
	repo := argocd.NewRepository(t)
	repo.Copy(t, root+"/examples", "examples")
	// The plain files say their namespace, which another scenario uses.
	repo.Remove(t, "examples/checkout-plain")
	repo.Write(t, "plain/settings.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: native-plain}\ndata: {a: \"1\"}\n")
	repo.Write(t, "plain/more/settings.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: native-plain}\ndata: {b: \"2\"}\n")
	revision := repo.Commit(t, "for both")
	for _, form := range []struct {
		name, path string
		native     argocd.Source
		parameters []argocd.Parameter
	}{
		{"native-helm", "examples/checkout",
			argocd.Source{Helm: &argocd.Helm{ValueFiles: []string{"values-production.yaml"}}},
			[]argocd.Parameter{production}},
		{"native-kustomize", "examples/checkout-kustomize/overlays/production",
			argocd.Source{Kustomize: &argocd.Kustomize{Namespace: "native-kustomize"}},
			[]argocd.Parameter{{Name: "kustomize-namespace", String: "native-kustomize"}}},
		{"native-plain", "plain",
			argocd.Source{Directory: &argocd.Directory{Recurse: true}},
			[]argocd.Parameter{{Name: "directory-recurse", String: "true"}}},
	} {
		t.Run(form.name, func(t *testing.T) {
			t.Parallel()
			source := form.native
			source.RepoURL, source.Path = repo.URL, form.path
			app := e.deploy(t, form.name, form.name, source, nil, revision)
			before := manifests(e.Applied(t, app))
			for id, m := range before {
				if field(m, "metadata", "annotations", objectHash) != nil {
					t.Fatalf("%s is stamped before the plugin has seen it", id)
				}
			}

			e.SetSource(t, form.name, use(repo, form.path, plugin, form.parameters...))
			app = e.Sync(t, form.name)
			if p := app.Status.OperationState.SyncResult.Source.Plugin; p == nil || p.Name != plugin {
				t.Fatalf("the sync was not the plugin's:\n%s", app.Summary())
			}
			after := manifests(e.Applied(t, app))
			for _, m := range after {
				stampOf(t, m)
				annotations := field(m, "metadata", "annotations").(map[string]any)
				for _, name := range stamps {
					delete(annotations, name)
				}
			}
			equalObjects(t, "plugin", after, "native", before)
		})
	}
}
