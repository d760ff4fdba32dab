package lint

import "slices"

// Rule names a kind of finding.
type Rule string

// The rules of scripts.
const (
	Syntax              Rule = "syntax"
	MissingLibrary      Rule = "missing-library"
	MachineAccess       Rule = "machine-access"
	Raises              Rule = "raises"
	Timeout             Rule = "timeout"
	ReturnsNil          Rule = "returns-nil"
	ReturnsEmpty        Rule = "returns-empty"
	NoVerdict           Rule = "no-verdict"
	ErasedVerdict       Rule = "erased-verdict"
	InvalidStatus       Rule = "invalid-status"
	ReturnsMissing      Rule = "returns-missing"
	ReturnsUnknown      Rule = "returns-unknown"
	HealthyNoStatus     Rule = "healthy-without-status"
	HealthyEmptyList    Rule = "healthy-on-empty-list"
	StaleGeneration     Rule = "stale-generation"
	ConditionOrder      Rule = "condition-order"
	KeyOrder            Rule = "key-order"
	Slow                Rule = "slow"
	Refused             Rule = "refused"
	NotText             Rule = "not-text"
	WildcardSplitKey    Rule = "wildcard-split-key"
	UnquotedWildcard    Rule = "unquoted-wildcard"
	BadPattern          Rule = "bad-pattern"
	OverlappingWildcard Rule = "overlapping-wildcards"
	WildcardOverBuiltin Rule = "wildcard-over-built-in"
	TwoPlaces           Rule = "two-places"
	Ignored             Rule = "ignored"
)

// Explanation is a rule with what it means for an application.
type Explanation struct {
	Rule Rule
	Text string
}

// Rules lists the rules, those of scripts first.
func Rules() []Explanation {
	return []Explanation{
		{Syntax, "the script does not compile: every object of the kind has the status Unknown"},
		{MissingLibrary, "a global variable, library function or method of texts that the interpreter does not have; the line raises when it is reached"},
		{MachineAccess, "with useOpenLibs, a call that reaches the machine of the controller"},
		{Raises, "a Lua error: the application is Unknown, a wave waits for ever, a hook fails"},
		{Timeout, "longer than a second, after which Argo CD stops it"},
		{ReturnsNil, "nil or nothing: a wave waits for ever, and a hook passes"},
		{ReturnsEmpty, "{}: a wave waits for ever, and a hook passes"},
		{NoVerdict, "a value that is no table, or has no JSON form: an error, as for raises"},
		{ErasedVerdict, "a message or status that is no text: Argo CD drops the whole verdict, as for {}"},
		{InvalidStatus, "a status that Argo CD does not know, or none: the status is Unknown"},
		{ReturnsMissing, "Missing: a wave waits for ever, and a hook passes"},
		{ReturnsUnknown, "Unknown: a wave waits for ever, and a hook fails"},
		{HealthyNoStatus, "Healthy before the controller has said anything: a wave passes at once"},
		{HealthyEmptyList, "Healthy although a list that it goes by is empty"},
		{StaleGeneration, "Healthy by a status of an older generation: a wave passes before the change is rolled out"},
		{ConditionOrder, "another status for the same conditions in another order"},
		{KeyOrder, "another status when pairs visits the keys of a table in another order, which is random in Argo CD"},
		{Slow, "longer than 50 ms for one object"},
		{Refused, "Argo CD refuses the whole ConfigMap, and with it every customization"},
		{NotText, "a value that is no text: the API server refuses the ConfigMap"},
		{WildcardSplitKey, "a wildcard in the name of a key: the API server refuses the ConfigMap"},
		{UnquotedWildcard, "a key that begins with an unquoted *: an alias in YAML, so Argo CD refuses the whole ConfigMap"},
		{BadPattern, "a wildcard key that is no valid pattern: it never matches"},
		{OverlappingWildcard, "two wildcard keys match one kind: which of them Argo CD takes is random"},
		{WildcardOverBuiltin, "a wildcard that wins against checks that Argo CD brings along"},
		{TwoPlaces, "the same kind in resource.customizations and in a key of its own: the key of its own wins"},
		{Ignored, "a key or value that Argo CD reads as nothing"},
	}
}

// order is the place of a rule in Rules.
func order(rule Rule) int {
	return slices.IndexFunc(Rules(), func(e Explanation) bool { return e.Rule == rule })
}
