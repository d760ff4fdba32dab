package stamp

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// File is one file that the render read.
type File struct {
	// Path is relative to the repository root, with slashes.
	Path string
	// Digest is "sha256:<hex>" of the content as it is committed: of the
	// ciphertext, for a file that was decrypted.
	Digest string
}

// Inputs is what a render consumed.
type Inputs struct {
	// Files are the files that were read, in any order.
	Files []File
	// Parameters are the parameters after all precedence was resolved, as
	// decoded JSON.
	Parameters map[string]any
	// Sensitive are parameters whose values are secret. Their names count; a
	// value counts as it does in a Secret, under Key or not at all. A name must
	// not stand in Parameters as well.
	Sensitive map[string]any
	// Key is the HMAC key for the values of Sensitive, or nil.
	Key Key
	// App and Namespace are the Application's name and destination namespace.
	App, Namespace string
	// KubeVersion is the Kubernetes version that templates saw.
	KubeVersion string
	// APIVersions are the API versions that templates saw. They are a set:
	// order and repetition do not count.
	APIVersions []string
	// Renderer is the renderer's name and version, "helm3/v3.22.0".
	Renderer string
}

// InputsHash returns "sha256:<hex>" over what the render consumed. It moves when
// any input moves, and not with the order of files or API versions. The text
// under SHA-256 is the RFC 8785 JSON of
//
//	{
//	  "apiVersions": [sorted, without repetition],
//	  "app": "...",
//	  "files": [["path", "sha256:<hex>"], ... sorted by path, then digest, without repetition],
//	  "format": "hallmark stamp format v1",
//	  "kubeVersion": "...",
//	  "namespace": "...",
//	  "parameters": {"name": value, ...},
//	  "renderer": "...",
//	  "sensitive": {"name": null or "hmac-sha256:<hex>", ...}
//	}
//
// A path that is not UTF-8, which git allows, is written as {"base64": "..."}.
// The HMAC of a sensitive parameter is taken over the RFC 8785 JSON of
// ["hallmark.dev/stamp/v1/parameter", name, value].
//
// An error says which parameter has no JSON form, or that the key is too short;
// it holds no value.
func InputsHash(in Inputs) (string, error) {
	if err := in.Key.check(); err != nil {
		return "", err
	}
	sensitive := make(map[string]any, len(in.Sensitive))
	for _, name := range slices.Sorted(maps.Keys(in.Sensitive)) {
		if _, twice := in.Parameters[name]; twice {
			return "", fmt.Errorf("parameter %q is given both as sensitive and as not", name)
		}
		concealed, err := in.Key.conceal(domainParameter, []any{name}, in.Sensitive[name])
		if err != nil {
			return "", fmt.Errorf("the value of parameter %q has no JSON form", name)
		}
		sensitive[name] = concealed
	}
	parameters := in.Parameters
	if parameters == nil {
		parameters = map[string]any{}
	}
	var buf bytes.Buffer
	text, err := appendCanonical(&buf, map[string]any{
		"apiVersions": sortedSet(in.APIVersions, strings.Compare, func(v string) any { return v }),
		"app":         in.App,
		"files":       sortedSet(in.Files, compareFiles, func(f File) any { return []any{jsonPath(f.Path), f.Digest} }),
		"format":      Format,
		"kubeVersion": in.KubeVersion,
		"namespace":   in.Namespace,
		"parameters":  parameters,
		"renderer":    in.Renderer,
		"sensitive":   sensitive,
	})
	if err != nil {
		return "", fmt.Errorf("inputs of the render: %w", err)
	}
	return digest(text), nil
}

func compareFiles(a, b File) int {
	if c := strings.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	return strings.Compare(a.Digest, b.Digest)
}

// sortedSet returns the elements of set in order, each once, in their JSON form.
func sortedSet[E comparable](set []E, compare func(a, b E) int, form func(E) any) []any {
	sorted := slices.Clone(set)
	slices.SortFunc(sorted, compare)
	out := make([]any, 0, len(sorted))
	for _, element := range slices.Compact(sorted) {
		out = append(out, form(element))
	}
	return out
}

func jsonPath(path string) any {
	if utf8.ValidString(path) {
		return path
	}
	return map[string]any{"base64": base64.StdEncoding.EncodeToString([]byte(path))}
}
