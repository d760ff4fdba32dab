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
