package derive

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// The alphabets of sprig's functions (CryptoRandom of Masterminds/goutils).
const (
	digits   = "0123456789"
	alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	alphaNum = digits + alphabet
	// printable is ASCII from 32 to 126, the blank with it.
	printable = " !\"#$%&'()*+,-./" + digits + ":;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"
)

// tokenKind is a function whose results are derived.
type tokenKind struct {
	function string
	letters  string // what the value consists of, "" if it is not just letters
	secret   bool   // whether a value must not be seen
}

var tokenKinds = map[byte]tokenKind{
	'a': {"randAlphaNum", alphaNum, true},
	'l': {"randAlpha", alphabet, true},
	'd': {"randNumeric", digits, true},
	'p': {"randAscii", printable, true},
	'b': {"randBytes", "", true},
	'u': {"uuidv4", "", false},
	'i': {"randInt", "", false},
}

// longestToken bounds a value, in letters or bytes.
const longestToken = 1 << 16

var errTooLong = fmt.Errorf("a random value of more than %d letters is not derived", longestToken)

// value makes the value of a token of a stream: each value that the function could give
// is as likely as the others, as it is with the function.
func (p *piece) value(r io.Reader) (string, error) {
	if p.function == 'i' {
		return integer(r, p.size)
	}
	n, err := strconv.Atoi(p.size)
	if err != nil || n > longestToken {
		return "", errTooLong
	}
	switch p.function {
	case 'b':
		return base64.StdEncoding.EncodeToString(read(r, n)), nil
	case 'u':
		b := read(r, 16)
		b[6] = b[6]&0x0f | 0x40 // version 4
		b[8] = b[8]&0x3f | 0x80 // variant of RFC 9562
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
	}
	from := tokenKinds[p.function].letters
	out := make([]byte, n)
	for i := range out {
		out[i] = from[below(r, uint64(len(from)))]
	}
	return string(out), nil
}

// as returns a value in the case that the template gave it.
func (l letters) as(value string) string {
	switch l {
	case lowerCase:
		return strings.ToLower(value)
	case upperCase:
		return strings.ToUpper(value)
	}
	return value
}

// integer makes a number of [min, max), the range being "<min>to<max>".
func integer(r io.Reader, span string) (string, error) {
	low, high, _ := strings.Cut(span, "to")
	least, errLeast := strconv.ParseInt(low, 10, 64)
	most, errMost := strconv.ParseInt(high, 10, 64)
	if errLeast != nil || errMost != nil || least >= most {
		return "", errors.New("randInt has no range to derive a number of")
	}
	// The difference can be more than an int64 holds; it wraps round and back.
	offset := below(r, uint64(most)-uint64(least))                 //nolint:gosec // wanted
	return strconv.FormatInt(int64(uint64(least)+offset), 10), nil //nolint:gosec // wanted
}

// below returns a number in [0, n), all with the same chance: numbers of the stream
// behind the last multiple of n are left out.
func below(r io.Reader, n uint64) uint64 {
	excess := -n % n // 2^64 mod n
	for {
		v := binary.BigEndian.Uint64(read(r, 8))
		if v <= math.MaxUint64-excess {
			return v % n
		}
	}
}

// read returns the next n bytes of a stream, which has no end and no errors.
func read(r io.Reader, n int) []byte {
	out := make([]byte, n)
	if _, err := io.ReadFull(r, out); err != nil {
		panic(err)
	}
	return out
}
