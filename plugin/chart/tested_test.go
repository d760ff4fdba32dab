package chart

import (
	"strings"
	"testing"
)

// What a template decides on, orders by or makes of a random value is refused in each
// render, however likely either result is.
func TestNotByChance(t *testing.T) {
	t.Parallel()
	two := "{{ $a := randAlpha 12 }}{{ $b := randAlpha 12 }}"
	fields := func(lines ...string) string { return configMap("c", strings.Join(lines, "\n  ")) }
	for name, text := range map[string]string{
		// The order of two values.
		"sorted":              two + fields(`a: {{ list $a $b | sortAlpha | join "," }}`),
		"sorted, base64":      two + fields(`a: {{ list ($a | b64enc) ($b | b64enc) | sortAlpha | join "," }}`),
		"sorted hashes":       two + fields(`a: {{ list (sha256sum $a) (sha256sum $b) | sortAlpha | join "," }}`),
		"sorted digits":       `{{ $a := randNumeric 9 }}{{ $b := randNumeric 9 }}` + fields(`a: {{ list $a $b | sortAlpha | join "-" }}`),
		"sorted, of kinds":    `{{ $a := randNumeric 9 }}{{ $b := randAlpha 9 }}` + fields(`a: {{ list $a $b | sortAlpha | join "-" }}`),
		"sorted, same length": two + fields(`a: {{ list $a $b | sortAlpha | last }}`),
		"the first of two":    two + fields(`a: {{ if lt $a $b }}{{ $a }}{{ else }}{{ $b }}{{ end }}`),
		"less":                two + fields(`a: {{ if lt $a $b }}A{{ else }}B{{ end }}`),
		"greater":             two + fields(`a: {{ gt $a $b }}`),
		"hash of a sort":      two + fields(`a: {{ list $a $b | sortAlpha | join "," | sha256sum }}`),
		"values of a map":     two + fields(`a: {{ dict $a "x" $b "y" | toJson | quote }}`),
		// Tests.
		"letters":             fields(`a: {{ if regexMatch "[x-z]" (randAlphaNum 40) }}x{{ else }}y{{ end }}`),
		"numbers":             fields(`a: {{ if gt (randInt 0 4) 1 }}x{{ else }}y{{ end }}`),
		"modulo":              fields(`a: "{{ mod (randInt 0 61) 60 }}"`),
		"parity":              fields(`a: "{{ mod (randInt 0 61) 2 }}"`),
		"contains":            fields(`a: {{ ternary "x" "y" (contains "K" (randAlphaNum 30)) }}`),
		"first is a digit":    `{{ $p := randAlphaNum 16 }}` + fields(`a: {{ if regexMatch "^[0-9]" $p }}x{{ end }}{{ $p }}`),
		"first is lower case": `{{ $p := randAlpha 16 }}` + fields(`a: {{ if regexMatch "^[a-z]" $p }}{{ lower $p }}{{ else }}{{ $p }}{{ end }}`),
		"has a digit":         `{{ $p := randAlphaNum 16 }}` + fields(`a: {{ if not (regexMatch "[0-9]" $p) }}{{ $p }}7{{ else }}{{ $p }}{{ end }}`),
		"digit is large":      fields(`a: {{ if ge (randNumeric 1 | int) 5 }}x{{ else }}y{{ end }}`),
		// Changes.
		"title":               fields(`a: {{ randAlpha 8 | title }}`),
		"replaced":            fields(`a: {{ randAlphaNum 64 | replace "l" "x" | replace "O" "x" }}`),
		"swapped":             fields(`a: {{ randAlpha 8 | swapcase }}`),
		"URL base64 by hand":  fields(`a: {{ randBytes 32 | replace "+" "-" | replace "/" "_" }}`),
		"printable, replaced": fields(`a: {{ randAscii 16 | replace "\"" "x" | b64enc }}`),
		"printable, in JSON":  fields(`a: {{ dict "a" (randAscii 32) | toJson | quote }}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, func(t *testing.T, engine Engine) {
				for range 20 {
					out, err := render(t, engine, map[string]string{"templates/c.yaml": text}, Options{Prove: true, Derive: deriving(t)})
					if err != nil {
						t.Fatal(err)
					}
					if len(out.Findings) != 1 || len(out.Derived) > 0 || pointer(out.Findings[0].Path) != "/data/a" || out.Findings[0].Reason == "" {
						t.Fatalf("got findings %+v and derived %+v in %s", out.Findings, out.Derived, out.Stream())
					}
				}
			})
		})
	}
}
