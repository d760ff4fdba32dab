package projection

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hallmark.dev/hallmark/internal/ledger"
)

// Names of the API.
const (
	Group    = "ledger.hallmark.dev"
	Version  = "v1alpha1"
	Kind     = "MigrationLedger"
	Resource = "migrationledgers"
)

// AnnotationSourceRevision is where the plugin stamps the revision that an object was
// rendered from.
const AnnotationSourceRevision = "hallmark.dev/source-revision"

// Hallmark is the tool whose table is the ledger itself.
const Hallmark = "hallmark"

// A MigrationLedger names the changes that a release needs, and says what a database
// has of them.
type MigrationLedger struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// MigrationLedgerList is what the API server answers a list with.
type MigrationLedgerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MigrationLedger `json:"items"`
}

// Spec is what a release asks for.
type Spec struct {
	Database string       `json:"database,omitempty"` // its name, never its address; "default" where empty
	Tool     string       `json:"tool,omitempty"`     // whose table is read; Hallmark where empty
	Table    string       `json:"table,omitempty"`    // for Hallmark the name of the schema
	Target   string       `json:"target,omitempty"`   // a row of another target counts for nothing
	Changes  []ChangeSpec `json:"changes"`
}

// ChangeSpec is a change that must be recorded as done.
type ChangeSpec struct {
	Key                     string   `json:"key"`
	SourceRevision          string   `json:"sourceRevision,omitempty"`          // who must have recorded it
	RequireRenderedRevision bool     `json:"requireRenderedRevision,omitempty"` // the same, as AnnotationSourceRevision says it
	Invariants              []string `json:"invariants,omitempty"`              // names of those that must have been checked
}

// Source is where the changes of an object are recorded.
type Source struct{ Database, Tool, Table string }

// Source is where the changes of the object are recorded, with the defaults filled in,
// but for the table: each tool has its own.
func (s Spec) Source() Source {
	return Source{cmp.Or(s.Database, "default"), cmp.Or(s.Tool, Hallmark), s.Table}
}

// Status is what a database has of the changes.
type Status struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"` // the one that Changes answers, -1 where none was read
	Summary            string             `json:"summary,omitempty"`            // how many are good, as in 1/2
	Changes            []ChangeStatus     `json:"changes,omitempty"`            // in the order of the spec
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// ChangeStatus is what a database has of a change. Times are the database's.
type ChangeStatus struct {
	Key            string            `json:"key"`
	State          ledger.State      `json:"state"`
	Attempt        int               `json:"attempt,omitempty"`
	SourceRevision string            `json:"sourceRevision,omitempty"`
	Target         string            `json:"target,omitempty"`
	LeaseUntil     *metav1.Time      `json:"leaseUntil,omitempty"`
	StartedAt      *metav1.Time      `json:"startedAt,omitempty"`
	FinishedAt     *metav1.Time      `json:"finishedAt,omitempty"`
	JobUID         string            `json:"jobUID,omitempty"`
	SchemaVersion  string            `json:"schemaVersion,omitempty"`
	ResultDigest   string            `json:"resultDigest,omitempty"`
	Invariants     []InvariantStatus `json:"invariants,omitempty"` // by name
	Message        string            `json:"message,omitempty"`
}

// InvariantStatus is the outcome of a query that must return true. Without Holds it was
// not checked.
type InvariantStatus struct {
	Name      string       `json:"name"`
	Holds     *bool        `json:"holds,omitempty"`
	CheckedAt *metav1.Time `json:"checkedAt,omitempty"`
	Detail    string       `json:"detail,omitempty"`
}

// at is a time as an API object holds it: in whole seconds, so that what is computed
// equals what comes back.
func at(t *time.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	whole := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &whole
}
