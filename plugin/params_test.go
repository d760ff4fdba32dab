package plugin

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/diag"
)

func TestParseParameters(t *testing.T) {
	t.Parallel()
	p, err := ParseParameters([]byte(`[
		{"name": "renderer", "string": "helm4"},
		{"name": "skip-crds", "string": "true"},
		{"name": "value-files", "array": ["a.yaml", "b.yaml"]},
		{"name": "helm-parameters", "map": {"image.tag": "v1"}},
		{"name": "values", "string": ""}
	]`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"renderer": "helm4", "skip-crds": true, "value-files": []any{"a.yaml", "b.yaml"},
		"helm-parameters": map[string]any{"image.tag": "v1"}, "values": "",
	}
	if got := p.given(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, empty := range []string{"", "  ", "[]", "null"} {
		if p, err := ParseParameters([]byte(empty)); err != nil || len(p.given()) != 0 {
			t.Errorf("%q: got %v, %v, want no parameters", empty, p.given(), err)
		}
	}
}

// A blob of 130 KiB is a parameter like any other (argo-cd 17914).
func TestLargeParameter(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a: b\n", 26*1024)
	data, err := json.Marshal([]map[string]string{{"name": "values", "string": text}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParseParameters(data)
	if err != nil || p.Values != text {
		t.Errorf("got %d bytes and error %v, want %d bytes", len(p.Values), err, len(text))
	}
}

func TestParameterErrors(t *testing.T) {
	t.Parallel()
	const marker = "s3cr3t-marker"
	tests := map[string]struct{ json, want, hint string }{
		"unknown":         {`[{"name": "skipCrds", "string": "true"}]`, `unknown parameter "skipCrds"`, `did you mean "skip-crds"?`},
		"typo":            {`[{"name": "realease-name", "string": "a"}]`, `unknown parameter "realease-name"`, `did you mean "release-name"?`},
		"far off":         {`[{"name": "colour", "string": "red"}]`, `unknown parameter "colour"`, ""},
		"twice":           {`[{"name": "values", "string": "a"}, {"name": "values", "string": "b"}]`, `parameter "values" is given twice`, ""},
		"array for map":   {`[{"name": "helm-parameters", "array": ["` + marker + `"]}]`, `parameter "helm-parameters": got array, want map`, "give a map"},
		"string for list": {`[{"name": "value-files", "string": "` + marker + `"}]`, `parameter "value-files": got string, want array`, "give an array"},
		"no value":        {`[{"name": "release-name"}]`, `parameter "release-name": got null, want string`, ""},
		"bad boolean":     {`[{"name": "skip-tests", "string": "` + marker + `"}]`, `neither "true" nor "false"`, ""},
		"not a list":      {`{"name": "` + marker + `"}`, `want a list`, ""},
		"not JSON":        {`[{"name": ` + marker + `}]`, `not valid JSON`, ""},
		"cut off":         {`[{"name": "values", "string": "` + marker, `not valid JSON`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseParameters([]byte(tt.json))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got error %v, want %q", err, tt.want)
			}
			if !strings.Contains(diag.Hint(err), tt.hint) {
				t.Errorf("got hint %q, want %q", diag.Hint(err), tt.hint)
			}
			if strings.Contains(err.Error()+diag.Hint(err), marker) {
				t.Errorf("the error %q quotes a value", err)
			}
		})
	}
}

func TestSetParameter(t *testing.T) {
	t.Parallel()
	var p Parameters
	for _, assignment := range []string{
		"release-name=web", "values=a: b=c\nd: e", "value-files[]=a.yaml", "value-files[]=b=c.yaml",
		"helm-parameters[image.tag]=v1", "helm-parameters[list[0].name]=x=y", "helm-parameters[empty]=", "skip-crds=true",
	} {
		if err := p.Set(assignment); err != nil {
			t.Fatalf("%q: %v", assignment, err)
		}
	}
	want := map[string]any{
		"release-name": "web", "values": "a: b=c\nd: e", "value-files": []any{"a.yaml", "b=c.yaml"},
		"helm-parameters": map[string]any{"image.tag": "v1", "list[0].name": "x=y", "empty": ""}, "skip-crds": true,
	}
	if got := p.given(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, bad := range []string{"release-name", "release-name[]=a", "value-files[x]=a", "helm-parameters[]=a", "helm-parameters[a=b", "nope=1", "=x"} {
		if err := p.Set(bad); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

// A parameter of the Application replaces that of the file as a whole.
func TestOverride(t *testing.T) {
	t.Parallel()
	file := Parameters{}
	for _, a := range []string{"value-files[]=a.yaml", "value-files[]=b.yaml", "helm-parameters[a]=1", "skip-crds=true", "release-name=web"} {
		if err := file.Set(a); err != nil {
			t.Fatal(err)
		}
	}
	app := Parameters{}
	for _, a := range []string{"value-files[]=c.yaml", "helm-parameters[b]=2", "skip-crds=false"} {
		if err := app.Set(a); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]any{
		"value-files": []any{"c.yaml"}, "helm-parameters": map[string]any{"b": "2"}, "skip-crds": false, "release-name": "web",
	}
	if got := file.override(app).given(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if len(file.ValueFiles) != 2 {
		t.Errorf("overriding changed the file's parameters: %v", file.ValueFiles)
	}
}
