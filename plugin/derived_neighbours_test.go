package plugin

import (
	"regexp"
	"strings"
	"testing"
)

// Values behind k1:, k2: and so on stay what they are when others come beside them, or when
// what makes them changes its place, and no two of them are the same. Each chart has a
// Secret, of which these are lines, behind what a first line in braces sets.
func TestUnseenValuesAreKept(t *testing.T) {
	t.Parallel()
	const (
		helper = "{{ define \"password\" }}{{ randAlphaNum 32 }}{{ end }}"
		cut    = `{{ randAlphaNum 10 | trunc 6 }}`
		two    = "{{ $a := randAlphaNum 12 }}{{ $b := randAlphaNum 12 }}"
		turned = "{{ $b := randAlphaNum 12 }}{{ $a := randAlphaNum 12 }}"
		digest = `{{ include "password" . | sha256sum | trunc 20 }}`
		loop   = `{{ range .Values.keys }}{{ $p := randAlphaNum 32 }}{{ if .hex }}{{ $p = $p | sha256sum | trunc 32 }}{{ end }}
  {{ .name }}: {{ $p }}{{ end }}`
	)
	for name, tt := range map[string]struct{ before, after, more string }{
		"one more in front in a text":     {"c: |\n    k1: " + cut + "\n    k2: " + cut, "c: |\n    k3: " + cut + "\n    k1: " + cut + "\n    k2: " + cut, ""},
		"one more between":                {"c: |\n    k1: " + cut + "\n    k2: " + cut, "c: |\n    k1: " + cut + "\n    k3: " + cut + "\n    k2: " + cut, ""},
		"one of them alone":               {"c: |\n    k2: " + cut, "c: |\n    k1: " + cut + "\n    k2: " + cut, ""},
		"lines that change places":        {"c: |\n    k1: " + cut + "\n    k2: " + cut, "c: |\n    k2: " + cut + "\n    k1: " + cut, ""},
		"JSON":                            {`c: '{"k1": "` + cut + `"}'`, `c: '{"k3": "` + cut + `", "k1": "` + cut + `"}'`, ""},
		"an order of calls":               {two + `c: "k1: {{ trunc 8 $a }} k2: {{ trunc 8 $b }}"`, turned + `c: "k1: {{ trunc 8 $a }} k2: {{ trunc 8 $b }}"`, ""},
		"an order of calls, and a digest": {two + `c: "k1: {{ $a | sha1sum | trunc 9 }} k2: {{ $b | sha1sum | trunc 9 }}"`, turned + `c: "k1: {{ $a | sha1sum | trunc 9 }} k2: {{ $b | sha1sum | trunc 9 }}"`, ""},
		"another Secret with the password": {"k1: " + digest + "\n  k2: " + digest, "k1: " + digest + "\n  k2: " + digest,
			secretOf("other", `k3: {{ include "password" . }}`)},
		"another Secret with the key": {`k1: {{ printf "key: %s" (include "password" .) | sha256sum }}`, `k1: {{ printf "key: %s" (include "password" .) | sha256sum }}`, secretOf("other", `key: {{ include "password" . }}`)},
		"one more of a loop":          {"{{ $_ := set .Values \"keys\" (list (dict \"name\" \"k1\" \"hex\" true) (dict \"name\" \"k2\" \"hex\" true)) }}" + loop, "{{ $_ := set .Values \"keys\" (list (dict \"name\" \"k3\") (dict \"name\" \"k1\" \"hex\" true) (dict \"name\" \"k2\" \"hex\" true)) }}" + loop, ""},
		"a digest of something else":  {`k1: {{ (include (print .Template.BasePath "/c.yaml") . | fromYaml).data.p | trunc 20 }}`, `k1: {{ (include (print .Template.BasePath "/c.yaml") . | fromYaml).data.p | trunc 20 }}`, secretOf("other", `a: {{ "a" | sha256sum }}`)},
		"a field that needs a known value": {`{{ $p := include "password" . }}k1: {{ $p | sha256sum }}` + "\n  even: {{ contains \"N\" $p | quote }}", `{{ $p := include "password" . }}k1: {{ $p | sha256sum }}` + "\n  even: {{ contains \"N\" $p | quote }}",
			secretOf("other", "a: "+cut)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			render := func(lines, more string) map[string]string {
				text := secretOf("web", lines)
				files := map[string]string{
					"chart/Chart.yaml": chartYAML, "chart/templates/_h.tpl": helper, "chart/templates/b.yaml": text,
					"chart/templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {p: {{ randAlphaNum 30 }}}\n",
				}
				if more != "" {
					files["chart/templates/a.yaml"] = more
				}
				return keyed(streamOf(mustDerive(t, derivedCase{}.request(t, RendererHelm3, files))))
			}
			before, after := render(tt.before, ""), render(tt.after, tt.more)
			if len(before) == 0 {
				t.Fatal("there are no values")
			}
			for key, value := range before {
				if after[key] != value {
					t.Errorf("%s is %s, and then %s", key, value, after[key])
				}
			}
			for _, values := range []map[string]string{before, after} {
				seen := map[string]string{}
				for _, key := range sortedKeys(values) {
					if other := seen[values[key]]; other != "" {
						t.Errorf("%s and %s are both %s", other, key, values[key])
					}
					seen[values[key]] = key
				}
			}
		})
	}
}

// secretOf is a Secret with the lines.
func secretOf(name, lines string) string {
	set := ""
	if at := strings.LastIndex(lines, "}}c: "); at >= 0 {
		set, lines = lines[:at+2], lines[at+2:]
	}
	return set + "\napiVersion: v1\nkind: Secret\nmetadata: {name: " + name + "}\nstringData:\n  " + lines + "\n"
}

// keyed returns the values behind k1:, k2: and so on.
func keyed(stream string) map[string]string {
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`\b(k[0-9])\\?"?: \\?"?([A-Za-z0-9]{6,})`).FindAllStringSubmatch(stream, -1) {
		out[m[1]] = m[2]
	}
	return out
}

// A checksum of a text is over its values, also if the object has the text as base64.
func TestChecksumOfBase64(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"chart/Chart.yaml":       chartYAML,
		"chart/templates/_h.tpl": "{{ define \"conf\" -}}\nkey={{ randAlphaNum 40 }}\nother={{ randAlphaNum 12 }}\n{{- end }}",
		"chart/templates/a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {app.conf: {{ include \"conf\" . | b64enc | quote }}}\n",
		"chart/templates/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, annotations: {sum: {{ include \"conf\" . | sha256sum }}}}\n",
	}
	c := derivedCase{}
	f := c.fields(mustDerive(t, c.request(t, RendererHelm3, files)))
	sum, err := f.value("ConfigMap/b/metadata/annotations/sum")
	if err != nil {
		t.Fatal(err)
	}
	want, err := f.value("Secret/a/data/app.conf | base64 | sha256")
	if err != nil || sum != want || sum == "" {
		t.Errorf("the checksum is %q, want %q (%v)", sum, want, err)
	}
}
