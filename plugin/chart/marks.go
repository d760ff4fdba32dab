package chart

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/plugin/derive"
)

// Marks are edits of calls whose results change, so that the output tells what
// became of them. There are two kinds:
//
//   - A frame (package derive reads them) is printed in place of a random value and
//     says which function made it, how long it is, and by a nonce which execution of
//     the call it was. A digest prints its input in a frame.
//   - A shape is a known value that has the length and the characters of a random
//     one. What a frame leads to and what a shape leads to has to be the same but for
//     the frame, see foreseen: else a template has cut the value, computed with it or
//     decided on it, and what stands there is no frame of what belongs there. One shape
//     would agree by chance with many a test, so there are four, which have no
//     character in the same place. Digests are left alone, and keys are of a kind that
//     is made quickly.
//
// Both come with a fixed time and with the values of maps in order.

// callMark is the edit of one call: another name for the function, or text behind the
// command, or both. Before goes in front of the last of two arguments, and is what name
// begins with where that comes through a pipe.
type callMark struct{ name, before, suffix string }

const (
	// In the place of these marks differ from call to call and from render to render.
	nonceHere = "<nonce>"
	siteHere  = "<site>"

	// Of a nonce the first digits are the time, as bits, since the base64 of such digits
	// has one order with them; in the second render they are the complement of it. So
	// whatever compares two values has another result there.
	nonce       = `(printf "%063b%s" (now).UnixNano (randNumeric 6))`
	nonceSecond = `(printf "%063b%s" (sub 9223372036854775807 (now).UnixNano) (randNumeric 6))`

	// The zone is in the text, so that it is one moment on every machine. How date
	// functions print it is up to time.Local, which a program has to set.
	fixedNow = `(toDate "2006-01-02T15:04:05Z07:00" "2000-01-01T12:00:00Z")`
)

// tokenFrame is the suffix behind a call that gives a text of n characters or, for
// kind b, the base64 of n bytes.
func tokenFrame(kind, measure string) callMark {
	return callMark{suffix: " | " + measure + ` | printf "` + derive.FrameStart + "t%s" + kind + "%ds" + siteHere + derive.FrameEnd + `" ` + nonceHere}
}

// digestFrame makes a function that computes name print what it is given, as with
// gives it.
func digestFrame(name, with, encode string) callMark {
	return callMark{name: with, suffix: encode + ` | printf "` + derive.FrameStart + "c" + name + "x%s" + derive.FrameEnd + `"`}
}

// noAge stands for how long ago a time is.
var noAge = callMark{name: "toString", suffix: ` | printf "0s%.0s"`}

// frames are the marks of the first kind, by function.
var frames = map[string]callMark{
	"randAlphaNum": tokenFrame("a", "len"),
	"randAlpha":    tokenFrame("l", "len"),
	"randNumeric":  tokenFrame("d", "len"),
	"randAscii":    tokenFrame("p", "len"),
	"randBytes":    tokenFrame("b", "b64dec | len"),
	"uuidv4":       {name: `(` + nonceHere + ` | printf "` + derive.FrameStart + `t%su0s` + siteHere + derive.FrameEnd + `")`},
	"randInt": {
		name:   `printf "i%vto%v"`,
		suffix: ` | printf "` + derive.FrameStart + `t%s%ss` + siteHere + derive.FrameEnd + `" ` + nonceHere,
	},
	"sha1sum":    digestFrame("sha1", "b64enc", ""),
	"sha256sum":  digestFrame("sha256", "b64enc", ""),
	"sha512sum":  digestFrame("sha512", "b64enc", ""),
	"adler32sum": digestFrame("adler32", "b64enc", ""),
	"shuffle":    digestFrame("shuffle", "b64enc", ""),
	"bcrypt":     digestFrame("bcrypt", "toString", " | b64enc"),
	// Charts cut the hash off behind the colon, so it has a frame of its own.
	"htpasswd": {name: `printf "%s:` + derive.FrameStart + "cbcryptx%s" + derive.FrameEnd + `"`, before: "b64enc"},
	"now":      {name: fixedNow},
	"ago":      noAge,
}

// shapeCount is how many renders with shapes there are.
const shapeCount = 4

// What shapes consist of, again and again, by the kinds of frames. They begin so that
// short ones show most:
//
//   - The first is one that a template that is particular about characters does not
//     leave alone: base64 in a URL, punctuation in a shell.
//   - The second begins with the first of an alphabet, a digit or a sign. It goes on
//     with upper-case letters: a text of zeros is a number.
//   - The third is lower case, and bytes of zero.
//   - The fourth begins with what is mistaken for something else, and replaced.
//
// Together the longer ones hold every letter.
var shapeUnits = map[string][shapeCount]string{
	"a": {"W", "0ABCDEFGHIJKLMNOPQRSTUVWXYZ123456789", "zyxwvutsrqponmlkjihgfedcba", "lIO01o5S2ZB834679UVXYWTRQPNMLKJHGFEDCAabcdefghijkmnpqrstuvwxyz"},
	"l": {"W", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "zyxwvutsrqponmlkjihgfedcba", "lIOoSZBUVXYWTRQPNMLKJHGFEDCAabcdefghijkmnpqrstuvwxyz"},
	"d": {"9", "0", "5678901234", "2014689357"},
	"p": {"~", "!ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789", "zyxwvutsrqponmlkjihgfedcba", `l"\{# 'I$O%&0*1o:5?S@2Z[]B}8|<>/=+-.,;()!^_~` + "`"},
	"b": {"\xff", "\xfb", "\x00", "lIO01o5S2ZB8"},
}

var shapeUUIDs = [shapeCount]string{
	"ffffffff-ffff-4fff-bfff-ffffffffffff", "00000000-0000-4000-8000-000000000000",
	"abcdefab-cdef-4abc-adef-abcdefabcdef", "12345678-90ab-4cde-9f12-34567890abcd",
}

// The longest text that a shape is made for has this many times the length of its unit.
const shapeUnitsAtMost = 999

// shapesOf are the marks of the second kind for a function whose values consist of units.
// They go behind its result, through the commands before and behind.
func shapesOf(kind, before, behind string) (out [shapeCount]callMark) {
	for i, unit := range shapeUnits[kind] {
		// No backquote, for the sake of raw strings.
		quoted := strings.ReplaceAll(strconv.Quote(unit), "`", `\x60`)
		out[i] = callMark{suffix: before + ` | len | printf "%.[2]*[1]s" (repeat ` + strconv.Itoa(shapeUnitsAtMost) + " " + quoted + ")" + behind}
	}
	return out
}

func shapesOfUUIDs() (out [shapeCount]callMark) {
	for i, id := range shapeUUIDs {
		out[i] = callMark{name: `(printf "` + id + `")`}
	}
	return out
}

// shapes are the marks of the second kind where they are others.
var shapes = map[string][shapeCount]callMark{
	"randAlphaNum": shapesOf("a", "", ""),
	"randAlpha":    shapesOf("l", "", ""),
	"randNumeric":  shapesOf("d", "", ""),
	"randAscii":    shapesOf("p", "", ""),
	"randBytes":    shapesOf("b", " | b64dec", " | b64enc"),
	"uuidv4":       shapesOfUUIDs(),
	// The largest number, the least one, the one between; see secondInteger.
	"randInt": {
		{name: "list", suffix: " | last | int | add -1 | int"},
		{name: "list", suffix: " | first | int"},
		{name: "add", suffix: " | mulf 0.5 | floor | int"},
		{name: "list", suffix: " | first | int"},
	},
}

// secondInteger is the shape that comes next to the least number, odd where that is
// even. The end of the range has to stand behind the call.
func secondInteger(c *call) callMark {
	m := shapes["randInt"][shapeCount-1]
	if len(c.args) == 2 {
		m.suffix += " | add 1 | min (add -1 " + c.args[1] + ") | int"
	}
	return m
}

// quickKey is made in much less time than those of other kinds.
const quickKey = `(genPrivateKey "ed25519")`

// withKey is the mark of a function that makes a certificate and its key, if all of its
// arguments stand behind it.
func withKey(c *call, arguments int) callMark {
	if len(c.args) != arguments {
		return callMark{}
	}
	return callMark{name: c.function + "WithKey", suffix: " " + quickKey}
}

func quick(c *call) callMark {
	switch c.function {
	case "genPrivateKey":
		return callMark{name: `printf "%[1]s%.0[2]s" ` + quickKey}
	case "genCA":
		return withKey(c, 2)
	case "genSelfSignedCert":
		return withKey(c, 4)
	case "genSignedCert":
		return withKey(c, 5)
	}
	return callMark{}
}

// marking says which marks a render carries.
type marking struct {
	second  bool // frames: those of the second render
	shapes  bool // shapes, no frames
	variant int  // which of the shapes
	slow    bool // shapes: keys are left as they are
	reverse bool // the values of maps come in reverse order
}

// of returns the mark of a call, whose number is site.
func (k marking) of(c *call, site int) callMark {
	switch {
	case c.class == digest && k.shapes:
		return callMark{}
	case c.class == order:
		if k.reverse {
			return callMark{suffix: reverseSuffix}
		}
		return callMark{suffix: sortSuffix}
	}
	if k.shapes {
		if c.function == "randInt" && k.variant == shapeCount-1 {
			return secondInteger(c)
		}
		if m, ok := shapes[c.function]; ok {
			return m[k.variant]
		}
		if m := quick(c); m != (callMark{}) && !k.slow {
			return m
		}
	}
	m, here := frames[c.function], nonce
	if k.second {
		here = nonceSecond
	}
	fill := strings.NewReplacer(nonceHere, here, siteHere, fmt.Sprintf("%03d", site))
	m.name, m.suffix = fill.Replace(m.name), fill.Replace(m.suffix)
	return m
}

// leftAlone is the mark of a call that must not print a frame: a shape, another one in
// the second render. A digest stays what it is, and so differs if its input does.
func (k marking) leftAlone(c *call) callMark {
	n, salted := 0, "%.0s"+strings.Repeat("f", 64)
	if k.second {
		n, salted = 1, "%.0s"+strings.Repeat("0", 64)
	}
	if m, ok := shapes[c.function]; ok {
		return m[n]
	}
	switch c.function {
	case "htpasswd":
		return callMark{name: `printf "%s:` + salted + `"`}
	case "bcrypt", "shuffle":
		return callMark{name: `printf "` + salted + `"`}
	case "now", "ago":
		return frames[c.function]
	}
	return callMark{}
}

// fits reports whether the call can carry the mark.
func (m callMark) fits(c *call) bool {
	return m != (callMark{}) && c.pos >= 0 && (m.suffix == "" && m.before == "" || c.end >= 0)
}

// edits returns the edits of a mark, in the file.
func (m callMark) edits(c *call) []edit {
	out := m.inText(c)
	for i := range out {
		e := &out[i]
		e.template, e.text = c.template, c.place.write(e.text)
		if c.place.quote != 0 {
			e.at, e.end = c.place.offsets[e.at], c.place.offsets[e.end]
		}
	}
	return out
}

// inText returns the edits of a mark, in the text that the call stands in.
func (m callMark) inText(c *call) []edit {
	var out []edit
	name := m.name
	switch {
	case m.before == "":
	case len(c.args) == 2:
		out = append(out, edit{c.within, c.argAt[1], c.argAt[1], "(" + m.before + " "}, edit{c.within, c.stop, c.stop, ")"})
	default:
		name = m.before + " | " + name
	}
	if name != "" {
		out = append(out, edit{c.within, c.start, c.start + len(c.function), name})
	}
	if m.suffix != "" {
		out = append(out, edit{c.within, c.stop, c.stop, m.suffix})
	}
	return out
}

// timed returns the edit that gives a date function the fixed time in place of what
// it was given.
func (c *call) timed() edit {
	args := slices.Clone(c.args)
	if i := c.timeIndex(); i < len(args) {
		args[i] = fixedNow
		return c.edit(c.end, c.function+" "+strings.Join(args, " "))
	}
	return c.edit(c.end, fmt.Sprintf(`toString | printf "%%[1]s%%.0[2]s" (%s %s %s)`, c.function, strings.Join(args, " "), fixedNow))
}
