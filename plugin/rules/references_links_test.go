package rules

import (
	"strings"
	"testing"
)

func TestPorts(t *testing.T) {
	t.Parallel()
	const containers = "/spec/template/spec/containers/0"
	pod := func(ports, more string, annotations ...string) string {
		text := objectOf("apps/v1", "Deployment", "checkout") + "spec:\n  template:\n    metadata:\n      labels: {app: checkout}\n"
		if len(annotations) > 0 {
			text += "      annotations: {" + strings.Join(annotations, ", ") + "}\n"
		}
		return text + "    spec:\n      containers:\n        - {name: main, ports: [" + ports + "]" + more + "}\n        - {name: proxy, ports: [{name: admin, containerPort: 9901}]}\n"
	}
	const http = "{name: http, containerPort: 8080}"
	to := func(port string) string {
		return service("checkout", "app: checkout", "ports: [{port: 80, targetPort: "+port+"}]")
	}
	lacks := []string{`/spec/ports/0/targetPort: no container of Deployment "checkout" has a port "web"`}
	headless := strings.Replace(to("web"), "spec:\n", "spec:\n  clusterIP: None\n", 1)
	runCases(t, "port-reference", bookOptions(), []ruleCase{
		{"a name that is not there", pod(http, "") + to("web"), lacks},
		{"a name of the first container", pod(http, "") + to("http"), nil},
		{"a name of the second container", pod(http, "") + to("admin"), nil},
		{"a number that is not declared", pod(http, "") + to("9090"), nil},
		{"no target port", pod(http, "") + service("checkout", "app: checkout", "ports: [{port: 80}]"), nil},
		{"one of two workloads has it", pod(http, "") + workload("web", "app: checkout", "") + to("http"), nil},
		{"a headless Service", pod(http, "") + headless, nil},
		{"containers that a mesh adds", pod(http, "", `sidecar.istio.io/inject: "true"`) + to("web"), nil},
		{"containers that a mesh does not add", pod(http, "", `sidecar.istio.io/inject: "false"`) + to("web"), lacks},
		{"one pod of a StatefulSet", objectOf("apps/v1", "StatefulSet", "db") + "spec: {template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, ports: [{name: sql, containerPort: 5432}]}]}}}\n" +
			service("db-0", "app: db, statefulset.kubernetes.io/pod-name: db-0", "ports: [{port: 80, targetPort: web}]"), []string{`/spec/ports/0/targetPort: no container of StatefulSet "db" has a port "web"`}},
		{"pods of others", pod(http, "") + service("basket", "app: basket", "ports: [{port: 80, targetPort: web}]"), nil},
		{"a custom resource that may make pods", pod(http, "") + to("web") + customResource, nil},

		{"a probe", pod(http, ", livenessProbe: {httpGet: {port: web}}"), []string{containers + `/livenessProbe/httpGet/port: the container "main" has no port "web"`}},
		{"a probe of the other container's port", pod(http, ", readinessProbe: {tcpSocket: {port: admin}}"),
			[]string{containers + `/readinessProbe/tcpSocket/port: the container "main" has no port "admin"; it is one of the container "proxy"`}},
		{"a hook of its life", pod(http, ", lifecycle: {preStop: {httpGet: {port: web}}}"), []string{containers + `/lifecycle/preStop/httpGet/port: the container "main" has no port "web"`}},
		{"a probe by name", pod(http, ", startupProbe: {httpGet: {port: http}}"), nil},
		{"a probe by number", pod(http, ", livenessProbe: {httpGet: {port: 9090}}"), nil},
		{"a probe by a number in quotes", pod(http, `, livenessProbe: {httpGet: {port: "8080"}}`), nil},
		{"a probe of a command", pod(http, ", livenessProbe: {exec: {command: [ls]}}"), nil},

		{"a name twice", pod(http+", {name: http, containerPort: 8081}", ""), []string{containers + `/ports/1/name: there are two ports "http"`}},
		{"two without a name", pod("{containerPort: 8080}, {containerPort: 8081}", ""), nil},
		{"a name twice in a Service", pod(http, "") + service("checkout", "app: checkout", "ports: [{name: a, port: 80}, {name: a, port: 81}]"), []string{`/spec/ports/1/name: there are two ports "a"`}},
		{"what Argo CD does not apply", strings.Replace(pod("", ", livenessProbe: {httpGet: {port: web}}"), "  name: checkout\n", "  name: checkout\n  annotations: {helm.sh/hook: test}\n", 1), nil},
	})
}

func TestBackends(t *testing.T) {
	t.Parallel()
	checkout := service("checkout", "app: checkout", "ports: [{name: http, port: 80}, {port: 9090}]")
	const has = ", only 80 (http), 9090"
	ingress := func(backend string) string {
		return objectOf("networking.k8s.io/v1", "Ingress", "checkout") + "spec: {rules: [{http: {paths: [{path: /, backend: " + backend + "}]}}]}\n"
	}
	const at = "/spec/rules/0/http/paths/0/backend/service: "
	route := func(kind, ref string) string {
		return objectOf("gateway.networking.k8s.io/v1", kind, "checkout") + "spec: {rules: [{backendRefs: [" + ref + "]}]}\n"
	}
	webhook := func(service string) string {
		return objectOf("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "checkout") + "webhooks: [{clientConfig: {service: {" + service + "}}}]\n"
	}
	runCases(t, "backend-reference", bookOptions(), []ruleCase{
		{"a number", checkout + ingress("{service: {name: checkout, port: {number: 9090}}}"), nil},
		{"a name", checkout + ingress("{service: {name: checkout, port: {name: http}}}"), nil},
		{"another number", checkout + ingress("{service: {name: checkout, port: {number: 8080}}}"), []string{at + `the Service "checkout" has no port 8080` + has}},
		{"another name", checkout + ingress("{service: {name: checkout, port: {name: web}}}"), []string{at + `the Service "checkout" has no port web` + has}},
		{"the old form", checkout + ingress("{serviceName: checkout, servicePort: 8080}"), []string{"/spec/rules/0/http/paths/0/backend: " + `the Service "checkout" has no port 8080` + has}},
		{"the old form by name", checkout + ingress("{serviceName: checkout, servicePort: http}"), nil},
		{"the default backend", checkout + objectOf("networking.k8s.io/v1", "Ingress", "checkout") + "spec: {defaultBackend: {service: {name: checkout, port: {number: 8080}}}}\n",
			[]string{`/spec/defaultBackend/service: the Service "checkout" has no port 8080` + has}},
		{"a bucket", checkout + ingress("{resource: {apiGroup: example.com, kind: Bucket, name: checkout}}"), nil},
		{"an action of a load balancer", checkout + ingress("{service: {name: checkout, port: {name: use-annotation}}}"), nil},
		{"a name elsewhere", objectOf("v1", "Service", "checkout") + "spec: {type: ExternalName, externalName: a.example.com, ports: [{port: 80}]}\n" + ingress("{service: {name: checkout, port: {number: 8080}}}"), nil},

		{"a typing error", checkout + ingress("{service: {name: chekcout, port: {number: 80}}}"), []string{at + `the render has no Service "chekcout", but "checkout"`}},
		{"the name of the release is missing", strings.ReplaceAll(checkout, "name: checkout", "name: shop-checkout") + ingress("{service: {name: checkout, port: {number: 80}}}"),
			[]string{at + `the render has no Service "checkout", but "shop-checkout"`}},
		{"a Service of another application", checkout + ingress("{service: {name: basket, port: {number: 80}}}"), nil},
		{"a Service that a controller may make", checkout + ingress("{service: {name: chekcout, port: {number: 80}}}") + customResource, nil},
		{"a Service of an operator or a subchart", checkout + ingress("{service: {name: checkout-redis, port: {number: 80}}}"), nil},
		{"a Service of a rollout", checkout + ingress("{service: {name: checkout-canary, port: {number: 80}}}"), nil},
		{"a Service with the name of another release", checkout + ingress("{service: {name: shop-checkout, port: {number: 80}}}"), nil},
		{"both a typing error and a longer name", service("checkuot-web", "app: checkout", "") + service("checkout", "app: checkout", "") + ingress("{service: {name: checkuot, port: {number: 80}}}"),
			[]string{at + `the render has no Service "checkuot", but "checkout"`}},
		{"a number of several", strings.ReplaceAll(checkout, "name: checkout", "name: checkout-1") + ingress("{service: {name: checkout-12, port: {number: 80}}}"), nil},

		{"an HTTPRoute", checkout + route("HTTPRoute", "{name: checkout, port: 8080}"), []string{`/spec/rules/0/backendRefs/0: the Service "checkout" has no port 8080` + has}},
		{"a GRPCRoute", checkout + route("GRPCRoute", "{name: checkout, port: 9090}"), nil},
		{"a TCPRoute by a wrong name", checkout + route("TCPRoute", "{name: checkuot, port: 80}"), []string{`/spec/rules/0/backendRefs/0: the render has no Service "checkuot", but "checkout"`}},
		{"a backend of another kind", checkout + route("HTTPRoute", "{group: example.com, kind: Bucket, name: checkout, port: 8080}"), nil},
		{"a Service in another namespace", checkout + route("HTTPRoute", "{name: checkout, namespace: other, port: 8080}"), nil},
		{"a mirror", checkout + objectOf("gateway.networking.k8s.io/v1", "HTTPRoute", "checkout") + "spec: {rules: [{filters: [{requestMirror: {backendRef: {name: checkout, port: 8080}}}]}]}\n",
			[]string{`/spec/rules/0/filters/0/requestMirror/backendRef: the Service "checkout" has no port 8080` + has}},

		{"a webhook", checkout + webhook("name: checkout, namespace: shop, port: 80"), nil},
		{"a webhook on the default port", checkout + webhook("name: checkout, namespace: shop"), []string{`/webhooks/0/clientConfig/service: the Service "checkout" has no port 443` + has}},
		{"a webhook elsewhere", checkout + webhook("name: checkout, namespace: other"), nil},
		{"an APIService", checkout + objectOf("apiregistration.k8s.io/v1", "APIService", "v1.example.com") + "spec: {service: {name: checkout, namespace: shop, port: 8443}}\n",
			[]string{`/spec/service: the Service "checkout" has no port 8443` + has}},
		{"an APIService of the API server itself", checkout + objectOf("apiregistration.k8s.io/v1", "APIService", "v1.example.com") + "spec: {version: v1}\n", nil},
		{"a conversion", checkout + objectOf("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.example.com") + "spec: {conversion: {webhook: {clientConfig: {service: {name: checkout, namespace: shop}}}}}\n",
			[]string{`/spec/conversion/webhook/clientConfig/service: the Service "checkout" has no port 443` + has}},
	})
}

func TestKeys(t *testing.T) {
	t.Parallel()
	configured := func(env, volume string) string {
		return deployment("", "volumes: [{name: v, "+volume+"}]") + // the container follows
			objectOf("v1", "Pod", "checkout") + "spec: {containers: [{name: main, env: [{name: A, valueFrom: " + env + "}]}]}\n"
	}
	const noEnv, noVolume, atEnv = "{}", "emptyDir: {}", "/spec/containers/0/env/0/valueFrom/"
	const config = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: checkout}\ndata: {log-level: info}\nbinaryData: {logo: AA==}\n"
	secret := func(annotations, data string) string {
		return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: checkout, annotations: {" + annotations + "}}\n" + data + "\n"
	}
	const data = "stringData: {user: shop}"
	reads := configured("{secretKeyRef: {name: checkout, key: password}}", noVolume)
	lacks := []string{atEnv + `secretKeyRef: Secret "checkout" has no entry "password"`}
	runCases(t, "key-reference", bookOptions(), []ruleCase{
		{"an entry", config + configured("{configMapKeyRef: {name: checkout, key: log-level}}", noVolume), nil},
		{"an entry of bytes", config + configured("{configMapKeyRef: {name: checkout, key: logo}}", noVolume), nil},
		{"no entry", config + configured("{configMapKeyRef: {name: checkout, key: colour}}", noVolume), []string{atEnv + `configMapKeyRef: ConfigMap "checkout" has no entry "colour"`}},
		{"a typing error", config + configured("{configMapKeyRef: {name: checkout, key: log-levelx}}", noVolume), []string{atEnv + `configMapKeyRef: ConfigMap "checkout" has no entry "log-levelx", but "log-level"`}},
		{"another case", config + configured("{configMapKeyRef: {name: checkout, key: LOG-LEVEL}}", noVolume), []string{atEnv + `configMapKeyRef: ConfigMap "checkout" has no entry "LOG-LEVEL", but "log-level"`}},
		{"an optional one", config + configured("{configMapKeyRef: {name: checkout, key: colour, optional: true}}", noVolume), nil},
		{"an object of others", config + configured("{configMapKeyRef: {name: basket, key: colour}}", noVolume), nil},
		{"an item of a volume", config + configured(noEnv, "configMap: {name: checkout, items: [{key: colour, path: c}]}"),
			[]string{`/spec/template/spec/volumes/0/configMap/items/0: ConfigMap "checkout" has no entry "colour"`}},
		{"an item of a projected volume", config + configured(noEnv, "projected: {sources: [{configMap: {name: checkout, items: [{key: log-level, path: a}, {key: colour, path: c}]}}]}"),
			[]string{`/spec/template/spec/volumes/0/projected/sources/0/configMap/items/1: ConfigMap "checkout" has no entry "colour"`}},
		{"a whole volume", config + configured(noEnv, "configMap: {name: checkout}"), nil},

		{"a Secret", secret("", data) + reads, lacks},
		{"a Secret that others fill", secret("", "") + reads, nil},
		{"a Secret of a token", secret("", "type: kubernetes.io/service-account-token\n"+data) + reads, nil},
		{"a Secret that is copied", secret("replicator.v1.mittwald.de/replicate-from: a/b", data) + reads, nil},
		{"a Secret with an annotation of no weight", secret("example.com/team: shop", data) + reads, lacks},
		{"a Secret that is merged into", secret("", data) + reads + "---\napiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: more}\nspec: {target: {name: checkout, creationPolicy: Merge}}\n", nil},
	})
}

func TestAutoscalerTarget(t *testing.T) {
	t.Parallel()
	checkout := workload("checkout", "app: checkout", "")
	hpa := func(ref string) string {
		return objectOf("autoscaling/v2", "HorizontalPodAutoscaler", "checkout") + "spec: {scaleTargetRef: {" + ref + "}}\n"
	}
	const at = "/spec/scaleTargetRef: the render has no "
	vpa := objectOf("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "checkout") + "spec: {targetRef: {apiVersion: apps/v1, kind: StatefulSet, name: checkout}}\n"
	runCases(t, "autoscaler-target", bookOptions(), []ruleCase{
		{"the workload", checkout + hpa("apiVersion: apps/v1, kind: Deployment, name: checkout"), nil},
		{"another version of its group", checkout + hpa("apiVersion: apps/v1beta1, kind: Deployment, name: checkout"), nil},
		{"another kind", checkout + hpa("apiVersion: apps/v1, kind: StatefulSet, name: checkout"), []string{at + `StatefulSet "checkout" of apps, but Deployment "checkout" of apps`}},
		{"another group", checkout + hpa("apiVersion: extensions/v1beta1, kind: Deployment, name: checkout"), []string{at + `Deployment "checkout" of extensions, but Deployment "checkout" of apps`}},
		{"no group", checkout + hpa("kind: Deployment, name: checkout"), []string{at + `Deployment "checkout" of the core group, but Deployment "checkout" of apps`}},
		{"a typing error", checkout + hpa("apiVersion: apps/v1, kind: Deployment, name: chekcout"), []string{at + `Deployment "chekcout" of apps, but Deployment "checkout" of apps`}},
		{"a workload of a rollout", checkout + hpa("apiVersion: apps/v1, kind: Deployment, name: checkout-primary"), nil},
		{"another kind beside a longer name", checkout + strings.Replace(workload("checkout-db", "app: db", ""), "Deployment", "StatefulSet", 1) + hpa("apiVersion: apps/v1, kind: StatefulSet, name: checkout"),
			[]string{at + `StatefulSet "checkout" of apps, but Deployment "checkout" of apps`}},
		{"a workload of others", checkout + hpa("apiVersion: apps/v1, kind: Deployment, name: basket"), nil},
		{"a workload that a controller may make", checkout + hpa("apiVersion: apps/v1, kind: Deployment, name: chekcout") + customResource, nil},
		{"a ScaledObject's Deployment", checkout + objectOf("keda.sh/v1alpha1", "ScaledObject", "checkout") + "spec: {scaleTargetRef: {name: checkout}}\n", nil},
		{"a ScaledObject of another kind", checkout + objectOf("keda.sh/v1alpha1", "ScaledObject", "checkout") + "spec: {scaleTargetRef: {kind: StatefulSet, name: checkout}}\n",
			[]string{at + `StatefulSet "checkout" of apps, but Deployment "checkout" of apps`}},
		{"a VerticalPodAutoscaler", checkout + vpa, []string{`/spec/targetRef: the render has no StatefulSet "checkout" of apps, but Deployment "checkout" of apps`}},
	})
}

func TestNear(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		wanted, there string
		want          nearness
	}{
		{"checkout", "chekcout", likely}, {"checkout", "checkou", likely}, {"checkou", "checkout", likely}, {"checkout", "chickout", likely},
		{"shop-checkout-redis", "shop-chekcout-redis", likely}, {"checkout-service", "chekcout-servise", likely},
		{"checkoutapi", "checkout-api", likely}, {"checkout-api", "checkoutapi", likely},

		{"checkout", "shop-checkout", possible}, {"checkout", "checkout-web", possible}, {"web", "shop-web", possible},

		{"web-redis", "web", unlike}, {"web-metrics", "web", unlike}, {"web-headless", "web", unlike},
		{"web-canary", "web", unlike}, {"web-primary", "web", unlike}, {"web-stable", "web", unlike},
		{"checkout-admin", "checkout", unlike}, {"shop-checkout", "checkout", unlike}, {"checkout-orders-a", "checkout-orders", unlike},
		{"orders-ro", "orders-rw", unlike}, {"orders-main", "orders-mail", unlike}, {"checkout-web", "checkout-api", unlike},
		{"checkout", "checkout", unlike}, {"", "a", unlike}, {"", "-a", unlike}, {"a", "", unlike}, {"checkout", "checkedout", unlike},
		{"web-1", "web-12", unlike}, {"worker1", "worker2", unlike}, {"web", "wev", unlike}, {"abcdefghij", "abcdefghijxyz", unlike}, {"checkout", "outcheck", unlike},
	} {
		t.Run(tt.wanted+" "+tt.there, func(t *testing.T) {
			t.Parallel()
			if got := near(tt.wanted, tt.there); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// Where the name of the release may be missing, that is said as advice: another
// application may have what is referred to.
func TestMissingReleaseName(t *testing.T) {
	t.Parallel()
	route := objectOf("gateway.networking.k8s.io/v1", "HTTPRoute", "checkout") + "spec: {rules: [{backendRefs: [{name: NAME, port: 80}]}]}\n"
	hpa := strings.ReplaceAll(autoscaler("checkout", "Deployment"), "name: checkout}", "name: NAME}")
	for rule, text := range map[string]string{
		"backend-reference": service("shop-checkout", "app: checkout", "ports: [{port: 80}]") + route,
		"autoscaler-target": workload("shop-checkout", "app: checkout", "") + hpa,
	} {
		for name, want := range map[string]Severity{"checkout": Info, "shop-chekcout": Error} {
			t.Run(rule+" "+name, func(t *testing.T) {
				t.Parallel()
				got := of(Check(objects(t, strings.ReplaceAll(text, "NAME", name)), bookOptions()), rule)
				if len(got) != 1 || got[0].Severity != want {
					t.Errorf("got %+v, want one %s", got, want)
				}
			})
		}
	}
}
