package chart

import (
	"slices"
	"strings"

	"hallmark.dev/hallmark/plugin/derive"
)

// field settles a field of which it is not known that it is what Helm makes of the
// derived values.
func (r *replay) field(f derive.Field) error {
	if !r.isEverywhere(f) {
		for len(f.Path) > 0 && !r.isEverywhere(f) {
			f.Path = f.Path[:len(f.Path)-1]
		}
		r.refuse(f.Document, f.Path, otherFields)
		return nil
	}
	if r.byTime(f) {
		r.refuse(f.Document, f.Path, timeDecides)
		return nil
	}
	framed, _ := r.framed.at(f)
	if r.holdsKey(framed) {
		r.withKey(f, framed)
		return nil
	}
	value, same, err := r.steady(f)
	if err != nil {
		return err
	}
	if !same {
		r.reject(f)
		return nil
	}
	if _, isMapping := value.(map[string]any); isMapping {
		r.refuse(f.Document, f.Path, otherFields)
		return nil
	}
	random := r.housed.touches(f.Document, f.Path) || r.holdsToken(framed)
	if !random {
		var seen bool
		if random, seen, err = r.depends(f, value); err != nil {
			return err
		} else if !seen {
			r.reject(f)
			return nil
		}
	}
	known, refused := r.reasons[where(f.Document, f.Path)]
	r.adopted = append(r.adopted, adoption{
		Adopted: derive.Adopted{Field: f, Value: value, Random: random},
		unsure:  random && (!r.holdsToken(framed) || refused && known.Reason != derive.OtherForm),
	})
	return nil
}

// adoption is a field that has what the chart made of derived values.
type adoption struct {
	derive.Adopted
	// unsure says that it is not known which values it depends on.
	unsure bool
}

// reject refuses a field, for the reason that package derive has if that says more.
func (r *replay) reject(f derive.Field) {
	at := where(f.Document, f.Path)
	if known, ok := r.reasons[at]; ok && !known.Vague() {
		return
	}
	r.resolved.Refused = slices.DeleteFunc(r.resolved.Refused, func(other derive.Refused) bool { return where(other.Document, other.Path) == at })
	reason := computed
	if unknown := r.unknown(f); len(unknown) > 0 {
		reason = keyComputed
		if slices.ContainsFunc(unknown, func(c *call) bool { return !strings.HasPrefix(c.function, "gen") }) {
			reason = derive.Unexplained
		}
	}
	r.refuse(f.Document, f.Path, r.because(f.Document, reason))
}

// unknown returns the calls that the field's file may have executed, and whose results are
// not known.
func (r *replay) unknown(f derive.Field) []*call {
	return slices.DeleteFunc(slices.Clone(r.found.reach[r.manifests[f.Document].source]), r.isAnswered)
}

const leftMark = "a text with the call of a random function is printed or computed with, in a way that is not known"

const timeDecides = "the time decides on it"

const otherFields = "which fields it has depends on a random value or on the time"

const keyComputed = "the template does more with a certificate or a key than print it"

const computed = "the template tests the random value, or it cuts the random value or computes with it"

// isEverywhere reports whether each render has the field.
func (r *replay) isEverywhere(f derive.Field) bool {
	for _, each := range append([]result{r.framed, {manifests: r.manifests}}, r.played...) {
		if _, found := each.at(f); !found {
			return false
		}
	}
	return true
}

// agreed returns a field of the first of some renders, and whether all have it so.
func agreed(renders []result, f derive.Field) (value any, same bool) {
	value, same = renders[0].at(f)
	for _, other := range renders[1:] {
		v, found := other.at(f)
		same = same && found
		Diff(value, v, func([]any) { same = false })
	}
	return value, same
}

// holdsToken reports whether a random value stands in a part of the render with frames.
func (r *replay) holdsToken(framed any) bool {
	found := false
	one, other := foresight{fill: 0}, foresight{fill: 1}
	Diff(one.value(framed), other.value(framed), func([]any) { found = true })
	return found
}

// holdsKey reports whether a certificate or a key stands in a part of the render with
// frames, or a hash of one.
func (r *replay) holdsKey(framed any) bool {
	found := false
	walkStrings("", foresight{}.value(framed), nil, func(t text) { found = found || strings.Contains(t.body, unforeseen) })
	return found
}

// withKey settles a field with a certificate or a key. What package derive made of it
// stays if the templates do nothing with the rest of it.
func (r *replay) withKey(f derive.Field, framed any) {
	for _, played := range r.played {
		value, _ := played.at(f)
		foreseen := true
		foresight{resolved: r.resolved, fill: played.fill}.compare(framed, value, func([]any) { foreseen = false })
		if !foreseen {
			r.reject(f)
			return
		}
	}
}

// steady returns a field of the renders with derived values, and whether all have it so.
// Where calls whose results are not known can decide on it, that could be by chance.
func (r *replay) steady(f derive.Field) (value any, same bool, err error) {
	value, same = agreed(r.played, f)
	if !same || len(r.unknown(f)) == 0 {
		return value, same, nil
	}
	if r.more == nil {
		for i := range moreFew {
			// In some the keys are of the kind that the chart asks for.
			if err := r.add(&r.more, marking{values: r.values, fill: r.played[0].fill, slow: i < 2}); err != nil {
				return nil, false, err
			}
		}
	}
	if len(r.more) < moreFew {
		return value, false, nil
	}
	other, same := agreed(r.more, f)
	Diff(value, other, func([]any) { same = false })
	return value, same, nil
}

// byTime reports whether a field is another one at another time, and not by a time that it
// holds.
func (r *replay) byTime(f derive.Field) bool {
	decides := false
	value, _ := r.still.at(f)
	for _, after := range r.after {
		other, _ := after.at(f)
		Diff(value, other, func(path []any) {
			at := derive.Field{Document: f.Document, Path: slices.Concat(f.Path, path)}
			var each []any
			for _, render := range append([]result{r.still}, r.after...) {
				v, _ := render.at(at)
				each = append(each, v)
			}
			framed, _ := r.framed.at(at)
			decides = decides || !r.holdsKey(framed) && !derive.PrintsTime(each[0], each[1], each[2])
		})
	}
	return decides
}

// depends tells whether a field in which no random value stands depends on one. It is
// seen if that cannot be one that lives nowhere.
func (r *replay) depends(f derive.Field, value any) (depends, seen bool, err error) {
	if depends = r.framesDecide(f); !depends {
		if depends, err = r.knownDecide(f, value); err != nil {
			return false, false, err
		}
	}
	if len(r.lost) == 0 {
		return depends, true, nil
	}
	if err := r.addLong(&r.longLost, r.values); err != nil || len(r.longLost) < 2 {
		return depends, false, err
	}
	_, seen = agreed(r.longLost, f)
	return depends, seen, nil
}

// framesDecide reports whether a field differs between the two renders with frames, which
// is so by these alone unless there are calls whose results are not known.
func (r *replay) framesDecide(f derive.Field) bool {
	_, same := agreed([]result{r.framed, r.again}, f)
	return !same && len(r.unknown(f)) == 0
}

// knownDecide reports whether a field is another one with some known values, or with those
// as long as frames.
func (r *replay) knownDecide(f derive.Field, value any) (bool, error) {
	none := r.values.unknown()
	if r.known == nil {
		r.known = []result{r.still}
		for fill := filling(1); fill < fillings; fill++ {
			if err := r.add(&r.known, marking{values: none, fill: fill}); err != nil {
				return false, err
			}
		}
	}
	known, same := agreed(r.known, f)
	Diff(known, value, func([]any) { same = false })
	if !same {
		return true, nil
	}
	if err := r.addLong(&r.long, none); err != nil {
		return false, err
	}
	if len(r.long) > 1 {
		_, same = agreed(r.long, f)
	}
	return !same, nil
}

// addLong adds two renders in which values that are not derived are as long as frames, once.
func (r *replay) addLong(to *[]result, values *derived) error {
	if *to != nil {
		return nil
	}
	*to = []result{}
	for _, fill := range []filling{longLetters, longOne} {
		if err := r.add(to, marking{values: values, fill: fill}); err != nil {
			return err
		}
	}
	return nil
}

// add adds a render to some others, unless it fails or has other documents.
func (r *replay) add(to *[]result, kind marking) error {
	other, err := r.render(kind)
	if r.ctx.Err() != nil {
		return err
	}
	if err == nil && sameDocuments(other.manifests, r.manifests) {
		*to = append(*to, other)
	}
	return nil
}
