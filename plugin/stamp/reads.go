package stamp

import (
	"cmp"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// podSpec returns spec.template.spec of a workload, see [RollOnConfig], or nil.
func podSpec(o object.Object) map[string]any {
	id := o.ID()
	switch {
	case strings.HasSuffix(id.Kind, "Job"):
		return nil
	case id.Kind == "ReplicaSet" && (id.Group == "apps" || id.Group == "extensions"):
		return nil
	case id.Kind == "ReplicationController" && id.Group == "":
		return nil
	}
	pod, _ := object.Field(o.Value, "spec", "template", "spec").(map[string]any)
	if _, ok := pod["containers"].([]any); !ok {
		return nil
	}
	return pod
}

// A configRef names a ConfigMap or a Secret within a namespace.
type configRef struct{ kind, name string }

func (r configRef) compare(other configRef) int {
	return cmp.Or(strings.Compare(r.kind, other.kind), strings.Compare(r.name, other.name))
}

// entries are the entries of an object that a pod reads.
type entries struct {
	all   bool
	named map[string]bool
}

func (e entries) has(entry string) bool { return e.all || e.named[entry] }

// configReads is what a pod reads.
type configReads map[configRef]entries

// podReads returns what the containers and volumes of a pod refer to. A
// reference of the wrong shape is passed over.
func podReads(pod map[string]any) configReads {
	reads := make(configReads)
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		for _, container := range object.Items(pod[list]) {
			for _, env := range object.Items(object.Field(container, "env")) {
				reads.entry("ConfigMap", object.Field(env, "valueFrom", "configMapKeyRef"))
				reads.entry("Secret", object.Field(env, "valueFrom", "secretKeyRef"))
			}
			for _, from := range object.Items(object.Field(container, "envFrom")) {
				reads.whole("ConfigMap", object.Field(from, "configMapRef", "name"))
				reads.whole("Secret", object.Field(from, "secretRef", "name"))
			}
		}
	}
	for _, volume := range object.Items(pod["volumes"]) {
		reads.volume("ConfigMap", object.Field(volume, "configMap"), "name")
		reads.volume("Secret", object.Field(volume, "secret"), "secretName")
		for _, source := range object.Items(object.Field(volume, "projected", "sources")) {
			reads.volume("ConfigMap", object.Field(source, "configMap"), "name")
			reads.volume("Secret", object.Field(source, "secret"), "name")
		}
	}
	return reads
}

// volume adds the source of a volume: the entries in its items, or all where it
// lists none.
func (r configReads) volume(kind string, source any, nameField string) {
	name, listed := object.Field(source, nameField), object.Items(object.Field(source, "items"))
	for _, item := range listed {
		r.add(kind, name, object.Field(item, "key"))
	}
	if len(listed) == 0 {
		r.whole(kind, name)
	}
}

// entry adds a configMapKeyRef or a secretKeyRef.
func (r configReads) entry(kind string, ref any) {
	r.add(kind, object.Field(ref, "name"), object.Field(ref, "key"))
}

func (r configReads) whole(kind string, name any) {
	if name, ok := name.(string); ok && name != "" {
		r[configRef{kind, name}] = entries{all: true}
	}
}

func (r configReads) add(kind string, name, key any) {
	text, isText := name.(string)
	entry, isEntry := key.(string)
	ref := configRef{kind, text}
	if !isText || text == "" || !isEntry || r[ref].all {
		return
	}
	if r[ref].named == nil {
		r[ref] = entries{named: make(map[string]bool)}
	}
	r[ref].named[entry] = true
}
