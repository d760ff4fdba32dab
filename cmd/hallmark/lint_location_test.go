package main

import (
	"testing"
	"testing/fstest"

	"hallmark.dev/hallmark/internal/object"
)

const deploymentTemplate = `{{- if .Values.enabled }}
{{- /* a comment
     of {{ two }} lines */}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "checkout.fullname" . }}-web
  labels: {{- include "checkout.labels" . | nindent 4 }}
    app.kubernetes.io/component: web
spec:
  {{- with .Values.replicas }}
  replicas: {{ . }}
  {{- end }}
  template:
    spec:
      topologySpreadConstraints:
      - {{ toYaml .Values.spread }}
        maxSkew: 1
      containers:
        - name: web
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
          ports:
            - containerPort: 80
            - containerPort: 81
{{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: '{{ include "checkout.fullname" . }}-worker'}
---
{{ include "library.job" . }}
`

// The files of a repository, each with what only it says.
var locationTree = fstest.MapFS{
	"apps/shop/Chart.yaml": {Data: []byte(`name: checkout
dependencies:
  - {name: redis, version: 1.0.0}
  # Its folder is that of the name.
  - name: queue
    alias: jobs
  - name: packed
    version: 2.0.0
`)},
	"apps/shop/templates/deployment.yaml":           {Data: []byte(deploymentTemplate)},
	"apps/shop/templates/broken.yaml":               {Data: []byte("{{- range .Values.all }}\nkind: Job\nmetadata: {name: a\n{{- end }}\n")},
	"apps/shop/templates/two.yaml":                  {Data: []byte("kind: ConfigMap\nmetadata:\n  name: {{ .a }}\n---\nkind: ConfigMap\nmetadata:\n  name: {{ .b }}\n")},
	"apps/shop/crds/widget.yaml":                    {Data: []byte("# widgets\nkind: CustomResourceDefinition\nmetadata:\n  name: widgets.example.com\n")},
	"apps/shop/charts/packed-2.0.0.tgz":             {Data: []byte("x")},
	"apps/shop/charts/redis/Chart.yaml":             {Data: []byte("name: redis\n")},
	"apps/shop/charts/redis/templates/service.yaml": {Data: []byte("\nkind: Service\nmetadata: {name: redis}\nspec:\n  ports: []\n")},
	"apps/shop/charts/queue/Chart.yaml":             {Data: []byte("name: queue\n")},
	"apps/shop/charts/queue/templates/job.yaml":     {Data: []byte("kind: Job\nmetadata: {name: queue}\n")},
	"checkout/templates/deployment.yaml":            {Data: []byte("not of this chart\n")},
	"plain/all.yaml":                                {Data: []byte("kind: ConfigMap\nmetadata: {name: a}\n---\n# the second\nkind: Job\nmetadata:\n  name: b\n  annotations:\n    example.com/x: y\nspec: {template: {spec: {containers: [{name: a}]}}}\n---\nkind: List\nitems:\n- kind: Job\n  metadata: {name: c}\n- kind: Job\n  metadata: {name: d}\n  spec: {}\n")},
	"overlay/kustomization.yaml":                    {Data: []byte("kind: Kustomization\nconfigMapGenerator:\n- name: a\n")},
	"overlay/charts/web-1.0/web/templates/x.yaml":   {Data: []byte("kind: Job\nmetadata: {name: '{{ .Release.Name }}'}\n")},
	"base/job.yaml":                                 {Data: []byte("\n# c\nkind: Job\nmetadata: {name: migrate}\nspec:\n  backoffLimit: 1\n")},
}

func TestLocations(t *testing.T) {
	t.Parallel()
	const helm, kustomize, plain = "helm3/v3.22.0", "kustomize/v5.8.1", "plain/v1"
	for name, tt := range map[string]struct {
		renderer, dir, kind, object, origin string
		line                                int
		field, want                         string
		inexact                             bool
	}{
		"a field of a template":       {helm, "apps/shop", "Deployment", "r-web", "checkout/templates/deployment.yaml", 0, "/spec/replicas", "apps/shop/templates/deployment.yaml:12", false},
		"the only item, as any item":  {helm, "apps/shop", "Deployment", "r-web", "checkout/templates/deployment.yaml", 0, "/spec/template/spec/containers/3/image", "apps/shop/templates/deployment.yaml:21", false},
		"one of several items":        {helm, "apps/shop", "Deployment", "r-web", "checkout/templates/deployment.yaml", 0, "/spec/template/spec/containers/0/ports/1", "apps/shop/templates/deployment.yaml:22", false},
		"a field that is not there":   {helm, "apps/shop", "Deployment", "r-web", "checkout/templates/deployment.yaml", 0, "/spec/strategy/type", "apps/shop/templates/deployment.yaml:10", false},
		"the second document":         {helm, "apps/shop", "Deployment", "r-worker", "checkout/templates/deployment.yaml", 0, "", "apps/shop/templates/deployment.yaml:27", false},
		"a name of neither":           {helm, "apps/shop", "Deployment", "r-other", "checkout/templates/deployment.yaml", 0, "", "apps/shop/templates/deployment.yaml", false},
		"an object of a helper":       {helm, "apps/shop", "Job", "r", "checkout/templates/deployment.yaml", 0, "/spec", "apps/shop/templates/deployment.yaml", false},
		"one of two documents":        {helm, "apps/shop", "ConfigMap", "a", "checkout/templates/two.yaml", 0, "", "apps/shop/templates/two.yaml", false},
		"a template that is no YAML":  {helm, "apps/shop", "Job", "a", "checkout/templates/broken.yaml", 0, "/spec", "apps/shop/templates/broken.yaml", false},
		"a definition beside them":    {helm, "apps/shop", "CustomResourceDefinition", "widgets.example.com", "checkout/crds/widget.yaml", 1, "/metadata/name", "apps/shop/crds/widget.yaml:4", false},
		"a subchart":                  {helm, "apps/shop", "Service", "redis", "checkout/charts/redis/templates/service.yaml", 0, "/spec/ports", "apps/shop/charts/redis/templates/service.yaml:5", false},
		"a subchart by its alias":     {helm, "apps/shop", "Job", "queue", "checkout/charts/jobs/templates/job.yaml", 0, "", "apps/shop/charts/queue/templates/job.yaml:1", false},
		"a packed subchart":           {helm, "apps/shop", "Job", "packed", "checkout/charts/packed/templates/job.yaml", 0, "", "apps/shop/Chart.yaml:7", true},
		"a chart in a packed one":     {helm, "apps/shop", "Job", "packed", "checkout/charts/packed/charts/deep/templates/job.yaml", 0, "", "apps/shop/Chart.yaml:7", true},
		"a template that is not here": {helm, "apps/shop", "Job", "x", "checkout/templates/absent.yaml", 0, "", "apps/shop/Chart.yaml", true},
		"a plain object":              {plain, "plain", "Job", "b", "plain/all.yaml", 4, "", "plain/all.yaml:5", false},
		"an escaped key":              {plain, "plain", "Job", "b", "plain/all.yaml", 4, "/metadata/annotations/example.com~1x", "plain/all.yaml:9", false},
		"a key that is not there":     {plain, "plain", "Job", "b", "plain/all.yaml", 4, "/spec/template/spec/containers/0/image", "plain/all.yaml:10", false},
		"an item of a list":           {plain, "plain", "Job", "d", "plain/all.yaml", 12, "/spec", "plain/all.yaml:18", false},
		"another kind at the line":    {plain, "plain", "Secret", "b", "plain/all.yaml", 4, "/data", "plain/all.yaml:4", false},
		"a renamed object of a base":  {kustomize, "overlay", "Job", "dev-migrate", "base/job.yaml", 3, "/spec/backoffLimit", "base/job.yaml:6", false},
		"a generated object":          {kustomize, "overlay", "ConfigMap", "a-abc", "overlay/kustomization.yaml", 3, "/data/x", "overlay/kustomization.yaml:3", false},
		"an inflated chart":           {kustomize, "overlay", "Job", "release", "web/templates/x.yaml", 0, "", "overlay/charts/web-1.0/web/templates/x.yaml:1", false},
		"an unknown origin":           {kustomize, "overlay", "Job", "x", "", 0, "", "overlay/kustomization.yaml", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := newLocations(locationTree, tt.dir, tt.renderer).find(object.ID{Kind: tt.kind, Name: tt.object}, tt.origin, tt.line, tt.field)
			if got.String() != tt.want || got.Exact == tt.inexact {
				t.Errorf("got %s, exact %v, want %s, exact %v", got, got.Exact, tt.want, !tt.inexact)
			}
		})
	}
}
