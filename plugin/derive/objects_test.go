package derive

import (
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/object"
)

// A chart that moves a password between data and stringData keeps it.
func TestStringDataIsData(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"password": "randAlphaNum 16", "key": `genPrivateKey "ecdsa"`} {
		field := name
		encoded := mustResolve(t, testOptions(t), files{"s.yaml": secretOf("db", "data:", "  "+field+": {{ "+value+" | b64enc }}")})
		plain := mustResolve(t, testOptions(t), files{"s.yaml": secretOf("db", "stringData:", "  "+field+": {{ "+value+" | quote }}")})
		if got, want := plain.text(t, "Secret/db/stringData/"+field), encoded.decoded(t, "Secret/db/data/"+field); got != want {
			t.Errorf("%s is %q in stringData and %q in data", field, got, want)
		}
		if want := []string{"Secret/db/data/" + field}; !slices.Equal(plain.Derived[0].Names, want) || plain.Derived[0].Name != want[0] || plain.Derived[0].Object != (object.ID{Kind: "Secret", Name: "db"}) || !slices.Equal(plain.Derived[0].Inner, []any{"stringData", field}) {
			t.Errorf("got %+v", plain.Derived[0])
		}
	}
	both := mustResolve(t, testOptions(t), files{"s.yaml": secretOf("db", "data:", `  a: {{ randAlphaNum 16 | b64enc }}`, `  k: {{ genPrivateKey "ecdsa" | b64enc }}`,
		"stringData:", `  a: {{ randAlphaNum 16 }}`, `  k: {{ genPrivateKey "ecdsa" | quote }}`)})
	if both.decoded(t, "Secret/db/data/a") == both.text(t, "Secret/db/stringData/a") || both.decoded(t, "Secret/db/data/k") == both.text(t, "Secret/db/stringData/k") {
		t.Error("two values of one Secret are one")
	}
	custom := mustResolve(t, testOptions(t), files{"s.yaml": strings.Replace(secretOf("db", "stringData:", "  a: {{ randAlpha 9 }}"), "apiVersion: v1", "apiVersion: example.com/v1", 1)})
	if got := custom.Derived[0].Name; got != "Secret.example.com/db/stringData/a" {
		t.Errorf("got the name %s", got)
	}
}

func jobOf(name string, lines ...string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata: {" + name + "}\nspec:\n" + strings.Join(lines, "\n") + "\n"
}

func TestGenerateName(t *testing.T) {
	t.Parallel()
	const line = `  token: {{ randAlphaNum 16 }}`
	valueOf := func(metadata string) (string, string) {
		r := mustResolve(t, testOptions(t), files{"j.yaml": jobOf(metadata, line)})
		return r.Values[0]["spec"].(map[string]any)["token"].(string), r.Derived[0].Names[0]
	}
	seen := map[string]string{}
	for metadata, want := range map[string]string{
		"generateName: s-": "Job.batch/s-%/spec/token", "generateName: t-": "Job.batch/t-%/spec/token", "name: s-": "Job.batch/s-/spec/token",
		"generateName: s-, namespace: other": "Job.batch/other/s-%/spec/token", "name: s-, generateName: t-": "",
	} {
		value, name := valueOf(metadata)
		if want == "" { // a name counts
			if other, _ := valueOf("name: s-"); other != value {
				t.Errorf("%s: got %s, want %s", metadata, value, other)
			}
			continue
		}
		if name != want || seen[value] != "" {
			t.Errorf("%s: got the name %s, want %s, and the value of %q", metadata, name, want, seen[value])
		}
		seen[value] = metadata
	}
}

func TestTwinsAreRefused(t *testing.T) {
	t.Parallel()
	const reason = `there are several objects of the kind Job without a name whose generateName is "s-", so their random values cannot be told apart`
	for name, tt := range map[string]struct {
		f       files
		refused int
	}{
		"tokens":    {files{"a.yaml": jobOf("generateName: s-", "  a: {{ randAlpha 9 }}"), "b.yaml": jobOf("generateName: s-, namespace: shop", "  b: {{ randAlpha 9 }}")}, 2},
		"keys":      {files{"a.yaml": jobOf("generateName: s-", `  a: {{ genPrivateKey "ecdsa" | quote }}`), "b.yaml": jobOf("generateName: s-", `  a: {{ genPrivateKey "ecdsa" | quote }}`)}, 2},
		"hashes":    {files{"a.yaml": jobOf("generateName: s-", `  a: {{ bcrypt "x" }}`), "b.yaml": jobOf("generateName: s-")}, 1},
		"in a List": {files{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: batch/v1, kind: Job, metadata: {generateName: s-}, spec: {a: \"{{ randAlpha 9 }}\"}}\n- {apiVersion: batch/v1, kind: Job, metadata: {generateName: s-}}\n"}, 1},
		"elsewhere": {files{"a.yaml": "{{ $p := randAlpha 9 }}" + jobOf("generateName: s-", "  a: {{ $p }}") + "---\n" + jobOf("generateName: s-", "  a: {{ $p }}") + "---\n" + secretOf("x", "stringData:", "  a: {{ $p }}")}, 0},
		"others":    {files{"a.yaml": jobOf("generateName: s-", "  a: {{ randAlpha 9 }}"), "b.yaml": jobOf("generateName: s-, namespace: other", "  b: {{ randAlpha 9 }}")}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := resolve(t, testOptions(t), tt.f)
			if len(r.Refused) != tt.refused || tt.refused == 0 && len(r.Derived) < 2 {
				t.Errorf("got refused %v", r.Refused)
			}
			for _, refused := range r.Refused {
				if refused.Reason != reason {
					t.Errorf("got %s", refused.Reason)
				}
			}
		})
	}
}

// A constant certificate in front of a key does not move it.
func TestConstantBlocksAreNotCounted(t *testing.T) {
	t.Parallel()
	root := freshKey(t)
	ca := strings.TrimSpace(certificateBlock(issue(t, "ca", 10*day, true, root, nil, root)))
	indented := "    " + strings.ReplaceAll(ca, "\n", "\n    ")
	key := `{{ genPrivateKey "ecdsa" | trim | indent 4 }}`
	alone := mustResolve(t, testOptions(t), files{"s.yaml": secretOf("tls", "stringData:", "  bundle: |", key)}).text(t, "Secret/tls/stringData/bundle")
	behind := mustResolve(t, testOptions(t), files{"s.yaml": secretOf("tls", "stringData:", "  bundle: |", indented, key)}).text(t, "Secret/tls/stringData/bundle")
	if !strings.HasSuffix(behind, alone) {
		t.Errorf("the key is another one behind a certificate:\n%s\n%s", behind, alone)
	}
}

// No later generation gives a value that an earlier one gave.
func TestGenerations(t *testing.T) {
	t.Parallel()
	const name = "Secret/db/stringData/a"
	seen := map[string][2]int{}
	for all := range 3 {
		for own := range 3 {
			o := testOptions(t)
			o.Generation, o.Fields = all, map[string]int{"Secret/db/data/a": own}
			value := mustResolve(t, o, files{"s.yaml": secretOf("db", "stringData:", "  a: {{ randAlphaNum 20 }}")}).text(t, name)
			if other, ok := seen[value]; ok {
				t.Errorf("the generations %d and %d have one value", other, [2]int{all, own})
			}
			seen[value] = [2]int{all, own}
		}
	}
	// Made by another program.
	for value, generations := range map[string][2]int{"BLA9IyZrdMYXUW8g5Irl": {1, 0}, "SgGK0OgW7pz3xwlIOyeN": {0, 1}, "bx8145p1CYLa1Qyi5Imv": {1, 1}} {
		if got, ok := seen[value]; !ok || got != generations {
			t.Errorf("%s is the value of %d, want %d", value, got, generations)
		}
	}
}

func TestUUIDsOfSecrets(t *testing.T) {
	t.Parallel()
	r := mustResolve(t, testOptions(t), files{"s.yaml": "{{ $id := uuidv4 }}" + secretOf("db", "data:", "  id: {{ $id | b64enc }}", "type: \"{{ uuidv4 }}\"") + "---\n" +
		configOf("c", "data:", "  id: {{ $id }}", "  other: {{ uuidv4 }}")})
	if want := []string{r.decoded(t, "Secret/db/data/id")}; !slices.Equal(r.Secrets, want) {
		t.Errorf("got secrets %q, want %q", r.Secrets, want)
	}
}

// Which alphabet base64 has is not left to what the plain render happens to show.
func TestAlphabetOfBase64(t *testing.T) {
	t.Parallel()
	const url = `| b64enc | replace "+" "-" | replace "/" "_"`
	chart := files{
		"s.yaml":   secretOf("a", "stringData:", `  standard: {{ randAscii 90 | b64enc }}`, `  url: {{ randAscii 90 `+url+` }}`),
		"web.yaml": configOf("web", "data:", `  sum: {{ include "s.yaml" . | sha256sum }}`),
	}
	r := mustResolve(t, testOptions(t), chart)
	standard, other := r.text(t, "Secret/a/stringData/standard"), r.text(t, "Secret/a/stringData/url")
	if strings.ContainsAny(standard, "-_") || strings.ContainsAny(other, "+/") || !strings.ContainsAny(standard, "+/") || !strings.ContainsAny(other, "-_") {
		t.Errorf("got %s and %s", standard, other)
	}
	for range 10 {
		again := mustResolve(t, testOptions(t), chart)
		if again.text(t, "Secret/a/stringData/standard") != standard || again.text(t, "Secret/a/stringData/url") != other ||
			again.text(t, "ConfigMap/web/data/sum") != r.text(t, "ConfigMap/web/data/sum") {
			t.Fatal("it is another one in the next process")
		}
	}
	chart["s.yaml"] = secretOf("a", "stringData:", "  standard: "+standard, "  url: "+other)
	for _, d := range chart.render(t, plainMode).Documents {
		if want, ok := d.Value["data"].(map[string]any); ok && want["sum"] != r.text(t, "ConfigMap/web/data/sum") {
			t.Errorf("the checksum is %s, want %s", r.text(t, "ConfigMap/web/data/sum"), want["sum"])
		}
	}
	// The plain render shows no letter that only one of them has.
	hand := handMade(b64(strings.Repeat("a", 90)), b64(printedFrame("p90", oneNonce)), b64(printedFrame("p90", otherNonce)))
	out, err := Resolve(t.Context(), testOptions(t), hand, nil)
	if err != nil || len(out.Refused) != 1 || out.Refused[0].Reason != errLetters.Error() {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestPrintsTime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		one, other, third any
		want              bool
	}{
		{"2000-01-01T12:00:00Z", "2099-10-28T23:47:39Z", "2186-02-16T17:31:24Z", true},
		{"2000-01-01 12:00:00 +0000 UTC", "2099-10-28 23:47:39 +0000 UTC m=+0.512", "2186-02-16 17:31:24 +0000 UTC", true},
		{"Sat, 01 Jan 2000 12:00:00 UTC", "Wed, 28 Oct 2099 23:47:39 CET", "Thu, 16 Feb 2186 17:31:24 UTC", true},
		{"2000-01-01T07:00:00-05:00", "2099-10-28T19:47:39-04:00", "2186-02-16T12:31:24-05:00", true}, // New York
		{"2000-01-01 10:00:00 -0200", "2099-10-28 20:47:39 -0300", "2186-02-16 14:31:24 -0300", true}, // São Paulo
		{"2000-01-01-1200", "2099-10-28-2347", "2186-02-16-1731", true},
		{"made on January 1st, 2000", "made on October 28th, 2099", "made on February 16th, 2186", true},
		{"9:00 PM", "8:47 AM", "2:31 AM", true},
		{"01", "10", "02", true}, // a month
		{int64(946728000), int64(4096914459), int64(6821602284), true},
		{"t-946728000", "t-4096914459", "t-6821602284", true},
		{"0s", "9613h37m11s", "4321h13m47s", true},
		{"0s", "5h", "5h", false},
		{1.5, 2.5, 3.5, true},
		{b64("2000-01-01"), b64("2099-10-28"), b64("2186-02-16"), true},
		{b64("day"), b64("night"), b64("day"), false},
		{int64(1), int64(5), int64(5), false},
		{"2000-01-01/1", "2099-10-28/5", "2186-02-16/5", false},
		{"a,b,c", "c,a,b", "c,a,b", false},
		{true, false, false, false},
		{"day", "night", "night", false},
		{"abc-2026", "abd-2000", "abe-2010", false},
		{nil, "x", "x", false},
	} {
		if got := PrintsTime(tt.one, tt.other, tt.third); got != tt.want {
			t.Errorf("%v, %v and %v: got %t, want %t", tt.one, tt.other, tt.third, got, tt.want)
		}
	}
}
