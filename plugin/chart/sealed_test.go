package chart

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

func TestIsExtra(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"Chart.yaml": false, "Chart.lock": false, "values.yaml": false, "values.schema.json": false, "requirements.yaml": false,
		"templates/a.yaml": false, "templates/sub/a.yaml": false, "crds/a.yaml": false, "charts/db.tgz": false,
		"charts/db/Chart.yaml": false, "charts/db/values.yaml": false, "charts/db/templates/a.yaml": false, "charts/db/charts/x/crds/a.yaml": false,
		"secrets.yaml": true, "values-production.yaml": true, "files/a.yaml": true, "files/templates/a.yaml": true,
		"charts/db/secrets.yaml": true, "charts/db/charts/x/files/a": true, "templates.yaml": true,
	} {
		if got := isExtra(name); got != want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// vault is a file system whose files with a name in it are encrypted.
type vault struct {
	fstest.MapFS
	sealed map[string]string // name to plaintext, or to "" where no key opens it
}

func (v vault) ReadSealed(name string) ([]byte, func() ([]byte, error), error) {
	stored, err := fs.ReadFile(v.MapFS, name)
	plain, isSealed := v.sealed[name]
	if err != nil || !isSealed {
		return stored, nil, err
	}
	return stored, func() ([]byte, error) {
		if plain == "" {
			return nil, fmt.Errorf("%s: %w", name, errNoKey)
		}
		return []byte(plain), nil
	}, nil
}

func (v vault) unseal(name string) ([]byte, error) {
	_, open, err := v.ReadSealed(name)
	if err != nil {
		return nil, err
	}
	return open()
}

var errNoKey = errors.New("no key")

// TestSealed: which sealed files a render opens, and which of those that cannot be
// opened it fails on.
func TestSealed(t *testing.T) {
	t.Parallel()
	const stored = "ENC[...]"
	for name, tc := range map[string]struct {
		template string
		sealed   map[string]string
		more     map[string]string
		want     string // in the output, or "error" with what is in the error
	}{
		"opened":                                   {`{{ .Files.Get "a" }}`, map[string]string{"web/a": "plain"}, nil, "plain"},
		"in a template that includes":              {`{{ include "x" . }}{{ define "x" }}{{ .Files.Get "a" }}{{ end }}`, map[string]string{"web/a": "plain"}, nil, "plain"},
		"in the text of a value":                   {`{{ tpl .Values.t . }}`, map[string]string{"web/a": "plain"}, map[string]string{"web/values.yaml": "t: '{{ .Files.Get \"a\" }}'\n"}, "plain"},
		"a subchart's own":                         {`x`, map[string]string{"web/charts/db/a": "plain"}, map[string]string{"web/charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n", "web/charts/db/templates/c.yaml": `v: {{ .Files.Get "a" }}`}, "plain"},
		"not opened, not read":                     {`{{ len (.Files.Glob "b*") }}`, map[string]string{"web/a": ""}, nil, "v: 0"},
		"not opened, in a glob":                    {`{{ len (.Files.Glob "*") }}`, map[string]string{"web/a": ""}, nil, "error web/a: no key"},
		"not opened, behind a default":             {`{{ ((.Files.Get "a") | fromYaml).password | default "changeme" }}`, map[string]string{"web/a": ""}, nil, "error web/a: no key"},
		"not opened, compared":                     {`{{ ne ((.Files.Get "a") | fromYaml).env "production" }}`, map[string]string{"web/a": ""}, nil, "error web/a: no key"},
		"not opened, a computed name":              {`{{ .Files.Get (printf "%s" "b") }}`, map[string]string{"web/a": ""}, nil, "error web/a: no key"},
		"not opened, a name in a variable":         {`{{ $n := "b" }}{{ $.Files.Get $n }}`, map[string]string{"web/a": ""}, nil, "error web/a: no key"},
		"not opened, by index":                     {`{{ (index . "Files").Get "b" }}`, map[string]string{"web/a": ""}, nil, "error web/a: no key"},
		"not opened, Files handed on":              {`{{ with .Files }}{{ .Get "b" }}{{ end }}`, map[string]string{"web/a": ""}, nil, "error web/a: no key"},
		"only spoken of":                           {`x # Files are not read`, map[string]string{"web/a": ""}, nil, "v: x"},
		"a decrypted one that leads on":            {`{{ tpl (.Files.Get "a") . }}`, map[string]string{"web/a": `{{ .Files.Get "b" }}`, "web/b": ""}, nil, "error web/b: no key"},
		"not opened, a glob that does not compile": {`{{ range $n, $b := .Files.Glob "[" }}{{ $b | toString | sha256sum }}{{ end }}`, map[string]string{"web/a": ""}, nil, "error web/a: no key"},
		"not opened, a glob that panics":           {`{{ len (.Files.Glob "{a*,a}") }}`, map[string]string{"web/a": ""}, nil, "error web/a: no key"},
		"not opened, all that there is":            {`{{ toJson . | contains "RU5D" }}`, map[string]string{"web/a": ""}, nil, "v: false"},
		"spoken of in another file":                {`x`, map[string]string{"web/a": ""}, map[string]string{"web/README.md": "{{ .Files.Get \"a\" }}"}, "v: x"},
		"spoken of in a comment":                   {`{{/* .Files.Get "a" */}}x # .Files.Get "a"`, map[string]string{"web/a": ""}, nil, "v: x"},
		"a byte order mark":                        {`{{ .Files.Get "a" }}`, map[string]string{"web/a": "\ufeffplain"}, nil, "v: plain"},
		"not opened, read":                         {`{{ .Files.Get "a" | sha256sum }}`, map[string]string{"web/a": ""}, nil, "error web/a: no key"},
		"not opened, its length":                   {`{{ len (.Files.Get "a") }}`, map[string]string{"web/a": ""}, nil, "error web/a: no key"},
		"not opened, and a branch":                 {`{{ if .Files.Get "a" }}y{{ end }}`, map[string]string{"web/a": ""}, nil, "error web/a: no key"},
		"two, one of them read":                    {`{{ .Files.Get "b" }}`, map[string]string{"web/a": "", "web/b": "plain"}, nil, "plain"},
		"a fault of its own":                       {`{{ fail "no" }}{{ .Files.Get "b" }}`, map[string]string{"web/a": ""}, nil, "error no"},
		"a template that is sealed":                {`x`, map[string]string{"web/templates/s.yaml": "v: plain"}, nil, "plain"},
		"values that nobody can open":              {`x`, map[string]string{"web/values.yaml": ""}, nil, "error web/values.yaml: no key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := vault{fstest.MapFS{}, tc.sealed}
			files := map[string]string{"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "web/templates/c.yaml": "v: " + tc.template}
			for name, text := range tc.more {
				files[name] = text
			}
			for name := range tc.sealed {
				files[name] = stored
			}
			for name, text := range files {
				v.MapFS[name] = &fstest.MapFile{Data: []byte(text)}
			}
			text := ""
			ch, err := Load(v, "web")
			if err == nil {
				var out *Output
				if out, err = ch.Render(context.Background(), Helm3, Options{ReleaseName: "x", Unseal: v.unseal}); err == nil {
					text = string(out.Stream())
				}
			}
			if want, fails := strings.CutPrefix(tc.want, "error "); fails {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, %v, want the error %q", text, err, want)
				}
				return
			}
			if err != nil || !strings.Contains(text, tc.want) || strings.Contains(text, stored) {
				t.Errorf("got %q, %v, want %q", text, err, tc.want)
			}
		})
	}
}
