package source

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"
)

// chain returns a tree of links l0000 -> l0001 -> ... -> end, each by way of a
// detour of the given number of elements.
func chain(count, detour int) memory {
	m := memory{".": {mode: fs.ModeDir}, "d": {mode: fs.ModeDir}, "end": {}}
	for i := range count {
		target := fmt.Sprintf("l%04d", i+1)
		if i == count-1 {
			target = "end"
		}
		m[fmt.Sprintf("l%04d", i)] = &node{mode: fs.ModeSymlink, link: strings.Repeat("d/../", detour/2) + target}
	}
	return m
}

// The kernel's limit of 40 links holds wherever one starts, and whatever was
// resolved before.
func TestChainOfLinks(t *testing.T) {
	t.Parallel()
	const count = 400
	m := chain(count, 0)
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same orders each time
	ascending := make([]int, count)
	descending := make([]int, count)
	for i := range count {
		ascending[i], descending[i] = i, count-1-i
	}
	for name, order := range map[string][]int{
		"ascending": ascending, "descending": descending, "random": rng.Perm(count), "another": rng.Perm(count),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newResolver(m.stat)
			for _, i := range order {
				p, _, err := r.resolve(fmt.Sprintf("l%04d", i), true)
				if ok := count-i <= maxHops; ok != (err == nil) || ok != (p == "end") || !ok && !errors.Is(err, errManyLinks) {
					t.Errorf("from link %d: %q, %v, want success %t", i, p, err, ok)
				}
			}
		})
	}
}

// Checking all links of an archive takes time in proportion to their text.
// Without the memory of the resolver it would be forty times as much.
func TestCostOfLinks(t *testing.T) {
	t.Parallel()
	const count, detour = 1000, 200
	m := chain(count, detour)
	calls := 0
	r := newResolver(func(p string) (*node, error) {
		calls++
		return m.stat(p)
	})
	for i := range count {
		_, _, _ = r.resolve(fmt.Sprintf("l%04d", i), true) // most are too long a chain
	}
	if most := 3 * count * detour; calls > most {
		t.Errorf("%d lookups for %d elements, want at most %d", calls, count*detour, most)
	}
}

// A name can be over the limit with no link being so.
func TestHopsAddUp(t *testing.T) {
	t.Parallel()
	r := newResolver(memory{".": {mode: fs.ModeDir}, "s": {mode: fs.ModeSymlink, link: "."}, "f": {}}.stat)
	for hops, ok := range map[int]bool{1: true, maxHops: true, maxHops + 1: false} {
		if _, _, err := r.resolve(strings.Repeat("s/", hops)+"f", true); (err == nil) != ok {
			t.Errorf("%d links: %v, want success %t", hops, err, ok)
		}
	}
}
