package derive

import (
	"time"

	"hallmark.dev/hallmark/internal/object"
)

// Scope says whose values are derived: two applications that render one chart have
// different ones.
type Scope struct {
	Project   string
	Namespace string // the destination's
	App       string // as Argo CD names it, "<namespace>_<name>" outside its own namespace
}

// Options say how values are derived.
type Options struct {
	Seed  *Seed
	Scope Scope
	// Generation rotates all values of the application, Fields single ones by the
	// name that [Name] gives a field. Both begin at 0. A value depends on the pair, so
	// none comes again as long as neither ever goes down.
	Generation int
	Fields     map[string]int
	// Now decides in which period the validity of certificates lies. Nothing else
	// depends on it.
	Now time.Time
}

// A Document is one object as a template printed it.
type Document struct {
	Template string // the file that printed it, "web/templates/secret.yaml"
	Value    map[string]any
}

// A Render is what one execution of a chart gave.
type Render struct {
	Documents []Document
	// Texts are what the files printed, by their names.
	Texts map[string]string
	// Hashed are computed frames that are in no text as a whole, because a template cut
	// them.
	Hashed []Hashed
	// Seconds are the frames that a second execution of a file made, one for a checksum,
	// with those that the first one made in their places.
	Seconds map[string]string
}

// Hashed is a computed frame, and the template with the call that printed it.
type Hashed struct{ Template, Frame string }

// A Field is a place in one of the documents of a render: map keys (string) and list
// indexes (int).
type Field struct {
	Document int
	Path     []any
}

// Resolution is a render in which what was random is derived.
type Resolution struct {
	// Values are the objects that have other values than the plain render, by the
	// index of their documents.
	Values map[int]map[string]any
	// Derived are the fields with a derived value, in the order of documents and
	// paths.
	Derived []Derived
	// Refused are the fields that are not understood.
	Refused []Refused
	// Secrets are the derived values (those that a reader must not see), for
	// redaction.
	Secrets []string
	// Until is when a certificate is to be rendered anew; the zero time is never.
	Until time.Time

	resolver *resolver
}

// Derived is a field whose value is derived.
type Derived struct {
	Field
	// Object is the one that the field is of, and Inner the path in it: that of the
	// Field, or of a part of it where the document is a List.
	Object object.ID
	Inner  []any
	// Name is what [Name] gives the field itself.
	Name string
	// Reason says of what the value was made: "randAlphaNum", "checksum",
	// "bcrypt", "certificate", "now" or several of them with commas, or ReasonMade.
	Reason string
	// Names are the fields in which the random values of this one live ([Name]):
	// that of the field itself unless it shares them with another. They are what
	// Options.Fields rotates.
	Names []string
}

// Refused is a field that is not understood, with the reason in words.
type Refused struct {
	Field
	Reason string
	// Final says that no value of the field can be adopted.
	Final bool
}
