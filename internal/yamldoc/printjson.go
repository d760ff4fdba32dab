package yamldoc

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends v to dst as JSON and returns the result: keys sorted
// bytewise, numbers as encoding/json prints them, no escapes for HTML. With an
// indent, each member stands on its own line behind one indent per level, with
// ": " after keys; an empty indent gives one line without blanks. There is no
// line break at the end.
//
// Values are those that [AppendYAML] takes; NaN and infinity, which have no
// JSON, are printed as null.
func AppendJSON(dst []byte, v any, indent string) []byte {
	p := jsonPrinter{dst: dst, indent: indent}
	p.value(v, 0)
	return p.dst
}

type jsonPrinter struct {
	dst    []byte
	indent string
	sorter
}

func (p *jsonPrinter) value(v any, depth int) {
	switch v := basic(v).(type) {
	case nil:
		p.dst = append(p.dst, "null"...)
	case bool:
		p.dst = strconv.AppendBool(p.dst, v)
	case int64:
		p.dst = strconv.AppendInt(p.dst, v, 10)
	case float64:
		p.dst = appendJSONFloat(p.dst, v)
	case string:
		p.dst = appendJSONString(p.dst, v)
	case []any:
		p.dst = append(p.dst, '[')
		for i, item := range v {
			p.next(i, depth+1)
			p.value(item, depth+1)
		}
		p.end(']', len(v), depth)
	case map[string]any:
		p.dst = append(p.dst, '{')
		base := p.sorted(v)
		for i := range len(v) {
			p.next(i, depth+1)
			p.dst = append(appendJSONString(p.dst, p.pairs[base+i].key), ':')
			if p.indent != "" {
				p.dst = append(p.dst, ' ')
			}
			p.value(p.pairs[base+i].value, depth+1)
		}
		clear(p.pairs[base:])
		p.pairs = p.pairs[:base]
		p.end('}', len(v), depth)
	}
}

// next goes to the place of the i-th member.
func (p *jsonPrinter) next(i, depth int) {
	if i > 0 {
		p.dst = append(p.dst, ',')
	}
	p.line(depth)
}

func (p *jsonPrinter) end(bracket byte, n, depth int) {
	if n > 0 {
		p.line(depth)
	}
	p.dst = append(p.dst, bracket)
}

func (p *jsonPrinter) line(depth int) {
	if p.indent == "" {
		return
	}
	p.dst = append(p.dst, '\n')
	for range depth {
		p.dst = append(p.dst, p.indent...)
	}
}

// appendJSONFloat follows ECMAScript, like encoding/json.
func appendJSONFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	abs := math.Abs(f)
	if abs == 0 || abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// 1e-07 is spelled 1e-7.
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, s[start:i]...)
		i++
		start = i
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			if c >= utf8.RuneSelf {
				dst = append(dst, "\ufffd"...)
			} else {
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
		}
	}
	return append(append(dst, s[start:]...), '"')
}
