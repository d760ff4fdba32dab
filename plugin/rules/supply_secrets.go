package rules

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"hallmark.dev/hallmark/internal/object"
)

// checkPlaintext looks for credentials in Secrets that no encrypted file gave.
//
// In a plain file, what stands under stringData stands open. What a template renders
// is one of three things: it was decrypted, it is made anew on each render, or it is
// in the chart or its values as it is, such as a default password. Only the last is a
// finding, and for that it is the same under data.
func checkPlaintext(r *render, report report) {
	for _, e := range r.secretEntries() {
		switch {
		case e.wellKnown:
		case e.field == "stringData" && e.literal:
			report(e.item, e.at, "the entry %q is %s in plain text", e.key, e.what)
		case !e.literal:
			report(e.item, e.at, "the entry %q is %s that comes from no encrypted file", e.key, e.what)
		}
	}
}

// advisePlaintext says which credentials are defaults that were never changed. They
// give nothing away, encoded or not, since everybody knows them.
func advisePlaintext(r *render, report report) {
	for _, e := range r.secretEntries() {
		if e.wellKnown {
			report(e.item, e.at, "the entry %q is %s that asks to be changed", e.key, e.what)
		}
	}
}

func checkBase64(r *render, report report) {
	for _, e := range r.secretEntries() {
		if e.field == "data" && e.literal && !e.wellKnown {
			report(e.item, e.at, "the entry %q is %s, encoded but not encrypted", e.key, e.what)
		}
	}
	for _, it := range r.items {
		if !it.applied() {
			continue
		}
		if it.is("", "ConfigMap") {
			data := object.Mapping(it.Value["data"])
			for _, key := range slices.Sorted(maps.Keys(data)) {
				if what := r.encoded(key, object.Text(data[key])); what != "" {
					report(it, path{"data", key}, "the entry %q is %s in base64", key, what)
				}
			}
		}
		if it.pod == nil {
			continue
		}
		for _, c := range it.pod.containers() {
			for i, variable := range object.Items(c.value["env"]) {
				name := object.Text(object.Field(variable, "name"))
				if what := r.encoded(name, object.Text(object.Field(variable, "value"))); what != "" {
					report(it, c.at.under("env", i, "value"), "the variable %q of the container %q is %s in base64", name, c.name(), what)
				}
			}
		}
	}
}

// A secretEntry is an entry of a Secret that holds a credential in the open.
type secretEntry struct {
	item       *item
	field, key string // data or stringData, and the entry in it
	at         path
	what       string // the credential is
	literal    bool   // it stands so in the repository
	wellKnown  bool   // it is a default such as "changeme"
}

// secretEntries never keeps a value. In the Secrets of Helm's tests, which Argo CD never
// applies, only what has the form of a credential is one: the rest is made up.
func (r *render) secretEntries() []secretEntry {
	var out []secretEntry
	for _, it := range r.items {
		if !it.IsSecret() {
			continue
		}
		literal := r.Literal != nil && r.Literal(it.Object)
		for _, field := range []string{"data", "stringData"} {
			entries := object.Mapping(it.Value[field])
			for _, key := range slices.Sorted(maps.Keys(entries)) {
				at := path{field, key}
				value := object.Text(entries[key])
				if value == "" || r.decrypted(key) || r.decrypted(value) || r.unstable(it, at) {
					continue
				}
				if field == "data" {
					decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(value), ""))
					if err != nil || r.decrypted(string(decoded)) {
						continue
					}
					value = string(decoded)
				}
				what, wellKnown := credential(object.Text(it.Value["type"]), key, value), asksForChange(value)
				if wellKnown {
					what = namedCredential(words(key))
				}
				if it.isTest() {
					what = formOf(value)
				}
				if what != "" {
					out = append(out, secretEntry{it, field, key, at, what, literal, wellKnown})
				}
			}
		}
	}
	return out
}

func (r *render) decrypted(text string) bool { return r.Decrypted != nil && r.Decrypted(text) }

// unstable reports whether a field, or what it is in, differs from render to render.
func (r *render) unstable(it *item, at path) bool {
	return slices.ContainsFunc(r.Unstable[it.Object.ID()], func(p []any) bool {
		return len(p) <= len(at) && slices.Equal(p, []any(at)[:len(p)])
	})
}

// shortest is the length of the shortest text that is taken for base64: a shorter
// one that is a plain word decodes to letters too often.
const shortest = 12

// encoded says which credential a text is in base64, or "".
func (r *render) encoded(key, text string) string {
	text = strings.TrimSpace(text)
	if len(text) < shortest || r.decrypted(text) {
		return ""
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil || !utf8.Valid(decoded) || r.decrypted(string(decoded)) || strings.ContainsFunc(string(decoded), isControl) {
		return ""
	}
	return credential("", key, string(decoded))
}

func isControl(r rune) bool { return r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f }
