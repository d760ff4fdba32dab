// Package gate refuses what must not reach a cluster.
//
// A renderer that ends without an error has not yet produced something safe to
// apply. An empty result plus pruning deletes an application; a value that
// nobody decrypted becomes a password; an object that stands twice is applied
// in an order that nobody chose. Argo CD accepts all three. The gate stands
// behind every renderer and has no switch but the one for empty renders.
//
//   - [Expand] replaces List objects by their items, as Argo CD's repo-server
//     does with the output of any tool, so that everything after it sees
//     single objects only.
//   - [Check] looks at all objects and reports every fault at once: missing or
//     mistyped apiVersion, kind, metadata and name; one object from two
//     places; leftover SOPS ciphertext and metadata; no objects; too many.
//
// Every message names the object, the field as an RFC 6901 JSON Pointer (the
// form that Argo CD's ignoreDifferences takes, so it can be copied from there)
// and the file. None holds a value of the object.
//
// Sources: GenerateManifests and isNullList in Argo CD's
// reposerver/repository/repository.go, and the Unstructured accessors of
// k8s.io/apimachinery.
package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
)

// Options are the decisions that an application or a policy may take.
type Options struct {
	// AllowEmpty accepts a render without objects.
	AllowEmpty bool
	// Namespace is the destination namespace. An object without a namespace
	// and the same object in this namespace count as one; empty means that
	// the namespace is not known and the two count as different.
	Namespace string
	// MaxObjects bounds the number of objects; 0 means no bound.
	MaxObjects int
}

// The remedies, one for each class of fault that has one.
const (
	hintEmpty      = "an empty render plus pruning deletes the application; where that is meant, set the parameter \"allow-empty\" to true"
	hintCiphertext = "ciphertext is decrypted where it stands in a file with its sops metadata; this was copied out of such a file, or stands in a parameter, in a packaged chart or in a file whose metadata is damaged"
	hintTooMany    = "split the application; or raise limits.objects (--limit objects=N on the command line, the policy in the plugin)"
)

// Check returns nil where objs may go on, and otherwise an error that lists
// all faults. objs must have passed through [Expand].
func Check(objs []object.Object, o Options) error {
	switch {
	case len(objs) == 0 && !o.AllowEmpty:
		return diag.WithHint(errors.New("the render holds no objects"), hintEmpty)
	case o.MaxObjects > 0 && len(objs) > o.MaxObjects:
		return diag.WithHint(fmt.Errorf("the render holds %d objects, more than limits.objects allows (%d)", len(objs), o.MaxObjects), hintTooMany)
	}
	var faults diag.List
	for _, obj := range objs {
		checkShape(obj, reportTo(&faults))
	}
	checkDuplicates(objs, o.Namespace, reportTo(&faults))
	before := len(faults)
	// This one reads every string, so it is spread over the processors.
	found := make([]diag.List, len(objs))
	object.Spread(len(objs), func() func(int) {
		return func(i int) {
			if _, clean := objs[i].Memo.Get(cleanMemo{}); clean {
				return
			}
			checkCiphertext(objs[i], reportTo(&found[i]))
			if len(found[i]) == 0 {
				objs[i].Memo.Set(cleanMemo{}, true)
			}
		}
	})
	faults = append(faults, slices.Concat(found...)...)
	if len(faults) > before {
		return diag.WithHint(faults.Err(), hintCiphertext)
	}
	return faults.Err()
}

// cleanMemo is the key under which an object that is kept is known to hold no
// ciphertext.
type cleanMemo struct{}

// reportTo returns a reporter that adds to list.
func reportTo(list *diag.List) reporter {
	return func(obj object.Object, format string, args ...any) {
		list.Addf(obj.Origin, obj.Line, 0, "%s: %s", describe(obj), fmt.Sprintf(format, args...))
	}
}

// reporter takes a fault of one object.
type reporter func(obj object.Object, format string, args ...any)

// checkShape looks at the fields that Argo CD and the API server need in order
// to find an object at all.
//
// Labels and annotations must be strings. The API server refuses a number or a
// boolean among them, but the harm comes earlier: Argo CD reads the whole map
// as absent when one value is not a string, so a hook or a sync wave beside it
// is lost and a migration Job is applied like any other object. A null value is
// let through: both read it as the empty string.
func checkShape(obj object.Object, report reporter) {
	text := func(v any, field string) (present bool) {
		switch v := v.(type) {
		case nil:
			return false
		case string:
			return v != ""
		}
		report(obj, "%q: got %s, want string", field, typeName(v))
		return true
	}
	if !text(obj.Value["apiVersion"], "/apiVersion") {
		report(obj, "object without apiVersion")
	} else if strings.Count(obj.APIVersion(), "/") > 1 {
		report(obj, "%q: got %q, want a version or group/version", "/apiVersion", obj.APIVersion())
	}
	if !text(obj.Value["kind"], "/kind") {
		report(obj, "object without kind")
	}
	meta, isObject := obj.Value["metadata"].(map[string]any)
	if !isObject && obj.Value["metadata"] != nil {
		report(obj, "%q: got %s, want object", "/metadata", typeName(obj.Value["metadata"]))
		return
	}
	named := text(meta["name"], "/metadata/name")
	// Argo CD hooks are named by generateName.
	generated := text(meta["generateName"], "/metadata/generateName")
	if !named && !generated {
		report(obj, "object without metadata.name")
	}
	text(meta["namespace"], "/metadata/namespace")
	for _, field := range []string{"labels", "annotations"} {
		switch values := meta[field].(type) {
		case nil:
		case map[string]any:
			for key, v := range values {
				text(v, pointer([]step{{key: "metadata"}, {key: field}, {key: key}}))
			}
		default:
			report(obj, "%q: got %s, want object", "/metadata/"+field, typeName(values))
		}
	}
}

// checkDuplicates reports each object that an earlier one already is. The
// version is no part of the identity: apps/v1 and apps/v1beta1 name one object.
func checkDuplicates(objs []object.Object, namespace string, report reporter) {
	first := make(map[object.ID]object.Object, len(objs))
	for _, obj := range objs {
		id := obj.ID()
		if id.Kind == "" || id.Name == "" {
			continue
		}
		// Right for cluster-scoped kinds too: Argo CD drops their namespace.
		if id.Namespace == "" {
			id.Namespace = namespace
		}
		if earlier, found := first[id]; found {
			report(obj, "the same object stands in %s and in %s", earlier.At(), obj.At())
			continue
		}
		first[id] = obj
	}
}

// describe names obj for a message, also where it lacks what an ID needs.
func describe(obj object.Object) string {
	id := obj.ID()
	if id.Name == "" {
		id.Name = obj.GenerateName()
	}
	if id.Kind == "" {
		id.Group, id.Kind = "", "object"
	}
	if id.Name == "" {
		return strings.TrimSuffix(id.String(), fmt.Sprintf(" %q", id.Name))
	}
	return id.String()
}

// typeName gives the JSON name of v's type.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	}
	return "number"
}
