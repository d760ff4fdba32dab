package chart

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Marks are edits of calls whose results change: a marked call says what it asks for, as
// "a:12" for `randAlphaNum 12`, and gets its result from an oracle (oracle.go). It asks by
// `lookup`, the one function whose answers Helm's engines leave to their caller. Besides,
// the time is fixed, what `values` gives is in order, and keys are of a kind that is
// made quickly where that makes no difference.
//
// The edits are the same in each render; what the oracle answers is not:
//
//   - A frame (package derive reads them) in place of a random value says which function
//     made it, how long it is, and by a nonce which execution of the call it was. A digest
//     prints its input in a frame.
//   - A known value has the length and the characters of a random one.
//   - In the end, it is the derived value.

// callMark is the edit of one call: another name for the function, or text behind the
// command, or both. Before goes in front of the last of two arguments, and is what name
// begins with where that comes through a pipe.
type callMark struct{ name, before, suffix string }

const (
	oracleAPI   = "hallmark.dev/oracle"
	oracleField = "is"
	siteHere    = "<site>" // in the place of the number of the call
	timeHere    = "<time>" // in the place of the fixed time
	ageHere     = "<age>"  // in the place of how long ago one is
	ask         = ` | lookup "` + oracleAPI + `" "` + siteHere + `" "" | dig "` + oracleField + `" ""`

	// wasExecuted is the request of a call that gets its result elsewhere, and tell makes
	// it: the call's result is what it was.
	wasExecuted = "executed"
	tell        = `list (lookup "` + oracleAPI + `" "` + siteHere + `" "" "` + wasExecuted + `")`
	tellBehind  = ` | ` + tell + ` | last`

	// The zone is in the text, so that it is one moment on every machine. How date
	// functions print it is up to time.Local, which a program has to set.
	fixedNow = `(toDate "2006-01-02T15:04:05Z07:00" "2000-01-01T12:00:00Z")`
)

// otherTimes are in the place of fixedNow in the renders that show what the time changes,
// with how long ago any time is then. No two of the three have a number in common, in
// any zone, but for the zone's distance from UTC.
var otherTimes = [...]struct{ now, age string }{
	{`(toDate "2006-01-02T15:04:05Z07:00" "2099-10-28T23:47:39Z")`, "9613h37m11s"},
	{`(toDate "2006-01-02T15:04:05Z07:00" "2186-02-16T17:31:24Z")`, "4321h13m47s"},
}

// askFor is the mark of a function that gets one text.
func askFor(kind string) callMark { return callMark{name: `printf "` + kind + `:%s"`, suffix: ask} }

// noAge stands for how long ago a time is.
var noAge = callMark{name: "toString", suffix: ` | printf "` + ageHere + `%.0s"` + tellBehind}

// marks are those of functions that have one mark in all renders. What the requests
// begin with, the oracle reads.
var marks = map[string]callMark{
	"randAlphaNum": {suffix: ` | len | printf "a:%d"` + ask},
	"randAlpha":    {suffix: ` | len | printf "l:%d"` + ask},
	"randNumeric":  {suffix: ` | len | printf "d:%d"` + ask},
	"randAscii":    {suffix: ` | len | printf "p:%d"` + ask},
	"randBytes":    {suffix: ` | b64dec | len | printf "b:%d"` + ask},
	"uuidv4":       {name: `("u:0"` + ask + `)`},
	"randInt":      {name: `printf "i:%vto%v"`, suffix: ask},
	"sha1sum":      askFor("sha1"),
	"sha256sum":    askFor("sha256"),
	"sha512sum":    askFor("sha512"),
	"adler32sum":   askFor("adler32"),
	"shuffle":      askFor("shuffle"),
	"bcrypt":       askFor("bcrypt"),
	"htpasswd":     {name: `printf "htpasswd:%s:%s"`, before: "b64enc", suffix: ask},
	"now":          {name: `(` + tell + ` ` + timeHere + ` | last)`},
	"ago":          noAge,
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

// marking says what a render is for.
type marking struct {
	frames  bool         // the oracle answers with frames
	second  bool         // those of the second render
	values  *derived     // the oracle answers with derived values, where there are any
	fill    filling      // what it answers with else
	slow    bool         // keys are left as they are
	reverse bool         // the values of maps come in reverse order
	later   int          // the time is this one of otherTimes, from 1; 0 is the fixed time
	sighted map[int]bool // the calls of digests that are not always the same; nil for all
}

// blind reports whether a call of a digest gives the same for whatever it is of.
func (k marking) blind(site int) bool { return k.sighted != nil && !k.sighted[site] }

// time is the one that is fixed.
func (k marking) time() string {
	if k.later > 0 {
		return otherTimes[k.later-1].now
	}
	return fixedNow
}

// age is how long ago any time is.
func (k marking) age() string {
	if k.later > 0 {
		return otherTimes[k.later-1].age
	}
	return "0s"
}

// of returns the mark of a call, whose number is site.
func (k marking) of(c *call, site int) callMark {
	m, marked := marks[c.function]
	switch quicker := quick(c); {
	case c.class == order && k.reverse:
		m = callMark{suffix: reverseSuffix + tellBehind}
	case c.class == order:
		m = callMark{suffix: sortSuffix + tellBehind}
	case quicker != (callMark{}) && !k.frames && !k.slow:
		m = quicker
		m.suffix += tellBehind
	case !marked:
		m = callMark{suffix: tellBehind}
	}
	return k.at(site, m)
}

// at fills in the number of the call and the time.
func (k marking) at(site int, m callMark) callMark {
	fill := strings.NewReplacer(siteHere, strconv.Itoa(site), timeHere, k.time(), ageHere, k.age())
	m.name, m.suffix = fill.Replace(m.name), fill.Replace(m.suffix)
	return m
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
	name, behind := m.name, m.suffix
	switch {
	case m.before == "":
	case len(c.args) == 2:
		out = append(out, edit{c.within, c.argAt[1], c.argAt[1], "(" + m.before + " "})
		behind = ")" + behind
	default:
		name = m.before + " | " + name
	}
	if name != "" {
		out = append(out, edit{c.within, c.start, c.start + len(c.function), name})
	}
	if behind != "" {
		out = append(out, edit{c.within, c.stop, c.stop, behind})
	}
	return out
}

// timed returns the edit that gives a date function a fixed time in place of what it was
// given.
func (c *call) timed(at string) edit {
	args := slices.Clone(c.args)
	if i := c.timeIndex(); i < len(args) {
		args[i] = at
		return c.edit(c.end, c.function+" "+strings.Join(args, " "))
	}
	return c.edit(c.end, fmt.Sprintf(`toString | printf "%%[1]s%%.0[2]s" (%s %s %s)`, c.function, strings.Join(args, " "), at))
}
