package overlay

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"hallmark.dev/hallmark/internal/diag"
)

// archiveFS reads the shorthand of the tables: files separated by "-- name --"
// lines.
func archiveFS(text string) fstest.MapFS {
	tree := fstest.MapFS{}
	for _, part := range strings.Split("\n"+strings.TrimLeft(text, "\n"), "\n-- ")[1:] {
		name, content, _ := strings.Cut(part, " --\n")
		tree[name] = &fstest.MapFile{Data: []byte(content + "\n")}
	}
	return tree
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n"

// TestBuildErrors has one row per fault that a user can make; "." is built
// unless the tree has a folder "top".
func TestBuildErrors(t *testing.T) {
	t.Parallel()
	deployment := "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n"
	tests := []struct {
		name, tree string
		options    Options
		want       string
		hint       string // a part of the remedy, where there is one
	}{
		{name: "no kustomization", tree: "-- a.yaml --\nx: y", want: ".: no kustomization.yaml, kustomization.yml or Kustomization"},
		{name: "no folder", tree: "-- top --\nx", want: `folder "top" does not exist`},
		{
			name: "two kustomizations", tree: "-- kustomization.yaml --\na: b\n-- Kustomization --\na: b\n",
			want: ".: more than one kustomization file: kustomization.yaml, Kustomization",
		},
		{name: "empty", tree: "-- kustomization.yaml --\n# nothing\n", want: "kustomization.yaml: the kustomization is empty"},
		{
			name: "not YAML", tree: "-- kustomization.yaml --\nresources: [a.yaml]\n  b: c\n",
			want: "kustomization.yaml:1: did not find expected key",
		},
		{
			name: "unknown field", tree: "-- kustomization.yaml --\nnamespace: x\nresource: [a.yaml]\n",
			want: `kustomization.yaml:2:1: unknown field "resource" in a kustomization`,
		},
		{
			name: "unknown field in a base", tree: "-- top/kustomization.yaml --\nresources: [../base]\n-- base/kustomization.yaml --\nimages:\n- {name: a, tag: b}\n",
			want: `base/kustomization.yaml:2:13: unknown field "tag" in a kustomization`,
		},
		{
			name: "wrong type", tree: "-- kustomization.yaml --\nresources: a.yaml\n",
			want: `kustomization.yaml:1:1: field "resources": got string, want list of string`,
		},
		{
			name: "wrong type of a struct", tree: "-- kustomization.yaml --\ngeneratorOptions: yes please\n",
			want: `kustomization.yaml:1:1: field "generatorOptions": got string, want map`,
		},
		{
			name: "wrong type below", tree: "-- kustomization.yaml --\nreplicas:\n- name: x\n  count: many\n",
			want: `kustomization.yaml:3:3: field "replicas.count": got string, want integer`,
		},
		{
			name: "wrong type of a map", tree: "-- kustomization.yaml --\ncommonLabels: [a]\n",
			want: `kustomization.yaml:1:1: field "commonLabels": got array, want map`,
		},
		{
			name: "wrong apiVersion", tree: "-- kustomization.yaml --\napiVersion: v1\nkind: Kustomization\nnamespace: x\n",
			want: "kustomization.yaml: apiVersion for Kustomization should be kustomize.config.k8s.io/v1beta1",
		},
		{
			name: "missing resources, all at once", tree: "-- kustomization.yaml --\nresources:\n- a.yaml\n- ../../b\ncomponents:\n- c\n",
			want: `kustomization.yaml:2:3: resource "a.yaml" does not exist` + "\n" +
				`kustomization.yaml:3:3: resource "../../b" leaves the repository` + "\n" +
				`kustomization.yaml:5:3: component "c" does not exist`,
		},
		{
			name: "more faults than fit", tree: "-- kustomization.yaml --\nresources: [a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12]\n",
			want: "kustomization.yaml: 2 more faults",
		},
		{
			name: "absolute path", tree: "-- kustomization.yaml --\nresources: [/etc/passwd]\n",
			want: `kustomization.yaml:1:13: resource "/etc/passwd" is an absolute path, want one relative to "."`,
		},
		{
			name: "folded list", tree: "-- kustomization.yaml --\nresources:\n- ../a\n  - ../b\n",
			want: `kustomization.yaml: path "../a - ../b" is ambiguous`,
		},
		{
			name: "folder without kustomization", tree: "-- top/kustomization.yaml --\nresources: [../base]\n-- base/x.yaml --\na: b\n",
			want: "top/kustomization.yaml: unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory 'base'",
		},
		{
			name: "file outside the folder", tree: "-- top/kustomization.yaml --\nresources: [../c.yaml]\n-- c.yaml --\n" + configMap,
			want: "top/kustomization.yaml: file 'c.yaml' is not in or below 'top'", hint: "below its own folder",
		},
		{
			name: "cycle", tree: "-- top/kustomization.yaml --\nresources: [../base]\n-- base/kustomization.yaml --\nresources: [../top]\n",
			want: "top/kustomization.yaml: cycle detected: candidate root 'top' contains visited root 'top'",
		},
		{
			name: "syntax error in the second document", tree: "-- kustomization.yaml --\nresources: [a.yaml]\n-- a.yaml --\n" + configMap + "---\nkind: [\n",
			want: "a.yaml:7: did not find expected node content",
		},
		{
			name: "resource without a name", tree: "-- kustomization.yaml --\nresources: [a.yaml]\n-- a.yaml --\nkind: ConfigMap\napiVersion: v1\n",
			want: "a.yaml: missing metadata.name",
		},
		{
			name: "one object in two files", tree: "-- kustomization.yaml --\nresources: [a.yaml, b.yaml]\n-- a.yaml --\n" + deployment + "-- b.yaml --\n# note\n" + deployment,
			want: `b.yaml:2: Deployment "web" is defined in a.yaml:1 too`,
		},
		{
			name: "one object twice in a file", tree: "-- kustomization.yaml --\nresources: [a.yaml]\n-- a.yaml --\n" + deployment + "---\n" + deployment,
			want: `a.yaml:6: Deployment "web" is defined in a.yaml:1 too`,
		},
		{
			name: "one base twice", tree: "-- top/kustomization.yaml --\nresources: [../a, ../b]\n-- a/kustomization.yaml --\nresources: [../base]\n-- b/kustomization.yaml --\nresources: [../base]\n-- base/kustomization.yaml --\nresources: [d.yaml]\n-- base/d.yaml --\n" + deployment,
			want: `base/d.yaml:1: Deployment "web" is included more than once by top/kustomization.yaml`,
		},
		{
			name: "patch without target", tree: "-- top/kustomization.yaml --\nresources: [c.yaml]\npatches:\n- patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: gone}\n-- top/c.yaml --\n" + configMap,
			want: "top/kustomization.yaml: no resource matches strategic merge patch",
		},
		{
			name: "missing patch file", tree: "-- kustomization.yaml --\nresources: [c.yaml]\npatches:\n- path: none.yaml\n-- c.yaml --\n" + configMap,
			want: "kustomization.yaml: failed to get the patch file from path(none.yaml): open none.yaml: file does not exist",
		},
		{
			name: "missing file of a generator", tree: "-- kustomization.yaml --\nconfigMapGenerator:\n- name: x\n  files: [none.txt]\n",
			want: "kustomization.yaml: loading KV pairs: file sources: [none.txt]: open none.txt: file does not exist",
		},
		{
			name: "generator for an object that exists", tree: "-- kustomization.yaml --\nresources: [c.yaml]\nconfigMapGenerator:\n- name: c\n  literals: [a=b]\n-- c.yaml --\n" + configMap,
			want: `kustomization.yaml: ConfigMap "c" exists; can not use behavior: 'unspecified', behavior must be merge or replace`,
		},
		{
			name: "component as resource", tree: "-- top/kustomization.yaml --\nresources: [../c]\n-- c/kustomization.yaml --\napiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: x\n",
			want: "top/kustomization.yaml: expected kind != 'Component' for path 'c'",
		},
		{
			name: "replacement source missing", tree: "-- kustomization.yaml --\nresources: [c.yaml]\nreplacements:\n- source: {kind: Secret, name: s}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x]}]\n-- c.yaml --\n" + configMap,
			want: "kustomization.yaml: nothing selected by Secret.[noVer].[noGrp]/s.[noNs]",
		},
		{
			name: "schema that does not parse", tree: "-- kustomization.yaml --\nresources: [c.yaml]\nopenapi: {path: s.json}\npatches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}'}]\n-- s.json --\n{\"definitions\": 3}\n-- c.yaml --\n" + configMap,
			want: "kustomization.yaml: the build panicked: invalid schema file: json: ",
		},

		{
			name: "remote file", tree: "-- kustomization.yaml --\nresources:\n- https://user:pw@example.com/x.yaml\n",
			want: `kustomization.yaml:2:3: resource "https://example.com/x.yaml" is remote`, hint: "vendor it",
		},
		{
			name: "github shorthand", tree: "-- kustomization.yaml --\nresources:\n- github.com/org/repo//path?ref=v1\n",
			want: `kustomization.yaml:2:3: resource "github.com/org/repo//path?ref=v1" is remote`, hint: "vendor it",
		},
		{
			name: "ssh component", tree: "-- kustomization.yaml --\ncomponents:\n- git@example.com:org/repo.git\n",
			want: `kustomization.yaml:2:3: component "git@example.com:org/repo.git" is remote`, hint: "vendor it",
		},
		{
			name: "file URL", tree: "-- kustomization.yaml --\nresources:\n- file:///etc/repo\n",
			want: `resource "file:///etc/repo" is remote`, hint: "vendor it",
		},
		{
			name: "remote base in bases", tree: "-- kustomization.yaml --\nbases:\n- ssh://git@example.com/r.git\n",
			want: `resource "ssh://git@example.com/r.git" is remote`, hint: "vendor it",
		},
		{
			name: "remote schema, crd, configuration, transformer",
			tree: "-- kustomization.yaml --\nopenapi: {path: https://a.example/s}\ncrds: [http://b.example/c]\nconfigurations: [https://c.example/d]\ntransformers: [https://d.example/e]\n",
			want: `kustomization.yaml:2:8: crds file "http://b.example/c" is remote; a render reads the repository and nothing else` + "\n" +
				`kustomization.yaml:3:18: configuration "https://c.example/d" is remote; a render reads the repository and nothing else` + "\n" +
				`kustomization.yaml:1:17: openapi schema "https://a.example/s" is remote; a render reads the repository and nothing else` + "\n" +
				`kustomization.yaml:4:16: transformer "https://d.example/e" is remote`,
			hint: "vendor it",
		},
		{
			name: "remote file of a generator", tree: "-- kustomization.yaml --\nconfigMapGenerator:\n- name: x\n  files: [https://a.example/f]\n",
			want: `"https://a.example/f" is remote`, hint: "vendor it",
		},
		{
			name: "remote patch", tree: "-- kustomization.yaml --\npatches: [{path: https://a.example/p}]\n",
			want: `"https://a.example/p" is remote`, hint: "vendor it",
		},
		{
			name: "remote file in a plugin configuration", tree: "-- kustomization.yaml --\nresources: [c.yaml]\ntransformers: [t.yaml]\n-- t.yaml --\napiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\npath: https://a.example/p\n-- c.yaml --\n" + configMap,
			want: `"https://a.example/p" is remote`, hint: "vendor it",
		},

		{
			name: "anchor that contains itself", tree: "-- kustomization.yaml --\nresources: [c.yaml]\n-- c.yaml --\n" + configMap + "---\n# second\n" + configMap + "data: &a\n  b: [*a]\n",
			want: `c.yaml:12: anchor "a" contains itself`,
		},
		{
			name: "anchor that contains itself, in a patch", tree: "-- kustomization.yaml --\nresources: [c.yaml]\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: c}\n    data: &a {b: *a}\n-- c.yaml --\n" + configMap,
			want: `kustomization.yaml: inline YAML:4: anchor "a" contains itself`,
		},
		{
			name: "anchor that contains itself, in a patch file", tree: "-- kustomization.yaml --\nresources: [c.yaml]\npatches: [{path: p.yaml}]\n-- c.yaml --\n" + configMap + "-- p.yaml --\n" + configMap + "data: &a {b: *a}\n",
			want: `p.yaml:5: anchor "a" contains itself`,
		},
		{
			name: "anchor that contains itself, in a generator", tree: "-- kustomization.yaml --\ngenerators: [g.yaml]\n-- g.yaml --\napiVersion: viaduct.ai/v1\nkind: ksops\nmetadata: {name: g}\nfiles: &a [*a]\n",
			want: `g.yaml:4: anchor "a" contains itself`,
		},
		{
			name: "ksops under resources", tree: "-- top/kustomization.yaml --\nresources: [g.yaml]\n-- top/g.yaml --\n# note\napiVersion: viaduct.ai/v1\nkind: ksops\nmetadata:\n  name: g\nfiles: [x]\n",
			want: `top/g.yaml:2: apiVersion "viaduct.ai/v1", kind "ksops" is no Kubernetes resource`, hint: "list it under `generators`",
		},
		{
			name: "built-in plugin under resources", tree: "-- kustomization.yaml --\nresources: [g.yaml]\n-- g.yaml --\napiVersion: builtin\nkind: SecretGenerator\nmetadata: {name: g}\n",
			want: `g.yaml:1: apiVersion "builtin", kind "SecretGenerator" is no Kubernetes resource`, hint: "list it under `generators`",
		},
		{
			name: "function under resources", tree: "-- kustomization.yaml --\nresources: [g.yaml]\n-- g.yaml --\napiVersion: example.com/v1\nkind: Gen\nmetadata:\n  name: g\n  annotations: {config.kubernetes.io/function: 'container: {image: x}'}\n",
			want: `g.yaml:1: apiVersion "example.com/v1", kind "Gen" is no Kubernetes resource`, hint: "list it under `generators`",
		},
		{
			name: "inline exec transformer", tree: "-- kustomization.yaml --\nresources: [c.yaml]\ntransformers:\n- |-\n  apiVersion: example.com/v1\n  kind: Sed\n  metadata: {name: s}\n-- c.yaml --\n" + configMap,
			want: `kustomization.yaml: transformer inline has apiVersion "example.com/v1", kind "Sed", which is not built into kustomize`, hint: "built-in generators",
		},
		{
			name: "container function as validator in a folder", tree: "-- kustomization.yaml --\nresources: [c.yaml]\nvalidators: [v]\n-- v/kustomization.yaml --\nresources: [f.yaml]\n-- v/f.yaml --\napiVersion: v1\nkind: Fn\nmetadata:\n  name: f\n  annotations: {config.kubernetes.io/function: 'container: {image: x}'}\n-- c.yaml --\n" + configMap,
			want: `kustomization.yaml: plugin of kind "Fn" is not built into kustomize`, hint: "built-in generators",
		},

		{
			name: "chart not vendored", tree: "-- top/kustomization.yaml --\nhelmCharts:\n- {name: tiny, version: 1.2.3, repo: 'https://u:p@charts.example', releaseName: r}\n",
			want: `top/kustomization.yaml: chart "tiny" version "1.2.3" from "https://charts.example" is not vendored in "top/charts"`, hint: `commit the chart as "top/charts/tiny"`,
		},
		{
			name: "chart of another version", tree: "-- kustomization.yaml --\nhelmCharts:\n- {name: tiny, version: 1.2.3, repo: 'https://charts.example'}\n-- charts/tiny/Chart.yaml --\nversion: 2.0.0\n",
			want: `is not vendored in "charts" ("charts/tiny" has version "2.0.0")`, hint: "commit the chart",
		},
		{
			name: "chart without renderer", tree: "-- kustomization.yaml --\nhelmCharts: [{name: tiny}]\n-- charts/tiny/values.yaml --\na: 1\n",
			want: `kustomization.yaml: chart "tiny": no helm renderer is set`,
		},
		{
			name: "chart that does not render", tree: "-- kustomization.yaml --\nhelmCharts: [{name: tiny}]\n-- charts/tiny/values.yaml --\na: 1\n",
			options: Options{Inflate: func(context.Context, Chart) ([]byte, error) {
				return nil, diag.WithHint(errors.New("templates/a.yaml:3: `x` is wrong"), "try y")
			}},
			want: "kustomization.yaml: rendering chart \"tiny\": templates/a.yaml:3: `x` is wrong", hint: "try y",
		},
		{
			name: "chart that prints no objects", tree: "-- kustomization.yaml --\nhelmCharts: [{name: tiny}]\n-- charts/tiny/values.yaml --\na: 1\n",
			options: Options{Inflate: func(context.Context, Chart) ([]byte, error) { return []byte("a: [\n"), nil }},
			want:    `kustomization.yaml: chart "tiny": output of helm`,
		},
		{
			name: "chart without values.yaml", tree: "-- kustomization.yaml --\nhelmCharts: [{name: tiny}]\n-- charts/tiny/Chart.yaml --\nversion: 1\n",
			want: `kustomization.yaml: chart "tiny": `, hint: "unless valuesFile names another",
		},
		{
			name: "literal without key", tree: "-- kustomization.yaml --\nconfigMapGenerator:\n- {name: a, literals: [k=v]}\n- {name: settings, literals: [x]}\n",
			want: `kustomization.yaml: name "settings": loading KV pairs: a literal source is not valid, want key=value`,
		},
		{
			name: "patch file that is none", tree: "-- kustomization.yaml --\nresources: [c.yaml]\npatches: [{path: p.yaml}]\n-- p.yaml --\njust text\n-- c.yaml --\n" + configMap,
			want: `kustomization.yaml: path "p.yaml": unable to parse SM or JSON patch`,
		},
		{
			name: "unknown field of a configuration", tree: "-- top/kustomization.yaml --\nresources: [c.yaml]\nconfigurations: [f.yaml]\n-- top/f.yaml --\nnameReferences: []\n-- top/c.yaml --\n" + configMap,
			want: "top/f.yaml: error unmarshaling JSON: while decoding JSON: json: unknown field \"nameReferences\"",
		},
		{
			name: "panic", tree: "-- kustomization.yaml --\nhelmCharts: [{name: tiny}]\n-- charts/tiny/values.yaml --\na: 1\n",
			options: Options{Inflate: func(context.Context, Chart) ([]byte, error) { panic("sup3rsecret") }},
			want:    "kustomization.yaml: the build panicked (string) at hallmark.dev/hallmark/plugin/overlay.TestBuildErrors",
		},
		{
			name: "chart without name", tree: "-- kustomization.yaml --\nhelmCharts: [{releaseName: x}]\n",
			want: "kustomization.yaml: chart name cannot be empty",
		},
		{
			name: "option as release name", tree: "-- kustomization.yaml --\nhelmCharts: [{name: tiny, releaseName: --post-renderer=x}]\n",
			want: `releaseName "--post-renderer=x" must not start with '-'`,
		},
		{
			name: "two names for a release", tree: "-- kustomization.yaml --\nhelmCharts: [{name: tiny, releaseName: x, nameTemplate: why}]\n",
			want: `chart "tiny": got both releaseName and nameTemplate, want one`,
		},
		{
			name: "wrong merge", tree: "-- kustomization.yaml --\nhelmCharts: [{name: tiny, valuesMerge: deep}]\n",
			want: `valuesMerge is "deep", want "merge", "override" or "replace"`,
		},
		{
			name: "missing values file", tree: "-- kustomization.yaml --\nhelmCharts: [{name: tiny, valuesFile: v.yaml}]\n-- charts/tiny/values.yaml --\na: 1\n",
			want: `kustomization.yaml: chart "tiny": valuesFile "v.yaml": open v.yaml: file does not exist`,
		},
		{
			name: "missing additional values file", tree: "-- kustomization.yaml --\nhelmCharts: [{name: tiny, additionalValuesFiles: [v.yaml]}]\n",
			want: `chart "tiny": additionalValuesFiles "v.yaml": open v.yaml: file does not exist`,
		},
		{
			name: "chart home outside", tree: "-- kustomization.yaml --\nhelmGlobals: {chartHome: ../x}\nhelmCharts: [{name: tiny}]\n",
			want: `chart "tiny": chartHome "../x" leaves the repository`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tree := archiveFS(test.tree)
			dir := "."
			if strings.Contains("\n"+test.tree, "\n-- top") {
				dir = "top"
			}
			objects, err := Build(t.Context(), tree, dir, test.options)
			if err == nil {
				t.Fatalf("got %d objects, want an error", len(objects))
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %s\nwant %s", err, test.want)
			}
			if strings.Contains(err.Error(), mount) {
				t.Errorf("the message shows the mount point: %s", err)
			}
			hint := diag.Hint(err)
			if test.hint == "" && hint != "" || !strings.Contains(hint, test.hint) {
				t.Errorf("hint is %q, want %q", hint, test.hint)
			}
		})
	}
}

// TestErrorsShowNoContent: Kustomize quotes configurations, patches and nodes in
// its messages, and they may be those of a Secret (argo-cd issue 16193).
func TestErrorsShowNoContent(t *testing.T) {
	t.Parallel()
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
	trees := map[string]string{
		"literal without key":       "-- kustomization.yaml --\nsecretGenerator:\n- name: s\n  literals: [sup3rsecret]\n",
		"bad type of a generator":   "-- kustomization.yaml --\nsecretGenerator:\n- name: s\n  behavior: merge\n  literals: [k=sup3rsecret]\n",
		"two generators":            "-- kustomization.yaml --\nsecretGenerator:\n- {name: s, literals: [k=sup3rsecret]}\n- {name: s, literals: [k=sup3rsecret]}\n",
		"env file":                  "-- kustomization.yaml --\nsecretGenerator:\n- name: s\n  envs: [e]\n-- e --\nok=1\n1=sup3rsecret\xff\n",
		"inline patch, malformed":   "-- kustomization.yaml --\nresources: [s.yaml]\npatches:\n- patch: 'stringData: sup3rsecret'\n-- s.yaml --\n" + secret,
		"inline patch, no target":   "-- kustomization.yaml --\nresources: [s.yaml]\npatches:\n- patch: '[{\"op\": \"add\", \"path\": \"/data/k\", \"value\": \"sup3rsecret\"}]'\n-- s.yaml --\n" + secret,
		"JSON patch, bad operation": "-- kustomization.yaml --\nresources: [s.yaml]\npatches:\n- target: {kind: Secret}\n  patch: '[{\"op\": \"test\", \"path\": \"/stringData/k\", \"value\": \"sup3rsecret\"}]'\n-- s.yaml --\n" + secret,
		"two patches with a target": "-- kustomization.yaml --\nresources: [s.yaml]\npatches:\n- target: {kind: Secret}\n  patch: |-\n    " + strings.ReplaceAll(secret, "\n", "\n    ") + "stringData: {k: sup3rsecret}\n    ---\n    " + strings.ReplaceAll(secret, "\n", "\n    ") + "stringData: {k: sup3rsecret}\n-- s.yaml --\n" + secret,
		"stringData of wrong shape": "-- kustomization.yaml --\nresources: [s.yaml]\nsecretGenerator:\n- {name: s, behavior: merge, literals: [a=b]}\n-- s.yaml --\n" + secret + "stringData: [sup3rsecret]\n",
		"data of wrong shape":       "-- kustomization.yaml --\nresources: [s.yaml]\npatches:\n- patch: '{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {k: {x: y}}}'\nreplacements:\n- source: {kind: Secret, fieldPath: data.0.x}\n  targets: [{select: {kind: Secret}, fieldPaths: [data.z]}]\n-- s.yaml --\n" + secret + "data: [sup3rsecret]\n",
		"duplicate key":             "-- kustomization.yaml --\nresources: [s.yaml]\n-- s.yaml --\n" + secret + "stringData: {k: a, k: sup3rsecret}\n",
		"not a string":              "-- kustomization.yaml --\nresources: [s.yaml]\n-- s.yaml --\n" + secret + "stringData: {k: sup3rsecret, 1: x}\n",
		"annotations of wrong type": "-- kustomization.yaml --\nresources: [s.yaml]\ncommonAnnotations: {a: b}\n-- s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: [sup3rsecret]}\n",
		"syntax":                    "-- kustomization.yaml --\nresources: [s.yaml]\n-- s.yaml --\n" + secret + "stringData:\n  k: sup3rsecret: x\n",
		"values":                    "-- kustomization.yaml --\nhelmCharts:\n- name: t\n  valuesInline: {a: {b: c}}\n-- charts/t/values.yaml --\na: sup3rsecret: x\n",
	}
	for name, tree := range trees {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Build(t.Context(), archiveFS(tree), ".", Options{})
			if err == nil {
				t.Fatal("want an error")
			}
			t.Log(err)
			if strings.Contains(err.Error(), "sup3r") {
				t.Errorf("the message shows content: %s", err)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the message has several lines: %q", err)
			}
		})
	}
}
