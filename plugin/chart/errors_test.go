package chart

import (
	"maps"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/diag"
)

// A value that a user gives may be a secret: no message quotes it, whichever
// function, decoder or rule of a schema complains about it.
func TestErrorsQuoteNoValues(t *testing.T) {
	t.Parallel()
	const marker = "s3cr3t-marker"
	use := func(template string) map[string]string { return map[string]string{"templates/c.yaml": template} }
	schema := func(rule string) map[string]string {
		return map[string]string{"values.schema.json": `{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"v": {` + rule + `}}}`}
	}
	tests := map[string]struct {
		files map[string]string
		o     Options
		want  string // what the message says nonetheless
	}{
		"set":        {o: Options{Set: []Assignment{{"a[y]", marker}}}, want: "helm-parameters[a[y]]"},
		"set string": {o: Options{SetString: []Assignment{{"a[x]", marker}}}, want: "helm-string-parameters[a[x]]"},

		"values, flow":     {o: Options{Values: []Document{{"values", []byte("a: [" + marker + "\n")}}}, want: "values: "},
		"values, scalar":   {o: Options{Values: []Document{{"values", []byte(marker + "\n")}}}, want: "values: "},
		"values, alias":    {o: Options{Values: []Document{{"values", []byte("a: *" + marker + "\n")}}}, want: "yaml: unknown anchor a value"},
		"values, tag":      {o: Options{Values: []Document{{"values", []byte("a: !!int " + marker + "\n")}}}, want: "cannot decode"},
		"values, map key":  {o: Options{Values: []Document{{"values", []byte("{a: b, ? {" + marker + ": 1} : 2}\n")}}}, want: "values: "},
		"values, quotes":   {o: Options{Values: []Document{{"values", []byte("a: 'x' " + marker + "\n")}}}, want: "values: yaml: did not find expected key"},
		"chart's values":   {files: map[string]string{"values.yaml": "a: *" + marker + "\n"}, want: "web/values.yaml: "},
		"value of a chart": {files: map[string]string{"charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n"}, o: Options{Set: []Assignment{{"db", marker}}}, want: `values of chart "db"`},

		"range":              {files: use("{{ range .Values.v }}{{ end }}"), want: "web/templates/c.yaml:1:17: range can't iterate over a value (at <.Values.v>)"},
		"range, two":         {files: use("{{ range $a, $b := .Values.v }}{{ end }}"), want: "range can't iterate over a value"},
		"include":            {files: use("{{ include .Values.v . }}"), want: "error calling include: template: no template a value associated with template \"gotpl\""},
		"duration":           {files: use("{{ mustToDuration .Values.v }}{{ durationRound .Values.v }}"), want: "web/templates/c.yaml:1"},
		"toDate":             {files: use(`{{ mustToDate "2006" .Values.v }}`), want: "parsing time a value as \"2006\": cannot parse a value as \"2006\""},
		"regexp":             {files: use(`{{ mustRegexMatch (print "(" .Values.v) "a" }}`), want: "error parsing regexp: missing closing ): a value"},
		"regexp, panic":      {files: use(`{{ regexFind (print "[" .Values.v) "a" }}`), want: "error calling regexFind: error parsing regexp: invalid character class range: a value"},
		"regexp, backquote":  {files: use("{{ mustRegexMatch (print \"(`\" .Values.v \"` \" .Values.v) \"a\" }}"), want: "error parsing regexp"},
		"semver":             {files: use(`{{ semver .Values.v }}`), want: "web/templates/c.yaml:1"},
		"semver constraint":  {files: use(`{{ semverCompare .Values.v "1.2.3" }}`), want: "improper constraint: a value"},
		"urlParse":           {files: use(`{{ urlParse (print "http://x:" .Values.v "/") }}`), want: "unable to parse url: parse a value: invalid port a value after host"},
		"urlParse, user":     {files: use(`{{ urlParse (print "postgres://shop:" .Values.v " x@db") }}`), want: "unable to parse url"},
		"fromJson":           {files: use(`{{ mustFromJson .Values.v }}`), want: "invalid character a value looking for beginning of value"},
		"list function":      {files: use(`{{ mustFirst .Values.v }}`), want: "Cannot find first on type string"},
		"index":              {files: use(`{{ index .Values.v .Values.v }}`), want: "cannot index slice/array with type string"},
		"certificate":        {files: use(`{{ genSignedCert "a" (list .Values.v) nil 1 (genCA "a" 1) }}`), want: "error parsing ip: a value"},
		"mustDateModify":     {files: use(`{{ mustDateModify .Values.v now }}`), want: "time: invalid duration a value"},
		"of a computed type": {files: use(`{{ with .Values.v }}{{ .b.c }}{{ end }}`), want: "can't evaluate field b in type string"},
		"in an include": {files: map[string]string{"templates/_h.tpl": `{{ define "h" }}{{ mustDateModify .Values.v now }}{{ end }}`, "templates/c.yaml": `{{ include "h" . }}`},
			want: "web/templates/_h.tpl:1:20: error calling mustDateModify: time: invalid duration a value (at <mustDateModify .Values.v now>), while rendering web/templates/c.yaml"},
		"tpl, syntax":     {files: use(`{{ tpl (print "\n{{ " .Values.v) . }}`), want: "web/templates/c.yaml:1:4: error calling tpl: cannot parse the text that tpl runs: line 2: "},
		"tpl, function":   {files: use(`{{ tpl (print "{{ " (.Values.v | replace "-" "") " }}" .Values.v) . }}`), want: "cannot parse the text that tpl runs: line 1: function a value not defined"},
		"tpl, execution":  {files: use(`{{ tpl (print .Values.v "\n{{ .Values.x.y.z }}") . }}`), want: "web/templates/c.yaml:1:4: line 2 of the text that tpl runs: nil pointer evaluating interface {}.y at <.Values.x.y.z> (at <tpl (print .Values.v \"\\n{{ .Values.x.y.z }}\") .>)"},
		"tpl, literal":    {files: use(`{{ tpl (print "{{ int64 1 | mustDateModify \"" .Values.v "\" }}") . }}`), want: "of the text that tpl runs: "},
		"tpl, in include": {files: use("{{ define \"t\" }}{{ tpl (print .Values.v \"{{ mustFirst .Values.v }}\") . }}{{ end }}{{ include \"t\" . }}"), want: "Cannot find first on type string"},

		"schema, type":    {files: schema(`"type": "integer"`), want: "got string, want integer"},
		"schema, pattern": {files: schema(`"pattern": "^[0-9]+$"`), want: "a value does not match pattern '^[0-9]+$'"},
		"schema, format":  {files: schema(`"format": "email"`), want: "a value is not valid email"},
		"schema, maximum": {files: schema(`"type": "integer", "maximum": 10`), o: Options{Set: []Assignment{{"v", "4711"}}}, want: "want at most 10"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, func(t *testing.T, engine Engine) {
				o := tt.o
				if o.Set == nil && o.SetString == nil && o.Values == nil {
					o.SetString = []Assignment{{"v", marker}}
				}
				_, err := render(t, engine, tt.files, o)
				if err == nil {
					t.Fatal("got no error")
				}
				shown := err.Error() + diag.Hint(err)
				for _, part := range []string{marker, "s3cr3t", "4711", "4,711"} {
					if strings.Contains(shown, part) {
						t.Errorf("the error %q quotes the value", err)
					}
				}
				if !strings.Contains(shown, tt.want) {
					t.Errorf("got error %q, want it to contain %q", err, tt.want)
				}
			})
		})
	}
}

// What the author of a chart says stays as it is, and so do the names and
// literals of a template.
func TestErrorsKeepWhatTemplatesSay(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		`{{ fail "port 4711 is \"taken\": see README" }}`:    `web/templates/c.yaml:1:4: port 4711 is "taken": see README`,
		`{{ required "set image.tag to v1.2" .Values.tag }}`: "set image.tag to v1.2",
		`{{ fail "" }}`:                   "web/templates/c.yaml:1:4: the template failed",
		`{{ include "web.labels" . }}`:    `no template "web.labels" associated`,
		`{{ template "web.labels" . }}`:   `template "web.labels" not defined`,
		`{{ mustDateModify "soon" now }}`: `time: invalid duration "soon"`,
		`{{ index (list 1 2) 7 }}`:        "index out of range: 7",
		`{{ .Release.Nothing.x }}`:        "nil pointer evaluating interface {}.x",
		`{{ add1 }}`:                      "wrong number of args for add1: want 1 got 0",
		`{{ upper 5 }}`:                   "expected string; found 5",
		`{{ nope }}`:                      `function "nope" not defined`,
		`{{ $x }}`:                        `undefined variable "$x"`,
	} {
		eachEngine(t, func(t *testing.T, engine Engine) {
			_, err := render(t, engine, map[string]string{"templates/c.yaml": template}, Options{})
			wantError(t, err, "web/templates/c.yaml:1", want)
		})
	}
}

// The address of a chart repository may hold a password.
func TestMissingDependencyShowsNoPassword(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine Engine) {
		_, err := render(t, engine, map[string]string{
			"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: db, version: 1.x, repository: \"https://u:p4ss@charts.example.com/x\"}]\n",
		}, Options{})
		wantError(t, err, `web/Chart.yaml: chart "web" needs dependency "db" version "1.x" from https://charts.example.com/x, which is not in charts/`)
		if err != nil && strings.Contains(err.Error(), "p4ss") {
			t.Errorf("got error %q", err)
		}
	})
}

// Faults of a dependency's files are faults of those files.
func TestLoadErrorsOfDependencies(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string]string{
		"web/charts/db/values.yaml: yaml: unknown anchor a value":      {"charts/db/values.yaml": "a: *s3cret\n"},
		"web/charts/db/Chart.yaml: chart.metadata.version is required": {"charts/db/Chart.yaml": "apiVersion: v2\nname: db\n"},
		"web/charts/db/charts/x.tgz: ":                                 {"charts/db/charts/x.tgz": "no archive"},
	} {
		all := map[string]string{"charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n"}
		maps.Copy(all, files)
		eachEngine(t, func(t *testing.T, engine Engine) {
			_, err := render(t, engine, all, Options{})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got error %q, want %q", err, want)
			}
		})
	}
}

func TestMaskFact(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ fact, source, want string }{
		{"something nobody knows: hunter two", "", "a value: a value"},
		{"parsing hunter: invalid syntax", "", "parsing a value: invalid syntax"},
		{"can't parse 'hunter's two' as time", "", "can't parse a value as time"},
		{`unknown escape "hunter`, "", "unknown escape a value"},
		{"did not find expected ',' or ']'", "", "did not find expected ',' or ']'"},
		{"did not find expected '<document start>'", "", "did not find expected '<document start>'"},
		{"line 7: number 7", "", "line 7: number a value"},
		{"cannot unmarshal !!str `hunter` into map[string]interface {}", "", "cannot unmarshal !!str a value into map[string]interface {}"},
		{"json: cannot unmarshal number 47.11 into Go value of type int", "", "json: cannot unmarshal number a value into Go value of type int"},
		{`invalid map key: map[string]interface {}{"hunter":1}`, "", "invalid map key: map[string]interface {}{ a value: a value"},
		{"error calling index: error calling include: runtime error: index out of range [5] with length 3", "", "error calling index: error calling include: runtime error: index out of range [5] with length 3"},
		{"wrong type for value; expected time.Time; got string", "", "wrong type for value; expected time.Time; got string"},
		{`can't handle "soon" for arg of type time.Time`, `"soon"`, `can't handle "soon" for arg of type time.Time`},
		{`can't handle "soon" for arg of type time.Time`, "", `can't handle a value for arg of type time.Time`},
		{"", "", "the template failed"},
		{"error calling x: ", "", "error calling x: the template failed"},
	} {
		if got := maskFact(tt.fact, tt.source); got != tt.want {
			t.Errorf("%q at <%s>: got %q, want %q", tt.fact, tt.source, got, tt.want)
		}
	}
}

// No word of the input that is not a word of messages comes through.
func FuzzMaskFact(f *testing.F) {
	for _, seed := range []string{"time: invalid duration \"MARK\"", "error parsing regexp: x: `MARK`", "can't MARK", "MARK: 'MARK", "a\"MARK\"b", "error calling MARK: MARK", `cannot parse template "x\"": MARK`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, fact string) {
		if strings.Contains(fact, "runtime error") || calling.MatchString(fold(fact)) || knownFacts.MatchString(fold(fact)) {
			t.Skip("names of functions and fields are shown")
		}
		got := maskFact(fact, "")
		if strings.Contains(got, "MARK") && !strings.Contains(got, "error calling") && !strings.Contains(got, "nested reference") {
			t.Errorf("%q: got %q", fact, got)
		}
		if strings.ContainsAny(got, "\n\r") {
			t.Errorf("%q: got several lines %q", fact, got)
		}
	})
}
