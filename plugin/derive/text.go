package derive

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"regexp"
	"strings"
)

// A text of a render, taken apart. A frame can stand in base64, also in several levels
// of it, and the input of a computed frame is a text of its own, so it is a tree.
type text []piece

type pieceKind int

const (
	literal  pieceKind = iota
	token              // a frame in place of a random value
	computed           // a frame in place of what a function made of its input
	encoded            // base64 of a text with frames or PEM blocks in it
	block              // a PEM block
	broken             // a frame that the template cut or changed
)

type piece struct {
	kind pieceKind
	raw  string // as it stands in the render
	// text is the input of a computed frame, a PEM block in its usual form, or what is
	// wrong with a broken frame.
	text  string
	parts text // of a computed or an encoded one

	function byte   // of a token, as in the frame
	size     string // of a token
	nonce    string // of a token, or of a function that is random itself
	site     string // of a token: which call of the chart made it
	letters  letters

	name string // of the function of a computed one

	letters64 letters64
	padding   padding
	newline   string // between the lines of a PEM block
}

// letters says in which case a value is printed.
type letters int

const (
	asMade letters = iota
	lowerCase
	upperCase
)

// padding says whether base64 ends with "=". Where the length needs none, it does not
// show.
type padding int

const (
	unknown padding = iota
	padded
	unpadded
)

// letters64 says which letters base64 has for 62 and 63. Where none of them is in it, it
// does not show.
type letters64 int

const (
	eitherLetters   letters64 = iota
	standardLetters           // "+" and "/"
	urlLetters                // "-" and "_"
)

func lettersOf(base64 string) letters64 {
	switch {
	case strings.ContainsAny(base64, "-_"):
		return urlLetters
	case strings.ContainsAny(base64, "+/"):
		return standardLetters
	}
	return eitherLetters
}

const (
	leastRun = 24 // characters of base64 that can hold a frame, or enough of one to see that it was cut
)

// A parser takes a text apart. What it may look at is bounded: a text can be made so
// that each of its parts begins like a frame or a PEM block that has no end, or is base64
// wherever one begins to read. Other texts take less than half of what is allowed.
type parser struct{ left int }

const (
	mostLooks = 64 // how often each character is looked at
	freeLooks = 4096
)

// parse takes a text apart.
func parse(s string) text { return parseAt(s, 0) }

func parseAt(s string, depth int) text {
	p := &parser{left: mostLooks*len(s) + freeLooks}
	if out := p.parse(s, depth); p.left >= 0 {
		return out
	}
	return text{{kind: broken, raw: s, text: "it holds more base64 in base64, or more begins of random values, than is looked through"}}
}

// looks notes that n characters are about to be looked at, and reports whether they may be.
func (p *parser) looks(n int) bool {
	p.left -= n
	return p.left >= 0
}

func (p *parser) parse(s string, depth int) text {
	var out text
	done := 0
	for from := 0; p.left >= 0; {
		at := indexStart(s[from:])
		if at < 0 {
			break
		}
		at += from
		frame, n := frameAt(s[at:], depth)
		if frame.kind != token && !p.looks(len(s)-at) {
			break // it may have been read to the end
		}
		if n == 0 {
			from = at + 1
			continue
		}
		if frame.kind == computed {
			p.left += len(s) - at - n
		}
		out = append(p.appendBlocks(out, s[done:at], depth), frame)
		done = at + n
		from = done
	}
	return p.appendBlocks(out, s[done:], depth)
}

func (t text) appendLiteral(s string) text {
	switch {
	case s == "":
		return t
	case len(t) > 0 && t[len(t)-1].kind == literal:
		t[len(t)-1].raw += s
		return t
	}
	return append(t, piece{kind: literal, raw: s})
}

const (
	beginBlock = "-----BEGIN "
	dashes     = "-----"
)

// appendBlocks takes text without frames apart at its PEM blocks.
func (p *parser) appendBlocks(out text, s string, depth int) text {
	done := 0
	for from := 0; ; {
		at := strings.Index(s[from:], beginBlock)
		if at < 0 {
			break
		}
		at += from
		found, n := blockAt(s[at:])
		if n == 0 {
			if !p.looks(len(s) - at) {
				break
			}
			from = at + 1
			continue
		}
		out = append(p.appendEncoded(out, s[done:at], depth), found)
		done = at + n
		from = done
	}
	return p.appendEncoded(out, s[done:], depth)
}

// lineEnd is what can stand between the lines of a block: inside another text they are
// indented, in JSON the line ends are escaped.
var lineEnd = regexp.MustCompile(`^(?:\\[nrt]|[ \t\r\n])+`)

// blockAt reads a PEM block at the beginning of s.
func blockAt(s string) (piece, int) {
	label, rest, ok := strings.Cut(s[len(beginBlock):], dashes)
	if !ok || strings.ContainsAny(label, "\n\\") {
		return piece{}, 0
	}
	head, tail := beginBlock+label+dashes, "-----END "+label+dashes
	newline := lineEnd.FindString(rest)
	end := strings.Index(rest, tail)
	if newline == "" || end < len(newline) {
		return piece{}, 0
	}
	body := strings.Trim(strings.ReplaceAll(rest[:end], newline, "\n"), "\n")
	p := piece{kind: block, raw: s[:len(head)+end+len(tail)], newline: newline, text: head + "\n" + body + "\n" + tail + "\n"}
	if decoded, _ := pem.Decode([]byte(p.text)); decoded == nil || p.write(p.text) != p.raw {
		return piece{}, 0
	}
	return p, len(p.raw)
}

// write returns a PEM block in the form that this one has in its text.
func (p *piece) write(pem string) string {
	return strings.ReplaceAll(strings.TrimRight(pem, "\n"), "\n", p.newline)
}

// appendEncoded takes text without frames and PEM blocks apart at its base64.
func (p *parser) appendEncoded(out text, s string, depth int) text {
	if depth >= MaxDepth || len(s) < leastRun {
		return out.appendLiteral(s)
	}
	done := 0
	// What has letters of base64 up to limit, of which the last "+" or "/" is at plus.
	limit, plus := 0, -1
	for i := 0; i < len(s) && p.left >= 0; {
		if !isBase64(s[i]) {
			i++
			continue
		}
		start := i
		if start >= limit {
			limit = start
			for limit < len(s) && isBase64(s[limit]) {
				limit++
			}
			plus = start + strings.LastIndexAny(s[start:limit], "+/")
			if plus < start {
				plus = -1
			}
		}
		i = limit
		// Both alphabets in one run: it is not one value, but some with dashes between.
		if plus >= start {
			if dash := strings.IndexAny(s[start:limit], "-_"); dash == 0 {
				i = start + 1
				continue
			} else if dash > 0 {
				i = start + dash
			}
		}
		run, end := s[start:i], i
		for end < len(s) && s[end] == '=' && end < i+2 {
			end++
		}
		if len(run) < leastRun {
			continue
		}
		if found, ok := p.decode(run, end-i, depth); ok {
			out = out.appendLiteral(s[done:start])
			for _, each := range found {
				if each.kind == literal {
					out = out.appendLiteral(each.raw)
				} else {
					out = append(out, each)
				}
			}
			i = end
			done = end
		}
	}
	return out.appendLiteral(s[done:])
}

func isBase64(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

// decode decodes a run of base64 that holds a frame or a PEM block. The run may begin
// with letters of the text around it, and where it has no padding end with some.
func (p *parser) decode(run string, pad, depth int) (text, bool) {
	letters := lettersOf(run)
	for before := range 4 {
		for behind := range 4 {
			if behind > 0 && pad > 0 {
				break
			}
			body := run[before : len(run)-behind]
			if pad > 0 && (len(body)+pad)%4 != 0 {
				break
			}
			if len(body)%4 == 1 {
				continue // no length of base64
			}
			if !p.looks(len(body)) {
				return nil, false
			}
			decoded, err := encoding(letters, unpadded).Strict().DecodeString(body)
			if err != nil {
				continue
			}
			parts := p.parse(string(decoded), depth+1)
			if !parts.special() {
				break
			}
			found := piece{kind: encoded, raw: body + strings.Repeat("=", pad), letters64: lettersOf(body), parts: parts}
			switch {
			case pad > 0:
				found.padding = padded
			case len(decoded)%3 != 0:
				found.padding = unpadded
			}
			return append(text{}.appendLiteral(run[:before]), found).appendLiteral(run[len(run)-behind:]), true
		}
	}
	return nil, false
}

func encoding(letters letters64, pad padding) *base64.Encoding {
	enc := base64.StdEncoding
	if letters == urlLetters {
		enc = base64.URLEncoding
	}
	if pad == unpadded {
		return enc.WithPadding(base64.NoPadding)
	}
	return enc
}

// Varies reports whether there is a frame, a part of one or a PEM block in a text, through
// base64.
func Varies(text string) bool { return parse(text).special() }

// special reports whether the text is more than text.
func (t text) special() bool { return len(t) > 1 || len(t) == 1 && t[0].kind != literal }

// whole returns what is all that a text holds, through base64 and beside white space:
// a frame or a PEM block. It is nil where there is more or none.
func (t text) whole() *piece {
	var only *piece
	for i := range t {
		if t[i].kind == literal && strings.TrimSpace(t[i].raw) == "" {
			continue
		}
		if only != nil {
			return nil
		}
		only = &t[i]
	}
	if only == nil || only.kind == literal {
		return nil
	}
	if only.kind == encoded {
		return only.parts.whole()
	}
	return only
}

// key names what a piece is a print of: two pieces with one key are one value. It is
// empty for a piece that has no value of its own.
func (p *piece) key() string {
	switch p.kind {
	case token:
		return "token " + string(p.function) + p.size + " " + p.nonce
	case computed:
		if salted(p.name) {
			return p.name + " " + p.nonce + " " + p.text
		}
	case block:
		return blockKey + p.text
	}
	return ""
}

const blockKey = "block "

// salted reports whether a function is itself random.
func salted(function string) bool {
	return function == "bcrypt" || function == "shuffle"
}

// each yields the pieces that have a key, in order of appearance. Inside says that
// they are part of the input of a function.
func (t text) each(yield func(p *piece, inside bool)) { t.visit(false, yield) }

func (t text) visit(inside bool, yield func(p *piece, inside bool)) {
	for i := range t {
		p := &t[i]
		if p.key() != "" {
			yield(p, inside)
		}
		p.parts.visit(inside || p.kind == computed, yield)
	}
}

// fault returns what is wrong with a frame in the text, or "".
func (t text) fault() string {
	for i := range t {
		if t[i].kind == broken {
			return t[i].text
		}
		if fault := t[i].parts.fault(); fault != "" {
			return fault
		}
	}
	return ""
}

// shape writes what two renders of a text have in common: nonces are left out, of a
// PEM block stands what blockShape gives.
func (t text) shape(blockShape func(string) string) string {
	var b strings.Builder
	t.appendShape(&b, blockShape)
	return b.String()
}

func (t text) appendShape(b *strings.Builder, blockShape func(string) string) {
	for i := range t {
		p := &t[i]
		switch p.kind {
		case literal:
			fmt.Fprintf(b, "(%q)", p.raw)
		case token:
			fmt.Fprintf(b, "(token %s %c %s %d)", p.site, p.function, p.size, p.letters)
		case block:
			fmt.Fprintf(b, "(block %q %q)", p.newline, blockShape(p.text))
		case broken:
			fmt.Fprintf(b, "(broken %q)", p.text)
		case computed, encoded:
			// Not the padding: a key can be a byte longer in the next render.
			fmt.Fprintf(b, "(%s %d ", p.name, p.letters64)
			p.parts.appendShape(b, blockShape)
			b.WriteString(")")
		}
	}
}
