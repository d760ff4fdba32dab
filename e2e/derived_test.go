package e2e

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/wait"
)

// derivedChart makes a password that stands in two places, a certificate, and a
// Deployment that rolls when the file with the password changes: each render gives
// others.
var derivedChart = map[string]string{
	"Chart.yaml": "apiVersion: v2\nname: derived\nversion: 1.0.0\n",
	"templates/secret.yaml": `{{- $password := randAlphaNum 20 }}
apiVersion: v1
kind: Secret
metadata:
  name: db
data:
  password: {{ $password | b64enc }}
  url: {{ printf "postgres://shop:%s@db/shop" $password | b64enc }}
`,
	"templates/tls.yaml": `{{- $cert := genSelfSignedCert "db.shop.svc" nil (list "db.shop.svc") 365 }}
apiVersion: v1
kind: Secret
metadata:
  name: db-tls
type: kubernetes.io/tls
data:
  tls.crt: {{ $cert.Cert | b64enc }}
  tls.key: {{ $cert.Key | b64enc }}
`,
	"templates/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations:
        checksum/secret: {{ include (print .Template.BasePath "/secret.yaml") . | sha256sum }}
    spec:
      containers:
        - name: web
          image: registry.example.com/shop/web:v1
          envFrom: [{secretRef: {name: db}}]
`,
}

// derived deploys that chart twice with values that are derived from a seed. Hard
// refreshes, an unrelated commit and a restart move nothing, whereas without a seed the
// chart is OutOfSync. A generation and a second seed move one of the two, pods included.
func derived(t *testing.T, e *env) {
	const app, stays, random, name = "derived", "derived-stays", "derived-warn", "hallmark-derived"
	rules := newMount(t, map[string]string{"policy.yaml": `apiVersion: hallmark.dev/v1
kind: RenderPolicy
spec: {rules: [{name: derived, match: {namespace: derived*}, determinism: [enforce, derive, warn], derivation: {project: default}}]}
`})
	seed := map[string]string{"seed-1": rand.Text() + rand.Text()}
	seeds := newMount(t, seed)
	seedFile := func(id string) string { return filepath.Join(seeds.dir, id) }
	flags := []string{"--policy", filepath.Join(rules.dir, "policy.yaml"), "--seed-file", seedFile("seed-1")}
	sidecar := e.Serve(t, name, "", flags...)
	repo := argocd.NewRepository(t)
	for file, content := range derivedChart {
		repo.Write(t, "derived/"+file, content)
	}
	revision := repo.Commit(t, "a chart that makes a password")
	source := func(mode string, more ...argocd.Parameter) argocd.Source {
		return use(repo, "derived", name, append([]argocd.Parameter{{Name: "determinism", String: mode}}, more...)...)
	}
	show := func(app, seed string, parameters ...string) string {
		t.Helper()
		args := []string{"random", "show", "--reveal", "--field", "Secret/db/data/password", "--seed-file", seedFile(seed), "--project", "default", "--app", app, "--namespace", app}
		for _, p := range parameters {
			args = append(args, "--param", p)
		}
		out, stderr, err := e.hallmark(nil, append(args, filepath.Join(repo.Dir, "derived"))...)
		if err != nil {
			t.Fatalf("hallmark random show: %v\n%s", err, stderr)
		}
		return strings.TrimSuffix(out, "\n")
	}
	// moved changes the parameters of the one Application, and nothing of the other.
	moved := func(before, other derivedState, source argocd.Source, password string) derivedState {
		t.Helper()
		e.SetSource(t, app, source)
		e.Refresh(t, app, false)
		after := e.derivedState(t, app, source, revision)
		after.differs(t, before)
		after.shown(t, password)
		e.stayed(t, stays, revision, other, true)
		return after
	}

	e.Create(t, app, app, source("derive"), argocd.AutoSync())
	e.Create(t, stays, stays, source("derive"), argocd.AutoSync())
	e.Create(t, random, random, source("warn"), nil)
	e.Sync(t, random)
	first, other := e.derivedState(t, app, source("derive"), revision), e.derivedState(t, stays, source("derive"), revision)
	first.differs(t, other)
	first.shown(t, show(app, "seed-1"))
	other.shown(t, show(stays, "seed-1"))

	for range 3 {
		renders := len(sidecar.Entries(t, "generated", app))
		e.stayed(t, app, revision, first, true)
		if now := len(sidecar.Entries(t, "generated", app)); now <= renders {
			t.Error("a hard refresh rendered nothing: this test proves nothing")
		}
	}
	repo.Write(t, "README", "not read\n")
	revision = repo.Commit(t, "elsewhere")
	e.stayed(t, app, revision, first, false)

	generation := argocd.Parameter{Name: "random-generation", String: "1"}
	second := moved(first, other, source("derive", generation), show(app, "seed-1", "random-generation=1"))

	// The second seed is mounted beside the first, and the variable that names both
	// rolls the pod.
	seed["seed-2"] = rand.Text() + rand.Text()
	seeds.change(t, seed)
	if got, err := sidecar.Metric("hallmark_seeds_last_reload_successful"); err != nil || got != "1" {
		t.Errorf("hallmark_seeds_last_reload_successful: got %q, %v", got, err)
	}
	if err := sidecar.Stop(); err != nil {
		t.Errorf("the sidecar did not stop in order: %v", err)
	}
	sidecar = e.Serve(t, name, "", append(flags, "--seed-file", seedFile("seed-2"))...)
	for app, state := range map[string]derivedState{app: second, stays: other} {
		e.stayed(t, app, revision, state, true)
	}
	e.Refresh(t, random, true)
	e.WaitFor(t, random, "is OutOfSync with other values", func(app *argocd.Application) error {
		if got, want := app.OutOfSync(), []string{"Deployment/web", "Secret/db", "Secret/db-tls"}; !slices.Equal(got, want) {
			return fmt.Errorf("the objects %q are OutOfSync, want %q", got, want)
		}
		return nil
	})
	third := moved(second, other, source("derive", generation, argocd.Parameter{Name: "random-seed", String: "seed-2"}),
		show(app, "seed-2", "random-generation=1"))
	running(t, sidecar)

	if got, err := sidecar.Metric(`hallmark_derived_fields_total{reason="certificate"}`); err != nil || got == "0" {
		t.Errorf("hallmark_derived_fields_total: got %q, %v", got, err)
	}
	logs, err := os.ReadDir(e.Cluster.Logs)
	if err != nil || len(logs) == 0 {
		t.Fatalf("%d logs: %v", len(logs), err)
	}
	words := []string{first.password, second.password, third.password, other.password, seed["seed-1"], seed["seed-2"]}
	for _, log := range logs {
		holdsNone(t, log.Name(), string(readFile(t, filepath.Join(e.Cluster.Logs, log.Name()))), words...)
	}
}

// derivedState is what is in the cluster of the chart, each a value of its own.
type derivedState struct {
	snapshot
	password, key, checksum string
}

// derivedState waits until an Application is Synced and Healthy with what its source
// now says, and its one pod is that of the checksum.
func (e *env) derivedState(t *testing.T, name string, source argocd.Source, revision string) derivedState {
	t.Helper()
	app := e.WaitFor(t, name, "is Synced and Healthy with its parameters", func(app *argocd.Application) error {
		if err := app.Synced(revision); err != nil {
			return err
		}
		if used := app.Status.OperationState.SyncResult.Source.Plugin; !reflect.DeepEqual(used, source.Plugin) {
			return fmt.Errorf("the last sync was with %+v", used)
		}
		if health := app.Status.Health.Status; health != "Healthy" {
			return fmt.Errorf("health is %q", health)
		}
		return nil
	})
	state := derivedState{snapshot: e.snapshot(t, app)}
	secrets := e.secrets(t, name)
	state.password, state.key = secrets["db"]["password"], secrets["db-tls"]["tls.key"]
	if want := "postgres://shop:" + state.password + "@db/shop"; secrets["db"]["url"] != want {
		t.Errorf("the URL is %q, want %q", secrets["db"]["url"], want)
	}
	pair, err := tls.X509KeyPair([]byte(secrets["db-tls"]["tls.crt"]), []byte(state.key))
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(pair.Leaf)
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: "db.shop.svc", Roots: trusted}); err != nil {
		t.Error(err)
	}
	state.checksum, _ = field(manifests(state.live)["Deployment/web"], "spec", "template", "metadata", "annotations", "checksum/secret").(string)
	wait.Until(t, "the pod of "+name+" has the checksum "+state.checksum, func() error {
		var pods struct {
			Items []struct{ Metadata argocd.Metadata }
		}
		err := e.Cluster.Get("/api/v1/namespaces/"+name+"/pods", &pods)
		if err == nil && (len(pods.Items) != 1 || state.checksum == "" || pods.Items[0].Metadata.Annotations["checksum/secret"] != state.checksum) {
			err = fmt.Errorf("the pods are %+v", pods.Items)
		}
		return err
	}, nil)
	return state
}

// differs checks that no value is as it was in another state.
func (s derivedState) differs(t *testing.T, other derivedState) {
	t.Helper()
	if s.password == other.password || s.key == other.key || s.checksum == other.checksum {
		t.Errorf("of the values %q and %q one is the same", []string{s.password, s.checksum, s.key}, []string{other.password, other.checksum, other.key})
	}
}

// shown checks that the password is the one that `hallmark random show` printed.
func (s derivedState) shown(t *testing.T, password string) {
	t.Helper()
	if s.password != password {
		t.Errorf("the password is %q in the cluster, and hallmark random show prints %q", s.password, password)
	}
}

// stayed checks that after a refresh an Application is Synced and as it was.
func (e *env) stayed(t *testing.T, name, revision string, before derivedState, hard bool) {
	t.Helper()
	e.Refresh(t, name, hard)
	e.untouched(t, e.WaitSynced(t, name, revision), before.snapshot)
}
