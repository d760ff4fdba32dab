package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hallmark.dev/hallmark/e2e/argocd"
)

// The generated chart has the shape of large public ones such as
// kube-prometheus-stack: a few custom resource definitions make nine tenths of
// its bytes, and some ninety small objects come from templates with helpers.
// The repository around it holds other applications.
const (
	crds      = 10
	workloads = 15 // each with six objects
	others    = 60 // applications of 40 KB
)

const large = "apps/large" // the chart's folder

// largeRepository makes a repository of 7 MB with a chart of 4.5 MB in it.
func largeRepository(t testing.TB) *argocd.Repository {
	t.Helper()
	r := argocd.NewRepository(t)
	w := words{rand.New(rand.NewPCG(1, 2))}
	r.Write(t, large+"/Chart.yaml", "apiVersion: v2\nname: large\nversion: 1.0.0\nappVersion: v1.0.0\n")
	r.Write(t, large+"/templates/_helpers.tpl", helpers)
	values := "replicas: 1\nregistry: registry.example.com\ncommonLabels: {team: shop}\n"
	for n := range workloads {
		values += fmt.Sprintf(partValues, n)
		r.Write(t, fmt.Sprintf("%s/templates/part%d.yaml", large, n), strings.ReplaceAll(workload, "%N", fmt.Sprint(n)))
	}
	r.Write(t, large+"/values.yaml", values)
	for n := range crds {
		r.Write(t, fmt.Sprintf("%s/crds/widgets%d.yaml", large, n), w.crd(n))
	}
	for n := range others {
		r.Write(t, fmt.Sprintf("apps/other%d/deployments.yaml", n), w.manifests(40<<10))
	}
	return r
}

// words make text that compresses about as well as that of real repositories.
type words struct{ *rand.Rand }

var vocabulary = strings.Fields(`a about above additional all allowed an and annotation any are as at be because been
before between but by can certificate change client cluster condition configuration container controller controls
created default defaults defined defines deleted described each either empty enabled endpoint every example
exceeded existing external false field fields first following for found from has have if ignored image in
indicates instance interval into is it its key label labels last limit list load map match maximum may metadata
minimum mode more most mount must name namespace network never new no node not number object of omitted on one
only operation option optional or other path pod policy port present priority protocol read reason reference
replicas request required resource resources retry rule same secret selector send service set should source
specified specifies state status storage string such supported system target template than that the their then
these this time timeout to token traffic true type unset until update url used user uses valid value values
version volume when where whether which will with within without write zone`)

func (w words) sentence(n int) string {
	var b strings.Builder
	for range n {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(vocabulary[w.IntN(len(vocabulary))])
	}
	return b.String()
}

// crd is a custom resource definition of about 440 KB.
func (w words) crd(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    controller-gen.kubebuilder.io/version: v0.17.2
  name: widgets%[1]d.shop.example.com
spec:
  group: shop.example.com
  names: {kind: Widget%[1]d, listKind: Widget%[1]dList, plural: widgets%[1]d, singular: widget%[1]d}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
    schema:
      openAPIV3Schema:
        type: object
        required:
        - spec
        properties:
          spec:
            type: object
            properties:
`, n)
	for section := range 16 {
		fmt.Fprintf(&b, "              section%d:\n                description: %s\n                type: object\n                properties:\n", section, w.sentence(12))
		for field := range 24 {
			fmt.Fprintf(&b, `                  field%d:
                    description: |-
                      %s.
                      %s.
                    type: array
                    items:
                      type: object
                      required:
                      - key
                      properties:
                        key:
                          description: %s.
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
`, field, w.sentence(11), w.sentence(10), w.sentence(7))
		}
	}
	return b.String()
}

// manifests are Deployments of about size bytes.
func (w words) manifests(size int) string {
	var b strings.Builder
	for b.Len() < size {
		name := strings.ReplaceAll(w.sentence(2), " ", "-")
		fmt.Fprintf(&b, `---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  annotations:
    example.com/description: %[2]s.
spec:
  replicas: %[3]d
  selector:
    matchLabels:
      app.kubernetes.io/name: %[1]s
  template:
    metadata:
      labels:
        app.kubernetes.io/name: %[1]s
    spec:
      securityContext:
        runAsNonRoot: true
      containers:
      - name: main
        image: registry.example.com/shop/%[1]s:v1.%[3]d.%[4]d
        args: [--%[5]s=%[4]d]
        ports:
        - name: http
          containerPort: 8080
        resources:
          requests:
            cpu: %[4]dm
            memory: 128Mi
          limits:
            memory: 256Mi
`, name, w.sentence(12), 1+w.IntN(9), 10*w.IntN(99), w.sentence(1))
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
const workload = `{{- $name := printf "%s-part%N" .Release.Name }}
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
  replicas: {{ .Values.replicas }}
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
`

const partValues = `part%d:
  image: {tag: v1.0.0}
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
`
