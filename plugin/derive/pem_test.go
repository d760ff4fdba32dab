package derive

import (
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
)

// TestHostile reads blocks that no template function prints.
func TestHostile(t *testing.T) {
	t.Parallel()
	good := keyBlock(t, testKey("good"))
	zeros := make([]byte, 100)
	for name, c := range map[string]struct{ block, want string }{
		"no block":        {"password", "cannot be read"},
		"nothing":         {"", "cannot be read"},
		"no end":          {"-----BEGIN CERTIFICATE-----\nAAAA\n", "cannot be read"},
		"no certificate":  {writePEM("CERTIFICATE", zeros), "the certificate cannot be read"},
		"empty":           {writePEM("CERTIFICATE", nil), "the certificate cannot be read"},
		"no key":          {writePEM("RSA PRIVATE KEY", zeros), `the PEM block "RSA PRIVATE KEY" holds no key`},
		"no EC key":       {writePEM("EC PRIVATE KEY", zeros), `the PEM block "EC PRIVATE KEY" holds no key`},
		"no PKCS8 key":    {writePEM("PRIVATE KEY", nil), `the PEM block "PRIVATE KEY" holds no key`},
		"dsa":             {writePEM("DSA PRIVATE KEY", zeros), "DSA keys are not derived"},
		"encrypted":       {writePEM("ENCRYPTED PRIVATE KEY", zeros), "an encrypted private key is not derived"},
		"encrypted old":   {encryptedBlock(zeros), "an encrypted private key is not derived"},
		"headers":         {string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Headers: map[string]string{"a": "b"}})), "a PEM block with headers"},
		"other type":      {writePEM("OPENSSH PRIVATE KEY", zeros), `a PEM block of the type "OPENSSH PRIVATE KEY" is not derived`},
		"request":         {writePEM("CERTIFICATE REQUEST", zeros), `"CERTIFICATE REQUEST" is not derived`},
		"huge":            {writePEM("CERTIFICATE", make([]byte, 1<<20)), "a PEM block of more than 64 KiB"},
		"huge key":        {writePEM("PRIVATE KEY", make([]byte, 1<<15)), "a PEM block of more than 16 KiB"},
		"lines":           {strings.ReplaceAll(good, "\n", "\r\n"), "the lines of the PEM block"},
		"text in front":   {"password\n" + good, "the lines of the PEM block"},
		"two blocks":      {good + good, "the lines of the PEM block"},
		"key and request": {good + writePEM("CERTIFICATE REQUEST", zeros), "the lines of the PEM block"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			certificates := gathered(t, certificateOptions(t), printed{"a/b": c.block}, printed{"a/b": good})
			wantFault(t, certificates, c.block, c.want)
			_ = certificates.shape(c.block)
			if places := certificates.places(c.block); places != nil {
				t.Errorf("got the places %v, want none", places)
			}
			// What is the same in each render stays, whatever it is.
			text, _, _, err := gathered(t, certificateOptions(t), printed{"a/b": c.block}, printed{"a/b": c.block}).replace(c.block)
			if text != c.block || err != nil {
				t.Errorf("got %q and %v, want the block itself", text, err)
			}
		})
	}
	wantFault(t, gathered(t, certificateOptions(t), nil, printed{"a/b": good}), good, "not known")
}

func encryptedBlock(data []byte) string {
	headers := map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: headers, Bytes: data}))
}

// FuzzBlock reads anything.
func FuzzBlock(f *testing.F) {
	key := testKey("fuzz")
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("EC PRIVATE KEY", der)
	f.Add("CERTIFICATE", []byte{0x30, 0x82})
	f.Add("CERTIFICATE", issue(&testing.T{}, "fuzz", 90*day, true, key, nil, key).Raw)
	f.Add("PRIVATE KEY", []byte{})
	f.Add("RSA PRIVATE KEY", []byte{0x30, 3, 2, 1, 0})
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		block := writePEM(kind, data)
		o := certificateOptions(t)
		c := gathered(t, o, printed{"a/b": block}, printed{})
		c.shape(block)
		text, _, _, err := c.replace(block)
		if (err == nil) != (text != "") {
			t.Errorf("got %q and %v, want one of both", text, err)
		}
	})
}
