package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/argoproj/gitops-engine/pkg/sync/common"

	"hallmark.dev/hallmark/internal/object"
)

var deletionRules = []Rule{
	{
		ID: "prune-decision", Group: groupDeletion, Severity: Warning,
		Reason: "what no longer stands in Git is pruned: with a Namespace goes all that is in it, with a claim its data, with a definition its custom resources in all namespaces",
		Remedy: "annotate it argocd.argoproj.io/sync-options: Prune=confirm (or Prune=false,Delete=false), or helm.sh/resource-policy: keep; where it may go, Prune=true says that somebody decided so",
		check:  checkPruneDecision, advise: advisePruneDecision,
	},
	{
		ID: "application-empty-prune", Group: groupDeletion, Severity: Warning,
		Reason: "a render that is empty by mistake, such as that of a wrong path, then deletes all objects of the application at once",
		Remedy: "leave out syncPolicy.automated.allowEmpty, and set it for the one sync that is to empty the application",
		check:  checkEmptyPrune,
	},
	{
		ID: "ignore-differences", Group: groupDeletion, Severity: Warning,
		Reason: "Argo CD shows as Synced what is ignored, whoever changed it: another image or more rights in the cluster are never seen",
		Remedy: "ignore only the leaf that another controller writes, or name the writer in managedFieldsManagers; for the rules of aggregated roles there is resource.compareoptions.ignoreAggregatedRoles",
		check:  checkIgnoreDifferences,
	},
	{
		ID: "ignore-owner", Group: groupDeletion, Severity: Info,
		Reason: "an ignored difference outlives its cause when nobody knows which controller it was for",
		Remedy: "use managedFieldsManagers, or say in the annotation hallmark.dev/ignore-differences of the Application who writes the field and why",
		check:  checkIgnoreOwner,
	},
}

// annotationIgnored is where an Application says who writes the fields whose
// differences it ignores.
const annotationIgnored = "hallmark.dev/ignore-differences"

// decided reports whether an object says what becomes of it when it is pruned or the
// application is deleted. Argo CD never prunes hooks.
func (it *item) decided() bool {
	if it.hook || it.skipped || it.annotation("helm.sh/resource-policy") == "keep" {
		return true
	}
	for option := range strings.SplitSeq(it.annotation(common.AnnotationSyncOptions), ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(option), "=")
		if name == "Prune" || name == "Delete" {
			return true
		}
	}
	return false
}

const noDecision = "it has no decision about pruning"

func checkPruneDecision(r *render, report report) {
	annotations := path{"metadata", "annotations"}
	var definitions []*item
	for _, it := range r.items {
		if it.decided() {
			continue
		}
		switch {
		case it.is("", "Namespace"):
			report(it, annotations, "pruned with all objects in it: %s", noDecision)
		case it.is("", "PersistentVolumeClaim"):
			report(it, annotations, "pruned with the data of its volume: %s", noDecision)
		case it.is("apiextensions.k8s.io", "CustomResourceDefinition"):
			definitions = append(definitions, it)
		}
	}
	r.together("prune-decision", definitions, func(first *item, others string) {
		report(first, annotations, "pruned with its custom resources in all namespaces: %s%s", noDecision, others)
	})
}

// advisePruneDecision reports what loses no data: a StatefulSet leaves its claims
// behind, and roles can be applied again.
func advisePruneDecision(r *render, report report) {
	var roles []*item
	for _, it := range r.items {
		if it.decided() {
			continue
		}
		switch {
		case it.is("apps", "StatefulSet"):
			spec := object.Mapping(it.Value["spec"])
			if len(object.Items(spec["volumeClaimTemplates"])) > 0 && spec["persistentVolumeClaimRetentionPolicy"] == nil {
				report(it, path{"spec", "persistentVolumeClaimRetentionPolicy"},
					"pruned while its volumeClaimTemplates' claims stay behind: it has no persistentVolumeClaimRetentionPolicy and no decision about pruning")
			}
		case r.sharedRole(it):
			roles = append(roles, it)
		}
	}
	r.together("prune-decision", roles, func(first *item, others string) {
		report(first, path{"metadata", "annotations"}, "pruned with the rights that others than this application have by it: %s%s", noDecision, others)
	})
}

// together makes one finding of objects that share a fault and are often many, on
// the first of them. Those that waive the rule have a finding each, so that the
// waiver of one never hides another.
func (r *render) together(rule string, items []*item, report func(first *item, others string)) {
	var open []*item
	for _, it := range items {
		if r.waiver(it, rule) != nil {
			report(it, "")
			continue
		}
		open = append(open, it)
	}
	if len(open) == 0 {
		return
	}
	const most = 3
	var names []string
	for _, it := range open[1:min(len(open), 1+most)] {
		names = append(names, strconv.Quote(it.id.Name))
	}
	others := ""
	if len(names) > 0 {
		others = "; nor have " + strings.Join(names, ", ")
	}
	if more := len(open) - 1 - most; more > 0 {
		others += fmt.Sprintf(" and %d more", more)
	}
	report(open[0], others)
}

const rbacGroup = "rbac.authorization.k8s.io"

// sharedRole reports whether an object is cluster-wide RBAC on which somebody beside
// the application depends. What only its own ServiceAccounts use goes with them, and
// a role that is aggregated into others goes with the resources that it names.
func (r *render) sharedRole(it *item) bool {
	switch {
	case it.is(rbacGroup, "ClusterRoleBinding"):
		return slices.ContainsFunc(object.Items(it.Value["subjects"]), func(subject any) bool {
			return !r.own(it, subject)
		})
	case it.is(rbacGroup, "ClusterRole"):
		return !r.aggregated(it) && !slices.ContainsFunc(r.items, func(other *item) bool {
			return (other.is(rbacGroup, "ClusterRoleBinding") || other.is(rbacGroup, "RoleBinding")) &&
				object.Text(object.Field(other.Value, "roleRef", "kind")) == "ClusterRole" &&
				object.Text(object.Field(other.Value, "roleRef", "name")) == it.id.Name
		})
	}
	return false
}

// aggregated reports whether a role becomes part of others, those of Kubernetes or
// those of the render.
func (r *render) aggregated(role *item) bool {
	labels := object.Mapping(object.Field(role.Value, "metadata", "labels"))
	for label := range labels {
		if strings.HasPrefix(label, rbacGroup+"/aggregate-to-") {
			return true
		}
	}
	return slices.ContainsFunc(r.items, func(other *item) bool {
		return other.is(rbacGroup, "ClusterRole") && slices.ContainsFunc(object.Items(object.Field(other.Value, "aggregationRule", "clusterRoleSelectors")), func(s any) bool {
			return len(labelSelector(s).unmet(&pod{item: role, labels: labels})) == 0
		})
	})
}

// own reports whether the subject of a binding is a ServiceAccount of the render, or
// the default one of the destination.
func (r *render) own(binding *item, subject any) bool {
	if object.Text(object.Field(subject, "kind")) != "ServiceAccount" {
		return false
	}
	namespace, name := object.Text(object.Field(subject, "namespace")), object.Text(object.Field(subject, "name"))
	if namespace == "" {
		namespace = binding.id.Namespace
	}
	return r.find("", "ServiceAccount", namespace, name) != nil || name == "default" && namespace == r.Namespace
}

func checkEmptyPrune(r *render, report report) {
	for _, app := range r.applications() {
		automated := object.Mapping(object.Field(app.spec, "syncPolicy", "automated"))
		empty, _ := automated["allowEmpty"].(bool)
		prune, _ := automated["prune"].(bool)
		if on, given := automated["enabled"].(bool); empty && prune && (on || !given) {
			report(app.item, app.at.under("syncPolicy", "automated", "allowEmpty"), "automated sync prunes, and allowEmpty lets it prune everything")
		}
	}
}

// An application is what an Application asks for, or the template of an
// ApplicationSet.
type application struct {
	item *item
	at   path // of the spec
	spec map[string]any
}

func (r *render) applications() []application {
	var out []application
	for _, it := range r.items {
		switch {
		case it.is("argoproj.io", "Application"):
			out = append(out, application{it, path{"spec"}, object.Mapping(it.Value["spec"])})
		case it.is("argoproj.io", "ApplicationSet"):
			out = append(out, application{it, path{"spec", "template", "spec"}, object.Mapping(object.Field(it.Value, "spec", "template", "spec"))})
		}
	}
	return out
}

// says returns an annotation of the Application, or of those that the ApplicationSet
// makes.
func (a application) says(annotation string) string {
	if text := a.item.annotation(annotation); text != "" {
		return text
	}
	return object.Text(object.Field(a.item.Value, "spec", "template", "metadata", "annotations", annotation))
}
