package compare

import (
	"bytes"
	"slices"
)

// # How items without a name are aligned
//
// First a longest common subsequence of equal items, so that an item put in front is
// one addition. Myers' algorithm finds it in time proportional to the number of
// differences; beyond maxEdits of them, items that occur once on each side and keep
// their order are enough, which takes n log n.
//
// Between two equal items stands a gap: some items of From and some of To. Those that
// are alike are paired there, so that a rule with one more verb, or an argument with
// another value, is one change and not a removal and an addition.
//
// Of several alignments that are as good, swapping the sides must not take another.
// So it is always computed from the shorter list to the longer one.

const (
	// maxEdits bounds the differences that Myers' algorithm looks for.
	maxEdits = 512
	// maxGap bounds the pairs of items that are looked at in a gap.
	maxGap = 1 << 10
	// enough is the likeness from which on two items are one that changed, and
	// enoughAlone that of the only two items in a gap.
	enough      = 0.5
	enoughAlone = 0.25
)

// A couple is a pair of places, one in each list.
type couple struct{ from, to int }

// align pairs the items of two lists, in ascending order on both sides.
func align(a, b []any, from, to []digest) []couple {
	if swapped(from, to) {
		couples := align(b, a, to, from)
		for i, c := range couples {
			couples[i] = couple{c.to, c.from}
		}
		return couples
	}
	var out []couple
	x, y := 0, 0
	for _, c := range append(common(from, to), couple{len(a), len(b)}) {
		for _, g := range gap(a[x:c.from], b[y:c.to]) {
			out = append(out, couple{x + g.from, y + g.to})
		}
		if c.from < len(a) {
			out = append(out, c)
		}
		x, y = c.from+1, c.to+1
	}
	return out
}

func swapped(a, b []digest) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return slices.CompareFunc(a, b, func(x, y digest) int { return bytes.Compare(x[:], y[:]) }) > 0
}

// common returns a common subsequence of two lists.
func common(a, b []digest) []couple {
	var out []couple
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		out = append(out, couple{start, start})
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA--
		endB--
	}
	middle, ok := shortestEdit(a[start:endA], b[start:endB])
	if !ok {
		middle = anchors(a[start:endA], b[start:endB])
	}
	for _, c := range middle {
		out = append(out, couple{start + c.from, start + c.to})
	}
	for i := range len(a) - endA {
		out = append(out, couple{endA + i, endB + i})
	}
	return out
}

// shortestEdit is the greedy algorithm of Myers, "An O(ND) Difference Algorithm and
// Its Variations" (1986). It reports false where there are more than maxEdits
// differences.
func shortestEdit[E comparable](a, b []E) ([]couple, bool) {
	if len(a) == 0 || len(b) == 0 {
		return nil, true
	}
	limit := min(len(a)+len(b), maxEdits)
	// furthest[limit+k] is how far in a the diagonal k has come; trace keeps what it
	// was before each round.
	furthest := make([]int32, 2*limit+2)
	var trace [][]int32
	for d := 0; d <= limit; d++ {
		trace = append(trace, slices.Clone(furthest[limit-d:limit+d+1]))
		for k := -d; k <= d; k += 2 {
			var x int
			if down(k, d, func(k int) int32 { return furthest[limit+k] }) {
				x = int(furthest[limit+k+1])
			} else {
				x = int(furthest[limit+k-1]) + 1
			}
			y := x - k
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x++
				y++
			}
			furthest[limit+k] = int32(x) //nolint:gosec // a list of 2^31 items is beyond every limit
			if x >= len(a) && y >= len(b) {
				return backtrack(trace, x, y), true
			}
		}
	}
	return nil, false
}

// down reports whether the best path to diagonal k in round d comes from k+1, by an
// item of b, rather than from k-1.
func down(k, d int, furthest func(k int) int32) bool {
	return k == -d || k != d && furthest(k-1) < furthest(k+1)
}

func backtrack(trace [][]int32, x, y int) []couple {
	var out []couple
	for d := len(trace) - 1; d >= 0; d-- {
		before := func(k int) int32 { return trace[d][k+d] }
		k := x - y
		startX, startY := 0, 0
		if d > 0 {
			if down(k, d, before) {
				startX = int(before(k + 1))
				startY = startX - (k + 1)
			} else {
				startX = int(before(k - 1))
				startY = startX - (k - 1)
			}
		}
		for x > startX && y > startY {
			x--
			y--
			out = append(out, couple{x, y})
		}
		x, y = startX, startY
	}
	slices.Reverse(out)
	return out
}

// anchors pairs what occurs once in each list, as far as it keeps its order: the
// longest increasing run of places.
func anchors(a, b []digest) []couple {
	type occurrence struct{ count, place int }
	inB := make(map[digest]occurrence, len(b))
	for j, d := range b {
		inB[d] = occurrence{inB[d].count + 1, j}
	}
	inA := make(map[digest]int, len(a))
	for _, d := range a {
		inA[d]++
	}
	var unique []couple
	for i, d := range a {
		if o := inB[d]; inA[d] == 1 && o.count == 1 {
			unique = append(unique, couple{i, o.place})
		}
	}
	// ends[n] is the element with the smallest place in b that a run of n+1 ends with.
	ends, previous := []int{}, make([]int, len(unique))
	for i, c := range unique {
		n, _ := slices.BinarySearchFunc(ends, c.to, func(e, place int) int { return unique[e].to - place })
		previous[i] = -1
		if n > 0 {
			previous[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	var out []couple
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = previous[i] {
			out = append(out, unique[i])
		}
	}
	slices.Reverse(out)
	return out
}

// gap pairs items that are alike, in ascending order and so that the likeness of all
// pairs together is largest.
func gap(a, b []any) []couple {
	switch {
	case len(a) == 0 || len(b) == 0 || len(a)*len(b) > maxGap:
		return nil
	case len(a) == 1 && len(b) == 1:
		if shape(a[0]) == shape(b[0]) && (shape(a[0]) == 's' || likeness(a[0], b[0]) >= enoughAlone) {
			return []couple{{0, 0}}
		}
		return nil
	}
	// best[i][j] is the likeness of the pairs within a[i:] and b[j:].
	best := make([][]float64, len(a)+1)
	score := make([][]float64, len(a))
	for i := range best {
		best[i] = make([]float64, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		score[i] = make([]float64, len(b))
		for j := len(b) - 1; j >= 0; j-- {
			if shape(a[i]) == shape(b[j]) {
				if l := likeness(a[i], b[j]); l >= enough {
					score[i][j] = l
				}
			}
			best[i][j] = max(best[i+1][j], best[i][j+1], best[i+1][j+1]+score[i][j])
		}
	}
	var out []couple
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case score[i][j] > 0 && best[i][j] == best[i+1][j+1]+score[i][j]:
			out = append(out, couple{i, j})
			i++
			j++
		case best[i][j] == best[i+1][j]:
			i++
		default:
			j++
		}
	}
	return out
}

func shape(v any) byte {
	switch v.(type) {
	case map[string]any:
		return 'm'
	case []any:
		return 'l'
	}
	return 's'
}
