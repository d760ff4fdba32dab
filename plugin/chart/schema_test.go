package chart

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"hallmark.dev/hallmark/internal/diag"
)

// Whatever a schema refers to, no request is made and no file is read.
func TestSchemasLoadNothing(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte("true"))
	}))
	t.Cleanup(server.Close)
	onDisk := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(onDisk, []byte("true"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ schema, refused string }{
		"ref":              {`{"properties": {"a": {"$ref": "URL/s.json#/a"}}}`, "URL/s.json"},
		"neighbour":        {`{"$ref": "other.json"}`, "file:///other.json"},
		"file":             {`{"$ref": "file://FILE"}`, "file://FILE"},
		"file, query":      {`{"$ref": "file://FILE?urn:x"}`, "file://FILE"},
		"$schema":          {`{"$schema": "URL/meta"}`, "URL/meta"},
		"$schema inside":   {`{"properties": {"a": {"$id": "x", "$schema": "URL/meta"}}}`, "URL/meta"},
		"query":            {`{"$ref": "URL/x?://json-schema.org/"}`, "URL/x"},
		"id in examples":   {`{"examples": [{"$id": "URL/x"}], "default": {"$id": "URL/x"}, "enum": [{"$id": "URL/x"}], "$ref": "URL/x"}`, "URL/x"},
		"id of a property": {`{"properties": {"$id": {"$ref": "URL/x"}}}`, "URL/x"},
		"dynamic":          {`{"$dynamicRef": "URL/x"}`, "URL/x"},
		"recursive":        {`{"$schema": "https://json-schema.org/draft/2019-09/schema", "$ref": "URL/x", "$recursiveRef": "#"}`, "URL/x"},
		"relative to id":   {`{"$id": "URL/values", "$ref": "defs"}`, "URL/defs"},
		"meta of no draft": {`{"$ref": "https://json-schema.org/made-up"}`, "https://json-schema.org/made-up"},
		"other scheme":     {`{"$ref": "ftp://example.com/x"}`, "ftp://example.com/x"},
		"credentials":      {`{"$ref": "https://user:hunter2@example.com/x"}`, `"https://example.com/x"`},
	}
	place := strings.NewReplacer("URL", server.URL, "FILE", onDisk)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, engine Engine) {
				files := map[string]string{"values.schema.json": place.Replace(tt.schema), "values.yaml": "a: {b: 1}\n"}
				_, err := render(t, engine, files, Options{})
				wantError(t, err, `web/values.schema.json: the schema refers to `, place.Replace(tt.refused), "which is outside the chart")
				if err != nil && (strings.Contains(err.Error(), "hunter2") || diag.Hint(err) == "") {
					t.Errorf("got error %q, hint %q", err, diag.Hint(err))
				}
				if _, err := render(t, engine, files, Options{SkipSchemaValidation: true}); err != nil {
					t.Errorf("got error %q without validation", err)
				}
			})
		})
	}
	t.Cleanup(func() {
		if n := asked.Load(); n != 0 {
			t.Errorf("the schemas made %d requests", n)
		}
	})
}

// References inside a schema, by identifier or to json-schema.org, are fine, and
// so are those that nothing follows. Helm takes a URN for a schema without rules.
func TestSchemaReferencesInside(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "definitions": {"a": {"type": "object"}}}`,
		`{"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {"a": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}}`,
		`{"$id": "https://example.com/values", "$ref": "defs#/a", "definitions": {"d": {"$id": "defs", "a": {"type": "object"}}}}`,
		`{"properties": {"id": {"type": "string"}}}`,
		`{"properties": {"a": {"$ref": "urn:example:a"}}}`,
		`{"definitions": {"unused": {"$ref": "https://example.com/x"}}}`,
		`{"const": {"$ref": "https://example.com/x"}, "type": "object", "not": {}}`,
	} {
		eachEngine(t, func(t *testing.T, engine Engine) {
			_, err := render(t, engine, map[string]string{"values.schema.json": schema, "values.yaml": "a: {b: 1}\n"}, Options{})
			if err != nil && strings.Contains(err.Error(), "outside") {
				t.Errorf("%s: %v", schema, err)
			}
		})
	}
}

// A schema binds the charts that are rendered, not those that are switched off.
func TestSchemasOfDependencies(t *testing.T) {
	t.Parallel()
	chartYAML := "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: db, version: 1.0.0, repository: \"\", condition: db.enabled}]\n"
	tests := map[string]struct{ values, schema, want string }{
		"disabled, remote":  {"db: {enabled: false}\n", `{"$ref": "https://example.com/x"}`, ""},
		"disabled, broken":  {"db: {enabled: false, size: big}\n", `{"properties": {"size": {"type": "integer"}}}`, ""},
		"enabled, remote":   {"db: {enabled: true}\n", `{"$ref": "https://example.com/x"}`, `web/charts/db/values.schema.json: the schema refers to "https://example.com/x"`},
		"enabled, broken":   {"db: {enabled: true, size: big}\n", `{"properties": {"size": {"type": "integer"}}}`, `web/charts/db/values.schema.json: values of chart "db": at '/size': got string, want integer`},
		"enabled, fine":     {"db: {enabled: true, size: 1}\n", `{"properties": {"size": {"type": "integer"}}}`, ""},
		"values are a list": {"db: [a]\n", `{}`, "db"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, func(t *testing.T, engine Engine) {
				_, err := render(t, engine, map[string]string{
					"Chart.yaml": chartYAML, "values.yaml": tt.values,
					"charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n", "charts/db/values.schema.json": tt.schema,
				}, Options{})
				if tt.want != "" {
					wantError(t, err, tt.want)
				} else if err != nil {
					t.Errorf("got error %v", err)
				}
			})
		})
	}
}

// Each fact names the rule and what it wants, and not what the value is.
func TestSchemaFacts(t *testing.T) {
	t.Parallel()
	const at = `web/values.schema.json: values of chart "web": at '/a': `
	tests := []struct{ name, rule, value, want string }{
		{"type", `"type": ["integer", "null"]`, `"s3cret"`, "got string, want null or integer"},
		{"type and null", `"type": "object"`, `[4711]`, "got array, want object"},
		{"enum", `"enum": ["small", "large"]`, `"s3cret"`, "value must be one of 'small', 'large'"},
		{"const", `"const": 1`, `4711`, "value must be 1"},
		{"pattern", `"pattern": "^[0-9]+$"`, `"s3cret"`, "a value does not match pattern '^[0-9]+$'"},
		{"format", `"format": "email"`, `"s3cret"`, "a value is not valid email"},
		{"minimum", `"minimum": 5000`, `4711`, "minimum: a value is too small, want at least 5000"},
		{"maximum", `"maximum": 10`, `4711`, "maximum: a value is too large, want at most 10"},
		{"exclusive minimum", `"exclusiveMinimum": 4711`, `4711`, "exclusiveMinimum: a value is too small, want more than 4711"},
		{"exclusive maximum", `"exclusiveMaximum": 9.5`, `4711`, "exclusiveMaximum: a value is too large, want less than 19/2"},
		{"multiple", `"multipleOf": 2`, `4711`, "multipleOf: a value is no multiple of 2"},
		{"short", `"minLength": 12`, `"s3cret"`, "minLength: a value is too short, want 12"},
		{"long", `"maxLength": 3`, `"s3cret"`, "maxLength: a value is too long, want 3"},
		{"missing", `"required": ["size"]`, `{"b": "s3cret"}`, "missing property 'size'"},
		{"additional", `"additionalProperties": false`, `{"b": "s3cret"}`, "additional properties 'b' not allowed"},
		{"items", `"maxItems": 1`, `["s3cret", 4711]`, "maxItems: got 2, want 1"},
		{"not", `"not": {"type": "string"}`, `"s3cret"`, "'not' failed"},
		{"one of", `"oneOf": [{"type": "string"}, {"minLength": 1}]`, `"s3cret"`, "'oneOf' failed, subschemas 0, 1 matched"},
		{"by reference", `"$ref": "#/definitions/n"`, `"s3cret"`, "got string, want number"},
		{"false", `"$ref": "#/definitions/no"`, `"s3cret"`, "false schema"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, func(t *testing.T, engine Engine) {
				_, err := render(t, engine, map[string]string{
					"values.schema.json": `{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {` + tt.rule + `}}, "definitions": {"n": {"type": "number"}, "no": false}}`,
					"values.yaml":        "a: " + tt.value + "\n",
				}, Options{})
				wantError(t, err)
				if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), at) {
					t.Errorf("got error %q, want %q", err, at+tt.want)
				}
				if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "4711") && !strings.Contains(tt.rule, "4711") || strings.Contains(err.Error(), "4,711")) {
					t.Errorf("the error %q quotes the value", err)
				}
			})
		})
	}
}

// What is wrong with a schema itself is said of the schema.
func TestBrokenSchemas(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ schema, want string }{
		"no JSON":         {`{"type": `, "web/values.schema.json: unexpected EOF"},
		"unknown type":    {`{"type": "text"}`, "web/values.schema.json: the schema is not valid: at '/type': "},
		"bad pattern":     {`{"pattern": "("}`, "web/values.schema.json: the schema "},
		"dangling":        {`{"$ref": "#/definitions/a"}`, "web/values.schema.json: the schema does not compile: "},
		"endless":         {`{"$ref": "#"}`, "web/values.schema.json: values of chart \"web\": at '': both"},
		"no object":       {`[]`, "web/values.schema.json: the schema is not valid: at '': "},
		"fault and a URL": {`{"properties": {"a": {"type": "text"}, "b": {"$ref": "https://example.com/x"}}}`, "web/values.schema.json: the schema "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, func(t *testing.T, engine Engine) {
				_, err := render(t, engine, map[string]string{"values.schema.json": tt.schema}, Options{})
				wantError(t, err, tt.want)
			})
		})
	}
}
