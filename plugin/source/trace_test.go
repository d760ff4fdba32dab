package source_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/plugin/source"
)

// listing is the names and types in a folder.
func listing(entries []fs.DirEntry, err error) string { return fmt.Sprint(entries, err) }

// Each question, asked of a tree, is answered the same by a tree that differs
// elsewhere, and not by trees that differ in what it asks.
func TestTraceOfEachQuestion(t *testing.T) {
	t.Parallel()
	base := func() []entry {
		return []entry{
			file("d/a", "one"), file("d/b", "two"), file("d/e/f", "x"), link("l", "d/a"), link("ld", "d"), link("lost", "d/none"),
			file("z/z", "elsewhere"),
		}
	}
	// with replaces or adds entries, without drops them.
	with := func(changed ...entry) []entry {
		entries := base()
		for _, c := range changed {
			i := slices.IndexFunc(entries, func(e entry) bool { return e.Name == c.Name })
			if i < 0 {
				entries = append(entries, c)
			} else {
				entries[i] = c
			}
		}
		return entries
	}
	without := func(names ...string) []entry {
		return slices.DeleteFunc(base(), func(e entry) bool { return slices.Contains(names, e.Name) })
	}
	read := func(name string) func(*source.View) {
		return func(v *source.View) { _, _ = v.ReadFile(name) } // some fail, and that is an answer
	}
	stat := func(name string) func(*source.View) { return func(v *source.View) { _, _ = v.Stat(name) } }
	lstat := func(name string) func(*source.View) { return func(v *source.View) { _, _ = v.Lstat(name) } }
	list := func(name string) func(*source.View) { return func(v *source.View) { _, _ = v.ReadDir(name) } }
	readLink := func(name string) func(*source.View) { return func(v *source.View) { _, _ = v.ReadLink(name) } }
	resolve := func(name string) func(*source.View) { return func(v *source.View) { _, _ = v.Resolve(name) } }
	type trees = map[string][]entry
	tests := []struct {
		name      string
		ask       func(v *source.View)
		same      trees
		different trees
	}{
		{"nothing", func(*source.View) {}, trees{"anything": {file("q", "")}, "empty": nil}, nil},
		{"content", read("d/a"),
			trees{"neighbour": with(file("d/b", "2")), "by a link": with(link("d/a", "b"), file("d/b", "one"))},
			trees{"content": with(file("d/a", "eno")), "longer": with(file("d/a", "ones")), "absent": without("d/a"), "folder": with(folder("d/a"))}},
		{"content by a link", read("l"),
			trees{"other target": with(link("l", "d/c"), file("d/c", "one")), "a file": with(file("l", "one")), "the link of others": with(link("ld", "z"))},
			trees{"content": with(file("d/a", "eno")), "target": with(link("l", "d/b")), "dangling": without("d/a"), "absent": without("l")}},
		{"content by a linked folder", read("ld/a"),
			trees{"a folder": append(without("ld"), file("ld/a", "one"))},
			trees{"content": with(file("d/a", "eno")), "target": with(link("ld", "z"))}},
		{"absent content", read("d/none"),
			trees{"neighbour": with(file("d/other", "")), "no folder at all": {file("q", "")}},
			trees{"present": with(file("d/none", "")), "a folder": with(folder("d/none")), "dangling": with(link("d/none", "nowhere"))}},
		{"content by a dangling link", read("lost"),
			trees{"neighbour": with(file("d/other", ""))},
			trees{"found": with(file("d/none", "")), "another target": with(link("lost", "d/gone")), "absent": without("lost")}},
		{"content of a folder", read("d"),
			trees{"its files": with(file("d/new", ""))},
			trees{"a file": {file("d", "")}, "absent": {file("z/z", "")}}},
		{"content below a file", read("d/a/x"),
			trees{"its content": with(file("d/a", "eno"))},
			trees{"a folder": append(without("d/a"), file("d/a/x", ""))}},
		{"open file", func(v *source.View) {
			if f, err := v.Open("d/a"); err == nil {
				_, _ = io.ReadAll(f)
			}
		},
			trees{"neighbour": with(file("d/b", "2"))},
			trees{"content": with(file("d/a", "eno")), "absent": without("d/a"), "folder": with(folder("d/a"))}},
		{"open without reading", func(v *source.View) { _, _ = v.Open("d/a") },
			trees{"neighbour": with(file("d/b", "2"))},
			trees{"content": with(file("d/a", "eno"))}},
		{"open folder", func(v *source.View) { _, _ = v.Open("d") },
			trees{"its files": with(file("d/new", ""))},
			trees{"a file": {file("d", "")}, "absent": {file("z/z", "")}}},
		{"open and list", func(v *source.View) {
			if f, err := v.Open("d"); err == nil {
				_, _ = f.(fs.ReadDirFile).ReadDir(1)
			}
		},
			trees{"contents": with(file("d/a", "eno"), file("d/e/f", "y"))},
			trees{"a file more": with(file("d/new", "")), "a file less": without("d/b")}},
		{"stat of a file", stat("d/a"),
			trees{"content": with(file("d/a", "eno")), "by a link": with(link("d/a", "c"), file("d/c", "xyz"))},
			trees{"size": with(file("d/a", "")), "absent": without("d/a"), "kind": with(folder("d/a"))}},
		{"stat of a folder", stat("d"),
			trees{"its files": with(file("d/new", "")), "by a link": {link("d", "z"), file("z/z", "")}},
			trees{"absent": {file("z/z", "")}, "kind": {file("d", "")}}},
		{"stat of a link", stat("l"),
			trees{"target as large": with(link("l", "d/b"))},
			trees{"size": with(file("d/a", "")), "dangling": without("d/a")}},
		{"stat of nothing", stat("none"),
			trees{"elsewhere": with(file("d/none", ""))},
			trees{"present": with(file("none", "")), "dangling": with(link("none", "nowhere"))}},
		{"lstat of a link", lstat("l"),
			trees{"target": with(link("l", "d/b")), "dangling": without("d/a")},
			trees{"a file": with(file("l", "one")), "absent": without("l")}},
		{"lstat of a file", lstat("d/a"),
			trees{"content": with(file("d/a", "eno"))},
			trees{"a link": with(link("d/a", "c"), file("d/c", "one")), "size": with(file("d/a", ""))}},
		{"listing", list("d"),
			trees{"contents": with(file("d/a", "changed"), file("d/e/f", "y")), "elsewhere": with(file("z/new", ""))},
			trees{"a file more": with(file("d/new", "")), "a file less": without("d/b"), "kind": with(folder("d/a")),
				"a link": with(link("d/a", "b")), "another name": append(without("d/a"), file("d/A", "one")), "absent": {file("z/z", "")}}},
		{"listing of a linked folder", list("ld"),
			trees{"a folder alike": with(link("ld", "c"), file("c/a", ""), file("c/b", ""), folder("c/e"))},
			trees{"a file more": with(file("d/new", "")), "target": with(link("ld", "z"))}},
		{"listing of a file", list("d/a"),
			trees{"content": with(file("d/a", "eno"))},
			trees{"a folder": with(folder("d/a")), "absent": without("d/a")}},
		{"listing of nothing", list("none"),
			trees{"elsewhere": with(file("d/none", ""))},
			trees{"present": with(folder("none")), "a file": with(file("none", ""))}},
		{"entry of a listing", func(v *source.View) {
			entries, _ := v.ReadDir("d")
			for _, e := range entries {
				_, _ = e.Info()
			}
		},
			trees{"content": with(file("d/a", "eno")), "below": with(file("d/e/f", "longer"))},
			trees{"size": with(file("d/a", "longer"))}},
		{"link target", readLink("l"),
			trees{"content": with(file("d/a", "eno")), "dangling": without("d/a")},
			trees{"target": with(link("l", "d/b")), "spelling": with(link("l", "./d/a")), "a file": with(file("l", "one")), "absent": without("l")}},
		{"link target of a file", readLink("d/a"),
			trees{"content": with(file("d/a", "eno"))},
			trees{"a link": with(link("d/a", "b")), "absent": without("d/a"), "a folder": with(folder("d/a"))}},
		{"resolve", resolve("ld/a"),
			trees{"content": with(file("d/a", "eno")), "spelling": with(link("ld", "./d"))},
			trees{"target": with(link("ld", "c"), file("c/a", "one")), "absent": without("d/a"), "a folder": append(without("ld"), file("ld/a", "one"))}},
		{"resolve nothing", resolve("ld/none"),
			trees{"content": with(file("d/a", "eno"))},
			trees{"present": with(file("d/none", ""))}},
		{"walk", func(v *source.View) {
			_ = source.Walk(v, "ld", func(string, fs.DirEntry, error) error { return nil })
		},
			trees{"content": with(file("d/a", "eno")), "elsewhere": with(file("z/new", ""))},
			trees{"a file more": with(file("d/e/new", "")), "kind": with(link("d/e/f", "../a")), "moved": with(link("ld", "c"), file("c/a", ""), file("c/b", ""), file("c/e/f", ""))}},
		{"names that no tree has", func(v *source.View) {
			_, _ = v.ReadFile("../x")
			_, _ = v.Stat("/d")
			_, _ = v.ReadDir(strings.Repeat("x/", 3000) + "x")
		}, trees{"anything": {file("q", "")}}, nil},
		{"twice", func(v *source.View) { read("d/a")(v); read("d/a")(v) }, nil, trees{"content": with(file("d/a", "eno"))}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			own := tree(t, source.Limits{}, base()...)
			v := own.View()
			tt.ask(v)
			trace := v.Trace()
			if !trace.Same(own) || !trace.Same(tree(t, source.Limits{}, base()...)) {
				t.Error("not the same as itself")
			}
			for name, entries := range tt.same {
				if !trace.Same(tree(t, source.Limits{}, entries...)) {
					t.Errorf("%s: not the same", name)
				}
			}
			for name, entries := range tt.different {
				if trace.Same(tree(t, source.Limits{}, entries...)) {
					t.Errorf("%s: the same", name)
				}
			}
		})
	}
}

// An answer that may have another reason than the tree proves nothing.
func TestTraceWithoutProof(t *testing.T) {
	t.Parallel()
	root, _ := onDisk(t, map[string]string{"a": "one", "b": "two", "loop": "-> loop", "out": "-> OUT/secret.txt"})
	tests := map[string]struct {
		lim source.Limits
		ask func(v *source.View)
	}{
		"escape":     {source.Limits{}, func(v *source.View) { _, _ = v.ReadFile("out") }},
		"loop":       {source.Limits{}, func(v *source.View) { _, _ = v.Stat("loop") }},
		"file limit": {source.Limits{FileBytes: 2}, func(v *source.View) { _, _ = v.ReadFile("a") }},
		"tree limit": {source.Limits{TreeBytes: 4}, func(v *source.View) { _, _ = v.ReadFile("a"); _, _ = v.ReadFile("b") }},
		"path limit": {source.Limits{Files: 1}, func(v *source.View) { _, _ = v.Lstat("a"); _, _ = v.Lstat("b") }},
		"list limit": {source.Limits{Files: 3}, func(v *source.View) { _, _ = v.ReadDir(".") }},
		"not sent":   {source.Limits{}, func(v *source.View) { _, _ = v.Stat("other") }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := openDir(t, root, tt.lim)
			if name == "not sent" {
				tree = tree.Below("part")
			}
			v := tree.View()
			tt.ask(v)
			if v.Trace().Same(tree) {
				t.Error("the same")
			}
		})
	}
	if (source.Trace{}).Same(source.Memory(nil)) {
		t.Error("no trace is the same as nothing")
	}
}

// More than a View remembers.
func TestTraceOfTooMuch(t *testing.T) {
	t.Parallel()
	tree := source.Memory(nil)
	v := tree.View()
	for i := range 1 << 18 {
		_, _ = v.Stat(fmt.Sprint(i)) // absent
	}
	if got := v.Trace().Bytes(); got < 1<<18 {
		t.Errorf("the trace has %d bytes", got)
	}
	if _, err := v.Stat("one more"); !errors.Is(err, fs.ErrNotExist) || v.Trace().Same(tree) {
		t.Errorf("the same, %v", err)
	}
}

// The limits of the other tree count as well.
func TestTraceUnderLowerLimits(t *testing.T) {
	t.Parallel()
	entries := []entry{file("a", "one"), file("b", "two"), file("c", "")}
	v := tree(t, source.Limits{}, entries...).View()
	_, errA := v.ReadFile("a")
	_, errB := v.ReadFile("b")
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	trace := v.Trace()
	root, _ := onDisk(t, map[string]string{"a": "one", "b": "two"})
	for lim, want := range map[source.Limits]bool{{}: true, {TreeBytes: 6, Files: 2}: true, {TreeBytes: 5}: false, {Files: 1}: false, {FileBytes: 2}: false} {
		if got := trace.Same(openDir(t, root, lim)); got != want {
			t.Errorf("%+v: got %t", lim, got)
		}
	}
}

// A View goes on, and its trace is what it was.
func TestTraceIsASnapshot(t *testing.T) {
	t.Parallel()
	root, _ := onDisk(t, map[string]string{"a": "one", "b": "two"})
	tree := openDir(t, root, source.Limits{})
	v := tree.View()
	_, _ = v.ReadFile("a")
	first := v.Trace()
	_, _ = v.ReadFile("b")
	second := v.Trace()
	write(t, filepath.Join(root, "b"), "new")
	if !first.Same(tree) || second.Same(tree) {
		t.Errorf("without b: %t, with b: %t", first.Same(tree), second.Same(tree))
	}
	// What is traced is what was answered, not what is there by now.
	if third := v.Trace(); third.Same(tree) || !third.Same(source.Memory(map[string]string{"a": "one", "b": "two"})) {
		t.Error("the trace follows the disk")
	}
}

func TestTraceKeepsNoContents(t *testing.T) {
	t.Parallel()
	v := source.Memory(map[string]string{"large": strings.Repeat("x", 1<<20)}).View()
	empty := v.Trace().Bytes()
	if _, err := v.ReadFile("large"); err != nil {
		t.Fatal(err)
	}
	if got := v.Trace().Bytes(); got <= empty || got > 500 {
		t.Errorf("one question takes %d bytes, none takes %d", got, empty)
	}
}

// The archive of a large repository is looked through for what was asked.
func TestTraceOverPackedArchive(t *testing.T) {
	t.Parallel()
	read := func(far string) *source.Tree {
		tree, err := source.Archive{App: "app"}.Far(1).Read(bytes.NewReader(zip(t, archive(t,
			file("app/a", "one"), file("far/b", far), file("far/c", far)))))
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	v := read("two").View()
	_, _ = v.ReadFile("app/a")
	near := v.Trace()
	_, _ = v.ReadFile("far/b")
	trace := v.Trace()
	if !trace.Same(read("two")) || trace.Same(read("new")) || !near.Same(read("new")) {
		t.Errorf("got %t, %t and %t", trace.Same(read("two")), trace.Same(read("new")), near.Same(read("new")))
	}
}

// For random trees, changes and uses: where the trace is the same, everything
// comes out the same.
func TestTraceProperty(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // the same cases each time
	same, different, kept := 0, 0, 0
	for range 4000 {
		one := scatter(rng)
		two := maps.Clone(one)
		for range rng.IntN(3) {
			change := scatter(rng)
			for name, e := range change {
				two[name] = e
				break
			}
			for name := range two {
				if rng.IntN(8) == 0 {
					delete(two, name)
				}
				break
			}
		}
		before, errBefore := plant(one)
		after, errAfter := plant(two)
		if errBefore != nil || errAfter != nil {
			continue // a link that leaves, or a file where a folder is
		}
		seed := rng.Uint64()
		v := before.View()
		want := use(v, seed)
		got := use(after.View(), seed)
		if !v.Trace().Same(after) {
			different++
			if got == want && !strings.Contains(want, "leads back") {
				kept++
			}
			continue
		}
		if got != want {
			t.Fatalf("the trace is the same, and yet from %v came\n%s, and from %v\n%s", one, want, two, got)
		}
		if fmt.Sprint(one) != fmt.Sprint(two) {
			same++
		}
	}
	if same < 300 || different < 300 || kept > different/5 {
		t.Errorf("same for %d other trees, not for %d, of which %d had the same outcome", same, different, kept)
	}
}

var fewNames = []string{"a", "b", "a/a", "a/b", "b/a", "b/c", "a/a/a", "b/b/a", "c"}

// scatter is a few random files, folders and links, by name.
func scatter(rng *rand.Rand) map[string]string {
	entries := map[string]string{}
	for range 2 + rng.IntN(6) {
		name := fewNames[rng.IntN(len(fewNames))]
		switch rng.IntN(5) {
		case 0:
			entries[name] = "-> " + strings.Repeat("../", rng.IntN(2)) + fewNames[rng.IntN(len(fewNames))]
		case 1:
			entries[name] = "/"
		default:
			entries[name] = strings.Repeat("x", rng.IntN(3)) + fmt.Sprint(rng.IntN(3))
		}
	}
	return entries
}

func plant(entries map[string]string) (*source.Tree, error) {
	var list []entry
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		switch target, ok := strings.CutPrefix(entries[name], "-> "); {
		case ok:
			list = append(list, link(name, target))
		case entries[name] == "/":
			list = append(list, folder(name))
		default:
			list = append(list, file(name, entries[name]))
		}
	}
	var buf bytes.Buffer
	if err := writeTar(&buf, list...); err != nil {
		return nil, err
	}
	return source.Tar(&buf, source.Limits{})
}

// use does random things with a View and tells what came of it.
func use(v *source.View, seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the same use of each tree
	var b strings.Builder
	for range 1 + rng.IntN(4) {
		name := fewNames[rng.IntN(len(fewNames))]
		fmt.Fprintf(&b, "%s: ", name)
		switch rng.IntN(9) {
		case 0:
			f, err := v.Open(name)
			if err != nil {
				fmt.Fprintln(&b, err)
				continue
			}
			info, errStat := f.Stat()
			data, errRead := io.ReadAll(f)
			fmt.Fprintln(&b, info, errStat, string(data), errRead)
			if dir, ok := f.(fs.ReadDirFile); ok {
				fmt.Fprintln(&b, listing(dir.ReadDir(-1)))
			}
		case 1:
			data, err := v.ReadFile(name)
			fmt.Fprintln(&b, string(data), err)
		case 2:
			info, err := v.Stat(name)
			fmt.Fprintln(&b, info, err)
		case 3:
			info, err := v.Lstat(name)
			fmt.Fprintln(&b, info, err)
		case 4:
			entries, err := v.ReadDir(name)
			fmt.Fprintln(&b, listing(entries, err))
			for _, e := range entries {
				info, err := e.Info()
				fmt.Fprintln(&b, info, err)
			}
		case 5:
			fmt.Fprintln(&b, listing(v.ReadDir(name)))
		case 6:
			target, err := v.ReadLink(name)
			fmt.Fprintln(&b, target, err)
		case 7:
			p, err := v.Resolve(name)
			fmt.Fprintln(&b, p, err)
		case 8:
			err := source.Walk(v, name, func(p string, d fs.DirEntry, err error) error {
				fmt.Fprintln(&b, p, d, err)
				return err
			})
			fmt.Fprintln(&b, err)
		}
	}
	for _, f := range v.Files() {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

// BenchmarkView reads a chart of 100 files and 4.5 MB, as a render does, then
// traces that, and compares it with another tree.
func BenchmarkView(b *testing.B) {
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("chart/templates/t%03d.yaml", i)] = random(i, 45_000)
	}
	tree, other := source.Memory(files), source.Memory(files)
	render := func() *source.View {
		v := tree.View()
		err := source.Walk(v, "chart", func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			_, errInfo := d.Info()
			_, errRead := v.ReadFile(p)
			return errors.Join(errInfo, errRead)
		})
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			render()
		}
	})
	b.Run("files", func(b *testing.B) {
		for b.Loop() {
			render().Files()
		}
	})
	b.Run("files and trace", func(b *testing.B) {
		b.ReportAllocs()
		var trace source.Trace
		for b.Loop() {
			v := render()
			v.Files()
			trace = v.Trace()
		}
		b.ReportMetric(float64(trace.Bytes()), "trace-B")
	})
	b.Run("same", func(b *testing.B) {
		trace := render().Trace()
		for b.Loop() {
			if !trace.Same(other) {
				b.Fatal("not the same")
			}
		}
	})
}
