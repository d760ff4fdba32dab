package decrypt_test

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/plugin/decrypt"
	"hallmark.dev/hallmark/plugin/source"
)

// The corpus compares this package with the real `sops -d`, byte for byte. Its
// folders and the table of its cases are explained in testdata/corpus/README.md.
// What sops did is frozen, so the tests need no sops; where it is built, they ask
// it once more.
var (
	update = flag.Bool("update", false, "write the corpus anew with the real sops in -tools")
	tools  = flag.String("tools", "../../bin", "folder with the program sops")
)

const (
	corpus  = "testdata/corpus"
	keyring = "testdata/keys"
)

// TestWriteCorpus runs before the others, which are parallel.
func TestWriteCorpus(t *testing.T) {
	if !*update {
		t.Skip("without -update")
	}
	writeFile(t, corpusFile("version.txt"), newSOPS(t, nil).version())
	t.Run("cases", func(t *testing.T) {
		for _, c := range sealedCases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.write(t)
			})
		}
	})
	writeOutcomes(t)
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	if len(sealedCases) < 40 {
		t.Fatalf("got %d cases, want at least 40", len(sealedCases))
	}
	checkNoStrays(t)
	for _, c := range sealedCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			sealed := readFile(t, corpusFile("sealed", c.name))
			if c.name != "empty.bin" && !bytes.Contains(sealed, []byte("ENC[AES256_GCM,")) {
				t.Fatal("the sealed file has no ciphertext")
			}
			got, err := unseal(c.name, sealed, c.keys)
			if err != nil {
				t.Fatalf("got error %v, want what sops prints", err)
			}
			if diff := gocmp.Diff(string(c.opened(t)), string(got)); diff != "" {
				t.Errorf("hallmark (+) differs from sops -d (-):\n%s", diff)
			}
		})
	}
}

// TestCorpusEdits changes sealed files, as an attacker, a merge or an editor does,
// and compares the outcome with that of sops.
func TestCorpusEdits(t *testing.T) {
	t.Parallel()
	if len(edits) < 40 {
		t.Fatalf("got %d edits, want at least 40", len(edits))
	}
	outcomes := readOutcomes(t)
	if len(outcomes) != len(edits) {
		t.Errorf("edits.txt has %d outcomes, the table has %d edits", len(outcomes), len(edits))
	}
	for _, e := range edits {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			sops, ok := outcomes[e.name]
			if !ok {
				t.Fatal("no outcome in edits.txt")
			}
			file, data := e.apply(t)
			got, err := unseal(file, []byte(data), e.keys)
			want, opens := strings.CutPrefix(sops, "exit 0\n")
			if opens != (e.want == "" && !e.asStored) && e.differs == "" {
				t.Errorf("the table does not say why hallmark differs from sops, which says: %s", sops)
			}
			switch {
			case e.want != "":
				if err == nil {
					t.Fatalf("got %q, want a refusal", got)
				}
				checkRefusal(t, err, file, e.want)
				return
			case e.asStored:
				want = data
			case !opens:
				want = string(caseOf(t, e.of).opened(t))
			}
			if err != nil {
				t.Fatalf("got error %v, want the file", err)
			}
			if diff := gocmp.Diff(want, string(got)); diff != "" {
				t.Errorf("hallmark (+) differs from what is expected (-):\n%s", diff)
			}
		})
	}
}

func caseOf(t *testing.T, name string) sealedCase {
	t.Helper()
	i := slices.IndexFunc(sealedCases, func(c sealedCase) bool { return c.name == name })
	if i < 0 {
		t.Fatalf("no case %q", name)
	}
	return sealedCases[i]
}

// TestCorpusUntouched reads files that only speak of sops.
func TestCorpusUntouched(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(corpusFile("untouched"))
	if err != nil || len(files) < 5 {
		t.Fatalf("got %d files (%v), want at least 5", len(files), err)
	}
	for _, f := range files {
		t.Run(f.Name(), func(t *testing.T) {
			t.Parallel()
			want := readFile(t, corpusFile("untouched", f.Name()))
			got, err := unseal(f.Name(), want, []string{"age.txt"})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got %q, want the file as it is", got)
			}
		})
	}
}

// TestCorpusLive asks the sops that is built here, so that an upgrade shows
// without -update.
func TestCorpusLive(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(filepath.Join(*tools, "sops")); err != nil {
		t.Skipf("no sops: %v; build it with `make sops`", err)
	}
	if *update {
		t.Skip("the corpus is being written by this sops")
	}
	s := newSOPS(t, nil)
	if got, want := s.version(), readFile(t, corpusFile("version.txt")); !bytes.Equal(got, want) {
		t.Fatalf("%s is %s and the corpus was written by %s", *tools, got, want)
	}
	for _, c := range sealedCases {
		t.Run("case/"+c.name, func(t *testing.T) {
			t.Parallel()
			got := newSOPS(t, c.keys).open(c.name, readFile(t, corpusFile("sealed", c.name)), c.format)
			if diff := gocmp.Diff("exit 0\n"+string(c.opened(t)), got); diff != "" {
				t.Errorf("sops -d now (+) differs from the corpus (-):\n%s", diff)
			}
		})
	}
	outcomes := readOutcomes(t)
	for _, e := range edits {
		t.Run("edit/"+e.name, func(t *testing.T) {
			t.Parallel()
			if diff := gocmp.Diff(outcomes[e.name], e.outcome(t)); diff != "" {
				t.Errorf("sops -d now (+) differs from the corpus (-):\n%s", diff)
			}
		})
	}
}

// The version of sops is pinned twice: the library, and the program that wrote
// the corpus.
func TestCorpusIsOfThePinnedVersion(t *testing.T) {
	t.Parallel()
	version := strings.TrimSpace(strings.TrimPrefix(string(readFile(t, corpusFile("version.txt"))), "sops "))
	for _, module := range []string{"../../go.mod", "../../tools/sops/go.mod"} {
		if want := "github.com/getsops/sops/v3 v" + version; !strings.Contains(string(readFile(t, module)), want) {
			t.Errorf("the corpus was written by sops %s, and %s has another version; run `make goldens`", version, module)
		}
	}
}

// unseal reads a file as a renderer does.
func unseal(name string, data []byte, keys []string) ([]byte, error) {
	var paths []string
	for _, k := range keys {
		paths = append(paths, filepath.Join(keyring, k))
	}
	view := source.Memory(map[string]string{name: string(data)}).View()
	options := decrypt.Options{Keys: decrypt.Keys{Paths: paths}, Secrets: new(redact.Values)}
	return fs.ReadFile(decrypt.New(view, options), name)
}

// plaintext finds what no message may have: a value of the corpus, or a MAC,
// which is a hash of all of them.
var plaintext = regexp.MustCompile(`marker|[0-9A-F]{128}|AGE-SECRET-KEY`)

func checkRefusal(t *testing.T, err error, file, want string) {
	t.Helper()
	if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
		t.Errorf("got error %q, want it to contain %q and %q", err, file, want)
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if found := plaintext.FindString(fmt.Sprintf("%v %+v", e, e)); found != "" {
			t.Errorf("the error %q has %q in it", e, found)
		}
	}
}

// opened is what sops prints.
func (c sealedCase) opened(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(corpusFile("opened", c.name))
	if errors.Is(err, fs.ErrNotExist) {
		return readFile(t, c.plainFile())
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (c sealedCase) plainFile() string {
	return corpusFile("plain", cmp.Or(c.plain, c.name))
}

// write seals the plaintext and opens it again. Each sealing gives other bytes, so
// a sealed file that already says the same is kept.
func (c sealedCase) write(t *testing.T) {
	t.Helper()
	s := newSOPS(t, c.keys)
	sealedFile, openedFile := corpusFile("sealed", c.name), corpusFile("opened", c.name)
	if c.madeBy == "" {
		sealed := newSOPS(t, slices.Concat(c.to...)).seal(c)
		old, err := os.ReadFile(sealedFile)
		if err != nil || !bytes.Equal(shape(old), shape(sealed)) || s.open(c.name, old, c.format) != s.open(c.name, sealed, c.format) {
			writeFile(t, sealedFile, sealed)
		}
	}
	opened, ok := strings.CutPrefix(s.open(c.name, readFile(t, sealedFile), c.format), "exit 0\n")
	if !ok {
		t.Fatalf("sops does not open its own file: %s", opened)
	}
	plain, err := os.ReadFile(c.plainFile())
	if err == nil && string(plain) == opened {
		if err := os.Remove(openedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return
	}
	writeFile(t, openedFile, []byte(opened))
}

// shape is a sealed file without what is random or the time.
func shape(sealed []byte) []byte {
	random := regexp.MustCompile(`ENC\[[^\]]*\]|(?s:-----BEGIN.*?-----END)|\d{4}-\d\d-\d\dT[\d:]+Z`)
	return random.ReplaceAll(sealed, nil)
}

// apply returns the name and the content of the edited file.
func (e edit) apply(t *testing.T) (string, string) {
	t.Helper()
	sealed := string(readFile(t, corpusFile("sealed", e.of)))
	if e.do == nil {
		return e.of, sealed
	}
	edited := e.do(sealed)
	if edited == sealed {
		t.Fatalf("the edit changes nothing in %s", e.of)
	}
	return e.of, edited
}

// outcome is what the real sops makes of the edit.
func (e edit) outcome(t *testing.T) string {
	t.Helper()
	if e.neverRun != "" {
		return "not run\n" + e.neverRun + "\n"
	}
	file, data := e.apply(t)
	return newSOPS(t, e.keys).open(file, []byte(data), "")
}

// writeOutcomes writes edits.txt.
func writeOutcomes(t *testing.T) {
	t.Helper()
	archive := &txtar.Archive{Comment: []byte("What sops -d does with each of the edits: its exit code, and its output or its message.\n\n")}
	for _, e := range edits {
		archive.Files = append(archive.Files, txtar.File{Name: e.name, Data: []byte(e.outcome(t))})
	}
	writeFile(t, corpusFile("edits.txt"), txtar.Format(archive))
}

func readOutcomes(t *testing.T) map[string]string {
	t.Helper()
	archive, err := txtar.ParseFile(corpusFile("edits.txt"))
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string]string{}
	for _, f := range archive.Files {
		outcomes[f.Name] = string(f.Data)
	}
	return outcomes
}

// checkNoStrays fails for a file that belongs to no case.
func checkNoStrays(t *testing.T) {
	t.Helper()
	known := map[string]bool{}
	for _, c := range sealedCases {
		known[c.name], known[cmp.Or(c.plain, c.name)] = true, true
	}
	for _, folder := range []string{"plain", "sealed", "opened"} {
		files, err := os.ReadDir(corpusFile(folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !known[f.Name()] {
				t.Errorf("%s/%s belongs to no case", folder, f.Name())
			}
		}
	}
}

// program is the real sops with a home of its own, which holds the keys where
// sops looks for them.
type program struct {
	t    *testing.T
	path string
	home string
}

func newSOPS(t *testing.T, keys []string) program {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(*tools, "sops"))
	if err != nil {
		t.Fatal(err)
	}
	s := program{t: t, path: path, home: t.TempDir()}
	var ring, age string
	for _, k := range keys {
		kind, _, _ := strings.Cut(k, "-")
		switch {
		case strings.HasPrefix(k, "ssh_"):
			name := strings.Replace(k, "ssh_", "id_", 1)
			writeFile(t, s.at(".ssh", name), readFile(t, filepath.Join(keyring, k)))
		case kind == "pgp":
			// sops itself reads the binary form only.
			ring += string(readFile(t, filepath.Join(keyring, strings.TrimSuffix(k, filepath.Ext(k))+".gpg")))
		default:
			age += string(readFile(t, filepath.Join(keyring, k)))
		}
	}
	if ring != "" {
		writeFile(t, s.at("gnupg", "pubring.gpg"), []byte(ring))
	}
	if age != "" {
		writeFile(t, s.at("age.txt"), []byte(age))
	}
	return s
}

func (s program) at(elem ...string) string {
	file := filepath.Join(append([]string{s.home}, elem...)...)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		s.t.Fatal(err)
	}
	return file
}

// run returns the output, the message and the exit code.
func (s program) run(args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	cmd := exec.Command(s.path, args...)
	cmd.Dir = filepath.Dir(s.at("repo", "file"))
	// Without gpg, whose agent would outlive the test.
	cmd.Env = []string{
		"HOME=" + s.home, "GNUPGHOME=" + filepath.Join(s.home, "gnupg"), "PATH=",
		"SOPS_GPG_EXEC=no-gpg", "GPG_AGENT_INFO=" + filepath.Join(s.home, "no-agent") + ":0:1",
	}
	if _, err := os.Stat(s.at("age.txt")); err == nil {
		cmd.Env = append(cmd.Env, "SOPS_AGE_KEY_FILE="+s.at("age.txt"))
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	// sops wraps its lines, and so the length of a path shows.
	message := regexp.MustCompile(`\n +\| `).ReplaceAllString(errs.String(), " ")
	return out.String(), strings.ReplaceAll(message, s.home, "$HOME"), cmd.ProcessState.ExitCode()
}

func (s program) version() []byte {
	s.t.Helper()
	out, message, code := s.run("--version", "--disable-version-check")
	if code != 0 {
		s.t.Fatal(message)
	}
	return []byte(out)
}

// open returns the exit code of sops -d, and its output or its message.
func (s program) open(name string, sealed []byte, format string) string {
	s.t.Helper()
	writeFile(s.t, s.at("repo", name), sealed)
	args := []string{"-d", name}
	if format != "" {
		args = append([]string{"--input-type", format, "--output-type", format}, args...)
	}
	out, message, code := s.run(args...)
	if code != 0 {
		out = strings.TrimRight(message, "\n") + "\n"
	}
	return fmt.Sprintf("exit %d\n%s", code, out)
}

// seal encrypts the plaintext of a case, by a .sops.yaml as repositories have it.
func (s program) seal(c sealedCase) []byte {
	s.t.Helper()
	groups := ""
	for _, group := range c.to {
		item := "      - "
		for _, kind := range []string{"age", "pgp"} {
			var list []string
			for _, recipient := range group {
				if strings.HasPrefix(recipient, "pgp") == (kind == "pgp") {
					list = append(list, fmt.Sprintf("%q", publicKey(s.t, recipient)))
				}
			}
			if list != nil {
				groups += item + kind + ": [" + strings.Join(list, ", ") + "]\n"
				item = "        "
			}
		}
	}
	config := "creation_rules:\n  - key_groups:\n" + groups
	if c.threshold != 0 {
		config += fmt.Sprintf("    shamir_threshold: %d\n", c.threshold)
	}
	if c.rule != "" {
		config += "    " + c.rule + "\n"
	}
	writeFile(s.t, s.at("config", ".sops.yaml"), []byte(config))
	writeFile(s.t, s.at("repo", c.name), readFile(s.t, c.plainFile()))
	args := append([]string{"--config", s.at("config", ".sops.yaml")}, c.flags...)
	if format := cmp.Or(c.sealedAs, c.format); format != "" {
		args = append(args, "--input-type", format, "--output-type", format)
	}
	out, message, code := s.run(append(args, "-e", c.name)...)
	if code != 0 {
		s.t.Fatalf("sops does not seal %s: %s", c.name, message)
	}
	return []byte(out)
}

// publicKey returns what a file is encrypted to, for a key of testdata/keys.
func publicKey(t *testing.T, name string) string {
	t.Helper()
	switch {
	case fingerprints[name] != "":
		return fingerprints[name]
	case strings.HasPrefix(name, "ssh_"):
		return strings.TrimSpace(string(readFile(t, filepath.Join(keyring, name+".pub"))))
	}
	_, rest, _ := strings.Cut(string(readFile(t, filepath.Join(keyring, name))), "# public key: ")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

func corpusFile(elem ...string) string {
	return filepath.Join(append([]string{corpus}, elem...)...)
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
