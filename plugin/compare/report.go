package compare

import "hallmark.dev/hallmark/internal/object"

// Report is a comparison of many applications. Its JSON form is that of
// `hallmark compare -o json`.
type Report struct {
	From Side `json:"from"`
	To   Side `json:"to"`
	// Applications in the order of their names.
	Applications []Application `json:"applications"`
	// Causes are the differences that repeat, those with most objects first.
	Causes []Cause `json:"causes"`
	// Notes are about the whole comparison, one line each.
	Notes []string `json:"notes,omitempty"`
}

// Side is what one of the two renders has for all applications.
type Side struct {
	// Renderer is the renderer that was asked for, such as "helm4", or "" for that
	// of each application.
	Renderer string `json:"renderer,omitempty"`
	// Ref is the revision that was asked for, such as "main", or "" for the work
	// tree; Commit is the commit that it stands for, with "-dirty" behind it for a
	// work tree with changes.
	Ref    string `json:"ref,omitempty"`
	Commit string `json:"commit,omitempty"`
}

// Status is what the comparison says of an application.
type Status string

// The statuses of an application. Refused wins: then one of the two renders, or a
// source of it, is not there to be compared, and the rest may be incomplete.
const (
	StatusUnchanged Status = "unchanged"
	StatusChanged   Status = "changed"
	StatusAdded     Status = "added"   // there is no such application in From
	StatusRemoved   Status = "removed" // nor in To
	StatusRefused   Status = "refused"
)

// Application is the comparison of one application.
type Application struct {
	// Name is the name of an Argo CD Application, with "<namespace>/" in front
	// where it names one, or the folder that was rendered.
	Name string `json:"name"`
	// Origin is where the application stands: the file and the line of its
	// manifest, or the folder.
	Origin string `json:"origin,omitempty"`
	Status Status `json:"status"`
	Counts Counts `json:"counts"`
	// Objects are those that differ, ordered by identity.
	Objects []Object `json:"objects,omitempty"`
	// Problems say what could not be rendered, and why.
	Problems []Problem `json:"problems,omitempty"`
	// Notes are one line each, such as fields that differ on each render.
	Notes []string `json:"notes,omitempty"`
	// From and To are the renderers of the two sides with their versions, such as
	// "helm3/v3.22.0"; "" for a side that is not there.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Counts are numbers of objects.
type Counts struct {
	Added     int `json:"added"`
	Removed   int `json:"removed"`
	Changed   int `json:"changed"` // renamed ones included
	Unchanged int `json:"unchanged"`
}

// Problem is a source of an application that could not be rendered.
type Problem struct {
	// Side is "from" or "to", or "" for both.
	Side string `json:"side,omitempty"`
	// Source names the source among several, or is "".
	Source string `json:"source,omitempty"`
	// Message is one line or several, Hint the remedy or "".
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Absent says that the source is not here to be rendered, such as one of
	// another repository, rather than that its render was refused.
	Absent bool `json:"absent,omitempty"`
}

// Change is what happened to an object or a field.
type Change string

// The changes. Renamed is for objects only.
const (
	Added   Change = "added"
	Removed Change = "removed"
	Changed Change = "changed"
	Renamed Change = "renamed" // with or without changed fields
)

// Object is an object that differs.
type Object struct {
	// ID is the identity in To, or in From where the object was removed, as it is
	// written. Its Name is metadata.generateName where there is no name.
	ID object.ID `json:"-"`
	// Was is the identity in From of an object that was renamed or moved to another
	// API group.
	Was    *object.ID `json:"-"`
	Change Change     `json:"change"`
	// Origin is the file that the object comes from, in To where it is there.
	Origin string `json:"origin,omitempty"`
	// Fields are what differs in it, in the order of the object: keys sorted, items
	// of a list in their order in To. Objects that are added or removed have none.
	Fields []Field `json:"fields,omitempty"`
	// Before and After are the object as YAML with the values of Secrets hidden, for
	// a view side by side; nil for a side that is not there, and for both where one
	// is larger than MaxText.
	Before []byte `json:"-"`
	After  []byte `json:"-"`
}

// Field is a field that differs.
type Field struct {
	// Path is the field for people, with the names of list items:
	// `spec.template.spec.containers[web].image`, `metadata.labels["helm.sh/chart"]`.
	Path string `json:"path"`
	// Pointer is the RFC 6901 JSON pointer of the field in To, or in From where it
	// was removed.
	Pointer string `json:"pointer"`
	Change  Change `json:"change"`
	// From and To are the values, plain decoded data. They are absent, also in JSON,
	// where the side has no such field and where Hidden is set; a null is a value.
	From any `json:"from,omitempty"`
	To   any `json:"to,omitempty"`
	// Hidden says that the values are those of a Secret, or differ in nothing but
	// what was decrypted.
	Hidden bool `json:"hidden,omitempty"`
	// Order says that the order of a list differs, whatever else differs in it; From
	// and To are lists of the names of its items, of the items themselves where they
	// are scalars, or of their places in From (integers from 0) where they have no
	// names.
	Order bool `json:"order,omitempty"`
	// Follows is the object whose new name makes the difference, as "ConfigMap
	// shop/web": the value is that name, or has it in it.
	Follows string `json:"follows,omitempty"`
	// Cause is the index in Report.Causes of the cause that the difference is part
	// of, or -1.
	Cause int `json:"cause"`
}

// Cause is a difference that repeats over several objects: the same field, up to the
// names in its path, changes in the same way.
type Cause struct {
	// Path is that of the fields, with * for what differs between them.
	Path   string `json:"path"`
	Change Change `json:"change"`
	// From and To are the values, or the parts of the values that change where the
	// rest differs between the objects ("1.4.0", "1.5.0"). They are "" where every
	// object has values of its own, such as a checksum, or the values are hidden. A
	// string stands as it is and anything else as JSON, both cut at 1 KiB.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Whole says that every field has the same values, which From and To show.
	Whole bool `json:"whole,omitempty"`
	// Objects is the number of objects, Applications the names of theirs, sorted.
	Objects      int      `json:"objects"`
	Applications []string `json:"applications"`
}
