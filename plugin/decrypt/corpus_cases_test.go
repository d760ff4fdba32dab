package decrypt_test

import (
	"regexp"
	"strings"
)

// sealedCase is a file of the corpus: plain/name, encrypted as sealed/name, which
// sops -d prints as opened/name, or as plain/name where there is no such file.
type sealedCase struct {
	name string
	why  string
	// plain is the file in plain/ that was encrypted, where it has another name.
	plain string
	// rule is part of the creation rule in .sops.yaml; empty encrypts all.
	rule  string
	flags []string // further flags of sops -e
	// to are the groups of recipients, by the name of their key, and threshold is
	// how many groups it takes. Without, it is age.txt alone.
	to        [][]string
	threshold int
	keys      []string // what decrypts it: files of testdata/keys
	// format is what sops has to be told where the name does not say it, and
	// sealedAs where that is only so for the encryption.
	format, sealedAs string
	// madeBy names the program that made a sealed file which -update keeps.
	madeBy string
}

// fingerprints are the PGP keys of testdata/keys.
var fingerprints = map[string]string{
	"pgp-rsa":        "20D0C889531CB3DDEEF140A22F7E037F8FAB61C5",
	"pgp-curve":      "633C48FCB8CBCB0E8905EB69EFC34557CD2E1837",
	"pgp-passphrase": "865D0FB3385EC7C83BA56061C7EEF6E1A0D213B1",
}

var (
	toAge = [][]string{{"age.txt"}}
	byAge = []string{"age.txt"}
	three = [][]string{{"age.txt"}, {"pgp-curve"}, {"ssh_ed25519"}}
)

var sealedCases = []sealedCase{
	// YAML
	{name: "secret.yaml", why: "a Secret as most repositories have it", rule: "encrypted_regex: ^(data|stringData)$", to: toAge, keys: byAge},
	{name: "values.yaml", why: "values of a chart, encrypted as a whole, with comments in all places", to: toAge, keys: byAge},
	{name: "types.yaml", why: "each type keeps its type, and text that looks like one stays text", to: toAge, keys: byAge},
	{name: "strings.yaml", why: "block scalars, escapes, long lines, keys that need quotes", to: toAge, keys: byAge},
	{name: "suffix.yaml", why: "what ends in _unencrypted is readable by default", to: toAge, keys: byAge},
	{name: "encrypted-suffix.yaml", why: "only what ends in a suffix is encrypted", rule: "encrypted_suffix: _secret", to: toAge, keys: byAge},
	{name: "unencrypted-regex.yaml", why: "all but some keys", rule: "unencrypted_regex: ^(kind|metadata|description)$", to: toAge, keys: byAge},
	{name: "comment-regex.yaml", why: "what a comment marks is encrypted", rule: "encrypted_comment_regex: sops:encrypt", to: toAge, keys: byAge},
	{name: "comment-regex-open.yaml", why: "what a comment marks stays readable", rule: "unencrypted_comment_regex: sops:plain", to: toAge, keys: byAge},
	{name: "documents.yaml", why: "several documents, one of them empty, have one MAC", to: toAge, keys: byAge},
	{name: "list-comments.yaml", why: "comments in lists are items of the tree", to: toAge, keys: byAge},
	{name: "anchors.yaml", why: "sops writes aliases out", to: toAge, keys: byAge},
	{name: "mac-only.yaml", why: "a MAC over the encrypted values only", rule: "mac_only_encrypted: true\n    encrypted_regex: ^stringData$", to: toAge, keys: byAge},
	{name: "indent.yaml", why: "the indentation of the sealed file is not that of the output", flags: []string{"--indent", "2"}, to: toAge, keys: byAge},
	{name: "flow.yml", why: "flow style becomes block style", to: toAge, keys: byAge},
	{name: "json.yaml", why: "JSON in a YAML file becomes YAML", to: toAge, keys: byAge},
	{name: "json-sealed.yaml", plain: "json.yaml", why: "a YAML file that was encrypted as JSON is printed as YAML", sealedAs: "json", to: toAge, keys: byAge},
	{name: "blob.yaml", why: "a YAML file that was encrypted as binary is printed as YAML with the key data", sealedAs: "binary", to: toAge, keys: byAge},
	{name: "crlf.yaml", why: "lines of Windows", to: toAge, keys: byAge},
	{name: "bom.yaml", why: "a byte order mark in the plaintext", to: toAge, keys: byAge},

	// JSON
	{name: "config.json", why: "types, numbers that float64 does not hold, escapes", to: toAge, keys: byAge},
	{name: "data.json", why: "a JSON file whose only key is data is no binary file", to: toAge, keys: byAge},
	{name: "secret.json", why: "a Secret as JSON", rule: "encrypted_regex: ^(data|stringData)$", to: toAge, keys: byAge},
	{name: "settings.enc", plain: "secret.json", why: "JSON whose name does not say so", format: "json", to: toAge, keys: byAge},

	// dotenv
	{name: "app.env", why: "$, #, quotes, =, newlines and spaces are part of a value", to: toAge, keys: byAge},
	{name: "parts.env", why: "only some variables are encrypted", rule: "encrypted_regex: PASSWORD", to: toAge, keys: byAge},
	{name: "crlf.env", why: "a carriage return is part of a value", to: toAge, keys: byAge},
	{name: ".env", why: "a name that is only an extension; no newline at the end", to: toAge, keys: byAge},
	{name: "production.env.enc", plain: "short.env", why: "dotenv whose name does not say so", format: "dotenv", to: toAge, keys: byAge},

	// ini
	{name: "my.cnf", plain: "short.ini", why: "ini whose name does not say so", format: "ini", to: toAge, keys: byAge},
	{name: "config.ini", why: "sections, comments, a default section, quotes", to: toAge, keys: byAge},

	// binary
	{name: "token", why: "a name without extension; no newline at the end", to: toAge, keys: byAge},
	{name: "random.bin", why: "bytes that are no UTF-8", to: toAge, keys: byAge},
	{name: "empty.bin", why: "an empty file", to: toAge, keys: byAge},
	{name: "tls.pem", why: "a certificate", to: toAge, keys: byAge},
	{name: "chart.tgz", why: "an archive", to: toAge, keys: byAge},
	{name: "notes.txt", why: "text that looks like YAML", to: toAge, keys: byAge},
	{name: "service-account.enc", why: "JSON that was encrypted as binary", to: toAge, keys: byAge},
	{name: "UPPER.YAML", plain: "short.yaml", why: "sops takes only extensions in lower case, so this is binary", to: toAge, keys: byAge},
	{name: "secrets.enc.yaml.gotmpl", why: "YAML whose name does not say so, as helmfile has it", format: "yaml", to: toAge, keys: byAge},

	// keys
	{name: "several.yaml", plain: "short.yaml", why: "one of several recipients is ours", to: [][]string{{"age-other.txt", "age.txt", "ssh_rsa", "pgp-rsa"}}, keys: byAge},
	{name: "pq.yaml", plain: "short.yaml", why: "age with a post-quantum key", to: [][]string{{"age-pq.txt"}}, keys: []string{"age-pq.txt"}},
	{name: "ssh-ed25519.yaml", plain: "short.yaml", why: "age with an SSH key", to: [][]string{{"ssh_ed25519"}}, keys: []string{"ssh_ed25519"}},
	{name: "ssh-rsa.yaml", plain: "short.yaml", why: "age with an SSH key", to: [][]string{{"ssh_rsa"}}, keys: []string{"age.txt", "ssh_rsa"}},
	{name: "pgp-rsa.yaml", plain: "short.yaml", why: "PGP with an armored key", to: [][]string{{"pgp-rsa"}}, keys: []string{"pgp-rsa.asc"}},
	{name: "pgp-curve.env", plain: "short.env", why: "PGP with a binary key ring", to: [][]string{{"pgp-curve"}}, keys: []string{"pgp-curve.gpg"}},
	{name: "passphrase.yaml", plain: "short.yaml", why: "a PGP key with a passphrase stands beside ours", to: [][]string{{"pgp-passphrase", "age.txt"}}, keys: byAge},
	{name: "groups.yaml", plain: "short.yaml", why: "two of three groups are ours", to: three, threshold: 2, keys: []string{"pgp-curve.asc", "ssh_ed25519"}},
	{name: "groups.env", plain: "short.env", why: "key groups in the flat metadata of dotenv", to: three, threshold: 2, keys: []string{"age.txt", "ssh_ed25519"}},
	{name: "groups.ini", plain: "short.ini", why: "key groups in the flat metadata of ini; all groups are needed", to: three, keys: []string{"age.txt", "pgp-curve.gpg", "ssh_ed25519"}},

	// older files
	{name: "sops-3.5.yaml", why: "before age; the data key was encrypted by gpg", madeBy: "sops 3.5.0, gpg 2.2.40", keys: []string{"pgp-rsa.asc"}},
	{name: "sops-3.5.env", why: "the metadata of dotenv of that time", madeBy: "sops 3.5.0, gpg 2.2.40", keys: []string{"pgp-curve.asc"}},
	{name: "sops-3.5.ini", why: "the metadata of ini of that time", madeBy: "sops 3.5.0, gpg 2.2.40", keys: []string{"pgp-curve.asc"}},
	{name: "sops-3.5.bin", why: "a binary file of that time", madeBy: "sops 3.5.0, gpg 2.2.40", keys: []string{"pgp-rsa.gpg"}},
	{name: "sops-3.7.yaml", why: "comments and key groups of that time", madeBy: "sops 3.7.3, gpg 2.2.40", keys: []string{"age.txt", "pgp-curve.asc"}},
	{name: "sops-3.7.json", why: "JSON of that time", madeBy: "sops 3.7.3", keys: byAge},
}

// edit is a change of a sealed file, or a look at it with other keys. Without a
// want, hallmark has to print what sops prints.
type edit struct {
	name string
	of   string              // the sealed file
	do   func(string) string // nil: the file as it is
	keys []string
	// want is part of hallmark's refusal.
	want string
	// asStored says that hallmark takes the file for one that is not encrypted.
	asStored bool
	// differs is the reason where only one of the two refuses.
	differs string
	// neverRun is the reason why sops is not run.
	neverRun string
}

const (
	mac     = "MAC does not match"
	noValue = "cannot be decrypted"

	byHand = "no sops writes this, and its ciphertext is refused in the output"
)

var edits = []edit{
	{name: "mac changed", of: "secret.yaml", do: flip(`    mac: ENC\[AES256_GCM,data:`), keys: byAge, want: "MAC"},
	{name: "mac removed", of: "secret.yaml", do: replace(`(?m)^    mac: .*\n`, ""), keys: byAge, want: "no MAC"},
	{name: "mac of another file", of: "secret.yaml", do: replace(`    mac: ENC\[.*\]`, `    mac: ENC[AES256_GCM,data:AAAA,iv:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=,tag:AAAAAAAAAAAAAAAAAAAAAA==,type:str]`), keys: byAge, want: "MAC"},
	{name: "mac in clear text", of: "secret.yaml", do: replace(`    mac: .*`, `    mac: 0123`), keys: byAge, want: "MAC"},
	{name: "time changed", of: "secret.yaml", do: replace(`lastmodified: "\d+`, `lastmodified: "1999`), keys: byAge, want: "MAC"},
	{name: "time removed", of: "secret.yaml", do: replace(`(?m)^    lastmodified: .*\n`, ""), keys: byAge, asStored: true},
	{name: "time unreadable", of: "secret.yaml", do: replace(`lastmodified: .*`, `lastmodified: yesterday`), keys: byAge, want: "metadata"},
	{name: "value changed", of: "secret.yaml", do: flip(`    url: ENC\[AES256_GCM,data:`), keys: byAge, want: noValue},
	{name: "value emptied", of: "secret.yaml", do: replace(`    url: ENC\[.*\]`, `    url: ""`), keys: byAge, want: mac},
	{name: "value removed", of: "secret.yaml", do: replace(`(?m)^    url: ENC\[.*\]\n`, ""), keys: byAge, want: mac},
	{name: "value in clear text", of: "secret.yaml", do: replace(`    url: ENC\[.*\]`, "    url: marker-one"), keys: byAge, want: "should be encrypted"},
	{name: "value in clear text, a number", of: "secret.yaml", do: replace(`    url: ENC\[.*\]`, "    url: 12"), keys: byAge, want: "should be encrypted"},
	{name: "value added in clear text", of: "secret.yaml", do: replace(`(?m)^stringData:\n`, "stringData:\n    added: marker-one\n"), keys: byAge, want: "should be encrypted"},
	{name: "empty value added", of: "secret.yaml", do: replace(`(?m)^stringData:\n`, "stringData:\n    added: \"\"\n"), keys: byAge},
	{name: "null added", of: "secret.yaml", do: replace(`(?m)^stringData:\n`, "stringData:\n    added: null\n"), keys: byAge},
	{name: "values swapped", of: "secret.yaml", do: swap(`    url: (ENC\[.*\])`, `    config.yaml: (ENC\[.*\])`), keys: byAge, want: noValue},
	{name: "items of a list swapped", of: "values.yaml", do: swap(`roles:\n +- (ENC\[.*\])`, `roles:\n +- ENC\[.*\]\n +- (ENC\[.*\])`), keys: byAge, want: mac},
	{name: "comment in a list moved", of: "values.yaml", do: swap(`hosts:\n +- (ENC\[.*\])`, `hosts:\n +- ENC\[.*\]\n +- (ENC\[.*\])`), keys: byAge},
	{name: "key of an encrypted value renamed", of: "secret.yaml", do: replace("    url: ", "    uri: "), keys: byAge, want: noValue},
	{name: "readable value changed", of: "secret.yaml", do: replace("name: checkout", "name: other"), keys: byAge, want: mac},
	{name: "readable value changed, the mac is of the others", of: "mac-only.yaml", do: replace("name: shop", "name: other"), keys: byAge},
	{name: "readable key renamed", of: "secret.yaml", do: replace("type: Opaque", "kinds: Opaque"), keys: byAge},
	{name: "readable value added", of: "secret.yaml", do: replace("type: Opaque", "type: Opaque\nimmutable: true"), keys: byAge, want: mac},
	{name: "mac_only_encrypted added", of: "secret.yaml", do: replace(`(?m)^sops:\n`, "sops:\n    mac_only_encrypted: true\n"), keys: byAge, want: mac},
	{name: "mac_only_encrypted removed", of: "mac-only.yaml", do: replace(`(?m)^    mac_only_encrypted: true\n`, ""), keys: byAge, want: mac},
	{name: "encrypted_regex narrowed", of: "secret.yaml", do: replace(`encrypted_regex: .*`, "encrypted_regex: ^data$"), keys: byAge, want: mac},
	{name: "type of a number changed", of: "types.yaml", do: replace(`(int: ENC\[.*type:)int`, "${1}str"), keys: byAge},
	{name: "type of a text changed", of: "secret.yaml", do: replace(`(url: ENC\[.*type:)str`, "${1}int"), keys: byAge, want: noValue},
	{name: "type unknown", of: "secret.yaml", do: replace(`(url: ENC\[.*type:)str`, "${1}text"), keys: byAge, want: noValue},
	{name: "text behind a value", of: "secret.yaml", do: replace(`(url: ENC\[.*\])`, "${1} and more"), keys: byAge},
	{name: "comment changed", of: "secret.yaml", do: replace("# not encrypted: .*", "# changed"), keys: byAge},
	{name: "encrypted comment changed", of: "values.yaml", do: flip(`#ENC\[AES256_GCM,data:`), keys: byAge},
	{name: "encrypted comment replaced", of: "values.yaml", do: replace(`#ENC\[.*\]`, "# a comment of mine"), keys: byAge},

	{name: "metadata cut", of: "secret.yaml", do: replace(`(?s)-----BEGIN AGE.*`, "-----BEGIN AGE ENCRYPTED FILE-----\n"), keys: byAge, asStored: true},
	{name: "metadata without recipients", of: "secret.yaml", do: replace(`(?s)    age:.*?    lastmodified`, "    lastmodified"), keys: byAge, want: "metadata"},
	{name: "metadata is no mapping", of: "secret.yaml", do: replace(`(?s)\nsops:\n.*`, "\nsops: lastmodified\n"), keys: byAge, asStored: true},
	{name: "metadata twice", of: "secret.yaml", do: func(s string) string { return s + s[strings.Index(s, "\nsops:")+1:] }, keys: byAge, asStored: true},
	{name: "metadata removed", of: "secret.yaml", do: replace(`(?s)\nsops:\n.*`, "\n"), keys: byAge, asStored: true},
	{name: "metadata with two rules", of: "secret.yaml", do: replace(`(?m)^sops:\n`, "sops:\n    encrypted_suffix: _x\n"), keys: byAge, want: "metadata"},
	{name: "metadata without a version", of: "secret.yaml", do: replace(`(?m)^    version: .*\n`, ""), keys: byAge, differs: "the version only says whether a bug of AWS keys before 3.3 has to be worked round"},
	{name: "metadata without the suffix", of: "suffix.yaml", do: replace(`(?m)^    unencrypted_suffix: .*\n`, ""), keys: byAge},
	{name: "metadata with a field of the future", of: "secret.yaml", do: replace(`(?m)^sops:\n`, "sops:\n    future: [1]\n"), keys: byAge},
	{name: "metadata of kms kinds is empty", of: "secret.yaml", do: replace(`(?m)^sops:\n`, "sops:\n    kms: []\n    gcp_kms: []\n    azure_kv: []\n    hc_vault: []\n    pgp: []\n"), keys: byAge},
	{name: "metadata with a quoted key", of: "secret.yaml", do: replace(`(?m)^sops:`, `"sops":`), keys: byAge},
	{name: "metadata with a space behind its key", of: "secret.yaml", do: replace(`(?m)^sops:`, `sops :`), keys: byAge, asStored: true, differs: byHand},
	{name: "everything indented", of: "secret.yaml", do: func(s string) string { return regexp.MustCompile(`(?m)^`).ReplaceAllString(s, "  ") }, keys: byAge, asStored: true, differs: byHand},
	{name: "metadata first", of: "secret.yaml", do: func(s string) string {
		at := strings.Index(s, "\nsops:") + 1
		return s[at:] + s[:at]
	}, keys: byAge},
	{name: "data key changed", of: "secret.yaml", do: flip(`-----BEGIN AGE ENCRYPTED FILE-----\n *\w{20}`), keys: byAge, want: "secret.yaml"},

	{name: "documents, metadata only in the first", of: "documents.yaml", do: replace(`(?s)(\nsops:.*?\n---.*?\n)sops:.*?\n---`, "${1}---"), keys: byAge},
	{name: "documents, metadata only behind the first", of: "documents.yaml", do: replace(`(?s)\nsops:.*?\n---`, "\n---"), keys: byAge, asStored: true},
	{name: "documents, one removed", of: "documents.yaml", do: replace(`(?s)---\napiVersion.*?\n---`, "---"), keys: byAge, want: mac},
	{name: "document added", of: "secret.yaml", do: func(s string) string { return s + "---\nkind: ConfigMap\n" }, keys: byAge, want: mac},
	{name: "document added, it has nothing", of: "secret.yaml", do: func(s string) string { return s + "---\n" }, keys: byAge},
	{name: "document marks", of: "secret.yaml", do: func(s string) string { return "%YAML 1.1\n---\n" + s + "...\n" }, keys: byAge},

	{name: "crlf, yaml", of: "secret.yaml", do: crlf, keys: byAge},
	{name: "crlf, json", of: "secret.json", do: crlf, keys: byAge},
	{name: "crlf, dotenv", of: "parts.env", do: crlf, keys: byAge, want: "metadata"},
	{name: "crlf, ini", of: "config.ini", do: crlf, keys: byAge},
	{name: "crlf, binary", of: "tls.pem", do: crlf, keys: byAge},
	{name: "bom, yaml", of: "secret.yaml", do: bom, keys: byAge},
	{name: "bom, json", of: "secret.json", do: bom, keys: byAge, asStored: true},
	{name: "bom, dotenv", of: "parts.env", do: bom, keys: byAge},
	{name: "bom, ini", of: "config.ini", do: bom, keys: byAge},
	{name: "bom, binary", of: "tls.pem", do: bom, keys: byAge, asStored: true},
	{name: "indented, json", of: "secret.json", do: func(s string) string { return "\n " + strings.ReplaceAll(s, "\t", "") + "\n\n" }, keys: byAge},
	{name: "text behind the json", of: "secret.json", do: func(s string) string { return s + "and more" }, keys: byAge, asStored: true, differs: "sops drops the text, and so would whoever edits the file"},
	{name: "a key twice, yaml", of: "secret.yaml", do: replace("type: Opaque", "type: Opaque\ntype: Opaque"), keys: byAge, asStored: true},
	{name: "a key twice, json", of: "secret.json", do: replace(`"kind": "Secret",`, `"kind": "Secret", "kind": "Secret",`), keys: byAge, want: mac},
	{name: "a key that is a number", of: "secret.yaml", do: replace("type: Opaque", "8080: Opaque"), keys: byAge, want: "secret.yaml"},
	{name: "a variable without =", of: "parts.env", do: replace("USER=", "USER "), keys: byAge, asStored: true},
	{name: "data is missing, binary", of: "tls.pem", do: replace(`"data":`, `"date":`), keys: byAge, want: noValue},
	{name: "alias", of: "secret.yaml", do: replace(`type: Opaque`, "type: Opaque\na_unencrypted: &a []\nb_unencrypted: *a"), keys: byAge},
	{name: "alias bomb", of: "secret.yaml", do: func(s string) string { return bomb + s }, keys: byAge, want: "aliases expand"},
	{name: "alias bomb in the second document", of: "secret.yaml", do: func(s string) string { return s + "---\n" + bomb }, keys: byAge, want: "aliases expand", neverRun: "sops checks aliases in the first document only, and this one takes all memory"},

	{name: "no key", of: "secret.yaml", want: "age1fkg85f6sdfwwx79k08hx0hljk942kv0nr7qylynn3njhg7tn244sqtmmgj"},
	{name: "wrong key, age", of: "secret.yaml", keys: []string{"age-other.txt"}, want: "age1fkg85f6sdfwwx79k08hx0hljk942kv0nr7qylynn3njhg7tn244sqtmmgj"},
	{name: "wrong key, ssh", of: "ssh-rsa.yaml", keys: []string{"ssh_ed25519"}, want: "ssh-rsa"},
	{name: "wrong key, pgp", of: "pgp-rsa.yaml", keys: []string{"pgp-curve.asc"}, want: fingerprints["pgp-rsa"]},
	{name: "key with a passphrase", of: "passphrase.yaml", keys: []string{"pgp-passphrase.asc"}, want: fingerprints["pgp-passphrase"]},
	{name: "one of two groups", of: "groups.yaml", keys: []string{"age.txt"}, want: "groups.yaml"},
	{name: "the threshold is lowered", of: "groups.yaml", do: replace("shamir_threshold: 2", "shamir_threshold: 1"), keys: []string{"age.txt"}, want: "groups.yaml"},
	{name: "one of several recipients, by PGP", of: "several.yaml", keys: []string{"pgp-rsa.asc"}},
}

// bomb is a YAML mapping that is small and would be endless.
const bomb = `a: &a [x, x, x, x, x, x, x, x, x, x]
b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]
e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]
f: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]
g: &g [*f, *f, *f, *f, *f, *f, *f, *f, *f, *f]
h: &h [*g, *g, *g, *g, *g, *g, *g, *g, *g, *g]
i: &i [*h, *h, *h, *h, *h, *h, *h, *h, *h, *h]
`

// replace replaces the first match.
func replace(pattern, by string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(s string) string {
		at := re.FindStringSubmatchIndex(s)
		if at == nil {
			return s
		}
		return s[:at[0]] + string(re.ExpandString(nil, by, s, at)) + s[at[1]:]
	}
}

// flip changes the letter behind the first match.
func flip(pattern string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(s string) string {
		at := re.FindStringIndex(s)
		if at == nil {
			return s
		}
		letter := "A"
		if s[at[1]] == 'A' {
			letter = "B"
		}
		return s[:at[1]] + letter + s[at[1]+1:]
	}
}

// swap exchanges what the groups of two patterns match, the first above the second.
func swap(first, second string) func(string) string {
	a, b := regexp.MustCompile(first), regexp.MustCompile(second)
	return func(s string) string {
		x, y := a.FindStringSubmatchIndex(s), b.FindStringSubmatchIndex(s)
		if x == nil || y == nil || x[3] > y[2] {
			return s
		}
		return s[:x[2]] + s[y[2]:y[3]] + s[x[3]:y[2]] + s[x[2]:x[3]] + s[y[3]:]
	}
}

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

func bom(s string) string { return "\ufeff" + s }
