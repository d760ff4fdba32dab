package library_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/compile"
	"hallmark.dev/hallmark/health/export"
	"hallmark.dev/hallmark/health/library"
	"hallmark.dev/hallmark/lua/vm"
)

func differences(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("differences.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// BenchmarkScripts compares the time of our scripts with that of argo-cd's own, for the
// kinds that both have, on argo-cd's fixtures, one after the other. Each is run as
// Argo CD runs it: its own scripts with Lua's libraries, those of argocd-cm without.
// It reports the median of the kinds and the worst of them; and the same without what
// parsing a script takes, which Argo CD does each time up to 3.5 and once from 3.6 on.
func BenchmarkScripts(b *testing.B) {
	all := fixtures(b)
	if len(all) == 0 {
		b.Fatal("no fixtures")
	}
	for b.Loop() {
		report(b, all, "", func(script string, openLibs bool) func(map[string]any) error {
			return func(object map[string]any) error {
				_, err := vm.RunTrusted(script, openLibs, object)
				return err
			}
		})
		report(b, all, "-compiled", func(script string, openLibs bool) func(map[string]any) error {
			compiled, err := vm.Compile(script, openLibs)
			if err != nil {
				b.Fatal(err)
			}
			return func(object map[string]any) error {
				_, err := compiled.Inspect(object)
				return err
			}
		})
	}
}

// runner prepares a script to be run on objects.
type runner func(script string, openLibs bool) func(object map[string]any) error

func report(b *testing.B, all []fixture, name string, run runner) {
	b.Helper()
	byKind := map[vm.Kind][]float64{}
	for _, f := range all {
		script, ok := vm.Builtin(f.kind.Group, f.kind.Kind)
		if !ok {
			b.Fatalf("%v has no script", f.kind)
		}
		byKind[f.kind] = append(byKind[f.kind], quotient(b, f.object, run(f.ours.Script, f.ours.Check.UseOpenLibs), run(script, true)))
	}
	var medians []float64
	worst, worstKind := 0.0, vm.Kind{}
	for kind, quotients := range byKind {
		m := median(quotients)
		medians = append(medians, m)
		if m > worst {
			worst, worstKind = m, kind
		}
	}
	b.ReportMetric(median(medians), "x-median"+name)
	b.ReportMetric(worst, "x-worst"+name)
	b.Logf("%d kinds; the worst is %s/%s", len(medians), worstKind.Group, worstKind.Kind)
}

// quotient is the median of ours to argo-cd's over pairs of runs.
func quotient(b *testing.B, object map[string]any, ours, theirs func(map[string]any) error) float64 {
	b.Helper()
	const pairs = 41
	once := func(run func(map[string]any) error) float64 {
		start := time.Now()
		if err := run(object); err != nil {
			b.Fatal(err)
		}
		return float64(time.Since(start))
	}
	var quotients []float64
	for range pairs {
		other := once(theirs)
		quotients = append(quotients, once(ours)/other)
	}
	return median(quotients)
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkBuild builds the whole library: parse, check, compile, argocd-cm.
func BenchmarkBuild(b *testing.B) {
	specs := subjects(b)
	for b.Loop() {
		var built []export.Script
		for _, s := range specs {
			checks, err := health.Parse(s.Check.File, readFile(b, library.Files, s.Check.File))
			if err != nil {
				b.Fatal(err)
			}
			for _, check := range checks {
				script, err := compile.Lua(check, "v0")
				if err != nil {
					b.Fatal(err)
				}
				built = append(built, export.Script{Check: check, Lua: script})
			}
		}
		if _, err := export.ArgoCM(built, false); err != nil {
			b.Fatal(err)
		}
	}
}
