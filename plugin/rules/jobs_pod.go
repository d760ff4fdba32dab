package rules

import (
	"cmp"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// checkResources takes limits for requests: Kubernetes copies them.
func checkResources(r *render, report report) {
	for _, it := range r.releaseJobs() {
		if hasResources(it.pod.spec) {
			continue
		}
		for _, c := range it.pod.containers() {
			if !hasResources(c.value) {
				report(it, c.at.under("resources", "requests"), "the container %q has no resources.requests", c.name())
			}
		}
	}
}

func hasResources(holder map[string]any) bool {
	resources := object.Mapping(holder["resources"])
	return len(object.Mapping(resources["requests"])) > 0 || len(object.Mapping(resources["limits"])) > 0
}

func checkImageDigest(r *render, report report) {
	for _, it := range r.releaseJobs() {
		for _, c := range it.pod.containers() {
			if image := object.Text(c.value["image"]); image != "" && !strings.Contains(image, "@sha256:") {
				report(it, c.at.under("image"), "the image %q of the container %q is not named by its digest", image, c.name())
			}
		}
	}
}

// checkToken takes a ServiceAccount that a binding gives rights, or that somebody
// else looks after, for the decision to have a token.
func checkToken(r *render, report report) {
	const field = "automountServiceAccountToken"
	bound := r.boundAccounts()
	for _, it := range r.releaseJobs() {
		if it.pod.spec[field] != nil {
			continue
		}
		id := object.ID{Kind: "ServiceAccount", Namespace: it.id.Namespace, Name: cmp.Or(it.pod.serviceAccount(), "default")}
		account := r.byID[id]
		switch {
		case bound[id] || account != nil && account.Value[field] != nil:
		case account != nil:
			report(it, it.pod.at.under(field), "neither the pod nor its ServiceAccount %q says whether it gets a token, and no binding gives the ServiceAccount any right", id.Name)
		case id.Name == "default":
			report(it, it.pod.at.under(field), "the pod does not say whether it gets a token of the namespace's default ServiceAccount")
		}
	}
}

// boundAccounts are the ServiceAccounts that a RoleBinding or ClusterRoleBinding of
// the render names.
func (r *render) boundAccounts() map[object.ID]bool {
	out := map[object.ID]bool{}
	for _, it := range r.items {
		for _, id := range it.boundAccounts() {
			out[id] = true
		}
	}
	return out
}

func (it *item) boundAccounts() []object.ID {
	const group = "rbac.authorization.k8s.io"
	if !it.is(group, "RoleBinding") && !it.is(group, "ClusterRoleBinding") {
		return nil
	}
	var out []object.ID
	for _, subject := range object.Items(it.Value["subjects"]) {
		if object.Text(object.Field(subject, "kind")) == "ServiceAccount" {
			namespace := cmp.Or(object.Text(object.Field(subject, "namespace")), it.id.Namespace)
			out = append(out, object.ID{Kind: "ServiceAccount", Namespace: namespace, Name: object.Text(object.Field(subject, "name"))})
		}
	}
	return out
}

func checkPrivileges(r *render, report report) {
	for _, it := range r.releaseJobs() {
		for _, field := range []string{"hostNetwork", "hostPID", "hostIPC"} {
			if it.pod.spec[field] == true {
				report(it, it.pod.at.under(field), "the pod has %s", field)
			}
		}
		for i, volume := range object.Items(it.pod.spec["volumes"]) {
			if source := object.Field(volume, "hostPath"); source != nil {
				report(it, it.pod.at.under("volumes", i, "hostPath"), "the pod mounts %q of the node", object.Text(object.Field(source, "path")))
			}
		}
		for _, c := range it.pod.containers() {
			context := object.Mapping(c.value["securityContext"])
			if context["privileged"] == true {
				report(it, c.at.under("securityContext", "privileged"), "the container %q is privileged", c.name())
			}
			if added := addedCapabilities(context); len(added) > 0 {
				report(it, c.at.under("securityContext", "capabilities", "add"), "the container %q adds the capabilities %s", c.name(), strings.Join(added, ", "))
			}
		}
	}
}

// addedCapabilities leaves out the one that even the restricted level of the pod
// security standards allows.
func addedCapabilities(context map[string]any) []string {
	var out []string
	for _, c := range object.Items(object.Field(context["capabilities"], "add")) {
		name := strings.TrimPrefix(object.Text(c), "CAP_")
		if name != "" && name != "NET_BIND_SERVICE" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
