package source_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"hallmark.dev/hallmark/plugin/source"
)

// onDisk makes a folder. A value that begins with "-> " is a symlink, in which
// ROOT stands for the folder and OUT for one beside it; OUT holds secret.txt. A
// key that ends with "/" is a folder.
func onDisk(t *testing.T, files map[string]string) (root, out string) {
	t.Helper()
	base := t.TempDir()
	root, out = filepath.Join(base, "root"), filepath.Join(base, "out")
	write(t, filepath.Join(out, "secret.txt"), "outside")
	if err := os.MkdirAll(root, 0o750); err != nil {
		t.Fatal(err)
	}
	for name, body := range files {
		p := filepath.Join(root, filepath.FromSlash(name))
		switch target, ok := strings.CutPrefix(body, "-> "); {
		case ok:
			if err := os.MkdirAll(filepath.Dir(p), 0o750); err != nil {
				t.Fatal(err)
			}
			symlink(t, strings.NewReplacer("ROOT", root, "OUT", out).Replace(target), p)
		case strings.HasSuffix(name, "/"):
			if err := os.MkdirAll(p, 0o750); err != nil {
				t.Fatal(err)
			}
		default:
			write(t, p, body)
		}
	}
	return root, out
}

func write(t *testing.T, p, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(p), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, p string) {
	t.Helper()
	if err := os.Symlink(target, p); err != nil {
		t.Fatal(err)
	}
}

func openDir(t *testing.T, root string, lim source.Limits) *source.Tree {
	t.Helper()
	tree, err := source.Dir(root, lim)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	return tree
}

func TestDirReads(t *testing.T) {
	t.Parallel()
	root, _ := onDisk(t, map[string]string{
		"chart/values.yaml":  "inside",
		"chart/chain1":       "-> chain2",
		"chart/chain2":       "-> ../links/chain3",
		"links/chain3":       "-> ../chart/values.yaml",
		"links/folder":       "-> ../chart",
		"links/deep":         "-> folder/../chart/values.yaml",
		"links/absolute":     "-> ROOT/chart/values.yaml",
		"links/absolute-dir": "-> ROOT/chart/",
		"links/root":         "-> ROOT",
		"links/self":         "-> ..",
		"links/via-absolute": "-> absolute-dir/values.yaml",
		"links/dot":          "-> ./././folder//values.yaml",
		`C:\x`:               "inside",
		"links/out":          "-> ../../out/secret.txt",
		"links/out-dir":      "-> ../../out",
		"links/out-abs":      "-> OUT/secret.txt",
		"links/out-abs-up":   "-> ROOT/../out/secret.txt",
		"links/out-in":       "-> ../../root/chart/values.yaml",
		"links/out-prefix":   "-> ROOT-other/x",
		"links/out-chain":    "-> out",
		"links/out-folder":   "-> folder/../../out/secret.txt",
		"links/dangling":     "-> nowhere",
		"links/dangling2":    "-> dangling",
		"links/below-file":   "-> ../chart/values.yaml/..",
		"links/loop1":        "-> loop2",
		"links/loop2":        "-> loop1",
		"links/loop-self":    "-> loop-self/x",
		".git/HEAD":          "ref",
		"links/git":          "-> ../.git/HEAD",
	})
	const inside = "inside"
	tests := []struct {
		name string
		want string // content, or a part of the error
		kind string // "": content, "escape", "missing" or "other"
	}{
		{"chart/values.yaml", inside, ""},
		{"chart/chain1", inside, ""},
		{"links/folder/values.yaml", inside, ""},
		{"links/folder/chain1", inside, ""},
		{"links/deep", inside, ""},
		{"links/absolute", inside, ""},
		{"links/absolute-dir/values.yaml", inside, ""},
		{"links/root/links/self/chart/values.yaml", inside, ""},
		{"links/via-absolute", inside, ""},
		{"links/dot", inside, ""},
		{`C:\x`, inside, ""},
		{"links/out", `symlink "links/out" leaves the repository root: it points to "../../out/secret.txt"`, "escape"},
		{"links/out-dir/secret.txt", `symlink "links/out-dir" leaves`, "escape"},
		{"links/out-abs", `symlink "links/out-abs" leaves`, "escape"},
		{"links/out-abs-up", `symlink "links/out-abs-up" leaves`, "escape"},
		{"links/out-in", `symlink "links/out-in" leaves`, "escape"},
		{"links/out-prefix", `symlink "links/out-prefix" leaves`, "escape"},
		{"links/out-chain", `symlink "links/out" leaves`, "escape"},
		{"links/out-folder", `symlink "links/out-folder" leaves`, "escape"},
		{"links/dangling", `symlink "links/dangling" points to "nowhere", which does not exist`, "missing"},
		{"links/dangling2", `open links/dangling2: symlink "links/dangling" points to`, "missing"},
		{"links/below-file", `does not exist`, "missing"},
		{"links/loop1", `leads back to itself`, "other"},
		{"links/loop-self", `symlink "links/loop-self" leads back to itself`, "other"},
		{"links/git", `does not exist`, "missing"},
		{".git/HEAD", `open .git/HEAD: file does not exist`, "missing"},
		{"nowhere/x", `file does not exist`, "missing"},
		{"chart/values.yaml/x", `file does not exist`, "missing"},
		{"chart", "open chart: not a file but a folder", "other"},
		{"../out/secret.txt", "invalid argument", "other"},
		{"/etc/passwd", "invalid argument", "other"},
		{"chart/../chart/values.yaml", "invalid argument", "other"},
		{"", "invalid argument", "other"},
		{strings.Repeat("links/self/", 500) + "x", "name is longer than 4096 bytes", "other"},
		{strings.Repeat("links/self/", 41) + "x", "more than 40 symlinks", "other"},
	}
	tree := openDir(t, root, source.Limits{})
	for _, tt := range tests {
		t.Run(tt.name[:min(len(tt.name), 60)], func(t *testing.T) {
			t.Parallel()
			for range 2 { // the second time from the cache
				v := tree.View()
				data, err := v.ReadFile(tt.name)
				if tt.kind == "" {
					if err != nil || string(data) != tt.want {
						t.Errorf("got %q, %v, want %q", data, err, tt.want)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("got %q, %v, want an error with %q", data, err, tt.want)
				}
				if outer := (*fs.PathError)(nil); !errors.As(err, &outer) {
					t.Errorf("got a %T, want a PathError", err)
				}
				if escape := (*source.EscapeError)(nil); errors.As(err, &escape) != (tt.kind == "escape") {
					t.Errorf("%v: EscapeError wanted: %t", err, tt.kind == "escape")
				}
				if errors.Is(err, fs.ErrNotExist) != (tt.kind == "missing") {
					t.Errorf("%v: ErrNotExist wanted: %t", err, tt.kind == "missing")
				}
				if _, again := v.Open(tt.name); tt.name != "chart" && (again == nil || again.Error() != err.Error()) {
					t.Errorf("Open gives %v, ReadFile %v", again, err)
				}
				// A link's text is the repository's own; the rest must not tell.
				if !strings.Contains(tt.name, "out-prefix") && strings.Contains(err.Error(), root) {
					t.Errorf("error %q has a path of this machine", err)
				}
			}
		})
	}
}

// A root that is reached through a link, with links in either spelling.
func TestDirRootThroughLink(t *testing.T) {
	t.Parallel()
	root, out := onDisk(t, map[string]string{"a": "inside", "real": "-> ROOT/a"})
	alias := filepath.Join(out, "alias")
	symlink(t, root, alias)
	symlink(t, filepath.Join(alias, "a"), filepath.Join(root, "aliased"))
	v := openDir(t, alias, source.Limits{}).View()
	for _, name := range []string{"a", "real", "aliased"} {
		if data, err := v.ReadFile(name); err != nil || string(data) != "inside" {
			t.Errorf("%s: got %q, %v", name, data, err)
		}
	}
	if _, err := openDir(t, root, source.Limits{}).View().ReadFile("aliased"); err == nil {
		t.Error("a link by way of a path outside the root was followed")
	}
}

func TestDirRootErrors(t *testing.T) {
	t.Parallel()
	root, _ := onDisk(t, map[string]string{"file": ""})
	for _, name := range []string{"file", "missing"} {
		if _, err := source.Dir(filepath.Join(root, name), source.Limits{}); err == nil {
			t.Errorf("%s: accepted as a root", name)
		}
	}
}

// The check of a path and the open are two steps; what changes between them
// must not lead outside. Stat makes the View remember that there is no link.
func TestDirSwappedBetweenStatAndOpen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, ask string
		swap      func(t *testing.T, root, out string)
		escape    bool
	}{
		{"file by a link out", "d/secret.txt", func(t *testing.T, root, out string) {
			remove(t, filepath.Join(root, "d/secret.txt"))
			symlink(t, filepath.Join(out, "secret.txt"), filepath.Join(root, "d/secret.txt"))
		}, true},
		{"file by a relative link out", "d/secret.txt", func(t *testing.T, root, _ string) {
			remove(t, filepath.Join(root, "d/secret.txt"))
			symlink(t, "../../out/secret.txt", filepath.Join(root, "d/secret.txt"))
		}, true},
		{"folder by a link out", "d/secret.txt", func(t *testing.T, root, out string) {
			remove(t, filepath.Join(root, "d"))
			symlink(t, out, filepath.Join(root, "d"))
		}, true},
		{"file by a folder", "d/secret.txt", func(t *testing.T, root, _ string) {
			remove(t, filepath.Join(root, "d/secret.txt"))
			write(t, filepath.Join(root, "d/secret.txt/x"), "")
		}, false},
		{"file by a named pipe", "d/secret.txt", func(t *testing.T, root, _ string) {
			remove(t, filepath.Join(root, "d/secret.txt"))
			pipe(t, filepath.Join(root, "d/secret.txt"))
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root, out := onDisk(t, map[string]string{"d/secret.txt": "inside"})
			v := openDir(t, root, source.Limits{}).View()
			if _, err := v.Stat(tt.ask); err != nil {
				t.Fatal(err)
			}
			tt.swap(t, root, out)
			data, err := v.ReadFile(tt.ask)
			if err == nil {
				t.Fatalf("read %q", data)
			}
			if escape := (*source.EscapeError)(nil); errors.As(err, &escape) != tt.escape {
				t.Errorf("%v: EscapeError wanted: %t", err, tt.escape)
			}
			if len(v.Files()) != 0 {
				t.Errorf("recorded %v", v.Files())
			}
		})
	}
	t.Run("listed folder by a link out", func(t *testing.T) {
		t.Parallel()
		root, out := onDisk(t, map[string]string{"d/a": "inside"})
		v := openDir(t, root, source.Limits{}).View()
		if _, err := v.Stat("d"); err != nil {
			t.Fatal(err)
		}
		remove(t, filepath.Join(root, "d"))
		symlink(t, out, filepath.Join(root, "d"))
		escape := (*source.EscapeError)(nil)
		if entries, err := v.ReadDir("d"); !errors.As(err, &escape) {
			t.Errorf("listed %v, %v", entries, err)
		}
		if info, err := v.Lstat("d/secret.txt"); !errors.As(err, &escape) {
			t.Errorf("got %v, %v", info, err)
		}
	})
}

func remove(t *testing.T, p string) {
	t.Helper()
	if err := os.RemoveAll(p); err != nil {
		t.Fatal(err)
	}
}

func pipe(t *testing.T, p string) {
	t.Helper()
	if err := syscall.Mkfifo(p, 0o600); err != nil {
		t.Skip(err)
	}
}

func TestDirSpecialFiles(t *testing.T) {
	t.Parallel()
	root, _ := onDisk(t, map[string]string{"link": "-> pipe"})
	pipe(t, filepath.Join(root, "pipe"))
	v := openDir(t, root, source.Limits{}).View()
	for _, name := range []string{"pipe", "link"} {
		if _, err := v.Open(name); err == nil || !strings.Contains(err.Error(), "not a file but a named pipe") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if info, err := v.Stat("pipe"); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		t.Errorf("got %v, %v", info, err)
	}
}

// What a View has answered it answers again, whatever happens on disk.
func TestDirSnapshot(t *testing.T) {
	t.Parallel()
	root, _ := onDisk(t, map[string]string{"d/a": "old", "l": "-> d/a"})
	tree := openDir(t, root, source.Limits{})
	look := func(v *source.View) string {
		a, errA := v.ReadFile("d/a")
		l, errL := v.ReadFile("l")
		_, errNew := v.ReadFile("d/new")
		entries, err := v.ReadDir("d")
		if err := errors.Join(errA, errL, err); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		b.WriteString(string(a) + " " + string(l))
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(" " + fs.FormatFileInfo(info))
		}
		if errors.Is(errNew, fs.ErrNotExist) {
			b.WriteString(" no-new")
		}
		return b.String()
	}
	v := tree.View()
	before := look(v)
	if want := "old old -r--r--r-- 3 0001-01-01 00:00:00 a no-new"; before != want {
		t.Errorf("got %q, want %q", before, want)
	}
	write(t, filepath.Join(root, "d/a"), "newer")
	write(t, filepath.Join(root, "d/new"), "new")
	remove(t, filepath.Join(root, "l"))
	symlink(t, "d/new", filepath.Join(root, "l"))
	if after := look(v); after != before {
		t.Errorf("got %q, before %q", after, before)
	}
	if fresh := look(tree.View()); !strings.HasPrefix(fresh, "newer new ") {
		t.Errorf("another view got %q", fresh)
	}
}

func TestDirLimits(t *testing.T) {
	t.Parallel()
	files := map[string]string{"one/big": strings.Repeat("x", 101), "one/a": strings.Repeat("x", 60), "one/b": strings.Repeat("x", 60), "l": "-> one/a"}
	for i := range 50 {
		files["many/"+strings.Repeat("f", i+1)] = ""
	}
	root, _ := onDisk(t, files)
	tree := openDir(t, root, source.Limits{Files: 20, FileBytes: 100, TreeBytes: 120})
	limit := func(err error) string {
		if l := (*source.LimitError)(nil); errors.As(err, &l) {
			return l.Limit + " " + l.Path
		}
		return "none"
	}

	v := tree.View()
	for range 3 {
		if _, err := v.ReadFile("one/a"); err != nil { // counted once
			t.Fatal(err)
		}
	}
	if _, err := v.ReadFile("one/b"); err != nil {
		t.Fatal(err)
	}
	_, err := v.ReadFile("one/big")
	if got := limit(err); got != "fileBytes one/big" {
		t.Errorf("big file: %s, %v", got, err)
	}
	_, err = v.ReadFile("l") // content is in the cache and still counts
	if got := limit(err); got != "treeBytes l" {
		t.Errorf("third file: %s, %v", got, err)
	}
	_, err = v.ReadDir("many")
	if got := limit(err); got != "files many" {
		t.Errorf("large folder: %s, %v", got, err)
	}
	if entries, err := v.ReadDir("one"); err != nil || len(entries) != 3 {
		t.Errorf("small folder: %v, %v", entries, err)
	}

	v = tree.View() // the rest of the tree is large, and costs nothing
	for i := range 20 {
		if _, err := v.Stat("many/" + strings.Repeat("f", i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := v.Stat("many/missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing path: %v", err)
	}
	_, err = v.Stat("one")
	if got := limit(err); got != "files one" {
		t.Errorf("path 21: %s, %v", got, err)
	}
}

// A file that has no size to be checked beforehand.
func TestDirFileWithoutSize(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/limits"); err != nil {
		t.Skip("no /proc here")
	}
	v := openDir(t, "/proc/self", source.Limits{FileBytes: 10}).View()
	if _, err := v.ReadFile("limits"); !errors.As(err, new(*source.LimitError)) {
		t.Errorf("got %v, want a LimitError", err)
	}
}

func TestDirIsAnFS(t *testing.T) {
	t.Parallel()
	root, _ := onDisk(t, map[string]string{"a/b/c.yaml": "c: 1\n", "d.txt": "", "empty/": "", "a/l": "-> b", "abs": "-> ROOT/a/b/c.yaml"})
	v := openDir(t, root, source.Limits{}).View()
	if err := fstest.TestFS(cloning{v}, "a/b/c.yaml", "d.txt", "empty", "abs"); err != nil {
		t.Error(err)
	}
}

func TestDirClosed(t *testing.T) {
	t.Parallel()
	root, _ := onDisk(t, map[string]string{"a": "1", "b": "2"})
	tree, err := source.Dir(root, source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	v := tree.View()
	if _, err := v.ReadFile("a"); err != nil {
		t.Fatal(err)
	}
	if err := tree.Close(); err != nil {
		t.Fatal(err)
	}
	if data, err := v.ReadFile("a"); err != nil || string(data) != "1" {
		t.Errorf("what was read: %q, %v", data, err)
	}
	if _, err := v.ReadFile("b"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("what was not read: %v", err)
	}
	if err := source.Memory(nil).Close(); err != nil {
		t.Error(err)
	}
}
