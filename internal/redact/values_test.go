package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/redact"
)

func values(secrets ...string) *redact.Values {
	v := &redact.Values{}
	for _, secret := range secrets {
		v.Add(secret)
	}
	return v
}

func TestText(t *testing.T) {
	t.Parallel()
	const odd = "p\"a's\\s<w>é\tö&/rd"
	const pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\n  hkiG9w0BAQEF  \n-----END KEY-----\n"
	long := strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyz!", 9)
	for _, test := range []struct {
		name     string
		secrets  []string
		in, want string
	}{
		{"nothing known", nil, "hunter2", "hunter2"},
		{"nothing there", []string{"hunter2"}, "line 2: hunter", "line 2: hunter"},
		{"raw", []string{"hunter2"}, "got hunter2, want hunter22", "got (secret), want (secret)2"},
		{"at both ends", []string{"hunter2"}, "hunter2 and hunter2", "(secret) and (secret)"},
		{"longest first", []string{"hunter2", "hunter2000"}, "hunter2000", "(secret)"},
		{"overlapping", []string{"abcdefgh", "efghijkl"}, "<abcdefghijkl>", "<(secret)>"},
		{"one inside the other", []string{"abcdefghij", "cdef"}, "<abcdefghij>", "<(secret)>"},
		{"side by side", []string{"hunter2"}, "<hunter2hunter2>", "<(secret)>"},
		{"overlapping itself", []string{"abcabc"}, "<abcabcabc>", "<(secret)>"},
		{"upper and lower", []string{"Hunter2"}, "HUNTER2 hunter2 hUNTER2", "(secret) (secret) hUNTER2"},
		{"trimmed", []string{" hunter2\n"}, "got hunter2:", "got (secret):"},
		{"lines", []string{pem}, "2: MIIEvQIBADANBgkq\n4:   hkiG9w0BAQEF", "2: (secret)\n4:   (secret)"},
		{"a short line stays", []string{"hunter2\nabc\n"}, "abc 'abc'", "abc 'abc'"},

		{"go quoted", []string{odd}, fmt.Sprintf("got %q", odd), `got "(secret)"`},
		{"go quoted, ASCII", []string{odd}, fmt.Sprintf("got %+q", odd), `got "(secret)"`},
		{"go quoted twice", []string{odd}, fmt.Sprintf("%q", fmt.Sprintf("%q", odd)), `"\"(secret)\""`},
		{"JSON", []string{odd}, `{"a": "p\"a's\\s\u003cw\u003eé\tö\u0026/rd"}`, `{"a": "(secret)"}`},
		{"JSON without HTML", []string{odd}, `{"a": "p\"a's\\s<w>é\tö&/rd"}`, `{"a": "(secret)"}`},
		{"YAML single quoted", []string{odd}, "a: 'p\"a''s\\s<w>é\tö&/rd'", "a: '(secret)'"},
		{"YAML double quoted", []string{"\x1b\x00\u00a0\"pass\U0001F511"}, `a: "\e\0\_\"pass\U0001F511"`, `a: "(secret)"`},
		{"query", []string{odd}, "https://a.b/?p=" + url.QueryEscape(odd), "https://a.b/?p=(secret)"},
		{"path", []string{odd}, "https://a.b/" + url.PathEscape(odd), "https://a.b/(secret)"},
		{"user of a URL", []string{odd}, (&url.URL{Scheme: "https", Host: "a.b", User: url.UserPassword("u", odd)}).String(), "https://u:(secret)@a.b"},

		{"base64", []string{"hunter2"}, "illegal value aHVudGVyMg== here", "illegal value (secret) here"},
		{"base64 without padding", []string{"hunter2"}, "aHVudGVyMg.", "(secret)."},
		{"base64 with another alphabet", []string{"\xfb\xff\xfehunter"}, "-__-aHVudGVy +//+aHVudGVy", "(secret) (secret)"},
		{"base64 of a longer text", []string{"hunter2"}, base64.StdEncoding.EncodeToString([]byte("pw: hunter2!")), "cHc6IG(secret)Ih"},
		{"base64 of upper case", []string{"hunter2"}, base64.StdEncoding.EncodeToString([]byte("HUNTER2")), "(secret)"},
		{"base64 of what was trimmed", []string{"hunter2\n"}, "aHVudGVyMg==", "(secret)"},
		{"hexadecimal", []string{"hunter2"}, "68756e74657232 68756E74657232", "(secret) (secret)"},
		{"bytes", []string{"hunter2"}, fmt.Sprint([]byte("hunter2")), "[(secret)]"},

		{"folded", []string{"a  hunter\n\t2"}, "got a hunter 2, A HUNTER 2", "got (secret), (secret)"},
		{"a line folded", []string{"x: 1\n hunter   2"}, "got hunter 2", "got (secret)"},
		{"a line in base64", []string{"x: 1\n  hunter2"}, base64.StdEncoding.EncodeToString([]byte("      hunter2\n")), "ICAgICAg(secret)o="},
		{"token of a JSON pointer", []string{"a/hunter~2"}, "at /data/a~1hunter~02", "at /data/(secret)"},
		{"tilde only", []string{"hunter~2"}, "at /data/hunter~02", "at /data/(secret)"},
		{"not UTF-8", []string{"hunt\xff\xfeer"}, "got hunt\ufffder, hunt\ufffd\ufffder", "got (secret), (secret)"},
		{"html and js of templates", []string{"hun<t'er\""}, "hun&lt;t&#39;er&#34; hun\\u003Ct\\'er\\\"", "(secret) (secret)"},
		{"float in a query", []string{"4711081523"}, "got 4.711081523e%2B09", "got (secret)"},
		{"float in base64", []string{"4711081523"}, base64.StdEncoding.EncodeToString([]byte("a:4.711081523e+09")), "YTo(secret)k="},
		{"cut with a space", []string{"correct horse battery"}, "got correct ho ...", "got (secret) ..."},
		{"cut behind a space", []string{"correct horse battery"}, "got correct ...", "got (secret)..."},
		{"cut at the end of a text", []string{"correct horse battery"}, "got correct ho", "got correct ho"},

		{"integer as a float", []string{"12345678"}, "got 1.2345678e+07", "got (secret)"},
		{"integer in another notation", []string{"0xBC614E"}, "got 12345678", "got (secret)"},
		{"float as an integer", []string{"1.2345678e+07"}, "got 12345678", "got (secret)"},
		{"float with a fixed point", []string{"0.00000012345"}, "got 1.2345e-07, 1.2345E-07", "got (secret), (secret)"},
		{"float with zeros", []string{"12345.50"}, "got 12345.5", "got (secret)"},
		{"digits with a zero in front", []string{"0012345"}, "got 12345 or 5349", "got (secret) or (secret)"},
		{"beyond 64 bits", []string{"18446744073709551615"}, "got 1.8446744073709552e+19", "got (secret)"},

		{"cut", []string{"correct horse battery"}, "cannot unmarshal !!str `correct...` into int", "cannot unmarshal !!str `(secret)...` into int"},
		{"cut with one sign", []string{"correct horse battery"}, "<corr…>", "<(secret)…>"},
		{"cut too short to tell", []string{"correct horse battery"}, "cor...", "cor..."},
		{"beginning that is not cut", []string{"correct horse battery"}, "correct answers", "correct answers"},
		{"cut in front of a dot of its own", []string{"pass.word"}, "pass....", "(secret)..."},
		{"cut in quotes", []string{odd}, fmt.Sprintf("%q...", odd)[:8] + "...", `"(secret)...`},
		{"cut in base64", []string{"correct horse battery"}, "Y29ycmVj...", "(secret)..."},
		{"cut in a later line", []string{pem}, "`MIIEvQI...`", "`(secret)...`"},
		{"cut inside of a character", []string{"motdépasse"}, "motd\xc3...", "(secret)..."},
		{"long", []string{long}, "<" + long + ">", "<(secret)>"},
		{"long and cut", []string{long}, "<" + long[:65] + "...>", "<(secret)...>"},
		{"long, a piece of it", []string{long}, "<" + long[60:124] + ">", "<(secret)>"},
		{"long, of characters", []string{strings.Repeat("ö€", 50)}, "<" + strings.Repeat("ö€", 50) + ">", "<(secret)>"},

		{"short", []string{"12"}, "a.yaml:12:1: got \"12\", '12', `12` or 12", "a.yaml:12:1: got \"(secret)\", '(secret)', `(secret)` or 12"},
		{"short, longer in quotes", []string{"12"}, "'123' '1' '012'", "'123' '1' '012'"},
		{"short in escaped quotes", []string{"12"}, `"got \"12\""`, `"got \"(secret)\""`},
		{"short with a quote", []string{"'"}, "''' '''' \"'\"", "'(secret)' '(secret)' \"(secret)\""},
		{"short in base64", []string{"no"}, "bm8= 'bm8='", "bm8= '(secret)'"},
		{"short with white space", []string{"12\n"}, "12\n \"12\\n\" '12'", "12\n \"(secret)\" '(secret)'"},
		{"words", []string{"true", "NULL", "False\n"}, "true null False\n 'true' \"null\" `False`", "true null False\n '(secret)' \"(secret)\" `(secret)`"},
		{"form that is short", []string{"0012"}, "12: '12'", "12: '(secret)'"},
		{"empty", []string{"", "  ", "\n\n"}, "'' '  ' \n\n", "'' '  ' \n\n"},

		{"mark", []string{"secret"}, "a secret (secret)", "a (secret) (secret)"},
		{"mark and more", []string{"secret) x"}, "(secret) x", "((secret)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := values(test.secrets...).Text(test.in); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestNil(t *testing.T) {
	t.Parallel()
	var v *redact.Values
	err := errors.New("hunter2")
	if v.Text("hunter2") != "hunter2" || v.Error(err) != err || v.Error(nil) != nil || v.In("hunter2hunter2") { //nolint:errorlint // this very error is meant
		t.Error("a nil *Values changes something")
	}
}

func TestAddAfterText(t *testing.T) {
	t.Parallel()
	v := values("hunter2")
	if got := v.Text("hunter2 correcthorse"); got != "(secret) correcthorse" || v.In("correcthorse") {
		t.Errorf("got %q", got)
	}
	v.Add("correcthorse")
	if got := v.Text("hunter2 correcthorse"); got != "(secret) (secret)" || !v.In("correcthorse") {
		t.Errorf("got %q after an Add", got)
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	v := values("hunter2")
	plain := fmt.Errorf("reading: %w", fs.ErrNotExist)
	if got := v.Error(plain); got != plain { //nolint:errorlint // this very error is meant
		t.Errorf("got %v, want the error itself", got)
	}
	if got := v.Error(nil); got != nil {
		t.Errorf("got %v for nil", got)
	}
	hinted := diag.WithHint(plain, "remove hunter2")
	for _, test := range []struct {
		name, text, hint string
		err              error
	}{
		{"text", "a: (secret): file does not exist", "", fmt.Errorf("a: hunter2: %w", fs.ErrNotExist)},
		{"hint", "reading: file does not exist", "remove (secret)", hinted},
		{"both, wrapped", "(secret): reading: file does not exist", "remove (secret)", fmt.Errorf("hunter2: %w", hinted)},
		{"joined", "reading: file does not exist\n(secret)", "remove (secret)", errors.Join(hinted, errors.New("hunter2"))},
		{"hint that stays", "(secret): reading: file does not exist", "try again", fmt.Errorf("hunter2: %w", diag.WithHint(plain, "try again"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := v.Error(test.err)
			if got.Error() != test.text || diag.Hint(got) != test.hint {
				t.Errorf("got %q and hint %q, want %q and %q", got, diag.Hint(got), test.text, test.hint)
			}
			if !errors.Is(got, fs.ErrNotExist) || !errors.Is(got, test.err) {
				t.Error("the error does not lead to what it is about")
			}
			for _, verb := range []string{"%v", "%+v", "%s", "%q"} {
				if text := fmt.Sprintf(verb, fmt.Errorf("outer: %w", got)); strings.Contains(text, "hunter2") {
					t.Errorf("%s prints %s", verb, text)
				}
			}
			if again := v.Error(got); again != got { //nolint:errorlint // this very error is meant
				t.Errorf("a second pass changed it to %v", again)
			}
		})
	}
}

func TestIn(t *testing.T) {
	t.Parallel()
	pem := "-----BEGIN KEY-----\n" + strings.Repeat("A", 64) + "\n"
	v := values("short12", "longer12\n", pem+"one", "\xfb\xff\xfe\xfb\xff\xfehunter", "longer1234")
	std, raw := base64.StdEncoding.EncodeToString, base64.URLEncoding.EncodeToString
	for text, want := range map[string]bool{
		"": false, "abc": false, "short12": false, "longer1": false, "longer12": true, "<longer12>": true,
		"LONGER12": false, "lolonger12er": true,
		pem: false, pem + "two": false, pem + "two " + pem + "one": true,
		std([]byte("longer12")): true, std([]byte("1longer12")): true, std([]byte("22longer12345")): true,
		std([]byte("longer1")): false, std([]byte("password=longer12\n")): true,
		std([]byte(pem + "two")): false, std([]byte("-" + pem + "one")): true,
		raw([]byte("12\xfb\xff\xfe\xfb\xff\xfehunter")): true, std([]byte("12\xfb\xff\xfe\xfb\xff\xfehunter")): true,
	} {
		if got := v.In(text); got != want {
			t.Errorf("%q: got %t, want %t", text, got, want)
		}
	}
}

// Texts and values that are all alike are the worst case of a search. With a
// quadratic one this test would not end.
func TestMuchOfTheSame(t *testing.T) {
	t.Parallel()
	v := values(strings.Repeat("a", 100_000) + "b")
	for n := range 1000 {
		v.Add(strings.Repeat("a", n+4) + "b")
		v.Add(fmt.Sprintf("password-%d", n))
	}
	text := strings.Repeat("a", 100_000)
	if got := v.Text(text); got != "(secret)" {
		t.Errorf("got %.40q, want the piece of the long value replaced", got)
	}
	if v.In(text) {
		t.Error("the text holds no value")
	}
	if got := v.Text(text + "b"); got != "(secret)" {
		t.Errorf("got %.40q, want everything replaced", got)
	}
	if !v.In(text + "b") {
		t.Error("the text holds a value")
	}
	if got := v.Text(strings.Repeat("'", 100_000)); len(got) != 100_000 {
		t.Errorf("quotes became %.40q", got)
	}
	if got := v.Text(strings.Repeat("password-7 ", 10_000)); got != strings.Repeat("(secret) ", 10_000) {
		t.Errorf("got %.40q", got)
	}
}

// A text of several parts is found from end to end.
func TestLongValue(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for n := range 3000 {
		fmt.Fprintf(&b, "ö\"%d\x00", n*n)
	}
	value := b.String()
	v := values(value)
	for i, form := range []string{value, jsonQuoted(value), goQuoted(value), url.QueryEscape(value), hex.EncodeToString([]byte(value)), base64.StdEncoding.EncodeToString([]byte(value))} {
		if got := v.Text("<" + form + ">"); got != "<(secret)>" && got != "<(secret)A==>" {
			t.Errorf("form %d: got %.200q", i, got) // some bits of the last byte may be left
		}
	}
}

// Of many values not all forms are kept, which nobody may notice.
func TestManyValues(t *testing.T) {
	t.Parallel()
	v := &redact.Values{}
	for n := range 3000 {
		v.Add(fmt.Sprintf("postgres://app:sec'ret-%d@db.shop.svc:5432/shop?sslmode=require", n))
		v.Add(strconv.Itoa(n % 1000))
	}
	for n := range 2 {
		value := fmt.Sprintf("postgres://app:sec'ret-%d@db.shop.svc:5432/shop?sslmode=require", 2321+n)
		for in, want := range map[string]string{
			"got " + value + ", want":                                     "got (secret), want",
			"got " + strings.ToUpper(url.QueryEscape(value)):              "got (secret)",
			"got " + value[:25] + "...":                                   "got (secret)...",
			"got " + base64.StdEncoding.EncodeToString([]byte("a"+value)): "got YX(secret)",
			"line 12: got '321', \"99\"":                                  "line 12: got '(secret)', \"(secret)\"",
			"postgres alone":                                              "postgres alone",
		} {
			if got := v.Text(in); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		if !v.In("a " + value) {
			t.Errorf("%q is not found", value)
		}
		v.Add(fmt.Sprint("another-", n))
	}
	if v.Full() {
		t.Error("it is full")
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	const withheld = "the message is withheld: more was decrypted than can be looked for in it"
	for name, add := range map[string]func(*redact.Values){
		"many": func(v *redact.Values) {
			for n := range 70_000 {
				v.Add(fmt.Sprint("value", n))
			}
		},
		"much":   func(v *redact.Values) { v.Add(strings.Repeat("0123456789", 500_000)) },
		"looked": func(v *redact.Values) { v.Search(strings.Repeat("0123456789", 500_000), 1) },
		"forms": func(v *redact.Values) {
			random := rand.NewChaCha8([32]byte{})
			for range 100 {
				text := make([]byte, 20_000)
				_, _ = random.Read(text) // it does not fail
				v.Add(string(text))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := values("hunter2hunter2")
			add(v)
			hinted := diag.WithHint(fmt.Errorf("other: %w", fs.ErrNotExist), "try hunter2")
			got := v.Error(hinted)
			if got.Error() != withheld || strings.Contains(diag.Hint(got), "hunter2") || !errors.Is(got, fs.ErrNotExist) {
				t.Errorf("got %v and hint %q", got, diag.Hint(got))
			}
			if again := v.Error(got); again != got { //nolint:errorlint // this very error is meant
				t.Errorf("a second pass changed it to %v", again)
			}
			if got := v.Text("a"); got != withheld || !v.Full() {
				t.Errorf("got %q, full is %t", got, v.Full())
			}
			if got := v.Text(""); got != "" {
				t.Errorf("got %q for nothing", got)
			}
			if got := v.Text(redact.Unsearched); got != redact.Unsearched {
				t.Errorf("got %q", got)
			}
			if got := v.Error(fmt.Errorf("hunter2: %w", &redact.FullError{Msg: "not searched"})); got.Error() != "not searched" {
				t.Errorf("got %v", got)
			}
			if v.Add("x"); v.Search("x: y", 1) || v.In("hunter2hunter2") {
				t.Error("it goes on")
			}
		})
	}
	if (&redact.Values{}).Full() || (*redact.Values)(nil).Full() {
		t.Error("what knows nothing is full")
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	v := &redact.Values{}
	for i, want := range []bool{true, false, true, false} {
		if got := v.Search("a: b", 1+i/2); got != want {
			t.Errorf("%d: got %t, want %t", i, got, want)
		}
	}
}

func TestAddWhole(t *testing.T) {
	t.Parallel()
	v := &redact.Values{}
	v.AddWhole("kind: Secret\na: hunter2")
	if got := v.Text("kind: Secret, kind: Secret\na: hunter2"); got != "kind: Secret, (secret)" {
		t.Errorf("got %q", got)
	}
	v.Add("kind: Secret\na: hunter2")
	if got := v.Text("kind: Secret"); got != "(secret)" {
		t.Errorf("got %q, want what was added last to count", got)
	}
}

// Nobody reads a message of that length, and the place where it is cut is no way out.
func TestVeryLongText(t *testing.T) {
	t.Parallel()
	text := "get: " + strings.Repeat("hunter2 is here ", 100_000)
	if got := values("hunter2 is here").Text(text); len(got) > 256<<10 || !strings.HasSuffix(got, "(secret)...") {
		t.Errorf("got %d bytes that end in %q", len(got), got[len(got)-40:])
	}
	if got := values().Text(text); got != text {
		t.Error("what knows nothing cuts the text")
	}
}

// A search that compares more than a form at each place would not end.
func TestInMuch(t *testing.T) {
	t.Parallel()
	v := &redact.Values{}
	for n := range 16_000 {
		v.Add(fmt.Sprintf("%08d-%08d", n, n))
	}
	var text strings.Builder
	for n := range 400_000 {
		fmt.Fprintf(&text, "%08d+", n%16_000)
	}
	if v.In(text.String()) {
		t.Error("the text holds no value")
	}
	if !v.In(text.String() + "00000007-00000007") {
		t.Error("the text holds a value")
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	v := values("hunter2")
	var running sync.WaitGroup
	for n := range 8 {
		running.Go(func() {
			secret := fmt.Sprintf("correcthorse%d", n)
			v.Add(secret)
			if got := v.Text("hunter2 " + secret); got != "(secret) (secret)" {
				t.Errorf("got %q", got)
			}
			if !v.In(secret) {
				t.Errorf("%s is not found", secret)
			}
		})
	}
	running.Wait()
}

// printed writes a value as engines do.
var printed = []func(string) string{
	strings.Clone, strings.TrimSpace, strings.ToUpper, strings.ToLower,
	goQuoted, func(s string) string { return inner(strconv.QuoteToASCII(s)) }, func(s string) string { return goQuoted(goQuoted(s)) },
	jsonQuoted, func(s string) string { return goQuoted(jsonQuoted(s)) },
	func(s string) string { return strings.ReplaceAll(s, "'", "''") },
	url.QueryEscape, url.PathEscape,
	func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
	func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
	func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	func(s string) string { return base64.StdEncoding.EncodeToString([]byte(strings.ToUpper(s))) },
	func(s string) string { return hex.EncodeToString([]byte(s)) },
	func(s string) string { return strings.Trim(fmt.Sprint([]byte(s)), "[]") },
	func(s string) string { return aNumber(s, 'f') }, func(s string) string { return aNumber(s, 'g') },
	func(s string) string {
		line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
		return strings.TrimSpace(line)
	},
}

func inner(s string) string    { return s[1 : len(s)-1] }
func goQuoted(s string) string { return inner(strconv.Quote(s)) }

func jsonQuoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return inner(string(text))
}

func aNumber(s string, format byte) string {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	return strconv.FormatFloat(f, format, -1, 64)
}

// isWord has the words that are replaced only in quotes.
func isWord(s string) bool {
	switch strings.ToLower(s) {
	case "true", "false", "null", "none", "<nil>":
		return true
	}
	return false
}

// FuzzText puts a value, in one of its forms, whole, cut or in longer base64,
// into a text, among other values. Nothing but marks may tell of it.
func FuzzText(f *testing.F) {
	for i := range printed {
		f.Add("hun'ter \"2\"\n<w\x00>\xff", uint(i), uint(0), "a: '", "' b", "other")
		f.Add("12345678", uint(i), uint(5), "a: ", "", "2345")
		f.Add(strings.Repeat("lông ", 40), uint(i), uint(77), "", "b", "ng lông")
	}
	f.Add("hunter2", uint(0), uint(0), "pw:", "\n", "")
	f.Add("secret", uint(0), uint(4), "(", ")", "secret")
	f.Fuzz(func(t *testing.T, value string, pick, cut uint, before, after, other string) {
		if trimmed := strings.TrimSpace(value); len(trimmed) < 4 || isWord(trimmed) {
			t.Skip("replaced only in quotes")
		}
		if len(value) > 4<<10 {
			t.Skip("a file, whose case stays")
		}
		form := printed[pick%uint(len(printed))](value)
		if trimmed := strings.TrimSpace(form); len(trimmed) < 4 || isWord(trimmed) {
			t.Skip("replaced only in quotes")
		}
		v := values(value, other)
		rest := func(text string) []string { return strings.Split(v.Text(text), "(secret)") }
		whole := before + form + after
		for _, piece := range rest(whole) {
			if strings.Contains(piece, form) || strings.Contains(piece, value) {
				t.Errorf("%q of %q became %q", form, value, v.Text(whole))
			}
		}
		if utf8.ValidString(whole) && !utf8.ValidString(v.Text(whole)) {
			t.Errorf("%q became %q, which is not UTF-8", whole, v.Text(whole))
		}
		if n := int(cut % uint(len(form)+1)); n >= 4 {
			for _, dots := range []string{"...", "…"} {
				for _, piece := range rest(before + form[:n] + dots + after) {
					if strings.Contains(piece, form[:n]+dots) {
						t.Errorf("%q, the beginning of %q, is left in %q", form[:n], form, piece)
					}
				}
			}
		}
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			// The mark takes the place of whole characters; what is left must
			// not decode to the value.
			text := encoding.EncodeToString([]byte(before + value + after))
			if got := v.Text(text); got == text {
				t.Errorf("%s, the base64 of %q, is left as it is", text, before+value+after)
			}
			if strings.TrimSpace(value) == value && len(value) >= 8 && !v.In(text) {
				t.Errorf("%q is not found in %s", value, text)
			}
		}
		if strings.TrimSpace(value) != "" && len(strings.TrimSpace(value)) >= 8 && !v.In(before+value+after) {
			t.Errorf("%q is not found in %q", value, before+value+after)
		}
	})
}
