package decrypt

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/internal/yamldoc"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/logging"
)

// remember tells secrets about a decrypted value.
func remember(secrets *redact.Values, value any) {
	switch v := value.(type) {
	case string:
		rememberText(secrets, v, maxDepth)
	case []byte:
		rememberText(secrets, string(v), maxDepth)
	case sops.Comment:
		rememberText(secrets, v.Value, maxDepth)
	case int:
		secrets.Add(strconv.Itoa(v))
	case float64:
		secrets.Add(strconv.FormatFloat(v, 'f', -1, 64))
	case time.Time:
		secrets.Add(v.Format(time.RFC3339Nano))
	case bool: // it is no secret, or none that can be kept
	default:
		secrets.Add(fmt.Sprint(v))
	}
}

// maxDepth is how many texts are looked for inside of each other: the credentials of
// a registry are base64 in JSON in base64.
const maxDepth = 4

// rememberText adds what text holds as well: an engine that reads a document out
// of it quotes a value of that document, and a template takes a password out of an
// address. A value of a Secret's data is base64.
func rememberText(secrets *redact.Values, text string, depth int) {
	secrets.Add(text)
	if depth == 0 {
		return
	}
	rememberBase64(secrets, text, depth-1)
	if !strings.ContainsAny(text, "\n{[:=") {
		return
	}
	rememberCredentials(secrets, text)
	documents, err := yamldoc.Stream("", []byte(text))
	structured := err == nil
	for _, d := range documents {
		switch d.Value.(type) {
		case map[string]any, []any:
			rememberLeaves(secrets, d.Value, depth-1)
		default:
			structured = false
		}
	}
	for line := range strings.Lines(text) {
		for _, sign := range []string{":", "="} {
			if _, value, found := strings.Cut(line, sign); found {
				secrets.Add(strings.Trim(value, " \t\r\n\"',&*"))
			}
		}
		if !structured {
			rememberWords(secrets, line)
		}
	}
}

func rememberLeaves(secrets *redact.Values, v any, depth int) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			rememberLeaves(secrets, e, depth)
		}
	case []any:
		for _, e := range v {
			rememberLeaves(secrets, e, depth)
		}
	case string:
		rememberText(secrets, v, depth)
	case nil, bool:
	default:
		secrets.Add(fmt.Sprint(v))
	}
}

// credentials finds the user part of an address, also where it has no scheme
// (user:password@tcp(host)/name), and what is assigned to a word that says so:
// host=db password=x.
var credentials = regexp.MustCompile(`(?i)([^\s:/@"'=]*:([^\s/@"']+))@|(?:pass|pwd|secret|token|key|credential)[\w-]*=([^\s&;"']+)`)

func rememberCredentials(secrets *redact.Values, text string) {
	for _, m := range credentials.FindAllStringSubmatch(text, -1) {
		for _, found := range m[1:] {
			if found == "" {
				continue
			}
			secrets.Add(found)
			if plain, err := url.PathUnescape(found); err == nil {
				secrets.Add(plain)
			}
		}
	}
}

// minWord is the length from which on a part of a line is taken for a secret, in a
// text that is no document.
const minWord = 7

// rememberWords adds what stands in quotes in a line, and the words with a digit,
// which are none of a language.
func rememberWords(secrets *redact.Values, line string) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '"', '`':
			if quoted, err := strconv.QuotedPrefix(line[i:]); err == nil {
				if plain, err := strconv.Unquote(quoted); err == nil && len(plain) >= minWord {
					secrets.Add(plain)
				}
				i += len(quoted) - 1
			}
		case '\'':
			if plain, _, found := strings.Cut(line[i+1:], "'"); found {
				if len(plain) >= minWord {
					secrets.Add(plain)
				}
				i += len(plain) + 1
			}
		}
	}
	for _, word := range strings.FieldsFunc(line, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+/_-.~", r)
	}) {
		if len(word) >= minWord && strings.ContainsFunc(word, unicode.IsDigit) {
			secrets.Add(word)
			rememberBase64(secrets, word, 0)
		}
	}
}

// rememberBase64 adds what text says in base64, with padding or without.
func rememberBase64(secrets *redact.Values, text string, depth int) {
	text = strings.TrimRight(strings.TrimSpace(text), "=")
	if decoded, err := base64.RawStdEncoding.DecodeString(text); err == nil && len(decoded) > 0 && utf8.Valid(decoded) {
		rememberText(secrets, string(decoded), depth)
	}
}

// silence keeps the loggers of sops from printing: comments that could not be
// decrypted are among what they say.
func silence() {
	for _, logger := range logging.Loggers {
		logger.SetOutput(io.Discard)
	}
}
