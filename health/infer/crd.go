package infer

import (
	"fmt"
	"regexp"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/fields"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// maxColumns bounds the printer columns that are looked at.
const maxColumns = 100

// maxFaults is where the reading of a file stops.
const maxFaults = 20

const (
	crdKind  = "CustomResourceDefinition"
	crdGroup = "apiextensions.k8s.io/"
)

// A definition is what a CustomResourceDefinition says of a kind.
type definition struct {
	file                 string
	group, kind, version string
	status, spec         schema // nil where the schema says nothing about it
	columns              []column
	wantPath             string // of the scale subresource: specReplicasPath
}

// A column is a printer column whose path names a condition or a field of status.
type column struct {
	name string
	path string // status.conditions, status.phase
	// condition is the type, "" for a field.
	condition string
}

// A document is one object of a file, an item of a list for itself.
type document struct {
	value map[string]any
	doc   yamldoc.Document
	path  []any // of value in doc
}

// documents reads a file and takes its lists apart.
func documents(f File) ([]document, error) {
	stream, err := yamldoc.Stream(f.Name, f.Data)
	if err != nil {
		return nil, err
	}
	var docs []document
	for _, d := range stream {
		if d.Value == nil {
			continue
		}
		whole := document{doc: d}
		value, isObject := d.Value.(map[string]any)
		if !isObject {
			return nil, whole.faultAt(f.Name, nil, "got %s, want mapping", fields.KindOf(d.Value))
		}
		items, isList := value["items"].([]any)
		if !isList {
			whole.value = value
			docs = append(docs, whole)
			continue
		}
		for i, item := range items {
			one := document{doc: d, path: []any{"items", i}}
			if one.value, isObject = item.(map[string]any); !isObject {
				return nil, one.faultAt(f.Name, nil, "items[%d]: got %s, want mapping", i, fields.KindOf(item))
			}
			docs = append(docs, one)
		}
	}
	return docs, nil
}

// faultAt is a fault at the place that path leads to below d, or as near to it as
// there is something.
func (d document) faultAt(file string, path []any, format string, args ...any) *diag.Error {
	line, col, _ := yamldoc.Find(d.doc.Text, append(append([]any{}, d.path...), path...)...)
	return &diag.Error{File: file, Line: d.doc.Line + max(line-1, 0), Col: col, Msg: fmt.Sprintf(format, args...)}
}

func (d document) text(key string) string {
	s, _ := d.value[key].(string)
	return s
}

// definitions finds the CustomResourceDefinitions of a file. Objects of other kinds
// may stand beside them, as in a manifest that installs an operator.
func definitions(f File) ([]*definition, error) {
	docs, err := documents(f)
	if err != nil {
		return nil, err
	}
	var faults diag.List
	var defs []*definition
	seen := map[string]bool{}
	for _, d := range docs {
		if d.text("kind") != crdKind || !strings.HasPrefix(d.text("apiVersion"), crdGroup) {
			continue
		}
		r := &reader{document: d, file: f.Name}
		def := r.definition()
		if id := def.kind + "." + def.group; seen[id] && len(r.faults) == 0 {
			r.fail([]any{"spec", "names", "kind"}, "kind %q of group %q is defined twice", def.kind, def.group)
		} else {
			seen[id] = true
		}
		defs = append(defs, def)
		// Each position costs a parse of the whole document.
		if faults = append(faults, r.faults...); len(faults) >= maxFaults {
			break
		}
	}
	switch {
	case len(faults) > 0:
		return nil, faults.Err()
	case len(docs) == 0:
		return nil, &diag.Error{File: f.Name, Msg: "no objects, want a " + crdKind}
	case len(defs) == 0:
		d := docs[0]
		return nil, d.faultAt(f.Name, []any{"kind"}, "got kind %q of apiVersion %q, want a %s of %sv1", d.text("kind"), d.text("apiVersion"), crdKind, crdGroup)
	}
	return defs, nil
}

// reader reads one definition.
type reader struct {
	document
	file   string
	faults diag.List
}

func (r *reader) fail(path []any, format string, args ...any) {
	r.faults.Add(r.faultAt(r.file, path, "%s: %s", dotted(path), fmt.Sprintf(format, args...)))
}

// get returns what stands at path, nil where nothing does or, with a fault, where
// it is of another type.
func get[T any](r *reader, want string, path ...any) (found T) {
	var value any = r.value
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := value.(map[string]any)
			value = m[step]
		case int:
			l, _ := value.([]any)
			value = l[step]
		}
	}
	if value == nil {
		return found
	}
	found, ok := value.(T)
	if !ok {
		r.fail(path, "got %s, want %s", fields.KindOf(value), want)
	}
	return found
}

// The names of a group and of a kind, as the API server and a health check want them.
var (
	groupName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	kindName  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,62}$`)
)

func (r *reader) definition() *definition {
	def := &definition{file: r.file}
	switch version := strings.TrimPrefix(r.text("apiVersion"), crdGroup); version {
	case "v1", "v1beta1":
	default:
		r.fail([]any{"apiVersion"}, "got %q, want %sv1 or %[2]sv1beta1", r.text("apiVersion"), crdGroup)
		return def
	}
	def.group = r.name(groupName, "spec", "group")
	def.kind = r.name(kindName, "spec", "names", "kind")
	at := r.version(def)
	root := r.schema(at)
	def.status, def.spec = root.child("status"), root.child("spec")
	def.columns = r.columns(at)
	for _, base := range [][]any{at, {"spec"}} {
		if text := get[string](r, "string", join(base, "subresources", "scale", "specReplicasPath")...); def.wantPath == "" {
			def.wantPath = strings.TrimPrefix(text, ".")
		}
	}
	return def
}

func (r *reader) name(want *regexp.Regexp, path ...any) string {
	text := get[string](r, "string", path...)
	switch {
	case text == "" && len(r.faults) == 0:
		r.fail(path, "missing")
	case text != "" && !want.MatchString(text):
		r.fail(path, "got %q, which is no valid name", text)
	}
	return text
}

// version finds the version that is stored and returns its path, nil for a
// definition of v1beta1 that has only spec.version.
func (r *reader) version(def *definition) []any {
	versions := get[[]any](r, "list", "spec", "versions")
	if len(versions) == 0 {
		if def.version = get[string](r, "string", "spec", "version"); def.version == "" && len(r.faults) == 0 {
			r.fail([]any{"spec", "versions"}, "missing")
		}
		return nil
	}
	for i := range versions {
		if len(r.faults) >= maxFaults {
			break
		}
		at := []any{"spec", "versions", i}
		if get[map[string]any](r, "mapping", at...) == nil || !get[bool](r, "bool", join(at, "storage")...) {
			continue
		}
		def.version = get[string](r, "string", join(at, "name")...)
		return at
	}
	if len(r.faults) == 0 {
		r.fail([]any{"spec", "versions"}, "no version has storage: true")
	}
	return nil
}

// schema returns the schema of a version or, in v1beta1, that of all.
func (r *reader) schema(version []any) schema {
	if version != nil {
		if s := get[map[string]any](r, "mapping", join(version, "schema", "openAPIV3Schema")...); s != nil {
			return s
		}
	}
	return get[map[string]any](r, "mapping", "spec", "validation", "openAPIV3Schema")
}

func (r *reader) columns(version []any) []column {
	const field = "additionalPrinterColumns"
	at := []any{"spec", field}
	if version != nil && get[[]any](r, "list", join(version, field)...) != nil {
		at = join(version, field)
	}
	var columns []column
	for i := range get[[]any](r, "list", at...) {
		if len(r.faults) >= maxFaults || len(columns) == maxColumns {
			break
		}
		one := join(at, i)
		if get[map[string]any](r, "mapping", one...) == nil {
			continue
		}
		path := get[string](r, "string", join(one, "jsonPath")...)
		if path == "" {
			path = get[string](r, "string", join(one, "JSONPath")...) // v1beta1
		}
		if c, ok := parseColumn(path); ok {
			c.name = get[string](r, "string", join(one, "name")...)
			columns = append(columns, c)
		}
	}
	return columns
}

// The two forms of a JSON path that tell something: the condition of a type, and a
// field of status.
var (
	conditionPath = regexp.MustCompile(`^\{?\$?\.?(status(?:\.\w+)*)\[\?\(\s*@\.type\s*==\s*\\?["']([^"'\\]+)\\?["']\s*\)\]\.(?:status|reason|message)\}?$`)
	fieldPath     = regexp.MustCompile(`^\{?\$?\.?(status(?:\.\w+)+)\}?$`)
)

func parseColumn(path string) (column, bool) {
	if m := conditionPath.FindStringSubmatch(path); m != nil {
		return column{path: m[1], condition: m[2]}, true
	}
	if m := fieldPath.FindStringSubmatch(path); m != nil {
		return column{path: m[1]}, true
	}
	return column{}, false
}

func join(path []any, more ...any) []any { return append(append([]any{}, path...), more...) }

// dotted is a path as a person writes it: spec.versions[0].name.
func dotted(path []any) string {
	var b strings.Builder
	for _, step := range path {
		switch step := step.(type) {
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		}
	}
	return b.String()
}
