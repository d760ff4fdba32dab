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
	pod, _ := dig(o.Value, "spec", "template", "spec").(map[string]any)
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
		for _, container := range items(pod[list]) {
			for _, env := range items(dig(container, "env")) {
				reads.entry("ConfigMap", dig(env, "valueFrom", "configMapKeyRef"))
				reads.entry("Secret", dig(env, "valueFrom", "secretKeyRef"))
			}
			for _, from := range items(dig(container, "envFrom")) {
				reads.whole("ConfigMap", dig(from, "configMapRef", "name"))
				reads.whole("Secret", dig(from, "secretRef", "name"))
			}
		}
	}
	for _, volume := range items(pod["volumes"]) {
		reads.volume("ConfigMap", dig(volume, "configMap"), "name")
		reads.volume("Secret", dig(volume, "secret"), "secretName")
		for _, source := range items(dig(volume, "projected", "sources")) {
			reads.volume("ConfigMap", dig(source, "configMap"), "name")
			reads.volume("Secret", dig(source, "secret"), "name")
		}
	}
	return reads
}

// volume adds the source of a volume: the entries in its items, or all where it
// lists none.
func (r configReads) volume(kind string, source any, nameField string) {
	name, listed := dig(source, nameField), items(dig(source, "items"))
	for _, item := range listed {
		r.add(kind, name, dig(item, "key"))
	}
	if len(listed) == 0 {
		r.whole(kind, name)
	}
}

// entry adds a configMapKeyRef or a secretKeyRef.
func (r configReads) entry(kind string, ref any) { r.add(kind, dig(ref, "name"), dig(ref, "key")) }

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

// dig returns the field at path, or nil where there is none.
func dig(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// items returns the items of a list, none where v is something else.
func items(v any) []any {
	list, _ := v.([]any)
	return list
}
