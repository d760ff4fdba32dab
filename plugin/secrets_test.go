package plugin

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"testing"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/evidence"
	"hallmark.dev/hallmark/internal/sealtest"
	"hallmark.dev/hallmark/plugin/policy"
)

const (
	secretValue = "correct horse battery staple"
	// secretChart has a Secret with a value that its template encodes.
	secretTemplate = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\ndata: {password: {{ .Values.password | b64enc }}}\n"
)

// sealed is a request that decrypts, as a caller's own render does.
func sealed(files map[string]string, key sealtest.Key) *Request {
	r := memory(files)
	r.Policy, r.Keys, r.Version = policy.Caller(), Keys{Paths: []string{key.File}}, "v0.0.0-test"
	return r
}

// field returns the value at keys in the first object of a kind.
func field(t *testing.T, result *Result, kind string, keys ...string) any {
	t.Helper()
	for _, o := range result.Objects {
		if o.Kind() != kind {
			continue
		}
		var v any = o.Value
		for _, key := range keys {
			m, isMap := v.(map[string]any)
			if !isMap {
				t.Fatalf("no %q in %v", key, v)
			}
			v = m[key]
		}
		return v
	}
	t.Fatalf("no %s in %d objects", kind, len(result.Objects))
	return nil
}

// TestDecryptEverywhere reads an encrypted file in each way in which a renderer
// reads files.
func TestDecryptEverywhere(t *testing.T) {
	t.Parallel()
	key := sealtest.NewKey(t)
	seal := func(format, text string) string { return sealtest.Seal(t, format, text, key) }
	values := seal("yaml", "password: "+secretValue+"\n")
	encoded := base64.StdEncoding.EncodeToString([]byte(secretValue))
	manifest := "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: " + secretValue + "}\n"
	chart := func(more map[string]string) map[string]string {
		files := map[string]string{"app/Chart.yaml": chartYAML, "app/templates/s.yaml": secretTemplate}
		maps.Copy(files, more)
		return files
	}
	for name, tc := range map[string]struct {
		files      map[string]string
		parameters []string
		want       any
		at         []string
		sealed     int // how many files are encrypted
	}{
		"value file":             {chart(map[string]string{"app/secrets.yaml": values}), []string{"value-files[]=secrets.yaml"}, encoded, []string{"data", "password"}, 1},
		"value file by a glob":   {chart(map[string]string{"app/secrets/a.yaml": values}), []string{"value-files[]=secrets/*"}, encoded, []string{"data", "password"}, 1},
		"value file as JSON":     {chart(map[string]string{"app/secrets.json": seal("json", `{"password":"`+secretValue+`"}`)}), []string{"value-files[]=secrets.json"}, encoded, []string{"data", "password"}, 1},
		"value file, binary":     {chart(map[string]string{"app/secrets.enc": seal("binary", "password: "+secretValue+"\n")}), []string{"value-files[]=secrets.enc"}, encoded, []string{"data", "password"}, 1},
		"the chart's own values": {chart(map[string]string{"app/values.yaml": values}), nil, encoded, []string{"data", "password"}, 1},
		"a subchart's values": {map[string]string{
			"app/Chart.yaml": chartYAML, "app/charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n",
			"app/charts/db/values.yaml": values, "app/charts/db/templates/s.yaml": secretTemplate,
		}, nil, encoded, []string{"data", "password"}, 1},
		"a template":     {map[string]string{"app/Chart.yaml": chartYAML, "app/templates/s.yaml": seal("yaml", manifest)}, nil, secretValue, []string{"stringData", "password"}, 1},
		"file parameter": {chart(map[string]string{"app/p.txt": seal("binary", secretValue)}), []string{"helm-file-parameters[password]=p.txt"}, encoded, []string{"data", "password"}, 1},
		".Files": {map[string]string{
			"app/Chart.yaml": chartYAML, "app/files/s.yaml": values,
			"app/templates/s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\ndata: {password: {{ (.Files.Get \"files/s.yaml\" | fromYaml).password | b64enc }}}\n",
		}, nil, encoded, []string{"data", "password"}, 1},
		"kustomize resource": {map[string]string{"app/kustomization.yaml": "resources: [s.yaml]\n", "app/s.yaml": seal("yaml", manifest)}, nil, secretValue, []string{"stringData", "password"}, 1},
		"patch that merges into it": {map[string]string{
			"app/kustomization.yaml": "resources: [s.yaml]\npatches: [{path: p.yaml}]\n", "app/s.yaml": seal("yaml", strings.Replace(manifest, secretValue, "old", 1)),
			"app/p.yaml": seal("yaml", manifest),
		}, nil, secretValue, []string{"stringData", "password"}, 2},
		"patch in a component": {map[string]string{
			"app/kustomization.yaml": "resources: [s.yaml]\ncomponents: [c]\n", "app/s.yaml": strings.Replace(manifest, secretValue, "old", 1),
			"app/c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: p.yaml}]\n", "app/c/p.yaml": seal("yaml", manifest),
		}, nil, secretValue, []string{"stringData", "password"}, 1},
		"file parameter by helm-secrets' name": {chart(map[string]string{"app/p.txt": seal("binary", secretValue)}), []string{"helm-file-parameters[password]=secrets://p.txt"}, encoded, []string{"data", "password"}, 1},
		"ini file of a generator":              {map[string]string{"app/kustomization.yaml": "secretGenerator: [{name: db, files: [my.ini]}]\n", "app/my.ini": seal("ini", "[client]\npassword = x\n")}, nil, base64.StdEncoding.EncodeToString([]byte("[client]\npassword = x\n")), []string{"data", "my.ini"}, 1},
		"configMapGenerator file and envs": {map[string]string{
			"app/kustomization.yaml": "resources: [s.yaml]\nconfigMapGenerator: [{name: c, files: [p.txt], envs: [p.env]}]\n", "app/s.yaml": manifest,
			"app/p.txt": seal("binary", "text"), "app/p.env": seal("dotenv", "A=b\n"),
		}, nil, secretValue, []string{"stringData", "password"}, 2},
		"secretGenerator file":   {map[string]string{"app/kustomization.yaml": "secretGenerator: [{name: db, files: [password=p.txt]}]\n", "app/p.txt": seal("binary", secretValue)}, nil, encoded, []string{"data", "password"}, 1},
		"secretGenerator envs":   {map[string]string{"app/kustomization.yaml": "secretGenerator: [{name: db, envs: [p.env]}]\n", "app/p.env": seal("dotenv", "password="+secretValue+"\n")}, nil, encoded, []string{"data", "password"}, 1},
		"in a component":         {map[string]string{"app/kustomization.yaml": "components: [c]\n", "app/c/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [s.yaml]\n", "app/c/s.yaml": seal("yaml", manifest)}, nil, secretValue, []string{"stringData", "password"}, 1},
		"helmCharts values file": {map[string]string{"app/kustomization.yaml": "helmCharts: [{name: web, releaseName: web, valuesFile: v.yaml}]\n", "app/v.yaml": values, "app/charts/web/Chart.yaml": chartYAML, "app/charts/web/templates/s.yaml": secretTemplate}, nil, encoded, []string{"data", "password"}, 1},
		"plain YAML":             {map[string]string{"app/s.yaml": seal("yaml", manifest)}, nil, secretValue, []string{"stringData", "password"}, 1},
		"plain JSON":             {map[string]string{"app/s.json": seal("json", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db"},"stringData":{"password":"`+secretValue+`"}}`)}, nil, secretValue, []string{"stringData", "password"}, 1},
		"two documents":          {map[string]string{"app/s.yaml": seal("yaml", configMap+"---\n"+manifest)}, nil, secretValue, []string{"stringData", "password"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := mustRender(t, sealed(tc.files, key).with(t, tc.parameters...))
			if got := field(t, result, "Secret", tc.at...); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if len(result.Decrypted) != tc.sealed {
				t.Errorf("%v were decrypted, want %d: each once, and none that is not read", result.Decrypted, tc.sealed)
			}
			// Neither is in the record, and what was read counts as it is stored.
			record, err := evidence.Marshal(result.Evidence)
			if err != nil {
				t.Fatal(err)
			}
			for _, form := range []string{secretValue, encoded} {
				if strings.Contains(string(record), form) {
					t.Error("the evidence holds the value")
				}
			}
			// Without a policy the same is refused.
			r := sealed(tc.files, key).with(t, tc.parameters...)
			r.Policy = nil
			if _, err := Render(context.Background(), r); err == nil || !strings.Contains(err.Error(), "may not be decrypted: no policy allows it") {
				t.Errorf("without a policy: %v", err)
			}
		})
	}
}

// TestInputsHashOfCiphertext moves with the stored file only.
func TestInputsHashOfCiphertext(t *testing.T) {
	t.Parallel()
	key := sealtest.NewKey(t)
	files := func(secrets string) map[string]string {
		return map[string]string{"app/Chart.yaml": chartYAML, "app/templates/s.yaml": secretTemplate, "app/secrets.yaml": secrets}
	}
	hash := func(secrets string) string {
		return mustRender(t, sealed(files(secrets), key).with(t, "value-files[]=secrets.yaml")).Provenance.InputsHash
	}
	once, again := sealtest.Seal(t, "yaml", "password: a\n", key), sealtest.Seal(t, "yaml", "password: a\n", key)
	if hash(once) != hash(strings.Clone(once)) || hash(once) == hash(again) {
		t.Error("the hash is not that of the ciphertext")
	}
}

// A chart holds the secrets of every environment, and the sidecar has the key of
// one.
func TestSealedChartFiles(t *testing.T) {
	t.Parallel()
	key, other := sealtest.NewKey(t), sealtest.NewKey(t)
	files := map[string]string{
		"app/Chart.yaml":             chartYAML,
		"app/values.yaml":            "environment: production\n",
		"app/secrets/production.yml": sealtest.Seal(t, "yaml", "password: "+secretValue+"\n", key),
		"app/secrets/staging.yml":    sealtest.Seal(t, "yaml", "password: staging\n", other),
	}
	render := func(template string, parameters ...string) (*Result, error) {
		f := maps.Clone(files)
		f["app/templates/s.yaml"] = template
		return Render(context.Background(), sealed(f, key).with(t, parameters...))
	}
	const get = "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: {{ (.Files.Get (printf \"secrets/%s.yml\" .Values.environment) | fromYaml).password }}}\n"
	for name, tc := range map[string]struct {
		template, parameter string
		decrypted           int
		want                string
	}{
		"no template reads files":       {secretTemplate, "helm-parameters[password]=x", 0, ""},
		"a computed name":               {get, "helm-parameters[environment]=production", 0, "app/secrets/staging.yml: cannot be decrypted"},
		"the file of the other":         {get, "helm-parameters[environment]=staging", 0, "app/secrets/staging.yml: cannot be decrypted: it is encrypted for " + other.Recipient},
		"a hash of the other":           {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {sum: {{ .Files.Get \"secrets/staging.yml\" | sha256sum }}}\n", "", 0, "app/secrets/staging.yml: cannot be decrypted"},
		"the name of one of them":       {strings.Replace(get, "(printf \"secrets/%s.yml\" .Values.environment)", "\"secrets/production.yml\"", 1), "", 1, ""},
		"a fault that is none of files": {"{{ fail \"no\" }}", "", 0, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var parameters []string
			if tc.parameter != "" {
				parameters = []string{tc.parameter}
			}
			result, err := render(tc.template, parameters...)
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "staging.yml") != strings.Contains(tc.want, "staging.yml") {
					t.Errorf("got %v, want %q", err, tc.want)
				}
				return
			}
			if err != nil || len(result.Decrypted) != tc.decrypted {
				t.Errorf("got %v, decrypted %v", err, result.Decrypted)
			}
		})
	}
}

// The forms in which helm-secrets names value files.
func TestHelmSecrets(t *testing.T) {
	t.Parallel()
	key := sealtest.NewKey(t)
	files := map[string]string{
		"app/Chart.yaml": chartYAML, "app/templates/s.yaml": secretTemplate, "app/values.yaml": "password: default\n",
		"app/secrets.yaml":  sealtest.Seal(t, "yaml", "password: "+secretValue+"\n", key),
		"shared/plain.yaml": "password: plain\n",
	}
	for form, want := range map[string]string{
		"secrets://secrets.yaml":                                           secretValue,
		"secret://secrets.yaml":                                            secretValue,
		"sops://secrets.yaml":                                              secretValue,
		"secrets://sops!secrets.yaml":                                      secretValue,
		"secrets://?secrets.yaml":                                          secretValue,
		"secrets://?absent.yaml":                                           "default",
		"secrets:///shared/plain.yaml":                                     "plain",
		"secrets://$ARGOCD_ENV_FILE.yaml":                                  secretValue,
		"secrets+age-import:///keys/key.txt?secrets.yaml":                  secretValue,
		"secrets+gpg-import:///keys/key.asc?secrets.yaml":                  secretValue,
		"secrets+age-import-kubernetes://argocd/keys#key.txt?secrets.yaml": secretValue,
		"secrets://absent.yaml":                                            "error: does not exist",
		"secrets://vault!secrets.yaml":                                     `error: the backend "vault" of helm-secrets is not known here`,
		"secrets+literal://vals!ref":                                       "error: backend",
		"secrets+literal://ref":                                            "error: secrets+literal:// is not known here",
		"secrets+age-import:///keys/key.txt":                               "error: want secrets+age-import://<key>?<file>",
		"secrets://$values/secrets.yaml":                                   `error: refers to the source "values" of a multi-source Application`,
		"secrets://../../secrets.yaml":                                     "error: ",
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			r := sealed(files, key).with(t, "value-files[]="+form)
			r.Env = map[string]string{"ARGOCD_ENV_FILE": "secrets"}
			result, err := Render(context.Background(), r)
			if fault, isError := strings.CutPrefix(want, "error: "); isError {
				if err == nil || !strings.Contains(err.Error(), fault) {
					t.Errorf("got %v, want %q", err, fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := field(t, result, "Secret", "data", "password"); got != base64.StdEncoding.EncodeToString([]byte(want)) {
				t.Errorf("got %v, want %q in base64", got, want)
			}
		})
	}
}

// TestNothingDecryptedIsKept asks a cache twice.
func TestNothingDecryptedIsKept(t *testing.T) {
	t.Parallel()
	key := sealtest.NewKey(t)
	cache := NewCache(1 << 20)
	files := map[string]string{
		"app/Chart.yaml": chartYAML, "app/templates/s.yaml": secretTemplate,
		"app/values.yaml": sealtest.Seal(t, "yaml", "password: "+secretValue+"\n", key),
	}
	for range 2 {
		answer, err := cache.Render(context.Background(), sealed(files, key))
		if err != nil || answer.Cached || len(answer.Decrypted) != 1 {
			t.Errorf("got %+v, %v", answer, err)
		}
	}
	if got := cache.Bytes(); got != 0 {
		t.Errorf("the cache holds %d bytes: an answer or a chart", got)
	}
}

// What is announced shows no secret, and needs no key.
func TestNothingIsDecryptedForTheUI(t *testing.T) {
	t.Parallel()
	key := sealtest.NewKey(t)
	for name, files := range map[string]map[string]string{
		"chart": {"app/Chart.yaml": chartYAML, "app/templates/s.yaml": secretTemplate, "app/values.yaml": sealtest.Seal(t, "yaml", "password: "+secretValue+"\n", key)},
		"kustomization": {
			"app/kustomization.yaml": "resources: [d.yaml]\ngenerators: [g.yaml]\n",
			"app/d.yaml":             "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: a, image: \"web:1\"}]}}}\n",
			"app/g.yaml":             "apiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: g}\nfiles: [s.yaml]\n",
			"app/s.yaml":             sealtest.Seal(t, "yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: "+secretValue+"}\n", key),
		},
	} {
		list, err := Announce(context.Background(), sealed(files, key))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if text := fmt.Sprint(list); strings.Contains(text, secretValue) || name == "kustomization" && !strings.Contains(text, "web:1") {
			t.Errorf("%s: got %s", name, text)
		}
	}
}

// Decrypted values in objects that are no Secret.
func TestOutsideSecrets(t *testing.T) {
	t.Parallel()
	key := sealtest.NewKey(t)
	files := map[string]string{
		"app/Chart.yaml": chartYAML, "app/values.yaml": sealtest.Seal(t, "yaml", "password: "+secretValue+"\n", key),
		"app/templates/s.yaml": secretTemplate,
		"app/templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {url: \"postgres://app:{{ .Values.password }}@db\", encoded: {{ .Values.password | b64enc }}, a: b}\n",
	}
	for setting, want := range map[string]string{"": "error", "warn": "warning", "deny": "error", "allow": ""} {
		text := "apiVersion: hallmark.dev/v1\nkind: RenderPolicy\nspec: {rules: [{name: all, decryption: {keys: [age], outsideSecrets: " + setting + "}}]}\n"
		if setting == "" {
			text = strings.Replace(text, ", outsideSecrets: ", "", 1)
		}
		p, err := policy.Parse("policy.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		r := sealed(files, key)
		r.Policy = p
		result, err := Render(context.Background(), r)
		got := ""
		switch {
		case err != nil:
			got = "error: " + err.Error() + diag.Hint(err)
		case len(result.Warnings) > 0:
			got = "warning: " + strings.Join(result.Warnings, "\n")
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) || strings.Contains(got, secretValue) {
			t.Errorf("%q: got %q, want %q", setting, got, want)
		}
		if want != "" && (!strings.Contains(got, `ConfigMap "c": field "/data/url"`) || !strings.Contains(got, `"/data/encoded"`) || strings.Contains(got, "Secret \"db\"") || strings.Contains(got, `"/data/a"`)) {
			t.Errorf("%q: got %q", setting, got)
		}
	}
}

// What cannot be searched is warned of, or refused.
func TestOutsideSecretsOfMuch(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute with the race detector")
	}
	key := sealtest.NewKey(t)
	files := map[string]string{
		"app/Chart.yaml": chartYAML, "app/values.yaml": sealtest.Seal(t, "yaml", "password: "+secretValue+"\n", key),
		"app/templates/s.yaml": secretTemplate,
		"app/f.enc":            sealtest.Seal(t, "binary", strings.Repeat("much ", 1<<19), key),
		"app/g.enc":            sealtest.Seal(t, "binary", strings.Repeat("more ", 1<<19), key),
	}
	for setting, want := range map[string]string{"warn": "warning", "deny": "error"} {
		p, err := policy.Parse("policy.yaml", []byte("apiVersion: hallmark.dev/v1\nkind: RenderPolicy\nspec: {rules: [{name: all, decryption: {keys: [age], outsideSecrets: "+setting+"}}]}\n"))
		if err != nil {
			t.Fatal(err)
		}
		r := sealed(files, key).with(t, "helm-file-parameters[f]=f.enc", "helm-file-parameters[g]=g.enc")
		r.Policy = p
		result, err := Render(context.Background(), r)
		got := ""
		switch {
		case err != nil:
			got = "error: " + err.Error()
		case len(result.Warnings) > 0:
			got = "warning: " + strings.Join(result.Warnings, "\n")
		}
		if !strings.HasPrefix(got, want+": decrypted values outside of Secrets were not looked for") || strings.Contains(got, "withheld") || (setting == "deny") != strings.Contains(got, `rule "all"`) {
			t.Errorf("%q: got %q", setting, got)
		}
	}
}
