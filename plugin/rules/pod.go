package rules

import "hallmark.dev/hallmark/internal/object"

// A pod is what an object makes pods from.
type pod struct {
	item *item
	at   path           // of the pod's spec in the object
	spec map[string]any // not nil
	// labels and annotations are those of the pods; they may be nil.
	labels, annotations map[string]any
}

// podOf returns the pod template of a workload: of any object with a list of
// containers where the kinds of Kubernetes and those that copy them (Rollout, Argo
// CD's and others') have it.
func podOf(it *item) *pod {
	for _, place := range []path{{"spec", "template"}, {"spec", "jobTemplate", "spec", "template"}} {
		template := object.Mapping(object.Field(it.Value, keys(place)...))
		if p := podIn(it, place, template); p != nil {
			return p
		}
	}
	if it.is("", "Pod") {
		return podIn(it, nil, it.Value)
	}
	return nil
}

func podIn(it *item, at path, template map[string]any) *pod {
	spec := object.Mapping(template["spec"])
	if _, ok := spec["containers"].([]any); !ok {
		return nil
	}
	return &pod{
		item: it, at: at.under("spec"), spec: spec,
		labels:      object.Mapping(object.Field(template, "metadata", "labels")),
		annotations: object.Mapping(object.Field(template, "metadata", "annotations")),
	}
}

func keys(p path) []string {
	out := make([]string, len(p))
	for i, element := range p {
		out[i], _ = element.(string)
	}
	return out
}

// A container is one container of a pod.
type container struct {
	at    path
	value map[string]any
	init  bool // an init container; a sidecar among them is one too
}

func (c container) name() string { return object.Text(c.value["name"]) }

// containers returns the init containers and the containers of the pod.
func (p *pod) containers() []container {
	var out []container
	for _, list := range []string{"initContainers", "containers"} {
		for i, c := range object.Items(p.spec[list]) {
			if m, ok := c.(map[string]any); ok {
				out = append(out, container{p.at.under(list, i), m, list == "initContainers"})
			}
		}
	}
	return out
}

// A ref is a reference of a pod to an object in its namespace.
type ref struct {
	kind, name string // ConfigMap, Secret, ServiceAccount or PersistentVolumeClaim
	key        string // an entry of it, or "" for the whole
	at         path
	optional   bool
	verb       string // what the pod does with it: "mounts", "reads" or "runs as"
}

// refs returns what the pod refers to, in the order of its fields. References of the
// wrong shape are passed over.
func (p *pod) refs() []ref {
	var out []ref
	add := func(kind, verb string, at path, source any, nameField, keyField string) {
		name := object.Text(object.Field(source, nameField))
		if name == "" {
			return
		}
		optional, _ := object.Field(source, "optional").(bool)
		key := ""
		if keyField != "" {
			key = object.Text(object.Field(source, keyField))
		}
		out = append(out, ref{kind, name, key, at, optional, verb})
	}
	if name := p.serviceAccount(); name != "" && name != "default" {
		out = append(out, ref{kind: "ServiceAccount", name: name, at: p.at.under("serviceAccountName"), verb: "runs as"})
	}
	for i, secret := range object.Items(p.spec["imagePullSecrets"]) {
		add("Secret", "pulls images with", p.at.under("imagePullSecrets", i), secret, "name", "")
	}
	for _, c := range p.containers() {
		for i, env := range object.Items(c.value["env"]) {
			at := c.at.under("env", i, "valueFrom")
			add("ConfigMap", "reads", at.under("configMapKeyRef"), object.Field(env, "valueFrom", "configMapKeyRef"), "name", "key")
			add("Secret", "reads", at.under("secretKeyRef"), object.Field(env, "valueFrom", "secretKeyRef"), "name", "key")
		}
		for i, from := range object.Items(c.value["envFrom"]) {
			at := c.at.under("envFrom", i)
			add("ConfigMap", "reads", at.under("configMapRef"), object.Field(from, "configMapRef"), "name", "")
			add("Secret", "reads", at.under("secretRef"), object.Field(from, "secretRef"), "name", "")
		}
	}
	for i, volume := range object.Items(p.spec["volumes"]) {
		at := p.at.under("volumes", i)
		out = append(out, volumeRefs("ConfigMap", at.under("configMap"), object.Field(volume, "configMap"), "name")...)
		out = append(out, volumeRefs("Secret", at.under("secret"), object.Field(volume, "secret"), "secretName")...)
		add("PersistentVolumeClaim", "mounts", at.under("persistentVolumeClaim"), object.Field(volume, "persistentVolumeClaim"), "claimName", "")
		for j, source := range object.Items(object.Field(volume, "projected", "sources")) {
			at := at.under("projected", "sources", j)
			out = append(out, volumeRefs("ConfigMap", at.under("configMap"), object.Field(source, "configMap"), "name")...)
			out = append(out, volumeRefs("Secret", at.under("secret"), object.Field(source, "secret"), "name")...)
		}
	}
	return out
}

// volumeRefs are the references of a volume: to each entry that it lists, or to the
// whole object.
func volumeRefs(kind string, at path, source any, nameField string) []ref {
	name := object.Text(object.Field(source, nameField))
	if name == "" {
		return nil
	}
	optional, _ := object.Field(source, "optional").(bool)
	items := object.Items(object.Field(source, "items"))
	if len(items) == 0 {
		return []ref{{kind: kind, name: name, at: at, optional: optional, verb: "mounts"}}
	}
	var out []ref
	for i, item := range items {
		out = append(out, ref{kind, name, object.Text(object.Field(item, "key")), at.under("items", i), optional, "mounts"})
	}
	return out
}

func (p *pod) serviceAccount() string {
	for _, field := range []string{"serviceAccountName", "serviceAccount"} {
		if name := object.Text(p.spec[field]); name != "" {
			return name
		}
	}
	return ""
}

// pods returns those objects of a namespace that make pods. The list is shared.
func (r *render) pods(namespace string) []*pod { return r.place(namespace).pods }
