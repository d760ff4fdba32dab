package rules

import (
	"encoding/json"
	"regexp"

	"strings"
	"unicode"
)

// credential says what an entry is if it looks like a credential, or returns "". The
// type is that of the Secret that it is in.
//
// The value decides where its form does, such as that of a private key. Where only
// the name of the entry tells, what may be a reference, a file, a switch or a mask is
// none. Certificates and public keys are public.
func credential(secretType, key, value string) string {
	for _, known := range secretForms {
		if known.form.MatchString(value) {
			return known.what
		}
	}
	for _, m := range urlPassword.FindAllStringSubmatch(value, -1) {
		if !placeholder(m[1]) {
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
	case placeholder(value):
		return ""
	}
	return namedCredential(words(key))
}

// setting is a line of a configuration file, as INI, YAML, JSON and properties have it.
var setting = regexp.MustCompile(`(?m)^\s*(?:- )?["']?([A-Za-z][\w.-]*)["']?\s*[:=]\s*("[^"\n]*"|'[^'\n]*'|[^\s"']\S*)\s*,?\s*$`)

// inConfiguration looks for a credential among the settings of a file.
func inConfiguration(text string) string {
	for _, m := range setting.FindAllStringSubmatch(text, -1) {
		if isSecretName(m[1]) && isLiteral(m[2]) && !placeholder(m[2]) {
			return "a file with a credential"
		}
	}
	return ""
}

// namedCredential says which credential a name promises, or returns "".
func namedCredential(name []string) string {
	joined := func(n int) string {
		if len(name) < n {
			return ""
		}
		return strings.Join(name[len(name)-n:], "")
	}
	switch joined(1) {
	case "password", "passwd", "passphrase", "pwd", "pass":
		return "a password"
	case "token":
		return "a token"
	case "secret":
		switch before := joined(2); before {
		case "existingsecret", "tlssecret", "passwordsecret", "pullsecret": // the name of a Secret
			return ""
		}
		return "a secret"
	case "apikey", "secretkey", "privatekey", "encryptionkey", "signingkey":
		return "a key"
	}
	switch joined(2) {
	case "apikey", "secretkey", "privatekey", "encryptionkey", "signingkey", "masterkey":
		return "a key"
	case "erlangcookie":
		return "a secret"
	}
	if joined(3) == "secretaccesskey" {
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

// placeholder reports whether a value is none that anybody could log in with: it is
// empty, a mask, a reference that something else resolves, or asks to be replaced.
func placeholder(value string) bool {
	value = strings.Trim(strings.TrimSpace(value), `"'`)
	lower := strings.ToLower(value)
	switch lower {
	case "", "true", "false", "yes", "no", "null", "nil", "none", "n/a", "undefined", "optional", "required", "todo", "tbd", "dummy", "example", "sample",
		"redacted", "secret", "password", "token", "value":
		return lower != "secret" && lower != "password"
	}
	if strings.Trim(lower, "*x.-_?# ") == "" || strings.HasPrefix(lower, "your") || strings.HasPrefix(value, "<") && strings.HasSuffix(value, ">") ||
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
