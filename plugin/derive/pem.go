package derive

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// The bounds of PEM blocks, in bytes of text. A key is read by arithmetic that takes
// longer than in proportion to it.
const (
	mostKeyText         = 16 << 10
	mostCertificateText = 64 << 10
)

const certificateType = "CERTIFICATE"

// A part is one PEM block of the renders, however often it is printed.
type part struct {
	text string
	// kind is the type of the block, "RSA PRIVATE KEY".
	kind string
	// One of these is set unless fault is.
	certificate *x509.Certificate
	key         crypto.Signer
	// public is the public key of either in DER.
	public string
	// fault says why the block cannot be derived whatever stands around it.
	fault error

	first, again bool // found in the first or second render
	// at is the best of its places in the first render.
	at home
}

// kept reports whether the block is no random one: its bytes are the same in each
// render.
func (p *part) kept() bool { return p.first && p.again }

// newPart reads a block. A block that cannot be read is a part with a fault.
func newPart(text string) *part {
	kind, data, err := readPEM(text)
	p := &part{text: text, kind: kind, fault: err}
	if err != nil {
		return p
	}
	var public crypto.PublicKey
	if kind == certificateType {
		if p.certificate, err = x509.ParseCertificate(data); err != nil {
			p.fault = errors.New("the certificate cannot be read")
			return p
		}
		public = p.certificate.PublicKey
	} else {
		if p.key, p.fault = parseKey(kind, data); p.fault != nil {
			return p
		}
		public = p.key.Public()
	}
	if key, ok := public.(*rsa.PublicKey); ok && key.N.BitLen() > mostRSA {
		p.fault = fmt.Errorf("RSA keys of more than %d bits are not derived", mostRSA)
		return p
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		p.fault = errors.New("the public key is of an algorithm that is not derived")
	}
	p.public = string(der)
	return p
}

// readPEM returns the type and the content of a text that is one PEM block, printed
// as encoding/pem prints it: lines of 64 characters that end with "\n", nothing in
// front of them or behind. What is printed in another way is refused, since it could
// not be printed that way again.
func readPEM(text string) (kind string, data []byte, err error) {
	most := mostCertificateText
	if !strings.HasPrefix(text, "-----BEGIN "+certificateType) {
		most = mostKeyText
	}
	if len(text) > most {
		return "", nil, fmt.Errorf("a PEM block of more than %d KiB is not derived", most>>10)
	}
	b, _ := pem.Decode([]byte(text))
	if b == nil {
		return "", nil, errors.New("the PEM block cannot be read")
	}
	switch b.Type {
	case certificateType, "RSA PRIVATE KEY", "EC PRIVATE KEY", "PRIVATE KEY":
	case "DSA PRIVATE KEY":
		return b.Type, nil, errDSA
	case "ENCRYPTED PRIVATE KEY":
		return b.Type, nil, errEncrypted
	default:
		return b.Type, nil, fmt.Errorf("a PEM block of the type %q is not derived", b.Type)
	}
	if b.Headers["DEK-Info"] != "" {
		return b.Type, nil, errEncrypted
	}
	if len(b.Headers) > 0 {
		return b.Type, nil, errors.New("a PEM block with headers is not derived")
	}
	if string(pem.EncodeToMemory(b)) != text {
		return b.Type, nil, errors.New("the lines of the PEM block are not those that template functions print")
	}
	return b.Type, b.Bytes, nil
}

var errEncrypted = errors.New("an encrypted private key is not derived")

func writePEM(kind string, data []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
}
