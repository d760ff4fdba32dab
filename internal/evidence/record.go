// Package evidence writes and reads the record of one render, what
// `hallmark render --evidence FILE` leaves for a signing tool and an auditor.
//
// The record is an in-toto Statement v1 about one subject, the manifest set by
// its render hash, with SLSA provenance v1 as its predicate. Tools that know
// neither hallmark nor Kubernetes can therefore sign it, store it and check who
// built what from which inputs:
//
//	_type, subject        the application's name (or "manifests") and the render hash
//	buildDefinition
//	  externalParameters  what the Application asked for: app, namespace, project,
//	                      repository, path and parameters
//	  internalParameters  what the installation added: versions that templates saw,
//	                      limits, how determinism was judged and which fields were
//	                      derived, functions noticed, what release rules found
//	  resolvedDependencies  the commit, then each file that was read, with digests
//	runDetails
//	  builder             hallmark and the versions compiled into it
//	  byproducts          each object with its digest and the file it came from
//
// The record is as public as the manifests. A sensitive parameter is recorded by
// its name and the paths of its leaves, with no value and no digest: a digest of
// a short value can be reversed by trying values. User names and passwords are
// taken out of repository URLs. There is no clock: the same render gives the
// same bytes, unless the caller passes a time.
//
// Sources: github.com/in-toto/attestation/blob/main/spec/v1 (statement.md,
// resource_descriptor.md, digest_set.md) and slsa.dev/spec/v1.0/provenance. The
// tests check the output against the field definitions in
// github.com/in-toto/attestation; this package does not import them, because
// their protobuf registration would cost every start of hallmark.
package evidence

import (
	"time"

	"hallmark.dev/hallmark/internal/object"
)

// The identifiers of the formats. A verifier compares them as whole strings.
const (
	// StatementType is the _type of an in-toto Statement v1.
	StatementType = "https://in-toto.io/Statement/v1"
	// PredicateType is SLSA provenance v1.
	PredicateType = "https://slsa.dev/provenance/v1"
	// BuildType says how externalParameters and internalParameters are to be
	// read. It changes when their meaning does.
	BuildType = "https://hallmark.dev/render/v1"
	// BuilderID names hallmark as the builder.
	BuilderID = "https://hallmark.dev/hallmark"
)

// Record is what is known about one render. All digests are "sha256:" and 64 hex
// digits.
type Record struct {
	// RenderHash is the digest of the manifest set.
	RenderHash string
	// InputsHash is the digest over the inputs, or "".
	InputsHash string
	// StampFormat names the rules that both hashes follow.
	StampFormat string
	// SecretsKeyed says that values of Secrets count in the hashes, under the
	// operator's key. A verification needs that key then.
	SecretsKeyed bool

	// App, Namespace and Project are the Application's name, destination
	// namespace and project; each may be "".
	App, Namespace, Project string
	// Source is what was rendered.
	Source Source
	// Parameters are the resolved parameters. No two have one name.
	Parameters []Parameter
	// Files are the files that the render read.
	Files []File

	// Renderer is the renderer's name and version, "helm3/v3.22.0".
	Renderer string
	// KubeVersion and APIVersions are what templates saw as the cluster's.
	KubeVersion string
	APIVersions []string
	// Limits are the limits in force, by name; the unit is part of the name's
	// meaning.
	Limits map[string]int64
	// Determinism is the mode of the determinism gate: "enforce", "warn" or
	// "derive".
	Determinism string
	// Ignored are the fields that do not count in the hashes, because they
	// differ from render to render.
	Ignored []Ignored
	// Seed is the id of the seed that values were derived from, or "".
	Seed string
	// Derived are the fields whose values were derived.
	Derived []Derived
	// Functions are the template functions noticed whose results depend on
	// something besides the inputs, such as "lookup".
	Functions []string

	// Lint is what the release rules found, nil where none were checked.
	Lint *Lint

	// Objects are the objects of the set.
	Objects []Object
	// Versions are the versions of hallmark and what is compiled into it, by
	// name: "hallmark", "helm3", "kustomize".
	Versions map[string]string
	// InvocationID identifies the run, for logs, or is "".
	InvocationID string
	// StartedOn is when the render started; the zero time is left out.
	StartedOn time.Time
}

// Source is a repository at a revision.
type Source struct {
	// Repo is the repository's URL, or "".
	Repo string
	// Revision is the commit, possibly with "-dirty" after it, or "".
	Revision string
	// Path is the rendered folder, relative to the repository's root.
	Path string
}

// Parameter is one resolved parameter.
type Parameter struct {
	Name string
	// Value is decoded JSON. [Parse] leaves it nil where Sensitive is set.
	Value any
	// Sensitive says that Value must not be written.
	Sensitive bool
}

// File is one file that the render read.
type File struct {
	// Path is relative to the repository's root.
	Path string
	// Digest is of the content as committed, the ciphertext where the file
	// was decrypted.
	Digest string
}

// Ignored is a field that does not count in the hashes.
type Ignored struct {
	Object object.ID
	// Pointer is the RFC 6901 JSON pointer of the field.
	Pointer string
	// Template and Function say where the value came from; each may be "".
	Template, Function string
}

// Derived is a field whose value was derived from the seed. The value is not part of
// it, and no digest of one.
type Derived struct {
	// Object is as the chart printed it, before a kustomization renamed it.
	Object object.ID
	// Field is the RFC 6901 JSON pointer of the field.
	Field string
	// Reason says of what the value was made, "randAlphaNum" or "certificate".
	Reason string
	// Names are the fields in which the random values of this one live, as the
	// parameter random-generations names them.
	Names []string
	// Generation is how often it was rotated; 0 is left out.
	Generation int
}

// Lint is the outcome of a check by release rules.
type Lint struct {
	Findings []Finding
}

// Finding is what a release rule says of an object. A record of a render that was
// not refused has none that is denied and not waived, unless it is a review.
type Finding struct {
	// Rule is the id of the rule, or the name of a team's rule.
	Rule string
	// Level is what the policy makes of it: "warn" or "deny".
	Level  string
	Object object.ID
	// Field is the RFC 6901 JSON pointer of the field, or "" for the object.
	Field   string
	Message string
	// Waiver is set where the object waives the rule.
	Waiver *Waiver
}

// Waiver says until when a rule is waived, and why.
type Waiver struct {
	// Day is the last day on which it holds, "2027-03-31".
	Day, Reason string
}

// Object is one object of the set.
type Object struct {
	ID object.ID
	// Digest is the object hash.
	Digest string
	// Origin and Line are where the object came from, as in
	// [object.Object]; "" and 0 are left out.
	Origin string
	Line   int
}
