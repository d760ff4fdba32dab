package chart

import (
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin/derive"
)

// A render with frames has to be one with shapes but for the frames. A foresight, which
// is the number of a shape, puts that in the place of frames, through base64 and in what
// digests were given, and takes out certificates and keys, which no mark makes the same.
type foresight int

// unforeseen stands for a certificate or a key, for a digest of one, and for base64 with
// one in it.
const unforeseen = "\x00"

var (
	marked = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?-----END [A-Z0-9 ]+-----` +
		`|` + derive.FrameStart + `c([a-z0-9]+?)x([A-Za-z0-9+/]*?={0,2})` + derive.FrameEnd +
		`|(?i:` + derive.FrameStart + `t\d{27,99}([aldpbui])(\d+|[m-]?\d+to[m-]?\d+)s\d+` + derive.FrameEnd + `)`)

	// base64Runs are the texts that may be base64: with the alphabet of URLs too, but
	// first without, as a prefix is often set off with a minus. A frame in base64 is
	// longer than that.
	base64Runs = []*regexp.Regexp{
		regexp.MustCompile(`[A-Za-z0-9+/]{40,}={0,2}`),
		regexp.MustCompile(`[A-Za-z0-9_-]{40,}={0,2}`),
	}
	base64Codes = []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding}
)

const leastBase64 = 40 // letters, see base64Runs

func (f foresight) text(text string) string {
	// What the pattern finds, in any case, holds one of these.
	if !strings.Contains(text, "m0t") && !strings.Contains(text, "M0T") && !strings.Contains(text, "-----BEGIN ") {
		return f.base64(text)
	}
	var out strings.Builder
	at := 0
	for _, m := range marked.FindAllStringSubmatchIndex(text, -1) {
		group := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return text[m[2*n]:m[2*n+1]]
		}
		out.WriteString(f.base64(text[at:m[0]]))
		whole := group(0)
		switch at = m[1]; {
		case m[2] >= 0:
			input, err := base64.StdEncoding.DecodeString(group(2))
			if err != nil {
				out.WriteString(whole)
				break
			}
			out.WriteString(foreseenResult(group(1), f.text(string(input))))
		case m[6] >= 0:
			value := f.token(whole, group(3), group(4))
			if strings.EqualFold(group(3), "p") && strings.HasSuffix(text[:m[0]], `"`) && strings.HasPrefix(text[m[1]:], `"`) {
				value = derive.Escape(value)
			}
			out.WriteString(value)
		default:
			out.WriteString(unforeseen)
		}
	}
	out.WriteString(f.base64(text[at:]))
	return out.String()
}

// foreseenResult is what a function gives for an input in a render with shapes, where
// just those that are random themselves have frames.
func foreseenResult(function, input string) string {
	if digest, ok := derive.Digest(function, input); ok {
		if strings.Contains(input, unforeseen) {
			return unforeseen
		}
		return digest
	}
	return derive.FrameStart + "c" + function + "x" + base64.StdEncoding.EncodeToString([]byte(input)) + derive.FrameEnd
}

// token is the shape in the place of a frame, in the frame's case.
func (f foresight) token(frame, kind, size string) string {
	n, _ := strconv.Atoi(size)
	kind = strings.ToLower(kind)
	var value string
	switch kind {
	case "b":
		value = base64.StdEncoding.EncodeToString([]byte(repeated(shapeUnits[kind][f], n)))
	case "u":
		value = shapeUUIDs[f]
	case "i":
		value = f.integer(strings.ToLower(size))
	default:
		value = repeated(shapeUnits[kind][f], n)
	}
	switch {
	case strings.HasPrefix(frame, derive.FrameStart):
		return value
	case strings.ToLower(frame) == frame:
		return strings.ToLower(value)
	case strings.ToUpper(frame) == frame:
		return strings.ToUpper(value)
	}
	return frame
}

// integer is the shape of a number of a range.
func (f foresight) integer(of string) string {
	least, limit, _ := strings.Cut(strings.ReplaceAll(of, "m", "-"), "to")
	from, _ := strconv.Atoi(least)
	to, _ := strconv.Atoi(limit)
	return strconv.Itoa([shapeCount]int{to - 1, from, (from + to) >> 1, min(from+1, to-1)}[f])
}

// repeated is a text of n bytes that consists of a unit.
func repeated(unit string, n int) string { return strings.Repeat(unit, n/len(unit)+1)[:n] }

func (f foresight) base64(text string) string {
	if len(text) < leastBase64 {
		return text
	}
	for _, runs := range base64Runs {
		text = runs.ReplaceAllStringFunc(text, func(run string) string {
			for _, code := range base64Codes {
				decoded, err := code.DecodeString(run)
				if err != nil {
					continue
				}
				inner := f.text(string(decoded))
				if strings.Contains(inner, unforeseen) && !strings.Contains(string(decoded), unforeseen) {
					return unforeseen
				}
				if inner != string(decoded) {
					return code.EncodeToString([]byte(inner))
				}
				break
			}
			return run
		})
	}
	return text
}

// value is a decoded value with foreseen texts. Numbers become texts, since a
// frame in the place of a number is one.
func (f foresight) value(v any) any {
	switch v := v.(type) {
	case string:
		return f.text(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[f.text(key)] = f.value(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = f.value(e)
		}
		return out
	}
	return v
}

// happened reports whether a foreseen value of a render with frames is that of the one
// with shapes.
func happened(first, shapes any) bool {
	before, isText := first.(string)
	after, _ := shapes.(string)
	if !isText || !strings.Contains(before, unforeseen) {
		return false // they differ
	}
	parts := strings.Split(before, unforeseen)
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile("^" + strings.Join(parts, "(?:"+unforeseen+"|[0-9a-f]{8,128})") + "$").MatchString(after)
}

var plainScalar = regexp.MustCompile(`^[A-Za-z0-9.+_~-]+$`)

// isRead reports whether a text is what YAML reads as something that is no text: digits
// in the place of a frame become a number.
func isRead(text, as any) bool {
	s, isText := text.(string)
	if _, both := as.(string); both || !isText || !plainScalar.MatchString(s) {
		return false
	}
	value, err := yamldoc.Decode("", []byte("v: "+s))
	read, _ := value.(map[string]any)
	return err == nil && read["v"] == as
}
