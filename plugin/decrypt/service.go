package decrypt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
	agearmor "filippo.io/age/armor"
	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/azkv"
	"github.com/getsops/sops/v3/gcpkms"
	"github.com/getsops/sops/v3/hckms"
	"github.com/getsops/sops/v3/hcvault"
	"github.com/getsops/sops/v3/keys"
	"github.com/getsops/sops/v3/keyservice"
	"github.com/getsops/sops/v3/kms"
	sopspgp "github.com/getsops/sops/v3/pgp"
	"google.golang.org/grpc"
)

// The kinds of keys that need no network, by the names of sops.
const (
	kindAge = sopsage.KeyTypeIdentifier
	kindPGP = sopspgp.KeyTypeIdentifier
)

// service is the key service of sops for one file: it opens encrypted data keys
// with the identities of a ring, and asks the clouds as sops does.
type service struct {
	ring   *ring
	permit *Permit
	failed []attempt
}

// attempt is a key of the file that did not open.
type attempt struct {
	key       string // as keyName gives it
	kind      string
	forbidden string // what the policy does not allow: the kind, or an address
	reason    string // of a key service
}

var _ keyservice.KeyServiceClient = (*service)(nil)

// Encrypt is not for us.
func (s *service) Encrypt(context.Context, *keyservice.EncryptRequest, ...grpc.CallOption) (*keyservice.EncryptResponse, error) {
	return nil, errors.New("nothing is encrypted here")
}

// Decrypt opens a data key.
func (s *service) Decrypt(ctx context.Context, req *keyservice.DecryptRequest, _ ...grpc.CallOption) (*keyservice.DecryptResponse, error) {
	tried := nameOf(req.Key)
	address := addressOf(req.Key)
	switch {
	case !s.permit.key(tried.kind):
		tried.forbidden = tried.kind
	case address != "" && !s.permit.endpoint(address):
		tried.forbidden = address
	default:
		plain, err := s.open(ctx, req)
		if err == nil {
			return &keyservice.DecryptResponse{Plaintext: plain}, nil
		}
		if tried.kind != kindAge && tried.kind != kindPGP {
			tried.reason = oneLine(err.Error())
		}
	}
	s.failed = append(s.failed, tried)
	return nil, errKey
}

var errKey = errors.New("the key does not open the file")

func (s *service) open(ctx context.Context, req *keyservice.DecryptRequest) (plain []byte, err error) {
	switch req.Key.KeyType.(type) {
	case *keyservice.Key_AgeKey:
		plain, err = openAge(req.Ciphertext, s.ring.age())
	case *keyservice.Key_PgpKey:
		plain, err = openPGP(req.Ciphertext, s.ring.pgp())
		if err != nil && s.ring.programs {
			// The whole of sops would ask for a passphrase on standard output.
			key := sopspgp.NewMasterKeyFromFingerprint(req.Key.GetPgpKey().Fingerprint)
			key.EncryptedKey = string(req.Ciphertext)
			sopspgp.DisableOpenPGP{}.ApplyToMasterKey(key)
			return key.DecryptContext(ctx)
		}
	default:
		return fromSOPS(ctx, req)
	}
	if err != nil && s.ring.programs {
		return fromSOPS(ctx, req)
	}
	return plain, err
}

// fromSOPS asks sops itself.
func fromSOPS(ctx context.Context, req *keyservice.DecryptRequest) ([]byte, error) {
	response, err := keyservice.Server{}.Decrypt(ctx, req)
	if err != nil {
		return nil, err
	}
	return response.Plaintext, nil
}

// maxDataKey bounds an opened data key: 32 bytes, or one more for a share of it.
const maxDataKey = 1 << 10

func openAge(encrypted []byte, identities []age.Identity) ([]byte, error) {
	if len(identities) == 0 {
		return nil, errKey
	}
	r, err := age.Decrypt(agearmor.NewReader(bytes.NewReader(encrypted)), identities...)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, maxDataKey))
}

func openPGP(encrypted []byte, ring openpgp.EntityList) ([]byte, error) {
	if len(ring) == 0 {
		return nil, errKey
	}
	block, err := armor.Decode(bytes.NewReader(encrypted))
	if err != nil {
		return nil, err
	}
	message, err := openpgp.ReadMessage(block.Body, ring, nil, nil)
	if err != nil {
		return nil, err
	}
	// At its end it checks that the message is whole.
	return io.ReadAll(io.LimitReader(message.UnverifiedBody, maxDataKey))
}

// nameOf names a key of a file by its public part.
func nameOf(key *keyservice.Key) attempt {
	switch k := key.KeyType.(type) {
	case *keyservice.Key_AgeKey:
		return attempt{kind: kindAge, key: recipientName(k.AgeKey.Recipient)}
	case *keyservice.Key_PgpKey:
		return attempt{kind: kindPGP, key: "pgp " + k.PgpKey.Fingerprint}
	case *keyservice.Key_KmsKey:
		return attempt{kind: kms.KeyTypeIdentifier, key: "kms " + k.KmsKey.Arn}
	case *keyservice.Key_GcpKmsKey:
		return attempt{kind: gcpkms.KeyTypeIdentifier, key: "gcp_kms " + k.GcpKmsKey.ResourceId}
	case *keyservice.Key_AzureKeyvaultKey:
		return attempt{kind: azkv.KeyTypeIdentifier, key: fmt.Sprintf("azure_kv %s/keys/%s", k.AzureKeyvaultKey.VaultUrl, k.AzureKeyvaultKey.Name)}
	case *keyservice.Key_VaultKey:
		return attempt{kind: hcvault.KeyTypeIdentifier, key: fmt.Sprintf("hc_vault %s/v1/%s/keys/%s", k.VaultKey.VaultAddress, k.VaultKey.EnginePath, k.VaultKey.KeyName)}
	case *keyservice.Key_HckmsKey:
		return attempt{kind: hckms.KeyTypeIdentifier, key: "hckms " + k.HckmsKey.KeyId}
	}
	return attempt{kind: "unknown", key: "a key of an unknown kind"}
}

// nameOfMaster is nameOf for a key in the metadata.
func nameOfMaster(key keys.MasterKey) string {
	k := keyservice.KeyFromMasterKey(key)
	return nameOf(&k).key
}

// addressOf is the address of a server that a file names, or "".
func addressOf(key *keyservice.Key) string {
	switch k := key.KeyType.(type) {
	case *keyservice.Key_AzureKeyvaultKey:
		return k.AzureKeyvaultKey.VaultUrl
	case *keyservice.Key_VaultKey:
		return k.VaultKey.VaultAddress
	}
	return ""
}

// maxReason bounds what a key service says, in bytes.
const maxReason = 400

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "..."
	}
	return text
}
