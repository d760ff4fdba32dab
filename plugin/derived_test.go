package plugin

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/evidence"
	"hallmark.dev/hallmark/internal/sealtest"
	"hallmark.dev/hallmark/plugin/policy"
	"hallmark.dev/hallmark/plugin/source"
)

const derivingTemplate = `{{- $password := randAlphaNum 20 }}
apiVersion: v1
kind: Secret
metadata: {name: db}
data:
  password: {{ $password | b64enc }}
  cookie: {{ randAlphaNum 32 | b64enc }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data: {url: "postgres://app:{{ $password }}@db"}
`

func derivingChart() map[string]string {
	return map[string]string{"app/Chart.yaml": chartYAML, "app/templates/a.yaml": derivingTemplate}
}

func seed(t *testing.T, id, text string) Seed {
	t.Helper()
	s, err := ReadSeed(id, []byte(strings.Repeat(text, 4)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	seedText  = "q7Lw2ZkM9xVbT1"
	otherText = "Hc4uYn8RjE0sDp"
)

// deriving is a request that derives.
func deriving(t *testing.T, files map[string]string, parameters ...string) *Request {
	t.Helper()
	r := memory(files).with(t, append([]string{"determinism=derive"}, parameters...)...)
	r.Policy, r.Version, r.Project = policy.Caller(), "test", "payments"
	r.Seeds = []Seed{seed(t, "seed-1", seedText)}
	r.Today = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	return r
}

func password(t *testing.T, result *Result) string {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(field(t, result, "Secret", "data", "password").(string))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestDerivedIsRecorded(t *testing.T) {
	t.Parallel()
	result := mustRender(t, deriving(t, derivingChart(), "random-generations[Secret/db/data/password]=2"))
	var got []string
	for _, d := range result.Derived {
		got = append(got, d.Object.Kind+" "+d.Path.Pointer()+" "+d.Reason+" "+strings.Join(d.Names, ","))
		if want := map[string]int{"Secret/db/data/password": 2}[d.Names[0]]; d.Generation != want {
			t.Errorf("%v has generation %d, want %d", d, d.Generation, want)
		}
	}
	want := []string{
		"Secret /data/cookie randAlphaNum Secret/db/data/cookie",
		"Secret /data/password randAlphaNum Secret/db/data/password",
		"ConfigMap /data/url randAlphaNum Secret/db/data/password",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	record, err := evidence.Marshal(result.Evidence)
	if err != nil {
		t.Fatal(err)
	}
	secret := password(t, result)
	if strings.Contains(string(record), secret) || strings.Contains(string(record), seedText) {
		t.Error("the record has a value")
	}
	if r := result.Evidence; r.Seed != "seed-1" || len(r.Derived) != len(want) || r.Determinism != DeterminismDerive || len(r.Ignored) > 0 {
		t.Errorf("the record has seed %q, %v, %q, ignored %v", r.Seed, r.Derived, r.Determinism, r.Ignored)
	}
	if got := result.Hide("is " + secret); got != "is (secret)" {
		t.Errorf("a text shows %q", got)
	}
	if shown, err := result.Reveal("Secret/db/data/password"); err != nil || shown != secret {
		t.Errorf("got %q, %v, want the password", shown, err)
	}
}

// Who else has the chart, or another seed or generation, has another password; what
// else changes does not change it.
func TestDerivedIdentity(t *testing.T) {
	t.Parallel()
	base := password(t, mustRender(t, deriving(t, derivingChart())))
	for name, tc := range map[string]struct {
		change func(*Request)
		same   bool
	}{
		"project":          {func(r *Request) { r.Project = "other" }, false},
		"namespace":        {func(r *Request) { r.Namespace = "other" }, false},
		"application":      {func(r *Request) { r.App = "other" }, false},
		"another seed":     {func(r *Request) { r.Seeds = []Seed{seed(t, "seed-1", otherText)} }, false},
		"a generation":     {func(r *Request) { r.with(t, "random-generation=1") }, false},
		"one of the field": {func(r *Request) { r.with(t, "random-generations[Secret/db/data/password]=1") }, false},
		"one of another":   {func(r *Request) { r.with(t, "random-generations[Secret/db/data/cookie]=1") }, true},
		"the seed by its id": {func(r *Request) {
			r.Seeds = append([]Seed{seed(t, "new", otherText)}, r.Seeds...)
			r.with(t, "random-seed=seed-1")
		}, true},
		"its name alone": {func(r *Request) { r.Seeds = []Seed{seed(t, "renamed", seedText)} }, true},
		"the revision":   {func(r *Request) { r.Revision = strings.Repeat("b", 40) }, true},
		"the time":       {func(r *Request) { r.Today = r.Today.AddDate(5, 0, 0) }, true},
		"the engine":     {func(r *Request) { r.with(t, "renderer=helm4") }, true},
		"the repository": {func(r *Request) { r.RepoURL = "https://git.example.com/moved" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := deriving(t, derivingChart())
			tc.change(r)
			if got := password(t, mustRender(t, r)); (got == base) != tc.same {
				t.Errorf("the password is the same: %t, want %t", got == base, tc.same)
			}
		})
	}
}

func TestDerivedRefusals(t *testing.T) {
	t.Parallel()
	none := func(r *Request) { r.Seeds = nil }
	for name, tc := range map[string]struct {
		parameters []string
		change     func(*Request)
		want, hint string
	}{
		"no seed":             {nil, none, `"derive" needs a seed, and none is given`, "--seed-file"},
		"no seed of that id":  {[]string{"random-seed=x"}, nil, `there is no seed "x"`, "seed-1"},
		"no policy":           {nil, func(r *Request) { r.Policy = nil }, `"derive" is not allowed by no policy`, ""},
		"a rule with warn":    {nil, func(r *Request) { r.Policy = parsePolicy(t, "  - {name: a, determinism: warn}\n") }, `"derive" is not allowed by rule "a"`, "hallmark policy explain"},
		"no number":           {[]string{"random-generation=two"}, nil, `parameter "random-generation": got "two", want a whole number that is not below 0`, ""},
		"no number of times":  {[]string{"random-generations[Secret/db/data/cookie]=1.5"}, nil, `parameter "random-generations[Secret/db/data/cookie]": got "1.5"`, ""},
		"no such field":       {[]string{"random-generations[Secret/db/data/cokie]=1"}, nil, `no derived field is named "Secret/db/data/cokie"`, `did you mean "Secret/db/data/cookie"`},
		"nothing like a name": {[]string{"random-generations[x]=1"}, nil, `no derived field is named "x"`, "hallmark random list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := deriving(t, derivingChart(), tc.parameters...)
			if tc.change != nil {
				tc.change(r)
			}
			_, err := Render(t.Context(), r)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(diag.Hint(err), tc.hint) {
				t.Errorf("got %v (hint %q), want %q (hint %q)", err, diag.Hint(err), tc.want, tc.hint)
			}
		})
	}
	t.Run("by the rule alone", func(t *testing.T) {
		t.Parallel()
		rule := func(r *Request) {
			r.Parameters, r.Seeds = Parameters{}, nil
			r.Policy = parsePolicy(t, "  - {name: a, determinism: derive}\n")
		}
		r := deriving(t, derivingChart())
		rule(r)
		if _, err := Render(t.Context(), r); err == nil || !strings.Contains(diag.Hint(err), "there is no seed") {
			t.Errorf("got %v (hint %q)", err, diag.Hint(err))
		}
		r = deriving(t, map[string]string{"app/a.yaml": configMap})
		rule(r)
		mustRender(t, r) // there is nothing to derive
	})
	t.Run("no project", func(t *testing.T) {
		t.Parallel()
		for rule, project := range map[string]string{"{name: a, determinism: [enforce, derive]}": "", "{name: a, determinism: [derive], derivation: {project: payments}}": "payments"} {
			r := deriving(t, derivingChart())
			r.Policy = parsePolicy(t, "  - "+rule+"\n")
			want := mustRender(t, r)
			r.Project = ""
			result, err := Render(t.Context(), r)
			switch {
			case project == "" && (err == nil || !strings.Contains(diag.Hint(err), "derivation.project")):
				t.Errorf("got %v (hint %q)", err, diag.Hint(err))
			case project != "" && (err != nil || password(t, result) != password(t, want)):
				t.Errorf("got %v, %v", result, err)
			}
		}
		r := deriving(t, derivingChart())
		r.Project, r.Tolerant = "", true
		r.Policy = parsePolicy(t, "  - {name: a, determinism: derive}\n")
		if result := mustRender(t, r); !strings.Contains(strings.Join(result.Warnings, "\n"), "without a project nothing is derived") {
			t.Errorf("warnings %q", result.Warnings)
		}
	})
	t.Run("a review without the seed", func(t *testing.T) {
		t.Parallel()
		r := deriving(t, derivingChart())
		r.Seeds, r.Tolerant = nil, true
		result := mustRender(t, r)
		if len(result.Evidence.Ignored) != 3 || !strings.Contains(strings.Join(result.Warnings, "\n"), "without a seed nothing is derived") {
			t.Errorf("got %v, warnings %q", result.Evidence.Ignored, result.Warnings)
		}
	})
	t.Run("the form of the UI", func(t *testing.T) {
		t.Parallel()
		r := deriving(t, derivingChart())
		r.Seeds = nil
		if _, err := Announce(t.Context(), r); err != nil {
			t.Error(err)
		}
	})
}

// The message of a team's rule can quote a field, and the refusal shows no value.
func TestDerivedIsHidden(t *testing.T) {
	t.Parallel()
	const lint = `  - name: a
    determinism: derive
    lint:
      rules: {quotes: deny}
      policies:
        - name: quotes
          matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: ["*"], operations: ["*"], resources: [configmaps]}]}
          validations: [{expression: "false", messageExpression: "'it is ' + object.data.url"}]
`
	secret := password(t, mustRender(t, deriving(t, derivingChart())))
	r := deriving(t, derivingChart())
	r.Policy = parsePolicy(t, lint)
	var found []Finding
	r.Found = func(f []Finding) { found = f }
	_, err := Render(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "it is postgres://app:(secret)@db") || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v", err)
	}
	for _, f := range found {
		if strings.Contains(f.Message, secret) {
			t.Errorf("a finding says %q", f.Message)
		}
	}
}

// Derived and decrypted values outside of Secrets are each judged by their own
// setting.
// A decrypted value that is the name of a field is in no record of what was derived.
func TestDerivedNamesHideDecrypted(t *testing.T) {
	t.Parallel()
	const marker = "supersecretuser1"
	key := sealtest.NewKey(t)
	r := deriving(t, map[string]string{
		"app/Chart.yaml":         chartYAML,
		"app/values-secret.yaml": sealtest.Seal(t, "yaml", "user: "+marker+"\n", key),
		"app/templates/a.yaml":   "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData:\n  {{ .Values.user }}: {{ randAlphaNum 20 }}\n",
	}, "value-files[]=values-secret.yaml")
	r.Keys = Keys{Paths: []string{key.File}}
	result := mustRender(t, r)
	text, err := evidence.Marshal(result.Evidence)
	if err != nil {
		t.Fatal(err)
	}
	if shown := fmt.Sprintf("%s %+v", text, result.Derived[0].Names); len(result.Derived) != 1 || strings.Contains(shown, marker) {
		t.Errorf("got %s", shown)
	}
}

func TestDerivedOutsideSecrets(t *testing.T) {
	t.Parallel()
	key := sealtest.NewKey(t)
	const mixed = derivingTemplate + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {a: {{ .Values.sealed | quote }}}\n"
	files := map[string]string{
		"app/Chart.yaml": chartYAML, "app/templates/a.yaml": mixed,
		"app/secrets.yaml": sealtest.Seal(t, "yaml", "sealed: "+secretValue+"\n", key),
	}
	const derived, decrypted = `ConfigMap "app": field "/data/url" holds a derived value`, `ConfigMap "plain": field "/data/a" holds a decrypted value`
	for name, tc := range map[string]struct {
		rule             string
		errors, warnings []string
	}{
		"as they are":   {"decryption: {keys: [age]}", []string{decrypted}, nil},
		"both warned":   {"decryption: {keys: [age], outsideSecrets: warn}", nil, []string{derived, decrypted}},
		"derived alone": {"decryption: {keys: [age], outsideSecrets: allow}, derivation: {outsideSecrets: deny}", []string{derived}, nil},
		"both denied":   {"decryption: {keys: [age]}, derivation: {outsideSecrets: deny}", []string{derived, decrypted}, nil},
		"both allowed":  {"decryption: {keys: [age], outsideSecrets: allow}, derivation: {outsideSecrets: allow}", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := deriving(t, files, "value-files[]=secrets.yaml")
			r.Keys = Keys{Paths: []string{key.File}}
			r.Policy = parsePolicy(t, "  - {name: a, determinism: derive, "+tc.rule+"}\n")
			result, err := Render(t.Context(), r)
			text, want := "", tc.errors
			if err != nil {
				text = err.Error()
			} else {
				text, want = strings.Join(result.Warnings, "\n"), tc.warnings
			}
			if (err != nil) != (tc.errors != nil) {
				t.Errorf("got %v", err)
			}
			for _, message := range []string{derived, decrypted} {
				if strings.Contains(text, message) != slices.Contains(want, message) {
					t.Errorf("got %q, want %q", text, want)
				}
			}
		})
	}
}

// What is derived is not kept; a chart with nothing to derive is, by the seed.
func TestDerivedAndCache(t *testing.T) {
	t.Parallel()
	cache := NewCache(1 << 20)
	stable := map[string]string{"app/Chart.yaml": chartYAML, "app/templates/a.yaml": configMap}
	for _, tc := range []struct {
		name   string
		files  map[string]string
		seed   string
		cached bool
	}{
		{"derived", derivingChart(), seedText, false},
		{"derived again", derivingChart(), seedText, false},
		{"stable", stable, seedText, false},
		{"stable again", stable, seedText, true},
		{"another seed of that name", stable, otherText, false},
	} {
		r := deriving(t, tc.files)
		r.Tree, r.Seeds = source.Memory(tc.files), []Seed{seed(t, "seed-1", tc.seed)}
		answer, err := cache.Render(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Cached != tc.cached || (len(answer.Derived) > 0) != strings.HasPrefix(tc.name, "derived") {
			t.Errorf("%s: cached %t, derived %v", tc.name, answer.Cached, answer.Derived)
		}
	}
}

// Both sides of a comparison share a render with the same seed, until a certificate is
// made anew.
func TestDerivedAgain(t *testing.T) {
	t.Parallel()
	result := mustRender(t, deriving(t, derivingChart()))
	other := deriving(t, derivingChart())
	if same, err := result.Again(t.Context(), other); err != nil || !same {
		t.Errorf("got %t, %v", same, err)
	}
	other.Seeds = []Seed{seed(t, "seed-1", otherText)}
	if same, err := result.Again(t.Context(), other); err != nil || same {
		t.Errorf("with another seed: got %t, %v", same, err)
	}
	other.Seeds = deriving(t, nil).Seeds
	result.renewed = other.Today
	if same, err := result.Again(t.Context(), other); err != nil || same {
		t.Errorf("with a certificate that has run out: got %t, %v", same, err)
	}
}

// The values of derived Secrets count in hashes under the key, as those of others.
func TestDerivedHashes(t *testing.T) {
	t.Parallel()
	hashes := func(key []byte, parameters ...string) string {
		r := deriving(t, map[string]string{"app/Chart.yaml": chartYAML, "app/templates/a.yaml": strings.Split(derivingTemplate, "---\n")[0]}, parameters...)
		r.HashKey = key
		return mustRender(t, r).RenderHash
	}
	key := []byte("0123456789abcdef")
	if hashes(nil) != hashes(nil, "random-generation=1") {
		t.Error("without a key the hash moves with a value of a Secret")
	}
	if hashes(key) == hashes(key, "random-generation=1") {
		t.Error("with a key the hash does not move with a value of a Secret")
	}
}

func TestDerivedInKustomization(t *testing.T) {
	t.Parallel()
	base := map[string]string{
		"app/kustomization.yaml":          "namePrefix: x-\nhelmCharts: [{name: web, releaseName: web}]\n",
		"app/charts/web/Chart.yaml":       chartYAML,
		"app/charts/web/values.yaml":      "{}\n",
		"app/charts/web/templates/a.yaml": derivingTemplate,
	}
	result := mustRender(t, deriving(t, base))
	if again := mustRender(t, deriving(t, base)); again.RenderHash != result.RenderHash || password(t, again) != password(t, result) {
		t.Error("two builds differ")
	}
	if url := field(t, result, "ConfigMap", "data", "url"); url != "postgres://app:"+password(t, result)+"@db" {
		t.Error("the URL has another password")
	}
	if len(result.Derived) != 3 {
		t.Errorf("got %v", result.Derived)
	}
	if shown, err := result.Reveal("Secret/db/data/password"); err != nil || shown != password(t, result) {
		t.Errorf("got %v", err)
	}

	// The same chart twice would have one password twice.
	twice := map[string]string{"app/kustomization.yaml": "resources: [a, b]\n"}
	for name, text := range base {
		twice[strings.Replace(strings.Replace(name, "app/", "app/base/", 1), "x-", "", 1)] = strings.Replace(text, "namePrefix: x-\n", "", 1)
	}
	for _, overlay := range []string{"a", "b"} {
		twice["app/"+overlay+"/kustomization.yaml"] = "resources: [../base]\nnamePrefix: " + overlay + "-\n"
	}
	_, err := Render(t.Context(), deriving(t, twice))
	if err == nil || !strings.Contains(err.Error(), `Secret "db" field /data/password`) || !strings.Contains(err.Error(), "another chart of the kustomization has the same field") {
		t.Errorf("got %v", err)
	}
}
