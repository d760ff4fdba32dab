package policy

import (
	"math/rand/v2"
	"strings"
	"testing"

	gobwas "github.com/gobwas/glob"
)

func TestGlobs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		glob, text string
		want       bool
	}{
		{"payments", "payments", true},
		{"payments", "Payments", false},
		{"payments", "payments-eu", false},
		{"payments-*", "payments-", true},
		{"pay*-*s", "pay-a-s", true},
		{"a/*", "a/b/c", true}, // names have no separators
		{"?", "", false},
		{"?", "ä", true},
		{"??", "ä", false},
		{"ab*ba", "aba", false},
		{"{b*,b}", "b", true},
		{"[abc]-[!abc]", "b-d", true},
		{"[abc]-[!abc]", "b-c", false},
		{"[a-cx]", "x", true},
		{"[a-]", "-", true},
		{`[\]]`, "]", true},
		{`[\!-\]]`, "a", false},
		{"{a,b{c,d}}-{,x}", "bd-", true},
		{"{a,b{c,d}}-{,x}", "b-x", false},
		{"a,b", "a,b", true},
		{`\{a\,b\}\*`, "{a,b}*", true},
		{"[{]a[}]", "{a}", true},
		{"***", "", true},
	} {
		p, err := compileName(test.glob)
		if err != nil {
			t.Errorf("%q: %v", test.glob, err)
		} else if got := p.matches([]string{test.text}, nil); got != test.want {
			t.Errorf("%q and %q: got %v, want %v", test.glob, test.text, got, test.want)
		}
	}
}

// The globs mean what they mean in an AppProject, which is matched by gobwas/glob.
// It is wrong about some globs with alternatives and about texts that are shorter
// than the glob's letters ("?" takes nothing for a match), so these are left out.
func TestGlobsAsArgoCD(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same cases each time
	text := func(n int, elements ...string) string {
		var b strings.Builder
		for range n {
			b.WriteString(elements[r.IntN(len(elements))])
		}
		return b.String()
	}
	matched := 0
	for range 100_000 {
		pattern, value := text(1+r.IntN(6), "a", "b", "/", "*", "**", "?", "[ab]", `\*`), text(r.IntN(8), "a", "b", "/", "*")
		letters := len(strings.NewReplacer("*", "", "[ab]", "a", `\*`, "a").Replace(pattern))
		if strings.Contains(pattern, "***") || len(value) < letters {
			continue
		}
		for _, separators := range [][]rune{nil, {'/'}} {
			reference, err := gobwas.Compile(pattern, separators...)
			if err != nil {
				t.Fatal(err)
			}
			ours, err := compileGlob(pattern, append(separators, 0)[0])
			if err != nil {
				t.Fatal(err)
			}
			want := reference.Match(value)
			if got := ours.match(value); got != want {
				t.Errorf("%q and %q, separators %q: got %v, want %v", pattern, value, separators, got, want)
			}
			if want {
				matched++
			}
		}
	}
	if matched < 1000 {
		t.Errorf("only %d texts matched", matched)
	}
}
