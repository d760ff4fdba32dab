package chart

import (
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/derive"
)

func deriving(t *testing.T) *derive.Options {
	t.Helper()
	seed, err := derive.ReadSeed("test", []byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	if err != nil {
		t.Fatal(err)
	}
	return &derive.Options{
		Seed:  seed,
		Scope: derive.Scope{Project: "shop", Namespace: "shop", App: "web"},
		Now:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

const password = `{{- define "web.password" -}}
{{- $password := "" -}}
{{- $old := (lookup "v1" "Secret" "shop" .secret).data -}}
{{- if $old -}}{{- $password = index $old .key | b64dec -}}{{- end -}}
{{- if not $password -}}{{- $password = randAlphaNum (default 10 .length) -}}{{- end -}}
{{- if not .plain -}}{{- $password = $password | b64enc -}}{{- end -}}
{{- printf "%s" $password | quote -}}
{{- end -}}
`

func secret(name string, lines ...string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata:\n  name: " + name + "\ndata:\n  " + strings.Join(lines, "\n  ") + "\n"
}

// Every field that is random is derived, in the shape that it has, and the result is
// the same each time.
func TestDerived(t *testing.T) {
	t.Parallel()
	alnum := func(n int) string { return fmt.Sprintf("^[A-Za-z0-9]{%d}$", n) }
	tests := map[string]struct {
		files   map[string]string
		derived string // the fields and, after a blank, the form of their values
	}{
		"one call site for several": {map[string]string{
			"templates/_h.tpl": password,
			"templates/s.yaml": secret("s", `a: {{ include "web.password" (dict "secret" "s" "key" "a") }}`, `b: {{ include "web.password" (dict "secret" "s" "key" "b" "length" 24) }}`),
		}, "/data/a ^[A-Za-z0-9]{10}$\n/data/b ^[A-Za-z0-9]{24}$"},
		"lower case": {map[string]string{"templates/c.yaml": configMap("c", `a: {{ randAlphaNum 32 | lower }}`)}, "/data/a ^[a-z0-9]{32}$"},
		"put into a text": {map[string]string{"templates/c.yaml": configMap("c", `a: {{ printf "%s-%s" (randAlpha 5) (randNumeric 3) | quote }}`)},
			"/data/a ^[A-Za-z]{5}-[0-9]{3}$"},
		"in a dict": {map[string]string{"templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  {{- toYaml (dict \"a\" (randAlphaNum 8) \"b\" \"c\") | nindent 2 }}\n"}, "/data/a " + alnum(8)},
		"a value that tpl runs": {map[string]string{"values.yaml": "t: '{{ randAlphaNum 12 }}'\n", "templates/c.yaml": configMap("c", `a: {{ tpl .Values.t . }}`)},
			"/data/a " + alnum(12)},
		"a file that tpl runs": {map[string]string{"files/x.tpl": "{{ randAlphaNum 12 }}", "templates/c.yaml": configMap("c", `a: {{ tpl (.Files.Get "files/x.tpl") . }}`)},
			"/data/a " + alnum(12)},
		"a literal that tpl runs": {map[string]string{"templates/c.yaml": configMap("c", `a: {{ tpl "{{ printf \"%s\" (randAlphaNum 12) }}" . }}`)}, "/data/a " + alnum(12)},
		"a raw literal that tpl runs": {map[string]string{"templates/c.yaml": configMap("c", "a: {{ tpl `{{ printf \"%s\" (randAlphaNum 12) }}{{ uuidv4 }}` . }}")},
			"/data/a ^[A-Za-z0-9]{12}.{8}-.{4}-4.{3}-.{4}-.{12}$"},
		"lookup first": {map[string]string{"templates/s.yaml": `{{- $old := lookup "v1" "Secret" "shop" "s" }}
` + secret("s", `a: {{ if $old }}{{ $old.data.a }}{{ else }}{{ randAlphaNum 16 | b64enc }}{{ end }}`)}, "/data/a " + alnum(16)},
		"checksum of a Secret": {map[string]string{
			"templates/s.yaml": secret("s", `a: {{ randAlphaNum 16 | b64enc }}`),
			"templates/c.yaml": configMap("c", `sum: {{ include (print $.Template.BasePath "/s.yaml") . | sha256sum }}`),
		}, "/data/a " + alnum(16) + "\n/data/sum ^[0-9a-f]{64}$"},
		"the day":                {map[string]string{"templates/c.yaml": configMap("c", `a: {{ now | date "2006-01-02" | quote }}`)}, "/data/a ^2000-01-01$"},
		"the second":             {map[string]string{"templates/c.yaml": configMap("c", `a: {{ now | unixEpoch | quote }}`)}, "/data/a ^946728000$"},
		"the second, a number":   {map[string]string{"templates/c.yaml": configMap("c", `a: {{ now | unixEpoch }}`)}, "/data/a ^946728000$"},
		"the year":               {map[string]string{"templates/c.yaml": configMap("c", `a: {{ now.Year | quote }}`)}, "/data/a ^2000$"},
		"the month":              {map[string]string{"templates/c.yaml": configMap("c", `a: {{ now | date "01" | quote }}`)}, "/data/a ^01$"},
		"the time in a zone":     {map[string]string{"templates/c.yaml": configMap("c", `a: {{ dateInZone "Monday 3:04 PM -0700" now "Asia/Tokyo" | quote }}`)}, `/data/a ^Saturday 9:00 PM \+0900$`},
		"with summer time":       {map[string]string{"templates/c.yaml": configMap("c", `a: {{ dateInZone "2006-01-02T15:04:05Z07:00" now "America/New_York" | quote }}`)}, `/data/a ^2000-01-01T07:00:00-05:00$`},
		"a year later":           {map[string]string{"templates/c.yaml": configMap("c", `a: {{ now | dateModify "8760h" | date "2006-01-02" | quote }}`)}, "/data/a ^2000-12-31$"},
		"the time itself":        {map[string]string{"templates/c.yaml": configMap("c", `a: {{ now | quote }}`)}, `/data/a ^2000-01-01 12:00:00 \+0000 UTC$`},
		"hash of the day":        {map[string]string{"templates/c.yaml": configMap("c", `a: {{ now | date "2006" | sha256sum }}`)}, "/data/a ^81a83544cf93c245178cbc1620030f1123f435af867c79d87135983c52ab39d9$"},
		"age":                    {map[string]string{"templates/c.yaml": configMap("c", `a: {{ ago (toDate "2006-01-02" "2020-01-01") | quote }}`)}, "/data/a ^0s$"},
		"date of no time":        {map[string]string{"templates/c.yaml": configMap("c", `a: {{ date "2006-01-02" "2020-01-01" | quote }}`)}, "/data/a ^2000-01-01$"},
		"date of no time, piped": {map[string]string{"templates/c.yaml": configMap("c", `a: {{ "2020-01-01" | date "2006-01-02" | quote }}`)}, "/data/a ^2000-01-01$"},
		"time since":             {map[string]string{"templates/c.yaml": configMap("c", `a: {{ durationRound (toDate "2006" "2020") | quote }}`)}, "/data/a ^0s$"},
		"uuid":                   {map[string]string{"templates/c.yaml": configMap("c", `a: {{ uuidv4 }}`)}, "/data/a ^.{8}-.{4}-4.{3}-.{4}-.{12}$"},
		"uuid as an argument":    {map[string]string{"templates/c.yaml": configMap("c", `a: {{ printf "%s" uuidv4 | b64enc }}`)}, "/data/a ^.{8}-.{4}-4.{3}-.{4}-.{12}$"},
		"behind a pipe":          {map[string]string{"templates/c.yaml": configMap("c", `a: {{ 16 | randAlphaNum | b64enc }}`)}, "/data/a " + alnum(16)},
		"no blanks":              {map[string]string{"templates/c.yaml": configMap("c", `a: {{randAlphaNum 16|b64enc|quote}}`)}, "/data/a " + alnum(16)},
		"computed length":        {map[string]string{"values.yaml": "length: 9\n", "templates/c.yaml": configMap("c", `a: {{ randAlphaNum (int .Values.length) | b64enc }}`)}, "/data/a " + alnum(9)},
		"in a variable":          {map[string]string{"templates/c.yaml": "{{ $x := randAlphaNum 8 -}}\n" + configMap("c", "a: {{ $x }}\n  b: {{ $x | b64enc }}")}, "/data/a " + alnum(8) + "\n/data/b " + alnum(8)},
		"with":                   {map[string]string{"templates/c.yaml": configMap("c", `a: {{ with randAlphaNum 8 }}x{{ . }}{{ end }}`)}, "/data/a ^x[A-Za-z0-9]{8}$"},
		"range":                  {map[string]string{"templates/c.yaml": configMap("c", "{{ range $k := list \"a\" \"b\" }}{{ $k }}: {{ randAlphaNum 8 }}\n  {{ end }}")}, "/data/a " + alnum(8) + "\n/data/b " + alnum(8)},
		"set":                    {map[string]string{"templates/c.yaml": `{{ $_ := set .Values "pw" (randAlphaNum 12) }}` + "\n" + configMap("c", `a: {{ .Values.pw | quote }}`)}, "/data/a " + alnum(12)},
		"bytes":                  {map[string]string{"templates/s.yaml": secret("s", `a: {{ randBytes 12 | b64enc }}`)}, "/data/a ^[A-Za-z0-9+/]{16}$"},
		"port":                   {map[string]string{"templates/c.yaml": configMap("c", `a: {{ randInt 30000 32767 }}`)}, "/data/a ^3[0-2][0-9]{3}$"},
		"negative number":        {map[string]string{"templates/c.yaml": configMap("c", `a: {{ randInt -9 -3 | quote }}`)}, "/data/a ^-[4-9]$"},
		"shuffled":               {map[string]string{"templates/c.yaml": configMap("c", `a: {{ shuffle "abcdef" }}`)}, "/data/a ^[a-f]{6}$"},
		"password hash":          {map[string]string{"templates/c.yaml": configMap("c", `a: {{ htpasswd "u" (randAlphaNum 8) | quote }}`)}, "/data/a ^u:.2a.10.{54}$"},
		"bcrypt":                 {map[string]string{"templates/c.yaml": configMap("c", `a: {{ randAlphaNum 8 | bcrypt | quote }}`)}, "/data/a ^.2a.10.{54}$"},
		"order of a map":         {map[string]string{"templates/c.yaml": configMap("c", `a: {{ values (dict "a" "x" "b" "y" "c" "z") | join "" }}`)}, "/data/a ^xyz$"},
		"order of a map beside random": {map[string]string{"templates/c.yaml": configMap("c", `a: {{ values (dict "a" "x" "b" "y" "c" "z") | join "" }}
  b: {{ randAlphaNum 7 }}`)}, "/data/a ^xyz$\n/data/b " + alnum(7)},
		"certificate": {map[string]string{"templates/s.yaml": `{{ $ca := genCA "web" 365 }}{{ $c := genSignedCert "web" nil (list "web.shop.svc") 365 $ca }}
` + secret("s", `ca: {{ $ca.Cert | b64enc }}`, `crt: {{ $c.Cert | b64enc }}`, `key: {{ $c.Key | b64enc }}`)},
			"/data/ca ^-----BEGIN CERT\n/data/crt ^-----BEGIN CERT\n/data/key ^-----BEGIN RSA PRIV"},
		"subchart with an alias": {map[string]string{
			"Chart.yaml":           "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: db, alias: one, version: 1.0.0}, {name: db, alias: two, version: 1.0.0}]\n",
			"charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n", "charts/db/templates/s.yaml": secret("{{ .Chart.Name }}", `a: {{ randAlphaNum 16 | b64enc }}`),
		}, "/data/a " + alnum(16) + "\n/data/a " + alnum(16)},
		"printed, not run": {map[string]string{"values.yaml": "t: '{{ randAlphaNum 9 }} {{ now }}'\n",
			"templates/c.yaml": configMap("c", "a: {{ .Values.t | quote }}\n  b: {{ \"{{ uuidv4 }}\" | quote }}\n  c: {{ tpl \"{{ randAlpha 7 }}\" . }}")}, "/data/c ^[A-Za-z]{7}$"},
		"a stable hash stays": {map[string]string{"templates/c.yaml": configMap("c", "a: {{ sha256sum \"x\" | trunc 7 | quote }}\n  c: {{ randAlpha 7 }}")}, "/data/c ^[A-Za-z]{7}$"},
		"its length stays":    {map[string]string{"templates/c.yaml": configMap("c", "a: {{ randAlphaNum 16 | len | quote }}\n  c: {{ randAlpha 7 }}")}, "/data/c ^[A-Za-z]{7}$"},
		"a hook": {map[string]string{"templates/c.yaml": strings.Replace(configMap("c", "a: {{ randAlpha 7 }}"), "metadata:", "metadata:\n  annotations: {helm.sh/hook: pre-install}", 1)},
			"/data/a ^[A-Za-z]{7}$"},
		"derived by the chart itself": {map[string]string{"templates/c.yaml": configMap("c", `a: {{ derivePassword 1 "long" "pass" "user" "site" | quote }}
  b: {{ randAlpha 7 }}`)}, "/data/b ^[A-Za-z]{7}$"},
		"one of two": {map[string]string{"templates/c.yaml": configMap("c", `a: {{ randInt 0 2 | quote }}`)}, "/data/a ^[01]$"},
		"numeric":    {map[string]string{"templates/c.yaml": configMap("c", `a: {{ randNumeric 1 | quote }}`)}, "/data/a ^[0-9]$"},
		"CRD in front": {map[string]string{
			"crds/x.yaml":      "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n",
			"templates/a.yaml": "# nothing\n", "templates/c.yaml": configMap("c", `a: {{ randAlpha 7 }}`)}, "/data/a ^[A-Za-z]{7}$"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streams := map[string]bool{}
			for _, engine := range engines {
				for range 2 {
					out, err := render(t, engine, tt.files, Options{Prove: true, Derive: deriving(t)})
					if err != nil {
						t.Fatal(err)
					}
					if len(out.Findings) > 0 {
						t.Fatalf("got findings %+v", out.Findings)
					}
					streams[string(out.Stream())] = true
					checkDerived(t, out, tt.derived)
				}
			}
			if len(streams) != 1 {
				t.Errorf("got %d results: %s", len(streams), slices.Collect(maps.Keys(streams)))
			}
		})
	}
}

// checkDerived compares what was derived with a list of pointers and patterns.
func checkDerived(t *testing.T, out *Output, want string) {
	t.Helper()
	lines := strings.Split(want, "\n")
	if len(out.Derived) != len(lines) {
		t.Fatalf("got derived %+v, want %q", out.Derived, want)
	}
	for i, d := range out.Derived {
		path, form, _ := strings.Cut(lines[i], " ")
		value, found := object.Lookup(out.Objects[d.Document].Value, d.Path)
		got := fmt.Sprint(value)
		if decoded, err := base64.StdEncoding.DecodeString(got); err == nil && !matchForm(form, got) {
			got = string(decoded)
		}
		if pointer(d.Path) != path || !found || !matchForm(form, got) || d.Object != out.Objects[d.Document].ID() {
			t.Errorf("got %s: %s of %s (%s), want %s", pointer(d.Path), got, d.Object, d.Reason, lines[i])
		}
		if !strings.Contains(string(out.Stream()), "Source: "+out.Objects[d.Document].Origin) {
			t.Errorf("got no text of %s", d.Object)
		}
	}
}

func matchForm(form, value string) bool { return regexp.MustCompile(form).MatchString(value) }

// What cannot be known is refused: the field, or the file where it does not show which, and
// no part of a frame stands in a result.
func TestNotDerived(t *testing.T) {
	t.Parallel()
	one := func(line string) map[string]string {
		return map[string]string{"templates/c.yaml": configMap("c", line)}
	}
	tests := map[string]struct {
		files map[string]string
		path  string
		want  string
	}{
		"encrypted": {one(`a: {{ encryptAES "0123456789abcdef" "x" | quote }}`), "/data/a", "no random function"},
		"a name":    {map[string]string{"templates/c.yaml": configMap("c-{{ randAlpha 8 | lower }}", "a: b")}, "/metadata/name", "name"},
		"a part of a name": {map[string]string{"templates/c.yaml": configMap("c-{{ randAlpha 8 | lower | trunc 5 }}", "a: b")},
			"/metadata/name", "name"},
		"a name by a letter": {map[string]string{"templates/c.yaml": configMap(`c{{ if gt (randInt 0 4) 1 }}x{{ end }}`, "a: b")}, "/metadata/name", "name"},
		"a key":              {one(`{{ randAlpha 8 }}: x`), "/data", "random value is the name of a field"},
		"in Chart.yaml": {map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\nannotations: {t: '{{ uuidv4 }}'}\n", "templates/c.yaml": configMap("c", `a: {{ tpl .Chart.Annotations.t . }}`)},
			"/data/a", "uuidv4 in web/Chart.yaml cannot be marked"},
		"text put together for tpl": {one(`a: {{ tpl (printf "{{ %s 20 }}" "randAlpha") . }}`), "/data/a", "cannot be marked"},
		"name put together for tpl": {one(`a: {{ tpl (printf "{{ rand%s 20 }}" "Alpha") . }}`), "/data/a", "cannot be marked"},
		"an object":                 {map[string]string{"templates/c.yaml": configMap("c", "a: b"), "templates/d.yaml": "{{ if gt (randInt 0 4) 1 }}" + configMap("d", "a: b") + "{{ end }}"}, "", "which objects web/templates/d.yaml has"},
		"an object, by a password": {map[string]string{"templates/d.yaml": "{{ $p := randAlpha 40 }}" + configMap("d", "a: {{ $p }}") + "{{ if regexMatch \"^[a-z]\" $p }}\n---\n" + configMap("e", "a: b") + "{{ end }}"},
			"", "which objects web/templates/d.yaml has"},
		"another call":       {one(`a: {{ if gt (randInt 0 4) 1 }}{{ randAlpha 5 }}{{ end }}x`), "", "depends on another one"},
		"one number of many": {one(`a: {{ if eq (randInt 1 1000) 5 }}x{{ else }}y{{ end }}`), "", "looks at the random value (web/templates/c.yaml:6:"},
		"a letter of one":    {one(`a: {{ ternary "x" "y" (contains "b" (randAlphaNum 1)) }}`), "/data/a", "tests the random value"},
		"a call that is not run, in quotes of quotes": {map[string]string{"values.yaml": "t: '{{ randAlpha 8 }}'\n", "templates/c.yaml": configMap("c", `a: {{ printf "%q" (.Values.t | quote) | quote }}{{ $x := tpl .Values.t . }}`)},
			"/data/a", "in a way that is not known"},
		"a part of a key": {one(`a: {{ genPrivateKey "ed25519" | substr 40 60 | quote }}`), "/data/a", ""},
		"a key, computed with": {one(`a: {{ printf "%s %s" (genPrivateKey "ed25519" | quote | squote) (randAlphaNum 50 | replace "a" "b") | quote }}`),
			"/data/a", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, func(t *testing.T, engine Engine) {
				said := ""
				for range 5 {
					out, err := render(t, engine, tt.files, Options{Prove: true, Derive: deriving(t)})
					if err != nil {
						t.Fatal(err)
					}
					if len(out.Findings) != 1 || pointer(out.Findings[0].Path) != tt.path || !strings.Contains(out.Findings[0].Reason, tt.want) {
						t.Fatalf("got findings %+v and derived %+v, want one at %s with %q", out.Findings, out.Derived, tt.path, tt.want)
					}
					if said == "" {
						said = out.Findings[0].Reason
					}
					if out.Findings[0].Reason != said || strings.Contains(said, "lookup") {
						t.Errorf("got reasons %q and %q", said, out.Findings[0].Reason)
					}
					if text := string(out.Stream()); strings.Contains(text, derive.FrameStart) || strings.Contains(text, derive.FrameEnd) {
						t.Errorf("got a frame in %s", text)
					}
				}
			})
		})
	}
}

// executions counts how often a chart is executed: each one assigns its values anew.
func executions(t *testing.T, files map[string]string, o Options) int {
	t.Helper()
	n := 0
	o.Prove = true
	o.SetFile = []Assignment{{"counted", "x"}}
	o.ReadFile = func(string) ([]byte, error) { n++; return []byte("x"), nil }
	if _, err := render(t, Helm3, files, o); err != nil {
		t.Fatal(err)
	}
	return n
}

// A chart that is stable costs what it does without Derive, also if it calls digests; one
// that is not at most three times as much, unless there are many values of which parts alone
// are printed: those take twice as many renders as their number has digits.
func TestExecutions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files map[string]string
		most  int // 0 is as many as without
	}{
		"nothing suspicious": {map[string]string{"templates/c.yaml": configMap("c", `a: {{ sha256sum "x" }}`)}, 0},
		"not executed":       {map[string]string{"templates/c.yaml": configMap("c", `a: {{ if .Values.x }}{{ randAlpha 9 }}{{ end }}`)}, 0},
		"fixed date":         {map[string]string{"templates/c.yaml": configMap("c", `a: {{ toDate "2006" "2020" | date "2006" | quote }}`)}, 0},
		"values in order":    {map[string]string{"templates/c.yaml": configMap("c", `v: {{ values (dict "a" "x" "b" "y") | sortAlpha | join "," }}`)}, 0},
		"random":             {map[string]string{"templates/c.yaml": configMap("c", `a: {{ randAlphaNum 9 }}`)}, 5},
		"discarded":          {map[string]string{"templates/c.yaml": configMap("c", `a: {{ randAlphaNum 9 }}{{ $x := randAlphaNum 9 }}`)}, 8},
		"printed in part":    {map[string]string{"templates/c.yaml": configMap("c", `a: {{ randAlphaNum 9 | trunc 8 }}`)}, 9},
		"printed whole and in part": {map[string]string{"templates/c.yaml": configMap("c", `a: {{ $p := randAlphaNum 9 }}{{ $p }}
  b: {{ $p | trunc 8 }}`)}, 9},
		"sixteen in part": {map[string]string{"templates/c.yaml": configMap("c", `{{ range $i := until 16 }}a{{ $i }}: {{ randAlphaNum 9 | trunc 8 }}
  {{ end }}`)}, 15},
		"sixteen both": {map[string]string{"templates/c.yaml": configMap("c", `{{ range $i := until 16 }}{{ $p := randAlphaNum 9 }}a{{ $i }}: {{ $p }}
  b{{ $i }}: {{ $p | trunc 8 }}
  {{ end }}`)}, 15},
		"time":             {map[string]string{"templates/c.yaml": configMap("c", `a: {{ now | unixEpoch }}`)}, 6},
		"random and time":  {map[string]string{"templates/c.yaml": configMap("c", `a: {{ randAlphaNum 9 }}{{ now | unixEpoch }}`)}, 7},
		"random and order": {map[string]string{"templates/c.yaml": configMap("c", `a: {{ randAlphaNum 9 }}{{ values (dict "a" "x" "b" "y") | join "," }}`)}, 6},
		"certificate":      {map[string]string{"templates/c.yaml": configMap("c", `a: {{ (genCA "x" 9).Cert | quote }}`)}, 6},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			without := executions(t, tt.files, Options{})
			with := executions(t, tt.files, Options{Derive: deriving(t)})
			if most := max(tt.most, without); with > most || with > 3*without && !strings.HasPrefix(name, "sixteen") {
				t.Errorf("got %d executions, without derive %d, want at most %d", with, without, most)
			}
		})
	}
}

// Keys of the kind that a chart asks for take long, so just the plain renders and those
// with frames make them, unless the chart needs them.
func TestQuickKeys(t *testing.T) {
	t.Parallel()
	const all = `{{ $ca := genCA "a" 9 }}{{ $x := genSignedCert "x" nil (list "x") 9 $ca }}{{ $y := genSelfSignedCert "y" nil nil 9 }}`
	for name, tt := range map[string]struct {
		text string
		want [2]int // kept keys in a render with frames and in one with known values
	}{
		"all":            {all + configMap("c", "a: {{ list $ca.Key $x.Key $y.Key (genPrivateKey \"rsa\") | join \"\" | quote }}"), [2]int{4, 0}},
		"a key is read":  {configMap("c", `a: {{ genPrivateKey "rsa" | regexFind "^-----BEGIN RSA(.|\n)*$" | required "RSA" | quote }}`), [2]int{1, 1}},
		"through a pipe": {configMap("c", "a: {{ \"rsa\" | genPrivateKey | quote }}\n  b: {{ (9 | genCA \"x\").Key | quote }}"), [2]int{2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, func(t *testing.T, engine Engine) {
				c, err := Load(chartFS(map[string]string{"templates/c.yaml": tt.text}), "web")
				if err != nil {
					t.Fatal(err)
				}
				o := Options{ReleaseName: "web", Namespace: "shop", MaxOutput: DefaultMaxOutput}
				m := &marker{proof: &proof{chart: c, ctx: t.Context(), engine: engine, options: o, calls: []*call{{class: slow}}}, left: map[*call]string{}}
				for i, kind := range []marking{{frames: true}, {}} {
					r, err := m.render(kind)
					if err != nil {
						t.Fatal(err)
					}
					if got := strings.Count(r.texts["web/templates/c.yaml"], "BEGIN RSA"); got != tt.want[i] {
						t.Errorf("got %d keys that take long, want %d in %s", got, tt.want[i], r.texts)
					}
				}
			})
		})
	}
}

// What date functions print is up to time.Local, which cmd sets to UTC as the helper
// process does. The moment that stands for now is the same in any zone without that.
func TestTimeZones(t *testing.T) {
	t.Parallel()
	if os.Getenv("CHART_TEST_ZONE") != "" {
		time.Local = time.UTC //nolint:gosmopolitan // as cmd/hallmark does
		out, err := render(t, Helm3, map[string]string{"templates/c.yaml": configMap("c",
			"a: {{ now | quote }}\n  b: {{ now | date \"2006-01-02T15:04:05Z07:00\" | quote }}\n  c: {{ now | unixEpoch | quote }}\n  d: {{ now.Hour | quote }}\n  e: {{ htmlDate now | quote }}\n  f: {{ dateInZone \"15:04\" now \"Asia/Tokyo\" | quote }}")},
			Options{Prove: true, Derive: deriving(t)})
		if err != nil || len(out.Findings) > 0 {
			t.Fatal(err, out)
		}
		fmt.Printf("<<%s>>", out.Stream())
		return
	}
	var results []string
	for _, zone := range []string{"UTC", "Pacific/Kiritimati", "America/St_Johns"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTimeZones$") //nolint:gosec // this program
		cmd.Env = append(os.Environ(), "CHART_TEST_ZONE=1", "TZ="+zone)
		text, err := cmd.CombinedOutput()
		_, shown, found := strings.Cut(string(text), "<<")
		if shown, _, _ = strings.Cut(shown, ">>"); err != nil || !found {
			t.Fatalf("in zone %s: %v\n%s", zone, err, text)
		}
		results = append(results, shown)
	}
	if !strings.Contains(results[0], "2000-01-01T12:00:00Z") || !strings.Contains(results[0], "946728000") {
		t.Errorf("got %s", results[0])
	}
	if slices.Sort(results); len(slices.Compact(results)) != 1 {
		t.Errorf("got another result in another zone: %s", results)
	}
}
