package chart

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"hallmark.dev/hallmark/plugin/derive"
)

// A call is lost if its value is printed nowhere as a whole: a template cuts it, computes
// with it, decides by it or does nothing with it. What depends on such a call shows by
// giving it other values.

// houseRounds bounds how often it is asked which fields depend on lost calls: whether one
// does can be up to the value of another one.
const houseRounds = 6

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
	r.inFront = map[string]string{}
	depending := make([]fields, len(r.lost))
	for n, other := range r.played[1:] {
		if n == 0 {
			all := change{r.changed(r.played[0], other, nil), r.played[0], other}
			err = r.split(r.groups(r.lost), marking{fill: other.fill}, r.played[0], all, depending)
		} else {
			err = r.varyRest(r.groups(r.lost), marking{fill: other.fill}, r.played[0], nil, depending)
		}
		if err != nil {
			return false, err
		}
	}
	if found, err = r.separate(depending); err != nil {
		return false, err
	}
	second, err := r.secondExecutions(depending)
	if err != nil {
		return false, err
	}
	var first []int
	offsets := map[int]int{}
	for i, call := range r.lost {
		if !second[call] && len(depending[i]) > 0 {
			first, offsets[i] = append(first, i), r.offset(call, depending[i])
		}
	}
	// Of those in one text the first is the one that stands in front.
	slices.SortStableFunc(first, func(a, b int) int { return offsets[a] - offsets[b] })
	for _, i := range first {
		if r.houseAt(r.lost[i], depending[i]) {
			found = true
		}
	}
	return r.unite(second, depending) || found, nil
}

// separate finds the calls that are taken to be others, as they seem to be in what is hashed
// alone, and on which fields depend without that, or such in the data of a Secret: what is
// there is no checksum, but a secret of its own.
func (r *replay) separate(depending []fields) (found bool, err error) {
	var guessed []int
	var frames []string
	for i, call := range r.lost {
		if len(depending[i]) > 0 && r.resolved.Guessed(r.frame(call)) {
			guessed = append(guessed, call)
		}
	}
	behind := map[int]bool{}
	if err := r.seeBehind(map[int]bool{}, guessed, behind); err != nil || len(guessed) == 0 {
		return false, err
	}
	for i, call := range r.lost {
		if is, known := behind[call]; known && (!is || slices.ContainsFunc(depending[i].sorted(), r.resolved.InData)) {
			frames = append(frames, r.frame(call))
		}
	}
	if len(frames) == 0 {
		return false, nil
	}
	r.resolved.Separate(frames)
	return true, nil
}

// houseAt makes one of the fields that depend on a lost call its home, and reports whether
// it has one now.
func (r *replay) houseAt(call int, depending fields) bool {
	if len(depending) == 0 || !r.resolved.House(r.frame(call), r.spots(call, depending)) {
		return false
	}
	for _, one := range r.groups([]int{call})[0] {
		r.atHome[one] = true
	}
	for _, f := range depending.sorted() {
		r.housed.add(f.Document, f.Path)
	}
	return true
}

func (r *replay) frame(call int) string { return r.values.calls[call].frame }

// groups returns each of some calls with those that have its value.
func (r *replay) groups(calls []int) (groups [][]int) {
	for _, call := range calls {
		groups = append(groups, append([]int{call}, r.repeats[call]...))
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

// differing renders with other values for some groups of calls, and returns the fields that
// are others then. They are not known where the chart fails with such values, or has other
// objects.
func (r *replay) differing(groups [][]int, kind marking, base result, matter fields) (c change, known bool, err error) {
	values := &derived{calls: r.values.calls, other: map[int]filling{}}
	for _, group := range groups {
		for _, call := range group {
			values.other[call] = kind.fill.nth(group[0]) // of one value
		}
	}
	other, err := r.render(marking{values: values, fill: base.fill, sighted: kind.sighted})
	if r.ctx.Err() != nil {
		return change{}, false, err
	}
	if err != nil || other.oracle.strayed > 0 || !sameDocuments(other.manifests, r.manifests) {
		return change{}, false, nil
	}
	return change{r.changed(base, other, matter), base, other}, true, nil
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

// varyRest finds for each of some groups of calls, if no field is known to depend on it, the
// fields that do, of those that matter (all of them if that is nil): the fields that are others
// than in base if the group has the known values of kind.
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
	differing, _, err := r.differing(rest, kind, base, matter)
	if err != nil {
		return err
	}
	found := make([]fields, len(rest))
	err = r.split(rest, kind, base, differing, found)
	for i, list := range found {
		depending[at[i]] = list
	}
	return err
}

// split finds out on which of some groups the fields depend that differ if all of these
// have other values.
func (r *replay) split(groups [][]int, kind marking, base result, differing change, depending []fields) error {
	rest, err := r.decode(groups, kind, base, differing.fields, depending)
	if err != nil || len(rest) == 0 {
		return err
	}
	several := make([]fields, len(groups))
	if err := r.halve(groups, kind, base, change{rest, differing.base, differing.other}, several); err != nil {
		return err
	}
	for i, list := range several {
		for _, f := range list.sorted() {
			addTo(&depending[i], f)
		}
	}
	return nil
}

func addTo(list *fields, f derive.Field) {
	if *list == nil {
		*list = fields{}
	}
	list.add(f.Document, f.Path)
}

// leastDecoded is how many groups there are at least where decode takes fewer renders than
// halve.
const leastDecoded = 4

// decode finds the fields that depend on one group each, and returns the others. Each group
// has a word of binary digits, and for each digit it renders with other values for the groups
// whose word has it: the renders in which a field changes tell the word.
func (r *replay) decode(groups [][]int, kind marking, base result, differing fields, depending []fields) (fields, error) {
	if len(groups) < leastDecoded || len(differing) == 0 {
		return differing, nil
	}
	words, length := codewords(len(groups))
	digits := make([]change, length)
	for digit := range digits {
		var with [][]int
		for i, group := range groups {
			if words[i]>>digit&1 == 1 {
				with = append(with, group)
			}
		}
		var known bool
		var err error
		if digits[digit], known, err = r.differing(with, kind, base, differing); err != nil || !known {
			return differing, err
		}
	}
	rest := fields{}
	for _, f := range differing.sorted() {
		var word uint
		for digit, changed := range digits {
			if changed.touches(f.Document, f.Path) {
				word |= 1 << digit
			}
		}
		if i, known := slices.BinarySearch(words, word); known {
			addTo(&depending[i], f)
			r.notes(groups[i], f, digits[bits.TrailingZeros(word)])
		} else {
			rest.add(f.Document, f.Path)
		}
	}
	return rest, nil
}

// codewords returns n numbers of as few binary digits as can be, in order, and how many those
// are. In each the same odd number of digits is set: in what two of them set together there
// are more, in what both set fewer, and in what just one of them sets an even number.
func codewords(n int) (words []uint, length int) {
	for len(words) < n {
		length++
		words = words[:0]
		for word := range uint(1) << length {
			if bits.OnesCount(word) == length/2|1 {
				words = append(words, word)
			}
		}
	}
	return words[:n], length
}

// mostExact is how many groups there are at most where halve looks at each.
const mostExact = 16

// halve is split for fields that may depend on several groups. Where there are many, and the
// same ones depend on either half, they are taken to depend on each group, as on the digits
// of one number.
func (r *replay) halve(groups [][]int, kind marking, base result, differing change, depending []fields) error {
	switch {
	case len(differing.fields) == 0 || len(groups) == 0:
		return nil
	case len(groups) == 1:
		r.take(groups, differing, depending)
		return nil
	}
	half := len(groups) / 2
	first, err := r.part(groups[:half], kind, base, differing)
	if err != nil {
		return err
	}
	second, err := r.part(groups[half:], kind, base, differing)
	if err != nil {
		return err
	}
	if len(groups) > mostExact && first.equal(differing.fields) && second.equal(differing.fields) {
		r.take(groups[:half], first, depending[:half])
		r.take(groups[half:], second, depending[half:])
		return nil
	}
	if err := r.halve(groups[:half], kind, base, first, depending[:half]); err != nil {
		return err
	}
	return r.halve(groups[half:], kind, base, second, depending[half:])
}

// take takes the fields that change with some groups to depend on each.
func (r *replay) take(groups [][]int, c change, depending []fields) {
	for i, group := range groups {
		depending[i] = c.fields
		for _, f := range c.sorted() {
			r.notes(group, f, c)
		}
	}
}

// part is differing for groups of which parts are looked at next, where it is not known.
func (r *replay) part(groups [][]int, kind marking, base result, differing change) (change, error) {
	c, known, err := r.differing(groups, kind, base, differing.fields)
	if !known && len(groups) > 1 {
		c = differing
	}
	return c, err
}

// secondExecutions returns the lost calls on which nothing but checksums depends, where the
// same call is executed at other times too: they are taken to be a second execution of one
// of those, since `include` makes new random values of what is hashed. In the data of a
// Secret there is none, see separate.
func (r *replay) secondExecutions(depending []fields) (map[int]bool, error) {
	second := map[int]bool{}
	var candidates []int
	for i, call := range r.lost {
		if len(depending[i]) > 0 && !slices.ContainsFunc(depending[i].sorted(), r.resolved.InData) && r.digests() && len(r.alike(call)) > 1 && len(r.repeats[call]) == 0 && r.resolved.Lives(r.frame(call)) == "" {
			candidates = append(candidates, call)
		}
	}
	if err := r.seeBehind(map[int]bool{}, candidates, second); err != nil {
		return nil, err
	}
	// Where all executions of a call are behind digests, those that each of them goes through
	// are no checksums of a second one, but a part of what is hashed.
	for len(candidates) > 0 {
		group := slices.DeleteFunc(r.alike(candidates[0]), func(call int) bool { return !slices.Contains(candidates, call) })
		candidates = slices.DeleteFunc(candidates, func(call int) bool { return slices.Contains(group, call) })
		if len(group) < 2 || len(group) > mostBehind || slices.ContainsFunc(r.alike(group[0]), func(call int) bool { return !second[call] }) {
			continue
		}
		common, err := r.throughDigests(group)
		if err != nil {
			return nil, err
		}
		if len(common) > 0 {
			if err := r.seeBehind(common, group, second); err != nil {
				return nil, err
			}
		}
	}
	return second, nil
}

// mostBehind bounds the calls that throughDigests looks at, each in a render.
const mostBehind = 64

// digests reports whether the chart executes any.
func (r *replay) digests() bool {
	return len(r.framed.oracle.digests) > 0 || len(r.framed.oracle.results) > 0
}

// seeBehind notes which calls no field depends on otherwise than by digests that are not
// sighted. It notes none where the chart fails with such digests.
func (r *replay) seeBehind(sighted map[int]bool, calls []int, behind map[int]bool) error {
	if len(calls) == 0 {
		return nil
	}
	base, err := r.render(marking{values: r.values, fill: r.played[0].fill, sighted: sighted})
	if err != nil {
		return r.ctx.Err()
	}
	direct := make([]fields, len(calls))
	for _, played := range r.played[1:] {
		if err := r.varyRest(r.groups(calls), marking{fill: played.fill, sighted: sighted}, base, nil, direct); err != nil {
			return err
		}
	}
	for i, call := range calls {
		behind[call] = len(direct[i]) == 0
	}
	return nil
}

// throughDigests returns the calls of digests that each of some executions goes through.
func (r *replay) throughDigests(executions []int) (common map[int]bool, err error) {
	for _, call := range executions {
		changed := map[int]bool{}
		for _, played := range r.played[1:] {
			values := &derived{calls: r.values.calls, other: map[int]filling{call: played.fill.nth(call)}}
			other, err := r.render(marking{values: values, fill: r.played[0].fill})
			if r.ctx.Err() != nil {
				return nil, err
			}
			if err != nil {
				continue
			}
			for site, results := range other.oracle.results {
				if !slices.Equal(results, r.played[0].oracle.results[site]) {
					changed[site] = true
				}
			}
			if len(changed) > 0 {
				break
			}
		}
		if common == nil {
			common = changed
		}
		maps.DeleteFunc(common, func(site int, _ bool) bool { return !changed[site] })
	}
	return common, nil
}

// alike returns the executions of the same call that asked for the same, less those that are
// known to be second ones.
func (r *replay) alike(call int) (out []int) {
	for i, other := range r.values.calls {
		if other.alike(r.values.calls[call].answer) && other.like == i {
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
		if c.make != nil && len(unsure) > 0 && !r.atHome[i] {
			name := r.resolved.Lives(c.frame)
			byHome[name] = append(byHome[name], i)
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
	direct, err := r.direct()
	if err != nil {
		return err
	}
	for _, a := range r.adopted {
		for at, name := range homes {
			if a.unsure && depending[at].touches(a.Document, a.Path) {
				a.Names = append(a.Names, name)
			}
		}
		a.Digest = direct != nil && !direct.touches(a.Document, a.Path)
		if reason := r.resolved.Adopt(a.Adopted); reason != "" {
			r.refuse(a.Document, a.Path, reason)
		}
	}
	return nil
}

// direct returns the fields that depend on random values otherwise than by digests, or nil
// where that is not known to matter: what digests give is no secret.
func (r *replay) direct() (fields, error) {
	if !r.digests() || !slices.ContainsFunc(r.adopted, func(a adoption) bool { return a.Random }) {
		return nil, nil
	}
	var blind []result
	kinds := []marking{{values: r.values, fill: r.played[0].fill}}
	for fill := range filling(fillings) {
		kinds = append(kinds, marking{values: r.values.unknown(), fill: fill})
	}
	for _, kind := range kinds {
		kind.sighted = map[int]bool{}
		if err := r.add(&blind, kind); err != nil {
			return nil, err
		}
	}
	if len(blind) < 2 {
		return nil, nil
	}
	direct := fields{}
	for _, other := range blind[1:] {
		for _, f := range r.changed(blind[0], other, nil).sorted() {
			direct.add(f.Document, f.Path)
		}
	}
	return direct, nil
}
