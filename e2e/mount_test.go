package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A mount is a folder as a kubelet makes one of a ConfigMap or a Secret: each
// file is a link into the folder ..data, which is itself a link, to the folder of
// the present content.
type mount struct {
	dir     string
	changes int
	names   []string
}

// present is the link that a change moves.
const present = "..data"

func newMount(t testing.TB, files map[string]string) *mount {
	t.Helper()
	m := &mount{dir: t.TempDir()}
	m.change(t, files)
	return m
}

// change replaces all files at once, as a kubelet does when the ConfigMap or the
// Secret was changed.
func (m *mount) change(t testing.TB, files map[string]string) {
	t.Helper()
	m.changes++
	content := fmt.Sprintf("..change-%d", m.changes)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.Mkdir(filepath.Join(m.dir, content), 0o755))
	for name, text := range files {
		check(os.WriteFile(filepath.Join(m.dir, content, name), []byte(text), 0o644))
	}
	old, _ := os.Readlink(filepath.Join(m.dir, present)) // none the first time
	check(os.Symlink(content, filepath.Join(m.dir, present+"_tmp")))
	check(os.Rename(filepath.Join(m.dir, present+"_tmp"), filepath.Join(m.dir, present)))
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if !slices.Contains(m.names, name) {
			check(os.Symlink(filepath.Join(present, name), filepath.Join(m.dir, name)))
		}
	}
	for _, name := range m.names {
		if !slices.Contains(names, name) {
			check(os.Remove(filepath.Join(m.dir, name)))
		}
	}
	m.names = names
	if old != "" {
		check(os.RemoveAll(filepath.Join(m.dir, old)))
	}
}

// divert makes a file of the mount a link to somewhere else, as whoever could
// write there would.
func (m *mount) divert(t testing.TB, name, target string) {
	t.Helper()
	file := filepath.Join(m.dir, name)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, file); err != nil {
		t.Fatal(err)
	}
}
