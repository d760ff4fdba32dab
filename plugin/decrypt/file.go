package decrypt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/redact"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	"github.com/getsops/sops/v3/keyservice"
)

// file is an encrypted file.
type file struct {
	name   string
	format format
	tree   sops.Tree
	// refused says why the file is not decrypted, whatever the keys.
	refused error

	once  sync.Once
	plain []byte
	err   error
}

const (
	hintDamaged = "take the file from an earlier commit, or encrypt it anew; an encrypted file is changed with `sops edit` or `sops set`, by hand or by a merge it breaks"
	hintMAC     = "what was changed cannot be told from the file; compare with the commit before, or encrypt the file anew"
)

// decrypt returns what `sops -d` prints of the file.
func (f *file) decrypt(o *Options, keys func() *ring) (plain []byte, opened []string, err error) {
	if err := o.Permit.check(f.name); err != nil {
		return nil, nil, err
	}
	if f.refused != nil {
		return nil, nil, f.refused
	}
	if n := f.tree.Metadata.MasterKeyCount(); n > maxKeys {
		return nil, nil, f.fault(fmt.Sprintf("the sops metadata names %d keys, more than %d", n, maxKeys))
	}
	err = guarded(func() (err error) {
		service := &service{ctx: o.Context, ring: keys(), permit: o.Permit}
		plain, err = f.open(service, o.Secrets)
		opened = service.opened
		return err
	})
	if errors.Is(err, ErrPanic) {
		err = f.fault("sops panicked while decrypting the file", ErrPanic)
	}
	return plain, opened, err
}

// maxKeys bounds the keys of a file: each is tried with each identity.
const maxKeys = 256

func (f *file) open(service *service, secrets *redact.Values) ([]byte, error) {
	// Keys that are at hand come before those that take the network.
	key, err := f.tree.Metadata.GetDataKeyWithKeyServices([]keyservice.KeyServiceClient{service}, []string{kindAge, kindPGP})
	if cause := context.Cause(service.ctx); err != nil && cause != nil {
		return nil, cause
	}
	if err != nil {
		return nil, f.keyError(service)
	}
	cipher := &recorder{Cipher: aes.NewCipher(), secrets: secrets, objects: objectsOf(f.tree.Branches)}
	mac, err := f.tree.Decrypt(key, cipher)
	if err != nil {
		return nil, diag.WithHint(f.fault(cipher.fault()), hintDamaged)
	}
	want, err := aes.NewCipher().Decrypt(f.tree.Metadata.MessageAuthenticationCode, key, f.tree.Metadata.LastModified.Format(time.RFC3339))
	// Neither of the two is shown: each is a hash of the plaintext without a key.
	switch {
	case f.tree.Metadata.MessageAuthenticationCode == "":
		return nil, diag.WithHint(f.fault("the file has no MAC, so nothing says that its values are those that were encrypted"), hintDamaged)
	case err != nil:
		return nil, diag.WithHint(f.fault("the MAC in the sops metadata cannot be decrypted"), hintDamaged)
	case want != mac:
		return nil, diag.WithHint(f.fault("the MAC does not match: the file was changed after it was encrypted"), hintMAC)
	}
	plain, err := f.format.store().EmitPlainFile(f.tree.Branches)
	if err != nil {
		return nil, f.fault("the decrypted file has no form as " + string(f.format))
	}
	if f.format == formatBinary {
		remember(secrets, string(plain))
	}
	return plain, nil
}

// fault is an error about the file, with causes for errors.Is.
func (f *file) fault(msg string, causes ...error) error {
	err := error(&diag.Error{File: f.name, Msg: msg})
	if len(causes) == 0 {
		return err
	}
	return &caused{err, causes}
}

type caused struct {
	error
	causes []error
}

func (c *caused) Unwrap() []error { return append(c.causes, c.error) }

// recorder is the cipher of sops, which tells secrets what it has decrypted, and
// keeps where it failed instead of what it failed on.
type recorder struct {
	sops.Cipher
	secrets *redact.Values
	objects objects
	at      string // the path of the last value that failed
	open    bool   // whether that value was not even encrypted
}

func (r *recorder) Decrypt(ciphertext string, key []byte, path string) (any, error) {
	value, err := r.Cipher.Decrypt(ciphertext, key, path)
	if err != nil {
		r.at, r.open = shown(strings.ReplaceAll(strings.TrimSuffix(path, ":"), ":", ".")), !strings.HasPrefix(ciphertext, "ENC[")
		return nil, errValue
	}
	if !r.objects.identity(path, value) {
		remember(r.secrets, value)
	}
	return value, nil
}

var errValue = errors.New("the value cannot be decrypted")

func (r *recorder) fault() string {
	switch {
	case r.at == "":
		return "a value that should be encrypted is not"
	case r.open:
		return fmt.Sprintf("the value of %q should be encrypted and is not", r.at)
	}
	return fmt.Sprintf("the value of %q cannot be decrypted: it was changed or moved after it was encrypted", r.at)
}

// ErrPanic is inside the error of a file on which sops panicked.
var ErrPanic = errors.New("sops panicked")

// guarded is the edge at which a panic of sops becomes an error. What it says may
// quote a value.
func guarded(work func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = ErrPanic
		}
	}()
	return work()
}
