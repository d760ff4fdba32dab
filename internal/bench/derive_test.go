package bench

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"
)

// passwords are as many as there are workloads, each in a URL too, with a checksum over
// the file that holds them.
const passwords = `{{ range $i := until 15 }}{{ $password := randAlphaNum 24 }}
apiVersion: v1
kind: Secret
metadata:
  name: {{ $.Release.Name }}-{{ $i }}
stringData:
  password: {{ $password | quote }}
  url: postgresql://web:{{ $password }}@db:5432/web
---
{{ end }}`

const checksum = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-checksum
  annotations:
    checksum/passwords: {{ include (print $.Template.BasePath "/passwords.yaml") . | sha256sum }}
data: {}
`

// BenchmarkDerive compares `determinism: derive`, as whole processes, with `warn` on charts
// that make random values, and with `enforce` on one that does not. What a process does
// beside it (start, reading, gates, stamps, printing) is in both.
func BenchmarkDerive(b *testing.B) {
	b.Run("archives", benchmarkArchives)
	dir := largeChart(b, b.TempDir())
	b.Run("large-chart", func(b *testing.B) { versus(b, deriving(b, dir, "derive"), deriving(b, dir, "enforce")) })
	write(b, dir, "templates/passwords.yaml", passwords)
	write(b, dir, "templates/checksum.yaml", checksum)
	b.Run("large-chart-with-passwords", func(b *testing.B) { versus(b, deriving(b, dir, "derive"), deriving(b, dir, "warn")) })
}

// deriving returns the command that renders a chart with a kind of determinism.
func deriving(b *testing.B, dir, determinism string, params ...string) []string {
	b.Helper()
	args := []string{program(b, "hallmark"), "render", "--app", "web", "--namespace", "shop", "--project", "payments", "--revision", "none", "--root", dir, "--param", "determinism=" + determinism}
	if determinism == "derive" {
		seed := filepath.Join(b.TempDir(), "seed")
		if err := os.WriteFile(seed, []byte("not a secret: the seed of the benchmarks, 0123456789"), 0o600); err != nil {
			b.Fatal(err)
		}
		args = append(args, "--seed-file", seed)
	}
	for _, p := range params {
		args = append(args, "--param", p)
	}
	return append(args, dir)
}

// benchmarkArchives compares the charts of plugin/testdata/derived that are not refused,
// each by three pairs: the median of their quotients, and the worst.
func benchmarkArchives(b *testing.B) {
	paths, err := filepath.Glob("../../plugin/testdata/derived/*.txtar")
	if err != nil || len(paths) == 0 {
		b.Fatal("no archives: ", err)
	}
	home := b.TempDir()
	for b.Loop() {
		var quotients []float64
		worst := ""
		for _, path := range paths {
			dir, params := archive(b, path)
			if dir == "" {
				continue
			}
			derive, warn := deriving(b, dir, "derive", params...), deriving(b, dir, "warn", params...)
			var ratios []float64
			for range 3 {
				ours, _ := once(b, home, derive)
				theirs, _ := once(b, home, warn)
				ratios = append(ratios, ours/theirs)
			}
			quotient := median(ratios)
			if len(quotients) == 0 || quotient > slices.Max(quotients) {
				worst = filepath.Base(path)
			}
			quotients = append(quotients, quotient)
		}
		b.ReportMetric(median(quotients), "x")
		b.ReportMetric(slices.Max(quotients), "worst-x")
		b.ReportMetric(float64(len(quotients)), "charts")
		b.Log("the worst is ", worst)
	}
	b.ReportMetric(0, "ns/op")
}

// archive unpacks a chart, and returns the parameters that it is rendered with; dir is ""
// if it is refused.
func archive(b *testing.B, path string) (dir string, params []string) {
	b.Helper()
	parsed, err := txtar.ParseFile(path)
	if err != nil {
		b.Fatal(err)
	}
	dir = b.TempDir()
	engine := "renderer=helm3"
	for _, f := range parsed.Files {
		switch name, isChart := strings.CutPrefix(f.Name, "chart/"); {
		case isChart:
			write(b, dir, name, string(f.Data))
			if name == "kustomization.yaml" {
				engine = "kustomize-helm=helm3"
			}
		case f.Name == "want.yaml":
			var want struct {
				Params  []string
				Refused any
			}
			if err := yaml.Unmarshal(f.Data, &want); err != nil {
				b.Fatalf("%s: %v", path, err)
			}
			if params = want.Params; want.Refused != nil {
				return "", nil
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "Chart.yaml")); err != nil && engine == "renderer=helm3" {
		write(b, dir, "Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n")
	}
	return dir, append(params, engine, "release-name=web")
}
