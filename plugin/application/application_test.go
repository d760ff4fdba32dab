package application

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/yaml"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin"
)

// manifest wraps the fields of a source, one a line, in an Application.
func manifest(source string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd}\nspec:\n" +
		"  project: shop\n  destination: {server: https://kubernetes.default.svc, namespace: shop}\n" +
		"  source:\n    repoURL: https://git.example.com/shop/deploy.git\n    path: apps/web\n    " +
		strings.ReplaceAll(strings.TrimSpace(source), "\n", "\n    ") + "\n"
}

// find reads one file with Find, which knows columns.
func find(t *testing.T, text string) Found {
	t.Helper()
	found, err := Find(fstest.MapFS{"app.yaml": {Data: []byte(text)}}, ".", Options{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func only(t *testing.T, text string) Application {
	t.Helper()
	found := find(t, text)
	if len(found.Faults) > 0 || len(found.Applications) != 1 {
		t.Fatalf("got %d applications and faults %v", len(found.Applications), found.Faults)
	}
	return found.Applications[0]
}

// What the fields of a native source mean, in the words of ARGOCD_APP_PARAMETERS.
func TestNativeParameters(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ source, native, want string }{
		"none":  {``, "", `[]`},
		"empty": {`helm: {}`, "helm", `[{"name":"renderer","string":"helm3"}]`},
		"helm": {`
helm:
  valueFiles: [values.yaml, $ref/x.yaml]
  values: "a: b"
  parameters: [{name: a, value: "1,2"}, {name: a, value: "{x,y}"}, {name: b, value: "8080", forceString: true}, {name: e}]
  fileParameters: [{name: config, path: files/app.toml}]
  releaseName: shop
  namespace: elsewhere
  kubeVersion: 1.31.2
  apiVersions: [example.com/v1]
  skipCrds: true
  skipTests: true
  skipSchemaValidation: true
  ignoreMissingValueFiles: true
  passCredentials: true
  version: v3`, "helm", `[
{"name":"renderer","string":"helm3"},{"name":"value-files","array":["values.yaml","$ref/x.yaml"]},{"name":"values","string":"a: b"},
{"name":"helm-parameters","map":{"a":"{x,y}","e":""}},{"name":"helm-string-parameters","map":{"b":"8080"}},
{"name":"helm-file-parameters","map":{"config":"files/app.toml"}},{"name":"release-name","string":"shop"},
{"name":"namespace","string":"elsewhere"},{"name":"kube-version","string":"1.31.2"},{"name":"api-versions","array":["example.com/v1"]},
{"name":"skip-crds","string":"true"},{"name":"skip-tests","string":"true"},{"name":"skip-schema-validation","string":"true"},
{"name":"ignore-missing-value-files","string":"true"}]`},
		"valuesObject replaces values": {"helm:\n  values: 'a: b'\n  valuesObject: {c: {d: 1, e: null}}", "helm", `[{"name":"renderer","string":"helm3"},{"name":"values","string":"c:\n  d: 1\n  e: null\n"}]`},
		"an empty one too":             {"helm: {values: 'a: b', valuesObject: {}}", "helm", `[{"name":"renderer","string":"helm3"},{"name":"values","string":"{}\n"}]`},
		"one that is null does not":    {"helm: {values: 'a: b', valuesObject: null}", "helm", `[{"name":"renderer","string":"helm3"},{"name":"values","string":"a: b"}]`},
		"zero values are not there":    {"helm: {skipCrds: false, valueFiles: [], values: '', parameters: []}", "helm", `[{"name":"renderer","string":"helm3"}]`},
		"kustomize": {`
kustomize:
  namePrefix: a-
  nameSuffix: -b
  images: [shop/web:v2, x=y:z]
  replicas: [{name: web, count: 3}, {name: api, count: "2"}]
  commonLabels: {team: shop}
  commonAnnotations: {note: $ARGOCD_APP_NAME}
  commonAnnotationsEnvsubst: true
  labelWithoutSelector: true
  labelIncludeTemplates: true
  forceCommonLabels: true
  forceCommonAnnotations: true
  namespace: other
  components: [../tls]
  ignoreMissingComponents: true
  patches: [{path: p.yaml, target: {kind: Deployment, labelSelector: a=b}, options: {allowNameChange: true}}]
  kubeVersion: "1.30"
  apiVersions: [example.com/v1]
  version: v5.0.0`, "kustomize", `[
{"name":"renderer","string":"kustomize"},{"name":"kustomize-name-prefix","string":"a-"},{"name":"kustomize-name-suffix","string":"-b"},
{"name":"kustomize-images","array":["shop/web:v2","x=y:z"]},{"name":"kustomize-replicas","map":{"web":"3","api":"2"}},
{"name":"kustomize-common-labels","map":{"team":"shop"}},{"name":"kustomize-common-annotations","map":{"note":"$ARGOCD_APP_NAME"}},
{"name":"kustomize-common-annotations-envsubst","string":"true"},{"name":"kustomize-label-without-selector","string":"true"},
{"name":"kustomize-label-include-templates","string":"true"},{"name":"kustomize-force-common-labels","string":"true"},
{"name":"kustomize-force-common-annotations","string":"true"},{"name":"kustomize-namespace","string":"other"},
{"name":"kustomize-components","array":["../tls"]},{"name":"kustomize-ignore-missing-components","string":"true"},
{"name":"kustomize-patches","string":"- options:\n    allowNameChange: true\n  path: p.yaml\n  target:\n    kind: Deployment\n    labelSelector: a=b\n"},
{"name":"kube-version","string":"1.30"},{"name":"api-versions","array":["example.com/v1"]}]`},
		"directory": {"directory: {recurse: true, include: '*.yaml', exclude: x/*, jsonnet: {}}", "directory",
			`[{"name":"renderer","string":"plain"},{"name":"directory-recurse","string":"true"},{"name":"directory-include","string":"*.yaml"},{"name":"directory-exclude","string":"x/*"}]`},
		"plugin": {"plugin: {name: hallmark, parameters: [{name: skip-crds, string: \"false\"}, {name: value-files, array: []}, {name: helm-parameters, map: {a: b}}]}", "plugin",
			`[{"name":"skip-crds","string":"false"},{"name":"value-files","array":[]},{"name":"helm-parameters","map":{"a":"b"}}]`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := plugin.ParseParameters([]byte(tt.want))
			if err != nil {
				t.Fatal(err)
			}
			s := only(t, manifest(tt.source)).Sources[0]
			if s.Native != tt.native || s.Unsupported != "" {
				t.Errorf("got native %q, unsupported %q", s.Native, s.Unsupported)
			}
			if !reflect.DeepEqual(s.Parameters, want) {
				t.Errorf("got %+v\nwant %+v", s.Parameters, want)
			}
		})
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ spec, want string }{
		"source":            {"source: {repoURL: a, path: p}", "a p"},
		"sources win":       {"source: {repoURL: a, path: p}\n  sources: [{repoURL: b, ref: r}, {repoURL: c, chart: web, targetRevision: 1.0.0}]", "b $r, c chart web 1.0.0"},
		"empty ones do not": {"source: {repoURL: a, path: p}\n  sources: []", "a p"},
		"hydrator wins":     {"source: {repoURL: a, path: p}\n  sourceHydrator: {drySource: {repoURL: d, path: dry, targetRevision: main}, syncSource: {targetBranch: env, path: x}}", "d dry main"},
		"oci":               {"source: {repoURL: oci://registry.example.com/shop/web, targetRevision: '1'}", "oci://registry.example.com/shop/web 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := only(t, "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  "+tt.spec+"\n")
			var got []string
			for _, s := range a.Sources {
				parts := []string{s.RepoURL, s.Path}
				if s.Ref != "" {
					parts = append(parts, "$"+s.Ref)
				}
				if s.Chart != "" {
					parts = append(parts, "chart", s.Chart)
				}
				got = append(got, strings.Join(strings.Fields(strings.Join(append(parts, s.TargetRevision), " ")), " "))
			}
			if g := strings.Join(got, ", "); g != tt.want {
				t.Errorf("got %s, want %s", g, tt.want)
			}
			if a.Project != "default" {
				t.Errorf("got project %q", a.Project)
			}
		})
	}
}

func TestUnsupported(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"plugin: {name: kustomized-helm}":                           `the plugin "kustomized-helm"`,
		"plugin: {name: hallmarks, parameters: [{name: x}]}":        `the plugin "hallmarks"`,
		"directory: {jsonnet: {libs: [vendor]}}":                    "jsonnet",
		"directory: {disableExtensionFilter: true}":                 "disableExtensionFilter",
		"plugin: {name: hallmark-v1.2}":                             "",
		"plugin: {env: [{name: A, value: b}, {name: A, value: c}]}": "",
	} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			s := only(t, manifest(source)).Sources[0]
			if (s.Unsupported != "") != (want != "") || !strings.Contains(s.Unsupported, want) {
				t.Errorf("got %q, want %q", s.Unsupported, want)
			}
			if strings.Contains(source, "env") && !reflect.DeepEqual(s.Env, map[string]string{"ARGOCD_ENV_A": "c"}) {
				t.Errorf("got env %v", s.Env)
			}
		})
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	s := only(t, manifest("helm: {version: v3, kubeVersion: '1.31', apiVersions: [a/v1]}")).Sources[0]
	if len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "helm.version") {
		t.Errorf("got notes %v", s.Notes)
	}
	if s.KubeVersion != "1.31" || !slices.Equal(s.APIVersions, []string{"a/v1"}) {
		t.Errorf("got %q, %v", s.KubeVersion, s.APIVersions)
	}
}

// Each fault has its line and column, and the others are there as well.
func TestFaults(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text, hint string
		want       []string
	}{
		"unknown field": {manifest("helm:\n  valuefiles: [a]\n  parameters: [{nam: x}]"), "", []string{
			`app.yaml:11:7: source.helm: unknown field "valuefiles", did you mean "valueFiles"?`,
			`app.yaml:12:21: source.helm.parameters[0]: unknown field "nam", did you mean "name"?`}},
		"nothing near": {manifest("directory: {jsonnet: {colour: red}}"), "", []string{
			`app.yaml:10:27: source.directory.jsonnet: unknown field "colour", want one of extVars, libs, tlas`}},
		"types": {manifest("targetRevision: 1.0\nkustomize: {replicas: [{name: a, count: 1.5}], images: x, commonLabels: {a: true}}"), "write the value in quotes", []string{
			`app.yaml:10:21: source.targetRevision: got number, want a string`,
			`app.yaml:11:45: source.kustomize.replicas[0].count: got number, want a whole number or a string`,
			`app.yaml:11:60: source.kustomize.images: got string, want a list`,
			`app.yaml:11:81: source.kustomize.commonLabels.a: got bool, want a string`}},
		"two tools": {manifest("helm: {}\nplugin: {name: hallmark}"), "", []string{
			`app.yaml:8:5: source: it has helm and plugin, and Argo CD takes one of them: multiple application sources defined`}},
		"no source": {"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {project: x}\n", "", []string{`app.yaml:4:7: spec: neither source nor sources`}},
		"no name":   {"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {}\nspec: {source: {repoURL: a, path: b}}\n", "", []string{`app.yaml:3:11: metadata.name: missing`}},
		"no spec":   {"# about\n---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n", "", []string{`app.yaml:3:1: spec: missing`}},
		"no path":   {"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: {repoURL: a, ref: x}}\n", "", []string{`app.yaml:4:16: source: it has no path or chart`}},
		"no repo":   {"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {sources: [{path: x}, null]}\n", "", []string{`app.yaml:4:18: sources[0].repoURL: missing`, `app.yaml:4:29: sources[1]: missing`}},
		"parameter": {manifest("plugin:\n  parameters:\n  - {name: skipCrds, string: 'true'}\n  - {name: values, string: a}\n  - {name: values, string: b}\n  - {name: skip-tests}"), `did you mean "skip-crds"?`, []string{
			`app.yaml:12:9: source.plugin.parameters[0]: unknown parameter "skipCrds"`,
			`app.yaml:14:9: source.plugin.parameters[2]: the parameter "values" is there twice`,
			`app.yaml:15:9: source.plugin.parameters[3]: the parameter "skip-tests" has neither string nor array nor map`}},
		"replicas": {manifest("kustomize: {replicas: [{name: a, count: many}]}"), "", []string{`app.yaml:10:45: source.kustomize.replicas[0].count: got "many", want a whole number`}},
		"not YAML": {manifest("helm: [") + "---\n" + manifest("helm: {}"), "", []string{`app.yaml:`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := find(t, tt.text)
			if len(found.Faults) != 1 {
				t.Fatalf("got faults %v", found.Faults)
			}
			err := found.Faults[0].Err
			if got := strings.Split(err.Error(), "\n"); len(got) != len(tt.want) || !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
				t.Errorf("got\n%s\nwant\n%s", err, strings.Join(tt.want, "\n"))
			}
			if diag.Hint(err) != tt.hint {
				t.Errorf("got hint %q, want %q", diag.Hint(err), tt.hint)
			}
		})
	}
}

// Without the text the faults have their fields all the same.
func TestParse(t *testing.T) {
	t.Parallel()
	value := func(text string) map[string]any {
		v, err := yamldoc.Decode("", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return object.Mapping(v)
	}
	a, err := Parse(object.Object{Value: value(manifest("helm: {releaseName: x}")), Origin: "web/templates/app.yaml", Line: 7})
	if err != nil {
		t.Fatal(err)
	}
	if a.Name != "web" || a.Namespace != "argocd" || a.File != "web/templates/app.yaml" || a.Line != 7 || a.Project != "shop" || a.From != "" ||
		a.Destination != (Destination{Server: "https://kubernetes.default.svc", Namespace: "shop"}) {
		t.Errorf("got %+v", a)
	}
	_, err = Parse(object.Object{Value: value(manifest("hel: {releaseName: x}")), Origin: "app.yaml", Line: 7})
	if want := `app.yaml:7: source: unknown field "hel", did you mean "helm"?`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := Parse(object.Object{Value: map[string]any{"kind": "Deployment"}}); err == nil {
		t.Error("got no error for a Deployment")
	}
}

// A value of a parameter may be a secret.
func TestFaultsQuoteNoValues(t *testing.T) {
	t.Parallel()
	const marker = "s3cr3t-marker"
	for _, source := range []string{
		"helm: {values: [" + marker + "]}", "helm: {parameters: [{name: a, value: [" + marker + "]}]}",
		"plugin: {parameters: [{name: skip-crds, string: " + marker + "}]}", "plugin: {parameters: [{name: values, array: [" + marker + "]}]}",
	} {
		found := find(t, manifest(source))
		if len(found.Faults) != 1 || strings.Contains(found.Faults[0].Err.Error(), marker) {
			t.Errorf("%s: got %v", source, found.Faults)
		}
	}
}

// Argo CD's own types read the same sources out of a manifest.
func TestSourcesAreThoseOfArgoCD(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		manifest(""), manifest("helm: {}"), manifest("helm: {values: a}\nkustomize: {}"), manifest("kustomize: null\nhelm: {releaseName: x}"),
		manifest("helm: {values: x, valuesObject: {b: [1, 2.5, true, null], a: {}}}"), manifest("directory: {}"), manifest("plugin: {}\ndirectory: {}"),
		manifest("plugin: {name: hallmark, env: [{name: A, value: b}]}"),
		strings.Replace(manifest("helm: {}"), "  source:", "  sources: [{repoURL: x, ref: r, name: own}]\n  source:", 1),
		strings.Replace(manifest("helm: {}"), "  project: shop", "  project: ''", 1),
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			var argo v1alpha1.Application
			if err := yaml.UnmarshalStrict([]byte(text), &argo); err != nil {
				t.Fatal(err)
			}
			var explicit error
			for _, s := range argo.Spec.GetSources() {
				if _, err := s.ExplicitType(); err != nil {
					explicit = err
				}
			}
			found := find(t, text)
			if explicit != nil {
				if len(found.Faults) != 1 {
					t.Errorf("Argo CD has %v, hallmark no fault", explicit)
				}
				return
			}
			if len(found.Applications) != 1 {
				t.Fatalf("got faults %v", found.Faults)
			}
			a := found.Applications[0]
			if a.Project != argo.Spec.GetProject() || len(a.Sources) != len(argo.Spec.GetSources()) {
				t.Errorf("got project %q and %d sources", a.Project, len(a.Sources))
			}
			for i, s := range argo.Spec.GetSources() {
				got := a.Sources[i]
				kind, _ := s.ExplicitType()
				native := map[v1alpha1.ApplicationSourceType]string{"Helm": NativeHelm, "Kustomize": NativeKustomize, "Directory": NativeDirectory, "Plugin": NativePlugin}
				if kind != nil && got.Native != native[*kind] || kind == nil && got.Native != "" {
					t.Errorf("got native %q", got.Native)
				}
				if got.RepoURL != s.RepoURL || got.Path != s.Path || got.Ref != s.Ref || got.Name != s.Name {
					t.Errorf("got %+v", got)
				}
				if s.Helm != nil && got.Parameters.Values != string(s.Helm.ValuesYAML()) {
					t.Errorf("got values %q, want %q", got.Parameters.Values, s.Helm.ValuesYAML())
				}
			}
		})
	}
}
