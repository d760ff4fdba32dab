package derive

import (
	"crypto/sha1" //nolint:gosec // what the chart calls
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"hash/adler32"
	"io"
	"strconv"
)

// bcryptCost is that of sprig's functions.
const bcryptCost = 10

var errHash = errors.New("the password is longer than the 72 bytes that bcrypt takes")

// compute returns what a function gives for an input, as sprig's does. What it does at
// random is decided by r, which is nil for functions that do nothing at random.
func compute(function, input string, r io.Reader) (string, error) {
	if digest, ok := Digest(function, input); ok {
		return digest, nil
	}
	switch function {
	case "bcrypt":
		hash, err := bcryptHash([]byte(input), bcryptCost, [16]byte(read(r, 16)))
		if err != nil {
			return "", errHash
		}
		return hash, nil
	case "shuffle":
		return shuffle(input, r), nil
	}
	return "", errors.New("not a function whose results are derived")
}

// Digest returns what sprig's digest function of that name, without "sum", gives for an
// input. It is false for functions that are random themselves.
func Digest(function, input string) (digest string, ok bool) {
	data := []byte(input)
	switch function {
	case "sha1":
		sum := sha1.Sum(data) //nolint:gosec // what the chart calls
		return hex.EncodeToString(sum[:]), true
	case "sha256":
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:]), true
	case "sha512":
		sum := sha512.Sum512(data)
		return hex.EncodeToString(sum[:]), true
	case "adler32":
		return strconv.FormatUint(uint64(adler32.Checksum(data)), 10), true
	}
	return "", false
}

// shuffle puts the characters of a text into one of their orders, all with the same
// chance (Fisher and Yates).
func shuffle(s string, r io.Reader) string {
	out := []rune(s)
	for i := len(out) - 1; i > 0; i-- {
		j := below(r, uint64(i)+1)
		out[i], out[j] = out[j], out[i]
	}
	return string(out)
}
