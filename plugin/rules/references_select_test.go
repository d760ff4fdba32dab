package rules

import (
	"fmt"
	"strings"
	"testing"
)

// workload is a Deployment whose pods have labels, with fields of its spec.
func workload(name, labels, spec string) string {
	return objectOf("apps/v1", "Deployment", name) + "spec:\n" + indented(2, spec) +
		"  template:\n    metadata: {labels: {" + labels + "}}\n    spec:\n      containers: [{name: main, image: checkout, ports: [{name: http, containerPort: 8080}]}]\n"
}

func service(name, selector, more string) string {
	return objectOf("v1", "Service", name) + "spec:\n  selector: {" + selector + "}\n" + indented(2, more)
}

func TestServiceSelector(t *testing.T) {
	t.Parallel()
	const (
		at       = "/spec/selector: "
		web      = "app: checkout, tier: web"
		cluster  = "---\napiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: orders}\n"
		schedule = "---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: checkout}\n"
	)
	near := at + `it selects no pod template of the render; that of Deployment "checkout" has tier=web, not tier=api`
	runCases(t, "service-selector", bookOptions(), []ruleCase{
		{"all labels", workload("checkout", web, "") + service("checkout", web, ""), nil},
		{"some labels", workload("checkout", web, "") + service("checkout", "app: checkout", ""), nil},
		{"another value", workload("checkout", web, "") + service("checkout", "app: checkout, tier: api", ""), []string{near}},
		{"a label that is missing", workload("checkout", "app: checkout", "") + service("checkout", "app: checkout, part: api", ""),
			[]string{at + `it selects no pod template of the render; that of Deployment "checkout" lacks part=api`}},
		{"a label that nobody knows, of the workload's own name", workload("checkout", "app: checkout", "") + service("checkout", "name: checkout", ""),
			[]string{at + `it selects no pod template of the render; that of Deployment "checkout" lacks name=checkout`}},
		{"the same key", workload("checkout", "app: checkout", "") + service("basket", "app: basket", ""),
			[]string{at + `it selects no pod template of the render; that of Deployment "checkout" has app=checkout, not app=basket`}},
		{"most labels", workload("checkout", "app: checkout, instance: a", "") + service("basket", "app: basket, part: web, instance: a", ""),
			[]string{at + "no pod template of the render has all labels that it selects: app=basket, instance=a, part=web"}},

		{"a label that an operator gives", workload("checkout", "app: checkout", "") + service("orders", "cnpg.io/cluster: orders", ""), nil},
		{"a custom resource that may make the pods", workload("checkout", web, "") + service("checkout", "app: checkout, tier: api", "") + cluster, nil},
		{"a custom resource that makes none", workload("checkout", web, "") + service("checkout", "app: checkout, tier: api", "") + schedule, []string{near}},
		{"a custom resource in another namespace", workload("checkout", web, "") + service("checkout", "app: checkout, tier: api", "") +
			"---\napiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: orders, namespace: data}\n", []string{near}},
		{"a Rollout of the Deployment", workload("checkout", web, "") + service("checkout", "app: checkout, tier: api", "") +
			"---\napiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: checkout}\nspec: {workloadRef: {kind: Deployment, name: checkout}}\n", []string{near}},
		{"no workloads here", service("checkout", "app: checkout", ""), nil},
		{"only a Job here", job("", "", "") + service("checkout", "app: checkout", ""), nil},
		{"the workload in another namespace", "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: checkout, namespace: other}\nspec: {template: {metadata: {labels: {app: checkout}}, spec: {containers: [{name: a}]}}}\n" +
			service("checkout", "app: checkout", ""), nil},
		{"the destination's namespace by name", "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: checkout, namespace: shop}\nspec: {template: {metadata: {labels: {app: checkout}}, spec: {containers: [{name: a}]}}}\n" +
			service("checkout", "app: checkout", ""), nil},
		{"a name elsewhere", workload("checkout", web, "") + objectOf("v1", "Service", "checkout") + "spec: {type: ExternalName, externalName: db.example.com, selector: {app: x}}\n", nil},
		{"no selector", workload("checkout", web, "") + objectOf("v1", "Service", "checkout") + "spec: {ports: [{port: 80}]}\n", nil},
		{"the leader, which the program marks", workload("vault", "app: vault", "") + service("vault-active", "app: vault, vault-active: 'true'", ""), nil},
		{"a pod of a StatefulSet", objectOf("apps/v1", "StatefulSet", "db") + "spec: {template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db}]}}}\n" +
			service("db-0", "app: db, statefulset.kubernetes.io/pod-name: db-0", ""), nil},
		{"a pod of no StatefulSet", objectOf("apps/v1", "StatefulSet", "db") + "spec: {template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db}]}}}\n" +
			service("db-0", "app: db, statefulset.kubernetes.io/pod-name: database-0", ""),
			[]string{at + `it selects no pod template of the render; that of StatefulSet "db" lacks statefulset.kubernetes.io/pod-name=database-0`}},
	})
}

func TestDisruption(t *testing.T) {
	t.Parallel()
	budget := func(fields string) string {
		return objectOf("policy/v1", "PodDisruptionBudget", "checkout") + "spec: {" + fields + "}\n"
	}
	const (
		selects = ", selector: {matchLabels: {app: checkout}}"
		never   = "no pod may ever be evicted: "
	)
	least := func(what string, replicas int) []string {
		return []string{fmt.Sprintf("/spec/minAvailable: %sminAvailable is %s, and there is at most %d of Deployment \"checkout\"", never, what, replicas)}
	}
	expression := func(e string) string { return ", selector: {matchExpressions: [{key: app, " + e + "}]}" }
	one, three := workload("checkout", "app: checkout", ""), workload("checkout", "app: checkout", "replicas: 3")
	hpa := strings.Replace(autoscaler("checkout", "Deployment"), "spec: {", "spec: {maxReplicas: 9, ", 1)
	scaled := func(fields string) string {
		return objectOf("keda.sh/v1alpha1", "ScaledObject", "checkout") + "spec: {scaleTargetRef: {name: checkout}, " + fields + "}\n"
	}
	runCases(t, "disruption-target", bookOptions(), []ruleCase{
		{"no pods", three + budget("maxUnavailable: 1, selector: {matchLabels: {app: basket}}"),
			[]string{`/spec/selector: it selects no pod template of the render; that of Deployment "checkout" has app=checkout, not app=basket`}},
		{"In", three + budget("maxUnavailable: 1"+expression("operator: In, values: [basket, checkout]")), nil},
		{"In others", three + budget("maxUnavailable: 1"+expression("operator: In, values: [basket, orders]")),
			[]string{`/spec/selector: it selects no pod template of the render; that of Deployment "checkout" has app=checkout, not app in (basket, orders)`}},
		{"NotIn", three + budget("maxUnavailable: 1"+expression("operator: NotIn, values: [basket]")), nil},
		{"Exists", three + budget("maxUnavailable: 1"+expression("operator: Exists")), nil},
		{"DoesNotExist", three + budget("maxUnavailable: 1"+expression("operator: DoesNotExist")),
			[]string{`/spec/selector: it selects no pod template of the render; that of Deployment "checkout" has app=checkout, not !app`}},
		{"no selector", three + budget("maxUnavailable: 1"), nil},
		{"all pods", three + budget("maxUnavailable: 1, selector: {}"), nil},

		{"none at all", three + budget("maxUnavailable: 0"+selects), []string{"/spec/maxUnavailable: " + never + "maxUnavailable is 0"}},
		{"none of a hundred", three + budget(`maxUnavailable: "0%"`+selects), []string{"/spec/maxUnavailable: " + never + "maxUnavailable is 0%"}},
		{"all of them", three + budget(`minAvailable: "100%"`+selects), []string{"/spec/minAvailable: " + never + "minAvailable is 100%"}},
		{"one of one", one + budget("minAvailable: 1"+selects), least("1", 1)},
		{"half of one", one + budget(`minAvailable: "50%"`+selects), least("50%", 1)},
		{"three of three", three + budget("minAvailable: 3"+selects), least("3", 3)},
		{"two of three", three + budget("minAvailable: 2"+selects), nil},
		{"a share of three", three + budget(`minAvailable: "66%"`+selects), nil},
		{"a larger share of three", three + budget(`minAvailable: "67%"`+selects), least("67%", 3)},
		{"one of two workloads", one + workload("basket", "app: checkout", "") + budget("minAvailable: 1"+selects), nil},
		{"as many as the autoscaler allows", one + hpa + budget("minAvailable: 9"+selects), least("9", 9)},
		{"fewer than the autoscaler allows", one + hpa + budget("minAvailable: 1"+selects), nil},
		{"as many as a ScaledObject allows", one + scaled("maxReplicaCount: 4") + budget("minAvailable: 4"+selects), least("4", 4)},
		{"a ScaledObject that does not say how many", one + scaled("minReplicaCount: 1") + budget("minAvailable: 1"+selects), nil},
		{"a workload that is off", workload("checkout", "app: checkout", "replicas: 0") + budget("minAvailable: 1"+selects), nil},
		{"a DaemonSet", objectOf("apps/v1", "DaemonSet", "agent") + "spec: {template: {metadata: {labels: {app: checkout}}, spec: {containers: [{name: a}]}}}\n" + budget("minAvailable: 1"+selects), nil},
		{"a number that is none", one + budget("minAvailable: many"+selects), nil},
	})
}
