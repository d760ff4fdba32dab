package yamldoc

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestFastPathTakesTheSubset(t *testing.T) {
	t.Parallel()
	for _, text := range fastSnippets {
		t.Run(fmt.Sprintf("%.40q", text), func(t *testing.T) {
			t.Parallel()
			if !checkDecode(t, []byte(text)) {
				t.Errorf("the fast path declined %q", text)
			}
		})
	}
}

func TestDecodeIsTheLibrary(t *testing.T) {
	t.Parallel()
	for _, text := range librarySnippets {
		t.Run(fmt.Sprintf("%.40q", text), func(t *testing.T) {
			t.Parallel()
			checkDecode(t, []byte(text))
		})
	}
}

// Every snippet again inside other constructs, where columns and ends differ.
func TestDecodeOfNestedSnippets(t *testing.T) {
	t.Parallel()
	indent := func(s, by string) string { return by + strings.ReplaceAll(s, "\n", "\n"+by) }
	for _, text := range append(fastSnippets, librarySnippets...) {
		t.Run(fmt.Sprintf("%.40q", text), func(t *testing.T) {
			t.Parallel()
			for _, nested := range []string{
				"k:\n" + indent(text, "  ") + "\nl: m\n",
				"k:\n" + indent(text, " "),
				"-\n" + indent(text, "  ") + "\n- m\n",
				"- " + strings.TrimPrefix(indent(text, "  "), "  ") + "\n- m\n",
				"k:\n- " + strings.TrimPrefix(indent(text, "  "), "  ") + "\n- m\nn: o\n",
				"- - " + strings.TrimPrefix(indent(text, "    "), "    "),
				"a: [" + strings.TrimSuffix(text, "\n") + "]\n",
				"k: " + text,
				text + "\n" + text,
				strings.ReplaceAll(text, "\n", "\n\n"),
				strings.ReplaceAll(text, "\n", "\n# c\n"),
				strings.ReplaceAll(text, "\n", " # c\n"),
				strings.ReplaceAll(text, "\n", " \n"),
				strings.ReplaceAll(text, " ", "  "),
				strings.TrimSuffix(text, "\n"),
			} {
				checkDecode(t, []byte(nested))
			}
		})
	}
}

// Where the library picks one of several values at random, this package does not.
func TestKeysThatFallTogether(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, data, want string }{
		{"the string wins, first", "'1': a\n1: b\n", `{"1":"a"}`},
		{"the string wins, last", "1: a\n'1': b\nx: z\n", `{"1":"b","x":"z"}`},
		{"integer before float", "1.0: a\n1: b\ntrue: c\n'true': {yes: d}\n", `{"1":"b","true":{"true":"d"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for range 20 {
				v, err := Decode("f", []byte(tc.data))
				if got := string(AppendJSON(nil, v, "")); err != nil || got != tc.want {
					t.Fatalf("got %s, error %v, want %s", got, err, tc.want)
				}
			}
		})
	}
	_, err := Decode("f", []byte("1: a\n'1': .nan\n"))
	if err == nil {
		t.Error("NaN was accepted")
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range append(fastSnippets, librarySnippets...) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkDecode(t, data)
	})
}

// tokens are what YAML is made of; a random sequence of them reaches states that
// random bytes do not.
var tokens = []string{
	"a", "b", "1", "x y", "key: ", "a:", ": ", ":", "- ", "-", "\n", "\n", "\n", "\n  ", "\n    ", "\n ", "\n- ", "\n  - ", "\na: ", "\n  b: ", "\n    c: ", "\n\n", " ", "  ",
	"\"", "'", "\\", "\\n", "''", "|", ">", "|-", ">+", "|2", "+", "[", "]", "{", "}", ", ", ",", "#", " # c", "\n# c", "\n  # c", "\t", "?", "? ", "true", "no", "~", "null", "0x1", "1.0", ".5", "<<", "&a ", "*a", "!!str ", "---", "\n---\n", "...", "%", "=", "\u00e9", "\u2028", "\"q\": ", "'s': ", "\"x\"", "[]", "{}", "[a, b]", "{a: b}", "|\n    x\n", "text more",
}

// FuzzDecodeTokens is FuzzDecode with one token for each byte of its input.
func FuzzDecodeTokens(f *testing.F) {
	rnd := rand.NewChaCha8([32]byte{})
	for i := range 500 {
		seed := make([]byte, 2+i%20)
		if _, err := rnd.Read(seed); err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var text strings.Builder
		for _, b := range data {
			text.WriteString(tokens[int(b)%len(tokens)])
		}
		checkDecode(t, []byte(text.String()))
	})
}
