package stamp

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"

	"hallmark.dev/hallmark/internal/object"
)

// minKeyLength is the output length of HMAC-SHA-256 halved: below that, guessing
// the key is easier than any other attack (RFC 2104, section 3, advises against
// keys shorter than the output; 16 bytes are what common tools generate).
const minKeyLength = 16

// The first element of an HMAC's input. A key that the operator also uses for
// something else must not give the same HMAC there.
const (
	domainEntry     = "hallmark.dev/stamp/v1/secret"
	domainParameter = "hallmark.dev/stamp/v1/parameter"
)

// Key is the operator's HMAC key for values that must not enter a hash as they
// are: a plain hash over a password of eight letters is as good as the password.
// nil means that there is no key, and the values do not count. A key that is not
// nil has at least 16 bytes; an empty file must not silently mean "no key".
type Key []byte

// Format keeps the key out of any message, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "(key)")
}

func (k Key) check() error {
	if k != nil && len(k) < minKeyLength {
		return fmt.Errorf("the key for secret values has %d bytes, want at least %d", len(k), minKeyLength)
	}
	return nil
}

// conceal returns what stands for a secret value in a canonical form: null
// without a key, else the HMAC over domain, place and the value.
func (k Key) conceal(domain string, place []any, value any) (any, error) {
	if k == nil {
		return nil, nil
	}
	message := make([]any, 0, len(place)+2)
	message = append(message, domain)
	message = append(message, place...)
	message = append(message, value)
	var buf bytes.Buffer
	text, err := appendCanonical(&buf, message)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, k)
	mac.Write(text)
	return "hmac-sha256:" + hex.EncodeToString(mac.Sum(nil)), nil
}

// withoutSecretValues returns a Secret without the values of data and
// stringData.
func withoutSecretValues(secret map[string]any, id object.ID, key Key) (map[string]any, error) {
	secret = maps.Clone(secret)
	for _, field := range []string{"data", "stringData"} {
		value, ok := secret[field]
		if !ok {
			continue
		}
		// A Secret of the wrong shape is the API server's to refuse, but its
		// text is no less secret for that.
		entries, isMap := value.(map[string]any)
		if !isMap {
			concealed, err := key.conceal(domainEntry, []any{id.Namespace, id.Name, field, nil}, value)
			if err != nil {
				return nil, fmt.Errorf("%s: the value has no JSON form", field)
			}
			secret[field] = concealed
			continue
		}
		out := make(map[string]any, len(entries))
		for _, entry := range slices.Sorted(maps.Keys(entries)) {
			concealed, err := key.conceal(domainEntry, []any{id.Namespace, id.Name, field, entry}, entries[entry])
			if err != nil {
				return nil, fmt.Errorf("%s: the value of %q has no JSON form", field, entry)
			}
			out[entry] = concealed
		}
		secret[field] = out
	}
	return secret, nil
}
