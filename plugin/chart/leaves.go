package chart

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"
)

// What a chart's values are, told in the syntax of --set.
//
// Argo CD's UI shows such a list and, when somebody edits one entry, saves all
// of them. So an assignment is listed only if Helm's own parser gives the value
// back: what an assignment cannot say exactly (a fraction, a large number, an
// empty mapping in a list) is left out, and strings that --set would take for
// something else are listed for --set-string. A list is replaced as a whole by
// an assignment to any part of it, so it is listed as a whole or not at all.

const (
	// maxLeaves bounds the assignments: nobody scrolls through more, and a chart
	// can embed a dashboard of ten thousand values.
	maxLeaves = 1000
	// maxLeaf bounds path and value of one assignment, in bytes. What is longer
	// is a file, for which the input field of a page is no editor. It is left
	// out, not cut: a cut value could be saved.
	maxLeaf = 1 << 10
)

// Leaves are values as assignments.
type Leaves struct {
	// Set and SetString are what Options takes under these names.
	Set, SetString []Assignment
	// Omitted is the number of values that are in neither: there are too many,
	// they are too long, or no assignment gives them exactly.
	Omitted int
}

// Defaults returns the values that the chart has when nothing is assigned: its
// values.yaml, and docs over it in rising precedence, merged as the engine does
// it. The values of its dependencies are not among them, as with `helm show
// values`.
func (c *Chart) Defaults(engine Engine, docs []Document) (map[string]any, error) {
	for _, f := range c.files {
		if f.name == "values.yaml" {
			own := Document{Name: path.Join(c.dir, f.name), Data: f.data}
			docs = slices.Concat([]Document{own}, docs)
		}
	}
	return MergeValues(engine, docs)
}

// MergeValues merges docs, in rising precedence, as the engine does it.
func MergeValues(engine Engine, docs []Document) (values map[string]any, err error) {
	defer func() {
		if recover() != nil {
			values, err = nil, ErrPanic
		}
	}()
	if engine == Helm4 {
		return values4(Options{Values: docs})
	}
	return values3(Options{Values: docs})
}

// LeavesOf lists values, but not those that are decided elsewhere: by values that
// go over them, or by the assignments named in assigned. Null, an empty mapping
// and an empty list say that there is no value, and are not listed.
func LeavesOf(values, over map[string]any, assigned []string) Leaves {
	w := leafWalk{assigned: map[string]any{}}
	mark(w.assigned, over)
	for _, name := range assigned {
		target := map[string]any{}
		if strvals.ParseIntoString(name+"=", target) == nil {
			mark(w.assigned, target)
		}
	}
	w.mapping(nil, values)
	return w.out
}

type leafWalk struct {
	// assigned has a mapping for each key on the way to what is decided elsewhere,
	// and true where such a way ends or goes on into a list.
	assigned map[string]any
	out      Leaves
}

func (w *leafWalk) mapping(keys []string, m map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		at := append(slices.Clip(keys), key)
		switch v := m[key].(type) {
		case nil:
		case map[string]any:
			w.mapping(at, v)
		case []any:
			if len(v) > 0 {
				w.unit(at, v)
			}
		default:
			w.unit(at, v)
		}
	}
}

// unit lists a scalar or a list.
func (w *leafWalk) unit(keys []string, value any) {
	if touches(w.assigned, keys) {
		return
	}
	name := make([]string, len(keys))
	for i, key := range keys {
		name[i] = escapeKey(key)
	}
	leaves := appendLeaves(nil, strings.Join(name, "."), value)
	var list *[]Assignment
	switch {
	case len(leaves) > maxLeaves, slices.ContainsFunc(leaves, tooLong):
	case gives(leaves, strvals.ParseInto, keys, value):
		list = &w.out.Set
	case gives(leaves, strvals.ParseIntoString, keys, value):
		list = &w.out.SetString
	}
	if list == nil || len(*list)+len(leaves) > maxLeaves {
		w.out.Omitted += len(leaves)
		return
	}
	*list = append(*list, leaves...)
}

func tooLong(a Assignment) bool { return len(a.Name)+len(a.Value) > maxLeaf }

// appendLeaves is the other direction of Helm's parser. What it has no form for
// gets one anyway, which gives then refuses.
func appendLeaves(to []Assignment, name string, value any) []Assignment {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			to = appendLeaves(to, name+"."+escapeKey(key), v[key])
		}
		if len(v) > 0 {
			return to
		}
	case []any:
		for i, e := range v {
			to = appendLeaves(to, fmt.Sprintf("%s[%d]", name, i), e)
		}
		if len(v) > 0 {
			return to
		}
	case string:
		return append(to, Assignment{name, escapeValue(v)})
	case float64:
		return append(to, Assignment{name, strconv.FormatFloat(v, 'f', -1, 64)})
	case bool, int64:
		return append(to, Assignment{name, fmt.Sprint(v)})
	}
	return append(to, Assignment{Name: name})
}

// gives tells whether the assignments lead to value under keys and to nothing else.
func gives(leaves []Assignment, into func(string, map[string]any) error, keys []string, value any) bool {
	got := map[string]any{}
	for _, a := range leaves {
		if into(a.Name+"="+escapeCommas(a.Value), got) != nil {
			return false
		}
	}
	want := value
	for _, key := range slices.Backward(keys) {
		want = map[string]any{key: want}
	}
	return sameValue(want, got)
}

// sameValue tells whether templates print a and b alike: an assignment makes an
// int64 where a file has a float64.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && len(a) == len(b) && !slices.ContainsFunc(slices.Collect(maps.Keys(a)), func(key string) bool {
			other, found := b[key]
			return !found || !sameValue(a[key], other)
		})
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	case float64, int64:
		switch b.(type) {
		case float64, int64:
			return fmt.Sprint(a) == fmt.Sprint(b)
		}
		return false
	}
	return a == b // string, bool and nil
}

// mark adds to assigned what target decides.
func mark(assigned, target map[string]any) {
	for key, v := range target {
		inner, deeper := v.(map[string]any)
		if !deeper {
			assigned[key] = true
			continue
		}
		switch have := assigned[key].(type) {
		case nil:
			next := map[string]any{}
			mark(next, inner)
			assigned[key] = next
		case map[string]any:
			mark(have, inner)
		}
	}
}

// touches tells whether the value under keys, a part of it, or what it is a part
// of is decided elsewhere.
func touches(assigned map[string]any, keys []string) bool {
	for _, key := range keys {
		next, found := assigned[key]
		if !found {
			return false
		}
		inner, deeper := next.(map[string]any)
		if !deeper {
			return true
		}
		assigned = inner
	}
	return true
}

var keyEscapes = strings.NewReplacer(`\`, `\\`, `.`, `\.`, `,`, `\,`, `=`, `\=`, `[`, `\[`)

func escapeKey(key string) string { return keyEscapes.Replace(key) }

// escapeValue writes a string so that escapeCommas and Helm's parser together
// give it back. A comma behind a backslash is the one that escapeCommas leaves
// alone, and a brace at the start would begin a list.
func escapeValue(value string) string {
	var b strings.Builder
	var previous rune
	for i, r := range value {
		if r == '\\' || r == ',' && previous == '\\' || r == '{' && i == 0 {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		previous = r
	}
	return b.String()
}
