package decrypt

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/azkv"
	"github.com/getsops/sops/v3/gcpkms"
	"github.com/getsops/sops/v3/hckms"
	"github.com/getsops/sops/v3/hcvault"
	"github.com/getsops/sops/v3/keys"
	"github.com/getsops/sops/v3/keyservice"
	"github.com/getsops/sops/v3/kms"
	sopspgp "github.com/getsops/sops/v3/pgp"
	"google.golang.org/grpc"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/sealtest"
)

// wrapping encrypts data keys in a way that the servers of these tests undo.
type wrapping struct{}

func (wrapping) Encrypt(_ context.Context, req *keyservice.EncryptRequest, _ ...grpc.CallOption) (*keyservice.EncryptResponse, error) {
	return &keyservice.EncryptResponse{Ciphertext: []byte(base64.StdEncoding.EncodeToString(req.Plaintext))}, nil
}

func (wrapping) Decrypt(context.Context, *keyservice.DecryptRequest, ...grpc.CallOption) (*keyservice.DecryptResponse, error) {
	panic("not asked for")
}

func sealFor(t *testing.T, key keys.MasterKey) map[string]string {
	t.Helper()
	return map[string]string{"s.yaml": sealtest.With(t, "yaml", "a: "+marker+"\n", sops.Metadata{KeyGroups: []sops.KeyGroup{{key}}}, wrapping{})}
}

// cloud is a server on loopback that answers as a key service does, and counts.
func cloud(t *testing.T, answer func(r *http.Request, body map[string]string) any) (address string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body := map[string]string{}
		data, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(data, &body)
		reply := answer(r, body)
		if reply == nil {
			http.Error(w, `{"errors":["permission denied"]}`, http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(reply)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// The key services are those of sops, with the environment that sops reads: so
// these tests are not parallel.

func TestVault(t *testing.T) {
	address, asked := cloud(t, func(r *http.Request, body map[string]string) any {
		if r.Header.Get("X-Vault-Token") != "token-of-the-sidecar" || r.URL.Path != "/v1/transit/decrypt/shop" {
			return nil
		}
		return map[string]any{"data": map[string]any{"plaintext": body["ciphertext"]}}
	})
	files := sealFor(t, hcvault.NewMasterKey(address, "transit", "shop"))
	t.Setenv("VAULT_TOKEN", "token-of-the-sidecar")

	// The address stands in the repository, and gets the token of the sidecar.
	const by = `rule "shop" (policy.yaml:3)`
	mine := func(kind, name string) bool { return kind == "hc_vault" && name == address+"/v1/transit/keys/shop" }
	foreign := &Permit{By: by, Decrypt: true, Key: func(kind, name string) bool { return !mine(kind, name) }}
	_, err := fs.ReadFile(open(files, Options{Permit: foreign}), "s.yaml")
	wantError(t, err, []string{"hc_vault " + address + "/v1/transit/keys/shop (the key is not allowed)"}, marker)
	if hint := diag.Hint(err); !strings.Contains(hint, by+" would have to allow it, under decryption.keys") {
		t.Errorf("the hint is %q", hint)
	}
	if asked.Load() != 0 {
		t.Fatal("a server was asked that is not allowed")
	}

	data, err := fs.ReadFile(open(files, Options{Permit: &Permit{Decrypt: true, Key: mine}}), "s.yaml")
	if err != nil || string(data) != "a: "+marker+"\n" {
		t.Errorf("got %q, %v", data, err)
	}
	if asked.Load() == 0 {
		t.Error("nobody was asked")
	}

	t.Setenv("VAULT_TOKEN", "another")
	t.Setenv("VAULT_MAX_RETRIES", "0")
	_, err = fs.ReadFile(open(files, Options{}), "s.yaml")
	wantError(t, err, []string{"hc_vault " + address, "permission denied"}, marker, "\n")
}

func TestAWS(t *testing.T) {
	address, _ := cloud(t, func(r *http.Request, body map[string]string) any {
		if r.Header.Get("X-Amz-Target") != "TrentService.Decrypt" {
			return nil
		}
		return map[string]any{"Plaintext": strings.TrimSpace(decoded(t, body["CiphertextBlob"])), "KeyId": "k"}
	})
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
	} {
		t.Setenv(name, value)
	}
	const arn = "arn:aws:kms:eu-central-1:123456789012:key/11111111-2222-3333-4444-555555555555"
	files := sealFor(t, kms.NewMasterKey(arn, "", nil))
	data, err := fs.ReadFile(open(files, Options{}), "s.yaml")
	if err != nil || string(data) != "a: "+marker+"\n" {
		t.Errorf("got %q, %v", data, err)
	}
	_, err = fs.ReadFile(open(files, Options{Permit: &Permit{By: "rule", Decrypt: true, Key: func(kind, _ string) bool { return kind == "age" }}}), "s.yaml")
	wantError(t, err, []string{"kms " + arn + " (the key is not allowed)"}, marker)
}

// decoded undoes the encoding of wrapping.
func decoded(t *testing.T, text string) string {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Error(err)
	}
	return base64.StdEncoding.EncodeToString(data)
}

func TestGCP(t *testing.T) {
	const resource = "projects/p/locations/global/keyRings/r/cryptoKeys/k"
	address, _ := cloud(t, func(r *http.Request, body map[string]string) any {
		if r.URL.Path != "/v1/"+resource+":decrypt" || r.Header.Get("Authorization") != "Bearer token" {
			return nil
		}
		return map[string]any{"plaintext": body["ciphertext"]}
	})
	t.Setenv("SOPS_GCP_KMS_ENDPOINT", address)
	t.Setenv("SOPS_GCP_KMS_CLIENT_TYPE", "rest")
	t.Setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "token")
	key := gcpkms.NewMasterKeyFromResourceID(resource)
	data, err := fs.ReadFile(open(sealFor(t, key), Options{}), "s.yaml")
	if err != nil || string(data) != "a: "+marker+"\n" {
		t.Errorf("got %q, %v", data, err)
	}
}

// TestNames names the keys of every kind without asking anybody.
func TestNames(t *testing.T) {
	t.Parallel()
	huawei, err := hckms.NewMasterKey("eu-west-101:11111111-2222-3333-4444-555555555555")
	if err != nil {
		t.Fatal(err)
	}
	nothing := &Permit{By: "rule", Decrypt: true, Key: func(string, string) bool { return false }}
	for kind, key := range map[string]keys.MasterKey{
		"kms":      kms.NewMasterKey("arn:aws:kms:eu-central-1:1:key/2", "", nil),
		"gcp_kms":  gcpkms.NewMasterKeyFromResourceID("projects/p/locations/l/keyRings/r/cryptoKeys/k"),
		"azure_kv": azkv.NewMasterKey("https://shop.vault.azure.net", "key", "version"),
		"hc_vault": hcvault.NewMasterKey("https://vault.example.com", "transit", "shop"),
		"hckms":    huawei,
	} {
		_, err := fs.ReadFile(open(sealFor(t, key), Options{Permit: nothing}), "s.yaml")
		wantError(t, err, []string{"it is encrypted for " + kind + " ", "(the key is not allowed)"}, marker)
	}
}

// TestOnlyKeysAreAskedFor: the file cannot have the sidecar's credentials used for
// anything else on the same server.
func TestOnlyKeysAreAskedFor(t *testing.T) {
	address, asked := cloud(t, func(*http.Request, map[string]string) any { return nil })
	t.Setenv("VAULT_TOKEN", "token")
	t.Setenv("SOPS_GCP_KMS_ENDPOINT", address)
	t.Setenv("SOPS_GCP_KMS_CLIENT_TYPE", "rest")
	t.Setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "token")
	for name, key := range map[string]keys.MasterKey{
		"a key name that climbs":      hcvault.NewMasterKey(address, "transit", "../../auth/token/revoke-self"),
		"a key name with a slash":     hcvault.NewMasterKey(address, "transit", "a/b"),
		"an encoded slash":            hcvault.NewMasterKey(address, "transit", "..%2F..%2Fsys"),
		"a query":                     hcvault.NewMasterKey(address, "transit", "a?list=true"),
		"an engine that climbs":       hcvault.NewMasterKey(address, "transit/../secret", "a"),
		"an address with a path out":  hcvault.NewMasterKey(address+"/x/..", "transit", "a"),
		"a resource that climbs":      gcpkms.NewMasterKeyFromResourceID("projects/p/locations/l/keyRings/r/cryptoKeys/k/../../x"),
		"a resource of another kind":  gcpkms.NewMasterKeyFromResourceID("projects/p/secrets/s"),
		"a name with a line of a log": hcvault.NewMasterKey(address, "transit", "a\nhallmark: error: forged"),
		"a very long name":            hcvault.NewMasterKey(address, "transit", strings.Repeat("a/", 100_000)),
	} {
		_, err := fs.ReadFile(open(sealFor(t, key), Options{}), "s.yaml")
		wantError(t, err, []string{"is no name of a key"}, marker, "\n")
		if len(err.Error()) > 2000 {
			t.Errorf("%s: the message has %d bytes", name, len(err.Error()))
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

// TestRole: a file chooses the credentials of AWS only as far as the policy says.
func TestRole(t *testing.T) {
	t.Parallel()
	const arn, role = "arn:aws:kms:eu-central-1:123456789012:key/k", "arn:aws:iam::123456789012:role/admin"
	permit := &Permit{By: "rule", Decrypt: true, Key: func(string, string) bool { return true }, Role: func(string) bool { return false }}
	_, err := fs.ReadFile(open(sealFor(t, kms.NewMasterKey(arn, role, nil)), Options{Permit: permit}), "s.yaml")
	wantError(t, err, []string{"kms " + arn + " (the role " + role + " is not allowed)"}, marker)
	_, err = fs.ReadFile(open(sealFor(t, kms.NewMasterKeyWithProfile(arn, "", nil, "admin")), Options{Permit: permit}), "s.yaml")
	wantError(t, err, []string{"(a profile is not allowed)"}, marker)
}

// TestEndOfTime: nobody is asked any more when the render's time is over.
func TestEndOfTime(t *testing.T) {
	t.Setenv("VAULT_TOKEN", "token")
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("the time is over")
	address, asked := cloud(t, func(r *http.Request, _ map[string]string) any {
		cancel(over)
		<-r.Context().Done()
		return nil
	})
	var group sops.KeyGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		group = append(group, hcvault.NewMasterKey(address, "transit", name))
	}
	files := map[string]string{"s.yaml": sealtest.With(t, "yaml", "a: b\n", sops.Metadata{KeyGroups: []sops.KeyGroup{group}}, wrapping{})}
	if _, err := fs.ReadFile(open(files, Options{Context: ctx}), "s.yaml"); !errors.Is(err, over) {
		t.Errorf("got %v, want the cause of the context", err)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times, want 1", n)
	}
}

// TestManyKeys: a file can list any number of keys.
func TestManyKeys(t *testing.T) {
	t.Setenv("VAULT_TOKEN", "token")
	address, asked := cloud(t, func(*http.Request, map[string]string) any { return nil })
	var group sops.KeyGroup
	for n := range maxKeys + 1 {
		group = append(group, hcvault.NewMasterKey(address, "transit", fmt.Sprintf("key%d", n)))
	}
	read := func(n int) error {
		files := map[string]string{"s.yaml": sealtest.With(t, "yaml", "a: b\n", sops.Metadata{KeyGroups: []sops.KeyGroup{group[:n]}}, wrapping{})}
		_, err := fs.ReadFile(open(files, Options{}), "s.yaml")
		return err
	}
	wantError(t, read(maxKeys+1), []string{"names 257 keys, more than 256"})
	if asked.Load() != 0 {
		t.Error("the server was asked")
	}
	wantError(t, read(40), []string{"hc_vault " + address})
	if n := asked.Load(); n != maxAsked {
		t.Errorf("the server was asked %d times, want %d", n, maxAsked)
	}
}

// TestPrograms: only on a laptop is gpg started, for keys that no ring has.
func TestPrograms(t *testing.T) {
	log := filepath.Join(t.TempDir(), "started")
	gpg := write(t, t.TempDir(), "gpg", []byte("#!/bin/sh\necho \"$@\" >> "+log+"\nexec base64 -d\n"))
	if err := os.Chmod(gpg, 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	t.Setenv("SOPS_GPG_EXEC", gpg)
	files := sealFor(t, sopspgp.NewMasterKeyFromFingerprint("0123456789ABCDEF0123456789ABCDEF01234567"))
	_, err := fs.ReadFile(open(files, Options{}), "s.yaml")
	wantError(t, err, []string{"pgp 0123456789ABCDEF0123456789ABCDEF01234567; there is no key to try"}, marker)
	if _, err := os.Stat(log); err == nil {
		t.Error("gpg was started in the plugin")
	}
	data, err := fs.ReadFile(open(files, Options{Keys: Keys{Programs: true}}), "s.yaml")
	if err != nil || string(data) != "a: "+marker+"\n" {
		t.Errorf("got %q, %v", data, err)
	}
}
