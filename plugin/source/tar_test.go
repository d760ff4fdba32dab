package source_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"hallmark.dev/hallmark/plugin/source"
)

// entry is a tar header and its content.
type entry struct {
	tar.Header
	body string
}

func file(name, body string) entry {
	return entry{tar.Header{Name: name, Mode: 0o644, Size: int64(len(body)), Typeflag: tar.TypeReg}, body}
}

func folder(name string) entry {
	return entry{tar.Header{Name: name, Mode: 0o755, Typeflag: tar.TypeDir}, ""}
}

func link(name, target string) entry {
	return entry{tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink}, ""}
}

func special(name string, typ byte, target string) entry {
	return entry{tar.Header{Name: name, Linkname: target, Typeflag: typ}, ""}
}

func archive(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var buf bytes.Buffer
	if err := writeTar(&buf, entries...); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func writeTar(to io.Writer, entries ...entry) error {
	w := tar.NewWriter(to)
	for _, e := range entries {
		if err := w.WriteHeader(&e.Header); err != nil {
			return fmt.Errorf("header %q: %w", e.Name, err)
		}
		if _, err := io.WriteString(w, e.body); err != nil {
			return fmt.Errorf("body %q: %w", e.Name, err)
		}
	}
	return w.Close()
}

// checksum corrects the checksum of an archive's first header.
func checksum(archive []byte) {
	sum := 8 * int(' ')
	for i, b := range archive[:512] {
		if i < 148 || i >= 156 {
			sum += int(b)
		}
	}
	copy(archive[148:156], fmt.Sprintf("%06o\x00 ", sum))
}

func zip(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

// intake reads an archive in every way that there is, and demands that they
// agree. In the first tree all is unpacked, in the second all contents are packed.
func intake(tb testing.TB, data []byte, gz bool, lim source.Limits) (unpacked, packed *source.Tree, err error) {
	tb.Helper()
	if gz {
		unpacked, err = source.Archive{Limits: lim}.Read(bytes.NewReader(data))
	} else {
		unpacked, err = source.Tar(bytes.NewReader(data), lim)
		data = zip(tb, data)
	}
	packed, errPacked := source.Archive{Limits: lim, App: "nowhere"}.Far(-1).Read(bytes.NewReader(data))
	if a, b := (*source.LimitError)(nil), (*source.LimitError)(nil); errors.As(err, &a) && errors.As(errPacked, &b) {
		b.Value = a.Value // depends on how much is read at once
	}
	if fmt.Sprint(errPacked) != fmt.Sprint(err) {
		tb.Errorf("packed: got error %v, want %v", errPacked, err)
	}
	return unpacked, packed, err
}

// tree is a Tar of entries that must succeed.
func tree(tb testing.TB, lim source.Limits, entries ...entry) *source.Tree {
	tb.Helper()
	t, err := source.Tar(bytes.NewReader(archive(tb, entries...)), lim)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// dump lists a tree without following links: "path" or "path -> target" or
// "path/" or "path=content".
func dump(tb testing.TB, fsys *source.View) string {
	tb.Helper()
	var lines []string
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			lines = append(lines, p+"/")
		case d.Type()&fs.ModeSymlink != 0:
			target, err := fsys.ReadLink(p)
			if err != nil {
				return err
			}
			lines = append(lines, p+" -> "+target)
		default:
			data, err := fsys.ReadFile(p)
			if err != nil {
				return err
			}
			lines = append(lines, p+"="+string(data))
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return strings.Join(lines, " ")
}

func TestTarAccepts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long/", 60) + "name"
	tests := []struct {
		name    string
		entries []entry
		want    string
	}{
		{"files and folders", []entry{folder("a"), file("a/x", "1"), file("b", "2")}, "./ a/ a/x=1 b=2"},
		{"implied folders", []entry{file("a/b/c", "1")}, "./ a/ a/b/ a/b/c=1"},
		{"leading dot as GNU tar writes it", []entry{folder("./"), folder("./a/"), file("./a/x", "1")}, "./ a/ a/x=1"},
		{"names are cleaned", []entry{file("a//b/./c", "1")}, "./ a/ a/b/ a/b/c=1"},
		{"last entry wins", []entry{file("a", "1"), file("a", "22")}, "./ a=22"},
		{"file replaces link", []entry{file("b", "1"), link("a", "b"), file("a", "2")}, "./ a=2 b=1"},
		{"link replaces file", []entry{file("a", "2"), file("b", "1"), link("a", "b")}, "./ a -> b b=1"},
		{"file replaces empty folder", []entry{folder("a"), file("a", "1")}, "./ a=1"},
		{"folder again keeps its content", []entry{file("a/x", "1"), folder("a")}, "./ a/ a/x=1"},
		{"hard link", []entry{file("a/x", "1"), special("b", tar.TypeLink, "a/x")}, "./ a/ a/x=1 b=1"},
		{"hard link to a symlink", []entry{file("x", "1"), link("a", "x"), special("b", tar.TypeLink, "a")}, "./ a -> x b -> x x=1"},
		{"link inside", []entry{file("a/x", "1"), link("b/l", "../a/x")}, "./ a/ a/x=1 b/ b/l -> ../a/x"},
		{"link before its target", []entry{link("l", "x"), file("x", "1")}, "./ l -> x x=1"},
		{"dangling link", []entry{link("l", "missing/../x")}, "./ l -> missing/../x"},
		{"link loop", []entry{link("a", "b"), link("b", "a")}, "./ a -> b b -> a"},
		{"dots that only look outward", []entry{file("a/b/c/f", "1"), link("d", "a/b/c"), link("l", "d/../../b")},
			"./ a/ a/b/ a/b/c/ a/b/c/f=1 d -> a/b/c l -> d/../../b"},
		{"global header", []entry{{tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "c0ffee"}}, ""},
			file("a", "1")}, "./ a=1"},
		{"PAX long name", []entry{{tar.Header{Name: "p" + long, Size: 1, Typeflag: tar.TypeReg, Format: tar.FormatPAX}, "1"}}, ""},
		{"GNU long name", []entry{{tar.Header{Name: "g" + long, Size: 1, Typeflag: tar.TypeReg, Format: tar.FormatGNU}, "1"}}, ""},
		{"names that mean something to Windows", []entry{file(`C:\x`, "1"), file(`dev-disk\x2dlabel.mount`, "2"), file("nul", "3")},
			`./ C:\x=1 dev-disk\x2dlabel.mount=2 nul=3`},
		{"dots inside names", []entry{file("..a/b..", "1"), file("...", "2")}, "./ ...=2 ..a/ ..a/b..=1"},
		{".git at any depth is left out", []entry{file(".git/HEAD", "1"), file("sub/.git", "gitdir"), file(".gitignore", "2"),
			special(".git/pipe", tar.TypeFifo, ""), link(".git/out", "/etc")}, "./ .gitignore=2"},
		{"nothing but an end marker", nil, "./"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			unpacked, packed, err := intake(t, archive(t, tt.entries...), false, source.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			got := dump(t, unpacked.View())
			if tt.want == "" {
				if want := tt.entries[0].Name + "=1"; !strings.HasSuffix(got, want) {
					t.Fatalf("got %q, want it to end with %q", got, want)
				}
			} else if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if other := dump(t, packed.View()); other != got {
				t.Errorf("packed it is %q, want %q", other, got)
			}
		})
	}
}

func TestTarRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		entries []entry
		escape  bool
		want    string // a part of the message
	}{
		{"absolute name", []entry{file("/etc/passwd", "")}, true, `archive entry "/etc/passwd" leaves the repository root`},
		{"parent", []entry{file("../x", "")}, true, `"../x" leaves`},
		{"parent in the middle", []entry{file("a/../b", "")}, true, `"a/../b" leaves`},
		{"parent at the end", []entry{folder("a/..")}, true, `"a/.." leaves`},
		{"parent with backslashes", []entry{file(`a\..\..\b`, "")}, true, `leaves`},
		{"absolute with a backslash", []entry{file(`\etc\passwd`, "")}, true, `leaves`},
		{"share with backslashes", []entry{file(`\\host\share`, "")}, true, `leaves`},
		{"parent below .git", []entry{file(".git/../../x", "")}, true, `leaves`},
		{"character device", []entry{special("d", tar.TypeChar, "")}, false, `archive entry "d" is a device, want a file, folder or link`},
		{"block device", []entry{special("d", tar.TypeBlock, "")}, false, `"d" is a device`},
		{"named pipe", []entry{special("d", tar.TypeFifo, "")}, false, `"d" is a named pipe`},
		{"unknown type", []entry{special("d", 'Z', "")}, false, `"d" has type 'Z'`},
		{"symlink out", []entry{link("a/l", "../../etc")}, true, `symlink "a/l" leaves the repository root: it points to "../../etc"`},
		{"symlink out and in again", []entry{file("x", ""), link("a/l", "../../repo/x")}, true, `symlink "a/l" leaves`},
		{"absolute symlink", []entry{link("l", "/etc/passwd")}, true, `symlink "l" leaves the repository root: it points to "/etc/passwd"`},
		{"symlink out by way of a link", []entry{folder("a/b"), link("d", "a/b"), link("l", "d/../../..")}, true, `symlink "l" leaves`},
		{"link to a symlink out", []entry{link("a", "z"), link("z", "../x")}, true, `symlink "z" leaves`},
		{"dangling on the way out", []entry{link("l", "missing/../../x")}, true, `symlink "l" leaves`},
		{"loop on the way out", []entry{link("l", "l/../../x")}, true, `symlink "l" leaves`},
		{"hard link out", []entry{special("l", tar.TypeLink, "../x")}, true, `hard link "l": archive entry "../x" leaves`},
		{"hard link to an absolute path", []entry{special("l", tar.TypeLink, "/etc/passwd")}, true, `leaves`},
		{"hard link to nothing", []entry{special("l", tar.TypeLink, "x")}, false, `hard link "l" points to "x", which is not an earlier file`},
		{"hard link to a folder", []entry{folder("x"), special("l", tar.TypeLink, "x")}, false, `not an earlier file`},
		{"hard link through a symlink", []entry{file("d/x", ""), link("e", "d"), special("l", tar.TypeLink, "e/x")}, false, `not an earlier file`},
		{"entry below a symlink", []entry{folder("d"), link("l", "d"), file("l/x", "")}, false, `"l/x" lies below "l", which is a symlink`},
		{"entry below a file", []entry{file("f", ""), file("f/x", "")}, false, `"f/x" lies below "f", which is a file`},
		{"file in place of a folder", []entry{file("d/x", ""), file("d", "")}, false, `"d" is both a folder and a file`},
		{"root as a file", []entry{link(".", "x")}, false, `the repository root is a symlink`},
		{"name too long", []entry{file(strings.Repeat("a/", 2048)+"x", "")}, false, `has a name of 4097 bytes, want at most 4096`},
		{"target too long", []entry{link("l", strings.Repeat("a/", 2048)+"x")}, false, `has a target of 4097 bytes, want at most 4096`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := intake(t, archive(t, tt.entries...), false, source.Limits{})
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, want %q in it", err, tt.want)
			}
			if escape := (*source.EscapeError)(nil); errors.As(err, &escape) != tt.escape {
				t.Errorf("got a %T, EscapeError wanted: %t", err, tt.escape)
			}
			if errors.Is(err, fs.ErrNotExist) {
				t.Error("a refusal must not look like an absent file")
			}
		})
	}
}

func TestTarDamage(t *testing.T) {
	t.Parallel()
	whole := archive(t, file("a", "one"), file("b", "two"))
	zipped := zip(t, whole)
	flipped := bytes.Clone(zipped)
	flipped[len(flipped)-6] ^= 1 // in the checksum
	badHeader := bytes.Clone(whole)
	badHeader[1024] ^= 1 // in the name of b
	negative := bytes.Clone(whole)
	copy(negative[124:136], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
	huge := archive(t, file("a", ""))
	copy(huge[124:136], "\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff")
	checksum(negative)
	checksum(huge)
	tests := []struct {
		name string
		data []byte
		gz   bool
		want string
	}{
		{"empty", nil, false, "archive is cut short after its start"},
		{"cut in a header", whole[:100], false, "archive is cut short after its start"},
		{"cut in a content", whole[:514], false, `archive is cut short after entry "a"`},
		{"cut in the padding", whole[:700], false, `archive is cut short after entry "a"`},
		{"cut between entries", whole[:1024], false, `archive is cut short after entry "a"`},
		{"cut before the end marker", whole[:2048], false, `archive is cut short after entry "b"`},
		{"half an end marker", whole[:2048+512], false, ""},
		{"padded to a record", append(bytes.Clone(whole), make([]byte, 10240)...), false, ""},
		{"text after the end", append(bytes.Clone(whole), "\x00\x00tail"...), false, "archive has data after its end marker, at byte 3074"},
		{"second archive after the end", append(bytes.Clone(whole), whole...), false, "archive has data after its end marker, at byte 3072"},
		{"bad header", badHeader, false, `archive is damaged after entry "a": archive/tar: invalid tar header`},
		{"negative size", negative, false, "archive is damaged after its start"},
		{"huge size", huge, false, `"a" has 9223372036854775807 bytes, more than limits.fileBytes allows (33554432)`},
		{"text", []byte(strings.Repeat("not a tar archive ", 100)), false, "archive is damaged after its start"},
		{"gzip empty", nil, true, "archive is cut short after its start"},
		{"gzip not gzip", whole, true, "archive is damaged after its start: gzip: invalid header"},
		{"gzip cut", zipped[:len(zipped)-20], true, "archive is cut short"},
		{"gzip without trailer", zipped[:len(zipped)-8], true, "archive is cut short"},
		{"gzip checksum", flipped, true, `archive is damaged after entry "b": gzip: invalid checksum`},
		{"gzip tail", append(bytes.Clone(zipped), "tail"...), true, "archive is cut short"},
		{"gzip long tail", append(bytes.Clone(zipped), "tail tail tail"...), true, "gzip: invalid header"},
		{"gzip tail in the tar", zip(t, append(bytes.Clone(whole), "tail"...)), true, "archive has data after its end marker"},
		{"gzip of a cut tar", zip(t, whole[:1024]), true, `archive is cut short after entry "a"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := intake(t, tt.data, tt.gz, source.Limits{})
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && err == nil:
				t.Error("accepted")
			case tt.want != "" && !strings.Contains(err.Error(), tt.want):
				t.Errorf("got %q, want %q in it", err, tt.want)
			}
		})
	}
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestTarLimits(t *testing.T) {
	t.Parallel()
	bomb := func(size int64) []byte {
		var buf bytes.Buffer
		gz := gzip.NewWriter(&buf)
		w := tar.NewWriter(gz)
		h := tar.Header{Name: "bomb", Size: size, Typeflag: tar.TypeReg}
		if err := errors.Join(w.WriteHeader(&h)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(w, zeros{}, size); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Close(), gz.Close()); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}
	many := make([]entry, 100)
	for i := range many {
		many[i] = file("same", "0123456789")
	}
	var longNames []entry
	for i := range 5 {
		longNames = append(longNames, entry{tar.Header{Typeflag: tar.TypeXGlobalHeader,
			PAXRecords: map[string]string{"comment": fmt.Sprint(i, strings.Repeat("x", 100_000))}}, ""})
	}
	tail := append(archive(t, file("a", "1")), make([]byte, 1<<20)...)
	small := source.Limits{Files: 4, FileBytes: 100, TreeBytes: 150}
	tests := []struct {
		name  string
		data  []byte
		gz    bool
		lim   source.Limits
		limit string // or "" for accepted
		path  string
	}{
		{"at the file limit", archive(t, folder("."), file("a/b/c", ""), file("d", "")), false, small, "", ""},
		{"entries", archive(t, file("a", ""), file("b", ""), file("c", ""), file("d", ""), file("e", "")), false, small, "files", "e"},
		{"implied folders", archive(t, file("a/b/c/d/e", "")), false, small, "files", "a/b/c/d/e"},
		{"links", archive(t, link("a", "x"), link("b", "x"), link("c", "x"), link("d", "x"), link("e", "x")), false, small, "files", "e"},
		{"entries of one name", archive(t, many...), false, small, "files", "same"},
		{"bytes of one name", archive(t, many...), false, source.Limits{Files: 1000, FileBytes: 100, TreeBytes: 150}, "treeBytes", "same"},
		{"at the byte limits", archive(t, file("a", strings.Repeat("x", 100)), file("b", strings.Repeat("x", 50))), false, small, "", ""},
		{"file bytes", archive(t, file("a", strings.Repeat("x", 101))), false, small, "fileBytes", "a"},
		{"tree bytes", archive(t, file("a", strings.Repeat("x", 100)), file("b", strings.Repeat("x", 51))), false, small, "treeBytes", "b"},
		{"bytes in .git are counted", archive(t, file(".git/pack", strings.Repeat("x", 151))), false, small, "treeBytes", ".git/pack"},
		{"a large pack in .git is no large file", archive(t, file(".git/pack", strings.Repeat("x", 101))), false, small, "", ""},
		{"gzip bomb", bomb(4 << 20), true, source.Limits{FileBytes: 1 << 30, TreeBytes: 1 << 20}, "treeBytes", "bomb"},
		{"gzip bomb under the file limit", bomb(4 << 20), true, source.Limits{FileBytes: 1 << 20}, "fileBytes", "bomb"},
		{"headers only", archive(t, longNames...), false, small, "treeBytes", ""},
		{"padding bomb", tail, false, small, "treeBytes", "a"},
		{"empty gzip members", bytes.Repeat(zip(t, nil), 10_000), true, small, "treeBytes", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := intake(t, tt.data, tt.gz, tt.lim)
			if tt.limit == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			limit := (*source.LimitError)(nil)
			if !errors.As(err, &limit) {
				t.Fatalf("got %v, want a LimitError", err)
			}
			if limit.Limit != tt.limit || limit.Path != tt.path || limit.Value <= limit.Max {
				t.Errorf("got %+v, want limit %q at %q", limit, tt.limit, tt.path)
			}
			if !strings.Contains(err.Error(), "limits."+tt.limit) || !strings.Contains(limit.Hint(), "raise limits."+tt.limit) {
				t.Errorf("message %q and hint %q do not name the limit", err, limit.Hint())
			}
			if strings.HasPrefix(tt.path, ".git") != strings.Contains(limit.Hint(), "reposerver.plugin.tar.exclusions") {
				t.Errorf("hint %q", limit.Hint())
			}
		})
	}
}

// A stream without end is left at the limit, not read to exhaustion.
func TestTarStopsReading(t *testing.T) {
	t.Parallel()
	head := archive(t, entry{Header: tar.Header{Name: "a", Typeflag: tar.TypeReg}})[:512]
	for name, r := range map[string]io.Reader{
		"zeros":           zeros{},
		"zeros after end": io.MultiReader(bytes.NewReader(head), zeros{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := source.Tar(r, source.Limits{Files: 10, TreeBytes: 1 << 20})
			if limit := (*source.LimitError)(nil); !errors.As(err, &limit) {
				t.Errorf("got %v, want a LimitError", err)
			}
		})
	}
	t.Run("reader error", func(t *testing.T) {
		t.Parallel()
		broken := errors.New("connection reset")
		_, err := source.Tar(io.MultiReader(bytes.NewReader(head), failing{broken}), source.Limits{})
		if !errors.Is(err, broken) {
			t.Errorf("got %v, want it to wrap %v", err, broken)
		}
	})
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestHundredThousandFiles(t *testing.T) {
	t.Parallel()
	const count = 100_000
	entries := make([]entry, count)
	files := make(map[string]string, count)
	for i := range entries {
		name := fmt.Sprintf("apps/%03d/charts/f%05d.yaml", i%500, i)
		entries[i] = file(name, "x")
		files[name] = "x"
	}
	data := archive(t, entries...)
	limit := (*source.LimitError)(nil)
	if _, err := source.Tar(bytes.NewReader(data), source.DefaultLimits()); !errors.As(err, &limit) || limit.Limit != "files" {
		t.Errorf("got %v, want a LimitError of files", err)
	}
	raised, err := source.Tar(bytes.NewReader(data), source.Limits{Files: 2 * count})
	if err != nil {
		t.Fatal(err)
	}
	for name, tree := range map[string]*source.Tree{"Tar": raised, "Memory": source.Memory(files)} {
		found := 0
		err := source.Walk(tree.View(), ".", func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				found++
			}
			return err
		})
		if err != nil || found != count {
			t.Errorf("%s: walked %d files, %v, want %d", name, found, err, count)
		}
	}
}

func FuzzTar(f *testing.F) {
	f.Add(archive(f, file("a/b", "1"), link("l", "a/b"), special("h", tar.TypeLink, "a/b")))
	f.Add(archive(f, link("a", "b"), link("b", "a"), link("c", "../c"), file("../x", "")))
	f.Add(archive(f, entry{tar.Header{Name: strings.Repeat("p/", 200), Typeflag: tar.TypeDir, Format: tar.FormatPAX}, ""}))
	f.Add(archive(f, entry{tar.Header{Name: strings.Repeat("g/", 200) + `\..\x`, Typeflag: tar.TypeReg, Format: tar.FormatGNU}, ""}))
	f.Add(archive(f, folder("a"), folder("."), file("a", "x"), file(".git/x", "y"))[:2000])
	f.Add([]byte("not a tar"))
	lim := source.Limits{Files: 64, FileBytes: 4 << 10, TreeBytes: 8 << 10}
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := source.Tar(bytes.NewReader(data), lim)
		if err != nil {
			return
		}
		v := tree.View()
		var paths int
		err = fs.WalkDir(v, ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // a name that is not UTF-8 can be listed and no more
			}
			if paths++; paths > lim.Files+1 {
				t.Fatalf("more than %d paths", lim.Files)
			}
			for elem := range strings.SplitSeq(p, "/") {
				if elem == ".." || elem == ".git" || elem == "" {
					t.Fatalf("path %q", p)
				}
			}
			if !d.IsDir() {
				if target, err := v.Resolve(p); err == nil && (!fs.ValidPath(target) || strings.HasPrefix(target, "..")) {
					t.Fatalf("%q resolves to %q", p, target)
				}
				_, _ = v.ReadFile(p) // dangling links fail, and that is fine
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var total int64
		for _, f := range v.Files() {
			total += f.Size
			if f.Size > lim.FileBytes {
				t.Fatalf("%q has %d bytes", f.Path, f.Size)
			}
		}
		if total > lim.TreeBytes {
			t.Fatalf("the tree has %d bytes", total)
		}
	})
}

func TestTarIsAnFS(t *testing.T) {
	t.Parallel()
	v := tree(t, source.Limits{}, file("a/b/c.yaml", "c: 1\n"), file("d.txt", ""), folder("empty"), link("a/l", "b"), link("m", "a/l/c.yaml")).View()
	if err := fstest.TestFS(cloning{v}, "a/b/c.yaml", "d.txt", "empty", "m"); err != nil {
		t.Error(err)
	}
}

// cloning keeps the rule of fs.ReadFileFS that View.ReadFile drops.
type cloning struct{ *source.View }

func (c cloning) ReadFile(name string) ([]byte, error) {
	data, err := c.View.ReadFile(name)
	return bytes.Clone(data), err
}

func BenchmarkTarGz(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same archive each time
	var entries []entry
	for i := range 1400 {
		var body strings.Builder
		for body.Len() < 5000 {
			fmt.Fprintf(&body, "key%d: value-%x\n", rng.IntN(100), rng.Uint32())
		}
		entries = append(entries, file(fmt.Sprintf("apps/a%03d/templates/f%d.yaml", i/10, i), body.String()))
	}
	plain := archive(b, entries...)
	zipped := zip(b, plain)
	for name, read := range map[string]func() (*source.Tree, error){
		"tar":   func() (*source.Tree, error) { return source.Tar(bytes.NewReader(plain), source.Limits{}) },
		"targz": func() (*source.Tree, error) { return source.Archive{}.Read(bytes.NewReader(zipped)) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
