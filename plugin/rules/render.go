package rules

import (
	"cmp"
	"slices"

	"github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/argoproj/gitops-engine/pkg/sync/hook"
	"github.com/argoproj/gitops-engine/pkg/sync/syncwaves"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"hallmark.dev/hallmark/internal/object"
)

// A render is the objects of one application with what rules ask about them.
type render struct {
	Options
	items []*item
	// byID has the items by identity, with the destination's namespace where the
	// object has none.
	byID map[object.ID]*item
	// places are the namespaces, by name.
	places map[string]*place
	scaled []scaler // see scalers; nil before they are asked for
	// known are the ids of all rules, those of the team among them.
	known map[string]bool
}

// An item is an object with its place in a sync.
type item struct {
	object.Object
	// id is the identity, in the destination's namespace where the object has none.
	id object.ID
	// hook says that it is a hook; one with no moments is never applied by Argo CD.
	hook bool
	// skipped says that Argo CD leaves the object alone (hook: Skip).
	skipped bool
	// moments are when it is applied, the earliest first: a hook may have several
	// phases.
	moments []moment
	// waved says that an annotation of Argo CD or a weight of Helm gives the wave.
	waved bool
	pod   *pod // nil where the object makes no pods
}

// A phase of a sync, in the order in which they run.
type phase int

const (
	preSync phase = iota
	inSync
	postSync
	syncFail
)

func (p phase) String() string { return [...]string{"PreSync", "Sync", "PostSync", "SyncFail"}[p] }

// A moment is a place in a sync: waves order objects within a phase only.
type moment struct {
	phase phase
	wave  int
}

func (m moment) compare(other moment) int {
	return cmp.Or(cmp.Compare(m.phase, other.phase), cmp.Compare(m.wave, other.wave))
}

func newRender(objects []object.Object, o Options) *render {
	r := &render{Options: o, byID: make(map[object.ID]*item, len(objects)), known: map[string]bool{}, places: map[string]*place{}}
	for _, obj := range objects {
		it := &item{Object: obj, id: obj.ID()}
		it.id.Namespace = cmp.Or(it.id.Namespace, o.Namespace)
		it.order()
		it.pod = podOf(it)
		r.items = append(r.items, it)
		if _, taken := r.byID[it.id]; !taken {
			r.byID[it.id] = it
		}
	}
	for _, it := range r.items {
		r.place(it.id.Namespace).add(r, it)
	}
	return r
}

// A place is a namespace: what many objects ask about it is found out once.
type place struct {
	pods     []*pod // of those objects that make some, in their order
	services []*item
	// foreign says that something else than the workloads of the render may make
	// pods, Services or workloads: a custom resource whose controller nobody knows
	// here.
	foreign bool
}

func (r *render) place(namespace string) *place {
	p := r.places[namespace]
	if p == nil {
		p = &place{}
		r.places[namespace] = p
	}
	return p
}

func (p *place) add(r *render, it *item) {
	if it.pod != nil {
		p.pods = append(p.pods, it.pod)
		return
	}
	if it.is("", "Service") {
		p.services = append(p.services, it)
	}
	if !custom(it.id.Group) || makesNothing(it) {
		return
	}
	name := object.Text(object.Field(it.Value, "spec", "workloadRef", "name"))
	ours := name != "" && r.find("apps", "Deployment", it.id.Namespace, name) != nil // a Rollout of it
	p.foreign = p.foreign || !ours
}

// compare orders items by their place, as findings are ordered.
func (it *item) compare(other *item) int {
	return cmp.Or(
		cmp.Compare(it.Origin, other.Origin),
		cmp.Compare(it.Line, other.Line),
		it.id.Compare(other.id),
		cmp.Compare(it.GenerateName(), other.GenerateName()),
	)
}

// order asks Argo CD's own code when the object is applied (syncPhases in
// gitops-engine's pkg/sync).
func (it *item) order() {
	u := &unstructured.Unstructured{Object: it.Value}
	it.hook, it.skipped = hook.IsHook(u), hook.Skip(u)
	annotations := u.GetAnnotations()
	_, wave := annotations[common.AnnotationSyncWave]
	_, weight := annotations["helm.sh/hook-weight"]
	it.waved = wave || weight
	if it.skipped {
		return
	}
	at := syncwaves.Wave(u)
	if !it.hook {
		it.moments = []moment{{inSync, at}}
		return
	}
	for _, t := range hook.Types(u) {
		for p := preSync; p <= syncFail; p++ {
			if string(t) == p.String() && !slices.Contains(it.moments, moment{p, at}) {
				it.moments = append(it.moments, moment{p, at})
			}
		}
	}
	slices.SortFunc(it.moments, moment.compare)
}

// applied reports whether Argo CD ever applies the object: it skips some, and knows
// nothing of hooks such as Helm's tests.
func (it *item) applied() bool {
	return !it.skipped && (len(it.moments) > 0 || it.onDelete())
}

// deletePolicies are when Argo CD deletes a hook: BeforeHookCreation where nothing
// is said.
func (it *item) deletePolicies() []common.HookDeletePolicy {
	return hook.DeletePolicies(&unstructured.Unstructured{Object: it.Value})
}

// annotation returns an annotation of the object, or "".
func (it *item) annotation(name string) string { return object.Text(it.Annotations()[name]) }

// is reports whether the object is of a kind, in any version.
func (it *item) is(group, kind string) bool { return it.id.Group == group && it.id.Kind == kind }

// find returns the object of that identity, or nil.
func (r *render) find(group, kind, namespace, name string) *item {
	return r.byID[object.ID{Group: group, Kind: kind, Namespace: namespace, Name: name}]
}

// custom reports whether a group is that of custom resources, and not of Kubernetes.
func custom(group string) bool {
	_, known := builtinGroups[group]
	return !known
}

// builtinGroups are the API groups that a kube-apiserver serves itself.
var builtinGroups = map[string]struct{}{
	"": {}, "admissionregistration.k8s.io": {}, "apiextensions.k8s.io": {}, "apiregistration.k8s.io": {}, "apps": {},
	"authentication.k8s.io": {}, "authorization.k8s.io": {}, "autoscaling": {}, "batch": {}, "certificates.k8s.io": {},
	"coordination.k8s.io": {}, "discovery.k8s.io": {}, "events.k8s.io": {}, "extensions": {}, "flowcontrol.apiserver.k8s.io": {},
	"internal.apiserver.k8s.io": {}, "networking.k8s.io": {}, "node.k8s.io": {}, "policy": {}, "rbac.authorization.k8s.io": {},
	"resource.k8s.io": {}, "scheduling.k8s.io": {}, "storage.k8s.io": {}, "storagemigration.k8s.io": {},
}
