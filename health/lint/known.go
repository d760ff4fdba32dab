package lint

import (
	"slices"
	"strings"

	"hallmark.dev/hallmark/lua/vm"
)

// goChecks are the kinds that Argo CD judges by code of its own instead of a script
// (gitops-engine, pkg/health), as keys of overrides.
var goChecks = []string{
	"PersistentVolumeClaim", "Pod", "Service",
	"apiregistration.k8s.io/APIService",
	"apps/DaemonSet", "apps/Deployment", "apps/ReplicaSet", "apps/StatefulSet",
	"argoproj.io/Workflow",
	"autoscaling/HorizontalPodAutoscaler",
	"batch/Job",
	"extensions/Ingress",
	"networking.k8s.io/Ingress",
}

// known are the kinds that Argo CD has a check for, those in Go first.
func known() []string {
	keys := slices.Clone(goChecks)
	for _, k := range vm.Builtins() {
		keys = append(keys, overrideKey(k.Group, k.Kind))
	}
	return keys
}

// overrideKey is the name of a kind among overrides: the core group has none.
func overrideKey(group, kind string) string {
	if group == "" {
		return kind
	}
	return group + "/" + kind
}

func splitKey(key string) (group, kind string) {
	group, kind, found := strings.Cut(key, "/")
	if !found {
		return "", key
	}
	return group, kind
}
