package policy

import (
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/fields"
)

// names returns a list of known names, not nil.
func names(f fields.Field, what string, known []string) []string {
	out := []string{}
	for _, item := range f.List() {
		name, ok := item.Text()
		switch {
		case !ok:
		case !slices.Contains(known, name):
			item.Faultf("unknown %s %q, want one of %s", what, name, strings.Join(known, ", "))
		case slices.Contains(out, name):
			item.Faultf("%q is there twice", name)
		default:
			out = append(out, name)
		}
	}
	return out
}

// patterns returns the globs of a field that holds one or a list, nil for a field
// that is not there.
func patterns(f fields.Field, compile compiler) []pattern {
	if !f.There() {
		return nil
	}
	items := []fields.Field{f}
	switch value := f.Value().(type) {
	case string:
	case []any:
		if len(value) == 0 {
			f.Faultf("the list is empty, so nothing matches")
		}
		items = f.List()
	default:
		f.Faultf("got %s, want a glob or a list of globs", fields.KindOf(f.Value()))
		return nil
	}
	out := []pattern{}
	for _, item := range items {
		text, ok := item.Text()
		if !ok {
			continue
		}
		p, err := compile(text)
		if err != nil {
			item.Faultf("%v", err)
		}
		out = append(out, p)
	}
	return out
}
