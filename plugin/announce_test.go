package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v2/reposerver/apiclient"
	"github.com/google/go-cmp/cmp"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/plugin/source"
)

func TestParametersAreDescribed(t *testing.T) {
	t.Parallel()
	for _, s := range Specs() {
		if got := strings.ReplaceAll(strings.ToLower(s.Title), " ", "-"); got != s.Name {
			t.Errorf("%s: the title %q is not the name in words", s.Name, s.Title)
		}
		if !strings.HasSuffix(s.Tooltip, ".") || strings.Count(s.Tooltip, ". ") > 2 {
			t.Errorf("%s: the tooltip is not a sentence or two: %q", s.Name, s.Tooltip)
		}
		if !slices.Contains([]string{"string", "array", "map"}, s.Type) {
			t.Errorf("%s: collection type %q", s.Name, s.Type)
		}
		if !slices.Contains([]string{"string", "boolean", "number"}, s.ItemType) || s.Boolean != (s.ItemType == "boolean") {
			t.Errorf("%s: item type %q, boolean %v", s.Name, s.ItemType, s.Boolean)
		}
	}
}

// Argo CD decodes the output of `hallmark parameters` into its own type.
func TestAnnouncementsAreArgoCDs(t *testing.T) {
	t.Parallel()
	list, err := Announce(context.Background(), memory(map[string]string{
		"app/Chart.yaml": chartYAML, "app/values.yaml": "a: [b, c]\n",
		"app/hallmark.yaml": "apiVersion: hallmark.dev/v1\nkind: Render\nspec: {value-files: [values.yaml], skip-crds: true}\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var got []*apiclient.ParameterAnnouncement
	if err := decoder.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(Specs()) {
		t.Fatalf("got %d parameters, want %d", len(got), len(Specs()))
	}
	for i, g := range got {
		back := Announcement{g.Name, g.Title, g.Tooltip, g.Required, g.ItemType, g.CollectionType, g.String_, g.Array, g.Map}
		if diff := cmp.Diff(list[i], back); diff != "" {
			t.Errorf("announced (-), decoded (+):\n%s", diff)
		}
	}
}

// shown are the announcements with a value, by name.
func shown(list []Announcement) map[string]any {
	out := map[string]any{}
	for _, a := range list {
		switch {
		case a.String != "":
			out[a.Name] = a.String
		case len(a.Array) > 0:
			out[a.Name] = a.Array
		case len(a.Map) > 0:
			out[a.Name] = a.Map
		}
	}
	return out
}

func TestAnnounce(t *testing.T) {
	t.Parallel()
	type m = map[string]string
	type l = []string
	const render = "apiVersion: hallmark.dev/v1\nkind: Render\nspec:\n"
	// Shown for every application; nil takes an entry away.
	always := map[string]any{
		"release-name": "web", "namespace": "shop", "determinism": "enforce", "random-generation": "0", "kustomize-helm": "helm3",
	}
	for _, s := range Specs() {
		if s.Boolean {
			always[s.Name] = "false"
		}
	}
	deployment := func(images ...string) string {
		text := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n"
		for i, image := range images {
			text += fmt.Sprintf("      - {name: c%d, image: %q}\n", i, image)
		}
		return text
	}
	tests := map[string]struct {
		files   m
		given   l
		want    map[string]any
		err     string
		tooltip string // part of that of helm-parameters
	}{
		"plain": {files: m{"app/a.yaml": configMap}, want: map[string]any{"renderer": "plain"}},
		"chart": {
			files: m{"app/Chart.yaml": chartYAML, "app/values.yaml": "image: {tag: v1}\nhosts: [a, b]\nport: '8080'\ncost: $5\n"},
			want: map[string]any{
				"renderer":               "helm3",
				"helm-parameters":        m{"image.tag": "v1", "hosts[0]": "a", "hosts[1]": "b", "cost": "$$5"},
				"helm-string-parameters": m{"port": "8080"},
			},
		},
		"files and values over the chart": {
			files: m{
				"app/Chart.yaml": chartYAML, "app/values.yaml": "a: 1\nb: 1\nc: 1\nd: 1\n", "app/prod.yaml": "b: 2\nc: 2\nd: null\n",
				"app/hallmark.yaml": render + "  value-files: [prod.yaml]\n  values: {c: 3}\n",
			},
			want: map[string]any{
				"renderer": "helm3", "value-files": l{"prod.yaml"}, "values": "c: 3\n", "helm-parameters": m{"a": "1", "b": "2", "c": "3"},
			},
		},
		"the Application's files": {
			files: m{"app/Chart.yaml": chartYAML, "app/values.yaml": "a: 1\n", "app/prod.yaml": "a: 2\n", "app/test.yaml": "a: 3\n",
				"app/hallmark.yaml": render + "  value-files: [prod.yaml]\n"},
			given: l{"value-files[]=test.yaml"},
			want:  map[string]any{"renderer": "helm3", "value-files": l{"prod.yaml"}, "helm-parameters": m{"a": "3"}},
		},
		"the Application's values": {
			files: m{"app/Chart.yaml": chartYAML, "app/values.yaml": "a: {b: 1, c: 1}\n", "app/hallmark.yaml": render + "  values: {a: {c: 2}}\n"},
			given: l{"values=a: {b: s3cr3t}\nd: s3cr3t"},
			want:  map[string]any{"renderer": "helm3", "values": "a:\n  c: 2\n", "helm-parameters": m{"a.c": "1"}},
		},
		"the Application's values that are no YAML": {
			files: m{"app/Chart.yaml": chartYAML, "app/values.yaml": "a: 1\n"},
			given: l{"values=a: s3cr3t: b"},
			want:  map[string]any{"renderer": "helm3"},
			err:   "parameter values: ",
		},
		"assignments of the file": {
			files: m{"app/Chart.yaml": chartYAML, "app/values.yaml": "a: {b: 1, c: 1}\nd: [1, 2]\ne: '1'\n",
				"app/hallmark.yaml": render + "  helm-parameters: {a.b: $ARGOCD_APP_NAME, 'd[0]': '7'}\n  helm-string-parameters: {e: '2'}\n"},
			want: map[string]any{
				"renderer": "helm3", "helm-parameters": m{"a.b": "$ARGOCD_APP_NAME", "a.c": "1", "d[0]": "7"}, "helm-string-parameters": m{"e": "2"},
			},
		},
		"what the Application assigns in another way": {
			files: m{"app/Chart.yaml": chartYAML, "app/values.yaml": "a: x\nb: '1'\nc: x\nd: x\n", "app/f": "x"},
			given: l{"helm-string-parameters[a]=x", "helm-parameters[b]=2", "helm-file-parameters[c]=f", "helm-parameters[d]=y"},
			want:  map[string]any{"renderer": "helm3", "helm-parameters": m{"d": "x"}},
		},
		"what an assignment cannot give": {
			files:   m{"app/Chart.yaml": chartYAML, "app/values.yaml": "a: 0.5\nb: [{}]\nc: 1\n"},
			want:    map[string]any{"renderer": "helm3", "helm-parameters": m{"c": "1"}},
			tooltip: "Not shown are 2 more",
		},
		"ciphertext": {
			files: m{"app/Chart.yaml": chartYAML, "app/values.yaml": "a: ENC[AES256_GCM,data:eA==,type:str]\nb: {c: ['ENC[AES256_GCM,data:eA==,type:str]', x], d: x}\n" +
				"sops: {age: [{recipient: age1, enc: x}], lastmodified: '2026-01-02T03:04:05Z', mac: 'ENC[AES256_GCM,data:eA==,type:str]'}\n"},
			want: map[string]any{"renderer": "helm3", "helm-parameters": m{"b.d": "x"}},
		},
		"a chart whose templates fail": {
			files: m{"app/Chart.yaml": chartYAML, "app/values.yaml": "a: 1\n", "app/templates/a.yaml": `{{ fail "no" }}`},
			want:  map[string]any{"renderer": "helm3", "helm-parameters": m{"a": "1"}},
		},
		"values that are no YAML": {
			files: m{"app/Chart.yaml": chartYAML, "app/values.yaml": "a: s3cr3t: b\n"},
			want:  map[string]any{"renderer": "helm3"},
			err:   "app/values.yaml: ",
		},
		"a value file that is missing": {
			files: m{"app/Chart.yaml": chartYAML, "app/values.yaml": "a: 1\n"},
			given: l{"value-files[]=none.yaml"},
			want:  map[string]any{"renderer": "helm3"},
			err:   `value file "none.yaml" does not exist`,
		},
		"a pin of another version": {
			files: m{"app/Chart.yaml": chartYAML, "app/hallmark.yaml": render + "  renderer-version: v3.1.0\n"},
			want:  map[string]any{"renderer": "helm3", "renderer-version": "v3.1.0"},
			err:   "renderer-version pins",
		},
		"a renderer that the Application names": {
			files: m{"app/Chart.yaml": chartYAML, "app/values.yaml": "a: 1\n"},
			given: l{"renderer=plain", "release-name=other", "skip-tests=true"},
			want:  map[string]any{"renderer": "helm3"},
		},
		"hallmark.yaml": {
			files: m{"app/a.yaml": configMap, "app/hallmark.yaml": render + "  allow-empty: true\n  determinism: warn\n  directory-include: a.yaml\n  release-name: ''\n  api-versions: [a/v1]\n"},
			want:  map[string]any{"renderer": "plain", "allow-empty": "true", "determinism": "warn", "directory-include": "a.yaml", "api-versions": l{"a/v1"}},
		},
		"hallmark.yaml that is broken": {
			files: m{"app/a.yaml": configMap, "app/hallmark.yaml": render + "  valuefiles: [s3cr3t]\n"},
			err:   `unknown parameter "valuefiles"`,
		},
		"no such folder": {files: m{"a.yaml": configMap}, want: map[string]any{"renderer": "plain"}, err: `application path "app" does not exist`},
		"kustomization": {
			files: m{
				"app/kustomization.yaml": "resources: [d.yaml]\nimages: [{name: old, newName: r.example:5000/new, newTag: v2}]\n",
				"app/d.yaml":             deployment("old", "two:v1", "two:v2", "r/three:v1@sha256:ab", "one@sha256:ab", "bare", "$(VAR):v1", "two:v1", "once:v1", "once:v1"),
			},
			want: map[string]any{"renderer": "kustomize", "kustomize-images": l{"once:v1", "one@sha256:ab", "r.example:5000/new:v2", "r/three:v1@sha256:ab"}},
		},
		"images of the file": {
			files: m{
				"app/kustomization.yaml": "resources: [d.yaml]\n", "app/d.yaml": deployment("a:v1", "b:v1", "c:v1"),
				"app/hallmark.yaml": render + "  kustomize-images: ['b=x:v2', 'a:$ARGOCD_APP_REVISION_SHORT']\n",
			},
			given: l{"kustomize-images[]=c:v9"},
			want:  map[string]any{"renderer": "kustomize", "kustomize-images": l{"b=x:v2", "a:$ARGOCD_APP_REVISION_SHORT", "c:v1"}},
		},
		"a kustomization that does not build": {
			files: m{"app/kustomization.yaml": "resources: [none.yaml]\n"},
			want:  map[string]any{"renderer": "kustomize"},
			err:   "none.yaml",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := Announce(context.Background(), memory(tt.files).with(t, tt.given...))
			switch {
			case tt.err == "" && err != nil:
				t.Errorf("got error %v", err)
			case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("got error %v, want %q", err, tt.err)
			case err != nil && strings.Contains(err.Error()+diag.Hint(err), "s3cr3t"):
				t.Errorf("the error %q quotes a value", err)
			}
			want := maps.Clone(always)
			maps.Copy(want, tt.want)
			if diff := cmp.Diff(want, shown(list)); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
			if len(list) != len(Specs()) {
				t.Errorf("got %d parameters, want %d", len(list), len(Specs()))
			}
			for _, a := range list {
				if a.Name == "helm-parameters" && !strings.Contains(a.Tooltip, tt.tooltip) {
					t.Errorf("got tooltip %q, want %q in it", a.Tooltip, tt.tooltip)
				}
			}
		})
	}
}

// What Argo CD 2.14 sends for announcements is less than for a render.
func TestAnnounceNeedsLittle(t *testing.T) {
	t.Parallel()
	list, err := Announce(context.Background(), &Request{
		Tree: source.Memory(map[string]string{"app/Chart.yaml": chartYAML, "app/values.yaml": "a: 1\n"}),
		Path: "app", App: "team-a_web", APIVersions: []string{""},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := shown(list)
	if got["release-name"] != "web" || got["namespace"] != nil || got["api-versions"] != nil || got["helm-parameters"] == nil {
		t.Errorf("got %v", got)
	}
}

func TestAnnounceInTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	list, err := Announce(ctx, memory(map[string]string{"app/a.yaml": configMap}))
	if err != nil && len(list) != len(Specs()) {
		t.Errorf("got %d parameters with error %v, want %d", len(list), err, len(Specs()))
	}
	r := memory(map[string]string{"app/kustomization.yaml": "resources: [a.yaml]\n", "app/a.yaml": configMap})
	r.Limits.RenderTime = time.Nanosecond
	// On a busy machine the work can be done before the timer is looked at.
	for range 1000 {
		if list, err = Announce(context.Background(), r); err != nil {
			break
		}
	}
	if err == nil || len(list) != len(Specs()) {
		t.Errorf("got %d parameters with error %v, want %d and an error", len(list), err, len(Specs()))
	}
}

// The UI saves all that is shown when one entry is edited: to give everything
// that was announced must not change the objects.
func TestShownIsExact(t *testing.T) {
	t.Parallel()
	examples, err := source.Dir("../examples", source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	dump := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata:\n  all: {{ toJson .Values | quote }}\n  plain: {{ printf \"%v\" .Values | quote }}\n"
	values := "a: {'b.c': 'x,y', 'd,e': '\\', f: '{z}'}\ng: [1, {h: 'i', j: [k, 'l=m']}]\nn: '1'\no: 'true'\np: 0.5\nq: 1234567\nr: $ARGOCD_APP_NAME\ns: $$\nt: {}\nu: []\n" +
		"v: ['$x', '\\,']\nw: 0\nx: '0'\ny: '007'\nz: \"two\\nlines\"\naa: [{}]\nab: ['1', 2]\nac: 'null'\n"
	tests := map[string]*Request{
		"example chart":            {Tree: examples, Path: "checkout", App: "checkout", Namespace: "shop"},
		"example kustomization":    {Tree: examples, Path: "checkout-kustomize/overlays/production", App: "checkout", Namespace: "shop"},
		"values of all kinds":      memory(map[string]string{"app/Chart.yaml": chartYAML, "app/values.yaml": values, "app/templates/c.yaml": dump}),
		"values over other values": memory(map[string]string{"app/Chart.yaml": chartYAML, "app/values.yaml": values, "app/over.yaml": "g: [9]\na: {'b.c': 2}\nq: 7654321\n", "app/templates/c.yaml": dump}).with(t, "value-files[]=over.yaml", "values=g: [8, {i: '7'}]\nn: '4'"),
		"assignments": memory(map[string]string{
			"app/Chart.yaml": chartYAML, "app/values.yaml": values, "app/templates/c.yaml": dump,
			"app/hallmark.yaml": "apiVersion: hallmark.dev/v1\nkind: Render\nspec:\n  helm-parameters: {'g': '{1,2}', n: '2', w: 'null', 'a.b\\.c': $ARGOCD_APP_NAME}\n  helm-string-parameters: {p: '1', 'ab[0]': '3'}\n",
		}),
		"kustomization with images": memory(map[string]string{
			"app/kustomization.yaml": "resources: [p.yaml]\nimages: [{name: a, newName: b, newTag: v2}]\n",
			"app/p.yaml":             "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: a}, {name: c, image: 'c:v1'}, {name: d, image: 'c:v2'}, {name: e, image: 'e@sha256:ab'}]}\n",
			"app/hallmark.yaml":      "apiVersion: hallmark.dev/v1\nkind: Render\nspec: {kustomize-images: ['e=f:v1']}\n",
		}),
	}
	for name, r := range tests {
		for _, renderer := range []string{RendererHelm3, RendererHelm4, RendererKustomize} {
			kustomize := strings.Contains(name, "kustomization")
			if kustomize != (renderer == RendererKustomize) {
				continue
			}
			t.Run(name+" "+renderer, func(t *testing.T) {
				t.Parallel()
				request := *r
				given := (&Request{}).with(t, "renderer="+renderer)
				request.Parameters = request.Parameters.override(given.Parameters)
				before := mustRender(t, &request)
				list, err := Announce(context.Background(), &request)
				if err != nil {
					t.Fatal(err)
				}
				values := shown(list)
				if values["helm-parameters"] == nil && values["kustomize-images"] == nil {
					t.Fatal("neither values nor images are shown")
				}
				saved := Parameters{}
				for parameter, value := range values {
					if err := saved.assign(parameter, value); err != nil {
						t.Fatal(err)
					}
				}
				request.Parameters = saved.override(request.Parameters)
				if after := mustRender(t, &request); after.RenderHash != before.RenderHash {
					t.Errorf("with everything that is shown, the objects are\n%v\nand without it\n%v", after.Objects, before.Objects)
				}
			})
		}
	}
}
