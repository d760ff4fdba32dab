package yamldoc_test

import (
	"fmt"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/yamldoc"
)

func numbered(format string, n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, format, i)
	}
	return text.String()
}

func TestMappings(t *testing.T) {
	t.Parallel()
	crd := "a:\n" + strings.Repeat("  - name: x\n    type: string\n    items:\n      key: a\n", 2000)
	for name, tc := range map[string]struct {
		text          string
		suspect, fail bool
	}{
		"one key many times":   {"data:\n" + strings.Repeat("  a: 1\n", 5000), true, true},
		"at the top":           {strings.Repeat("a: 1\n", 5000), true, true},
		"in an item":           {"x:\n- b: 1\n" + strings.Repeat("  a: 1\n", 5000), true, true},
		"in a flow":            {"{" + strings.Repeat("a: 1, ", 5000) + "}\n", true, true},
		"in JSON on one line":  {`{` + strings.Repeat(`"a":1,`, 5000) + `"b":1}`, true, true},
		"many keys":            {"data:\n" + numbered("  k%d: 1\n", 10_001), true, true},
		"many in a flow":       {"{" + numbered("k%d: 1, ", 10_001) + "}\n", true, true},
		"as many as allowed":   {"data:\n" + numbered("  k%d: 1\n", 10_000), false, false},
		"the keys of items":    {crd, false, false},
		"a list in a flow":     {"[" + strings.Repeat("1, ", 5000) + "]\n", true, false},
		"text that looks like": {"a: |\n" + strings.Repeat("  b: 1\n", 5000), true, false},
		"few lines":            {"a: 1\na: 2\n", false, true},
		"nothing":              {"", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := yamldoc.SuspectMappings([]byte(tc.text)); got != tc.suspect {
				t.Errorf("suspect: %v, want %v", got, tc.suspect)
			}
			if err := yamldoc.CheckMappings("f", []byte(tc.text)); (err != nil) != tc.fail {
				t.Errorf("got %v", err)
			}
		})
	}
}
