package decrypt

import (
	"errors"
	"fmt"

	"hallmark.dev/hallmark/internal/diag"
)

// Permit is what the platform team's policy says of decryption. A nil Permit
// allows everything.
type Permit struct {
	// By names what decides, for messages: `rule "payments" (policy.yaml:12)`.
	// It is empty where there is no policy.
	By string
	// Decrypt says that files may be decrypted at all.
	Decrypt bool
	// Key says whether keys of a kind may be used; kinds have the names that they
	// have in the metadata of sops: age, pgp, kms, gcp_kms, azure_kv, hc_vault,
	// hckms. Nil allows all.
	Key func(kind string) bool
	// Endpoint says whether a server may be asked whose address stands in a file.
	// Nil allows all.
	Endpoint func(address string) bool
}

// ErrForbidden is inside the error of a file that may not be decrypted.
var ErrForbidden = errors.New("decryption is not allowed")

func (p *Permit) check(name string) error {
	if p == nil || p.Decrypt {
		return nil
	}
	msg, hint := "the file is encrypted with SOPS and may not be decrypted: no policy allows it",
		"the platform team allows it with `decryption` in a rule of the policy (/etc/hallmark/policy.yaml)"
	if p.By != "" {
		msg = fmt.Sprintf("the file is encrypted with SOPS and may not be decrypted: %s does not allow it", p.By)
		hint = "the platform team allows it with `decryption` in that rule, or in a rule before it; `hallmark policy explain` shows which rule wins"
	}
	return diag.WithHint(&caused{&diag.Error{File: name, Msg: msg}, []error{ErrForbidden}}, hint)
}

func (p *Permit) key(kind string) bool {
	return p == nil || p.Key == nil || p.Key(kind)
}

func (p *Permit) endpoint(address string) bool {
	return p == nil || p.Endpoint == nil || p.Endpoint(address)
}
