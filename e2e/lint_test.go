package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/e2e/argocd"
)

// lintedHook is a PreSync Job that reads a ConfigMap of the Sync phase. In its place
// stands what the commits below change.
const lintedHook = `apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations:
    argocd.argoproj.io/hook: PreSync%s
spec:
  backoffLimit: 1
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: migrate
          image: registry.example.com/shop/checkout@sha256:cbfd8bd8706497f44ba9a89dcdb3d738372aa886bec567cb0e81bf5f2d62b220
          command: ["true"]
          envFrom: [{configMapRef: {name: settings}}]
`

const lintedConfig = `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  labels: {owner: shop}
data: {level: info}
`

// linted has a policy whose rules deny a hook without what it reads, and one of the
// team's own: the faults are a ComparisonError with nothing in the cluster, also for a
// change of an application that runs, a waiver lets it in until its last day, and a
// warning is a line of the log.
func linted(t *testing.T, e *env) {
	const app, name = "linted", "hallmark-linted"
	rules := newMount(t, map[string]string{"policy.yaml": `apiVersion: hallmark.dev/v1
kind: RenderPolicy
spec:
  rules:
    - name: release rules
      match: {}
      lint:
        default: off
        rules: {hook-dependency: deny, job-deadline: warn, owner: deny, waiver: deny}
        policies:
          - name: owner
            matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: ["*"], operations: ["*"], resources: [configmaps]}]}
            validations: [{expression: "'owner' in object.metadata.?labels.orValue({})", message: a ConfigMap says whose it is}]
`})
	sidecar := e.Serve(t, name, "", "--policy", filepath.Join(rules.dir, "policy.yaml"))
	repo := argocd.NewRepository(t)
	hook := func(annotation string) string {
		return strings.Replace(lintedHook, "%s", annotation, 1)
	}
	waiver := func(day time.Time) string {
		return "\n    waive.hallmark.dev/hook-dependency: " + day.Format(time.DateOnly) + " the first release made it by hand"
	}
	repo.Write(t, "linted/config.yaml", lintedConfig)
	first := repo.Commit(t, "a ConfigMap")
	e.Create(t, app, app, use(repo, "linted", name), argocd.AutoSync())
	before := e.snapshot(t, e.WaitSynced(t, app, first))

	for _, fault := range []struct {
		file, content string
		want          []string
	}{
		{"linted/hook.yaml", hook(""), []string{`linted/hook.yaml:1: Job.batch "migrate": `, `ConfigMap "settings"`, "(rule hook-dependency)"}},
		{"linted/hook.yaml", hook(waiver(time.Now().AddDate(0, 0, -2))), []string{"(rule hook-dependency)", "expired on", "(rule waiver)"}},
		{"linted/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n", []string{`ConfigMap "more"`, "a ConfigMap says whose it is", "(rule owner)"}},
	} {
		repo.Write(t, fault.file, fault.content)
		repo.Commit(t, "a fault")
		e.Refresh(t, app, false)
		e.comparisonError(t, app, fault.want...)
		found, err := e.Application(app)
		if err != nil {
			t.Fatal(err)
		}
		e.untouched(t, found, before)
		repo.Remove(t, fault.file)
	}
	// A waiver holds to its last day. Hooks are not compared, so the Application stays
	// as it is, at the new revision.
	repo.Write(t, "linted/hook.yaml", hook(waiver(time.Now().AddDate(0, 0, 2))))
	waived := repo.Commit(t, "a waiver")
	e.Refresh(t, app, false)
	e.WaitSynced(t, app, waived)
	if log := sidecar.TailOf("job-deadline"); !strings.Contains(log, "activeDeadlineSeconds") {
		t.Errorf("the log does not have the warning:\n%s", log)
	}
	if got, err := sidecar.Metric(`hallmark_findings_total{level="deny",rule="hook-dependency"}`); err != nil || got == "0" {
		t.Errorf("hallmark_findings_total: got %q, %v", got, err)
	}
}
