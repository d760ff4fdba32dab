package rules

import (
	"fmt"
	"strings"
	"testing"
)

// configMap and its like are whole objects of the smallest form.
func configMap(annotations ...string) string {
	return objectOf("v1", "ConfigMap", "checkout", annotations...)
}

func objectOf(apiVersion, kind, name string, annotations ...string) string {
	return "---\napiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n" + annotated(annotations...)
}

// deployment has a pod with fields of its spec.
func deployment(spec, pod string, annotations ...string) string {
	return objectOf("apps/v1", "Deployment", "checkout", annotations...) + "spec:\n" + indented(2, spec) +
		"  template:\n    spec:\n" + indented(6, pod) + "      containers: [{name: checkout, image: checkout}]\n"
}

const mounts = "volumes: [{name: config, configMap: {name: checkout}}]"

func TestHookAnnotations(t *testing.T) {
	t.Parallel()
	const at = "/metadata/annotations/argocd.argoproj.io~1"
	inTemplate := func(annotation string, own ...string) string {
		return strings.Replace(job("", "", "", own...), "  template:\n", "  template:\n    metadata:\n      annotations:\n        "+annotation+"\n", 1)
	}
	runCases(t, "hook-annotations", bookOptions(), []ruleCase{
		{"each that is right", configMap("argocd.argoproj.io/hook: PreSync, PostSync", policies("HookSucceeded, BeforeHookCreation"), wave(-5), "argocd.argoproj.io/sync-options: Prune=false,Replace=true"), nil},
		{"each of Helm that is right", configMap("helm.sh/hook: pre-install,post-rollback", "helm.sh/hook-delete-policy: hook-succeeded", `helm.sh/hook-weight: "-5"`), nil},
		{"a hook type in the wrong case", configMap("argocd.argoproj.io/hook: Presync"),
			[]string{at + `hook: "Presync" is no hook type, and Argo CD never applies the object; it is written "PreSync"`}},
		{"Helm's word for it", configMap("argocd.argoproj.io/hook: pre-sync"),
			[]string{at + `hook: "pre-sync" is no hook type, and Argo CD never applies the object; it is written "PreSync"`}},
		{"a hook type beside one that is known", configMap("argocd.argoproj.io/hook: PreSync,PreUpgrade"),
			[]string{at + `hook: "PreUpgrade" is no hook type, and Argo CD ignores it`}},
		{"a hook type that nobody knows beside Helm's", configMap("argocd.argoproj.io/hook: Before", "helm.sh/hook: pre-install"),
			[]string{at + `hook: "Before" is no hook type, and Argo CD ignores it`}},
		{"no hook type", configMap(`argocd.argoproj.io/hook: ""`), []string{at + "hook: names no hook type, and Argo CD never applies the object"}},
		{"Skip", configMap("argocd.argoproj.io/hook: Skip"), nil},
		{"Skip beside another", configMap("argocd.argoproj.io/hook: Skip,Sync"), []string{at + "hook: Skip beside another hook type is ignored"}},
		{"hooks of the deletion", configMap("argocd.argoproj.io/hook: PreDelete") + strings.ReplaceAll(configMap("argocd.argoproj.io/hook: PostDelete"), "checkout", "other"), nil},
		{"a hook type that Helm does not know", configMap("helm.sh/hook: pre-instal"),
			[]string{`/metadata/annotations/helm.sh~1hook: "pre-instal" is no hook type of Helm, and Argo CD never applies the object`}},
		{"a test of Helm", configMap("helm.sh/hook: test"), nil},
		{"a definition as Helm 2 had it", configMap("helm.sh/hook: crd-install"), nil},
		{"Argo CD's own hook wins", configMap("argocd.argoproj.io/hook: Sync", "helm.sh/hook: whatever"), nil},
		{"delete policies", configMap(preSyncHook, policies("HookSuceeded,before-hook-creation")), []string{
			at + `hook-delete-policy: "HookSuceeded" is no delete policy, and Argo CD ignores it`,
			at + `hook-delete-policy: "before-hook-creation" is no delete policy, and Argo CD ignores it; it is written "BeforeHookCreation"`,
		}},
		{"a delete policy of Helm in Argo CD's form", configMap("helm.sh/hook: pre-install", "helm.sh/hook-delete-policy: HookSucceeded"),
			[]string{`/metadata/annotations/helm.sh~1hook-delete-policy: "HookSucceeded" is no delete policy, and Argo CD ignores it; it is written "hook-succeeded"`}},
		{"a delete policy without a hook", configMap(policies("HookSucceeded")), []string{at + "hook-delete-policy: the object has a delete policy for hooks, and is no hook"}},
		{"a wave that is no number", configMap("argocd.argoproj.io/sync-wave: first"), []string{at + `sync-wave: "first" is no whole number, and Argo CD ignores it`}},
		{"a wave with a part", configMap(`argocd.argoproj.io/sync-wave: "1.5"`), []string{at + `sync-wave: "1.5" is no whole number, and Argo CD ignores it`}},
		{"a wave with a blank", configMap(`argocd.argoproj.io/sync-wave: "1 "`), []string{at + `sync-wave: "1 " is no whole number, and Argo CD ignores it`}},
		{"a wave with a sign", configMap(`argocd.argoproj.io/sync-wave: "+1"`), nil},
		{"a weight that is no number", configMap("helm.sh/hook: pre-install", "helm.sh/hook-weight: high"), []string{`/metadata/annotations/helm.sh~1hook-weight: "high" is no whole number, and Argo CD ignores it`}},
		{"a weight that a wave replaces", configMap(wave(1), "helm.sh/hook-weight: high"), nil},
		{"a sync option in the wrong case", configMap("argocd.argoproj.io/sync-options: Prune=False"),
			[]string{at + `sync-options: "Prune=False" is no sync option, and Argo CD ignores it; it is written "Prune=false"`}},
		{"a sync option of a later version", configMap("argocd.argoproj.io/sync-options: ClientSideApplyMigration=false"), nil},
		{"among the labels", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: checkout\n  labels: {argocd.argoproj.io/sync-wave: \"1\"}\n",
			[]string{"/metadata/labels/argocd.argoproj.io~1sync-wave: stands among the labels, where Argo CD does not read it"}},
		{"in the pod template", inTemplate(preSyncHook), []string{"/spec/template/metadata/annotations/argocd.argoproj.io~1hook: stands in the pod template, where Argo CD does not read it"}},
		{"in the pod template, too", inTemplate(preSyncHook, preSyncHook), nil},
		{"of a pod", objectOf("v1", "Pod", "checkout", preSyncHook) + "spec: {containers: [{name: checkout}]}\n", nil},
		{"another name", configMap("argocd.argoproj.io/syncwave: '1'", "argocd.argoproj.io/hooks: PreSync", "argoproj.io/sync-wave: '2'"), []string{
			at + `hooks: "argocd.argoproj.io/hooks" is no annotation of Argo CD; it is written "argocd.argoproj.io/hook"`,
			at + `syncwave: "argocd.argoproj.io/syncwave" is no annotation of Argo CD; it is written "argocd.argoproj.io/sync-wave"`,
			`/metadata/annotations/argoproj.io~1sync-wave: "argoproj.io/sync-wave" is no annotation of Argo CD; it is written "argocd.argoproj.io/sync-wave"`,
		}},
		{"other annotations of Argo CD", configMap("argocd.argoproj.io/compare-options: IgnoreExtraneous", "argocd.argoproj.io/tracking-id: x", "argocd.argoproj.io/refresh: hard"), nil},
	})
}

func TestDeleteHook(t *testing.T) {
	t.Parallel()
	const at = "/metadata/annotations/argocd.argoproj.io~1hook: "
	runCases(t, "delete-hook", bookOptions(), []ruleCase{
		{"PreDelete", job("", "", "", "argocd.argoproj.io/hook: PreDelete"), []string{at + "the PreDelete hook runs when the Application is deleted and never on a prune; Argo CD before 3.3 does not run it at all"}},
		{"PostDelete", job("", "", "", postDeleteHook), []string{at + "the PostDelete hook runs when the Application is deleted and never on a prune"}},
		{"two moments", job("", "", "", "argocd.argoproj.io/hook: PreSync,PostDelete"), []string{at + "Argo CD before 3.4 runs no PostDelete hook that is another hook, too"}},
		{"Helm's, before", job("", "", "", "helm.sh/hook: pre-delete"), []string{"/metadata/annotations/helm.sh~1hook: Argo CD before 3.3 does not run Helm's pre-delete hooks; later ones run them when the Application is deleted"}},
		{"Helm's, after", job("", "", "", "helm.sh/hook: post-delete"), nil},
		{"what comes with a hook", configMap("argocd.argoproj.io/hook: PreDelete"), nil},
		{"another hook", job("", "", "", preSyncHook), nil},
	})
}

func TestHookDependency(t *testing.T) {
	t.Parallel()
	const volume = "/spec/template/spec/volumes/0/configMap: "
	account := func(annotations ...string) string {
		return objectOf("v1", "ServiceAccount", "checkout", annotations...)
	}
	binding := func(annotations ...string) string {
		return objectOf("rbac.authorization.k8s.io/v1", "RoleBinding", "checkout", annotations...) + "subjects: [{kind: ServiceAccount, name: checkout, namespace: shop}]\n"
	}
	external := func(annotations ...string) string {
		return objectOf("external-secrets.io/v1", "ExternalSecret", "database", annotations...) + "spec: {target: {name: checkout}}\n"
	}
	const secret = "envFrom: [{secretRef: {name: checkout}}]"
	late := []string{volume + `mounts ConfigMap "checkout", which is created in the Sync phase, after this PreSync hook`}
	runCases(t, "hook-dependency", bookOptions(), []ruleCase{
		{"a later phase", job("", mounts, "", preSyncHook) + configMap(), late},
		{"a later phase, whatever the waves", job("", mounts, "", preSyncHook, wave(5)) + configMap(wave(-5)), late},
		{"Helm's hooks", job("", mounts, "", "helm.sh/hook: pre-upgrade") + configMap(), late},
		{"a hook of a later phase", deployment("", mounts) + configMap(postSyncHook), []string{volume + `mounts ConfigMap "checkout", which is created in the PostSync phase, after this Deployment`}},
		{"a later wave of the hooks", job("", mounts, "", preSyncHook) + configMap(preSyncHook, wave(1)),
			[]string{volume + `mounts ConfigMap "checkout", which is created in wave 1, after this PreSync hook in wave 0`}},
		{"a later wave of the workloads", deployment("", mounts, wave(-1)) + configMap(), []string{volume + `mounts ConfigMap "checkout", which is created in wave 0, after this Deployment in wave -1`}},
		{"an earlier wave", deployment("", mounts) + configMap(wave(-1)), nil},
		{"the same wave", deployment("", mounts, wave(3)) + configMap(wave(3)), nil},
		{"an earlier phase", job("", mounts, "", postSyncHook) + configMap(), nil},
		{"a hook of the same phase", job("", mounts, "", preSyncHook) + configMap(preSyncHook), nil},
		{"a hook of several phases runs first in the first", job("", mounts, "", "argocd.argoproj.io/hook: PostSync,PreSync") + configMap(), late},
		{"it need not be there", job("", "volumes: [{name: config, configMap: {name: checkout, optional: true}}]", "", preSyncHook) + configMap(), nil},
		{"it comes from elsewhere", job("", mounts, "", preSyncHook), nil},
		{"it stands in another namespace", job("", mounts, "", preSyncHook) + strings.Replace(configMap(), "name: checkout", "name: checkout\n  namespace: payments", 1), nil},
		{"Argo CD leaves it alone", job("", mounts, "", preSyncHook) + configMap("argocd.argoproj.io/hook: Skip"), nil},
		{"nobody waits for the pod: a schedule", "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: checkout\n" + annotated(wave(-1)) +
			"spec: {jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, envFrom: [{configMapRef: {name: checkout}}]}]}}}}}\n" + configMap(), nil},
		{"nobody waits for the pod: none is to run", deployment("replicas: 0", mounts, wave(-1)) + configMap(), nil},
		{"a test of Helm", job("", mounts, "", "helm.sh/hook: test") + configMap(), nil},
		{"an account", job("", "serviceAccountName: checkout", "", preSyncHook) + account(),
			[]string{`/spec/template/spec/serviceAccountName: runs as ServiceAccount "checkout", which is created in the Sync phase, after this PreSync hook`}},
		{"a claim", job("", "volumes: [{name: data, persistentVolumeClaim: {claimName: checkout}}]", "", preSyncHook) + objectOf("v1", "PersistentVolumeClaim", "checkout"),
			[]string{`/spec/template/spec/volumes/0/persistentVolumeClaim: mounts PersistentVolumeClaim "checkout", which is created in the Sync phase, after this PreSync hook`}},
		{"several keys of one Secret", job("", "", "env:\n- {name: A, valueFrom: {secretKeyRef: {name: checkout, key: a}}}\n- {name: B, valueFrom: {secretKeyRef: {name: checkout, key: b}}}", preSyncHook) + objectOf("v1", "Secret", "checkout"),
			[]string{`/spec/template/spec/containers/0/env/0/valueFrom/secretKeyRef: reads Secret "checkout", which is created in the Sync phase, after this PreSync hook`}},
		{"a Secret that a controller makes", job("", "", secret, preSyncHook) + external(),
			[]string{`/spec/template/spec/containers/0/envFrom/0/secretRef: reads Secret "checkout", which comes of ExternalSecret "database", created in the Sync phase, after this PreSync hook`}},
		{"a Secret that a controller makes in time", job("", "", secret, preSyncHook) + external(preSyncHook, wave(-1)), nil},
		{"a Secret that a controller only adds to", job("", "", secret, preSyncHook) + strings.Replace(external(), "{name: checkout}", "{name: checkout, creationPolicy: Merge}", 1), nil},
		{"rights", job("", "serviceAccountName: checkout", "", preSyncHook) + account(preSyncHook) + binding(),
			[]string{`/spec/template/spec/serviceAccountName: runs as ServiceAccount "checkout", whose RoleBinding "checkout" is created in the Sync phase, after this PreSync hook`}},
		{"rights in time", job("", "serviceAccountName: checkout", "", preSyncHook) + account(preSyncHook) + binding(preSyncHook), nil},
		{"an account and its rights are one finding", job("", "serviceAccountName: checkout", "", preSyncHook) + account() + binding(),
			[]string{`/spec/template/spec/serviceAccountName: runs as ServiceAccount "checkout", which is created in the Sync phase, after this PreSync hook`}},
		{"a hook that is deleted under a workload", deployment("", mounts) + configMap(preSyncHook, policies("HookSucceeded")),
			[]string{volume + `mounts ConfigMap "checkout", a PreSync hook that Argo CD deletes once the sync has succeeded`}},
		{"a hook that is deleted after another hook", job("", mounts, "", postSyncHook) + configMap(preSyncHook, policies("HookSucceeded")), nil},
		{"a hook that stays for a workload", deployment("", mounts) + configMap(preSyncHook), nil},
		{"after the deletion", job("", "serviceAccountName: checkout\n"+mounts, "", postDeleteHook) + account() + configMap(),
			[]string{`/spec/template/spec/serviceAccountName: runs as ServiceAccount "checkout", which is deleted before this PostDelete hook runs (and 1 more of what it needs)`}},
		{"after the deletion, with its own", job("", mounts, "", postDeleteHook) + configMap(postDeleteHook), nil},
		{"after the deletion, with what is made again", job("", mounts, "", "helm.sh/hook: post-delete") + configMap("helm.sh/hook: pre-install,post-delete"), nil},
		{"after the deletion, with what is kept", job("", mounts, "", postDeleteHook) + configMap("argocd.argoproj.io/sync-options: Delete=false"), nil},
	})
}

// widgets is a CustomResourceDefinition, widget a resource of it.
func widgets(status bool, annotations ...string) string {
	subresources := ""
	if status {
		subresources = ", subresources: {status: {}}"
	}
	return objectOf("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.shop.example.com", annotations...) +
		"spec: {group: shop.example.com, names: {kind: Widget}, versions: [{name: v1" + subresources + "}]}\n"
}

func widget(name string, annotations ...string) string {
	return objectOf("shop.example.com/v1", "Widget", name, annotations...)
}

func TestCRDOrder(t *testing.T) {
	t.Parallel()
	const name = `its CustomResourceDefinition "widgets.shop.example.com"`
	runCases(t, "crd-order", bookOptions(), []ruleCase{
		{"a later wave", widgets(true, wave(1)) + widget("a"), []string{": comes in wave 0, and " + name + " only in wave 1"}},
		{"a later phase", widgets(true) + widget("a", preSyncHook), []string{": comes in the PreSync phase, and " + name + " only in the Sync phase"}},
		{"several, the first of them", widgets(true, wave(5)) + widget("a", wave(2)) + widget("b", wave(1)) + widget("c", wave(6)),
			[]string{": comes in wave 1, and " + name + " only in wave 5 (and 1 more of the kind)"}},
		{"an earlier wave", widgets(true, wave(-1)) + widget("a"), nil},
		{"the same wave", widgets(true) + widget("a"), nil},
		{"never", widgets(true, "argocd.argoproj.io/hook: PostDelete") + widget("a"), []string{`: needs the CustomResourceDefinition "widgets.shop.example.com", a hook that Argo CD never applies in a sync`}},
		{"left alone", widgets(true, "argocd.argoproj.io/hook: Skip") + widget("a"), nil},
		{"a definition as Helm 2 had it", widgets(true, "helm.sh/hook: crd-install") + widget("a"), nil},
		{"another kind", widgets(true, wave(1)) + objectOf("shop.example.com/v1", "Gadget", "a"), nil},
		{"a resource that is never applied", widgets(true, wave(1)) + widget("a", "helm.sh/hook: test"), nil},
	})
	runCases(t, "crd-same-wave", bookOptions(), []ruleCase{
		{"no waves", widgets(true) + widget("a") + widget("b"), []string{": comes in the same wave, 0, as " + name + " (and 1 more of the kind)"}},
		{"one wave", widgets(true, wave(2)) + widget("a", wave(2)), []string{": comes in the same wave, 2, as " + name}},
		{"two waves", widgets(true, wave(2)) + widget("a", wave(3)), nil},
		{"two phases", widgets(true) + widget("a", postSyncHook), nil},
		{"configuration", monitors + objectOf("monitoring.coreos.com/v1", "ServiceMonitor", "a"), nil},
		{"configuration that a webhook checks", monitors + objectOf("monitoring.coreos.com/v1", "ServiceMonitor", "a") +
			objectOf("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "a") + "webhooks: [{rules: [{apiGroups: [monitoring.coreos.com]}]}]\n",
			[]string{`: comes in the same wave, 0, as its CustomResourceDefinition "servicemonitors.monitoring.coreos.com"`}},
		{"configuration that a webhook checks if it can", monitors + objectOf("monitoring.coreos.com/v1", "ServiceMonitor", "a") +
			objectOf("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "a") + "webhooks: [{failurePolicy: Ignore, rules: [{apiGroups: [monitoring.coreos.com]}]}]\n", nil},
	})
}

const monitors = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: servicemonitors.monitoring.coreos.com}\nspec: {group: monitoring.coreos.com, names: {kind: ServiceMonitor}}\n"

func TestWaveHealth(t *testing.T) {
	t.Parallel()
	found := func(wave int, phase string) []string {
		return []string{fmt.Sprintf(": Argo CD knows no health check for Widget of shop.example.com, so that wave %d of the %s phase does not wait for it", wave, phase)}
	}
	later := configMap(wave(1))
	runCases(t, "wave-health", bookOptions(), []ruleCase{
		{"a later wave waits", widget("a", wave(0)) + later, found(0, "Sync")},
		{"a resource without a wave", widget("a") + later, found(0, "Sync")},
		{"one finding for a kind", widget("a") + widget("b") + later, found(0, "Sync")},
		{"among objects that are healthy at once", widget("a") + objectOf("v1", "Service", "a") + objectOf("v1", "Namespace", "shop") + later, found(0, "Sync")},
		{"hooks", widget("a", preSyncHook, wave(-1)) + job("", "", "", preSyncHook, wave(0)), found(-1, "PreSync")},
		{"no later wave", widget("a", wave(1)) + later, nil},
		{"nobody chose the later wave", widget("a", wave(-1)) + configMap(), nil},
		{"a later phase", widget("a") + job("", "", "", postSyncHook, wave(1)), nil},
		{"the wave waits for a workload", widget("a") + deployment("", "") + later, nil},
		{"a health check is known", objectOf("postgresql.cnpg.io/v1", "Cluster", "a") + later, nil},
		{"the wave waits for another resource", widget("a") + objectOf("postgresql.cnpg.io/v1", "Cluster", "a") + later, nil},
		{"Argo CD's own workflows", objectOf("argoproj.io/v1alpha1", "Workflow", "a") + later, nil},
		{"configuration", objectOf("monitoring.coreos.com/v1", "PrometheusRule", "a") + later, nil},
		{"an operator's kind among configuration", objectOf("monitoring.coreos.com/v1", "Prometheus", "a") + later,
			[]string{": Argo CD knows no health check for Prometheus of monitoring.coreos.com, so that wave 0 of the Sync phase does not wait for it"}},
		{"its definition has no status", widgets(false, wave(-1)) + widget("a") + later, nil},
		{"its definition has a status", widgets(true, wave(-1)) + widget("a") + later, found(0, "Sync")},
		{"objects of Kubernetes", configMap() + strings.ReplaceAll(later, "checkout", "b"), nil},
	})
}

func TestWavePhases(t *testing.T) {
	t.Parallel()
	const at = "/metadata/annotations/argocd.argoproj.io~1sync-wave: "
	hook := func(name, phase string, n int) string {
		return strings.Replace(job("", "", "", "argocd.argoproj.io/hook: "+phase, wave(n)), "name: checkout", "name: "+name, 1)
	}
	runCases(t, "wave-phases", bookOptions(), []ruleCase{
		{"a PreSync hook between two waves", hook("a", "PreSync", 2) + deployment("", "", wave(1)) + configMap(wave(3)),
			[]string{at + "the PreSync hook in wave 2 runs before the object in wave 1 of the Sync phase"}},
		{"PreSync hooks behind all waves", hook("a", "PreSync", 2) + hook("b", "PreSync", 3) + deployment("", "", wave(1)), []string{
			at + "the PreSync hook in wave 2 runs before the object in wave 1 of the Sync phase",
			at + "the PreSync hook in wave 3 runs before the object in wave 1 of the Sync phase",
		}},
		{"PreSync hooks with waves of their own", hook("a", "PreSync", 1) + hook("b", "PreSync", 2) + deployment("", "", wave(1)), nil},
		{"one line in the right order", hook("a", "PreSync", 1) + deployment("", "", wave(2)) + hook("b", "PostSync", 3), nil},
		{"a PreSync hook with a wave below nought", hook("a", "PreSync", -1) + deployment("", "", wave(-2)), nil},
		{"no waves in the Sync phase", hook("a", "PreSync", 5) + deployment("", ""), nil},
		{"weights of Helm", job("", "", "", "helm.sh/hook: pre-install", `helm.sh/hook-weight: "5"`) + deployment("", "", wave(1)), nil},
		{"a PostSync hook in front of all waves", hook("a", "PostSync", -1) + deployment("", "", wave(1)),
			[]string{at + "the PostSync hook in wave -1 runs after the object in wave 1 of the Sync phase"}},
		{"a PostSync hook that starts counting anew", hook("a", "PostSync", 1) + deployment("", "", wave(1)) + configMap(wave(3)), nil},
		{"a PostSync hook in wave 0", hook("a", "PostSync", 0) + deployment("", "", wave(1)), nil},
		{"a Sync hook", hook("a", "Sync", 2) + deployment("", "", wave(1)), nil},
	})
}
