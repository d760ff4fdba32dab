package source_test

import (
	"errors"
	"fmt"
	"io/fs"
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
	c := &contents{of: map[string]string{"1": "a: 1\n", "2": "b: 2\n"}, asked: map[string]int{}}
	tree, err := source.Stored([]source.Entry{
		{Path: "apps/web/values.yaml", Size: 5, ID: "1"},
		{Path: "shared/base.yaml", Size: 5, ID: "2"},
		{Path: "apps/web/base.yaml", Mode: fs.ModeSymlink, Link: "../../shared/base.yaml"},
		{Path: "vendor", Mode: fs.ModeDir},
		{Path: "lost.yaml", Size: 5, ID: "3"},
		{Path: "large.yaml", Size: 1 << 30, ID: "4"},
	}, c.read, source.Limits{})
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
		if _, err := fs.ReadFile(view, "large.yaml"); !errors.As(err, &limit) || c.asked["4"] > 0 {
			t.Errorf("a file above the limit: got %v after %d questions", err, c.asked["4"])
		}
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

func TestWith(t *testing.T) {
	t.Parallel()
	c := &contents{of: map[string]string{"1": "a: 1\n"}, asked: map[string]int{}}
	other, err := source.Stored([]source.Entry{
		{Path: "web/values.yaml", Size: 5, ID: "1"},
		{Path: "in.yaml", Mode: fs.ModeSymlink, Link: "web/values.yaml"},
		{Path: "out.yaml", Mode: fs.ModeSymlink, Link: "../secret.yaml"},
		{Path: "web/out.yaml", Mode: fs.ModeSymlink, Link: "../../secret.yaml"},
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
