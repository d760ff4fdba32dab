package decrypt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/getsops/sops/v3"
)

// By default sops encrypts all of a Kubernetes object: that it is a Secret, its
// name, its namespace, its labels. These are no secrets: whoever may list objects
// sees them, Argo CD shows them, and other objects refer to them. With them taken
// for secrets, no message could name an object or say "Secret". So what identifies
// an object is not remembered, unless it is also the value of another field. All
// other fields stay secret, annotations too.

// isIdentity reports whether the value at a path is what identifies an object. The
// path has a ":" behind each key, as in sops.
func isIdentity(path string) bool {
	switch path {
	case "apiVersion:", "kind:", "type:", "metadata:name:", "metadata:generateName:", "metadata:namespace:":
		return true
	}
	return strings.HasPrefix(path, "metadata:labels:") && path != "metadata:labels:"
}

// objects says which values of an encrypted file are those of Kubernetes objects.
type objects struct{ top, items bool }

// objectsOf looks at the keys, which sops does not encrypt.
func objectsOf(branches sops.TreeBranches) objects {
	found := objects{top: len(branches) > 0, items: true}
	for _, branch := range branches {
		found.top = found.top && (len(branch) == 0 || hasObject(branch))
		for _, item := range branch {
			if item.Key != "items" {
				continue
			}
			list, _ := item.Value.([]any)
			found.items = found.items && !slices.ContainsFunc(list, func(e any) bool { return !hasObject(e) })
		}
	}
	return found
}

func hasObject(v any) bool {
	branch, _ := v.(sops.TreeBranch)
	return hasKey(branch, "apiVersion") && hasKey(branch, "kind")
}

func hasKey(branch sops.TreeBranch, key string) bool {
	return slices.ContainsFunc(branch, func(item sops.TreeItem) bool { return item.Key == key })
}

// identity reports whether a decrypted value identifies an object.
func (o objects) identity(path string, value any) bool {
	if _, comment := value.(sops.Comment); comment || !o.top {
		return false
	}
	item, inList := strings.CutPrefix(path, "items:")
	return isIdentity(path) || inList && o.items && isIdentity(item)
}

// isObject reports whether a document, or an item of a List, is an object.
func isObject(v any) bool {
	m, _ := v.(map[string]any)
	version, _ := m["apiVersion"].(string)
	kind, _ := m["kind"].(string)
	return version != "" && kind != ""
}

// walk visits the values in a document.
func walk(v any, path string, object bool, visit func(leaf any, identity bool)) {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			walk(e, path+key+":", object, visit)
		}
	case []any:
		for _, e := range v {
			if object && path == "items:" && isObject(e) {
				walk(e, "", true, visit)
				continue
			}
			walk(e, path, object, visit)
		}
	default:
		visit(v, object && isIdentity(path))
	}
}

// identities returns what identifies the objects among documents and is nothing
// else in them, or nil if there are no objects.
func identities(documents []any) map[string]bool {
	if !slices.ContainsFunc(documents, isObject) {
		return nil
	}
	// A line may have a key only.
	public := map[string]bool{"": true}
	for _, names := range []bool{true, false} {
		for _, d := range documents {
			walk(d, "", isObject(d), func(leaf any, identity bool) {
				switch text := fmt.Sprint(leaf); {
				case identity && names:
					public[text] = true
				case !identity && text != "":
					delete(public, text)
				}
			})
		}
	}
	return public
}

// mayBeDocument tells most text, such as an address, without a parser.
func mayBeDocument(text string) bool {
	return strings.ContainsAny(text, "{[") || strings.Contains(text, ": ") || strings.Contains(text, ":\n") || strings.Contains(text, ":\t") || strings.Contains(text, "- ")
}

// What may be an alias and its anchor: what those expand to is not worth a bound.
var (
	anchor = regexp.MustCompile(`(?m)(?:^|[\s\[{,:])&\S`)
	alias  = regexp.MustCompile(`(?m)(?:^|[\s\[{,:])\*\S`)
)

func mayHaveAlias(text string) bool {
	return strings.Contains(text, "&") && strings.Contains(text, "*") && anchor.MatchString(text) && alias.MatchString(text)
}
