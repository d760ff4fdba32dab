package overlay

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

var linked = fstest.MapFS{
	"a/file":        {Data: []byte("content")},
	"a/.hidden":     {Data: []byte("h")},
	"link":          {Data: []byte("a"), Mode: fs.ModeSymlink},
	"a/up":          {Data: []byte("../b"), Mode: fs.ModeSymlink},
	"b/to":          {Data: []byte("../link/file"), Mode: fs.ModeSymlink},
	"out":           {Data: []byte("../../etc"), Mode: fs.ModeSymlink},
	"abs":           {Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink},
	"loop":          {Data: []byte("loop"), Mode: fs.ModeSymlink},
	"dangling":      {Data: []byte("nowhere"), Mode: fs.ModeSymlink},
	"deep/er/file2": {Data: []byte("2")},
}

func TestCleanedAbs(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, path, dir, file, err string }{
		{"folder", "/a", "/a", "", ""},
		{"root", "", "", "", ""},
		{"file", "/a/file", "/a", "file", ""},
		{"dots", "/b/../a/./file", "/a", "file", ""},
		{"link to a folder", "/link", "/a", "", ""},
		{"file below a link", "/link/file", "/a", "file", ""},
		{"link to a file over links", "/b/to", "/a", "file", ""},
		{"link in a linked folder", "/link/up", "/b", "", ""},
		{"out of the root", "/../x", "", "", "leaves the repository"},
		{"link out of the root", "/out/passwd", "", "", "leaves the repository"},
		{"absolute link", "/abs", "", "", "absolute path"},
		{"loop", "/loop", "", "", "too many symbolic links"},
		{"dangling", "/dangling", "", "", "file does not exist"},
		{"missing", "/a/none", "", "", "file does not exist"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir, file, err := newTree(t.Context(), linked).CleanedAbs(mount + test.path)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("got %v, want an error with %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(dir) != mount+test.dir || file != test.file {
				t.Errorf("got %q %q, want %q %q", dir, file, mount+test.dir, test.file)
			}
		})
	}
}

func TestTreeReads(t *testing.T) {
	t.Parallel()
	tree := newTree(t.Context(), linked)
	if content, err := tree.ReadFile(mount + "/a/file"); err != nil || string(content) != "content" {
		t.Errorf("ReadFile: %q, %v", content, err)
	}
	if _, err := tree.ReadFile("/etc/passwd"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadFile outside the root: %v", err)
	}
	if !tree.IsDir(mount+"/a") || tree.IsDir(mount+"/a/file") || tree.IsDir("/") {
		t.Error("IsDir is wrong")
	}
	if !tree.Exists(mount+"/a/file") || tree.Exists(mount+"/none") || tree.Exists("/etc") {
		t.Error("Exists is wrong")
	}
	names, err := tree.ReadDir(mount + "/deep")
	if err != nil || !slices.Equal(names, []string{"er"}) {
		t.Errorf("ReadDir: %v, %v", names, err)
	}
	if _, err := tree.ReadDir("/etc"); err == nil {
		t.Error("ReadDir outside the root succeeded")
	}
	found, err := tree.Glob(mount + "/a/*")
	if err != nil || !slices.Equal(found, []string{mount + "/a/file", mount + "/a/up"}) {
		t.Errorf("Glob: %v, %v", found, err)
	}
	if found, _ := tree.Glob("/etc/*"); found != nil {
		t.Errorf("Glob outside the root: %v", found)
	}
	var walked []string
	err = tree.Walk(mount+"/deep", func(name string, _ fs.FileInfo, err error) error {
		walked = append(walked, name)
		return err
	})
	want := []string{mount + "/deep", mount + "/deep/er", mount + "/deep/er/file2"}
	if err != nil || !slices.Equal(walked, want) {
		t.Errorf("Walk: %v, %v", walked, err)
	}
	if err := tree.Walk("/etc", func(_ string, _ fs.FileInfo, err error) error { return err }); err == nil {
		t.Error("Walk outside the root succeeded")
	}
}

func TestTreeIsReadOnly(t *testing.T) {
	t.Parallel()
	var tree filesys.FileSystem = newTree(t.Context(), linked)
	_, created := tree.Create("x")
	_, opened := tree.Open("x")
	for name, err := range map[string]error{
		"Create": created, "Open": opened, "Mkdir": tree.Mkdir("x"), "MkdirAll": tree.MkdirAll("x"),
		"RemoveAll": tree.RemoveAll("x"), "WriteFile": tree.WriteFile("x", nil),
	} {
		if !errors.Is(err, errReadOnly) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestTreeStopsReadingWhenDone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newTree(ctx, linked).ReadFile(mount + "/a/file"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestInsideAndOutside(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".", "a", "a/b"} {
		if got, ok := inside(outside(name)); !ok || got != name {
			t.Errorf("inside(outside(%q)) is %q, %t", name, got, ok)
		}
	}
	for _, path := range []string{"/", "/etc", mount + "x", filepath.Dir(mount)} {
		if got, ok := inside(path); ok {
			t.Errorf("inside(%q) is %q", path, got)
		}
	}
	if got := unmounted("'" + mount + "/a' and '" + mount + "'"); got != "'a' and '.'" {
		t.Errorf("unmounted gives %s", got)
	}
}
