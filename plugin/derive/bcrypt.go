package derive

import (
	"encoding/base64"
	"fmt"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/blowfish" //nolint:staticcheck // bcrypt is made of it
)

// bcryptAlphabet is the order of characters in bcrypt's base64, which is its own.
const bcryptAlphabet = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// bcryptHash returns the bcrypt hash of a password in the form that
// golang.org/x/crypto/bcrypt prints, "$2a$10$...". It stands here because that
// package takes the salt from the system's randomness; comparing stays with it.
//
// A salt need not be secret. It has to differ between passwords so that one guess
// is not tried on all of them at once: callers derive it from the identity of the
// field, which is another one in each application and object.
func bcryptHash(password []byte, cost int, salt [16]byte) (string, error) {
	const longest = 72 // bytes of a password that the algorithm takes in
	if len(password) > longest {
		return "", bcrypt.ErrPasswordTooLong
	}
	if cost < bcrypt.MinCost || cost > bcrypt.MaxCost {
		return "", bcrypt.InvalidCostError(cost)
	}
	// The NUL at the end belongs to the key, as in C.
	key := append(append(make([]byte, 0, len(password)+1), password...), 0)
	cipher, err := blowfish.NewSaltedCipher(key, salt[:])
	if err != nil {
		return "", fmt.Errorf("bcrypt: %w", err)
	}
	for range uint64(1) << cost {
		blowfish.ExpandKey(key, cipher)
		blowfish.ExpandKey(salt[:], cipher)
	}
	const rounds = 64
	text := []byte("OrpheanBeholderScryDoubt")
	for at := 0; at < len(text); at += blowfish.BlockSize {
		block := text[at : at+blowfish.BlockSize]
		for range rounds {
			cipher.Encrypt(block, block)
		}
	}
	encoding := base64.NewEncoding(bcryptAlphabet).WithPadding(base64.NoPadding)
	// The last of the 24 bytes is left out, in every implementation.
	return fmt.Sprintf("$2a$%02d$%s%s", cost, encoding.EncodeToString(salt[:]), encoding.EncodeToString(text[:len(text)-1])), nil
}
