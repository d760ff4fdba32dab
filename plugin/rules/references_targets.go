package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

func checkKeys(r *render, report report) {
	for _, it := range r.items {
		if it.pod == nil || !it.applied() {
			continue
		}
		for _, ref := range it.pod.refs() {
			if ref.key == "" || ref.optional {
				continue
			}
			source := r.find("", ref.kind, it.id.Namespace, ref.name)
			if source == nil || r.filledByOthers(source) {
				continue
			}
			entries := entriesOf(source)
			if slices.Contains(entries, ref.key) {
				continue
			}
			message := fmt.Sprintf("%s %q has no entry %q", ref.kind, ref.name, ref.key)
			for _, entry := range entries {
				if near(ref.key, entry) > unlike || strings.EqualFold(entry, ref.key) {
					message += fmt.Sprintf(", but %q", entry)
					break
				}
			}
			report(it, ref.at, "%s", message)
		}
	}
}

// entriesOf returns the keys of a ConfigMap or Secret, sorted.
func entriesOf(source *item) []string {
	var out []string
	for _, field := range []string{"data", "binaryData", "stringData"} {
		out = slices.AppendSeq(out, maps.Keys(object.Mapping(source.Value[field])))
	}
	slices.Sort(out)
	return out
}

// filledByOthers reports whether something in the cluster adds entries to a ConfigMap
// or Secret: it has none of its own, or a label or annotation says so.
func (r *render) filledByOthers(source *item) bool {
	if len(entriesOf(source)) == 0 || source.Value["type"] == "kubernetes.io/service-account-token" {
		return true
	}
	for _, it := range r.items {
		if it.is("external-secrets.io", "ExternalSecret") && it.id.Namespace == source.id.Namespace &&
			cmp.Or(object.Text(object.Field(it.Value, "spec", "target", "name")), it.id.Name) == source.id.Name {
			return true // creationPolicy: Merge adds to a Secret that is there
		}
	}
	for _, set := range []map[string]any{source.Annotations(), object.Mapping(object.Field(source.Value, "metadata", "labels"))} {
		for key := range set {
			if strings.Contains(key, "inject") || strings.Contains(key, "replicat") || strings.Contains(key, "secret-generator") ||
				strings.Contains(key, "reflector") || strings.Contains(key, "vault") || strings.Contains(key, "avp.kubernetes.io") {
				return true
			}
		}
	}
	return false
}

func checkAutoscalers(r *render, report report) { r.missingTargets(likely, report) }

// adviseAutoscalers says where the name of the release may be missing, as
// adviseBackends does.
func adviseAutoscalers(r *render, report report) { r.missingTargets(possible, report) }

// missingTargets reports the autoscalers whose target does not exist, where a workload
// is there that it is as near to as that.
func (r *render) missingTargets(want nearness, report report) {
	scalers := slices.Clip(r.scalers())
	for _, it := range r.items {
		if !it.is("autoscaling.k8s.io", "VerticalPodAutoscaler") {
			continue
		}
		if id, ok := target(it, object.Field(it.Value, "spec", "targetRef"), "", ""); ok {
			scalers = append(scalers, scaler{it, id})
		}
	}
	for _, s := range scalers {
		if r.byID[s.target] != nil {
			continue
		}
		at := path{"spec", "scaleTargetRef"}
		if s.item.is("autoscaling.k8s.io", "VerticalPodAutoscaler") {
			at = path{"spec", "targetRef"}
		}
		if there, n := r.nearWorkload(s.target); n == want {
			report(s.item, at, "the render has no %s, but %s", kindAndName(s.target), kindAndName(there.id))
		}
	}
}

// kindAndName formats an identity with its group, which may be all the difference.
func kindAndName(id object.ID) string {
	return fmt.Sprintf("%s %q of %s", id.Kind, id.Name, cmp.Or(id.Group, "the core group"))
}

// nearWorkload returns the workload that an autoscaler is likely for: one of its name
// and another kind or group, or one of its kind and nearly its name.
func (r *render) nearWorkload(want object.ID) (found *item, best nearness) {
	for _, p := range r.pods(want.Namespace) {
		it := p.item
		if it.hook {
			continue
		}
		switch it.id.Kind {
		case "Job", "CronJob", "Pod":
			continue
		}
		n := unlike
		switch {
		case it.id.Name == want.Name && it.id.Kind == want.Kind:
			return it, likely
		case it.id.Name == want.Name:
			n = likely
		case it.id.Kind == want.Kind:
			n = near(want.Name, it.id.Name)
		}
		if n > best || n == likely && it.id.Name == want.Name {
			found, best = it, n
		}
	}
	if r.foreign(want.Namespace) {
		return nil, unlike
	}
	return found, best
}
