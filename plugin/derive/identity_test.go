package derive

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/object"
)

// How values are made is part of the format: a change here changes every password. The
// values were made by another program from the description in doc.go.
func TestStreamIsFixed(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	if got, want := hex.EncodeToString(read(o.stream("a", "b"), 40)), "f3a8ce187b7153e198f5d31e245b748f0734855a06eb7275d7f2690678d0a9fe903e0f847e35eaf6"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r := mustResolve(t, o, files{"s.yaml": secretOf("db", "stringData:", "  a: {{ randAlphaNum 20 }}", "  b: {{ randBytes 12 }}", "  u: {{ uuidv4 }}")})
	for name, want := range map[string]string{"a": "a7db8BJO8LJROr8XywNg", "b": "9AYhIcpnnzkvT1kG", "u": "2cfc0849-f774-4dbf-a4ad-e16eeca4d973"} {
		if got := r.text(t, "Secret/db/stringData/"+name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestStreamParts(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	whole := read(o.stream("a"), 100)
	r := o.stream("a")
	if got := slices.Concat(read(r, 1), read(r, 0), read(r, 31), read(r, 33), read(r, 35)); !bytes.Equal(got, whole) {
		t.Error("the stream depends on how it is read")
	}
	seen := map[string]string{}
	for _, identity := range [][]string{{}, {""}, {"", ""}, {"a", "b"}, {"ab"}, {"ab", ""}, {"", "ab"}, {"a\x00b"}} {
		key := string(read(o.stream(identity...), 16))
		if seen[key] != "" {
			t.Errorf("%q and %s have one stream", identity, seen[key])
		}
		seen[key] = fmt.Sprintf("%q", identity)
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	r := testOptions(t).stream("below")
	for _, n := range []uint64{1, 2, 3, 10, 62, 1 << 32, 1<<63 + 1, ^uint64(0)} {
		for range 100 {
			if got := below(r, n); got >= n {
				t.Fatalf("got %d below %d", got, n)
			}
		}
	}
	// Numbers behind the last multiple of n are left out: 2^64-1 is one for 3.
	top := bytes.NewReader(slices.Concat(bytes.Repeat([]byte{0xff}, 8), make([]byte, 7), []byte{5}))
	if got := below(top, 3); got != 2 {
		t.Errorf("got %d, want 2 of the second number", got)
	}
}

// All letters occur over many identities, and no others.
func TestAlphabets(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	for kind, k := range tokenKinds {
		if k.letters == "" {
			continue
		}
		seen := map[byte]bool{}
		for i := range 400 {
			p := piece{function: kind, size: "24"}
			value, err := p.value(o.stream(k.function, fmt.Sprint(i)))
			if err != nil || len(value) != 24 {
				t.Fatalf("got %q, %v", value, err)
			}
			for j := range len(value) {
				seen[value[j]] = true
			}
		}
		want := slices.Sorted(slices.Values([]byte(k.letters)))
		if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
			t.Errorf("%s: got letters %q, want %q", k.function, got, want)
		}
	}
	if len(printable) != 95 || len(alphaNum) != 62 || len(alphabet) != 52 {
		t.Error("an alphabet has another size than that of sprig")
	}
}

// identityChart is a chart whose value TestIdentity looks at, with replacements in it.
func identityChart(replace ...string) files {
	return files{"db.yaml": strings.NewReplacer(replace...).Replace(secretOf("db", "type: Opaque", "data:", "  password: {{ randAlphaNum 16 | b64enc }}"))}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	valueOf := func(t *testing.T, o Options, f files) string {
		t.Helper()
		r := mustResolve(t, o, f)
		for i := range r.Values {
			for _, v := range r.Values[i]["data"].(map[string]any) {
				return v.(string)
			}
		}
		t.Fatal("no value")
		return ""
	}
	base := valueOf(t, o, identityChart())
	otherSeed, err := ReadSeed("test", []byte("0123456789abcdefghijklmnopqrstuvwxyZ"))
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*Options)) Options { changed := o; change(&changed); return changed }
	moved := map[string]struct {
		o Options
		f files
	}{
		"seed":             {with(func(o *Options) { o.Seed = otherSeed }), identityChart()},
		"project":          {with(func(o *Options) { o.Scope.Project += "2" }), identityChart()},
		"destination":      {with(func(o *Options) { o.Scope.Namespace += "2" }), identityChart()},
		"application":      {with(func(o *Options) { o.Scope.App += "2" }), identityChart()},
		"generation":       {with(func(o *Options) { o.Generation = 1 }), identityChart()},
		"field generation": {with(func(o *Options) { o.Fields = map[string]int{"Secret/db/data/password": 2} }), identityChart()},
		"name":             {o, identityChart("name: db", "name: cache")},
		"namespace":        {o, identityChart("name: db", "name: db\n  namespace: other")},
		"kind":             {o, identityChart("kind: Secret", "kind: SealedSecret")},
		"group":            {o, identityChart("apiVersion: v1", "apiVersion: example.com/v1")},
		"field":            {o, identityChart("password:", "passphrase:")},
		"function":         {o, identityChart("randAlphaNum", "randAlpha")},
	}
	seen := map[string]string{base: "nothing"}
	for name, change := range moved {
		value := valueOf(t, change.o, change.f)
		if other, ok := seen[value]; ok {
			t.Errorf("after a change of %s it is the value after one of %s", name, other)
		}
		seen[value] = name
	}
	version := func(v string) string {
		return valueOf(t, o, identityChart("apiVersion: v1", "apiVersion: example.com/"+v))
	}
	if version("v1") != version("v1beta1") {
		t.Error("the version of the API changes the value")
	}
	longer := mustResolve(t, o, identityChart("16", "20")).decoded(t, "Secret/db/data/password")
	if shorter := mustResolve(t, o, identityChart()).decoded(t, "Secret/db/data/password"); strings.HasPrefix(longer, shorter) {
		t.Errorf("the longer value %q begins with the shorter one", longer)
	}

	renamed := files{"other/db.yaml": identityChart()["db.yaml"]}
	more := identityChart()
	more["a.yaml"] = configOf("a", "data:", "  x: {{ randAlphaNum 16 }}")
	more["z.yaml"] = secretOf("z", "data:", "  x: {{ randAlphaNum 16 | b64enc }}")
	more["b.yaml"] = configOf("b") + "---\n" + configOf("c")
	uses := identityChart()
	uses["db.yaml"] = "{{- $p := randAlphaNum 16 }}" + configOf("a", "data:", "  url: x://{{ $p }}@db") + "---\n" + strings.Replace(uses["db.yaml"], "randAlphaNum 16", "$p", 1)
	kept := map[string]struct {
		o Options
		f files
	}{
		"nothing":               {o, identityChart()},
		"the time":              {with(func(o *Options) { o.Now = o.Now.AddDate(1, 0, 0) }), identityChart()},
		"another field":         {with(func(o *Options) { o.Fields = map[string]int{"Secret/db/data/other": 2} }), identityChart()},
		"the template's name":   {o, renamed},
		"more objects":          {o, more},
		"a use of the value":    {o, uses},
		"another field's value": {o, identityChart("data:\n", "data:\n  first: {{ randAlphaNum 16 | b64enc }}\n")},
		"labels":                {o, identityChart("name: db", "name: db\n  labels: {a: b}")},
		"the namespace named":   {o, identityChart("name: db", "name: db\n  namespace: shop")},
		"how it is written":     {o, identityChart("{{ rand", `{{ printf "%s" (rand`, "16 |", "16) |")},
	}
	want := mustResolve(t, o, identityChart()).text(t, "Secret/db/data/password")
	for name, change := range kept {
		if got := mustResolve(t, change.o, change.f).text(t, "Secret/db/data/password"); got != want {
			t.Errorf("%s changes the value", name)
		}
	}
}

func TestListItemsByName(t *testing.T) {
	t.Parallel()
	deployment := func(env ...string) files {
		return files{"d.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    env:\n" + strings.Join(env, "")}
	}
	const token, first = "    - {name: TOKEN, value: \"{{ randAlpha 9 }}\"}\n", "    - {name: FIRST, value: x}\n"
	a, b := mustResolve(t, testOptions(t), deployment(token)), mustResolve(t, testOptions(t), deployment(first, token))
	if a.text(t, "Deployment/web/spec/containers/0/env/0/value") != b.text(t, "Deployment/web/spec/containers/0/env/1/value") {
		t.Error("a variable in front of it changes the value")
	}
	if want := []string{"Deployment.apps/web/spec/containers/[web]/env/[TOKEN]/value"}; !slices.Equal(b.Derived[0].Names, want) {
		t.Errorf("got names %q, want %q", b.Derived[0].Names, want)
	}
	twins := mustResolve(t, testOptions(t), deployment(token, strings.Replace(token, "9", "10", 1)))
	if got := twins.Derived[1].Names[0]; !strings.HasSuffix(got, "/env/1/value") {
		t.Errorf("got name %q for an item whose name is not its own", got)
	}
}

// A value in a text is told by the key in front of it: more of them in front move none.
func TestKeysInFront(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ before, after, at string }{
		"yaml":            {"  a: |\n    user: x\n    password: {{ randAlpha 9 }}", "  a: |\n    first: {{ randAlpha 9 }}\n    password: {{ randAlpha 9 }}", "password: ([A-Za-z]{9})"},
		"other text":      {"  a: |\n    user: x\n    password: {{ randAlpha 9 }}", "  a: |\n    # first\n      \"password\" : \"{{ randAlpha 9 }}\"", `password"? ?: "?([A-Za-z]{9})`},
		"properties":      {"  a: |\n    db.password={{ randAlpha 9 }}", "  a: |\n    db.first={{ randAlpha 9 }}\n    db.password = {{ randAlpha 9 }}", "db.password ?= ?([A-Za-z]{9})"},
		"shell":           {"  a: |\n    export P='{{ randAlpha 9 }}'", "  a: |\n    Q='{{ randAlpha 9 }}'\n    P='{{ randAlpha 9 }}'", "P='([A-Za-z]{9})"},
		"JSON":            {`  a: {{ dict "password" (randAlpha 9) | toJson | quote }}`, `  a: {{ dict "password" (randAlpha 9) "first" (randAlpha 9) | toPrettyJson | quote }}`, `password": ?"([A-Za-z]{9})`},
		"in base64":       {`  a: "x: 1\ny: {{ printf "p: %s" (randAlpha 9) | b64enc }}"`, `  a: "x: {{ randAlpha 9 }}\ny: {{ printf "o: %s\np: %s" (randAlpha 9) (randAlpha 9) | b64enc }}"`, `y: (.*)`},
		"two of one line": {"  a: |\n    p: {{ randAlpha 9 }} {{ randAlpha 8 }}", "  a: |\n    first: {{ randAlpha 9 }}\n    p: {{ randAlpha 9 }} {{ randAlpha 8 }}", "p: ([A-Za-z]{9})"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var found []string
			for _, line := range []string{tt.before, tt.after} {
				r := mustResolve(t, testOptions(t), files{"c.yaml": configOf("c", "data:", line)})
				text := r.text(t, "ConfigMap/c/data/a")
				m := regexp.MustCompile(tt.at).FindStringSubmatch(text)
				if m == nil {
					t.Fatalf("got %q", text)
				}
				if decoded, err := base64.StdEncoding.DecodeString(m[1]); err == nil && name == "in base64" {
					_, m[1], _ = strings.Cut(string(decoded), "p: ")
				}
				found = append(found, m[1])
			}
			if found[0] != found[1] || found[0] == "" {
				t.Errorf("got %q", found)
			}
		})
	}
}

// The home is the best of the places, whatever their order.
func TestHomes(t *testing.T) {
	t.Parallel()
	whole := secretOf("z", "data:", "  whole: {{ $p | b64enc }}")
	part := secretOf("a", "stringData:", "  part: x{{ $p }}")
	config := configOf("a", "data:", "  a: {{ $p }}")
	hook := strings.Replace(secretOf("a", "stringData:", "  whole: {{ $p }}"), "name: a", "name: a\n  annotations: {helm.sh/hook: pre-install}", 1)
	hash := configOf("A", "data:", "  a: {{ $p | sha256sum }}")
	list := "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: z}\n  stringData: {a: \"{{ $p }}\"}\n"
	for name, tt := range map[string]struct {
		documents []string
		want      string
	}{
		"whole in Secret":     {[]string{part, whole, config, hash}, "Secret/z/data/whole"},
		"part of Secret":      {[]string{config, part}, "Secret/a/data/part"},
		"not a Secret":        {[]string{config, hash}, "ConfigMap/a/data/a"},
		"hooks come last":     {[]string{hook, config}, "ConfigMap/a/data/a"},
		"only a hook":         {[]string{hook, hash}, "Secret/a/data/whole"},
		"only in a hash":      {[]string{hash}, "ConfigMap/A/data/a"},
		"an item of a List":   {[]string{config, list}, "Secret/z/data/a"},
		"the first by object": {[]string{config, strings.Replace(config, "name: a", "name: Z", 1)}, "ConfigMap/Z/data/a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var values []string
			for range 2 {
				r := mustResolve(t, testOptions(t), files{"all.yaml": "{{- $p := randAlphaNum 16 }}" + strings.Join(tt.documents, "---\n")})
				for _, d := range r.Derived {
					if !slices.Equal(d.Names, []string{tt.want}) {
						t.Errorf("%s%s has the home %q, want %s", d.Object, object.Pointer(d.Path...), d.Names, tt.want)
					}
				}
				values = append(values, r.Secrets...)
				slices.Reverse(tt.documents)
			}
			if slices.Sort(values); values[0] != values[1] && !strings.Contains(name, "hash") {
				t.Errorf("the order of objects changes the value: %q", values)
			}
		})
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for want, tt := range map[string]struct {
		id   object.ID
		path []any
	}{
		"Secret/db/data/password":      {object.ID{Kind: "Secret", Name: "db"}, []any{"data", "password"}},
		"Secret/shop/db/data/password": {object.ID{Kind: "Secret", Namespace: "shop", Name: "db"}, []any{"data", "password"}},
		"Widget.example.com/w/spec/0/a~1b~0": {object.ID{Group: "example.com", Kind: "Widget", Name: "w"},
			[]any{"spec", 0, "a/b~"}},
	} {
		if got := Name(tt.id, tt.path); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
