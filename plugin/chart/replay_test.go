package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/object"
)

// Charts in which chance or a single seed could decide what comes of them. Each is refused
// by every seed, or gives one result by every render.
func TestReplay(t *testing.T) {
	t.Parallel()
	const p = "{{ $p := randAlphaNum 12 }}"
	one := func(before string, lines ...string) map[string]string {
		return map[string]string{"templates/c.yaml": before + "\n" + configMap("c", strings.Join(lines, "\n  "))}
	}
	for name, tt := range map[string]struct {
		files  map[string]string
		reason string // "" if it is derived
	}{
		"a password too long for bcrypt": {one("", `a: {{ bcrypt (randAlphaNum 80) | quote }}`), "there is no value"},
		"one too long for htpasswd":      {one("", `a: {{ htpasswd "user" (randAlphaNum 80) | quote }}`), "there is no value"},
		"the time decides": {one(p, `p: {{ $p }}`, `a: {{ if gt (now | unixEpoch | int64) 1700000000 }}new{{ else }}old{{ end }}`),
			"the time decides on it"},
		"the time decides on a value":  {one(p, `a: {{ if gt (now | unixEpoch | int64) 1700000000 }}{{ $p }}{{ else }}{{ lower $p }}{{ end }}`), "the time decides on it"},
		"the time decides on a number": {one("", `a: {{ if ge (now | unixEpoch | int64) 1700000000 }}5{{ else }}1{{ end }}`), "the time decides on it"},
		"the time decides on a number beside others": {one(p, `a: "{{ $p }} {{ now | date "2006" }}-{{ if ge (now | unixEpoch | int64) 1700000000 }}5{{ else }}1{{ end }}"`),
			"the time decides on it"},
		"the time decides on a hash": {one("", `a: {{ ternary "5" "1" (ge (now | unixEpoch | int64) 1700000000) | sha256sum | quote }}`), "the time decides on it"},
		"the time decides for a while": {one(p, `p: {{ $p }}`, `a: {{ $t := now | unixEpoch | int64 }}{{ if and (gt $t 1700000000) (lt $t 3000000000) }}in{{ else }}out{{ end }}`),
			"the time decides on it"},
		"a name and an optional field": {map[string]string{"templates/c.yaml": "{{ $p := randAlphaNum 12 | lower }}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c-{{ $p }}\n  {{ if regexMatch \"^[a-m]\" $p }}labels: {a: b}{{ end }}\n"},
			"a name is an identity"},
		"a key and an optional one": {one(p, `a: b`, `{{ $p }}: x`, `{{ if regexMatch "^[a-m]" $p }}c: d{{ end }}`), "a random value is the name of a field in it"},
		"an optional field":         {one(p, `p: {{ $p }}`, `{{ if regexMatch "^[a-mA-M]" $p }}c: d{{ end }}`), "which fields it has depends"},
		"a part of a hash of a key": {one(p, `p: {{ $p }}`, `a: {{ genPrivateKey "ed25519" | sha256sum | trunc 1 | quote }}`), "more with a certificate or a key than print it"},
		"a length of a key":         {one("", `a: {{ genPrivateKey "ecdsa" | len | quote }}`, `b: {{ genPrivateKey "ecdsa" | sha256sum | b64enc | trunc 12 | quote }}`), "more with a certificate or a key than print it"},
		"base64 of a hash of a key": {one(`{{ $k := genPrivateKey "ecdsa" }}`, `a: {{ $k | b64enc }}`, `b: {{ $k | sha256sum | b64enc }}`, `c: {{ $k | sha1sum | b64enc | b64enc }}`), ""},
		"one letter of many":        {one(p, `p: {{ $p }}`, `a: {{ ternary "x" "y" (contains "N" $p) }}`), ""},
		"one that is not printed":   {one("", `a: {{ ternary "x" "y" (regexMatch "^[c-k]" (randAlphaNum 12)) }}`), ""},
		"a digit is wanted, and an order": {one(p+`{{ if not (regexMatch "[0-9]" (print $p "7")) }}{{ fail "no" }}{{ end }}`,
			`a: {{ $p }}`, `b: {{ values (dict "a" "x" "b" "y") | join "" }}`), ""},
		"a digit is wanted of a part": {one(`{{ $p := randAlphaNum 60 }}{{ if not (regexMatch "[0-9]" $p) }}{{ fail "no" }}{{ end }}`, `a: {{ $p | trunc 50 }}`), ""},
		"forty values make one":       {one("", `a: "{{ range until 40 }}{{ randNumeric 2 | trunc 1 }}{{ end }}"`), ""},
		"a length of a text that is run": {map[string]string{"values.yaml": "t: \"{{ randAlphaNum 6 }}\"\n", "templates/c.yaml": configMap("c", "p: {{ tpl .Values.t . }}\n  l: {{ len .Values.t | quote }}")},
			"in a way that is not known"},
		"a hash of a text that is run": {map[string]string{"values.yaml": "t: \"{{ randAlphaNum 6 }}\"\n", "templates/c.yaml": configMap("c", "p: {{ tpl .Values.t . }}\n  l: {{ toYaml .Values | sha256sum }}")},
			"in a way that is not known"},
		"a user with a colon": {one(p, `a: {{ $p }}`, `b: {{ htpasswd "us:er" "x" | quote }}`), ""},
		"a lookup that looks like ours": {one(p, `a: {{ $p }}`, `b: "{{ lookup "hallmark.dev/oracle" "99" "" "sha256:abc" }}{{ lookup "hallmark.dev/oracle" "-1" "" "a:1" }}"`,
			`c: "{{ lookup "v1" "Secret" "" "" }}{{ lookup "v1" "Secret" "a" "b" }}"`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, generation := range []int{0, 1, 2, 3, 4, 5} {
				var seen []string
				for n := range 4 {
					o := deriving(t)
					o.Generation = generation
					out, err := render(t, engines[n%2], tt.files, Options{Prove: true, Derive: o})
					if err != nil {
						t.Fatal(err)
					}
					said := ""
					for _, f := range out.Findings {
						said += fmt.Sprintf("%s %s %s\n", f.Template, pointer(f.Path), f.Reason)
					}
					if (said != "") != (tt.reason != "") || !strings.Contains(said, tt.reason) {
						t.Fatalf("generation %d: got findings %q and derived %+v in %s, want %q", generation, said, out.Derived, out.Stream(), tt.reason)
					}
					if said == "" {
						said = fmt.Sprintf("%s%+v%q", out.Stream(), out.Derived, out.Secrets)
					}
					seen = append(seen, said)
				}
				if slices.Sort(seen); len(slices.Compact(seen)) != 1 {
					t.Errorf("generation %d: got several results:\n%s", generation, strings.Join(slices.Compact(seen), "\n"))
				}
			}
		})
	}
}

// A call that only some values lead to is not one of those that are known.
func TestCallsThatAppear(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]string{
		"encrypted": `encryptAES "k" $p`, "hash of a key": `genPrivateKey "ed25519" | sha256sum`, "date of no time": `date "2006-01-02 15:04:05.000000000" "x"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused := 0
			for generation := range 12 {
				o := deriving(t)
				o.Generation = generation
				files := map[string]string{"templates/c.yaml": "{{ $p := randAlphaNum 12 }}\n" + configMap("c", `a: {{ if regexMatch "^[I-Za-m]" $p }}{{ `+call+` }}{{ else }}{{ $p }}{{ end }}`)}
				var seen []string
				for range 2 {
					out, err := render(t, Helm3, files, Options{Prove: true, Derive: o})
					if err != nil {
						t.Fatal(err)
					}
					if len(out.Findings) > 0 {
						refused++
						continue
					}
					seen = append(seen, string(out.Stream()))
				}
				if len(slices.Compact(seen)) > 1 || len(seen) == 1 {
					t.Errorf("generation %d: got %q", generation, seen)
				}
			}
			if refused == 0 {
				t.Error("no value leads to the call")
			}
		})
	}
}

// A text with a call in it that is not run stays as it is: printed, in base64 or hashed.
func TestTextsThatAreNotRun(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"values.yaml":     "t: |\n  first\n  {{ randAlphaNum 9 }} and {{ now }}\nu: '{{ uuidv4 }}'\nv: '{{ randAlpha 8 }}'\n",
		"files/alert.txt": "a long line in front, so that it is found in base64\n{{ values $labels }} {{ randNumeric 3 }}\n",
		"templates/c.yaml": configMap("c", strings.Join([]string{
			`t: {{ .Values.t | quote }}`, `b: {{ .Values.t | b64enc }}`, `h: {{ .Values.t | sha256sum }}`, `j: {{ .Values | toJson | quote }}`,
			`f: {{ .Files.Get "files/alert.txt" | b64enc }}`, `g: {{ .Files.Get "files/alert.txt" | sha1sum }}`,
			`p: {{ tpl .Values.v . }}`, `q: {{ tpl .Values.u . }}`,
		}, "\n  "))}
	eachEngine(t, func(t *testing.T, engine Engine) {
		plain, err := render(t, engine, files, Options{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := render(t, engine, files, Options{Prove: true, Derive: deriving(t)})
		if err != nil || len(out.Findings) > 0 {
			t.Fatal(err, out.Findings)
		}
		Diff(plain.Objects[0].Value, out.Objects[0].Value, func(path []any) {
			if at := pointer(path); at != "/data/p" && at != "/data/q" {
				value, _ := object.Lookup(out.Objects[0].Value, path)
				t.Errorf("%s becomes %v", at, value)
			}
		})
		checkDerived(t, out, "/data/p ^[A-Za-z]{8}$\n/data/q ^[0-9a-f-]{36}$")
	})
}

// What is made of a secret value is one, wherever it stands.
func TestMadeValuesAreSecret(t *testing.T) {
	t.Parallel()
	files := map[string]string{"templates/c.yaml": configMap("c", "a: {{ randAlphaNum 24 | trunc 16 }}\n  b: {{ randAlphaNum 24 | replace \"a\" \"_\" }}")}
	out, err := render(t, Helm3, files, Options{Prove: true, Derive: deriving(t)})
	if err != nil || len(out.Findings) > 0 {
		t.Fatal(err, out.Findings)
	}
	for _, key := range []string{"a", "b"} {
		if value := object.Text(object.Field(out.Objects[0].Value, "data", key)); len(value) < 16 || !slices.Contains(out.Secrets, value) {
			t.Errorf("%s is no secret", key)
		}
	}
}

// Digests in digests, and values that are lost by the hundred, take no time that grows
// beyond what the chart's size asks for.
func TestManyOfAKind(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("renders some hundred times")
	}
	for name, line := range map[string]string{
		"digests in digests": `a: {{ $h := randAlphaNum 9 }}{{ range until 60 }}{{ $h = printf "%s%s" (sha256sum "a") $h | sha256sum }}{{ end }}{{ $h }}`,
		"many lost":          `a: "{{ range until 300 }}{{ randNumeric 2 | trunc 1 }}{{ end }}"`,
		"shuffled again":     `a: {{ $s := "a" }}{{ range until 90 }}{{ $s = shuffle (print $s "b") }}{{ end }}{{ $s }}`,
		"doubled":            `a: {{ $s := randAlphaNum 4 }}{{ range until 30 }}{{ $s = printf "%s%s" $s (sha256sum $s) }}{{ end }}{{ $s }}`,
		"digests over two":   `a: {{ $s := "a" }}{{ range until 2000 }}{{ $s = sha256sum (print $s $s) }}{{ end }}{{ $s }}`,
		"hashed passwords":   `a: "{{ range until 12 }}{{ htpasswd "u" (randAlphaNum 12) }}{{ end }}"`,
		"many for nothing":   `a: "{{ range until 3000 }}{{ if eq "x" (randAlpha 3) }}y{{ end }}{{ end }}{{ randAlpha 9 }}"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := time.Now()
			if _, err := render(t, Helm3, map[string]string{"templates/c.yaml": configMap("c", line)}, Options{Prove: true, Derive: deriving(t)}); err != nil {
				t.Fatal(err)
			}
			t.Log(time.Since(at))
		})
	}
}

// What changes with several groups, or with just one of two, must not be taken for what
// changes with a third one.
func TestCodewords(t *testing.T) {
	t.Parallel()
	for n, length := range map[int]int{1: 1, 4: 4, 5: 5, 10: 5, 11: 6, 16: 6, 20: 6, 35: 7, 56: 8, 126: 9, 130: 10, 252: 10} {
		words, got := codewords(n)
		if got != length || len(words) != n || !slices.IsSorted(words) {
			t.Errorf("%d groups: got %d words of %d digits, want them in order, of %d digits: %b", n, len(words), got, length, words)
		}
		for i, one := range words {
			for _, two := range words[:i] {
				for _, both := range []uint{0, one | two, one & two, one ^ two} {
					if _, found := slices.BinarySearch(words, both); found {
						t.Errorf("%d groups: %b of %b and %b is a word", n, both, one, two)
					}
				}
			}
		}
		for digit := range length {
			if !slices.ContainsFunc(words, func(word uint) bool { return word>>digit&1 == 1 }) {
				t.Errorf("%d groups: no word has digit %d", n, digit)
			}
		}
	}
}
