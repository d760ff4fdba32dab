package lint

import (
	"maps"
	"path"
	"slices"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/lua/vm"
)

// Builtins lints health scripts that Argo CD brings along ([vm.Builtins] lists them),
// with the libraries on, as Argo CD runs them, and with the objects that Argo CD tests
// them on. Nothing is measured.
func Builtins(kinds []vm.Kind) []Finding {
	findings := make([][]Finding, len(kinds))
	object.Spread(len(kinds), func() func(int) {
		return func(i int) {
			k := kinds[i]
			script, _ := vm.Builtin(k.Group, k.Kind)
			findings[i] = Script(path.Join(k.Group, k.Kind, "health.lua"), script, Options{
				Group: k.Group, Kind: k.Kind, OpenLibs: true, Objects: fixtures(k),
			})
		}
	})
	return sorted(slices.Concat(findings...))
}

// fixtures are the objects of Argo CD's tests. Beside them lie files for the tests of
// actions.
func fixtures(k vm.Kind) []Object {
	var objects []Object
	files := vm.Fixtures(k.Group, k.Kind)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		value, err := yamldoc.Decode(name, files[name])
		if err != nil {
			continue
		}
		if o, ok := value.(map[string]any); ok && o["kind"] == k.Kind {
			objects = append(objects, Object{Name: "testdata/" + name, Value: o})
		}
	}
	return objects
}
