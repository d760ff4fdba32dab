package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
			"web changed +1 -1 ~1 =0"},
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
		"two of one name in one file": {
			with(web, "apps/web.yaml", web["apps/web.yaml"]+"---\n"+manifest("web", "repoURL: "+here+", path: web, targetRevision: b")),
			with(web, "apps/web.yaml", web["apps/web.yaml"]+"---\n"+manifest("web", "repoURL: "+here+", path: gone")), nil,
			"web (apps/web.yaml) unchanged +0 -0 ~0 =1\nweb (apps/web.yaml, 2) refused +0 -0 ~1 =0 [to||application path \"gone\" does not exist]"},
		"equal ones for two Argo CDs": {
			with(web, "b/web.yaml", web["apps/web.yaml"]), with(web, "b/web.yaml", web["apps/web.yaml"]), nil,
			"web (apps/web.yaml) unchanged +0 -0 ~0 =1\nweb (b/web.yaml) unchanged +0 -0 ~0 =1"},
		"wanted by the bare name, and brought along by one that is not": {
			wanted("debug"), wanted("info"), func(f *Fleet) {
				f.Wanted = func(names ...string) bool { return slices.Contains(names, "web") }
			}, "argocd/web changed +0 -0 ~1 =0"},
		"a path that leaves the repository": {
			with(web, "apps/web.yaml", manifest("web", "repoURL: "+here+", path: ../web")), web, nil,
			"web refused +0 -0 ~1 =0 [from||path \"../web\" leaves the repository]"},
		"refused under another name": {
			with(web, "apps/web.yaml", manifest("web", "repoURL: https://git.example.com/other/one, path: other")), web, nil,
			"web refused +0 -0 ~1 =0 [from||the repository https://git.example.com/other/one is not here, and nothing is fetched]"},
		"one source of two refused under another name": {
			sources(web, "{repoURL: "+here+", path: web}", "{repoURL: https://git.example.com/other/one, path: old}"),
			sources(with(web, "new/n.yaml", configMap("new", "info")), "{repoURL: "+here+", path: web}", "{repoURL: "+here+", path: new}"), nil,
			"web refused +0 -0 ~1 =1 [from|old|the repository https://git.example.com/other/one is not here, and nothing is fetched]"},
		"two sources of one path": {
			sources(web, "{repoURL: "+here+", path: web}", "{repoURL: https://git.example.com/other/one, path: web}"),
			sources(web, "{repoURL: "+here+", path: web}", "{repoURL: https://git.example.com/other/one, path: web}"), nil,
			"web refused +0 -0 ~0 =1 [|web (2)|the repository https://git.example.com/other/one is not here, and nothing is fetched]"},
		"value files of a source that is not here": {
			sources(web, "{repoURL: "+here+", path: web}", "{repoURL: https://git.example.com/other/one, ref: values}"),
			sources(web, "{repoURL: "+here+", path: web}", "{repoURL: https://git.example.com/other/one, ref: values}"), nil,
			"web refused +0 -0 ~0 =1 [|$values|the repository https://git.example.com/other/one is not here, and nothing is fetched]"},
		"jobs without a name of two sources": {
			sources(unnamed("web", "other"), "{repoURL: "+here+", path: web}", "{repoURL: "+here+", path: other}"),
			sources(unnamed("web", "other"), "{repoURL: "+here+", path: web}", "{repoURL: "+here+", path: other}"), nil,
			"web unchanged +0 -0 ~0 =2"},
		"a chart in the version that is here": {
			charts(web, "1.4.0"), charts(web, "1.x"), vendored, "web changed +0 -0 ~1 =1"},
		"a chart in two versions": {
			charts(web, "1.4.0"), charts(web, "v1.5.0"), vendored, "web changed +0 -0 ~2 =0"},
		"a chart in a version that is not here": {
			charts(web, "1.4.0"), charts(web, "2.0.0"), vendored,
			"web refused +0 -0 ~1 =0 [to||the chart \"shop\" of https://charts.example.com is here in version 1.4.0, and the application wants 2.0.0]"},
		"a fault in a manifest that is rendered too": {
			with(broken(), "root/b.yaml", strings.Replace(manifest("b", "repoURL: "+here+", path: web"), "project:", "projects:", 1)), broken(), nil,
			"b refused +0 -0 ~0 =0 [from||"},
		"another destination": {web, with(web, "apps/web.yaml", strings.Replace(web["apps/web.yaml"], "namespace: shop", "namespace: other", 1)), nil,
			"web changed +0 -0 ~1 =1"},
		"a manifest with a fault on one side": {web, with(web, "apps/web.yaml", strings.Replace(web["apps/web.yaml"], "project:", "projects:", 1)), nil,
			"web refused +0 -0 ~0 =0 [to||apps/web.yaml:5:3: spec: unknown field \"projects\", did you mean \"project\"?]"},
		"one that is not wanted": {web, with(web, "apps/web.yaml", web["apps/web.yaml"]+"  x: ["), func(f *Fleet) {
			f.Wanted = func(names ...string) bool { return slices.Contains(names, "web") }
		}, "web refused +0 -0 ~0 =0 [to||a manifest in apps/web.yaml cannot be read on this side]"},
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
			if got := summary(r); got != tt.want && !((strings.HasSuffix(tt.want, ".yaml:") || strings.HasSuffix(tt.want, "||")) && strings.HasPrefix(got, tt.want) && strings.Count(got, "[") == 1) {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// wanted is an application that another one brings along.
func wanted(level string) map[string]string {
	return map[string]string{
		"apps/root.yaml":              manifest("root", "repoURL: "+here+", path: children"),
		"children/Chart.yaml":         "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"children/templates/web.yaml": strings.Replace(manifest("web", "repoURL: "+here+", path: web"), "name: web", "name: web, namespace: argocd", 1),
		"web/a.yaml":                  configMap("a", level),
	}
}

// broken is an application that renders a folder of manifests.
func broken() map[string]string {
	return map[string]string{"apps/root.yaml": manifest("root", "repoURL: "+here+", path: root"), "root/a.yaml": configMap("a", "info"), "web/a.yaml": configMap("a", "info")}
}

// sources gives the application several.
func sources(files map[string]string, list ...string) map[string]string {
	files = maps.Clone(files)
	files["apps/web.yaml"] = strings.Replace(manifest("web", "x"), "source: {x}", "sources: ["+strings.Join(list, ", ")+"]", 1)
	return files
}

// unnamed are folders with a Job each whose name the API server completes.
func unnamed(folders ...string) map[string]string {
	files := map[string]string{}
	for _, folder := range folders {
		files[folder+"/job.yaml"] = "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: " + folder + "-}\n"
	}
	return files
}

// charts gives the application a chart of another repository.
func charts(files map[string]string, version string) map[string]string {
	files = maps.Clone(files)
	files["apps/web.yaml"] = manifest("web", "repoURL: https://charts.example.com, chart: shop, targetRevision: "+version)
	return files
}

// vendored are two versions of that chart.
func vendored(f *Fleet) {
	tree := source.Memory(map[string]string{
		"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.4.0\n", "shop/templates/a.yaml": configMap("a", "info"),
		"shop-1.5.0/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.5.0\n", "shop-1.5.0/templates/a.yaml": configMap("a", "debug"),
	})
	f.From.Others = map[string]*source.Tree{"https://charts.example.com": tree}
	f.To.Others = f.From.Others
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

// A circle is told although its first application is not to be compared.
func TestCycleOfSomeUnwanted(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"apps/a.yaml": manifest("a", "repoURL: "+here+", path: b"), "b/b.yaml": manifest("b", "repoURL: "+here+", path: apps"),
	}
	for _, wanted := range []string{"a", "b", "none"} {
		r, _, err := fleet(files, files, func(f *Fleet) {
			f.Wanted = func(names ...string) bool { return slices.Contains(names, wanted) }
		}).Applications(t.Context(), ".")
		if err != nil {
			t.Fatal(err)
		}
		if got := summary(r) + strings.Join(r.Notes, "\n"); strings.Count(got, "a -> b -> a") != 1 {
			t.Errorf("%s: got %q", wanted, got)
		}
	}
}

// What one side says is hidden on the strength of what the other one has.
func TestProblemsHideValues(t *testing.T) {
	t.Parallel()
	const value = "hunter2-marker"
	chart := map[string]string{
		"apps/web.yaml": manifest("web", "repoURL: "+here+", path: web"), "web/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"web/values.yaml":      "password: " + value + "\n",
		"web/templates/s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: {{ .Values.password }}}\n",
	}
	failing := maps.Clone(chart)
	failing["web/templates/t.yaml"] = "{{ fail (printf \"the password %s is too short\" .Values.password) }}"
	r, _, err := fleet(chart, failing, nil).Applications(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	if got := summary(r); strings.Contains(got, value) || !strings.Contains(got, "is too short") {
		t.Errorf("got %s", got)
	}
}

// A renderer that one application gets is none of another.
func TestReplacedRendererIsNotShared(t *testing.T) {
	t.Parallel()
	common := &plugin.Request{}
	if err := common.Parameters.Set("release-name=web"); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"web/a.yaml": configMap("a", "info")}
	(&Checkout{Tree: source.Memory(files), Renderer: plugin.RendererKustomize}).folder("web", "web", common)
	plain := (&Checkout{Tree: source.Memory(files)}).folder("web", "web", common)
	if _, err := plugin.Render(t.Context(), plain.Parts[0].Request); err != nil {
		t.Error(err)
	}
}

// What is to be said of a revision is said once, and not of each application.
func TestNotesOfRevisions(t *testing.T) {
	t.Parallel()
	files := map[string]string{"web/a.yaml": configMap("a", "info")}
	for _, name := range []string{"one", "two"} {
		files["apps/"+name+".yaml"] = manifest(name, "repoURL: "+here+", path: web, targetRevision: main")
	}
	r, _, err := fleet(files, files, func(f *Fleet) {
		f.From.Pinned = func(revision string) (*Revision, string, error) { return nil, revision + " is taken for a branch", nil }
	}).Applications(t.Context(), "apps")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Notes) != 1 || r.Notes[0] != "main is taken for a branch" || len(r.Applications[0].Notes) != 0 {
		t.Errorf("got %q and %+v", r.Notes, r.Applications)
	}
}

// A folder of manifests that one side does not have yet.
func TestApplicationsOnOneSide(t *testing.T) {
	t.Parallel()
	with := map[string]string{"apps/web.yaml": manifest("web", "repoURL: "+here+", path: web"), "web/a.yaml": configMap("a", "info")}
	without := map[string]string{"web/a.yaml": with["web/a.yaml"]}
	for want, sides := range map[string][2]map[string]string{"web added +1 -0 ~0 =0": {without, with}, "web removed +0 -1 ~0 =0": {with, without}} {
		r, _, err := fleet(sides[0], sides[1], nil).Applications(t.Context(), "apps")
		if err != nil {
			t.Fatal(err)
		}
		if got := summary(r); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if _, _, err := fleet(without, without, nil).Applications(t.Context(), "apps"); err == nil {
		t.Error("a folder that is on neither side is no error")
	}
}

// What the Secret of one application holds is hidden in what is said of another, which
// brings the first along with the value as a parameter.
func TestValuesOfAnotherApplication(t *testing.T) {
	t.Parallel()
	side := func(value string) map[string]string {
		return map[string]string{
			"apps/root.yaml":   manifest("root", "repoURL: "+here+", path: root"),
			"root/child.yaml":  manifest("child", "repoURL: "+here+", path: child, helm: {parameters: [{name: password, value: "+value+"}]}"),
			"child/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "child/templates/s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: {{ .Values.password }}}\n",
		}
	}
	r, _, err := fleet(side("hunter2-one"), side("hunter2-two"), nil).Applications(t.Context(), "apps")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	all := string(text)
	for _, a := range r.Applications {
		for _, o := range a.Objects {
			all += string(o.Before) + string(o.After)
		}
	}
	if strings.Contains(all, "hunter2") || strings.Count(summary(r), "changed") != 2 {
		t.Errorf("got %s", all)
	}
}
