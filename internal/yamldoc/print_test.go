package yamldoc

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// awkward are strings that some reader could take for something else.
var awkward = []string{
	"", " ", "a", " a", "a ", "a b", "a: b", "a:b", "a:", ":a", ":", "a #b", "a#b", "#a", "-", "- a", "-a", "--", "---", "--- a", "---a", "--a", "-1", "-a1", "...", "... a", "..", ".", ".a", "?", "? a", "?a", "!a", "&a", "*a", "@a", "`a", "%a", "%YAML",
	"|", ">", "|-", "{", "}", "[", "]", "{}", "[]", "a{}", "[a]", "a, b", ",a", "'", "\"", "'a'", "\"a\"", "it's", "\\", "\\n", "a\\b", "=", "=a", "<", "<<", "<a", "~", "~a",
	"true", "True", "tRUE", "false", "yes", "Yes", "yEs", "no", "on", "off", "y", "N", "null", "NULL", "nulls", "yesterday", "nan", "inf", ".nan", ".NaN", ".inf", "-.inf", "+.Inf", ".infx", "-.x",
	"0", "1", "-1", "+1", "1.0", "1.", ".5", "1e3", "1E3", "1e+3", "1.5e-3", "0777", "0o777", "0x1F", "0b101", "1_000", "1,000", "1:20", "190:20:30.15", "1.2.3", "10Gi", "100m", "50%", "1-2", "2001-12-14", "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43 -5", "1e5f3a", "08", "1__", "_1", "1 2", "0x", "12345678901234567890",
	"\n", "\n\n", "a\n", "a\n\n", "a\n\n\n", "a\nb", "a\nb\n", "\na", "\n\na\n", "\n a", " a\nb", "\ta\nb", "a\n b", "a\n\tb\n", "a \nb", "a\n ", "a\n  \nb", "a\n \n", "a\n\n \n\n", "# a\nb", "a\n# b", "---\na", "a\n---\nb", "a: b\nc: d\n", "- a\n- b", "a\r\nb", "a\rb", "a\tb", "\t", "a\n\u00a0b", "a\u0085b", "a\u2028b\n", "a\n\u2029", "\ufeff", "\ufeffa\nb", "a\x00b", "a\x7fb", "a\x1bb", "\u0080", "\ufffe", "\uffff", "\ufffd", "\U0001F600", "\u00e9", "\u4e2d\u6587: x", "\u00a0", "\u200b", "\U0010FFFF",
	strings.Repeat("x", 999), strings.Repeat("x", 1025), strings.Repeat("x ", 600) + "y", strings.Repeat("é", 600) + "\"", strings.Repeat("line\n", 100),
}

func TestAppendYAMLRoundTrip(t *testing.T) {
	t.Parallel()
	for _, s := range awkward {
		t.Run(fmt.Sprintf("%.30q", s), func(t *testing.T) {
			t.Parallel()
			checkRoundTrip(t, s)
			checkRoundTrip(t, map[string]any{"k": s, s: "v", "z": []any{s, s}})
			checkRoundTrip(t, []any{s, []any{s, []any{s}, s}, map[string]any{s: s, "k": map[string]any{s: []any{s}, "l": s}}, s})
			checkRoundTrip(t, map[string]any{s: map[string]any{"a": []any{map[string]any{s: nil}}}})
		})
	}
}

func TestAppendYAMLNumbers(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		nil, true, false, int64(0), int64(-1), int64(math.MaxInt64), int64(math.MinInt64),
		0.0, math.Copysign(0, -1), 1.0, 3.0, -3.0, 1.5, 0.1, 1e15, 1e14, 123456789012345680.0, 9.223372036854775807e18, 1e20, 1e21, 1.5e300, 1e-6, 1e-7, 5e-324, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(),
		map[string]any{}, []any{},
	} {
		t.Run(fmt.Sprint(v), func(t *testing.T) {
			t.Parallel()
			checkRoundTrip(t, v)
			checkRoundTrip(t, map[string]any{"a": v, "b": []any{v, v}})
		})
	}
}

func TestAppendYAMLLayout(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		v    any
		want string
	}{
		{"null", nil, "null\n"},
		{"root string of two lines", "a\nb", "\"a\\nb\"\n"},
		{"keys sorted bytewise", map[string]any{"b": int64(1), "a": int64(2), "B": int64(3), "é": int64(4)}, "B: 3\na: 2\nb: 1\né: 4\n"},
		{"list in the column of its key", map[string]any{"a": map[string]any{"b": []any{"c", map[string]any{"d": "e", "f": []any{"g"}}}}}, "a:\n  b:\n  - c\n  - d: e\n    f:\n    - g\n"},
		{"list of lists", []any{[]any{"a", []any{"b"}}, []any{}}, "- - a\n  - - b\n- []\n"},
		{"literal scalars", map[string]any{"a": "x\ny\n", "b": "x\n\ny", "c": []any{"x\n\n"}}, "a: |\n  x\n  y\nb: |-\n  x\n\n  y\nc:\n- |+\n  x\n\n"},
		{"command line stays plain", []any{"--port=80", "-v", "./x", "10Gi", "a:80"}, "- --port=80\n- -v\n- ./x\n- 10Gi\n- a:80\n"},
		{"ambiguous strings", []any{"yes", "1.2.3", "1:20", "2001-01-01", "0x1f", "", "~"}, "- \"yes\"\n- \"1.2.3\"\n- \"1:20\"\n- \"2001-01-01\"\n- \"0x1f\"\n- \"\"\n- \"~\"\n"},
		{"escapes", "\t\x00\u0085\u2028\ufeff\"\\\xff", "\"\\t\\x00\\x85\\u2028\\ufeff\\\"\\\\\ufffd\"\n"},
		{"floats", []any{3.0, 1e21, 1.5e-9, 0.25}, "- 3.0\n- 1.0e+21\n- 1.5e-09\n- 0.25\n"},
		{"long key", map[string]any{"k": map[string]any{strings.Repeat("x", 1001): []any{"a"}}}, "k:\n  ? " + strings.Repeat("x", 1001) + "\n  :\n  - a\n"},
		{"other types", map[string]any{"a": map[string]string{"b": "c"}, "d": []string{"e"}, "f": 1, "g": json.Number("7")}, "a:\n  b: c\nd:\n- e\nf: 1\ng: 7\n"},
		{"nil collections", []any{map[string]any(nil), []any(nil)}, "- {}\n- []\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := string(AppendYAML([]byte("x"), tc.v)); got != "x"+tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestAppendYAMLPanicsOnWhatHasNoJSON(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a channel was printed")
		}
	}()
	AppendYAML(nil, []any{make(chan int)})
}

func TestAppendJSON(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, indent string
		v            any
		want         string
	}{
		{"one line", "", map[string]any{"b": []any{nil, true, int64(-1), 1.5, 3.0}, "a": map[string]any{}, "c": []any{}}, `{"a":{},"b":[null,true,-1,1.5,3],"c":[]}`},
		{"indented", "  ", map[string]any{"b": []any{"x"}, "a": map[string]any{"c": "<&>"}}, "{\n  \"a\": {\n    \"c\": \"<&>\"\n  },\n  \"b\": [\n    \"x\"\n  ]\n}"},
		{"escapes", "", "\"\\\n\t\r\b\f\x00\x1f\x7f\u2028é\xff", "\"\\\"\\\\\\n\\t\\r\\b\\f\\u0000\\u001f\x7f\u2028é\ufffd\""},
		{"floats", "", []any{1e21, 1e-7, 1e20, math.NaN(), 0.0}, `[1e+21,1e-7,100000000000000000000,null,0]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := string(AppendJSON(nil, tc.v, tc.indent)); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestAppendJSONIsEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, s := range awkward {
		v := map[string]any{"s": s, s: []any{1e-9, 2.5e30, int64(7)}}
		var buf strings.Builder
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "\t")
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		// encoding/json escapes these two for the sake of JavaScript.
		want := strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(strings.TrimSuffix(buf.String(), "\n"))
		if got := string(AppendJSON(nil, v, "\t")); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func FuzzRoundTrip(f *testing.F) {
	for _, s := range awkward {
		f.Add("key", s, int64(1), 1.5)
		f.Add(s, s+"\n", int64(-1), 3.0)
	}
	f.Fuzz(func(t *testing.T, key, s string, i int64, x float64) {
		if !utf8.ValidString(s) || !utf8.ValidString(key) {
			return
		}
		checkRoundTrip(t, map[string]any{
			key: s, "k" + key: []any{s, x, []any{s, i, map[string]any{s: key, key: map[string]any{s: nil}}}},
			"n": map[string]any{key: []any{s}, "o": s}, "p": i, "q": x,
		})
		checkRoundTrip(t, s)
		checkRoundTrip(t, []any{s, key})
	})
}
