package compare

import (
	"crypto/sha1" //nolint:gosec // charts print such sums, nothing is protected by one
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/redact"
)

// A hider takes out of a text that is shown what nobody may read in it: what was
// decrypted for either side, and the values of the Secrets of both, wherever else a
// chart puts them, as well as their bare checksums, by which a short value can be
// guessed. What one side has is as secret where only the other side knows it.
//
// Answers for short texts are kept, because a search for secrets costs far more than a
// look-up and names repeat.
type hider struct {
	from, to Rendered
	known    map[string]string
	found    *collection
}

func newHider(from, to Rendered) *hider {
	return &hider{from: from, to: to, known: map[string]string{"": ""}, found: secretValues(from.Objects, to.Objects)}
}

func (h *hider) text(s string) string {
	const short = 1 << 10
	out, ok := h.known[s]
	if ok {
		return out
	}
	out = s
	for _, hide := range []func(string) string{h.from.Hide, h.to.Hide} {
		if hide != nil {
			out = hide(out)
		}
	}
	out = h.found.values.Text(out)
	if len(s) <= short {
		h.known[s] = out
	}
	return out
}

// complete reports whether all values of Secrets are looked for.
func (h *hider) complete() bool { return h.found.bytes <= maxValues }

const (
	// minValue is the length from which on a value is looked for outside of its
	// Secret. Shorter ones stand in many places by chance.
	minValue = 6
	// minLine is that of a line of a value that has several.
	minLine = 16
	// maxValue is the length of a value that is looked for as a whole; a longer one is
	// a file, whose lines are.
	maxValue = 4 << 10
	// maxValues bounds what is looked for, in bytes.
	maxValues = 1 << 20
)

// secretValues collects the values of Secrets. Words that a report shows anyway are
// none: the names of objects and fields, and images. A user called "postgres" would
// take half of the text along.
func secretValues(sides ...[]object.Object) *collection {
	c := &collection{}
	var secrets []object.Object
	for _, objects := range sides {
		for _, o := range objects {
			if o.IsSecret() {
				secrets = append(secrets, o)
			}
		}
	}
	if len(secrets) == 0 {
		return c
	}
	c.values = &redact.Values{}
	var public strings.Builder
	for _, objects := range sides {
		for _, o := range objects {
			shownNames(o.Value, func(name string) { public.WriteString(name + "\n") })
		}
	}
	c.public = strings.ToLower(public.String())
	for _, o := range secrets {
		entries, wellFormed := entriesOf(o.Value)
		for _, field := range slices.Sorted(maps.Keys(o.Value)) {
			switch value := o.Value[field]; field {
			case "apiVersion", "kind", "type", "immutable", "metadata":
			case "data", "stringData":
				if !wellFormed {
					c.leaves(value)
				}
			default:
				c.leaves(value) // a misspelt one holds the same
			}
		}
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			if e := entries[key]; e.decoded && utf8.ValidString(e.bytes) {
				c.value(e.bytes)
			} else if text, isText := e.value.(string); isText {
				c.value(text)
			}
		}
	}
	return c
}

// shownNames yields the names and the images that an object has.
func shownNames(v any, yield func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			yield(key)
			text, isText := item.(string)
			switch {
			case key == "data" || key == "stringData" || key == "binaryData":
				for name := range object.Mapping(item) {
					yield(name)
				}
			case isText && slices.Contains([]string{"name", "namespace", "kind", "apiVersion", "image"}, key):
				yield(text)
			default:
				shownNames(item, yield)
			}
		}
	case []any:
		for _, item := range v {
			shownNames(item, yield)
		}
	}
}

type collection struct {
	public string // in lower case, a name on each line
	values *redact.Values
	list   []string // of the values
	bytes  int
}

// userPart is the password in an address.
var userPart = regexp.MustCompile(`://[^\s/@:]*:([^\s/@]+)@`)

// value adds what a Secret has under one key, and what can be told to be a value in
// it: the leaves of a JSON document, what the lines of a file assign, the passwords in
// addresses.
func (c *collection) value(text string) {
	c.sums(text)
	text = strings.TrimSpace(text)
	c.add(text)
	for _, found := range userPart.FindAllStringSubmatch(text, -1) {
		c.add(found[1])
	}
	if document := any(nil); strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &document) == nil {
		c.leaves(document)
		return
	}
	if !strings.ContainsAny(text, "\n=") {
		return
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= minLine {
			c.add(line)
		}
		for _, sign := range []string{":", "="} {
			_, assigned, found := strings.Cut(line, sign)
			if assigned = strings.Trim(assigned, " \t\"',;"); found && !strings.Contains(assigned, " ") {
				c.add(assigned)
			}
		}
	}
}

func (c *collection) leaves(v any) {
	switch v := v.(type) {
	case string:
		c.add(v)
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) { // in one order, since there is a bound
			c.leaves(v[key])
		}
	case []any:
		for _, item := range v {
			c.leaves(item)
		}
	}
}

func (c *collection) add(value string) {
	if len(value) < minValue || len(value) > maxValue || c.bytes > maxValues || strings.Contains(c.public, strings.ToLower(value)) {
		return
	}
	c.keep(value)
	c.keep(base64.StdEncoding.EncodeToString([]byte(value))) // encoded twice by some
}

func (c *collection) keep(value string) {
	c.bytes += len(value)
	c.list = append(c.list, value)
	c.values.AddWhole(value)
}

// sums adds the checksums that a template can make of a value.
func (c *collection) sums(value string) {
	if value == "" || c.bytes > maxValues {
		return
	}
	sum1, sum256, sum512 := sha1.Sum([]byte(value)), sha256.Sum256([]byte(value)), sha512.Sum512([]byte(value)) //nolint:gosec // see above
	for _, sum := range [][]byte{sum1[:], sum256[:], sum512[:]} {
		c.keep(hex.EncodeToString(sum))
	}
}

// hideAll takes the values of the Secrets of all applications out of what is said of
// each: the Application that brings another along has its values as parameters. What
// is part of a name in the report stays.
func hideAll(applications []Application, lists [][]string) {
	var names strings.Builder
	for _, a := range applications {
		names.WriteString(strings.ToLower(a.Name) + "\n")
		for i := range a.Objects {
			names.WriteString(strings.ToLower(a.Objects[i].ID.String()) + "\n")
		}
	}
	public, values, bytes := names.String(), &redact.Values{}, 0
	for _, list := range lists {
		for _, value := range list {
			if bytes += len(value); bytes <= maxValues && !strings.Contains(public, strings.ToLower(value)) {
				values.AddWhole(value)
			}
		}
	}
	if bytes == 0 {
		return
	}
	known := map[string]string{}
	hide := func(s string) string {
		out, ok := known[s]
		if !ok {
			out = values.Text(s)
			known[s] = out
		}
		return out
	}
	for i := range applications {
		a := &applications[i]
		for j := range a.Problems {
			p := &a.Problems[j]
			p.Message, p.Hint = hide(p.Message), hide(p.Hint)
		}
		for j := range a.Notes {
			a.Notes[j] = hide(a.Notes[j])
		}
		for j := range a.Objects {
			a.Objects[j].hide(hide)
		}
	}
}

func (o *Object) hide(hide func(string) string) {
	if o.Before != nil {
		o.Before = []byte(hide(string(o.Before)))
	}
	if o.After != nil {
		o.After = []byte(hide(string(o.After)))
	}
	for i := range o.Fields {
		o.Fields[i].hide(hide)
	}
}
