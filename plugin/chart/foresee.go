package chart

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin/derive"
)

// A foresight puts values in the place of frames, through base64 and in what digests were
// given, and takes out certificates and keys, which no mark makes the same. So it foretells
// what a render without frames has, if the templates do no more than print the values.
type foresight struct {
	resolved *derive.Resolution // the values; nil for none
	fill     filling            // what is there in place of those that it does not have
}

// unforeseen stands for a certificate or a key, for a digest of one, and for base64 with
// one in it.
const unforeseen = "\x00"

var (
	marked = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?-----END [A-Z0-9 ]+-----` +
		`|` + derive.FrameStart + `c(sha1|sha256|sha512|adler32|bcrypt|shuffle)([01]*)x([A-Za-z0-9+/]*?={0,2})` + derive.FrameEnd +
		`|(?i:` + derive.FrameStart + `t([01]+)([aldpbui])(\d+|m?\d+tom?\d+)s(\d+)x[a-z0-9]{62}` + derive.FrameEnd + `)`)

	base64Codes = []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding}
)

// leastBase64 is how many letters of base64 are looked at: a frame has more.
const leastBase64 = 40

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
			input, err := base64.StdEncoding.DecodeString(group(3))
			if err != nil {
				out.WriteString(whole)
				break
			}
			out.WriteString(f.result(group(1), group(2), string(input)))
		case m[8] >= 0:
			value := f.token(whole, group(4), group(5), group(6), group(7))
			if strings.EqualFold(group(5), "p") && strings.HasSuffix(text[:m[0]], `"`) && strings.HasPrefix(text[m[1]:], `"`) {
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

// result is what a function gives for an input with frames.
func (f foresight) result(function, nonce, input string) string {
	foreseen := f.text(input)
	if strings.Contains(foreseen, unforeseen) {
		return unforeseen
	}
	if digest, ok := derive.Digest(function, foreseen); ok {
		return digest
	}
	if f.resolved != nil {
		number, _ := strconv.ParseInt(nonce, 2, 64)
		if value, ok := f.resolved.Value(derive.SaltedFrame(function, input, int(number)), foreseen); ok {
			return value
		}
	}
	return f.fill.salted(function, foreseen)
}

// token is the value in the place of a frame, in the frame's case.
func (f foresight) token(frame, nonce, kind, size, site string) string {
	kind, size = strings.ToLower(kind), strings.ReplaceAll(strings.ToLower(size), "m", "-")
	value := fmt.Sprint(f.fill.token(kind, size))
	if f.resolved != nil {
		number, _ := strconv.ParseInt(nonce, 2, 64)
		call, _ := strconv.Atoi(site)
		if made, ok := f.resolved.Value(derive.TokenFrame(kind+size, int(number), call), ""); ok {
			value = made
		}
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

func (f foresight) base64(text string) string {
	return inBase64(text, func(decoded string) string {
		inner := f.text(decoded)
		if strings.Contains(inner, unforeseen) && !strings.Contains(decoded, unforeseen) {
			return unforeseen
		}
		return inner
	})
}

// inBase64 changes the texts in the base64 of a text. What becomes unforeseen is so as a
// whole.
func inBase64(text string, change func(decoded string) string) string {
	// With the alphabet of URLs too, but first without, as a prefix is often set off with a
	// minus.
	for _, others := range []string{"+/", "_-"} {
		text = changeRuns(text, others, func(run string) string {
			for _, code := range base64Codes {
				decoded, err := code.DecodeString(run)
				if err != nil {
					continue
				}
				switch changed := change(string(decoded)); changed {
				case string(decoded):
					return run
				case unforeseen:
					return unforeseen
				default:
					return code.EncodeToString([]byte(changed))
				}
			}
			return run
		})
	}
	return text
}

// changeRuns changes what may be base64 in a text: leastBase64 or more letters and digits, or
// others, in a row, with the padding behind them.
func changeRuns(text, others string, change func(run string) string) string {
	var out strings.Builder
	done := 0
	for at := 0; at+leastBase64 <= len(text); {
		end := at
		for end < len(text) && (isAlphanumeric(text[end]) || strings.IndexByte(others, text[end]) >= 0) {
			end++
		}
		if end-at >= leastBase64 {
			for range 2 {
				if end < len(text) && text[end] == '=' {
					end++
				}
			}
			if changed := change(text[at:end]); changed != text[at:end] {
				out.WriteString(text[done:at])
				out.WriteString(changed)
				done = end
			}
		}
		at = max(at+1, end)
	}
	return out.String() + text[done:]
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
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

// compare yields the fields of a render that are not what frames foretell.
func (f foresight) compare(framed, value any, yield func(path []any)) {
	before, after := f.value(framed), foresight{}.value(value)
	Diff(before, after, func(path []any) {
		one, _ := object.Lookup(before, path)
		other, _ := object.Lookup(after, path)
		if happened(one, other) {
			return
		}
		if printed, found := object.Lookup(value, path); found && isRead(one, printed) {
			return
		}
		yield(path)
	})
}

// aDigest is the pattern of one, or of base64 with one in it.
const aDigest = "[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128}|[0-9]{1,10}|[A-Za-z0-9+/_-]{54,}={0,2}"

// happened reports whether what a render with frames foretells, where something in it is
// unforeseen, is what another one has.
func happened(foreseen, value any) bool {
	before, isText := foreseen.(string)
	after, _ := value.(string)
	if !isText || !strings.Contains(before, unforeseen) {
		return false // they differ
	}
	parts := strings.Split(before, unforeseen)
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile("^" + strings.Join(parts, "(?:"+unforeseen+"|"+aDigest+")") + "$").MatchString(after)
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
