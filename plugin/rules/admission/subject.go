package admission

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"hallmark.dev/hallmark/internal/object"
)

// nameLabel is on every Namespace, set by the API server.
const nameLabel = "kubernetes.io/metadata.name"

// A world is what the objects of a render say of each other.
type world struct {
	namespace   string // the destination's
	namespaces  map[string]object.Object
	definitions map[kind]definition
}

type kind struct{ group, name string }

// A definition is what a CustomResourceDefinition says of a kind.
type definition struct {
	plural        string
	clusterScoped bool
}

func newWorld(objects []object.Object, namespace string) *world {
	w := &world{namespace: namespace, namespaces: map[string]object.Object{}, definitions: map[kind]definition{}}
	for _, o := range objects {
		switch id := o.ID(); {
		case id.Group == "" && id.Kind == "Namespace":
			w.namespaces[id.Name] = o
		case id.Group == "apiextensions.k8s.io" && id.Kind == "CustomResourceDefinition":
			spec := object.Mapping(o.Value["spec"])
			defined := kind{object.Text(spec["group"]), object.Text(object.Field(spec, "names", "kind"))}
			w.definitions[defined] = definition{
				plural:        object.Text(object.Field(spec, "names", "plural")),
				clusterScoped: object.Text(spec["scope"]) == "Cluster",
			}
		}
	}
	return w
}

// A subject is an object as rules see it: what the API server would know of the
// request that creates it.
type subject struct {
	object.Object
	world             *world
	id                object.ID // with the destination's namespace where the object names none
	version, resource string
	clusterScoped     bool
}

func (w *world) subject(o object.Object) *subject {
	s := &subject{Object: o, world: w, id: o.ID()}
	s.version = o.APIVersion()[strings.LastIndexByte(o.APIVersion(), '/')+1:]
	k := kind{s.id.Group, s.id.Kind}
	_, s.clusterScoped = clusterScoped[k]
	s.resource = plural(s.id.Kind)
	if d, found := w.definitions[k]; found {
		s.clusterScoped = d.clusterScoped
		if d.plural != "" {
			s.resource = d.plural
		}
	}
	switch {
	case s.isNamespace():
		s.id.Namespace = s.id.Name // as for the API server
	case s.clusterScoped:
		s.id.Namespace = ""
	case s.id.Namespace == "":
		s.id.Namespace = w.namespace
	}
	return s
}

func (s *subject) isNamespace() bool { return s.id.Group == "" && s.id.Kind == "Namespace" }

func (s *subject) labels() labels.Set { return labelsOf(s.Object) }

func labelsOf(o object.Object) labels.Set {
	out := labels.Set{}
	for key, value := range object.Mapping(object.Field(o.Value, "metadata", "labels")) {
		out[key] = object.Text(value)
	}
	return out
}

// namespaceLabels are those of the Namespace that the object is in or is, and
// whether that is all of them.
func (s *subject) namespaceLabels() (known labels.Set, all bool) {
	if s.id.Namespace == "" {
		return labels.Set{}, false
	}
	known = labels.Set{}
	if o, found := s.world.namespaces[s.id.Namespace]; found {
		known, all = labelsOf(o), true
	}
	known[nameLabel] = s.id.Namespace
	return known, all
}

// namespaceObject is the value of that variable: null for what is in no namespace.
// It is not known where the render does not hold the Namespace.
func (s *subject) namespaceObject() (value any, known bool) {
	if s.clusterScoped {
		return nil, true
	}
	o, found := s.world.namespaces[s.id.Namespace]
	if !found {
		return nil, false
	}
	// A cluster may have other annotations, finalizers and a status; the labels
	// that it adds are known.
	metadata := map[string]any{"name": s.id.Namespace}
	all, _ := s.namespaceLabels()
	values := make(map[string]any, len(all))
	for key, value := range all {
		values[key] = value
	}
	metadata["labels"] = values
	if annotations := o.Annotations(); annotations != nil {
		metadata["annotations"] = annotations
	}
	return map[string]any{"metadata": metadata}, true
}

// request is the value of that variable. What is empty is absent, as in the API
// server's.
func (s *subject) request() map[string]any {
	gvk := map[string]any{"group": s.id.Group, "version": s.version, "kind": s.id.Kind}
	gvr := map[string]any{"group": s.id.Group, "version": s.version, "resource": s.resource}
	out := map[string]any{
		"kind": gvk, "requestKind": maps.Clone(gvk), "resource": gvr, "requestResource": maps.Clone(gvr),
		"operation": "CREATE", "dryRun": true,
	}
	if s.id.Name != "" {
		out["name"] = s.id.Name
	}
	if s.id.Namespace != "" {
		out["namespace"] = s.id.Namespace
	}
	return out
}

// plural is what a resource of a kind is called by convention.
func plural(kind string) string {
	name := strings.ToLower(kind)
	ends := func(suffixes ...string) bool {
		for _, suffix := range suffixes {
			if strings.HasSuffix(name, suffix) {
				return true
			}
		}
		return false
	}
	switch {
	case name == "" || name == "endpoints":
		return name
	case ends("s", "x", "z", "ch", "sh"):
		return name + "es"
	case ends("y") && !ends("ay", "ey", "oy", "uy"):
		return strings.TrimSuffix(name, "y") + "ies"
	}
	return name + "s"
}

// clusterScoped are the kinds of Kubernetes that are in no namespace.
var clusterScoped = map[kind]struct{}{
	{"", "Namespace"}: {}, {"", "Node"}: {}, {"", "PersistentVolume"}: {},
	{"admissionregistration.k8s.io", "MutatingAdmissionPolicy"}: {}, {"admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"}: {},
	{"admissionregistration.k8s.io", "MutatingWebhookConfiguration"}: {}, {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy"}: {},
	{"admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"}: {}, {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"}: {},
	{"apiextensions.k8s.io", "CustomResourceDefinition"}: {}, {"apiregistration.k8s.io", "APIService"}: {},
	{"certificates.k8s.io", "CertificateSigningRequest"}: {}, {"certificates.k8s.io", "ClusterTrustBundle"}: {},
	{"flowcontrol.apiserver.k8s.io", "FlowSchema"}: {}, {"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"}: {},
	{"networking.k8s.io", "IngressClass"}: {}, {"networking.k8s.io", "IPAddress"}: {}, {"networking.k8s.io", "ServiceCIDR"}: {},
	{"node.k8s.io", "RuntimeClass"}:                     {},
	{"rbac.authorization.k8s.io", "ClusterRole"}:        {},
	{"rbac.authorization.k8s.io", "ClusterRoleBinding"}: {},
	{"resource.k8s.io", "DeviceClass"}:                  {}, {"resource.k8s.io", "ResourceSlice"}: {},
	{"scheduling.k8s.io", "PriorityClass"}: {}, {"storagemigration.k8s.io", "StorageVersionMigration"}: {},
	{"storage.k8s.io", "CSIDriver"}: {}, {"storage.k8s.io", "CSINode"}: {}, {"storage.k8s.io", "StorageClass"}: {},
	{"storage.k8s.io", "VolumeAttachment"}: {}, {"storage.k8s.io", "VolumeAttributesClass"}: {},
}
