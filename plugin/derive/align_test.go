package derive

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// checksumChart is a chart with a Secret, which all of its random values come from one
// call of a helper, and what is hashed for a checksum.
func checksumChart(sum string) files {
	return files{
		"db/templates/_helpers.tpl": `{{- define "gen" }}{{ randAlphaNum 16 }}{{ end }}` +
			`{{- define "some" }}user: {{ include "gen" . | quote }}` + "\n" + `admin: {{ include "gen" . }}{{ end }}` +
			`{{- define "checksumTemplate" }}{{ $obj := include "db/templates/secret.yaml" . | fromYaml }}{{ omit $obj "apiVersion" "kind" "metadata" | toYaml | sha256sum }}{{ end }}`,
		"db/templates/secret.yaml": secretOf("db", "type: Opaque", "data:",
			`  postgres-password: {{ include "gen" . | b64enc | quote }}`,
			`  password: {{ include "gen" . | b64enc | quote }}`,
			`stringData:`,
			`  replication: "user:{{ include "gen" . }}"`,
			`  init.conf: |`,
			`    first={{ include "gen" . }}`,
			`    second={{ include "gen" . }}`),
		"db/templates/other.yaml":  configOf("other", "data:", `  token: {{ include "gen" . }}`),
		"db/templates/named.yaml":  secretOf("named", "stringData:", `{{ include "some" . | indent 2 }}`),
		"db/templates/config.yaml": configOf("conf", "data:", "  app.conf: |", `{{ tpl "a=1\ntoken={{ include \"gen\" . }}\n" . | indent 4 }}`),
		"db/templates/web.yaml":    configOf("web", "data:", "  sum: "+sum),
	}
}

const includeSecret = `include "db/templates/secret.yaml" .`

func TestChecksumForms(t *testing.T) {
	t.Parallel()
	secret := []string{"Secret/db/data/postgres-password", "Secret/db/data/password", "Secret/db/data/replication", "Secret/db/data/init.conf"}
	for name, tt := range map[string]struct {
		sum   string
		moves []string // by which fields
	}{
		"whole":            {`{{ ` + includeSecret + ` | sha256sum }}`, secret},
		"checksumTemplate": {`{{ include "checksumTemplate" . }}`, secret},
		"one key":          {`{{ pick (` + includeSecret + ` | fromYaml).data "password" | toYaml | sha256sum }}`, secret[1:2]},
		"data":             {`{{ (` + includeSecret + ` | fromYaml).data | toJson | sha256sum }}`, secret[:2]},
		"named":            {`{{ include "some" . | sha256sum }}`, []string{"Secret/named/data/user", "Secret/named/data/admin"}},
		"indented":         {`{{ ` + includeSecret + ` | nindent 2 | sha256sum }}`, secret},
		"base64":           {`{{ ` + includeSecret + ` | b64enc | sha256sum }}`, secret},
		"JSON":             {`{{ ` + includeSecret + ` | fromYaml | toJson | sha256sum }}`, secret},
		"YAML":             {`{{ ` + includeSecret + ` | fromYaml | toYaml | sha512sum }}`, secret},
		"two files":        {`{{ print (` + includeSecret + `) (include "db/templates/other.yaml" .) | sha256sum }}`, append(secret[:4:4], "ConfigMap/other/data/token")},
		"tpl":              {`{{ tpl "a=1\ntoken={{ include \"gen\" . }}\n" . | sha256sum }}`, []string{"ConfigMap/conf/data/app.conf"}},
		"twice":            {`{{ ` + includeSecret + ` | nindent 2 | sha256sum | printf "a: %s" | sha1sum }}`, secret},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testOptions(t)
			f := checksumChart(tt.sum)
			r := mustResolve(t, o, f)
			sum := r.text(t, "ConfigMap/web/data/sum")
			if got, want := sum, withValues(t, r, f); got != want {
				t.Errorf("the checksum is %s, want %s, that of the derived values", got, want)
			}
			for _, d := range r.Derived {
				if d.Object.Name == "web" && !slices.Equal(slices.Sorted(slices.Values(d.Names)), slices.Sorted(slices.Values(tt.moves))) {
					t.Errorf("the checksum is over %q, want %q", d.Names, tt.moves)
				}
			}
			for _, field := range append(slices.Clone(secret), "Secret/named/data/user", "ConfigMap/other/data/token", "ConfigMap/conf/data/app.conf") {
				o.Fields = map[string]int{field: 1}
				moved := mustResolve(t, o, f).text(t, "ConfigMap/web/data/sum")
				if moves := slices.Contains(tt.moves, field); (moved != sum) != moves {
					t.Errorf("rotating %s moves the checksum: %v, want %v", field, moved != sum, moves)
				}
			}
		})
	}
}

// withValues renders the chart with the derived values in place of the calls, and
// returns the checksum.
func withValues(t *testing.T, r resolved, f files) string {
	t.Helper()
	f = maps.Clone(f)
	conf := r.text(t, "Secret/db/stringData/init.conf")
	first, second, _ := strings.Cut(strings.TrimPrefix(conf, "first="), "\nsecond=")
	set := func(name string, values ...string) {
		for _, value := range values {
			before := f[name]
			at := strings.Index(before, `include "gen" .`)
			f[name] = before[:at] + `print "` + value + `"` + before[at+len(`include "gen" .`):]
		}
	}
	set("db/templates/secret.yaml", r.decoded(t, "Secret/db/data/postgres-password"), r.decoded(t, "Secret/db/data/password"),
		strings.TrimPrefix(r.text(t, "Secret/db/stringData/replication"), "user:"), first, strings.TrimSuffix(second, "\n"))
	set("db/templates/_helpers.tpl", r.text(t, "Secret/named/stringData/user"), r.text(t, "Secret/named/stringData/admin"))
	set("db/templates/other.yaml", r.text(t, "ConfigMap/other/data/token"))
	_, token, _ := strings.Cut(r.text(t, "ConfigMap/conf/data/app.conf"), "token=")
	f["db/templates/web.yaml"] = strings.Replace(f["db/templates/web.yaml"], `{{ include \"gen\" . }}`, strings.TrimSpace(token), 1)
	for _, d := range f.render(t, plainMode).Documents {
		if metadata := d.Value["metadata"].(map[string]any); metadata["name"] == "web" {
			return d.Value["data"].(map[string]any)["sum"].(string)
		}
	}
	return ""
}

// Each of these is over values that stand in one place, or in none.
func TestChecksumCounterparts(t *testing.T) {
	t.Parallel()
	const helper = `{{- define "gen" }}{{ randAlphaNum 16 }}{{ end }}`
	secretIn := func(chart, name string) string {
		return secretOf(name, "data:", `  password: {{ include "gen" . | b64enc }}`) + "# " + chart + "\n"
	}
	pick := func(file string) string {
		return `{{ pick (include "` + file + `" . | fromYaml) "data" | toYaml | sha256sum }}`
	}
	const list = "{{ range until 3 }}  - {{ include \"gen\" . }}\n{{ end }}"
	for name, tt := range map[string]struct {
		f     files
		names []string // nil if it is refused
	}{
		"nothing printed": {files{"web.yaml": configOf("web", "data:", "  sum: {{ randAlphaNum 5 | sha256sum }}")}, []string{"ConfigMap/web/data/sum"}},
		"nothing printed, twice removed": {files{
			"web.yaml":   configOf("web", "data:", `  sum: {{ include "roll.yaml" . | nindent 2 | sha256sum }}`),
			"roll.yaml":  configOf("roll", "data:", `  roll: {{ randAlphaNum 5 | sha256sum }}`),
			"roll2.yaml": configOf("roll2", "data:", `  roll: {{ randAlphaNum 5 | sha256sum }}`),
		}, []string{"ConfigMap/roll/data/roll"}},
		"its own call": {files{
			"_h.tpl": helper, "a.yaml": secretIn("", "a"),
			"web.yaml": configOf("web", "data:", `  sum: {{ printf "roll=%s" (randAlphaNum 16) | sha256sum }}`),
		}, []string{"ConfigMap/web/data/sum"}},
		"another size": {files{
			"_h.tpl": `{{- define "gen" }}{{ randAlphaNum . }}{{ end }}`, "a.yaml": configOf("a", "data:", `  password: {{ include "gen" 16 }}`),
			"web.yaml": configOf("web", "data:", `  sum: {{ include "gen" 17 | printf "password: %s" | sha256sum }}`),
		}, []string{"ConfigMap/web/data/sum"}},
		"a value of a helper": {files{
			"_h.tpl": helper, "a.yaml": secretIn("", "a"),
			"web.yaml": configOf("web", "data:", `  sum: {{ include "gen" . | sha256sum }}`),
		}, nil},
		"another context": {files{
			"_h.tpl": helper, "a.yaml": secretIn("", "a"),
			"web.yaml": configOf("web", "data:", `  sum: {{ printf "token: %s" (include "gen" .) | sha256sum }}`),
		}, nil},
		"two alike": {files{
			"_h.tpl": helper, "a.yaml": secretIn("", "a"), "b.yaml": secretIn("", "b"), "web.yaml": configOf("web", "data:", "  sum: "+pick("a.yaml")),
		}, nil},
		"two told apart by the rest": {files{
			"_h.tpl": helper, "a.yaml": secretIn("", "a"), "b.yaml": secretIn("", "b"),
			"web.yaml": configOf("web", "data:", `  sum: {{ include "b.yaml" . | fromYaml | toJson | sha256sum }}`),
		}, []string{"Secret/b/data/password"}},
		"two charts": {files{
			"_h.tpl": helper, "all/charts/a/templates/s.yaml": secretIn("", "a"), "all/charts/b/templates/s.yaml": secretIn("", "b"),
			"all/charts/b/templates/web.yaml": configOf("web", "data:", "  sum: "+pick("all/charts/b/templates/s.yaml")),
		}, []string{"Secret/b/data/password"}},
		"a list": {files{
			"_h.tpl": helper, "a.yaml": configOf("a", "data:", list), "b.yaml": configOf("b", `data:`, `  x: {{ include "gen" . }}`),
			"web.yaml": configOf("web", "data:", `  sum: {{ include "a.yaml" . | fromYaml | toJson | sha256sum }}`),
		}, []string{"ConfigMap/a/data/0", "ConfigMap/a/data/1", "ConfigMap/a/data/2"}},
		"two orders": {files{
			"_h.tpl": helper, "a.yaml": configOf("a", "data:", `  z: {password: "{{ include "gen" . }}"}`, `  b: {password: "{{ include "gen" . }}"}`),
			"web.yaml": configOf("web", "data:", `  sum: {{ include "a.yaml" . | fromYaml | toJson | sha256sum }}`),
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := resolve(t, testOptions(t), tt.f)
			if tt.names == nil {
				if len(r.Refused) != 1 || r.Refused[0].Reason != "it cannot be told which of the random values its checksum is over" {
					t.Errorf("got refused %v", r.Refused)
				}
				return
			}
			if len(r.Refused) > 0 {
				t.Errorf("got refused %v", r.Refused)
			}
			for _, d := range r.Derived {
				if d.Object.Name == "web" && !slices.Equal(d.Names, tt.names) {
					t.Errorf("the checksum is over %q, want %q", d.Names, tt.names)
				}
			}
		})
	}
}

// What is behind bcrypt in a file is the same value there and in its checksum.
func TestChecksumOverHashes(t *testing.T) {
	t.Parallel()
	f := files{
		"s.yaml":   secretOf("s", "stringData:", `  auth: {{ htpasswd "admin" (randAlphaNum 16) | quote }}`, `  other: {{ bcrypt "x" | quote }}`),
		"web.yaml": configOf("web", "data:", `  sum: {{ include "s.yaml" . | fromYaml | toYaml | sha256sum }}`),
	}
	r := mustResolve(t, testOptions(t), f)
	f["s.yaml"] = secretOf("s", "stringData:", `  auth: `+r.text(t, "Secret/s/stringData/auth"), `  other: `+r.text(t, "Secret/s/stringData/other"))
	want := f.render(t, plainMode).Documents[1].Value["data"].(map[string]any)["sum"]
	if got := r.text(t, "ConfigMap/web/data/sum"); got != want {
		t.Errorf("got checksum %s, want %s", got, want)
	}
}
