package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/postgres"
	"hallmark.dev/hallmark/e2e/process"
	"hallmark.dev/hallmark/e2e/wait"
)

// What Argo CD says of a change. The messages are beginnings: times follow.
var (
	waitingFor  = func(key, state string) argocd.Health { return progressing("waiting for " + key + " (" + state) }
	recorded    = func(keys ...string) argocd.Health { return healthy("recorded as done: " + strings.Join(keys, ", ")) }
	brokenIndex = degraded("an invariant is broken: " + change + ": " + invariant)
)

// judged reports whether Argo CD says of the MigrationLedger what want says, with a
// message that begins like that of want.
func judged(app *argocd.Application, want argocd.Health) error {
	r, err := ledgers.find(app.Status.Resources)
	if err == nil && (r.Health.Status != want.Status || !strings.HasPrefix(r.Health.Message, want.Message)) {
		err = fmt.Errorf("%s is %+v, want %+v", r, r.Health, want)
	}
	return err
}

// syncIs reports whether the sync is in a phase, with a message where one is given.
func syncIs(app *argocd.Application, mark argocd.Info, phase, message string) error {
	state := app.OperationOf(mark)
	switch {
	case state == nil:
		return errors.New("the sync has not started")
	case state.Phase != phase || message != "" && state.Message != message:
		return fmt.Errorf("the sync is %s: %s; want %s: %s", state.Phase, state.Message, phase, message)
	}
	return nil
}

// says waits until Argo CD says so of the MigrationLedger, and what more is wanted. It
// asks for refreshes: Argo CD 3 passes over a status by which an object is as healthy
// as before, so that the message is that of the last look.
func (s *shop) says(t *testing.T, health argocd.Health, more func(*argocd.Application) error) {
	t.Helper()
	var app *argocd.Application
	wait.Until(t, fmt.Sprintf("application %q says %q", s.app, health.Message), func() error {
		app = s.Refresh(t, s.app, false)
		if more != nil {
			if err := more(app); err != nil {
				return err
			}
		}
		return judged(app, health)
	}, func() string { return app.Summary() + "\n" + s.explain() })
}

// waits waits until the sync waits for the MigrationLedger of that health. The
// Deployment is not touched.
func (s *shop) waits(t *testing.T, mark argocd.Info, health argocd.Health, deployed string) {
	t.Helper()
	s.says(t, health, func(app *argocd.Application) error {
		r, err := ledgers.find(app.Status.Resources)
		if err != nil {
			return err
		}
		want := fmt.Sprintf("waiting for healthy state of %s/%s/%s", r.Group, r.Kind, r.Name)
		return syncIs(app, mark, "Running", want)
	})
	if got := s.deployed(t); got != deployed {
		t.Fatalf("the Deployment has %q while the MigrationLedger is %+v, want %q", got, health, deployed)
	}
	t.Logf("%s: the sync waits, %q, image %q", s.app, health.Message, deployed)
}

// ends waits until the sync has ended so and the MigrationLedger has the health, where
// one is given.
func (s *shop) ends(t *testing.T, mark argocd.Info, phase string, health argocd.Health, deployed string) *argocd.Application {
	t.Helper()
	app := s.WaitFor(t, s.app, "ends as "+phase+" with "+health.Message, func(app *argocd.Application) error {
		if err := syncIs(app, mark, phase, ""); err != nil || health == (argocd.Health{}) {
			return err
		}
		return judged(app, health)
	})
	if got := s.deployed(t); got != deployed {
		t.Fatalf("the Deployment has %q after the sync, want %q:\n%s", got, deployed, app.Summary())
	}
	t.Logf("%s: sync %s, %q, image %q", s.app, phase, health.Message, deployed)
	return app
}

// is waits until the Application has a health.
func (s *shop) is(t *testing.T, health string) {
	t.Helper()
	s.WaitFor(t, s.app, "is "+health, func(app *argocd.Application) error {
		if app.Status.Health.Status != health {
			return fmt.Errorf("it is %s", app.Status.Health.Status)
		}
		return nil
	})
}

// hook is the Job of the last sync, as its result has it.
func hook(t *testing.T, app *argocd.Application) argocd.Resource {
	t.Helper()
	for _, r := range app.Status.OperationState.SyncResult.Resources {
		if r.Kind == "Job" {
			return r
		}
	}
	t.Fatalf("the sync had no Job:\n%s", app.Summary())
	return argocd.Resource{}
}

// jobUID is the uid of the Job in the cluster.
func (s *shop) jobUID(t *testing.T) string {
	t.Helper()
	var list struct {
		Items []struct{ Metadata argocd.Metadata }
	}
	if err := s.Cluster.Get("/apis/batch/v1/namespaces/"+s.app+"/jobs", &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 {
		t.Fatalf("there are %d Jobs in %s, want one", len(list.Items), s.app)
	}
	return list.Items[0].Metadata.UID
}

// ledgerRelease renders the chart by hallmark, whose Job runs before the sync: while
// it runs, and when it has left a broken invariant, nothing of the release is there. A
// Job that is made anew finds the change done. Then the MigrationLedger holds the
// Deployment until it is reported as done.
func ledgerRelease(t *testing.T, e *env, databases *postgres.Server) {
	s := newShop(t, e, databases, "ledger-release")
	s.repo.Copy(t, ledgerChart, "app")
	revision := s.repo.Commit(t, "the chart")
	s.Create(t, s.app, s.app, use(s.repo, "app", plugin, helmValues(map[string]string{"sourceRevision": "$ARGOCD_APP_REVISION"})), nil)

	mark := s.StartSync(t, s.app)
	s.started(t, change, 1)
	s.WaitFor(t, s.app, "waits for the Job", func(app *argocd.Application) error {
		return syncIs(app, mark, "Running", "waiting for completion of hook batch/Job/"+s.app+"-migrate")
	})
	s.recorded(t, change, "RUNNING|1")
	s.breakIndex(t)
	s.letGo(t)
	first := s.container(t, 1)
	ran := s.result(t, first, 6, "invariant-broken")
	if r := ran.Recorded; r.State != "SUCCEEDED" || r.SourceRevision != revision || r.JobUID != s.jobUID(t) || r.Executor != first.Pod {
		t.Errorf("recorded is %+v, want SUCCEEDED by revision %s, Job %s and pod %s", r, revision, s.jobUID(t), first.Pod)
	}
	app := s.ends(t, mark, "Failed", argocd.Health{}, "")
	if job := hook(t, app); job.HookPhase != "Failed" || !strings.Contains(job.Message, "exit code 6") {
		t.Errorf("the hook %s is %s: %q, want Failed with exit code 6", job, job.HookPhase, job.Message)
	}
	if path, err := s.Cluster.Path(ledgerAPI, ledgers.kind, s.app, s.app); err != nil || s.Cluster.Get(path, &struct{}{}) == nil {
		t.Errorf("there is a MigrationLedger after the failed Job (%v)", err)
	}

	// The same key again, in another Job.
	s.mendIndex(t)
	mark = s.StartSync(t, s.app)
	second := s.container(t, 2)
	repeated := s.result(t, second, 0, "already-done")
	if repeated.Command != nil || repeated.Recorded.JobUID != ran.Recorded.JobUID || s.jobUID(t) == ran.Recorded.JobUID {
		t.Errorf("the result %+v of Job %s, want no command, and the Job that ran it", repeated, s.jobUID(t))
	}
	if want := "already done by attempt 1, not repeated"; repeated.Message != want {
		t.Errorf("the message is %q, want %q", repeated.Message, want)
	}
	s.ran(t, change, 1)

	s.waits(t, mark, unread, "")
	s.project(t)
	app = s.ends(t, mark, "Succeeded", recorded(change), digest)
	if job := hook(t, app); job.HookPhase != "Succeeded" {
		t.Errorf("the hook %s is %s: %q, want Succeeded", job, job.HookPhase, job.Message)
	}
	s.WaitSynced(t, s.app, revision)
	s.is(t, "Healthy")
	for id, manifest := range manifests(s.Applied(t, app)) {
		if got := stampOf(t, manifest)[sourceRevision]; got != revision {
			t.Errorf("%s is stamped with revision %q, want %q", id, got, revision)
		}
	}
	s.ran(t, change, 1)
	s.silent(t)
}

// plain makes the application of ../manifests/ledger/job, of which only some resources
// count, by Argo CD's own Kustomize.
func (s *shop) plain(t *testing.T, resources ...string) {
	t.Helper()
	s.repo.Copy(t, ledgerDir+"/job", "app")
	if len(resources) > 0 {
		s.repo.Write(t, "app/kustomization.yaml", "resources: ["+strings.Join(resources, ", ")+"]\n")
	}
}

func (s *shop) create(t *testing.T) {
	t.Helper()
	s.Create(t, s.app, s.app, argocd.Source{RepoURL: s.repo.URL, Path: "app"}, nil)
}

// ledgerOutside has the migration run elsewhere: nothing but the MigrationLedger holds
// the Deployment, over a broken invariant, until it is mended and looked at again.
func ledgerOutside(t *testing.T, e *env, databases *postgres.Server) {
	s := newShop(t, e, databases, "ledger-outside")
	s.plain(t, "migrationledger.yaml", "deployment.yaml")
	s.repo.Commit(t, "without a Job")
	s.project(t)
	s.create(t)

	mark := s.StartSync(t, s.app)
	s.waits(t, mark, waitingFor(change, "ABSENT)"), "")
	run := process.Start(t, s.migration("one"))
	s.started(t, change, 1)
	s.waits(t, mark, waitingFor(change, "RUNNING until "), "")
	s.verdict(t, "running")
	s.breakIndex(t)
	s.letGo(t)
	s.finished(t, run, 6, "invariant-broken")
	s.ends(t, mark, "Failed", brokenIndex, "")
	s.is(t, "Degraded")
	s.verdict(t, "invariant-broken")

	s.mendIndex(t)
	s.migrate(t, "two", 0, "already-done")
	s.says(t, recorded(change), nil)
	if got := s.deployed(t); got != "" {
		t.Fatalf("the Deployment has %q without a sync", got)
	}
	s.ends(t, s.StartSync(t, s.app), "Succeeded", recorded(change), digest)
	s.is(t, "Healthy")
	s.verdict(t, "succeeded")
	s.ran(t, change, 1)
	s.silent(t)
}

// ledgerRevision asks for the change by the revision that was rendered: what an earlier
// revision has recorded does not open the gate for the next one.
func ledgerRevision(t *testing.T, e *env, databases *postgres.Server) {
	s := newShop(t, e, databases, "ledger-revision")
	s.repo.Copy(t, ledgerChart, "app")
	s.repo.Remove(t, "app/templates/job.yaml")
	s.repo.Replace(t, "app/templates/migrationledger.yaml", "{{ .Values.change.key | quote }}\n", "{{ .Values.change.key | quote }}\n      requireRenderedRevision: true\n")
	first := s.repo.Commit(t, "one")
	s.letGo(t)
	s.migrate(t, first, 0, "done")
	s.project(t)
	s.Create(t, s.app, s.app, use(s.repo, "app", plugin), nil)
	s.ends(t, s.StartSync(t, s.app), "Succeeded", recorded(change), digest)

	s.repo.Replace(t, "app/values.yaml", digest, newDigest)
	second := s.repo.Commit(t, "two")
	mark := s.StartSync(t, s.app)
	s.waits(t, mark, progressing("recorded by another revision: "+change+" by "+first+", not "+second), digest)
	s.verdict(t, "rendered-revision-is-another")

	s.ledger(t, "person", "recover", "--change-key="+change, "--verdict=retry", "--reopen-succeeded", "--reason=asked for anew", "--evidence=none is needed")
	s.waits(t, mark, waitingFor(change, "ABSENT): attempt 2 may run"), digest)
	s.verdict(t, "attempt-issued")
	s.migrate(t, second, 0, "done")
	s.ends(t, mark, "Succeeded", recorded(change), newDigest)
	s.WaitSynced(t, s.app, second)
	s.is(t, "Healthy")
	s.silent(t)
}

// ledgerOfTool waits for a version in golang-migrate's table, with `hallmark ledger
// project` run by hand, and has kubectl wait beside Argo CD.
func ledgerOfTool(t *testing.T, e *env, databases *postgres.Server) {
	s := newShop(t, e, databases, "ledger-tool")
	s.plain(t, "migrationledger.yaml", "deployment.yaml")
	s.repo.Replace(t, "app/migrationledger.yaml", "tool: hallmark", "tool: golang-migrate")
	s.repo.Replace(t, "app/migrationledger.yaml", change, `"20260101000003"`)
	s.repo.Replace(t, "app/migrationledger.yaml", "invariants: ["+invariant+"]", "invariants: []")
	s.repo.Commit(t, "of golang-migrate")
	const version, earlier = "20260101000003", "20260101000002"
	table := func(version string, dirty bool) {
		t.Helper()
		s.db.Query(t, fmt.Sprintf("TRUNCATE schema_migrations; INSERT INTO schema_migrations VALUES (%s, %t)", version, dirty))
	}
	s.db.Query(t, "CREATE TABLE schema_migrations (version bigint PRIMARY KEY, dirty boolean NOT NULL); GRANT SELECT ON schema_migrations TO PUBLIC")
	table(earlier, false)
	s.create(t)
	mark := s.StartSync(t, s.app)
	s.waits(t, mark, unread, "")

	// Once is the Deployment's command without what only goes with --watch.
	command, address := s.projection(t)
	command = slices.DeleteFunc(command, func(arg string) bool { return arg == "--watch" || arg == "--http-address="+address })
	once := func() {
		t.Helper()
		out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("hallmark ledger project: %v: %s", err, out)
		}
		holdsNone(t, "what hallmark ledger project prints", string(out), s.secret)
	}
	once()
	s.waits(t, mark, waitingFor(version, "ABSENT): the recorded version is "+earlier), "")
	table(version, true)
	once()
	s.waits(t, mark, waitingFor(version, "UNKNOWN): dirty: "), "")
	s.verdict(t, "not-known")

	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
	defer cancel()
	waiting := exec.CommandContext(ctx, filepath.Join(s.Bin, "kubectl"), "wait", "--kubeconfig="+s.Cluster.Kubeconfig,
		"--namespace="+s.app, "--for=condition=Ready", "--timeout="+wait.Limit.String(), "migrationledger/checkout")
	var printed strings.Builder
	waiting.Stdout, waiting.Stderr = &printed, &printed
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- waiting.Wait() }()
	once() // says the same, which ends no wait
	select {
	case err := <-ended:
		t.Fatalf("kubectl wait ended before the table is clean: %v: %s", err, printed.String())
	default:
	}
	table(version, false)
	once()
	if err := <-ended; err != nil {
		t.Errorf("kubectl wait: %v: %s", err, printed.String())
	}
	s.ends(t, mark, "Succeeded", recorded(version), digest)
	s.is(t, "Healthy")
	s.silent(t)
}
