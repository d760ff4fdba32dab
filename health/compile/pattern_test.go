package compile

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"hallmark.dev/hallmark/lua/print"
	"hallmark.dev/hallmark/lua/vm"
)

// The subjects that each regular expression is tried on.
var subjects = []string{
	"", "a", "b", "ab", "ba", "aab", "abc", "abcd", "a\nb", "\n", "é", "aé", "éa", "aéb", "日本", "a日b", "a.b", "a-b", "a]b", "a^b",
	"%d", "a%b", "12", "a12", "12a", "x_1", "foo/bar", "(x)", "[1]", "a b", " ", "\t", "Error", "Err", "Failed12", "a\x00b", "ACGT", "aaaa",
}

// TestPatterns compares what string.find of the translation finds with Go's regexp,
// whose language is CEL's, over expressions built at random from the pieces that
// the translation knows and some that it does not.
func TestPatterns(t *testing.T) {
	t.Parallel()
	expressions := []string{
		`^a$`, `a|b`, `^(a|b)c?$`, `[a-c]+`, `[^a]`, `[^a]*b`, `^.$`, `^..$`, `a.b`, `.*b$`, `x{2,3}`, `^a{2,}$`, `[0-9]+/[0-9]+`, `\d`, `\w+`, `\s`,
		`[]]`, `[\]^-]`, `a\.b`, `%`, `^$`, ``, `(foo|ba(r|z))/?`, `[[:alpha:]]`, `\x00`, `[\x00-\x1f]`, `(?s)a.b`, `(?s)^.*$`, `^[^é]`, `a*?b`, `(ab)?c`,
		`[^\n]`, `\S`, `[a-zA-Z0-9_.%+-]+`, `^(|a)$`, `é`, `日本`, `é+`, `(?i)abc`, `\bab`, `(ab)+`,
	}
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same numbers each time
	pieces := []string{"a", "b", ".", "[a-c]", "[^a]", `\d`, "é", "^", "$", "(a|b)", "(a|bc)?", "[0-9]", `\.`, "%", "x"}
	for range 400 {
		var b strings.Builder
		for range 1 + r.IntN(4) {
			b.WriteString(pieces[r.IntN(len(pieces))])
			if r.IntN(3) == 0 {
				b.WriteString([]string{"*", "+", "?", "{2}", "{1,2}"}[r.IntN(5)])
			}
		}
		expressions = append(expressions, b.String())
	}
	translated := 0
	for _, expression := range expressions {
		re, err := regexp.Compile(expression)
		if err != nil {
			continue // such as ^*
		}
		patterns, err := luaPatterns(expression)
		if err != nil {
			continue
		}
		translated++
		for _, subject := range subjects {
			if got, want := finds(t, patterns, subject), re.MatchString(subject); got != want {
				t.Errorf("%q in %q: the patterns %q say %v, want %v", expression, subject, patterns, got, want)
			}
		}
	}
	if translated < 200 {
		t.Errorf("only %d of %d expressions were translated", translated, len(expressions))
	}
}

func finds(t *testing.T, patterns []string, subject string) bool {
	t.Helper()
	var quoted []string
	for _, p := range patterns {
		quoted = append(quoted, print.Quote(p))
	}
	script := fmt.Sprintf(`for _, p in ipairs({ %s }) do
  if string.find(%s, p) then return { status = "Healthy" } end
end
return { status = "Degraded" }`, strings.Join(quoted, ", "), print.Quote(subject))
	v, err := vm.Run(script, true, map[string]any{})
	if err != nil {
		t.Fatalf("%v\n%s", err, script)
	}
	return v.Status == "Healthy"
}

// TestPatternsRefused has expressions that no finite number of patterns can say.
func TestPatternsRefused(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{`(ab)+`, `(?i)abc`, `\bab`, `[a-é]`, `é+`, `a{100}`, `(`, `a^b`, `(aa|bb|cc|dd)(aa|bb|cc|dd)(aa|bb|cc|dd)`} {
		if patterns, err := luaPatterns(expression); err == nil {
			t.Errorf("%q became %q, want a refusal", expression, patterns)
		}
	}
}
