package rules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/object"
)

// checkJobSecrets never repeats a value, nor any part of one.
func checkJobSecrets(r *render, report report) {
	for _, it := range r.releaseJobs() {
		say := func(at path, where, what string) {
			if what != "" {
				report(it, at, "%s %s", where, what)
			}
		}
		for _, c := range it.pod.containers() {
			for _, list := range []string{"command", "args"} {
				arguments := object.Items(c.value[list])
				for i, argument := range arguments {
					text := object.Text(argument)
					what := r.secretIn(text, false)
					if what == "" && i+1 < len(arguments) && isSecretFlag(text) && isLiteral(object.Text(arguments[i+1])) && !strings.HasPrefix(object.Text(arguments[i+1]), "-") {
						what = fmt.Sprintf("holds the value of %s", text)
					}
					say(c.at.under(list, i), fmt.Sprintf("an argument of the container %q", c.name()), what)
				}
			}
			for i, variable := range object.Items(c.value["env"]) {
				name, value := object.Text(object.Field(variable, "name")), object.Text(object.Field(variable, "value"))
				what := r.secretIn(value, false)
				if what == "" && isSecretName(name) && isLiteral(value) {
					what = "has its value in the open"
				}
				say(c.at.under("env", i, "value"), fmt.Sprintf("the variable %q", name), what)
			}
		}
		r.annotationSecrets(path{"metadata", "annotations"}, it.Annotations(), say)
		r.annotationSecrets(it.pod.at[:len(it.pod.at)-1].under("metadata", "annotations"), it.pod.annotations, say)
	}
}

// annotationSecrets looks for secrets among annotations. Many hold prose, which may
// mention a flag and go on: "run it with --token to try again". And a waiver names the
// rule job-token, whatever stands in it.
func (r *render) annotationSecrets(at path, annotations map[string]any, say func(at path, where, what string)) {
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		value := object.Text(annotations[name])
		what := r.secretIn(value, true)
		// What agents and controllers read is the name of a Secret or its path.
		if what == "" && !strings.Contains(name, "checksum") && !strings.HasPrefix(name, WaiverPrefix) && isSecretName(lastElement(name)) &&
			isLiteral(value) && !strings.ContainsAny(strings.TrimSpace(value), " \t\n") {
			what = "has its value in the open"
		}
		say(at.under(name), fmt.Sprintf("the annotation %q", name), what)
	}
}

// secretForms are the forms that nothing but a secret has, as their issuers describe
// them.
var secretForms = []struct {
	what string
	form *regexp.Regexp
}{
	{"a private key", regexp.MustCompile(`-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY( BLOCK)?-----|AGE-SECRET-KEY-1[0-9A-Z]{20}`)},
	{"an access key of AWS", regexp.MustCompile(`\b(AKIA|ASIA)[0-9A-Z]{16}\b`)},
	{"an API key of Google", regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`)},
	{"a token of GitHub", regexp.MustCompile(`\b(gh[oprsu]_[0-9A-Za-z]{36}|github_pat_[0-9A-Za-z_]{40})`)},
	{"a token of GitLab", regexp.MustCompile(`\bglpat-[0-9A-Za-z_-]{20}`)},
	{"a token of Slack", regexp.MustCompile(`\bxox[abeoprs]-[0-9A-Za-z-]{10}|https://hooks\.slack\.com/services/T[0-9A-Z]+/B[0-9A-Z]+/[0-9A-Za-z]+`)},
	{"a key of Stripe", regexp.MustCompile(`\b[rs]k_live_[0-9A-Za-z]{16}`)},
	{"a token of Vault", regexp.MustCompile(`\bhv[sb]\.[0-9A-Za-z_-]{20}`)},
	{"a token of npm", regexp.MustCompile(`\bnpm_[0-9A-Za-z]{36}`)},
	{"a JSON web token", regexp.MustCompile(`\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10,}`)},
}

// formOf says what a text has the form of, or "".
func formOf(text string) string {
	for _, known := range secretForms {
		if known.form.MatchString(text) {
			return known.what
		}
	}
	return ""
}

var (
	// urlPassword is the password of a URL, up to the last @ in front of the host.
	urlPassword = regexp.MustCompile(`\b[A-Za-z][A-Za-z0-9+.-]*://[^\s:/@?#"']*:([^\s/?#"']+)@`)
	// flagValue is a flag with its value, in one argument or in a shell's script.
	flagValue = regexp.MustCompile(`(?:^|\s)(--?[A-Za-z][\w.-]*)(?:=|\s+)("[^"]*"|'[^']*'|[^\s;|&)]+)`)
	// assignment is NAME=value: in front of a command, in a query, in a list.
	assignment = regexp.MustCompile(`(?:^|[\s;&?,"'({=])([A-Za-z][\w.-]*)=("[^"]*"|'[^']*'|[^\s;|&,)"']+)`)
	// authorization is a header with a credential.
	authorization = regexp.MustCompile(`(?i)\bauthorization:\s*(?:bearer|basic|token)\s+([^\s"']+)`)
)

// secretIn says what secret a text holds, without it, or returns "". In prose, what
// stands behind a space is more likely the next word, unless it has a digit.
func (r *render) secretIn(text string, prose bool) string {
	if text == "" {
		return ""
	}
	if r.Decrypted != nil && r.Decrypted(text) {
		return "holds a value that was decrypted from a SOPS file"
	}
	if what := formOf(text); what != "" {
		return "holds " + what
	}
	for _, m := range urlPassword.FindAllStringSubmatch(text, -1) {
		if isLiteral(m[1]) {
			return "holds a URL with a password"
		}
	}
	for _, m := range authorization.FindAllStringSubmatch(text, -1) {
		if isLiteral(m[1]) && (!prose || hasDigit(m[1])) {
			return "holds an authorization header"
		}
	}
	for _, m := range flagValue.FindAllStringSubmatch(text, -1) {
		apart := !strings.HasPrefix(strings.TrimSpace(m[0]), m[1]+"=")
		if isSecretFlag(m[1]) && isLiteral(m[2]) && !strings.HasPrefix(m[2], "-") && !(prose && apart && !hasDigit(m[2])) {
			return fmt.Sprintf("holds the value of %s", m[1])
		}
	}
	for _, m := range assignment.FindAllStringSubmatch(text, -1) {
		if isSecretName(m[1]) && isLiteral(m[2]) {
			return fmt.Sprintf("holds the value of %s", m[1])
		}
	}
	return ""
}

// secretNames are how the names of flags, variables and keys end whose values are
// secrets, without dashes, dots and underscores. Names that end in "secret" alone are
// not among them: in Kubernetes those hold the name of a Secret.
var secretNames = []string{"password", "passwd", "passphrase", "pwd", "token", "apikey", "secretkey", "secretaccesskey", "clientsecret", "sharedsecret", "jwtsecret"}

func hasDigit(text string) bool { return strings.ContainsAny(text, "0123456789") }

var withoutPunctuation = strings.NewReplacer("-", "", "_", "", ".", "")

func isSecretName(name string) bool {
	if parts := words(name); len(parts) > 0 && parts[len(parts)-1] == "pw" {
		return true
	}
	name = withoutPunctuation.Replace(strings.ToLower(name))
	return slices.ContainsFunc(secretNames, func(end string) bool { return strings.HasSuffix(name, end) })
}

func isSecretFlag(text string) bool {
	return strings.HasPrefix(text, "-") && !strings.ContainsAny(text, "= \t\n") && isSecretName(text)
}

var (
	filePath = regexp.MustCompile(`^[\w.-]*(/[\w.-]+)+/?$|\.(crt|ini|json|jwt|key|pem|properties|txt|ya?ml)$`)
	number   = regexp.MustCompile(`^[0-9]{1,6}[a-z]?$`)
)

// isLiteral reports whether a text is the value itself: no reference to a variable,
// no command or expression that yields it, no file, no switch and no mask.
func isLiteral(text string) bool {
	text = strings.Trim(strings.TrimSpace(text), `"'\`)
	switch strings.ToLower(text) {
	case "", "true", "false", "yes", "no", "on", "off", "null", "none", "nil", "auto", "enabled", "disabled", "redacted":
		return false
	}
	if strings.ContainsAny(text, "$`(){}[]<>%") || strings.Trim(text, "*xX.-_") == "" || number.MatchString(text) || filePath.MatchString(text) {
		return false
	}
	scheme, _, isReference := strings.Cut(text, ":")
	switch scheme {
	case "file", "env", "vault", "ref+vault", "secret", "ssm", "arn", "http", "https", "op", "awssm", "gcpsm":
		return !isReference
	}
	// A call of a function passes on a variable: password=args.password.
	return !strings.Contains(text, ".") || !isSecretName(text)
}
