package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The generated inputs have the shape of large public charts such as
// kube-prometheus-stack: a few custom resource definitions make nine tenths of
// the bytes, and around ninety small objects come from templates with helpers.
const (
	crds      = 10
	workloads = 15 // each with six objects
)

// crd is a custom resource definition of about 400 KB.
func crd(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    controller-gen.kubebuilder.io/version: v0.17.2
  name: widgets%[1]d.shop.example.com
spec:
  group: shop.example.com
  names:
    kind: Widget%[1]d
    listKind: Widget%[1]dList
    plural: widgets%[1]d
    singular: widget%[1]d
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
    schema:
      openAPIV3Schema:
        description: |-
          Widget%[1]d is a resource with a schema of many fields, as controllers
          that embed pod specs have them.
        type: object
        required:
        - spec
        properties:
          spec:
            type: object
            properties:
`, n)
	for section := range 16 {
		fmt.Fprintf(&b, "              section%d:\n                description: Section %d of the specification.\n                type: object\n                properties:\n", section, section)
		for field := range 24 {
			fmt.Fprintf(&b, `                  field%[1]d:
                    description: |-
                      Field%[1]d configures one aspect of the section. It is optional; when it is
                      not set, the controller's default applies.
                      More info: https://docs.example.com/widgets/section%[2]d#field%[1]d
                    type: array
                    items:
                      type: object
                      required:
                      - key
                      properties:
                        key:
                          description: "The key: a name that is unique in the list."
                          type: string
                          maxLength: 253
                          pattern: ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$
                        weight:
                          format: int32
                          default: 1
                          minimum: 0
                          type: integer
                        enabled:
                          type: boolean
                    x-kubernetes-list-type: map
                    x-kubernetes-list-map-keys:
                    - key
`, field, section)
		}
	}
	return b.String()
}

const helpers = `{{- define "bench.labels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/part-of: {{ .root.Chart.Name }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}
{{- define "bench.image" -}}
{{- printf "%s/%s:%s" .root.Values.registry .name (.image.tag | default .root.Chart.AppVersion) -}}
{{- end -}}
`

// workload is a template of six objects.
func workload(n int) string {
	return strings.ReplaceAll(`{{- $name := printf "%s-part%N" .Release.Name }}
{{- $ctx := dict "root" . "name" $name "image" .Values.part%N.image }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  labels: {{- include "bench.labels" $ctx | nindent 4 }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $name }}
  labels: {{- include "bench.labels" $ctx | nindent 4 }}
data:
  config.yaml: |
    {{- toYaml .Values.part%N.config | nindent 4 }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  labels: {{- include "bench.labels" $ctx | nindent 4 }}
spec:
  selector: {{- include "bench.labels" $ctx | nindent 4 }}
  ports:
  {{- range .Values.part%N.ports }}
  - name: {{ .name }}
    port: {{ .port }}
    targetPort: {{ .name }}
  {{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels: {{- include "bench.labels" $ctx | nindent 4 }}
spec:
  replicas: {{ .Values.part%N.replicas }}
  selector:
    matchLabels: {{- include "bench.labels" $ctx | nindent 6 }}
  template:
    metadata:
      labels: {{- include "bench.labels" $ctx | nindent 8 }}
      annotations:
        checksum/config: {{ toYaml .Values.part%N.config | sha256sum }}
    spec:
      serviceAccountName: {{ $name }}
      containers:
      - name: main
        image: {{ include "bench.image" $ctx | quote }}
        env:
        {{- range $k, $v := .Values.part%N.env }}
        - name: {{ $k }}
          value: {{ tpl $v $ | quote }}
        {{- end }}
        ports:
        {{- range .Values.part%N.ports }}
        - name: {{ .name }}
          containerPort: {{ .port }}
        {{- end }}
        {{- with .Values.part%N.resources }}
        resources: {{- toYaml . | nindent 10 }}
        {{- end }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
spec:
  minAvailable: 1
  selector:
    matchLabels: {{- include "bench.labels" $ctx | nindent 6 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $name }}
rules:
{{- range .Values.part%N.rules }}
- apiGroups: {{ toJson .groups }}
  resources: {{ toJson .resources }}
  verbs: {{ toJson .verbs }}
{{- end }}
`, "%N", fmt.Sprint(n))
}

func partValues(n int) string {
	return fmt.Sprintf(`part%d:
  replicas: 2
  image: {tag: v1.%d.0}
  config:
    log: {level: info, format: json}
    limits: {requests: 100, burst: 200, timeout: 30s}
    features: [search, cart, payment]
  env:
    LOG_LEVEL: info
    RELEASE: "{{ .Release.Name }}"
    URL: "http://{{ .Release.Name }}.{{ .Release.Namespace }}.svc"
  ports:
  - {name: http, port: 8080}
  - {name: metrics, port: 9090}
  resources:
    requests: {cpu: 100m, memory: 128Mi}
    limits: {memory: 256Mi}
  rules:
  - {groups: [""], resources: [configmaps, secrets], verbs: [get, list, watch]}
  - {groups: [shop.example.com], resources: ["*"], verbs: ["*"]}
`, n, n)
}

// largeChart writes the generated chart and returns its folder.
func largeChart(tb testing.TB, dir string) string {
	write(tb, dir, "Chart.yaml", "apiVersion: v2\nname: large\nversion: 1.0.0\nappVersion: v1.0.0\n")
	write(tb, dir, "templates/_helpers.tpl", helpers)
	values := "registry: registry.example.com\ncommonLabels: {team: shop}\n"
	for n := range workloads {
		values += partValues(n)
		write(tb, dir, fmt.Sprintf("templates/part%d.yaml", n), workload(n))
	}
	write(tb, dir, "values.yaml", values)
	for n := range crds {
		write(tb, dir, fmt.Sprintf("crds/widgets%d.yaml", n), crd(n))
	}
	return dir
}

// smallChart is an application of one object.
func smallChart(tb testing.TB, dir string) string {
	write(tb, dir, "Chart.yaml", "apiVersion: v2\nname: small\nversion: 1.0.0\n")
	write(tb, dir, "templates/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  key: value\n")
	return dir
}

// largeOverlay writes a kustomization over manifests, with a prefix, labels and
// an image, and returns its folder.
func largeOverlay(tb testing.TB, dir string, manifests []byte) string {
	write(tb, dir, "base/manifests.yaml", string(manifests))
	write(tb, dir, "base/kustomization.yaml", "resources: [manifests.yaml]\n")
	write(tb, dir, "overlay/kustomization.yaml", `resources: [../base]
namePrefix: prod-
namespace: shop
labels:
- pairs: {environment: production}
images:
- name: registry.example.com/bench-part1
  newTag: v9
`)
	return filepath.Join(dir, "overlay")
}

func write(tb testing.TB, dir, name, content string) {
	tb.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
}
