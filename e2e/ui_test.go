package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/reposerver"
)

// ui asks repo-server what Argo CD's UI does.
func ui(t *testing.T, e *env) {
	t.Run("parameters", func(t *testing.T) { t.Parallel(); announced(t, e) })
	t.Run("discovery", func(t *testing.T) { t.Parallel(); discovered(t, e) })
}

// announced compares the form in which a person edits the parameters with what
// `hallmark parameters` prints.
func announced(t *testing.T, e *env) {
	repo := argocd.NewRepository(t)
	repo.Copy(t, root+"/examples", "examples")
	repo.Commit(t, "the service")
	client := reposerver.NewClient(t, e.RepoServer)
	const image = "registry.example.com/shop/checkout"
	for _, form := range []struct {
		path, parameter string
		holds           func(reposerver.Announcement) bool
	}{
		{"examples/checkout", "helm-parameters", func(a reposerver.Announcement) bool {
			return a.Map["image.repository"] == image && a.Map["replicas"] == "2" && a.Map["config.payment.timeout"] == "5s"
		}},
		{"examples/checkout-kustomize/overlays/production", "kustomize-images", func(a reposerver.Announcement) bool {
			return len(a.Array) == 1 && strings.HasPrefix(a.Array[0], image+"@sha256:")
		}},
	} {
		query := reposerver.Query{App: "ui", RepoURL: repo.URL, Path: form.path, Plugin: plugin}
		details := client.AppDetails(t, query)
		if details.Type != "Plugin" {
			t.Errorf("%s: the source is of type %q, want Plugin", form.path, details.Type)
		}
		e.equalParameters(t, query, repo.Dir, details.Parameters)
		i := slices.IndexFunc(details.Parameters, func(a reposerver.Announcement) bool { return a.Name == form.parameter })
		if i < 0 || !form.holds(details.Parameters[i]) {
			t.Errorf("%s: not the values of the files in %s: %s", form.path, form.parameter, text(t, details.Parameters))
		}
	}
}

// equalParameters compares announced parameters with what `hallmark parameters`
// prints in the same folder, told the same.
func (e *env) equalParameters(t *testing.T, q reposerver.Query, dir string, got []reposerver.Announcement) {
	t.Helper()
	c := exec.Command(filepath.Join(e.Bin, "hallmark"), "parameters", "--root", dir)
	c.Dir = filepath.Join(dir, q.Path)
	c.Env = []string{
		"ARGOCD_APP_NAME=" + q.App, "ARGOCD_APP_SOURCE_REPO_URL=" + q.RepoURL,
		"ARGOCD_APP_SOURCE_PATH=" + q.Path, "ARGOCD_APP_SOURCE_TARGET_REVISION=" + reposerver.TargetRevision,
	}
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%v: %v: %s", c.Args, err, errs.String())
	}
	var want []reposerver.Announcement
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) == 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%s\nin the UI:           %s\nhallmark parameters: %s", q.Path, text(t, got), text(t, want))
	}
}

// discovered serves a plugin that takes folders with a hallmark.yaml, also for
// Applications that name no plugin. repo-server asks it about those of other
// scenarios too, none of which has such a file.
func discovered(t *testing.T, e *env) {
	const name = "hallmark-d"
	sidecar := e.Serve(t, name, "", "--discover", "marked")
	repo := argocd.NewRepository(t)
	const template = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  text: {{ .Values.text }}\n"
	for _, path := range []string{"marked", "unmarked"} {
		repo.Write(t, path+"/Chart.yaml", "apiVersion: v2\nname: found\nversion: 1.0.0\n")
		repo.Write(t, path+"/values.yaml", "text: chart\n")
		repo.Write(t, path+"/templates/settings.yaml", template)
	}
	repo.Write(t, "marked/hallmark.yaml", "apiVersion: hallmark.dev/v1\nkind: Render\nspec:\n  values: {text: marked}\n")
	revision := repo.Commit(t, "a folder with the file and one without")
	for _, tt := range []struct {
		app    string
		source argocd.Source
		ours   bool // or native Helm's
		data   string
	}{
		{"ui-marked", argocd.Source{RepoURL: repo.URL, Path: "marked"}, true, "marked"},
		{"ui-marked-named", use(repo, "marked", name), true, "marked"},
		{"ui-unmarked-named", use(repo, "unmarked", name), true, "chart"},
		{"ui-unmarked", argocd.Source{RepoURL: repo.URL, Path: "unmarked"}, false, "chart"},
	} {
		t.Run(tt.app, func(t *testing.T) {
			app := e.deploy(t, tt.app, tt.app, tt.source, argocd.AutoSync(), revision)
			live := e.Applied(t, app)
			if len(live) != 1 || field(live[0].Manifest, "data", "text") != tt.data {
				t.Fatalf("in the cluster: %s, want one object with %q", text(t, live), tt.data)
			}
			if !tt.ours {
				if field(live[0].Manifest, "metadata", "annotations", objectHash) != nil || len(sidecar.Entries(t, "generated", tt.app)) > 0 {
					t.Errorf("%s rendered what is not its own: %s", name, text(t, live))
				}
				return
			}
			stamp := stampOf(t, live[0].Manifest)
			if line := sidecar.Generated(t, tt.app, revision, ""); line.RenderHash != stamp[renderHash] {
				t.Errorf("the stamp has render hash %q, %s rendered %q", stamp[renderHash], name, line.RenderHash)
			}
		})
	}
	// The UI has a form for the one that names no plugin too.
	query := reposerver.Query{App: "ui-marked", RepoURL: repo.URL, Path: "marked"}
	details := reposerver.NewClient(t, e.RepoServer).AppDetails(t, query)
	if details.Type != "Plugin" {
		t.Errorf("the source is of type %q, want Plugin", details.Type)
	}
	e.equalParameters(t, query, repo.Dir, details.Parameters)
}
