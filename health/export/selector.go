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
// else the one with a wildcard that matches it.
func (s *Selector) For(group, kind string) *health.Check {
	if e, ok := choose(s.entries, group, kind); ok {
		return e.check
	}
	return nil
}

// choose is the entry for a group and a kind: the exact one, or the first whose
// wildcards match.
func choose(all []entry, group, kind string) (chosen entry, ok bool) {
	for _, e := range all {
		if (e.group == "") != (group == "") || !overlap(e.group, group) || !overlap(e.kind, kind) {
			continue
		}
		if !e.wildcard() {
			return e, true
		}
		if !ok {
			chosen, ok = e, true
		}
	}
	return chosen, ok
}
