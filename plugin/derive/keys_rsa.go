package derive

import (
	"crypto/rsa"
	"fmt"
	"io"
	"math/big"
)

// rsaKey makes an RSA key whose primes are found from where r points.
//
// Why it is sound. Both primes start at random numbers of half the key's size, from
// a stream that nobody without the seed can tell from random bits. Two top bits are
// set, as everywhere, so that the product has the full size. The first prime from
// there on is taken: primes behind large gaps are likelier than others, which costs
// less than one bit of a prime's entropy (Brandt and Damgård, On Generation of
// Probable Primes by Incremental Search, CRYPTO '92), and OpenSSL has searched this
// way for decades. Validate checks that the primes are not close to one another and
// that the private exponent is large, as FIPS 186-5 wants it.
//
// The numbers of math/big take a time that depends on them. That can be measured
// only by who times this search on the machine where the seed is kept.
func rsaKey(r io.Reader, bits int) (*rsa.PrivateKey, error) {
	s := newSieve()
	p, err := s.prime(r, bits/2)
	if err != nil {
		return nil, err
	}
	q, err := s.prime(r, bits/2)
	if err != nil {
		return nil, err
	}
	if p.Cmp(q) < 0 {
		p, q = q, p // OpenSSL wants the larger one first
	}
	one := big.NewInt(1)
	p1, q1 := new(big.Int).Sub(p, one), new(big.Int).Sub(q, one)
	// The least common multiple of both, of which FIPS 186-5 wants d to be made.
	lambda := new(big.Int).Mul(p1, q1)
	lambda.Div(lambda, new(big.Int).GCD(nil, nil, p1, q1))
	key := &rsa.PrivateKey{
		PublicKey: rsa.PublicKey{N: new(big.Int).Mul(p, q), E: rsaExponent},
		D:         new(big.Int).ModInverse(big.NewInt(rsaExponent), lambda),
		Primes:    []*big.Int{p, q},
	}
	key.Precompute()
	if err := key.Validate(); err != nil {
		return nil, fmt.Errorf("deriving an RSA key: %w", err)
	}
	return key, nil
}

// A sieve rules out the numbers with a small factor.
type sieve struct{ groups []primeGroup }

// A primeGroup is as many small odd primes as have a product of 64 bits: the
// remainder of a large number by the product is worked out once for all of them.
type primeGroup struct {
	product *big.Int
	primes  []uint64
}

// smallPrimes bounds the small primes. The remaining candidates are one in twenty;
// ten times the primes would make that one in twenty-four.
const smallPrimes = 1 << 16

func newSieve() *sieve {
	var composite [smallPrimes]bool
	s := &sieve{}
	product := uint64(1)
	var primes []uint64
	flush := func() {
		if len(primes) > 0 {
			s.groups = append(s.groups, primeGroup{new(big.Int).SetUint64(product), primes})
		}
		product, primes = 1, nil
	}
	for n := uint64(3); n < smallPrimes; n += 2 {
		if composite[n] {
			continue
		}
		for m := n * n; m < smallPrimes; m += 2 * n {
			composite[m] = true
		}
		if product > (1<<64-1)/n {
			flush()
		}
		product *= n
		primes = append(primes, n)
	}
	flush()
	return s
}

// prime returns the first prime p from a start that r gives, with gcd(p-1, e) = 1.
func (s *sieve) prime(r io.Reader, bits int) (*big.Int, error) {
	buf := make([]byte, bits/8)
	for {
		if _, err := io.ReadFull(r, buf); err != nil {
			return nil, err
		}
		buf[0] |= 0xc0
		buf[len(buf)-1] |= 1
		if p := s.first(new(big.Int).SetBytes(buf)); p != nil {
			return p, nil
		}
	}
}

// first returns the first prime in a window from an odd start, or nil. The window
// is some ten times as wide as primes of the largest size are apart.
func (s *sieve) first(start *big.Int) *big.Int {
	const window = 1 << 14 // odd numbers
	// Miller-Rabin with random bases, beside the test of Baillie, Pomerance, Selfridge
	// and Wagstaff, of which no composite is known that passes it. For candidates that
	// no adversary chose, five rounds alone err less often than once in 2^112 (FIPS
	// 186-5, table B.1). More rounds find the same primes.
	const rounds = 8
	var composite [window]bool
	rest := new(big.Int)
	for _, g := range s.groups {
		r := rest.Mod(start, g.product).Uint64()
		for _, n := range g.primes {
			// start + 2i is a multiple of n for i = -start/2 (mod n).
			for i := (n - r%n) % n * ((n + 1) / 2) % n; i < window; i += n {
				composite[i] = true
			}
		}
	}
	exponent := big.NewInt(rsaExponent)
	for i := range composite {
		if composite[i] {
			continue
		}
		p := new(big.Int).Add(start, big.NewInt(int64(2*i)))
		if p.BitLen() != start.BitLen() {
			return nil
		}
		if rest.Mod(p, exponent).Uint64() != 1 && p.ProbablyPrime(rounds) {
			return p
		}
	}
	return nil
}
