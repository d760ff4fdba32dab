package export

import (
	"slices"
)

// A formula is a condition in negation normal form: constants and atoms below
// conjunctions and disjunctions. Formulas are made by every, some and not, which
// keep them short, and are never changed.
//
// A formula is total as a whole, not in each part: in has(x.a) && x.a == 'b' the
// second part is an error where the first is false. The usual laws hold all the
// same, because in CEL an error beside the deciding side of && or || is
// forgotten, whichever side it stands on.
type formula interface{ isFormula() }

type (
	constant    bool
	conjunction []formula // two or more
	disjunction []formula // two or more
)

// An atom is a condition that is not taken apart further.
type atom struct {
	kind    atomKind
	negated bool
	key     string // the text without negation, which identifies it

	// text is the CEL text of an opaque atom, of the left side of a membership, and of
	// what a loop runs over.
	text     string
	opposite string // of an opaque atom, if there is more to say than !(text)

	path   []string // of a presence: has(path[0].path[1])
	values []string // of a membership: the literals, text == value or text in values

	// Of a loop: text.exists(variable, body), or all() with universal.
	variable  string
	universal bool
	body      formula
}

type atomKind int

const (
	opaque atomKind = iota
	presence
	membership
	loop
	emptyStatus // size(status) == 0: then status has no field
)

func (constant) isFormula()    {}
func (conjunction) isFormula() {}
func (disjunction) isFormula() {}
func (*atom) isFormula()       {}

// newAtom is a with its key.
func newAtom(a atom) *atom {
	a.negated = false
	a.key = printAtom(&a)
	return &a
}

// not is the opposite of f.
func not(f formula) formula {
	switch f := f.(type) {
	case constant:
		return !f
	case conjunction:
		return some(each(f, not)...)
	case disjunction:
		return every(each(f, not)...)
	case *atom:
		opposite := *f
		opposite.negated = !f.negated
		return &opposite
	}
	return f
}

func each(parts []formula, change func(formula) formula) []formula {
	out := make([]formula, len(parts))
	for i, p := range parts {
		out[i] = change(p)
	}
	return out
}

// given is f where all facts hold. It reports whether they say anything of f, which is
// returned as it is if not.
func given(f formula, facts []*atom) (result formula, changed bool) {
	if len(facts) == 0 {
		return f, false
	}
	switch f := f.(type) {
	case *atom:
		for _, fact := range facts {
			if value, known := implied(f, fact); known {
				return constant(value), true
			}
		}
		if f.kind == loop {
			return givenInside(f, facts)
		}
	case conjunction:
		if parts, changed := eachGiven(f, facts); changed {
			return every(parts...), true
		}
	case disjunction:
		if parts, changed := eachGiven(f, facts); changed {
			return some(parts...), true
		}
	}
	return f, false
}

func eachGiven(parts []formula, facts []*atom) (out []formula, changed bool) {
	out = make([]formula, len(parts))
	for i, p := range parts {
		part, other := given(p, facts)
		out[i], changed = part, changed || other
	}
	return out, changed
}

// givenInside is given for a loop, whose body may say again what holds outside.
func givenInside(a *atom, facts []*atom) (formula, bool) {
	var outside []*atom
	for _, fact := range facts {
		if fact.kind == presence && fact.path[0] != a.variable {
			outside = append(outside, fact)
		}
	}
	inside := *a
	var changed bool
	if inside.body, changed = given(a.body, outside); !changed {
		return a, false
	}
	out := newAtom(inside)
	out.negated = a.negated
	return out, true
}

// implied is what a fact says of an atom.
func implied(a, fact *atom) (value, known bool) {
	positive, known := impliedPositive(a, fact)
	return positive != a.negated, known
}

// impliedPositive is implied for a without its negation.
func impliedPositive(a, fact *atom) (value, known bool) {
	if a.key == fact.key {
		return !fact.negated, true
	}
	switch {
	case a.kind == presence && fact.kind == presence:
		if !fact.negated && isPrefix(a.path, fact.path) {
			return true, true
		}
		return false, fact.negated && isPrefix(fact.path, a.path)
	case a.kind == membership && fact.kind == membership && a.text == fact.text:
		if fact.negated {
			return false, contained(a.values, fact.values)
		}
		if contained(fact.values, a.values) {
			return true, true
		}
		return false, disjoint(a.values, fact.values)
	case a.kind == emptyStatus && fact.kind == presence:
		return false, !fact.negated && fact.path[0] == statusVariable
	case a.kind == presence && fact.kind == emptyStatus:
		return false, !fact.negated && a.path[0] == statusVariable
	}
	return false, false
}

func isPrefix(short, long []string) bool {
	return len(short) <= len(long) && slices.Equal(short, long[:len(short)])
}

func contained(a, b []string) bool {
	return !slices.ContainsFunc(a, func(v string) bool { return !slices.Contains(b, v) })
}

func disjoint(a, b []string) bool {
	return !slices.ContainsFunc(a, func(v string) bool { return slices.Contains(b, v) })
}

// every holds where all parts hold.
func every(parts ...formula) formula {
	list, decided := reduce[conjunction](parts, false)
	if decided {
		return constant(false)
	}
	list = factored[disjunction](joinMemberships(joinLoops(list, true), true), every, some)
	switch len(list) {
	case 0:
		return constant(true)
	case 1:
		return list[0]
	}
	return conjunction(list)
}

// some holds where any part holds.
func some(parts ...formula) formula {
	list, decided := reduce[disjunction](parts, true)
	if decided {
		return constant(true)
	}
	list = factored[conjunction](joinMemberships(joinLoops(list, false), false), some, every)
	switch len(list) {
	case 0:
		return constant(false)
	case 1:
		return list[0]
	}
	return disjunction(list)
}

// reduce takes nested lists of the same kind apart and simplifies each part by
// what the others say: in a conjunction the rest matters only where this part
// holds, in a disjunction only where it does not. It reports whether a part decides
// the whole, true for a disjunction.
func reduce[L conjunction | disjunction](parts []formula, deciding bool) (list []formula, decided bool) {
	for _, p := range parts {
		if nested, ok := p.(L); ok {
			list = append(list, nested...)
		} else {
			list = append(list, p)
		}
	}
	// From the end, so that of two equal parts the first stays.
	for i := len(list) - 1; i >= 0; i-- {
		var facts []*atom
		for k, p := range list {
			if a, ok := p.(*atom); ok && k != i {
				if deciding {
					a = not(a).(*atom)
				}
				facts = append(facts, a)
			}
		}
		reduced, changed := given(list[i], facts)
		_, isConstant := reduced.(constant)
		if !changed && !isConstant {
			continue
		}
		_, wasAtom := list[i].(*atom)
		switch part := reduced.(type) {
		case constant:
			if bool(part) == deciding {
				return nil, true
			}
			list = slices.Delete(list, i, i+1)
		case L:
			list = slices.Replace(list, i, i+1, part...)
			i = len(list) // there are more facts
		case *atom:
			list[i] = part
			if !wasAtom {
				i = len(list)
			}
		default:
			list[i] = part
		}
	}
	return list, false
}

// joinLoops makes one loop of x.exists(c, a) || x.exists(c, b), and in a
// conjunction of x.all(c, a) && x.all(c, b) and of two exists that do not hold.
func joinLoops(parts []formula, conjoined bool) []formula {
	return joined(parts, func(a, b *atom) bool {
		return a.kind == loop && b.kind == loop && a.universal == b.universal && a.negated == b.negated &&
			(a.universal != a.negated) == conjoined && a.text == b.text && a.variable == b.variable
	}, func(a, b *atom) atom {
		both := *a
		if both.body = some(a.body, b.body); a.universal {
			both.body = every(a.body, b.body)
		}
		return both
	})
}

// joinMemberships makes x in ['a', 'b'] of x == 'a' || x == 'b', and its opposite of
// x != 'a' && x != 'b'.
func joinMemberships(parts []formula, conjoined bool) []formula {
	return joined(parts, func(a, b *atom) bool {
		return a.kind == membership && b.kind == membership && a.negated == conjoined && b.negated == conjoined && a.text == b.text
	}, func(a, b *atom) atom {
		both := *a
		both.values = slices.Clone(a.values)
		for _, v := range b.values {
			if !slices.Contains(both.values, v) {
				both.values = append(both.values, v)
			}
		}
		return both
	})
}

// joined puts atoms that match together at the place of the first. They have the
// same sign.
func joined(parts []formula, match func(a, b *atom) bool, join func(a, b *atom) atom) []formula {
	var out []formula
	for _, p := range parts {
		b, isAtom := p.(*atom)
		at := -1
		if isAtom {
			at = slices.IndexFunc(out, func(other formula) bool {
				a, ok := other.(*atom)
				return ok && match(a, b)
			})
		}
		if at < 0 {
			out = append(out, p)
			continue
		}
		both := newAtom(join(out[at].(*atom), b))
		both.negated = b.negated
		out[at] = both
	}
	return out
}

// factored shortens the parts of a disjunction, or, with the words exchanged, of a
// conjunction: a part that asks for all that another asks for and more is taken
// out, and g && a || g && b becomes g && (a || b).
func factored[Inner conjunction | disjunction](parts []formula, outer, inner func(...formula) formula) []formula {
	lists := make([][]formula, len(parts))
	keys := make([][]string, len(parts))
	for i, p := range parts {
		lists[i] = []formula{p}
		if list, ok := p.(Inner); ok {
			lists[i] = list
		}
		for _, f := range lists[i] {
			keys[i] = append(keys[i], printFormula(f))
		}
	}
	var kept []int
	count := map[string]int{}
	for i := range parts {
		idle := slices.ContainsFunc(kept, func(k int) bool { return contained(keys[k], keys[i]) })
		for k := i + 1; k < len(parts) && !idle; k++ {
			idle = len(keys[k]) < len(keys[i]) && contained(keys[k], keys[i])
		}
		if idle {
			continue
		}
		kept = append(kept, i)
		for _, key := range keys[i] {
			count[key]++
		}
	}
	common := ""
	for _, i := range kept {
		for _, key := range keys[i] {
			if count[key] > max(1, count[common]) {
				common = key
			}
		}
	}
	var out, rests []formula
	var shared formula
	at := -1
	for _, i := range kept {
		k := slices.Index(keys[i], common)
		if k < 0 {
			out = append(out, parts[i])
			continue
		}
		if at < 0 {
			at, shared = len(out), lists[i][k]
			out = append(out, nil)
		}
		rests = append(rests, inner(slices.Delete(slices.Clone(lists[i]), k, k+1)...))
	}
	if at < 0 {
		return out
	}
	out[at] = inner(shared, outer(rests...))
	if len(out) == 1 {
		return out
	}
	return factored[Inner](out, outer, inner)
}
