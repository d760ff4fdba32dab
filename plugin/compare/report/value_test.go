package report

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain: ünïcode 漢字 \"quoted\" \\n": "plain: ünïcode 漢字 \"quoted\" \\n",
		"a\tb":                             "a\tb",
		"a\nb\r":                           `a\nb\r`,
		"\x1b[31m":                         `\x1b[31m`,
		"\x00\x7f":                         `\x00\x7f`,
		"\u0085\u009b":                     `\u0085\u009b`,
		"a\u202eb":                         `a\u202eb`,
		"a\u200bb":                         `a\u200bb`,
		"a\u00a0b":                         `a\u00a0b`,
		"\u2028":                           `\u2028`,
		"\xff\xc3":                         `\xff\xc3`,
		"":                                 "",
	} {
		if got := printable(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestInline(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value any
		want  string // "" for what needs lines of its own
	}{
		{nil, "null"}, {true, "true"}, {int64(3), "3"}, {3, "3"}, {2.5, "2.5"},
		{"web", "web"}, {"1.4.0", "1.4.0"}, {"3", `"3"`}, {"1e3", `"1e3"`}, {"true", `"true"`}, {"null", `"null"`}, {"", `""`},
		{" web", `" web"`}, {"a -> b", `"a -> b"`}, {"a\tb", `"a\tb"`}, {"one\n", `"one\n"`}, {"one\ntwo", ""}, {"a\u200bb", `"a\u200bb"`},
		{[]any{"a", int64(1)}, `["a",1]`}, {map[string]any{"b": "<x>", "a": nil}, `{"a":null,"b":"<x>"}`},
		{map[string]any{"a": strings.Repeat("x", 60)}, ""}, {[]any{}, "[]"},
	} {
		got, ok := inline(tt.value)
		if got, want := got, tt.want; ok != (want != "") || ok && got != want {
			t.Errorf("%#v: got %q, %v, want %q", tt.value, got, ok, want)
		}
	}
}

func TestShortenPair(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 100)
	for _, tt := range []struct{ a, b, wantA, wantB string }{
		{"short", "other", "short", "other"},
		{long + "1", long + "2", "…aaaa1", "…aaaa2"},
		{"1" + long, "2" + long, "1aaaa…", "2aaaa…"},
		{long + "1" + long, long + "2" + long, "…aaaa1aaaa…", "…aaaa2aaaa…"},
		{long, "b", "aaaaaaaaaa…aaaaaaaaa", "b"},
		{"", long, "", "aaaaaaaaaa…aaaaaaaaa"},
	} {
		if a, b := shortenPair(tt.a, tt.b, 20); a != tt.wantA || b != tt.wantB {
			t.Errorf("%q and %q: got %q and %q, want %q and %q", tt.a, tt.b, a, b, tt.wantA, tt.wantB)
		}
	}
}

// TestShortenPairShows shortens values that differ: they still do, and are short.
func TestShortenPairShows(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 10)) //nolint:gosec // the same texts each time
	word := func(most int) string {
		var b strings.Builder
		for range random.IntN(most) {
			b.WriteRune([]rune("abé漢")[random.IntN(4)])
		}
		return b.String()
	}
	for range 2000 {
		head, tail := word(80), word(80)
		a, b := head+word(5)+tail, head+word(5)+tail
		if a == b {
			continue
		}
		room := 12 + random.IntN(60)
		gotA, gotB := shortenPair(a, b, room)
		if gotA == gotB || utf8.RuneCountInString(gotA) > room || utf8.RuneCountInString(gotB) > room || !utf8.ValidString(gotA+gotB) {
			t.Fatalf("%q and %q in %d: got %q and %q", a, b, room, gotA, gotB)
		}
	}
}
