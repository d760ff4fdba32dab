package derive

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"time"
)

// The extensions that name keys (RFC 5280, 4.2.1.1 and 4.2.1.2).
var (
	oidSubjectKeyID   = asn1.ObjectIdentifier{2, 5, 29, 14}
	oidAuthorityKeyID = asn1.ObjectIdentifier{2, 5, 29, 35}
)

// lifetime returns for how long a certificate is valid, in whole minutes: the
// functions of templates read the clock twice, between which a second may turn.
func lifetime(x *x509.Certificate) time.Duration {
	return x.NotAfter.Sub(x.NotBefore).Round(time.Minute)
}

const (
	day = 24 * time.Hour
	// slack is how much earlier than its period a certificate is valid, for clocks that
	// are behind.
	slack = time.Hour
)

// A span is the validity of a certificate, and when the next one takes over.
type span struct{ from, to, next time.Time }

// validity is the rule for the dates of certificates.
//
// A certificate that was rendered for a lifetime of D is rewritten in periods of D/3
// in whole days, or D/3 where that is less than a day. It is valid from one hour before
// its period for D from the period's begin: at any moment, two thirds of D are left
// or more. Periods are counted from the begin of the year 2000, moved by a part of a
// period that is another one for each application: the applications of a cluster do
// not roll all at once, and those certificates of one that live equally long do.
// Lifetimes of less than a day are refused, as nothing could roll that fast.
func (c *certificates) validity(d time.Duration) (span, error) {
	if d < day {
		return span{}, fmt.Errorf("a certificate that is valid for %s is not derived, less than a day", d)
	}
	period := (d / 3).Truncate(time.Second)
	if period >= day {
		period = period.Truncate(day)
	}
	buf := make([]byte, 8)
	if _, err := io.ReadFull(c.stream("certificate validity"), buf); err != nil {
		return span{}, err
	}
	seconds := int64(period / time.Second)
	origin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix() + int64(binary.BigEndian.Uint64(buf)%uint64(seconds)) //nolint:gosec // less than a period
	since := c.options.Now.Unix() - origin
	begin := time.Unix(c.options.Now.Unix()-(since%seconds+seconds)%seconds, 0).UTC()
	return span{begin.Add(-slack), begin.Add(d), begin.Add(period)}, nil
}

var errRound = errors.New("certificates sign one another in a circle")

// spanOf is what span found; done is false as long as it looks at what is above.
type spanOf struct {
	span span
	err  error
	done bool
}

// span returns the validity of a certificate: that of the rule, but not longer than
// those of its issuer. Then it changes when they do, too. So two thirds of the shortest
// lifetime in a chain are left at any moment.
func (c *certificates) span(p *part) (span, error) {
	spans := c.relations().spans
	if s := spans[p]; s != nil {
		if !s.done {
			return span{}, errRound
		}
		return s.span, s.err
	}
	s := &spanOf{}
	spans[p] = s
	s.span, s.err = c.newSpan(p)
	s.done = true
	return s.span, s.err
}

func (c *certificates) newSpan(p *part) (span, error) {
	if p.kept() {
		return span{from: p.certificate.NotBefore, to: p.certificate.NotAfter}, nil
	}
	s, err := c.validity(lifetime(p.certificate))
	if err != nil {
		return span{}, err
	}
	for _, parent := range c.issuer(p).parents {
		if parent.public == p.public {
			continue // another certificate of the key that signs itself
		}
		above, err := c.span(parent)
		if err != nil {
			return span{}, err
		}
		if !above.to.Before(s.to) {
			continue
		}
		s.to = above.to
		if !above.next.IsZero() && above.next.Before(s.next) {
			s.next = above.next
		}
	}
	if !s.to.After(s.from) {
		return span{}, fmt.Errorf("the issuer of the certificate, which is the same in each render, ended on %s", s.to.Format(time.DateOnly))
	}
	return s, nil
}

// certificate returns the DER of the certificate that takes the place of p.
func (c *certificates) certificate(p *part) ([]byte, time.Time, error) {
	x := p.certificate
	public, signer, err := c.pair(p)
	if err != nil {
		return nil, time.Time{}, err
	}
	if !repeatable(x.SignatureAlgorithm) {
		return nil, time.Time{}, fmt.Errorf("a certificate signed with %s is not derived", x.SignatureAlgorithm)
	}
	valid, err := c.span(p)
	if err != nil {
		return nil, time.Time{}, err
	}
	extensions, err := c.extensions(p, public, signer.Public())
	if err != nil {
		return nil, time.Time{}, err
	}
	template := &x509.Certificate{
		RawSubject:         x.RawSubject,
		NotBefore:          valid.from,
		NotAfter:           valid.to,
		SignatureAlgorithm: x.SignatureAlgorithm,
		ExtraExtensions:    extensions,
	}
	if template.SerialNumber, err = c.serial(template, x.RawIssuer, public); err != nil {
		return nil, time.Time{}, err
	}
	parent := &x509.Certificate{RawSubject: x.RawIssuer}
	// Without a source of randomness ECDSA signs by RFC 6979.
	der, err := x509.CreateCertificate(nil, template, parent, public, signer)
	return der, valid.next, err
}

// pair returns the public key of the new certificate and the key that signs it.
func (c *certificates) pair(p *part) (crypto.PublicKey, crypto.Signer, error) {
	by := c.issuer(p)
	var signer crypto.Signer
	var err error
	if by.public == "" {
		signer, err = c.lost(p)
	} else {
		signer, err = c.key(by.public)
	}
	if err != nil {
		return nil, nil, err
	}
	if c.isKept(p.public) {
		return p.certificate.PublicKey, signer, nil
	}
	own, err := c.key(p.public)
	if err != nil {
		return nil, nil, err
	}
	return own.Public(), signer, nil
}

// repeatable reports whether signatures of an algorithm are functions of key and
// content, and strong enough to be made today.
func repeatable(a x509.SignatureAlgorithm) bool {
	switch a {
	case x509.SHA256WithRSA, x509.SHA384WithRSA, x509.SHA512WithRSA,
		x509.ECDSAWithSHA256, x509.ECDSAWithSHA384, x509.ECDSAWithSHA512, x509.PureEd25519:
		return true
	}
	return false
}

// signedBy returns the kind of key that the functions of templates have signed with,
// told by the signature.
func signedBy(x *x509.Certificate) (keyKind, error) {
	switch bits := 8 * len(x.Signature); x.SignatureAlgorithm {
	case x509.SHA256WithRSA:
		if isRSASize(bits) {
			return keyKind{"rsa", bits}, nil
		}
	case x509.ECDSAWithSHA256:
		return keyKind{"ecdsa", 256}, nil
	case x509.PureEd25519:
		return keyKind{"ed25519", 256}, nil
	}
	return keyKind{}, fmt.Errorf("the issuer of the certificate, which signs with %s, is not in the output", x.SignatureAlgorithm)
}

// extensions returns those of p in their order and bytes, except for the ids of keys
// that are replaced.
func (c *certificates) extensions(p *part, own, issuer crypto.PublicKey) ([]pkix.Extension, error) {
	by := c.issuer(p)
	out := slices.Clone(p.certificate.Extensions)
	for i := range out {
		e := &out[i]
		switch {
		case e.Id.Equal(oidSubjectKeyID) && !c.isKept(p.public):
			id, err := keyID(own)
			if err != nil {
				return nil, err
			}
			if e.Value, err = asn1.Marshal(id); err != nil {
				return nil, err
			}
		case e.Id.Equal(oidAuthorityKeyID) && !c.isKept(by.public):
			old, err := asn1.Marshal(authorityKey{p.certificate.AuthorityKeyId})
			if err != nil || !bytes.Equal(old, e.Value) {
				return nil, errors.New("a certificate that names its issuer's certificate by number is not derived")
			}
			id, err := keyID(issuer)
			if err != nil {
				return nil, err
			}
			if e.Value, err = asn1.Marshal(authorityKey{id}); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

type authorityKey struct {
	ID []byte `asn1:"tag:0"`
}

// keyID returns the id of a key as crypto/x509 makes it (RFC 7093, section 2, method 1).
// It stands here so that no setting or later version changes it.
func keyID(public crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, err
	}
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &info); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(info.Key.Bytes)
	return sum[:20], nil
}

// serial returns the serial number of a certificate, which depends on all that stands
// in it: two certificates of one issuer never share a number with other content, not
// from one period to the next either, where browsers would refuse the later one.
func (c *certificates) serial(template *x509.Certificate, issuer []byte, public crypto.PublicKey) (*big.Int, error) {
	key, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, err
	}
	identity := []string{
		"certificate serial", string(issuer), string(template.RawSubject), string(key), template.SignatureAlgorithm.String(),
		strconv.FormatInt(template.NotBefore.Unix(), 10), strconv.FormatInt(template.NotAfter.Unix(), 10),
	}
	for _, e := range template.ExtraExtensions {
		identity = append(identity, e.Id.String(), strconv.FormatBool(e.Critical), string(e.Value))
	}
	buf := make([]byte, 16)
	if _, err := io.ReadFull(c.stream(identity...), buf); err != nil {
		return nil, err
	}
	buf[0] = buf[0]&0x7f | 0x40 // positive, and of one length
	return new(big.Int).SetBytes(buf), nil
}
