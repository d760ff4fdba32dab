package chart

import (
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
)

// The patterns say what a run is, slowly.
func TestChangeRuns(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("aZ09", leastBase64/4)
	parts := []string{long, long[1:], "x", "+", "/", "_", "-", "=", "==", " ", "\n", "é"}
	var texts []string
	for _, a := range parts {
		for _, b := range parts {
			for _, c := range parts {
				texts = append(texts, a+b+c, a+b+c+long, long+a+"="+b+c)
			}
		}
	}
	for others, pattern := range map[string]string{"+/": `[A-Za-z0-9+/]{40,}={0,2}`, "_-": `[A-Za-z0-9_-]{40,}={0,2}`} {
		runs := regexp.MustCompile(pattern)
		for _, text := range texts {
			found := 0
			change := func(run string) string {
				if found++; found%2 == 0 {
					return run
				}
				return "<" + run + ">"
			}
			want := runs.ReplaceAllStringFunc(text, change)
			found = 0
			if got := changeRuns(text, others, change); got != want {
				t.Errorf("%q: got %q, want %q", text, got, want)
			}
		}
	}
}

// What is in base64 is changed in the code that it has.
func TestInBase64(t *testing.T) {
	t.Parallel()
	change := func(text string) string { return strings.Replace(text, "secret", "thing", 1) }
	const others = "\xfb\xff\xfe" // are no letters and digits in any code
	plain := others + "a secret" + others + "that is long" + others + "enough"
	for _, code := range base64Codes {
		in := "key: x-" + code.EncodeToString([]byte(plain)) + "\n"
		want := "key: x-" + code.EncodeToString([]byte(change(plain))) + "\n"
		if code == base64.URLEncoding || code == base64.RawURLEncoding { // a minus is one of its letters
			in, want = strings.Replace(in, "x-", "x ", 1), strings.Replace(want, "x-", "x ", 1)
		}
		if got := inBase64(in, change); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, text := range []string{"", "short", "a secret in plain text, which is no base64", strings.Repeat("=", 50), strings.Repeat("-", 41)} {
		if got := inBase64(text, change); got != text {
			t.Errorf("%q: got %q", text, got)
		}
	}
}
