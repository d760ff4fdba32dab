package chart

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// Where scan found something, the chart is rendered again from its bytes, and
// the two results are compared. A call in a branch that is not taken changes
// nothing and is accepted. Three kinds of call need more than a second render:
//
//   - Two renders fall into one second. So the second one is given another time:
//     `now` is replaced by a fixed instant in the templates' text.
//   - `values` gives the values of a small map in the same order seven times out
//     of eight. So some renders reverse what it gives.
//   - `randInt`, `shuffle` and short random strings agree by chance. So they are
//     repeated.

// Finding is a field that differs from render to render.
type Finding struct {
	// Object is the object, as the first render named it. It is zero if the
	// templates do not even produce the same number of documents.
	Object object.ID
	// Template is the file that produced the object.
	Template string
	// Path leads to the field: map keys (string) and list indexes (int). It is
	// empty if the whole object differs.
	Path []any
	// Calls are the calls that the template makes and that can be the reason.
	Calls []Call
}

// Call is a call of a function whose result changes.
type Call struct {
	Function string
	// Template and Line are where the call stands.
	Template string
	Line     int
}

// repeats is how often weak calls and map orders are tried: the chance that a
// difference stays hidden is below one in a hundred for a map of two values,
// and far below for anything larger.
const repeats = 6

// variant is one more render with edited templates.
type variant struct {
	edits edits
	// mayFail says that an error of the engine is an answer, not a fault.
	mayFail bool
}

func (c *Chart) prove(engine Engine, o Options, s *scanned, first map[string]string, manifests []manifest) ([]Finding, error) {
	if len(s.calls) == 0 {
		return nil, nil
	}
	var findings []Finding
	for _, v := range s.variants() {
		again, err := c.again(engine, o, v.edits)
		if err != nil {
			if !v.mayFail {
				return nil, fmt.Errorf("rendering a second time: %w", err)
			}
			findings = append(findings, s.failed(err)...)
			continue
		}
		if maps.Equal(first, again) {
			continue
		}
		other, err := collect(engine, again, o)
		if err != nil {
			return nil, fmt.Errorf("rendering a second time: %w", err)
		}
		findings = append(findings, difference(manifests, other)...)
	}
	dates, err := c.proveDates(engine, o, s, manifests)
	if err != nil {
		return nil, err
	}
	findings = append(findings, dates...)
	if len(findings) == 0 {
		return nil, nil
	}
	findings = slices.CompactFunc(sorted(findings), func(a, b Finding) bool { return compareFindings(a, b) == 0 })
	reached := c.reached(engine, o, s)
	for i := range findings {
		f := &findings[i]
		for _, call := range s.reach[f.Template] {
			if call.class != notice && reached(call) {
				f.Calls = append(f.Calls, Call{call.function, call.template, call.line})
			}
		}
	}
	return findings, nil
}

// again renders from the chart's bytes with edited templates.
func (c *Chart) again(engine Engine, o Options, changes edits) (map[string]string, error) {
	p, err := c.prepare(engine, o)
	if err != nil {
		return nil, err
	}
	p.rewrite(changes)
	return p.execute(o.MaxOutput)
}

// variants are the renders that the calls ask for.
func (s *scanned) variants() []variant {
	shifted := maps.Clone(s.sortKeys)
	reversed := maps.Clone(s.sortKeys)
	has := map[class]bool{}
	for _, c := range s.calls {
		has[c.class] = true
		switch {
		case c.pos < 0:
		case c.function == "now":
			// An instant long past, of the type that `now` returns.
			shifted.add(edit{c.template, c.pos, c.pos + len("now"), `(toDate "2006-01-02 15:04:05" "2001-02-03 04:05:06")`})
		case c.function == "ago":
			shifted.add(edit{c.template, c.pos, c.pos + len("ago"), "quote"})
		case c.function == "values" && c.end >= 0:
			reversed.add(edit{c.template, c.end, c.end, " | reverse"})
		}
	}
	var out []variant
	if has[strong] || has[weak] || has[clock] || has[order] {
		out = append(out, variant{edits: shifted, mayFail: has[clock]})
	}
	if has[weak] || has[order] {
		for range repeats / 2 {
			out = append(out, variant{edits: s.sortKeys}, variant{edits: reversed})
		}
	}
	return out
}

// proveDates finds calls of date functions that were given no time: they format
// the current one. A function that takes nothing but a time stands in for them,
// so that Go's template engine tells of other types.
func (c *Chart) proveDates(engine Engine, o Options, s *scanned, manifests []manifest) ([]Finding, error) {
	standIn := map[string]string{"date": "dateModify", "htmlDate": "unixEpoch"}
	typed := maps.Clone(s.sortKeys)
	used := false
	for _, call := range s.calls {
		if name := standIn[call.function]; name != "" && call.pos >= 0 {
			typed.add(edit{call.template, call.pos, call.pos + len(call.function), name})
			used = true
		}
	}
	if !used {
		return nil, nil
	}
	_, err := c.again(engine, o, typed)
	if err == nil || !noTime.MatchString(err.Error()) {
		return nil, nil
	}
	// Which field it is shows when the call's result is something else.
	marked := maps.Clone(s.sortKeys)
	for _, call := range s.calls {
		if standIn[call.function] != "" && strings.Contains(err.Error(), fmt.Sprintf("%s:%d:", call.template, call.line)) {
			marked.add(edit{call.template, call.pos, call.pos + len(call.function), "quote"})
		}
	}
	again, err := c.again(engine, o, marked)
	if err != nil {
		return nil, fmt.Errorf("rendering a second time: %w", err)
	}
	other, err := collect(engine, again, o)
	if err != nil {
		return nil, fmt.Errorf("rendering a second time: %w", err)
	}
	return difference(manifests, other), nil
}

// noTime is what text/template says if an argument is not a time. Integers are
// left out: the date functions take them as Unix time. Numbers of values.yaml
// are floats, which they do not take.
var noTime = regexp.MustCompile(`expected time\.Time; got (string|bool|float|map|\[\]|interface)|` +
	`can't handle ["` + "`" + `].* for arg of type time\.Time|invalid value; expected time\.Time`)

// fewCalls is up to how many calls it is found out which of them are executed:
// each takes one more render, and those that make keys take seconds.
const fewCalls = 4

// reached tells which calls are executed at all: it renders with one call
// turned into an error. It is asked only when a refusal has to be explained.
func (c *Chart) reached(engine Engine, o Options, s *scanned) func(call) bool {
	if len(s.calls) == 1 || len(s.calls) > fewCalls {
		return func(call) bool { return true }
	}
	known := map[call]bool{}
	return func(asked call) bool {
		if asked.pos < 0 {
			return true
		}
		result, ok := known[asked]
		if !ok {
			changes := maps.Clone(s.sortKeys)
			changes.add(edit{asked.template, asked.pos, asked.pos + len(asked.function), "fail"})
			_, err := c.again(engine, o, changes)
			result = err != nil
			known[asked] = result
		}
		return result
	}
}

// failed turns an error that only another time provokes into a finding.
func (s *scanned) failed(err error) []Finding {
	for _, name := range slices.Sorted(maps.Keys(s.reach)) {
		if strings.Contains(err.Error(), name) {
			return []Finding{{Template: name}}
		}
	}
	return []Finding{{}}
}

// difference compares two results document by document.
func difference(a, b []manifest) []Finding {
	same := func(x, y manifest) bool { return x.source == y.source && x.kind == y.kind }
	if !slices.EqualFunc(a, b, same) {
		return restructured(a, b)
	}
	var out []Finding
	for i := range a {
		if a[i].body == b[i].body {
			continue
		}
		id := a[i].id()
		diffValues(a[i].value, b[i].value, nil, func(path []any) {
			out = append(out, Finding{Object: id, Template: a[i].source, Path: path})
		})
	}
	return out
}

// restructured names the templates whose documents differ in number or kind.
func restructured(a, b []manifest) []Finding {
	shape := func(list []manifest) map[string]string {
		out := map[string]string{}
		for _, m := range list {
			out[m.source] += m.kind + "\n"
		}
		return out
	}
	left, right := shape(a), shape(b)
	all := maps.Clone(left)
	maps.Copy(all, right)
	var out []Finding
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if left[name] != right[name] {
			out = append(out, Finding{Template: name})
		}
	}
	return out
}

func (m manifest) id() object.ID {
	doc, _ := m.value.(map[string]any)
	return object.Object{Value: doc}.ID()
}

// Diff yields the path of each field in which two decoded documents differ: map
// keys (string) and list indexes (int).
func Diff(a, b any, yield func(path []any)) { diffValues(a, b, nil, yield) }

func diffValues(a, b any, at []any, yield func(path []any)) {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			break
		}
		keys := maps.Clone(a)
		maps.Copy(keys, b)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			_, inA := a[k]
			_, inB := b[k]
			next := append(slices.Clone(at), k)
			if inA != inB {
				yield(next)
				continue
			}
			diffValues(a[k], b[k], next, yield)
		}
		return
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		for i := range a {
			diffValues(a[i], b[i], append(slices.Clone(at), i), yield)
		}
		return
	case nil, string, bool, int64, float64:
		switch b.(type) {
		case nil, string, bool, int64, float64:
			if a == b {
				return
			}
		}
	}
	yield(at)
}

func sorted(findings []Finding) []Finding {
	slices.SortStableFunc(findings, compareFindings)
	return findings
}

func compareFindings(a, b Finding) int {
	return cmp.Or(
		strings.Compare(a.Template, b.Template),
		a.Object.Compare(b.Object),
		strings.Compare(fmt.Sprint(a.Path...), fmt.Sprint(b.Path...)),
	)
}

// edit replaces text[at:end] of a template.
type edit struct {
	template string
	at, end  int
	text     string
}

// edits are the edits of each template, in no order. Adding to a clone does not
// change the original.
type edits map[string][]edit

func (e edits) add(change edit) {
	if !slices.Contains(e[change.template], change) {
		e[change.template] = append(slices.Clip(e[change.template]), change)
	}
}

// rewrite applies the edits to the templates that the engine will see.
func (p *prepared) rewrite(changes edits) {
	for _, t := range p.templates {
		list := slices.Clone(changes[t.name])
		if len(list) == 0 {
			continue
		}
		slices.SortStableFunc(list, func(a, b edit) int { return cmp.Compare(b.at, a.at) })
		text := t.text
		for _, e := range list {
			text = text[:e.at] + e.text + text[e.end:]
		}
		t.set(text)
	}
}
