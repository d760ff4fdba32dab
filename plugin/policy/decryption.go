package policy

import (
	"errors"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/fields"
)

// KeyKinds returns the kinds of keys that a rule may list, by sops' names.
func KeyKinds() []string {
	return []string{"age", "pgp", "kms", "gcp_kms", "azure_kv", "hc_vault", "hckms"}
}

// addressForm is how keys of a kind are named whose name begins with an address,
// and "" for the other kinds. The address stands in the repository, and is sent the
// sidecar's token.
func addressForm(kind string) string {
	switch kind {
	case "azure_kv":
		return "<vault URL>/keys/<name>"
	case "hc_vault":
		return "<address>/v1/<engine>/keys/<name>"
	}
	return ""
}

// Decryption says what may be decrypted, and with what.
type Decryption struct {
	// Any allows every key and every role. Only Caller's has it.
	Any bool
	// Keys are the keys that may be used otherwise.
	Keys []KeyRule
	// Roles are globs for the AWS roles that a file may ask to assume.
	Roles []string
	// OutsideSecrets is Deny, Warn or Allow: what becomes of a decrypted value in
	// an object that is no Secret.
	OutsideSecrets string
}

// A KeyRule allows keys of one kind.
type KeyRule struct {
	Kind string // see KeyKinds
	// Names are globs, of which one has to match the name of the key; nil allows
	// every key of the kind.
	Names []string
}

// AllowsKind reports whether any key of a kind may be used. A nil d allows none.
func (d *Decryption) AllowsKind(kind string) bool {
	return d != nil && (d.Any || slices.ContainsFunc(d.Keys, func(k KeyRule) bool { return k.Kind == kind }))
}

// AllowsKey reports whether a key may be used, by its public name:
//
//	age       age1..., or as ssh-keygen prints it: ssh-ed25519 SHA256:...
//	pgp       the fingerprint of the primary key, in hexadecimal
//	kms       the ARN
//	gcp_kms   projects/P/locations/L/keyRings/R/cryptoKeys/K
//	azure_kv  <vault URL>/keys/<name>
//	hc_vault  <address>/v1/<engine>/keys/<name>
//	hckms     <region>:<uuid>
//
// The name is to be that of the key that opens the file, and not what the file says
// of it, where these can differ. A nil d allows none.
func (d *Decryption) AllowsKey(kind, name string) bool {
	if d == nil {
		return false
	}
	return d.Any || slices.ContainsFunc(d.Keys, func(k KeyRule) bool { return k.Kind == kind && k.allows(name) })
}

// AllowsRole reports whether a file may ask to assume an AWS role. A nil d allows
// none.
func (d *Decryption) AllowsRole(arn string) bool {
	if d == nil {
		return false
	}
	return d.Any || matchesOne(d.Roles, compilePath, []string{arn}, checkARN(arn))
}

func (k KeyRule) allows(name string) bool {
	value, doubt := normalKey(k.Kind, name)
	if k.Names == nil {
		return doubt == nil
	}
	return matchesOne(k.Names, keyCompiler(k.Kind), value, doubt)
}

// matchesOne compiles the globs anew: there are a few, and a Decryption is plain
// data. Unlike a subject of a rule, a value that is in doubt matches no glob.
func matchesOne(globs []string, compile compiler, value []string, doubt error) bool {
	return doubt == nil && slices.ContainsFunc(globs, func(text string) bool {
		p, err := compile(text)
		return err == nil && p.matches(value, nil)
	})
}

// keyCompiler returns what compiles globs for the names of keys of a kind.
func keyCompiler(kind string) compiler {
	switch kind {
	case "azure_kv", "hc_vault":
		return func(text string) (pattern, error) { return compileKeyAddress(text, addressForm(kind)) }
	case "age":
		return func(text string) (pattern, error) {
			switch {
			case strings.Contains(strings.ToUpper(text), "AGE-SECRET-KEY-"):
				return pattern{}, errors.New("this is a private key, which everybody who reads the policy now has; want its public part, which begins with age1")
			case strings.Contains(text, "AGE1"):
				return pattern{}, errors.New("the glob is in upper case, and names of age keys are in lower case")
			}
			return compileName(text)
		}
	case "gcp_kms":
		return compilePath
	case "pgp":
		return func(text string) (pattern, error) {
			return compilePattern(text, 0, func(s string) ([]string, error) { return []string{lower(s)}, nil })
		}
	}
	return compileName
}

// compilePath is the compiler for names in which * stops at a slash.
func compilePath(text string) (pattern, error) {
	return compilePattern(text, '/', func(s string) ([]string, error) { return []string{s}, nil })
}

// normalKey returns the form of a name in which it is compared, or why there is
// none.
func normalKey(kind, name string) ([]string, error) {
	switch kind {
	case "azure_kv", "hc_vault":
		p, err := keyAddress.normal(name)
		return p.list(), err
	case "kms":
		return []string{name}, checkARN(name)
	case "pgp":
		return []string{lower(name)}, nil
	}
	return []string{name}, nil
}

// checkARN refuses an ARN that programs may cut in several ways: for sops all up to
// the last account is the region, and so a part of the host that is asked.
func checkARN(arn string) error {
	fields := strings.Split(arn, ":")
	if len(fields) != 6 || fields[0] != "arn" {
		return errors.New("it is not arn:<partition>:<service>:<region>:<account>:<resource>")
	}
	for _, field := range fields[1:5] {
		if strings.Trim(field, letters+digits+"-") != "" {
			return errors.New("its first fields are not letters, digits and hyphens")
		}
	}
	return nil
}

// decryption reads what a rule says of it.
func (r reader) decryption(f fields.Field) *Decryption {
	fields := f.Mapping("keys", "roles", "outsideSecrets")
	if fields == nil {
		return nil
	}
	d := &Decryption{OutsideSecrets: Deny}
	before := len(r.Faults)
	if keys, found := fields["keys"]; !found {
		f.Faultf("keys: missing, want a list of the keys that may be used")
	} else if d.Keys = r.keyRules(keys); len(d.Keys) == 0 && len(r.Faults) == before {
		keys.Faultf("the list is empty; leave decryption out where nothing may be decrypted")
	}
	known := len(r.Faults) == before
	if roles, found := fields["roles"]; found {
		for _, p := range patterns(roles, compilePath) {
			d.Roles = append(d.Roles, p.text)
		}
		if known && !d.AllowsKind("kms") {
			roles.Faultf("only keys of the kind kms ask for a role, and it is not among the keys")
		}
	}
	if outside, found := fields["outsideSecrets"]; found {
		d.OutsideSecrets = outside.OneOf(Deny, Warn, Allow)
	}
	return d
}

func (r reader) keyRules(f fields.Field) (rules []KeyRule) {
	for _, item := range f.List() {
		next, ok := r.keyRule(item)
		switch {
		case !ok:
		case slices.ContainsFunc(rules, func(k KeyRule) bool { return k.Kind == next.Kind }):
			item.Faultf("%q is there twice; name its keys in one list", next.Kind)
		default:
			rules = append(rules, next)
		}
	}
	return rules
}

// keyRule reads a kind, or a mapping of one kind to globs.
func (r reader) keyRule(item fields.Field) (k KeyRule, ok bool) {
	switch value := item.Value().(type) {
	case string:
		if !slices.Contains(KeyKinds(), value) {
			item.Faultf("unknown kind of keys %q, want one of %s", value, strings.Join(KeyKinds(), ", "))
			return k, false
		}
		if form := addressForm(value); form != "" {
			item.Faultf("%q needs a glob for the keys that may be used, which are named %s", value, form)
			item.Remedy("the address of such a key stands in the repository, and the sidecar's token is sent there: write `" + value + ": https://...` with an address that is yours")
			return k, false
		}
		return KeyRule{Kind: value}, true
	case map[string]any:
	default:
		item.Faultf("got %s, want a kind of keys, or a kind with globs for their names", fields.KindOf(value))
		return k, false
	}
	before := len(r.Faults)
	fields := item.Mapping(KeyKinds()...)
	if len(fields) != 1 && len(r.Faults) == before {
		item.Faultf("got %d kinds of keys, want one in each item of the list", len(fields))
	}
	for kind, globs := range fields {
		k = KeyRule{Kind: kind, Names: []string{}}
		for _, p := range patterns(globs, keyCompiler(kind)) {
			k.Names = append(k.Names, p.text)
		}
	}
	return k, len(r.Faults) == before
}
