package decrypt

import (
	"encoding/base64"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/redact"
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
