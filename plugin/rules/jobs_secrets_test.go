package rules

import (
	"strings"
	"testing"
)

// marker stands for a secret in these tests. No finding may repeat it.
const marker = "s3cr3t-marker"

// Each of these arguments holds a secret, and the finding says what kind of one.
func TestJobSecretsInArguments(t *testing.T) {
	t.Parallel()
	run := func(text string) string {
		return job("", "", "args:\n  - |-\n"+indented(4, text), preSyncHook)
	}
	for text, want := range map[string]string{
		"--password=" + marker:                                             "holds the value of --password",
		"-dbPassword=" + marker:                                            "holds the value of -dbPassword",
		"tool --api-key '" + marker + "' --verbose":                        "holds the value of --api-key",
		"PGPASSWORD=" + marker + " psql -f a.sql":                          "holds the value of PGPASSWORD",
		`export DB_PASSWORD="` + marker + `"; run`:                         "holds the value of DB_PASSWORD",
		"kubectl create secret generic x --from-literal=token=" + marker:   "holds the value of token",
		"--url=jdbc:postgresql://db/shop?user=app&password=" + marker:      "holds the value of password",
		"--dsn=postgres://app:" + marker + "@db:5432/shop":                 "holds a URL with a password",
		"curl https://robot:" + marker + "@example.com/x":                  "holds a URL with a password",
		"tool --bind-pw " + marker:                                         "holds the value of --bind-pw",
		"REDIS_PWD=" + marker + " tool":                                    "holds the value of REDIS_PWD",
		"curl -H 'Authorization: Bearer " + marker + "' https://x":         "holds an authorization header",
		"-----BEGIN RSA PRIVATE KEY-----":                                  "holds a private key",
		"-----BEGIN PRIVATE KEY-----":                                      "holds a private key",
		"aws configure set id AKIAIOSFODNN7EXAMPLE":                        "holds an access key of AWS",
		"--auth=ghp_" + strings.Repeat("a1", 18):                           "holds a token of GitHub",
		"x glpat-" + strings.Repeat("a1", 10):                              "holds a token of GitLab",
		"hvs." + strings.Repeat("a1", 12):                                  "holds a token of Vault",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjaGVja291dCJ9.c2lnbmF0dXJlMTIz":   "holds a JSON web token",
		"curl https://hooks.slack.com/services/T0000/B0000/XXXXXXXXXXXXXX": "holds a token of Slack",
	} {
		t.Run(text[:min(len(text), 24)], func(t *testing.T) {
			t.Parallel()
			found := of(Check(objects(t, run(text)), bookOptions()), "job-secrets")
			if len(found) != 1 || !strings.HasSuffix(found[0].Message, want) || found[0].Field != "/spec/template/spec/containers/0/args/0" {
				t.Fatalf("got %+v for %q, want one that %s", found, text, want)
			}
			if strings.Contains(found[0].Message+found[0].Remedy, marker) {
				t.Errorf("the finding %q repeats the secret", found[0].Message)
			}
		})
	}
}

// None of these arguments holds a secret: references, files, switches, names of
// Secrets, expressions.
func TestNoJobSecrets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"--password=$(DB_PASSWORD)", "--password=$DB_PASSWORD", `PGPASSWORD="${DB_PASSWORD}" psql`, "--password $PASSWORD --user app",
		"--dsn=postgres://app:$(DB_PASSWORD)@db:5432/shop", "postgres://app:${PASSWORD}@db/shop", "postgres://app@db/shop", "http://localhost:8080/a@b",
		"--password-file=/run/secrets/password", "--token=/var/run/secrets/token", "--token-file token", "--token=secrets/api.jwt", "--password=file:/run/x", "--api-key=vault:secret/data/shop#key",
		"--secret-name=checkout-tls", "--webhook-secret=checkout-webhook", "--tls-secret checkout", "--ca-secret-name=ca",
		"--password-stdin", "--password --user app", "--password=", "--token=''", "--generate-password=true", "--reset-password", "--max-token=4096", "--token=null",
		"TOKEN=$(cat /run/token)", "TOKEN=`cat /run/token`", `[ "$TOKEN" = "" ]`, `if [ -z "${PASSWORD}" ]; then exit 1; fi`, "read -s PASSWORD", "--password=<password>", "--password=***",
		`Authorization: Bearer $(cat /run/token)`, `Authorization: Bearer ${TOKEN}`, "password=os.environ['PASSWORD']", "connect(password=args.password)",
		"kubectl get secret x -o jsonpath='{.data.password}'", "--from-literal=password=$(openssl rand -hex 16)", "kubectl create secret generic x --from-file=token=token.txt",
		"-----BEGIN CERTIFICATE-----", "sha256:" + strings.Repeat("0a", 32), "--tokenizer=fast", "passwordless: yes",
	} {
		t.Run(text[:min(len(text), 24)], func(t *testing.T) {
			t.Parallel()
			whole := job("", "", "args:\n  - |-\n"+indented(4, text), preSyncHook)
			if found := of(Check(objects(t, whole), bookOptions()), "job-secrets"); len(found) > 0 {
				t.Errorf("got %q for %q", found[0].Message, text)
			}
		})
	}
}

func TestJobSecretsElsewhere(t *testing.T) {
	t.Parallel()
	inTemplate := func(annotation string) string {
		return strings.Replace(job("", "", "", preSyncHook), "  template:\n", "  template:\n    metadata:\n      annotations: {"+annotation+"}\n", 1)
	}
	options := bookOptions()
	options.Decrypted = func(text string) bool { return strings.Contains(text, "was-encrypted") }
	runCases(t, "job-secrets", options, []ruleCase{
		{"the argument behind a flag", job("", "", "args: [--password, "+marker+"]", preSyncHook),
			[]string{`/spec/template/spec/containers/0/args/0: an argument of the container "checkout" holds the value of --password`}},
		{"a flag with a flag behind it", job("", "", "args: [--password, --user]", preSyncHook), nil},
		{"a flag with a reference behind it", job("", "", "args: [--password, $(PASSWORD)]", preSyncHook), nil},
		{"a plain variable", job("", "", "env: [{name: DB_PASSWORD, value: "+marker+"}]", preSyncHook),
			[]string{`/spec/template/spec/containers/0/env/0/value: the variable "DB_PASSWORD" has its value in the open`}},
		{"a variable from a Secret", job("", "", "env: [{name: DB_PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}]", preSyncHook), nil},
		{"a variable with a file", job("", "", "env: [{name: DB_PASSWORD, value: /run/secrets/db}]", preSyncHook), nil},
		{"a variable with a URL", job("", "", "env: [{name: DSN, value: 'postgres://app:"+marker+"@db/shop'}]", preSyncHook),
			[]string{`/spec/template/spec/containers/0/env/0/value: the variable "DSN" holds a URL with a password`}},
		{"an annotation", job("", "", "", preSyncHook, "shop.example.com/token: "+marker),
			[]string{`/metadata/annotations/shop.example.com~1token: the annotation "shop.example.com/token" has its value in the open`}},
		{"an annotation of the pod", inTemplate("shop.example.com/note: 'postgres://app:" + marker + "@db/shop'"),
			[]string{`/spec/template/metadata/annotations/shop.example.com~1note: the annotation "shop.example.com/note" holds a URL with a password`}},
		{"annotations of agents", inTemplate("vault.hashicorp.com/agent-inject-token: 'true', vault.hashicorp.com/agent-inject-secret-db-password: secret/data/db, checksum/password: abcdef0123456789"), nil},
		{"a waiver that is well formed", job("", "", "", preSyncHook, WaiverPrefix+"job-token: 2026-12-31 until the move"), nil},
		{"a waiver without a reason", job("", "", "", preSyncHook, WaiverPrefix+"job-token: later"), nil},
		{"a waiver with a secret in it", job("", "", "", preSyncHook, WaiverPrefix+"job-token: 'later, postgres://app:"+marker+"@db/shop'"),
			[]string{`/metadata/annotations/waive.hallmark.dev~1job-token: the annotation "waive.hallmark.dev/job-token" holds a URL with a password`}},
		{"prose about a flag", job("", "", "", preSyncHook, "example.com/description: 'Run it with --token to try again, or set --password by hand.'"), nil},
		{"prose about a flag and its form", job("", "", "", preSyncHook, "example.com/description: pass --token=<token> or TOKEN=$TOKEN"), nil},
		{"prose about a header", job("", "", "", preSyncHook, `example.com/description: "sends Authorization: Bearer tokens"`), nil},
		{"prose in place of a value", job("", "", "", preSyncHook, "example.com/rotate-token: once a week by the platform team"), nil},
		{"prose in the pod", inTemplate("example.com/description: needs the flag --api-key since then"), nil},
		{"a command with a secret", job("", "", "", preSyncHook, "example.com/command: tool --token "+marker),
			[]string{`/metadata/annotations/example.com~1command: the annotation "example.com/command" holds the value of --token`}},
		{"a command with a secret behind a sign", job("", "", "", preSyncHook, "example.com/command: tool --token=correct-horse"),
			[]string{`/metadata/annotations/example.com~1command: the annotation "example.com/command" holds the value of --token`}},
		{"a decrypted value", job("", "", "args: [--greeting=was-encrypted]", preSyncHook),
			[]string{`/spec/template/spec/containers/0/args/0: an argument of the container "checkout" holds a value that was decrypted from a SOPS file`}},
		{"no Job of the release", job("", "", "args: [--password="+marker+"]"), nil},
	})
}
