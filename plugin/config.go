package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// ConfigFile is the file beside the sources that holds parameters in the
// repository, so that a laptop and the sidecar give the same bytes:
//
//	apiVersion: hallmark.dev/v1
//	kind: Render
//	spec:
//	  renderer: helm4
//	  value-files: [values-production.yaml]
//	  values:                # or a block of YAML text
//	    replicas: 3
//
// The names below spec are those of the parameters. A parameter that the
// Application gives replaces the file's value as a whole.
const ConfigFile = "hallmark.yaml"

// loadFile reads hallmark.yaml in dir; without one the parameters are empty.
func loadFile(fsys fs.FS, dir string) (Parameters, error) {
	var p Parameters
	name := path.Join(dir, ConfigFile)
	data, err := fs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	value, err := yamldoc.Decode(name, data)
	if err != nil {
		return p, err
	}
	doc, ok := value.(map[string]any)
	if !ok {
		return p, &diag.Error{File: name, Line: 1, Msg: "want a mapping with apiVersion, kind and spec"}
	}
	at := func(keys ...any) *diag.Error {
		e := &diag.Error{File: name}
		if line, col, ok := yamldoc.Find(data, keys...); ok {
			e.Line, e.Col = line, col
		}
		return e
	}
	var list diag.List
	fault := func(e *diag.Error, format string, args ...any) {
		e.Msg = fmt.Sprintf(format, args...)
		list.Add(e)
	}
	for field, want := range map[string]string{"apiVersion": "hallmark.dev/v1", "kind": "Render"} {
		if doc[field] != want {
			fault(at(field), "%s: want %q", field, want)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "spec"}, key) {
			fault(at(key), "unknown field %q", key)
		}
	}
	spec, ok := doc["spec"].(map[string]any)
	if !ok && doc["spec"] != nil {
		fault(at("spec"), "spec: want a mapping of parameters")
	}
	hint := ""
	for _, key := range slices.Sorted(maps.Keys(spec)) {
		if err := p.assign(key, spec[key]); err != nil {
			fault(at("spec", key), "%v", err)
			if hint == "" {
				hint = diag.Hint(err)
			}
		}
	}
	if len(list) > 0 && hint != "" {
		return p, diag.WithHint(list.Err(), hint)
	}
	return p, list.Err()
}
