package source_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"hallmark.dev/hallmark/plugin/source"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	v := source.Memory(map[string]string{"a/b": "1", "c": "", ".git/HEAD": "x"}).View()
	if got, want := dump(t, v), "./ a/ a/b=1 c="; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := fstest.TestFS(cloning{v}, "a/b", "c"); err != nil {
		t.Error(err)
	}
	for _, files := range []map[string]string{{"/a": ""}, {"../a": ""}, {"a/": ""}, {"": ""}, {".": ""}, {"a": "", "a/b": ""}} {
		t.Run(fmt.Sprint(files), func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			source.Memory(files)
		})
	}
}

func TestFilesRecordsWhatWasRead(t *testing.T) {
	t.Parallel()
	const one = "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed" // printf one | sha256sum
	const none = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	v := tree(t, source.Limits{}, file("z", "one"), file("a/x", "one"), file("a/unread", "two"), file("empty", ""), link("l", "a"), link("m", "z")).View()

	if len(v.Files()) != 0 {
		t.Errorf("before reading: %v", v.Files())
	}
	// None of these reads a file.
	if _, err := fs.Glob(v, "a/*"); err != nil {
		t.Fatal(err)
	}
	_, errStat := v.Stat("a/unread")
	_, errLink := v.ReadLink("m")
	_, errResolve := v.Resolve("m")
	d, errDir := v.Open("a")
	if err := errors.Join(errStat, errLink, errResolve, errDir, d.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := v.ReadFile("missing"); err == nil {
		t.Fatal("read a missing file")
	}
	if len(v.Files()) != 0 {
		t.Errorf("after looking: %v", v.Files())
	}

	for _, name := range []string{"z", "z", "l/x", "m", "empty"} {
		if _, err := v.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	f, err := v.Open("a/x")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(f); err != nil || string(data) != "one" {
		t.Errorf("got %q, %v", data, err)
	}
	want := []source.File{
		{"a/x", 3, one}, {"empty", 0, none}, {"l/x", 3, one}, {"m", 3, one}, {"z", 3, one},
	}
	for range 2 {
		if got := v.Files(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	}
}

func TestViewsAreSeparate(t *testing.T) {
	t.Parallel()
	tree := tree(t, source.Limits{TreeBytes: 3}, file("a", "one"), link("l", "a"))
	for range 2 {
		v := tree.View()
		if _, err := v.ReadFile("a"); err != nil {
			t.Fatal(err)
		}
		if _, err := v.ReadFile("l"); !errors.As(err, new(*source.LimitError)) {
			t.Errorf("got %v, want a LimitError", err)
		}
		if len(v.Files()) != 1 {
			t.Errorf("recorded %v", v.Files())
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	v := tree(t, source.Limits{}, file("a/b/x", ""), link("l", "a"), link("a/m", "../l/b"), link("n", "l/m/x"),
		link("root", "."), link("up", "a/.."), link("none", "x"), folder("a/b/c")).View()
	tests := map[string]string{
		".": ".", "a": "a", "a/b/x": "a/b/x", "l": "a", "l/b": "a/b", "l/m/x": "a/b/x", "n": "a/b/x", "root": ".",
		"root/root/l/m/c": "a/b/c", "up": ".", "up/n": "a/b/x", "none": "", "l/none": "", "n/x": "", "../a": "", "a/": "",
	}
	for name, want := range tests {
		t.Run(strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
			t.Parallel()
			got, err := v.Resolve(name)
			if got != want || (err == nil) != (want != "") {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		})
	}
}

func TestReadLink(t *testing.T) {
	t.Parallel()
	root, out := onDisk(t, map[string]string{
		"a/b/x": "", "a/rel": "-> b/x", "a/b/abs": "-> ROOT/a/b/x", "top": "-> ROOT/a", "out": "-> OUT/x", "self": "-> ROOT", "l": "-> a",
	})
	v := openDir(t, root, source.Limits{}).View()
	tests := map[string]string{
		"a/rel": "b/x", "a/b/abs": "../.././a/b/x", "l/b/abs": "../.././a/b/x", "top": "./a", "self": "./", "out": out + "/x",
	}
	for name, want := range tests {
		if got, err := v.ReadLink(name); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"a", "a/b/x"} {
		if _, err := v.ReadLink(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
	if info, err := v.Lstat("top"); err != nil || info.Mode() != fs.ModeSymlink|0o777 || info.Name() != "top" {
		t.Errorf("Lstat: got %v, %v", info, err)
	}
	if info, err := v.Stat("top"); err != nil || !info.IsDir() || info.Name() != "top" {
		t.Errorf("Stat: got %v, %v", info, err)
	}
}

func TestReadDir(t *testing.T) {
	t.Parallel()
	v := tree(t, source.Limits{}, file("d/b", ""), file("d/a.z", ""), file("d/a/x", ""), file("d/B", ""), link("l", "d"), link("d/s", "a")).View()
	for _, name := range []string{"d", "l"} {
		for range 2 {
			entries, err := v.ReadDir(name)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := fmt.Sprint(entries), "[- B d a/ - a.z - b L s]"; got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
			clear(entries) // a caller's to change
		}
	}
	if _, err := v.ReadDir("d/b"); err == nil || err.Error() != "readdir d/b: not a folder but a file" {
		t.Errorf("got %v", err)
	}
	d, err := v.Open("l")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Read(make([]byte, 1)); err == nil {
		t.Error("read a folder")
	}
}

// A dozen links on each of twenty levels: 12^20 paths to the one file. Whoever
// walks them has to come to the limit, also by way of a wrapper.
func TestSymlinkFarm(t *testing.T) {
	t.Parallel()
	var entries []entry
	for level := range 20 {
		for i := range 12 {
			entries = append(entries, link(fmt.Sprintf("d%02d/l%02d", level, i), fmt.Sprintf("../d%02d", level+1)))
		}
	}
	entries = append(entries, file("d20/f", strings.Repeat("x", 1000)))
	tree := tree(t, source.Limits{Files: 2000, TreeBytes: 100_000}, entries...)
	for name, fsys := range map[string]fs.FS{"view": tree.View(), "wrapped": wrapper{tree.View()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			visits := 0
			err := source.Walk(fsys, "d00", func(_ string, _ fs.DirEntry, err error) error {
				visits++
				return err
			})
			if limit := (*source.LimitError)(nil); !errors.As(err, &limit) || limit.Limit != "files" || visits > 4000 {
				t.Errorf("got %v after %d visits, want a LimitError of files", err, visits)
			}
		})
	}
	t.Run("bytes", func(t *testing.T) {
		t.Parallel()
		v := tree.View()
		var err error
		reads := 0
		for ; reads < 144 && err == nil; reads++ {
			_, err = v.ReadFile(fmt.Sprintf("d18/l%02d/l%02d/f", reads/12, reads%12))
		}
		if limit := (*source.LimitError)(nil); !errors.As(err, &limit) || limit.Limit != "treeBytes" || reads != 101 {
			t.Errorf("got %v after %d reads, want a LimitError of treeBytes", err, reads)
		}
	})
}

// wrapper is a file system over a View, with the five interfaces and no more.
type wrapper struct{ v *source.View }

func (w wrapper) Open(name string) (fs.File, error)          { return w.v.Open(name) }
func (w wrapper) Stat(name string) (fs.FileInfo, error)      { return w.v.Stat(name) }
func (w wrapper) ReadFile(name string) ([]byte, error)       { return w.v.ReadFile(name) }
func (w wrapper) ReadDir(name string) ([]fs.DirEntry, error) { return w.v.ReadDir(name) }
func (w wrapper) ReadLink(name string) (string, error)       { return w.v.ReadLink(name) }
func (w wrapper) Lstat(name string) (fs.FileInfo, error)     { return w.v.Lstat(name) }

func TestViewConcurrently(t *testing.T) {
	t.Parallel()
	files := map[string]string{"l": "-> d", "abs": "-> ROOT/d/f00"}
	for i := range 30 {
		files[fmt.Sprintf("d/f%02d", i)] = fmt.Sprint(i)
	}
	root, _ := onDisk(t, files)
	v := openDir(t, root, source.Limits{}).View()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			err := source.Walk(v, ".", func(p string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				_, errInfo := d.Info()
				_, errRead := v.ReadFile(p)
				_, errResolve := v.Resolve(p)
				_ = v.Files()
				return errors.Join(errInfo, errRead, errResolve)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := len(v.Files()); got != 61 {
		t.Errorf("recorded %d files, want 61", got)
	}
}
