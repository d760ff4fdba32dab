package chart

import (
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/object"
)

// Whatever a template does with random values, the result is what Helm makes of the
// derived ones: the same in each render, however likely others are.
func TestWhatTemplatesDo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("renders some hundred times")
	}
	const two = "{{ $a := randAlpha 12 }}{{ $b := randAlpha 12 }}"
	for name, tt := range map[string]struct{ before, field, form string }{
		// The order of two values.
		"sorted":              {two, `{{ list $a $b | sortAlpha | join "," }}`, `^[A-Za-z]{12},[A-Za-z]{12}$`},
		"sorted, base64":      {two, `{{ list ($a | b64enc) ($b | b64enc) | sortAlpha | join "," }}`, `^[A-Za-z0-9]{16},[A-Za-z0-9]{16}$`},
		"sorted hashes":       {two, `{{ list (sha256sum $a) (sha256sum $b) | sortAlpha | join "," }}`, `^[0-9a-f]{64},[0-9a-f]{64}$`},
		"sorted digits":       {`{{ $a := randNumeric 9 }}{{ $b := randNumeric 9 }}`, `{{ list $a $b | sortAlpha | join "-" }}`, `^[0-9]{9}-[0-9]{9}$`},
		"sorted, of kinds":    {`{{ $a := randNumeric 9 }}{{ $b := randAlpha 9 }}`, `{{ list $a $b | sortAlpha | join "-" }}`, `^[0-9]{9}-[A-Za-z]{9}$`},
		"sorted, same length": {two, `{{ list $a $b | sortAlpha | last }}`, `^[A-Za-z]{12}$`},
		"the first of two":    {two, `{{ if lt $a $b }}{{ $a }}{{ else }}{{ $b }}{{ end }}`, `^[A-Za-z]{12}$`},
		"less":                {two, `{{ if lt $a $b }}A{{ else }}B{{ end }}`, `^[AB]$`},
		"greater":             {two, `{{ gt $a $b | quote }}`, `^(true|false)$`},
		"hash of a sort":      {two, `{{ list $a $b | sortAlpha | join "," | sha256sum }}`, `^[0-9a-f]{64}$`},
		"values of a map":     {two, `{{ dict $a "x" $b "y" | toJson | quote }}`, `^{"[A-Za-z]{12}":"[xy]","[A-Za-z]{12}":"[xy]"}$`},
		// Tests.
		"letters":             {"", `{{ if regexMatch "[x-z]" (randAlphaNum 40) }}x{{ else }}z{{ end }}`, `^[xz]$`},
		"numbers":             {"", `{{ if gt (randInt 0 4) 1 }}x{{ else }}z{{ end }}`, `^[xz]$`},
		"modulo":              {"", `"{{ mod (randInt 0 61) 60 }}"`, `^[0-5]?[0-9]$`},
		"parity":              {"", `"{{ mod (randInt 0 61) 2 }}"`, `^[01]$`},
		"contains":            {"", `{{ ternary "x" "z" (contains "K" (randAlphaNum 30)) }}`, `^[xz]$`},
		"one of many letters": {`{{ $p := randAlphaNum 1 }}`, `{{ $p }}{{ ternary "x" "z" (contains "b" $p) }}`, `^(bx|[^b]z)$`},
		"first is a digit":    {`{{ $p := randAlphaNum 16 }}`, `x{{ if regexMatch "^[0-9]" $p }}x{{ end }}{{ $p }}`, `^(xx[0-9]|x[A-Za-z])[A-Za-z0-9]{15}$`},
		"first is lower case": {`{{ $p := randAlpha 16 }}`, `{{ if regexMatch "^[a-z]" $p }}{{ lower $p }}{{ else }}{{ $p }}{{ end }}`, `^([a-z]{16}|[A-Z][A-Za-z]{15})$`},
		"has a digit":         {`{{ $p := randAlphaNum 16 }}`, `{{ if not (regexMatch "[0-9]" $p) }}{{ $p }}7{{ else }}{{ $p }}{{ end }}`, `[0-9]`},
		"digit is large":      {"", `{{ if ge (randNumeric 1 | int) 5 }}x{{ else }}z{{ end }}`, `^[xz]$`},
		"either of two":       {"", `{{ if eq 1 (randInt 0 2 | int) }}x{{ else }}z{{ end }}`, `^[xz]$`},
		"one of a list":       {"", `{{ index (list "p" "q" "r") (randInt 0 3) }}`, `^[pqr]$`},
		"its length":          {`{{ $p := randAlpha 8 }}{{ if gt (len $p) 8 }}{{ fail "too long" }}{{ end }}`, `{{ $p }}`, `^[A-Za-z]{8}$`},
		// Changes.
		"title":                {"", `{{ randAlpha 8 | title }}`, `^[A-Z][A-Za-z]{7}$`},
		"replaced":             {"", `{{ randAlphaNum 64 | replace "l" "x" | replace "O" "x" }}`, `^[A-NP-Za-km-z0-9]{64}$`},
		"one letter replaced":  {"", `{{ randAlphaNum 64 | replace "b" "_" }}`, `^[A-Zac-z0-9_]{64}$`},
		"trimmed":              {"", `{{ randAlphaNum 64 | trimAll "abcABC012" }}`, `^[^abcABC012].*[^abcABC012]$`},
		"swapped":              {"", `{{ randAlpha 8 | swapcase }}`, `^[A-Za-z]{8}$`},
		"URL base64 by hand":   {"", `{{ randBytes 32 | replace "+" "-" | replace "/" "_" }}`, `^[A-Za-z0-9_-]{43}=$`},
		"printable, replaced":  {"", `{{ randAscii 64 | replace "\"" "x" | b64enc }}`, `^[^"]{64}$`},
		"printable, in JSON":   {"", `{{ dict "a" (randAscii 32) | toJson | quote }}`, `^{"a":".{32,}"}$`},
		"decoded":              {"", `{{ randBytes 12 | b64dec | b64enc }}`, `^[A-Za-z0-9+/]{16}$`},
		"UUID without dashes":  {"", `{{ uuidv4 | replace "-" "" }}`, `^[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}$`},
		"printed as a number":  {"", `{{ printf "%04d" (randInt 0 10) | quote }}`, `^000[0-9]$`},
		"hexadecimal":          {"", `{{ printf "%x" (randAlphaNum 8) | quote }}`, `^([3-7][0-9a-f]){8}$`},
		"arithmetic":           {"", `{{ add 30000 (randInt 0 100) | quote }}`, `^300[0-9]{2}$`},
		"arithmetic of digits": {"", `{{ randNumeric 4 | atoi | add 10000 | quote }}`, `^1[0-9]{4}$`},
		"derived by the chart": {"", `{{ derivePassword 1 "long" (randAlpha 9) "user" "site" | quote }}`, `^.{14}$`},
		"number of entries":    {"", `"{{ range until (len (regexFindAll "[0-7]" (randNumeric 90) -1)) }}x{{ end }}"`, `^x+$`},
		// Parts.
		"its beginning":           {"", `{{ randAlphaNum 20 | trunc 10 }}`, `^[A-Za-z0-9]{10}$`},
		"less than a mark":        {"", `{{ randAlphaNum 20 | trunc 3 | quote }}`, `^[A-Za-z0-9]{3}$`},
		"its middle":              {"", `{{ randAlphaNum 20 | substr 5 9 | quote }}`, `^[A-Za-z0-9]{4}$`},
		"its end":                 {"", `{{ randAlphaNum 20 | trunc -4 | quote }}`, `^[A-Za-z0-9]{4}$`},
		"of a hash":               {"", `{{ randAlphaNum 20 | sha256sum | trunc 8 | quote }}`, `^[0-9a-f]{8}$`},
		"of a hash of a hash":     {"", `{{ randAlphaNum 20 | sha256sum | sha1sum | trunc 8 | quote }}`, `^[0-9a-f]{8}$`},
		"of a password's hash":    {"", `{{ randAlphaNum 20 | bcrypt | substr 29 60 | quote }}`, `^[./A-Za-z0-9]{31}$`},
		"of one that is shuffled": {"", `{{ shuffle "abcdefgh" | trunc 3 }}`, `^[a-h]{3}$`},
		"strong password of a library chart": {`{{- $s := list (lower (randAlpha 1)) (randNumeric 1) (upper (randAlpha 1)) | join "_" }}
{{- $p := randAscii 10 }}
{{- $p = regexReplaceAllLiteral "\\W" $p "@" | substr 5 10 }}
`, `{{ printf "%s%s" $s $p | toString | shuffle | b64enc }}`, `^[A-Za-z0-9@_]{10}$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := tt.before + "\n" + configMap("c", `a: `+tt.field)
			var streams []string
			for _, engine := range engines {
				for range 5 {
					out, err := render(t, engine, map[string]string{"templates/c.yaml": text}, Options{Prove: true, Derive: deriving(t)})
					if err != nil {
						t.Fatal(err)
					}
					if len(out.Findings) > 0 {
						t.Fatalf("got findings %+v in %s", out.Findings, out.Stream())
					}
					checkDerived(t, out, "/data/a "+tt.form)
					streams = append(streams, string(out.Stream()))
				}
			}
			if slices.Sort(streams); len(slices.Compact(streams)) != 1 {
				t.Errorf("got several results: %s", slices.Compact(streams))
			}
		})
	}
}

// What a template makes of a value is no other one if the values are others: of 40 seeds
// some lead to either result.
func TestSeedsDecide(t *testing.T) {
	t.Parallel()
	for name, field := range map[string]string{
		"a number":          `{{ if gt (randInt 0 4) 1 }}x{{ else }}z{{ end }}`,
		"a letter":          `{{ ternary "x" "z" (contains "K" (randAlphaNum 40)) }}`,
		"the order of two":  `{{ if lt (randAlpha 12) (randAlpha 12) }}x{{ else }}z{{ end }}`,
		"a part of a value": `{{ ternary "x" "z" (randAlphaNum 20 | trunc 1 | regexMatch "[A-Za-f]") }}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := map[any]bool{}
			for generation := range 40 {
				o := deriving(t)
				o.Generation = generation
				out, err := render(t, Helm3, map[string]string{"templates/c.yaml": configMap("c", `a: `+field)}, Options{Prove: true, Derive: o})
				if err != nil || len(out.Findings) > 0 {
					t.Fatal(err, out.Findings)
				}
				found[object.Field(out.Objects[0].Value, "data", "a")] = true
			}
			if len(found) != 2 || !found["x"] || !found["z"] {
				t.Errorf("got %v", found)
			}
		})
	}
}

// A template that looks at values which it does not print, and what it prints does not
// change with them, gets what it prints.
func TestDiscarded(t *testing.T) {
	t.Parallel()
	text := `{{ $given := "given" }}{{ $p := randAlphaNum 12 }}{{ if not (regexMatch "[0-9]" $p) }}{{ $p = print $p 7 }}{{ end }}
` + configMap("c", "a: {{ coalesce $given $p }}\n  b: {{ randAlphaNum 9 }}\n  c: {{ len $p | le 12 | quote }}")
	eachEngine(t, func(t *testing.T, engine Engine) {
		out, err := render(t, engine, map[string]string{"templates/c.yaml": text}, Options{Prove: true, Derive: deriving(t)})
		if err != nil || len(out.Findings) > 0 {
			t.Fatal(err, out.Findings)
		}
		checkDerived(t, out, "/data/b ^[A-Za-z0-9]{9}$")
		if got := object.Field(out.Objects[0].Value, "data", "a"); got != "given" || !strings.Contains(string(out.Stream()), `c: "true"`) {
			t.Errorf("got %s", out.Stream())
		}
	})
}
