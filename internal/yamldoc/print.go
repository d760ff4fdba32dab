package yamldoc

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// AppendYAML appends v to dst as a YAML document in block style and returns the
// result, which ends in a line break. The same value gives the same bytes: keys
// are sorted bytewise, nesting is two spaces, the items of a list stand in the
// column of its key, strings with line breaks are literal scalars, and nothing
// is wrapped.
//
// Readers of YAML 1.1 and of YAML 1.2 read the same value back, and all types
// survive: a string that some reader takes for something else ("on", "0777",
// "1.2.3", "2001-01-01") is quoted, and a float64 that is a whole number is
// printed as "3.0". (Decode makes an int64 of that one, as the library does.)
//
// Values are those of [Document], with int for int64, and any other value that
// encoding/json can marshal, which is printed as its JSON. AppendYAML panics on
// a value that has no JSON, such as a channel: a programming error. A nil map or
// list is printed as an empty one. Bytes of a string that are not UTF-8 are
// printed as U+FFFD.
func AppendYAML(dst []byte, v any) []byte {
	p := yamlPrinter{dst: dst}
	v = basic(v)
	if block(v) {
		p.collection(v, 0, false)
		return p.dst
	}
	if s, ok := v.(string); ok && stringStyle(s) == styleLiteral {
		// The content would stand in the first column, where "---" has a meaning.
		return append(appendQuoted(p.dst, s), '\n')
	}
	p.scalar(v, 0)
	return p.dst
}

type yamlPrinter struct {
	dst []byte
	sorter
}

// sorter is a stack of key-value pairs: those of the mappings that are being
// printed.
type sorter struct{ pairs []pair }

// sorted pushes the pairs of m in the order of their keys.
func (s *sorter) sorted(m map[string]any) (base int) {
	base = len(s.pairs)
	for key, value := range m {
		s.pairs = append(s.pairs, pair{key, value})
	}
	slices.SortFunc(s.pairs[base:], func(a, b pair) int { return strings.Compare(a.key, b.key) })
	return base
}

// basic turns a value into one of the types that the printers know.
func basic(v any) any {
	switch v := v.(type) {
	case nil, bool, string, int64, float64, map[string]any, []any:
		return v
	case int:
		return int64(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("yamldoc: a %T cannot be printed: %v", v, err))
	}
	var out any
	if err := utiljson.Unmarshal(text, &out); err != nil {
		panic(fmt.Sprintf("yamldoc: a %T cannot be printed: %v", v, err))
	}
	return out
}

// block reports whether a basic value is printed as a block collection.
func block(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

// collection prints a block collection at an indentation. With inline, the
// first line has been indented, by the "- " it stands behind.
func (p *yamlPrinter) collection(v any, indent int, inline bool) {
	switch v := v.(type) {
	case map[string]any:
		base := p.sorted(v)
		for i := base; i < base+len(v); i++ {
			if i > base || !inline {
				p.indent(indent)
			}
			p.key(p.pairs[i].key, indent)
			value := basic(p.pairs[i].value)
			if !block(value) {
				p.dst = append(p.dst, ' ')
				p.scalar(value, indent+2)
				continue
			}
			p.dst = append(p.dst, '\n')
			below := indent + 2
			if _, list := value.([]any); list {
				below = indent
			}
			p.collection(value, below, false)
		}
		clear(p.pairs[base:])
		p.pairs = p.pairs[:base]
	case []any:
		for i, item := range v {
			if i > 0 || !inline {
				p.indent(indent)
			}
			p.dst = append(p.dst, '-', ' ')
			if item = basic(item); block(item) {
				p.collection(item, indent+2, true)
			} else {
				p.scalar(item, indent+2)
			}
		}
	}
}

func (p *yamlPrinter) indent(n int) {
	const spaces = "                                                                "
	for ; n > len(spaces); n -= len(spaces) {
		p.dst = append(p.dst, spaces...)
	}
	p.dst = append(p.dst, spaces[:n]...)
}

// key prints a key with its colon. Readers look only 1024 characters ahead for
// the colon, so a longer key needs the explicit form.
func (p *yamlPrinter) key(key string, indent int) {
	start := len(p.dst)
	if stringStyle(key) == stylePlain {
		p.dst = append(p.dst, key...)
	} else {
		p.dst = appendQuoted(p.dst, key)
	}
	if len(p.dst)-start > maxKey {
		p.dst = slices.Insert(p.dst, start, '?', ' ')
		p.dst = append(p.dst, '\n')
		p.indent(indent)
	}
	p.dst = append(p.dst, ':')
}

// scalar prints what is not a block collection, and the end of its line. The
// lines of a literal scalar get the indentation.
func (p *yamlPrinter) scalar(v any, indent int) {
	switch v := v.(type) {
	case nil:
		p.dst = append(p.dst, "null"...)
	case bool:
		p.dst = strconv.AppendBool(p.dst, v)
	case int64:
		p.dst = strconv.AppendInt(p.dst, v, 10)
	case float64:
		p.dst = appendFloat(p.dst, v)
	case string:
		switch stringStyle(v) {
		case stylePlain:
			p.dst = append(p.dst, v...)
		case styleLiteral:
			p.literal(v, indent)
			return
		default:
			p.dst = appendQuoted(p.dst, v)
		}
	case map[string]any:
		p.dst = append(p.dst, "{}"...)
	case []any:
		p.dst = append(p.dst, "[]"...)
	}
	p.dst = append(p.dst, '\n')
}

func (p *yamlPrinter) literal(s string, indent int) {
	p.dst = append(p.dst, '|')
	switch {
	case !strings.HasSuffix(s, "\n"):
		p.dst = append(p.dst, '-')
	case strings.HasSuffix(s, "\n\n"):
		p.dst = append(p.dst, '+')
	}
	p.dst = append(p.dst, '\n')
	for len(s) > 0 {
		line, rest, _ := strings.Cut(s, "\n")
		if line != "" {
			p.indent(indent)
			p.dst = append(p.dst, line...)
		}
		p.dst = append(p.dst, '\n')
		s = rest
	}
}

// appendFloat prints a float so that every reader sees a float: with a dot,
// which YAML 1.1 asks for, and a signed exponent.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, ".nan"...)
	case math.IsInf(f, 1):
		return append(dst, ".inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-.inf"...)
	}
	const small, large = 1e-6, 1e15
	if abs := math.Abs(f); abs != 0 && (abs < small || abs >= large) {
		start := len(dst)
		dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
		if i := slices.Index(dst[start:], 'e'); i >= 0 && !slices.Contains(dst[start:start+i], '.') {
			dst = slices.Insert(dst, start+i, '.', '0')
		}
		return dst
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if !slices.Contains(dst[start:], '.') {
		dst = append(dst, '.', '0')
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// appendQuoted prints a double-quoted scalar on one line.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0 // of the part that needs no escape
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			if r, size = utf8.DecodeRuneInString(s[i:]); plainRune(r) && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		i += size
		start = i
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', c)
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r == '\t':
			dst = append(dst, '\\', 't')
		case r == '\r':
			dst = append(dst, '\\', 'r')
		case r == utf8.RuneError:
			dst = append(dst, "\ufffd"...)
		case r < 0x100:
			dst = append(dst, '\\', 'x', hexDigits[r>>4&15], hexDigits[r&15])
		default: // none of the escaped characters is beyond the first plane
			dst = append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}
