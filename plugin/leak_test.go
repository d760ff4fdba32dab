package plugin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/evidence"
	"hallmark.dev/hallmark/internal/sealtest"
	"hallmark.dev/hallmark/plugin/policy"
)

// leak is a way in which a render fails over decrypted values, or may.
type leak struct {
	name string
	// tree is a txtar archive. A file "yaml:app/a.yaml" is encrypted in that format.
	// KEY stands for the key of a marker in the values, QUOTED for its text in
	// quotes, RAW for it as it is.
	tree string
	// want is a part of the error: it shows that the fault is the one that is meant.
	want string
	// some says that it depends on the marker whether the render fails.
	some bool
	// succeeds says that it does not fail, and is here for what it leaves behind.
	succeeds bool
	// not are markers that the file cannot hold, only are all that it can.
	not, only []string
	params    []string
	request   func(*Request)
	// edit changes files that are encrypted.
	edit func(sealed string) string
}

// lab encrypts the markers once.
type lab struct {
	key    sealtest.Key
	finder *sealtest.Finder
	values string // all markers in one encrypted file of values
	binary string // the marker that is no text, encrypted
}

func newLab(t *testing.T) *lab {
	t.Helper()
	key, markers := sealtest.NewKey(t), sealtest.Markers()
	l := &lab{key: key, finder: sealtest.NewFinder(markers, strings.TrimPrefix(key.Identity, "AGE-SECRET-KEY-1"))}
	var values strings.Builder
	for _, m := range markers {
		switch m.Key {
		case "number", "float":
			fmt.Fprintf(&values, "%s: %s\n", m.Key, m.Text)
		case "binary":
			l.binary = sealtest.Seal(t, "binary", m.Text, key)
		default:
			fmt.Fprintf(&values, "%s: %s\n", m.Key, quoted(m.Text))
		}
	}
	l.values = sealtest.Seal(t, "yaml", values.String(), key)
	return l
}

func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string has a JSON form
	}
	return string(b)
}

// request is that of a case with one marker.
func (l *lab) request(t *testing.T, c leak, m sealtest.Marker) *Request {
	t.Helper()
	fill := strings.NewReplacer("KEY", m.Key, "QUOTED", quoted(m.Text), "RAW", m.Text)
	files := map[string]string{}
	for _, f := range txtar.Parse([]byte(c.tree)).Files {
		format, name, sealed := strings.Cut(f.Name, ":")
		if !sealed {
			files[f.Name] = fill.Replace(string(f.Data))
			continue
		}
		files[name] = sealtest.Seal(t, format, fill.Replace(strings.TrimSuffix(string(f.Data), "\n")), l.key)
		if c.edit != nil {
			files[name] = c.edit(files[name])
		}
	}
	if _, ok := files["app/Chart.yaml"]; ok {
		files["app/secrets.yaml"], files["app/files/bin"] = l.values, l.binary
	}
	r := memory(files).with(t, c.params...)
	r.Policy, r.Keys, r.Version = policy.Caller(), Keys{Paths: []string{l.key.File}}, "test"
	if c.request != nil {
		c.request(r)
	}
	return r
}

// run renders the case with each marker.
func (l *lab) run(t *testing.T, c leak) {
	t.Helper()
	failed := 0
	for _, m := range sealtest.Markers() {
		if slices.Contains(c.not, m.Key) || c.only != nil && !slices.Contains(c.only, m.Key) || m.Key == "binary" && !strings.Contains(c.tree, "binary:") {
			continue
		}
		result, err := Render(t.Context(), l.request(t, c, m))
		switch {
		case err != nil:
			failed++
			l.clean(t, m.Key, err)
		case !c.some && !c.succeeds:
			t.Errorf("%s: got no error, want one with %q", m.Key, c.want)
		default:
			l.cleanResult(t, m.Key, result)
		}
		if err != nil && !strings.Contains(err.Error()+diag.Hint(err), c.want) {
			t.Errorf("%s: got error %q, want %q in it", m.Key, err, c.want)
		}
		if m.Key != "json" {
			continue
		}
		if _, err := NewCache(1<<20).Render(t.Context(), l.request(t, c, m)); err != nil {
			l.clean(t, m.Key+" with a cache", err)
		}
		announced, err := Announce(t.Context(), l.request(t, c, m))
		l.cleanText(t, m.Key+" announced", fmt.Sprint(announced))
		if err != nil {
			l.clean(t, m.Key+" announced", err)
		}
	}
	if failed > 0 == c.succeeds {
		t.Errorf("it fails with %d markers", failed)
	}
}

func (l *lab) cleanText(t *testing.T, what, text string) {
	t.Helper()
	if found := l.finder.Find(text); found != "" {
		t.Errorf("%s: it shows %s", what, found)
	}
}

func (l *lab) clean(t *testing.T, what string, err error) {
	t.Helper()
	l.cleanText(t, what, err.Error()+"\n"+diag.Hint(err))
}

// cleanResult looks everywhere but in the values of Secrets.
func (l *lab) cleanResult(t *testing.T, what string, r *Result) {
	t.Helper()
	record, err := evidence.Marshal(r.Evidence)
	if err != nil {
		t.Fatal(err)
	}
	l.cleanText(t, what+" in the evidence", string(record))
	l.cleanText(t, what+" in the warnings", strings.Join(r.Warnings, "\n"))
	for _, o := range r.Objects {
		meta, _ := o.Value["metadata"].(map[string]any)
		annotations, _ := meta["annotations"].(map[string]any)
		for key, value := range annotations {
			if strings.HasPrefix(key, "hallmark.dev/") {
				l.cleanText(t, what+" in "+key, fmt.Sprint(value))
			}
		}
	}
}

func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("renders more than a thousand times")
	}
	l := newLab(t)
	t.Run("helm", func(t *testing.T) {
		t.Parallel()
		for _, engine := range []string{RendererHelm3, RendererHelm4} {
			for _, c := range slices.Concat(leakyTemplates(), leakyCharts) {
				c.tree = "-- app/Chart.yaml --\n" + chartYAML + c.tree
				c.params = append(slices.Clone(c.params), "renderer="+engine, "value-files[]=secrets.yaml")
				if engine == RendererHelm4 && c.only == nil && !c.some {
					// The words of its errors differ from those of Helm 3, not how values are written.
					c.only = []string{"quotes", "long", "number", "json", "binary"}
				}
				t.Run(engine+"/"+c.name, func(t *testing.T) { t.Parallel(); l.run(t, c) })
			}
		}
	})
	for group, cases := range map[string][]leak{"kustomize": leakyKustomizations, "plain": leakyFolders} {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) { t.Parallel(); l.run(t, c) })
			}
		})
	}
}

// leakyTemplates are templates that fail, by what they call.
func leakyTemplates() []leak {
	const sometimes, never = "?", "!"
	templates := map[string]string{
		`{{ fail .Values.KEY }}`:            sometimes, // a number is no text
		`{{ fail (toString .Values.KEY) }}`: "templates/a.yaml:1",
		`{{ fail (printf "%v %s %q %x" .Values.KEY .Values.KEY .Values.KEY .Values.KEY) }}`: "templates/a.yaml:1",
		`{{ fail (printf "%v" .Values) }}`:                                                  "templates/a.yaml:1",
		`{{ fail (print "got " .Values.KEY ", want a better one") }}`:                       "want a better one",
		`{{ fail (printf "%380s%v" "x" .Values.KEY) }}`:                                     "templates/a.yaml:1",
		`{{ fail (printf "%s%v" (repeat 385 "x") .Values.KEY) }}`:                           "templates/a.yaml:1",
		`{{ fail (printf "%s%v" (repeat 390 "x") .Values.KEY) }}`:                           "templates/a.yaml:1",
		`{{ fail (.Values.KEY | toString | b64enc) }}`:                                      "templates/a.yaml:1",
		`{{ fail (print "a:" .Values.KEY | b64enc) }}`:                                      "templates/a.yaml:1",
		`{{ fail (.Values.KEY | toString | quote) }}`:                                       "templates/a.yaml:1",
		`{{ fail (.Values.KEY | toString | squote) }}`:                                      "templates/a.yaml:1",
		`{{ fail (.Values.KEY | toString | upper | trim) }}`:                                "templates/a.yaml:1",
		`{{ fail (.Values.KEY | toString | lower) }}`:                                       "templates/a.yaml:1",
		`{{ fail (.Values.KEY | toJson) }}`:                                                 "templates/a.yaml:1",
		`{{ fail (.Values.KEY | toYaml) }}`:                                                 "templates/a.yaml:1",
		`{{ fail (.Values | toYaml) }}`:                                                     "templates/a.yaml:1",
		`{{ fail (.Values | toJson | indent 400) }}`:                                        "templates/a.yaml:1",
		`{{ fail (.Values.KEY | toString | urlquery) }}`:                                    "templates/a.yaml:1",
		`{{ fail (.Values.KEY | toString | html) }}`:                                        "templates/a.yaml:1",
		`{{ fail (.Values.KEY | toString | js) }}`:                                          "templates/a.yaml:1",
		`{{ fail (.Values.KEY | toString | nindent 4) }}`:                                   "templates/a.yaml:1",
		`{{ fail (.Files.Get "files/bin") }}`:                                               "templates/a.yaml:1",
		`{{ fail (.Files.Get "files/bin" | b64enc) }}`:                                      "templates/a.yaml:1",
		`{{ fail ((.Files.Glob "files/*").AsSecrets) }}`:                                    "templates/a.yaml:1",
		`{{ required .Values.KEY nil }}`:                                                    "templates/a.yaml:1",
		`{{ index (list 1) .Values.KEY }}`:                                                  "error calling index",
		`{{ index .Values .Values.KEY "a" "b" }}`:                                           "error calling index",
		`{{ range .Values.KEY }}{{ end }}{{ .Values.KEY.a.b }}`:                             "templates/a.yaml:1",
		`{{ .Values.KEY.a.b }}`:                                                             "templates/a.yaml:1",
		`{{ int (int .Values.KEY | toString | list) | add1 | fail }}`:                       "templates/a.yaml:1",
		`{{ mustToDate "2006-01-02" (toString .Values.KEY) }}`:                              "mustToDate",
		`{{ mustDateModify (toString .Values.KEY) now }}`:                                   "mustDateModify",
		`{{ mustToDuration (toString .Values.KEY) }}`:                                       "templates/a.yaml",
		`{{ tpl (toString .Values.KEY) . }}`:                                                sometimes,
		`{{ tpl (print "{{ " .Values.KEY) . }}`:                                             "error calling tpl",
		`{{ tpl (print "{{ fail \"" .Values.KEY "\" }}") . }}`:                              sometimes,
		"{{ tpl (print \"{{ fail `\" .Values.KEY \"` }}\") . }}":                            sometimes,
		`{{ tpl (print "{{ include \"" .Values.KEY "\" . }}") . }}`:                         "templates/a.yaml:1",
		`{{ include (toString .Values.KEY) . }}`:                                            "error calling include",
		`{{ define "r" }}{{ include "r" . }}{{ end }}{{ include "r" .Values.KEY }}`:         "templates/a.yaml:1",
		`{{ fail (urlParse (toString .Values.KEY)).userinfo }}`:                             "templates/a.yaml:1",
		`{{ fail (toString (fromJson (toString .Values.KEY))) }}`:                           "templates/a.yaml:1",
		`{{ fail (.Values | toYaml | b64enc) }}`:                                            "templates/a.yaml:1",
		`{{ template "x" .Values.KEY }}{{ define "x" }}{{ .a }}{{ end }}`:                   "templates/a.yaml:1",
		`{{ mustFromJson (print "[" .Values.KEY) }}`:                                        "mustFromJson",
		`{{ fail (toString (fromJson (print "{" .Values.KEY))) }}`:                          "templates/a.yaml:1",
		`{{ fail (toString (fromYaml (print "a: [" .Values.KEY))) }}`:                       "templates/a.yaml:1",
		`{{ fail (toString (fromYaml (print "- " .Values.KEY))) }}`:                         "templates/a.yaml:1",
		`{{ fail (toString (fromYamlArray (print .Values.KEY))) }}`:                         "templates/a.yaml:1",
		`{{ fail (.Values.KEY | toString | b64dec) }}`:                                      "templates/a.yaml:1",
		`{{ mustRegexMatch (print "(" .Values.KEY) "a" }}`:                                  "error parsing regexp",
		`{{ regexFind (print "(" .Values.KEY) "a" }}`:                                       "error parsing regexp",
		`{{ mustRegexReplaceAll (print "[" .Values.KEY "\\") "a" "" }}`:                     "error parsing regexp",
		`{{ semver (print .Values.KEY) }}`:                                                  sometimes,
		`{{ semverCompare (print ">" .Values.KEY) "1.2.3" }}`:                               sometimes,
		`{{ urlParse (print "http://x:" .Values.KEY "/") }}`:                                sometimes,
		`{{ urlParse (print "postgres://u:" .Values.KEY " x@db") }}`:                        "templates/a.yaml:1",
		`{{ genSignedCert "a" (list (toString .Values.KEY)) nil 1 (genCA "a" 1) }}`:         "genSignedCert",
		`{{ decryptAES "x" (toString .Values.KEY) }}`:                                       sometimes,
		`{{ buildCustomCert (toString .Values.KEY) "x" }}`:                                  sometimes,
		`{{ mustFirst (toString .Values.KEY) }}`:                                            "Cannot find first",
		`{{ upper 5 (toString .Values.KEY) }}`:                                              "wrong number of args",
		`{{ eq .Values.KEY (list 1) }}`:                                                     "error calling eq",
		`{{ lt .Values.KEY true }}`:                                                         "error calling lt",
		`{{ seq .Values.KEY .Values.KEY 1 2 3 | fail }}`:                                    "templates/a.yaml:1",
		`{{ repeat .Values.KEY "x" }}`:                                                      sometimes,
		`{{ get (toString .Values.KEY) "x" }}`:                                              "templates/a.yaml:1",
		`{{ hasKey .Values (list .Values.KEY) }}`:                                           "templates/a.yaml:1",
		`{{ merge .Values.KEY .Values.KEY }}`:                                               "templates/a.yaml:1",
		`{{ ternary 1 2 (toString .Values.KEY) }}`:                                          "templates/a.yaml:1",
		`{{ substr 5 1 (toString .Values.KEY) }}`:                                           "templates/a.yaml:1",
		`{{ derivePassword 1 (toString .Values.KEY) "x" "y" "z" | fail }}`:                  sometimes,

		"{{ .Values.KEY }}: [\n":                                              sometimes,
		"a: {{ .Values.KEY | quote }}\n  b: c\n":                              "templates/a.yaml",
		"a: *{{ .Values.KEY }}\n":                                             sometimes,
		"\t{{ .Values.KEY }}: a\n":                                            sometimes,
		"a: 1\n{{ .Values.KEY | quote }}: 1\n{{ .Values.KEY | quote }}: 1\n":  "templates/a.yaml",
		"a: !!int {{ .Values.KEY | quote }}\n":                                sometimes,
		"a: !{{ .Values.KEY | quote }} x\n":                                   sometimes,
		"{{ .Values.KEY | quote }}\n":                                         "want a mapping",
		"- {{ .Values.KEY | quote }}\n":                                       "want a mapping",
		"kind: {a: {{ .Values.KEY | quote }}}\n":                              "kind is a mapping",
		"apiVersion: v1\nkind: Secret\nmetadata: {{ .Values.KEY | quote }}\n": "metadata is a string",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a, annotations: [{{ .Values.KEY | quote }}]}\n":                                                        "annotations is a list",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a, labels: [{{ .Values.KEY | quote }}]}\n":                                                             "labels",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a, annotations: {a: [{{ .Values.KEY | quote }}]}}\n":                                                   "is a list",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a, labels: {a: [{{ .Values.KEY | quote }}]}}\n":                                                        "want string",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a, labels: {{ dict (toString .Values.KEY) 1 | toJson }}}\n":                                            "want string",
		"apiVersion: a/b/{{ .Values.KEY | quote }}\nkind: a\n":                                                                                                 sometimes,
		"apiVersion: {{ print \"a/b/\" .Values.KEY | quote }}\nkind: Secret\nmetadata: {name: {{ .Values.KEY | quote }}}\n":                                    "group/version",
		"apiVersion: v1\nkind: {{ .Values.KEY | quote }}\n":                                                                                                    "object without metadata.name",
		"{{ range list 1 2 }}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: {{ $.Values.KEY | quote }}}\n{{ end }}\n":                                   "the same object",
		"{{ range list 1 2 }}\n---\napiVersion: v1\nkind: {{ $.Values.KEY | quote }}\nmetadata: {name: a, namespace: {{ $.Values.KEY | quote }}}\n{{ end }}\n": "the same object",
		"apiVersion: v1\nkind: List\nmetadata: {name: {{ .Values.KEY | quote }}}\nitems: [{{ .Values.KEY | quote }}]\n":                                        "want object",
		"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, metadata: {name: {{ .Values.KEY | quote }}}, items: []}]\n":                          "a List inside a List",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: {{ .Values.KEY | quote }}, b: \"ENC[AES256_GCM,data:x]\"}\n":                             "SOPS ciphertext",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {{ dict (toString .Values.KEY) \"ENC[AES256_GCM,data:x]\" | toJson }}\n":                     "SOPS ciphertext",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {{ dict (print .Values.KEY \"ENC[AES256_GCM,data:x]\") \"x\" | toJson }}\n":                  "SOPS ciphertext",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {{ dict (toString .Values.KEY) (randAlpha 20) | toJson }}\n":                                 "differs from render to render",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: {{ print .Values.KEY (randAlpha 5) | quote }}}\n":                                        "differs from render to render",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a{{ randNumeric 3 }}}\ndata: {a: {{ .Values.KEY | quote }}}\n":                                         "differs from render to render",
		"apiVersion: v1\nkind: {{ .Values.KEY | quote }}\nmetadata: {name: {{ .Values.KEY | quote }}}\ndata: {a: {{ now | quote }}}\n":                         "differs from render to render",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: [{{ .Values.KEY | quote }}]\n":                                                         never,
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {{ .Values.KEY | quote }}\n":                                                           never,
	}
	var out []leak
	for _, text := range slices.Sorted(maps.Keys(templates)) {
		want := templates[text]
		c := leak{name: text, tree: "-- app/templates/a.yaml --\n" + text + "\n", want: want}
		switch want {
		case sometimes:
			c.want, c.some = "", true
		case never:
			c.want, c.succeeds = "", true
		}
		if strings.Contains(text, "genSignedCert") || strings.Contains(text, `include "r"`) {
			// A key takes long, and so does a template that includes itself; neither prints values.
			c.only = []string{"quotes", "long", "number", "json"}
		}
		out = append(out, c)
	}
	return out
}

const plainSecret = `
-- app/templates/s.yaml --
apiVersion: v1
kind: Secret
metadata: {name: a}
stringData: {a: {{ .Values.KEY | quote }}}
`

// leakyCharts fail elsewhere than in a template.
var leakyCharts = []leak{
	{name: "schema, enum and the like", want: "values.schema.json", tree: `-- app/values.schema.json --
{"properties": {"KEY": {"allOf": [{"enum": ["a", 1]}, {"const": {"b": 2}}, {"type": "boolean"}, {"not": {}}, {"pattern": "^$"},
 {"format": "ipv4"}, {"minLength": 1000}, {"maximum": 1}, {"multipleOf": 7}, {"oneOf": [{"type": "array"}, {"minimum": 1e99}]}]}}}
`},
	{name: "schema, no more properties", want: "values.schema.json", tree: "-- app/values.schema.json --\n{\"additionalProperties\": false, \"propertyNames\": {\"maxLength\": 1}}\n"},
	{name: "schema of a subchart", want: "values of chart \"sub\"", params: []string{"value-files[]=sub.yaml"}, tree: `-- app/charts/sub/Chart.yaml --
apiVersion: v2
name: sub
version: 1.0.0
-- app/charts/sub/values.schema.json --
{"properties": {"a": {"enum": ["b"], "type": "object"}}, "additionalProperties": false}
-- yaml:app/sub.yaml --
sub: {a: QUOTED}
`},
	{name: "schema that is encrypted", want: "values.schema.json", tree: "-- json:app/values.schema.json --\n{\"properties\": {\"KEY\": {\"enum\": [QUOTED, \"x\"], \"type\": \"array\", \"pattern\": QUOTED}}}\n"},
	{name: "schema with a secret reference", want: "outside the chart", only: []string{"word", "number", "float", "base64"},
		tree: "-- json:app/values.schema.json --\n{\"properties\": {\"KEY\": {\"$ref\": \"http://RAW/x\"}}}\n"},
	{name: "values of a subchart are a string", want: "values of chart", params: []string{"value-files[]=sub.yaml"},
		tree: "-- app/charts/sub/Chart.yaml --\napiVersion: v2\nname: sub\nversion: 1.0.0\n-- app/templates/a.yaml --\n" + configMap + "-- yaml:app/sub.yaml --\nsub: QUOTED\n"},
	{name: "a string over a table", some: true, tree: "-- app/values.yaml --\nKEY: {a: {b: c}}\n-- app/templates/a.yaml --\na: {{ .Values.KEY.a.b }}\n"},
	{name: "parameters below a string", some: true, params: []string{"helm-parameters[word.a.b]=1", "helm-parameters[json[0].x]=2"}, tree: plainSecret + "-- app/templates/b.yaml --\n{{ fail (toString .Values.KEY) }}\n"},
	{name: "values that are no mapping", want: "plain.enc", params: []string{"value-files[]=plain.enc"}, tree: "-- binary:app/plain.enc --\nRAW\n", not: []string{"json"}},
	{name: "values that are a list", want: "list.enc", params: []string{"value-files[]=list.enc"}, tree: "-- binary:app/list.enc --\n- QUOTED\n"},
	{name: "values with an unknown anchor", want: "plain.enc", params: []string{"value-files[]=plain.enc"}, tree: "-- binary:app/plain.enc --\na: *nobody\nb: QUOTED\n"},
	{name: "values, secret anchor", want: "plain.enc", params: []string{"value-files[]=plain.enc"}, tree: "-- binary:app/plain.enc --\na: *RAW\n"},
	{name: "values, duplicate key", want: "plain.enc", params: []string{"value-files[]=plain.enc"}, tree: "-- binary:app/plain.enc --\n? QUOTED\n: 1\n? QUOTED\n: 2\na: [\n"},
	{name: "values, tab", want: "plain.enc", params: []string{"value-files[]=plain.enc"}, tree: "-- binary:app/plain.enc --\na: QUOTED\n\tb: RAW\n"},
	{name: "values, tag", want: "plain.enc", params: []string{"value-files[]=plain.enc"}, tree: "-- binary:app/plain.enc --\na: !!int \"xRAW\"\nb: [\n"},
	{name: "file parameter", want: "templates/a.yaml:1", params: []string{"helm-file-parameters[f]=f.enc"}, tree: "-- binary:app/f.enc --\nRAW\n-- app/templates/a.yaml --\n{{ fail .Values.f }}\n"},
	{name: "file parameter at a wrong place", want: "helm-file-parameters", params: []string{"helm-file-parameters[a[x]]=f.enc"}, tree: "-- binary:app/f.enc --\nRAW\n"},
	{name: "Chart.yaml", want: "Chart.yaml", tree: "-- yaml:app/Chart.yaml --\napiVersion: v2\nname: web\nversion: QUOTED\ntype: QUOTED\n", not: []string{"number"}},
	{name: "Chart.yaml, dependency", want: "needs dependency", tree: "-- yaml:app/Chart.yaml --\napiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: db, version: QUOTED, repository: \"https://u:RAW@x/\"}]\n",
		not: []string{"lines", "pem", "json", "quotes", "spaces", "unicode"}},
	{name: "Chart.yaml, kubeVersion", want: "kubeVersion", tree: "-- yaml:app/Chart.yaml --\napiVersion: v2\nname: web\nversion: 1.0.0\nkubeVersion: QUOTED\n", not: []string{"number", "float"}},
	{name: "crd", want: "crds/a.yaml", tree: "-- dotenv:app/crds/a.yaml --\na: *x=QUOTED\n"},
	{name: "an encrypted template", want: "templates/a.yaml", tree: "-- binary:app/templates/a.yaml.enc --\nRAW\n-- app/templates/a.yaml --\n{{ fail (toString .Values.KEY) }}\n"},
	{name: "an encrypted helper", want: "templates/", tree: "-- binary:app/templates/_h.tpl --\n{{ define \"h\" }}{{ fail QUOTED }}{{ end }}\n-- app/templates/a.yaml --\n{{ include \"h\" . }}\n"},
	{name: "an encrypted helper with bad syntax", want: "templates/", tree: "-- binary:app/templates/_h.tpl --\n{{ RAW\n-- app/templates/a.yaml --\n{{ include \"h\" . }}\n"},
	{name: "config-hash without a key", want: "key", params: []string{"config-hash=true"}, tree: plainSecret + `-- app/templates/d.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {template: {spec: {containers: [{name: c, envFrom: [{secretRef: {name: a}}], env: [{name: "X", value: {{ .Values.KEY | quote }}}]}]}}}
`},
	{name: "too many objects", want: "limits.objects", request: func(r *Request) { r.Limits.Objects = 1 }, tree: plainSecret + "-- app/templates/t.yaml --\n" + configMap},
	{name: "too much text", want: "limit outputBytes", request: func(r *Request) { r.Limits.OutputBytes = 10 }, tree: plainSecret},
	{name: "a secret outside of a Secret", want: "holds a decrypted value", request: func(r *Request) { r.Policy = denyOutside() },
		tree: "-- app/templates/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {x: {{ .Values.KEY | quote }}}}\ndata: {{ dict (toString .Values.KEY) (toString .Values.KEY) | toJson }}\n"},
	{name: "warned of", succeeds: true, tree: "-- app/templates/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {{ .Values.KEY | quote }}}\n"},
	{name: "random beside a secret", succeeds: true, params: []string{"determinism=warn"},
		tree: "-- app/templates/a.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {{ dict (toString .Values.KEY) (randAlpha 20) | toJson }}\n"},
	{name: "another key", want: "cannot be decrypted", request: func(r *Request) { r.Keys = Keys{} }, tree: plainSecret},
	{name: "no permission", want: "may not be decrypted", request: func(r *Request) { r.Policy = nil }, tree: plainSecret},
	{name: "a panic", want: "hallmark panicked", tree: plainSecret, request: func(r *Request) {
		r.Stage = func(Stage, string) { panic(sealtest.Markers()[0].Text) }
	}},
	{name: "no end", want: "limits.renderTime", only: []string{"json"}, request: func(r *Request) { r.Limits.RenderTime = 50 * time.Millisecond },
		tree: "-- app/templates/a.yaml --\n{{ range until 3000 }}{{ range until 3000 }}{{ end }}{{ end }}{{ fail (toString .Values.KEY) }}\n"},
	{name: "hallmark.yaml that is encrypted", want: "hallmark.yaml", tree: "-- yaml:app/hallmark.yaml --\napiVersion: hallmark.dev/v1\nkind: Render\nspec: {values: QUOTED, release-name: QUOTED}\n"},
}

func denyOutside() *Policy {
	p, err := policy.Parse("policy.yaml", []byte("apiVersion: hallmark.dev/v1\nkind: RenderPolicy\nmetadata: {name: p}\nspec: {rules: [{name: all, match: {}, decryption: {keys: [age], outsideSecrets: deny}}]}\n"))
	if err != nil {
		panic(err) // it is written above
	}
	return p
}

const kustomizeSecret = `-- app/kustomization.yaml --
resources: [s.yaml]
-- yaml:app/s.yaml --
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {a: QUOTED}
`

// kustomization is the tree of one kustomization beside an encrypted Secret.
func kustomization(fields string, files ...string) string {
	return "-- app/kustomization.yaml --\nresources: [s.yaml]\n" + fields + "\n" + strings.Join(files, "") + strings.TrimPrefix(kustomizeSecret, "-- app/kustomization.yaml --\nresources: [s.yaml]\n")
}

// chartIn is a chart that a kustomization inflates.
const chartIn = "-- app/charts/c/Chart.yaml --\napiVersion: v2\nname: c\nversion: 1.0.0\n-- app/charts/c/values.yaml --\na: b\n-- app/charts/c/templates/a.yaml --\n"

var leakyKustomizations = []leak{
	{name: "all is well", succeeds: true, tree: kustomizeSecret},
	{name: "strategic merge patch", want: "kustomization.yaml", tree: kustomization("patches: [{path: p.yaml}]", "-- yaml:app/p.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: QUOTED}\nstringData: {a: QUOTED}\n")},
	{name: "strategic merge patch of another shape", want: "kustomization.yaml", tree: kustomization("patches: [{path: p.yaml}]", "-- yaml:app/p.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: s, labels: [QUOTED]}\nstringData: [QUOTED]\n")},
	{name: "patch that is a string", want: "kustomization.yaml", tree: kustomization("patches: [{path: p.enc, target: {kind: Secret}}]", "-- binary:app/p.enc --\nQUOTED\n")},
	{name: "patch of two documents", want: "kustomization.yaml", tree: kustomization("patches: [{path: p.enc, target: {kind: Secret}}]", "-- binary:app/p.enc --\na: QUOTED\n---\nb: [QUOTED\n")},
	{name: "patchesStrategicMerge", want: "kustomization.yaml", tree: kustomization("patchesStrategicMerge: [p.enc]", "-- binary:app/p.enc --\napiVersion: v1\nkind: Secret\nmetadata: {name: QUOTED}\nstringData: {a: QUOTED}\n")},
	{name: "$patch with a secret word", want: "", some: true, tree: kustomization("patches: [{path: p.enc}]", "-- binary:app/p.enc --\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {$patch: QUOTED}\n")},
	{name: "json patch, test", want: "kustomization.yaml", tree: kustomization("patches: [{path: p.enc, target: {kind: Secret}}]", "-- binary:app/p.enc --\n[{\"op\": \"test\", \"path\": \"/stringData/a\", \"value\": {\"x\": QUOTED}}]\n")},
	{name: "json patch, path", some: true, want: "kustomization.yaml", tree: kustomization("patches: [{path: p.enc, target: {kind: Secret}}]", "-- binary:app/p.enc --\n[{\"op\": \"replace\", \"path\": QUOTED, \"value\": QUOTED}]\n")},
	{name: "json patch, path below", want: "kustomization.yaml", tree: kustomization("patches: [{path: p.enc, target: {kind: Secret}}]", "-- binary:app/p.enc --\n- {op: replace, path: \"/no/KEY\", value: QUOTED}\n- {op: remove, path: /x}\n")},
	{name: "json patch, operation", want: "kustomization.yaml", tree: kustomization("patches: [{path: p.enc, target: {kind: Secret}}]", "-- binary:app/p.enc --\n[{\"op\": QUOTED, \"path\": \"/a\", \"value\": QUOTED}]\n")},
	{name: "json patch, broken", want: "kustomization.yaml", tree: kustomization("patches: [{path: p.enc, target: {kind: Secret}}]", "-- binary:app/p.enc --\n[{\"op\": \"add\", \"path\": QUOTED, QUOTED]\n")},
	{name: "patchesJson6902", want: "kustomization.yaml", tree: kustomization("patchesJson6902: [{path: p.enc, target: {version: v1, kind: Secret, name: s}}]", "-- binary:app/p.enc --\n{\"op\": QUOTED}\n")},
	{name: "kustomization that is encrypted, patch without target", want: "kustomization.yaml", tree: "-- yaml:app/kustomization.yaml --\nresources: [c.yaml]\npatches: [{patch: QUOTED, target: {kind: QUOTED, name: QUOTED}}]\n-- app/c.yaml --\n" + configMap, some: true},
	{name: "kustomization that is encrypted, unknown field", want: "kustomization.yaml", tree: "-- dotenv:app/kustomization.yaml --\nresources: [a=QUOTED\n"},
	{name: "kustomization that is encrypted, resources", want: "kustomization.yaml", tree: "-- yaml:app/kustomization.yaml --\nresources: [QUOTED]\n"},
	{name: "kustomization that is encrypted, types", want: "kustomization.yaml", tree: "-- yaml:app/kustomization.yaml --\nnamePrefix: [QUOTED]\nimages: QUOTED\nresources: {QUOTED: 1}\n"},
	{name: "kustomization that is encrypted, literals", want: "kustomization.yaml", tree: "-- yaml:app/kustomization.yaml --\nsecretGenerator: [{name: s, literals: [QUOTED, QUOTED]}]\n", some: true},
	{name: "kustomization that is encrypted, generator options", want: "kustomization.yaml", tree: "-- yaml:app/kustomization.yaml --\nsecretGenerator: [{name: s, behavior: QUOTED, files: [QUOTED], envs: [QUOTED]}]\n"},
	{name: "kustomization that is encrypted, labels", some: true, tree: "-- yaml:app/kustomization.yaml --\nresources: [c.yaml]\ncommonLabels: {a: QUOTED, QUOTED: a}\nnamespace: QUOTED\n-- app/c.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: a, labels: [a]}\n"},
	{name: "replacement, wrong path", want: "kustomization.yaml", tree: kustomization("replacements: [{source: {kind: Secret, name: s, fieldPath: stringData.a}, targets: [{select: {kind: Secret}, fieldPaths: [metadata.none.x]}]}]")},
	{name: "replacement, from a secret path", want: "kustomization.yaml", tree: kustomization("replacements: [{path: r.yaml}]", "-- yaml:app/r.yaml --\nsource: {kind: Secret, name: s, fieldPath: QUOTED}\ntargets: [{select: {kind: Secret}, fieldPaths: [QUOTED]}]\n")},
	{name: "replacement, of what is not there", want: "kustomization.yaml", tree: kustomization("replacements: [{path: r.yaml}]", "-- yaml:app/r.yaml --\nsource: {kind: Secret, name: QUOTED}\ntargets: [{select: {kind: Secret}, fieldPaths: [a]}]\n")},
	{name: "replacement, delimiter", want: "kustomization.yaml", tree: kustomization("replacements: [{source: {kind: Secret, name: s, fieldPath: stringData.a, options: {delimiter: \"|\", index: 7}}, targets: [{select: {kind: Secret}, fieldPaths: [stringData.a], options: {delimiter: \"|\", index: 9}}]}]")},
	{name: "replacement, into a number", want: "kustomization.yaml", tree: kustomization("replacements: [{source: {kind: Secret, name: s, fieldPath: stringData}, targets: [{select: {kind: Secret}, fieldPaths: [stringData.a.b.c]}]}]")},
	{name: "env file without =", some: true, want: "kustomization.yaml", tree: "-- app/kustomization.yaml --\nsecretGenerator: [{name: s, envs: [e.enc]}]\n-- binary:app/e.enc --\nA=1\nRAW x y\n=RAW\n"},
	{name: "env file, invalid key", some: true, want: "kustomization.yaml", tree: "-- app/kustomization.yaml --\nconfigMapGenerator: [{name: s, envs: [e.enc]}]\n-- binary:app/e.enc --\n$RAW !=RAW\n"},
	{name: "env file, twice", want: "kustomization.yaml", tree: "-- app/kustomization.yaml --\nsecretGenerator: [{name: s, envs: [e.enc]}]\n-- binary:app/e.enc --\nA=RAW\nA=RAW\n"},
	{name: "env file that is no text", want: "kustomization.yaml", tree: "-- app/kustomization.yaml --\nsecretGenerator: [{name: s, envs: [e.enc]}]\n-- binary:app/e.enc --\nRAW\xff\n"},
	{name: "files of a generator", succeeds: true, tree: "-- app/kustomization.yaml --\nsecretGenerator: [{name: s, files: [f=e.enc]}]\n-- binary:app/e.enc --\nRAW\n"},
	{name: "generator over a Secret", want: "kustomization.yaml", tree: kustomization("secretGenerator: [{name: s, files: [f=e.enc]}]", "-- binary:app/e.enc --\nRAW\n")},
	{name: "resource, bad line", want: "s.enc", tree: "-- app/kustomization.yaml --\nresources: [s.enc]\n-- binary:app/s.enc --\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  a: QUOTED\n b: [QUOTED\n"},
	{name: "resource, tab", want: "s.enc", tree: "-- app/kustomization.yaml --\nresources: [s.enc]\n-- binary:app/s.enc --\napiVersion: v1\nkind: Secret\nstringData:\n\ta: QUOTED\n"},
	{name: "resource, duplicate key", want: "kustomization.yaml", tree: "-- app/kustomization.yaml --\nresources: [s.enc]\n-- binary:app/s.enc --\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  QUOTED: QUOTED\n  QUOTED: QUOTED\n"},
	{name: "resource, anchor", want: "s.enc", tree: "-- app/kustomization.yaml --\nresources: [s.enc]\n-- binary:app/s.enc --\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: QUOTED, b: *KEY}\n"},
	{name: "resource, anchor that is secret", want: "", tree: "-- app/kustomization.yaml --\nresources: [s.enc]\n-- binary:app/s.enc --\na: *RAW\n"},
	{name: "resource, anchor in itself", want: "s.enc", only: []string{"word", "number"}, tree: "-- app/kustomization.yaml --\nresources: [s.enc]\n-- binary:app/s.enc --\na: &RAW {b: *RAW}\n"},
	{name: "resource without a name", want: "s.yaml", tree: "-- app/kustomization.yaml --\nresources: [s.yaml]\n-- yaml:app/s.yaml --\napiVersion: v1\nkind: QUOTED\nstringData: {a: QUOTED}\n"},
	{name: "resource that is text", want: "app/s.enc", tree: "-- app/kustomization.yaml --\nresources: [s.enc]\n-- binary:app/s.enc --\nRAW\n"},
	{name: "resource, metadata", want: "", tree: "-- app/kustomization.yaml --\nresources: [s.yaml]\nnamePrefix: x\n-- yaml:app/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: QUOTED\n"},
	{name: "resource, annotations", want: "", tree: "-- app/kustomization.yaml --\nresources: [s.yaml]\ncommonAnnotations: {x: y}\n-- yaml:app/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: [QUOTED], labels: {a: [QUOTED]}}\n"},
	{name: "resource, annotation of a number", some: true, tree: "-- app/kustomization.yaml --\nresources: [s.yaml]\n-- yaml:app/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: {QUOTED: 1}}\n"},
	{name: "resource twice", want: "", tree: "-- app/kustomization.yaml --\nresources: [s.yaml, t.yaml]\n-- yaml:app/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: QUOTED, namespace: QUOTED}\nstringData: {a: QUOTED}\n-- yaml:app/t.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: QUOTED, namespace: QUOTED}\nstringData: {a: QUOTED}\n"},
	{name: "resource of a plugin", want: "s.yaml", tree: "-- app/kustomization.yaml --\nresources: [s.yaml]\n-- yaml:app/s.yaml --\napiVersion: builtin\nkind: QUOTED\nmetadata: {name: s}\nstringData: {a: QUOTED}\n"},
	{name: "transformer of a secret kind", want: "", tree: kustomization("transformers: [t.yaml]", "-- yaml:app/t.yaml --\napiVersion: builtin\nkind: QUOTED\nmetadata: {name: t}\nstringData: {a: QUOTED}\n")},
	{name: "transformer of a secret version", want: "", tree: kustomization("transformers: [t.yaml]", "-- yaml:app/t.yaml --\napiVersion: QUOTED\nkind: X\nmetadata: {name: t}\nstringData: {a: QUOTED}\n")},
	{name: "transformer, bad config", want: "", tree: kustomization("transformers: [t.yaml]", "-- yaml:app/t.yaml --\napiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\npatch: QUOTED\ntarget: {kind: QUOTED}\n")},
	{name: "transformer, config of wrong types", want: "", tree: kustomization("transformers: [t.yaml]", "-- yaml:app/t.yaml --\napiVersion: builtin\nkind: ReplacementTransformer\nmetadata: {name: t}\nreplacements: QUOTED\n")},
	{name: "transformer, field specs", want: "", tree: kustomization("transformers: [t.yaml]", "-- yaml:app/t.yaml --\napiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: t}\nlabels: {QUOTED: QUOTED}\nfieldSpecs: [{path: stringData/a/b, create: true}]\n")},
	{name: "validator", want: "", tree: kustomization("validators: [t.yaml]", "-- yaml:app/t.yaml --\napiVersion: builtin\nkind: NamespaceTransformer\nmetadata: {name: t, namespace: QUOTED}\nfieldSpecs: [{path: metadata/KEY, create: true}]\n"), some: true},
	{name: "generator, bad config", want: "", tree: "-- app/kustomization.yaml --\ngenerators: [g.yaml]\n-- yaml:app/g.yaml --\napiVersion: builtin\nkind: SecretGenerator\nmetadata: {name: g}\nliterals: QUOTED\n"},
	{name: "generator, literals", want: "", some: true, tree: "-- app/kustomization.yaml --\ngenerators: [g.yaml]\n-- yaml:app/g.yaml --\napiVersion: builtin\nkind: SecretGenerator\nmetadata: {name: g}\nliterals: [QUOTED]\n"},
	{name: "configuration", want: "f.yaml", tree: kustomization("configurations: [f.yaml]", "-- yaml:app/f.yaml --\nQUOTED: [QUOTED]\nnameReference: QUOTED\n")},
	{name: "configuration of wrong types", want: "f.yaml", tree: kustomization("configurations: [f.yaml]", "-- yaml:app/f.yaml --\nnameReference: [{kind: [QUOTED]}]\n")},
	{name: "crd", want: "", tree: kustomization("crds: [f.json]", "-- json:app/f.json --\n{\"a\": {\"Schema\": QUOTED}}\n")},
	{name: "openapi", want: "", tree: kustomization("openapi: {path: f.json}\npatches: [{path: p.yaml}]", "-- json:app/f.json --\n{\"definitions\": QUOTED}\n", "-- app/p.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n")},
	{name: "openapi that is no JSON", want: "", tree: kustomization("openapi: {path: f.enc}\npatches: [{path: p.yaml}]", "-- binary:app/f.enc --\n{\"definitions\": {QUOTED: [RAW\n", "-- app/p.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n")},
	{name: "vars", want: "", tree: kustomization("vars: [{name: V, objref: {apiVersion: v1, kind: Secret, name: s}, fieldref: {fieldpath: stringData.none}}, {name: V, objref: {apiVersion: v1, kind: Secret, name: s}, fieldref: {fieldpath: stringData.a}}]")},
	{name: "chart, template", want: "rendering chart", tree: kustomization("helmCharts: [{name: c, valuesFile: v.yaml}]", chartIn+"{{ fail (toString .Values.v) }}\n", "-- yaml:app/v.yaml --\nv: QUOTED\n")},
	{name: "chart, values", want: "", tree: kustomization("helmCharts: [{name: c, valuesFile: v.enc, valuesInline: {a: 1}}]", chartIn+"a: b\n", "-- binary:app/v.enc --\nv: QUOTED\nw: [*RAW\n")},
	{name: "chart, more values", want: "", tree: kustomization("helmCharts: [{name: c, additionalValuesFiles: [v.enc]}]", chartIn+"a: b\n", "-- binary:app/v.enc --\nv: QUOTED\nw: [*RAW\n")},
	{name: "chart, schema", want: "values of chart", tree: kustomization("helmCharts: [{name: c, valuesFile: v.yaml}]", chartIn+"a: b\n-- app/charts/c/values.schema.json --\n{\"properties\": {\"v\": {\"enum\": [1], \"type\": \"object\"}}}\n", "-- yaml:app/v.yaml --\nv: QUOTED\n")},
	{name: "chart, output", want: "", tree: kustomization("helmCharts: [{name: c, valuesFile: v.yaml}]", chartIn+"apiVersion: v1\nkind: Secret\nmetadata: {name: c, labels: [{{ .Values.v | quote }}]}\n", "-- yaml:app/v.yaml --\nv: QUOTED\n")},
	{name: "chart, random", want: "differs from render to render", tree: kustomization("helmCharts: [{name: c, valuesFile: v.yaml}]", chartIn+"apiVersion: v1\nkind: Secret\nmetadata: {name: c}\nstringData: {{ dict (toString .Values.v) (randAlpha 9) | toJson }}\n", "-- yaml:app/v.yaml --\nv: QUOTED\n")},
	{name: "ksops, not a manifest", want: "", tree: "-- app/kustomization.yaml --\ngenerators: [g.yaml]\n-- app/g.yaml --\napiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: g}\nfiles: [s.enc, t.enc]\n-- binary:app/s.enc --\nRAW\n-- binary:app/t.enc --\nkind: Secret\nmetadata: {labels: {a: [QUOTED]}}\n"},
	{name: "ksops, envs", want: "", some: true, tree: "-- app/kustomization.yaml --\ngenerators: [g.yaml]\n-- app/g.yaml --\napiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: g}\nsecretFrom: [{metadata: {name: s}, envs: [s.enc]}]\n-- binary:app/s.enc --\nA=RAW\nRAW\nA=RAW\n"},
	{name: "ksops, options", want: "", tree: "-- app/kustomization.yaml --\ngenerators: [g.yaml]\n-- app/g.yaml --\napiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: g}\nfiles: [s.yaml]\n-- yaml:app/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: QUOTED, annotations: {kustomize.config.k8s.io/needs-hash: QUOTED}}\n"},
}

var leakyFolders = []leak{
	{name: "all is well", succeeds: true, tree: "-- yaml:app/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: QUOTED}\n"},
	{name: "broken YAML", want: "s.yaml", tree: "-- dotenv:app/s.yaml --\napiVersion: kind: metadata: a=QUOTED\n"},
	{name: "broken YAML that is passed over", succeeds: true, tree: "-- dotenv:app/s.yaml --\na: b: c=QUOTED\n-- app/a.yaml --\n" + configMap},
	{name: "text that is passed over", succeeds: true, tree: "-- dotenv:app/s.yaml --\na=QUOTED\n-- app/a.yaml --\n" + configMap},
	{name: "ini", want: "s.yaml", tree: "-- ini:app/s.yaml --\n[kind: apiVersion: metadata:]\na=QUOTED\n", not: []string{"quotes"}},
	{name: "JSON without kind", want: "s.json", tree: "-- json:app/s.json --\n{\"a\": QUOTED}\n"},
	{name: "JSON, no object", want: "s.json", tree: "-- json:app/s.json --\n{\"a\": QUOTED, \"kind\": [QUOTED]}\n"},
	{name: "apiVersion", want: "more than one slash", tree: "-- yaml:app/s.yaml --\napiVersion: a/b/c\nkind: QUOTED\nmetadata: {name: QUOTED}\nstringData: {a: QUOTED}\n"},
	{name: "kind of another type", want: "s.yaml", tree: "-- yaml:app/s.yaml --\napiVersion: v1\nkind: {a: QUOTED}\nmetadata: {name: QUOTED}\nstringData: {a: QUOTED}\n"},
	{name: "labels", want: "want string", tree: "-- yaml:app/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: QUOTED, labels: {a: [QUOTED]}, annotations: {QUOTED: 3}}\nstringData: {a: QUOTED}\n"},
	{name: "twice", want: "the same object", tree: "-- yaml:app/s.yaml --\napiVersion: v1\nkind: QUOTED\nmetadata: {name: QUOTED}\nstringData: {a: QUOTED}\n---\napiVersion: v1\nkind: QUOTED\nmetadata: {name: QUOTED}\n"},
	{name: "ciphertext beside it", want: "SOPS ciphertext", tree: "-- yaml:app/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {QUOTED: \"x ENC[AES256_GCM,data:x]\", a: QUOTED}\n"},
	{name: "names", succeeds: true, tree: "-- yaml:app/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: QUOTED}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {a: QUOTED}}\ndata: {QUOTED: QUOTED}\n"},
	{name: "changed after it was encrypted", want: "MAC does not match", tree: "-- yaml:app/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: QUOTED}\nsize_unencrypted: 12\n",
		edit: func(sealed string) string {
			return strings.Replace(sealed, "size_unencrypted: 12", "size_unencrypted: 13", 1)
		}},
	{name: "changed ciphertext", want: "cannot be decrypted", tree: "-- yaml:app/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: QUOTED}\n",
		edit: func(sealed string) string {
			return strings.Replace(sealed, "a: ENC[AES256_GCM,data:", "a: ENC[AES256_GCM,data:AAAA", 1)
		}},
	{name: "too many objects", want: "limits.objects", request: func(r *Request) { r.Limits.Objects = 1 }, tree: "-- yaml:app/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: QUOTED}\nstringData: {a: QUOTED}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: t}\n"},
}
