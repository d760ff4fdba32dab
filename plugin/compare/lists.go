package compare

import (
	"slices"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// # How lists are compared
//
// The items of a list of Kubernetes mostly have a name: the fields by which a
// strategic merge patch finds them. Custom resources follow the same habits, but
// their schema is not at hand, so the names are found by looking: a key fits a list
// pair where all items of both are mappings that have it, and no two of one list have
// the same. Of the keys that fit, the one that pairs most items is taken: a port that
// keeps its name and changes its number is paired by its name, and one that keeps its
// number by that.
//
// Items without a name, and scalars, are aligned as lines of a text are: see align.
// Either way, a list whose items are all there in another order is one difference.

// mergeKeys are what names an item, in the order of preference. A name may be several
// fields; "a.b" is a field in a field.
var mergeKeys = [][]string{
	{"mountPath"},
	{"devicePath"},
	{"name"},
	{"containerPort", "protocol"},
	{"port", "protocol"},
	{"topologyKey", "whenUnsatisfiable"},
	{"uid"},
	{"ip"},
	{"kind", "namespace", "name"},
	{"metadata.name"},
	{"alert"},
	{"record"},
	{"host"},
	{"id"},
	{"type"},
	{"key"},
	{"path"},
}

// optional are fields of a name that may be left out, with what they are then. They
// are part of the name where they are something else.
var optional = map[string]string{"protocol": "TCP", "namespace": "", "whenUnsatisfiable": "DoNotSchedule"}

// maxName bounds a name: what is longer is content.
const maxName = 256

// A keying names the items of two lists.
type keying struct {
	from, to []string // the names
	paired   int
}

// itemNames returns the names of items by a key, and false where it does not fit.
func itemNames(items []any, key []string) ([]string, bool) {
	names := make([]string, len(items))
	seen := make(map[string]bool, len(items))
	for i, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			return nil, false
		}
		for _, field := range key {
			v := object.Field(m, strings.Split(field, ".")...)
			if usual, may := optional[field]; may && (v == nil || v == any(usual)) {
				continue
			}
			text, ok := nameOf(v)
			if !ok {
				return nil, false
			}
			if names[i] != "" {
				names[i] += "/"
			}
			names[i] += text
		}
		if seen[names[i]] {
			return nil, false
		}
		seen[names[i]] = true
	}
	return names, true
}

// nameOf returns a scalar as part of a name.
func nameOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, v != "" && len(v) <= maxName && v != unstable
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

// keyed returns the best key for two lists, nil where none fits.
func (w *walker) keyed(a, b []any) *keying {
	var best *keying
	for _, key := range mergeKeys {
		from, fits := itemNames(a, key)
		if !fits {
			continue
		}
		to, fits := itemNames(b, key)
		if !fits {
			continue
		}
		k := &keying{from: from, to: to}
		w.names.translate(k.from, k.to)
		names := make(map[string]bool, len(to))
		for _, name := range to {
			names[name] = true
		}
		for _, name := range k.from {
			if names[name] {
				k.paired++
			}
		}
		if best == nil || k.paired > best.paired {
			best = k
		}
	}
	return best
}

func (w *walker) list(a, b []any) {
	if len(a) == len(b) && same(a, b) {
		return
	}
	k := w.keyed(a, b)
	if k != nil && (k.paired > 0 || len(a) == 0 || len(b) == 0) {
		w.byName(a, b, k)
		return
	}
	w.bySequence(a, b, k)
}

func (w *walker) byName(a, b []any, k *keying) {
	places := make(map[string]int, len(a))
	for i, name := range k.from {
		places[name] = i
	}
	partner := make([]int, len(b)) // in a, or -1
	last, ordered := -1, true
	kept := make([]bool, len(a))
	for j, name := range k.to {
		i, ok := places[name]
		if !ok {
			partner[j] = -1
			continue
		}
		partner[j], kept[i] = i, true
		ordered = ordered && i > last
		last = i
	}
	if !ordered {
		w.order(texts(k.from), texts(k.to))
	}
	w.items(a, b, partner, kept, func(i, j int) string {
		if j >= 0 {
			return itemLabel(k.to[j])
		}
		return itemLabel(k.from[i])
	})
}

// items compares the items of two lists, where partner has the place in a of each
// item of b, or -1, and kept what of a has a partner. label names an item by its place
// in a or in b, -1 where it is in one only.
func (w *walker) items(a, b []any, partner []int, kept []bool, label func(i, j int) string) {
	next := 0 // of a: everything before it has been told, or has a partner
	removed := func(end int) {
		for ; next < end; next++ {
			if !kept[next] {
				w.within(step{list: true, from: next, to: next, label: label(next, -1)}, func() { w.emit(Removed, a[next], nil) })
			}
		}
	}
	// until has, for each item of b, the place of the next one in a that has a partner.
	until := make([]int, len(b))
	for j, end := len(b)-1, len(a); j >= 0; j-- {
		if partner[j] >= 0 {
			end = partner[j]
		}
		until[j] = end
	}
	for j, i := range partner {
		removed(until[j]) // what goes is told before what comes in its place
		if i >= 0 {
			w.within(step{list: true, from: i, to: j, label: label(i, j)}, func() { w.value(a[i], b[j]) })
			continue
		}
		w.within(step{list: true, from: j, to: j, label: label(-1, j)}, func() { w.emit(Added, nil, b[j]) })
	}
	removed(len(a))
}

func (w *walker) bySequence(a, b []any, k *keying) {
	from, to := digests(a), digests(b)
	if shuffled(from, to) {
		w.order(w.shuffledNames(a, b, from, to, k))
		return
	}
	partner, kept := make([]int, len(b)), make([]bool, len(a))
	for j := range partner {
		partner[j] = -1
	}
	for _, m := range align(a, b, from, to) {
		partner[m.to], kept[m.from] = m.from, true
	}
	w.items(a, b, partner, kept, func(i, j int) string {
		switch {
		case i >= 0 && j >= 0:
			return strconv.Itoa(j)
		case k != nil && j >= 0:
			return itemLabel(k.to[j])
		case k != nil:
			return itemLabel(k.from[i])
		}
		return strconv.Itoa(max(i, j))
	})
}

// shuffledNames returns what names the items of a list in both orders: scalars
// themselves, and for other items their places in From.
func (w *walker) shuffledNames(a, b []any, from, to []digest, k *keying) (before, after []any) {
	if k != nil {
		return texts(k.from), texts(k.to)
	}
	if !slices.ContainsFunc(a, isCollection) {
		return a, b
	}
	places := map[digest][]int{}
	for i, d := range from {
		places[d] = append(places[d], i)
		before = append(before, int64(i))
	}
	for _, d := range to {
		after = append(after, int64(places[d][0]))
		places[d] = places[d][1:]
	}
	return before, after
}

func isCollection(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func texts(names []string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out
}

func digests(items []any) []digest {
	out := make([]digest, len(items))
	for i, item := range items {
		out[i] = digestOf(item)
	}
	return out
}

// shuffled reports whether two lists hold the same items.
func shuffled(a, b []digest) bool {
	if len(a) != len(b) {
		return false
	}
	count := make(map[digest]int, len(a))
	for _, d := range a {
		count[d]++
	}
	for _, d := range b {
		if count[d]--; count[d] < 0 {
			return false
		}
	}
	return true
}
