package application

import (
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
)

// What a stranger writes into a template ends, and within bounds.
func TestTemplatesAreBounded(t *testing.T) {
	t.Parallel()
	deep := map[string]any{"n": "x"}
	for range 40 {
		deep = map[string]any{"a": deep, "b": deep}
	}
	long := make([]any, 2000)
	params := map[string]any{"deep": deep, "long": long, "text": strings.Repeat("x", 100_000), "word": "w"}
	const steps, size = "steps", "more than"
	tests := map[string]struct{ text, want string }{
		"nested loops":            {`{{range .long}}{{range $.long}}{{range $.long}}{{end}}{{end}}{{end}}`, steps},
		"loop over a number":      {`{{range 1000000000000}}{{end}}`, steps},
		"loop with output":        {`{{range .long}}{{range $.long}}abc{{end}}{{end}}`, size},
		"recursion":               {`{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`, steps},
		"recursion of the root":   {`{{template ""}}`, steps},
		"recursion with a tree":   {`{{define "a"}}{{if .}}{{template "a" .a}}{{template "a" .b}}{{end}}{{end}}{{template "a" .deep}}`, steps},
		"doubled text":            {`{{$s := "xxxxxxxxxxxxxxxx"}}{{range $i, $x := .long}}{{$s = print $s $s}}{{end}}`, size},
		"doubled text, printf":    {`{{$s := "xxxxxxxxxxxxxxxx"}}{{range $i, $x := .long}}{{$s = printf "%s%s" $s $s}}{{end}}`, size},
		"doubled list":            {`{{$l := list "x"}}{{range $i, $x := .long}}{{$l = list $l $l}}{{end}}{{toJson $l}}`, size},
		"value that holds itself": {`{{$d := dict "a" "b"}}{{$_ := set $d "self" $d}}{{print $d}}`, size},
		"until":                   {`{{until 2000000000}}`, size},
		"untilStep":               {`{{untilStep 0 2000000000 1}}`, size},
		"seq":                     {`{{seq 2000000000}}`, size},
		"repeat":                  {`{{repeat 2000000000 "x"}}`, size},
		"indent":                  {`{{indent 2000000000 "x"}}`, size},
		"replace":                 {`{{replace "x" .text .text}}`, size},
		"regular expression":      {`{{regexReplaceAll "x" .text .text}}`, size},
		"join":                    {`{{join .text .long}}`, size},
		"printf width":            {`{{printf "%999999999d" 1}}`, size},
		"printf argument":         {`{{printf "%*d" 100000000 1}}`, size},
		"wrap":                    {`{{wrapWith 1 .text .text}}`, size},
		"long template":           {strings.Repeat("{{.word}}", maxTemplate/9+1), size},
		"clock":                   {`{{now}}`, "the clock"},
		"chance":                  {`{{randAlphaNum 5}}`, "chance"},
		"key":                     {`{{genPrivateKey "rsa"}}`, "takes long"},
		"password":                {`{{derivePassword 1 "long" "a" "b" "c"}}`, "takes long"},
		"environment":             {`{{env "HOME"}}`, `function "env" not defined`},
		"panic of a function":     {`{{index .long 5000}}`, "out of range"},
		"type of an argument":     {`{{slugify "a" "b"}}`, "argument 1"},
		"slugify below 0":         {`{{slugify -1 false "b"}}`, "length of -1"},
		"deeply nested":           {strings.Repeat("{{if true}}", 20_000) + strings.Repeat("{{end}}", 20_000), "more than"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := newEngine(true, nil).replace(tt.text, params)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %d bytes and error %.200v, want %q", len(out), err, tt.want)
			}
			if (tt.want == steps || tt.want == size) && diag.Hint(err) == "" {
				t.Error("the error has no remedy")
			}
			if len(err.Error()) > 2000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// A bound is one of the whole expansion, and what is within it works.
func TestTemplatesWithinBounds(t *testing.T) {
	t.Parallel()
	e := newEngine(true, nil)
	params := map[string]any{"l": []any{"a", "b"}}
	for range 3000 {
		out, err := e.replace(`{{define "x"}}<{{.}}>{{end}}{{range .l}}{{template "x" (upper .)}}{{end}}{{repeat 100 "x" | len}}`, params)
		if err != nil || out != "<A><B>100" {
			t.Fatalf("got %q, %v", out, err)
		}
	}
	for err := error(nil); err == nil; {
		_, err = e.replace(`{{range until 10000}}{{end}}`, params)
	}
	if _, err := e.replace(`{{.l}}`, params); err == nil {
		t.Error("got no error after the steps were taken")
	}
}

func TestSubstituteIsBounded(t *testing.T) {
	t.Parallel()
	params := map[string]any{"x": strings.Repeat("x", 100_000)}
	if _, err := newEngine(false, nil).replace(strings.Repeat("{{x}}", 100), params); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("got %v", err)
	}
}

// An expansion has bounds of its own.
func TestExpandIsBounded(t *testing.T) {
	t.Parallel()
	elements := make([]any, 500)
	for i := range elements {
		elements[i] = map[string]any{"a": strings.Repeat("x", i)}
	}
	inner := map[string]any{"list": map[string]any{"elements": elements}}
	matrix := map[string]any{"matrix": map[string]any{"generators": []any{inner, inner}}}
	set := func(generator any) object.Object {
		return object.Object{Value: map[string]any{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": map[string]any{"name": "many"},
			"spec": map[string]any{"goTemplate": true, "generators": []any{generator}, "template": map[string]any{
				"metadata": map[string]any{"name": "{{.a}}"}, "spec": map[string]any{"source": map[string]any{"repoURL": "a", "path": "b"}}}},
		}}
	}
	for name, generator := range map[string]any{
		"a product":   matrix,
		"of products": map[string]any{"matrix": map[string]any{"generators": []any{matrix, inner}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, err := Expand(set(generator), Options{})
			if err == nil || !strings.Contains(err.Error(), "more than") || len(made) > maxApplications {
				t.Errorf("got %d applications and error %.300v", len(made), err)
			}
		})
	}
}
