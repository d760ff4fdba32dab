package decrypt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"

	"filippo.io/age"
	agearmor "filippo.io/age/armor"
	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	sopsage "github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/keys"
	"github.com/getsops/sops/v3/keyservice"
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
	ctx    context.Context //nolint:containedctx // sops gives each question an empty one
	ring   *ring
	permit *Permit

	asked  int
	opened []string // the keys that opened, as messages name them
	failed []attempt
}

// attempt is a key of the file that did not open.
type attempt struct {
	key       string // as nameOf gives it
	kind      string
	forbidden string // what the policy does not allow of it
	reason    string // of a key service
}

var _ keyservice.KeyServiceClient = (*service)(nil)

// Encrypt is not for us.
func (s *service) Encrypt(context.Context, *keyservice.EncryptRequest, ...grpc.CallOption) (*keyservice.EncryptResponse, error) {
	return nil, errors.New("nothing is encrypted here")
}

// Decrypt opens a data key.
func (s *service) Decrypt(_ context.Context, req *keyservice.DecryptRequest, _ ...grpc.CallOption) (*keyservice.DecryptResponse, error) {
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	tried := nameOf(req.Key)
	var plain []byte
	var by string
	var err error
	switch {
	case len(req.Ciphertext) > maxSealedKey:
		err, tried.reason = errKey, "its encrypted data key is too long to be one"
	case tried.kind == kindAge:
		plain, by, err = s.openAge(req.Ciphertext)
	case tried.kind == kindPGP:
		plain, by, err = s.openPGP(req.Ciphertext)
	default:
		plain, err = s.openCloud(req, &tried)
		by = tried.key
	}
	if err != nil && s.ring.programs && tried.reason == "" && (tried.kind == kindAge || tried.kind == kindPGP) {
		plain, err = byPrograms(s.ctx, req)
		by = tried.key
	}
	if err != nil {
		s.failed = append(s.failed, tried)
		return nil, errKey
	}
	s.opened = append(s.opened, by)
	return &keyservice.DecryptResponse{Plaintext: plain}, nil
}

var errKey = errors.New("the key does not open the file")

// allowed are the identities of a kind that may be used. What the file says of its
// recipients does not count: it could name one and be encrypted for another.
func (s *service) allowed(kind string) []identity {
	return slices.DeleteFunc(slices.Clone(s.ring.identities), func(id identity) bool {
		return id.kind != kind || !s.permit.key(kind, id.name)
	})
}

// The most that a data key has, in bytes: opened, 32 or one more for a share of it;
// encrypted, for a PGP message to many keys. Each of those takes time.
const (
	maxDataKey   = 1 << 10
	maxSealedKey = 64 << 10
)

func (s *service) openAge(encrypted []byte) (plain []byte, by string, err error) {
	for _, id := range s.allowed(kindAge) {
		r, err := age.Decrypt(agearmor.NewReader(bytes.NewReader(encrypted)), id.age)
		if err != nil {
			continue
		}
		plain, err := io.ReadAll(io.LimitReader(r, maxDataKey))
		if err == nil {
			return plain, id.String(), nil
		}
	}
	return nil, "", errKey
}

func (s *service) openPGP(encrypted []byte) (plain []byte, by string, err error) {
	for _, id := range s.allowed(kindPGP) {
		block, err := armor.Decode(bytes.NewReader(encrypted))
		if err != nil {
			return nil, "", err
		}
		message, err := openpgp.ReadMessage(block.Body, openpgp.EntityList{id.pgp}, nil, nil)
		if err != nil || !message.IsEncrypted {
			continue
		}
		// At its end it checks that the message is whole.
		plain, err := io.ReadAll(io.LimitReader(message.UnverifiedBody, maxDataKey))
		if err == nil {
			return plain, id.String(), nil
		}
	}
	return nil, "", errKey
}

// openCloud asks a key service, if the policy lets it and the name is one of a key.
func (s *service) openCloud(req *keyservice.DecryptRequest, tried *attempt) ([]byte, error) {
	kind, name, sound := cloudKey(req.Key)
	if !s.permit.key(kind, name) {
		tried.forbidden = "the key"
		return nil, errKey
	}
	if aws := req.Key.GetKmsKey(); aws != nil {
		// A role or a profile in a file chooses the credentials.
		switch {
		case aws.Role != "" && !s.permit.role(aws.Role):
			tried.forbidden = "the role " + shown(aws.Role)
			return nil, errKey
		case aws.AwsProfile != "" && s.permit != nil && s.permit.Role != nil:
			tried.forbidden = "a profile"
			return nil, errKey
		}
	}
	switch {
	case !sound:
		tried.reason = "that is no name of a key"
		return nil, errKey
	case s.asked >= maxAsked:
		tried.reason = "not asked: the file names too many keys"
		return nil, errKey
	}
	s.asked++
	plain, err := ask(s.ctx, req)
	if err != nil {
		tried.reason = oneLine(err.Error(), maxReason)
	}
	return plain, err
}

// byPrograms does what sops does on a laptop: it starts gpg, which has an agent, and
// age plugins, and asks for passphrases.
func byPrograms(ctx context.Context, req *keyservice.DecryptRequest) ([]byte, error) {
	if pgp := req.Key.GetPgpKey(); pgp != nil {
		key := sopspgp.NewMasterKeyFromFingerprint(pgp.Fingerprint)
		key.EncryptedKey = string(req.Ciphertext)
		// Its own reading of key rings would ask on standard output.
		sopspgp.DisableOpenPGP{}.ApplyToMasterKey(key)
		return key.DecryptContext(ctx)
	}
	key := sopsage.MasterKey{Recipient: req.Key.GetAgeKey().GetRecipient(), EncryptedKey: string(req.Ciphertext)}
	return key.Decrypt()
}

// nameOf names a key of a file by its public part.
func nameOf(key *keyservice.Key) attempt {
	switch k := key.KeyType.(type) {
	case *keyservice.Key_AgeKey:
		return attempt{kind: kindAge, key: shown(recipientName(k.AgeKey.Recipient))}
	case *keyservice.Key_PgpKey:
		return attempt{kind: kindPGP, key: "pgp " + shown(k.PgpKey.Fingerprint)}
	}
	kind, name, _ := cloudKey(key)
	return attempt{kind: kind, key: kind + " " + shown(name)}
}

// nameOfMaster is nameOf for a key in the metadata.
func nameOfMaster(key keys.MasterKey) string {
	k := keyservice.KeyFromMasterKey(key)
	return nameOf(&k).key
}

// The most that a message shows of what a key service says, and of a name that
// stands in a file, in bytes.
const (
	maxReason = 400
	maxName   = 200
)

// shown is a name out of a file, for a message: one line, not too long.
func shown(name string) string { return oneLine(name, maxName) }

func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(text[:min(len(text), 4*most)]), " ")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
