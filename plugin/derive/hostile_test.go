package derive

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"
)

const tooMuch = "it holds more base64 in base64, or more begins of random values, than is looked through"

// Texts that took time in proportion to the square of their length. A test that goes
// back to that does not end.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	const n = 900 << 10
	fill := func(s string) string { return strings.Repeat(s, n/len(s)) }
	nested := strings.Repeat("A", n)
	for range 3 {
		nested = base64.StdEncoding.EncodeToString([]byte(nested[:n/2]))
	}
	for name, tt := range map[string]struct {
		text  string
		fault string
	}{
		"both alphabets":             {fill("aaaa-+"), ""},
		"both alphabets, long":       {fill(strings.Repeat("a", 40) + "-+"), ""},
		"dashes":                     {fill("aaaa-bbbb"), ""},
		"begins of hashes":           {fill(FrameStart + "csha256x"), tooMuch},
		"begins of hashes, then end": {fill(FrameStart+"csha256xaaa") + FrameEnd + "x", tooMuch},
		"begins of frames":           {fill(FrameStart), tooMuch},
		"begins of blocks":           {fill("-----BEGIN A-----\n"), tooMuch},
		"base64":                     {nested, ""},
		"frames":                     {fill(oneFrame + ","), ""},
		"hashes":                     {fill(ComputedFrame("sha256", oneFrame) + ","), ""},
		"zeros":                      {fill("0"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parsed := parse(tt.text)
			if got := parsed.fault(); got != tt.fault {
				t.Errorf("got fault %q, want %q", got, tt.fault)
			}
			if parsed.raw() != tt.text {
				t.Error("the pieces are not the text")
			}
		})
	}
}

// What text can be expected to hold is looked through.
func TestLargeTextIsRead(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(b64(strings.Repeat(b64("some text that is not random")+"\n", 40))+"\n", 200) + b64(b64(b64(oneFrame)))
	if d := describe(parse(text)); !strings.HasSuffix(d, "<64 <64 <64 <a16 0>>>>") {
		t.Errorf("got %s", d[max(0, len(d)-200):])
	}
}

func TestManyListItems(t *testing.T) {
	t.Parallel()
	var one, other, plain []any
	for i := range 5000 {
		nonce := fmt.Sprintf("%027d", i)
		item := func(v string) map[string]any { return map[string]any{"name": fmt.Sprint(i), "value": v} }
		one, other = append(one, item(printedFrame("a9", nonce))), append(other, item(printedFrame("a9", nonce)))
		plain = append(plain, item("123456789"))
	}
	out, err := Resolve(t.Context(), testOptions(t), handMade(plain, one, other), nil)
	if err != nil || len(out.Derived) != len(one) {
		t.Fatalf("derived %d of %d, %v", len(out.Derived), len(one), err)
	}
}

// Each layer has some certificates of one key, so there are far more ways to the root
// than certificates.
func TestManyWaysToTheRoot(t *testing.T) {
	t.Parallel()
	layers := func() printed {
		out := printed{}
		var parents []*x509.Certificate
		var signer *ecdsa.PrivateKey
		for layer := range 12 {
			key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			if signer == nil {
				signer = key
			}
			var made []*x509.Certificate
			for i := range 5 {
				x := &x509.Certificate{
					SerialNumber: big.NewInt(int64(i)), Subject: pkix.Name{CommonName: fmt.Sprint("layer ", layer)}, IsCA: true,
					NotBefore: time.Unix(0, 0), NotAfter: time.Unix(0, 0).AddDate(10, 0, i), BasicConstraintsValid: true,
				}
				parent := x
				if parents != nil {
					parent = parents[0]
				}
				der, err := x509.CreateCertificate(rand.Reader, x, parent, key.Public(), signer)
				if err != nil {
					t.Fatal(err)
				}
				parsed, err := x509.ParseCertificate(der)
				if err != nil {
					t.Fatal(err)
				}
				made = append(made, parsed)
				out[fmt.Sprintf("layer-%02d/%d", layer, i)] = writePEM(certificateType, der)
			}
			der, err := x509.MarshalPKCS8PrivateKey(key)
			if err != nil {
				t.Fatal(err)
			}
			out[fmt.Sprintf("layer-%02d/key", layer)] = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
			parents, signer = made, key
		}
		return out
	}
	first, second := layers(), layers()
	c := gathered(t, certificateOptions(t), first, second)
	for name := range first {
		if one, other := c.shape(first[name]), c.shape(second[name]); one != other {
			t.Errorf("%s has the shapes\n%s\n%s", name, one, other)
		}
		if _, _, _, err := c.replace(first[name]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTooManyCertificates(t *testing.T) {
	t.Parallel()
	c := newCertificates(t.Context(), testOptions(t), testOptions(t).stream)
	var last string
	for i := range mostRandom + 1 {
		last = writePEM("PRIVATE KEY", []byte(fmt.Sprint(i)))
		c.collect(last, home{})
	}
	if _, _, _, err := c.replace(last); err == nil || !strings.Contains(err.Error(), "more than 256 random") {
		t.Errorf("got %v", err)
	}
}

func TestResolveStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	fault := errors.New("enough")
	cancel(fault)
	r := files{"s.yaml": secretOf("a", "stringData:", "  a: {{ randAlpha 9 }}")}.renders(t)
	if out, err := Resolve(ctx, testOptions(t), r, nil); !errors.Is(err, fault) || out != nil {
		t.Errorf("got %v, %v", out, err)
	}
}
