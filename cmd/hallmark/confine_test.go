package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hallmark.dev/hallmark/internal/diag"
)

func getenv(variables map[string]string) *environment {
	return &environment{getenv: func(name string) string { return variables[name] }}
}

func TestReach(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(root, name) }
	for _, name := range []string{"policy/..1/policy.yaml", "keys/age.txt", "elsewhere/key", "ca/ca.crt", "home/.vault-token", "home/.gnupg/secring.gpg", "links/home"} {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"policy/..data": "..1", "policy/policy.yaml": "..data/policy.yaml", // as Kubernetes mounts it
		"links/key": "../elsewhere/key", "links/folder": "../keys", "links/root": "/", "links/wide": "../home/.vault-token",
	} {
		if err := os.Symlink(target, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		flags       confineFlags
		paths       []string
		variables   map[string]string
		folders     []string
		files       []string
		fromHome    []string
		wantRefused string
	}{
		"nothing":                    {},
		"flags without a value":      {paths: []string{"", ""}},
		"a mounted file":             {paths: []string{at("policy/policy.yaml")}, folders: []string{at("policy")}},
		"a folder of keys":           {paths: []string{at("keys")}, folders: []string{at("keys")}},
		"the same folder twice":      {paths: []string{at("keys"), at("keys/age.txt"), at("keys/")}, folders: []string{at("keys")}},
		"a file that is not there":   {paths: []string{"/etc/hallmark/policy.yaml"}, folders: []string{"/etc/hallmark"}},
		"a mount at the root":        {paths: []string{"/hallmark-keys/age.txt"}, folders: []string{"/hallmark-keys"}},
		"a link out of its folder":   {paths: []string{at("links/key")}, folders: []string{at("elsewhere"), at("links")}},
		"a link to a folder":         {paths: []string{at("links/folder")}, folders: []string{at("links/folder")}},
		"a file at the root":         {paths: []string{"/hallmark-key"}, files: []string{"/hallmark-key"}},
		"a file in /etc":             {paths: []string{"/etc/hallmark-policy.yaml"}, files: []string{"/etc/hallmark-policy.yaml"}},
		"a link to a file at home":   {paths: []string{at("links/wide")}, variables: map[string]string{"HOME": at("home")}, folders: []string{at("links")}, files: []string{at("home/.vault-token")}, fromHome: []string{"home"}},
		"a folder that is the root":  {paths: []string{"/"}, wantRefused: `"/" is too wide`},
		"a link to the root":         {paths: []string{at("links/root")}, wantRefused: fmt.Sprintf("%q is too wide", at("links/root"))},
		"a relative path":            {paths: []string{"testdata/key"}, folders: []string{absolute("testdata")}},
		"one more path":              {flags: confineFlags{read: []string{"/var/run/secrets/tokens/"}}, folders: []string{"/var/run/secrets/tokens"}},
		"one more path, as it is":    {flags: confineFlags{read: []string{"/opt"}}, folders: []string{"/opt"}},
		"age":                        {variables: map[string]string{"SOPS_AGE_KEY_FILE": at("keys/age.txt"), "SOPS_AGE_SSH_PRIVATE_KEY_FILE": at("elsewhere/key")}, folders: []string{at("elsewhere"), at("keys")}},
		"an age key itself":          {variables: map[string]string{"SOPS_AGE_KEY": at("keys/age.txt")}},
		"AWS in a cluster":           {variables: map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/secrets/eks.amazonaws.com/serviceaccount/token"}, folders: []string{"/var/run/secrets/eks.amazonaws.com/serviceaccount"}},
		"Azure in a cluster":         {variables: map[string]string{"AZURE_FEDERATED_TOKEN_FILE": "/var/run/secrets/azure/tokens/azure-identity-token"}, folders: []string{"/var/run/secrets/azure/tokens"}},
		"certificates":               {variables: map[string]string{"SSL_CERT_FILE": at("ca/ca.crt"), "SSL_CERT_DIR": at("keys") + ":" + at("elsewhere"), "VAULT_CACERT": at("ca/ca.crt")}, folders: []string{at("ca"), at("elsewhere"), at("keys")}},
		"two variables of a home":    {variables: map[string]string{"HOME": at("home"), "GNUPGHOME": at("home"), "SSL_CERT_DIR": "/etc:" + at("ca")}, wantRefused: fmt.Sprintf("GNUPGHOME: %q is too wide for a server that confines itself to reading its mounts\nSSL_CERT_DIR: \"/etc\" is too wide for a server that confines itself to reading its mounts", at("home"))},
		"a folder above home":        {variables: map[string]string{"HOME": at("home"), "VAULT_CAPATH": root}, wantRefused: fmt.Sprintf("VAULT_CAPATH: %q is too wide", root)},
		"a file at home":             {variables: map[string]string{"HOME": at("home"), "GOOGLE_APPLICATION_CREDENTIALS": at("home/gcp.json")}, files: []string{at("home/.vault-token"), at("home/gcp.json")}, fromHome: []string{"home"}},
		"a home of its own":          {variables: map[string]string{"HOME": at("home")}, files: []string{at("home/.vault-token")}, fromHome: []string{"home"}},
		"a home without a token":     {variables: map[string]string{"HOME": at("keys")}, fromHome: []string{"keys"}},
		"a home that is a file":      {variables: map[string]string{"HOME": at("links/home")}, fromHome: []string{"links/home"}},
		"a configuration of its own": {variables: map[string]string{"XDG_CONFIG_HOME": at("keys")}, fromHome: []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.flags.reach(getenv(tt.variables), tt.paths)
			if tt.wantRefused != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.wantRefused) || !strings.Contains(diag.Hint(err), "--landlock off") {
					t.Errorf("got error %v, hint %q, want %s", err, diag.Hint(err), tt.wantRefused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.folders, got.folders); diff != "" {
				t.Errorf("folders (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.files, got.files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			usual := slices.Clone(usualPaths)
			for _, home := range tt.fromHome {
				for _, path := range append([]string{".config/sops"}, homeCredentials...) {
					usual = append(usual, filepath.Join(at(home), path))
				}
			}
			if config := tt.variables["XDG_CONFIG_HOME"]; config != "" {
				usual = append(usual, filepath.Join(config, "sops"))
			}
			slices.Sort(usual)
			if diff := cmp.Diff(usual, got.usual); diff != "" {
				t.Errorf("usual (-want +got):\n%s", diff)
			}
		})
	}
}

// What libraries read is not to hold what nobody named.
func TestUsualPathsAreNarrow(t *testing.T) {
	t.Parallel()
	for _, path := range usualPaths {
		if tooWide(path, "") {
			t.Errorf("%s is too wide", path)
		}
	}
}

// The server is confined where the kernel can, says which it is, and works all
// the same.
func TestServeConfined(t *testing.T) {
	t.Parallel()
	root := write(t, map[string]string{
		"chart/Chart.yaml":       "apiVersion: v2\nname: c\nversion: 1.0.0\n",
		"chart/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  zone: {{ dateInZone \"15:04 MST\" (toDate \"2006-01-02\" \"2020-06-01\") \"Europe/Berlin\" }}\n",
	})
	keys := write(t, map[string]string{"key": "0123456789abcdef"})
	var manifests, metrics [][]string
	for _, mode := range []string{landlockAuto, landlockOff} {
		s := serve(t, sockets(t), "--landlock", mode, "--hash-key", filepath.Join(keys, "key"))
		confined := strings.Contains(s.logged(), `"msg":"confined to reading its mounts","landlockABI":`)
		if unconfined := strings.Contains(s.logged(), `"msg":"not confined: `); confined == unconfined || confined && (mode == landlockOff || !strings.Contains(s.logged(), keys)) {
			t.Errorf("got with --landlock %s the log\n%s", mode, s.logged())
		}
		// The kernel asks for it before it confines a process without privileges.
		if !restricted(t, os.Getpid()) && restricted(t, s.Process.Pid) != confined {
			t.Errorf("with --landlock %s the log does not tell the truth:\n%s", mode, s.logged())
		}
		answer, err := s.generate(t.Context(), root, "chart", []string{"ARGOCD_APP_NAME=web", "ARGOCD_APP_NAMESPACE=shop"})
		if err != nil {
			t.Fatal(err)
		}
		manifests = append(manifests, answer)
		code, text := s.get(t, "/metrics")
		if code != http.StatusOK {
			t.Errorf("got with --landlock %s from /metrics: %d\n%s", mode, code, text)
		}
		metrics = append(metrics, families(text))
		if code := s.stop(t); code != 0 {
			t.Errorf("got exit code %d with --landlock %s", code, mode)
		}
		if _, err := os.Lstat(s.socket); err == nil {
			t.Errorf("the socket is still there with --landlock %s", mode)
		}
	}
	if diff := cmp.Diff(manifests[1], manifests[0]); diff != "" {
		t.Errorf("a confined server answers otherwise (-unconfined +confined):\n%s", diff)
	}
	if diff := cmp.Diff(metrics[1], metrics[0]); diff != "" {
		t.Errorf("a confined server has other metrics (-unconfined +confined):\n%s", diff)
	}
}

// restricted reports whether a process can gain no more privileges, false where
// the system does not tell.
func restricted(t *testing.T, pid int) bool {
	t.Helper()
	file := fmt.Sprintf("/proc/%d/status", pid)
	if !exists(file) {
		return false
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), "NoNewPrivs:\t1")
}

func TestServeLandlockMode(t *testing.T) {
	t.Parallel()
	f := confineFlags{mode: "on"}
	err := f.check()
	if !isUsage(err) || !strings.Contains(err.Error(), `got "on", want auto, require or off`) {
		t.Errorf("got error %v", err)
	}
}

// families are the metrics of a scrape.
func families(text string) (out []string) {
	for line := range strings.Lines(text) {
		if name, found := strings.CutPrefix(line, "# TYPE "); found {
			out = append(out, strings.TrimSpace(name))
		}
	}
	return out
}
