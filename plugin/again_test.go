package plugin_test

import (
	"strings"
	"testing"

	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/source"
)

const webChart = "apiVersion: v2\nname: web\nversion: 1.0.0\n"

// A result holds for another request exactly where that would give the same objects.
func TestAgain(t *testing.T) {
	t.Parallel()
	files := func(changes map[string]string) *source.Tree {
		all := map[string]string{
			"web/Chart.yaml":              webChart,
			"web/values.yaml":             "level: info\n",
			"web/templates/config.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {level: {{ .Values.level }}}\n",
			"plain/config.yaml":           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\n",
			"over/kustomization.yaml":     "resources: [config.yaml]\n",
			"over/config.yaml":            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: over}\n",
			"charts/kustomization.yaml":   "helmCharts: [{name: web, releaseName: web}]\nhelmGlobals: {chartHome: .}\n",
			"charts/web/Chart.yaml":       webChart,
			"charts/web/values.yaml":      "",
			"charts/web/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
		}
		for name, text := range changes {
			all[name] = text
		}
		return source.Memory(all)
	}
	request := func(dir string, change func(*plugin.Request)) *plugin.Request {
		r := &plugin.Request{Tree: files(nil), Path: dir, App: "web", Namespace: "shop", Revision: "1"}
		if change != nil {
			change(r)
		}
		return r
	}
	tests := []struct {
		name, dir string
		first     func(*plugin.Request)
		change    func(*plugin.Request)
		want      bool
	}{
		{"nothing", "web", nil, nil, true},
		{"another revision", "web", nil, func(r *plugin.Request) { r.Revision = "2" }, true},
		{"a file elsewhere", "web", nil, func(r *plugin.Request) { r.Tree = files(map[string]string{"plain/new.yaml": "a: 1\n"}) }, true},
		{"a value", "web", nil, func(r *plugin.Request) { r.Tree = files(map[string]string{"web/values.yaml": "level: debug\n"}) }, false},
		{"a new template", "web", nil, func(r *plugin.Request) { r.Tree = files(map[string]string{"web/templates/b.yaml": "a: 1\n"}) }, false},
		{"another namespace", "web", nil, func(r *plugin.Request) { r.Namespace = "other" }, false},
		{"another Helm", "web", helm("helm3"), helm("helm4"), false},
		{"another Helm for a chart of a kustomization", "charts", helm("helm3"), helm("helm4"), false},
		{"another Helm for plain files", "plain", helm("helm3"), helm("helm4"), true},
		{"another Helm for a kustomization", "over", helm("helm3"), helm("helm4"), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			result, err := plugin.Render(t.Context(), request(tt.dir, tt.first))
			if err != nil {
				t.Fatal(err)
			}
			got, err := result.Again(t.Context(), request(tt.dir, tt.change))
			if err != nil || got != tt.want {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}

func helm(name string) func(*plugin.Request) { return func(r *plugin.Request) { r.Helm = name } }

// Request.Helm replaces the Helm of a chart, whatever parameters and their pin say,
// and nothing else.
func TestHelm(t *testing.T) {
	t.Parallel()
	tree := source.Memory(map[string]string{
		"web/Chart.yaml": webChart, "web/hallmark.yaml": "apiVersion: hallmark.dev/v1\nkind: Render\nspec: {renderer: helm3, renderer-version: v3.22.0}\n",
		"web/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"plain/a.yaml":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
	})
	for dir, want := range map[string]string{"web": "helm4/", "plain": "plain/"} {
		result, err := plugin.Render(t.Context(), &plugin.Request{Tree: tree, Path: dir, App: "web", Helm: "helm4"})
		if err != nil {
			t.Fatal(err)
		}
		if got := result.Provenance.Renderer; !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", dir, got, want)
		}
	}
}

// Value files may be of another source, where the request has one, and do not leave
// it.
func TestRefs(t *testing.T) {
	t.Parallel()
	other := source.Memory(map[string]string{"env/prod.yaml": "level: warn\n", "env/text": "from a file"})
	tree := source.Memory(map[string]string{
		"web/Chart.yaml": webChart, "values.yaml": "level: outside\n",
		"web/templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {level: {{ .Values.level }}, text: {{ .Values.text | quote }}}\n",
	}).With("$values", other)
	tests := []struct{ param, want, fault string }{
		{"value-files[]=$values/env/prod.yaml", "warn", ""},
		{"value-files[]=$values/env/*.yaml", "warn", ""},
		{"value-files[]=$values/env/$ARGOCD_APP_NAME.yaml", "warn", ""},
		{"helm-file-parameters[level]=$values/env/text", "from a file", ""},
		{"value-files[]=$values/../values.yaml", "", `leaves the repository of the source "values"`},
		{"value-files[]=$values/absent.yaml", "", "$values/absent.yaml"},
		{"value-files[]=$other/env/prod.yaml", "", `refers to the source "other"`},
	}
	for _, tt := range tests {
		t.Run(tt.param, func(t *testing.T) {
			t.Parallel()
			r := &plugin.Request{Tree: tree, Path: "web", App: "prod", Refs: []string{"values"}}
			if err := r.Parameters.Set(tt.param); err != nil {
				t.Fatal(err)
			}
			result, err := plugin.Render(t.Context(), r)
			switch {
			case tt.fault != "":
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Errorf("got %v, want %q", err, tt.fault)
				}
			case err != nil:
				t.Error(err)
			default:
				if got := result.Objects[0].Value["data"].(map[string]any)["level"]; got != tt.want {
					t.Errorf("got %v, want %v", got, tt.want)
				}
			}
		})
	}
}
