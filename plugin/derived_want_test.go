package plugin

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/ssh"
	"sigs.k8s.io/yaml"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/derive"
)

// derivedWant is the file want.yaml of an archive in testdata/derived: what comes of the
// chart with determinism=derive, with either Helm.
//
//	params:   [helm-parameters[password]=given]  # of the application, beside determinism
//	slow:     true           # takes seconds: rendered in fewer of the tests
//	prefix:   prod-          # what a kustomization puts in front of the chart's names
//	moved:                   # where a kustomization has put the values of other fields
//	  ConfigMap/web/data/url: Secret/web/data/url
//	derived:                 # all fields with a derived value, and what it is made of
//	  Secret/web/data/password: randAlphaNum
//	  ConfigMap/web/data/url: randAlphaNum, of Secret/web/data/password
//	refused:                 # in place of derived: all that the render is refused for
//	- field: ConfigMap/web-[a-z]{5}/metadata/name
//	  reason: a name is an identity
//	values:                  # what a value looks like as a whole
//	  Secret/web/data/password | base64: '[A-Za-z0-9]{16}'
//	same:                    # lists of equal values
//	- [Secret/web/data/password | base64, 'ConfigMap/web/data/url | find web:(.*)@']
//	differ:                  # lists of values no two of which are equal
//	- [Secret/web/data/password, Secret/web/data/other]
//	verifies:                # each checks those of its parts that are there
//	- {hash: ..., user: admin, password: ...}                   # bcrypt or htpasswd
//	- {certificate: ..., key: ..., authority: ..., name: ..., host: ...}
//	- {key: ..., kind: ssh-ed25519}                             # as SSH calls it
//	instead:                 # see below
//	  randAlphaNum 16: ${Secret/web/data/password | base64 | quote}
//
// A field is the name that derive.Name gives it, with indexes of lists. What it is made of
// is the reason of the evidence and, where that is not the field itself alone, the names of
// the fields in which the random values live. Of what is refused both parts are regular
// expressions; a refusal that is about no object has the template for its field.
//
// A value is a field and what is done with it, step by step behind bars:
//
//	base64        decoded
//	find REGEXP   the first group of the first match, or all of the match
//	json POINTER, yaml POINTER  a part of it
//	sha256        the digits of the hash
//	lower         in lower case
//	number        must be one in YAML; its digits
//	quote         as a string of a template
//
// With "=" in front it is a text, in which ${VALUE} stands for a value.
//
// Instead is the proof that a derived render is one that the chart could have printed: in
// the templates each of the texts, which have to occur, is replaced by the other one; what
// that renders with determinism=enforce must be the same, object by object. It does for all
// fields what same does for some. Where it is left out, what is not derived is compared with
// a render that leaves out what differs.
type derivedWant struct {
	Params   []string          `json:"params"`
	Slow     bool              `json:"slow"`
	Prefix   string            `json:"prefix"`
	Moved    map[string]string `json:"moved"`
	Derived  map[string]string `json:"derived"`
	Refused  []refusedWant     `json:"refused"`
	Values   map[string]string `json:"values"`
	Same     [][]string        `json:"same"`
	Differ   [][]string        `json:"differ"`
	Verifies []verifiesWant    `json:"verifies"`
	Instead  map[string]string `json:"instead"`
}

type refusedWant struct {
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

type verifiesWant struct {
	Hash        string `json:"hash"`
	User        string `json:"user"`
	Password    string `json:"password"`
	Certificate string `json:"certificate"`
	Authority   string `json:"authority"`
	Key         string `json:"key"`
	Kind        string `json:"kind"`
	Name        string `json:"name"`
	Host        string `json:"host"`
}

// fieldsOf gives the scalars of a render by their names.
type fieldsOf map[string]any

func fieldsByName(objects []object.Object, namespace string) fieldsOf {
	out := fieldsOf{}
	for _, o := range objects {
		id := o.ID()
		if id.Namespace == namespace {
			id.Namespace = ""
		}
		var walk func(v any, path []any)
		walk = func(v any, path []any) {
			switch v := v.(type) {
			case map[string]any:
				for key, e := range v {
					walk(e, append(slices.Clip(path), key))
				}
			case []any:
				for i, e := range v {
					walk(e, append(slices.Clip(path), i))
				}
			default:
				out[derive.Name(id, path)] = v
			}
		}
		walk(o.Value, nil)
	}
	return out
}

// value evaluates a value of want.yaml.
func (f fieldsOf) value(ref string) (string, error) {
	steps := strings.Split(ref, " | ")
	var v any
	if text, isText := strings.CutPrefix(steps[0], "="); isText {
		filled, err := f.fill(text)
		if err != nil {
			return "", err
		}
		v = filled
	} else {
		var found bool
		if v, found = f[strings.TrimSpace(steps[0])]; !found {
			return "", fmt.Errorf("there is no field %q", steps[0])
		}
	}
	for i, step := range steps[1:] {
		name, arg, _ := strings.Cut(strings.TrimSpace(step), " ")
		if _, isText := v.(string); !isText && name != "number" {
			return "", fmt.Errorf("%s: step %d is for a text, got %T", ref, i+1, v)
		}
		next, err := applyStep(v, name, arg)
		if err != nil {
			return "", fmt.Errorf("%s: step %d: %w", ref, i+1, err)
		}
		v = next
	}
	text, isText := v.(string)
	if !isText {
		return "", fmt.Errorf("%s: got %T, want a text", ref, v)
	}
	return text, nil
}

func applyStep(v any, step, arg string) (any, error) {
	text, _ := v.(string)
	switch step {
	case "base64":
		decoded, err := base64.StdEncoding.DecodeString(text)
		return string(decoded), err
	case "find":
		m := regexp.MustCompile("(?m)" + arg).FindStringSubmatch(text)
		if m == nil {
			return nil, errors.New("nothing is found")
		}
		return m[min(1, len(m)-1)], nil
	case "json", "yaml":
		var tree any
		if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
			return nil, err
		}
		for _, key := range strings.Split(strings.TrimPrefix(arg, "/"), "/") {
			tree = object.Field(tree, strings.NewReplacer("~1", "/", "~0", "~").Replace(key))
		}
		return tree, nil
	case "sha256":
		return fmt.Sprintf("%x", sha256.Sum256([]byte(text))), nil
	case "lower":
		return strings.ToLower(text), nil
	case "number":
		if n, isNumber := v.(int64); isNumber {
			return strconv.FormatInt(n, 10), nil
		}
		return nil, fmt.Errorf("got %T, want a number", v)
	case "quote":
		return strconv.Quote(text), nil
	}
	return nil, fmt.Errorf("unknown step %q", step)
}

// fill replaces each ${VALUE} in a text.
func (f fieldsOf) fill(text string) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		end, open := 0, 1
		for ; end < len(rest) && open > 0; end++ {
			switch rest[end] {
			case '{':
				open++
			case '}':
				open--
			}
		}
		if open > 0 {
			return "", errors.New("${ without an end")
		}
		value, err := f.value(rest[:end-1])
		if err != nil {
			return "", err
		}
		out.WriteString(value)
		text = rest[end:]
	}
}

// must is value; it is a fault of the test if there is none.
func (f fieldsOf) must(t *testing.T, ref string) string {
	t.Helper()
	value, err := f.value(ref)
	if err != nil {
		t.Error(err)
	}
	return value
}

// expect checks what is wanted of single values, and that what was derived has it.
func (w *derivedWant) expect(t *testing.T, f fieldsOf) {
	t.Helper()
	for _, ref := range slices.Sorted(maps.Keys(w.Values)) {
		if got := f.must(t, ref); !regexp.MustCompile("^(?s:" + w.Values[ref] + ")$").MatchString(got) {
			t.Errorf("%s: got %q, want %s", ref, got, w.Values[ref])
		}
	}
	for _, list := range w.Same {
		for _, ref := range list[1:] {
			if one, other := f.must(t, list[0]), f.must(t, ref); one != other || one == "" {
				t.Errorf("%s and %s differ: %q and %q", list[0], ref, one, other)
			}
		}
	}
	for _, list := range w.Differ {
		for i, ref := range list {
			for _, other := range list[:i] {
				if f.must(t, ref) == f.must(t, other) {
					t.Errorf("%s and %s are the same", other, ref)
				}
			}
		}
	}
	for _, v := range w.Verifies {
		if err := v.verify(f); err != nil {
			t.Errorf("%+v: %v", v, err)
		}
	}
}

func (w verifiesWant) verify(f fieldsOf) error {
	texts := map[string]string{}
	for _, ref := range []string{w.Hash, w.Password, w.Certificate, w.Authority, w.Key} {
		if ref != "" {
			value, err := f.value(ref)
			if err != nil {
				return err
			}
			texts[ref] = value
		}
	}
	switch {
	case w.Hash != "":
		hash := texts[w.Hash]
		if w.User != "" {
			user, rest, _ := strings.Cut(hash, ":")
			if hash = rest; user != w.User {
				return fmt.Errorf("the hash is that of user %q", user)
			}
		}
		return bcrypt.CompareHashAndPassword([]byte(hash), []byte(texts[w.Password]))
	case w.Certificate != "":
		return w.verifyCertificate(texts)
	}
	signer, err := ssh.ParsePrivateKey([]byte(texts[w.Key]))
	if err != nil {
		// Keys of PKCS #8 are those of the crypto package.
		block, _ := pem.Decode([]byte(texts[w.Key]))
		if block == nil {
			return errors.New("no PEM block")
		}
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return err
		}
		if signer, err = ssh.NewSignerFromKey(key.(crypto.Signer)); err != nil {
			return err
		}
	}
	if kind := signer.PublicKey().Type(); kind != w.Kind {
		return fmt.Errorf("it is a key of kind %s", kind)
	}
	return nil
}

// verifyCertificate checks a certificate against its CA, key and names, now and 60 days
// from now: rotation leaves that much.
func (w verifiesWant) verifyCertificate(texts map[string]string) error {
	block, _ := pem.Decode([]byte(texts[w.Certificate]))
	if block == nil {
		return errors.New("no PEM block")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err
	}
	if got := certificate.Subject.CommonName; got != w.Name {
		return fmt.Errorf("it is the certificate of %q", got)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(texts[w.Authority])) {
		return errors.New("the CA has no certificate")
	}
	for _, at := range []time.Time{derivedToday, derivedToday.AddDate(0, 0, 60)} {
		if _, err := certificate.Verify(x509.VerifyOptions{
			Roots: roots, DNSName: w.Host, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
		}); err != nil {
			return err
		}
	}
	if w.Key != "" {
		_, err = tls.X509KeyPair([]byte(texts[w.Certificate]), []byte(texts[w.Key]))
	}
	return err
}

// leftover returns a text of the objects in which a part of a frame is left, or "".
func leftover(f fieldsOf) string {
	for name, v := range f {
		if text, isText := v.(string); isText && holdsMark(text, 0) {
			return name
		}
	}
	return ""
}

var base64Run = regexp.MustCompile(`[A-Za-z0-9+/_-]{12,}`)

func holdsMark(text string, depth int) bool {
	const levels = 4
	if low := strings.ToLower(text); strings.Contains(low, "hm0tq") || strings.Contains(low, "q7t0m") {
		return true
	}
	if depth == levels {
		return false
	}
	for _, run := range base64Run.FindAllString(text, -1) {
		for _, code := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			// A run that was cut is looked at as far as it goes.
			decoded, err := code.DecodeString(run[:len(run)/4*4])
			if err == nil && !bytes.Equal(decoded, nil) && holdsMark(string(decoded), depth+1) {
				return true
			}
		}
	}
	return false
}
