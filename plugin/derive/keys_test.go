package derive

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"io"
	"math/big"
	"testing"

	"golang.org/x/crypto/ssh"
)

// endless is bytes to begin with and a stream of the test seed behind them.
func endless(t *testing.T, name string, begin ...byte) io.Reader {
	t.Helper()
	return io.MultiReader(bytes.NewReader(begin), certificateOptions(t).Seed.stream(name))
}

func TestRSAKey(t *testing.T) {
	t.Parallel()
	for _, bits := range []int{1024, 2048, 3072} {
		key, err := rsaKey(endless(t, "rsa"), bits)
		if err != nil {
			t.Fatal(err)
		}
		if got := key.N.BitLen(); got != bits {
			t.Errorf("got a modulus of %d bits, want %d", got, bits)
		}
		p, q := key.Primes[0], key.Primes[1]
		for _, prime := range key.Primes {
			if !prime.ProbablyPrime(64) || prime.BitLen() != bits/2 {
				t.Errorf("got %v, want a prime of %d bits", prime, bits/2)
			}
		}
		if gap := new(big.Int).Sub(p, q); gap.Sign() <= 0 || gap.BitLen() <= bits/2-100 {
			t.Errorf("got primes that are %d bits apart, want the larger one first and not close", gap.BitLen())
		}
		// The numbers as another reader takes them, without what was worked out here.
		parsed, err := x509.ParsePKCS1PrivateKey(x509.MarshalPKCS1PrivateKey(key))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte("text"))
		signature, err := rsa.SignPKCS1v15(nil, parsed, crypto.SHA256, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		if err := rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature); err != nil {
			t.Error(err)
		}
	}
}

// TestFirstPrime compares the sieve with a search that tries each odd number.
func TestFirstPrime(t *testing.T) {
	t.Parallel()
	s := newSieve()
	for i := range 200 {
		start := new(big.Int).SetBytes(read(endless(t, "start", byte(i)), 12))
		start.SetBit(start, 0, 1).SetBit(start, 95, 1)
		want := new(big.Int).Set(start)
		for !want.ProbablyPrime(10) || new(big.Int).Mod(want, big.NewInt(rsaExponent)).Int64() == 1 {
			want.Add(want, big.NewInt(2))
		}
		if got := s.first(start); got == nil || got.Cmp(want) != 0 {
			t.Errorf("first prime from %v: got %v, want %v", start, got, want)
		}
	}
}

// TestPrimeOfExponent begins at a prime p of which p-1 is a multiple of the exponent,
// which has no private exponent.
func TestPrimeOfExponent(t *testing.T) {
	t.Parallel()
	step := big.NewInt(2 * rsaExponent)
	p := new(big.Int).Lsh(big.NewInt(rsaExponent), 200)
	p.Add(p, big.NewInt(1))
	for !p.ProbablyPrime(10) {
		p.Add(p, step)
	}
	if got := newSieve().first(p); got == nil || got.Cmp(p) <= 0 {
		t.Errorf("got %v, want a prime behind %v", got, p)
	}
}

// TestPrimeAtTheEnd begins so high that no prime of the size follows.
func TestPrimeAtTheEnd(t *testing.T) {
	t.Parallel()
	start := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))
	if got := newSieve().first(start); got != nil {
		t.Errorf("got %v, want none", got)
	}
	ones := bytes.Repeat([]byte{0xff}, 64)
	p, err := newSieve().prime(endless(t, "end", ones...), 512)
	if err != nil || p.BitLen() != 512 {
		t.Errorf("got %v and %v, want a prime of 512 bits from what comes next", p, err)
	}
}

func TestECDSAKey(t *testing.T) {
	t.Parallel()
	for _, curve := range []elliptic.Curve{elliptic.P224(), elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		size := (curve.Params().N.BitLen() + 7) / 8
		number := func(n *big.Int) []byte { return n.FillBytes(make([]byte, size)) }
		// Zero and the order itself are no scalars, the one before it is.
		order := curve.Params().N
		last := new(big.Int).Sub(order, big.NewInt(1))
		begin := append(append(number(new(big.Int)), number(order)...), number(last)...)
		key, err := ecdsaKey(bytes.NewReader(begin), curve)
		if err != nil {
			t.Fatal(err)
		}
		scalar, err := key.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(scalar, number(last)) {
			t.Errorf("%s: got %x, want %x", curve.Params().Name, scalar, last)
		}
		if _, err := ecdsaKey(endless(t, "ecdsa"), curve); err != nil {
			t.Errorf("%s: %v", curve.Params().Name, err)
		}
	}
}

// TestKeysNeverChange holds keys that installations have. If this fails, all derived
// keys of everyone change.
func TestKeysNeverChange(t *testing.T) {
	t.Parallel()
	for kind, want := range map[keyKind]string{
		{"rsa", 1024}:    "6bfbaa222900dafb",
		{"rsa", 2048}:    "eaf9663551c268be",
		{"ecdsa", 256}:   "2521d9f5285a3199",
		{"ecdsa", 521}:   "a28f413cb6697135",
		{"ed25519", 256}: "81b9a005dbefe5fd",
	} {
		key, err := kind.key(certificateOptions(t).Seed.stream("frozen"))
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		if got := digest(string(der)); got != want {
			t.Errorf("%s: got %s, want %s", kind, got, want)
		}
	}
}

// TestPrivateKeys derives what genPrivateKey gives and reads it as sshd does.
func TestPrivateKeys(t *testing.T) {
	t.Parallel()
	const quick = `@host/ecdsa
{{ genPrivateKey "ecdsa" }}@host/ed25519
{{ genPrivateKey "ed25519" }}`
	first, second := execute(t, quick+`@host/rsa
{{ genPrivateKey "rsa" }}`, nil), execute(t, quick, nil)
	c := gathered(t, certificateOptions(t), first, second)
	for name, kind := range map[string]keyKind{"host/rsa": {"rsa", 4096}, "host/ecdsa": {"ecdsa", 256}, "host/ed25519": {"ed25519", 256}} {
		text, reason, until, err := c.replace(first[name])
		if err != nil || reason != "private key" || !until.IsZero() {
			t.Fatalf("%s: got reason %q, until %v and %v, want a private key for ever", name, reason, until, err)
		}
		before, after := newPart(first[name]), newPart(text)
		if after.kind != before.kind || after.fault != nil || after.public == before.public {
			t.Errorf("%s: got %q, want another key in a block %q", name, after.kind, before.kind)
		}
		if got, err := kindOf(after.key.Public()); got != kind || err != nil {
			t.Errorf("%s: got %v and %v, want %s", name, got, err, kind)
		}
		if _, err := ssh.ParseRawPrivateKey([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, want := c.shape(first[name]), after.kind+" "+kind.String(); got != want {
			t.Errorf("%s: got the shape %s, want %s", name, got, want)
		}
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	odd := &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 2047), E: 3}
	small := &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 511), E: rsaExponent}
	for name, public := range map[string]crypto.PublicKey{"exponent": odd, "small": small, "none": nil, "private": ed25519.PrivateKey{}} {
		if kind, err := kindOf(public); err == nil {
			t.Errorf("%s: got %s, want an error", name, kind)
		}
	}
	if kind, err := kindOf((&ecdsa.PrivateKey{PublicKey: ecdsa.PublicKey{Curve: elliptic.P384()}}).Public()); err != nil || kind.bits != 384 {
		t.Errorf("got %v and %v, want ecdsa-384", kind, err)
	}
}

func BenchmarkRSA(b *testing.B) {
	for _, bits := range []int{2048, 4096} {
		b.Run(keyKind{"rsa", bits}.String()+"/derived", func(b *testing.B) {
			for b.Loop() {
				if _, err := rsaKey(rand.Reader, bits); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(keyKind{"rsa", bits}.String()+"/generated", func(b *testing.B) {
			for b.Loop() {
				if _, err := rsa.GenerateKey(rand.Reader, bits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
