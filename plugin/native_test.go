package plugin

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
)

// An Application moves from native rendering to the plugin field by field, so
// each field of Argo CD's own sources has a parameter or a reason to have none.
func TestNativeFieldsHaveParameters(t *testing.T) {
	t.Parallel()
	fields := map[string]string{
		"helm.valueFiles":              "value-files",
		"helm.values":                  "values",
		"helm.valuesObject":            "values",
		"helm.parameters":              "helm-parameters", // and helm-string-parameters with forceString
		"helm.fileParameters":          "helm-file-parameters",
		"helm.releaseName":             "release-name",
		"helm.namespace":               "namespace",
		"helm.kubeVersion":             "kube-version",
		"helm.apiVersions":             "api-versions",
		"helm.skipCrds":                "skip-crds",
		"helm.skipTests":               "skip-tests",
		"helm.skipSchemaValidation":    "skip-schema-validation",
		"helm.ignoreMissingValueFiles": "ignore-missing-value-files",
		"helm.version":                 "renderer",
		"helm.passCredentials":         "", // nothing is fetched while rendering

		"kustomize.namePrefix":                "kustomize-name-prefix",
		"kustomize.nameSuffix":                "kustomize-name-suffix",
		"kustomize.images":                    "kustomize-images",
		"kustomize.replicas":                  "kustomize-replicas",
		"kustomize.commonLabels":              "kustomize-common-labels",
		"kustomize.commonAnnotations":         "kustomize-common-annotations",
		"kustomize.commonAnnotationsEnvsubst": "kustomize-common-annotations-envsubst",
		"kustomize.labelWithoutSelector":      "kustomize-label-without-selector",
		"kustomize.labelIncludeTemplates":     "kustomize-label-include-templates",
		"kustomize.forceCommonLabels":         "kustomize-force-common-labels",
		"kustomize.forceCommonAnnotations":    "kustomize-force-common-annotations",
		"kustomize.namespace":                 "kustomize-namespace",
		"kustomize.components":                "kustomize-components",
		"kustomize.ignoreMissingComponents":   "kustomize-ignore-missing-components",
		"kustomize.patches":                   "kustomize-patches",
		"kustomize.kubeVersion":               "kube-version",
		"kustomize.apiVersions":               "api-versions",
		"kustomize.version":                   "renderer-version",

		"directory.recurse": "directory-recurse",
		"directory.include": "directory-include",
		"directory.exclude": "directory-exclude",
		"directory.jsonnet": "", // hallmark evaluates no jsonnet
	}
	for source, typ := range map[string]reflect.Type{
		"helm":      reflect.TypeFor[v1alpha1.ApplicationSourceHelm](),
		"kustomize": reflect.TypeFor[v1alpha1.ApplicationSourceKustomize](),
		"directory": reflect.TypeFor[v1alpha1.ApplicationSourceDirectory](),
	} {
		for field := range typ.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			parameter, known := fields[source+"."+name]
			if !known {
				t.Errorf("%s.%s of Argo CD has no parameter", source, name)
				continue
			}
			if parameter == "" {
				continue
			}
			if _, err := specOf(parameter); err != nil {
				t.Errorf("%s.%s: %v", source, name, err)
			}
		}
	}
	// And no parameter but hallmark's own stands without a field.
	own := []string{"renderer", "renderer-version", "determinism", "random-generation", "random-generations", "random-seed", "allow-empty", "config-hash", "helm-string-parameters", "kustomize-helm"}
	for _, spec := range Specs() {
		if !slices.Contains(own, spec.Name) && !slices.Contains(slices.Collect(maps.Values(fields)), spec.Name) {
			t.Errorf("parameter %q belongs to no field of Argo CD", spec.Name)
		}
	}
}
