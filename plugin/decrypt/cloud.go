package decrypt

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/getsops/sops/v3/azkv"
	"github.com/getsops/sops/v3/gcpkms"
	"github.com/getsops/sops/v3/hckms"
	"github.com/getsops/sops/v3/hcvault"
	"github.com/getsops/sops/v3/keyservice"
	"github.com/getsops/sops/v3/kms"
)

// The keys of clouds stand in a file of the repository, which so decides what the
// sidecar asks for with its credentials. So a name has to be one of a key, and of
// nothing else that the same server has; a policy can say which.

const (
	// cloudTimeout bounds one question: sops itself waits for as long as the
	// library of the service does, which can be minutes.
	cloudTimeout = 10 * time.Second
	// maxAsked bounds the questions for one file.
	maxAsked = 16
)

// The forms of names. Where a library puts a name into the path of a request, the
// form keeps it one element of that path.
var (
	awsKey    = regexp.MustCompile(`^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]*:(key|alias)/[A-Za-z0-9/_-]+$`)
	gcpKey    = regexp.MustCompile(`^projects/[\w.:-]+/locations/[\w-]+/keyRings/[\w-]+/cryptoKeys/[\w-]+$`)
	azureKey  = regexp.MustCompile(`^https?://[\w.:-]+/keys/[A-Za-z0-9-]+$`)
	vaultKey  = regexp.MustCompile(`^https?://[\w.:\[\]-]+(/[\w-][\w.-]*)*/v1(/[\w-][\w.-]*)+/keys/[\w-][\w.-]*$`)
	huaweiKey = regexp.MustCompile(`^[a-z0-9-]+:[A-Za-z0-9-]+$`)
)

// cloudKey is the key that a file names: its kind, its name, and whether the name
// has the form of one.
func cloudKey(key *keyservice.Key) (kind, name string, sound bool) {
	switch k := key.KeyType.(type) {
	case *keyservice.Key_KmsKey:
		return kms.KeyTypeIdentifier, k.KmsKey.Arn, awsKey.MatchString(k.KmsKey.Arn)
	case *keyservice.Key_GcpKmsKey:
		return gcpkms.KeyTypeIdentifier, k.GcpKmsKey.ResourceId, gcpKey.MatchString(k.GcpKmsKey.ResourceId)
	case *keyservice.Key_AzureKeyvaultKey:
		name = fmt.Sprintf("%s/keys/%s", strings.TrimSuffix(k.AzureKeyvaultKey.VaultUrl, "/"), k.AzureKeyvaultKey.Name)
		return azkv.KeyTypeIdentifier, name, azureKey.MatchString(name) && !strings.ContainsAny(k.AzureKeyvaultKey.Version, "/.?#%")
	case *keyservice.Key_VaultKey:
		name = fmt.Sprintf("%s/v1/%s/keys/%s", strings.TrimSuffix(k.VaultKey.VaultAddress, "/"), strings.Trim(k.VaultKey.EnginePath, "/"), k.VaultKey.KeyName)
		return hcvault.KeyTypeIdentifier, name, vaultKey.MatchString(name) && !strings.Contains(k.VaultKey.KeyName, "/")
	case *keyservice.Key_HckmsKey:
		return hckms.KeyTypeIdentifier, k.HckmsKey.KeyId, huaweiKey.MatchString(k.HckmsKey.KeyId)
	}
	return "unknown", "", false
}

// ask has the service of a cloud open a data key, as sops does, but for a time.
func ask(ctx context.Context, req *keyservice.DecryptRequest) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cloudTimeout, fmt.Errorf("no answer in %s", cloudTimeout))
	defer cancel()
	type opener interface {
		SetEncryptedDataKey([]byte)
		DecryptContext(context.Context) ([]byte, error)
	}
	var key opener
	switch k := req.Key.KeyType.(type) {
	case *keyservice.Key_KmsKey:
		values := map[string]*string{}
		for name, value := range k.KmsKey.Context {
			values[name] = &value
		}
		key = &kms.MasterKey{Arn: k.KmsKey.Arn, Role: k.KmsKey.Role, EncryptionContext: values, AwsProfile: k.KmsKey.AwsProfile}
	case *keyservice.Key_GcpKmsKey:
		key = &gcpkms.MasterKey{ResourceID: k.GcpKmsKey.ResourceId}
	case *keyservice.Key_AzureKeyvaultKey:
		key = &azkv.MasterKey{VaultURL: k.AzureKeyvaultKey.VaultUrl, Name: k.AzureKeyvaultKey.Name, Version: k.AzureKeyvaultKey.Version}
	case *keyservice.Key_VaultKey:
		key = &hcvault.MasterKey{VaultAddress: k.VaultKey.VaultAddress, EnginePath: k.VaultKey.EnginePath, KeyName: k.VaultKey.KeyName}
	case *keyservice.Key_HckmsKey:
		huawei, err := hckms.NewMasterKey(k.HckmsKey.KeyId)
		if err != nil {
			return nil, err
		}
		key = huawei
	default:
		return nil, errors.New("a kind of key that is not known")
	}
	key.SetEncryptedDataKey(req.Ciphertext)
	type answer struct {
		plain []byte
		err   error
	}
	// Not every library heeds the context at all times.
	done := make(chan answer, 1)
	go func() {
		var a answer
		if err := guarded(func() (err error) { a.plain, err = key.DecryptContext(ctx); return err }); err != nil {
			a.err = err
		}
		done <- a
	}()
	select {
	case a := <-done:
		if a.err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return a.plain, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
