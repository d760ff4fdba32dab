package gate

import (
	"fmt"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// What SOPS leaves behind, and how it is found.
//
// SOPS writes each encrypted value as ENC[AES256_GCM,data:...] and a mapping
// "sops" with the keys, a MAC and a time stamp. Both survive every way in which
// a file can miss its decryption: read as a manifest, as a values file, as a
// file of a ConfigMap generator, or base64-encoded by a chart. So every string
// and every key of every object is searched, and each stretch of it that could
// be base64 is decoded and searched too, a few levels deep.
//
// Decoding does not ask for well-formed base64. A stretch is any run of the
// two alphabets, wrapped lines included, and is decoded at all four offsets:
// then it does not matter what stands in front of the encoded text ("key-",
// the n of an escaped line end, a word of the same alphabet). A decoding that
// makes no sense yields noise, and noise does not spell the fourteen
// characters that are searched for.
//
// Not looked into: compressed and encrypted containers, such as Helm's own
// release Secrets.

const (
	cipherMark = "ENC[AES256_GCM"
	// A template that makes a URL of a value encodes the bracket.
	urlMark, urlMarkLower = "ENC%5BAES256_GCM", "ENC%5bAES256_GCM"
	// minRun is the number of base64 characters below which nothing is
	// decoded: what the fourteen bytes of cipherMark need.
	minRun = 19
	// minLine is the shortest line that counts as wrapped base64.
	minLine = 16
	// maxDepth is how often base64 may be encoded again: a Secret's data that
	// holds a manifest of a Secret is two, one more is a margin.
	maxDepth = 3
)

// What a message says was found in a string; empty for a clean one.
const (
	ciphertext = "holds SOPS ciphertext"
	metadata   = "holds SOPS metadata"
	encoded    = " inside base64"
)

// A step is one reference token of a JSON Pointer.
type step struct {
	key     string
	index   int
	inArray bool
}

// A search walks one object and keeps the way to where it stands.
type search struct {
	obj    object.Object
	report reporter
	path   []step
	decode []byte
}

func checkCiphertext(obj object.Object, report reporter) {
	s := search{obj: obj, report: report, path: make([]step, 0, 32)}
	s.value(obj.Value)
}

func (s *search) value(v any) {
	switch v := v.(type) {
	case string:
		if found := s.text(v, 0); found != "" {
			s.report(s.obj, "%s %s", quotedPointer(s.path), found)
		}
	case []any:
		s.path = append(s.path, step{inArray: true})
		for i, item := range v {
			s.path[len(s.path)-1].index = i
			s.value(item)
		}
		s.path = s.path[:len(s.path)-1]
	case map[string]any:
		for key, child := range v {
			s.field(key, child)
		}
	}
}

func (s *search) field(key string, child any) {
	// The key is the secret here, so the message stops above it.
	if found := s.text(key, 0); found != "" {
		s.report(s.obj, "a key under %s %s", quotedPointer(s.path), found)
		return
	}
	s.path = append(s.path, step{key: key})
	if block, isMap := child.(map[string]any); key == "sops" && isMap && isMetadata(block) {
		s.report(s.obj, "%s %s", quotedPointer(s.path), metadata)
	} else {
		s.value(child)
	}
	s.path = s.path[:len(s.path)-1]
}

// isMetadata recognises the block by what SOPS always writes, so that an
// application's own settings under the name "sops" pass.
func isMetadata(block map[string]any) bool {
	_, modified := block["lastmodified"]
	_, mac := block["mac"]
	_, version := block["version"]
	return modified && (mac || version)
}

// text searches one string; depth is the number of decodings behind it.
func (s *search) text(t string, depth int) (found string) {
	if len(t) < len(cipherMark) {
		return ""
	}
	switch {
	case strings.Contains(t, cipherMark), strings.Contains(t, urlMark), strings.Contains(t, urlMarkLower):
		found = ciphertext
	case strings.Contains(t, "sops") && isMetadataText(t):
		found = metadata
	case depth < maxDepth:
		return s.decodings(t, depth)
	}
	if found != "" && depth > 0 {
		found += encoded
	}
	return found
}

func (s *search) decodings(t string, depth int) (found string) {
	for run := range base64Runs(t) {
		texts := textOffsets(run)
		for offset := range 4 {
			if !texts[offset] {
				continue
			}
			s.decode = appendDecoded(s.decode[:0], run, offset)
			if found := s.text(string(s.decode), depth+1); found != "" {
				return found
			}
		}
	}
	return ""
}

// isMetadataText recognises the block inside a text, in the four formats that
// SOPS writes. Prose that mentions SOPS has no time stamp of it.
func isMetadataText(t string) bool {
	if !strings.Contains(t, "lastmodified") {
		return false
	}
	if strings.Contains(t, `"sops`) && strings.Contains(t, `"lastmodified`) && strings.Contains(t, `"version`) {
		return true
	}
	var block, modified, version bool
	for line := range strings.Lines(t) {
		line = strings.TrimSpace(line)
		switch name, _, assigned := cutAssignment(line); {
		case line == "[sops]", line == "sops:":
			block = true
		case assigned && name == "sops_lastmodified":
			block, modified = true, true
		case assigned && name == "lastmodified":
			modified = true
		case assigned && (name == "version" || name == "sops_version"):
			version = true
		}
	}
	return block && modified && version
}

// cutAssignment splits "name: value" and "name = value".
func cutAssignment(line string) (name, value string, found bool) {
	i := strings.IndexAny(line, ":=")
	if i < 0 {
		return "", "", false
	}
	return strings.TrimSpace(line[:i]), line[i+1:], true
}

// base64Runs yields the stretches of t that could be base64.
func base64Runs(t string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := 0; i+minLine <= len(t); {
			// A line of minLine characters from i on would cover all of
			// them, so the last stranger among them is where to go on; that
			// passes over prose in steps of many bytes.
			j := i + minLine - 1
			for j >= i && isBase64(t[j]) {
				j--
			}
			if j >= i {
				i = j + 1
				continue
			}
			end := i + minLine
			line := i
			for {
				for end < len(t) && isBase64(t[end]) {
					end++
				}
				next := end
				for next < len(t) && isSpace(t[next]) {
					next++
				}
				if end-line < minLine || next == end || next == len(t) || !isBase64(t[next]) {
					break
				}
				line, end = next, next
			}
			if end-i >= minRun && !yield(t[i:end]) {
				return
			}
			i = end
		}
	}
}

// textOffsets tells at which of the four offsets run decodes to some ASCII text
// of the length of cipherMark. The first of four base64 characters holds the
// upper six bits of a byte, so behind printable ASCII it is one of I to Z and
// a to f; that tells words and paths from encoded text without decoding them.
func textOffsets(run string) (texts [4]bool) {
	var groups [4]int // of printable bytes in succession, at each offset
	at := 0
	for i := 0; i < len(run); i++ {
		c := run[i]
		if isSpace(c) {
			continue
		}
		if c >= 'I' && c <= 'Z' || c >= 'a' && c <= 'f' {
			groups[at]++
			// The mark covers at least four whole groups.
			if groups[at] == (len(cipherMark)-2)/3 {
				texts[at] = true
			}
		} else {
			groups[at] = 0
		}
		at = (at + 1) % 4
	}
	return texts
}

// appendDecoded appends what run stands for in base64 of either alphabet when
// reading starts offset characters late. Characters that do not fill a group
// of four are dropped at the end, except for the bytes they complete.
func appendDecoded(dst []byte, run string, offset int) []byte {
	var bits, have uint32
	for i := 0; i < len(run); i++ {
		if isSpace(run[i]) {
			continue
		}
		if offset > 0 {
			offset--
			continue
		}
		bits = bits<<6 | sextet(run[i])
		if have += 6; have >= 8 {
			have -= 8
			dst = append(dst, byte(bits>>have)) //nolint:gosec // the cut to eight bits is the decoding
		}
	}
	return dst
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func isBase64(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

func sextet(c byte) uint32 {
	switch {
	case c >= 'A' && c <= 'Z':
		return uint32(c - 'A')
	case c >= 'a' && c <= 'z':
		return uint32(c-'a') + 26
	case c >= '0' && c <= '9':
		return uint32(c-'0') + 52
	case c == '+' || c == '-':
		return 62
	}
	return 63
}

// pointer writes a path as a JSON Pointer (RFC 6901).
func pointer(path []step) string {
	var b strings.Builder
	for _, s := range path {
		b.WriteByte('/')
		if s.inArray {
			b.WriteString(strconv.Itoa(s.index))
			continue
		}
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(s.key, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

func quotedPointer(path []step) string { return fmt.Sprintf("%q", pointer(path)) }
