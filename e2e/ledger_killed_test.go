package e2e

import (
	"errors"
	"strings"
	"testing"

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/cluster"
	"hallmark.dev/hallmark/e2e/postgres"
	"hallmark.dev/hallmark/e2e/wait"
)

// shortLease is over before a Job starts a pod anew, which it does after 10 s.
const shortLease = "--lease=8s"

// killed releases once, kills the executor of the second release's change in the
// middle, and waits until the Job has given up. The Deployment is still of the first
// release.
func (s *shop) killed(t *testing.T) {
	t.Helper()
	s.repo.Replace(t, "app/job.yaml", "value: set-me", "value: one")
	s.repo.Commit(t, "one")
	s.project(t)
	s.letGo(t)
	s.create(t)
	s.ends(t, s.StartSync(t, s.app), "Succeeded", recorded(change), digest)
	s.result(t, s.container(t, 1), 0, "done")

	s.hold(t)
	s.repo.Replace(t, "app/job.yaml", "value: one", "value: two")
	s.repo.Replace(t, "app/job.yaml", "--change-key="+change, "--change-key="+next)
	s.repo.Replace(t, "app/job.yaml", "--lease=5m", shortLease)
	s.repo.Replace(t, "app/migrationledger.yaml", "    - key: "+change+"\n", "    - key: "+next+"\n    - key: "+change+"\n")
	s.repo.Replace(t, "app/deployment.yaml", digest, newDigest)
	s.repo.Commit(t, "two")
	mark := s.StartSync(t, s.app)
	s.started(t, next, 1)
	s.recorded(t, next, "RUNNING|1")
	container := s.container(t, 2)
	container.Kill()
	s.result(t, container, 137, "")

	retried := s.retried(t)
	if r := s.result(t, retried, 4, "investigate"); r.Command != nil {
		t.Errorf("the Job's retry ran the command: %+v", r)
	}
	app := s.ends(t, mark, "Failed", argocd.Health{}, digest)
	if job := hook(t, app); job.HookPhase != "Failed" || !strings.Contains(job.Message, "exit code 4") {
		t.Errorf("the hook %s is %s: %q, want Failed with exit code 4", job, job.HookPhase, job.Message)
	}
	s.recorded(t, next, "RUNNING|1")
	s.ran(t, next, 1)
}

// retried is the last container that the Job has started after the killed one. On a
// busy machine the lease may not be over when the first comes: then another executor
// is at work, as far as it knows, and the Job tries again.
func (s *shop) retried(t *testing.T) *cluster.Container {
	t.Helper()
	for n := 3; ; n++ {
		c := s.container(t, n)
		wait.Until(t, "the container of "+c.Pod+" has ended", func() error {
			if c.Ended() == nil {
				return errors.New("it runs")
			}
			return nil
		}, s.explain)
		if c.ExitCode() != 3 {
			return c
		}
	}
}

// recover records a decision, as a person does.
func (s *shop) recover(t *testing.T, key, verdict string) {
	t.Helper()
	s.ledger(t, "person", "recover", "--change-key="+key, "--verdict="+verdict, "--reason=the executor is gone", `--evidence=\d orders`)
}

// killedAndRetried has the Job run beside the MigrationLedger, in wave 0: so the
// release that was killed is Degraded, and says what to do. A person decides that the
// change may run again, and the release goes on.
func killedAndRetried(t *testing.T, e *env, databases *postgres.Server) {
	s := newShop(t, e, databases, "ledger-retried")
	s.plain(t)
	s.repo.Replace(t, "app/job.yaml", "argocd.argoproj.io/hook: PreSync", "argocd.argoproj.io/hook: Sync")
	s.killed(t)
	s.says(t, degraded("investigate, do not re-run: "+next+": the lease ended at 20"), nil)
	s.is(t, "Degraded")
	s.verdict(t, "lease-expired")

	s.recover(t, next, "retry")
	s.says(t, waitingFor(next, "ABSENT): attempt 2 may run"), nil)
	before := len(s.node.Containers())
	s.repo.Replace(t, "app/job.yaml", shortLease, "--lease=5m")
	s.repo.Commit(t, "three")
	mark := s.StartSync(t, s.app)
	s.started(t, next, 2)
	s.says(t, waitingFor(next, "RUNNING until "), nil)
	s.is(t, "Progressing")
	if got := s.deployed(t); got != digest {
		t.Fatalf("the Deployment has %q while the change runs, want %q", got, digest)
	}
	s.letGo(t)
	s.ends(t, mark, "Succeeded", recorded(next, change), newDigest)
	s.result(t, s.container(t, before+1), 0, "done")
	s.recorded(t, next, "SUCCEEDED|2")
	s.ran(t, next, 2)
	s.is(t, "Healthy")
	s.silent(t)
}

// killedAndSucceeded has the Job run before the sync, as the pattern is shipped: the
// sync fails before it comes to the MigrationLedger, which knows of the first release
// alone. A person finds that the change is there, and the release goes on without it.
func killedAndSucceeded(t *testing.T, e *env, databases *postgres.Server) {
	s := newShop(t, e, databases, "ledger-succeeded")
	s.plain(t)
	s.killed(t)
	s.says(t, recorded(change), nil)

	s.recover(t, next, "succeeded")
	before := len(s.node.Containers())
	s.ends(t, s.StartSync(t, s.app), "Succeeded", recorded(next, change), newDigest)
	if r := s.result(t, s.container(t, before+1), 0, "already-done"); r.Command != nil {
		t.Errorf("the change was repeated: %+v", r)
	}
	s.recorded(t, next, "SUCCEEDED|1")
	s.ran(t, next, 1)
	s.is(t, "Healthy")
	s.silent(t)
}

// evicted has the pod of a Job evicted, as for a node that is drained: its executor
// stops the migration in its grace period and records that, and the Job gives up.
func evicted(t *testing.T, e *env, databases *postgres.Server) {
	s := newShop(t, e, databases, "ledger-evicted")
	s.plain(t)
	s.repo.Replace(t, "app/job.yaml", "argocd.argoproj.io/hook: PreSync", "argocd.argoproj.io/hook: Sync")
	s.repo.Commit(t, "one")
	s.project(t)
	s.create(t)
	mark := s.StartSync(t, s.app)
	s.started(t, change, 1)
	container := s.container(t, 1)
	if _, err := s.Cluster.Do("POST", "/api/v1/namespaces/"+s.app+"/pods/"+container.Pod+"/eviction", "application/json",
		[]byte(`{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "`+container.Pod+`"}}`)); err != nil {
		t.Fatal(err)
	}
	app := s.ends(t, mark, "Failed", degraded("failed: "+change+": told to stop: the command was ended by the signal terminated"), "")
	if job := hook(t, app); job.HookPhase != "Failed" || !strings.Contains(job.Message, "exit code 5") {
		t.Errorf("the hook %s is %s: %q, want Failed with exit code 5", job, job.HookPhase, job.Message)
	}
	s.is(t, "Degraded")
	s.verdict(t, "failed")
	parse(t, container.Message(), "failed")
	s.recorded(t, change, "FAILED|1")

	// Nobody has asked the invariant yet, which the next Job does.
	s.recover(t, change, "succeeded")
	s.says(t, progressing("an invariant is not checked yet: "+change), nil)
	s.verdict(t, "invariant-not-checked")
	s.ends(t, s.StartSync(t, s.app), "Succeeded", recorded(change), digest)
	s.result(t, s.container(t, 2), 0, "already-done")
	s.ran(t, change, 1)
	s.silent(t)
}
