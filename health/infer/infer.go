package infer

import (
	"strings"
)

// A File is the content of a file, YAML or JSON, and its name for messages and
// comments.
type File struct {
	Name string
	Data []byte
}

// Draft drafts a HealthCheck for each CustomResourceDefinition of a file, as YAML, one
// document each. Objects are files of objects of these kinds; lists as kubectl prints
// them are taken apart, and objects of other kinds are passed over if there is one of
// these. Errors are of package diag.
func Draft(crds File, objects []File) ([]byte, error) {
	defs, err := definitions(crds)
	if err != nil {
		return nil, err
	}
	found, err := samples(objects, defs)
	if err != nil {
		return nil, err
	}
	named := map[string]int{}
	for _, def := range defs {
		named[strings.ToLower(def.kind)]++
	}
	var text strings.Builder
	for i, def := range defs {
		if i > 0 {
			text.WriteString("---\n")
		}
		// The kind alone reads better, where it is enough.
		name := strings.ToLower(def.kind)
		if named[name] > 1 {
			name += "." + def.group
		}
		newDraft(gather(def, found[def])).write(&text, name)
	}
	return []byte(text.String()), nil
}
