package stamp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
)

// Options are what a hash depends on besides the objects. [Verify] needs the
// Options that [Apply] had.
type Options struct {
	// Key is the HMAC key for the values of Secrets, or nil.
	Key Key
	// Ignore holds the fields that do not count, because a determinism check
	// in mode "warn" found that they differ from render to render. Objects
	// that have only metadata.generateName share one ID and its paths.
	Ignore map[object.ID][]Path
}

// objectHashes returns the object hash of each object, in the order given. The
// objects are hashed on as many goroutines as the process may use CPUs.
func objectHashes(objs []object.Object, opts Options) ([]string, error) {
	c, err := newCanonicalizer(opts)
	if err != nil {
		return nil, err
	}
	hashes, faults := make([]string, len(objs)), make([]error, len(objs))
	object.Spread(len(objs), func() func(int) {
		c := c.fork()
		return func(i int) {
			hashes[i], faults[i] = c.hash(objs[i])
		}
	})
	var list diag.List
	for i, err := range faults {
		if err != nil {
			list.Addf(objs[i].Origin, objs[i].Line, 0, "%s: %v", objs[i].ID(), err)
		}
	}
	if err := list.Err(); err != nil {
		return nil, err
	}
	return hashes, nil
}

// setHash returns the render hash of objects with these object hashes.
func setHash(objs []object.Object, hashes []string) string {
	type member struct {
		id   object.ID
		hash string
	}
	members := make([]member, len(objs))
	for i, o := range objs {
		members[i] = member{o.ID(), hashes[i]}
	}
	slices.SortFunc(members, func(a, b member) int {
		return cmp.Or(a.id.Compare(b.id), strings.Compare(a.hash, b.hash))
	})
	var text strings.Builder
	for _, m := range members {
		text.WriteString(m.hash)
		text.WriteByte('\n')
	}
	return digest([]byte(text.String()))
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// isDigest reports whether s has the form that digest returns.
func isDigest(s string) bool {
	digits, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(digits) == hex.EncodedLen(sha256.Size) &&
		strings.Trim(digits, "0123456789abcdef") == ""
}

// hashMemo is the key of a hash that depends on the object alone.
type hashMemo struct{}

// hash returns the object hash. That of an object with a Memo is kept there,
// unless it depends on something else: the key, or fields to ignore.
func (c *canonicalizer) hash(o object.Object) (string, error) {
	alone := !o.IsSecret() && c.ignore[o.ID()] == nil
	if known, ok := o.Memo.Get(hashMemo{}); ok && alone {
		return known.(string), nil
	}
	text, err := c.canonical(o)
	if err != nil {
		return "", err
	}
	sum := digest(text)
	if alone {
		o.Memo.Set(hashMemo{}, sum)
	}
	return sum, nil
}
