package bench

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/reposerver"
)

var (
	rounds  = flag.Int("rounds", 25, "how often each way is measured")
	batches = flag.Int("batches", 3, "how often each fleet is refreshed")
)

// The ways, by the names that they have in the tables.
const (
	native   = "native Helm"
	helm     = "helm template plugin"
	generate = "hallmark generate plugin"
	serve    = "hallmark serve"
	again    = "hallmark serve, other commit"
	floor    = "floor, JSON"
	floorY   = "floor, YAML"
)

// ways are the plugins behind the ways.
var ways = []struct{ name, plugin string }{
	{native, ""}, {helm, "helm-template"}, {generate, "hallmark-generate"}, {serve, "hallmark"}, {again, "hallmark"},
	{floor, "floor-json"}, {floorY, "floor-yaml"},
}

// BenchmarkGenerateManifest measures one application at a time.
func BenchmarkGenerateManifest(b *testing.B) {
	s := startRepoServer(b)
	s.servePlugins(b)
	hallmark := s.Serve(b, "hallmark", "")
	b.Run("large-chart", func(b *testing.B) {
		s.measure(b, hallmark, largeRepository(b), large)
	})
	b.Run("checkout", func(b *testing.B) {
		r := argocd.NewRepository(b)
		r.Copy(b, "../../examples", "examples")
		s.measure(b, hallmark, r, "examples/checkout")
	})
}

// servePlugins starts the plugins that run a program for each request.
func (s *repoServer) servePlugins(b *testing.B) {
	b.Helper()
	s.servePlugin(b, "helm-template", "sh", "-c", "exec '"+s.program(b, "helm3")+"'"+` template "$ARGOCD_APP_NAME" . `+
		`--namespace "$ARGOCD_APP_NAMESPACE" --kube-version "$KUBE_VERSION" --include-crds --set "replicas=$PARAM_HELM_PARAMETERS_REPLICAS"`)
	s.servePlugin(b, "hallmark-generate", s.program(b, "hallmark"), "generate", "-o", "json")
}

// measure measures all ways for the application at path.
func (s *repoServer) measure(b *testing.B, hallmark *argocd.Sidecar, repo *argocd.Repository, path string) {
	b.Helper()
	repo.Commit(b, "the application")
	r := request{app: filepath.Base(path), repo: repo.URL, path: path, replicas: 1}
	s.serveFloors(b, repo.Dir, r)
	title := fmt.Sprintf("%s: %s from a chart of %s in a repository of %s; %d rounds",
		r.app, s.compare(b, r), megabytes(b, filepath.Join(repo.Dir, path)), megabytes(b, repo.Dir), *rounds)
	fresh := r.replicas
	for b.Loop() {
		seconds := map[string][]float64{}
		order := rand.New(rand.NewPCG(1, 2))
		for range *rounds {
			fresh++
			repo.Write(b, "notes.txt", fmt.Sprintln(fresh))
			repo.Commit(b, "another file")
			s.time(b, request{app: "notes", repo: r.repo, path: ".", plugin: "floor-json"}) // fetches the commit
			for _, i := range order.Perm(len(ways)) {
				way, r := ways[i], r
				r.plugin = way.plugin
				if way.name != again {
					r.replicas = fresh
				}
				seconds[way.name] = append(seconds[way.name], s.time(b, r))
			}
		}
		report(title, seconds)
	}
	checkCache(b, hallmark, r.app, fresh)
	b.ReportMetric(0, "ns/op")
}

// time is how many seconds a request takes.
func (s *repoServer) time(b *testing.B, r request) float64 {
	b.Helper()
	start := time.Now()
	if _, err := s.generate(r); err != nil {
		b.Fatal(err)
	}
	return time.Since(start).Seconds()
}

// serveFloors starts the floors, which answer as hallmark would.
func (s *repoServer) serveFloors(b *testing.B, dir string, r request) {
	b.Helper()
	printed := func(format, separator string) []string {
		c := exec.Command(s.program(b, "hallmark"), "generate", "-o", format, "--root", dir)
		c.Dir = filepath.Join(dir, r.path)
		c.Env = r.environ()
		out, err := c.Output()
		if err != nil {
			b.Fatalf("%v: %v", c.Args, err)
		}
		return strings.Split(strings.TrimSuffix(string(out), "\n"), separator)
	}
	serveFloor(b, s.Plugins, "floor-json", printed("json", "\n"))
	serveFloor(b, s.Plugins, "floor-yaml", printed("yaml", "\n---\n"))
}

// compare checks that all ways give the same objects, and says how many there are.
func (s *repoServer) compare(b *testing.B, r request) string {
	b.Helper()
	var want []string
	size := 0
	for _, way := range ways {
		r.plugin = way.plugin
		answer, err := s.generate(r)
		if err != nil {
			b.Fatal(err)
		}
		got := withoutStamps(b, answer)
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			b.Fatalf("%s: %q gives other objects than %q", r.app, way.name, ways[0].name)
		}
		if way.name == native {
			size = len(answer)
		}
	}
	return fmt.Sprintf("%d objects, %.1f MB of JSON,", len(want), float64(size)/1e6)
}

// withoutStamps returns the objects of an answer in an order of their own.
func withoutStamps(b *testing.B, answer reposerver.Message) []string {
	b.Helper()
	var out []string
	for _, manifest := range answer.Texts(b, 1) {
		var object map[string]any
		if err := json.Unmarshal([]byte(manifest), &object); err != nil {
			b.Fatal(err)
		}
		metadata, _ := object["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		for name := range annotations {
			if strings.HasPrefix(name, "hallmark.dev/") {
				delete(annotations, name)
			}
		}
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
		data, err := json.Marshal(object)
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, string(data))
	}
	slices.Sort(out)
	return out
}

// checkCache checks that hallmark answered from its cache what it was meant to
// and nothing else: for each new value one other request repeats an old one.
func checkCache(b *testing.B, hallmark *argocd.Sidecar, app string, want int) {
	b.Helper()
	answers, cached := 0, 0
	for _, e := range hallmark.Entries(b, "generated", app) {
		answers++
		if e.Cached {
			cached++
		}
	}
	if answers != 2*want || cached != want {
		b.Fatalf("%d of %d answers came from hallmark's cache, want %d of %d", cached, answers, want, 2*want)
	}
}

// megabytes is the size of the files below dir, without those of git.
func megabytes(b *testing.B, dir string) string {
	b.Helper()
	var size int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return fmt.Sprintf("%.1f MB", float64(size)/1e6)
}

// applications is how many are refreshed together.
const applications = 64

// BenchmarkFleet measures many applications that are refreshed together, each
// with a name and a parameter of its own.
func BenchmarkFleet(b *testing.B) {
	s := startRepoServer(b)
	s.servePlugins(b)
	repo := largeRepository(b)
	repo.Commit(b, "the application")
	hallmark := s.Serve(b, "hallmark", "")
	refresh := func(plugin string, batch int) float64 {
		failed := make(chan error, applications)
		start := time.Now()
		for i := range applications {
			go func() {
				_, err := s.generate(request{
					app: fmt.Sprintf("app%d", i), repo: repo.URL, path: large, plugin: plugin, replicas: 1 + batch*applications + i,
				})
				failed <- err
			}()
		}
		for range applications {
			if err := <-failed; err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(start).Seconds()
	}
	for b.Loop() {
		var ours, theirs []float64
		for batch := range *batches {
			theirs = append(theirs, refresh("helm-template", batch))
			ours = append(ours, refresh("hallmark", batch))
		}
		fmt.Printf("\n%d applications together; %d batches\n\n", applications, *batches)
		fmt.Printf("| way | applications/s |\n|---|---|\n| %-28s | %.2f |\n| %-28s | %.2f |\n\n",
			helm, applications/median(theirs), serve, applications/median(ours))
		judge("throughput, "+serve+" / "+helm, quotient(theirs, ours), "at least", 2)
		judge("peak memory of "+serve+", MiB", float64(hallmark.PeakMemory(b))/(1<<20), "at most", 512)
	}
	b.ReportMetric(0, "ns/op")
}
