package e2e

import (
	"errors"
	"strings"
	"testing"

	"hallmark.dev/hallmark/e2e/argocd"
)

// guardedChart is a chart of two ConfigMaps that each of the commits below
// breaks.
const guardedChart = `apiVersion: v2
name: guarded
version: 1.0.0
`

const guardedTemplate = `{{- if .Values.enabled }}
{{- range $name := list "first" "second" }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $name }}
data:
  round: {{ $.Values.round | quote }}
{{- end }}
{{- end }}
`

// refused breaks an Application that Argo CD is to prune and to heal by all
// means, in three ways, and repairs it each time.
func refused(t *testing.T, e *env) {
	const values = "enabled: true\nround: one\n"
	for _, fault := range []struct{ name, file, content string }{
		{"error", "values.yaml", "enabled: true\nround: [one, {two: 2}\n"},
		{"empty", "values.yaml", "enabled: false\nround: one\n"},
		{"not-deterministic", "templates/extra.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: third\ndata:\n  token: {{ randAlphaNum 16 }}\n"},
		{"template-error", "templates/extra.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ required \"a name is needed\" .Values.name }}\n"},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			app := "refused-" + fault.name
			repo := argocd.NewRepository(t)
			repo.Write(t, "guarded/Chart.yaml", guardedChart)
			repo.Write(t, "guarded/templates/config.yaml", guardedTemplate)
			repo.Write(t, "guarded/values.yaml", values)
			good := repo.Commit(t, "good")
			before := e.snapshot(t, e.deploy(t, app, app, use(repo, "guarded", plugin), argocd.AutoSync(), good))

			repo.Write(t, "guarded/"+fault.file, fault.content)
			repo.Commit(t, "bad")
			objects, stderr := e.render(t, command{repo: repo, path: "guarded", app: app, namespace: app})
			if objects != nil {
				t.Fatal("hallmark render accepts what is to be refused")
			}
			want := firstLine(t, stderr)
			e.Refresh(t, app, false)
			found := e.WaitFor(t, app, "has a ComparisonError with "+want, func(app *argocd.Application) error {
				if !strings.Contains(app.Condition("ComparisonError"), want) {
					return errors.New("it has not")
				}
				return nil
			})
			if found.Status.Sync.Status != "Unknown" {
				t.Errorf("sync status is %q, want Unknown", found.Status.Sync.Status)
			}
			e.untouched(t, found, before)
			t.Logf("condition: %s", found.Condition("ComparisonError"))

			repo.Remove(t, "guarded/templates/extra.yaml")
			repo.Write(t, "guarded/values.yaml", strings.Replace(values, "one", "two", 1))
			repaired := repo.Commit(t, "repaired")
			e.Refresh(t, app, false)
			for id, m := range manifests(e.Applied(t, e.WaitSynced(t, app, repaired))) {
				if field(m, "data", "round") != "two" {
					t.Errorf("%s after the repair: %s", id, text(t, m))
				}
			}
		})
	}
}
