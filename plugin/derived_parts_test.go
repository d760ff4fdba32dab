package plugin

import (
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// partsOf is a chart whose Secret "db" has what is given as its data, in lines, and whose
// ConfigMap "app" has the others. $p is a random value.
func partsOf(secret, config []string) map[string]string {
	return map[string]string{"app/Chart.yaml": chartYAML, "app/templates/a.yaml": "{{ $p := randAlphaNum 40 }}\n" +
		"apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData:\n  " + strings.Join(secret, "\n  ") +
		"\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata:\n  " + strings.Join(config, "\n  ") + "\n"}
}

// What a template makes of a password is as secret as that; a checksum is not.
func TestDerivedPartsAreSecret(t *testing.T) {
	t.Parallel()
	const whole, part = `password: {{ $p }}`, `password: {{ $p | trunc 32 }}`
	for name, tt := range map[string]struct {
		secret, line string
		isSecret     bool
	}{
		"a part":                     {whole, `a: {{ $p | trunc 10 }}`, true},
		"the middle":                 {whole, `a: {{ substr 5 20 $p }}`, true},
		"the end":                    {whole, `a: {{ $p | trunc -10 }}`, true},
		"another encoding":           {whole, `a: {{ $p | b32enc | lower }}`, true},
		"other letters":              {whole, `a: {{ $p | replace "a" "b" }}`, true},
		"a part in a text":           {whole, `a: "{{ uuidv4 }} and {{ $p | trunc 10 }}"`, true},
		"a part of a part":           {part, `a: {{ $p | trunc 10 }}`, true},
		"a shuffled one":             {whole, `a: {{ $p | shuffle }}`, true},
		"a hash":                     {whole, `a: {{ $p | sha256sum }}`, false},
		"a part of a hash":           {whole, `a: {{ $p | sha256sum | trunc 20 }}`, false},
		"the middle of a hash":       {whole, `a: {{ $p | sha256sum | substr 5 30 }}`, false},
		"a hash of a part":           {part, `a: {{ $p | trunc 32 | sha256sum }}`, false},
		"a part of a hash of a part": {part, `a: {{ $p | trunc 32 | sha256sum | trunc 20 }}`, false},
		"an id, cut":                 {whole, `a: {{ uuidv4 | trunc 18 }}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := deriving(t, partsOf([]string{tt.secret}, []string{tt.line}))
			result := mustRender(t, r)
			value := field(t, result, "ConfigMap", "data", "a").(string)
			if hidden := !strings.Contains(result.Hide("it is "+value+"."), value); hidden != tt.isSecret {
				t.Errorf("%q is hidden: %t, want %t", value, hidden, tt.isSecret)
			}
			r.Policy = parsePolicy(t, "  - {name: a, determinism: derive, derivation: {outsideSecrets: deny}}\n")
			_, err := Render(t.Context(), r)
			if denied := err != nil && strings.Contains(err.Error(), `field "/data/a" holds a derived value`); denied != tt.isSecret {
				t.Errorf("got %v", err)
			}
			if err != nil && strings.Contains(err.Error(), value) {
				t.Errorf("the error shows the value: %v", err)
			}
		})
	}
}

// A password lives where a part of it is printed, whatever is added that holds its hash.
func TestHashesAreNoHomes(t *testing.T) {
	t.Parallel()
	const name, part = "Secret/db/data/password", `password: {{ $p | trunc 32 }}`
	base := mustRender(t, deriving(t, partsOf([]string{part}, []string{"a: b"})))
	want := field(t, base, "Secret", "stringData", "password")
	for added, files := range map[string]map[string]string{
		"a hash":                         partsOf([]string{part}, []string{`a: {{ $p | sha256sum }}`}),
		"a part of a hash":               partsOf([]string{part}, []string{`a: {{ $p | sha256sum | trunc 20 }}`}),
		"a hash in the Secret":           partsOf([]string{`a: {{ $p | sha256sum }}`, part}, []string{"a: b"}),
		"hashes in both":                 partsOf([]string{`a: {{ $p | sha1sum }}`, part}, []string{`a: {{ $p | sha256sum }}`}),
		"a hash, and another one's part": partsOf([]string{part, `other: {{ randAlpha 20 | trunc 9 }}`}, []string{`a: {{ $p | sha256sum }}`}),
	} {
		t.Run(added, func(t *testing.T) {
			t.Parallel()
			result := mustRender(t, deriving(t, files))
			if got := field(t, result, "Secret", "stringData", "password"); got != want {
				t.Errorf("the password is %q, want %q as before", got, want)
			}
			if shown, err := result.Reveal(name); err != nil || shown != want {
				t.Errorf("got %q, %v", shown, err)
			}
			rotated := mustRender(t, deriving(t, files, "random-generations["+name+"]=1"))
			if field(t, rotated, "Secret", "stringData", "password") == want {
				t.Error("the password is not rotated")
			}
		})
	}
}

func TestReveal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lines  []string
		reveal bool
	}{
		"beside its hash":    {[]string{`f: |`, `  password: {{ $p }}`, `  hash: {{ $p | sha256sum }}`}, true},
		"beside bcrypt":      {[]string{`f: "admin:{{ bcrypt $p }}:{{ $p }}"`}, true},
		"a part":             {[]string{`f: {{ $p | trunc 12 }}`}, true},
		"a hash":             {[]string{`f: {{ $p | sha256sum }}`}, true},
		"a part of a hash":   {[]string{`f: {{ $p | sha256sum | substr 7 20 }}`}, true},
		"a hash of its part": {[]string{`f: {{ $p | trunc 8 | sha256sum }}`}, true},
		"a bcrypt hash":      {[]string{`f: {{ bcrypt $p | quote }}`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := mustRender(t, deriving(t, partsOf(tt.lines, []string{"a: b"})))
			shown, err := result.Reveal("Secret/db/data/f")
			switch want := field(t, result, "Secret", "stringData", "f"); {
			case tt.reveal && (err != nil || shown != want):
				t.Errorf("got %q, %v, want %q", shown, err, want)
			case !tt.reveal && (err == nil || !strings.Contains(err.Error(), "printed nowhere by itself")):
				t.Errorf("got %q, %v", shown, err)
			}
		})
	}
}

// No field is recorded beside one that it is a part of.
func TestDerivedPartsOfFields(t *testing.T) {
	t.Parallel()
	list := []string{`p: {{ $p }}`}
	result := mustRender(t, deriving(t, partsOf([]string{`p: {{ $p }}`}, append(list, `list: {{ $p | trunc 6 | splitList "" | toJson }}`))))
	seen := map[string]bool{}
	for _, d := range result.Derived {
		at := d.Object.Kind
		for _, step := range d.Path {
			at += "/" + fmt.Sprint(step)
			if seen[at] {
				t.Errorf("%s is recorded, and %v", at, d.Path)
			}
		}
		seen[at] = true
	}
	if len(seen) != 8 {
		t.Errorf("got %v", seen)
	}
}

// A value keeps its place among others, whatever becomes of those, and takes none of theirs.
func TestNeighboursAreKept(t *testing.T) {
	t.Parallel()
	const other = "{{ $o := randAlphaNum 40 }}"
	for name, tt := range map[string]struct{ before, after []string }{
		"one gets a field of its own": {
			[]string{other + `url: "amqp://{{ $o }}:{{ $p }}@mq:5672/"`},
			[]string{other + `url: "amqp://{{ $o }}:{{ $p }}@mq:5672/"`, `user: {{ $o }}`},
		},
		"one of two parts does": {
			[]string{other + `url: "A_{{ trunc 8 $o }} B_{{ trunc 32 $p }}"`},
			[]string{other + `url: "A_{{ trunc 8 $o }} B_{{ trunc 32 $p }}"`, `a: {{ trunc 4 $o }}`},
		},
		"the scheme changes": {
			[]string{`url: "postgres://app:{{ $p }}@db/app"`},
			[]string{`url: "postgresql://app:{{ $p }}@db/app"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, lines := range [][]string{tt.before, tt.after} {
				url := field(t, mustRender(t, deriving(t, partsOf(lines, []string{"a: b"}))), "Secret", "stringData", "url").(string)
				got = append(got, regexp.MustCompile(`[A-Za-z0-9]{32,40}(@.*)?$`).FindString(url))
			}
			if got[0] != got[1] || got[0] == "" {
				t.Errorf("got %q, and then %q", got[0], got[1])
			}
		})
	}
}

// Values that one call makes are several, also if of one of them no more is printed than what
// is made of it, and a hash.
func TestValuesOfOneCallDiffer(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"app/Chart.yaml":             chartYAML,
		"app/templates/_helpers.tpl": `{{ define "password" }}{{ randAlphaNum 32 }}{{ end }}`,
		"app/templates/a.yaml": `{{ $a := include "password" . }}{{ $b := include "password" . }}
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData:
  hex: {{ printf "%x" $b | quote }}
  lines: {{ printf "x\n%s" $a | quote }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data: {hash: {{ $b | sha512sum | upper | trunc 20 | quote }}}
`,
	}
	result := mustRender(t, deriving(t, files))
	b, err := hex.DecodeString(field(t, result, "Secret", "stringData", "hex").(string))
	if err != nil {
		t.Fatal(err)
	}
	if lines := field(t, result, "Secret", "stringData", "lines"); lines == "x\n"+string(b) {
		t.Error("both are one value")
	}
	want := strings.ToUpper(fmt.Sprintf("%x", sha512.Sum512(b)))[:20]
	if got := field(t, result, "ConfigMap", "data", "hash"); got != want {
		t.Errorf("got the hash %v, want %s", got, want)
	}
}
