package rules

import (
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

var supplyRules = []Rule{
	{
		ID: "image-tag", Group: groupSupply, Severity: Warning,
		Reason: "latest, which is also what no tag means, is another program each time that somebody pushes: nodes run different ones, and no rollback brings the old one back",
		Remedy: "name the version, and better the digest too: registry.example.com/shop/checkout:1.4.2@sha256:<digest>",
		check:  checkImageTags,
	},
	{
		ID: "plaintext-secret", Group: groupSupply, Severity: Error,
		Reason: "whoever can read the repository, any clone of it or a build log has the credential, also long after it was removed",
		Remedy: "encrypt the file with SOPS, or refer to a Secret that an operator such as External Secrets brings; then change the credential, which is no secret any more",
		check:  checkPlaintext, advise: advisePlaintext,
	},
	{
		ID: "base64-secret", Group: groupSupply, Severity: Error,
		Reason: "base64 is no encryption: anybody reads it with base64 -d, so that the credential stands open to all who may see the object",
		Remedy: "encrypt the file with SOPS, or refer to a Secret that an operator such as External Secrets brings; then change the credential, which is no secret any more",
		check:  checkBase64,
	},
}

func checkImageTags(r *render, report report) {
	for _, it := range r.items {
		if it.pod == nil || !it.applied() {
			continue
		}
		for _, c := range it.pod.containers() {
			image := object.Text(c.value["image"])
			if image == "auto" && injected(it.pod) {
				continue // Istio's webhook puts its own image there
			}
			switch tag, fixed := imageTag(image); {
			case fixed:
			case tag == "":
				report(it, c.at.under("image"), "the image %q of the container %q has no tag", image, c.name())
			default:
				report(it, c.at.under("image"), "the image %q of the container %q has the tag %s", image, c.name(), tag)
			}
		}
	}
}

// imageTag returns the tag of an image's name as Docker reads it, and whether the
// name means the same image for as long as nobody breaks a promise: a digest, or a
// tag other than latest. A colon in front of a slash belongs to the registry's port.
func imageTag(image string) (tag string, fixed bool) {
	if image == "" || strings.ContainsAny(image, "${} \t") || strings.Contains(image, "://") {
		return "", true // nothing, a variable, or the reference of a build tool: no image yet
	}
	name, _, digest := strings.Cut(image, "@")
	_, tag, _ = strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ":")
	return tag, digest || tag != "" && tag != "latest"
}
