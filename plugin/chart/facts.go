package chart

import (
	"regexp"
	"strings"
)

// The functions of a template and the YAML decoder quote what they were given,
// and that may be the value of a parameter or of a decrypted file. maskFact
// keeps what is known to come from elsewhere and writes "a value" for the rest:
//
//   - facts of a known form, whose varying parts are Go types and names of
//     fields and functions;
//   - the words that such messages are made of;
//   - what stands in the template itself, at the place of the error.
//
// So a message of a function that is not known here is shown as far as it uses
// those words: it loses too much rather than too little.

const aValue = "a value"

const (
	goType = `(?:(?:\*|\[\]|map\[string\])*(?:interface|string|bool|rune|byte|error|u?int(?:8|16|32|64)?|float(?:32|64)|(?:time|chart|chartutil|common|engine|reflect|json|template|big|url)\.[A-Za-z]+)(?: ?\{\})?)`
	// identifier may be a template-side name: of a field, function or variable.
	identifier = `[A-Za-z_]\w*`
)

// knownFacts are facts that are shown as they are.
var knownFacts = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`nil pointer evaluating ` + goType + `\.` + identifier,
	`can't evaluate field ` + identifier + ` in type ` + goType,
	`(?:nil data; no entry|map has no entry) for key "` + identifier + `"`,
	`wrong type for value; expected ` + goType + `; got ` + goType,
	`invalid value; expected ` + goType,
	`value has type ` + goType + `; should be ` + goType,
	`value is nil; should be of type ` + goType,
	`dereference of nil pointer of type ` + goType,
	`wrong number of args for ` + identifier + `: want (?:at least )?\d+ got \d+`,
	`wrong number of args for ` + identifier + `: got \d+ want (?:at least )?\d+`,
	identifier + ` has arguments but cannot be invoked as function`,
	identifier + ` is not a method but has arguments`,
	`incompatible types for comparison: ` + goType + ` and ` + goType,
	`exceeded maximum template depth \(\d+\)`,
	`rendering template has a nested reference name: \S+: unable to execute template`,
	`interface conversion: ` + goType + ` is ` + goType + `, not ` + goType,
	`runtime error: .*`,
	`json: cannot unmarshal (?:string|bool|array|object|number) into Go (?:struct field ` + identifier + `(?:\.` + identifier + `)*|value) of type ` + goType,
}, "|") + `)$`)

// trailing are facts that end in what a function was given, without quotes or
// in quotes that the value can end.
var trailing = regexp.MustCompile(`^(range can't iterate over|if/with can't use|range over send-only channel|error parsing ip:|list should be type of slice or array but` +
	`|error parsing regexp: [^` + "`" + `]+:|cannot parse template) .*$`)

// What stands in front of a fact: how it was reached, and what decoders say of
// the way that they take.
var (
	calling  = regexp.MustCompile(`^(?:error calling ` + identifier + `:|template:|rendering template failed:)(?: |$)`)
	detour   = regexp.MustCompile(`^(?:error converting YAML to JSON:|error unmarshaling JSON:|while decoding JSON:|cannot unmarshal yaml document:|regexp: Compile\((?:` + "`[^`]*`" + `|"(?:[^"\\]|\\.)*")\):)(?: |$)`)
	inText   = regexp.MustCompile(`^error during tpl function execution for "(?:[^"\\]|\\.)*": `)
	unparsed = regexp.MustCompile(`^cannot parse template "(?:[^"\\]|\\.)*": (?:template: [^\s:]+:(\d+): )?`)
)

// maskFact returns the fact of an error without the data in it. source is the
// part of the template that the error points at, or "" if that may be data too.
func maskFact(fact, source string) string {
	fact = fold(fact)
	lead := ""
	for {
		switch m := calling.FindString(fact); {
		case m != "":
			lead += strings.TrimRight(m, " ") + " "
			fact = fact[len(m):]
			continue
		case detour.MatchString(fact):
			fact = detour.ReplaceAllString(fact, "")
			continue
		case inText.MatchString(fact):
			lead += "the text that tpl runs: "
			fact = inText.ReplaceAllString(fact, "")
			source = ""
			continue
		case unparsed.MatchString(fact):
			m := unparsed.FindStringSubmatch(fact)
			lead += "cannot parse the text that tpl runs: "
			if m[1] != "" {
				lead += "line " + m[1] + ": "
			}
			fact = fact[len(m[0]):]
			source = ""
			continue
		}
		break
	}
	const most = 4 << 10 // an error can quote a whole file
	fact = fact[:min(len(fact), most)]
	switch m := trailing.FindStringSubmatch(fact); {
	case fact == "":
		return lead + "the template failed"
	case m != nil:
		return lead + maskWords(m[1], source) + " " + aValue
	case knownFacts.MatchString(fact):
		return lead + fact
	}
	return lead + maskWords(fact, source)
}

// maskWords keeps the words that are known and those of the source.
func maskWords(fact, source string) string {
	own := map[string]bool{}
	for _, w := range notWord.Split(source, -1) {
		own[w] = w != ""
	}
	var out []string
	masked := false
	previous := ""
	for _, token := range factTokens(fact) {
		word := strings.Trim(token, ".,:;()[]<>")
		keep := false
		switch {
		case isQuoted(token):
			keep = keepQuoted(token, source)
		case !letter.MatchString(token):
			keep = len(token) < 4 // punctuation that a parser speaks of
		case number.MatchString(word):
			keep = own[word] || counted[previous]
		default:
			keep = factWords[strings.ToLower(word)] || own[word] || typeToken.MatchString(strings.TrimRight(token, ",;:"))
		}
		previous = word
		if keep {
			out = append(out, token)
			masked = false
			continue
		}
		end := token[len(strings.TrimRight(token, ",:;")):]
		if !masked {
			out = append(out, aValue)
		}
		out[len(out)-1] += end
		masked = end == ""
	}
	return strings.Join(out, " ")
}

var (
	notWord   = regexp.MustCompile(`\W+`)
	number    = regexp.MustCompile(`^\d+$`)
	typeToken = regexp.MustCompile(`^(?:` + goType + `|!!(?:str|int|float|bool|map|seq|null|timestamp|binary|merge)|\{\})$`)
	letter    = regexp.MustCompile(`[\pL\pN]`)
)

// counted are the words behind which a number is not data.
var counted = setOf("line column offset byte bytes position arg argument")

// factTokens splits a fact at its spaces, but keeps what is quoted together. A quote
// that does not end takes the rest.
func factTokens(fact string) []string {
	var out []string
	for i := 0; i < len(fact); {
		switch c := fact[i]; c {
		case ' ':
			i++
		case '"', '\'', '`':
			end := quotedEnd(fact, i)
			for end < len(fact) && strings.IndexByte(".,:;", fact[end]) >= 0 {
				end++
			}
			out = append(out, fact[i:end])
			i = end
		default:
			end := i
			for end < len(fact) && fact[end] != ' ' {
				// An apostrophe inside a word is none: can't.
				if q := fact[end]; q == '"' || q == '`' || q == '\'' && !isWordByte(fact[end-1]) {
					break
				}
				end++
			}
			out = append(out, fact[i:end])
			i = end
		}
	}
	return out
}

func isWordByte(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' }

// quotedEnd is the offset behind the quoted part that starts at start.
func quotedEnd(fact string, start int) int {
	for i := start + 1; i < len(fact); i++ {
		switch {
		case fact[i] == '\\' && fact[start] != '`':
			i++
		case fact[i] == fact[start]:
			return i + 1
		}
	}
	return len(fact)
}

func isQuoted(token string) bool { return strings.IndexByte("\"'`", token[0]) >= 0 }

// keepQuoted tells whether a quoted part is from the source or is punctuation
// that a parser expected.
func keepQuoted(token, source string) bool {
	token = strings.TrimRight(token, ".,:;")
	if len(token) < 2 || token[0] != token[len(token)-1] {
		return false
	}
	switch inner := token[1 : len(token)-1]; inner {
	case tplName, "<document start>", "<document end>", "<stream end>":
		return true
	default:
		return !letter.MatchString(inner) && len(inner) < 3 || strings.Contains(source, token)
	}
}

// factWords are the words of the messages of text/template, sprig, Helm and the
// decoders of YAML, JSON, numbers, times, URLs, versions and certificates.
var factWords = setOf(`
a action actions address after alias all allowed already an anchor and anonymous are arg args argument arguments array as assign assignable assignment
associated at attempted available backslash bad base base64 be before beginning between bits block bool boolean bounds brace braces bracket brackets
branch break but by byte ca call called calling can can't cannot capacity capture case certificate character characters chunk class clause close
closed closing code collection colon column comma command comment compact comparable comparison compile complex component concat conflicts constant
constraint contain contained contains content context continue control conversion convert converting corrupt could count creating cycle data date day
days decimal decode decoded decoding deeply define defined delimiter depth dereference dict did different digit digits directive document does doesn't
dsa duplicate duration ec element elements else empty encoded encoding end ending entry eof equal equals error escape evaluating event exceed exceeded
exceeds execute execution expect expected expecting expects explicit exponent expression extra failed few field fields file find first flag flags
float flow for format found fraction fractional from function generating go got greater group groups handle has hash have header hex hexadecimal host
hour identifier if illegal implicit implicitly improper in incompatible incomplete incorrect increment indentation index indicator indirection initial
inline input inside int integer interfaces internal into invalid invoked ip is item iterate json key keys kind large last least left len length less
limit line list literal load long longer looking major malformed mandatory many map mapping maps marshal marshaling match max maximum may merge
metadata method methods minor minute mismatch missing month more multiple must name named need needs negative nested nesting newline nil no node
non-comparable non-executable not nothing null number numeric object octal odd of offset on one only op operation operator or out output outside over
overflow overflows own padding pair panic parameter parameters paren parens parenthesis parse parser parsing part patch path pattern pem pipeline pkcs
point pointer port prefix prefixed prepend prerelease print private processing property protocol public push quote quoted range read recursion
reference referenced reflect regexp release rendering repeat repetition request require required requires rest retrieving reverse right rsa same
scalar scan scanning schema scheme second segment semantic semicolon separator sequence sequences set short should sign signature signed simple size
skipped slice slice/array space spaces specified start starts strconv.atoi strconv.parsebool strconv.parsefloat strconv.parseint stream string strings
struct style supported symbols syntax tab table tag template text than that the there three through time to token too top-level tpl trailing trying
type types unable unclosed undefined unescaped unexpected unexported unhandled unicode uniq unit unknown unmarshal unmarshaling unquoted unrecognized
unsigned unsupported unterminated untyped uri url use used userinfo using utf-8 utf8 valid value values variable version versions via want was when
while whitespace width with without wrong yaml year zero zone {{break}} {{continue}} {{define}} {{else}} {{end}}
`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}
