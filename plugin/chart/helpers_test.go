package chart

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
)

// engines are those that every behaviour is tested with.
var engines = []Engine{Helm3, Helm4}

// chartFS is a chart named web in the folder web: a Chart.yaml and the given
// files, by their names in the chart.
func chartFS(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{"web/Chart.yaml": {Data: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n")}}
	for name, data := range files {
		fsys["web/"+name] = &fstest.MapFile{Data: []byte(data)}
	}
	return fsys
}

func render(t *testing.T, engine Engine, files map[string]string, o Options) (*Output, error) {
	t.Helper()
	ch, err := Load(chartFS(files), "web")
	if err != nil {
		return nil, err
	}
	if o.ReleaseName == "" {
		o.ReleaseName = "web"
	}
	if o.Namespace == "" {
		o.Namespace = "shop"
	}
	return ch.Render(context.Background(), engine, o)
}

// configMap is a template for a ConfigMap with one data line.
func configMap(name, line string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  " + line + "\n"
}

func eachEngine(t *testing.T, test func(t *testing.T, engine Engine)) {
	t.Helper()
	for _, engine := range engines {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			test(t, engine)
		})
	}
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("got no error")
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	for _, p := range parts {
		if !strings.Contains(first, p) {
			t.Errorf("got error %q, want it to contain %q", first, p)
		}
	}
}
