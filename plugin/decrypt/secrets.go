package decrypt

import (
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
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
		rememberText(secrets, v)
	case []byte:
		rememberText(secrets, string(v))
	case sops.Comment:
		rememberText(secrets, v.Value)
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

// rememberText adds what text holds as well: an engine that reads a document out
// of it quotes a value of that document. A value of a Secret's data is base64.
func rememberText(secrets *redact.Values, text string) {
	secrets.Add(text)
	if decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text)); err == nil && len(decoded) > 0 && utf8.Valid(decoded) {
		secrets.Add(string(decoded))
	}
	if !strings.ContainsAny(text, "\n{[:=") {
		return
	}
	if document, err := yamldoc.Decode("", []byte(text)); err == nil {
		rememberLeaves(secrets, document)
	}
	for line := range strings.Lines(text) {
		for _, sign := range []string{":", "="} {
			if _, value, found := strings.Cut(line, sign); found {
				secrets.Add(strings.Trim(value, " \t\r\n\"',"))
			}
		}
	}
}

func rememberLeaves(secrets *redact.Values, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			rememberLeaves(secrets, e)
		}
	case []any:
		for _, e := range v {
			rememberLeaves(secrets, e)
		}
	case string:
		secrets.Add(v)
		if decoded, err := base64.StdEncoding.DecodeString(v); err == nil && len(decoded) > 0 && utf8.Valid(decoded) {
			secrets.Add(string(decoded))
		}
	case nil, bool:
	default:
		secrets.Add(fmt.Sprint(v))
	}
}

// silence keeps the loggers of sops from printing: comments that could not be
// decrypted are among what they say.
func silence() {
	for _, logger := range logging.Loggers {
		logger.SetOutput(io.Discard)
	}
}
