package derive

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// certificates derives the private keys and certificates that the functions of a
// chart made, as PEM blocks.
//
// # What belongs together
//
// A private key and a certificate belong together if they have one public key, and a
// certificate belongs to the issuer whose key verifies its signature: nothing is told
// by names or places. What has the same bytes in both renders was given by values and
// stays as it is, and a public key that is in both is one that values gave.
//
// # Keys
//
// A random key is replaced by one of its kind and size, made of the stream of its
// home. That is where its private key is printed; of a key that is printed nowhere it
// is the place of its certificate. So one key in several places stays one. A key does
// not change with time, only with its generation.
//
// # Certificates
//
// A certificate is written anew with the subject and the extensions of the one that
// was rendered, for the derived key, signed by the derived key of its issuer, for the
// period of time that validity gives. All signatures are functions of key and content:
// RSA by PKCS #1 v1.5, ECDSA by RFC 6979, Ed25519.
//
// The key of a CA that is printed nowhere, nor its certificate, was thrown away with
// the render: nobody can verify what it signed. It is derived at the home of what it
// signed, so that servers get a certificate. That would be wrong for a CA that others
// know, so it is done only if the CA is another one in each render.
type certificates struct {
	ctx     context.Context //nolint:containedctx // of one call of Resolve
	options Options
	stream  func(identity ...string) io.Reader
	parts   map[string]*part // by text
	keys    map[string]crypto.Signer
	found   *relations // nil until all blocks are known
	// signed says which part signed which, as far as it was looked at.
	signed map[[2]*part]bool
}

// relations are what is worked out of all blocks.
type relations struct {
	// first are the blocks of the first render that can be read, the best homes first.
	first []*part
	// kept are the public keys that are in both renders.
	kept map[string]bool
	// issued are what is known of who signed a certificate of the first render.
	issued map[*part]issuer
	// shapes are those of the random certificates of both renders, nil until asked for.
	shapes map[*part]string
	// spans are the validities that are known, or being worked out.
	spans map[*part]*spanOf
}

// mostRandom bounds the certificates and keys that are looked at. Who signed whom takes a
// signature for each pair.
const mostRandom = 256

// An issuer is who signed a certificate.
type issuer struct {
	public  string  // "" if it is not in the output
	parents []*part // its certificates, but for the one that it signed
}

// newCertificates takes what gives the stream of an identity within the application.
func newCertificates(ctx context.Context, o Options, stream func(identity ...string) io.Reader) *certificates {
	return &certificates{ctx: ctx, signed: map[[2]*part]bool{}, options: o, stream: stream, parts: map[string]*part{}, keys: map[string]crypto.Signer{}}
}

// collect is told of each PEM block of the first render, in the form that encoding/pem
// prints, and of its place.
func (c *certificates) collect(block string, at home) {
	p := c.part(block)
	if !p.first || at.compare(p.at) < 0 {
		p.at = at
	}
	p.first = true
}

// again is told of each PEM block of the second render.
func (c *certificates) again(block string) { c.part(block).again = true }

func (c *certificates) part(block string) *part {
	c.found = nil
	p := c.parts[block]
	if p == nil {
		p = newPart(block)
		c.parts[block] = p
	}
	return p
}

func (c *certificates) relations() *relations {
	if c.found != nil {
		return c.found
	}
	r := &relations{kept: map[string]bool{}, issued: map[*part]issuer{}, spans: map[*part]*spanOf{}}
	c.bound()
	again := map[string]bool{}
	for _, p := range c.parts {
		if p.fault == nil && p.first {
			r.first = append(r.first, p)
		}
		if p.fault == nil && p.again {
			again[p.public] = true
		}
	}
	slices.SortFunc(r.first, func(a, b *part) int { return cmp.Or(a.at.compare(b.at), strings.Compare(a.text, b.text)) })
	for _, p := range r.first {
		r.kept[p.public] = again[p.public]
	}
	c.found = r
	return r
}

// bound gives up on too many blocks.
func (c *certificates) bound() {
	random := 0
	for _, p := range c.parts {
		if !p.kept() && p.first {
			random++
		}
	}
	if random <= mostRandom {
		return
	}
	for _, p := range c.parts {
		if !p.kept() {
			p.fault = fmt.Errorf("more than %d random certificates and keys are not derived", mostRandom)
		}
	}
}

// isKept reports whether a public key is in both renders.
func (c *certificates) isKept(public string) bool { return c.relations().kept[public] }

// issuer returns who signed a certificate of the first render.
func (c *certificates) issuer(p *part) issuer {
	r := c.relations()
	if by, ok := r.issued[p]; ok {
		return by
	}
	var by issuer
	for _, other := range r.first {
		if !c.verifies(p, other) {
			continue
		}
		by.public = other.public
		if other.certificate != nil && other != p {
			by.parents = append(by.parents, other)
		}
	}
	r.issued[p] = by
	return by
}

// verifies reports whether the certificate p is signed with the key of other.
func (c *certificates) verifies(p, other *part) bool {
	pair := [2]*part{p, other}
	signed, known := c.signed[pair]
	if !known && c.ctx.Err() == nil {
		signed = verifies(p.certificate, other)
		c.signed[pair] = signed
	}
	return signed
}

// verifies reports whether x is signed with the key of p. Unlike CheckSignatureFrom
// it does not ask for a CA: genSignedCert takes any certificate as issuer.
func verifies(x *x509.Certificate, p *part) bool {
	by := p.certificate
	if by == nil {
		by = &x509.Certificate{PublicKey: p.key.Public()}
	} else if !bytes.Equal(by.RawSubject, x.RawIssuer) {
		return false
	}
	return by.CheckSignature(x.SignatureAlgorithm, x.RawTBSCertificate, x.Signature) == nil
}

// replace returns the block that is derived in place of one of the first render, what
// it is, and until when it stays the same (the zero time is for ever). A block that is
// no random one stays; its reason is "". The error says why a block is not derived.
func (c *certificates) replace(block string) (text, reason string, until time.Time, err error) {
	p := c.parts[block]
	c.relations() // which may give up
	switch {
	case p == nil || !p.first:
		return "", "", time.Time{}, errors.New("the PEM block is not known")
	case p.kept():
		return block, "", time.Time{}, nil
	case p.fault != nil:
		return "", "", time.Time{}, p.fault
	case p.key != nil:
		key, err := c.key(p.public)
		if err != nil {
			return "", "", time.Time{}, err
		}
		der, err := encodeKey(p.kind, key)
		if err != nil {
			return "", "", time.Time{}, err
		}
		return writePEM(p.kind, der), "private key", time.Time{}, nil
	}
	der, until, err := c.certificate(p)
	if err != nil {
		return "", "", time.Time{}, err
	}
	return writePEM(p.kind, der), "certificate", until, nil
}

// places returns the homes of the keys that a block is made of: its own, and the one
// that it is signed with.
func (c *certificates) places(block string) []home {
	p := c.parts[block]
	if p == nil || !p.first || p.fault != nil || p.kept() {
		return nil
	}
	var out []home
	add := func(at home, ok bool) {
		if ok && !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	add(c.home(p.public))
	if p.certificate != nil {
		if by := c.issuer(p); by.public != "" {
			add(c.home(by.public))
		} else {
			add(c.lostHome(p), true)
		}
	}
	return out
}

// shape returns what of a block is the same in each render.
func (c *certificates) shape(block string) string {
	p := c.parts[block]
	if p == nil {
		p = newPart(block)
	}
	r := c.relations()
	switch {
	case p.kept():
		return block
	case p.fault != nil:
		return p.kind + ": " + p.fault.Error()
	case p.key != nil:
		return p.kind + " " + c.keyShape(p.public)
	}
	if r.shapes == nil {
		r.shapes = c.shapes()
	}
	return r.shapes[p]
}

// shapes returns the shapes of the random certificates. A shape has a hash of those of
// the issuers; it is worked out in rounds, in each of which one more generation of them
// counts: there are far more ways up than certificates.
func (c *certificates) shapes() map[*part]string {
	const rounds = 8
	var random []*part
	own, now := map[*part]string{}, map[*part]string{}
	above := map[*part][]*part{}
	for _, p := range c.parts {
		if p.kept() || p.fault != nil || p.certificate == nil {
			continue
		}
		random = append(random, p)
		own[p] = c.ownShape(p)
		for _, other := range c.parts {
			beside := p.first && other.first || p.again && other.again
			if beside && other.fault == nil && other.public != p.public && c.verifies(p, other) {
				above[p] = append(above[p], other)
			}
		}
	}
	maps.Copy(now, own)
	for range rounds {
		next := map[*part]string{}
		for _, p := range random {
			var signers []string
			for _, other := range above[p] {
				switch {
				case other.key != nil:
					signers = append(signers, c.keyShape(other.public))
				case other.kept():
					signers = append(signers, other.text)
				default:
					signers = append(signers, now[other])
				}
			}
			slices.Sort(signers)
			sum := sha256.Sum256([]byte(strings.Join(slices.Compact(signers), "; ")))
			next[p] = fmt.Sprintf("%s by %x", own[p], sum)
		}
		now = next
	}
	return now
}

// ownShape is the shape of a certificate without its issuers.
func (c *certificates) ownShape(p *part) string {
	x := p.certificate
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s version %d for %s signed %s", p.kind, c.keyShape(p.public), x.Version, lifetime(x), x.SignatureAlgorithm)
	fmt.Fprintf(&b, " subject %x issuer %x", x.RawSubject, x.RawIssuer)
	for _, e := range x.Extensions {
		fmt.Fprintf(&b, " %s %t", e.Id, e.Critical)
		if !e.Id.Equal(oidSubjectKeyID) && !e.Id.Equal(oidAuthorityKeyID) {
			fmt.Fprintf(&b, " %x", e.Value)
		}
	}
	if c.verifies(p, p) {
		b.WriteString(" by itself")
	}
	return b.String()
}

func (c *certificates) keyShape(public string) string {
	if c.isKept(public) {
		return fmt.Sprintf("%x", sha256.Sum256([]byte(public)))
	}
	key, err := x509.ParsePKIXPublicKey([]byte(public))
	if err != nil {
		return "unknown"
	}
	k, err := kindOf(key)
	if err != nil {
		return err.Error()
	}
	return k.String()
}

// home returns where a key lives; it reports false for keys that are not random or
// are not there.
func (c *certificates) home(public string) (home, bool) {
	if c.isKept(public) {
		return home{}, false
	}
	list := c.relations().first
	at := slices.IndexFunc(list, func(p *part) bool { return p.public == public && p.key != nil })
	if at < 0 {
		at = slices.IndexFunc(list, func(p *part) bool { return p.public == public })
	}
	if at < 0 {
		return home{}, false
	}
	return list[at].at, true
}

var errNoPrivateKey = errors.New("the certificate is signed with a key that is the same in each render and is not in the output")

// key returns the private key that takes the place of the one with a public key.
func (c *certificates) key(public string) (crypto.Signer, error) {
	if c.isKept(public) {
		for _, p := range c.relations().first {
			if p.public == public && p.key != nil {
				return p.key, nil
			}
		}
		return nil, errNoPrivateKey
	}
	at, ok := c.home(public)
	if !ok {
		return nil, errors.New("the key is not in the output")
	}
	parsed, err := x509.ParsePKIXPublicKey([]byte(public))
	if err != nil {
		return nil, errors.New("the public key cannot be read")
	}
	kind, err := kindOf(parsed)
	if err != nil {
		return nil, err
	}
	return c.derive("private key", kind, at)
}

// derive makes a key for a home. Kind and size belong to the identity: a field that
// gets a larger key gets one that has nothing to do with the smaller one.
func (c *certificates) derive(what string, kind keyKind, at home) (crypto.Signer, error) {
	identity := append(at.identity(), what, kind.String(), c.options.generationOf(at.name()))
	id := fmt.Sprintf("%q", identity)
	if key := c.keys[id]; key != nil {
		return key, nil
	}
	key, err := kind.key(c.stream(identity...))
	if err == nil {
		c.keys[id] = key
	}
	return key, err
}

// lost returns the key of an issuer that is not in the output.
func (c *certificates) lost(p *part) (crypto.Signer, error) {
	x := p.certificate
	if len(x.AuthorityKeyId) == 0 {
		return nil, errors.New("the issuer of the certificate is not in the output")
	}
	private := false
	for _, other := range c.parts {
		if other.again && other.certificate != nil && bytes.Equal(other.certificate.AuthorityKeyId, x.AuthorityKeyId) {
			return nil, errors.New("the issuer of the certificate is the same in each render, and its private key is not in the output")
		}
		private = private || other.first && other.key != nil && other.public == p.public
	}
	if !private {
		return nil, errors.New("neither the private key of the certificate nor its issuer is in the output")
	}
	kind, err := signedBy(x)
	if err != nil {
		return nil, err
	}
	return c.derive("lost issuer", kind, c.lostHome(p))
}

// lostHome returns the best home among the certificates that a lost issuer signed.
func (c *certificates) lostHome(p *part) home {
	for _, other := range c.relations().first {
		if x := other.certificate; x != nil && bytes.Equal(x.AuthorityKeyId, p.certificate.AuthorityKeyId) && bytes.Equal(x.RawIssuer, p.certificate.RawIssuer) {
			return other.at
		}
	}
	return p.at
}
