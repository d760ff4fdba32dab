package admission

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	apicel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// The functions are those that the API server of this version has.
const kubernetesMajor, kubernetesMinor = 1, 33

// The variables of expressions, as the API server's admission calls them. What a
// team names stands below "variables.".
const (
	varObject    = "object"
	varOldObject = "oldObject"
	varRequest   = "request"
	varParams    = "params"
	varNamespace = "namespaceObject"
	varVariables = "variables"
)

// newEnvironment returns what the conditions of a rule are compiled with. That for
// its validations has namespaceObject as well, see [withNamespace].
func newEnvironment() (*cel.Env, error) {
	request, namespace := requestType(), namespaceType()
	base := environment.MustBaseEnvSet(version.MajorMinor(kubernetesMajor, kubernetesMinor), true)
	set, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: []cel.EnvOption{
			cel.Variable(varObject, cel.DynType),
			cel.Variable(varOldObject, cel.DynType),
			cel.Variable(varParams, cel.DynType),
			cel.Variable(varRequest, request.CelType()),
		},
		DeclTypes: []*apicel.DeclType{request, namespace},
	})
	if err != nil {
		return nil, fmt.Errorf("preparing CEL: %w", err)
	}
	return set.Env(environment.StoredExpressions)
}

// withNamespace adds namespaceObject.
func withNamespace(env *cel.Env) (*cel.Env, error) {
	return env.Extend(cel.Variable(varNamespace, namespaceType().CelType()))
}

// withVariable adds a variable of the team. Its name is a qualified one, which CEL
// resolves as a whole, so that each is asked for by itself.
func withVariable(env *cel.Env, name string, t *cel.Type) (*cel.Env, error) {
	return env.Extend(cel.Variable(qualified(name), t))
}

func qualified(name string) string { return varVariables + "." + name }

// requestType is the API server's, without what is known only where somebody asks:
// userInfo and options.
func requestType() *apicel.DeclType {
	kind := objectType("kubernetes.GroupVersionKind", texts("group", "version", "kind"))
	resource := objectType("kubernetes.GroupVersionResource", texts("group", "version", "resource"))
	fields := texts("subResource", "requestSubResource", "name", "namespace", "operation")
	fields["kind"], fields["requestKind"] = kind, kind
	fields["resource"], fields["requestResource"] = resource, resource
	fields["dryRun"] = apicel.BoolType
	return objectType("kubernetes.AdmissionRequest", fields)
}

// namespaceType is the API server's.
func namespaceType() *apicel.DeclType {
	list := apicel.NewListType(apicel.StringType, -1)
	mapping := apicel.NewMapType(apicel.StringType, apicel.StringType, -1)

	condition := texts("status", "type", "message", "reason")
	condition["lastTransitionTime"] = apicel.TimestampType

	metadata := texts("name", "generateName", "namespace", "UID", "resourceVersion")
	metadata["labels"], metadata["annotations"], metadata["finalizers"] = mapping, mapping, list
	metadata["creationTimestamp"], metadata["deletionTimestamp"] = apicel.TimestampType, apicel.TimestampType
	metadata["deletionGracePeriodSeconds"], metadata["generation"] = apicel.IntType, apicel.IntType

	status := texts("phase")
	status["conditions"] = apicel.NewListType(objectType("kubernetes.NamespaceCondition", condition), -1)
	return objectType("kubernetes.Namespace", map[string]*apicel.DeclType{
		"metadata": objectType("kubernetes.NamespaceMetadata", metadata),
		"spec":     objectType("kubernetes.NamespaceSpec", map[string]*apicel.DeclType{"finalizers": list}),
		"status":   objectType("kubernetes.NamespaceStatus", status),
	})
}

func texts(names ...string) map[string]*apicel.DeclType {
	out := map[string]*apicel.DeclType{}
	for _, name := range names {
		out[name] = apicel.StringType
	}
	return out
}

func objectType(name string, types map[string]*apicel.DeclType) *apicel.DeclType {
	fields := make(map[string]*apicel.DeclField, len(types))
	for name, t := range types {
		fields[name] = apicel.NewDeclField(name, t, false, nil, nil)
	}
	return apicel.NewObjectType(name, fields)
}
