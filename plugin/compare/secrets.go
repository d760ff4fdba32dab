package compare

import (
	"encoding/base64"
	"maps"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// What stands for a value of a Secret. The second one stands in To where the values
// differ, so that two texts differ where two Secrets do and nowhere else.
const (
	concealedSame    = "(hidden)"
	concealedChanged = "(hidden, changed)"
)

func concealed(v any) bool { return v == any(concealedSame) || v == any(concealedChanged) }

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// conceal returns two objects, of which one may be nil, with the values of a Secret
// replaced by what says whether they are equal. Everything after it sees no value of
// a Secret, so nothing after it can show one.
//
// Values are compared as the API server stores them: what stands in stringData is the
// same as its base64 in data, and wins over data. A value that only moved between the
// two is no difference, and stands where To has it. Besides data, any field that a
// Secret does not have is concealed, because a misspelt one holds the same values.
func conceal(a, b map[string]any, secret bool) (map[string]any, map[string]any) {
	if !secret {
		return a, b
	}
	c := concealment{maps.Clone(a), maps.Clone(b)}
	for _, key := range unionKeys(a, b) {
		switch key {
		case "apiVersion", "kind", "type", "immutable", "data", "stringData":
		case "metadata":
			c.annotation()
		default:
			c.replace(c.a, c.b, key)
		}
	}
	c.entries(a, b)
	return c.a, c.b
}

type concealment struct{ a, b map[string]any }

// replace conceals the values under one key of two mappings, of which one may be nil.
func (c *concealment) replace(a, b map[string]any, key string) {
	x, inA := a[key]
	y, inB := b[key]
	mark := concealedChanged
	if !inA || same(x, y) || x == any(unstable) || y == any(unstable) {
		mark = concealedSame
	}
	if inA && x != nil {
		a[key] = concealedSame
	}
	if inB && y != nil {
		b[key] = mark
	}
}

// annotation conceals the whole object that kubectl keeps in one.
func (c *concealment) annotation() {
	own := func(value map[string]any) map[string]any {
		meta := object.Mapping(value["metadata"])
		annotations := object.Mapping(meta["annotations"])
		if _, ok := annotations[lastApplied]; !ok {
			return nil
		}
		meta, annotations = maps.Clone(meta), maps.Clone(annotations)
		value["metadata"], meta["annotations"] = meta, annotations
		return annotations
	}
	c.replace(own(c.a), own(c.b), lastApplied)
}

// An entry is a value of a Secret and the field that it stands in.
type entry struct {
	field string
	value any
	// bytes is the decoded value, where decoded is true.
	bytes   string
	decoded bool
}

// entriesOf returns the values of a Secret by key. ok is false where data or
// stringData is not a mapping, which the API server refuses.
func entriesOf(value map[string]any) (out map[string]entry, ok bool) {
	out = map[string]entry{}
	for _, field := range []string{"data", "stringData"} {
		values, isMapping := value[field].(map[string]any)
		if !isMapping && value[field] != nil {
			return nil, false
		}
		for key, v := range values {
			e := entry{field: field, value: v}
			if text, isText := v.(string); isText && field == "stringData" {
				e.bytes, e.decoded = text, true
			} else if isText {
				text = strings.NewReplacer("\n", "", "\r", "").Replace(text)
				raw, err := base64.StdEncoding.DecodeString(text)
				e.bytes, e.decoded = string(raw), err == nil
			}
			out[key] = e
		}
	}
	return out, true
}

func (e entry) same(other entry) bool {
	switch {
	case e.value == any(unstable) || other.value == any(unstable):
		return true
	case e.decoded && other.decoded:
		return e.bytes == other.bytes
	}
	return e.decoded == other.decoded && same(e.value, other.value)
}

func (c *concealment) entries(a, b map[string]any) {
	before, okA := entriesOf(a)
	after, okB := entriesOf(b)
	if !okA || !okB {
		c.replace(c.a, c.b, "data")
		c.replace(c.a, c.b, "stringData")
		return
	}
	emptied(c.a)
	emptied(c.b)
	put := func(value map[string]any, field, key string, mark any) {
		m := object.Mapping(value[field])
		if m == nil {
			m = map[string]any{}
			value[field] = m
		}
		m[key] = mark
	}
	show := func(e entry, mark string) any {
		switch {
		case e.value == nil, e.value == any(unstable):
			return e.value
		}
		return mark
	}
	for key, e := range before {
		field := e.field
		if other, ok := after[key]; ok {
			field = other.field
		}
		put(c.a, field, key, show(e, concealedSame))
	}
	for key, e := range after {
		mark := concealedSame
		if other, ok := before[key]; ok && !e.same(other) {
			mark = concealedChanged
		}
		put(c.b, e.field, key, show(e, mark))
	}
}

// emptied takes out the values of a Secret; what had none before stays as it is.
func emptied(value map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		if m := object.Mapping(value[field]); len(m) > 0 {
			delete(value, field)
		}
	}
}
