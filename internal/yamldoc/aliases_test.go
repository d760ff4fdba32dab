package yamldoc_test

import (
	"fmt"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/yamldoc"
)

// TestCheckAliases: an alias that is missed overflows a stack, or fills memory.
func TestCheckAliases(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"a: &a [*a]\n", "a: &a\n- *a\n", "&a {*a : b}\n", "a: &a {\"b\":*a}\n", "{\"a\":&a {\"b\":*a}}\n", "a: !!seq &a [*a]\n",
		"a: &a !!seq [*a]\n", "a: &a\n  b: &b\n    c: *a\n", "x: &a y\n---\na: &a [*a]\n", "x: [\n---\na: &a [*a]\n", "x: y\r\n---\r\na: &a [*a]\r\n",
	} {
		if err := yamldoc.CheckAliases("f", []byte(text)); err == nil || !strings.Contains(err.Error(), `anchor "a" contains itself`) {
			t.Errorf("%q: got %v", text, err)
		}
	}
	bomb := "a: &a [\"" + strings.Repeat("x", 1000) + "\"]\n"
	for c := 'b'; c < 'i'; c++ {
		bomb += fmt.Sprintf("%c: &%[1]c {\"k\":*%c,\"l\":*%[2]c,\"m\":*%[2]c,\"n\":*%[2]c,\"o\":*%[2]c,\"p\":*%[2]c,\"q\":*%[2]c,\"r\":*%[2]c}\n", c, c-1)
	}
	if err := yamldoc.CheckAliases("f", []byte(bomb)); err == nil || !strings.Contains(err.Error(), "expand") {
		t.Errorf("a document of aliases without spaces: got %v", err)
	}
	deep := "d: " + strings.Repeat("[", 600) + strings.Repeat("]", 600) + "\nx: &a \"" + strings.Repeat("Q", 300_000) + "\"\ny: [" + strings.Repeat("*a, ", 2000) + "]\n"
	if err := yamldoc.CheckAliases("f", []byte(deep)); err == nil || !strings.Contains(err.Error(), "expands to more than") {
		t.Errorf("a document with another fault in front: got %v", err)
	}
	for _, text := range []string{"a: &a b\nc: *a\n", "a: &a [b]\nc: [*a, *a]\n", "a: &a [\n", "&: *\n", "a & b * c"} {
		if err := yamldoc.CheckAliases("f", []byte(text)); err != nil {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
