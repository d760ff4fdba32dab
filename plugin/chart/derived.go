package chart

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin/derive"
)

// With Options.Derive a proof goes another way once it is known that suspicious calls
// are executed. The calls are marked (marks.go), and what they give is up to an oracle:
//
//   - Two renders have frames in place of random values. Where frames are is where random
//     values are printed, and package derive finds out which field each lives in, and
//     what its value is.
//   - Then the chart is rendered with these values. What a template makes of them, by
//     whatever it does, is what Helm makes of them: that is the result.
//   - A value that is printed nowhere lives nowhere. Where there are such, there are
//     more renders, in each of which they are other known values. What is not the same
//     in all of them is refused.
//   - Certificates and keys are put in by package derive, and what is computed of those.
//     A field with one is refused if there is more to it than that.
//
// Where a render with frames fails, the calls that it fails at get known values in place
// of frames, and so do not show where theirs are printed: the files that reach them are
// refused. Which documents there are is never derived.

// derive finds what differs from render to render and gives it values.
func (p *proof) derive() error {
	m := &marker{proof: p, left: map[*call]string{}}
	framed, err := m.render(marking{frames: true})
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	told := err == nil && m.onlyExecuted(framed)
	if len(p.calls) == 0 || !told && !p.executes() {
		return nil
	}
	p.fixed()
	randomly := p.any(random, few, slow)
	if !randomly {
		p.orders()
	}
	p.dates()
	m.ordered = fields{}
	for _, f := range p.findings {
		if len(f.Path) > 0 {
			m.ordered.add(f.document, f.Path)
		}
	}
	timed := p.any(clock) || len(p.timeless) > 0
	if !randomly && !timed && len(m.ordered) == 0 {
		return nil
	}
	if len(p.timeless) > 0 && err == nil {
		framed, err = m.render(marking{frames: true}) // with the edits of these
	}
	if err != nil {
		return m.refuseAll(err)
	}
	m.framed, m.again = framed, framed
	if randomly {
		if m.again, err = m.render(marking{frames: true, second: true, fill: 1}); err != nil {
			return m.refuseAll(err)
		}
	}
	for fill := range filling(fillings) {
		if m.still, err = m.render(marking{fill: fill}); err == nil {
			break // a template may want a digit in a password
		}
	}
	if err != nil {
		return m.refuseAll(err)
	}
	if timed && !m.later() {
		return nil
	}
	if !m.sameObjects(m.again) || !m.sameObjects(m.still) {
		return nil
	}
	if !slices.EqualFunc(m.framed.oracle.log, m.again.oracle.log, answer.alike) {
		p.findings = append(p.findings, Finding{Reason: otherCalls})
		return nil
	}
	// From here on nothing is up to what the plain render has by chance.
	m.plain, p.manifests = p.manifests, m.still.manifests
	if m.refuseUnsorted() {
		return nil
	}
	unstable, err := m.unstable()
	if err != nil {
		return m.refuseAll(err)
	}
	if !randomly && len(unstable.sorted()) == 0 {
		p.manifests = m.plain
		return nil
	}
	return m.resolve(unstable)
}

// later renders at other times. It is false where these have other objects.
func (m *marker) later() bool {
	for i := range otherTimes {
		after, err := m.render(marking{fill: m.still.fill, later: 1 + i})
		if err != nil {
			m.fail(err)
			return false
		}
		if !m.sameObjects(after) {
			return false
		}
		m.after = append(m.after, after)
	}
	return m.sameObjects(result{manifests: m.manifests})
}

// onlyExecuted forgets the calls that a render did not execute, and reports whether it
// executed any. Those that carry no mark may have been.
func (m *marker) onlyExecuted(r result) bool {
	m.calls = slices.DeleteFunc(slices.Clone(m.calls), func(c *call) bool {
		return !slices.ContainsFunc(m.found.calls, func(other *call) bool {
			same := other.template == c.template && other.pos == c.pos && other.function == c.function
			return same && (r.oracle.executed[m.sites[other]] || m.markOf(other, marking{frames: true}) == (callMark{}))
		})
	})
	return slices.ContainsFunc(m.found.calls, func(c *call) bool { return c.class != digest && r.oracle.executed[m.sites[c]] })
}

const otherCalls = "which random values it asks for depends on another one"

// sameObjects reports whether a render has the documents of the first one with frames,
// and notes those that differ.
func (m *marker) sameObjects(r result) bool {
	if sameDocuments(m.framed.manifests, r.manifests) {
		return true
	}
	for _, f := range restructured(m.framed.manifests, r.manifests) {
		f.Reason = fmt.Sprintf("which objects %s has depends on a random value or on the time", f.Template)
		m.findings = append(m.findings, f)
	}
	return false
}

// result is what one render gave.
type result struct {
	manifests []manifest
	texts     map[string]string
	fill      filling
	oracle    *oracle // that answered
}

// at returns a field of the render, and whether it is there.
func (r result) at(f derive.Field) (any, bool) {
	return object.Lookup(r.manifests[f.Document].value, f.Path)
}

// refuseUnsorted refuses the files that take the values of a map which cannot be put in
// order, since they are no texts.
func (m *marker) refuseUnsorted() (found bool) {
	for _, file := range slices.Sorted(maps.Keys(m.found.reach)) {
		if slices.ContainsFunc(m.found.reach[file], func(c *call) bool {
			_, left := m.left[c]
			return left && c.class == order && m.framed.oracle.executed[m.sites[c]]
		}) {
			m.findings = append(m.findings, Finding{Template: file, Reason: "the order of a map decides on it, and what it holds cannot be put in order"})
			found = true
		}
	}
	return found
}

// unordered returns the fields that another order of maps changes.
func (m *marker) unordered() (fields, error) {
	found := fields{}
	if !m.any(order) {
		return found, nil
	}
	other, err := m.render(marking{reverse: true, fill: m.still.fill})
	if err != nil {
		return nil, err
	}
	if !sameDocuments(m.manifests, other.manifests) {
		return nil, errOtherObjects
	}
	found.addDifference(m.still, other)
	return found, nil
}

// isAnswered reports whether a call's result is known, and not left to chance, or the
// call was not executed.
func (m *marker) isAnswered(c *call) bool {
	_, left := m.left[c]
	isMarked := m.markOf(c, marking{}) != (callMark{})
	if isMarked && !m.framed.oracle.executed[m.sites[c]] {
		return true
	}
	switch c.class {
	case order:
		return !left && isMarked
	case random, few, slow, clock:
		_, known := marks[c.function]
		return known && isMarked
	}
	return true
}

// unstable returns the fields that are not the same in each render. An error is one of a
// render.
func (m *marker) unstable() (fields, error) {
	unordered, err := m.unordered()
	if err != nil {
		return nil, err
	}
	out := fields{}
	for document, paths := range unordered {
		out[document] = slices.Clone(paths)
		for _, path := range paths {
			m.ordered.add(document, path)
		}
	}
	keep := m.findings[:0]
	for _, f := range m.findings {
		if len(f.Path) == 0 {
			keep = append(keep, f)
		} else {
			out.add(f.document, f.Path)
		}
	}
	m.findings = keep
	out.addDifference(m.framed, m.again)
	for _, after := range m.after {
		out.addDifference(m.still, after)
	}
	return out, nil
}

var errOtherObjects = errors.New("which objects there are depends on a random value or on an order")

// refuse adds a finding. The path is cut where the field is not there in each render.
func (m *marker) refuse(document int, path []any, reason string) {
	of := m.manifests[document]
	for len(path) > 0 {
		if _, found := m.still.at(derive.Field{Document: document, Path: path}); found {
			break
		}
		path, reason = path[:len(path)-1], otherFields
	}
	m.findings = append(m.findings, Finding{Object: of.id(), Template: of.source, Path: path, Reason: reason, document: document})
}

// because returns the reason for which a field of a document is refused: what is known
// of the calls of its template says more than the one given.
func (m *marker) because(document int, reason string) string {
	for _, c := range m.found.reach[m.still.manifests[document].source] {
		if left, ok := m.left[c]; ok && c.class != order {
			return left
		}
		if c.pos < 0 && c.class != digest {
			reason = fmt.Sprintf("%s in %s cannot be marked", c.function, c.template)
		}
	}
	return reason
}

// refuseAll refuses the file at which a render with marks fails, unless something is
// refused that is not random.
func (m *marker) refuseAll(err error) error {
	if m.ctx.Err() != nil {
		return context.Cause(m.ctx)
	}
	if len(m.findings) == 0 || m.any(random, few, slow) {
		at := &diag.Error{}
		errors.As(err, &at)
		m.findings = append(m.findings, Finding{Template: at.File, Reason: looks(err)})
	}
	return nil
}

// resolve derives the fields.
func (m *marker) resolve(unstable fields) error {
	of := func(r result) derive.Render {
		out := derive.Render{Texts: r.texts, Seconds: r.oracle.seconds()}
		for _, each := range r.manifests {
			doc, _ := each.value.(map[string]any)
			out.Documents = append(out.Documents, derive.Document{Template: each.source, Value: doc})
		}
		return out
	}
	framed, still := of(m.framed), of(m.still)
	framed.Hashed = m.hashed()
	resolved, err := derive.Resolve(m.ctx, *m.options.Derive, derive.Renders{
		Plain: still, First: framed, Second: of(m.again),
		Ordered: m.ordered.sorted(),
	}, unstable.sorted())
	if err != nil {
		return err
	}
	if err := m.replay(resolved); err != nil {
		return err
	}
	for _, f := range resolved.Refused {
		if !f.Final {
			f.Reason = m.because(f.Document, f.Reason)
		}
		m.refuse(f.Document, f.Path, f.Reason)
	}
	// What is refused here may have a frame all the same.
	resolved.Derived = slices.DeleteFunc(resolved.Derived, func(d derive.Derived) bool {
		return slices.ContainsFunc(m.findings, func(f Finding) bool {
			return len(f.Path) > 0 && f.document == d.Document && slices.Equal(f.Path, d.Path)
		})
	})
	m.resolved = resolved
	return nil
}

// hashed are the digests in the render with frames that are in no text as a whole, and in
// none that another one is over.
func (m *marker) hashed() (out []derive.Hashed) {
	seen := map[string]bool{}
	see := func(text string) {
		for _, frame := range marked.FindAllString(text, -1) {
			seen[frame] = true
		}
	}
	for _, text := range m.framed.texts {
		see(text)
	}
	for _, d := range m.framed.oracle.digests {
		see(d.input)
	}
	for _, d := range m.framed.oracle.digests {
		if !seen[d.frame] {
			seen[d.frame] = true
			out = append(out, derive.Hashed{Template: m.found.calls[d.site-1].template, Frame: d.frame})
		}
	}
	return out
}

// settle puts derived values into the manifests that are about to be added, and takes
// over what is known of them.
func (o *Output) settle(manifests []manifest, r *derive.Resolution) []manifest {
	if r == nil {
		return manifests
	}
	out := slices.Clone(manifests)
	at := make([]int, len(out)) // the index of each document among the objects
	next := len(o.Objects)
	for i := range out {
		at[i] = next
		if _, ok := out[i].value.(map[string]any); ok {
			next++
		}
		if value, ok := r.Values[i]; ok {
			out[i].value = value
			out[i].body = strings.TrimSuffix(string(yamldoc.AppendYAML(nil, value)), "\n")
		}
	}
	for _, d := range r.Derived {
		d.Document = at[d.Document]
		o.Derived = append(o.Derived, d)
	}
	o.Secrets, o.Until = r.Secrets, r.Until
	return out
}

// fields is a set of fields: their paths, by document.
type fields map[int][][]any

func (f fields) add(document int, path []any) {
	if !slices.ContainsFunc(f[document], func(other []any) bool { return slices.Equal(other, path) }) {
		f[document] = append(f[document], path)
	}
}

// addDifference adds the fields in which two results with the same documents differ.
func (f fields) addDifference(a, b result) {
	for i := range min(len(a.manifests), len(b.manifests)) {
		if a.manifests[i].body != b.manifests[i].body {
			Diff(a.manifests[i].value, b.manifests[i].value, func(path []any) { f.add(i, path) })
		}
	}
}

// touches reports whether the field, one that it is in, or a part of it is in the set.
func (f fields) touches(document int, path []any) bool {
	return slices.ContainsFunc(f[document], func(other []any) bool {
		n := min(len(path), len(other))
		return slices.Equal(other[:n], path[:n])
	})
}

// equal reports whether two sets have the same fields.
func (f fields) equal(other fields) bool {
	return slices.EqualFunc(f.sorted(), other.sorted(), func(a, b derive.Field) bool {
		return a.Document == b.Document && slices.Equal(a.Path, b.Path)
	})
}

func (f fields) sorted() (list []derive.Field) {
	for _, document := range slices.Sorted(maps.Keys(f)) {
		paths := slices.SortedFunc(slices.Values(f[document]), func(a, b []any) int {
			return strings.Compare(object.Pointer(a...), object.Pointer(b...))
		})
		for _, path := range paths {
			list = append(list, derive.Field{Document: document, Path: path})
		}
	}
	return list
}
