package source_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"hallmark.dev/hallmark/plugin/source"
)

// chart has links of every kind; the listings below are those of Helm 3.22.0's
// internal/sympath over the same files on disk.
func chart() []entry {
	return []entry{
		file("chart/Chart.yaml", ""), file("chart/a/y", ""), file("chart/a-b", ""), file("chart/a.b", ""),
		folder("chart/empty"), file("shared/lib/t.tpl", ""), file("shared/v.yaml", ""),
		link("chart/lib", "../shared/lib"), link("chart/values.yaml", "../shared/v.yaml"), link("shared/lib/again", "../v.yaml"),
		link("linked", "chart"),
	}
}

func walk(fsys fs.FS, dir string, decide func(p string) error) (string, error) {
	var seen []string
	err := source.Walk(fsys, dir, func(p string, d fs.DirEntry, err error) error {
		line := p
		if d != nil && d.IsDir() {
			line += "/"
		}
		if d != nil && d.Name() != p[strings.LastIndexByte(p, '/')+1:] {
			line += " named " + d.Name()
		}
		seen = append(seen, line)
		if err != nil {
			return err
		}
		if decide != nil {
			return decide(p)
		}
		return nil
	})
	return strings.Join(seen, " "), err
}

func TestWalk(t *testing.T) {
	t.Parallel()
	all := "chart/ chart/Chart.yaml chart/a/ chart/a/y chart/a-b chart/a.b chart/empty/ chart/lib/ chart/lib/again chart/lib/t.tpl chart/values.yaml"
	// Helm sorts the names of a folder, so that "a" with its content comes before "a-b".
	tests := []struct {
		name, dir, on string
		decision      error
		want          string
	}{
		{"everything", "chart", "", nil, all},
		{"from a link", "linked", "", nil, strings.ReplaceAll(all, "chart/", "linked/")},
		{"a file", "chart/a-b", "", nil, "chart/a-b"},
		{"a link to a file", "chart/values.yaml", "", nil, "chart/values.yaml"},
		{"skip a folder", "chart", "chart/a", fs.SkipDir, strings.ReplaceAll(all, " chart/a/y", "")},
		{"skip a linked folder", "chart", "chart/lib", fs.SkipDir, strings.ReplaceAll(all, " chart/lib/again chart/lib/t.tpl", "")},
		{"skip at a file leaves the folder", "chart", "chart/a-b", fs.SkipDir, before(all, " chart/a.b")},
		{"skip at a linked file does not", "chart", "chart/lib/again", fs.SkipDir, all},
		{"skip the root", "chart", "chart", fs.SkipDir, "chart/"},
		{"skip all", "chart", "chart/a/y", fs.SkipAll, before(all, " chart/a-b")},
	}
	memory := tree(t, source.Limits{}, chart()...)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for name, fsys := range map[string]fs.FS{"view": memory.View(), "wrapper": wrapper{memory.View()}} {
				got, err := walk(fsys, tt.dir, func(p string) error {
					if p == tt.on {
						return tt.decision
					}
					return nil
				})
				if err != nil || got != tt.want {
					t.Errorf("%s: %v, got\n%s, want\n%s", name, err, got, tt.want)
				}
			}
		})
	}
}

func TestWalkErrors(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	tests := []struct {
		name    string
		entries []entry
		skip    string
		want    string // the error, or "" for none
		seen    string
	}{
		{"missing root", nil, "", "lstat c: file does not exist", "c"},
		{"dangling link, unasked", []entry{file("c/a", ""), link("c/l", "x")}, "c/l", `symlink "c/l" points to "x", which does not exist`, "c/ c/a"},
		{"link to a loop", []entry{link("c/l", "m"), link("c/m", "l")}, "", `leads back to itself`, "c/"},
		{"link to the folder above", []entry{file("c/d/a", ""), link("c/d/l", "..")}, "", `c/d/l: it leads back to "c", which contains it`, "c/ c/d/ c/d/a c/d/l/"},
		{"link to itself as a folder", []entry{link("c/l", ".")}, "", `it leads back to "c"`, "c/ c/l/"},
		{"link to the root", []entry{file("c/a", ""), link("c/l", "..")}, "", `c/l/c: it leads back to "c"`, "c/ c/a c/l/ c/l/c/"},
		{"loop that is skipped", []entry{file("c/a", ""), link("c/l", "."), file("c/z", "")}, "c/l", "", "c/ c/a c/l/ c/z"},
		{"two ways to one folder", []entry{file("c/a/x", ""), link("c/b", "a"), link("c/d", "a")}, "", "", "c/ c/a/ c/a/x c/b/ c/b/x c/d/ c/d/x"},
		{"error of the function", []entry{file("c/stop", ""), file("c/z", "")}, "", "stop", "c/ c/stop"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tree := tree(t, source.Limits{}, tt.entries...)
			for name, fsys := range map[string]fs.FS{"view": tree.View(), "wrapper": wrapper{tree.View()}} {
				seen, err := walk(fsys, "c", func(p string) error {
					switch p {
					case tt.skip:
						return fs.SkipDir
					case "c/stop":
						return stop
					}
					return nil
				})
				if seen != tt.seen {
					t.Errorf("%s: saw %q, want %q", name, seen, tt.seen)
				}
				if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: got error %v, want %q", name, err, tt.want)
				}
			}
		})
	}
}

func TestWalkOnDisk(t *testing.T) {
	t.Parallel()
	root, _ := onDisk(t, map[string]string{
		"c/a": "", "c/lib": "-> ROOT/shared", "shared/x": "", "out/l": "-> OUT", "c2/loop": "-> ROOT/c2",
	})
	tree := openDir(t, root, source.Limits{})
	for name, fsys := range map[string]fs.FS{"view": tree.View(), "wrapper": wrapper{tree.View()}} {
		if got, err := walk(fsys, "c", nil); err != nil || got != "c/ c/a c/lib/ c/lib/x" {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		if _, err := walk(fsys, "out", nil); !errors.As(err, new(*source.EscapeError)) {
			t.Errorf("%s: got %v, want an EscapeError", name, err)
		}
		if _, err := walk(fsys, "c2", nil); err == nil {
			t.Errorf("%s: went round a loop", name)
		}
	}
}

// plain hides the links of a file system.
type plain struct{ fs.FS }

func TestWalkWithoutLinks(t *testing.T) {
	t.Parallel()
	m := fstest.MapFS{"c/a": {}, "c/b/x": {}, "c/l": {Data: []byte("b"), Mode: fs.ModeSymlink}}
	if got, err := walk(plain{m}, "c", nil); err != nil || got != "c/ c/a c/b/ c/b/x c/l" {
		t.Errorf("without links: got %q, %v", got, err)
	}
	if got, err := walk(m, "c", nil); err != nil || got != "c/ c/a c/b/ c/b/x c/l/ c/l/x" {
		t.Errorf("with links: got %q, %v", got, err)
	}
	broken := listless{m}
	if got, err := walk(broken, "c", nil); fmt.Sprint(err) != "no listing" || got != "c/ c/" {
		t.Errorf("got %q, %v", got, err)
	}
}

// listless cannot list folders.
type listless struct{ fs.FS }

func (listless) ReadDir(string) ([]fs.DirEntry, error) { return nil, errors.New("no listing") }

// before returns what stands in s before the first sep, or s where it is absent.
func before(s, sep string) string {
	head, _, _ := strings.Cut(s, sep)
	return head
}
