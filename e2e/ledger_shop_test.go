package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/cluster"
	"hallmark.dev/hallmark/e2e/postgres"
	"hallmark.dev/hallmark/e2e/process"
	"hallmark.dev/hallmark/e2e/wait"
)

const (
	// change is the key in ../manifests/ledger/job, next one that a later release adds.
	change = "checkout:add-order-index:v3"
	next   = "checkout:add-order-index:v4"
	// invariant is the name of the invariant there.
	invariant = "order-index-valid"
	// query is what it asks.
	query = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('orders_by_day')"
	// digest is that of the image there, and newDigest that of a later release.
	digest    = "sha256:cbfd8bd8706497f44ba9a89dcdb3d738372aa886bec567cb0e81bf5f2d62b220"
	newDigest = "sha256:0d1f4aca0c7b5ef3bd2d2b2d3e5fcf0f4b7d5a2f3d6e8c9b1a0f2e4d6c8b0a19"
)

// A shop is an Application with a namespace and a database of its own, whose release
// runs testdata/ledger/migrate once. The test is the node that its Jobs run on.
type shop struct {
	*env
	app  string // and the namespace
	repo *argocd.Repository
	db   *postgres.Database
	node *cluster.Node
	dir  string // of the migration, and of the files with addresses

	secret    string // which nothing may show
	executor  string // the address for who runs migrations
	projector *process.Process
}

func newShop(t *testing.T, e *env, databases *postgres.Server, app string) *shop {
	t.Helper()
	s := &shop{env: e, app: app, repo: argocd.NewRepository(t), db: databases.Database(t), dir: t.TempDir(), secret: databases.Password}
	migration := s.file("migrate")
	err := errors.Join(
		os.WriteFile(migration, readFile(t, "testdata/ledger/migrate"), 0o700),
		os.Symlink(databases.Psql(), s.file("psql")),
		e.Cluster.Apply(cluster.Object{"apiVersion": "v1", "kind": "Namespace", "metadata": cluster.Object{"name": app}}))
	if err != nil {
		t.Fatal(err)
	}
	s.db.Query(t, "CREATE TABLE orders (day date); CREATE TABLE runs (change_key text, source_revision text)")
	s.grant(t)
	s.executor = string(readFile(t, s.file("executor")))
	for name, data := range map[string]map[string]string{
		"checkout-ledger":   {"dsn": s.executor},
		"checkout-database": {"url": s.db.DSN},
	} {
		err := e.Cluster.Apply(cluster.Object{
			"apiVersion": "v1", "kind": "Secret", "metadata": cluster.Object{"namespace": app, "name": name}, "stringData": data,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.node = e.Cluster.RunJobs(t, app, map[string]string{"/hallmark": filepath.Join(e.Bin, "hallmark"), "/checkout": migration})
	return s
}

// grant makes the ledger's tables and the roles of ../manifests/ledger/README.md, each
// with a file of its address and the rights that stand there.
func (s *shop) grant(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(s.file("owner"), []byte(s.db.DSN), 0o600); err != nil {
		t.Fatal(err)
	}
	s.ledger(t, "owner", "install")
	grants := regexp.MustCompile("(?s)```sql\n(.*?)```").FindStringSubmatch(string(readFile(t, ledgerDir+"/README.md")))
	if grants == nil {
		t.Fatal("../manifests/ledger/README.md has no grants")
	}
	statements := grants[1]
	for _, role := range []string{"executor", "projector", "person"} {
		name, dsn := s.db.Role(t, role)
		if err := os.WriteFile(s.file(role), []byte(dsn), 0o600); err != nil {
			t.Fatal(err)
		}
		statements = strings.ReplaceAll(statements, "ledger_"+role, name)
	}
	s.db.Query(t, statements)
}

func (s *shop) file(name string) string { return filepath.Join(s.dir, name) }

// hold makes the migrations from now on wait, letGo ends the wait.
func (s *shop) hold(t *testing.T) {
	t.Helper()
	if err := os.Remove(s.file("go")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

func (s *shop) letGo(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(s.file("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// breakIndex makes the invariant false, as a build of an index that was cut off does,
// and mendIndex makes it true again.
func (s *shop) breakIndex(t *testing.T) {
	t.Helper()
	s.db.Query(t, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'orders_by_day'::regclass")
}

func (s *shop) mendIndex(t *testing.T) { t.Helper(); s.db.Query(t, "REINDEX INDEX orders_by_day") }

// ran checks how often the migration of a change has run.
func (s *shop) ran(t *testing.T, key string, times int) {
	t.Helper()
	if got := s.db.Query(t, "SELECT count(*) FROM runs WHERE change_key = '"+key+"'"); got != fmt.Sprint(times) {
		t.Fatalf("the migration of %s ran %s times, want %d", key, got, times)
	}
}

// started waits until the migration of a change has begun so many times.
func (s *shop) started(t *testing.T, key string, times int) {
	t.Helper()
	wait.Until(t, "the migration of "+key+" has begun", func() error {
		if got := s.db.Query(t, "SELECT count(*) FROM runs WHERE change_key = '"+key+"'"); got != fmt.Sprint(times) {
			return fmt.Errorf("it ran %s times, want %d", got, times)
		}
		return nil
	}, func() string { return s.explain() })
}

// recorded checks what the ledger has of a change, as "state|attempt".
func (s *shop) recorded(t *testing.T, key, want string) {
	t.Helper()
	if got := s.db.Query(t, "SELECT state, attempt FROM hallmark.ledger_changes WHERE change_key = '"+key+"'"); got != want {
		t.Fatalf("the ledger has %q of %s, want %q", got, key, want)
	}
}

// explain is what the Jobs of the shop have printed.
func (s *shop) explain() string {
	var b strings.Builder
	for _, c := range s.node.Containers() {
		fmt.Fprintf(&b, "%s:\n%s\n", c.Name(), c.Tail())
	}
	return b.String()
}

// container waits until the nth container of the shop's Jobs is started.
func (s *shop) container(t *testing.T, n int) *cluster.Container {
	t.Helper()
	var found *cluster.Container
	wait.Until(t, fmt.Sprintf("container %d of the Jobs in %s is started", n, s.app), func() error {
		all := s.node.Containers()
		if len(all) < n {
			return fmt.Errorf("there are %d", len(all))
		}
		found = all[n-1]
		return nil
	}, s.explain)
	return found
}

// A result is what `hallmark ledger run` says, as far as the tests read it.
type result struct {
	ChangeKey, Outcome, Message string
	Recorded                    struct {
		State, SourceRevision, JobUID, Executor string
		Attempt                                 int
	}
	Command *struct{ ExitCode int }
}

// result is that of a container: it waits for its end, and checks that it is the one in
// the status of the pod.
func (s *shop) result(t *testing.T, c *cluster.Container, code int, outcome string) result {
	t.Helper()
	wait.Until(t, "the container of "+c.Pod+" has ended, and its pod says so", func() error {
		if c.Ended() == nil {
			return errors.New("it runs")
		}
		var pod struct {
			Status struct {
				ContainerStatuses []struct {
					State struct {
						Terminated *struct {
							ExitCode int
							Message  string
						}
					}
				}
			}
		}
		if err := s.Cluster.Get("/api/v1/namespaces/"+s.app+"/pods/"+c.Pod, &pod); err != nil {
			return err
		}
		for _, status := range pod.Status.ContainerStatuses {
			if end := status.State.Terminated; end != nil && end.ExitCode == code && end.Message == c.Message() {
				return nil
			}
		}
		return fmt.Errorf("the pod has %+v, want exit code %d with %q", pod.Status, code, c.Message())
	}, s.explain)
	if outcome == "" {
		return result{}
	}
	return parse(t, c.Message(), outcome)
}

func parse(t *testing.T, text, outcome string) result {
	t.Helper()
	var r result
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("the result %q: %v", text, err)
	}
	if r.Outcome != outcome {
		t.Fatalf("the outcome is %q, want %q: %s", r.Outcome, outcome, text)
	}
	return r
}

// ledger runs `hallmark ledger` as a role and returns what it prints.
func (s *shop) ledger(t *testing.T, role, command string, args ...string) string {
	t.Helper()
	stdout, stderr, err := s.hallmark(nil, append([]string{"ledger", command, "--dsn-file=" + s.file(role)}, args...)...)
	if err != nil {
		t.Fatalf("hallmark ledger %s %q: %v: %s", command, args, err, stderr)
	}
	holdsNone(t, "what hallmark ledger "+command+" prints", stdout+stderr, s.secret)
	return stdout
}

// migration is `hallmark ledger run` for the change at a revision, without a Job.
func (s *shop) migration(revision string) process.Program {
	return process.Program{
		Name: s.app + "-" + revision, Path: filepath.Join(s.Bin, "hallmark"), Home: s.dir, Logs: s.Cluster.Logs,
		Env: []string{"HALLMARK_LEDGER_DSN=" + s.executor, "CHECKOUT_DATABASE_URL=" + s.db.DSN},
		Args: []string{
			"ledger", "run", "--change-key=" + change, "--source-revision=" + revision, "--invariant=" + invariant + "=" + query,
			"--result-file=" + s.file("result"), "--", s.file("migrate"),
		},
		Grace: wait.Limit, // Stop tells it to stop, which it does in order
	}
}

// migrate runs it to the end.
func (s *shop) migrate(t *testing.T, revision string, code int, outcome string) result {
	t.Helper()
	return s.finished(t, process.Start(t, s.migration(revision)), code, outcome)
}

func (s *shop) finished(t *testing.T, p *process.Process, code int, outcome string) result {
	t.Helper()
	wait.Until(t, p.Name()+" has ended", func() error {
		if p.Ended() == nil {
			return errors.New("it runs")
		}
		return nil
	}, p.Tail)
	got := 0
	if failed, ok := errors.AsType[*exec.ExitError](p.Ended()); ok {
		got = failed.ExitCode()
	}
	if got != code {
		t.Fatalf("%s ended with exit code %d, want %d:\n%s", p.Name(), got, code, p.Tail())
	}
	return parse(t, string(readFile(t, s.file("result"))), outcome)
}

// project installs ../manifests/ledger/project and runs what its Deployment says, with
// a token of its ServiceAccount: so its Role is all that it has. It looks often.
func (s *shop) project(t *testing.T) {
	t.Helper()
	command, address := s.projection(t)
	s.projector = process.Start(t, process.Program{
		Name: s.app + "-project", Path: command[0], Args: append(command[1:], "--interval=1s"), Home: s.dir, Logs: s.Cluster.Logs,
		Grace: wait.Limit,
	})
	wait.Until(t, "hallmark ledger project is ready", func() error {
		if err := s.projector.Ended(); err != nil {
			return err
		}
		response, err := http.Get("http://" + address + "/readyz")
		if err != nil {
			return err
		}
		if err := response.Body.Close(); err != nil || response.StatusCode == http.StatusOK {
			return err
		}
		return errors.New(response.Status)
	}, s.projector.Tail)
}

// projection is the command of the Deployment, as it would run here, and where it
// listens.
func (s *shop) projection(t *testing.T) (command []string, address string) {
	t.Helper()
	k := kubectl{s.Cluster}
	dir := s.file("project")
	if err := os.CopyFS(filepath.Join(dir, "base"), os.DirFS(ledgerDir+"/project")); err != nil {
		t.Fatal(err)
	}
	kustomization := "namespace: " + s.app + "\nresources: [base]\nimages: [{name: hallmark, newName: registry.example.com/hallmark, newTag: v0.1.0}]\n"
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization), 0o600); err != nil {
		t.Fatal(err)
	}
	k.run(t, nil, "apply", "--server-side", "--kustomize="+dir)

	// One file for each database, as the Secret is mounted.
	databases, kubeconfig := s.file("databases"), s.file("kubeconfig.json")
	err := errors.Join(
		os.Mkdir(databases, 0o700),
		os.WriteFile(filepath.Join(databases, "default"), readFile(t, s.file("projector")), 0o600),
		os.WriteFile(kubeconfig, s.Cluster.KubeconfigOf(t, s.token(t)), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	var deployment struct {
		Spec struct {
			Template struct {
				Spec struct {
					Containers []struct{ Command, Args []string }
				}
			}
		}
	}
	if err := s.Cluster.Get("/apis/apps/v1/namespaces/"+s.app+"/deployments/hallmark-ledger", &deployment); err != nil {
		t.Fatal(err)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	address = fmt.Sprintf("127.0.0.1:%d", cluster.Ports(t, 1)[0])
	here := strings.NewReplacer("$(NAMESPACE)", s.app, "=/etc/hallmark/databases", "="+databases, "=:8088", "="+address)
	command = []string{filepath.Join(s.Bin, "hallmark")}
	for _, arg := range append(container.Command[1:], container.Args...) {
		command = append(command, here.Replace(arg))
	}
	return append(command, "--kubeconfig="+kubeconfig), address
}

// token is one of the ServiceAccount, as the kubelet asks for it.
func (s *shop) token(t *testing.T) string {
	t.Helper()
	data, err := s.Cluster.Do("POST", "/api/v1/namespaces/"+s.app+"/serviceaccounts/hallmark-ledger/token", "application/json",
		[]byte(`{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}`))
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Status struct{ Token string } }
	if err := json.Unmarshal(data, &answer); err != nil || answer.Status.Token == "" {
		t.Fatalf("the API server gave no token: %v", err)
	}
	return answer.Status.Token
}

// verdict checks that the MigrationLedger has the conditions of an example of package
// projection, which its tests and tools/flux, with Flux's own library, judge.
func (s *shop) verdict(t *testing.T, example string) {
	t.Helper()
	var list struct{ Items []liveLedger }
	var want liveLedger
	err := errors.Join(
		s.Cluster.Get("/apis/"+ledgerAPI+"/namespaces/"+s.app+"/"+ledgers.plural, &list),
		yaml.Unmarshal(readFile(t, root+"/internal/ledger/projection/testdata/verdicts/"+example+".yaml"), &want))
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("there are %d MigrationLedgers in %s, want one (%v)", len(list.Items), s.app, err)
	}
	if got := list.Items[0].verdict(); !slices.Equal(got, want.verdict()) {
		t.Errorf("%s has the conditions %q, want those of %s: %q", s.app, got, example, want.verdict())
	}
}

// A liveLedger is what Flux and kubectl wait read of a MigrationLedger.
type liveLedger struct {
	Metadata struct{ Generation int }
	Status   struct {
		ObservedGeneration int
		Conditions         []struct {
			Type, Status, Reason string
			ObservedGeneration   int
		}
	}
}

// verdict is what the object says, whatever its generation and its changes are.
func (o liveLedger) verdict() []string {
	out := []string{fmt.Sprintf("generation %+d", o.Status.ObservedGeneration-o.Metadata.Generation)}
	for _, c := range o.Status.Conditions {
		out = append(out, fmt.Sprintf("%s=%s %s %+d", c.Type, c.Status, c.Reason, c.ObservedGeneration-o.Metadata.Generation))
	}
	slices.Sort(out)
	return out
}

// deployed is the digest of the image that the release's Deployment has; "" where there
// is no Deployment.
func (s *shop) deployed(t *testing.T) string {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct {
				Template struct {
					Spec struct{ Containers []struct{ Image string } }
				}
			}
		}
	}
	if err := s.Cluster.Get("/apis/apps/v1/namespaces/"+s.app+"/deployments", &list); err != nil {
		t.Fatal(err)
	}
	for _, d := range list.Items {
		if d.Metadata.Name != "hallmark-ledger" {
			_, digest, _ := strings.Cut(d.Spec.Template.Spec.Containers[0].Image, "@")
			return digest
		}
	}
	return ""
}

// silent checks that nothing shows the password of the databases.
func (s *shop) silent(t *testing.T) {
	t.Helper()
	for _, c := range s.node.Containers() {
		holdsNone(t, "the log of "+c.Pod, string(c.Log())+c.Message(), s.secret)
	}
	if s.projector != nil {
		holdsNone(t, "the log of hallmark ledger project", string(s.projector.Log()), s.secret)
	}
	for _, path := range []string{
		"/apis/argoproj.io/v1alpha1/namespaces/" + argocd.Namespace + "/applications/" + s.app,
		"/apis/" + ledgerAPI + "/namespaces/" + s.app + "/" + ledgers.plural,
		"/api/v1/namespaces/" + s.app + "/pods",
	} {
		data, err := s.Cluster.Do("GET", path, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		holdsNone(t, path, string(data), s.secret)
	}
}
