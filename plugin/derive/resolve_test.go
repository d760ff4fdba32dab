package derive

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"hallmark.dev/hallmark/internal/object"
)

func secretOf(name string, lines ...string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata:\n  name: " + name + "\n" + strings.Join(lines, "\n") + "\n"
}

func configOf(name string, lines ...string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n" + strings.Join(lines, "\n") + "\n"
}

func wantMatch(t *testing.T, what, value, pattern string) {
	t.Helper()
	if !regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(value) {
		t.Errorf("%s is %q, want %s", what, value, pattern)
	}
}

func TestKindsOfValues(t *testing.T) {
	t.Parallel()
	for call, pattern := range map[string]string{
		`randAlphaNum 16`:                `[0-9A-Za-z]{16}`,
		`randAlphaNum 300`:               `[0-9A-Za-z]{300}`,
		`randAlphaNum 16 | lower`:        `[0-9a-z]{16}`,
		`randAlphaNum 16 | upper`:        `[0-9A-Z]{16}`,
		`randAlpha 9`:                    `[A-Za-z]{9}`,
		`randAlpha 9 | upper`:            `[A-Z]{9}`,
		`randNumeric 6`:                  `[0-9]{6}`,
		`randAscii 24`:                   `[ -~]{24}`,
		`randBytes 32`:                   `[0-9A-Za-z+/]{43}=`,
		`randBytes 20`:                   `[0-9A-Za-z+/]{27}=`,
		`uuidv4`:                         `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`,
		`uuidv4 | upper`:                 `[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}`,
		`randInt 30000 32768 | toString`: `3[0-2][0-9]{3}`,
		`randInt -9 -5 | toString`:       `-[6-9]`,
		`randAlphaNum 16 | sha256sum`:    `[0-9a-f]{64}`,
		`randAlphaNum 16 | sha1sum`:      `[0-9a-f]{40}`,
		`randAlpha 8 | sha512sum`:        `[0-9a-f]{128}`,
		`randAlpha 8 | adler32sum`:       `[0-9]{1,10}`,
		`printf "ab%s%s" (randAlpha 4) (randNumeric 4) | shuffle`: `[0-9A-Za-z]{10}`,
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			f := files{"s.yaml": secretOf("db", "data:", "  encoded: {{ "+call+" | b64enc }}", "  twice: {{ "+call+" | b64enc | b64enc }}",
				"stringData:", "  plain: {{ "+call+" | toJson }}", "  quoted: {{ "+call+" | quote }}")}
			r := mustResolve(t, testOptions(t), f)
			plain, inBase64 := r.text(t, "Secret/db/stringData/plain"), r.decoded(t, "Secret/db/data/encoded")
			wantMatch(t, "plain", plain, pattern)
			wantMatch(t, "encoded", inBase64, pattern)
			wantMatch(t, "quoted", r.text(t, "Secret/db/stringData/quoted"), pattern)
			if plain == inBase64 && !strings.Contains(call, "-9") {
				t.Errorf("two fields have the value %q", plain)
			}
			if again := mustResolve(t, testOptions(t), f).text(t, "Secret/db/stringData/plain"); again != plain {
				t.Errorf("got %q, then %q", plain, again)
			}
			if n := len(r.Derived); n != 4 {
				t.Errorf("%d fields are derived, want 4", n)
			}
		})
	}
}

func TestSharedValueIsOne(t *testing.T) {
	t.Parallel()
	f := files{
		"all.yaml": `{{- $p := randAlphaNum 12 }}{{ $q := randAlphaNum 12 }}` +
			secretOf("db", "data:", "  password: {{ $p | b64enc }}", "  other: {{ $q | b64enc }}",
				`  doc: {{ printf "{\"url\":\"x://%s@db\",\"key\":\"%s\"}" $p $q | b64enc }}`,
				`  twice: {{ printf "p=%s" ($p | b64enc) | b64enc }}`) + "---\n" +
			configOf("db", "data:", "  url: postgres://app:{{ $p }}@db:5432/app", "  config: |", "    [db]", "    password = {{ $p | b64enc }}", "    other={{ $q }}"),
	}
	r := mustResolve(t, testOptions(t), f)
	p, q := r.decoded(t, "Secret/db/data/password"), r.decoded(t, "Secret/db/data/other")
	if p == q {
		t.Errorf("two values that look alike are one: %q", p)
	}
	if got, want := r.text(t, "ConfigMap/db/data/url"), "postgres://app:"+p+"@db:5432/app"; got != want {
		t.Errorf("got url %q, want %q", got, want)
	}
	if got, want := r.text(t, "ConfigMap/db/data/config"), "[db]\npassword = "+r.text(t, "Secret/db/data/password")+"\nother="+q+"\n"; got != want {
		t.Errorf("got config %q, want %q", got, want)
	}
	if got, want := r.decoded(t, "Secret/db/data/twice"), "p="+r.text(t, "Secret/db/data/password"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var doc map[string]string
	if err := json.Unmarshal([]byte(r.decoded(t, "Secret/db/data/doc")), &doc); err != nil || doc["url"] != "x://"+p+"@db" || doc["key"] != q {
		t.Errorf("got %v, %v", doc, err)
	}
	if want := []string{p, q}; !slices.Equal(r.Secrets, slices.Sorted(slices.Values(want))) {
		t.Errorf("got secrets %q, want %q", r.Secrets, want)
	}
	for _, d := range r.Derived {
		if d.Path[1] == "url" && !slices.Equal(d.Names, []string{"Secret/db/data/password"}) {
			t.Errorf("the url has the names %q", d.Names)
		}
	}
}

func TestLoop(t *testing.T) {
	t.Parallel()
	r := mustResolve(t, testOptions(t), files{"s.yaml": secretOf("nodes", "stringData:",
		`{{- range $i := until 5 }}`, `  node-{{ $i }}: {{ randAlphaNum 10 }}`, `{{- end }}`, `  all: "{{ range until 3 }}{{ randAlphaNum 10 }},{{ end }}"`)})
	seen := map[string]bool{}
	for key, v := range r.value(t, "Secret/nodes/stringData").(map[string]any) {
		for _, part := range strings.FieldsFunc(v.(string), func(c rune) bool { return c == ',' }) {
			wantMatch(t, key, part, `[0-9A-Za-z]{10}`)
			seen[part] = true
		}
	}
	if len(seen) != 8 {
		t.Errorf("%d different values, want 8", len(seen))
	}
}

func TestNumbersStayNumbers(t *testing.T) {
	t.Parallel()
	f := files{"s.yaml": configOf("ports", "spec:", "  port: {{ randInt 30000 32768 }}", `  text: "{{ randInt 30000 32768 }}"`,
		"  pin: {{ randNumeric 6 }}", "  low: 7{{ randNumeric 3 }}", "  sum: {{ randAlpha 8 | adler32sum }}")}
	for range 20 { // the first digit of the plain render may be 0
		r := mustResolve(t, testOptions(t), f)
		port, isNumber := r.value(t, "ConfigMap/ports/spec/port").(int64)
		if !isNumber || port < 30000 || port >= 32768 {
			t.Fatalf("got port %v", r.value(t, "ConfigMap/ports/spec/port"))
		}
		wantMatch(t, "text", r.text(t, "ConfigMap/ports/spec/text"), `3[0-9]{4}`)
		for _, name := range []string{"pin", "low", "sum"} {
			if _, ok := r.value(t, "ConfigMap/ports/spec/"+name).(int64); !ok {
				t.Fatalf("%s is %T, want a number", name, r.value(t, "ConfigMap/ports/spec/"+name))
			}
		}
	}
}

func TestHashesOfPasswords(t *testing.T) {
	t.Parallel()
	r := mustResolve(t, testOptions(t), files{"s.yaml": `{{- $p := randAlphaNum 20 }}` + secretOf("web", "stringData:",
		"  password: {{ $p }}", `  auth: {{ htpasswd "admin" $p | quote }}`, `  hash: "{{ bcrypt $p }}"`,
		`  known: {{ htpasswd "guest" "letmein" }}`, `  users: {{ printf "a\n%s\n" (htpasswd "b" $p) | b64enc }}`)})
	password := r.text(t, "Secret/web/stringData/password")
	user, hash, _ := strings.Cut(r.text(t, "Secret/web/stringData/auth"), ":")
	if err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)); err != nil || user != "admin" {
		t.Errorf("%s: %v", user, err)
	}
	other := r.text(t, "Secret/web/stringData/hash")
	if err := bcrypt.CompareHashAndPassword([]byte(other), []byte(password)); err != nil || other == hash {
		t.Errorf("%v, hashes %s and %s", err, hash, other)
	}
	known := strings.TrimPrefix(r.text(t, "Secret/web/stringData/known"), "guest:")
	if err := bcrypt.CompareHashAndPassword([]byte(known), []byte("letmein")); err != nil {
		t.Error(err)
	}
	lines := strings.Split(r.decoded(t, "Secret/web/stringData/users"), "\n")
	if err := bcrypt.CompareHashAndPassword([]byte(strings.TrimPrefix(lines[1], "b:")), []byte(password)); err != nil || lines[0] != "a" {
		t.Errorf("%v in %q", err, lines)
	}
	if !slices.Equal(r.Secrets, []string{password}) {
		t.Errorf("got secrets %q, want the password only", r.Secrets)
	}
	if got := r.reasons()["Secret/web/stringData/auth"]; got != "bcrypt" {
		t.Errorf("got reason %q", got)
	}
}

func TestChecksumFollowsFile(t *testing.T) {
	t.Parallel()
	f := files{
		"secret.yaml": "\n" + secretOf("db", "data:", "  password: {{ randAlphaNum 16 | b64enc }}", `  hash: {{ bcrypt "x" | b64enc }}`),
		"config.yaml": configOf("db", "metadata:", `  name: db`, "data:", "  id: {{ uuidv4 }}",
			`  sum: {{ include "secret.yaml" . | sha256sum }}`),
		"web.yaml": configOf("web", "data:", `  secret: {{ include "secret.yaml" . | sha256sum }}`, `  trimmed: {{ include "secret.yaml" . | trim | sha256sum }}`,
			`  config: {{ include "config.yaml" . | sha256sum }}`, `  free: {{ printf "x%s" (randAlpha 8) | sha256sum }}`),
	}
	f["config.yaml"] = configOf("db", "data:", "  id: {{ uuidv4 }}", `  sum: {{ include "secret.yaml" . | sha256sum }}`)
	o := testOptions(t)
	r := mustResolve(t, o, f)
	sum := func(s string) string { b := sha256.Sum256([]byte(s)); return hex.EncodeToString(b[:]) }
	secret := strings.NewReplacer("{{ randAlphaNum 16 | b64enc }}", r.text(t, "Secret/db/data/password"),
		`{{ bcrypt "x" | b64enc }}`, r.text(t, "Secret/db/data/hash")).Replace(f["secret.yaml"])
	config := strings.NewReplacer("{{ uuidv4 }}", r.text(t, "ConfigMap/db/data/id"),
		`{{ include "secret.yaml" . | sha256sum }}`, sum(secret)).Replace(f["config.yaml"])
	for name, want := range map[string]string{
		"ConfigMap/web/data/secret": sum(secret), "ConfigMap/web/data/trimmed": sum(strings.TrimSpace(secret)),
		"ConfigMap/db/data/sum": sum(secret), "ConfigMap/web/data/config": sum(config),
	} {
		if got := r.text(t, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := r.reasons()["ConfigMap/web/data/config"]; got != "checksum" {
		t.Errorf("got reason %q", got)
	}
	// It moves when what it is made of does, and only then.
	o.Fields = map[string]int{"ConfigMap/db/data/id": 1}
	moved := mustResolve(t, o, f)
	for name, moves := range map[string]bool{
		"ConfigMap/db/data/id": true, "ConfigMap/web/data/config": true, "ConfigMap/web/data/secret": false,
		"ConfigMap/web/data/free": false, "Secret/db/data/password": false, "ConfigMap/db/data/sum": false,
	} {
		if (moved.text(t, name) != r.text(t, name)) != moves {
			t.Errorf("%s moves: want %v", name, moves)
		}
	}
	o.Fields = map[string]int{"ConfigMap/web/data/free": 1}
	if moved := mustResolve(t, o, f); moved.text(t, "ConfigMap/web/data/free") == r.text(t, "ConfigMap/web/data/free") {
		t.Error("a value that lives in a hash does not move")
	}
}

func TestTimeAndOrder(t *testing.T) {
	t.Parallel()
	r := mustResolve(t, testOptions(t), files{"s.yaml": configOf("t", "data:", `  at: "{{ now | unixEpoch }}"`, `  year: {{ now.Year }}`,
		`  sum: {{ now | toString | sha256sum }}`, `  both: {{ now.Unix }}-{{ randAlpha 9 }}`,
		`  list: {{ values (dict "a" "one" "b" "two" "c" "three" "d" "four" "e" "five" "f" "six" "g" "seven" "h" "eight" "i" "nine" "j" "ten") | join "," }}`)}, Field{0, []any{"data", "list"}})
	for name, want := range map[string]any{"at": "946728000", "year": int64(2000), "list": "eight,five,four,nine,one,seven,six,ten,three,two"} {
		if got := r.value(t, "ConfigMap/t/data/"+name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	reasons := r.reasons()
	for name, want := range map[string]string{"list": "order", "both": "randAlpha", "sum": "checksum", "at": "now"} {
		if got := reasons["ConfigMap/t/data/"+name]; got != want {
			t.Errorf("%s: got reason %q, want %q", name, got, want)
		}
	}
	wantMatch(t, "both", r.text(t, "ConfigMap/t/data/both"), `946728000-[A-Za-z]{9}`)
}

func TestRefused(t *testing.T) {
	t.Parallel()
	const noForm = "its value does not have the form of what the random functions print"
	const lost = "the template makes something else of a random value than the text that it prints"
	for name, tt := range map[string]struct{ text, at, reason string }{
		"cut":            {configOf("c", "data:", "  v: {{ randAlphaNum 40 | trunc 20 }}"), "/data/v", "the template cuts the random value"},
		"cut short":      {configOf("c", "data:", "  v: {{ randAlphaNum 40 | trunc 4 }}"), "/data/v", lost},
		"cut in front":   {configOf("c", "data:", "  v: {{ randAlphaNum 40 | trunc -8 }}"), "/data/v", "the template cuts the random value"},
		"cut hash":       {configOf("c", "data:", "  v: {{ randAlphaNum 40 | sha256sum | trunc 63 }}"), "/data/v", "the template cuts the random value"},
		"cut base64":     {configOf("c", "data:", "  v: {{ randAlphaNum 40 | b64enc | trunc 32 }}"), "/data/v", "the template cuts the random value"},
		"name":           {configOf("c-{{ randAlpha 5 | lower }}"), "/metadata/name", "a name is an identity: it must not be random, or depend on the time"},
		"name by time":   {configOf("c-{{ now.UnixNano }}"), "/metadata/name", "a name is an identity: it must not be random, or depend on the time"},
		"template name":  {configOf("c", "template:", "  metadata:", "    name: {{ uuidv4 }}"), "/template/metadata/name", "a name is an identity: it must not be random, or depend on the time"},
		"key":            {configOf("c", "data:", "  {{ randAlpha 20 }}: x"), "/data", "a random value is the name of a field in it"},
		"part of number": {configOf("c", "data:", "  v: {{ randInt 1 90000 | toString | len | add (randInt 1 90000) }}"), "/data/v", lost},
		"number in text": {configOf("c", "data:", "  v: {{ randAlpha 5 }}-{{ randInt 1 90000 | mul 7 }}"), "/data/v", noForm},
		"number":         {configOf("c", "data:", "  v: {{ randInt 1 900000 | mul 7 }}"), "/data/v", lost},
		"unknown":        {configOf("c", "data:", `  v: {{ encryptAES "0123456789abcdef" "x" }}`), "/data/v", "it differs from render to render in a way that no random function of the templates explains"},
		"title":          {configOf("c", "data:", "  v: {{ randAlpha 20 | untitle }}x"), "/data/v", "the template changes single letters of the random value"},
		"ascii in text":  {configOf("c", "data:", "  v: {{ printf \"a%sb\" (randAscii 20) | toJson }}"), "/data/v", "randAscii stands inside a text that is not known to take all of its letters"},
		"two passwords":  {configOf("c", "data:", "  v: {{ randAlpha 8 | b64enc | replace \"=\" \"\" }}{{ randAlpha 9 | b64enc }}"), "/data/v", Unexplained},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := resolve(t, testOptions(t), files{"c.yaml": tt.text})
			i := slices.IndexFunc(r.Refused, func(x Refused) bool { return object.Pointer(x.Path...) == tt.at })
			if i < 0 || r.Refused[i].Reason != tt.reason {
				t.Errorf("got refused %v, want %s: %s", r.Refused, tt.at, tt.reason)
			}
			if len(r.Derived) > 0 {
				t.Errorf("derived %v", r.Derived)
			}
		})
	}
}

func TestRefusesOtherDocuments(t *testing.T) {
	t.Parallel()
	f := files{"c.yaml": configOf("a", "data:", "  v: {{ randAlpha 9 }}") + "---\n" + configOf("b")}
	r := f.renders(t)
	for name, change := range map[string]func(*Renders){
		"fewer": func(r *Renders) { r.First.Documents = r.First.Documents[:1] },
		"more": func(r *Renders) {
			r.Second.Documents = append(slices.Clone(r.Second.Documents), Document{Template: "c.yaml"})
		},
		"kind": func(r *Renders) {
			r.Second.Documents = slices.Clone(r.Second.Documents)
			r.Second.Documents[1].Value = map[string]any{"kind": "Secret"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := r
			change(&changed)
			out, err := Resolve(t.Context(), testOptions(t), changed, []Field{{0, []any{"data", "v"}}})
			if err != nil || len(out.Refused) != 1 || len(out.Derived) > 0 || !strings.Contains(out.Refused[0].Reason, `"c.yaml"`) {
				t.Errorf("got %+v, %v", out, err)
			}
		})
	}
}

func TestShuffle(t *testing.T) {
	t.Parallel()
	const text = "abcdefghijklmnopqrstuvwxyzäöü"
	o, seen := testOptions(t), map[string]bool{}
	for i := range 20 {
		got := shuffle(text, o.stream("shuffle", strconv.Itoa(i)))
		letters := []rune(got)
		slices.Sort(letters)
		if string(letters) != text {
			t.Fatalf("%q has other letters", got)
		}
		seen[got] = true
	}
	if len(seen) != 20 || seen[text] {
		t.Errorf("got %d orders", len(seen))
	}
}

// A hash can be what a Secret is about; elsewhere it is no secret.
func TestHashesAsSecrets(t *testing.T) {
	t.Parallel()
	r := mustResolve(t, testOptions(t), files{"s.yaml": secretOf("a", "data:", "  key: {{ randAlpha 4 | sha256sum | b64enc }}", `  fixed: {{ sha256sum "x" | b64enc }}`) + "---\n" +
		configOf("a", "data:", "  sum: {{ randAlpha 4 | sha256sum }}")})
	if want := []string{r.decoded(t, "Secret/a/data/key")}; !slices.Equal(r.Secrets, want) {
		t.Errorf("got secrets %q, want %q", r.Secrets, want)
	}
}

// A short random value can be the same in all renders of the proof.
func TestFrameCountsAsUnstable(t *testing.T) {
	t.Parallel()
	r := files{"c.yaml": configOf("a", "data:", `  v: "{{ randInt 0 2 }}"`)}.renders(t)
	out, err := Resolve(t.Context(), testOptions(t), r, nil)
	if err != nil || len(out.Derived) != 1 {
		t.Errorf("got %+v, %v", out, err)
	}
}

// Whether base64 has padding shows in the plain render only, where a frame needs none.
func TestPadding(t *testing.T) {
	t.Parallel()
	r := mustResolve(t, testOptions(t), files{"s.yaml": secretOf("a", "stringData:",
		`  with: {{ randAlphaNum 16 | b64enc }}`, `  without: {{ randAlphaNum 16 | b64enc | replace "=" "" }}`,
		`  other: {{ randAlphaNum 7 | b64enc }}`, `  bare: {{ randAlphaNum 7 | b64enc | trimSuffix "=" | trimSuffix "=" }}`)})
	for name, pattern := range map[string]string{
		"with": `[0-9A-Za-z]{22}==`, "without": `[0-9A-Za-z]{22}`, "other": `[0-9A-Za-z]{10}==`, "bare": `[0-9A-Za-z]{10}`,
	} {
		wantMatch(t, name, r.text(t, "Secret/a/stringData/"+name), pattern)
	}
}

// handMade are renders of one field.
func handMade(plain, first, second any) Renders {
	of := func(v any) Render {
		return Render{Documents: []Document{{"c.yaml", map[string]any{"kind": "ConfigMap", "data": map[string]any{"v": v}}}}}
	}
	return Renders{Plain: of(plain), First: of(first), Second: of(second)}
}

func TestHandMade(t *testing.T) {
	t.Parallel()
	frame := printedFrame
	a, b := oneNonce, otherNonce
	for name, tt := range map[string]struct {
		plain, first, second any
		want                 string // of the value, "" if it is refused
	}{
		"letters that were a number by chance": {int64(12), frame("a2", a), frame("a2", b), `[0-9A-Za-z]{2}`},
		"letters that were true by chance":     {true, frame("l4", a), frame("l4", b), `[A-Za-z]{4}`},
		"letters in text that was a number":    {int64(5), "x" + frame("a2", a), "x" + frame("a2", b), ""},
		"another length":                       {"abc", frame("a2", a), frame("a2", b), ""},
		"another alphabet":                     {"a.", frame("a2", a), frame("a2", b), ""},
		"another text":                         {"y=ab", "x=" + frame("a2", a), "x=" + frame("a2", b), ""},
		"no text at all":                       {nil, "x" + frame("a2", a), "x" + frame("a2", b), ""},
		"one value, then two":                  {"ab-ab", frame("a2", a) + "-" + frame("a2", a), frame("a2", b) + "-" + frame("a2", a), ""},
		"two values, then one":                 {"ab-cd", frame("a2", a) + "-" + frame("a2", b), frame("a2", b) + "-" + frame("a2", b), ""},
		"one value":                            {"ab-ab", frame("a2", a) + "-" + frame("a2", a), frame("a2", b) + "-" + frame("a2", b), `(..)-(..)`},
		"another function":                     {"ab", frame("a2", a), frame("l2", b), ""},
		"a number in the next render":          {"ab", frame("a2", a), int64(5), ""},
		"a list in the next render":            {"ab", frame("a2", a), []any{}, ""},
		"too long":                             {"ab", frame("a1000000", a), frame("a1000000", b), ""},
		"no range":                             {"5", frame("i5to5", a), frame("i5to5", b), ""},
		"a printable in quotes":                {`{"a":"\"!"}`, `{"a":"` + frame("p2", a) + `"}`, `{"a":"` + frame("p2", b) + `"}`, `\{"a":"(?:[^"\\]|\\.){2}"\}`},
		"binary beside it": {
			"AP+JYWI=", b64("\x00\xff\x89" + frame("a2", a)), b64("\x00\xff\x89" + frame("a2", b)), `AP\+J[A-Za-z0-9+/]{3}=`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := Resolve(t.Context(), testOptions(t), handMade(tt.plain, tt.first, tt.second), []Field{{0, []any{"data", "v"}}})
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				if len(out.Refused) != 1 || len(out.Derived) > 0 || len(out.Values) > 0 {
					t.Errorf("got %+v", out)
				}
				return
			}
			value, ok := object.Field(out.Values[0], "data", "v").(string)
			if !ok {
				t.Fatalf("got %+v", out)
			}
			wantMatch(t, "the value", value, tt.want)
			if len(out.Secrets) > 0 {
				t.Errorf("values of a few letters are secrets: %q", out.Secrets)
			}
		})
	}
}

func TestValuesStayAsTheyWere(t *testing.T) {
	t.Parallel()
	r := files{"s.yaml": secretOf("a", "stringData:", "  a: {{ randAlpha 9 }}", "  b: {stay: [1, x]}")}.renders(t)
	before := object.Text(object.Field(r.Plain.Documents[0].Value, "stringData", "a"))
	out, err := Resolve(t.Context(), testOptions(t), r, nil)
	if err != nil || object.Text(object.Field(r.Plain.Documents[0].Value, "stringData", "a")) != before {
		t.Errorf("the plain render is changed: %v", err)
	}
	if got := object.Field(out.Values[0], "stringData", "a"); got == before || len(out.Values) != 1 {
		t.Errorf("got %v", out.Values)
	}
	if _, err := Resolve(t.Context(), Options{}, r, nil); err == nil {
		t.Error("derived without a seed")
	}
	if _, err := Resolve(t.Context(), testOptions(t), r, []Field{{1, nil}}); err == nil {
		t.Error("a field of a document that is not there")
	}
}

// What a hash is over stands for a file only where its values are nowhere else.
func TestShownValueStandsForItself(t *testing.T) {
	t.Parallel()
	render := func(a, b string) Render {
		frame := func(nonce string) string { return printedFrame("a16", nonce) }
		return Render{
			Documents: []Document{{"c.yaml", map[string]any{"kind": "ConfigMap", "data": map[string]any{
				"a": frame(a), "b": frame(b), "sum": ComputedFrame("sha256", "x: "+frame(a)),
			}}}},
			Texts: map[string]string{"other.yaml": "x: " + frame(b)},
		}
	}
	r := Renders{First: render(oneNonce, otherNonce), Second: render(strings.Repeat("5", 27), strings.Repeat("4", 27))}
	r.Plain.Documents = []Document{{"c.yaml", map[string]any{"kind": "ConfigMap", "data": map[string]any{
		"a": strings.Repeat("a", 16), "b": strings.Repeat("b", 16), "sum": strings.Repeat("0", 64),
	}}}}
	out, err := Resolve(t.Context(), testOptions(t), r, nil)
	if err != nil || len(out.Refused) > 0 {
		t.Fatalf("got %+v, %v", out, err)
	}
	data := object.Mapping(out.Values[0]["data"])
	sum := sha256.Sum256([]byte("x: " + object.Text(data["a"])))
	if data["sum"] != hex.EncodeToString(sum[:]) || data["a"] == data["b"] {
		t.Error("the hash is over the value of another field")
	}
}
