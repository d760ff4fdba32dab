package decrypt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/internal/sealtest"
	"hallmark.dev/hallmark/plugin/source"
)

const marker = "hunter2-marker"

func TestRead(t *testing.T) {
	t.Parallel()
	id := sealtest.NewKey(t)
	sealed := seal(t, formatYAML, "password: "+marker+"\n", group(t, id))
	tree := source.Memory(map[string]string{"a/secret.yaml": sealed, "a/plain.yaml": "x: 1\n", "b.bin": seal(t, formatBinary, marker, group(t, id))})
	view, secrets := tree.View(), &redact.Values{}
	fsys := New(view, Options{Keys: Keys{Paths: []string{id.File}}, Secrets: secrets})

	const want = "password: " + marker + "\n"
	for name, read := range map[string]func() ([]byte, error){
		"ReadFile": func() ([]byte, error) { return fs.ReadFile(fsys, "a/secret.yaml") },
		"Open": func() ([]byte, error) {
			f, err := fsys.Open("a/secret.yaml")
			if err != nil {
				return nil, err
			}
			if info, err := f.Stat(); err != nil || info.Size() != int64(len(want)) || info.Name() != "secret.yaml" {
				t.Errorf("Stat of the open file: %v, %v", info, err)
			}
			return io.ReadAll(f)
		},
		"ReadSealed": func() ([]byte, error) {
			stored, open, err := source.ReadSealed(fsys, "a/secret.yaml")
			if err != nil || string(stored) != sealed || open == nil {
				t.Fatalf("got %q, %v, %v", stored, open == nil, err)
			}
			return open()
		},
	} {
		if data, err := read(); err != nil || string(data) != want {
			t.Errorf("%s: got %q, %v, want %q", name, data, err, want)
		}
	}
	if data, err := fs.ReadFile(fsys, "b.bin"); err != nil || string(data) != marker {
		t.Errorf("got %q, %v", data, err)
	}
	want2 := []Opened{{"a/secret.yaml", []string{id.Recipient}}, {"b.bin", []string{id.Recipient}}}
	if diff := cmp.Diff(want2, fsys.Opened()); diff != "" {
		t.Errorf("what was opened, each once: %s", diff)
	}
	if got := secrets.Text("x " + marker); strings.Contains(got, marker) {
		t.Errorf("the value is not known: %q", got)
	}
	// What the record of the view has is what is stored.
	for _, f := range view.Files() {
		if f.Path == "a/secret.yaml" && f.Size != int64(len(sealed)) {
			t.Errorf("the view recorded %d bytes, want the %d of the ciphertext", f.Size, len(sealed))
		}
	}
	if info, err := fs.Stat(fsys, "a/secret.yaml"); err != nil || info.Size() != int64(len(sealed)) {
		t.Errorf("Stat: %v, %v", info, err)
	}
	if stored, open, err := source.ReadSealed(fsys, "a/plain.yaml"); err != nil || open != nil || string(stored) != "x: 1\n" {
		t.Errorf("of a plain file: %q, %v, %v", stored, open != nil, err)
	}
}

// cloned is an FS whose files its reader may change, which Go's test does.
type cloned struct{ *FS }

func (c cloned) ReadFile(name string) ([]byte, error) {
	data, err := c.FS.ReadFile(name)
	return bytes.Clone(data), err
}

// TestIsFileSystem runs Go's own test of file systems. It compares the size of
// Stat with what is read, so nothing is encrypted in it.
func TestIsFileSystem(t *testing.T) {
	t.Parallel()
	fsys := open(map[string]string{"a/b.yaml": "x: 1\n", "c": ""}, Options{})
	if err := fstest.TestFS(cloned{fsys}, "a/b.yaml", "c"); err != nil {
		t.Error(err)
	}
}

func TestOnlyWhatIsRead(t *testing.T) {
	t.Parallel()
	id := sealtest.NewKey(t)
	fsys := open(map[string]string{"s.yaml": seal(t, formatYAML, "a: b\n", group(t, id))}, Options{Keys: Keys{Paths: []string{id.File}}})
	_, _ = fs.ReadDir(fsys, ".")
	_, _ = fs.Stat(fsys, "s.yaml")
	if _, _, err := source.ReadSealed(fsys, "s.yaml"); err != nil || len(fsys.Opened()) != 0 {
		t.Errorf("%v were opened, %v", fsys.Opened(), err)
	}
}

func TestAsStored(t *testing.T) {
	t.Parallel()
	id := sealtest.NewKey(t)
	sealed := seal(t, formatYAML, "a: "+marker+"\n", group(t, id))
	fsys := open(map[string]string{"s.yaml": sealed}, Options{AsStored: true, Keys: Keys{Paths: []string{id.File}}})
	if data, err := fs.ReadFile(fsys, "s.yaml"); err != nil || string(data) != sealed {
		t.Errorf("got %q, %v", data, err)
	}
	if len(fsys.Opened()) != 0 {
		t.Error("a file was decrypted")
	}
}

func TestPermit(t *testing.T) {
	t.Parallel()
	id := sealtest.NewKey(t)
	files := map[string]string{"s.yaml": seal(t, formatYAML, "a: "+marker+"\n", group(t, id))}
	read := func(p *Permit) error {
		_, err := fs.ReadFile(open(files, Options{Permit: p, Keys: Keys{Paths: []string{id.File}}}), "s.yaml")
		return err
	}
	const by = `rule "shop" (policy.yaml:3)`
	if err := read(&Permit{By: by, Decrypt: true, Key: func(kind, name string) bool { return kind == "age" && name == id.Recipient }}); err != nil {
		t.Error(err)
	}
	for name, tc := range map[string]struct {
		permit     *Permit
		want, hint string
	}{
		"no policy":         {&Permit{}, "s.yaml: the file is encrypted with SOPS and may not be decrypted: no policy allows it", "--policy"},
		"a rule":            {&Permit{By: by}, "s.yaml: the file is encrypted with SOPS and may not be decrypted: " + by + " does not allow it", "policy explain"},
		"not with that key": {&Permit{By: by, Decrypt: true, Key: func(_, name string) bool { return name == "age1another" }}, "it is encrypted for " + id.Recipient + "; there is no key to try; not allowed: " + id.Recipient, "a key that " + by + " names"},
	} {
		err := read(tc.permit)
		wantError(t, err, []string{tc.want}, marker)
		if hint := diag.Hint(err); !strings.Contains(hint, tc.hint) {
			t.Errorf("%s: the hint is %q, want %q in it", name, hint, tc.hint)
		}
		if !errors.Is(err, ErrForbidden) || errors.Is(err, ErrKey) {
			t.Errorf("%s: the error is no ErrForbidden", name)
		}
	}
}

// A file that is changed after it was encrypted is refused, whatever was changed.
func TestIntegrity(t *testing.T) {
	t.Parallel()
	id := sealtest.NewKey(t)
	sealed := seal(t, formatYAML, "plain_unencrypted: open\npassword: "+marker+"\nother: "+marker+"2\n", group(t, id))
	line := func(prefix string) string {
		for l := range strings.Lines(sealed) {
			if strings.HasPrefix(strings.TrimSpace(l), prefix) {
				return l
			}
		}
		t.Fatalf("no line %q", prefix)
		return ""
	}
	value := func(prefix string) string { return strings.TrimPrefix(strings.TrimSpace(line(prefix)), prefix) }
	for name, tc := range map[string]struct{ text, want string }{
		"plain value changed":  {strings.Replace(sealed, ": open", ": shut", 1), "the MAC does not match"},
		"key removed":          {strings.Replace(sealed, line("other: "), "", 1), "the MAC does not match"},
		"values swapped":       {strings.NewReplacer(value("password: "), value("other: "), value("other: "), value("password: ")).Replace(sealed), `the value of "password" cannot be decrypted`},
		"value in plaintext":   {strings.Replace(sealed, line("password: "), "password: "+marker+"\n", 1), `the value of "password" should be encrypted and is not`},
		"MAC removed":          {strings.Replace(sealed, line("mac: "), "", 1), "the file has no MAC"},
		"MAC changed":          {strings.Replace(sealed, value("mac: "), value("password: "), 1), "the MAC in the sops metadata cannot be decrypted"},
		"time of change":       {strings.Replace(sealed, "2026-01-02", "2026-01-03", 1), "the MAC in the sops metadata cannot be decrypted"},
		"time is none":         {strings.Replace(sealed, "2026-01-02", "yesterday", 1), "the sops metadata cannot be read"},
		"type changed":         {strings.Replace(sealed, line("other: "), strings.Replace(line("other: "), "type:str", "type:int", 1), 1), "sops"},
		"bytes in place of it": {strings.Replace(sealed, line("other: "), strings.Replace(line("other: "), "type:str", "type:bytes", 1), 1), "sops"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.text == sealed {
				t.Fatal("nothing was changed")
			}
			_, err := fs.ReadFile(open(map[string]string{"s.yaml": tc.text}, Options{Keys: Keys{Paths: []string{id.File}}}), "s.yaml")
			if tc.want == "sops" { // refused in whatever way
				tc.want = "s.yaml: "
			}
			wantError(t, err, []string{tc.want}, marker)
		})
	}
}

// FuzzRead reads anything: no panic leaves, and what is not encrypted is given as
// it is.
func FuzzRead(f *testing.F) {
	f.Add("s.yaml", "sops:\n  lastmodified: x\n")
	f.Add("s.json", `{"data":"x","sops":{"lastmodified":"2026-01-02T03:04:05Z","mac":"ENC[AES256_GCM,data:,iv:,tag:,type:str]","version":"3"}}`)
	f.Add("s.env", "A=b\nsops_lastmodified=2026-01-02T03:04:05Z\nsops_age__list_0__map_enc=x\nsops_mac=y\n")
	f.Add("s.ini", "[sops]\nlastmodified = x\nage__list_1__map_enc = x\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		if !fs.ValidPath(name) || name == "." {
			t.Skip()
		}
		fsys := open(map[string]string{name: text}, Options{})
		stored, open, err := fsys.ReadSealed(name)
		if err != nil || string(stored) != text {
			t.Fatalf("got %q, %v", stored, err)
		}
		if open == nil {
			return
		}
		if _, err := open(); err == nil && !strings.Contains(text, "mac") {
			t.Errorf("%q was decrypted", text)
		}
	})
}

func TestVersion(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), "\tgithub.com/getsops/sops/v3 "+Version+"\n") {
		t.Errorf("Version is %s, go.mod says otherwise", Version)
	}
}

// TestBounds: what a stranger can make of a file costs no more than an error. Empty
// values do not enter the MAC, so a sealed file can be made deep without a key.
func TestBounds(t *testing.T) {
	t.Parallel()
	id := sealtest.NewKey(t)
	deep := func(open, shut string, n int) string { return strings.Repeat(open, n) + strings.Repeat(shut, n) }
	object := seal(t, formatJSON, `{"a":"`+marker+`"}`, group(t, id))
	mapping := seal(t, formatYAML, "a: "+marker+"\n", group(t, id))
	settings, variables := seal(t, formatINI, "[a]\na = "+marker+"\n", group(t, id)), seal(t, formatDotenv, "a="+marker+"\n", group(t, id))
	numbered := func(format string, n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, format, i)
		}
		return text.String()
	}
	for name, tc := range map[string]struct{ file, text, want string }{
		"many keys twice":    {"s.yaml", "x_unencrypted:\n" + strings.Repeat("  a: 1\n", 30_000) + mapping, "a key is in one mapping twice"},
		"many keys":          {"s.yaml", "x_unencrypted:\n" + numbered("  k%d: 1\n", 10_001) + mapping, "more than 10000 keys"},
		"many lines of ini":  {"s.ini", "[x]\n" + numbered("k%d = 1\n", maxLines) + settings, "more than 10000 lines"},
		"a long text of ini": {"s.ini", "[x]\nk = \"\"\"" + strings.Repeat("a\n", maxLines) + "\"\"\"\n" + settings, "more than 10000 lines"},
		"much metadata":      {"s.env", numbered("sops_x__list_%d__map_enc=x\n", maxLines) + variables, "more than 10000 lines"},
		"many values":        {"s.json", strings.Replace(object, "{", `{"x":[`+strings.Repeat("0,", maxMarks)+`0],`, 1), "has more values"},
		"much indentation":   {"s.json", strings.Replace(object, "{", `{"x":[`+strings.Repeat(deep("[", "]", 60)+",", 1200)+`0],`, 1), "or too many do"},
		"deep JSON":          {"s.json", strings.Replace(object, "{", `{"x":`+deep("[", "]", maxNesting+1)+",", 1), "stand in each other more than 64 deep"},
		"deep YAML":          {"s.yaml", "x: " + deep("[", "]", maxNesting+1) + "\n" + mapping, "stand in each other more than 64 deep"},
		"a long data key":    {"s.yaml", strings.Replace(mapping, "-----BEGIN AGE", strings.Repeat("x", maxSealedKey)+"-----BEGIN AGE", 1), "too long to be one"},
		"a long recipient":   {"s.yaml", strings.Replace(mapping, id.Recipient, "age1"+strings.Repeat("q", 100_000), 1), "age1qqqqq"},
		"escapes":            {"s.yaml", strings.Replace(mapping, id.Recipient, `"age1\e[31m\nhallmark: error: forged"`, 1), "forged"},
	} {
		options := Options{Keys: Keys{Paths: []string{sealtest.NewKey(t).File}}}
		if !strings.Contains(tc.want, "age1") && name != "escapes" {
			options.Keys.Paths = []string{id.File} // then it is no matter of keys
		}
		_, err := fs.ReadFile(open(map[string]string{tc.file: tc.text}, options), tc.file)
		wantError(t, err, []string{tc.file + ":", tc.want}, marker, "\n", "\x1b")
		if err != nil && len(err.Error()) > 2000 {
			t.Errorf("%s: the message has %d bytes", name, len(err.Error()))
		}
	}
}
