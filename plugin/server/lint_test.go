package server

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hallmark.dev/hallmark/plugin/policy"
)

const hook = `apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations:
    argocd.argoproj.io/hook: PreSync
    waive.hallmark.dev/job-resources: 2026-07-01 there is room
spec:
  backoffLimit: 0
  template: {spec: {restartPolicy: Never, containers: [{name: migrate, image: "registry.example.com/migrate:1"}]}}
`

// What release rules find goes to the log and to a counter whose labels nobody else can
// fill. The server's clock says what has expired.
func TestFindings(t *testing.T) {
	t.Parallel()
	p, err := policy.Parse("policy.yaml", rules(`{name: strict, match: {project: strict}, lint: {default: "off", rules: {job-deadline: deny, job-resources: deny}}}, `+
		`{name: shop, lint: {default: "off", rules: {job-deadline: warn, job-resources: deny, marker-rule: warn}, policies: [`+
		`{name: marker-rule, matchConstraints: {resourceRules: [{kinds: [Job]}]}, validations: [{expression: "false", message: marker-message}]}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, func(o *Options) {
		o.Policy = fixed{p}
		o.Now = func() time.Time { return time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC) }
	})
	root := checkout(t, map[string]string{"app/a.yaml": hook})
	for range 2 { // the second is answered from memory
		if _, err := r.generate(t.Context(), root, env()); err != nil {
			t.Fatal(err)
		}
	}
	if log := r.logged(); strings.Count(log, "the Job has no spec.activeDeadlineSeconds (rule job-deadline)") != 2 || strings.Count(log, "marker-message (rule marker-rule)") != 2 {
		t.Errorf("the log lacks the findings: %s", log)
	}
	_, err = r.generate(t.Context(), root, env("ARGOCD_APP_PROJECT_NAME=strict"))
	if err == nil || !strings.Contains(err.Error(), "the Job has no spec.activeDeadlineSeconds (rule job-deadline)") {
		t.Errorf("got %v", err)
	}
	text := scraped(t, r)
	for _, want := range []string{
		`hallmark_findings_total{level="warn",rule="job-deadline"} 1`,
		`hallmark_findings_total{level="deny",rule="job-deadline"} 1`,
		`hallmark_findings_total{level="waived",rule="job-resources"} 2`,
		`hallmark_findings_total{level="warn",rule="team"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, ours(text))
		}
	}
	if strings.Contains(text, "marker") {
		t.Errorf("the name of a team's rule is among the metrics:\n%s", ours(text))
	}
}

// What the server knows of health checks reaches the rules.
func TestHealthChecked(t *testing.T) {
	t.Parallel()
	p, err := policy.Parse("policy.yaml", rules(`{name: shop, lint: {default: "off", rules: {wave-health: warn}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Bool
	r := start(t, func(o *Options) {
		o.Policy = fixed{p}
		o.HealthChecked = func(group, kind string) bool { asked.Store(group == "example.com" && kind == "Widget"); return true }
	})
	root := checkout(t, map[string]string{"app/a.yaml": waves})
	if _, err := r.generate(t.Context(), root, env()); err != nil {
		t.Fatal(err)
	}
	if !asked.Load() {
		t.Error("nobody asked whether a Widget has a health check")
	}
}

// waves is a custom resource that a later wave waits for.
const waves = `apiVersion: example.com/v1
kind: Widget
metadata: {name: w, annotations: {argocd.argoproj.io/sync-wave: "-1"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {argocd.argoproj.io/sync-wave: "1"}}
spec: {template: {spec: {containers: [{name: web, image: "registry.example.com/web:1"}]}}}
`
