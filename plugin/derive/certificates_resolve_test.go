package derive

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"
)

// The blocks of a chart are found wherever they are printed, and are one chain.
func TestCertificatesOfChart(t *testing.T) {
	t.Parallel()
	f := files{
		"tls.yaml": `{{- $ca := genCAWithKey "shop-ca" 3650 (genPrivateKey "ecdsa") }}{{ $cert := genSignedCertWithKey "web.shop" nil (list "web.shop.svc") 365 $ca (genPrivateKey "ecdsa") }}` +
			secretOf("tls", "data:", "  ca.crt: {{ $ca.Cert | b64enc }}", "  tls.crt: {{ $cert.Cert | b64enc }}", "  tls.key: {{ $cert.Key | b64enc }}",
				`  bundle.json: {{ dict "ca" $ca.Cert "pin" (randAlpha 8) | toJson | b64enc }}`) + "---\n" +
			configOf("tls", "data:", "  ca.crt: |", "{{ $ca.Cert | indent 4 }}", "  nested.yaml: |", "    ca: |", "{{ $ca.Cert | indent 6 }}"),
		"web.yaml": configOf("web", "data:", `  sum: {{ include "tls.yaml" . | sha256sum }}`),
	}
	o := testOptions(t)
	r := mustResolve(t, o, f)
	ca := r.decoded(t, "Secret/tls/data/ca.crt")
	if got := r.text(t, "ConfigMap/tls/data/ca.crt"); got != ca {
		t.Errorf("two prints of the CA differ: %s and %s", got, ca)
	}
	if got := strings.ReplaceAll(r.text(t, "ConfigMap/tls/data/nested.yaml"), "\n  ", "\n"); !strings.HasSuffix(got, strings.TrimSpace(ca)+"\n") && !strings.Contains(got, strings.TrimSpace(ca)) {
		t.Errorf("the nested CA is %s", got)
	}
	if got := r.decoded(t, "Secret/tls/data/bundle.json"); !strings.Contains(got, strings.ReplaceAll(ca, "\n", `\n`)) {
		t.Errorf("the CA in JSON is %s", got)
	}
	pair, err := tls.X509KeyPair([]byte(r.decoded(t, "Secret/tls/data/tls.crt")), []byte(r.decoded(t, "Secret/tls/data/tls.key")))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(ca)) {
		t.Fatal("the CA cannot be read")
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "web.shop.svc", CurrentTime: o.Now}); err != nil {
		t.Error(err)
	}
	if !r.Until.After(o.Now) || r.Until.After(leaf.NotAfter) {
		t.Errorf("until %s, valid until %s", r.Until, leaf.NotAfter)
	}
	secret := false
	for _, s := range r.Secrets {
		b, _ := pem.Decode([]byte(s))
		secret = secret || b != nil && b.Type != "CERTIFICATE"
	}
	if !secret {
		t.Error("the private key is not among the secrets")
	}
	if again := mustResolve(t, o, f); again.text(t, "ConfigMap/web/data/sum") != r.text(t, "ConfigMap/web/data/sum") ||
		again.decoded(t, "Secret/tls/data/tls.key") != r.decoded(t, "Secret/tls/data/tls.key") {
		t.Error("a second run gives something else")
	}
	o.Now = o.Now.Add(time.Since(time.Unix(0, 0)))
	later := mustResolve(t, o, f)
	if later.text(t, "ConfigMap/web/data/sum") == r.text(t, "ConfigMap/web/data/sum") {
		t.Error("the checksum does not move with the certificates")
	}
	if later.decoded(t, "Secret/tls/data/tls.key") != r.decoded(t, "Secret/tls/data/tls.key") {
		t.Error("the key moves with time")
	}
}
