package stamp

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
)

// Canonical returns the canonical form of o, the bytes that its object hash is
// taken over. o is only read. An error names the object, its file and the field,
// and holds no value.
func Canonical(o object.Object, opts Options) ([]byte, error) {
	c, err := newCanonicalizer(opts)
	if err != nil {
		return nil, err
	}
	text, err := c.canonical(o)
	if err != nil {
		return nil, &diag.Error{File: o.Origin, Line: o.Line, Msg: fmt.Sprintf("%s: %v", o.ID(), err)}
	}
	return bytes.Clone(text), nil
}

// A canonicalizer holds what the canonical forms of one set have in common, and
// a buffer that each of them reuses: a set of CRDs is megabytes of JSON.
type canonicalizer struct {
	key    Key
	ignore map[object.ID]*pathTree
	buf    bytes.Buffer
}

func newCanonicalizer(opts Options) (*canonicalizer, error) {
	if err := opts.Key.check(); err != nil {
		return nil, err
	}
	ignore, err := compileIgnore(opts.Ignore)
	if err != nil {
		return nil, err
	}
	return &canonicalizer{key: opts.Key, ignore: ignore}, nil
}

// fork returns a canonicalizer for use on another goroutine.
func (c *canonicalizer) fork() *canonicalizer {
	return &canonicalizer{key: c.key, ignore: c.ignore}
}

// canonical returns text that is valid until the next call. Its error names the
// field, and leaves it to the caller to name the object.
func (c *canonicalizer) canonical(o object.Object) ([]byte, error) {
	value := o.Value
	if tree := c.ignore[o.ID()]; tree != nil {
		// The root is a map, and prune returns the type it was given.
		value, _ = tree.prune(value).(map[string]any)
	}
	value, err := withoutTracking(value)
	if err != nil {
		return nil, err
	}
	if o.IsSecret() {
		if value, err = withoutSecretValues(value, o.ID(), c.key); err != nil {
			return nil, err
		}
	}
	return appendCanonical(&c.buf, value)
}

// withoutTracking returns value without what a stamp and Argo CD put into its
// metadata. Only the maps on the way to a removed entry are copied.
func withoutTracking(value map[string]any) (map[string]any, error) {
	field, ok := value["metadata"]
	if !ok {
		return value, nil
	}
	meta, err := asMap("metadata", field)
	if err != nil {
		return nil, err
	}
	annotations, err := asMap("metadata.annotations", meta["annotations"])
	if err != nil {
		return nil, err
	}
	// Labels of another type are left for the API server to refuse: a stamp
	// writes nothing into them.
	labels, isMap := meta["labels"].(map[string]any)

	meta = maps.Clone(meta)
	set(meta, "annotations", without(annotations, LeavesOut))
	if isMap || meta["labels"] == nil {
		set(meta, "labels", without(labels, func(name string) bool { return name == labelInstance }))
	}
	withoutHookFinalizer(meta)
	value = maps.Clone(value)
	set(value, "metadata", meta)
	return value, nil
}

// withoutHookFinalizer changes the map meta, but nothing below it.
func withoutHookFinalizer(meta map[string]any) {
	field, ok := meta["finalizers"]
	list, isList := field.([]any)
	switch {
	case !ok || !isList && field != nil:
		return
	case slices.Contains(list, any(finalizerHook)):
		list = slices.DeleteFunc(slices.Clone(list), func(v any) bool { return v == any(finalizerHook) })
	}
	if len(list) == 0 {
		delete(meta, "finalizers")
		return
	}
	meta["finalizers"] = list
}

// without returns m without the entries that drop picks, and m itself where it
// picks none.
func without(m map[string]any, drop func(name string) bool) map[string]any {
	var out map[string]any
	for name := range m {
		if !drop(name) {
			continue
		}
		if out == nil {
			out = maps.Clone(m)
		}
		delete(out, name)
	}
	if out == nil {
		return m
	}
	return out
}

// set puts m under name, or removes name where m is empty: Argo CD creates and
// removes these maps together with its own entry in them.
func set(parent map[string]any, name string, m map[string]any) {
	if len(m) == 0 {
		delete(parent, name)
		return
	}
	parent[name] = m
}

// asMap returns v as a map; null counts as an empty one.
func asMap(field string, v any) (map[string]any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return v, nil
	}
	return nil, fmt.Errorf("%s is a %s, want a map", field, typeName(v))
}

// appendCanonical writes v as RFC 8785 JSON into buf, over what was in it.
func appendCanonical(buf *bytes.Buffer, v any) ([]byte, error) {
	buf.Reset()
	if err := json.MarshalWrite(buf, v, json.Deterministic(true)); err != nil {
		return nil, jsonFault(err)
	}
	text := jsontext.Value(buf.Bytes())
	if isCanonical(text) {
		return text, nil
	}
	if err := text.Canonicalize(); err != nil {
		return nil, jsonFault(err)
	}
	return text, nil
}

// isCanonical reports whether what Marshal wrote needs no second pass, which
// would take as long as the first. Marshal writes strings and numbers as RFC
// 8785 wants them and sorts names by their UTF-8. It differs where names sort
// otherwise by UTF-16, which takes a character from U+E000 on, in integers
// beyond 2^53, which have sixteen digits, and in negative zero. They are looked
// for in the whole text: a false alarm costs time only.
func isCanonical(text []byte) bool {
	const most = 15 // digits of an integer that is surely exact
	for i := most; i < len(text); i += most + 1 {
		// Sixteen digits in a row have one at each sixteenth place.
		if isDigit(text[i]) && digitsAround(text, i) > most {
			return false
		}
	}
	// 0xEE is the first byte of U+E000 in UTF-8; all above start higher.
	return !bytes.Contains(text, []byte("-0")) && !slices.ContainsFunc(text, func(c byte) bool { return c >= 0xEE })
}

func digitsAround(text []byte, i int) int {
	from, to := i, i
	for from > 0 && isDigit(text[from-1]) {
		from--
	}
	for to < len(text) && isDigit(text[to]) {
		to++
	}
	return to - from
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// jsonFault says which field has no JSON form. The library's own messages count
// bytes of an output that nobody sees.
func jsonFault(err error) error {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("at %q: %w", syntax.JSONPointer, syntax.Err)
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		return fmt.Errorf("at %q: a value of Go type %v has no JSON form", semantic.JSONPointer, semantic.GoType)
	}
	return err
}

// typeName names the type of a decoded value as someone who writes YAML knows it.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "bool"
	case string:
		return "string"
	case map[string]any:
		return "map"
	case []any:
		return "list"
	}
	return "number"
}
