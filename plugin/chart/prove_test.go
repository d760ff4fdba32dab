package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A changing value has to be found in the field where it ends, with the
// function, the template and the line that it comes from.
func TestUnstableFields(t *testing.T) {
	t.Parallel()
	helper := `{{- define "web.password" -}}
{{ randAlphaNum 16 }}
{{- end -}}
`
	tests := []struct {
		name     string
		files    map[string]string
		values   string
		path     string
		function string
		at       string
	}{
		{"random string in a Secret (harbor-helm 2263)",
			map[string]string{"templates/s.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\ndata:\n  key: {{ randAlphaNum 16 | b64enc }}\n"},
			"", "/data/key", "randAlphaNum", "web/templates/s.yaml:6"},
		{"through a named template",
			map[string]string{"templates/_h.tpl": helper, "templates/c.yaml": configMap("c", `p: {{ include "web.password" . }}`)},
			"", "/data/p", "randAlphaNum", "web/templates/_h.tpl:2"},
		{"through a computed name",
			map[string]string{"templates/_h.tpl": helper, "templates/c.yaml": configMap("c", `p: {{ include (printf "%s.password" .Chart.Name) . }}`)},
			"", "/data/p", "randAlphaNum", "web/templates/_h.tpl:2"},
		{"certificate authority (charts-passbolt 32)",
			map[string]string{"templates/c.yaml": configMap("c", `ca: {{ (genCA "web" 365).Cert | b64enc }}`)},
			"", "/data/ca", "genCA", "web/templates/c.yaml:6"},
		{"signed certificate",
			map[string]string{"templates/c.yaml": configMap("c", `crt: {{ (genSignedCert "web" nil nil 365 (genCA "web" 365)).Cert | b64enc }}`)},
			"", "/data/crt", "genSignedCert", "web/templates/c.yaml:6"},
		{"new value where lookup is empty (stackstorm-k8s 442)",
			map[string]string{"templates/c.yaml": `{{- $old := lookup "v1" "Secret" "shop" "s" }}
` + configMap("c", `key: {{ $old.data | default (dict "key" (randAlpha 32)) | dig "key" "" }}`)},
			"", "/data/key", "randAlpha", "web/templates/c.yaml:7"},
		{"uuid (helm-charts 1296)",
			map[string]string{"templates/c.yaml": configMap("c", `id: {{ uuidv4 }}`)}, "", "/data/id", "uuidv4", "web/templates/c.yaml:6"},
		{"current second (helm-charts 1296)",
			map[string]string{"templates/c.yaml": configMap("c", `at: {{ now | unixEpoch | quote }}`)}, "", "/data/at", "now", "web/templates/c.yaml:6"},
		{"current day",
			map[string]string{"templates/c.yaml": configMap("c", `day: {{ now | date "2006-01-02" | quote }}`)}, "", "/data/day", "now", "web/templates/c.yaml:6"},
		{"current year in a variable",
			map[string]string{"templates/c.yaml": "{{ $n := now }}\n" + configMap("c", `year: {{ $n.Year | quote }}`)}, "", "/data/year", "now", "web/templates/c.yaml:1"},
		{"age of a fixed time",
			map[string]string{"templates/c.yaml": configMap("c", `age: {{ ago (toDate "2006-01-02" "2020-01-01") | quote }}`)}, "", "/data/age", "ago", "web/templates/c.yaml:6"},
		{"date of a string is the current one",
			map[string]string{"templates/c.yaml": configMap("c", `day: {{ date "2006-01-02" "2020-01-01" | quote }}`)}, "", "/data/day", "date", "web/templates/c.yaml:6"},
		{"one of five",
			map[string]string{"templates/c.yaml": configMap("c", `i: {{ randInt 0 5 | quote }}`)}, "", "/data/i", "randInt", "web/templates/c.yaml:6"},
		{"one letter",
			map[string]string{"templates/c.yaml": configMap("c", `i: {{ randNumeric 1 | quote }}`)}, "", "/data/i", "randNumeric", "web/templates/c.yaml:6"},
		{"shuffled",
			map[string]string{"templates/c.yaml": configMap("c", `s: {{ shuffle "abcdef" }}`)}, "", "/data/s", "shuffle", "web/templates/c.yaml:6"},
		{"values of a map",
			map[string]string{"templates/c.yaml": configMap("c", `v: {{ values (dict "a" "x" "b" "y") | join "," }}`)}, "", "/data/v", "values", "web/templates/c.yaml:6"},
		{"password hash",
			map[string]string{"templates/c.yaml": configMap("c", `h: {{ htpasswd "u" "p" | quote }}`)}, "", "/data/h", "htpasswd", "web/templates/c.yaml:6"},
		{"in text that tpl runs",
			map[string]string{"templates/c.yaml": configMap("c", `t: {{ tpl .Values.t . }}`)},
			`t: "{{ randAlphaNum 12 }}"`, "/data/t", "randAlphaNum", "values.t:1"},
		{"in a file that tpl runs",
			map[string]string{"files/x.tpl": "{{ randAlphaNum 12 }}", "templates/c.yaml": configMap("c", `t: {{ tpl (.Files.Get "files/x.tpl") . }}`)},
			"", "/data/t", "randAlphaNum", "web/files/x.tpl:1"},
		{"in a name",
			map[string]string{"templates/c.yaml": configMap("job-{{ randAlpha 8 | lower }}", "a: b")}, "", "/metadata/name", "randAlpha", "web/templates/c.yaml:4"},
		{"method of the time",
			map[string]string{"templates/c.yaml": configMap("c", `t: {{ now.UnixNano | quote }}`)}, "", "/data/t", "now", "web/templates/c.yaml:6"},
		{"in a literal that tpl runs",
			map[string]string{"templates/c.yaml": configMap("c", "t: {{ tpl `{{ randAlphaNum 20 }}` . }}")}, "", "/data/t", "randAlphaNum", "web/templates/c.yaml:6"},
		{"day in a literal that tpl runs",
			map[string]string{"templates/c.yaml": configMap("c", `t: {{ tpl "{{ now | date \"2006-01-02\" }}" . | quote }}`)}, "", "/data/t", "now", "web/templates/c.yaml:6"},
		{"day in a raw literal that tpl runs",
			map[string]string{"templates/c.yaml": configMap("c", "t: {{ tpl `{{ now | date \"2006-01-02\" }}` . | quote }}")}, "", "/data/t", "now", "web/templates/c.yaml:6"},
		{"day in a value that tpl runs",
			map[string]string{"templates/c.yaml": configMap("c", `t: {{ tpl .Values.t . | quote }}`)}, `t: '{{ now | date "2006-01-02" }}'`, "/data/t", "now", "values.t:1"},
		{"named template included by a value",
			map[string]string{"templates/_h.tpl": helper, "templates/c.yaml": configMap("c", `t: {{ tpl .Values.t . }}`)},
			`t: '{{ include "web.password" . }}'`, "/data/t", "randAlphaNum", "web/templates/_h.tpl:2"},
		{"in Chart.yaml that tpl runs",
			map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\nannotations: {t: '{{ uuidv4 }}'}\n", "templates/c.yaml": configMap("c", `t: {{ tpl .Chart.Annotations.t . }}`)},
			"", "/data/t", "uuidv4", "web/Chart.yaml:4"},
		{"text put together for tpl",
			map[string]string{"templates/c.yaml": configMap("c", `t: {{ tpl (printf "{{ %s 20 }}" "randAlpha") . }}`)}, "", "/data/t", "randAlpha", "web/templates/c.yaml"},
		{"date of a number in values",
			map[string]string{"templates/c.yaml": configMap("c", `d: {{ dateInZone "2006" .Values.ts "UTC" | quote }}`)}, "ts: 1577836800", "/data/d", "dateInZone", "web/templates/c.yaml:6"},
		{"date after a good one",
			map[string]string{"templates/c.yaml": configMap("c", `d: {{ date "2006" 0 }}{{ date "15" "x" }}`)}, "", "/data/d", "date", "web/templates/c.yaml:6"},
		{"date whose result is used",
			map[string]string{"templates/c.yaml": configMap("c", `d: {{ toDate "2006" "2020" | date "2006" | trimSuffix "0" | quote }}
  e: {{ htmlDate "x" | trimSuffix "0" | quote }}`)}, "", "/data/e", "htmlDate", "web/templates/c.yaml:7"},
		{"time since",
			map[string]string{"templates/c.yaml": configMap("c", `d: {{ durationRound (toDate "2006" "2020") | quote }}`)}, "", "/data/d", "durationRound", "web/templates/c.yaml:6"},
		{"first character of a uuid",
			map[string]string{"templates/c.yaml": configMap("c", `d: {{ uuidv4 | trunc 3 | quote }}`)}, "", "/data/d", "uuidv4", "web/templates/c.yaml:6"},
		{"keys of several maps",
			map[string]string{"templates/c.yaml": configMap("c", `d: {{ keys (dict "b" 1 "c" 2) (dict "a" 1) | join "," }}`)}, "", "/data/d", "keys", "web/templates/c.yaml:6"},
		{"keys in a value that tpl runs",
			map[string]string{"templates/c.yaml": configMap("c", `d: {{ tpl .Values.t . }}`)}, `t: '{{ keys (dict "a" 1 "b" 2) | join "," }}'`, "/data/d", "keys", "values.t:1"},
		{"values of maps",
			map[string]string{"templates/c.yaml": configMap("c", `d: {{ range values (dict "a" (dict "n" 1) "b" (dict "n" 2) "c" (dict "n" 3)) }}{{ .n }},{{ end }}`)}, "", "/data/d", "values", "web/templates/c.yaml:6"},
		{"made in one template, used in another",
			map[string]string{"templates/z.yaml": `{{ $_ := set .Values "pw" (randAlphaNum 12) }}`, "templates/c.yaml": configMap("c", `d: {{ .Values.pw | quote }}`)}, "", "/data/d", "randAlphaNum", "web/templates/z.yaml:1"},
		{"address of a struct",
			map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\nmaintainers: [{name: a}]\n", "templates/c.yaml": configMap("c", `d: {{ printf "%p" .Values | quote }}`)}, "", "/data/d", "", ""},
		{"in a list",
			map[string]string{"templates/c.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: a\n    args: [x, {{ randAlpha 9 }}]\n"},
			"", "/spec/containers/0/args/1", "randAlpha", "web/templates/c.yaml:7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, func(t *testing.T, engine Engine) {
				out, err := render(t, engine, tt.files, Options{Prove: true, Values: []Document{{"values", []byte(tt.values)}}})
				if err != nil {
					t.Fatal(err)
				}
				if len(out.Findings) != 1 {
					t.Fatalf("got findings %+v, want one", out.Findings)
				}
				f := out.Findings[0]
				if got := pointer(f.Path); got != tt.path {
					t.Errorf("got path %q, want %q", got, tt.path)
				}
				var calls []string
				for _, c := range f.Calls {
					at := c.Template
					if c.Line > 0 {
						at = fmt.Sprintf("%s:%d", c.Template, c.Line)
					}
					calls = append(calls, c.Function+" "+at)
				}
				if want := tt.function + " " + tt.at; tt.function != "" && !strings.Contains(strings.Join(calls, "\n")+"\n", want+"\n") {
					t.Errorf("got calls %q, want %q among them", calls, want)
				}
			})
		})
	}
}

func pointer(path []any) string {
	var b strings.Builder
	for _, p := range path {
		fmt.Fprintf(&b, "/%v", p)
	}
	return b.String()
}

// A time in a text that cannot be edited is refused, with the text and the
// function.
func TestFixedTimes(t *testing.T) {
	t.Parallel()
	tests := map[string]map[string]string{
		"web/Chart.yaml": {
			"Chart.yaml":       "apiVersion: v2\nname: web\nversion: 1.0.0\ndescription: '{{ now | date \"2006-01-02\" }}'\n",
			"templates/c.yaml": configMap("c", `d: {{ tpl .Chart.Description . | quote }}`)},
		"values.m": {
			"values.yaml":      "m: {'{{ now | date \"2006\" }}': x}\n",
			"templates/c.yaml": configMap("c", `d: {{ range $k, $_ := .Values.m }}{{ tpl $k $ | quote }}{{ end }}`)},
	}
	for where, files := range tests {
		eachEngine(t, func(t *testing.T, engine Engine) {
			out, err := render(t, engine, files, Options{Prove: true})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(out.Findings, func(f Finding) bool {
				return f.Template == where && strings.Contains(f.Reason, "tpl runs a text with now")
			}) {
				t.Errorf("got findings %+v, want one about the time in %s", out.Findings, where)
			}
		})
	}
}

// Only what reaches the output counts.
func TestStableAlthoughSuspicious(t *testing.T) {
	t.Parallel()
	tests := map[string]map[string]string{
		"branch not taken":        {"templates/c.yaml": configMap("c", `p: {{ if .Values.generate }}{{ randAlphaNum 16 }}{{ else }}fixed{{ end }}`)},
		"default not needed":      {"templates/c.yaml": configMap("c", `p: {{ .Values.p | default (randAlphaNum 16) }}`), "values.yaml": "p: fixed\n"},
		"helper never included":   {"templates/_h.tpl": `{{ define "x" }}{{ uuidv4 }}{{ end }}`, "templates/c.yaml": configMap("c", "a: b")},
		"result thrown away":      {"templates/c.yaml": "{{ $_ := now }}\n" + configMap("c", "a: b")},
		"only its length":         {"templates/c.yaml": configMap("c", `i: {{ randAlphaNum 16 | len | quote }}`)},
		"date of a fixed time":    {"templates/c.yaml": configMap("c", `d: {{ toDate "2006-01-02" "2020-01-01" | date "2006" | quote }}`)},
		"date of a unix time":     {"templates/c.yaml": configMap("c", `d: {{ date "2006" 1577836800 | quote }}`)},
		"values in a fixed order": {"templates/c.yaml": configMap("c", `v: {{ values (dict "a" "x" "b" "y") | sortAlpha | join "," }}`)},
		"fields with such names":  {"templates/c.yaml": configMap("c", `v: {{ .Values.keys.now }}`), "values.yaml": "keys: {now: x}\n"},
		"words in text":           {"templates/c.yaml": configMap("c", "v: keys and values of now")},
		"in NOTES.txt":            {"templates/NOTES.txt": "{{ now }} {{ randAlpha 9 }}", "templates/c.yaml": configMap("c", "a: b")},
		"length of values":        {"templates/c.yaml": configMap("c", `l: {{ values (dict "a" "x" "b" "y") | len | quote }}`)},
		"year far off":            {"templates/c.yaml": configMap("c", `d: {{ if gt (now | date "2006" | atoi) 2010 }}late{{ else }}{{ fail "early" }}{{ end }}`)},
		"time printed, not run":   {"templates/c.yaml": "{{ $x := tpl \"a\" . }}" + configMap("c", `t: {{ .Values.t | quote }}`), "values.yaml": "t: '{{ now | date `2006` }}'\n"},
		"keys printed, not run":   {"templates/c.yaml": "{{ $x := tpl \"a\" . }}" + configMap("c", `t: {{ .Values.t | quote }}`), "values.yaml": "t: '{{ keys . }} {{ values . }}'\n"},
		"round a duration":        {"templates/c.yaml": configMap("c", `d: {{ durationRound "2h10m" | quote }}`)},
		"random key by its name":  {"templates/c.yaml": configMap("c", `d: {{ hasKey (dict "randAlpha" 1) "randAlpha" | quote }}`)},
		"named but not called":    {"templates/c.yaml": configMap("c", `v: {{ "randAlphaNum" | quote }}`)},
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, func(t *testing.T, engine Engine) {
				out, err := render(t, engine, files, Options{Prove: true})
				if err != nil {
					t.Fatal(err)
				}
				if len(out.Findings) != 0 {
					t.Errorf("got findings %+v, want none", out.Findings)
				}
			})
		})
	}
}

// The keys of a map come out sorted, however the call is written.
func TestKeysAreSorted(t *testing.T) {
	t.Parallel()
	calls := map[string]string{
		"range":          `{{ range keys .Values.m }}{{ . }},{{ end }}`,
		"range variable": `{{ range $i, $k := keys .Values.m -}}{{ $k }},{{- end }}`,
		"pipeline":       `{{ .Values.m | keys | join "," }},`,
		"parentheses":    `{{ join "," (keys .Values.m) }},`,
		"variable":       `{{ $k := keys .Values.m }}{{ join "," $k }},`,
		"quoted bracket": `{{ join "," (keys (dict "a}}" 1 "b" 1 "c" 1 "d" 1 "e)" 1)) | replace "}}" "" | replace ")" "" }},`,
		"sorted already": `{{ keys .Values.m | sortAlpha | join "," }},`,
		"include":        `{{ include "keys" .Values.m }}`,
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, func(t *testing.T, engine Engine) {
				files := map[string]string{
					"values.yaml":      "m: {d: 1, b: 1, e: 1, a: 1, c: 1}\n",
					"templates/_h.tpl": `{{ define "keys" }}{{ range keys . }}{{ . }},{{ end }}{{ end }}`,
					"templates/c.yaml": configMap("c", "v: "+call),
				}
				for range 8 {
					out, err := render(t, engine, files, Options{Prove: true})
					if err != nil {
						t.Fatal(err)
					}
					data := out.Objects[0].Value["data"].(map[string]any)
					if data["v"] != "a,b,c,d,e," {
						t.Fatalf("got %q, want the keys in order", data["v"])
					}
					if len(out.Findings) != 0 {
						t.Fatalf("got findings %+v, want none", out.Findings)
					}
				}
			})
		})
	}
}

func TestLookupIsNoticed(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine Engine) {
		files := map[string]string{"templates/c.yaml": configMap("c", `v: {{ lookup "v1" "Secret" "shop" "s" | toJson | quote }}`)}
		out, err := render(t, engine, files, Options{Prove: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Objects[0].Value["data"].(map[string]any)["v"]; got != "{}" {
			t.Errorf("got %q, want an empty result", got)
		}
		if len(out.Noticed) != 1 || out.Noticed[0] != "lookup" {
			t.Errorf("got noticed %q, want lookup", out.Noticed)
		}
	})
}
