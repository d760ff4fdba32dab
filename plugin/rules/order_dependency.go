package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/argoproj/gitops-engine/pkg/health"
	"github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/argoproj/gitops-engine/pkg/sync/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"hallmark.dev/hallmark/internal/object"
)

const argoGroup = "argoproj.io"

// checkHookDependency looks for what a pod needs and a sync creates only afterwards.
// Within a wave Argo CD sorts by kind, so that configuration, claims and accounts are
// there before workloads are.
func checkHookDependency(r *render, report report) {
	made := r.madeSecrets()
	for _, it := range r.items {
		if it.pod == nil {
			continue
		}
		if it.deleteHook("Post") {
			r.checkAfterDeletion(it, report)
		}
		if len(it.moments) == 0 || !r.waits(it) {
			continue
		}
		at := it.moments[0]
		for _, ref := range it.pod.needs() {
			id := object.ID{Kind: ref.kind, Namespace: it.id.Namespace, Name: ref.name}
			source, how := r.byID[id], "which is created"
			if source == nil && made[id] != nil {
				source = made[id]
				how = fmt.Sprintf("which comes of %s %q, created", source.id.Kind, source.id.Name)
			}
			if source == nil || len(source.moments) == 0 {
				continue
			}
			if first := source.moments[0]; first.compare(at) > 0 {
				report(it, ref.at, "%s %s %q, %s %s, after %s", ref.verb, ref.kind, ref.name, how, first.when(at), it.role(first))
			} else if !it.hook && source.hook && slices.Contains(source.deletePolicies(), common.HookDeletePolicyHookSucceeded) {
				report(it, ref.at, "%s %s %q, a %s hook that Argo CD deletes once the sync has succeeded", ref.verb, ref.kind, ref.name, first.phase)
			}
		}
		r.checkRights(it, report)
	}
}

// role tells what an object is in a sync, and its wave where it shares the phase with
// the other moment.
func (it *item) role(other moment) string {
	at := it.moments[0]
	what := fmt.Sprintf("this %s hook", at.phase)
	if !it.hook {
		what = "this " + it.id.Kind
	}
	if at.phase == other.phase {
		return fmt.Sprintf("%s in wave %d", what, at.wave)
	}
	return what
}

// checkRights looks for a hook that runs as an account whose rights come only later.
func (r *render) checkRights(it *item, report report) {
	if !it.hook {
		return
	}
	account := object.ID{Kind: "ServiceAccount", Namespace: it.id.Namespace, Name: cmp.Or(it.pod.serviceAccount(), "default")}
	var later *item
	for _, binding := range r.items {
		if len(binding.moments) == 0 || !slices.Contains(binding.boundAccounts(), account) {
			continue
		}
		if binding.moments[0].compare(it.moments[0]) <= 0 {
			return
		}
		later = binding
	}
	if target := r.byID[account]; later == nil || target != nil && len(target.moments) > 0 && target.moments[0].compare(it.moments[0]) > 0 {
		return // none, or the account itself comes too late
	}
	first, at := later.moments[0], it.moments[0]
	report(it, it.pod.at.under("serviceAccountName"), "runs as ServiceAccount %q, whose %s %q is created %s, after %s",
		account.Name, later.id.Kind, later.id.Name, first.when(at), it.role(first))
}

// needs returns the references without which the pod cannot start, one for each
// object.
func (p *pod) needs() []ref {
	var out []ref
	for _, needed := range p.refs() {
		if !needed.optional && !slices.ContainsFunc(out, func(o ref) bool { return o.kind == needed.kind && o.name == needed.name }) {
			out = append(out, needed)
		}
	}
	return out
}

// checkAfterDeletion looks for what Argo CD has deleted before it runs a PostDelete
// hook. All of it has one cause, so that it is one finding.
func (r *render) checkAfterDeletion(it *item, report report) {
	var gone []ref
	for _, ref := range it.pod.needs() {
		target := r.find("", ref.kind, it.id.Namespace, ref.name)
		if target != nil && len(target.moments) > 0 && !target.onDelete() && !target.kept() {
			gone = append(gone, ref)
		}
	}
	if len(gone) == 0 {
		return
	}
	more := ""
	if len(gone) > 1 {
		more = fmt.Sprintf(" (and %d more of what it needs)", len(gone)-1)
	}
	report(it, gone[0].at, "%s %s %q, which is deleted before this PostDelete hook runs%s", gone[0].verb, gone[0].kind, gone[0].name, more)
}

// kept reports whether an object outlives its Application.
func (it *item) kept() bool {
	u := &unstructured.Unstructured{Object: it.Value}
	return resource.HasAnnotationOption(u, common.AnnotationSyncOptions, common.SyncOptionDisableDeletion) || it.annotation("helm.sh/resource-policy") == "keep"
}

// waits reports whether a sync waits until the object is healthy, and so until its
// pods run.
func (r *render) waits(it *item) bool {
	return !isZero(object.Field(it.Value, "spec", "replicas")) && r.healthKnown(it)
}

// healthKnown reports whether Argo CD waits for the health of an object. Kinds without
// a check are healthy once applied; so are those of Kubernetes for which Argo CD has
// a script only.
func (r *render) healthKnown(it *item) bool {
	if health.GetHealthCheckFunc(schema.FromAPIVersionAndKind(it.APIVersion(), it.Kind())) != nil {
		return true
	}
	return custom(it.id.Group) && r.HealthChecked != nil && r.HealthChecked(it.id.Group, it.id.Kind)
}

// madeSecrets are the Secrets that controllers make from custom resources of the
// render, with the first of those.
func (r *render) madeSecrets() map[object.ID]*item {
	out := map[object.ID]*item{}
	for _, it := range r.items {
		name := it.madeSecret()
		if name == "" || len(it.moments) == 0 {
			continue
		}
		id := object.ID{Kind: "Secret", Namespace: it.id.Namespace, Name: name}
		if first := out[id]; first == nil || it.moments[0].compare(first.moments[0]) < 0 {
			out[id] = it
		}
	}
	return out
}

func (it *item) madeSecret() string {
	switch {
	case it.is("external-secrets.io", "ExternalSecret"):
		switch object.Text(object.Field(it.Value, "spec", "target", "creationPolicy")) {
		case "Merge", "None": // somebody else makes it
			return ""
		}
		return cmp.Or(object.Text(object.Field(it.Value, "spec", "target", "name")), it.id.Name)
	case it.is("bitnami.com", "SealedSecret"):
		return cmp.Or(object.Text(object.Field(it.Value, "spec", "template", "metadata", "name")), it.id.Name)
	case it.is("cert-manager.io", "Certificate"):
		return object.Text(object.Field(it.Value, "spec", "secretName"))
	}
	return ""
}
