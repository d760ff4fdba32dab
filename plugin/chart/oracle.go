package chart

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"hallmark.dev/hallmark/plugin/derive"
)

// An oracle answers the marked calls of one render, and finds nothing where a template
// looks up an object, as without a cluster. It is what Helm's engines take for the client
// of a cluster.
type oracle struct {
	kind  marking
	sites int // how many calls there are
	// unmarked gives what is hashed the form that it has without marks; it may be nil.
	unmarked func(text string) string
	left     func(site int) bool // whether the call must not get a frame
	// log holds what was answered to calls of random functions, in order, digests the frames
	// that were to those of digests, and results what was, by the numbers of the calls.
	log, digests []answer
	results      map[int][]string
	files        inclusions
	executed     map[int]bool // the calls that were executed, by their numbers
	// strayed is the first call that was executed when another one was in the render with
	// frames, 0 for none; failed the first that there is no derived value for; hashedMark the
	// first that hashes a text with a mark in it.
	strayed, failed, hashedMark int
	// framed are the bytes of computed frames.
	framed int
}

// answer is one execution of a call.
type answer struct {
	site    int
	request string // the kind, and what it is asked for unless that is the input of a hash
	frame   string // what stands for it, or would
	input   string // of a digest
}

// alike reports whether two renders asked for the same.
func (a answer) alike(other answer) bool { return a.site == other.site && a.request == other.request }

// GetClientFor implements the ClientProvider of both engines.
func (o *oracle) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	of := &asked{oracle: o}
	switch apiVersion {
	case fileAPI:
		of.file = kind
	case oracleAPI:
		if site, _ := strconv.Atoi(kind); site > 0 && site <= o.sites {
			of.site = site
		}
	}
	return of, true, nil
}

// asked is the client of one call.
type asked struct {
	dynamic.NamespaceableResourceInterface // what lookup does not use
	oracle                                 *oracle
	site                                   int // 0 for a lookup of the chart's own
	file                                   string
}

var nothing = apierrors.NewNotFound(schema.GroupResource{}, "")

// Namespace implements dynamic.NamespaceableResourceInterface.
func (a *asked) Namespace(string) dynamic.ResourceInterface { return a }

// Get implements dynamic.ResourceInterface.
func (a *asked) Get(_ context.Context, request string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	if a.file != "" {
		a.oracle.files.tell(a.file, request)
	}
	if a.site == 0 {
		return nil, nothing
	}
	return &unstructured.Unstructured{Object: map[string]any{oracleField: a.oracle.answer(a.site, request)}}, nil
}

// List implements dynamic.ResourceInterface.
func (a *asked) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return nil, nothing
}

// answer returns the result of a call: an int for randInt where it is no frame, else a
// text.
func (o *oracle) answer(site int, request string) any {
	o.executed[site] = true
	if request == wasExecuted {
		return ""
	}
	kind, input, _ := strings.Cut(request, ":")
	if o.unmarked != nil {
		if input = o.unmarked(input); strings.Contains(input, oracleAPI) && o.hashedMark == 0 {
			o.hashedMark = site
		}
	}
	if _, ok := derive.Digest(kind, ""); ok {
		return o.digest(site, kind, input)
	}
	user := ""
	if kind == "htpasswd" { // charts cut the hash off behind the colon, so it has a frame of its own
		at := strings.LastIndexByte(input, ':')
		if user = input[:at+1]; strings.Contains(input[:at], ":") {
			return "invalid username: " + input[:at] // as sprig has it
		}
		decoded, _ := base64.StdEncoding.DecodeString(input[at+1:])
		kind, input = "bcrypt", string(decoded)
	}
	nth, logged := len(o.log), answer{site: site, request: kind}
	salted := kind == "bcrypt" || kind == "shuffle"
	if salted {
		logged.frame = derive.SaltedFrame(kind, input, derive.Nonce(nth, o.kind.second))
	} else {
		logged.request += input
		logged.frame = derive.TokenFrame(logged.request, derive.Nonce(nth, o.kind.second), site)
	}
	o.log = append(o.log, logged)
	o.files.called(nth)
	var result any = logged.frame
	if o.framed += len(logged.frame); !o.kind.frames || o.left(site) || salted && o.tooDeep(input) {
		result = o.value(nth, logged, kind, input, salted)
	}
	if text, ok := result.(string); ok {
		return user + text
	}
	return result
}

// value returns what a call gets that gets no frame.
func (o *oracle) value(nth int, logged answer, kind, input string, salted bool) any {
	fill := o.kind.fill
	if v := o.kind.values; v != nil {
		other, isOther := v.other[nth]
		like := nth
		if nth < len(v.calls) {
			like = v.calls[nth].like
		}
		switch fill = fill.nth(like); {
		case nth >= len(v.calls) || !v.calls[nth].alike(logged):
			if o.strayed == 0 {
				o.strayed = logged.site
			}
		case isOther:
			fill = other
		case v.calls[nth].make != nil:
			value, ok := v.calls[nth].make(input)
			if !ok && o.failed == 0 {
				o.failed = logged.site
			}
			if kind == "i" {
				n, _ := strconv.Atoi(value)
				return n
			}
			return value
		}
	}
	if salted {
		return fill.salted(kind, input)
	}
	return fill.token(kind, input)
}

// Frames in frames grow, so of those only short ones are made, and not too many of all.
const (
	mostNested = 64 << 10
	mostFramed = 64 << 20
)

// digest returns the result of a digest, or a frame with its input if that holds one.
func (o *oracle) digest(site int, name, input string) string {
	if o.kind.frames && !o.tooDeep(input) && derive.Varies(input) {
		frame := derive.ComputedFrame(name, input)
		o.framed += len(frame)
		o.digests = append(o.digests, answer{site: site, request: name, frame: frame, input: input})
		return frame
	}
	result, _ := derive.Digest(name, input)
	o.results[site] = append(o.results[site], result)
	if o.kind.blind(site) {
		return strings.Repeat("0", len(result))
	}
	return result
}

// tooDeep reports whether a frame round a text would be one of too many in each other.
func (o *oracle) tooDeep(input string) bool {
	nested := strings.Contains(input, derive.FrameStart+"c")
	return o.framed > mostFramed || nested && (len(input) > mostNested || derive.ComputedDepth(input) >= derive.MaxDepth)
}

// derived are the values that the calls of a render get, in the order of the log of the
// first render with frames.
type derived struct {
	calls []derivation
	// other are the calls that get other known values, whether they have derived ones or
	// not.
	other map[int]filling
}

// unknown returns the same calls, none of which has a derived value.
func (d *derived) unknown() *derived {
	none := &derived{}
	for _, c := range d.calls {
		none.calls = append(none.calls, derivation{answer: c.answer, like: c.like})
	}
	return none
}

type derivation struct {
	answer
	like int                               // the call of which this is a second execution, or this one
	make func(input string) (string, bool) // nil where there is no derived value
}

// A filling is which of the known values a call gets that has no derived one. The first
// four have no character in the same place, so that one of them shows most of what a
// template does with it. They begin so that short ones show most:
//
//   - The first is one that a template that is particular about characters does not
//     leave alone: base64 in a URL, punctuation in a shell.
//   - The second begins with the first of an alphabet, a digit or a sign. It goes on
//     with upper-case letters: a text of zeros is a number.
//   - The third is lower case, and bytes of zero.
//   - The fourth begins with what is mistaken for something else, and replaced.
//
// The last two are as long as a frame: with every letter and digit, and of one letter.
// What depends on the length alone is the same with both.
type filling int

const (
	fillings    = 4
	longLetters = filling(fillings)
	longOne     = longLetters + 1
	// firstMore is the first of some for values of which there are few.
	firstMore = longOne + 1
	moreFills = 4
)

// What known values consist of, again and again, by the kinds of frames.
var units = map[string][fillings]string{
	"a": {"W", "0ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789", "zyxwvutsrqponmlkjihgfedcba", "lIO01o5S2ZB834679UVXYWTRQPNMLKJHGFEDCAabcdefghijkmnpqrstuvwxyz"},
	"l": {"W", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "zyxwvutsrqponmlkjihgfedcba", "lIOoSZBUVXYWTRQPNMLKJHGFEDCAabcdefghijkmnpqrstuvwxyz"},
	"d": {"9", "0", "5678901234", "2014689357"},
	"p": {"~", "!ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789", "zyxwvutsrqponmlkjihgfedcba", `l"\{# 'I$O%&0*1o:5?S@2Z[]B}8|<>/=+-.,;()!^_~` + "`"},
	"b": {"\xff", "\xfb", "\x00", "lIO01o5S2ZB8"},
}

var uuids = [fillings]string{
	"ffffffff-ffff-4fff-bfff-ffffffffffff", "00000000-0000-4000-8000-000000000000",
	"abcdefab-cdef-4abc-adef-abcdefabcdef", "12345678-90ab-4cde-9f12-34567890abcd",
}

// nth returns the filling for one of several calls: where they had the same, it would not
// show what their order does.
func (f filling) nth(n int) filling {
	switch {
	case f >= firstMore:
		return firstMore + (f-firstMore+filling(n%moreFills))%moreFills
	case f >= fillings:
		return f
	}
	return (f + filling(n%fillings)) % fillings
}

// token returns a known value of a kind: an int for "i", else a text.
func (f filling) token(kind, size string) any {
	if f >= firstMore {
		return f.another(kind, size)
	}
	if f >= fillings && kind != "i" {
		frame := derive.TokenFrame(kind+size, 0, 0)
		if f == longOne {
			return strings.Repeat("W", len(frame))
		}
		return frame
	}
	n, _ := strconv.Atoi(size)
	switch kind {
	case "b":
		return base64.StdEncoding.EncodeToString([]byte(repeated(units[kind][f], n)))
	case "u":
		return uuids[f]
	case "i":
		return f.integer(size)
	}
	return repeated(units[kind][f], n)
}

// isFew reports whether there are so few values of a kind that a template may ask for one.
func isFew(kind, size string) bool {
	n, _ := strconv.Atoi(size)
	switch kind {
	case "i":
		from, to := span(size)
		return to-from <= 32
	case "d":
		return n <= 3
	}
	return n <= 1
}

// another returns one more known value of a kind.
func (f filling) another(kind, size string) any {
	n, _ := strconv.Atoi(size)
	more := int(f - firstMore)
	switch kind {
	case "d":
		return strings.Repeat(string("3468"[more]), n)
	case "i":
		from, to := span(size)
		return max(from, min(to-1, []int{from + (to-from)/4, to - 1 - (to-from)/4, from + 2, to - 2}[more]))
	case "b":
		return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x0f\x55\xaa\xf0"[more:more+1], n)))
	case "u":
		return strings.NewReplacer("0", string("3579"[more]), "f", string("9bce"[more])).Replace(uuids[more%2])
	}
	return strings.Repeat(string("GpTh"[more]), n)
}

// repeated is a text of n bytes that consists of a unit.
func repeated(unit string, n int) string {
	if unit == "" || n < 0 {
		return "" // no request of a mark
	}
	return strings.Repeat(unit, n/len(unit)+1)[:n]
}

// span is the range of integers of a size, "<from>to<to>", of which to is none.
func span(size string) (from, to int) {
	least, limit, _ := strings.Cut(size, "to")
	from, _ = strconv.Atoi(least)
	to, _ = strconv.Atoi(limit)
	return from, to
}

// integer is the largest number of a range, the least one, the one between, or the one
// next to the least, which is odd where that is even.
func (f filling) integer(size string) int {
	from, to := span(size)
	return [fillings]int{to - 1, from, from + (to-from)/2, min(from+1, to-1)}[f%fillings]
}

// salted returns a text of the form of what a function makes of a text.
func (f filling) salted(function, input string) string {
	if function == "shuffle" {
		letters := []rune(input)
		if f%2 == 1 {
			slices.Reverse(letters)
		}
		middle := len(letters) / 2 * int(f/2) / 2
		return string(letters[middle:]) + string(letters[:middle])
	}
	const hash = 53 // characters behind the salt's prefix
	return "$2a$10$" + strings.Repeat(string("./Az5XbcKq"[f]), hash)
}
