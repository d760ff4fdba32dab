package overlay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/api/resource"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"
)

// decode returns the object that a reader of `kustomize build` output gets for
// res, without printing and parsing it where the outcome is certain.
//
// `kustomize build` prints a resource in four steps: the node tree as YAML,
// that text decoded by yaml.v3 into Go values, those as JSON, the JSON as YAML.
// So the rules are those of yaml.v3 and of encoding/json, not YAML 1.1: an
// unquoted `yes` is the string "yes", 0777 is 511, 1.0 is the integer 1, a date
// becomes an RFC 3339 string. The shortcut covers strings, booleans, nulls,
// decimal integers and finite decimals; a resource with anything else in it, or
// with a string that the YAML printer does not reproduce, takes the long way,
// which is the definition.
func decode(res *resource.Resource) (map[string]any, error) {
	if root := res.YNode(); root.Kind == kyaml.MappingNode {
		if value, ok := mapping(root, true); ok {
			return value, nil
		}
	}
	printed, err := res.AsYAML()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", describe(res), withoutContent(err))
	}
	return parse(printed)
}

// parse reads one printed object as Kubernetes' own decoders do: integers that
// fit are int64, all other numbers float64.
func parse(printed []byte) (map[string]any, error) {
	asJSON, err := yaml.YAMLToJSON(printed)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.UseNumber()
	var value map[string]any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if value == nil {
		return nil, errors.New("not an object")
	}
	converted, ok := numbers(value).(map[string]any)
	if !ok {
		return nil, errors.New("not an object")
	}
	return converted, nil
}

func numbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = numbers(item)
		}
	case []any:
		for i, item := range v {
			v[i] = numbers(item)
		}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	}
	return value
}

// shortcut converts one node; ok is false where only the long way is certain.
func shortcut(node *kyaml.Node) (value any, ok bool) {
	switch node.Kind {
	case kyaml.MappingNode:
		return mapping(node, false)
	case kyaml.SequenceNode:
		if !plainTag(node.Tag, "!!seq") {
			return nil, false
		}
		list := make([]any, len(node.Content))
		for i, item := range node.Content {
			if list[i], ok = shortcut(item); !ok {
				return nil, false
			}
		}
		return list, true
	case kyaml.ScalarNode:
		return scalar(node)
	}
	return nil, false
}

// mapping converts a mapping node. At the root the printed text is decoded into
// a map with string keys, below it into one that takes what it finds; a key
// that is not a string then is an error, which the long way words.
func mapping(node *kyaml.Node, root bool) (map[string]any, bool) {
	if !plainTag(node.Tag, "!!map") || len(node.Content)%2 != 0 {
		return nil, false
	}
	if root && len(node.Content) == 0 {
		return nil, false
	}
	result := make(map[string]any, len(node.Content)/2)
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		// A key "<<" is a merge to some of the readers even in quotes.
		if key.Kind != kyaml.ScalarNode || key.ShortTag() != kyaml.NodeTagString || key.Value == "<<" {
			return nil, false
		}
		if _, ok := scalar(key); !ok {
			return nil, false
		}
		if _, twice := result[key.Value]; twice {
			return nil, false
		}
		value, ok := shortcut(node.Content[i+1])
		if !ok {
			return nil, false
		}
		result[key.Value] = value
	}
	return result, true
}

func plainTag(tag, want string) bool { return tag == "" || tag == want }

func scalar(node *kyaml.Node) (any, bool) {
	text := node.Value
	switch node.ShortTag() {
	case kyaml.NodeTagString:
		// The YAML printer adds line breaks to folded scalars, and writes a
		// leading tab so that its own reader refuses it. Both are part of what
		// `kustomize build` gives.
		faithful := node.Style&kyaml.FoldedStyle == 0 && !strings.HasPrefix(text, "\t")
		return text, faithful && printable(text)
	case kyaml.NodeTagBool:
		switch text {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	case kyaml.NodeTagNull:
		switch text {
		case "", "~", "null":
			return nil, true
		}
	case kyaml.NodeTagInt:
		if decimal(text) {
			i, err := strconv.ParseInt(text, 10, 64)
			return i, err == nil
		}
	case kyaml.NodeTagFloat:
		return float(text)
	}
	return nil, false
}

// decimal reports whether text is an integer that every YAML and JSON reader
// takes for the same number: no leading zero, no underscore, no base prefix.
func decimal(text string) bool {
	digits := text
	if digits != "" && digits[0] == '-' {
		digits = digits[1:]
	}
	if digits == "" || len(digits) > 18 || (digits[0] == '0' && text != "0") {
		return false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return true
}

// float converts decimals such as 0.5. A float without a fraction is printed
// without one, and is an integer to the next reader.
func float(text string) (any, bool) {
	for i := range len(text) {
		if (text[i] < '0' || text[i] > '9') && text[i] != '.' && text[i] != '-' {
			return nil, false
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, false
	}
	printed, err := json.Marshal(f)
	if err != nil {
		return nil, false
	}
	if decimal(string(printed)) {
		i, err := strconv.ParseInt(string(printed), 10, 64)
		return i, err == nil
	}
	return f, bytes.IndexByte(printed, '.') >= 0
}

// printable reports whether text survives the YAML reader, which refuses DEL,
// the C1 controls and the non-characters.
func printable(text string) bool {
	for i := 0; i < len(text); {
		if text[i] < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError || r < 0xa0 || r == 0xfffe || r == 0xffff || r == 0xfeff {
			return false
		}
		i += size
	}
	return true
}

// describe names a resource for a message.
func describe(res *resource.Resource) string {
	return fmt.Sprintf("%s %q", res.GetKind(), res.GetName())
}
