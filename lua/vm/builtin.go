package vm

import (
	"io/fs"
	"path"
	"strings"

	"github.com/argoproj/argo-cd/v2/resource_customizations"
)

// Kind names a health script that Argo CD brings along.
type Kind struct{ Group, Kind string }

const scriptName = "health.lua"

// Builtin returns the health script that Argo CD brings along for a kind. Argo CD
// runs it with useOpenLibs.
func Builtin(group, kind string) (script string, ok bool) {
	data, err := resource_customizations.Embedded.ReadFile(path.Join(group, kind, scriptName))
	return string(data), err == nil
}

// Builtins lists the kinds for which Argo CD brings a health script along, sorted.
func Builtins() []Kind {
	var kinds []Kind
	// Walking an embedded file system does not fail.
	_ = fs.WalkDir(resource_customizations.Embedded, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != scriptName {
			return err
		}
		group, kind, found := strings.Cut(path.Dir(file), "/")
		if !found {
			group, kind = "", group
		}
		kinds = append(kinds, Kind{Group: group, Kind: kind})
		return nil
	})
	return kinds
}

// Fixtures returns the objects, as YAML by file name, that Argo CD tests the health
// script of a kind on.
func Fixtures(group, kind string) map[string][]byte {
	folder := path.Join(group, kind, "testdata")
	entries, err := resource_customizations.Embedded.ReadDir(folder)
	if err != nil {
		return nil // a script without tests
	}
	fixtures := map[string][]byte{}
	for _, entry := range entries {
		if data, err := resource_customizations.Embedded.ReadFile(path.Join(folder, entry.Name())); err == nil {
			fixtures[entry.Name()] = data
		}
	}
	return fixtures
}
