package overlay

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resource"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// longWay is the definition of decode: print as `kustomize build` does, parse.
func longWay(res *resource.Resource) (map[string]any, error) {
	printed, err := res.AsYAML()
	if err != nil {
		return nil, err
	}
	return parse(printed)
}

func resourceOf(t testing.TB, field string) *resource.Resource {
	t.Helper()
	res, err := provider.NewDefaultDepProvider().GetResourceFactory().
		FromBytes([]byte("apiVersion: v1\nkind: Odd\nmetadata: {name: x}\n" + field + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestDecode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, field string
		want        any
		shortcut    bool // whether the value is taken without printing
	}{
		{"plain string", "v: text", "text", true},
		{"yes is a string", "v: yes", "yes", true},
		{"quoted number", `v: "12"`, "12", true},
		{"tagged number", "v: !!str 12", "12", true},
		{"bool", "v: true", true, true},
		{"capital bool", "v: TRUE", true, false},
		{"null", "v: null", nil, true},
		{"empty", "v:", nil, true},
		{"int", "v: -42", int64(-42), true},
		{"octal", "v: 0777", int64(511), false},
		{"new octal", "v: 0o17", int64(15), false},
		{"hex", "v: 0x1F", int64(31), false},
		{"underscore", "v: 1_000", int64(1000), false},
		{"sexagesimal", "v: 12:30:45", "12:30:45", true},
		{"int64 maximum", "v: 9223372036854775807", int64(9223372036854775807), false},
		{"beyond int64", "v: 9223372036854775808", 9223372036854775808.0, false},
		{"float", "v: 0.25", 0.25, true},
		{"whole float", "v: 1.0", int64(1), true},
		{"negative zero", "v: -0.0", int64(0), false},
		{"exponent", "v: 1e3", int64(1000), false},
		{"large exponent", "v: 1e21", 1e21, false},
		{"small", "v: 0.0000001", 1e-7, false},
		{"date", "v: 2001-12-14", "2001-12-14T00:00:00Z", false},
		{"quoted date", `v: "2001-12-14"`, "2001-12-14", true},
		{"binary", "v: !!binary aGVsbG8=", "hello", false},
		{"unknown tag", "v: !mine x", "x", false},
		{"literal", "v: |\n  a\n   b\n", "a\n b\n", true},
		{"folded", "v: >\n  a\n\n    b\n", "a\n\n\n  b\n", false},
		{"empty list", "v: []", []any{}, true},
		{"empty map", "v: {}", map[string]any{}, true},
		{"nested", "v: [{a: [1, x]}]", []any{map[string]any{"a": []any{int64(1), "x"}}}, true},
		{"merge key", "b: &b {x: 1}\nv: {<<: *b, y: 2}", map[string]any{"x": int64(1), "y": int64(2)}, true},
		{"emoji", "v: 😀 é", "😀 é", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			res := resourceOf(t, test.field)
			got, err := decode(res)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got["v"]); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
			defined, err := longWay(res)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(defined, got); diff != "" {
				t.Errorf("against the printed form (-printed +decoded):\n%s", diff)
			}
			if _, ok := mapping(res.YNode(), true); ok != test.shortcut {
				t.Errorf("shortcut taken: %t, want %t", ok, test.shortcut)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, field, want string }{
		{"key that is no string", "v: {1: x}", `Odd "x": json: unsupported type: map[interface {}]interface {}`},
		{"duplicate key", "v: {a: 1, a: sup3rsecret}", `Odd "x": mapping key "a" is defined twice`},
		{"infinity", "v: .inf", `Odd "x": json: unsupported value: +Inf`},
		{"control character", `v: "\x7f sup3rsecret"`, `Odd "x": yaml: control characters are not allowed`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := decode(resourceOf(t, test.field))
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// FuzzDecode checks that the shortcut agrees with printing and parsing for any
// string in any style, as a value, an item and a key.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"", "a\n  b\n\nc", "\ttab", " lead", "trail \n", "---\n", "# x", "\u0085\u2028", "0777", "y", "'\"", "\n\n", "<<", "a: b"} {
		for style := range 6 {
			f.Add(seed, style)
		}
	}
	styles := []kyaml.Style{0, kyaml.DoubleQuotedStyle, kyaml.SingleQuotedStyle, kyaml.LiteralStyle, kyaml.FoldedStyle, kyaml.TaggedStyle}
	f.Fuzz(func(t *testing.T, text string, style int) {
		if style < 0 || style >= len(styles) {
			t.Skip()
		}
		res := resourceOf(t, "v: x\nlist: [x]\nmap: {x: y}")
		node := res.YNode()
		last := len(node.Content) - 1
		for _, n := range []*kyaml.Node{node.Content[last].Content[0], node.Content[last-2].Content[0], node.Content[last-4]} {
			n.Value, n.Tag, n.Style = text, kyaml.NodeTagString, styles[style]
		}
		got, ok := mapping(node, true)
		if !ok {
			t.Skip()
		}
		want, err := longWay(res)
		if err != nil {
			t.Fatalf("%q in style %d: the printed form fails: %v", text, style, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q in style %d (-printed +decoded):\n%s", text, style, diff)
		}
	})
}

func TestDecimal(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0", "7", "-7", "123456789012345678"} {
		if !decimal(text) {
			t.Errorf("decimal(%q) is false", text)
		}
	}
	for _, text := range []string{"", "-", "-0", "00", "07", "+1", "1_0", "1.0", "0x1", strings.Repeat("9", 19)} {
		if decimal(text) {
			t.Errorf("decimal(%q) is true", text)
		}
	}
}
