package derive

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
)

// A keyKind is what a derived key has in common with the one that it replaces.
type keyKind struct {
	algorithm string // "rsa", "ecdsa" or "ed25519"
	bits      int    // of the modulus or of the curve
}

func (k keyKind) String() string { return k.algorithm + "-" + strconv.Itoa(k.bits) }

// The sizes of RSA keys that are derived. The functions of templates make 2048 and
// 4096 bits.
const (
	leastRSA = 1024
	mostRSA  = 8192
	// rsaExponent is the public exponent of every key that crypto/rsa generates.
	rsaExponent = 65537
)

var errDSA = errors.New("DSA keys are not derived: the algorithm is withdrawn (FIPS 186-5) and certificates cannot use it")

// kindOf returns the kind of a public key, or why there is none that can be derived.
func kindOf(public crypto.PublicKey) (keyKind, error) {
	switch public := public.(type) {
	case *rsa.PublicKey:
		k := keyKind{"rsa", public.N.BitLen()}
		if !isRSASize(k.bits) {
			return keyKind{}, fmt.Errorf("RSA keys of %d bits are not derived", k.bits)
		}
		if public.E != rsaExponent {
			return keyKind{}, fmt.Errorf("RSA keys with the public exponent %d are not derived", public.E)
		}
		return k, nil
	case *ecdsa.PublicKey:
		k := keyKind{"ecdsa", public.Params().BitSize}
		if curveOf(k.bits) != public.Curve {
			return keyKind{}, fmt.Errorf("ECDSA keys on the curve %s are not derived", public.Params().Name)
		}
		return k, nil
	case ed25519.PublicKey:
		return keyKind{"ed25519", 8 * ed25519.SeedSize}, nil
	}
	return keyKind{}, errors.New("keys of this algorithm are not derived")
}

// isRSASize reports whether RSA keys of a size are derived: those whose primes fill
// bytes.
func isRSASize(bits int) bool { return bits >= leastRSA && bits <= mostRSA && bits%16 == 0 }

// curveOf returns the NIST curve of a size, or nil.
func curveOf(bits int) elliptic.Curve {
	switch bits {
	case 224:
		return elliptic.P224()
	case 256:
		return elliptic.P256()
	case 384:
		return elliptic.P384()
	case 521:
		return elliptic.P521()
	}
	return nil
}

// key makes a private key of this kind of what r gives. It is a function of the
// bytes of r alone: the standard library's generators are not, since they read one
// byte more at random, or do not read r at all.
func (k keyKind) key(r io.Reader) (crypto.Signer, error) {
	switch k.algorithm {
	case "rsa":
		return rsaKey(r, k.bits)
	case "ecdsa":
		return ecdsaKey(r, curveOf(k.bits))
	case "ed25519":
		return ed25519Key(r)
	}
	return nil, errors.New("keys of this algorithm are not derived")
}

// ecdsaKey draws scalars until one lies in [1, n-1], where n is the order of the
// curve (FIPS 186-5, A.2.2): each is as likely as any other, so the key is as good
// as one from the system's randomness as long as r cannot be told from that.
func ecdsaKey(r io.Reader, curve elliptic.Curve) (*ecdsa.PrivateKey, error) {
	order := curve.Params().N
	buf := make([]byte, (order.BitLen()+7)/8)
	excess := 8*len(buf) - order.BitLen()
	for {
		if _, err := io.ReadFull(r, buf); err != nil {
			return nil, err
		}
		buf[0] &= 0xff >> excess
		if scalar := new(big.Int).SetBytes(buf); scalar.Sign() > 0 && scalar.Cmp(order) < 0 {
			return ecdsa.ParseRawPrivateKey(curve, buf)
		}
	}
}

// ed25519Key takes a seed, which may be any 32 bytes (RFC 8032, 5.1.5).
func ed25519Key(r io.Reader) (ed25519.PrivateKey, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(r, seed); err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// parseKey reads the private key in a PEM block.
func parseKey(kind string, der []byte) (crypto.Signer, error) {
	var key any
	var err error
	switch kind {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(der)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(der)
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(der)
	}
	if err != nil {
		// The message of the parser may quote the key.
		return nil, fmt.Errorf("the PEM block %q holds no key that can be read", kind)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("the PEM block %q holds a key that does not sign", kind)
	}
	return signer, nil
}

// encodeKey is the way back from parseKey.
func encodeKey(kind string, key crypto.Signer) ([]byte, error) {
	switch kind {
	case "RSA PRIVATE KEY":
		if key, ok := key.(*rsa.PrivateKey); ok {
			return x509.MarshalPKCS1PrivateKey(key), nil
		}
	case "EC PRIVATE KEY":
		if key, ok := key.(*ecdsa.PrivateKey); ok {
			return x509.MarshalECPrivateKey(key)
		}
	case "PRIVATE KEY":
		return x509.MarshalPKCS8PrivateKey(key)
	}
	return nil, fmt.Errorf("a PEM block %q does not hold a key of this algorithm", kind)
}
