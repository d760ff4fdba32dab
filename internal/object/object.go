// Package object holds the one shape that every stage of a render passes on: a
// Kubernetes object as plain decoded data, together with where it came from.
//
// Values are what a JSON decoder of the Kubernetes API machinery yields:
// map[string]any, []any, string, bool, int64, float64 and nil. Renderers
// produce objects, gates and rules read them, the stamp writes annotations into
// them. Accessors never panic on data of another shape; they return zero values.
package object

import (
	"cmp"
	"fmt"
	"strings"
)

// Object is one Kubernetes object of a render.
type Object struct {
	// Value is the decoded object. It is never nil.
	Value map[string]any
	// Origin is the file that the object came from, relative to the
	// repository root ("apps/web/service.yaml"), or for Helm the template's
	// name as Helm prints it ("web/templates/service.yaml"). It may be empty.
	Origin string
	// Line is the 1-based line of Origin at which the object's document
	// starts, or 0 where the renderer cannot tell.
	Line int
	// Memo keeps results about Value where Value is kept from render to render.
	// It may be nil.
	Memo *Memo
	// Body is a Memo for what depends on Value without its metadata, and so holds
	// for the object with another stamp too. It may be nil.
	Body *Memo
}

// ID identifies an object within one render.
type ID struct {
	Group, Kind, Namespace, Name string
}

// ID returns the group, kind, namespace and name of o; parts that are absent
// or not strings are empty.
func (o Object) ID() ID {
	group, _, found := strings.Cut(o.APIVersion(), "/")
	if !found {
		group = ""
	}
	return ID{Group: group, Kind: o.Kind(), Namespace: o.metadata("namespace"), Name: o.metadata("name")}
}

// APIVersion returns the apiVersion, or "".
func (o Object) APIVersion() string { return str(o.Value["apiVersion"]) }

// Kind returns the kind, or "".
func (o Object) Kind() string { return str(o.Value["kind"]) }

// GenerateName returns metadata.generateName, or "".
func (o Object) GenerateName() string { return o.metadata("generateName") }

// Annotations returns metadata.annotations as it stands, or nil.
func (o Object) Annotations() map[string]any {
	meta, _ := o.Value["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	return annotations
}

// IsSecret reports whether o is a core Secret, whose values must not be shown.
func (o Object) IsSecret() bool { return o.Kind() == "Secret" && o.APIVersion() == "v1" }

func (o Object) metadata(field string) string {
	meta, _ := o.Value["metadata"].(map[string]any)
	return str(meta[field])
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

// Compare orders by group, kind, namespace and name, the order in which the
// manifest set hash reads objects.
func (id ID) Compare(other ID) int {
	return cmp.Or(
		strings.Compare(id.Group, other.Group),
		strings.Compare(id.Kind, other.Kind),
		strings.Compare(id.Namespace, other.Namespace),
		strings.Compare(id.Name, other.Name),
	)
}

// String gives the form that messages use: `Deployment.apps "shop/web"`, with
// the group left out for core kinds and the namespace where there is none.
func (id ID) String() string {
	kind := id.Kind
	if id.Group != "" {
		kind += "." + id.Group
	}
	name := id.Name
	if id.Namespace != "" {
		name = id.Namespace + "/" + name
	}
	return fmt.Sprintf("%s %q", kind, name)
}

// At returns the place of o for a message: "origin", "origin:line" or
// "(unknown origin)".
func (o Object) At() string {
	switch {
	case o.Origin == "":
		return "(unknown origin)"
	case o.Line > 0:
		return fmt.Sprintf("%s:%d", o.Origin, o.Line)
	}
	return o.Origin
}
