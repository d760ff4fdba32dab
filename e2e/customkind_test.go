package e2e

import (
	"fmt"
	"strings"
	"testing"

	"hallmark.dev/hallmark/e2e/argocd"
	"hallmark.dev/hallmark/e2e/cluster"
	"hallmark.dev/hallmark/e2e/wait"
)

// A customKind is a kind that the test defines, in version v1.
type customKind struct {
	name                string // of the scenario
	group, kind, plural string
	clusterScoped       bool
	// What its controller reports, and what the check is to say of it, from the
	// object that it has not seen to the one that is ready. Ready is with the
	// generation that the controller has seen.
	silent  argocd.Health
	failed  report
	working report
	ready   func(generation int) report
	// stale is ready of an older generation.
	stale argocd.Health
}

// A report is a status of a custom resource and the health that follows.
type report struct {
	status cluster.Object
	health argocd.Health
}

func progressing(message string) argocd.Health {
	return argocd.Health{Status: "Progressing", Message: message}
}
func degraded(message string) argocd.Health {
	return argocd.Health{Status: "Degraded", Message: message}
}
func healthy(message string) argocd.Health { return argocd.Health{Status: "Healthy", Message: message} }

// conditions is a status of conditions, each "Type=Status Reason message".
func conditions(generation int, texts ...string) cluster.Object {
	var list []cluster.Object
	for _, condition := range texts {
		fields := strings.SplitN(condition, " ", 3)
		name, status, _ := strings.Cut(fields[0], "=")
		list = append(list, cluster.Object{
			"type": name, "status": status, "reason": fields[1], "message": fields[2],
			"observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z",
		})
	}
	return cluster.Object{"conditions": list}
}

// with adds a field to a status.
func with(status cluster.Object, key string, value any) cluster.Object {
	status[key] = value
	return status
}

// checkedKinds are an exact kind and one of a wildcard, by the test's own checks
// and by the library's.
var checkedKinds = []customKind{
	{
		name: "exact", group: "db.example.com", kind: "Database", plural: "databases",
		silent: progressing("waiting for the database controller"),
		failed: report{
			with(conditions(1, "Ready=False OutOfDisk the volume is full"), "observedGeneration", 1),
			degraded("not to be used: the volume is full"),
		},
		working: report{
			with(conditions(1, "Ready=False Growing a larger volume is on its way"), "observedGeneration", 1),
			progressing("being made"),
		},
		ready: func(generation int) report {
			status := with(conditions(generation, "Ready=True Serving all is well"), "observedGeneration", generation)
			return report{with(status, "port", 5432), healthy("serving on port 5432")}
		},
		stale: progressing("waiting for the controller to observe the latest generation"),
	},
	{
		// The broker writes the generation as text, and states in any case.
		name: "wildcard", group: "eu.queue.example.com", kind: "Topic", plural: "topics",
		silent: progressing("waiting for the broker"),
		failed: report{
			cluster.Object{"observedGeneration": "1", "state": "ERROR", "detail": "no leader"},
			degraded("no leader"),
		},
		working: report{
			cluster.Object{"observedGeneration": "1", "state": "ELECTING"},
			progressing("the broker is at work"),
		},
		ready: func(generation int) report {
			return report{
				cluster.Object{"observedGeneration": fmt.Sprint(generation), "state": "Running", "replicas": 3},
				healthy("3 replicas"),
			}
		},
		stale: progressing("waiting for the controller to observe the latest generation"),
	},
	{
		name: "library", group: "cert-manager.io", kind: "Certificate", plural: "certificates",
		silent: progressing("waiting for cert-manager"),
		failed: report{
			conditions(1, "Issuing=False Failed the order was refused", "Ready=False DoesNotExist there is no Secret"),
			degraded("the order was refused"),
		},
		working: report{
			conditions(1, "Issuing=True Requested a new attempt", "Ready=False DoesNotExist there is no Secret"),
			progressing("a new attempt"),
		},
		ready: func(generation int) report {
			return report{conditions(generation, "Ready=True Ready up to date"), healthy("up to date")}
		},
		stale: progressing("waiting for cert-manager"),
	},
	{
		name: "library-wildcard", group: "s3.aws.upbound.io", kind: "Bucket", plural: "buckets", clusterScoped: true,
		silent:  progressing("waiting for the provider"),
		failed:  report{conditions(1, "Synced=False ReconcileError access denied", "Ready=False Creating not yet"), degraded("access denied")},
		working: report{conditions(1, "Synced=True ReconcileSuccess done", "Ready=False Creating not yet"), progressing("Creating")},
		ready: func(generation int) report {
			return report{conditions(generation, "Synced=True ReconcileSuccess done", "Ready=True Available yes"), healthy("available")}
		},
		stale: progressing("waiting for the controller to observe the latest generation"),
	},
}

// snapshots are of the handwritten check.
var snapshots = customKind{group: "archive.example.com", kind: "Snapshot", plural: "snapshots"}

// define makes the CustomResourceDefinition and waits until it is served. As of
// any real one, a status does not move the generation.
func (k customKind) define(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	scope := "Namespaced"
	if k.clusterScoped {
		scope = "Cluster"
	}
	type object = cluster.Object
	err := c.Apply(object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": k.plural + "." + k.group},
		"spec": object{
			"group": k.group, "scope": scope,
			"names": object{"kind": k.kind, "plural": k.plural},
			"versions": []object{{
				"name": "v1", "served": true, "storage": true,
				"subresources": object{"status": object{}},
				"schema":       object{"openAPIV3Schema": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the API server serves "+k.kind, func() error {
		_, err := c.Path(k.group+"/v1", k.kind, "none", "none")
		return err
	}, nil)
}

// manifest is an object of the kind in a wave.
func (k customKind) manifest(name, wave, round string) string {
	return fmt.Sprintf(`apiVersion: %s/v1
kind: %s
metadata:
  name: %s
  annotations: {argocd.argoproj.io/sync-wave: %q}
spec: {round: %s}
`, k.group, k.kind, name, wave, round)
}

// report writes a status as the controller of the kind does.
func (k customKind) report(t *testing.T, c *cluster.Cluster, namespace, name string, status cluster.Object) {
	t.Helper()
	path, err := c.Path(k.group+"/v1", k.kind, namespace, name)
	if err == nil {
		// All of the status, where a merge would keep fields of the last one.
		err = c.Patch(path+"/status", cluster.JSONPatch, []cluster.Object{{"op": "add", "path": "/status", "value": status}})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// find is the object of the kind among those of an Application. Each has one.
func (k customKind) find(resources []argocd.Resource) (argocd.Resource, error) {
	for _, r := range resources {
		if r.Group == k.group && r.Kind == k.kind {
			return r, nil
		}
	}
	return argocd.Resource{}, fmt.Errorf("there is no %s of %s", k.kind, k.group)
}

// is reports whether Argo CD says want of the object of the kind.
func (k customKind) is(app *argocd.Application, want argocd.Health) error {
	r, err := k.find(app.Status.Resources)
	if err == nil && r.Health != want {
		err = fmt.Errorf("%s is %+v, want %+v", r, r.Health, want)
	}
	return err
}
