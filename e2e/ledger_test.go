package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/cluster"
	"hallmark.dev/hallmark/e2e/postgres"
	"hallmark.dev/hallmark/e2e/wait"
)

const (
	ledgerCheck = "ledger.hallmark.dev/migrationledger"
	ledgerAPI   = "ledger.hallmark.dev/v1alpha1"
	plainName   = "plain"
)

// ledgers is the kind that ../manifests/ledger/crd.yaml defines.
var ledgers = customKind{group: "ledger.hallmark.dev", kind: "MigrationLedger", plural: "migrationledgers"}

// unread is the health of a MigrationLedger that no `hallmark ledger project` has
// looked at.
var unread = progressing("waiting for the controller to observe the latest generation")

// ledgerScenarios have a namespace and a database each. The longest first.
var ledgerScenarios = []struct {
	name string
	run  func(*testing.T, *env, *postgres.Server)
}{
	{"killed-retry", killedAndRetried},
	{"killed-succeeded", killedAndSucceeded},
	{"evicted", evicted},
	{"release", ledgerRelease},
	{"outside", ledgerOutside},
	{"revision", ledgerRevision},
	{"tool", ledgerOfTool},
}

// TestLedger has clusters of its own, for the reason that TestHealth has.
func TestLedger(t *testing.T) {
	needPrograms(t, "etcd", "kube-apiserver", "kube-controller-manager", "kubectl", "argocd-2.14", "argocd-3.2", "helm3", "kustomize", "hallmark")
	needCommands(t, "redis-server", "git", "go", "sh")
	if postgres.Programs() == "" {
		missing(t, "PostgreSQL is not installed: Debian's package is postgresql")
	}
	databases := postgres.Start(t)
	for _, release := range argocd.Releases {
		t.Run(release.Version, func(t *testing.T) {
			c := cluster.Start(t, *bin)
			e := &env{ArgoCD: argocd.Start(t, c, release, *bin, root,
				// For the reasons that TestHealth has.
				"ARGOCD_APPLICATION_CONTROLLER_PERSIST_RESOURCE_HEALTH=true",
				"ARGOCD_SYNC_WAVE_DELAY=2")}
			e.sidecar = e.Serve(t, plugin, "")
			installLedger(t, e)
			for _, s := range ledgerScenarios {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					s.run(t, e, databases)
				})
			}
		})
	}
}

// installLedger installs the CRD and the check, and waits until Argo CD goes by it.
func installLedger(t *testing.T, e *env) {
	t.Helper()
	k := kubectl{e.Cluster}
	k.run(t, nil, "apply", "--server-side", "--kustomize="+ledgerDir)
	wait.Until(t, "the API server serves MigrationLedgers", func() error {
		_, err := e.Cluster.Path(ledgerAPI, ledgers.kind, "none", "none")
		return err
	}, nil)

	patch, stderr, err := e.hallmark(nil, "health", "build", "--library", ledgerCheck, "--output", "argocd-cm-patch")
	if err != nil {
		t.Fatalf("hallmark health build: %v: %s", err, stderr)
	}
	file := filepath.Join(t.TempDir(), "argocd-cm.yaml")
	if err := os.WriteFile(file, []byte(patch), 0o600); err != nil {
		t.Fatal(err)
	}
	repo := argocd.NewRepository(t)
	repo.Copy(t, ledgerDir+"/job", "app")
	repo.Write(t, "app/kustomization.yaml", "resources: [migrationledger.yaml]\n")
	repo.Commit(t, "a MigrationLedger alone")
	e.Create(t, plainName, plainName, argocd.Source{RepoURL: repo.URL, Path: "app"}, nil)
	e.Sync(t, plainName) // one wave, which waits for nothing
	e.WaitFor(t, plainName, "has no health where Argo CD has no check", func(app *argocd.Application) error {
		return ledgers.is(app, argocd.Health{})
	})
	k.run(t, nil, "patch", "configmap", "argocd-cm", "--namespace="+argocd.Namespace, "--patch-file="+file)
	wait.Until(t, "Argo CD goes by the check", func() error {
		return ledgers.is(e.Refresh(t, plainName, false), unread)
	}, nil)
}
