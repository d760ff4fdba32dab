package chart

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/plugin/derive"
)

// marker renders with marks.
type marker struct {
	*proof
	found *scanned
	// sites number the calls, by template and position.
	sites map[*call]int
	// left are the calls that a render fails at if they print frames, with the reason.
	// They get known values then, others in the second render.
	left map[*call]string
	// slow says that the chart needs the keys that it asks for.
	slow bool
	// framed and again are the renders with frames, which are one where the chart asks for
	// no random values, and still is that with known values.
	framed, again, still result
	after                []result   // like still at other times; none where it asks for no time
	plain                []manifest // of the render without marks
	ordered              fields     // those that the order of a map changes
}

// leaveAtMost bounds how often calls are left alone because a render fails.
const leaveAtMost = 3

func (m *marker) render(kind marking) (result, error) {
	before := maps.Clone(m.left)
	for tries := 0; ; tries++ {
		kind.slow = kind.slow || m.slow
		texts, answers, err := m.execute(kind)
		if err == nil {
			var r result
			if r.manifests, err = collect(m.engine, texts, m.options); err == nil {
				r.texts, r.fill, r.oracle = texts, kind.fill, answers
				if answers.unmarked != nil {
					r.unmark(answers.unmarked)
				}
				return r, nil
			}
		}
		if !kind.frames && !m.slow && m.any(slow) {
			m.slow = true
			continue
		}
		if m.ctx.Err() != nil || tries == leaveAtMost || !m.leave(err, kind) {
			m.left = before // that did not help
			return result{}, err
		}
	}
}

// oracle returns what answers the calls of one render.
func (m *marker) oracle(kind marking) *oracle {
	return &oracle{kind: kind, sites: len(m.found.calls), unmarked: m.unmarked(kind), results: map[int][]string{}, executed: map[int]bool{}, left: func(site int) bool {
		_, left := m.left[m.found.calls[site-1]]
		return left
	}}
}

// execute renders from the chart's bytes.
func (m *marker) execute(kind marking) (map[string]string, *oracle, error) {
	if err := m.ctx.Err(); err != nil {
		return nil, nil, err
	}
	again, err := m.chart.prepare(m.engine, m.options)
	if err != nil {
		return nil, nil, err
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
	changes := m.edits(kind)
	m.bracket(again, changes)
	again.rewrite(changes)
	again.oracle = m.oracle(kind)
	texts, err := again.execute(m.options.MaxOutput)
	return texts, again.oracle, err
}

func (m *marker) edits(kind marking) edits {
	out := maps.Clone(m.found.sortKeys)
	for _, c := range m.found.calls {
		for _, e := range m.markOf(c, kind).edits(c) {
			out.add(e)
		}
		if m.isTimeless(c) && c.class == date && !m.spans(c) {
			out.add(c.timed(kind.time()))
		}
	}
	return out
}

// markOf returns the mark that the call carries, which may be none.
func (m *marker) markOf(c *call, kind marking) callMark {
	if _, left := m.left[c]; left && c.class == order {
		return kind.at(m.sites[c], callMark{suffix: tellBehind})
	}
	k := kind.of(c, m.sites[c])
	if c.class == since && m.isTimeless(c) {
		k = kind.at(m.sites[c], noAge)
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
// the text that it is about. Without frames just the order is left alone. It reports
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
			if _, left := m.left[c]; !left && c.pos >= 0 && likely(c) && (c.class == order || kind.frames) {
				m.left[c] = looks(err)
			}
		}
		if len(m.left) > before {
			return true
		}
	}
	return false
}

// unmarked returns a function that gives a text that `tpl` might have executed, and that is
// printed or hashed instead, the form that it had without marks, through base64. It is nil
// where there is no such text.
func (m *marker) unmarked(kind marking) func(string) string {
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
				marked, plain := strings.TrimSpace(after[i]), strings.TrimSpace(before[i])
				pairs = append(pairs, marked, plain, derive.Escape(marked), derive.Escape(plain)) // in JSON
			}
		}
	}
	if pairs == nil {
		return nil
	}
	back := strings.NewReplacer(pairs...)
	return func(text string) string { return inBase64(back.Replace(text), back.Replace) }
}

// unmark unmarks what a render printed.
func (r *result) unmark(back func(string) string) {
	for name, text := range r.texts {
		r.texts[name] = back(text)
	}
	for _, each := range r.manifests {
		walkStrings("", each.value, nil, func(t text) {
			if t.set != nil {
				if s := back(t.body); s != t.body {
					t.set(s)
				}
			}
		})
	}
}

// looks words why a render with marks fails, without the marks.
func looks(err error) string {
	said, _, _ := strings.Cut(oneLine(err.Error()), " (at <")
	if at := strings.Index(said, oracleAPI); at >= 0 { // a template quotes a text with a mark
		said = strings.TrimSpace(said[:strings.LastIndex(said[:at], "{{")+1])
	}
	return fmt.Sprintf("the template looks at the random value (%s)", said)
}
