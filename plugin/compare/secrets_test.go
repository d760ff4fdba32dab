package compare

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hallmark.dev/hallmark/internal/object"
)

func secret(fields string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n" + fields
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	for _, tt := range []objectCase{
		{name: "equal", from: secret("data: {a: eA==}"), to: secret("data: {a: eA==}"), unchanged: 1},
		{name: "changed, added and removed", from: secret("data: {a: eA==, b: eA==, c: eA==}"), to: secret("data: {a: eQ==, b: eA==, d: eA==}"), want: `
			changed Secret "login"
			  ~ data.a hidden
			  - data.c hidden
			  + data.d hidden`},
		{name: "moved to data", from: secret("stringData: {a: x}"), to: secret("data: {a: eA==}"), unchanged: 1},
		{name: "moved to data, one of two", from: secret("stringData: {a: x, b: y}"), to: secret("data: {a: eA==}\nstringData: {b: z}"), want: `
			changed Secret "login"
			  ~ stringData.b hidden`},
		{name: "stringData wins", from: secret("stringData: {a: x}\ndata: {a: eQ==}"), to: secret("data: {a: eA==}"), unchanged: 1},
		{name: "base64 over several lines", from: secret("data: {a: \"aGVs\\nbG8=\\n\"}"), to: secret("data: {a: aGVsbG8=}"), unchanged: 1},
		{name: "no base64", from: secret("data: {a: \"(((\"}"), to: secret("stringData: {a: \"(((\"}"), want: `
			changed Secret "login"
			  ~ stringData.a hidden`},
		{name: "null", from: secret("data: {b: eA==}"), to: secret("data: {a: null, b: null}"), want: `
			changed Secret "login"
			  + data.a: null
			  ~ data.b hidden`},
		{name: "the first value", from: secret("type: Opaque"), to: secret("type: Opaque\nstringData: {a: x}"), want: `
			changed Secret "login"
			  + stringData.a hidden`},
		{name: "the last value", from: secret("stringData: {a: x}"), to: secret("stringData: {}"), want: `
			changed Secret "login"
			  - stringData.a hidden`},
		{name: "no mapping", from: secret("data: hunter2"), to: secret("data: hunter3"), want: `
			changed Secret "login"
			  ~ data hidden`},
		{name: "a misspelt field", from: secret("Data: {a: x}"), to: secret("Data: {a: y}\nsecrets: [z]"), want: `
			changed Secret "login"
			  ~ Data hidden
			  + secrets hidden`},
		{name: "what kubectl keeps", from: strings.Replace(secret(""), "name: login", "name: login, annotations: {kubectl.kubernetes.io/last-applied-configuration: x, b: c}", 1),
			to: strings.Replace(secret(""), "name: login", "name: login, annotations: {kubectl.kubernetes.io/last-applied-configuration: y, b: d}", 1), want: `
			changed Secret "login"
			  ~ metadata.annotations.b: c -> d
			  ~ metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"] hidden`},
		{name: "type and labels are shown", from: secret("type: a"), to: strings.Replace(secret("type: b"), "name: login", "name: login, labels: {x: z}", 1), want: `
			changed Secret "login"
			  + metadata.labels.x: z
			  ~ type: a -> b`},
		{name: "a Secret of another group is none", from: strings.Replace(secret("data: {a: x}"), "v1", "example.com/v1", 1), to: strings.Replace(secret("data: {a: z}"), "v1", "example.com/v1", 1), want: `
			changed Secret.example.com "login"
			  ~ data.a: x -> z`},
		{name: "a Secret that becomes one of another group", from: secret("data: {a: eA==}"), to: strings.Replace(secret("data: {a: eQ==}"), "v1", "example.com/v1", 1), want: `
			changed Secret.example.com "login" was Secret "login"
			  ~ apiVersion: v1 -> example.com/v1
			  ~ data.a hidden`},
	} {
		t.Run(tt.name, tt.run)
	}
}

// Two texts of a Secret differ in the keys whose values do.
func TestSecretTexts(t *testing.T) {
	t.Parallel()
	objects, _ := Objects(shop(t, secret("data: {a: eA==, b: eA==, c: eA==}\nstringData: {d: same}")), shop(t, secret("data: {a: eQ==, b: eA==, d: c2FtZQ==, e: eA==}")))
	if len(objects) != 1 {
		t.Fatalf("got %v", objects)
	}
	const head, tail = "apiVersion: v1\ndata:\n", "kind: Secret\nmetadata:\n  name: login\n"
	for name, tt := range map[string][2]string{
		"before": {string(objects[0].Before), head + "  a: (hidden)\n  b: (hidden)\n  c: (hidden)\n  d: (hidden)\n" + tail},
		"after":  {string(objects[0].After), head + "  a: (hidden, changed)\n  b: (hidden)\n  d: (hidden)\n  e: (hidden)\n" + tail},
	} {
		if diff := cmp.Diff(tt[1], tt[0]); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// No value of a Secret is in a result, whatever happens to the Secret.
func TestNoSecretValueIsShown(t *testing.T) {
	t.Parallel()
	const marker = "hunter2-marker"
	value := func(n int) string { return fmt.Sprintf("%s-%d", marker, n) }
	inBase64 := func(n int) string { return base64.StdEncoding.EncodeToString([]byte(value(n))) }
	mapping := func(pairs ...string) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		return out
	}
	variants := []map[string]any{
		{"data": mapping("a", inBase64(1), "b", inBase64(2))},
		{"data": mapping("a", inBase64(3), "c", inBase64(2))},
		{"stringData": mapping("a", value(1), "b", value(4))},
		{"data": mapping("a", value(1))}, // no base64
		{"data": value(5)},
		{"data": []any{value(5), map[string]any{"a": value(6)}}},
		{"data": map[string]any{"a": map[string]any{"b": value(7)}, "c": []any{value(8)}}},
		{"Data": mapping("a", value(9)), "stringdata": value(10)},
		{"stringData": map[string]any{"a": nil, "b": value(1)}, "data": nil},
		{},
	}
	build := func(name string, fields map[string]any, applied int) object.Object {
		v := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name}}
		for key, x := range fields {
			v[key] = x
		}
		if applied > 0 {
			v["metadata"].(map[string]any)["annotations"] = mapping(lastApplied, value(applied))
		}
		return object.Object{Value: v}
	}
	looked := 0
	for i, a := range variants {
		for j, b := range variants {
			for _, names := range [][2]string{{"login", "login"}, {"login-11111111", "login-22222222"}, {"a", "b"}} {
				objects, _ := Objects(Rendered{Objects: []object.Object{build(names[0], a, i)}}, Rendered{Objects: []object.Object{build(names[1], b, j)}})
				causes := Causes([]Application{{Name: "a", Objects: objects}, {Name: "b", Objects: objects}})
				text, err := json.Marshal(map[string]any{"objects": objects, "causes": causes})
				if err != nil {
					t.Fatal(err)
				}
				all := string(text)
				for _, o := range objects {
					all += string(o.Before) + string(o.After)
					looked++
				}
				if strings.Contains(all, marker) || strings.Contains(all, base64.StdEncoding.EncodeToString([]byte(marker))[:16]) {
					t.Fatalf("variants %d and %d as %v: %s", i, j, names, all)
				}
			}
		}
	}
	if looked < 200 {
		t.Errorf("only %d objects differ", looked)
	}
}

// A value of a Secret is hidden wherever else it stands, as is its checksum; what is
// shown anyway stays.
func TestValuesOutsideOfSecrets(t *testing.T) {
	t.Parallel()
	const value = "hunter2-marker"
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(value)))
	login := func(data string) string { return secret("stringData: {"+data+"}") + "\n---\n" }
	settings := func(text string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, annotations: {note: \"" + text + "\"}}\ndata: {a: \"" + text + "\", b: postgres}\n"
	}
	for name, tt := range map[string]struct{ from, to string }{
		"as it is":            {login("a: "+value) + settings("x"), login("a: "+value) + settings(value)},
		"on one side only":    {login("a: "+value) + settings("x"), settings(value)},
		"inside of a text":    {login("a: "+value) + settings("x"), login("a: "+value) + settings("postgres://web:"+value+"@db/shop")},
		"in base64":           {login("a: "+value) + settings("x"), login("a: "+value) + settings(base64.StdEncoding.EncodeToString([]byte(value)))},
		"its checksum":        {login("a: "+value) + settings("x"), login("a: "+value) + settings(sum)},
		"of an address":       {login("a: 'postgres://web:"+value+"@db/shop'") + settings("x"), settings(value)},
		"of a file":           {login("a: \"host: db\\npassword: '"+value+"'\\n\"") + settings("x"), settings(value)},
		"of JSON":             {login("a: '{\"auths\": {\"r\": {\"password\": \""+value+"\"}}}'") + settings("x"), settings(value)},
		"of a misspelt field": {secret("Data: {a: "+value+"}") + "\n---\n" + settings("x"), settings(value)},
		"in the annotation of the Secret": {
			login("a: " + value), strings.Replace(login("a: "+value), "name: login", "name: login, annotations: {note: "+value+"}", 1)},
		"in a label and in arguments": {login("a: " + value), login("a: "+value) +
			"apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {l: " + value + "}}\nspec: {containers: [{name: c, args: [--password=" + value + "]}]}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, sides := range [][2]string{{tt.from, tt.to}, {tt.to, tt.from}} {
				objects, _ := Objects(shop(t, sides[0]), shop(t, sides[1]))
				all := told(objects)
				for _, o := range objects {
					all += string(o.Before) + string(o.After)
				}
				if strings.Contains(all, value) || strings.Contains(all, sum) || strings.Contains(all, base64.StdEncoding.EncodeToString([]byte(value))) {
					t.Errorf("got %s", all)
				}
				if !strings.Contains(all, "(secret)") && !strings.Contains(all, "hidden") {
					t.Errorf("nothing is hidden in %s", all)
				}
			}
		})
	}
	public := login("user: postgres") + "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: 'postgres:%s'}]}\n"
	objects, _ := Objects(shop(t, fmt.Sprintf(public, "15")), shop(t, fmt.Sprintf(public, "16")))
	if got, want := told(objects), "changed Pod \"p\"\n  ~ spec.containers[c].image: postgres:15 -> postgres:16\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
