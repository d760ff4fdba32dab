// Package lint finds what is wrong with a health script that somebody wrote by hand,
// and with an argocd-cm, before Argo CD runs it.
//
// # A script
//
// [Script] reads a script, makes objects out of what it looks at, and runs it in Argo
// CD's own interpreter on those, on the objects that the user gives, and on all that
// package corpus makes of them. What it finds ([Rules] lists it) is a fact of a run,
// with the object that shows it, or of the text, with the line.
//
// # Severity
//
// An error is a fault on an object that a cluster can hold, and makes the command
// fail. A warning is a fault on an object that the kind's schema would most likely
// refuse, such as a status that is a number; or a question of judgement, asked of an
// object that was made up: where conditions contradict each other in their order, or
// a stale status counts. The same on an object that the user gave is an error.
//
// # An argocd-cm
//
// [ConfigMap] reads the customizations as Argo CD does (util/settings of v2.14; the
// tests run that code beside it) and lints each health script of it.
package lint

import (
	"cmp"
	"slices"
	"time"
)

// Severity tells whether a finding makes the command fail.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is one fault.
type Finding struct {
	// File is the script or ConfigMap, Line in it from 1; 0 where the fault has no
	// line. Key is the key of a ConfigMap that it is about, "" for none.
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Key  string `json:"key,omitempty"`

	Rule     Rule     `json:"rule"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	// Hint is the remedy, "" where there is no general one.
	Hint string `json:"hint,omitempty"`

	// Case names the object that shows the fault, and Cases counts all that do.
	Case  string `json:"case,omitempty"`
	Cases int    `json:"cases,omitempty"`
	// Object is that object, nil where there is none or it is very large.
	Object map[string]any `json:"object,omitempty"`
}

// Options says what is known of a script.
type Options struct {
	Group, Kind string
	// OpenLibs is useOpenLibs of argocd-cm.
	OpenLibs bool
	// Objects are objects of the kind, as a cluster holds them.
	Objects []Object
	// Now is the clock that a run is measured with, best one of the processor time of
	// the thread that calls. With none, none is, and the objects
	// with 10,000 entries, which are made for it, are left out; so the same script has
	// the same findings on any machine.
	Now func() time.Time
}

// Object is one that the user gave.
type Object struct {
	Name  string // for messages
	Value map[string]any
}

// Failed tells whether there is an error among the findings.
func Failed(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == Error })
}

func sorted(findings []Finding) []Finding {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key),
			cmp.Compare(order(a.Rule), order(b.Rule)), cmp.Compare(a.Message, b.Message))
	})
	return findings
}
