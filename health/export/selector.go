package export

import "hallmark.dev/hallmark/health"

// Selector finds the check for a kind as Argo CD does with what [ArgoCM] writes.
type Selector struct{ entries []entry }

// NewSelector prepares scripts. Two that a kind could have at random are an error.
func NewSelector(scripts []Script) (*Selector, error) {
	all, err := entries(scripts)
	return &Selector{all}, err
}

// For returns the check for a kind, nil where there is none: the one that names it,
// else the wildcard that matches it.
func (s *Selector) For(group, kind string) *health.Check {
	var wildcard *health.Check
	for _, e := range s.entries {
		if (e.group == "") != (group == "") || !overlap(e.group, group) || !overlap(e.kind, kind) {
			continue
		}
		if !e.wildcard() {
			return e.check
		}
		wildcard = e.check
	}
	return wildcard
}
