package main

import "testing"

func TestPrintable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, want string }{
		{"text", "a\tü → 語 👍", "a\tü → 語 👍"},
		{"C0", "a\x1b[31mb\rc\x00", "a\uFFFD[31mb\uFFFDc\uFFFD"},
		{"delete", "a\x7f", "a\uFFFD"},
		{"C1", "a\u0080b\u009b31mc\u009f", "a\uFFFDb\uFFFD31mc\uFFFD"},
		{"bytes that are not UTF-8", "a\x9bb", "a\uFFFDb"},
		{"marks", "a\u200eb\u200fc\u061c", "a\uFFFDb\uFFFDc\uFFFD"},
		{"embeddings and overrides", "\u202a\u202b\u202c\u202d\u202e", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"},
		{"isolates", "\u2066\u2067\u2068\u2069", "\uFFFD\uFFFD\uFFFD\uFFFD"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := printable(test.in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
