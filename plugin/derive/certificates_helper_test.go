package derive

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"

	"hallmark.dev/hallmark/internal/object"
)

// A printed render is the blocks of one execution of a template, by the fields that
// print them: "@tls/ca.crt" before a block says that it stands in that key of that
// Secret.
type printed map[string]string

// execute prints a template with sprig's own functions.
func execute(t *testing.T, text string, values map[string]any) printed {
	t.Helper()
	parsed, err := template.New("").Funcs(sprig.TxtFuncMap()).Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := parsed.Execute(&b, values); err != nil {
		t.Fatal(err)
	}
	out := printed{}
	for _, field := range strings.Split(b.String(), "@")[1:] {
		name, block, _ := strings.Cut(field, "\n")
		out[name] = strings.TrimSpace(block) + "\n"
	}
	return out
}

// twice prints a template two times.
func twice(t *testing.T, text string, values map[string]any) (first, second printed) {
	t.Helper()
	return execute(t, text, values), execute(t, text, values)
}

func place(name string) home {
	secret, key, _ := strings.Cut(name, "/")
	return home{id: object.ID{Kind: "Secret", Name: secret}, pointer: "/data/" + key}
}

func certificateOptions(t *testing.T) Options {
	t.Helper()
	seed, err := ReadSeed("test", []byte("0123456789abcdefghijklmnopqrstuv"))
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Seed:  seed,
		Scope: Scope{Project: "shop", Namespace: "shop", App: "checkout"},
		Now:   time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}
}

// gathered is the certificates of two renders.
func gathered(t testing.TB, o Options, first, second printed) *certificates {
	t.Helper()
	c := newCertificates(t.Context(), o, o.stream)
	for name, block := range first {
		c.collect(block, place(name))
	}
	for _, block := range second {
		c.again(block)
	}
	return c
}

// rewritten replaces all blocks of the first render.
func rewritten(t *testing.T, o Options, first, second printed) printed {
	t.Helper()
	c := gathered(t, o, first, second)
	out := printed{}
	for name, block := range first {
		text, _, _, err := c.replace(block)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = text
	}
	return out
}

func certificateOf(t *testing.T, block string) *x509.Certificate {
	t.Helper()
	b, _ := pem.Decode([]byte(block))
	if b == nil {
		t.Fatalf("got %.40q, want a PEM block", block)
	}
	x, err := x509.ParseCertificate(b.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// verify holds a certificate against a root with the rules of the standard library.
func verify(leaf, root *x509.Certificate, at time.Time, between ...*x509.Certificate) error {
	roots, middle := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(root)
	for _, x := range between {
		middle.AddCert(x)
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		o := x509.VerifyOptions{Roots: roots, Intermediates: middle, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{usage}}
		if _, err := leaf.Verify(o); err != nil {
			return err
		}
	}
	return nil
}

// chainTemplate is a CA with three leaves. The CA's certificate stands in two places,
// as in a webhook configuration.
const chainTemplate = `{{ $ca := genCA "checkout-ca" 3650 -}}
@ca/ca.crt
{{ $ca.Cert }}@ca/ca.key
{{ $ca.Key }}@webhook/bundle
{{ $ca.Cert }}
{{- range $name := list "web" "api" "db" -}}
{{ $leaf := genSignedCert $name (list "10.0.0.1") (list (printf "%s.shop.svc" $name)) 365 $ca -}}
@{{ $name }}/tls.crt
{{ $leaf.Cert }}@{{ $name }}/tls.key
{{ $leaf.Key }}
{{- end }}`

// chain is two renders of chainTemplate, with RSA keys as most charts have them.
var chain = sync.OnceValue(func() [2]printed { return renderChain(chainTemplate) })

// quickChain is the same with keys that take no time.
var quickChain = sync.OnceValue(func() [2]printed {
	return renderChain(strings.NewReplacer(
		`genCA "checkout-ca" 3650`, `genCAWithKey "checkout-ca" 3650 (genPrivateKey "ecdsa")`,
		`genSignedCert `, `genSignedCertWithKey `, `365 $ca`, `365 $ca (genPrivateKey "ecdsa")`,
	).Replace(chainTemplate))
})

func renderChain(text string) [2]printed {
	first, second := twice(&testing.T{}, text, nil)
	return [2]printed{first, second}
}

// testKey makes a key from a name, where its kind does not matter.
func testKey(name string) *ecdsa.PrivateKey {
	scalar := sha256.Sum256([]byte(name))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:])
	if err != nil {
		panic(err)
	}
	return key
}

func keyBlock(t *testing.T, key *ecdsa.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return writePEM("EC PRIVATE KEY", der)
}

func freshKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue makes a certificate for what the functions of templates do not make.
func issue(t *testing.T, name string, d time.Duration, isCA bool, key crypto.Signer, parent *x509.Certificate, signer crypto.Signer) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	x := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: now, NotAfter: now.Add(d), BasicConstraintsValid: true, IsCA: isCA,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		KeyUsage:    x509.KeyUsageDigitalSignature,
	}
	if isCA {
		x.KeyUsage |= x509.KeyUsageCertSign
		x.SubjectKeyId = []byte("id of " + name) // not what crypto/x509 would take
	}
	if parent == nil {
		parent = x
	}
	der, err := x509.CreateCertificate(rand.Reader, x, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func certificateBlock(x *x509.Certificate) string { return writePEM(certificateType, x.Raw) }

// wantFault holds the reason of a block that is not derived.
func wantFault(t *testing.T, c *certificates, block, want string) {
	t.Helper()
	text, _, _, err := c.replace(block)
	if err == nil || !strings.Contains(err.Error(), want) || text != "" {
		t.Errorf("got %q and %v, want an error with %q", text, err, want)
	}
}

func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16] }
