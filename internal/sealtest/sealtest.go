// Package sealtest encrypts text as sops does, for tests: files that are made when
// a test needs them, where a frozen one would say nothing to its reader.
package sealtest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/keyservice"
	"github.com/getsops/sops/v3/stores/dotenv"
	"github.com/getsops/sops/v3/stores/ini"
	"github.com/getsops/sops/v3/stores/json"
	"github.com/getsops/sops/v3/stores/yaml"
)

// Key is a new key of age.
type Key struct {
	// File holds the identity, in a folder of its own.
	File string
	// Recipient is the public part, Identity the private one.
	Recipient, Identity string
}

// NewKey makes a key for one test.
func NewKey(t testing.TB) Key {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	k := Key{File: filepath.Join(t.TempDir(), "age.txt"), Recipient: id.Recipient().String(), Identity: id.String()}
	if err := os.WriteFile(k.File, []byte("# for a test\n"+k.Identity+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// Seal encrypts text for the keys, any of which opens it. The format is yaml, json,
// dotenv, ini or binary.
func Seal(t testing.TB, format, text string, keys ...Key) string {
	t.Helper()
	return With(t, format, text, sops.Metadata{KeyGroups: []sops.KeyGroup{Group(t, keys...)}}, keyservice.NewLocalClient())
}

// Group is a group of keys in the metadata.
func Group(t testing.TB, keys ...Key) (g sops.KeyGroup) {
	t.Helper()
	for _, k := range keys {
		key, err := sopsage.MasterKeyFromRecipient(k.Recipient)
		if err != nil {
			t.Fatal(err)
		}
		g = append(g, key)
	}
	return g
}

// With encrypts text under metadata of the test's choice, of which it fills in the
// time, the version and the MAC.
func With(t testing.TB, format, text string, meta sops.Metadata, service keyservice.KeyServiceClient) string {
	t.Helper()
	c := config.NewStoresConfig()
	store, known := map[string]sops.Store{
		"yaml": yaml.NewStore(&c.YAML), "json": json.NewStore(&c.JSON), "binary": json.NewBinaryStore(&c.JSONBinary),
		"dotenv": dotenv.NewStore(&c.Dotenv), "ini": ini.NewStore(&c.INI),
	}[format]
	if !known {
		t.Fatalf("unknown format %q", format)
	}
	branches, err := store.LoadPlainFile([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	meta.LastModified, meta.Version = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "3.13.3"
	if meta.EncryptedRegex == "" {
		meta.UnencryptedSuffix = sops.DefaultUnencryptedSuffix
	}
	tree := sops.Tree{Branches: branches, Metadata: meta}
	key, faults := tree.GenerateDataKeyWithKeyServices([]keyservice.KeyServiceClient{service})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	cipher := aes.NewCipher()
	mac, err := tree.Encrypt(key, cipher)
	if err != nil {
		t.Fatal(err)
	}
	if tree.Metadata.MessageAuthenticationCode, err = cipher.Encrypt(mac, key, meta.LastModified.Format(time.RFC3339)); err != nil {
		t.Fatal(err)
	}
	sealed, err := store.EmitEncryptedFile(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(sealed)
}
