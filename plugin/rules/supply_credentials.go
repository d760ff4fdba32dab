package rules

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// credential says what an entry is if it looks like a credential, or returns "". The
// type is that of the Secret that it is in.
//
// The value decides where its form does, such as that of a private key. Where only
// the name of the entry tells, what may be a reference, a file, a switch or a mask is
// none, nor is a number that may be a port or a time. Certificates and public keys are
// public.
func credential(secretType, key, value string) string {
	if what := formOf(value); what != "" {
		return what
	}
	for _, m := range urlPassword.FindAllStringSubmatch(value, -1) {
		if !placeholder(m[1]) && !asksForChange(m[1]) {
			return "a URL with a password"
		}
	}
	switch {
	case secretType == "kubernetes.io/dockerconfigjson", secretType == "kubernetes.io/dockercfg", key == ".dockerconfigjson", key == ".dockercfg": //nolint:gosec // names, no credentials
		if registryCredentials(value) {
			return "a login of a registry"
		}
		return ""
	case strings.Contains(strings.TrimSpace(value), "\n"):
		return inConfiguration(value)
	case placeholder(value), asksForChange(value):
		return ""
	}
	return namedCredential(words(key))
}

// setting is a line of a configuration file, as INI, YAML, JSON and properties have it.
var setting = regexp.MustCompile(`(?m)^\s*(?:- )?["']?([A-Za-z][\w.-]*)["']?\s*[:=]\s*("[^"\n]*"|'[^'\n]*'|[^\s"']\S*)\s*,?\s*$`)

// inConfiguration looks for a credential among the settings of a file.
func inConfiguration(text string) string {
	for _, m := range setting.FindAllStringSubmatch(text, -1) {
		if isSecretName(m[1]) && isLiteral(m[2]) && !placeholder(m[2]) && !asksForChange(m[2]) {
			return "a file with a credential"
		}
	}
	return ""
}

// namedCredential says which credential the words of a name promise, or returns "".
// The last of them decides; where nothing parts them, its end (PGPASSWORD).
func namedCredential(name []string) string {
	joined := func(n int) string { return strings.Join(name[max(len(name)-n, 0):], "") }
	ends := func(text string, endings ...string) bool {
		return slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(text, end) })
	}
	last, two := joined(1), joined(2)
	switch {
	case ends(last, "password", "passwd", "passphrase", "passcode", "pwd", "pw"), last == "pass":
		return "a password"
	case ends(two, "existingsecret", "tlssecret", "passwordsecret", "pullsecret"): // the name of a Secret
		return ""
	case ends(last, "token"):
		return "a token"
	case last == "secret", ends(last, "clientsecret", "sharedsecret", "jwtsecret"), two == "erlangcookie":
		return "a secret"
	case ends(two, "apikey", "secretkey", "privatekey", "encryptionkey", "signingkey", "masterkey"), ends(joined(3), "secretaccesskey"):
		return "a key"
	}
	return ""
}

// words splits a name at what is no letter and no digit, and in front of capitals,
// and returns the parts in small letters.
func words(name string) []string {
	var out []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		if i > 0 && unicode.IsUpper(r) && !unicode.IsUpper(runes[i-1]) {
			end()
		}
		word = append(word, r)
	}
	end()
	return out
}

// changeMe are the values that charts have for a credential of which they hope that
// nobody deploys it.
var changeMe = regexp.MustCompile(`(?i)^["']?(please[-_ ]?)?change[-_ ]?(me|it|this)([-_ !.0-9]*|[-_ ]?(please|now|in[-_ ]?production|before[-_ ]?use))["']?$`)

// asksForChange reports whether a value is one that everybody knows: it gives nothing
// away, but whoever deploys it has no credential.
func asksForChange(value string) bool { return changeMe.MatchString(strings.TrimSpace(value)) }

// smallNumber is a port, a size or a time.
var smallNumber = regexp.MustCompile(`^-?[0-9]{1,5}(\.[0-9]+)?([a-zA-Z]{1,2}([0-9]{1,3}[a-z]{1,2}){0,2})?$`)

// placeholder reports whether a value is none that anybody could log in with: it is
// empty, a switch or a small number, a mask, a reference that something else resolves,
// or asks to be replaced.
func placeholder(value string) bool {
	value = strings.Trim(strings.TrimSpace(value), `"'`)
	lower := strings.ToLower(value)
	switch lower {
	case "", "true", "false", "yes", "no", "on", "off", "auto", "enabled", "disabled", "null", "nil", "none", "n/a", "undefined", "optional", "required",
		"todo", "tbd", "dummy", "example", "sample", "redacted", "token", "value":
		return true
	}
	if smallNumber.MatchString(value) || strings.Trim(lower, "*x.-_?# ") == "" || strings.HasPrefix(lower, "your") || strings.HasPrefix(value, "<") && strings.HasSuffix(value, ">") ||
		strings.HasPrefix(value, "[") && strings.HasSuffix(value, "]") || strings.HasPrefix(value, "%") && strings.HasSuffix(value, "%") {
		return true
	}
	for _, part := range []string{"$(", "${", "{{", "<path:", "replace", "placeholder", "redacted", "insert-", "not_used", "not-used", "unused", "set-me", "set_me", "setme", "to-be-"} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	for _, reference := range []string{
		"$", "enc[", "vault:", "ref+", "op://", "arn:", "secret:", "secret://", "secretref", "env:", "file:", "http://", "https://",
		"awssm:", "gcpsm:", "sm://", "ssm:", "azkv:", "akv:", "keyvault:", "projects/",
	} {
		if strings.HasPrefix(lower, reference) {
			return true
		}
	}
	return strings.HasPrefix(value, "/") && filePath.MatchString(value)
}

// registryCredentials reports whether the configuration of a Docker client holds a
// login.
func registryCredentials(text string) bool {
	type login struct {
		Auth, Password, IdentityToken, RegistryToken string
	}
	var config struct{ Auths map[string]login }
	if json.Unmarshal([]byte(text), &config) != nil {
		return false
	}
	if config.Auths == nil { // the form of .dockercfg
		_ = json.Unmarshal([]byte(text), &config.Auths)
	}
	for _, l := range config.Auths {
		for _, value := range []string{l.Auth, l.Password, l.IdentityToken, l.RegistryToken} {
			if !placeholder(value) {
				return true
			}
		}
	}
	return false
}
