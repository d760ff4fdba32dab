package derive

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// The marks round a frame, which the edited templates print.
const (
	FrameStart = "Hm0tQ"
	FrameEnd   = "Q7t0mHzE"
)

// A token stands for one random value:
//
//	Hm0tQ t <nonce> <kind> <size> s <site> Q7t0mHzE      without the blanks
//
// The nonce is one of this execution of the call, at least 27 digits, of which the first
// are the time of it: what compares two values of a render compares their times, in the
// second render the other way round. It holds nothing but digits, so that a test of a
// letter in it has one result. The site is the number of the call among those of the
// chart.
var (
	// Letters count in any case here; what case they have is looked at afterwards.
	tokenFrame = regexp.MustCompile(`(?i)^` + FrameStart + `t([0-9]{27,99})(?:([alpdbu])([0-9]{1,7})|(i)([m-]?[0-9]{1,19}to[m-]?[0-9]{1,19}))s([0-9]{1,9})` + FrameEnd)
	computedAt = regexp.MustCompile(`^` + FrameStart + `c(sha1|sha256|sha512|adler32|bcrypt|htpasswd|shuffle)x`)
	// A frame that was cut goes on like one, to the end of the text or at least until
	// it is clear what it was.
	cutFrame = regexp.MustCompile(`(?i)^` + FrameStart + `(?:t?|c[a-z0-9]{0,8})$|` +
		`(?i)^` + FrameStart + `(?:t[0-9]{1,99}(?:[alpdbui](?:[m-]?[0-9]+)?(?:to[m-]?[0-9]*)?(?:s[0-9]*)?)?|c(?:sha1|sha256|sha512|adler32|bcrypt|htpasswd|shuffle)x)`)
)

// frameAt reads a frame at the beginning of s, which begins with the start mark in any
// case. It returns the frame and its length; 0 if this is text that only looks like the
// beginning of one.
func frameAt(s string, depth int) (piece, int) {
	if m := tokenFrame.FindStringSubmatch(s); m != nil {
		p := piece{kind: token, raw: m[0], nonce: m[1], function: strings.ToLower(m[2] + m[4])[0], size: strings.ToLower(m[3] + m[5]), site: m[6]}
		exact := FrameStart + "t" + p.nonce + string(p.function) + p.size + "s" + p.site + FrameEnd
		switch m[0] {
		case exact:
		case strings.ToLower(exact):
			p.letters = lowerCase
		case strings.ToUpper(exact):
			p.letters = upperCase
		default:
			return piece{kind: broken, raw: m[0], text: "the template changes single letters of the random value"}, len(m[0])
		}
		p.size = strings.ReplaceAll(p.size, "m", "-")
		return p, len(m[0])
	}
	if m := computedAt.FindStringSubmatchIndex(s); m != nil && depth < maxDepth {
		if input, n, ok := computedInput(s[m[1]:]); ok {
			n += m[1]
			return piece{kind: computed, raw: s[:n], name: s[m[2]:m[3]], text: input, parts: parseAt(input, depth+1)}, n
		}
	}
	if at := cutFrame.FindString(s); at != "" {
		return piece{kind: broken, raw: at, text: "the template cuts the random value"}, len(at)
	}
	return piece{}, 0
}

// computedInput reads base64 up to the end mark. The letters of the mark are base64 as
// well, so it counts only behind a whole number of groups of four.
func computedInput(s string) (input string, n int, ok bool) {
	for at := 0; ; at++ {
		next := strings.Index(s[at:], FrameEnd)
		if next < 0 {
			return "", 0, false
		}
		at += next
		if at%4 == 0 {
			decoded, err := base64.StdEncoding.Strict().DecodeString(s[:at])
			return string(decoded), at + len(FrameEnd), err == nil && !strings.ContainsAny(s[:at], "\r\n")
		}
	}
}

// indexStart returns where the start mark stands in s, in any case, or -1. One of its
// bytes is a digit, which is searched for.
func indexStart(s string) int {
	const digit = 2
	for from := 0; ; {
		at := strings.IndexByte(s[from:], FrameStart[digit])
		if at < 0 {
			return -1
		}
		from += at + 1
		begin := from - 1 - digit
		if begin >= 0 && begin+len(FrameStart) <= len(s) && strings.EqualFold(s[begin:begin+len(FrameStart)], FrameStart) {
			return begin
		}
	}
}

// holdsFrame reports whether a text holds what may be a frame, or a part of one.
func holdsFrame(s string) bool { return indexStart(s) >= 0 || strings.Contains(s, FrameEnd) }
