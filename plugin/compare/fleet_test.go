package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/source"
)

const here = "https://git.example.com/shop/deployments"

// manifest is an Application of one source.
func manifest(name, source string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + "}\nspec:\n  project: default\n" +
		"  destination: {namespace: shop, name: in-cluster}\n  source: {" + source + "}\n"
}

func configMap(name, level string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {level: " + level + "}\n"
}

// fleet compares two repositories of the given files.
func fleet(from, to map[string]string, change func(*Fleet)) *Fleet {
	f := &Fleet{
		From:   &Checkout{Tree: source.Memory(from), Commit: "1", URLs: []string{here}},
		To:     &Checkout{Tree: source.Memory(to), Commit: "2", URLs: []string{here}},
		Bounds: Bounds{Parallel: 2},
	}
	f.Common.Tolerant = true
	if change != nil {
		change(f)
	}
	return f
}

// summary is a line for each application: its name, status, counts and problems.
func summary(r *Report) string {
	var lines []string
	for _, a := range r.Applications {
		line := fmt.Sprintf("%s %s +%d -%d ~%d =%d", a.Name, a.Status, a.Counts.Added, a.Counts.Removed, a.Counts.Changed, a.Counts.Unchanged)
		for _, p := range a.Problems {
			line += fmt.Sprintf(" [%s|%s|%s]", p.Side, p.Source, p.Message)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestApplications(t *testing.T) {
	t.Parallel()
	with := func(base map[string]string, more ...string) map[string]string {
		out := map[string]string{}
		for name, text := range base {
			out[name] = text
		}
		for pair := range slices.Chunk(more, 2) {
			if out[pair[0]] = pair[1]; pair[1] == "" {
				delete(out, pair[0])
			}
		}
		return out
	}
	web := map[string]string{"apps/web.yaml": manifest("web", "repoURL: "+here+", path: web"), "web/a.yaml": configMap("a", "info")}
	tests := map[string]struct {
		from, to map[string]string
		change   func(*Fleet)
		want     string
	}{
		"nothing": {web, web, nil, "web unchanged +0 -0 ~0 =1"},
		"a field": {web, with(web, "web/a.yaml", configMap("a", "debug")), nil, "web changed +0 -0 ~1 =0"},
		"a file that moved": {web, with(web, "web/a.yaml", "", "web/b.yaml", configMap("a", "info")), nil,
			"web unchanged +0 -0 ~0 =1"},
		"a new application": {web, with(web, "apps/new.yaml", manifest("new", "repoURL: "+here+", path: web")), nil,
			"new added +1 -0 ~0 =0\nweb unchanged +0 -0 ~0 =1"},
		"an application less": {with(web, "apps/old.yaml", manifest("old", "repoURL: "+here+", path: web")), web, nil,
			"old removed +0 -1 ~0 =0\nweb unchanged +0 -0 ~0 =1"},
		"another path": {web, with(web, "apps/web.yaml", manifest("web", "repoURL: "+here+", path: other"), "other/b.yaml", configMap("b", "info")), nil,
			"web changed +1 -1 ~0 =0"},
		"refused on one side only": {web, with(web, "web/broken.yaml", configMap("b", "info")+"x: ["), nil,
			"web refused +0 -0 ~0 =0 [to||web/broken.yaml:"},
		"refused on both": {with(web, "web/broken.yaml", configMap("b", "info")+"x: ["), with(web, "web/broken.yaml", configMap("b", "info")+"x: ["), nil,
			"web refused +0 -0 ~0 =0 [||web/broken.yaml:"},
		"two of one name, for two Argo CDs": {
			with(web, "b/web.yaml", manifest("web", "repoURL: "+here+", path: web, targetRevision: b")),
			with(web, "b/web.yaml", manifest("web", "repoURL: "+here+", path: web, targetRevision: b")), nil,
			"web (apps/web.yaml) unchanged +0 -0 ~0 =1\nweb (b/web.yaml) unchanged +0 -0 ~0 =1"},
		"a fork": {web, web, func(f *Fleet) {
			f.From.URLs, f.To.URLs, f.Guess = []string{"https://git.example.com/me/fork"}, []string{"https://git.example.com/me/fork"}, true
		}, "web unchanged +0 -0 ~0 =1"},
		"one that renders itself": {
			map[string]string{"apps/root.yaml": manifest("root", "repoURL: "+here+", path: apps")},
			map[string]string{"apps/root.yaml": manifest("root", "repoURL: "+here+", path: apps")}, nil,
			"root unchanged +0 -0 ~0 =1"},
		"applications without end": {
			endless(), endless(), nil,
			"deeper"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _, err := fleet(tt.from, tt.to, tt.change).Applications(t.Context(), ".")
			if err != nil {
				t.Fatal(err)
			}
			if name == "applications without end" {
				if got := summary(r); !strings.Contains(got, "more than 20 deep") {
					t.Errorf("got %s", got)
				}
				return
			}
			if got := summary(r); got != tt.want && !(strings.HasSuffix(tt.want, ".yaml:") && strings.HasPrefix(got, tt.want)) {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// endless is a chart that renders an application of itself under a longer name.
func endless() map[string]string {
	return map[string]string{
		"apps/a.yaml":               manifest("a", "repoURL: "+here+", path: chart"),
		"chart/Chart.yaml":          "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"chart/templates/next.yaml": manifest("{{ .Release.Name }}a", "repoURL: "+here+", path: chart"),
	}
}

// The outcome is the same however many are rendered at once.
func TestParallel(t *testing.T) {
	t.Parallel()
	from, to := map[string]string{}, map[string]string{}
	for n := range 40 {
		name := fmt.Sprintf("app%02d", n)
		for _, side := range []map[string]string{from, to} {
			side["apps/"+name+".yaml"] = manifest(name, "repoURL: "+here+", path: "+name)
			side[name+"/a.yaml"] = configMap("a", "info")
		}
		if n%3 == 0 {
			to[name+"/a.yaml"] = configMap("a", "debug")
		}
	}
	var first string
	for _, parallel := range []int{1, 2, 16} {
		seen := 0
		r, _, err := fleet(from, to, func(f *Fleet) {
			f.Bounds = Bounds{Parallel: parallel, MemoryBytes: 1} // one by one, since the heap is larger
			if parallel == 16 {
				f.Bounds.MemoryBytes = 0
			}
			f.Progress = func(done, _ int, _ string) { seen = max(seen, done) }
		}).Applications(t.Context(), ".")
		if err != nil {
			t.Fatal(err)
		}
		if got := summary(r); first == "" {
			first = got
		} else if got != first {
			t.Errorf("%d at once: got\n%s\nwant\n%s", parallel, got, first)
		}
		if seen != 40 {
			t.Errorf("%d at once: progress says %d of 40", parallel, seen)
		}
		if len(r.Causes) != 1 || r.Causes[0].Objects != 14 {
			t.Errorf("got causes %+v, want one of 14 objects", r.Causes)
		}
	}
}

// A run that is stopped says so instead of calling the rest unchanged.
func TestStopped(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	cause := errors.New("stopped")
	stop(cause)
	files := map[string]string{"apps/web.yaml": manifest("web", "repoURL: "+here+", path: web"), "web/a.yaml": configMap("a", "info")}
	if _, _, err := fleet(files, files, nil).Applications(ctx, "."); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// One that runs into the memory limit is rendered again by itself, and is then refused
// for its own sake only.
func TestStarved(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"apps/web.yaml": manifest("web", "repoURL: "+here+", path: web"), "web/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"web/templates/a.yaml": "{{ $x := repeat 30000000 \"x\" }}{{ range until 60 }}{{ $y := printf \"%s%d\" $x . }}{{ end }}",
	}
	var renders atomic.Int32 // a render that was given up runs on beside the next
	r, _, err := fleet(files, files, func(f *Fleet) {
		f.Common.Limits.MemoryBytes = 1 << 20
		f.Common.Stage = func(stage plugin.Stage, _ string) {
			if stage == plugin.StageRender {
				renders.Add(1)
			}
		}
		f.Bounds.Parallel = 1
	}).Applications(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	if got := summary(r); !strings.Contains(got, "web refused") || !strings.Contains(got, "limits.memoryBytes") {
		t.Errorf("got %s", got)
	}
	if n := renders.Load(); n < 4 {
		t.Errorf("rendered %d times, want both sides twice", n)
	}
}

func TestSameRepository(t *testing.T) {
	t.Parallel()
	same := []string{
		"https://git.example.com/Shop/deployments", "https://git.example.com/shop/deployments.git", "https://user:word@git.example.com/shop/deployments/",
		"git@git.example.com:shop/deployments.git", "ssh://git@git.example.com:2222/shop/deployments", "git.example.com/shop/deployments",
	}
	for _, a := range same {
		for _, b := range same {
			if !sameRepository(a, b) {
				t.Errorf("%s and %s are one repository", a, b)
			}
		}
	}
	for _, other := range []string{"", "https://git.example.com/shop", "https://git.example.com/shop/other", "https://other.example.com/shop/deployments", "file:///shop/deployments"} {
		if sameRepository(same[0], other) {
			t.Errorf("%s and %s are two repositories", same[0], other)
		}
	}
}

func TestCycles(t *testing.T) {
	t.Parallel()
	parents := map[string][]string{"b": {"a"}, "c": {"b"}, "a": {"c"}, "d": {"a"}, "y": {"x"}, "x": {"y"}, "z": {"root"}}
	var got []string
	for _, cycle := range cycles(parents) {
		got = append(got, strings.Join(cycle, " "))
	}
	if want := []string{"a b c", "x y"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
