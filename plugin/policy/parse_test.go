package policy

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/diag"
)

const head = "apiVersion: hallmark.dev/v1\nkind: RenderPolicy\nspec:\n  rules:\n"

// examples are the blocks of code in the package comment.
func examples(t *testing.T) (blocks []string) {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(string(doc)) {
		code, ok := strings.CutPrefix(line, "//\t")
		if ok && !inside {
			blocks = append(blocks, "")
		}
		if inside = ok; ok {
			blocks[len(blocks)-1] += code
		}
	}
	if len(blocks) != 4 {
		t.Fatalf("got %d blocks of code in the package comment, want 4", len(blocks))
	}
	return blocks
}

// The example is what people copy.
func TestPackageCommentExample(t *testing.T) {
	t.Parallel()
	p := mustParse(t, examples(t)[0])
	if p.Len() != 2 {
		t.Fatalf("got %d rules, want 2", p.Len())
	}
	got := *p.For(Subject{"payments", "https://git.example.com/payments/api.git", "payments-eu"})
	want := Rule{
		Name: "payments", File: "policy.yaml", Line: 6,
		Renderers: []string{"helm3", "helm4", "kustomize", "plain"},
		Decryption: &Decryption{
			Keys: []KeyRule{
				{"age", []string{"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"}},
				{"pgp", []string{"85D77543B3D624B63CEA9E6DBC17301B491B3F21"}},
				{"hc_vault", []string{"https://vault.example.com:8200/v1/transit/keys/payments-*"}},
			},
			OutsideSecrets: Deny,
		},
		Determinism: Enforce,
		Limits:      Limits{Objects: 5000, RenderTime: time.Minute},
		Lint:        &Lint{Default: LevelWarn, Levels: map[string]Level{"job-deadline": LevelDeny}, Waivers: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	rest := p.For(Subject{"payments", "https://git.example.com/other/api", "payments"})
	if rest.Name != "nobody else" || rest.Line != 23 || rest.AllowsRenderer("plain") || rest.Decryption != nil {
		t.Errorf("got %+v", rest)
	}
}

func TestPackageCommentKeys(t *testing.T) {
	t.Parallel()
	text := head + "  - name: a\n" + regexp.MustCompile(`(?m)^`).ReplaceAllString(strings.TrimSpace(examples(t)[1]), "    ")
	d := mustParse(t, text).For(Subject{}).Decryption
	for _, kind := range KeyKinds() {
		if !d.AllowsKind(kind) {
			t.Errorf("the example has no %s", kind)
		}
	}
	if len(d.Roles) != 1 || d.OutsideSecrets != Deny {
		t.Errorf("got %+v", d)
	}
}

func TestPackageCommentDerivation(t *testing.T) {
	t.Parallel()
	text := head + "  - name: a\n" + regexp.MustCompile(`(?m)^`).ReplaceAllString(strings.TrimSpace(examples(t)[2]), "    ")
	r := mustParse(t, text).For(Subject{})
	if r.Determinism != Enforce || !r.AllowsDeterminism(Derive) || r.AllowsDeterminism(Warn) || r.Derivation.OutsideSecrets != Warn {
		t.Errorf("got %+v", r)
	}
}

func mustParse(t testing.TB, text string) *Policy {
	t.Helper()
	p, err := Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse(t *testing.T) {
	t.Parallel()
	plain := Rule{Name: "a", File: "policy.yaml", Line: 5, Determinism: Enforce}
	with := func(change func(*Rule)) Rule {
		r := plain
		change(&r)
		return r
	}
	for _, test := range []struct {
		name, text string
		want       Rule // for a subject without anything
	}{
		{"all left out", head + "  - name: a\n", plain},
		{"all renderers", head + "  - {name: a, renderers: [plain, helm4]}\n", with(func(r *Rule) { r.Renderers = []string{"plain", "helm4"} })},
		{"no renderer", head + "  - {name: a, renderers: []}\n", with(func(r *Rule) { r.Renderers = []string{} })},
		{"keys", head + "  - {name: a, decryption: {keys: [kms, age]}}\n", with(func(r *Rule) {
			r.Decryption = &Decryption{Keys: []KeyRule{{Kind: "kms"}, {Kind: "age"}}, OutsideSecrets: Deny}
		})},
		{"keys by name", head + "  - {name: a, decryption: {keys: [azure_kv: 'https://*.vault.azure.net/keys/x', age: [age1x, 'ssh-*']], outsideSecrets: warn}}\n", with(func(r *Rule) {
			r.Decryption = &Decryption{Keys: []KeyRule{{"azure_kv", []string{"https://*.vault.azure.net/keys/x"}}, {"age", []string{"age1x", "ssh-*"}}}, OutsideSecrets: Warn}
		})},
		{"roles", head + "  - {name: a, decryption: {keys: [kms], roles: 'arn:aws:iam::1:role/x', outsideSecrets: allow}}\n", with(func(r *Rule) {
			r.Decryption = &Decryption{Keys: []KeyRule{{Kind: "kms"}}, Roles: []string{"arn:aws:iam::1:role/x"}, OutsideSecrets: Allow}
		})},
		{"the rest", head + "  - {name: a, match: {project: '*'}, fetchCharts: false, determinism: warn, allowEmpty: true}\n", with(func(r *Rule) {
			r.Determinism, r.Lenient, r.AllowEmpty = Warn, []string{Warn}, true
		})},
		{"derive", head + "  - {name: a, determinism: derive}\n", with(func(r *Rule) {
			r.Determinism, r.Lenient, r.Derivation = Derive, []string{Derive}, &Derivation{OutsideSecrets: Warn}
		})},
		{"derive on request", head + "  - {name: a, derivation: {outsideSecrets: deny}, determinism: [enforce, warn, derive]}\n", with(func(r *Rule) {
			r.Determinism, r.Lenient, r.Derivation = Enforce, []string{Warn, Derive}, &Derivation{OutsideSecrets: Deny}
		})},
		{"a list of what is there anyway", head + "  - {name: a, determinism: [enforce]}\n", plain},
		{"limits", head + "  - name: a\n    limits: {files: 1, fileBytes: 2, treeBytes: 3, objects: 4, outputBytes: 5, memoryBytes: 9007199254740993, renderTime: 1m30s}\n", with(func(r *Rule) {
			r.Limits = Limits{1, 2, 3, 4, 5, 9007199254740993, 90 * time.Second}
		})},
		{"JSON", `{"apiVersion": "hallmark.dev/v1", "kind": "RenderPolicy",` + "\n\n\n\n" + ` "spec": {"rules": [{"name": "a"}]}}`, plain},
		{"documents without anything", "# a\n---\n---\napiVersion: hallmark.dev/v1\nkind: RenderPolicy\nspec: {rules: [{name: a}]}\n---\n# b\n",
			with(func(r *Rule) { r.Line = 6 })},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := *mustParse(t, test.text).For(Subject{}); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestParseAliases(t *testing.T) {
	t.Parallel()
	p := mustParse(t, head+"  - {name: a, match: {namespace: &n [v, w]}}\n  - {name: b, match: {project: *n}}\n")
	if got := p.For(Subject{Project: "w"}).Name; got != "b" {
		t.Errorf("got %q, want b", got)
	}
}

func TestParseWithoutRules(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"{}", "{rules: []}", "\n  rules:\n  # - name: a\n"} {
		p := mustParse(t, "apiVersion: hallmark.dev/v1\nkind: RenderPolicy\nspec: "+spec)
		if got := p.For(Subject{}); p.Len() != 0 || got.Determinism != Enforce || got.AllowEmpty || got.Decryption != nil || !got.AllowsRenderer("plain") {
			t.Errorf("%s: got %+v, want the strictest", spec, got)
		}
	}
}

func TestParseFaults(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxGlob+1)
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", `policy.yaml: the file is empty, want kind "RenderPolicy"`},
		{"only a comment", "# a\n---\n", `policy.yaml: the file is empty, want kind "RenderPolicy"`},
		{"no YAML", "a: [\n", "policy.yaml:2: did not find expected node content"},
		{"a list", "[]\n", "policy.yaml:1:1: got list, want a mapping"},
		{"nothing in it", "{}\n", `policy.yaml:1:1: apiVersion: missing, want "hallmark.dev/v1"
policy.yaml:1:1: kind: missing, want "RenderPolicy"
policy.yaml:1:1: spec: missing, want a mapping with rules`},
		{"another kind", "apiVersion: v1\nkind: Render\nspec: {}\n", `policy.yaml:1:13: apiVersion: got "v1", want "hallmark.dev/v1"
policy.yaml:2:7: kind: got "Render", want "RenderPolicy"`},
		{"types at the top", "apiVersion: 1\nkind: [a]\nspec: x\n", `policy.yaml:1:13: apiVersion: got number, want a string
policy.yaml:2:7: kind: got list, want a string
policy.yaml:3:7: spec: got string, want a mapping`},
		{"unknown at the top", head + "status: {}\n", "policy.yaml:5:1: unknown field \"status\", want one of apiVersion, kind, metadata, spec"},
		{"unknown in spec", "apiVersion: hallmark.dev/v1\nkind: RenderPolicy\nspec:\n  rule: []\n", "policy.yaml:4:3: spec: unknown field \"rule\", want one of rules"},
		{"two documents", head + "---\n" + head, "policy.yaml:6: a second document, want one policy in a file"},
		{"rules of another type", "apiVersion: hallmark.dev/v1\nkind: RenderPolicy\nspec: {rules: {name: a}}\n", "policy.yaml:3:15: rules: got mapping, want a list"},
		{"a rule of another type", head + "  - a\n", "policy.yaml:5:5: rules[0]: got string, want a mapping"},
		{"no name", head + "  - match: {}\n", "policy.yaml:5:5: rules[0]: name: missing, want a name that no other rule has"},
		{"an empty name", head + "  - name: ''\n", "policy.yaml:5:11: rules[0].name: the name is empty"},
		{"a number as name", head + "  - name: 5\n", "policy.yaml:5:11: rules[0].name: got number, want a string"},
		{"a bool as name", head + "  - name: on\n", "policy.yaml:5:11: rules[0].name: got bool, want a string"},
		{"one name twice", head + "  - {name: a, match: {project: x}}\n  - {name: a, match: {project: '{'}}\n",
			"policy.yaml:6:5: rules[1]: the name \"a\" is taken by the rule in line 5\npolicy.yaml:6:32: rules[1].match.project: the glob has a { without a }"},
		{"one field twice", head + "  - name: a\n    match: {project: x}\n    match: {}\n", "policy.yaml:7:5: rules[0]: the field \"match\" is there twice, first in line 6"},
		{"a merge", head + "  - &a {name: a, match: {project: x}}\n  - <<: *a\n    name: b\n", "policy.yaml:6:5: rules[1]: fields cannot be merged from elsewhere (<<)"},
		{"never reached", head + "  - {name: a, match: {project: ['x', '**']}}\n  - {name: b}\n  - {name: c}\n", `policy.yaml:6:5: rules[1]: the rule is never reached, because the rule in line 5 matches everything
policy.yaml:7:5: rules[2]: the rule is never reached, because the rule in line 5 matches everything`},
		{"an unknown match is not an empty one", head + "  - {name: a, match: {projects: x}}\n  - {name: b}\n",
			`policy.yaml:5:23: rules[0].match: unknown field "projects", want one of project, repoURL, namespace`},
		{"match of another type", head + "  - {name: a, match: x}\n", "policy.yaml:5:22: rules[0].match: got string, want a mapping"},
		{"match without anything", head + "  - name: a\n    match:\n", "policy.yaml:6:11: rules[0].match: got null, want a mapping"},
		{"globs of other types", head + "  - name: a\n    match: {project: 5, repoURL: [true, {}], namespace: }\n", `policy.yaml:6:22: rules[0].match.project: got number, want a glob or a list of globs
policy.yaml:6:35: rules[0].match.repoURL[0]: got bool, want a string
policy.yaml:6:41: rules[0].match.repoURL[1]: got mapping, want a string
policy.yaml:6:57: rules[0].match.namespace: got null, want a glob or a list of globs`},
		{"bad globs", head + "  - name: a\n    match:\n      project: ['', '!x', 'a}', '[a', '[]', '[z-a]', 'a\\']\n      namespace: []\n", `policy.yaml:7:17: rules[0].match.project[0]: the glob is empty
policy.yaml:7:21: rules[0].match.project[1]: a glob cannot be negated: put a rule for the exception in front of this one
policy.yaml:7:27: rules[0].match.project[2]: the glob has a } without a {
policy.yaml:7:33: rules[0].match.project[3]: the glob has a [ without a ]
policy.yaml:7:39: rules[0].match.project[4]: the glob has an empty class []
policy.yaml:7:45: rules[0].match.project[5]: the glob has the range "z-a", which holds nothing
policy.yaml:7:54: rules[0].match.project[6]: the glob ends in a backslash
policy.yaml:8:18: rules[0].match.namespace: the list is empty, so nothing matches`},
		{"large globs", head + "  - name: a\n    match:\n      project: " + long + "\n      namespace: '" + strings.Repeat("{a,b}", 7) + "'\n",
			`policy.yaml:7:16: rules[0].match.project: the glob has 513 bytes, more than 512
policy.yaml:8:18: rules[0].match.namespace: the glob has more than 64 alternatives, or more than 4096 bytes of them`},
		{"an open host", head + "  - name: a\n    match: {repoURL: ['https://git.example.com*', 'https://git.*/x', 'https://*/x', 'ssh://git@h:*/x']}\n",
			`policy.yaml:6:23: rules[0].match.repoURL[0]: the host of the glob ends in *, so that every host that begins with "git.example.com" matches; write the host out
policy.yaml:6:51: rules[0].match.repoURL[1]: the host of the glob ends in *, so that every host that begins with "git." matches; write the host out`},
		{"** in front of a path", head + "  - name: a\n    match: {repoURL: ['https://**.example.com/x', '**/x', '{git,**}@h:x', '**://h/x', 'https://h/**', 'git@h:**', '**']}\n",
			`policy.yaml:6:23: rules[0].match.repoURL[0]: the glob has ** in front of its path, where there is no slash that it could span; write * there
policy.yaml:6:51: rules[0].match.repoURL[1]: the glob has ** in front of its path, where there is no slash that it could span; write * there
policy.yaml:6:59: rules[0].match.repoURL[2]: the glob has ** in front of its path, where there is no slash that it could span; write * there
policy.yaml:6:75: rules[0].match.repoURL[3]: the glob has ** in front of its path, where there is no slash that it could span; write * there`},
		{"renderers", head + "  - {name: a, renderers: [helm3, helm2, 3, helm3]}\n  - {name: b, renderers: helm3}\n  - {name: c, renderers: }\n", `policy.yaml:5:34: rules[0].renderers[1]: unknown renderer "helm2", want one of helm3, helm4, kustomize, plain
policy.yaml:5:41: rules[0].renderers[2]: got number, want a string
policy.yaml:5:44: rules[0].renderers[3]: "helm3" is there twice
policy.yaml:6:5: rules[1]: the rule is never reached, because the rule in line 5 matches everything
policy.yaml:6:26: rules[1].renderers: got string, want a list
policy.yaml:7:5: rules[2]: the rule is never reached, because the rule in line 5 matches everything
policy.yaml:7:26: rules[2].renderers: got null, want a list`},
		{"decryption", head + "  - name: a\n    decryption: {keys: [age, gpg], outsideSecrets: maybe, endpoints: x}\n", `policy.yaml:6:30: rules[0].decryption.keys[1]: unknown kind of keys "gpg", want one of age, pgp, kms, gcp_kms, azure_kv, hc_vault, hckms
policy.yaml:6:52: rules[0].decryption.outsideSecrets: got "maybe", want one of deny, warn, allow
policy.yaml:6:59: rules[0].decryption: unknown field "endpoints", want one of keys, roles, outsideSecrets`},
		{"decryption without keys", head + "  - name: a\n    decryption: {}\n", "policy.yaml:6:17: rules[0].decryption: keys: missing, want a list of the keys that may be used"},
		{"no keys", head + "  - name: a\n    decryption: {keys: []}\n", "policy.yaml:6:24: rules[0].decryption.keys: the list is empty; leave decryption out where nothing may be decrypted"},
		{"keys of another type", head + "  - name: a\n    decryption: {keys: age, roles: [x]}\n", "policy.yaml:6:24: rules[0].decryption.keys: got string, want a list"},
		{"decryption of another type", head + "  - name: a\n    decryption: true\n", "policy.yaml:6:17: rules[0].decryption: got bool, want a mapping"},
		{"bad items of keys", head + "  - name: a\n    decryption: {keys: [5, {}, {age: a, pgp: b}, {gpg: x}, {kms: 5}, {pgp: []}, age, {age: x}, {kms: '['}, null]}\n", `policy.yaml:6:25: rules[0].decryption.keys[0]: got number, want a kind of keys, or a kind with globs for their names
policy.yaml:6:28: rules[0].decryption.keys[1]: got 0 kinds of keys, want one in each item of the list
policy.yaml:6:32: rules[0].decryption.keys[2]: got 2 kinds of keys, want one in each item of the list
policy.yaml:6:51: rules[0].decryption.keys[3]: unknown field "gpg", want one of age, pgp, kms, gcp_kms, azure_kv, hc_vault, hckms
policy.yaml:6:66: rules[0].decryption.keys[4].kms: got number, want a glob or a list of globs
policy.yaml:6:76: rules[0].decryption.keys[5].pgp: the list is empty, so nothing matches
policy.yaml:6:86: rules[0].decryption.keys[7]: "age" is there twice; name its keys in one list
policy.yaml:6:102: rules[0].decryption.keys[8].kms: the glob has a [ without a ]
policy.yaml:6:108: rules[0].decryption.keys[9]: got null, want a kind of keys, or a kind with globs for their names`},
		{"a private key", head + "  - name: a\n    decryption: {keys: [age: AGE-SECRET-KEY-1QQQQ]}\n", `policy.yaml:6:30: rules[0].decryption.keys[0].age: this is a private key, which everybody who reads the policy now has; want its public part, which begins with age1`},
		{"a key in upper case", head + "  - name: a\n    decryption: {keys: [age: AGE1QQ]}\n", `policy.yaml:6:30: rules[0].decryption.keys[0].age: the glob is in upper case, and names of age keys are in lower case`},
		{"kinds with an address", head + "  - name: a\n    decryption: {keys: [hc_vault, azure_kv]}\n", `policy.yaml:6:25: rules[0].decryption.keys[0]: "hc_vault" needs a glob for the keys that may be used, which are named <address>/v1/<engine>/keys/<name>
policy.yaml:6:35: rules[0].decryption.keys[1]: "azure_kv" needs a glob for the keys that may be used, which are named <vault URL>/keys/<name>`},
		{"globs for addresses", head + "  - name: a\n    decryption:\n      keys:\n      - hc_vault:\n" + lines("        - ", "vault.example.com/v1/t/keys/x", "https://u@v/v1/t/keys/x", "https://v*/v1/t/keys/x", "http*://v/v1/t/keys/x", "'*'", "'**'",
			"https://*/v1/t/keys/x", "https://*:8200/v1/t/keys/x", "https://**.v/v1/t/keys/x", "https://v:8200", "'https://{v/v1/t/keys/x,w}/'", "https://v/**"), `policy.yaml:9:11: rules[0].decryption.keys[0].hc_vault[0]: the glob has to begin with https:// or http://
policy.yaml:10:11: rules[0].decryption.keys[0].hc_vault[1]: the glob holds a user, and an address with one is never allowed
policy.yaml:11:11: rules[0].decryption.keys[0].hc_vault[2]: the host of the glob ends in *, so that every host that begins with "v" matches; write the host out
policy.yaml:12:11: rules[0].decryption.keys[0].hc_vault[3]: the glob has to begin with https:// or http://
policy.yaml:13:11: rules[0].decryption.keys[0].hc_vault[4]: the glob has to begin with https:// or http://
policy.yaml:14:11: rules[0].decryption.keys[0].hc_vault[5]: the glob has to begin with https:// or http://
policy.yaml:15:11: rules[0].decryption.keys[0].hc_vault[6]: the host of the glob is *, so that the repository says which server is sent the sidecar's token; write the host out
policy.yaml:16:11: rules[0].decryption.keys[0].hc_vault[7]: the host of the glob is *, so that the repository says which server is sent the sidecar's token; write the host out
policy.yaml:17:11: rules[0].decryption.keys[0].hc_vault[8]: the glob has ** in front of its path, where there is no slash that it could span; write * there
policy.yaml:18:11: rules[0].decryption.keys[0].hc_vault[9]: the glob ends with the host, and so matches no key: they are named <address>/v1/<engine>/keys/<name>
policy.yaml:19:11: rules[0].decryption.keys[0].hc_vault[10]: the glob ends with the host, and so matches no key: they are named <address>/v1/<engine>/keys/<name>`},
		{"roles of no key", head + "  - name: a\n    decryption: {keys: [age], roles: ['*']}\n", "policy.yaml:6:38: rules[0].decryption.roles: only keys of the kind kms ask for a role, and it is not among the keys"},
		{"bad roles", head + "  - name: a\n    decryption: {keys: [kms], roles: ['{', 5]}\n    determinism: x\n", `policy.yaml:6:39: rules[0].decryption.roles[0]: the glob has a { without a }
policy.yaml:6:44: rules[0].decryption.roles[1]: got number, want a string
policy.yaml:7:18: rules[0].determinism: got "x", want one of enforce, derive, warn`},
		{"fetching", head + "  - name: a\n    fetchCharts: true\n", "policy.yaml:6:18: rules[0].fetchCharts: got true, but hallmark fetches nothing while it renders"},
		{"switches", head + "  - name: a\n    fetchCharts: maybe\n    determinism: 5\n    allowEmpty: 1\n", `policy.yaml:6:18: rules[0].fetchCharts: got string, want true or false
policy.yaml:7:18: rules[0].determinism: got number, want a string
policy.yaml:8:17: rules[0].allowEmpty: got number, want true or false`},
		{"modes", head + "  - {name: a, match: {project: x}, determinism: []}\n  - {name: b, match: {project: x}, determinism: [warn, warn, none]}\n  - name: c\n    determinism: [warn]\n    derivation: {outsideSecrets: deny}\n", `policy.yaml:5:49: rules[0].determinism: the list is empty, want one of enforce, derive, warn
policy.yaml:6:56: rules[1].determinism[1]: "warn" is there twice
policy.yaml:6:62: rules[1].determinism[2]: unknown determinism "none", want one of enforce, derive, warn
policy.yaml:9:17: rules[2].derivation: nothing is derived by this rule: its determinism does not allow derive`},
		{"derivation", head + "  - name: a\n    determinism: derive\n    derivation: {outsideSecrets: maybe, seeds: []}\n", `policy.yaml:7:34: rules[0].derivation.outsideSecrets: got "maybe", want one of deny, warn, allow
policy.yaml:7:41: rules[0].derivation: unknown field "seeds", want one of project, outsideSecrets`},
		{"limits", head + "  - name: a\n    limits: {files: 0, fileBytes: -1, treeBytes: 1.5, objects: '5', outputBytes: , memoryBytes: 99999999999999999999, renderTime: 90, depth: 5}\n", `policy.yaml:6:21: rules[0].limits.files: got 0, want a whole number above 0
policy.yaml:6:35: rules[0].limits.fileBytes: got -1, want a whole number above 0
policy.yaml:6:50: rules[0].limits.treeBytes: got 1.5, want a whole number above 0
policy.yaml:6:64: rules[0].limits.objects: got string, want a whole number above 0
policy.yaml:6:82: rules[0].limits.outputBytes: got null, want a whole number above 0
policy.yaml:6:97: rules[0].limits.memoryBytes: got 1e+20, want a whole number above 0
policy.yaml:6:131: rules[0].limits.renderTime: got number, want a duration such as 90s
policy.yaml:6:135: rules[0].limits: unknown field "depth", want one of files, fileBytes, treeBytes, objects, outputBytes, memoryBytes, renderTime`},
		{"times", head + "  - {name: a, match: {project: x}, limits: {renderTime: 90}}\n  - {name: b, limits: {renderTime: 0s}}\n", `policy.yaml:5:57: rules[0].limits.renderTime: got number, want a duration such as 90s
policy.yaml:6:36: rules[1].limits.renderTime: got "0s", want a duration such as 90s`},
		{"behind a separator", "# a\n---\n" + head + "  - name: ''\n", "policy.yaml:7:11: rules[0].name: the name is empty"},
		{"in JSON", "{\"apiVersion\": \"hallmark.dev/v1\",\n \"kind\": \"RenderPolicy\",\n \"spec\": {\"rules\": [{\"name\": \"\"}]}}", "policy.yaml:3:30: rules[0].name: the name is empty"},
		{"too large", head + strings.Repeat("#", maxFile), "policy.yaml: larger than 1048576 bytes, the most that is read of a policy"},
		{"aliases that expand", "a: &a [" + strings.Repeat("xxxxxxxx,", 1000) + "]\nb: &b [" + strings.Repeat("*a,", 1000) + "]\n", "policy.yaml:1: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p, err := Parse("policy.yaml", []byte(test.text))
			if err == nil || p != nil {
				t.Fatalf("got policy %v and error %v, want an error alone", p, err)
			}
			if got := err.Error(); got != test.want && (!strings.HasSuffix(test.want, ": ") || !strings.HasPrefix(got, test.want)) {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func lines(before string, list ...string) string {
	return before + strings.Join(list, "\n"+before) + "\n"
}

func TestParseHints(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		"fetchCharts: true":              "charts/ folder",
		"decryption: {keys: [azure_kv]}": "token",
	} {
		_, err := Parse("p", []byte(head+"  - {name: a, "+rule+"}\n"))
		if hint := diag.Hint(err); !strings.Contains(hint, want) {
			t.Errorf("%s: got the hint %q, want one with %q", rule, hint, want)
		}
		var list diag.List
		if !errors.As(err, &list) || len(list) != 1 {
			t.Errorf("%s: got %v, want one fault", rule, err)
		}
	}
}

// The remedy is that of the first fault in the file that has one.
func TestParseFirstHint(t *testing.T) {
	t.Parallel()
	_, err := Parse("p", []byte(head+"  - {name: a, fetchCharts: true, decryption: {keys: [azure_kv]}}\n"))
	if hint := diag.Hint(err); !strings.Contains(hint, "charts/ folder") {
		t.Errorf("got the hint %q", hint)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "p.yaml")
	if _, err := Load(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that the file does not exist", err)
	}
	if err := os.WriteFile(file, []byte(head+"  - name: a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := Load(file); err != nil || p.For(Subject{}).File != file {
		t.Errorf("got %v, %v", p, err)
	}
	if err := os.Truncate(file, maxFile+100); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "larger than 1048576 bytes") {
		t.Errorf("got %v, want that the file is too large", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "a", head, head + "  - {name: a, match: {project: '{a,b}[!c-d]*'}, renderers: [helm3]}\n",
		head + "  - {name: a, decryption: {keys: [age, hc_vault: 'https://v:8200/**', pgp: ['A*', b]], roles: ['*']}, limits: {files: 1, renderTime: 1s}}\n",
		head + "  - &a {name: a, match: {repoURL: 'git@h:x/*.git'}}\n  - *a\n  - <<: *a\n", `{"apiVersion":"hallmark.dev/v1","kind":"RenderPolicy","spec":{"rules":[{"name":"a"}]}}`,
	} {
		f.Add([]byte(seed), "p", "https://h/x", "n")
	}
	f.Fuzz(func(t *testing.T, data []byte, project, repoURL, namespace string) {
		p, err := Parse("p", data)
		if (p == nil) == (err == nil) {
			t.Fatalf("got policy %v and error %v", p, err)
		}
		if err != nil {
			return
		}
		rule, reasons := p.Explain(Subject{project, repoURL, namespace})
		for i, r := range reasons {
			if r.Matches != (i == len(reasons)-1 && rule == r.Rule) || r.Why == "" || r.Rule.Line == 0 {
				t.Errorf("reason %d of %d: %+v", i, len(reasons), r)
			}
		}
		if rule.Determinism == "" || rule.String() == "" {
			t.Errorf("got %+v", rule)
		}
		if _, err := json.Marshal(rule); err != nil || rule.BuiltIn() {
			t.Errorf("%s is built in, or %v", rule, err)
		}
		if d := rule.Decryption; d != nil && (d.Any || d.Keys == nil || d.AllowsKind("") || d.AllowsKey("", "") || d.AllowsRole("")) {
			t.Errorf("got %+v", d)
		}
	})
}
