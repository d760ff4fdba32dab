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
		rememberText(secrets, v, maxInside)
	case []byte:
		rememberText(secrets, string(v), maxInside)
	case sops.Comment:
		rememberText(secrets, v.Value, maxInside)
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

const (
	// maxInside is how many texts are looked for inside of each other: the credentials
	// of a registry are base64 in JSON in base64.
	maxInside = 4
	// maxDocument is the size up to which a text is read as a document. What people
	// encrypt to be read by a program is smaller, or holds text for the most part.
	maxDocument = 64 << 10
	// maxBase64 is the size up to which a text is decoded: no value of a Secret is larger.
	maxBase64 = 2 << 20
	// maxNested is how deep a document may nest.
	maxNested = 32
)

// rememberText adds what text holds as well: an engine that reads a document out
// of it quotes a value of that document, and a template takes a password out of an
// address. A value of a Secret's data is base64.
func rememberText(secrets *redact.Values, text string, depth int) {
	if depth == 0 {
		secrets.Add(text)
		return
	}
	if !strings.ContainsAny(text, "\n{[:=") {
		secrets.Add(text)
		rememberBase64(secrets, text, depth-1)
		return
	}
	if !secrets.Search(text, depth) {
		return
	}
	rememberBase64(secrets, text, depth-1)
	documents, structured := documentsIn(text)
	public := identities(documents)
	if public == nil {
		secrets.Add(text)
	} else {
		secrets.AddWhole(text)
	}
	for _, d := range documents {
		walk(d, "", isObject(d), func(leaf any, identity bool) {
			switch leaf := leaf.(type) {
			case string:
				if !identity {
					rememberText(secrets, leaf, depth-1)
				}
			case nil, bool:
			default:
				if !identity {
					secrets.Add(fmt.Sprint(leaf))
				}
			}
		})
	}
	for line := range strings.Lines(text) {
		rememberCredentials(secrets, line)
		if public != nil {
			if _, value, found := strings.Cut(line, ":"); found && public[bare(value)] {
				continue
			}
			secrets.Add(strings.TrimSpace(line))
		}
		for _, sign := range []string{":", "="} {
			if _, value, found := strings.Cut(line, sign); found {
				secrets.Add(bare(value))
			}
		}
		if !structured {
			rememberWords(secrets, line)
		}
	}
}

// bare is what a line assigns, without the punctuation around it.
func bare(value string) string { return strings.Trim(value, " \t\r\n\"',&*") }

// documentsIn reads YAML or JSON, and reports whether text is nothing else.
func documentsIn(text string) (values []any, structured bool) {
	if len(text) > maxDocument || !mayBeDocument(text) || mayHaveAlias(text) {
		return nil, false
	}
	documents, err := yamldoc.Limits{Bytes: maxDocument, Depth: maxNested}.Stream("", []byte(text))
	structured = err == nil
	for _, d := range documents {
		switch d.Value.(type) {
		case map[string]any, []any:
			values = append(values, d.Value)
		default:
			structured = false
		}
	}
	return values, structured
}

// rememberCredentials adds the user part of an address, also where it has no scheme
// (user:password@tcp(host)/name), and what is assigned to a word that says so:
// host=db password=x.
func rememberCredentials(secrets *redact.Values, line string) {
	found := func(secret string) {
		secrets.Add(secret)
		if plain, err := url.PathUnescape(secret); err == nil {
			secrets.Add(plain)
		}
	}
	for before, rest, is := strings.Cut(line, "@"); is; before, rest, is = strings.Cut(rest, "@") {
		user := before[strings.LastIndexAny(before, space+"/\"'")+1:]
		if name, password, is := strings.Cut(user, ":"); is && password != "" {
			found(user[strings.LastIndexByte(name, '=')+1:])
			found(password)
		}
	}
	for before, rest, is := strings.Cut(line, "="); is; before, rest, is = strings.Cut(rest, "=") {
		name := before[strings.LastIndexFunc(before, func(r rune) bool { return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })+1:]
		if !saysSecret.MatchString(name) {
			continue
		}
		if end := strings.IndexAny(rest, space+"&;\"'"); end >= 0 {
			found(rest[:end])
			rest = rest[end:]
			continue
		}
		found(rest)
		break
	}
}

const space = " \t\r\n\v\f"

var saysSecret = regexp.MustCompile(`(?i)pass|pwd|secret|token|key|credential`)

// minWord is the length from which on a part of a line is taken for a secret, in a
// text that is no document.
const minWord = 7

// closing returns where a quoted text ends, or -1.
func closing(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == quote:
			return i
		case text[i] == '\\' && quote == '"':
			i++
		}
	}
	return -1
}

// rememberWords adds what stands in quotes in a line, and the words with a digit,
// which are none of a language.
func rememberWords(secrets *redact.Values, line string) {
	quotes := "\"'`"
	for rest := line; ; {
		begin := strings.IndexAny(rest, quotes)
		if begin < 0 {
			break
		}
		quote := rest[begin : begin+1]
		rest = rest[begin+1:]
		end := closing(rest, quote[0])
		if end < 0 {
			// Nor does a later one of this kind have an end: all that follow are escaped.
			quotes = strings.ReplaceAll(quotes, quote, "")
			continue
		}
		plain, err := strconv.Unquote(quote + rest[:end] + quote)
		if err != nil || quote == "'" {
			plain = rest[:end]
		}
		if len(plain) >= minWord {
			secrets.Add(plain)
		}
		rest = rest[end+1:]
	}
	for _, word := range strings.FieldsFunc(line, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+/_-.~", r)
	}) {
		// All of a line is known with the text.
		if len(word) >= minWord && len(word) < len(strings.TrimSpace(line)) && strings.ContainsFunc(word, unicode.IsDigit) {
			secrets.Add(word)
			rememberBase64(secrets, word, 0)
		}
	}
}

// rememberBase64 adds what text says in base64, with padding or without.
func rememberBase64(secrets *redact.Values, text string, depth int) {
	if len(text) > maxBase64 {
		return
	}
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
