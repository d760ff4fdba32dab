package stamp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"

	"hallmark.dev/hallmark/internal/object"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, want string }{
		{"key order and space", `{"b": 1, "a": {"d": [ 1, "x" ], "c": null}}`, `{"a":{"c":null,"d":[1,"x"]},"b":1}`},
		{"stamp and tracking only", `{"metadata":{"annotations":{"hallmark.dev/object-hash":"a","hallmark.dev/render-hash":"b","hallmark.dev/inputs-hash":"c","hallmark.dev/source-revision":"d","hallmark.dev/renderer":"e","argocd.argoproj.io/tracking-id":"f"},"labels":{"app.kubernetes.io/instance":"g"},"name":"n"}}`, `{"metadata":{"name":"n"}}`},
		{"others stay", `{"metadata":{"annotations":{"hallmark.dev/renderer":"e","a":"b","hallmark.dev/other":"c"},"labels":{"app.kubernetes.io/instance":"g","app.kubernetes.io/name":"h"}}}`, `{"metadata":{"annotations":{"a":"b","hallmark.dev/other":"c"},"labels":{"app.kubernetes.io/name":"h"}}}`},
		{"a label of an annotation's name stays", `{"metadata":{"annotations":{"app.kubernetes.io/instance":"a"},"labels":{"hallmark.dev/renderer":"b"}}}`, `{"metadata":{"annotations":{"app.kubernetes.io/instance":"a"},"labels":{"hallmark.dev/renderer":"b"}}}`},
		{"empty maps", `{"kind":"A","metadata":{"annotations":{},"labels":{}}}`, `{"kind":"A"}`},
		{"null maps", `{"kind":"A","metadata":{"annotations":null,"labels":null,"name":"n"}}`, `{"kind":"A","metadata":{"name":"n"}}`},
		{"null metadata", `{"kind":"A","metadata":null}`, `{"kind":"A"}`},
		{"labels of another type", `{"metadata":{"labels":["a"]}}`, `{"metadata":{"labels":["a"]}}`},
		{"pod template untouched", `{"spec":{"template":{"metadata":{"annotations":{"hallmark.dev/renderer":"e"},"labels":{"app.kubernetes.io/instance":"g"}}}}}`, `{"spec":{"template":{"metadata":{"annotations":{"hallmark.dev/renderer":"e"},"labels":{"app.kubernetes.io/instance":"g"}}}}}`},
		{"numbers", `{"a":1.0,"b":-0,"c":1e21,"d":1e20,"e":0.000001,"f":1e-7,"g":9007199254740993,"h":9223372036854775807,"i":4.50}`, `{"a":1,"b":0,"c":1e+21,"d":100000000000000000000,"e":0.000001,"f":1e-7,"g":9007199254740992,"h":9223372036854776000,"i":4.5}`},
		{"UTF-16 key order", `{"\ue000":1,"\ud83d\ude00":2,"z":3}`, "{\"z\":3,\"\U0001F600\":2,\"\ue000\":1}"},
		{"strings", `{"a":"\u0000\u001f\u007f\"\\\/<>&\u2028\n"}`, "{\"a\":\"\\u0000\\u001f\u007f\\\"\\\\/<>&\u2028\\n\"}"},
		{"secret without a key", `{"apiVersion":"v1","kind":"Secret","data":{"a":"eA==","b":null},"stringData":{"c":1},"type":"t"}`, `{"apiVersion":"v1","data":{"a":null,"b":null},"kind":"Secret","stringData":{"c":null},"type":"t"}`},
		{"secret of the wrong shape", `{"apiVersion":"v1","kind":"Secret","data":"eA==","stringData":["x"]}`, `{"apiVersion":"v1","data":null,"kind":"Secret","stringData":null}`},
		{"another API group's Secret", `{"apiVersion":"x.io/v1","kind":"Secret","data":{"a":"eA=="}}`, `{"apiVersion":"x.io/v1","data":{"a":"eA=="},"kind":"Secret"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			value := decode(t, test.in)
			before := fmt.Sprint(value)
			got, err := Canonical(object.Object{Value: value}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if after := fmt.Sprint(value); after != before {
				t.Errorf("the object changed: %s\nwas %s", after, before)
			}
		})
	}
}

func TestCanonicalErrors(t *testing.T) {
	t.Parallel()
	secret := func(v any) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"}, "data": v}
	}
	for _, test := range []struct {
		name  string
		value map[string]any
		opts  Options
		want  string
	}{
		{"metadata", map[string]any{"kind": "A", "metadata": "hunter2"}, Options{}, `a.yaml:3: A "": metadata is a string, want a map`},
		{"annotations", map[string]any{"kind": "A", "metadata": map[string]any{"annotations": []any{"hunter2"}}}, Options{}, `a.yaml:3: A "": metadata.annotations is a list, want a map`},
		{"not a number", map[string]any{"kind": "A", "spec": map[string]any{"x": math.NaN()}}, Options{}, `a.yaml:3: A "": at "/spec/x": a value of Go type float64 has no JSON form`},
		{"not UTF-8", map[string]any{"kind": "A", "spec": []any{"hunter2\xff"}}, Options{}, `a.yaml:3: A "": at "/spec/0": invalid UTF-8`},
		{"secret value", secret(map[string]any{"p": "hunter2\xff"}), Options{Key: testKey}, `a.yaml:3: Secret "s": data: the value of "p" has no JSON form`},
		{"secret data", secret("hunter2\xff"), Options{Key: testKey}, `a.yaml:3: Secret "s": data: the value has no JSON form`},
		{"short key", secret(nil), Options{Key: Key("hunter2")}, `the key for secret values has 7 bytes, want at least 16`},
		{"empty key", secret(nil), Options{Key: Key{}}, `the key for secret values has 0 bytes, want at least 16`},
		{"empty path", secret(nil), Options{Ignore: map[object.ID][]Path{{Kind: "A"}: {{}}}}, `ignored field of A "": the path is empty, want at least one element`},
		{"path element", secret(nil), Options{Ignore: map[object.ID][]Path{{Kind: "A"}: {{"a", 1.5}}}}, `ignored field of A "": path element 1.5 is a float64, want a string or an int`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := Canonical(object.Object{Value: test.value, Origin: "a.yaml", Line: 3}, test.opts)
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

// TestSecretValuesDoNotShow checks that without a key no value counts, and that
// with one every value counts and no two places show as equal.
func TestSecretValuesDoNotShow(t *testing.T) {
	t.Parallel()
	value := decode(t, loginJSON)
	keyed, bare := Options{Key: testKey}, Options{}
	plain, hmac := hashOf(t, value, bare), hashOf(t, value, keyed)
	if otherKey := hashOf(t, value, Options{Key: Key("fedcba9876543210")}); plain == hmac || otherKey == hmac {
		t.Errorf("the key does not count: %s without, %s and %s with one", plain, hmac, otherKey)
	}
	for _, path := range leaves(value, nil) {
		changed := decode(t, loginJSON)
		replace(changed, path, other(lookup(changed, path)))
		secret := path[0] == "data" || path[0] == "stringData"
		if same := hashOf(t, changed, bare) == plain; same != secret {
			t.Errorf("without a key, %s: hash unchanged is %t, want %t", path.Pointer(), same, secret)
		}
		if hashOf(t, changed, keyed) == hmac {
			t.Errorf("with a key, %s does not count", path.Pointer())
		}
	}
	for _, entry := range []string{"new", "password2"} {
		changed := decode(t, loginJSON)
		changed["data"].(map[string]any)[entry] = "eA=="
		if hashOf(t, changed, bare) == plain {
			t.Errorf("without a key, a new entry %q does not count", entry)
		}
	}

	text, err := Canonical(object.Object{Value: value}, keyed)
	if err != nil {
		t.Fatal(err)
	}
	other := decode(t, strings.ReplaceAll(loginJSON, `"login"`, `"login2"`))
	text2, err := Canonical(object.Object{Value: other}, keyed)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, word := range strings.Split(string(text)+string(text2), `"`) {
		if !strings.HasPrefix(word, "hmac-sha256:") {
			continue
		}
		if seen[word] {
			t.Errorf("%s stands for two values", word)
		}
		seen[word] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d HMACs, want 6: %s", len(seen), text)
	}
	// Computed apart from this package:
	//	printf '%s' '["hallmark.dev/stamp/v1/secret","shop","login","data","password","aHVudGVyMg=="]' |
	//	  openssl dgst -sha256 -hmac 0123456789abcdef
	if want := `"password":"hmac-sha256:69608c6a0ed8afc7acfedcb399712bd1ee37423fbffca406f7124343c6ac1628"`; !strings.Contains(string(text), want) {
		t.Errorf("no %s in %s", want, text)
	}
}

func TestKeyIsNotPrinted(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if got := fmt.Sprintf(verb, Options{Key: testKey}); strings.Contains(got, "0123") || strings.Contains(got, "48, ") || strings.Contains(got, "48 49") || strings.Contains(got, "3031") {
			t.Errorf("%s prints the key: %s", verb, got)
		}
	}
}

// canonicalByJCS is the independent implementation.
func canonicalByJCS(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jcs.Transform(text)
}

func FuzzCanonicalAgainstJCS(f *testing.F) {
	for _, seed := range []string{
		webJSON, loginJSON, configJSON,
		`{"\ue000":1,"\ud83d\ude00":2,"z":3,"":4,"\uffff":5}`,
		`{"a":[0,-0,0.0,-0.0,1e1,1E-7,1e21,123456789012345678901234567890,5e-324,1.7976931348623157e308]}`,
		`{"a":[9007199254740991,9007199254740992,9007199254740993,-9007199254740993,9223372036854775807,-9223372036854775808,18446744073709551615]}`,
		`{"a":"\u0000\b\t\n\f\r\u001f\u007f\u0080\u2028\u2029<>&\"\\/"}`,
		`{"a":{"b":{"c":[[],{},[{}]]}},"ab":1,"a\u0000":2}`,
		`{"a":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := decodeObject(text)
		if err != nil {
			t.Skip("not an object")
		}
		want, err := canonicalByJCS(value)
		if err != nil {
			t.Skip("not for jcs")
		}
		got, err := appendCanonical(new(bytes.Buffer), value)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("got  %s\njcs  %s", got, want)
		}
		// Read again, it is the same object: whitespace and key order of a
		// file cannot count.
		again, err := decodeObject(string(got))
		if err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		twice, err := appendCanonical(new(bytes.Buffer), again)
		if err != nil || !bytes.Equal(twice, got) {
			t.Errorf("canonical twice: %s, %v\nonce: %s", twice, err, got)
		}
	})
}
