// Package stamp writes into each object of a render where it came from, and
// checks afterwards that a set of objects is still the one that was rendered.
//
// This comment defines "hallmark stamp format v1". What follows is enough to
// recompute every object hash and render hash without hallmark. A change to
// any rule below is a new version of the format.
//
// # Annotations
//
// A stamp is five annotations in the object's own metadata.annotations, never
// in a pod template, because a stamp must not roll a workload:
//
//	hallmark.dev/object-hash      "sha256:" and the hex SHA-256 of the canonical form
//	hallmark.dev/render-hash      "sha256:" and the hex SHA-256 of the manifest set
//	hallmark.dev/inputs-hash      "sha256:" and hex, over what the render consumed
//	hallmark.dev/source-revision  the commit that was rendered; left out when unknown
//	hallmark.dev/renderer         name and version, such as helm3/v3.22.0
//
// A stamp is not a signature: whoever can change an object can stamp it anew.
// It shows accidents and drift, and ties an object to a record that can be
// signed (the in-toto statement of package evidence).
//
// # Canonical form
//
// The canonical form of an object is its JSON as RFC 8785 (JCS) writes it,
// after these changes, in this order:
//
//  1. Fields that a determinism check told to ignore are removed (see [Path]).
//     All paths refer to the object before any of them is removed.
//
//  2. The five annotations above, argocd.argoproj.io/tracking-id and
//     argocd.argoproj.io/installation-id are removed from
//     metadata.annotations, app.kubernetes.io/instance from metadata.labels, and
//     argocd.argoproj.io/hook-finalizer from metadata.finalizers. Argo CD writes
//     the last four into what a renderer returned; nothing inside a pod template
//     is touched.
//
//  3. metadata.annotations, metadata.labels and metadata.finalizers are left out
//     where they are null or empty, and then metadata itself likewise.
//
//  4. In a core Secret (apiVersion v1, kind Secret) each value under data and
//     stringData is replaced: without a key by null, so that only the names
//     count; with a key by the string "hmac-sha256:" and the hex HMAC-SHA-256 of
//
//     ["hallmark.dev/stamp/v1/secret", namespace, name, field, entry, value]
//
//     written as RFC 8785 JSON, where field is "data" or "stringData", entry is
//     the name of the value, and an absent namespace or name is "". Where data
//     or stringData is not a map, it is itself replaced, with entry null.
//
// Place and name are part of the HMAC, so that equal values in two Secrets, or
// in two entries of one, do not show as equal to whoever reads the hashes.
//
// An object that names no namespace is hashed without one, and Argo CD writes the
// destination's into it when it applies it. Whoever recomputes the hash of a live
// object removes metadata.namespace where the hash does not match otherwise; so
// does [Verify].
//
// RFC 8785 reads every number as an IEEE 754 double: 1 and 1.0 are one number,
// and so are two integers beyond 2^53 that round to the same double.
//
// # Render hash
//
// The object hashes are sorted by the object's API group, kind, namespace and
// name, then by the hash itself, each compared byte by byte ("" where a part is
// absent). Each is written with its "sha256:" prefix and one newline after it.
// The render hash is the SHA-256 of that text.
//
// # Inputs hash
//
// [InputsHash] has the definition. It depends on things that are not in the
// manifests (the content of files), so it cannot be recomputed from them alone.
//
// # Config hash
//
// hallmark.dev/config-hash is no part of a stamp. It stands in
// metadata.annotations of a workload's pod template, where a render asks for it
// ([RollOnConfig] says for which workloads), because it is meant to roll the
// workload when a ConfigMap or a Secret changes that its pods read. The object
// hash covers it like any other field of the template.
//
// It is "sha256:" and the hex SHA-256 of the RFC 8785 JSON of a list with one
//
//	[kind, name, {field: {entry: value, ...}, ...}]
//
// for each ConfigMap and core Secret of the render, in the workload's namespace,
// that the pod template refers to with env, envFrom or a volume. The list is
// sorted by kind, then by name, byte by byte. field is "data" or "binaryData" of
// a ConfigMap, "data" or "stringData" of a Secret. Ignored fields are left out,
// and so are entries that the pod does not refer to: the key of a configMapKeyRef
// or secretKeyRef and the keys in the items of a volume are referred to alone,
// all entries by envFrom and by a volume without items. A field with no entry
// left is left out; the object stays in the list, if need be with {}.
//
// A value of a Secret stands there as the string "hmac-sha256:" and the hex
// HMAC-SHA-256 of
//
//	["hallmark.dev/stamp/v1/config", namespace, name, field, entry, value]
//
// written as RFC 8785 JSON. There is no config hash over values of a Secret
// without a key. Where an object names no namespace, it is the render's
// destination's. A field that is not a map is itself the value, with entry null
// in the HMAC.
//
// # Recomputing with jq and sha256sum
//
// With the objects in objects.json, as JSON, one after the other (not in a list
// and not in an array: `hallmark render -o json DIR | jq -c '.items[]'` prints
// them so), these commands print the object hash of each, then the
// render hash, and leave hashes.txt behind:
//
//	canonical='
//	def unset(f): if f == null or f == {} then del(f) else . end;
//	.metadata |= (
//	  (.annotations | objects) |= del(.[
//	    "hallmark.dev/object-hash", "hallmark.dev/render-hash",
//	    "hallmark.dev/inputs-hash", "hallmark.dev/source-revision",
//	    "hallmark.dev/renderer", "argocd.argoproj.io/tracking-id",
//	    "argocd.argoproj.io/installation-id"])
//	  | (.labels | objects) |= del(.["app.kubernetes.io/instance"])
//	  | (.finalizers | arrays) |= map(select(. != "argocd.argoproj.io/hook-finalizer"))
//	  | unset(.annotations) | unset(.labels)
//	  | if .finalizers == [] then del(.finalizers) else unset(.finalizers) end)
//	| unset(.metadata)
//	| if .apiVersion == "v1" and .kind == "Secret" then
//	    (.data, .stringData | values) |=
//	      if type == "object" then map_values(null) else null end
//	  else . end'
//	identity='
//	def text: strings // "";
//	[(.apiVersion | text | if contains("/") then split("/")[0] else "" end),
//	 (.kind | text), (.metadata.namespace | text), (.metadata.name | text)] | @tsv'
//
//	# The object hashes, in the order of objects.json.
//	jq -cS "$canonical" objects.json | while IFS= read -r object; do
//	  printf '%s' "$object" | sha256sum
//	done | sed 's/ .*//; s/^/sha256:/' | tee hashes.txt
//
//	# The render hash.
//	jq -r "$identity" objects.json | paste - hashes.txt | LC_ALL=C sort | cut -f5 |
//	  sha256sum | sed 's/ .*//; s/^/sha256:/'
//
// They are exact for a stamp that was made without a key and without ignored
// fields, as long as jq prints JSON as RFC 8785 does. It does so for all text
// but the control character U+007F; for all map keys, unless one map has both a
// key with a character above U+FFFF and a key with one from U+E000 to U+FFFF;
// for integers up to 2^53 either way, and for decimals of at most 15 digits
// between 0.001 and 10^15, both in their shortest spelling (not 1.0 or 1e3). jq
// 1.6 and 1.7 differ from RFC 8785, and from each other, in numbers beyond that.
//
// # Why a library writes the JSON
//
// github.com/go-json-experiment/json implements RFC 8785 and is the code that
// Go's own encoding/json/v2 is made from. BenchmarkCanonical compares it with
// encoding/json followed by github.com/gowebpki/jcs, which the tests use as the
// independent second opinion.
package stamp

// Format names the version of the rules in the package comment.
const Format = "hallmark stamp format v1"

// The annotations of a stamp.
const (
	// AnnotationObjectHash moves when its object changes. It is the only one
	// that Argo CD compares.
	AnnotationObjectHash = "hallmark.dev/object-hash"
	// AnnotationRenderHash is the same on every object of one render.
	AnnotationRenderHash = "hallmark.dev/render-hash"
	// AnnotationInputsHash moves when an input of the render changes.
	AnnotationInputsHash = "hallmark.dev/inputs-hash"
	// AnnotationSourceRevision is the commit that was rendered.
	AnnotationSourceRevision = "hallmark.dev/source-revision"
	// AnnotationRenderer is the renderer's name and version, "helm3/v3.22.0".
	AnnotationRenderer = "hallmark.dev/renderer"
)

// What Argo CD writes into the objects that a renderer returned: see
// SetAppInstance in its util/argo/resource_tracking.go and, since 3.0, pkg/sync/hook
// in gitops-engine.
const (
	annotationTracking     = "argocd.argoproj.io/tracking-id"
	annotationInstallation = "argocd.argoproj.io/installation-id"
	labelInstance          = "app.kubernetes.io/instance"
	finalizerHook          = "argocd.argoproj.io/hook-finalizer"
)

// LeavesOut reports whether an annotation is no part of its object's canonical form:
// hallmark's own, and what Argo CD writes.
func LeavesOut(annotation string) bool {
	return isStamp(annotation) || annotation == annotationTracking || annotation == annotationInstallation
}

// isStamp reports whether an annotation is hallmark's own.
func isStamp(annotation string) bool {
	switch annotation {
	case AnnotationObjectHash, AnnotationRenderHash, AnnotationInputsHash,
		AnnotationSourceRevision, AnnotationRenderer:
		return true
	}
	return false
}
