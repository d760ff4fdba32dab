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
	// Key says whether a key may be used. Kinds have the names that they have in
	// the metadata of sops: age, pgp, kms, gcp_kms, azure_kv, hc_vault, hckms. The
	// name of a key is its public part: the recipient or the fingerprint of an
	// identity, which counts in place of what a file says of itself; an ARN; a
	// resource id; the address of the key on its server. Nil allows all.
	Key func(kind, name string) bool
	// Role says whether a role of AWS may be assumed that a file names. Nil allows
	// all.
	Role func(arn string) bool
}

// ErrForbidden is inside the error of a file that the policy keeps closed.
var ErrForbidden = errors.New("decryption is not allowed")

func (p *Permit) check(name string) error {
	if p == nil || p.Decrypt {
		return nil
	}
	msg, hint := "the file is encrypted with SOPS and may not be decrypted: no policy allows it",
		"the platform team allows it with `decryption` in a rule of its policy (--policy)"
	if p.By != "" {
		msg = fmt.Sprintf("the file is encrypted with SOPS and may not be decrypted: %s does not allow it", p.By)
		hint = "the platform team allows it with `decryption` in that rule, or in a rule before it; `hallmark policy explain` shows which rule wins"
	}
	return diag.WithHint(&caused{&diag.Error{File: name, Msg: msg}, []error{ErrForbidden}}, hint)
}

func (p *Permit) key(kind, name string) bool {
	return p == nil || p.Key == nil || p.Key(kind, name)
}

func (p *Permit) role(arn string) bool { return p == nil || p.Role == nil || p.Role(arn) }
