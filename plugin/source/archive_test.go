package source_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/plugin/source"
)

func body(tb testing.TB, v *source.View, name string) string {
	tb.Helper()
	data, err := v.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// random is content that does not compress.
func random(seed, size int) string {
	var key [32]byte
	copy(key[:], fmt.Sprint(seed))
	data := make([]byte, size)
	_, _ = rand.NewChaCha8(key).Read(data) // never fails
	return string(data)
}

// look is dump for trees of any kind: what fails is part of the picture.
func look(v *source.View) string {
	var b strings.Builder
	_ = fs.WalkDir(v, ".", func(p string, d fs.DirEntry, err error) error { // the errors are written down
		fmt.Fprintln(&b, p, d, err)
		if d != nil && !d.IsDir() {
			info, errInfo := v.Stat(p)
			target, errLink := v.ReadLink(p)
			data, errRead := v.ReadFile(p)
			fmt.Fprintf(&b, "  %v %v %q %v %q %v\n", info, errInfo, target, errLink, data, errRead)
		}
		return nil
	})
	return b.String()
}

// An application in a small repository has the whole of it, and no archive.
func TestArchiveSmallRepository(t *testing.T) {
	t.Parallel()
	data := zip(t, archive(t, file("app/a", "1"), file("b", random(1, 1<<20)), file("c/d", "2")))
	for _, app := range []string{"", ".", "app", "app/", "c", "missing"} {
		tree, err := source.Archive{App: app}.Read(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if packed, held, _ := source.Packed(tree); packed != 0 || held != 0 {
			t.Errorf("%q: %d bytes packed, %d held", app, packed, held)
		}
		if entries, size := tree.Size(); entries != 3 || size != 1<<20+2 {
			t.Errorf("%q: got %d entries, %d bytes", app, entries, size)
		}
	}
}

// In a large one what is far stays packed beyond the budget.
func TestArchiveLargeRepository(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789abcdef", 1<<20)
	data := zip(t, archive(t, file("app/a", large), file("b/big", large), file("b/one", "1"), file("c", "x")))
	size := int64(len(large))
	for app, want := range map[string]int64{
		".":       0,
		"app":     2, // b/big is just what fits
		"missing": size + 2,
	} {
		tree, err := source.Archive{App: app}.Read(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		packed, held, _ := source.Packed(tree)
		if packed != want || (held == 0) != (packed == 0) || held > int64(len(data)) {
			t.Errorf("%q: %d bytes packed, %d held, want %d", app, packed, held, want)
		}
		for range 2 {
			if v := tree.View(); body(t, v, "b/big") != large || body(t, v, "b/one") != "1" || body(t, v, "c") != "x" {
				t.Errorf("%q: wrong content", app)
			}
		}
	}
}

func TestArchiveScans(t *testing.T) {
	t.Parallel()
	const size = 1000 // of text that compresses; a budget of 2500 is two and a half of them
	text := func(name string) entry { return file(name, strings.Repeat(name+"\n", size)[:size]) }
	entries := []entry{file("app/a", "1")}
	for _, name := range []string{
		"a/1", "a/2", // fit
		"base/x/1", "base/x/2", "base/y/1", "base/y/2",
		"lib/1", "lib/2", "other/1", "other/2", "shared/1", "shared/2", "z/1", "z/2",
	} {
		entries = append(entries, text(name))
	}
	data := zip(t, archive(t, entries...))
	fresh := func() *source.Tree {
		tree, err := source.Archive{App: "app"}.Far(2500).Read(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	tests := []struct {
		name   string
		read   []string
		scans  int
		packed int64
	}{
		{"nothing", nil, 0, 12 * size},
		{"the application and what fits", []string{"app/a", "a/1", "a/2"}, 0, 12 * size},
		// The wanted file, and two more up to the budget.
		{"one", []string{"base/x/2"}, 1, 9 * size},
		{"again", []string{"base/x/2", "base/x/2"}, 1, 9 * size},
		{"its folder", []string{"base/x/2", "base/x/1"}, 1, 9 * size},
		{"near it", []string{"base/x/2", "base/x/1", "base/y/1"}, 1, 9 * size},
		{"elsewhere", []string{"base/x/2", "z/1", "z/2"}, 2, 6 * size},
		{"three places", []string{"base/x/1", "z/1", "shared/1"}, 3, 3 * size},
		{"four places", []string{"base/x/1", "z/1", "shared/1", "other/2"}, 4, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tree := fresh()
			for _, name := range tt.read {
				if got := body(t, tree.View(), name); name != "app/a" && got != text(name).body {
					t.Errorf("%s: got %q", name, got)
				}
			}
			packed, held, scans := source.Packed(tree)
			if packed != tt.packed || scans != tt.scans || (held == 0) != (packed == 0) {
				t.Errorf("%d bytes packed, %d held after %d scans, want %d after %d", packed, held, scans, tt.packed, tt.scans)
			}
		})
	}
	t.Run("names and sizes need none", func(t *testing.T) {
		t.Parallel()
		tree := fresh()
		found := 0
		err := source.Walk(tree.View(), ".", func(_ string, d fs.DirEntry, err error) error {
			if info, errInfo := d.Info(); err == nil && errInfo == nil && info.Size() == size {
				found++
			}
			return err
		})
		if _, _, scans := source.Packed(tree); err != nil || found != 14 || scans != 0 {
			t.Errorf("%d files, %v, %d scans", found, err, scans)
		}
	})
	t.Run("a file above the limit needs none", func(t *testing.T) {
		t.Parallel()
		tree, err := source.Archive{App: "app", Limits: source.Limits{TreeBytes: 1600}}.Far(1).
			Read(bytes.NewReader(zip(t, archive(t, text("a"), file("app/b", random(1, 600)), link("app/l", "b")))))
		if err != nil {
			t.Fatal(err)
		}
		v := tree.View()
		_, errB := v.ReadFile("app/b")
		_, errL := v.ReadFile("app/l")
		_, errA := v.ReadFile("a")
		if _, _, scans := source.Packed(tree); errB != nil || errL != nil || !errors.As(errA, new(*source.LimitError)) || scans != 0 {
			t.Errorf("got %v, %v, %v after %d scans", errB, errL, errA, scans)
		}
	})
}

// What does not compress is no larger unpacked, so the archive goes at once.
func TestArchiveOfBlobs(t *testing.T) {
	t.Parallel()
	entries := []entry{file("app/a", random(1, 3000))}
	for i := range 10 {
		entries = append(entries, file(fmt.Sprintf("blobs/%d", i), random(i+2, 1000)))
	}
	tree, err := source.Archive{App: "app"}.Far(1).Read(bytes.NewReader(zip(t, archive(t, entries...))))
	if err != nil {
		t.Fatal(err)
	}
	if packed, held, _ := source.Packed(tree); packed != 10_000 || held < 13_000 {
		t.Errorf("%d bytes packed, %d held", packed, held)
	}
	for i := range 10 {
		if body(t, tree.View(), fmt.Sprintf("blobs/%d", i)) != random(i+2, 1000) {
			t.Errorf("blob %d differs", i)
		}
	}
	if packed, held, scans := source.Packed(tree); packed != 0 || held != 0 || scans != 1 {
		t.Errorf("%d bytes packed, %d held after %d scans", packed, held, scans)
	}
}

func TestArchiveLinks(t *testing.T) {
	t.Parallel()
	far := strings.Repeat("far", 100)
	data := zip(t, archive(t,
		file("far/x", far), file("far/old", "gone"), special("far/hard", tar.TypeLink, "far/old"), file("far/old", "new"),
		special("app/hard", tar.TypeLink, "far/x"), link("app/soft", "../far/x"), link("app/dir", "../far"),
		special("app/hard-soft", tar.TypeLink, "app/soft"), special("app/replaced", tar.TypeLink, "far/hard"),
	))
	for _, name := range []string{"app/hard", "app/soft", "app/dir/x", "app/hard-soft"} {
		tree, err := source.Archive{App: "app"}.Far(1).Read(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if packed, _, _ := source.Packed(tree); packed != 300+4+3 {
			t.Errorf("%d bytes are packed", packed)
		}
		v := tree.View()
		if got := body(t, v, name); got != far {
			t.Errorf("%s: got %q", name, got)
		}
		if info, err := v.Stat(name); err != nil || info.Size() != 300 {
			t.Errorf("%s: got %v, %v", name, info, err)
		}
		if old, replaced := body(t, v, "far/old"), body(t, v, "app/replaced"); old != "new" || replaced != "gone" {
			t.Errorf("got %q and %q", old, replaced)
		}
	}
}

func TestArchiveBelow(t *testing.T) {
	t.Parallel()
	sent := []entry{
		folder("."), file("app/v", "1"), file("base/k", "2"), link("app/up", "../base"), link("app/unsent", "../../lib/x"),
		link("root", ".."), file("team/x", "3"),
	}
	tree, err := source.Archive{App: "app", Prefix: "team"}.Read(bytes.NewReader(zip(t, archive(t, sent...))))
	if err != nil {
		t.Fatal(err)
	}
	root, _ := onDisk(t, map[string]string{
		"app/v": "1", "base/k": "2", "app/up": "-> ROOT/base", "app/unsent": "-> ../../lib/x", "root": "-> ..", "team/x": "3",
	})
	// argocd-cmp-server unpacks a part of the repository in the same way.
	for name, tree := range map[string]*source.Tree{"archive": tree, "disk": openDir(t, root, source.Limits{}).Below("team")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := tree.View()
			for name, want := range map[string]string{
				"team/app/v": "1", "team/app/up/k": "2", "team/root/team/base/k": "2", "team/team/x": "3",
			} {
				if got := body(t, v, name); got != want {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
			if p, err := v.Resolve("team/root/team/app/up"); p != "team/base" || err != nil {
				t.Errorf("got %q, %v", p, err)
			}
			for name, dir := range map[string]string{".": ".", "team": "team", "team/root": "."} {
				info, err := v.Stat(name)
				p, errResolve := v.Resolve(name)
				if err != nil || errResolve != nil || !info.IsDir() || p != dir {
					t.Errorf("%s: got %v, %q, %v, %v", name, info, p, err, errResolve)
				}
			}
			for _, name := range []string{"lib/x", "app/v", "x", "teams", "team/app/unsent", "team/root/x"} {
				_, err := v.ReadFile(name)
				if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), `lies outside of "team"`) {
					t.Errorf("%s: got %v", name, err)
				}
				if !strings.Contains(diag.Hint(err), "manifest-generate-paths") {
					t.Errorf("%s: got hint %q", name, diag.Hint(err))
				}
			}
			for _, name := range []string{".", "team/root"} {
				if entries, err := v.ReadDir(name); err == nil || errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: listed %v, %v", name, entries, err)
				}
			}
			for _, name := range []string{"team/missing", "team/app/v/x", ".git", "team/.git/HEAD"} {
				if _, err := v.ReadFile(name); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: got %v, want ErrNotExist", name, err)
				}
			}
		})
	}
	for _, out := range []string{"../..", "../../team/app/v", "/team/app/v"} {
		data := zip(t, archive(t, link("l", out)))
		escape := (*source.EscapeError)(nil)
		if _, err := (source.Archive{Prefix: "team"}).Read(bytes.NewReader(data)); !errors.As(err, &escape) || escape.Path != "team/l" {
			t.Errorf("%s: got %v, want an EscapeError", out, err)
		}
	}
}

func TestArchiveFoldersOutside(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"..", "../app", "/app", "app/../..", "a/../../b"} {
		for _, a := range []source.Archive{{App: dir}, {Prefix: dir}} {
			if _, err := a.Read(failing{io.ErrUnexpectedEOF}); err == nil || !strings.Contains(err.Error(), "leaves the") {
				t.Errorf("%+v: got %v", a, err)
			}
		}
	}
}

// sparseFile is an entry as GNU tar --sparse writes it: 1000 zeros and "end".
// archive/tar reads such entries and does not write them.
func sparseFile(tb testing.TB, name string) []byte {
	tb.Helper()
	records := ""
	for _, r := range [][2]string{
		{"GNU.sparse.major", "1"}, {"GNU.sparse.minor", "0"}, {"GNU.sparse.name", name}, {"GNU.sparse.realsize", "1003"},
	} {
		line := fmt.Sprintf(" %s=%s\n", r[0], r[1])
		records += fmt.Sprintf("%d%s", len(line)+2, line)
	}
	pax := archive(tb, file("pax", records))
	pax[156] = tar.TypeXHeader
	checksum(pax)
	chunks := make([]byte, 512)
	copy(chunks, "1\n1000\n3\n")
	data := archive(tb, file(name, string(chunks)+"end"))
	return slices.Concat(pax[:1024], data[:len(data)-1024])
}

func TestArchiveSparseFile(t *testing.T) {
	t.Parallel()
	want := strings.Repeat("\x00", 1000) + "end"
	data := slices.Concat(sparseFile(t, "far/s"), sparseFile(t, ".git/s"), archive(t, file("far/x", "x")))
	unpacked, packed, err := intake(t, data, false, source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tree := range []*source.Tree{unpacked, packed} {
		if v := tree.View(); body(t, v, "far/s") != want || body(t, v, "far/x") != "x" {
			t.Errorf("got %s", look(v))
		}
		if entries, size := tree.Size(); entries != 3 || size != 2*1003+1 {
			t.Errorf("got %d entries, %d bytes", entries, size)
		}
	}
}

// scramble is an archive of random entries, few of which make sense.
func scramble(tb testing.TB, rng *rand.Rand) []byte {
	tb.Helper()
	name := func() string {
		elems := []string{"a", "b", "c", "app"}
		if rng.IntN(20) == 0 {
			elems = append(elems, ".git")
		}
		var parts []string
		for range 1 + rng.IntN(3) {
			parts = append(parts, elems[rng.IntN(len(elems))])
		}
		return strings.Join(parts, "/")
	}
	var entries []entry
	for range 1 + rng.IntN(12) {
		switch rng.IntN(8) {
		case 0:
			entries = append(entries, folder(name()))
		case 1:
			entries = append(entries, link(name(), strings.Repeat("../", rng.IntN(2))+name()))
		case 2:
			if len(entries) > 0 {
				entries = append(entries, special(name(), tar.TypeLink, entries[rng.IntN(len(entries))].Name))
			}
		default:
			entries = append(entries, file(name(), strings.Repeat(fmt.Sprint(rng.IntN(10)), rng.IntN(40))))
		}
	}
	return archive(tb, entries...)
}

func TestArchiveSeesWhatTarSees(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same archives each time
	accepted, scanned := 0, 0
	for range 1000 {
		data := scramble(t, rng)
		want, err := source.Tar(bytes.NewReader(data), source.Limits{})
		a := source.Archive{App: []string{"app", "a", "a/b", "x"}[rng.IntN(4)]}.Far(1 + rng.Int64N(60))
		got, errGot := a.Read(bytes.NewReader(zip(t, data)))
		if fmt.Sprint(err) != fmt.Sprint(errGot) {
			t.Fatalf("%+v: got error %v, want %v", a, errGot, err)
		}
		if err != nil {
			continue
		}
		accepted++
		if want, got := look(want.View()), look(got.View()); got != want {
			t.Fatalf("%+v: got\n%s, want\n%s", a, got, want)
		}
		if want, got := look(want.View()), look(got.View()); got != want {
			t.Fatalf("%+v: the second time got\n%s, want\n%s", a, got, want)
		}
		if _, _, scans := source.Packed(got); scans > 0 {
			scanned++
		}
	}
	if accepted < 200 || scanned < 50 {
		t.Errorf("of 1000 archives %d were accepted and %d scanned", accepted, scanned)
	}
}

func TestArchiveConcurrently(t *testing.T) {
	t.Parallel()
	entries := []entry{file("app/a", "")}
	for i := range 60 {
		name := fmt.Sprintf("d%d/f%02d", i%6, i)
		entries = append(entries, file(name, strings.Repeat(name, 50)))
	}
	tree, err := source.Archive{App: "app"}.Far(1000).Read(bytes.NewReader(zip(t, archive(t, entries...))))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			v := tree.View()
			for j := range entries {
				e := entries[(j*7+i*11)%len(entries)]
				if data, err := v.ReadFile(e.Name); err != nil || string(data) != e.body {
					t.Errorf("%s: got %q, %v", e.Name, data, err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzArchive(f *testing.F) {
	f.Add(archive(f, file("a/b", "12345"), link("app/l", "../a/b"), special("app/h", tar.TypeLink, "a/b")), "app", uint16(3))
	f.Add(archive(f, file("a", "1"), file("a", "22"), file(".git/x", "y"), file("c", "333")), "a", uint16(0))
	f.Add(slices.Concat(sparseFile(f, "s"), archive(f, folder("app"))), "app", uint16(10))
	f.Add(archive(f, folder("a"), file("a/x", "1"))[:700], "..", uint16(1))
	lim := source.Limits{Files: 64, FileBytes: 4 << 10, TreeBytes: 8 << 10}
	f.Fuzz(func(t *testing.T, data []byte, app string, far uint16) {
		a := source.Archive{Limits: lim, App: app}.Far(int64(far) + 1)
		zipped := zip(t, data)
		want, err := source.Archive{Limits: lim}.Read(bytes.NewReader(zipped))
		got, errGot := a.Read(bytes.NewReader(zipped))
		switch {
		case err != nil || errGot != nil:
			if fmt.Sprint(err) != fmt.Sprint(errGot) && !strings.Contains(errGot.Error(), "application path") {
				t.Fatalf("got error %v, want %v", errGot, err)
			}
		case look(got.View()) != look(want.View()):
			t.Fatalf("got\n%s, want\n%s", look(got.View()), look(want.View()))
		}
	})
}

// large is a monorepo of about 100 MB in 7000 files, of which app has 1 MB.
func large(b *testing.B, content func(i int) string) []byte {
	b.Helper()
	var entries []entry
	for i := range 70 {
		entries = append(entries, file(fmt.Sprintf("apps/app/f%02d", i), content(i)))
	}
	for i := range 7000 {
		entries = append(entries, file(fmt.Sprintf("apps/team%02d/f%04d", i/100, i), content(i)))
	}
	entries = append(entries, file("shared/values.yaml", "a: 1\n"))
	return zip(b, archive(b, entries...))
}

func BenchmarkArchive(b *testing.B) {
	text := func(i int) string {
		rng := rand.New(rand.NewPCG(1, uint64(i))) //nolint:gosec // the same archive each time
		var body strings.Builder
		for body.Len() < 15_000 {
			fmt.Fprintf(&body, "    key%d: value-%x\n", rng.IntN(100), rng.Uint32N(1000))
		}
		return body.String()
	}
	for name, data := range map[string][]byte{
		"text": large(b, text), "blobs": large(b, func(i int) string { return random(i, 15_000) }),
	} {
		for how, a := range map[string]source.Archive{"whole": {}, "app": {App: "apps/app"}} {
			b.Run(name+"/"+how, func(b *testing.B) {
				b.ReportAllocs()
				var tree *source.Tree
				for b.Loop() {
					var err error
					if tree, err = a.Read(bytes.NewReader(data)); err != nil {
						b.Fatal(err)
					}
				}
				_, held, _ := source.Packed(tree)
				b.ReportMetric(float64(held)/1e6, "held-MB")
			})
		}
		b.Run(name+"/scan", func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				tree, err := source.Archive{App: "apps/app"}.Read(bytes.NewReader(data))
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := tree.View().ReadFile("apps/team60/f6000"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
