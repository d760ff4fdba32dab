package rules

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/object"
)

func TestImageTag(t *testing.T) {
	t.Parallel()
	const digest = "@sha256:cbfd8bd8706497f44ba9a89dcdb3d738372aa886bec567cb0e81bf5f2d62b220"
	for image, tag := range map[string]string{ // "-" for one that is fixed
		"checkout": "", "shop/checkout": "", "registry.example.com/shop/checkout": "", "registry.example.com:5000/checkout": "", "localhost:5000/a/b": "",
		"checkout:latest": "latest", "registry.example.com:5000/checkout:latest": "latest",
		"checkout:1.4.2": "-", "registry.example.com:5000/checkout:1.4.2": "-", "checkout:latest-debug": "-", "checkout" + digest: "-",
		"checkout:latest" + digest: "-", "registry.example.com:5000/checkout" + digest: "-",
		"": "-", "$(IMAGE)": "-", "${IMAGE}:latest": "-", "{{ .Values.image }}": "-", "ko://git.example.com/shop/checkout": "-",
	} {
		t.Run(image, func(t *testing.T) {
			t.Parallel()
			got, fixed := imageTag(image)
			if fixed != (tag == "-") || !fixed && got != tag {
				t.Errorf("got %q, fixed %v, want %q", got, fixed, tag)
			}
		})
	}
	pod := func(more string, annotations ...string) string {
		return "---\napiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: checkout\n" + annotated(annotations...) +
			"spec:\n  jobTemplate:\n    spec:\n      template:\n        spec:\n          containers: [{name: main, image: checkout:1}]\n" + more
	}
	const at = "/spec/jobTemplate/spec/template/spec/initContainers/0/image: the image "
	runCases(t, "image-tag", bookOptions(), []ruleCase{
		{"an init container of a CronJob", pod("          initContainers: [{name: wait, image: busybox}]\n"), []string{at + `"busybox" of the container "wait" has no tag`}},
		{"the tag", pod("          initContainers: [{name: wait, image: 'busybox:latest'}]\n"), []string{at + `"busybox:latest" of the container "wait" has the tag latest`}},
		{"a test of Helm", pod("          initContainers: [{name: wait, image: busybox}]\n", "helm.sh/hook: test"), nil},
		{"Istio's image", "---\napiVersion: v1\nkind: Pod\nmetadata: {name: gateway, annotations: {inject.istio.io/templates: gateway}}\nspec: {containers: [{name: istio-proxy, image: auto}]}\n", nil},
		{"an image of that name", "---\napiVersion: v1\nkind: Pod\nmetadata: {name: gateway}\nspec: {containers: [{name: car, image: auto}]}\n",
			[]string{`/spec/containers/0/image: the image "auto" of the container "car" has no tag`}},
	})
}

// Credentials of the tests, which no scanner of repositories is to take for real ones.
var (
	privateKey  = "-----BEGIN " + "PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END " + "PRIVATE KEY-----\n"
	certificate = "-----BEGIN CERTIFICATE-----\nMIIC+DCCAeCgAwIBAgIJANuA\n-----END CERTIFICATE-----\n"
	gitHub      = "ghp_" + strings.Repeat("a1", 18)
	slack       = "xoxb-" + strings.Repeat("123", 5)
)

const passphrase = "correct-horse-battery"

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func TestCredential(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ secretType, key, value, want string }{
		{"", "password", passphrase, "a password"},
		{"", "POSTGRES_PASSWORD", passphrase, "a password"},
		{"", "adminPassword", passphrase, "a password"},
		{"", "smtp.pass", passphrase, "a password"},
		{"kubernetes.io/basic-auth", "password", passphrase, "a password"},
		{"", "password", "password", "a password"}, // as many charts have it
		{"", "pw", passphrase, "a password"},
		{"", "db_pw", passphrase, "a password"},
		{"", "rootpw", passphrase, "a password"},
		{"", "redis-pwd", passphrase, "a password"},
		{"", "MYSQL_PWD", passphrase, "a password"},
		{"", "PGPASSWORD", passphrase, "a password"},
		{"", "rootPassword.txt", passphrase, ""},
		{"", "keystorePassphrase", passphrase, "a password"},
		{"", "password", "12345678", "a password"},
		{"", "password", "changemenot-9f2", "a password"},
		{"", "accesstoken", passphrase, "a token"},
		{"", "CLIENTSECRET", passphrase, "a secret"},
		{"", "api-token", passphrase, "a token"},
		{"", "client_secret", passphrase, "a secret"},
		{"", "apiKey", passphrase, "a key"},
		{"", "API_KEY", passphrase, "a key"},
		{"", "AWS_SECRET_ACCESS_KEY", passphrase, "a key"},
		{"", "rabbitmq-erlang-cookie", passphrase, "a secret"},
		{"kubernetes.io/tls", "tls.key", privateKey, "a private key"},
		{"kubernetes.io/ssh-auth", "ssh-privatekey", strings.ReplaceAll(privateKey, "PRIVATE", "OPENSSH PRIVATE"), "a private key"},
		{"", "anything", gitHub, "a token of GitHub"},
		{"", "anything", slack, "a token of Slack"},
		{"", "dsn", "postgres://shop:" + passphrase + "@db:5432/shop", "a URL with a password"},
		{"kubernetes.io/dockerconfigjson", ".dockerconfigjson", `{"auths":{"registry.example.com":{"auth":"c2hvcDpjb3JyZWN0"}}}`, "a login of a registry"},
		{"kubernetes.io/dockercfg", ".dockercfg", `{"registry.example.com":{"username":"shop","password":"` + passphrase + `"}}`, "a login of a registry"},
		{"", "my.cnf", "[client]\nuser = shop\npassword = " + passphrase + "\n", "a file with a credential"},
		{"", "config.yaml", "smtp:\n  host: mail\n  smtp_password: '" + passphrase + "'\n", "a file with a credential"},
		{"", "config.json", "{\n  \"api_token\": \"" + passphrase + "\",\n  \"user\": \"shop\"\n}\n", "a file with a credential"},

		{"", "username", "shop", ""},
		{"", "token", "8080", ""},
		{"", "session-token", "30s", ""},
		{"", "session-token", "1h30m", ""},
		{"", "api-key", "1.5", ""},
		{"", "pass", "-1", ""},
		{"", "token", "on", ""},
		{"", "password", "disabled", ""},
		{"", "password", "changeme", ""}, // see TestSecrets
		{"", "dsn", "postgres://shop:changeme@db:5432/shop", ""},
		{"", "my.cnf", "[client]\nuser = shop\npassword = changeme\n", ""},
		{"", "compass", passphrase, ""},
		{"", "EXISTINGSECRET", "checkout", ""},
		{"", "password", "", ""},
		{"", "password", `""`, ""},
		{"", "password", "<set me>", ""},
		{"", "password", "****", ""},
		{"", "password", "XXXXXXXX", ""},
		{"", "password", "REPLACE_ME", ""},
		{"", "password", "your-password", ""},
		{"", "apiToken", "YourApiToken", ""},
		{"", "password", "$(DB_PASSWORD)", ""},
		{"", "password", "${DB_PASSWORD}", ""},
		{"", "password", "{{ .Values.password }}", ""},
		{"", "password", "vault:secret/data/shop#password", ""},
		{"", "password", "<path:secret/data/shop#password>", ""},
		{"", "password", "ref+awssecrets://shop/password", ""},
		{"", "password", "ENC[AES256_GCM,data:abc=]", ""},
		{"", "password", "op://shop/database/password", ""},
		{"", "token", "/var/run/secrets/token", ""},
		{"", "token", "https://auth.example.com/token", ""},
		{"", "existingSecret", "checkout", ""},
		{"", "password-file", "password.txt", ""},
		{"", "token_ttl", "3600", ""},
		{"", "passwordPolicy", "strong-one", ""},
		{"", "use-token", "true", ""},
		{"kubernetes.io/tls", "tls.crt", certificate, ""},
		{"", "ca.crt", certificate, ""},
		{"", "key.pub", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ shop", ""},
		{"", "url", "postgres://db:5432/shop", ""},
		{"", "url", "postgres://shop@db/shop", ""},
		{"", "url", "postgres://shop:$(PASSWORD)@db/shop", ""},
		{"kubernetes.io/dockerconfigjson", ".dockerconfigjson", `{"auths":{}}`, ""},
		{"kubernetes.io/dockerconfigjson", ".dockerconfigjson", `{"auths":{"registry.example.com":{"auth":""}}}`, ""},
		{"kubernetes.io/dockerconfigjson", ".dockerconfigjson", `[1]`, ""},
		{"", "config.yaml", "password: ${PASSWORD}\ntoken: \"\"\npassword_file: /etc/password\n", ""},
		{"", "config.yaml", "user: shop\npassword: your-password\n", ""},
		{"", "notes.txt", "the password is\nnot here: ask\n", ""},
	} {
		t.Run(tt.key+" "+tt.want, func(t *testing.T) {
			t.Parallel()
			if got := credential(tt.secretType, tt.key, tt.value); got != tt.want {
				t.Errorf("%q: got %q, want %q", tt.value, got, tt.want)
			}
		})
	}
}

// Which of the two rules finds a credential in a Secret, if any, is decided by the
// field and by how it got there.
func TestSecrets(t *testing.T) {
	t.Parallel()
	secret := func(name, field, value string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\n%s: {password: %q, username: %q}\n", name, field, value, value)
	}
	open, encoded := secret("checkout", "stringData", passphrase), secret("checkout", "data", encode(passphrase))
	template := func(o *Options) { o.Literal = func(object.Object) bool { return false } }
	decrypted := func(o *Options) { o.Decrypted = func(text string) bool { return text == passphrase } }
	unstable := func(p ...any) func(*Options) {
		return func(o *Options) {
			o.Unstable = map[object.ID][][]any{{Kind: "Secret", Name: "checkout"}: {p}}
		}
	}
	for _, tt := range []struct {
		name, yaml      string
		options         []func(*Options)
		plain, inBase64 string // messages
	}{
		{"a key pw", strings.Replace(strings.Replace(open, "password:", "pw:", 1), "username", "tokens", 1), nil, `the entry "pw" is a password in plain text`, ""},
		{"a default that asks to be changed", secret("checkout", "stringData", "changeme"), nil, `info: the entry "password" is a password that asks to be changed`, ""},
		{"one with punctuation", secret("checkout", "stringData", "Please-Change-Me!"), nil, `info: the entry "password" is a password that asks to be changed`, ""},
		{"one that is encoded", secret("checkout", "data", encode("change_it")), nil, `info: the entry "password" is a password that asks to be changed`, ""},
		{"one of a template", secret("checkout", "data", encode("changeme123")), []func(*Options){template}, `info: the entry "password" is a password that asks to be changed`, ""},
		{"a placeholder", secret("checkout", "stringData", "REPLACE_ME"), nil, "", ""},
		{"a port", secret("checkout", "stringData", "5432"), nil, "", ""},
		{"a test of Helm", strings.Replace(open, "{name: checkout}", "{name: checkout, annotations: {helm.sh/hook: test}}", 1), nil, "", ""},
		{"a test of Helm by its old name", strings.Replace(encoded, "{name: checkout}", "{name: checkout, annotations: {helm.sh/hook: test-success}}", 1), nil, "", ""},
		{"a test of Helm with a token", "apiVersion: v1\nkind: Secret\nmetadata: {name: checkout, annotations: {helm.sh/hook: test}}\nstringData: {login: " + gitHub + ", password: " + passphrase + "}\n", nil, `the entry "login" is a token of GitHub in plain text`, ""},
		{"a hook that is applied", strings.Replace(open, "{name: checkout}", "{name: checkout, annotations: {helm.sh/hook: pre-install}}", 1), nil, `the entry "password" is a password in plain text`, ""},
		{"a hook that Argo CD skips", strings.Replace(open, "{name: checkout}", "{name: checkout, annotations: {argocd.argoproj.io/hook: Skip}}", 1), nil, `the entry "password" is a password in plain text`, ""},
		{"in a file", open, nil, `the entry "password" is a password in plain text`, ""},
		{"encoded in a file", encoded, nil, "", `the entry "password" is a password, encoded but not encrypted`},
		{"of a template", open, []func(*Options){template}, `the entry "password" is a password that comes from no encrypted file`, ""},
		{"encoded by a template", encoded, []func(*Options){template}, `the entry "password" is a password that comes from no encrypted file`, ""},
		{"where nobody says what is literal", encoded, []func(*Options){func(o *Options) { o.Literal = nil }}, `the entry "password" is a password that comes from no encrypted file`, ""},
		{"decrypted", open, []func(*Options){decrypted}, "", ""},
		{"decrypted and encoded", encoded, []func(*Options){decrypted}, "", ""},
		{"decrypted in a template", encoded, []func(*Options){template, decrypted}, "", ""},
		{"made anew on each render", encoded, []func(*Options){template, unstable("data", "password")}, "", ""},
		{"made anew as a whole", encoded, []func(*Options){template, unstable()}, "", ""},
		{"beside what is made anew", encoded, []func(*Options){template, unstable("data", "username")}, `the entry "password" is a password that comes from no encrypted file`, ""},
		{"a value that is no base64", secret("checkout", "data", passphrase), nil, "", ""},
		{"a value that is no text", "apiVersion: v1\nkind: Secret\nmetadata: {name: checkout}\nstringData: {password: 12345678}\n", nil, "", ""},
		{"a Secret of others", strings.Replace(open, "apiVersion: v1", "apiVersion: example.com/v1", 1), nil, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := bookOptions()
			for _, set := range tt.options {
				set(&o)
			}
			findings := Check(objects(t, tt.yaml), o)
			for rule, want := range map[string]string{"plaintext-secret": tt.plain, "base64-secret": tt.inBase64} {
				got := of(findings, rule)
				severity, message := Error, want
				if advice, found := strings.CutPrefix(want, "info: "); found {
					severity, message = Info, advice
				}
				if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0].Message != message || got[0].Severity != severity || !strings.Contains(message, fmt.Sprintf("%q", lastElement(got[0].Field)))) {
					t.Errorf("%s: got %+v, want %q", rule, got, want)
				}
			}
			for _, f := range findings {
				if text := fmt.Sprint(f); strings.Contains(text, passphrase) || strings.Contains(text, encode(passphrase)) {
					t.Errorf("%s repeats the value", f.Rule)
				}
			}
		})
	}
}

func TestBase64Elsewhere(t *testing.T) {
	t.Parallel()
	entry := func(key, value string) string {
		return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: checkout}\ndata: {%q: %q}\n", key, value)
	}
	variable := func(name, value string) string {
		return fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: checkout}\nspec: {containers: [{name: main, env: [{name: %q, value: %q}]}]}\n", name, value)
	}
	runCases(t, "base64-secret", bookOptions(), []ruleCase{
		{"an entry", entry("db-password", encode(passphrase)), []string{`/data/db-password: the entry "db-password" is a password in base64`}},
		{"a private key", entry("settings", encode(privateKey)), []string{`/data/settings: the entry "settings" is a private key in base64`}},
		{"a variable", variable("DB_PASSWORD", encode(passphrase)), []string{`/spec/containers/0/env/0/value: the variable "DB_PASSWORD" of the container "main" is a password in base64`}},
		{"a URL", variable("DATABASE", encode("postgres://shop:"+passphrase+"@db/shop")), []string{`/spec/containers/0/env/0/value: the variable "DATABASE" of the container "main" is a URL with a password in base64`}},
		{"a plain word that decodes", variable("DB_PASSWORD", "abcdefgh"), nil},
		{"a plain text that decodes to bytes", variable("DB_PASSWORD", "correcthorsebattery1"), nil},
		{"a text that is too short to tell", variable("DB_PASSWORD", encode("secret")), nil},
		{"bytes that are text by chance", variable("DB_PASSWORD", encode("\x01\x02\x03\x04\x05\x06\x07\x08 abcd")), nil},
		{"a name that says nothing", variable("COLOUR", encode(passphrase)), nil},
		{"a certificate", entry("ca", encode(certificate)), nil},
		{"bytes", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: checkout}\nbinaryData: {password: " + encode(passphrase) + "}\n", nil},
	})
	o := bookOptions()
	o.Decrypted = func(text string) bool { return text == passphrase }
	runCases(t, "base64-secret", o, []ruleCase{{"a decrypted value, which job-secrets and the gate are about", entry("password", encode(passphrase)), nil}})
}
