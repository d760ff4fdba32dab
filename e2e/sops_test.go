package e2e

import (
	"bytes"
	"encoding/base64"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/e2e/argocd"

	"filippo.io/age"
)

// An ageKey is a key of age in its two forms.
type ageKey struct{ private, public string }

func newKey(t testing.TB) ageKey {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return ageKey{identity.String() + "\n", identity.Recipient().String()}
}

// keyFile is the Secret of the keys as a mount.
func keyFile(k ageKey) map[string]string { return map[string]string{"age.txt": k.private} }

// seal encrypts text as the file called name, with the released sops.
func seal(t testing.TB, name, text string, key ageKey) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, path.Base(name))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(filepath.Join(*bin, "sops"), "encrypt", "--age", key.public, "--encrypted-regex", "^(data|stringData|login|TOKEN)$", file)
	if !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".env") {
		c.Args = slices.Delete(c.Args, 4, 6) // the whole text
	}
	var stderr bytes.Buffer
	c.Env, c.Stderr = []string{"HOME=" + dir}, &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("sops encrypt %s: %v\n%s", name, err, stderr.Bytes())
	}
	if !bytes.Contains(out, []byte("ENC[AES256_GCM,")) {
		t.Fatalf("sops encrypted nothing of %s", name)
	}
	return string(out)
}

// A sealedForm is a folder of a repository in which values are encrypted, and the
// Secrets that come of it.
type sealedForm struct {
	name       string
	word       string // in every secret value
	parameters []argocd.Parameter
	plain      map[string]string // files
	encrypted  map[string]string // files, before sops
	// refusedAt is the file that the message without a key names.
	refusedAt string
	want      map[string]map[string]string // Secrets by name
}

// sealedForms are a chart and an overlay, whose secret values hold word.
func sealedForms(word string) []sealedForm {
	return []sealedForm{
		{
			name: "sealed-chart", word: word,
			// The form of helm-secrets.
			parameters: []argocd.Parameter{{Name: "value-files", Array: []string{"secrets://secrets.yaml"}}},
			plain: map[string]string{
				"Chart.yaml": "apiVersion: v2\nname: sealed\nversion: 1.0.0\n",
				// The encodings come after decryption.
				"templates/login.yaml": `apiVersion: v1
kind: Secret
metadata:
  name: login
data:
  user: {{ .Values.user | b64enc }}
  password: {{ .Values.login.password | b64enc }}
  url: {{ printf "https://shop:%s@db.example.com" (.Values.login.password | urlquery) | b64enc }}
  motto: {{ .Files.Get "motto.txt" | b64enc }}
`,
			},
			encrypted: map[string]string{
				"secrets.yaml": "user: shop\nlogin:\n  password: '" + word + " $x#1'\n",
				"motto.txt":    "a motto\nwith " + word + "\n",
			},
			refusedAt: "secrets.yaml",
			want: map[string]map[string]string{"login": {
				"user": "shop", "password": word + " $x#1",
				"url":   "https://shop:" + word + "+%24x%231@db.example.com",
				"motto": "a motto\nwith " + word + "\n",
			}},
		},
		{
			name: "sealed-overlay", word: word,
			plain: map[string]string{
				"kustomization.yaml": `resources: [database.yaml]
generators: [ksops.yaml]
patches:
  - patch: |
      apiVersion: v1
      kind: Secret
      metadata:
        name: database
      stringData:
        host: db.example.com
`,
				// The form of KSOPS, whose binary is nowhere.
				"ksops.yaml": `apiVersion: viaduct.ai/v1
kind: ksops
metadata:
  name: generator
  annotations:
    config.kubernetes.io/function: |
      exec:
        path: ksops
files: [broker.enc.yaml]
secretFrom:
  - metadata:
      name: settings
    envs: [settings.env]
    binaryFiles: [motto.bin]
`,
			},
			encrypted: map[string]string{
				"database.yaml":   sealedSecret("database", "database-"+word),
				"broker.enc.yaml": sealedSecret("broker", "broker-"+word),
				"settings.env":    "TOKEN=" + word + `$b#c "d"` + "\n",
				"motto.bin":       "\xff\x00" + word,
			},
			refusedAt: "database.yaml",
			want: map[string]map[string]string{
				"database": {"password": "database-" + word, "host": "db.example.com"},
				"broker":   {"password": "broker-" + word},
				"settings": {"TOKEN": word + `$b#c "d"`, "motto.bin": "\xff\x00" + word},
			},
		},
	}
}

func sealedSecret(name, password string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata:\n  name: " + name + "\nstringData:\n  password: " + password + "\n"
}

// write writes a form into a repository, as a folder of its name.
func (f sealedForm) write(t testing.TB, repo *argocd.Repository, key ageKey) {
	t.Helper()
	for name, text := range f.plain {
		repo.Write(t, f.name+"/"+name, text)
	}
	for name, text := range f.encrypted {
		repo.Write(t, f.name+"/"+name, seal(t, name, text, key))
	}
}

// secrets are the Secrets of a namespace with what is in them.
func (e *env) secrets(t testing.TB, namespace string) map[string]map[string]string {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Data     map[string][]byte // from base64
		}
	}
	if err := e.Cluster.Get("/api/v1/namespaces/"+namespace+"/secrets", &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]string{}
	for _, item := range list.Items {
		found[item.Metadata.Name] = map[string]string{}
		for key, value := range item.Data {
			found[item.Metadata.Name][key] = string(value)
		}
	}
	return found
}

// sameSecrets compares the Secrets of a namespace with those that are wanted.
func (e *env) sameSecrets(t testing.TB, namespace string, want map[string]map[string]string) {
	t.Helper()
	if got := e.secrets(t, namespace); !maps.EqualFunc(got, want, maps.Equal) {
		t.Errorf("Secrets of namespace %q: got %q, want %q", namespace, got, want)
	}
}

// holdsNone fails where text holds one of the words.
func holdsNone(t testing.TB, where, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if holds(text, word) {
			t.Errorf("%s holds the secret value %q", where, word)
		}
	}
}

// holds reports whether text holds word, as it is or in base64.
func holds(text, word string) bool {
	found := strings.Contains(text, word)
	for before := range 3 { // where word may begin in three encoded bytes
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("-", before) + word))
		found = found || strings.Contains(text, encoded[4:len(encoded)-4])
	}
	return found
}

func TestHolds(t *testing.T) {
	t.Parallel()
	const word = "wJ8kqzXv3RtLm5"
	for before := range 4 {
		for after := range 4 {
			text := strings.Repeat("a", before) + word + strings.Repeat("b", after)
			if !holds(text, word) || !holds(base64.StdEncoding.EncodeToString([]byte(text)), word) {
				t.Errorf("%q is not found in %q", word, text)
			}
		}
	}
	if holds("anything else", word) {
		t.Error("everything holds a secret: this test proves nothing")
	}
}
