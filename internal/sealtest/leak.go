package sealtest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Marker is a secret value whose traces a test looks for.
type Marker struct {
	// Key names it: the key under which it stands in a file.
	Key string
	// Text is what is encrypted.
	Text string
	// Parts are the pieces of Text of which nobody may see seven bytes in a row,
	// however they are written: what is not listed could be anybody's words.
	Parts []string
}

// Markers are secrets of the shapes that people have.
func Markers() []Marker {
	long := strings.Repeat("Lg7%vQz0-uKx9_bRw3~", 17)[:300]
	pem := []string{"MIIEpQIBAAKCAQEAx9Yw2bQvTz0uKq7RjLm5cX1hPa8sNd", "f3oGzE6iWtVr4kBnUyJxQ+D9/HlCwM2pTgSeA7ZbFqIvOjXk", "Rc8LhQ0=="}
	return []Marker{
		{"word", "qzv7kxwjhp", []string{"qzv7kxwjhp"}},
		{"quotes", `Wx"q8'zK` + "`" + `v4$HJ}}m2`, []string{`Wx"q8'zK` + "`" + `v4$HJ}}m2`}},
		{"lines", "Fj3kqv9zXw\n  uB6nd8hYtC\n\tgR2ys5mLpe\n", []string{"Fj3kqv9zXw", "uB6nd8hYtC", "gR2ys5mLpe"}},
		{"spaces", "kD4wz  qJ8xv   bN1hy fT6", []string{"kD4wz  qJ8xv   bN1hy fT6", "kD4wz qJ8xv bN1hy fT6"}},
		{"unicode", "pÄ7ßż漢字🔑öÿQ2", []string{"pÄ7ßż漢字🔑öÿQ2"}},
		{"markup", "<Vh5>&x9Kj<y3>&amp", []string{"<Vh5>&x9Kj<y3>&amp"}},
		{"long", long, []string{long}},
		{"number", "4711081523", []string{"4711081523", "4.711081523e+09", "4,711,081,523"}},
		{"float", "8315.20746193", []string{"8315.20746193", "8.31520746193e+03"}},
		{"base64", base64.StdEncoding.EncodeToString([]byte("nW5rJ2xqVz8tkG")), []string{"nW5rJ2xqVz8tkG"}},
		{"json", `{"db": {"user": "Hq4vzw8Kx1", "password": "zT9&jx\"5Wmf/c"}, "pin": 90417265}`, []string{"Hq4vzw8Kx1", `zT9&jx"5Wmf/c`, "90417265", "9.0417265e+07"}},
		{"pem", "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Join(pem, "\n") + "\n-----END RSA PRIVATE KEY-----\n", pem},
		{"url", "postgres://shop:Yb3%2Fkx9q%21Zw@db.example.com:5432/shop", []string{"Yb3%2Fkx9q%21Zw", "Yb3/kx9q!Zw"}},
		{"binary", "\x00\xffGz6wq\x01Xv8kj\xfe\x80Rn4", []string{"Gz6wq\x01Xv8kj"}},
	}
}

// A Finder finds traces of markers in text.
type Finder struct {
	// traces has, in lower case where case does not count, each piece of a form
	// that is long enough to tell something, with what it is a piece of.
	traces map[string]string
	sizes  map[int]bool
}

// The sizes from which on a piece counts: seven bytes, in the form they have.
const (
	sizeText   = 7
	sizeBase64 = 10
	sizeHex    = 14
)

// NewFinder finds the parts of markers, and other secrets.
func NewFinder(markers []Marker, others ...string) *Finder {
	f := &Finder{traces: map[string]string{}, sizes: map[int]bool{}}
	for _, m := range markers {
		for _, part := range m.Parts {
			f.add(m.Key, part)
		}
	}
	for _, other := range others {
		f.add("another", other)
	}
	return f
}

func (f *Finder) add(name, part string) {
	for _, form := range written(part) {
		f.pieces(lower(form), sizeText, name)
	}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := e.EncodeToString([]byte("\x00\x00"[:before] + part))
			// Without the first and last characters, which depend on what is beside it.
			f.pieces(text[(before*8+5)/6:(before+len(part))*8/6], sizeBase64, name+" in base64")
		}
	}
	f.pieces(hex.EncodeToString([]byte(part)), sizeHex, name+" in hexadecimal")
	for i := range max(0, len(part)-sizeText+1) {
		list := fmt.Sprint([]byte(part[i : i+sizeText]))
		f.trace(list[1:len(list)-1], name+" as bytes")
	}
}

// written returns the ways to write s between quotes and in a URL.
func written(s string) []string {
	quoted := strconv.Quote(s)
	escaped, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return []string{
		s, strings.ToLower(s), strings.ToUpper(s), quoted, strconv.QuoteToASCII(s), strconv.Quote(quoted), string(escaped), strings.ReplaceAll(s, "'", "''"),
		url.QueryEscape(s), url.PathEscape(s), url.UserPassword("", s).String(),
	}
}

// lower is strings.ToLower for ASCII only: a cut character stays what it is.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func (f *Finder) pieces(form string, size int, name string) {
	for i := range max(0, len(form)-size+1) {
		f.trace(form[i:i+size], name)
	}
}

func (f *Finder) trace(piece, name string) {
	f.traces[piece], f.sizes[len(piece)] = name, true
}

// Find returns which marker stands in text and the piece of it that was found
// first, or "".
func (f *Finder) Find(text string) string {
	for size := range f.sizes {
		for _, t := range []string{text, lower(text)} {
			for i := range max(0, len(t)-size+1) {
				if name, found := f.traces[t[i:i+size]]; found {
					return fmt.Sprintf("%s, as %q in %q", name, t[i:i+size], t[max(0, i-40):min(len(t), i+size+40)])
				}
			}
		}
	}
	return ""
}
