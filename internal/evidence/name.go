package evidence

import (
	"fmt"
	"net/url"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// A byproduct is named after its object: "Deployment.apps shop/web", or
// "Namespace shop" without group and namespace. Kubernetes allows neither "/"
// nor "%" in a name or namespace, and no dot or space in a kind. In an object
// that breaks those rules they are percent-encoded, so that no two objects share
// a name and each name leads back to one object.
var (
	escapeKind  = strings.NewReplacer("%", "%25", " ", "%20", ".", "%2E")
	escapeGroup = strings.NewReplacer("%", "%25", " ", "%20")
	escapeName  = strings.NewReplacer("%", "%25", "/", "%2F")
)

func byproductName(id object.ID) string {
	kind := escapeKind.Replace(id.Kind)
	if id.Group != "" {
		kind += "." + escapeGroup.Replace(id.Group)
	}
	name := escapeName.Replace(id.Name)
	if id.Namespace != "" {
		name = escapeName.Replace(id.Namespace) + "/" + name
	}
	return kind + " " + name
}

func parseByproductName(text string) (object.ID, error) {
	kind, name, ok := strings.Cut(text, " ")
	if !ok {
		return object.ID{}, fmt.Errorf("the name %q has no space between kind and name", text)
	}
	kind, group, _ := strings.Cut(kind, ".")
	namespace, rest, ok := strings.Cut(name, "/")
	if ok {
		name = rest
	} else {
		namespace = ""
	}
	id := object.ID{Group: group, Kind: kind, Namespace: namespace, Name: name}
	for _, part := range []*string{&id.Group, &id.Kind, &id.Namespace, &id.Name} {
		decoded, err := url.PathUnescape(*part)
		if err != nil {
			return object.ID{}, fmt.Errorf("the name %q has a %% that is not an escape", text)
		}
		*part = decoded
	}
	return id, nil
}

// withoutCredentials takes user and password out of a repository URL. The user
// name of an ssh URL stays: it is part of the address, "git" nearly always.
func withoutCredentials(repo string) string {
	scheme, rest, ok := strings.Cut(repo, "://")
	if !ok {
		// git@host:path, or a folder: there is no place for a password.
		return repo
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	at := strings.LastIndexByte(authority, '@')
	if at < 0 && !plausibleHost(authority) {
		// A password with a "/", "?" or "#" that its owner did not encode ends
		// further on. Taking out too much is the safe side.
		at = strings.LastIndexByte(rest, '@')
	}
	if at < 0 {
		return repo
	}
	user := ""
	if name, _, _ := strings.Cut(rest[:at], ":"); strings.HasSuffix(scheme, "ssh") {
		user = name + "@"
	}
	return scheme + "://" + user + rest[at+1:]
}

// plausibleHost reports whether what follows a colon in authority can be a port.
func plausibleHost(authority string) bool {
	if strings.HasPrefix(authority, "[") {
		return true
	}
	_, port, _ := strings.Cut(authority, ":")
	return strings.Trim(port, "0123456789") == ""
}
