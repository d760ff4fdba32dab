package evidence

import (
	"time"
)

// The JSON of a record. Field names are those of the specifications in the
// package comment, except in the types that they leave to the build type:
// externalParameters, internalParameters and annotations.

type statement struct {
	Type          string       `json:"_type"`
	Subject       []descriptor `json:"subject"`
	PredicateType string       `json:"predicateType"`
	Predicate     provenance   `json:"predicate"`
}

type descriptor struct {
	Name        string            `json:"name,omitzero"`
	URI         string            `json:"uri,omitzero"`
	Digest      map[string]string `json:"digest,omitempty"`
	Annotations annotations       `json:"annotations,omitzero"`
}

type annotations struct {
	Origin   string `json:"origin,omitzero"`
	Line     int    `json:"line,omitzero"`
	Revision string `json:"revision,omitzero"`
}

type provenance struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

type buildDefinition struct {
	BuildType            string             `json:"buildType"`
	ExternalParameters   externalParameters `json:"externalParameters"`
	InternalParameters   internalParameters `json:"internalParameters"`
	ResolvedDependencies []descriptor       `json:"resolvedDependencies"`
}

type externalParameters struct {
	App        string         `json:"app"`
	Namespace  string         `json:"namespace"`
	Project    string         `json:"project"`
	Repo       string         `json:"repo"`
	Path       string         `json:"path"`
	Parameters map[string]any `json:"parameters"`
	// Per sensitive parameter the JSON pointers of the leaves of its value; ""
	// is the pointer of a value that is a leaf itself.
	SensitiveParameters map[string][]string `json:"sensitiveParameters,omitempty"`
}

type internalParameters struct {
	StampFormat  string           `json:"stampFormat"`
	InputsHash   string           `json:"inputsHash,omitzero"`
	SecretValues string           `json:"secretValues"`
	Renderer     string           `json:"renderer"`
	KubeVersion  string           `json:"kubeVersion"`
	APIVersions  []string         `json:"apiVersions"`
	Limits       map[string]int64 `json:"limits,omitempty"`
	Determinism  determinism      `json:"determinism"`
	Functions    []string         `json:"functions"`
	Lint         *lint            `json:"lint,omitzero"`
}

// What secretValues can be.
const (
	secretValuesKeyed   = "hmac-sha256"
	secretValuesOmitted = "omitted"
)

type determinism struct {
	Mode    string         `json:"mode"`
	Ignored []ignoredField `json:"ignored"`
	Seed    string         `json:"seed,omitzero"`
	Derived []derivedField `json:"derived,omitempty"`
}

type ignoredField struct {
	Object   objectRef `json:"object"`
	Pointer  string    `json:"pointer"`
	Template string    `json:"template,omitzero"`
	Function string    `json:"function,omitzero"`
}

type derivedField struct {
	Object     objectRef `json:"object"`
	Field      string    `json:"field"`
	Reason     string    `json:"reason"`
	Names      []string  `json:"names"`
	Generation int       `json:"generation,omitzero"`
}

type lint struct {
	Findings []finding `json:"findings"`
}

type finding struct {
	Rule    string    `json:"rule"`
	Level   string    `json:"level"`
	Object  objectRef `json:"object"`
	Field   string    `json:"field,omitzero"`
	Message string    `json:"message"`
	Waiver  *waiver   `json:"waiver,omitzero"`
}

type waiver struct {
	Day    string `json:"day"`
	Reason string `json:"reason"`
}

type objectRef struct {
	Group     string `json:"group,omitzero"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitzero"`
	Name      string `json:"name"`
}

type runDetails struct {
	Builder    builder      `json:"builder"`
	Metadata   metadata     `json:"metadata,omitzero"`
	Byproducts []descriptor `json:"byproducts"`
}

type builder struct {
	ID      string            `json:"id"`
	Version map[string]string `json:"version"`
}

type metadata struct {
	InvocationID string    `json:"invocationId,omitzero"`
	StartedOn    time.Time `json:"startedOn,omitzero"`
}
