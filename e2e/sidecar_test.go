package e2e

import (
	"crypto/sha256"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/wait"
)

// slowTemplate takes time in proportion to .Values.rounds, and gives the same
// for any.
const slowTemplate = `{{- range until (int .Values.rounds) }}{{ range until 10000 }}{{ end }}{{ end -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: slow
data:
  rounds: {{ .Values.rounds | quote }}
`

// killed kills a sidecar in the middle of a render and starts it again.
func killed(t *testing.T, e *env) {
	const app, name = "killed", "hallmark-killed"
	sidecar := e.Serve(t, name, "")
	repo := argocd.NewRepository(t)
	repo.Write(t, "slow/Chart.yaml", "apiVersion: v2\nname: slow\nversion: 1.0.0\n")
	repo.Write(t, "slow/templates/slow.yaml", slowTemplate)
	repo.Write(t, "slow/values.yaml", "rounds: 1\n")
	first := repo.Commit(t, "fast")
	before := e.snapshot(t, e.deploy(t, app, app, use(repo, "slow", name), argocd.AutoSync(), first))

	repo.Write(t, "slow/values.yaml", "rounds: 10000\n")
	second := repo.Commit(t, "slow")
	e.RequestRefresh(t, app, false)
	// A repository of this size is received in no time. A request that is seen
	// twice is in the render.
	seen := 0
	wait.Until(t, "a render is running", func() error {
		n, err := sidecar.InFlight()
		if err != nil {
			return err
		}
		if seen += n; n == 0 {
			seen = 0
		}
		if seen < 2 {
			return fmt.Errorf("%d requests in flight", n)
		}
		return nil
	}, sidecar.Tail)
	sidecar.Kill()
	if done := sidecar.Entries(t, "generated", app); len(done) > 0 && done[len(done)-1].Revision == second {
		t.Fatalf("the render was over before the sidecar was killed: %+v", done)
	}
	broken := e.AwaitRefresh(t, app)
	if broken.Condition("ComparisonError") == "" {
		t.Errorf("no ComparisonError:\n%s", broken.Summary())
	}
	e.untouched(t, broken, before)

	sidecar.Restart(t) // the socket of the killed one is still there
	e.Refresh(t, app, false)
	e.WaitSynced(t, app, second)
}

// fleet refreshes many Applications of one repository at once.
func fleet(t *testing.T, e *env) {
	const size = 40
	repo := argocd.NewRepository(t)
	repo.Write(t, "fleet/Chart.yaml", "apiVersion: v2\nname: fleet\nversion: 1.0.0\n")
	repo.Write(t, "fleet/values.yaml", "round: one\nship: none\n")
	repo.Write(t, "fleet/templates/ship.yaml", `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  round: {{ .Values.round | quote }}
  ship: {{ .Values.ship | quote }}
`)
	first := repo.Commit(t, "one")
	names := make([]string, size)
	for i := range names {
		names[i] = fmt.Sprintf("fleet-%02d", i)
		e.Create(t, names[i], "fleet", use(repo, "fleet", plugin, helmValues(map[string]string{"ship": names[i]})), argocd.AutoSync())
	}
	for _, name := range names {
		e.WaitSynced(t, name, first)
	}

	repo.Replace(t, "fleet/values.yaml", "round: one", "round: two")
	second := repo.Commit(t, "two")
	start := time.Now()
	for _, name := range names {
		e.RequestRefresh(t, name, false)
	}
	for _, name := range names {
		e.AwaitRefresh(t, name)
		app := e.WaitSynced(t, name, second)
		for _, l := range e.Applied(t, app) {
			if field(l.Manifest, "data", "round") != "two" || field(l.Manifest, "data", "ship") != name {
				t.Errorf("%s: %s", name, text(t, l.Manifest))
			}
		}
		if refused := e.sidecar.Entries(t, "refused", name); len(refused) > 0 {
			t.Errorf("%s was refused: %+v", name, refused)
		}
	}
	t.Logf("%d applications refreshed and synced in %s", size, time.Since(start).Round(100*time.Millisecond))
}

// memoryBound is generous. repo-server sends the folder .git too, so a
// repository of 100 MB that no compression makes smaller arrives as 200 MB.
const memoryBound = 512 << 20

// largeRepository renders an Application that needs a hundredth of its
// repository.
func largeRepository(t *testing.T, e *env) {
	const app, name = "large-repository", "hallmark-large"
	sidecar := e.Serve(t, name, "")
	repo := argocd.NewRepository(t)
	random := rand.New(rand.NewSource(1)) // noise, which no compression makes smaller
	data := make([]byte, 1_000_000)
	noise := func(file string) {
		random.Read(data)
		repo.Write(t, file, string(data))
	}
	for i := range 99 {
		noise(fmt.Sprintf("media/%02d.bin", i))
	}
	noise("app/media/needed.bin") // the last one is what data holds from here on
	repo.Write(t, "app/Chart.yaml", "apiVersion: v2\nname: needed\nversion: 1.0.0\n")
	repo.Write(t, "app/templates/needed.yaml", `apiVersion: v1
kind: ConfigMap
metadata:
  name: needed
data:
  digest: {{ .Files.Get "media/needed.bin" | sha256sum }}
`)
	revision := repo.Commit(t, "large")
	live := e.Applied(t, e.deploy(t, app, app, use(repo, "app", name), argocd.AutoSync(), revision))
	if got, want := field(live[0].Manifest, "data", "digest"), fmt.Sprintf("%x", sha256.Sum256(data)); got != want {
		t.Errorf("the digest of the file is %v in the cluster, want %s", got, want)
	}
	peak := sidecar.PeakMemory(t)
	t.Logf("peak memory of the sidecar: %d MiB", peak>>20)
	if peak > memoryBound {
		t.Errorf("the sidecar took %d MiB, more than %d MiB", peak>>20, memoryBound>>20)
	}
}

// largeParameter passes a parameter that is larger than an environment variable
// can be (128 KiB on Linux).
func largeParameter(t *testing.T, e *env) {
	const app = "large-parameter"
	content := strings.Repeat("0123456789abcde ", 130<<10/16)
	repo := argocd.NewRepository(t)
	repo.Write(t, "app/Chart.yaml", "apiVersion: v2\nname: large\nversion: 1.0.0\n")
	repo.Write(t, "app/templates/large.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: large\ndata:\n  text: {{ .Values.text | quote }}\n")
	revision := repo.Commit(t, "a chart with one value")
	source := use(repo, "app", plugin, argocd.Parameter{Name: "values", String: fmt.Sprintf("text: %q\n", content)})
	live := e.Applied(t, e.deploy(t, app, app, source, argocd.AutoSync(), revision))
	if got, _ := field(live[0].Manifest, "data", "text").(string); got != content {
		t.Errorf("%d bytes reached the cluster, want the %d of the parameter", len(got), len(content))
	}
}

// execMode compares the plugin in argocd-cmp-server with `hallmark serve`.
func execMode(t *testing.T, e *env) {
	const app, name = "exec", "hallmark-exec"
	data, err := os.ReadFile(filepath.Join(root, "manifests", "exec", "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// The file as it is shipped, but for the name, which is taken, and the place
	// of the program.
	config := string(data)
	for _, change := range [][2]string{{"\n  name: hallmark\n", "\n  name: " + name + "\n"}, {"[/hallmark, generate]", "[" + e.Bin + "/hallmark, generate]"}} {
		if strings.Count(config, change[0]) != 1 {
			t.Fatalf("plugin.yaml has not one %q:\n%s", change[0], data)
		}
		config = strings.Replace(config, change[0], change[1], 1)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plugin.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	server := e.ServeExec(t, name, dir)

	repo := argocd.NewRepository(t)
	repo.Copy(t, root+"/examples/checkout", "checkout")
	revision := repo.Commit(t, "the application")
	before := e.deploy(t, app, app, use(repo, "checkout", plugin, production), nil, revision)
	served := manifests(e.Applied(t, before))

	e.SetSource(t, app, use(repo, "checkout", name, production))
	e.Refresh(t, app, true)
	e.WaitSynced(t, app, revision) // without a sync: nothing differs
	after := e.Sync(t, app)
	if p := after.Status.OperationState.SyncResult.Source.Plugin; p == nil || p.Name != name {
		t.Fatalf("the sync was not that of %s:\n%s\n%s", name, after.Summary(), server.Tail())
	}
	equalObjects(t, "argocd-cmp-server", manifests(e.Applied(t, after)), "hallmark serve", served)
}
