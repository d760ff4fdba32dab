package chart

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// A template is a function of its values, except where it calls one of a few
// functions. scan finds those calls by name: first as words in the text, which
// costs next to nothing, and only if there are any in the parsed templates,
// following `include` and `template` from the files that produce output. Where
// `tpl` is called, everything that it could execute counts as a template as
// well: values, files, Chart.yaml and the string literals of templates. What
// scan finds is a suspicion; prove decides.

// class says in what way a function's result can change between renders.
type class int

const (
	random class = iota + 1 // many random bits
	few                     // random, but two results may agree by chance
	slow                    // random, and takes long enough to be called rarely
	clock                   // the current time
	date                    // formats a time; given anything else, the current time
	since                   // how long ago a time is; given a duration, just that
	order                   // the order of a map
	notice                  // nothing changes, but a reader should know
	digest                  // computed from its argument alone
)

// vocabulary gives the classes of the names that a scan looks for.
type vocabulary map[string]class

// suspects are the functions whose results change by themselves.
var suspects = vocabulary{
	"randAlphaNum": random, "randAlpha": random, "randAscii": random, "randNumeric": random, "randBytes": random, "uuidv4": random,
	"rand":    random, // no function, but the beginning of one that a template may put together
	"randInt": few, "shuffle": few,
	"htpasswd": slow, "bcrypt": slow, "encryptAES": slow, "genPrivateKey": slow, "genCA": slow, "genCAWithKey": slow,
	"genSelfSignedCert": slow, "genSelfSignedCertWithKey": slow, "genSignedCert": slow, "genSignedCertWithKey": slow,
	"now": clock, "ago": clock,
	"date": date, "htmlDate": date, "dateInZone": date, "date_in_zone": date, "htmlDateInZone": date,
	"durationRound": since,
	"keys":          order, "values": order,
	"lookup": notice, "getHostByName": notice,
}

// digests are functions that hand on the change of their argument in a form that
// does not show it. They stand in nearly every chart, so only derive looks for them.
var digests = vocabulary{"sha1sum": digest, "sha256sum": digest, "sha512sum": digest, "adler32sum": digest}

// call is one use of a suspicious function.
type call struct {
	function string
	class    class
	// template is the file, or the name of a text that `tpl` may execute.
	template string
	line     int
	// pos and end are the byte offsets of the function's name and behind its
	// last argument. pos is -1 where the text cannot be edited, end is -1 where
	// the command's end is not known.
	pos, end int
	// args are the arguments behind the name, as they are written, and argAt is where
	// they stand.
	args  []string
	argAt []int
	// place says where the call's text stands if that is a string literal.
	place place
	// fixed says that the call stands in a template that cannot be edited.
	fixed bool
	// start and stop are pos and end in the text that the call stands in. It is kept
	// within if that is one that `tpl` may execute and that may as well be printed.
	start, stop int
	within      string
}

// edit returns the edit that replaces the template from the call's name to end.
func (c *call) edit(end int, text string) edit {
	return edit{c.template, c.pos, end, c.place.write(text)}
}

// name returns the offset behind the function's name.
func (c *call) name() int { return c.pos + len(c.function) }

// suffix returns the edit that puts text behind the call.
func (c *call) suffix(text string) edit { return edit{c.template, c.end, c.end, c.place.write(text)} }

// scanned is what a scan found.
type scanned struct {
	// calls that the output may depend on.
	calls []*call
	// reach gives, for each file that produces output, the calls it may reach.
	reach map[string][]*call
	// sortKeys are the edits that put the keys of maps into a fixed order.
	sortKeys edits
	// noticed are the names of functions of class notice.
	noticed []string
}

func scan(p *prepared, names vocabulary) *scanned {
	s := &scanned{reach: map[string][]*call{}, sortKeys: edits{}}
	suspicious, usesTpl := false, false
	for _, t := range p.templates {
		found, tpl := names.words(t.text)
		suspicious = suspicious || len(found) > 0
		usesTpl = usesTpl || tpl
	}
	if usesTpl {
		p.texts(func(t text) {
			if strings.Contains(t.body, "{{") {
				found, _ := names.words(t.body)
				suspicious = suspicious || len(found) > 0
			}
		})
	}
	if !suspicious {
		return s
	}
	b := bodies{names: names, named: map[string][]*body{}}
	for _, t := range p.templates {
		b.add(t.name, t.name, t.text, place{})
	}
	if usesTpl {
		literals := b.literals
		b.literals = nil
		p.texts(func(t text) {
			if strings.Contains(t.body, "{{") {
				b.addExecuted(t.name, t.body, place{fixed: t.set == nil})
			}
		})
		for _, l := range literals {
			b.addExecuted(l.template, l.body, l.place)
		}
	}
	for _, t := range p.templates {
		if !strings.HasPrefix(path.Base(t.name), "_") {
			s.addRoot(t.name, b.named)
		}
	}
	return s
}

// executed is the name under which everything stands that `tpl` may execute.
const executed = "\x00tpl"

// addRoot records the calls that the file may reach.
func (s *scanned) addRoot(file string, named map[string][]*body) {
	seen := map[string]bool{}
	queue := []string{file}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, b := range named[name] {
			for _, c := range b.calls {
				s.addCall(file, c)
			}
			queue = append(queue, b.includes...)
			if b.dynamic {
				// The name is computed: any named template may be meant.
				queue = append(queue, slices.Sorted(maps.Keys(named))...)
			}
			if b.tpl {
				queue = append(queue, executed)
			}
		}
	}
}

func (s *scanned) addCall(file string, c *call) {
	switch {
	case c.class == notice:
		if !slices.Contains(s.noticed, c.function) {
			s.noticed = append(s.noticed, c.function)
			slices.Sort(s.noticed)
		}
		return
	case c.sortable():
		s.sortKeys.add(c.suffix(sortSuffix))
		return
	}
	if !slices.Contains(s.reach[file], c) {
		s.reach[file] = append(s.reach[file], c)
	}
	if !slices.Contains(s.calls, c) {
		s.calls = append(s.calls, c)
	}
}

// sortable reports whether the call gives the keys of one map and stands in a
// template file: what `tpl` may execute can as well be plain text. The keys of
// several maps come map by map, which sorting would undo.
func (c *call) sortable() bool {
	return c.function == "keys" && c.end >= 0 && len(c.args) <= 1 && c.place.quote == 0 && strings.Contains(c.template, "/templates/")
}

// words returns the suspicious names among the identifiers of a text, and
// whether `tpl` is one of them.
func (names vocabulary) words(text string) (found []string, tpl bool) {
	for i := 0; i < len(text); {
		if !isLetter(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && (isLetter(text[i]) || text[i] >= '0' && text[i] <= '9') {
			i++
		}
		// A field is not a function: .Values.keys
		if start > 0 && (text[start-1] == '.' || text[start-1] == '$') {
			continue
		}
		word := text[start:i]
		if word == "tpl" {
			tpl = true
		} else if names[word] != 0 && !slices.Contains(found, word) {
			found = append(found, word)
		}
	}
	return found, tpl
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
