package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestPruneDecision(t *testing.T) {
	t.Parallel()
	const (
		at         = "/metadata/annotations: pruned with "
		claims     = "spec:\n  volumeClaimTemplates: [{metadata: {name: data}}]\n"
		binding    = "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: checkout}\n"
		rights     = at + "the rights that others than this application have by it: it has no decision about pruning"
		account    = "subjects: [{kind: ServiceAccount, name: checkout, namespace: shop}]\n"
		rbac       = "rbac.authorization.k8s.io/v1"
		definition = "apiextensions.k8s.io/v1"
	)
	kind := func(apiVersion, kind, name, more string, annotations ...string) string {
		return objectOf(apiVersion, kind, name, annotations...) + more
	}
	runCases(t, "prune-decision", bookOptions(), []ruleCase{
		{"a Namespace", kind("v1", "Namespace", "shop", ""), []string{at + "all objects in it: it has no decision about pruning"}},
		{"a claim", kind("v1", "PersistentVolumeClaim", "orders", ""), []string{at + "the data of its volume: it has no decision about pruning"}},
		{"definitions", kind(definition, "CustomResourceDefinition", "a", "") + kind(definition, "CustomResourceDefinition", "b", ""),
			[]string{at + `its custom resources in all namespaces: it has no decision about pruning; nor have "b"`}},
		{"volume templates", kind("apps/v1", "StatefulSet", "db", claims), []string{
			"/spec/persistentVolumeClaimRetentionPolicy: pruned while its volumeClaimTemplates' claims stay behind: it has no persistentVolumeClaimRetentionPolicy and no decision about pruning"}},
		{"a policy of retention", kind("apps/v1", "StatefulSet", "db", claims+"  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain}\n"), nil},
		{"no volume templates", kind("apps/v1", "StatefulSet", "db", "spec: {replicas: 1}\n"), nil},
		{"a ConfigMap", kind("v1", "ConfigMap", "checkout", ""), nil},

		{"Prune=confirm", kind("v1", "Namespace", "shop", "", "argocd.argoproj.io/sync-options: Prune=confirm"), nil},
		{"Delete=false among others", kind("v1", "Namespace", "shop", "", `argocd.argoproj.io/sync-options: "ServerSideApply=true, Delete=false"`), nil},
		{"an option that begins alike", kind("v1", "Namespace", "shop", "", "argocd.argoproj.io/sync-options: PruneLast=true"), []string{at + "all objects in it: it has no decision about pruning"}},
		{"kept for Helm", kind("v1", "Namespace", "shop", "", "helm.sh/resource-policy: keep"), nil},
		{"a hook", kind("v1", "PersistentVolumeClaim", "scratch", "", preSyncHook), nil},
		{"an object that is skipped", kind("v1", "Namespace", "shop", "", "argocd.argoproj.io/hook: Skip"), nil},

		{"a role of others", kind(rbac, "ClusterRole", "checkout-viewer", ""), []string{rights}},
		{"a role for a group", kind(rbac, "ClusterRoleBinding", "checkout", binding+"subjects: [{kind: Group, name: shop-admins}]\n"), []string{rights}},
		{"a role of another's account", kind(rbac, "ClusterRoleBinding", "checkout", binding+"subjects: [{kind: ServiceAccount, name: basket, namespace: shop}]\n"), []string{rights}},
		{"several roles", kind(rbac, "ClusterRole", "a", "") + kind(rbac, "ClusterRole", "b", "") + kind(rbac, "ClusterRole", "c", "") + kind(rbac, "ClusterRole", "d", "") + kind(rbac, "ClusterRole", "e", ""),
			[]string{rights + `; nor have "b", "c", "d" and 1 more`}},
		{"rights of the application itself", kind(rbac, "ClusterRole", "checkout", "") + kind(rbac, "ClusterRoleBinding", "checkout", binding+account) + kind("v1", "ServiceAccount", "checkout", ""), nil},
		{"rights of the default account", kind(rbac, "ClusterRoleBinding", "checkout", binding+strings.Replace(account, "name: checkout", "name: default", 1)), nil},
		{"a part of the role edit", "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: checkout-edit, labels: {rbac.authorization.k8s.io/aggregate-to-edit: 'true'}}\n", nil},
		{"a role of one namespace", kind(rbac, "Role", "checkout", ""), nil},
	})
}

func TestEmptyPrune(t *testing.T) {
	t.Parallel()
	application := func(automated string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: checkout}\nspec: {syncPolicy: {automated: {" + automated + "}}}\n"
	}
	message := "automated sync prunes, and allowEmpty lets it prune everything"
	runCases(t, "application-empty-prune", bookOptions(), []ruleCase{
		{"both", application("prune: true, allowEmpty: true"), []string{"/spec/syncPolicy/automated/allowEmpty: " + message}},
		{"an ApplicationSet", "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: shop}\nspec: {template: {spec: {syncPolicy: {automated: {prune: true, allowEmpty: true}}}}}\n",
			[]string{"/spec/template/spec/syncPolicy/automated/allowEmpty: " + message}},
		{"prune alone", application("prune: true"), nil},
		{"empty alone", application("allowEmpty: true"), nil},
		{"not automated", application("enabled: false, prune: true, allowEmpty: true"), nil},
		{"an Application of others", strings.Replace(application("prune: true, allowEmpty: true"), "argoproj.io", "app.k8s.io", 1), nil},
	})
}

func TestIgnoreDifferences(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ kind, list, path, covers string }{
		{"Deployment", "jsonPointers", "", "the whole object"},
		{"Deployment", "jsonPointers", "/spec", "the whole spec"},
		{"Deployment", "jsonPointers", "/spec/template", "an image and a security context"},
		{"Deployment", "jsonPointers", "/spec/template/spec/containers/0/image", "an image"},
		{"Deployment", "jsonPointers", "/spec/template/spec/initContainers", "an image and a security context"},
		{"Deployment", "jsonPointers", "/spec/template/spec/securityContext/runAsUser", "a security context"},
		{"Deployment", "jsonPointers", "/spec/template/spec/containers/0/securityContext", "a security context"},
		{"CronJob", "jsonPointers", "/spec/jobTemplate", "an image and a security context"},
		{"Service", "jsonPointers", "/spec/selector", "a selector"},
		{"NetworkPolicy", "jsonPointers", "/spec/podSelector/matchLabels/app", "a selector"},
		{"ClusterRole", "jsonPointers", "/rules", "the rules of a role"},
		{"RoleBinding", "jsonPointers", "/subjects/0", "the subjects of a binding"},
		{"ClusterRoleBinding", "jsonPointers", "/roleRef", "the role of a binding"},
		{"*", "jsonPointers", "/rules", "the rules of a role"},
		{"Prometheus", "jsonPointers", "/spec/image", "an image"},
		{"Deployment", "jqPathExpressions", ".", "the whole object"},
		{"Deployment", "jqPathExpressions", ".spec", "the whole spec"},
		{"Deployment", "jqPathExpressions", `.["spec"]?`, "the whole spec"},
		{"Deployment", "jqPathExpressions", ".spec.replicas, .spec.template.spec.containers[].image", "an image"},
		{"Deployment", "jqPathExpressions", `.spec.template.spec.containers[] | select(.name == "checkout") | .image`, "an image"},
		{"Deployment", "jqPathExpressions", `.spec.template.spec.containers[] | select(.name == "checkout").image`, "an image"},
		{"Deployment", "jqPathExpressions", `select(.metadata.name | test("^a\\)")) | .spec`, "the whole spec"},

		{"Deployment", "jqPathExpressions", `.metadata.annotations["a\",b"], .spec`, "the whole spec"},
		{"Deployment", "jqPathExpressions", ".metadata, .spec | .selector", "a selector"},
		{"Deployment", "jqPathExpressions", "(.metadata, .spec).selector", "a selector"},
		{"Deployment", "jqPathExpressions", ".spec | .replicas, .template.spec.containers[].image", "an image"},
		{"Deployment", "jqPathExpressions", ".spec | (.replicas, .selector)", "a selector"},
		{"Deployment", "jqPathExpressions", ".spec, .metadata | .labels", ""},
		{"Deployment", "jqPathExpressions", ".metadata.labels | .spec, .rules", ""},

		{"Deployment", "jsonPointers", "/spec/replicas", ""},
		{"Deployment", "jsonPointers", "/spec/template/metadata/annotations/example.com~1restarted", ""},
		{"Deployment", "jsonPointers", "/spec/template/spec/containers/0/resources", ""},
		{"StatefulSet", "jsonPointers", "/spec/volumeClaimTemplates", ""},
		{"ConfigMap", "jsonPointers", "/data", ""},
		{"Ingress", "jsonPointers", "/spec/rules", ""},
		{"MutatingWebhookConfiguration", "jsonPointers", "/webhooks/0/rules", ""},
		{"ExternalSecret", "jsonPointers", "/spec/target/template", ""},
		{"MutatingWebhookConfiguration", "jqPathExpressions", ".webhooks[]?.clientConfig.caBundle", ""},
		{"ConfigMap", "jqPathExpressions", `.data["config.yaml"]`, ""},
		{"Deployment", "jqPathExpressions", `.spec.template.spec.containers[] | select(.name == "istio-proxy")`, ""},
		{"Deployment", "jqPathExpressions", `.spec.template.spec.initContainers[] | select(.name | startswith("injected, |")) `, ""},
		{"Deployment", "jqPathExpressions", ".. | .image?", ""}, // not read: no path by itself
		{"Deployment", "jqPathExpressions", `.spec | to_entries[]`, ""},
		{"Deployment", "jqPathExpressions", `.spec.template[`, ""},
		{"Deployment", "jqPathExpressions", `select(.spec`, ""},
		{"Deployment", "jqPathExpressions", `(.spec`, ""},
		{"Deployment", "jqPathExpressions", "", ""},
		{"Deployment", "jqPathExpressions", ".spec |", ""},
	} {
		text := fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: checkout}\nspec:\n  ignoreDifferences:\n    - kind: %q\n      %s: ['%s']\n", tt.kind, tt.list, tt.path)
		var want []string
		if tt.covers != "" {
			of := tt.kind
			if of == "*" {
				of = "all kinds"
			}
			want = []string{fmt.Sprintf("/spec/ignoreDifferences/0/%s/0: %q of %s covers %s", tt.list, tt.path, of, tt.covers)}
		}
		runCases(t, "ignore-differences", bookOptions(), []ruleCase{{tt.kind + " " + tt.path, text, want}})
	}
}

// The paths are those that jq 1.6 prints for path(<expression>), with [] for each index
// and ? behind one that select chose.
func TestParseJQ(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		".spec, .metadata | .labels":                       "spec/labels metadata/labels",
		".metadata | .labels, . | .spec":                   "metadata/labels/spec metadata/spec",
		".spec.template | .spec.containers[], . | .image?": "spec/template/spec/containers/[]/image spec/template/image",
		".spec | .replicas, .selector":                     "spec/replicas spec/selector",
		".spec | (.replicas, .selector)":                   "spec/replicas spec/selector",
		"(.spec, .metadata).labels":                        "spec/labels metadata/labels",
		"(.spec, .metadata) | .labels":                     "spec/labels metadata/labels",
		".metadata, (.metadata | .labels) | .spec":         "metadata/spec metadata/labels/spec",
		"(.metadata | .labels), .rules":                    "metadata/labels rules",
		".metadata.labels | .spec, .a":                     "metadata/labels/spec metadata/labels/a",
		`.spec.a[] | select(.name == "b | c, d"), .e`:      "spec/a/[]? spec/a/[]/e",
		`.spec.a[] | select(.name == "b") | .c, .d`:        "spec/a/[]/c spec/a/[]/d",
		".spec.a, ..":                                           "spec/a", // the other is none by itself
		"(.a, .b) | to_entries":                                 "",
		strings.Repeat("(.a, .b) | ", 40) + ".c":                "",
		strings.Repeat("(", 1<<20) + strings.Repeat(")", 1<<20): "",
	} {
		t.Run(expression[:min(len(expression), 40)], func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range parseJQ(expression) {
				text := strings.Join(p.steps, "/")
				if p.chosen {
					text += "?"
				}
				got = append(got, text)
			}
			slices.Sort(got)
			wanted := strings.Fields(want)
			slices.Sort(wanted)
			if !slices.Equal(got, wanted) {
				t.Errorf("got %q, want %q", got, wanted)
			}
		})
	}
}

func TestIgnoreOwner(t *testing.T) {
	t.Parallel()
	application := func(entry string, annotations ...string) string {
		return objectOf("argoproj.io/v1alpha1", "Application", "checkout", annotations...) + "spec:\n  ignoreDifferences: [" + entry + "]\n"
	}
	const entry = "{group: apps, kind: Deployment, name: checkout, jsonPointers: [/spec/replicas]}"
	runCases(t, "ignore-owner", bookOptions(), []ruleCase{
		{"nobody", application(entry), []string{`/spec/ignoreDifferences/0: nothing says who writes what is ignored in Deployment "checkout"`}},
		{"an empty reason", application(entry, `hallmark.dev/ignore-differences: " "`), []string{`/spec/ignoreDifferences/0: nothing says who writes what is ignored in Deployment "checkout"`}},
		{"a reason", application(entry, "hallmark.dev/ignore-differences: the autoscaler writes replicas"), nil},
		{"the manager", application("{group: apps, kind: Deployment, managedFieldsManagers: [kube-controller-manager]}"), nil},
		{"the reason of an ApplicationSet's template", "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: shop}\nspec:\n  template:\n" +
			"    metadata: {annotations: {hallmark.dev/ignore-differences: the autoscaler writes replicas}}\n    spec: {ignoreDifferences: [" + entry + "]}\n", nil},
	})
}
