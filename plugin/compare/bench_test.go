package compare

import (
	"fmt"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/stamp"
)

// workloads are n stamped Deployments, each with a label of a version.
func workloads(b *testing.B, n int, version string) Rendered {
	b.Helper()
	var stream strings.Builder
	for i := range n {
		fmt.Fprintf(&stream, `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web-%[1]d, namespace: shop, labels: {app: web-%[1]d, helm.sh/chart: web-%[2]s}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web-%[1]d}}
  template:
    metadata: {labels: {app: web-%[1]d}}
    spec:
      serviceAccountName: web-%[1]d
      containers:
      - name: web
        image: registry.example.com/web:1.0.0
        ports: [{name: http, containerPort: 8080}, {name: metrics, containerPort: 9090}]
        env: [{name: A, value: "1"}, {name: B, value: "2"}, {name: C, valueFrom: {configMapKeyRef: {name: web-%[1]d, key: c}}}]
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 128Mi}}
        volumeMounts: [{name: config, mountPath: /etc/web}, {name: tmp, mountPath: /tmp}]
      volumes: [{name: config, configMap: {name: web-%[1]d}}, {name: tmp, emptyDir: {}}]
`, i, version)
	}
	result, err := stamp.Apply(decoded(b, stream.String()), stamp.Provenance{InputsHash: version, SourceRevision: version, Renderer: "plain/v1"}, stamp.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return Rendered{Objects: result.Objects, Namespace: "shop"}
}

func BenchmarkObjects(b *testing.B) {
	from := workloads(b, 1000, "1.0.0")
	for name, to := range map[string]Rendered{
		"unchanged": workloads(b, 1000, "1.0.0"), "one label": workloads(b, 1000, "2.0.0"),
		"gone": {Objects: []object.Object{}, Namespace: "shop"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Objects(from, to)
			}
		})
	}
}

func BenchmarkCauses(b *testing.B) {
	objects, _ := Objects(workloads(b, 1000, "1.0.0"), workloads(b, 1000, "2.0.0"))
	b.ReportAllocs()
	for b.Loop() {
		if causes := Causes([]Application{{Name: "web", Objects: objects}}); len(causes) != 1 {
			b.Fatalf("got %d causes", len(causes))
		}
	}
}
