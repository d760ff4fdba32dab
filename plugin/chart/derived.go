package chart

import (
	"cmp"
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
// are executed: not by chance, but by marks (see marks.go). There are two renders with
// frames and four with shapes, and
//
//   - what differs between any of them and the first is random;
//   - what is not the same with a frame and with each of the shapes is refused, since
//     the template cuts, tests or changes the value;
//   - what package derive makes of the frames is the value of a field;
//   - everything else is refused by name.
//
// Where a render with frames fails, the calls that it fails at carry none, and their
// fields are refused: a template that tests a password has a reason to. If it fails with
// shapes too, nothing is derived. Which documents
// there are is never derived, not even where a fixed time would settle it: they would
// be those of the year 2000.

// derive finds what differs from render to render and gives it values.
func (p *proof) derive() error {
	if p.any(clock) {
		p.times()
	}
	randomly := p.any(random, few, slow)
	if !randomly {
		p.orders()
	}
	p.dates()
	ofField := func(f Finding) bool { return len(f.Path) > 0 }
	if !randomly && !slices.ContainsFunc(p.findings, ofField) {
		return nil
	}
	m := &marker{proof: p, left: map[*call]string{}}
	var r renders
	r.shapes = make([]result, shapeCount)
	if !randomly {
		r.shapes = r.shapes[:1] // they are all the same
	}
	for i := range 2 + len(r.shapes) {
		to, kind := &r.first, marking{}
		switch {
		case i == 1:
			to, kind = &r.second, marking{second: true}
		case i > 1:
			to, kind = &r.shapes[i-2], marking{shapes: true, variant: i - 2}
		}
		var err error
		if *to, err = m.render(kind); err != nil {
			return m.refuseAll(err)
		}
		if !sameDocuments(p.manifests, to.manifests) {
			for _, f := range restructured(p.manifests, to.manifests) {
				f.Reason = fmt.Sprintf("which objects %s has depends on a random value or on the time", f.Template)
				p.findings = append(p.findings, f)
			}
			return nil
		}
	}
	unstable, err := m.unstable(r)
	if err != nil {
		return m.refuseAll(err)
	}
	return m.resolve(r, unstable)
}

// result is what one render gave.
type result struct {
	manifests []manifest
	texts     map[string]string
}

// renders are those with marks.
type renders struct {
	first, second result
	shapes        []result
}

// marker renders with marks.
type marker struct {
	*proof
	found *scanned
	// sites number the calls, by template and position.
	sites map[*call]int
	// left are the calls that a render fails at if they print frames, with the reason.
	// They print shapes then, which give their fields away and hide nothing by chance.
	left map[*call]string
	// slow says that the chart needs the keys that it asks for.
	slow bool
}

// leaveAtMost bounds how often calls are left alone because a render fails.
const leaveAtMost = 3

func (m *marker) render(kind marking) (result, error) {
	for tries := 0; ; tries++ {
		kind.slow = m.slow
		texts, err := m.execute(kind)
		if err == nil {
			var r result
			if r.manifests, err = collect(m.engine, texts, m.options); err == nil {
				r.texts = texts
				m.unmark(r, kind)
				return r, nil
			}
		}
		if kind.shapes && !m.slow && m.any(slow) {
			m.slow = true
			continue
		}
		if m.ctx.Err() != nil || tries == leaveAtMost || !m.leave(err, kind) {
			return result{}, err
		}
	}
}

// execute renders from the chart's bytes.
func (m *marker) execute(kind marking) (map[string]string, error) {
	if err := m.ctx.Err(); err != nil {
		return nil, err
	}
	again, err := m.chart.prepare(m.engine, m.options)
	if err != nil {
		return nil, err
	}
	if m.found == nil {
		names := maps.Clone(suspects)
		maps.Copy(names, digests)
		m.found = scan(again, names)
		slices.SortFunc(m.found.calls, func(a, b *call) int {
			return cmp.Or(strings.Compare(a.template, b.template), cmp.Compare(a.pos, b.pos), strings.Compare(a.function, b.function))
		})
		m.sites = make(map[*call]int, len(m.found.calls))
		for i, c := range m.found.calls {
			m.sites[c] = i + 1
		}
	}
	again.rewrite(m.edits(kind))
	return again.execute(m.options.MaxOutput)
}

func (m *marker) edits(kind marking) edits {
	out := maps.Clone(m.found.sortKeys)
	for _, c := range m.found.calls {
		for _, e := range m.markOf(c, kind).edits(c) {
			out.add(e)
		}
		if m.isTimeless(c) && c.class == date && !m.spans(c) {
			out.add(c.timed())
		}
	}
	return out
}

// markOf returns the mark that the call carries, which may be none.
func (m *marker) markOf(c *call, kind marking) callMark {
	_, left := m.left[c]
	if left && c.class == order {
		return callMark{}
	}
	k := kind.of(c, m.sites[c])
	if left && !kind.shapes {
		k = kind.leftAlone(c)
	}
	if c.class == since && m.isTimeless(c) {
		k = noAge
	}
	if !k.fits(c) {
		return callMark{}
	}
	return k
}

// isTimeless reports whether the call is one of those of the first scan.
func (m *marker) isTimeless(c *call) bool {
	return slices.ContainsFunc(m.timeless, func(t *call) bool { return t.template == c.template && t.pos == c.pos })
}

// spans reports whether other calls stand among the arguments of c.
func (m *marker) spans(c *call) bool {
	return slices.ContainsFunc(m.found.calls, func(other *call) bool {
		return other.template == c.template && other.pos > c.pos && other.pos < c.end
	})
}

// leave leaves calls alone because of an error, the likeliest ones: those in the line
// that it names; else what puts values in order, which may be no texts; else those in
// the text that it is about. With shapes just the order is left alone. It reports
// whether there were any.
func (m *marker) leave(err error, kind marking) bool {
	at := &diag.Error{}
	errors.As(err, &at)
	inText := strings.Contains(at.Msg, "text that tpl runs")
	for _, likely := range []func(*call) bool{
		func(c *call) bool { return c.template == at.File && c.line == at.Line },
		func(c *call) bool { return c.class == order },
		func(c *call) bool { return inText && c.within != "" },
		func(c *call) bool { return c.template == at.File },
	} {
		before := len(m.left)
		for _, c := range m.found.calls {
			if _, left := m.left[c]; !left && c.pos >= 0 && likely(c) && (c.class == order || !kind.shapes) {
				m.left[c] = fmt.Sprintf("the template looks at the random value (%s)", oneLine(err.Error()))
			}
		}
		if len(m.left) > before {
			return true
		}
	}
	return false
}

// unmark gives texts that `tpl` might have executed, and that were printed instead, the
// form that they had without marks.
func (m *marker) unmark(r result, kind marking) {
	changes := edits{}
	for _, c := range m.found.calls {
		if c.within != "" {
			for _, e := range m.markOf(c, kind).inText(c) {
				changes.add(e)
			}
		}
	}
	var pairs []string
	for _, text := range slices.Sorted(maps.Keys(changes)) {
		before, after := strings.Split(text, "\n"), strings.Split(apply(text, changes[text]), "\n")
		for i := range before {
			if len(before) == len(after) && before[i] != after[i] {
				pairs = append(pairs, strings.TrimSpace(after[i]), strings.TrimSpace(before[i]))
			}
		}
	}
	if pairs == nil {
		return
	}
	back := strings.NewReplacer(pairs...)
	for name, text := range r.texts {
		r.texts[name] = back.Replace(text)
	}
	for _, each := range r.manifests {
		walkStrings("", each.value, nil, func(t text) {
			if t.set != nil {
				if s := back.Replace(t.body); s != t.body {
					t.set(s)
				}
			}
		})
	}
}

// unordered returns the fields that another order of maps changes. Where values cannot
// be put in order, which is what settled says, it tries the order that maps have by
// chance a few times.
func (m *marker) unordered(r renders) (found fields, settled bool, err error) {
	found, settled = fields{}, true
	if !m.any(order) {
		return found, settled, nil
	}
	orders, times := marking{shapes: true, reverse: true}, 1
	for _, c := range m.found.calls {
		if _, left := m.left[c]; c.class == order && (left || !orders.of(c, 0).fits(c)) {
			settled, times = false, moreFew/2
		}
	}
	for range times {
		other, err := m.render(orders)
		if err != nil {
			return nil, false, err
		}
		if !sameDocuments(m.manifests, other.manifests) {
			return nil, false, errOtherObjects
		}
		found.addDifference(r.shapes[0], other)
	}
	return found, settled, nil
}

// unstable returns the fields that are not the same in each render. Those that no mark
// explains are added to the findings. An error is one of a render.
func (m *marker) unstable(r renders) (fields, error) {
	unordered, settled, err := m.unordered(r)
	if err != nil {
		return nil, err
	}
	out := fields{}
	for document, paths := range unordered {
		out[document] = slices.Clone(paths)
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
	out.addDifference(r.first, r.second)
	out.addDifference(result{manifests: m.manifests}, r.shapes[0])
	constant := fields{}
	for n, shaped := range r.shapes {
		for i := range m.manifests {
			if r.first.manifests[i].body == shaped.manifests[i].body {
				continue
			}
			m.foresee(foresight(n), r.first.manifests[i].value, shaped.manifests[i].value, func(path []any) {
				if !out.touches(i, path) {
					constant.add(i, path)
					return
				}
				m.refuse(i, path, computed)
				out.remove(i, path)
			})
		}
	}
	for _, f := range constant.sorted() {
		m.constant(r, f)
	}
	if !settled {
		for _, f := range unordered.sorted() {
			m.refuse(f.Document, f.Path, "the order of a map decides on it, and what it holds cannot be put in order")
			out.remove(f.Document, f.Path)
		}
	}
	return out, nil
}

var errOtherObjects = errors.New("which objects there are depends on a random value or on an order")

const computed = "the template tests the random value, or it cuts the random value or computes with it"

// foresee yields the fields that are not what frames foresee in a render with shapes.
func (m *marker) foresee(f foresight, first, shapes any, yield func(path []any)) {
	before, after := f.value(first), f.value(shapes)
	Diff(before, after, func(path []any) {
		one, _ := object.Lookup(before, path)
		other, _ := object.Lookup(after, path)
		if happened(one, other) {
			return
		}
		if printed, found := object.Lookup(shapes, path); found && isRead(one, printed) {
			return
		}
		yield(path)
	})
}

// constant looks at a field that frames change in a way that shapes do not show. If it
// has the first render's value with each of the shapes, it tells how long a random
// value is, or is a part of a hash of what is stable.
func (m *marker) constant(r renders, f derive.Field) {
	plain, same := object.Lookup(m.manifests[f.Document].value, f.Path)
	for _, shaped := range r.shapes {
		value, found := object.Lookup(shaped.manifests[f.Document].value, f.Path)
		same = same && found
		Diff(plain, value, func([]any) { same = false })
	}
	if !same {
		m.refuse(f.Document, f.Path, computed)
		return
	}
	setAt(r.first.manifests[f.Document].value, f.Path, plain)
	setAt(r.second.manifests[f.Document].value, f.Path, plain)
}

// refuse adds a finding. The path is cut where the field is not there in the first
// render. What was left alone is a better reason than the one given.
func (m *marker) refuse(document int, path []any, reason string) {
	of := m.manifests[document]
	for len(path) > 0 {
		if _, found := object.Lookup(of.value, path); found {
			break
		}
		path, reason = path[:len(path)-1], "which fields it has depends on a random value or on the time"
	}
	for _, c := range m.found.reach[of.source] {
		if left, ok := m.left[c]; ok && c.class != order {
			reason = left
			break
		}
		if c.pos < 0 && c.class != digest {
			reason = fmt.Sprintf("%s in %s cannot be marked", c.function, c.template)
		}
	}
	m.findings = append(m.findings, Finding{Object: of.id(), Template: of.source, Path: path, Reason: reason, document: document})
}

// refuseAll finds what differs without marks, because renders with them fail. That finds
// something by chance, so if it is nothing, it is a finding that they fail.
func (m *marker) refuseAll(err error) error {
	if m.ctx.Err() != nil {
		return context.Cause(m.ctx)
	}
	if !m.any(clock) {
		m.times()
	}
	m.repeat()
	m.orders()
	reason := fmt.Sprintf("the template looks at the random value (%s)", oneLine(err.Error()))
	at := &diag.Error{}
	errors.As(err, &at)
	if len(m.findings) == 0 {
		m.findings = []Finding{{Template: at.File, Reason: reason}}
	}
	for i := range m.findings {
		if len(m.findings[i].Path) > 0 {
			m.findings[i].Reason = reason
		}
	}
	return nil
}

// resolve derives the fields.
func (m *marker) resolve(r renders, unstable fields) error {
	of := func(list []manifest, texts map[string]string) derive.Render {
		out := derive.Render{Texts: texts}
		for _, each := range list {
			doc, _ := each.value.(map[string]any)
			out.Documents = append(out.Documents, derive.Document{Template: each.source, Value: doc})
		}
		return out
	}
	list := unstable.sorted()
	if len(list) == 0 {
		return nil
	}
	resolved, err := derive.Resolve(m.ctx, *m.options.Derive, derive.Renders{
		Plain:  of(m.manifests, m.first),
		First:  of(r.first.manifests, r.first.texts),
		Second: of(r.second.manifests, r.second.texts),
		Still:  func() (derive.Render, error) { return of(r.shapes[0].manifests, r.shapes[0].texts), nil },
	}, list)
	if err != nil {
		return err
	}
	for _, f := range resolved.Refused {
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

// remove takes the field and its parts out of the set.
func (f fields) remove(document int, path []any) {
	f[document] = slices.DeleteFunc(f[document], func(other []any) bool {
		return len(other) >= len(path) && slices.Equal(other[:len(path)], path)
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

// setAt changes a part of a decoded value that is there.
func setAt(v any, path []any, to any) {
	if len(path) == 0 {
		return
	}
	in, found := object.Lookup(v, path[:len(path)-1])
	if !found {
		return
	}
	switch step := path[len(path)-1].(type) {
	case string:
		if m, ok := in.(map[string]any); ok {
			m[step] = to
		}
	case int:
		if list, ok := in.([]any); ok && step < len(list) {
			list[step] = to
		}
	}
}
