package export

import (
	"fmt"
	"strings"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// Layout is the files of Argo CD's folder resource_customizations, by their
// path with slashes: <group>/<kind>/health.lua, health_test.yaml and
// testdata/*.yaml, or <kind>/... for the core group. Dropped into Argo CD's source
// tree they pass its TestLuaHealthScript, which runs each script with the string
// library and wants the exact status and message.
//
// A "*" is a "_" in the name of a folder. Argo CD 3.1 and later read that. In an
// earlier one no object belongs to such a folder, so its tests fail, and 2.14 does not
// build with a group whose name begins with "_": leave those folders out there.
//
// The cases of a check stand with the target that their object belongs to. A case
// whose object has none of the check's targets, or belongs to another check, is an
// error.
func Layout(scripts []Script, cases map[*health.Check][]Case) (map[string][]byte, error) {
	all, err := entries(scripts)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	tests := map[string][]any{}
	for _, e := range all {
		files[folder(e)+"/health.lua"] = []byte(e.lua)
		tests[folder(e)] = []any{}
	}
	var faults diag.List
	for _, s := range scripts {
		for _, c := range cases[s.Check] {
			e, fact := place(all, s.Check, c)
			if fact != "" {
				faults.Addf(s.Check.File, s.Check.Line, 0, "case %q of check %q: %s", c.Name, s.Check.Name, fact)
				continue
			}
			name := fileName(files, folder(e), c.Name)
			files[folder(e)+"/"+name] = yamldoc.AppendYAML(nil, c.Object)
			tests[folder(e)] = append(tests[folder(e)], map[string]any{
				"inputPath":    name,
				"healthStatus": map[string]any{"status": c.Status, "message": c.Message},
			})
		}
	}
	for name, list := range tests {
		files[name+"/health_test.yaml"] = yamldoc.AppendYAML(nil, map[string]any{"tests": list})
	}
	return files, faults.Err()
}

func folder(e entry) string {
	return strings.ReplaceAll(e.target(), "*", "_")
}

// place is the entry that Argo CD chooses for a case's object, or what is wrong.
func place(all []entry, check *health.Check, c Case) (entry, string) {
	o := object.Object{Value: c.Object}
	version, kind := o.APIVersion(), o.Kind()
	if version == "" || kind == "" {
		return entry{}, "its object has no apiVersion or no kind"
	}
	e, ok := choose(all, o.ID().Group, kind)
	switch {
	case !ok:
		return e, fmt.Sprintf("no check has a target for its object, %s %s", version, kind)
	case e.check != check:
		return e, fmt.Sprintf("its object, %s %s, belongs to %s of check %q", version, kind, e.target(), e.check.Name)
	}
	return e, ""
}

// fileName is a free name for a case, made of the letters and digits of its own.
func fileName(files map[string][]byte, folder, name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	base := strings.Join(words, "-")
	if base = strings.TrimRight(base[:min(len(base), 60)], "-"); base == "" {
		base = "case"
	}
	for n := 1; ; n++ {
		file := "testdata/" + base + ".yaml"
		if n > 1 {
			file = fmt.Sprintf("testdata/%s-%d.yaml", base, n)
		}
		if _, taken := files[folder+"/"+file]; !taken {
			return file
		}
	}
}
