package gate

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/object"
)

const (
	marker  = "hunter2marker" // stands for the secret: no message may hold it
	cipher  = "ENC[AES256_GCM,data:" + marker + ",iv:c2FtcGxl,tag:c2FtcGxl,type:str]"
	sopsYML = "password: " + marker + "\nsops:\n    kms: []\n    lastmodified: \"2026-01-02T03:04:05Z\"\n    version: 3.9.0\n"
)

func wrap(s string, width int, lineEnd string) string {
	var lines []string
	for len(s) > width {
		lines, s = append(lines, s[:width]), s[width:]
	}
	return strings.Join(append(lines, s), lineEnd)
}

func std(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestCiphertextInStrings(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("some text in front of it? ", 9) + cipher
	for _, tc := range []struct{ name, value, want string }{
		{"plain", cipher, ciphertext},
		{"inside a line", "postgres://app:" + cipher + "@db", ciphertext},
		{"multi-line", "a: 1\nb: " + cipher + "\n", ciphertext},
		{"JSON in a string", `{"auths":{"registry":{"password":"` + cipher + `"}}}`, ciphertext},
		{"shortest", "ENC[AES256_GCM", ciphertext},
		{"in a URL", "https://app:" + url.QueryEscape(cipher) + "@db", ciphertext},
		{"in a URL, lower case", "https://app:" + strings.Replace(url.QueryEscape(cipher), "%5B", "%5b", 1) + "@db", ciphertext},
		{"in a URL in base64", std("https://app:" + url.QueryEscape(cipher) + "@db"), ciphertext + encoded},
		{"standard base64", std(cipher), ciphertext + encoded},
		{"URL-safe base64", base64.URLEncoding.EncodeToString([]byte("??>>" + cipher)), ciphertext + encoded},
		{"raw base64", base64.RawStdEncoding.EncodeToString([]byte(cipher + "x")), ciphertext + encoded},
		{"one byte in front", std("x" + cipher), ciphertext + encoded},
		{"two bytes in front", std("xy" + cipher), ciphertext + encoded},
		{"shortest in base64", std("ENC[AES256_GCM,da"), ciphertext + encoded},
		{"wrapped at 76", wrap(std(long), 76, "\n"), ciphertext + encoded},
		{"wrapped at 64, CRLF, indented", wrap(std(long), 64, "\r\n    "), ciphertext + encoded},
		{"wrapped and folded by YAML", wrap(std(long), 76, " "), ciphertext + encoded},
		{"base64 in JSON", `{"auth":"` + std("app:"+cipher) + `"}`, ciphertext + encoded},
		{"base64 in a data URI", "data:text/plain;base64," + std(cipher), ciphertext + encoded},
		{"base64 behind a word", "password-" + std(cipher), ciphertext + encoded},
		{"base64 behind an escaped line end", `"\n` + std(cipher) + `\n"`, ciphertext + encoded},
		{"base64 twice", std(std(cipher)), ciphertext + encoded},
		{"manifest of a Secret in a Secret's data", std("data:\n  p: " + std(cipher) + "\n"), ciphertext + encoded},
		{"base64 three times", std(std(std(cipher))), ciphertext + encoded},
		{"YAML file with metadata", sopsYML, metadata},
		{"YAML file with metadata, CRLF", strings.ReplaceAll(sopsYML, "\n", "\r\n"), metadata},
		{"JSON file with metadata", `{"a":1,"sops":{"lastmodified":"2026-01-02T03:04:05Z","version":"3.9.0"}}`, metadata},
		{"dotenv file with metadata", "a=1\nsops_lastmodified=2026-01-02T03:04:05Z\nsops_version=3.9.0\n", metadata},
		{"ini file with metadata", "[main]\na = 1\n\n[sops]\nlastmodified = 2026-01-02T03:04:05Z\nversion      = 3.9.0\n", metadata},
		{"YAML file with metadata in base64", std(sopsYML), metadata + encoded},

		{"prose about SOPS", "Encrypt the file with sops before you commit it; the sops version must be 3.9 or later.\nsops:\n  see the manual\n", ""},
		{"settings named sops", "sops:\n  version: 3.9.0\n  image: sops\n", ""},
		{"a creation rule", "creation_rules:\n  - age: age1qqqq\n    encrypted_regex: ^(data|stringData)$\n", ""},
		{"another cipher's mark", "ENC[PKCS7,MIIBeQYJKoZIhvcNAQcDoIIBajCCAWYCAQAxggEhMIIBHQIBADAFMAACAQEwDQYJKoZIhvcNAQEBBQAE]", ""},
		{"long words", "horizontalpodautoscalers/finalizers/subresources/of/aggregated/apiservers", ""},
		{"a digest", "registry.example/app@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", ""},
		{"a certificate", "-----BEGIN CERTIFICATE-----\n" + wrap(std(strings.Repeat("\x01\x80certificate\xff", 30)), 64, "\n") + "\n-----END CERTIFICATE-----\n", ""},
		{"an age recipient", "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			obj := object.Object{Origin: "0.yaml", Line: 7, Value: map[string]any{
				"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "db", "namespace": "shop"},
				"data": map[string]any{"p": tc.value},
			}}
			err := Check([]object.Object{obj}, Options{})
			if tc.want == "" {
				wantFaults(t, err)
				return
			}
			wantFaults(t, err, "0.yaml:7", `Secret "shop/db": "/data/p" `+tc.want)
			if strings.HasSuffix(tc.want, encoded) != strings.Contains(fmt.Sprint(err), encoded) {
				t.Errorf("got %q, want %q", err, tc.want)
			}
			if strings.Contains(err.Error(), marker) {
				t.Errorf("message %q holds the value", err)
			}
		})
	}
}

func TestCiphertextPlaces(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
	for _, tc := range []struct {
		name, yaml string
		want       []string
	}{
		{"in a list", "spec: {env: [{value: a}, {value: '" + cipher + "'}]}", []string{"0.yaml:7", `"/spec/env/1/value" ` + ciphertext}},
		{"in lists of lists", "spec: [[a, ['" + cipher + "']]]", []string{"0.yaml:7", `"/spec/0/1/0" ` + ciphertext}},
		{"key with a slash and a tilde", "data: {'a/b~c': '" + cipher + "'}", []string{"0.yaml:7", `"/data/a~1b~0c" ` + ciphertext}},
		{"two fields", "data: {a: '" + cipher + "', b: '" + std(cipher) + "'}", []string{"0.yaml:7", `"/data/a"`, "0.yaml:7", `"/data/b"`}},
		{"a key", "data: {'" + cipher + "': x}", []string{"0.yaml:7", `a key under "/data" ` + ciphertext}},
		{"a key in base64", "data: {'" + std(cipher) + "': x}", []string{"0.yaml:7", `a key under "/data" ` + ciphertext + encoded}},
		{"the metadata map once", "sops: {mac: '" + cipher + "', lastmodified: '2026-01-02T03:04:05Z', version: 3.9.0}", []string{"0.yaml:7", `"/sops" ` + metadata}},
		{"the metadata map, nested", "spec: {sops: {age: [], lastmodified: x, mac: y}}", []string{"0.yaml:7", `"/spec/sops" ` + metadata}},
		{"the MAC alone", "sops: {mac: '" + cipher + "'}", []string{"0.yaml:7", `"/sops/mac" ` + ciphertext}},
		{"settings named sops", "sops: {version: 3.9.0, enabled: true}", nil},
		{"a field named sops", "sops: text", nil},
		{"ciphertext under settings named sops", "sops: {enabled: '" + cipher + "'}", []string{"0.yaml:7", `"/sops/enabled" ` + ciphertext}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := Check(decode(t, head+tc.yaml), Options{})
			wantFaults(t, err, tc.want...)
			if err != nil && strings.Contains(err.Error(), marker) {
				t.Errorf("message %q holds the value", err)
			}
		})
	}
}

// FuzzCiphertext hides ciphertext in base64 behind and in front of any text:
// it must be found, and no text may make the search panic.
func FuzzCiphertext(f *testing.F) {
	f.Add("", "", uint8(1))
	f.Add("key-", "\n", uint8(2))
	f.Add("sops:\n", "lastmodified: x", uint8(0))
	f.Fuzz(func(t *testing.T, before, after string, levels uint8) {
		text := before + cipher + after
		for range levels % (maxDepth + 1) {
			text = std(text)
		}
		s := search{}
		if found := s.text(text, 0); found == "" {
			t.Errorf("nothing found in %q", text)
		}
		if found := s.text(before+std(cipher)+"."+after, 0); found == "" {
			t.Errorf("nothing found in base64 between %q and %q", before, after)
		}
	})
}

// BenchmarkCheck runs over 4.5 MB that look like custom resource definitions:
// nested maps of a few short fields and a description.
func BenchmarkCheck(b *testing.B) {
	const description = "The label selector of the pods that this rule applies to; requirements of matchLabels and of matchExpressions are ANDed. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels"
	var properties func(depth int) map[string]any
	properties = func(depth int) map[string]any {
		p := map[string]any{}
		for i := range 6 {
			field := map[string]any{"description": description, "type": "string"}
			if depth > 0 {
				field = map[string]any{"description": description, "type": "object", "properties": properties(depth - 1), "required": []any{"key"}}
			}
			p[fmt.Sprintf("requiredDuringScheduling%d", i)] = field
		}
		return p
	}
	var objs []object.Object
	size := 0
	for i := 0; size < 4_500_000; i++ {
		objs = append(objs, object.Object{Value: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": fmt.Sprintf("crd%d", i)}, "spec": properties(4),
		}})
		size += 9330 * (len(description) + 80)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		if err := Check(objs, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
