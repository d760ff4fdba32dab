package yamldoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"hallmark.dev/hallmark/internal/diag"
)

// Split is [Split] within limits.
func (l Limits) Split(data []byte) []Document {
	l = l.orDefault()
	s := splitter{limits: l}
	if len(data) > l.Bytes {
		return append(s.docs, Document{Line: 1, Text: data, fault: l.tooLarge("")})
	}
	data, fault := stripBOM(data)
	if fault != nil {
		return append(s.docs, Document{Line: 1, Text: data, fault: fault})
	}
	rest, line := data, 1
	// The decoder looks this far ahead for a "{".
	const peek = 4096
	if bytes.HasPrefix(bytes.TrimLeftFunc(data[:min(peek, len(data))], unicode.IsSpace), []byte("{")) {
		rest, line = s.json(data)
	}
	s.yaml(rest, line)
	return s.docs
}

type splitter struct {
	limits Limits
	docs   []Document
}

// add appends a document and reports whether there may be more.
func (s *splitter) add(d Document) bool {
	if len(s.docs) == s.limits.Documents {
		d.fault = &diag.Error{Line: d.Line, Msg: fmt.Sprintf("more than %d documents (limit Documents)", s.limits.Documents)}
	}
	d.limits = s.limits
	s.docs = append(s.docs, d)
	return d.fault == nil
}

// json takes JSON values off the front of data. Where the first or second value
// is not JSON, the rest may still be YAML, and is returned with its line; after
// that it is an error.
func (s *splitter) json(data []byte) (rest []byte, line int) {
	dec := json.NewDecoder(bytes.NewReader(data))
	offset, line := 0, 1
	for {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		rest := data[offset:]
		space := len(rest) - len(bytes.TrimLeftFunc(rest, unicode.IsSpace))
		if errors.Is(err, io.EOF) {
			return nil, 0
		}
		if err != nil {
			if len(s.docs) <= 1 {
				if skip, ok := jsonGap(rest); ok {
					return rest[skip:], line + bytes.Count(rest[:skip], []byte("\n"))
				}
			}
			s.add(jsonFault(data, offset+space, err))
			return nil, 0
		}
		end := int(dec.InputOffset())
		d := Document{
			Line: line + bytes.Count(rest[:space], []byte("\n")),
			Text: data[offset+space : end : end],
			json: true,
		}
		if !s.add(d) {
			return nil, 0
		}
		line += bytes.Count(data[offset:end], []byte("\n"))
		offset = end
	}
}

// jsonGap is what the Kubernetes decoder skips between the last JSON value and
// the YAML behind it: blanks up to the end of the line. It always looks at four
// bytes, and gives up when there are fewer.
func jsonGap(rest []byte) (skip int, ok bool) {
	for {
		if len(rest)-skip < 4 {
			return 0, false
		}
		r, size := utf8.DecodeRune(rest[skip : skip+4])
		switch {
		case r == utf8.RuneError:
			return 0, false
		case r == '\n':
			return skip + 1, true
		case !unicode.IsSpace(r):
			return skip, true
		}
		skip += size
	}
}

func jsonFault(data []byte, start int, err error) Document {
	offset := start
	var syntax *json.SyntaxError
	msg := "unexpected end of JSON"
	if errors.As(err, &syntax) {
		// Offset is behind the offending byte.
		offset, msg = max(int(syntax.Offset)-1, 0), syntax.Error()
	} else if errors.Is(err, io.ErrUnexpectedEOF) {
		offset = len(data)
	}
	src := source{text: data}
	return Document{Line: src.at(start, "").Line, Text: data[start:], fault: src.at(offset, msg)}
}

// yaml cuts text, which begins at a line of the stream, at its separators.
func (s *splitter) yaml(text []byte, line int) {
	if len(text) == 0 {
		return
	}
	if bytes.Contains(text, []byte("\r\n")) {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	// The decoder ends the last line, which a literal scalar notices.
	if text[len(text)-1] != '\n' {
		text = append(text[:len(text):len(text)], '\n')
	}
	separator, newline := []byte("---"), []byte("\n")
	start, from := 0, 0
	for from < len(text) {
		at := from
		if !bytes.HasPrefix(text[from:], separator) {
			i := bytes.Index(text[from:], []byte("\n---"))
			if i < 0 {
				break
			}
			at += i + 1
		}
		end := at + bytes.IndexByte(text[at:], '\n') + 1
		next := line + bytes.Count(text[start:end], newline)
		if after := bytes.TrimSpace(text[at+len(separator) : end]); len(after) > 0 && after[0] != '#' {
			// The decoder fails before it hands out what stands in front.
			s.add(Document{
				Line:  line,
				Text:  text[start:end:end],
				fault: &diag.Error{Line: next - 1, Col: 1, Msg: fmt.Sprintf("only a comment may follow the document separator \"---\", got %q", clip(after))},
			})
			return
		}
		if at > start {
			if !s.add(Document{Line: line, Text: text[start:at:at]}) {
				return
			}
			start, line = end, next
		}
		from = end
	}
	if start < len(text) {
		s.add(Document{Line: line, Text: text[start:len(text):len(text)]})
	}
}

// clip shortens what an error quotes.
func clip(text []byte) string {
	const most = 32
	if utf8.RuneCount(text) <= most {
		return string(text)
	}
	return string([]rune(string(text))[:most]) + "..."
}

// stripBOM removes a byte order mark, decoding UTF-16, as Argo CD does when it
// reads a manifest.
func stripBOM(data []byte) ([]byte, *diag.Error) {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return data[3:], nil
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return fromUTF16(data[2:], 0)
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return fromUTF16(data[2:], 1)
	}
	return data, nil
}

// fromUTF16 decodes code units whose low byte is the one at index low.
func fromUTF16(data []byte, low int) ([]byte, *diag.Error) {
	text := make([]byte, 0, len(data))
	line := 1
	for i := 0; i < len(data); i += 2 {
		if i+1 == len(data) {
			return nil, &diag.Error{Line: line, Msg: "invalid UTF-16: half a code unit at the end"}
		}
		r := rune(data[i+low]) | rune(data[i+1-low])<<8
		if utf16.IsSurrogate(r) {
			var second rune
			if i+3 < len(data) {
				second = rune(data[i+2+low]) | rune(data[i+3-low])<<8
			}
			if r = utf16.DecodeRune(r, second); r == utf8.RuneError {
				return nil, &diag.Error{Line: line, Msg: "invalid UTF-16: half a surrogate pair"}
			}
			i += 2
		}
		if r == '\n' {
			line++
		}
		text = utf8.AppendRune(text, r)
	}
	return text, nil
}
