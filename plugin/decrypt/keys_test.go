package decrypt

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/getsops/sops/v3"
	sopsage "github.com/getsops/sops/v3/age"
	"golang.org/x/crypto/ssh"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/sealtest"
)

func write(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// sshKey returns a private key in the form of ssh-keygen and its public form.
func sshKey(t *testing.T, passphrase string) (private []byte, public string) {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var block *pem.Block
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(key, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(block), strings.TrimSpace(string(ssh.MarshalAuthorizedKey(line)))
}

// several is a file with the identities of keys.
func several(t *testing.T, keys ...sealtest.Key) string {
	t.Helper()
	text := "# for tests\n\n"
	for _, k := range keys {
		text += k.Identity + "\n"
	}
	return write(t, t.TempDir(), "age.txt", []byte(text))
}

func recipient(t *testing.T, public string) sops.KeyGroup {
	t.Helper()
	key, err := sopsage.MasterKeyFromRecipient(public)
	if err != nil {
		t.Fatal(err)
	}
	return sops.KeyGroup{key}
}

// TestSources opens a file with a key from each place that has one.
func TestSources(t *testing.T) {
	t.Parallel()
	id := sealtest.NewKey(t)
	hybrid, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	sshPrivate, sshPublic := sshKey(t, "")
	forAge := id.Recipient
	for name, tc := range map[string]struct {
		wants string // the recipient
		keys  func(t *testing.T, dir string) Keys
	}{
		"a file": {forAge, func(*testing.T, string) Keys { return Keys{Paths: []string{id.File}} }},
		"a file with several": {forAge, func(t *testing.T, _ string) Keys {
			return Keys{Paths: []string{several(t, sealtest.NewKey(t), id, sealtest.NewKey(t))}}
		}},
		"the second path": {forAge, func(t *testing.T, _ string) Keys {
			return Keys{Paths: []string{several(t, sealtest.NewKey(t)), id.File}}
		}},
		"a folder": {forAge, func(t *testing.T, dir string) Keys {
			write(t, dir, "a.agekey", []byte(sealtest.NewKey(t).Identity))
			write(t, dir, "b.agekey", []byte(id.Identity))
			return Keys{Paths: []string{dir}}
		}},
		"a mounted Secret": {forAge, func(t *testing.T, dir string) Keys {
			write(t, dir, "..2026/key", []byte(id.Identity))
			for link, target := range map[string]string{"..data": "..2026", "key": "..data/key"} {
				if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			return Keys{Paths: []string{dir}}
		}},
		"SOPS_AGE_KEY": {forAge, func(t *testing.T, _ string) Keys {
			return Keys{Getenv: env("SOPS_AGE_KEY", sealtest.NewKey(t).Identity+" "+id.Identity)}
		}},
		"SOPS_AGE_KEY_FILE": {forAge, func(*testing.T, string) Keys { return Keys{Getenv: env("SOPS_AGE_KEY_FILE", id.File)} }},
		"the home's key file": {forAge, func(t *testing.T, dir string) Keys {
			write(t, dir, ".config/sops/age/keys.txt", []byte(id.Identity))
			return Keys{Home: dir}
		}},
		"XDG_CONFIG_HOME": {forAge, func(t *testing.T, dir string) Keys {
			write(t, dir, "xdg/sops/age/keys.txt", []byte(id.Identity))
			return Keys{Home: dir, Getenv: env("XDG_CONFIG_HOME", filepath.Join(dir, "xdg"))}
		}},
		"post-quantum": {hybrid.Recipient().String(), func(t *testing.T, dir string) Keys {
			return Keys{Paths: []string{write(t, dir, "k", []byte(hybrid.String()))}}
		}},
		"an SSH key": {sshPublic, func(t *testing.T, dir string) Keys {
			return Keys{Paths: []string{write(t, dir, "id", sshPrivate)}}
		}},
		"SOPS_AGE_SSH_PRIVATE_KEY_FILE": {sshPublic, func(t *testing.T, dir string) Keys {
			return Keys{Getenv: env("SOPS_AGE_SSH_PRIVATE_KEY_FILE", write(t, dir, "id", sshPrivate))}
		}},
		"the home's SSH key": {sshPublic, func(t *testing.T, dir string) Keys {
			write(t, dir, ".ssh/id_ed25519", sshPrivate)
			return Keys{Home: dir}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"s.yaml": seal(t, formatYAML, "a: "+marker+"\n", recipient(t, tc.wants))}
			data, err := fs.ReadFile(open(files, Options{Keys: tc.keys(t, t.TempDir())}), "s.yaml")
			if err != nil || string(data) != "a: "+marker+"\n" {
				t.Errorf("got %q, %v", data, err)
			}
		})
	}
}

func env(name, value string) func(string) string {
	return func(asked string) string {
		if asked == name {
			return value
		}
		return ""
	}
}

// TestRotation changes the key file between two renders.
func TestRotation(t *testing.T) {
	t.Parallel()
	old, fresh := sealtest.NewKey(t), sealtest.NewKey(t)
	file := old.File
	options := Options{Keys: Keys{Paths: []string{file}}}
	files := map[string]string{"s.yaml": seal(t, formatYAML, "a: b\n", group(t, fresh))}
	_, err := fs.ReadFile(open(files, options), "s.yaml")
	wantError(t, err, []string{fresh.Recipient})
	if err := os.WriteFile(file, []byte(fresh.Identity), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(open(files, options), "s.yaml"); err != nil {
		t.Error(err)
	}
}

// TestNoKeyOpens holds the messages: what the file wants, what was tried, what was
// of no use; public parts only.
func TestNoKeyOpens(t *testing.T) {
	t.Parallel()
	wanted, second, mine := sealtest.NewKey(t), sealtest.NewKey(t), sealtest.NewKey(t)
	locked, _ := sshKey(t, "secret passphrase")
	dir := t.TempDir()
	mineFile := mine.File
	for name, tc := range map[string]struct {
		groups []sops.KeyGroup
		keys   Keys
		want   []string
		hint   string
	}{
		"another key": {
			[]sops.KeyGroup{group(t, wanted, second)}, Keys{Paths: []string{mineFile}},
			[]string{"s.yaml: cannot be decrypted: it is encrypted for " + wanted.Recipient + " or " + second.Recipient + "; tried " + mine.Recipient + " (" + mineFile + ")"},
			"sops updatekeys",
		},
		"no key": {
			[]sops.KeyGroup{group(t, wanted)}, Keys{},
			[]string{"it is encrypted for " + wanted.Recipient + "; there is no key to try"}, "--keys",
		},
		"what is of no use": {
			[]sops.KeyGroup{group(t, wanted)},
			Keys{Paths: []string{
				write(t, dir, "public", []byte(mine.Recipient)), write(t, dir, "empty", nil),
				write(t, dir, "locked", locked), write(t, dir, "noise", []byte("\x00\x01not a key")),
				write(t, dir, "cut", []byte(mine.Identity[:40])), write(t, dir, "plugin", []byte("AGE-PLUGIN-YUBIKEY-1QQQQ")),
				filepath.Join(dir, "absent"),
			}},
			[]string{
				"public holds a public key only", "empty is empty", "locked is an SSH key with a passphrase", "noise is no key of age, SSH or PGP",
				"cut line 1: no age identity", "plugin line 1: an identity of an age plugin", "absent cannot be read: no such file",
			}, "--keys",
		},
		"groups": {
			[]sops.KeyGroup{group(t, wanted), group(t, mine), group(t, second)}, Keys{Paths: []string{mineFile}},
			[]string{"3 groups of keys, of which 2 have to open and 1 did (group 1: " + wanted.Recipient + "; group 2: "}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := fs.ReadFile(open(map[string]string{"s.yaml": seal(t, formatYAML, "a: "+marker+"\n", tc.groups...)}, Options{Keys: tc.keys}), "s.yaml")
			wantError(t, err, tc.want, marker, "AGE-SECRET-KEY", mine.Identity[20:40], "PRIVATE KEY", "AGE-PLUGIN-YUBIKEY-1QQQQ")
			if !errors.Is(err, ErrKey) {
				t.Error("the error is no ErrKey")
			}
			if hint := diag.Hint(err); !strings.Contains(hint, tc.hint) {
				t.Errorf("the hint is %q, want %q in it", hint, tc.hint)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the message has several lines: %q", err)
			}
		})
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	a, b, c := sealtest.NewKey(t), sealtest.NewKey(t), sealtest.NewKey(t)
	sealed := seal(t, formatYAML, "a: "+marker+"\n", group(t, a), group(t, b), group(t, c))
	for name, tc := range map[string]struct {
		have []sealtest.Key
		ok   bool
	}{
		"one of three":   {[]sealtest.Key{a}, false},
		"two of three":   {[]sealtest.Key{a, c}, true},
		"three of three": {[]sealtest.Key{a, b, c}, true},
	} {
		_, err := fs.ReadFile(open(map[string]string{"s.yaml": sealed}, Options{Keys: Keys{Paths: []string{several(t, tc.have...)}}}), "s.yaml")
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPGPRings reads key rings in their forms. What a real gpg makes is in the
// corpus.
func TestPGPRings(t *testing.T) {
	t.Parallel()
	one, two := entity(t, "one"), entity(t, "two")
	armored := append(export(t, true, false, one), export(t, true, false, two)...)
	locked := entity(t, "three")
	if err := locked.EncryptPrivateKeys([]byte("passphrase"), nil); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		data     []byte
		usable   int
		problems string
	}{
		"armored, two in one file": {armored, 2, ""},
		"binary":                   {export(t, false, false, one, two), 2, ""},
		"public only":              {export(t, true, true, one), 0, "pgp " + fingerprint(one) + " is a public key only"},
		"with a passphrase":        {export(t, true, false, locked), 0, "pgp " + fingerprint(locked) + " has a passphrase"},
		"damaged":                  {append([]byte("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n"), "!!!!"...), 0, "key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Keys{Paths: []string{write(t, t.TempDir(), "ring", tc.data)}}.load()
			if got := len(r.identities); got != tc.usable {
				t.Errorf("%d keys are usable, want %d; problems: %q", got, tc.usable, r.problems)
			}
			if got := fmt.Sprint(r.problems); !strings.Contains(got, tc.problems) {
				t.Errorf("problems are %q, want %q in them", got, tc.problems)
			}
		})
	}
}

func entity(t *testing.T, name string) *openpgp.Entity {
	t.Helper()
	e, err := openpgp.NewEntity(name, "for tests", name+"@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func export(t *testing.T, armored, public bool, entities ...*openpgp.Entity) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, e := range entities {
		var text bytes.Buffer
		kind, serialize := openpgp.PrivateKeyType, func() error { return e.SerializePrivateWithoutSigning(&text, nil) }
		if public {
			kind, serialize = openpgp.PublicKeyType, func() error { return e.Serialize(&text) }
		}
		if err := serialize(); err != nil {
			t.Fatal(err)
		}
		if !armored {
			out.Write(text.Bytes())
			continue
		}
		w, err := armor.Encode(&out, kind, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text.Bytes()); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}
