package compare

import (
	"crypto/sha256"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// exact is the largest integer up to which a float64 holds every integer.
const exact = 1 << 53

// same reports whether two values are equal. A number is the same as an integer and
// as a float, as in canonical JSON; a string is never a number, and null is not the
// same as a field that is not there.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, x := range a {
			if y, ok := b[key]; !ok || !same(x, y) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case string:
		b, ok := b.(string)
		return ok && a == b
	case nil:
		return b == nil
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case int64:
		switch b := b.(type) {
		case int64:
			return a == b
		case float64:
			return sameNumber(a, b)
		}
		return false
	case float64:
		switch b := b.(type) {
		case int64:
			return sameNumber(b, a)
		case float64:
			return a == b || math.IsNaN(a) && math.IsNaN(b)
		}
		return false
	}
	return reflect.DeepEqual(a, b)
}

func sameNumber(i int64, f float64) bool { return i >= -exact && i <= exact && float64(i) == f }

// digest is a hash that two values share if they are the same, so that many can be
// compared with each other.
type digest [sha256.Size]byte

func digestOf(v any) digest { return hash(appendForm(nil, v, nil)) }

func hash(form []byte) digest { return sha256.Sum256(form) }

// appendForm appends a text to dst that two values share if they are the same.
// Strings pass through replace first, where it is not nil.
func appendForm(dst []byte, v any, replace func(string) string) []byte {
	switch v := v.(type) {
	case map[string]any:
		dst = append(dst, '{')
		for _, key := range slices.Sorted(maps.Keys(v)) {
			dst = appendText(dst, key)
			dst = appendForm(dst, v[key], replace)
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for _, item := range v {
			dst = appendForm(dst, item, replace)
		}
		return append(dst, ']')
	case string:
		if replace != nil {
			v = replace(v)
		}
		return appendText(dst, v)
	case nil:
		return append(dst, 'n')
	case bool:
		if v {
			return append(dst, 't')
		}
		return append(dst, 'f')
	case int64:
		return append(strconv.AppendInt(append(dst, '#'), v, 10), ';')
	case float64:
		if v == math.Trunc(v) && v >= -exact && v <= exact {
			return append(strconv.AppendInt(append(dst, '#'), int64(v), 10), ';')
		}
		return append(strconv.AppendFloat(append(dst, '~'), v, 'g', -1, 64), ';')
	}
	return append(dst, '?')
}

// appendText writes the length in front, so that no text can look like structure.
func appendText(dst []byte, s string) []byte {
	dst = append(strconv.AppendInt(append(dst, '"'), int64(len(s)), 10), ':')
	return append(dst, s...)
}

// likeness says how much of two values is equal: 0 nothing, 1 everything. Beyond a
// few thousand fields the rest does not count.
func likeness(a, b any) float64 {
	budget := 4096
	equal, total := alike(a, b, &budget)
	if total == 0 {
		return 1
	}
	return equal / total
}

// alike counts scalars. Two texts that begin and end alike are equal in part, and
// items of a list are compared by their places.
func alike(a, b any, budget *int) (equal, total float64) {
	if *budget--; *budget < 0 {
		return 0, 0
	}
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			break
		}
		// In the order of the keys: the budget must end at the same place each time.
		for _, key := range unionKeys(a, b) {
			x, inA := a[key]
			y, inB := b[key]
			if !inA || !inB {
				total++
				continue
			}
			e, t := alike(x, y, budget)
			equal, total = equal+e, total+t
		}
		return equal, total
	case []any:
		b, ok := b.([]any)
		if !ok {
			break
		}
		n := min(len(a), len(b))
		for i := range n {
			e, t := alike(a[i], b[i], budget)
			equal, total = equal+e, total+t
		}
		return equal, total + float64(max(len(a), len(b))-n)
	case string:
		if b, ok := b.(string); ok {
			return alikeText(a, b), 1
		}
	}
	if same(a, b) {
		return 1, 1
	}
	return 0, 1
}

// alikeText is the share of the longer text that both begin and end with.
func alikeText(a, b string) float64 {
	if a == b {
		return 1
	}
	prefix, suffix := commonEnds(a, b)
	return float64(prefix+suffix) / float64(max(len(a), len(b)))
}

// commonEnds returns the lengths of what two texts begin and end with in common;
// the two parts do not overlap.
func commonEnds(a, b string) (prefix, suffix int) {
	n := min(len(a), len(b))
	for prefix < n && a[prefix] == b[prefix] {
		prefix++
	}
	for suffix < n-prefix && a[len(a)-1-suffix] == b[len(b)-1-suffix] {
		suffix++
	}
	return prefix, suffix
}

// unionKeys returns the keys of both mappings, sorted.
func unionKeys(a, b map[string]any) []string {
	keys := make([]string, 0, max(len(a), len(b)))
	for key := range a {
		keys = append(keys, key)
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
