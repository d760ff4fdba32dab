package chart

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
)

// Helm resolves a $ref in values.schema.json with a loader for http, https and
// file URLs: rendering would reach for the network or for any file of the
// machine. schemaRefs refuses references that the schemas themselves do not
// define. The meta-schemas of json-schema.org are compiled into the validator.
func schemaRefs(schemas []namedFile) error {
	for _, s := range schemas {
		var doc any
		if err := json.Unmarshal(s.data, &doc); err != nil {
			continue // the validator reports it, with Helm's own words
		}
		base := &url.URL{Scheme: "file", Path: "/values.schema.json"}
		known := map[string]bool{base.String(): true}
		var refs []string
		collectRefs(doc, base, known, &refs)
		for _, ref := range refs {
			if known[ref] || strings.HasPrefix(ref, "urn:") || strings.Contains(ref, "://json-schema.org/") {
				continue
			}
			return diag.WithHint(
				&diag.Error{File: s.name, Msg: fmt.Sprintf("the schema refers to %q, which is outside the chart", ref)},
				"put the definitions into the schema, or set skip-schema-validation")
		}
	}
	return nil
}

// collectRefs gathers the identifiers that a schema defines and the references
// that it makes, both as absolute URLs without fragment.
func collectRefs(v any, base *url.URL, known map[string]bool, refs *[]string) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"$id", "id"} {
			if id, ok := v[key].(string); ok {
				if u, err := base.Parse(id); err == nil {
					base = withoutFragment(u)
					known[base.String()] = true
				}
			}
		}
		if ref, ok := v["$ref"].(string); ok {
			if u, err := base.Parse(ref); err == nil {
				*refs = append(*refs, withoutFragment(u).String())
			}
		}
		for _, e := range v {
			collectRefs(e, base, known, refs)
		}
	case []any:
		for _, e := range v {
			collectRefs(e, base, known, refs)
		}
	}
}

func withoutFragment(u *url.URL) *url.URL {
	bare := *u
	bare.Fragment, bare.RawFragment = "", ""
	return &bare
}
