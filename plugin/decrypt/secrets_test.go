package decrypt

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/internal/sealtest"
	"hallmark.dev/hallmark/plugin/source"
)

// A value is known with what an engine or a template can take out of it.
func TestRemember(t *testing.T) {
	t.Parallel()
	registry := base64.StdEncoding.EncodeToString([]byte(`{"auths": {"registry.example.com": {"auth": "` + base64.StdEncoding.EncodeToString([]byte("shop:zw9kqx")) + `"}}}`))
	for name, tt := range map[string]struct {
		value any
		known []string
		not   string // a part that is no secret
	}{
		"text":                    {"zw9kqx", []string{"zw9kqx"}, "zw9"},
		"number":                  {47110815, []string{"47110815", "4.7110815e+07"}, "4711"},
		"boolean":                 {true, nil, "true"},
		"base64":                  {base64.StdEncoding.EncodeToString([]byte("zw9kqx")), []string{"zw9kqx"}, ""},
		"JSON":                    {`{"user": "shop", "password": "zw9\"kqx", "pin": 90417265, "on": true}`, []string{"zw9\"kqx", "90417265"}, "password"},
		"JSON in YAML":            {"config: |\n  {\"password\": \"zw9kqx\"}\n", []string{"zw9kqx"}, "password"},
		"two documents":           {"a: 1\n---\nb: [zw9kqx]\n", []string{"zw9kqx"}, ""},
		"registry":                {registry, []string{"zw9kqx", "shop:zw9kqx"}, "registry.example.com"},
		"address":                 {"postgres://shop:zw9%2Fkqx@db.example.com/shop?sslmode=require", []string{"zw9%2Fkqx", "zw9/kqx", "shop:zw9%2Fkqx"}, "db.example.com"},
		"address without scheme":  {"shop:zw9kqx@tcp(db:3306)/shop", []string{"zw9kqx"}, "tcp(db:3306)"},
		"words of a database":     {"host=db user=shop password=zw9kqx sslmode=require", []string{"zw9kqx"}, "sslmode"},
		"query":                   {"https://example.com/hook?channel=shop&token=zw9kqx&x=1", []string{"zw9kqx"}, "channel"},
		"dotenv":                  {"A=zw9kqx\nB='xk2 wqz'\n", []string{"zw9kqx", "xk2 wqz"}, ""},
		"broken YAML":             {"a: [\n  - \"zw9 kqx\\ty\"\n  - *xk2wqz7\n 'vb8 nhy'", []string{"zw9 kqx\ty", "xk2wqz7", "vb8 nhy"}, ""},
		"words of a template":     {"{{ define \"x\" }}{{ fail \"zw9\\u0026kqx\" }}{{ fail `xk2-wqz` }}{{ end }}", []string{"zw9&kqx", "xk2-wqz"}, "define"},
		"base64 in what is none":  {"x {{ [ d2hvIGtub3dzIGl0 ] =\n : [", []string{"who knows it"}, ""},
		"a quote that is no pair": {"it's zw9kqx12: [\n", []string{"zw9kqx12"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var secrets redact.Values
			remember(&secrets, tt.value)
			for _, known := range tt.known {
				if got := secrets.Text("got <" + known + ">"); got != "got <(secret)>" {
					t.Errorf("%q is not known: %s", known, got)
				}
			}
			if got := secrets.Text(tt.not); strings.Contains(got, "(secret)") {
				t.Errorf("%q is taken for a secret: %s", tt.not, got)
			}
		})
	}
}

// What stands in text that stands in text ends somewhere.
func TestRememberEnds(t *testing.T) {
	t.Parallel()
	text := "password: zw9kqx"
	for range 30 {
		text = base64.StdEncoding.EncodeToString([]byte(text))
	}
	var secrets redact.Values
	remember(&secrets, text)
	if got := secrets.Text(text[:100] + "..."); !strings.HasPrefix(got, "(secret)") {
		t.Errorf("got %s", got)
	}
}

// What is made to take long: with a search that begins anew at each quote, with
// aliases that are followed or with one that has no end this test would not end.
func TestRememberMuch(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"escaped quotes":        "x:" + strings.Repeat(`\"`, 1_000_000),
		"quotes with no text":   "x:\"" + strings.Repeat(`\q\"`, 500_000) + "\"",
		"other quotes":          "x:" + strings.Repeat("'`", 1_000_000),
		"addresses":             strings.Repeat("a:b@", 250_000),
		"no address":            strings.Repeat("a:b=", 250_000),
		"nested":                "a: " + strings.Repeat("[", 60_000),
		"nested, and ends":      "a: " + strings.Repeat("[", 30_000) + strings.Repeat("]", 30_000),
		"base64 in base64 in -": base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a: b\n", 100_000))))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var secrets redact.Values
			remember(&secrets, text)
			remember(&secrets, text)
			if got := secrets.Text("<" + text[:40] + "...>"); strings.Contains(got, text[:40]) {
				t.Errorf("got %s", got)
			}
		})
	}
	t.Run("aliases", func(t *testing.T) {
		t.Parallel()
		var secrets redact.Values
		for n := range 3000 {
			bomb := fmt.Sprintf("password: zw9kqx-%d\na: &a [x,x,x,x,x,x,x,x,x]\n", n)
			for c := 'b'; c < 'k'; c++ {
				bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
			}
			remember(&secrets, bomb)
		}
		if got := secrets.Text("got zw9kqx-77"); got != "got (secret)" {
			t.Errorf("got %s", got)
		}
	})
}

// What identifies an object is no secret, if it is nothing else.
func TestIdentity(t *testing.T) {
	t.Parallel()
	const secret = `apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata:
  name: shop-db
  generateName: shop-generated
  namespace: shop-prod
  labels:
    app: webshop
    team: payments
  annotations:
    note: annotated
stringData:
  user: payments
  password: zw9kqx
  kind: hidden-kind
`
	item := "  - " + strings.ReplaceAll(strings.TrimSpace(secret), "\n", "\n    ") + "\n"
	public := []string{"v1", "Secret", "kubernetes.io/tls", "shop-db", "shop-generated", "shop-prod", "webshop", "metadata:", "name: shop-db"}
	secrets := []string{"zw9kqx", "payments", "annotated", "hidden-kind"}
	for name, tt := range map[string]struct {
		format, text string
		public, not  []string
	}{
		"a Secret":             {"yaml", secret, public, secrets},
		"JSON":                 {"json", `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shop-db"}, "data": {"a": "zw9kqx"}}`, []string{"Secret", "shop-db"}, []string{"zw9kqx"}},
		"two":                  {"yaml", secret + "---\n" + strings.ReplaceAll(secret, "shop-db", "other-db"), append([]string{"other-db"}, public...), secrets},
		"a List":               {"yaml", "apiVersion: v1\nkind: List\nitems:\n" + item, append([]string{"List"}, public...), secrets},
		"binary":               {"binary", secret, public, secrets},
		"binary, a List":       {"binary", "apiVersion: v1\nkind: List\nitems:\n" + item, append([]string{"List"}, public...), secrets},
		"in a value":           {"yaml", "manifest: |\n  " + strings.ReplaceAll(secret, "\n", "\n  "), public, secrets},
		"no object":            {"yaml", "kind: hidden-kind\nmetadata: {name: shop-db}\n", nil, []string{"hidden-kind", "shop-db"}},
		"not all are objects":  {"yaml", secret + "---\nkind: other-kind\n", nil, append([]string{"shop-db", "other-kind"}, secrets...)},
		"items, not of a List": {"yaml", "apiVersion: v1\nkind: Shop\nitems:\n  - metadata:\n      name: hidden-name\n", []string{"Shop"}, []string{"hidden-name"}},
		"items in a document":  {"binary", "apiVersion: v1\nkind: Shop\nitems:\n  - metadata:\n      name: hidden-name\n", []string{"Shop"}, []string{"hidden-name"}},
		"secret in one of two": {"binary", secret + "---\na: shop-db\n", []string{"webshop"}, []string{"shop-db", "zw9kqx"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := sealtest.NewKey(t)
			var known redact.Values
			fsys := New(source.Memory(map[string]string{"a.enc": sealtest.Seal(t, tt.format, tt.text, key)}).View(), Options{Keys: Keys{Paths: []string{key.File}}, Secrets: &known})
			if _, err := fs.ReadFile(fsys, "a.enc"); err != nil {
				t.Fatal(err)
			}
			for _, word := range tt.public {
				if got := known.Text("got " + word); got != "got "+word {
					t.Errorf("%q is taken for a secret", word)
				}
			}
			for _, word := range tt.not {
				if got := known.Text("got " + word); got != "got (secret)" {
					t.Errorf("%q is no secret", word)
				}
			}
		})
	}
}
