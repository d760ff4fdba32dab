package bench

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin/chart"
	"hallmark.dev/hallmark/plugin/gate"
	"hallmark.dev/hallmark/plugin/stamp"
)

// pairs is how often both programs run, after one run of each to warm up.
const pairs = 15

// program returns the path of one of the programs that `make bench` builds.
func program(b *testing.B, name string) string {
	b.Helper()
	file, err := filepath.Abs(filepath.Join("../../bin", name))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		b.Fatalf("%v: run make bench", err)
	}
	return file
}

// once runs a command and returns its wall time in seconds and its peak resident
// memory in MiB.
func once(b *testing.B, home string, args []string) (wall, peak float64) {
	b.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+home)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%v: %v\n%s", args, err, stderr.Bytes())
	}
	wall = time.Since(start).Seconds()
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		b.Fatal("no resource usage")
	}
	return wall, float64(usage.Maxrss) / 1024
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// versus reports how hallmark does against the other program: the median
// quotient of the wall times, and both peaks of memory.
func versus(b *testing.B, hallmark, other []string) {
	b.Helper()
	versusTimes(b, pairs, hallmark, other)
}

// versusTimes is versus with another number of pairs.
func versusTimes(b *testing.B, pairs int, hallmark, other []string) {
	b.Helper()
	home := b.TempDir()
	once(b, home, hallmark)
	once(b, home, other)
	for b.Loop() {
		var ratios, ours, theirs, seconds []float64
		for range pairs {
			wallA, peakA := once(b, home, hallmark)
			wallB, peakB := once(b, home, other)
			ratios = append(ratios, wallA/wallB)
			ours, theirs = append(ours, peakA), append(theirs, peakB)
			seconds = append(seconds, wallB)
		}
		b.ReportMetric(median(ratios), "x")
		b.ReportMetric(median(seconds), "other-s")
		b.ReportMetric(median(ours), "hallmark-MiB")
		b.ReportMetric(median(theirs), "other-MiB")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkProcess compares whole processes: start, reading, rendering, gates,
// stamps, determinism and printing, against the program that only renders.
func BenchmarkProcess(b *testing.B) {
	hallmark := program(b, "hallmark")
	checkout, err := filepath.Abs("../../examples/checkout")
	if err != nil {
		b.Fatal(err)
	}
	large := largeChart(b, b.TempDir())
	charts := []struct{ name, dir string }{
		{"one-object", smallChart(b, b.TempDir())}, {"checkout", checkout}, {"large-chart", large},
	}
	for _, c := range charts {
		for _, engine := range []string{"helm3", "helm4"} {
			b.Run(c.name+"/"+engine, func(b *testing.B) {
				versus(b,
					[]string{hallmark, "render", "--app", "x", "--root", c.dir, "--revision", "none", "--param", "renderer=" + engine, c.dir},
					[]string{program(b, engine), "template", "x", c.dir, "--include-crds"})
			})
		}
	}
	manifests, err := exec.Command(program(b, "helm3"), "template", "x", large, "--include-crds").Output()
	if err != nil {
		b.Fatal(err)
	}
	overlay := largeOverlay(b, b.TempDir(), manifests)
	b.Run("large-overlay/kustomize", func(b *testing.B) {
		versus(b,
			[]string{hallmark, "render", "--app", "x", "--root", filepath.Dir(overlay), "--revision", "none", overlay},
			[]string{program(b, "kustomize"), "build", overlay})
	})
}

// BenchmarkInProcess compares what a server does for one more render of a chart
// that it holds (render, prove, gate, stamp, print) with a helm process.
func BenchmarkInProcess(b *testing.B) {
	dir := largeChart(b, b.TempDir())
	ch, err := chart.Load(os.DirFS(dir), ".")
	if err != nil {
		b.Fatal(err)
	}
	helm := []string{program(b, "helm3"), "template", "x", dir, "--include-crds"}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as cmd/hallmark starts
	render(b, ch, true)
	once(b, b.TempDir(), helm)
	home := b.TempDir()
	for b.Loop() {
		var ratios []float64
		for range pairs {
			start := time.Now()
			render(b, ch, true)
			ours := time.Since(start).Seconds()
			theirs, _ := once(b, home, helm)
			ratios = append(ratios, ours/theirs)
		}
		b.ReportMetric(median(ratios), "x")
	}
	b.ReportMetric(0, "ns/op")
}

// render is one render in memory, to the printed bytes.
func render(b *testing.B, ch *chart.Chart, prove bool) {
	b.Helper()
	out, err := ch.Render(context.Background(), chart.Helm3, chart.Options{ReleaseName: "x", Namespace: "default", Prove: prove})
	if err != nil {
		b.Fatal(err)
	}
	objects, err := gate.Expand(out.Objects)
	if err != nil {
		b.Fatal(err)
	}
	if err := gate.Check(objects, gate.Options{}); err != nil {
		b.Fatal(err)
	}
	stamped, err := stamp.Apply(objects, stamp.Provenance{Renderer: "helm3"}, stamp.Options{})
	if err != nil {
		b.Fatal(err)
	}
	printed := make([][]byte, len(stamped.Objects))
	object.Spread(len(printed), func() func(int) {
		var buf []byte
		return func(i int) {
			buf = yamldoc.AppendYAML(buf[:0], stamped.Objects[i].Value)
			printed[i] = bytes.Clone(buf)
		}
	})
}

// BenchmarkDeterminism shows what the proof costs, as a multiple of rendering
// without it: nothing to speak of where no suspicious function is in the chart
// or can be reached, one more run of the templates where one can.
func BenchmarkDeterminism(b *testing.B) {
	charts := map[string]string{
		"no-suspicious-function": "{{ define \"unused\" }}fixed{{ end }}",
		"not-reachable":          "{{ define \"unused\" }}{{ randAlphaNum 16 }}{{ end }}",
		"reachable-not-taken":    "{{ define \"bench.extra\" }}{{ if false }}{{ randAlphaNum 16 }}{{ end }}{{ end }}",
	}
	for name, extra := range charts {
		dir := largeChart(b, b.TempDir())
		write(b, dir, "templates/_extra.tpl", extra)
		if name == "reachable-not-taken" {
			write(b, dir, "templates/extra.yaml", "{{ include \"bench.extra\" . }}")
		}
		ch, err := chart.Load(os.DirFS(dir), ".")
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			timed := func(prove bool) float64 {
				start := time.Now()
				if _, err := ch.Render(context.Background(), chart.Helm3, chart.Options{ReleaseName: "x", Prove: prove}); err != nil {
					b.Fatal(err)
				}
				return time.Since(start).Seconds()
			}
			timed(true)
			for b.Loop() {
				var ratios []float64
				for range pairs {
					ratios = append(ratios, timed(true)/timed(false))
				}
				b.ReportMetric(median(ratios), "x")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
