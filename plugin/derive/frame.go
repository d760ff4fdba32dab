package derive

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
)

// The marks round a frame, which the edited templates print.
const (
	FrameStart = "Hm0tQ"
	FrameEnd   = "Q7t0mHzE"
	// A token's frame has all letters and digits in it, so that a test of one, or its
	// replacement, shows.
	frameLetters = "xABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

// Nonce returns the nonce of the nth execution of a call in Renders.First or Second: they
// rise in the one and fall in the other.
func Nonce(n int, second bool) int {
	if second {
		return 1<<nonceDigits - 1 - n
	}
	return n
}

// counterpart returns the nonce of the same execution in the other render.
func counterpart(nonce string) string {
	return strings.Map(func(digit rune) rune { return '0' + '1' - digit }, nonce)
}

// TokenFrame returns the frame of one random value. The request says what the chart asked
// for: the kind and the size, such as "a12" or "i-5to20". Site is the number of the call
// in the chart.
func TokenFrame(request string, nonce, site int) string {
	return fmt.Sprintf("%st%0*b%ss%d%s%s", FrameStart, nonceDigits, nonce, strings.ReplaceAll(request, "-", "m"), site, frameLetters, FrameEnd)
}

// ComputedFrame returns the frame of what a digest function made of its input.
func ComputedFrame(function, input string) string { return computedFrame(function, input, "") }

// SaltedFrame is ComputedFrame for a function that is random itself: "bcrypt" or
// "shuffle".
func SaltedFrame(function, input string, nonce int) string {
	return computedFrame(function, input, fmt.Sprintf("%0*b", nonceDigits, nonce))
}

func computedFrame(function, input, nonce string) string {
	return FrameStart + "c" + function + nonce + "x" + base64.StdEncoding.EncodeToString([]byte(input)) + FrameEnd
}

// ComputedDepth returns how many computed frames stand in each other in a text.
func ComputedDepth(s string) (depth int) {
	for ; depth <= MaxDepth; depth++ {
		at := computedWithin.FindStringIndex(s)
		if at == nil {
			break
		}
		s, _, _ = computedInput(s[at[1]:])
	}
	return depth
}

// MaxDepth bounds levels of base64, and of hashes over texts with hashes.
const MaxDepth = 8

// nonceDigits are those of a nonce, binary ones: the base64 of such digits has one order
// with them.
const nonceDigits = 31

// A token stands for one random value:
//
//	Hm0tQ t <nonce> <kind> <size> s <site> xABC...789 Q7t0mHzE      without the blanks
//
// The nonce is one of this execution of the call, in binary digits. What compares two
// values of a render compares their nonces, and those of the second render have the
// other order. The site is the number of the call among those of the chart.
var (
	// Letters count in any case here; what case they have is looked at afterwards.
	tokenFrame     = regexp.MustCompile(`(?i)^` + FrameStart + `t([0-9]{27,99})(?:([alpdbu])([0-9]{1,7})|(i)([m-]?[0-9]{1,19}to[m-]?[0-9]{1,19}))s([0-9]{1,9})` + frameLetters + FrameEnd)
	computedAt     = regexp.MustCompile(`^` + FrameStart + computedName)
	computedWithin = regexp.MustCompile(FrameStart + computedName)
	// A frame that was cut goes on like one, to the end of the text or at least until
	// it is clear what it was.
	cutFrame = regexp.MustCompile(`(?i)^` + FrameStart + `(?:t?|c[a-z0-9]{0,8})$|` +
		`(?i)^` + FrameStart + `(?:t[0-9]{1,99}(?:[alpdbui](?:[m-]?[0-9]+)?(?:to[m-]?[0-9]*)?(?:s[0-9]*(?:x[a-z0-9]*)?)?)?|c(?:sha1|sha256|sha512|adler32|bcrypt|shuffle)[01]*x)`)
)

const computedName = `c(sha1|sha256|sha512|adler32|bcrypt|shuffle)([01]*)x`

// frameAt reads a frame at the beginning of s, which begins with the start mark in any
// case. It returns the frame and its length; 0 if this is text that only looks like the
// beginning of one.
func frameAt(s string, depth int) (piece, int) {
	if m := tokenFrame.FindStringSubmatch(s); m != nil {
		p := piece{kind: token, raw: m[0], nonce: m[1], function: strings.ToLower(m[2] + m[4])[0], size: strings.ToLower(m[3] + m[5]), site: m[6]}
		exact := FrameStart + "t" + p.nonce + string(p.function) + p.size + "s" + p.site + frameLetters + FrameEnd
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
	if m := computedAt.FindStringSubmatchIndex(s); m != nil && depth < MaxDepth {
		if input, n, ok := computedInput(s[m[1]:]); ok {
			n += m[1]
			return piece{kind: computed, raw: s[:n], name: s[m[2]:m[3]], nonce: s[m[4]:m[5]], text: input, parts: parseAt(input, depth+1)}, n
		}
	}
	if at := cutFrame.FindString(s); at != "" {
		return piece{kind: broken, raw: at, text: aCut}, len(at)
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
