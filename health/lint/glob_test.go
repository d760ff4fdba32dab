package lint

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/gobwas/glob"
)

func TestOverlap(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"*", "*/*", true},
		{"*/*", "apps/*", true},
		{"*.x.io/*", "*.y.io/*", false},
		{"*.x.io/*", "a.*/*", true},
		{"*.x.io/*", "x.io/*", false},
		{"*x.io/*", "x.io/*", true},
		{"*.crossplane.io/*", "*.aws.crossplane.io/*", true},
		{"x.io/A*", "x.io/B*", false},
		{"x.io/A*", "x.io/*B", true},
		{"x.io/{A,B}", "x.io/{B,C}", true},
		{"x.io/{A,B}", "x.io/{C,D}", false},
		{"{a,b{c,d}}.io/*", "bd.*/*", true},
		{"x.io/[A-C]*", "x.io/[D-F]*", false},
		{"x.io/[A-C]*", "x.io/[!A-B]*", true},
		{"x.io/[!A]", "x.io/A", false},
		{"x.io/?", "x.io/AB", false},
		{"x.io/?B", "x.io/A?", true},
		{"P*", "*/*", false},
		{"P*", "*d", true},
		{"*", "**", true},
		{"{a*,b}a/*", "aaa/*", false}, // by the library, though it should
		{`x.io/\*`, "x.io/*", false},  // * is no letter of a kind
		{`x.io/\A`, "x.io/A*", true},
		{`x.io/\*`, "x.io/A*", false},
		{"Pod", "*", true},       // a kind of the core group
		{"a/b/c*", "a/*", false}, // no kind has a slash
		{"", "*", false},
	} {
		for _, pair := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
			key, got := overlap(pair[0], pair[1], nil)
			if got != test.want {
				t.Errorf("%q and %q: got %t, want %t", pair[0], pair[1], got, test.want)
			}
			if got && !(matches(t, pair[0], key) && matches(t, pair[1], key)) {
				t.Errorf("%q and %q do not both match %q", pair[0], pair[1], key)
			}
		}
	}
}

func matches(t *testing.T, pattern, text string) bool {
	t.Helper()
	g, err := glob.Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return g.Match(text)
}

// expression is the pattern as a regular expression. The library takes "b" for "b*b".
func expression(pattern string) *regexp.Regexp {
	replacer := strings.NewReplacer("*", ".*", "?", ".", "[!", "[^", "{", "(", "}", ")", ",", "|")
	return regexp.MustCompile("^" + replacer.Replace(pattern) + "$")
}

// TestOverlapTried compares with trying all short keys, over patterns made at random.
func TestOverlapTried(t *testing.T) {
	t.Parallel()
	var keys []string
	words := []string{""}
	for range 4 {
		var longer []string
		for _, w := range words {
			for _, c := range "ab/" {
				longer = append(longer, w+string(c))
			}
		}
		words = longer
		for _, w := range words {
			if strings.Count(w, "/") <= 1 && !strings.HasPrefix(w, "/") && !strings.HasSuffix(w, "/") {
				keys = append(keys, w)
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // G404: the same patterns in each run
	parts := []string{"a", "b", "/", "*", "?", "[ab]", "[!a]", "{a,b}"}
	pattern := func() string {
		var b strings.Builder
		for range 1 + random.IntN(3) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		return b.String()
	}
	both := 0
	for range 3000 {
		a, b := pattern(), pattern()
		key, got := overlap(a, b, nil)
		if got && !(matches(t, a, key) && matches(t, b, key)) {
			t.Errorf("%q and %q do not both match %q", a, b, key)
		}
		first, second := expression(a), expression(b)
		tried := ""
		for _, k := range keys {
			if first.MatchString(k) && second.MatchString(k) && matches(t, a, k) && matches(t, b, k) {
				tried = k
				break
			}
		}
		if tried != "" && !got {
			t.Errorf("%q and %q both match %q, and no overlap was found", a, b, tried)
		}
		if got {
			both++
		}
	}
	if both < 300 || both > 2900 {
		t.Errorf("%d of 3000 pairs overlap, which tests little", both)
	}
}
