package chart

import (
	"fmt"
	"maps"
	"slices"

	"hallmark.dev/hallmark/plugin/derive"
)

// A call is lost if its value is printed nowhere as a whole: a template cuts it, computes
// with it, decides by it or does nothing with it. What depends on such a call shows by
// giving it other values.

const (
	// freeTries and triesEach bound the renders that vary makes for one question, and
	// houseRounds how often it is asked which fields depend on lost calls: whether one does
	// can be up to the value of another one.
	freeTries   = 32
	triesEach   = 4
	houseRounds = 6
)

// house looks for the fields that depend on lost calls, and makes one the home of each.
// It reports whether there are any.
func (r *replay) house() (found bool, err error) {
	if !r.differs() {
		return false, nil
	}
	r.noise = fields{}
	if r.unanswered {
		for range 2 {
			other, refused, err := r.play(marking{values: r.values, fill: r.played[0].fill})
			if err != nil || refused != nil {
				return false, err
			}
			r.noise.addDifference(r.played[0], other)
		}
	}
	depending := make([]fields, len(r.lost))
	for n, other := range r.played[1:] {
		if n == 0 {
			r.tries = freeTries + triesEach*len(r.lost)
			err = r.split(single(r.lost), marking{fill: other.fill}, r.played[0], r.changed(r.played[0], other, nil), nil, depending)
		} else {
			err = r.varyRest(single(r.lost), marking{fill: other.fill}, r.played[0], nil, depending)
		}
		if err != nil {
			return false, err
		}
	}
	second, err := r.secondExecutions(depending)
	if err != nil {
		return false, err
	}
	for i, call := range r.lost {
		if !second[call] && r.houseAt(call, depending[i]) {
			found = true
		}
	}
	return r.unite(second, depending) || found, nil
}

// houseAt makes one of the fields that depend on a lost call its home, and reports whether
// it has one now.
func (r *replay) houseAt(call int, depending fields) bool {
	list := depending.sorted()
	if !r.resolved.House(r.frame(call), list) {
		return false
	}
	home := r.resolved.Lives(r.frame(call))
	if r.housedByHome[home] == nil {
		r.housedByHome[home] = fields{}
	}
	for _, f := range list {
		r.housed.add(f.Document, f.Path)
		r.housedByHome[home].add(f.Document, f.Path)
	}
	return true
}

func (r *replay) frame(call int) string { return r.values.calls[call].frame }

func single(calls []int) (groups [][]int) {
	for _, call := range calls {
		groups = append(groups, []int{call})
	}
	return groups
}

// differs reports whether the renders with derived values differ in more than certificates
// and keys.
func (r *replay) differs() bool {
	differing := fields{}
	for _, other := range r.played[1:] {
		differing.addDifference(r.played[0], other)
	}
	return slices.ContainsFunc(differing.sorted(), func(f derive.Field) bool {
		framed, _ := r.framed.at(f)
		return !r.holdsKey(framed)
	})
}

// vary adds for each of some groups of calls the fields that depend on it, of those that
// matter (all of them if that is nil): the fields that are others than in base if the
// group has the known values of kind.
func (r *replay) vary(groups [][]int, kind marking, base result, matter fields, depending []fields) error {
	differing, err := r.differing(groups, kind, base, matter)
	if err != nil {
		return err
	}
	return r.split(groups, kind, base, differing, matter, depending)
}

// differing renders with other values for some groups of calls, and returns the fields that
// are others then.
func (r *replay) differing(groups [][]int, kind marking, base result, matter fields) (fields, error) {
	if r.tries--; r.tries < 0 {
		return nil, nil
	}
	values := &derived{calls: r.values.calls, other: map[int]filling{}}
	for _, group := range groups {
		for _, call := range group {
			values.other[call] = kind.fill.nth(group[0]) // of one value
		}
	}
	other, err := r.render(marking{values: values, fill: base.fill, blind: kind.blind})
	if r.ctx.Err() != nil {
		return nil, err
	}
	if err != nil || other.oracle.strayed > 0 || !sameDocuments(other.manifests, r.manifests) {
		return nil, nil
	}
	return r.changed(base, other, matter), nil
}

// changed returns the fields in which two renders differ, of those that matter.
func (r *replay) changed(base, other result, matter fields) fields {
	out, differing := fields{}, fields{}
	differing.addDifference(base, other)
	for _, f := range differing.sorted() {
		if !r.noise.touches(f.Document, f.Path) && (matter == nil || matter.touches(f.Document, f.Path)) {
			out.add(f.Document, f.Path)
		}
	}
	return out
}

// varyRest is vary for those groups on which no field is known to depend.
func (r *replay) varyRest(groups [][]int, kind marking, base result, matter fields, depending []fields) error {
	var rest [][]int
	var at []int
	for i, group := range groups {
		if len(depending[i]) == 0 {
			rest, at = append(rest, group), append(at, i)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	r.tries = freeTries + triesEach*len(rest)
	found := make([]fields, len(rest))
	err := r.vary(rest, kind, base, matter, found)
	for i, list := range found {
		depending[at[i]] = list
	}
	return err
}

// split finds out on which of some groups the fields depend that differ if all of these
// have other values. Where the same fields depend on either half, they are taken to depend
// on each group, as on the digits of one number.
func (r *replay) split(groups [][]int, kind marking, base result, differing, matter fields, depending []fields) error {
	switch {
	case len(differing) == 0 || len(groups) == 0:
		return nil
	case len(groups) == 1:
		depending[0] = differing
		return nil
	}
	half := len(groups) / 2
	first, err := r.differing(groups[:half], kind, base, matter)
	if err != nil {
		return err
	}
	second, err := r.differing(groups[half:], kind, base, matter)
	if err != nil {
		return err
	}
	if len(groups) > 2 && first.equal(differing) && second.equal(differing) {
		for i := range depending {
			depending[i] = differing
		}
		return nil
	}
	if err := r.split(groups[:half], kind, base, first, matter, depending[:half]); err != nil {
		return err
	}
	return r.split(groups[half:], kind, base, second, matter, depending[half:])
}

// secondExecutions returns the lost calls on which nothing but checksums depends, where the
// same call is executed at other times too: they are taken to be a second execution of one
// of those, since `include` makes new random values of what is hashed.
func (r *replay) secondExecutions(depending []fields) (map[int]bool, error) {
	second := map[int]bool{}
	var candidates []int
	for i, call := range r.lost {
		if len(depending[i]) > 0 && len(r.framed.oracle.digests) > 0 && len(r.alike(call)) > 1 {
			candidates = append(candidates, call)
		}
	}
	if len(candidates) == 0 {
		return second, nil
	}
	base, err := r.render(marking{values: r.values, fill: r.played[0].fill, blind: true})
	if err != nil {
		return nil, r.ctx.Err()
	}
	direct := make([]fields, len(candidates))
	for _, played := range r.played[1:] {
		if err := r.varyRest(single(candidates), marking{fill: played.fill, blind: true}, base, nil, direct); err != nil {
			return nil, err
		}
	}
	for i, call := range candidates {
		second[call] = len(direct[i]) == 0
	}
	return second, nil
}

// alike returns the executions of the same call that asked for the same.
func (r *replay) alike(call int) (out []int) {
	for i, other := range r.values.calls {
		if other.alike(r.values.calls[call].answer) {
			out = append(out, i)
		}
	}
	return out
}

// unite gives second executions the values of the first ones, in order, if each of those
// that one checksum is over has one. It reports whether there are any.
func (r *replay) unite(second map[int]bool, depending []fields) (found bool) {
	groups := map[string][]int{}
	for i, call := range r.lost {
		if second[call] {
			key := fmt.Sprint(r.values.calls[call].site, r.values.calls[call].request, depending[i].sorted())
			groups[key] = append(groups[key], call)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		group := groups[key]
		var first []int
		for _, call := range r.alike(group[0]) {
			if !second[call] && r.resolved.Lives(r.frame(call)) != "" {
				first = append(first, call)
			}
		}
		switch len(first) {
		case len(group):
			for i, call := range group {
				r.resolved.Unite(r.frame(call), r.frame(first[i]))
			}
			found = true
		case 0: // it is printed in hashes alone
			for _, call := range group {
				if r.houseAt(call, depending[slices.Index(r.lost, call)]) {
					found = true
				}
			}
		}
	}
	return found
}

// adopt lets the resolution adopt fields, with the values that each depends on.
func (r *replay) adopt() error {
	unsure := fields{}
	for _, a := range r.adopted {
		if a.unsure {
			unsure.add(a.Document, a.Path)
		}
	}
	byHome := map[string][]int{}
	for i, c := range r.values.calls {
		if c.make != nil && len(unsure) > 0 {
			name := r.resolved.Lives(c.frame)
			byHome[name] = append(byHome[name], i)
		}
	}
	for home, known := range r.housedByHome {
		if !slices.ContainsFunc(unsure.sorted(), func(f derive.Field) bool { return !known.touches(f.Document, f.Path) }) {
			delete(byHome, home) // all of them depend on it
		}
	}
	homes := slices.Sorted(maps.Keys(byHome))
	var groups [][]int
	for _, name := range homes {
		groups = append(groups, byHome[name])
	}
	depending := make([]fields, len(groups))
	for fill := filling(0); fill < fillings; fill++ {
		if err := r.varyRest(groups, marking{fill: fill}, r.played[0], unsure, depending); err != nil {
			return err
		}
	}
	for i, a := range r.adopted {
		for at, name := range homes {
			if a.unsure && depending[at].touches(a.Document, a.Path) {
				r.adopted[i].names = append(r.adopted[i].names, name)
			}
		}
	}
	for _, a := range r.adopted {
		if reason := r.resolved.Adopt(a.Field, a.value, a.random, a.names); reason != "" {
			r.refuse(a.Document, a.Path, reason)
		}
	}
	return nil
}
