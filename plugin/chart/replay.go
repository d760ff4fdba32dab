package chart

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/derive"
)

// A replay is the chart's render with derived values. It says what the fields are that
// frames do not foretell.
type replay struct {
	*marker
	resolved *derive.Resolution
	values   *derived
	// unanswered says that the chart may call functions whose results are not known.
	unanswered bool
	// lost are the calls without a derived value, by their place in the log. Rehouse says that
	// those are among them whose values seem to be printed in hashes alone: the template may
	// print what it makes of one too, which is a better home.
	lost    []int
	rehouse bool
	// repeats are the second executions of lost calls, which are not among them.
	repeats map[int][]int
	// played are the renders. In each of them the lost calls have other known values.
	played []result
	// reasons are those for which package derive refuses fields, by document and pointer.
	reasons map[string]derive.Refused
	// known are renders in which all values are known ones, long such in which they are as
	// long as frames. In longLost just those of lost calls are.
	known, long, longLost []result
	// more are renders like the first of played, for what could agree by chance.
	more    []result
	adopted []adoption
	// housed are the fields that depend on calls that were lost, and atHome those that have
	// a home in one now.
	housed fields
	atHome map[int]bool
	noise  fields // that differ though all values are the same
	// inFront is what stands in front of what is made of a lost call in a field, by spot.
	inFront map[string]string
}

// replay renders with derived values, and lets the resolution adopt what that says.
func (m *marker) replay(resolved *derive.Resolution) error {
	r := &replay{marker: m, resolved: resolved, reasons: map[string]derive.Refused{}, housed: fields{}, atHome: map[int]bool{}, inFront: map[string]string{}}
	r.rehouse = slices.ContainsFunc(m.framed.oracle.log, func(a answer) bool { return resolved.Hashed(a.frame) || resolved.Guessed(a.frame) })
	r.unanswered = slices.ContainsFunc(m.found.calls, func(c *call) bool { return !m.isAnswered(c) })
	for _, f := range resolved.Refused {
		r.reasons[where(f.Document, f.Path)] = f
	}
	r.assign()
	for round := 0; ; round++ {
		if ok, err := r.playAll(); err != nil || !ok {
			return err
		}
		if len(r.lost) == 0 || round == houseRounds {
			break
		}
		found, err := r.house()
		if err != nil {
			return err
		}
		if !found && !r.rehouse {
			break
		}
		r.rehouse = false
		r.assign()
	}
	for i := range m.manifests {
		if err := r.document(i); err != nil {
			return err
		}
	}
	if err := r.adopt(); err != nil {
		return err
	}
	r.refuseLeft()
	resolved.Finish()
	return nil
}

func where(document int, path []any) string { return fmt.Sprint(document, object.Pointer(path...)) }

// assign gives the calls of the first render with frames their derived values.
func (r *replay) assign() {
	r.values, r.lost, r.repeats = &derived{}, nil, map[int][]int{}
	first := map[string]int{}
	for i, a := range r.framed.oracle.log {
		d := derivation{answer: a, like: i}
		key, guessed := r.resolved.Key(a.frame), r.rehouse && r.resolved.Guessed(a.frame)
		if _, ok := r.resolved.Value(a.frame, ""); ok && !guessed && !(r.rehouse && r.resolved.Hashed(a.frame)) {
			d.make = func(input string) (string, bool) { return r.resolved.Value(a.frame, input) }
		} else if call, known := first[key]; known && !guessed {
			r.repeats[call] = append(r.repeats[call], i)
			d.like = call
		} else {
			r.lost = append(r.lost, i)
			if !guessed {
				first[key] = i
			}
		}
		r.values.calls = append(r.values.calls, d)
	}
}

// playAll renders with derived values, and so often that it shows what else a result
// depends on. It is false where no result can be taken.
func (r *replay) playAll() (bool, error) {
	renders := 1
	switch {
	case len(r.lost) > 0:
		renders = fillings
	case slices.ContainsFunc(r.found.calls, func(c *call) bool { return c.class == few && !r.isAnswered(c) }):
		renders = moreFew
	case r.unanswered:
		renders = 2
	}
	r.played = nil
	if len(r.values.calls) == 0 && renders == 1 {
		r.played = []result{r.still} // there are no values
		return true, nil
	}
	var fault Finding
	fills := make([]filling, renders)
	for i := range fills {
		fills[i] = filling(i % fillings)
	}
	if slices.ContainsFunc(r.lost, func(call int) bool {
		request := r.values.calls[call].request
		return len(request) > 1 && isFew(request[:1], request[1:])
	}) {
		for i := range filling(moreFills) {
			fills = append(fills, firstMore+i)
		}
	}
	for _, fill := range fills {
		played, refused, err := r.play(marking{values: r.values, fill: fill})
		switch {
		case err != nil:
			return false, err
		case refused == nil:
			r.played = append(r.played, played)
		case fault.Reason == "":
			fault = *refused
		}
	}
	// Of known values some may be refused by a template, as if they were passwords
	// without a digit.
	if len(r.played) < min(renders, 2) || len(r.lost) == 0 && fault.Reason != "" {
		r.findings = append(r.findings, fault)
		return false, nil
	}
	for _, played := range r.played[1:] {
		if !r.sameObjects(played) {
			return false, nil
		}
	}
	return r.sameObjects(r.played[0]), nil
}

// play renders with derived values, if the result can be taken: else it returns why not.
func (r *replay) play(kind marking) (result, *Finding, error) {
	played, err := r.render(kind)
	if r.ctx.Err() != nil {
		return result{}, nil, err
	}
	if err != nil {
		// The message may quote a value.
		f := Finding{Reason: "rendering fails with the derived values"}
		if at := (*diag.Error)(nil); errors.As(err, &at) {
			f.Template = at.File
			f.Reason += fmt.Sprintf(" (in line %d); those of another generation are others", at.Line)
		}
		return result{}, &f, nil
	}
	answers := played.oracle
	if answers.hashedMark > 0 {
		return result{}, &Finding{Template: r.found.calls[answers.hashedMark-1].template, Reason: leftMark}, nil
	}
	if answers.failed > 0 {
		c := r.found.calls[answers.failed-1]
		return result{}, &Finding{Template: c.template, Reason: fmt.Sprintf("for what %s is given in line %d there is no value", c.function, c.line)}, nil
	}
	strayed := answers.strayed
	if n := len(answers.log); strayed == 0 && n < len(r.values.calls) {
		strayed = r.values.calls[n].site
	}
	for _, site := range slices.Sorted(maps.Keys(answers.executed)) {
		if strayed == 0 && !r.framed.oracle.executed[site] && r.found.calls[site-1].class != digest {
			strayed = site
		}
	}
	if strayed > 0 {
		return result{}, &Finding{Template: r.found.calls[strayed-1].template, Reason: otherCalls}, nil
	}
	return played, nil, nil
}

// document holds the renders with derived values against a document of the resolution.
func (r *replay) document(i int) error {
	assembled := r.manifests[i].value
	if made, ok := r.resolved.Values[i]; ok {
		assembled = made
	}
	open, final := fields{i: slices.Clone(r.housed[i])}, fields{}
	for _, f := range r.resolved.Refused {
		switch {
		case f.Document == i && f.Final:
			final.add(i, f.Path)
		case f.Document == i:
			open.add(i, f.Path)
		}
	}
	for _, played := range r.played {
		Diff(assembled, played.manifests[i].value, func(path []any) { open.add(i, path) })
	}
	if played := r.played[0].manifests[i]; played.body != r.framed.manifests[i].body {
		foresight{resolved: r.resolved}.compare(r.framed.manifests[i].value, played.value, func(path []any) { open.add(i, path) })
	}
	for _, after := range r.after {
		Diff(r.still.manifests[i].value, after.manifests[i].value, func(path []any) {
			if r.byTime(derive.Field{Document: i, Path: path}) {
				open.add(i, path)
			}
		})
	}
	whole := fields{} // those that are adopted with all that is in them
	for _, f := range open.sorted() {
		if final.touches(i, f.Path) || whole.touches(i, f.Path) {
			continue
		}
		before := len(r.adopted)
		if err := r.field(f); err != nil {
			return err
		}
		if len(r.adopted) > before {
			whole.add(i, f.Path)
		}
	}
	r.between(i)
	r.marks(i)
	return nil
}

// marks refuses fields of a document in which a mark is left over, since a text with a call
// is printed in a form that is not known.
func (r *replay) marks(i int) {
	if r.framed.oracle.unmarked == nil {
		return
	}
	value := r.played[0].manifests[i].value
	Diff(withoutMarks(value), value, func(path []any) {
		r.refuse(i, path, leftMark)
	})
}

// withoutMarks returns a value in which no text with a mark is what it was.
func withoutMarks(v any) any {
	switch v := v.(type) {
	case string:
		found := strings.Contains(v, oracleAPI)
		inBase64(v, func(decoded string) string {
			found = found || strings.Contains(decoded, oracleAPI)
			return decoded
		})
		if found {
			return unforeseen
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[key] = withoutMarks(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for n, e := range v {
			out[n] = withoutMarks(e)
		}
		return out
	}
	return v
}

// between refuses fields of a document that have another value without marks, and depend
// on no random value: the time decides on them, and not one of the times that were tried;
// or what a template computes with is a text that has marks.
func (r *replay) between(i int) {
	reason := timeDecides
	if r.framed.oracle.unmarked != nil {
		reason = leftMark
	} else if !r.any(clock) && len(r.timeless) == 0 {
		return
	}
	explained := fields{}
	for _, d := range r.resolved.Derived {
		explained.add(d.Document, d.Path)
	}
	for _, a := range r.adopted {
		if a.Random {
			explained.add(a.Document, a.Path)
		}
	}
	for _, f := range r.resolved.Refused {
		explained.add(f.Document, f.Path)
	}
	for _, f := range r.findings {
		explained.add(f.document, f.Path)
	}
	Diff(r.plain[i].value, r.played[0].manifests[i].value, func(path []any) {
		framed, _ := r.framed.at(derive.Field{Document: i, Path: path})
		if !explained.touches(i, path) && !r.holdsKey(framed) {
			r.refuse(i, path, reason)
		}
	})
}

// refuseLeft refuses the files that reach a call at which frames fail, unless one of their
// fields is refused, if no field is known to depend on the call: whether any does not
// always show, for one number of many.
func (r *replay) refuseLeft() {
	unseen := map[*call]string{}
	for _, i := range r.lost {
		c := r.found.calls[r.values.calls[i].site-1]
		if reason, left := r.left[c]; left {
			unseen[c] = reason
		}
	}
	for _, file := range slices.Sorted(maps.Keys(r.found.reach)) {
		if slices.ContainsFunc(r.findings, func(f Finding) bool { return f.Template == file }) {
			continue
		}
		for _, c := range r.found.reach[file] {
			if reason, ok := unseen[c]; ok {
				r.findings = append(r.findings, Finding{Template: file, Reason: reason})
				break
			}
		}
	}
}
