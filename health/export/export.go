// Package export writes compiled health checks in the forms that others read:
// Argo CD's ConfigMap, the values of its Helm chart, its operator's resource, the
// folders of its own source tree, and Flux's health check expressions.
//
// The functions take checks and scripts and return bytes; the same input gives the
// same bytes, and none of them reads or writes a file.
//
// # Which check an object gets
//
// A target is a group and a kind in which "*" stands for any text. Argo CD looks
// for the exact group and kind first and then for a wildcard that matches; if two
// wildcards match, one of them wins at random. So two checks for one exact target,
// and two checks with wildcards that some kind could match both, are errors here,
// while an exact target beside a wildcard is what one wants. A "*" never stands for
// the core group, which has no name: this is how argocd-cm has it too.
package export

import (
	"fmt"

	"hallmark.dev/hallmark/health"
)

// Script is a check and the Lua that it was compiled to.
type Script struct {
	Check *health.Check
	Lua   string
}

// Case is an object and the verdict on it.
type Case struct {
	Name            string
	Object          map[string]any // of the values that a decoded Kubernetes object has
	Status, Message string
}

// Note says what the reader of an output cannot do, or does in another way.
type Note struct {
	Check *health.Check // nil for a note on all of them
	Text  string
}

// String is the note with the place of its check in front, if it has one.
func (n Note) String() string {
	if n.Check == nil {
		return n.Text
	}
	return fmt.Sprintf("%s:%d: %s: %s", n.Check.File, n.Check.Line, n.Check.Name, n.Text)
}
