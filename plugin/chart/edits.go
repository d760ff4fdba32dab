package chart

import (
	"cmp"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
)

// edit replaces text[at:end] of a template, or of a text that `tpl` may execute.
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

// apply returns the text with its edits. Offsets are those of the original, so
// the last edit comes first, and what is put in front of a word after what replaces it.
func apply(source string, list []edit) string {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b edit) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.end, a.end)) })
	for _, e := range list {
		source = source[:e.at] + e.text + source[e.end:]
	}
	return source
}

// rewrite applies the edits to what the engine will see.
func (p *prepared) rewrite(changes edits) {
	p.applied = changes
	left := len(changes)
	for _, t := range p.templates {
		if list := changes[t.name]; len(list) > 0 {
			t.set(apply(t.text, list))
			left--
		}
	}
	if left > 0 {
		p.texts(func(t text) {
			if list := changes[t.name]; len(list) > 0 && t.set != nil {
				t.set(apply(t.body, list))
			}
		})
	}
}

// unshift moves the column of an error back to where the user's text has it.
func (p *prepared) unshift(err error) error {
	e, ok := err.(*diag.Error) //nolint:errorlint // what tidy made, not yet wrapped
	if !ok || e.Col == 0 || len(p.applied[e.File]) == 0 {
		return err
	}
	for _, t := range p.templates {
		if t.name != e.File {
			continue
		}
		shift := 0
		for _, change := range p.applied[e.File] {
			before := t.text[:change.at]
			line, col := 1+strings.Count(before, "\n"), change.at-strings.LastIndex(before, "\n")
			if line == e.Line && col <= e.Col {
				shift += len(change.text) - (change.end - change.at)
			}
		}
		moved := *e
		moved.Col = max(1, e.Col-shift)
		return &moved
	}
	return err
}
