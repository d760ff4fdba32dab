package policy

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/diag"
)

const head = "apiVersion: hallmark.dev/v1\nkind: RenderPolicy\nspec:\n  rules:\n"

// The example is what people copy.
func TestPackageCommentExample(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(doc)) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			text.WriteString(code)
		}
	}
	p := mustParse(t, text.String())
	if p.Len() != 2 {
		t.Fatalf("got %d rules, want 2", p.Len())
	}
	got := *p.For(Subject{"payments", "https://git.example.com/payments/api.git", "payments-eu"})
	want := Rule{
		Name: "payments", File: "policy.yaml", Line: 6,
		Renderers:   []string{"helm3", "helm4", "kustomize", "plain"},
		Decryption:  &Decryption{[]string{"age", "pgp", "hc_vault"}, []string{"https://vault.example.com:8200"}, Warn},
		Determinism: Enforce,
		Limits:      Limits{Objects: 5000, RenderTime: time.Minute},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	rest := p.For(Subject{"payments", "https://git.example.com/other/api", "payments"})
	if rest.Name != "nobody else" || rest.Line != 20 || rest.AllowsRenderer("plain") || rest.Decryption != nil {
		t.Errorf("got %+v", rest)
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
			r.Decryption = &Decryption{Keys: []string{"kms", "age"}, OutsideSecrets: Warn}
		})},
		{"endpoints", head + "  - {name: a, decryption: {keys: [azure_kv], endpoints: 'https://*.vault.azure.net', outsideSecrets: deny}}\n", with(func(r *Rule) {
			r.Decryption = &Decryption{[]string{"azure_kv"}, []string{"https://*.vault.azure.net"}, Deny}
		})},
		{"the rest", head + "  - {name: a, match: {project: '*'}, fetchCharts: false, determinism: warn, allowEmpty: true}\n", with(func(r *Rule) {
			r.Determinism, r.AllowEmpty = Warn, true
		})},
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
policy.yaml:8:18: rules[0].match.namespace: the list is empty, so nothing matches; leave the field out where everything is to match`},
		{"large globs", head + "  - name: a\n    match:\n      project: " + long + "\n      namespace: '" + strings.Repeat("{a,b}", 7) + "'\n",
			`policy.yaml:7:16: rules[0].match.project: the glob has 513 bytes, more than 512
policy.yaml:8:18: rules[0].match.namespace: the glob has more than 64 alternatives, or more than 4096 bytes of them`},
		{"an open host", head + "  - name: a\n    match: {repoURL: ['https://git.example.com*', 'https://git.*/x', 'https://*/x', 'ssh://git@h:*/x']}\n",
			`policy.yaml:6:23: rules[0].match.repoURL[0]: the host of the glob ends in *, so that every host that begins with "git.example.com" matches; write the host out
policy.yaml:6:51: rules[0].match.repoURL[1]: the host of the glob ends in *, so that every host that begins with "git." matches; write the host out`},
		{"renderers", head + "  - {name: a, renderers: [helm3, helm2, 3, helm3]}\n  - {name: b, renderers: helm3}\n  - {name: c, renderers: }\n", `policy.yaml:5:34: rules[0].renderers[1]: unknown renderer "helm2", want one of helm3, helm4, kustomize, plain
policy.yaml:5:41: rules[0].renderers[2]: got number, want a string
policy.yaml:5:44: rules[0].renderers[3]: "helm3" is there twice
policy.yaml:6:5: rules[1]: the rule is never reached, because the rule in line 5 matches everything
policy.yaml:6:26: rules[1].renderers: got string, want a list
policy.yaml:7:5: rules[2]: the rule is never reached, because the rule in line 5 matches everything
policy.yaml:7:26: rules[2].renderers: got null, want a list`},
		{"decryption", head + "  - name: a\n    decryption: {keys: [age, gpg], outsideSecrets: maybe, key: x}\n", `policy.yaml:6:30: rules[0].decryption.keys[1]: unknown kind of keys "gpg", want one of age, pgp, kms, gcp_kms, azure_kv, hc_vault, hckms
policy.yaml:6:52: rules[0].decryption.outsideSecrets: got "maybe", want one of warn, deny, allow
policy.yaml:6:59: rules[0].decryption: unknown field "key", want one of keys, endpoints, outsideSecrets`},
		{"decryption without keys", head + "  - name: a\n    decryption: {}\n", "policy.yaml:6:17: rules[0].decryption: keys: missing, want a list of the kinds of keys that may be used"},
		{"no keys", head + "  - name: a\n    decryption: {keys: []}\n", "policy.yaml:6:24: rules[0].decryption.keys: the list is empty; leave decryption out where nothing may be decrypted"},
		{"decryption of another type", head + "  - name: a\n    decryption: true\n", "policy.yaml:6:17: rules[0].decryption: got bool, want a mapping"},
		{"no endpoints", head + "  - name: a\n    decryption: {keys: [hc_vault]}\n", "policy.yaml:6:17: rules[0].decryption: endpoints: missing, want globs for the addresses that keys of the kinds hc_vault and azure_kv may name"},
		{"endpoints of no key", head + "  - name: a\n    decryption: {keys: [age], endpoints: ['*']}\n", "policy.yaml:6:42: rules[0].decryption.endpoints: only keys of the kinds hc_vault and azure_kv name an address, and neither is among the keys"},
		{"bad endpoints", head + "  - name: a\n    decryption: {keys: [hc_vault], endpoints: [vault.example.com, 'https://u@v', 'https://v*', 'http*://v', '*']}\n", `policy.yaml:6:48: rules[0].decryption.endpoints[0]: the glob has to begin with https:// or http://
policy.yaml:6:67: rules[0].decryption.endpoints[1]: the glob holds a user, and an address with one is never allowed
policy.yaml:6:82: rules[0].decryption.endpoints[2]: the host of the glob ends in *, so that every host that begins with "v" matches; write the host out
policy.yaml:6:96: rules[0].decryption.endpoints[3]: the glob has to begin with https:// or http://`},
		{"fetching", head + "  - name: a\n    fetchCharts: true\n", "policy.yaml:6:18: rules[0].fetchCharts: got true, but hallmark fetches nothing while it renders"},
		{"switches", head + "  - name: a\n    fetchCharts: maybe\n    determinism: derive\n    allowEmpty: 1\n", `policy.yaml:6:18: rules[0].fetchCharts: got string, want true or false
policy.yaml:7:18: rules[0].determinism: got "derive", want one of enforce, warn
policy.yaml:8:17: rules[0].allowEmpty: got number, want true or false`},
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
		head + "  - {name: a, decryption: {keys: [hc_vault], endpoints: ['https://v:8200/**']}, limits: {files: 1, renderTime: 1s}}\n",
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
		if d := rule.Decryption; d != nil && (d.Keys == nil || d.AllowsKey("")) {
			t.Errorf("got %+v", d)
		}
	})
}
