package rules

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/argoproj/gitops-engine/pkg/sync/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"hallmark.dev/hallmark/internal/object"
)

// immutableFields are those that the validation of Kubernetes refuses to change once
// an object exists (pkg/apis/*/validation). The deadline of a Job, its backoff limit
// and the like can be changed.
var immutableFields = map[groupKind][]path{
	{"apps", "DaemonSet"}:                               {{"spec", "selector"}},
	{"apps", "Deployment"}:                              {{"spec", "selector"}},
	{"apps", "ReplicaSet"}:                              {{"spec", "selector"}},
	{"apps", "StatefulSet"}:                             {{"spec", "selector"}, {"spec", "serviceName"}, {"spec", "podManagementPolicy"}, {"spec", "volumeClaimTemplates"}},
	{"batch", "Job"}:                                    {{"spec", "template"}, {"spec", "selector"}, {"spec", "completions"}, {"spec", "completionMode"}, {"spec", "podFailurePolicy"}, {"spec", "backoffLimitPerIndex"}, {"spec", "managedBy"}},
	{"", "Service"}:                                     {{"spec", "clusterIP"}, {"spec", "clusterIPs"}},
	{"", "PersistentVolumeClaim"}:                       {{"spec", "accessModes"}, {"spec", "dataSource"}, {"spec", "dataSourceRef"}, {"spec", "selector"}, {"spec", "storageClassName"}, {"spec", "volumeMode"}, {"spec", "volumeName"}},
	{"", "Secret"}:                                      {{"type"}},
	{"rbac.authorization.k8s.io", "RoleBinding"}:        {{"roleRef"}},
	{"rbac.authorization.k8s.io", "ClusterRoleBinding"}: {{"roleRef"}},
	{"storage.k8s.io", "StorageClass"}:                  {{"parameters"}, {"provisioner"}, {"reclaimPolicy"}, {"volumeBindingMode"}},
	{"scheduling.k8s.io", "PriorityClass"}:              {{"value"}},
	{"networking.k8s.io", "IngressClass"}:               {{"spec", "controller"}},
}

func checkImmutable(r *render, report report) {
	for _, it := range r.items {
		// A hook is made anew or stays as it is: job-fixed-name looks at that.
		if it.hook || it.skipped || it.isForced() || object.Field(it.Value, "metadata", "name") == nil {
			continue
		}
		fields := immutableFields[it.groupKind()]
		if (it.is("", "ConfigMap") || it.is("", "Secret")) && it.Value["immutable"] == true {
			fields = append(slices.Clip(fields), path{"data"}, path{"binaryData"}, path{"stringData"})
		}
		for _, unstable := range r.Unstable[it.Object.ID()] {
			for _, field := range fields {
				if sameOrBelow(unstable, field) {
					report(it, unstable, "%s differs from render to render, and cannot be changed", strings.Join(keys(field), "."))
					break
				}
			}
		}
		it.checkMoving(report)
	}
}

// isForced reports whether Argo CD deletes the object and makes it anew where
// Kubernetes refuses the change. Replace=true alone is no help: the API server
// refuses the replacement, too.
func (it *item) isForced() bool {
	return resource.HasAnnotationOption(&unstructured.Unstructured{Object: it.Value}, common.AnnotationSyncOptions, common.SyncOptionForce)
}

// checkMoving looks for labels and annotations in immutable fields that change with
// the next version of a chart.
func (it *item) checkMoving(report report) {
	type place struct {
		at   path
		what string
	}
	var places []place
	switch {
	case it.is("batch", "Job"):
		if !it.hasFixedName() || object.Field(it.Value, "spec", "ttlSecondsAfterFinished") != nil {
			return
		}
		places = []place{
			{path{"spec", "template", "metadata", "labels"}, "the pod template of a Job that is no hook"},
			{path{"spec", "template", "metadata", "annotations"}, "the pod template of a Job that is no hook"},
		}
	case it.is("apps", "Deployment"), it.is("apps", "DaemonSet"), it.is("apps", "StatefulSet"), it.is("apps", "ReplicaSet"):
		places = []place{{path{"spec", "selector", "matchLabels"}, "the selector"}}
		for i := range object.Items(object.Field(it.Value, "spec", "volumeClaimTemplates")) {
			places = append(places,
				place{path{"spec", "volumeClaimTemplates", i, "metadata", "labels"}, "a volume claim template"},
				place{path{"spec", "volumeClaimTemplates", i, "metadata", "annotations"}, "a volume claim template"})
		}
	}
	for _, p := range places {
		value, _ := object.Lookup(it.Value, p.at)
		values := object.Mapping(value)
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if movesWithRelease(key, values[key]) {
				report(it, p.at.under(key), "%s has %q, which changes with the release, and cannot be changed", p.what, key)
				break
			}
		}
	}
}

var (
	versionSuffix = regexp.MustCompile(`-v?(\d+\.\d+\.\d+.*)$`)
	// numbered are names that end in a revision, a date or a hash.
	numbered = regexp.MustCompile(`[-.](r?\d+|[0-9a-f]*\d[0-9a-f]*|[bcdf0-9-hj-np-tv-z]{10})$`)
)

// chartVersion is the version at the end of a label such as checkout-1.4.2, or "".
func chartVersion(chart string) string {
	if m := versionSuffix.FindStringSubmatch(chart); m != nil {
		return m[1]
	}
	return ""
}

// hasFixedName reports whether the name stays while the version of the release
// moves.
func (it *item) hasFixedName() bool {
	name := it.id.Name
	if numbered.MatchString(name) {
		return false
	}
	labels := object.Mapping(object.Field(it.Value, "metadata", "labels"))
	for _, version := range []string{chartVersion(object.Text(labels["helm.sh/chart"])), object.Text(labels["app.kubernetes.io/version"])} {
		version = strings.TrimPrefix(version, "v")
		if version != "" && (strings.Contains(name, version) || strings.Contains(name, strings.NewReplacer(".", "-", "+", "-", "_", "-").Replace(version))) {
			return false
		}
	}
	return true
}
