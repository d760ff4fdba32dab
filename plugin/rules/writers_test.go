package rules

import (
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/object"
)

func autoscaler(name, kind string) string {
	return objectOf("autoscaling/v2", "HorizontalPodAutoscaler", name) + "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: " + kind + ", name: checkout}}\n"
}

func scaledObject(reference string, annotations ...string) string {
	return objectOf("keda.sh/v1alpha1", "ScaledObject", "queue", annotations...) + "spec: {scaleTargetRef: {" + reference + "}, advanced: {horizontalPodAutoscalerConfig: {name: load}}}\n"
}

func TestReplicasAutoscaler(t *testing.T) {
	t.Parallel()
	const at = "/spec/replicas: "
	rollout := objectOf("argoproj.io/v1alpha1", "Rollout", "checkout") + "spec: {replicas: 3}\n"
	runCases(t, "replicas-autoscaler", bookOptions(), []ruleCase{
		{"an autoscaler", deployment("replicas: 3", "") + autoscaler("load", "Deployment"), []string{at + `spec.replicas is set, and HorizontalPodAutoscaler "load" scales this Deployment`}},
		{"a ScaledObject, which means Deployments", deployment("replicas: 3", "") + scaledObject("name: checkout"), []string{at + `spec.replicas is set, and ScaledObject "queue" scales this Deployment`}},
		{"a ScaledObject of another kind", deployment("replicas: 3", "") + scaledObject("name: checkout, kind: StatefulSet"), nil},
		{"a Rollout", rollout + scaledObject("name: checkout, kind: Rollout, apiVersion: argoproj.io/v1alpha1"), []string{at + `spec.replicas is set, and ScaledObject "queue" scales this Rollout`}},
		{"two of them are one finding", deployment("replicas: 3", "") + autoscaler("load", "Deployment") + autoscaler("more", "Deployment"), []string{at + `spec.replicas is set, and HorizontalPodAutoscaler "load" scales this Deployment`}},
		{"no replicas", deployment("", "") + autoscaler("load", "Deployment"), nil},
		{"no autoscaler", deployment("replicas: 3", ""), nil},
		{"another kind", deployment("replicas: 3", "") + autoscaler("load", "StatefulSet"), nil},
		{"another group", deployment("replicas: 3", "") + strings.Replace(autoscaler("load", "Deployment"), "apps/v1", "apps.openshift.io/v1", 1), nil},
		{"another namespace", deployment("replicas: 3", "") + strings.Replace(autoscaler("load", "Deployment"), "name: load", "name: load\n  namespace: payments", 1), nil},
		{"the destination's namespace by its name", deployment("replicas: 3", "") + strings.Replace(autoscaler("load", "Deployment"), "name: load", "name: load\n  namespace: shop", 1),
			[]string{at + `spec.replicas is set, and HorizontalPodAutoscaler "load" scales this Deployment`}},
	})
}

func TestTwoControllers(t *testing.T) {
	t.Parallel()
	const scales = "/spec/scaleTargetRef: "
	rollout := func(name, reference string) string {
		return objectOf("argoproj.io/v1alpha1", "Rollout", name) + "spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: checkout" + reference + "}}\n"
	}
	canary := objectOf("flagger.app/v1beta1", "Canary", "checkout") + "spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: checkout}}\n"
	runCases(t, "two-controllers", bookOptions(), []ruleCase{
		{"two autoscalers", autoscaler("load", "Deployment") + autoscaler("more", "Deployment"),
			[]string{scales + `scales Deployment "checkout", which HorizontalPodAutoscaler "load" scales, too`}},
		{"of two kinds", autoscaler("load", "Deployment") + scaledObject("name: checkout"),
			[]string{scales + `scales Deployment "checkout", which HorizontalPodAutoscaler "load" scales, too`}},
		{"one that takes the other over", autoscaler("load", "Deployment") + scaledObject("name: checkout", `scaledobject.keda.sh/transfer-hpa-ownership: "true"`), nil},
		{"one that takes the other over, in front of it", scaledObject("name: checkout", `scaledobject.keda.sh/transfer-hpa-ownership: "true"`) + autoscaler("load", "Deployment"), nil},
		{"one that takes another one over", autoscaler("other", "Deployment") + scaledObject("name: checkout", `scaledobject.keda.sh/transfer-hpa-ownership: "true"`),
			[]string{scales + `scales Deployment "checkout", which HorizontalPodAutoscaler "other" scales, too`}},
		{"two workloads", autoscaler("load", "Deployment") + autoscaler("more", "StatefulSet"), nil},
		{"a Rollout and a Canary", rollout("checkout", ", scaleDown: onsuccess") + canary, []string{`/spec/targetRef: takes Deployment "checkout" over, as Rollout "checkout" does`}},
		{"an autoscaler under a Rollout", autoscaler("load", "Deployment") + rollout("checkout", ", scaleDown: onsuccess"),
			[]string{`/spec/workloadRef: takes Deployment "checkout" over, which HorizontalPodAutoscaler "load" scales`}},
		{"an autoscaler under a Canary, which copies it", autoscaler("load", "Deployment") + canary + deployment("", ""), nil},
		{"nobody scales the Deployment of a Rollout down", deployment("replicas: 3", "") + rollout("checkout", ""),
			[]string{`/spec/replicas: Rollout "checkout" runs the pods of this Deployment, and nothing scales it to 0`}},
		{"the same without a number, which is 1", deployment("", "") + rollout("checkout", ", scaleDown: never"),
			[]string{`/spec/replicas: Rollout "checkout" runs the pods of this Deployment, and nothing scales it to 0`}},
		{"Git scales it to 0", deployment("replicas: 0", "") + rollout("checkout", ""), nil},
		{"the Rollout scales it, and Git does, too", deployment("replicas: 3", "") + rollout("checkout", ", scaleDown: progressively"),
			[]string{`/spec/replicas: spec.replicas is set, and Rollout "checkout" scales this Deployment to 0`}},
		{"the Rollout scales it", deployment("", "") + rollout("checkout", ", scaleDown: progressively"), nil},
		{"a Canary scales it, and Git does, too", deployment("replicas: 3", "") + canary, []string{`/spec/replicas: spec.replicas is set, and Canary "checkout" scales this Deployment to 0`}},
		{"a Canary scales it", deployment("", "") + canary, nil},
		{"a Rollout with pods of its own", deployment("replicas: 3", "") + objectOf("argoproj.io/v1alpha1", "Rollout", "checkout") + "spec: {replicas: 3}\n", nil},
	})
}

func TestImmutableField(t *testing.T) {
	t.Parallel()
	labelled := func(labels string, more ...string) string {
		return strings.Replace(job("", "", "", more...), "  template:\n", "  template:\n    metadata:\n      labels: {"+labels+"}\n", 1)
	}
	const moving = "helm.sh/chart: checkout-2.4.1"
	named := func(name, meta string) string {
		return strings.Replace(labelled(moving), "name: checkout\n", "name: "+name+"\n"+meta, 1)
	}
	found := []string{`/spec/template/metadata/labels/helm.sh~1chart: the pod template of a Job that is no hook has "helm.sh/chart", which changes with the release, and cannot be changed`}
	stateful := objectOf("apps/v1", "StatefulSet", "checkout") + "spec:\n  selector: {matchLabels: {app: checkout}}\n  volumeClaimTemplates: [{metadata: {name: data, labels: {" + moving + "}}}]\n"
	runCases(t, "immutable-field", bookOptions(), []ruleCase{
		{"a Job with the chart's version", labelled(moving), found},
		{"a Job with the application's version", labelled(`app.kubernetes.io/version: "2.4.1"`),
			[]string{`/spec/template/metadata/labels/app.kubernetes.io~1version: the pod template of a Job that is no hook has "app.kubernetes.io/version", which changes with the release, and cannot be changed`}},
		{"a Job with a hash of its configuration", strings.Replace(labelled("checksum/config: abc"), "labels", "annotations", 1),
			[]string{`/spec/template/metadata/annotations/checksum~1config: the pod template of a Job that is no hook has "checksum/config", which changes with the release, and cannot be changed`}},
		{"a Job with labels that stay", labelled("app.kubernetes.io/name: checkout, app.kubernetes.io/managed-by: Helm"), nil},
		{"a hook", labelled(moving, preSyncHook), nil},
		{"replaced by force", labelled(moving, "argocd.argoproj.io/sync-options: Force=true,Replace=true"), nil},
		{"replaced without force, which is refused, too", labelled(moving, "argocd.argoproj.io/sync-options: Replace=true"), found},
		{"a Job that is gone by then", strings.Replace(labelled(moving), "spec:\n", "spec:\n  ttlSecondsAfterFinished: 60\n", 1), nil},
		{"a Job named by the version", named("checkout-2-4-1", "  labels: {"+moving+"}\n"), nil},
		{"a Job named by a revision", named("checkout-r7", ""), nil},
		{"a Job named by a hash", named("checkout-1f9c02b", ""), nil},
		{"a Job named by another version", named("checkout-pg-v", "  labels: {"+moving+"}\n"), found},
		{"a selector with a version", deployment("selector: {matchLabels: {app: checkout, "+moving+"}}", ""),
			[]string{`/spec/selector/matchLabels/helm.sh~1chart: the selector has "helm.sh/chart", which changes with the release, and cannot be changed`}},
		{"a selector without", deployment("selector: {matchLabels: {app: checkout, chart: checkout}}", ""), nil},
		{"a selector with the old label", deployment("selector: {matchLabels: {app: checkout, chart: checkout-2.4.1}}", ""),
			[]string{`/spec/selector/matchLabels/chart: the selector has "chart", which changes with the release, and cannot be changed`}},
		{"a claim template with a version", stateful,
			[]string{`/spec/volumeClaimTemplates/0/metadata/labels/helm.sh~1chart: a volume claim template has "helm.sh/chart", which changes with the release, and cannot be changed`}},
	})
}

// Fields that differ from render to render are faults where Kubernetes lets nobody
// change them.
func TestImmutableFieldGenerated(t *testing.T) {
	t.Parallel()
	at := func(kind, name string, path ...any) map[object.ID][][]any {
		group := map[string]string{"Job": "batch", "Deployment": "apps", "RoleBinding": "rbac.authorization.k8s.io"}[kind]
		return map[object.ID][][]any{{Group: group, Kind: kind, Name: name}: {path}}
	}
	secret := objectOf("v1", "Secret", "checkout") + "stringData: {password: x}\n"
	for _, tt := range []struct {
		ruleCase
		unstable map[object.ID][][]any
	}{
		{ruleCase{"a Job's template", job("", "", ""), []string{"/spec/template/spec/containers/0/image: spec.template differs from render to render, and cannot be changed"}},
			at("Job", "checkout", "spec", "template", "spec", "containers", 0, "image")},
		{ruleCase{"a whole spec is one finding", job("", "", ""), []string{"/spec: spec.template differs from render to render, and cannot be changed"}}, at("Job", "checkout", "spec")},
		{ruleCase{"a hook's template", job("", "", "", preSyncHook), nil}, at("Job", "checkout", "spec", "template", "metadata")},
		{ruleCase{"a Job's deadline", job("", "", ""), nil}, at("Job", "checkout", "spec", "activeDeadlineSeconds")},
		{ruleCase{"a Deployment's template", deployment("", ""), nil}, at("Deployment", "checkout", "spec", "template", "metadata")},
		{ruleCase{"a Deployment's selector", deployment("", ""), []string{"/spec/selector/matchLabels/id: spec.selector differs from render to render, and cannot be changed"}},
			at("Deployment", "checkout", "spec", "selector", "matchLabels", "id")},
		{ruleCase{"the role of a binding", objectOf("rbac.authorization.k8s.io/v1", "RoleBinding", "checkout"), []string{"/roleRef/name: roleRef differs from render to render, and cannot be changed"}},
			at("RoleBinding", "checkout", "roleRef", "name")},
		{ruleCase{"a Secret", secret, nil}, at("Secret", "checkout", "stringData", "password")},
		{ruleCase{"an immutable Secret", secret + "immutable: true\n", []string{"/stringData/password: stringData differs from render to render, and cannot be changed"}},
			at("Secret", "checkout", "stringData", "password")},
	} {
		options := bookOptions()
		options.Unstable = tt.unstable
		runCases(t, "immutable-field", options, []ruleCase{tt.ruleCase})
	}
}
