package source_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"hallmark.dev/hallmark/plugin/source"
)

// contents answers by id and counts the questions.
type contents struct {
	of    map[string]string
	asked map[string]int
}

func (c *contents) read(id string) ([]byte, error) {
	c.asked[id]++
	text, found := c.of[id]
	if !found {
		return nil, fmt.Errorf("no object %q", id)
	}
	return []byte(text), nil
}

func TestStored(t *testing.T) {
	t.Parallel()
	c := &contents{of: map[string]string{
		"1": "a: 1\n", "2": "b: 2\n", "base": "../../shared/base.yaml", "long": strings.Repeat("a/", 2100),
	}, asked: map[string]int{}}
	tree, err := source.Stored([]source.Entry{
		{Path: "apps/web/values.yaml", Size: 5, ID: "1"},
		{Path: "shared/base.yaml", Size: 5, ID: "2"},
		{Path: "apps/web/base.yaml", Mode: fs.ModeSymlink, ID: "base"},
		{Path: "lost-link", Mode: fs.ModeSymlink, ID: "4"},
		{Path: "long-link", Mode: fs.ModeSymlink, ID: "long"},
		{Path: "longer-link", Mode: fs.ModeSymlink, Size: 1 << 30, ID: "5"},
		{Path: "unmeasured.yaml", ID: "long"},
		{Path: "vendor", Mode: fs.ModeDir},
		{Path: "lost.yaml", Size: 5, ID: "3"},
		{Path: "large.yaml", Size: 1 << 30, ID: "6"},
	}, c.read, source.Limits{FileBytes: 4000})
	if err != nil {
		t.Fatal(err)
	}
	view := tree.View()
	if len(c.asked) > 0 {
		t.Errorf("%v was read before anybody asked", c.asked)
	}
	for name, want := range map[string]string{"apps/web/values.yaml": "a: 1\n", "apps/web/base.yaml": "b: 2\n"} {
		if got, err := fs.ReadFile(view, name); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	if _, err := fs.ReadFile(view, "lost.yaml"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that cannot be read: got %v", err)
	}
	if limit := (*source.LimitError)(nil); true {
		if _, err := fs.ReadFile(view, "large.yaml"); !errors.As(err, &limit) || c.asked["6"] > 0 {
			t.Errorf("a file above the limit: got %v after %d questions", err, c.asked["6"])
		}
	}
	if limit := (*source.LimitError)(nil); true {
		if _, err := fs.ReadFile(view, "unmeasured.yaml"); !errors.As(err, &limit) {
			t.Errorf("a file above the limit whose size is not known: got %v", err)
		}
	}
	for name, want := range map[string]string{
		"lost-link": `reading the symlink "lost-link": no object "4"`, "lost-link/a": `no object "4"`,
		"long-link": "a target of 4200 bytes", "longer-link": "a target of 1073741824 bytes",
	} {
		if _, err := fs.Stat(view, name); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	if c.asked["4"] != 1 || c.asked["base"] != 1 || c.asked["5"] != 0 {
		t.Errorf("the targets were read %v times, want once for a link, and never one that is too long", c.asked)
	}
	if entries, err := fs.ReadDir(view, "vendor"); err != nil || len(entries) != 0 {
		t.Errorf("an empty folder: got %v, %v", entries, err)
	}
	small, err := source.Stored([]source.Entry{{Path: "a/b", Size: 5, ID: "1"}}, c.read, source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(cloning{small.View()}, "a/b"); err != nil {
		t.Error(err)
	}
	if _, err := source.Stored([]source.Entry{{Path: "../a"}}, c.read, source.Limits{}); err == nil {
		t.Error("a path that leaves the root is taken")
	}
}

// A path that is not UTF-8 hinders nobody who does not ask for it, in a commit and in a
// folder on disk alike.
func TestStoredNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	names := []string{"a.yaml", "b\xff.yaml", "c\xff/a.yaml", "d/a.yaml"}
	root, entries := t.TempDir(), []source.Entry(nil)
	for _, name := range names {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Skipf("no folder of such a name: %v", err)
		}
		if err := os.WriteFile(file, []byte("a: 1\n"), 0o644); err != nil {
			t.Skipf("no file of such a name: %v", err)
		}
		entries = append(entries, source.Entry{Path: name, Size: 5, ID: "1"})
	}
	stored, err := source.Stored(entries, (&contents{of: map[string]string{"1": "a: 1\n"}, asked: map[string]int{}}).read, source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	disk, err := source.Dir(root, source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = disk.Close() })
	for kind, tree := range map[string]*source.Tree{"commit": stored, "folder": disk} {
		view := tree.View()
		entries, err := fs.ReadDir(view, ".")
		var listed []string
		for _, e := range entries {
			listed = append(listed, e.Name())
		}
		if want := []string{"a.yaml", "b\xff.yaml", "c\xff", "d"}; err != nil || !slices.Equal(listed, want) {
			t.Errorf("%s: the root has %q, %v, want %q", kind, listed, err, want)
		}
		for i, name := range names {
			data, err := fs.ReadFile(view, name)
			if invalid := i == 1 || i == 2; invalid && !errors.Is(err, fs.ErrInvalid) || !invalid && string(data) != "a: 1\n" {
				t.Errorf("%s: %q: got %q, %v", kind, name, data, err)
			}
		}
	}
	if _, err := source.Stored([]source.Entry{{Path: "\xff/../../a"}}, nil, source.Limits{}); err == nil {
		t.Error("a path that leaves the root is taken")
	}
}

func TestWith(t *testing.T) {
	t.Parallel()
	c := &contents{of: map[string]string{
		"1": "a: 1\n", "in": "web/values.yaml", "out": "../secret.yaml", "far out": "../../secret.yaml",
	}, asked: map[string]int{}}
	other, err := source.Stored([]source.Entry{
		{Path: "web/values.yaml", Size: 5, ID: "1"},
		{Path: "in.yaml", Mode: fs.ModeSymlink, ID: "in"},
		{Path: "out.yaml", Mode: fs.ModeSymlink, ID: "out"},
		{Path: "web/out.yaml", Mode: fs.ModeSymlink, ID: "far out"},
	}, c.read, source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	tree := source.Memory(map[string]string{"secret.yaml": "s: 1\n", "app/a.yaml": "a"}).With("$values", other).With("$more", source.Memory(map[string]string{"x": "x"}))
	view := tree.View()
	for name, want := range map[string]string{"$values/web/values.yaml": "a: 1\n", "$values/in.yaml": "a: 1\n", "app/a.yaml": "a", "$more/x": "x"} {
		if got, err := fs.ReadFile(view, name); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"$values/out.yaml", "$values/web/out.yaml"} {
		escape := (*source.EscapeError)(nil)
		if got, err := fs.ReadFile(view, name); !errors.As(err, &escape) {
			t.Errorf("%s leads out of its repository: got %q, %v", name, got, err)
		}
	}
	entries, err := fs.ReadDir(view, ".")
	if err != nil || len(entries) != 2 {
		t.Errorf("the listing of the root: got %v, %v, want its own two entries", entries, err)
	}
	if entries, err := fs.ReadDir(view, "$values"); err != nil || len(entries) != 3 {
		t.Errorf("the listing of the other root: got %v, %v", entries, err)
	}
	// What was asked of both is part of the trace.
	trace := view.Trace()
	if trace.Same(source.Memory(map[string]string{"secret.yaml": "s: 1\n", "app/a.yaml": "a"})) {
		t.Error("a tree without the other one answers the same")
	}
	view = tree.View()
	if _, err := fs.ReadFile(view, "$values/web/values.yaml"); err != nil {
		t.Fatal(err)
	}
	if trace := view.Trace(); !trace.Same(tree) || trace.Same(source.Memory(nil).With("$values", source.Memory(map[string]string{"web/values.yaml": "a: 2\n"}))) {
		t.Error("the trace does not tell the other tree's content")
	}
}
