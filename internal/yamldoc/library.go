package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	goyaml "go.yaml.in/yaml/v2"
	yamlv3 "go.yaml.in/yaml/v3"

	"hallmark.dev/hallmark/internal/diag"
)

// source is a text and where it stands: behind so many lines of file.
type source struct {
	file  string
	text  []byte
	lines int
}

// at makes an error at a byte offset of the text.
func (s source) at(offset int, msg string) *diag.Error {
	before := s.text[:min(offset, len(s.text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return s.line(bytes.Count(before, []byte("\n"))+1, utf8.RuneCount(before[start:])+1, msg)
}

// line makes an error at a line of the text and a column.
func (s source) line(line, col int, msg string) *diag.Error {
	return &diag.Error{File: s.file, Line: s.lines + line, Col: col, Msg: msg}
}

// decodeLibrary reads a document as sigs.k8s.io/yaml does, with the same parser
// and the same rules for what becomes of it in JSON, but without printing and
// parsing that JSON.
func (l Limits) decodeLibrary(src source) (any, error) {
	raw, err := unmarshal(src.text)
	if err != nil {
		return nil, l.translate(src, err)
	}
	c := converter{depth: l.Depth, bytes: l.Bytes}
	v, err := c.convert(raw, 0)
	switch {
	case err == nil:
		return v, nil
	case errors.Is(err, errDepth):
		return nil, src.search(l.tooDeep(), func(n *yamlv3.Node, depth int, _ bool) bool {
			return depth > l.Depth && n.Kind != yamlv3.ScalarNode && n.Kind != yamlv3.AliasNode
		})
	case errors.Is(err, errBytes):
		return nil, src.line(1, 0, fmt.Sprintf("%s more than %d bytes (limit Bytes)", expands, l.Bytes))
	case errors.Is(err, errKey):
		return nil, src.search("a map key must be a string, a number or a boolean, not null", func(n *yamlv3.Node, _ int, key bool) bool {
			return key && n.Kind == yamlv3.ScalarNode && n.Tag == "!!null"
		})
	default: // errNumber
		return nil, src.search("NaN and infinity have no value in JSON", func(n *yamlv3.Node, _ int, key bool) bool {
			return !key && n.Tag == "!!float" && strings.Contains(n.Value, ".") && strings.Trim(strings.ToLower(n.Value), "+-.infa") == ""
		})
	}
}

// How the messages about a document that is larger than it looks begin.
const (
	expands       = "expands to"
	aliasesExpand = "aliases expand the document"
)

// unmarshal guards the library, which reports most faults by panicking inside
// and recovers only from those it knows.
func unmarshal(text []byte) (v any, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, fmt.Errorf("yaml: the parser gave up: %v", r)
		}
	}()
	err = goyaml.Unmarshal(text, &v)
	return v, err
}

var (
	errDepth  = errors.New("depth")
	errBytes  = errors.New("bytes")
	errKey    = errors.New("key")
	errNumber = errors.New("number")
)

// converter turns the library's values into those of JSON.
type converter struct{ depth, bytes int }

func (c *converter) convert(v any, depth int) (any, error) {
	if c.bytes--; c.bytes < 0 {
		return nil, errBytes
	}
	switch v := v.(type) {
	case map[any]any:
		if depth == c.depth {
			return nil, errDepth
		}
		return c.mapping(v, depth+1)
	case []any:
		if depth == c.depth {
			return nil, errDepth
		}
		list := make([]any, len(v))
		for i, item := range v {
			var err error
			if list[i], err = c.convert(item, depth+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case string:
		if c.bytes -= len(v); c.bytes < 0 {
			return nil, errBytes
		}
		return validUTF8(v), nil
	case int:
		return int64(v), nil
	case uint64:
		return float64(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errNumber
		}
		return fromFloat(v), nil
	}
	return v, nil // bool, int64, nil
}

func (c *converter) mapping(m map[any]any, depth int) (any, error) {
	out := make(map[string]any, len(m))
	for k, v := range m {
		key, ok := keyString(k)
		if !ok {
			return nil, errKey
		}
		if c.bytes -= len(key); c.bytes < 0 {
			return nil, errBytes
		}
		value, err := c.convert(v, depth)
		if err != nil {
			return nil, err
		}
		out[key] = value
	}
	if len(out) == len(m) {
		return out, nil
	}
	// Keys fell together. Decide by type, not by the order of the map: what is
	// written last wins, so strings come last.
	keys := make([]any, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b any) int {
		return strings.Compare(fmt.Sprintf("%T %[1]v", a), fmt.Sprintf("%T %[1]v", b))
	})
	for _, k := range keys {
		key, _ := keyString(k)
		value, err := c.convert(m[k], depth)
		if err != nil {
			return nil, err
		}
		out[key] = value
	}
	return out, nil
}

// keyString spells a key as sigs.k8s.io/yaml does.
func keyString(k any) (string, bool) {
	switch k := k.(type) {
	case string:
		return validUTF8(k), true
	case int:
		return strconv.Itoa(k), true
	case bool:
		return strconv.FormatBool(k), true
	case float64:
		switch {
		case math.IsNaN(k):
			return ".nan", true
		case math.IsInf(k, 1):
			return ".inf", true
		case math.IsInf(k, -1):
			return "-.inf", true
		}
		return strconv.FormatFloat(k, 'g', -1, 32), true
	}
	return "", false
}

// validUTF8 does what encoding/json does to the bytes of a !!binary scalar: each
// byte that is not UTF-8 becomes U+FFFD.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// translate gives an error of the library its position and our form.
func (l Limits) translate(s source, err error) error {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if m := lineForm.FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
		msg = m[2]
	}
	switch {
	case parserFaults[msg]:
		line++ // the library counts these from 0
	case strings.HasPrefix(msg, "exceeded max depth"):
		msg = l.tooDeep() // the library has a limit of its own
	case msg == "document contains excessive aliasing":
		msg = aliasesExpand + " out of proportion to its size (limit of the YAML library)"
	case msg == "control characters are not allowed", strings.Contains(msg, "UTF-8"), msg == "invalid Unicode character":
		if offset, r, found := forbidden(s.text); found {
			if r == utf8.RuneError {
				return s.at(offset, "invalid UTF-8")
			}
			return s.at(offset, fmt.Sprintf("control character %U is not allowed", r))
		}
	case strings.HasPrefix(msg, "unknown anchor '"):
		name, _, _ := strings.Cut(strings.TrimPrefix(msg, "unknown anchor '"), "'")
		if i := bytes.Index(s.text, []byte("*"+name)); i >= 0 {
			return s.at(i, fmt.Sprintf("unknown anchor %q", name))
		}
	case strings.HasPrefix(msg, "invalid map key: "):
		// The rest of the message is the key, which may hold anything.
		return s.search("a map key must be a string, a number or a boolean, not a collection", func(n *yamlv3.Node, _ int, key bool) bool {
			return key && (n.Kind == yamlv3.MappingNode || n.Kind == yamlv3.SequenceNode)
		})
	case strings.HasPrefix(msg, "cannot decode "):
		msg = quotedValue.ReplaceAllString(msg, " ") // it may be a secret
	}
	fault := s.line(max(line, 1), 0, msg)
	if msg == "found character that cannot start any token" {
		if col, ok := tabIndent(s.text, line); ok {
			fault.Col = col
			return diag.WithHint(fault, "indent with spaces: YAML does not allow tabs there")
		}
	}
	return fault
}

var (
	lineForm    = regexp.MustCompile(`(?s)^line ([0-9]+): (.*)$`)
	quotedValue = regexp.MustCompile("(?s) `.*` ")
)

// parserFaults are the messages of the library's parser, which has its lines off
// by one against those of its scanner.
var parserFaults = map[string]bool{
	"did not find expected <stream-start>":   true,
	"did not find expected <document start>": true,
	"did not find expected node content":     true,
	"did not find expected '-' indicator":    true,
	"did not find expected key":              true,
	"did not find expected ',' or ']'":       true,
	"did not find expected ',' or '}'":       true,
	"found undefined tag handle":             true,
	"found duplicate %YAML directive":        true,
	"found incompatible YAML document":       true,
	"found duplicate %TAG directive":         true,
}

// tabIndent finds a tab before the first word of a line.
func tabIndent(text []byte, line int) (col int, ok bool) {
	lines := bytes.SplitN(text, []byte("\n"), max(line, 1)+1)
	got := lines[min(max(line, 1), len(lines))-1]
	blanks := len(got) - len(bytes.TrimLeft(got, " \t"))
	tab := bytes.IndexByte(got[:blanks], '\t')
	return tab + 1, tab >= 0
}

// decodeJSON reads a value of a JSON stream, whose syntax Split has checked.
func (l Limits) decodeJSON(src source) (any, error) {
	if offset, found := invalidUTF8(src.text); found {
		return nil, src.at(offset, "invalid UTF-8")
	}
	if offset := jsonDepth(src.text, l.Depth); offset >= 0 {
		return nil, src.at(offset, l.tooDeep())
	}
	var v any
	if err := utiljson.Unmarshal(src.text, &v); err != nil {
		// The library's message has the number in it.
		return nil, src.line(1, 0, "a number is out of range")
	}
	return v, nil
}
