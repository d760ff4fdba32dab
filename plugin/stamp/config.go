package stamp

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
)

// AnnotationConfigHash moves when a ConfigMap or a Secret changes that the pods
// of a workload read. It stands in the pod template and is no part of a stamp.
const AnnotationConfigHash = "hallmark.dev/config-hash"

// domainConfig is to the config hash what domainEntry is to the object hash. With
// the same domain, a Secret's HMACs in one could be looked up in the other.
const domainConfig = "hallmark.dev/stamp/v1/config"

const configKeyHint = "mount a key and name it with --hash-key; " +
	"a hash of a Secret without one either does not move with its values or gives them away"

var errNoKey = errors.New("there is none")

// RollOnConfig returns objs with the annotation [AnnotationConfigHash] in the
// pod template of each workload that mounts or reads ConfigMaps or Secrets of
// objs, so that a change of what it reads replaces its pods. The package comment
// defines the hash. It has to run before [Apply], because the object hash covers
// pod templates; [Verify] then needs to know nothing about it.
//
// A workload is any object with a list of containers in spec.template.spec, of
// whatever kind, except those that a new template does not roll: a Job, whose
// template is immutable, and other kinds whose name ends in Job, which have run
// to their end; a ReplicaSet and a ReplicationController, which keep the pods
// that they have. A CronJob and a PodTemplate keep theirs elsewhere: the one starts
// each pod with the config of that moment, the other starts none.
//
// What counts is in the same namespace, where namespace is that of an object that
// names none. It is read by env, envFrom or a volume (configMap, secret,
// projected). Not so imagePullSecrets and a CSI driver's nodePublishSecretRef:
// the kubelet reads those, not the pod. What is not in objs, or is no valid
// reference, is passed over. A workload that reads nothing of objs has no
// annotation; one that its source brings along is taken out, as it would never
// move.
//
// objs and the objects in it are only read; an object that needs no change is
// returned as it is. A workload that reads values of a Secret while opts has no
// key is an error, because it would not roll when they change. All of them are
// listed, with a hint.
func RollOnConfig(objs []object.Object, namespace string, opts Options) ([]object.Object, error) {
	c, err := newCanonicalizer(opts)
	if err != nil {
		return nil, err
	}
	known := make(map[configPlace]object.Object)
	for _, o := range objs {
		if configFields[o.Kind()] != nil && o.APIVersion() == "v1" {
			id := o.ID()
			known[configPlace{cmp.Or(id.Namespace, namespace), configRef{id.Kind, id.Name}}] = o
		}
	}
	out := slices.Clone(objs)
	var faults diag.List
	keyless := false
	for i, o := range objs {
		pod := podSpec(o)
		if pod == nil {
			continue
		}
		hash, err := c.configHash(podReads(pod), cmp.Or(o.ID().Namespace, namespace), known)
		if err != nil {
			faults.Addf(o.Origin, o.Line, 0, "%s: %s: %v", o.ID(), AnnotationConfigHash, err)
			keyless = keyless || errors.Is(err, errNoKey)
			continue
		}
		out[i] = withConfigHash(o, hash)
	}
	if err := faults.Err(); err != nil {
		if keyless {
			err = diag.WithHint(err, configKeyHint)
		}
		return nil, err
	}
	return out, nil
}

// configPlace is where the API server finds a ConfigMap or a Secret.
type configPlace struct {
	namespace string
	configRef
}

// configFields has the fields of a ConfigMap and of a Secret that pods see.
var configFields = map[string][]string{
	"ConfigMap": {"data", "binaryData"},
	"Secret":    {"data", "stringData"},
}

// configHash returns the hash of what a pod in namespace reads of the known
// objects, or "" where it reads nothing of them.
func (c *canonicalizer) configHash(reads configReads, namespace string, known map[configPlace]object.Object) (string, error) {
	var list []any
	var keyless []string
	for _, ref := range slices.SortedFunc(maps.Keys(reads), configRef.compare) {
		o, ok := known[configPlace{namespace, ref}]
		if !ok {
			continue
		}
		values, concealed, err := c.configValues(o, namespace, reads[ref])
		if err != nil {
			return "", err
		}
		if concealed && c.key == nil {
			keyless = append(keyless, strconv.Quote(namespace+"/"+ref.name))
		}
		list = append(list, []any{ref.kind, ref.name, values})
	}
	if keyless != nil {
		return "", fmt.Errorf("the values of Secret %s count under a key only, and %w", strings.Join(keyless, ", "), errNoKey)
	}
	if list == nil {
		return "", nil
	}
	text, err := appendCanonical(&c.buf, list)
	if err != nil {
		return "", err
	}
	return digest(text), nil
}

// configValues returns the values of o that count, those of a Secret concealed,
// and whether any was.
func (c *canonicalizer) configValues(o object.Object, namespace string, read entries) (map[string]any, bool, error) {
	value := any(o.Value)
	if tree := c.ignore[o.ID()]; tree != nil {
		value = tree.prune(value)
	}
	concealed := false
	count := func(field string, entry, v any) (any, error) {
		if !o.IsSecret() {
			return v, nil
		}
		concealed = true
		v, err := c.key.conceal(domainConfig, []any{namespace, o.ID().Name, field, entry}, v)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: a value has no JSON form", o.ID(), field)
		}
		return v, nil
	}
	out := make(map[string]any)
	for _, field := range configFields[o.Kind()] {
		var err error
		switch values := object.Field(value, field).(type) {
		case nil:
		case map[string]any:
			counted := make(map[string]any, len(values))
			for _, entry := range slices.Sorted(maps.Keys(values)) {
				if !read.has(entry) {
					continue
				}
				if counted[entry], err = count(field, entry, values[entry]); err != nil {
					return nil, false, err
				}
			}
			if len(counted) > 0 {
				out[field] = counted
			}
		default: // the API server's to refuse, but no less secret for that
			if out[field], err = count(field, nil, values); err != nil {
				return nil, false, err
			}
		}
	}
	return out, concealed, nil
}

// withConfigHash returns o with the annotation in its pod template, or without it
// where hash is "". A template whose metadata is malformed is left to the API
// server to refuse.
func withConfigHash(o object.Object, hash string) object.Object {
	spec, _ := o.Value["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	meta, err := asMap("", template["metadata"])
	if err != nil {
		return o
	}
	annotations, err := asMap("", meta["annotations"])
	if err != nil {
		return o
	}
	old, found := annotations[AnnotationConfigHash]
	if hash == "" && !found || hash != "" && old == hash {
		return o
	}
	annotations = copied(annotations)
	if hash == "" {
		delete(annotations, AnnotationConfigHash)
	} else {
		annotations[AnnotationConfigHash] = hash
	}
	meta, template, spec = copied(meta), copied(template), copied(spec)
	set(meta, "annotations", annotations)
	set(template, "metadata", meta)
	spec["template"] = template
	o.Value = copied(o.Value)
	o.Value["spec"] = spec
	o.Memo, o.Body = nil, nil // they were about the Value without the annotation
	return o
}

// copied returns a copy of m that can be written to.
func copied(m map[string]any) map[string]any {
	out := make(map[string]any, len(m)+1)
	maps.Copy(out, m)
	return out
}
