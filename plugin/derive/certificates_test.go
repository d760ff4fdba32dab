package derive

import (
	"bytes"
	"crypto/tls"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestChain holds a CA and three leaves against the rules of the standard library and
// against what was rendered.
func TestChain(t *testing.T) {
	t.Parallel()
	first, second := chain()[0], chain()[1]
	o := certificateOptions(t)
	got := rewritten(t, o, first, second)
	root := certificateOf(t, got["ca/ca.crt"])
	if got["webhook/bundle"] != got["ca/ca.crt"] {
		t.Error("the certificate of the CA in two places is not one")
	}
	for name, block := range got {
		if block == first[name] || block == second[name] {
			t.Errorf("%s is not derived", name)
		}
	}
	// Certificates that installations have: if this fails, all of everyone change.
	for name, frozen := range map[string]string{"ca/ca.crt": "b4dacfd2ebe476ad", "web/tls.crt": "42e5dd01de30bc3c"} {
		if is := digest(got[name]); is != frozen {
			t.Errorf("%s: got %s, want %s", name, is, frozen)
		}
	}
	serials := map[string]bool{}
	for _, name := range []string{"ca", "web", "api", "db"} {
		crt := name + "/tls.crt"
		if name == "ca" {
			crt = "ca/ca.crt"
		}
		key := strings.Replace(crt, ".crt", ".key", 1)
		if _, err := tls.X509KeyPair([]byte(got[crt]), []byte(got[key])); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		was, is := certificateOf(t, first[crt]), certificateOf(t, got[crt])
		if err := verify(is, root, o.Now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := is.CheckSignatureFrom(root); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(is.RawSubject, was.RawSubject) || !bytes.Equal(is.RawIssuer, was.RawIssuer) ||
			!slices.Equal(is.DNSNames, was.DNSNames) || len(is.IPAddresses) != len(was.IPAddresses) ||
			is.KeyUsage != was.KeyUsage || !slices.Equal(is.ExtKeyUsage, was.ExtKeyUsage) || is.IsCA != was.IsCA ||
			is.BasicConstraintsValid != was.BasicConstraintsValid || is.SignatureAlgorithm != was.SignatureAlgorithm ||
			len(is.Extensions) != len(was.Extensions) {
			t.Errorf("%s: got another certificate than the one that was rendered", name)
		}
		if !bytes.Equal(is.AuthorityKeyId, root.SubjectKeyId) && name != "ca" || bytes.Equal(is.AuthorityKeyId, was.AuthorityKeyId) && name != "ca" {
			t.Errorf("%s: got the authority key id %x, want %x", name, is.AuthorityKeyId, root.SubjectKeyId)
		}
		if serials[is.SerialNumber.String()] || is.SerialNumber.BitLen() > 127 {
			t.Errorf("%s: got the serial number %v twice or too long", name, is.SerialNumber)
		}
		serials[is.SerialNumber.String()] = true
		if d := is.NotAfter.Sub(is.NotBefore); d != lifetime(was)+slack {
			t.Errorf("%s: got a validity of %s, want %s and an hour", name, d, lifetime(was))
		}
	}
	if err := verify(certificateOf(t, first["web/tls.crt"]), root, time.Now()); err == nil {
		t.Error("the rendered leaf verifies under the derived CA: this test shows nothing")
	}
	if leaf := certificateOf(t, got["web/tls.crt"]); leaf.VerifyHostname("web.shop.svc") != nil || leaf.VerifyHostname("10.0.0.1") != nil {
		t.Error("the leaf is not one for its names")
	}
}

// TestSameBytes derives many times, of either render and in another order.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	first, second := quickChain()[0], quickChain()[1]
	want := rewritten(t, certificateOptions(t), first, second)
	for range 5 {
		if got := rewritten(t, certificateOptions(t), first, second); !maps.Equal(got, want) {
			t.Fatal("got other bytes in another run")
		}
		if got := rewritten(t, certificateOptions(t), second, first); !maps.Equal(got, want) {
			t.Fatal("got other bytes of another render")
		}
	}
	c := gathered(t, certificateOptions(t), first, second)
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(first))) {
		if got, _, _, err := c.replace(first[name]); err != nil || got != want[name] {
			t.Errorf("%s: got other bytes in another order, or %v", name, err)
		}
	}
}

// TestOtherBytes changes what is to make other keys, and what is not.
func TestOtherBytes(t *testing.T) {
	t.Parallel()
	first, second := quickChain()[0], quickChain()[1]
	want := rewritten(t, certificateOptions(t), first, second)
	everything := slices.Sorted(maps.Keys(first))
	for name, c := range map[string]struct {
		change func(o *Options)
		others []string
	}{
		"generation": {func(o *Options) { o.Generation = 1 }, everything},
		"seed":       {func(o *Options) { o.Seed, _ = ReadSeed("test", []byte("another 0123456789abcdefghijklmno")) }, everything},
		"project":    {func(o *Options) { o.Scope.Project = "other" }, everything},
		"namespace":  {func(o *Options) { o.Scope.Namespace = "other" }, everything},
		"app":        {func(o *Options) { o.Scope.App = "other" }, everything},
		"key of the CA": {func(o *Options) { o.Fields = map[string]int{"Secret/ca/data/ca.key": 1} },
			[]string{"api/tls.crt", "ca/ca.crt", "ca/ca.key", "db/tls.crt", "web/tls.crt", "webhook/bundle"}},
		"key of a leaf":         {func(o *Options) { o.Fields = map[string]int{"Secret/web/data/tls.key": 3} }, []string{"web/tls.crt", "web/tls.key"}},
		"certificate of a leaf": {func(o *Options) { o.Fields = map[string]int{"Secret/web/data/tls.crt": 3} }, nil},
		"a second":              {func(o *Options) { o.Now = o.Now.Add(time.Second) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := certificateOptions(t)
			c.change(&o)
			got := rewritten(t, o, first, second)
			var others []string
			for _, field := range everything {
				if got[field] != want[field] {
					others = append(others, field)
				}
			}
			if !slices.Equal(others, c.others) {
				t.Errorf("got other bytes in %v, want them in %v", others, c.others)
			}
		})
	}
	t.Run("another field", func(t *testing.T) {
		t.Parallel()
		moved := func(p printed) printed {
			out := printed{}
			for name, block := range p {
				out[strings.Replace(name, "web/", "shop/", 1)] = block
			}
			return out
		}
		got := rewritten(t, certificateOptions(t), moved(first), moved(second))
		if got["shop/tls.key"] == want["web/tls.key"] || got["db/tls.key"] != want["db/tls.key"] || got["ca/ca.key"] != want["ca/ca.key"] {
			t.Error("want another key for the field that moved, and only for that")
		}
	})
	t.Run("one object less", func(t *testing.T) {
		t.Parallel()
		less := maps.Clone(first)
		delete(less, "api/tls.crt")
		delete(less, "api/tls.key")
		for name, block := range rewritten(t, certificateOptions(t), less, second) {
			if block != want[name] {
				t.Errorf("%s has other bytes", name)
			}
		}
	})
}

// TestOtherKeys derives certificates of keys that values or genPrivateKey give.
func TestOtherKeys(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"ecdsa", "ed25519"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			text := strings.ReplaceAll(`{{ $ca := genCAWithKey "checkout-ca" 100 (genPrivateKey "KIND") -}}
{{ $leaf := genSignedCertWithKey "web" (list) (list "web") 50 $ca (genPrivateKey "KIND") -}}
{{ $self := genSelfSignedCertWithKey "own" (list) (list "own") 50 (genPrivateKey "KIND") -}}
@ca/ca.crt
{{ $ca.Cert }}@web/tls.crt
{{ $leaf.Cert }}@web/tls.key
{{ $leaf.Key }}@own/tls.crt
{{ $self.Cert }}@own/tls.key
{{ $self.Key }}`, "KIND", kind)
			first, second := twice(t, text, nil)
			o := certificateOptions(t)
			got := rewritten(t, o, first, second)
			root, leaf, own := certificateOf(t, got["ca/ca.crt"]), certificateOf(t, got["web/tls.crt"]), certificateOf(t, got["own/tls.crt"])
			if err := verify(leaf, root, o.Now); err != nil {
				t.Error(err)
			}
			if err := verify(own, own, o.Now); err != nil {
				t.Error(err)
			}
			if !strings.EqualFold(leaf.PublicKeyAlgorithm.String(), kind) || leaf.PublicKeyAlgorithm != root.PublicKeyAlgorithm {
				t.Errorf("got %s signed by %s, want %s", leaf.PublicKeyAlgorithm, root.PublicKeyAlgorithm, kind)
			}
			for _, name := range []string{"web", "own"} {
				if _, err := tls.X509KeyPair([]byte(got[name+"/tls.crt"]), []byte(got[name+"/tls.key"])); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if again := rewritten(t, o, first, second); !maps.Equal(again, got) {
				t.Error("got other bytes in another run")
			}
		})
	}
}

// TestGivenByValues keeps what values give and derives what hangs on it.
func TestGivenByValues(t *testing.T) {
	t.Parallel()
	key := testKey("given")
	ca := issue(t, "given-ca", 900*day, true, key, nil, key)
	o := certificateOptions(t)
	o.Now = time.Now()
	given := map[string]any{"key": keyBlock(t, key), "crt": certificateBlock(ca)}
	t.Run("key", func(t *testing.T) {
		t.Parallel()
		first, second := twice(t, `{{ $ca := genCAWithKey "checkout-ca" 365 .key -}}
@ca/ca.crt
{{ $ca.Cert }}@ca/ca.key
{{ $ca.Key }}`, given)
		got := rewritten(t, o, first, second)
		root := certificateOf(t, got["ca/ca.crt"])
		if got["ca/ca.key"] != given["key"] || !key.PublicKey.Equal(root.PublicKey) || verify(root, root, o.Now) != nil {
			t.Error("want the key to stay and the certificate to be one for it")
		}
		if !bytes.Equal(root.SubjectKeyId, certificateOf(t, first["ca/ca.crt"]).SubjectKeyId) {
			t.Error("the id of the key changes, but not the key")
		}
		delete(first, "ca/ca.key")
		wantFault(t, gathered(t, o, first, second), first["ca/ca.crt"], errNoPrivateKey.Error())
	})
	signed := `{{ $ca := buildCustomCert (b64enc .crt) (b64enc .key) -}}
{{ $leaf := genSignedCertWithKey "web" (list) (list "web") 365 $ca (genPrivateKey "ecdsa") -}}
@ca/ca.crt
{{ $ca.Cert }}@ca/ca.key
{{ $ca.Key }}@web/tls.crt
{{ $leaf.Cert }}@web/tls.key
{{ $leaf.Key }}`
	t.Run("certificate", func(t *testing.T) {
		t.Parallel()
		first, second := twice(t, signed, given)
		got := rewritten(t, o, first, second)
		if got["ca/ca.crt"] != given["crt"] || got["ca/ca.key"] != given["key"] || got["web/tls.crt"] == first["web/tls.crt"] {
			t.Error("want the CA to stay and the leaf to be derived")
		}
		leaf := certificateOf(t, got["web/tls.crt"])
		if err := verify(leaf, ca, o.Now); err != nil {
			t.Error(err)
		}
		if !bytes.Equal(leaf.AuthorityKeyId, ca.SubjectKeyId) {
			t.Errorf("got the authority key id %q, want %q", leaf.AuthorityKeyId, ca.SubjectKeyId)
		}
		if _, reason, _, _ := gathered(t, o, first, second).replace(first["ca/ca.crt"]); reason != "" {
			t.Errorf("got the reason %q for what stays, want none", reason)
		}
	})
	t.Run("its end", func(t *testing.T) {
		t.Parallel()
		first, second := twice(t, signed, given)
		late := o
		late.Now = ca.NotAfter.Add(-day)
		c := gathered(t, late, first, second)
		text, _, until, err := c.replace(first["web/tls.crt"])
		if err != nil || !certificateOf(t, text).NotAfter.Equal(ca.NotAfter) || until.IsZero() {
			t.Errorf("got %v, want a leaf that ends with its CA on %v", err, ca.NotAfter)
		}
		late.Now = ca.NotAfter.Add(300 * day)
		wantFault(t, gathered(t, late, first, second), first["web/tls.crt"], "ended on")
	})
	t.Run("its key is elsewhere", func(t *testing.T) {
		t.Parallel()
		first, second := twice(t, signed, given)
		delete(first, "ca/ca.key")
		wantFault(t, gathered(t, o, first, second), first["web/tls.crt"], errNoPrivateKey.Error())
		delete(first, "ca/ca.crt")
		delete(second, "ca/ca.crt")
		wantFault(t, gathered(t, o, first, second), first["web/tls.crt"], "the issuer of the certificate is the same in each render")
	})
}

// TestGivenKeyID keeps the id of a key that stays.
func TestGivenKeyID(t *testing.T) {
	t.Parallel()
	key := testKey("given")
	render := func() printed {
		return printed{"ca/ca.crt": certificateBlock(issue(t, "given-ca", 90*day, true, key, nil, key)), "ca/ca.key": keyBlock(t, key)}
	}
	first, second := render(), render()
	got := certificateOf(t, rewritten(t, certificateOptions(t), first, second)["ca/ca.crt"])
	if want := certificateOf(t, first["ca/ca.crt"]); !bytes.Equal(got.SubjectKeyId, want.SubjectKeyId) || got.Equal(want) {
		t.Errorf("got the key id %q, want %q in another certificate", got.SubjectKeyId, want.SubjectKeyId)
	}
}

// TestTwoCertificatesOfOneCA ends a leaf with the first certificate of its issuer, and
// not with one that has the issuer's key and another name.
func TestTwoCertificatesOfOneCA(t *testing.T) {
	t.Parallel()
	first, second := twice(t, `{{ $key := genPrivateKey "ecdsa" -}}
{{ $ca := genCAWithKey "checkout-ca" 900 $key -}}
{{ $leaf := genSignedCertWithKey "web" (list) (list "web") 3650 $ca (genPrivateKey "ecdsa") -}}
@ca/a.crt
{{ (genCAWithKey "other-ca" 30 $key).Cert }}@ca/b.crt
{{ $ca.Cert }}@ca/c.crt
{{ (genCAWithKey "checkout-ca" 90 $key).Cert }}@ca/d.key
{{ $key }}@web/tls.crt
{{ $leaf.Cert }}@web/tls.key
{{ $leaf.Key }}`, nil)
	o := certificateOptions(t)
	got := rewritten(t, o, first, second)
	leaf := certificateOf(t, got["web/tls.crt"])
	for _, name := range []string{"ca/b.crt", "ca/c.crt"} {
		if err := verify(leaf, certificateOf(t, got[name]), o.Now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if want := certificateOf(t, got["ca/c.crt"]).NotAfter; !leaf.NotAfter.Equal(want) {
		t.Errorf("got a leaf that ends on %v, want %v", leaf.NotAfter, want)
	}
}

// TestBestHome derives a key at the best of its places, in whatever order they come.
func TestBestHome(t *testing.T) {
	t.Parallel()
	block := keyBlock(t, testKey("best"))
	best, hook := place("b/key"), place("a/key")
	hook.rank = rankHook
	for _, places := range [][]home{{best, place("c/key"), hook}, {hook, place("c/key"), best}, {place("c/key"), hook, best}} {
		o := certificateOptions(t)
		c := newCertificates(t.Context(), o, o.stream)
		for _, at := range places {
			c.collect(block, at)
		}
		if got := c.places(block); !slices.Equal(got, []home{best}) {
			t.Errorf("got %v of %v, want %v", got, places, best)
		}
	}
}

// TestLostIssuer derives leaves of a CA of which nothing is printed.
func TestLostIssuer(t *testing.T) {
	t.Parallel()
	first, second := twice(t, `{{ $ca := genCAWithKey "checkout-ca" 365 (genPrivateKey "ecdsa") -}}
{{- range $name := list "web" "api" -}}
{{ $leaf := genSignedCertWithKey $name (list) (list $name) 365 $ca (genPrivateKey "ecdsa") -}}
@{{ $name }}/tls.crt
{{ $leaf.Cert }}@{{ $name }}/tls.key
{{ $leaf.Key }}
{{- end }}`, nil)
	o := certificateOptions(t)
	got := rewritten(t, o, first, second)
	web, api := certificateOf(t, got["web/tls.crt"]), certificateOf(t, got["api/tls.crt"])
	was := certificateOf(t, first["web/tls.crt"])
	if !bytes.Equal(web.AuthorityKeyId, api.AuthorityKeyId) || bytes.Equal(web.AuthorityKeyId, was.AuthorityKeyId) || !bytes.Equal(web.RawIssuer, was.RawIssuer) {
		t.Error("want one derived issuer for both")
	}
	if _, err := tls.X509KeyPair([]byte(got["web/tls.crt"]), []byte(got["web/tls.key"])); err != nil {
		t.Error(err)
	}
	if places := gathered(t, o, first, second).places(first["web/tls.crt"]); !slices.Equal(places, []home{place("web/tls.key"), place("api/tls.crt")}) {
		t.Errorf("got %v, want the leaf's key and where the issuer lives", places)
	}
	delete(first, "web/tls.key")
	wantFault(t, gathered(t, o, first, second), first["web/tls.crt"], "neither the private key of the certificate nor its issuer")
}

// TestDepth derives a chain of three, and one in which keys are not printed.
func TestDepth(t *testing.T) {
	t.Parallel()
	render := func() printed {
		root, middle, leaf := freshKey(t), freshKey(t), freshKey(t)
		top := issue(t, "root", 30*day, true, root, nil, root)
		between := issue(t, "middle", 300*day, true, middle, top, root)
		end := issue(t, "leaf", 400*day, false, leaf, between, middle)
		return printed{
			"a/root.crt": certificateBlock(top), "a/middle.crt": certificateBlock(between), "a/middle.key": keyBlock(t, middle),
			"a/tls.crt": certificateBlock(end), "a/tls.key": keyBlock(t, leaf),
		}
	}
	first, second := render(), render()
	o := certificateOptions(t)
	for range 40 {
		o.Now = o.Now.Add(3*day + time.Hour)
		got := rewritten(t, o, first, second)
		root, middle, leaf := certificateOf(t, got["a/root.crt"]), certificateOf(t, got["a/middle.crt"]), certificateOf(t, got["a/tls.crt"])
		if err := verify(leaf, root, o.Now, middle); err != nil {
			t.Error(err)
		}
		if leaf.NotAfter.After(middle.NotAfter) || middle.NotAfter.After(root.NotAfter) || leaf.NotAfter.Sub(o.Now) < 20*day {
			t.Errorf("got ends %v, %v and %v, want none behind that of its issuer", root.NotAfter, middle.NotAfter, leaf.NotAfter)
		}
		_, _, until, err := gathered(t, o, first, second).replace(first["a/tls.crt"])
		if err != nil {
			t.Fatal(err)
		}
		next := o
		next.Now = until
		if again := rewritten(t, next, first, second); again["a/tls.crt"] == got["a/tls.crt"] {
			t.Errorf("got the same leaf at %v, want it to change with its root", until)
		}
		next.Now = until.Add(-time.Second)
		if again := rewritten(t, next, first, second); again["a/tls.crt"] != got["a/tls.crt"] {
			t.Errorf("got another leaf before %v", until)
		}
	}
}

// TestShape compares two renders, and renders of other templates.
func TestShape(t *testing.T) {
	t.Parallel()
	const text = `{{ $ca := genCAWithKey .ca .days (genPrivateKey .kind) -}}
{{ $leaf := genSignedCertWithKey .name (list) (list .dns) 365 $ca (genPrivateKey "ecdsa") -}}
@ca/ca.crt
{{ $ca.Cert }}@web/tls.crt
{{ $leaf.Cert }}@web/tls.key
{{ $leaf.Key }}`
	values := func(change func(v map[string]any)) map[string]any {
		v := map[string]any{"ca": "checkout-ca", "days": 3650, "kind": "ecdsa", "name": "web", "dns": "web.shop"}
		change(v)
		return v
	}
	first, second := twice(t, text, values(func(map[string]any) {}))
	c := gathered(t, certificateOptions(t), first, second)
	for name := range first {
		if got, want := c.shape(second[name]), c.shape(first[name]); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	for name, change := range map[string]func(v map[string]any){
		"issuer":       func(v map[string]any) { v["ca"] = "other-ca" },
		"issuer's end": func(v map[string]any) { v["days"] = 3651 },
		"issuer's key": func(v map[string]any) { v["kind"] = "ed25519" },
		"subject":      func(v map[string]any) { v["name"] = "other" },
		"names":        func(v map[string]any) { v["dns"] = "other.shop" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := execute(t, text, values(change))
			c := gathered(t, certificateOptions(t), first, other)
			if c.shape(first["web/tls.crt"]) == c.shape(other["web/tls.crt"]) {
				t.Error("two certificates that are not alike have one shape")
			}
		})
	}
}

// TestCircle refuses certificates that sign one another.
func TestCircle(t *testing.T) {
	t.Parallel()
	render := func() printed {
		a, b := freshKey(t), freshKey(t)
		one, two := issue(t, "one", 90*day, true, a, nil, a), issue(t, "two", 90*day, true, b, nil, b)
		oneByTwo, twoByOne := issue(t, "one", 90*day, true, a, two, b), issue(t, "two", 90*day, true, b, one, a)
		return printed{"a/1": certificateBlock(oneByTwo), "a/2": certificateBlock(twoByOne)}
	}
	first, second := render(), render()
	c := gathered(t, certificateOptions(t), first, second)
	wantFault(t, c, first["a/1"], errRound.Error())
	if c.shape(first["a/1"]) != c.shape(second["a/1"]) {
		t.Error("the shapes differ")
	}
}
