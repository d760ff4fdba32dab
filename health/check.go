package health

// Status is what a check says of an object.
type Status string

// The statuses that a check may give. Argo CD has two more, Missing and Unknown,
// which no check should give: a wave waits for either for ever, a hook passes with
// the first and fails with the second.
const (
	Healthy     Status = "Healthy"
	Progressing Status = "Progressing"
	Degraded    Status = "Degraded"
	Suspended   Status = "Suspended"
)

// Verdict is what Argo CD shows of an object.
type Verdict struct {
	Status  Status
	Message string
}

// Check is one HealthCheck, without faults and with its shorthands expanded.
type Check struct {
	File string // where it was read from, for messages
	Line int    // of the document in File, from 1
	Name string // metadata.name

	Targets     []Target
	Variables   []string // beside those of every check
	UseOpenLibs bool

	// Rules are tried in this order: noStatus, observedGeneration, the rules with
	// their shorthands expanded, otherwise. The last one matches everything.
	Rules []Rule

	// Source is the document as it was written.
	Source string
}

// Target is a group and kinds, each a text in which "*" stands for any text.
type Target struct {
	Group string // "" is the core group
	Kinds []string
}

// Rule is one step of a check.
type Rule struct {
	// Label is unique in a check: "noStatus", "observedGeneration", "rule 2" (the
	// second of spec.rules), "rule 3.1" (the first that a shorthand stands for),
	// "otherwise".
	Label  string
	Status Status
	// NoStatus matches an object without a status, or with an empty one.
	NoStatus bool
	// When is nil for NoStatus and for the last rule, which matches everything.
	When *Expr
	// Message is nil for no message.
	Message   *Expr
	Line, Col int // of the rule in the check's File
}
