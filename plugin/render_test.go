package plugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/evidence"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/source"
	"hallmark.dev/hallmark/plugin/stamp"
)

func memory(files map[string]string) *Request {
	return &Request{Tree: source.Memory(files), Path: "app", App: "web", Namespace: "shop", Revision: "0123456789abcdef"}
}

func (r *Request) with(t *testing.T, assignments ...string) *Request {
	t.Helper()
	for _, a := range assignments {
		if err := r.Parameters.Set(a); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func mustRender(t *testing.T, r *Request) *Result {
	t.Helper()
	result, err := Render(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

const (
	chartYAML = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
	configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n"
)

// The order of discovery is Argo CD's.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files map[string]string
		want  string
	}{
		"plain":                   {map[string]string{"app/a.yaml": configMap}, "plain/v1"},
		"chart":                   {map[string]string{"app/Chart.yaml": chartYAML, "app/templates/a.yaml": configMap}, "helm3/v3.22.0"},
		"kustomization":           {map[string]string{"app/kustomization.yaml": "resources: [a.yaml]\n", "app/a.yaml": configMap}, "kustomize/v5.8.2"},
		"kustomization.yml":       {map[string]string{"app/kustomization.yml": "resources: [a.yaml]\n", "app/a.yaml": configMap}, "kustomize/v5.8.2"},
		"Kustomization":           {map[string]string{"app/Kustomization": "resources: [a.yaml]\n", "app/a.yaml": configMap}, "kustomize/v5.8.2"},
		"kustomization and chart": {map[string]string{"app/kustomization.yaml": "resources: [a.yaml]\n", "app/a.yaml": configMap, "app/Chart.yaml": chartYAML}, "kustomize/v5.8.2"},
		"chart deeper down":       {map[string]string{"app/a.yaml": configMap, "app/sub/Chart.yaml": chartYAML}, "plain/v1"},
		"inflated chart": {map[string]string{
			"app/kustomization.yaml": "helmCharts: [{name: web, releaseName: web}]\n", "app/charts/web/Chart.yaml": chartYAML,
			"app/charts/web/values.yaml": "a: b\n", "app/charts/web/templates/a.yaml": configMap,
		}, "kustomize/v5.8.2+helm3/v3.22.0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := mustRender(t, memory(tt.files)).Provenance.Renderer; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// The three forms of the example are one service.
func TestExamplesAgree(t *testing.T) {
	t.Parallel()
	tree, err := source.Dir("../examples", source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	render := func(folder string, assignments ...string) map[string]any {
		r := &Request{Tree: tree, Path: folder, App: "checkout", Namespace: "shop"}
		out := map[string]any{}
		for _, o := range mustRender(t, r.with(t, assignments...)).Objects {
			value := stamp.Strip(o).Value
			out[o.Kind()+"/"+generic(o.ID().Name)] = normal(value)
		}
		return out
	}
	chart3 := render("checkout", "value-files[]=values-production.yaml")
	if len(chart3) != 8 {
		t.Fatalf("got %d objects, want 8", len(chart3))
	}
	for name, other := range map[string]map[string]any{
		"helm4":     render("checkout", "renderer=helm4", "value-files[]=values-production.yaml"),
		"kustomize": render("checkout-kustomize/overlays/production"),
		"plain":     render("checkout-plain"),
	} {
		if diff := cmp.Diff(chart3, other); diff != "" {
			t.Errorf("helm3 (-) and %s (+) differ:\n%s", name, diff)
		}
	}
}

// generic drops the hash that Kustomize puts behind a generated name.
func generic(name string) string {
	if head, tail, found := strings.Cut(name, "checkout-"); found && len(tail) == 10 && !strings.Contains(tail, "-") && head == "" {
		return "checkout"
	}
	return name
}

// normal leaves out what each form has of its own: the chart's checksum, the
// generated names.
func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if k != "checksum/config" {
				out[k] = normal(e)
			}
		}
		for _, k := range []string{"annotations", "labels"} {
			if m, ok := out[k].(map[string]any); ok && len(m) == 0 {
				delete(out, k)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = normal(e)
		}
		return out
	case string:
		return generic(v)
	}
	return v
}

// The inputs hash is over what was read: a commit elsewhere does not move it.
func TestInputsHashCoversWhatWasRead(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"app/Chart.yaml": chartYAML, "app/templates/a.yaml": configMap, "app/values.yaml": "a: b\n",
		"shared.yaml": "c: d\n", "other/b.yaml": "x: y\n",
	}
	base := func() *Request { return memory(files).with(t, "value-files[]=/shared.yaml") }
	hash := func(r *Request) string { return mustRender(t, r).Provenance.InputsHash }
	want := hash(base())
	changed := func(name, content string) *Request {
		r := base()
		other := maps.Clone(files)
		other[name] = content
		r.Tree = source.Memory(other)
		return r
	}
	for name, r := range map[string]*Request{
		"another file of the repository": changed("other/b.yaml", "x: z\n"),
		"a new file elsewhere":           changed("other/c.yaml", "x: z\n"),
		"another revision":               func() *Request { r := base(); r.Revision = "f"; return r }(),
	} {
		if got := hash(r); got != want {
			t.Errorf("%s moves the inputs hash", name)
		}
	}
	for name, r := range map[string]*Request{
		"a template":      changed("app/templates/a.yaml", configMap+"\n"),
		"a value file":    changed("shared.yaml", "c: e\n"),
		"hallmark.yaml":   changed("app/hallmark.yaml", "apiVersion: hallmark.dev/v1\nkind: Render\n"),
		"a parameter":     base().with(t, "helm-parameters[x]=1"),
		"the renderer":    base().with(t, "renderer=helm4"),
		"the name":        func() *Request { r := base(); r.App = "web2"; return r }(),
		"the namespace":   func() *Request { r := base(); r.Namespace = "shop2"; return r }(),
		"kube version":    func() *Request { r := base(); r.KubeVersion = "1.31"; return r }(),
		"an API version":  func() *Request { r := base(); r.APIVersions = []string{"a/v1"}; return r }(),
		"the environment": func() *Request { r := base(); return r.with(t, "helm-parameters[x]=$ARGOCD_APP_REVISION") }(),
	} {
		if got := hash(r); got == want {
			t.Errorf("%s does not move the inputs hash", name)
		}
	}
}

// Equal requests give equal bytes, the same through every kind of tree.
func TestSameRequestSameResult(t *testing.T) {
	t.Parallel()
	tree, err := source.Dir("../examples", source.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	if err := source.Walk(os.DirFS("../examples"), ".", func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path.Join("../examples", name))
		files[name] = string(data)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"checkout", "checkout-kustomize/overlays/staging", "checkout-plain"} {
		var first *Result
		for range 4 {
			for _, tr := range []*source.Tree{tree, source.Memory(files)} {
				got := mustRender(t, &Request{Tree: tr, Path: folder, App: "checkout", Namespace: "shop", Revision: "a"})
				if first == nil {
					first = got
				}
				if diff := cmp.Diff(first.Objects, got.Objects); diff != "" {
					t.Errorf("%s: two renders differ:\n%s", folder, diff)
				}
			}
		}
	}
}

// What Argo CD writes into objects does not move a hash (argo-cd 23815).
func TestTrackingDoesNotMoveHashes(t *testing.T) {
	t.Parallel()
	result := mustRender(t, memory(map[string]string{"app/a.yaml": configMap}))
	tracked := slices.Clone(result.Objects)
	meta := tracked[0].Value["metadata"].(map[string]any)
	meta["annotations"].(map[string]any)["argocd.argoproj.io/tracking-id"] = "web:/ConfigMap:shop/a"
	meta["labels"] = map[string]any{"app.kubernetes.io/instance": "web"}
	report, err := stamp.Verify(tracked, stamp.Options{})
	if err != nil || !report.OK() {
		t.Errorf("got findings %v and error %v", report.Findings, err)
	}
}

// In a kustomization the fields of an inflated chart are found where the overlay
// put them, and forgotten where it overwrites them.
func TestDeterminismThroughKustomize(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"app/kustomization.yaml":          "namePrefix: prod-\nhelmCharts: [{name: web, releaseName: web}]\n",
		"app/charts/web/Chart.yaml":       chartYAML,
		"app/charts/web/values.yaml":      "a: b\n",
		"app/charts/web/templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {at: {{ now | unixEpoch | quote }}, b: c}\n",
	}
	_, err := Render(context.Background(), memory(files))
	if err == nil || !strings.Contains(err.Error(), `ConfigMap "prod-a" field /data/at differs from render to render, because of now in web/templates/a.yaml:4`) {
		t.Errorf("got error %v", err)
	}
	result := mustRender(t, memory(files).with(t, "determinism=warn"))
	want := []evidence.Ignored{{Object: object.ID{Kind: "ConfigMap", Name: "prod-a"}, Pointer: "/data/at", Template: "web/templates/a.yaml", Function: "now"}}
	if diff := cmp.Diff(want, result.Evidence.Ignored); diff != "" {
		t.Errorf("ignored fields (-want +got):\n%s", diff)
	}
	ignore, err := RecordedFields(result.Evidence)
	if err != nil {
		t.Fatal(err)
	}
	report, err := stamp.Verify(result.Objects, stamp.Options{Ignore: ignore})
	if err != nil || !report.OK() {
		t.Errorf("got findings %v and error %v", report.Findings, err)
	}

	files["app/kustomization.yaml"] += "patches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {at: fixed}}'}]\n"
	if _, err := Render(context.Background(), memory(files)); err != nil {
		t.Errorf("the overlay overwrites the field, and still: %v", err)
	}
	files["app/charts/web/templates/b.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b-{{ randAlpha 9 | lower }}}\n"
	for _, mode := range []string{"enforce", "warn"} {
		if _, err := Render(context.Background(), memory(files).with(t, "determinism="+mode)); err == nil {
			t.Errorf("%s accepts an object whose name differs", mode)
		}
	}
}

// What differs in warn mode may be a field, never the set of objects.
func TestWarnKeepsTheSetOfObjects(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"app/Chart.yaml":       chartYAML,
		"app/templates/a.yaml": "{{ range until (randInt 1 9) }}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a{{ . }}}\n{{ end }}",
	}
	_, err := Render(context.Background(), memory(files).with(t, "determinism=warn"))
	if err == nil || !strings.Contains(err.Error(), "web/templates/a.yaml: the number or kind of the documents differs from render to render, because of randInt") {
		t.Errorf("got error %v", err)
	}
}

// A render that would fail at another time or with other random values is
// refused with what it would say.
func TestFailureOfAnotherRender(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"app/Chart.yaml":       chartYAML,
		"app/templates/a.yaml": "{{ if gt (now | date \"2006\" | atoi) {{YEAR}} }}{{ fail \"the licence has run out\" }}{{ end }}" + configMap,
	}
	files["app/templates/a.yaml"] = strings.ReplaceAll(files["app/templates/a.yaml"], "{{YEAR}}", time.Now().Format("2006"))
	_, err := Render(context.Background(), memory(files))
	if err == nil || !strings.Contains(err.Error(), "rendering fails at another time or with other random values: web/templates/a.yaml:1:") {
		t.Errorf("got error %v", err)
	}
}

// A variable of the build environment is not another source.
func TestVariablesInValueFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"app/Chart.yaml": chartYAML, "app/templates/a.yaml": configMap, "app/web.yaml": "", "app/web-values.yaml": "", "app/shop/web.yaml": "",
		"web.yaml": "",
	}
	for _, name := range []string{"$ARGOCD_APP_NAME.yaml", "$ARGOCD_APP_NAME-values.yaml", "${ARGOCD_APP_NAME}.yaml", "$ARGOCD_APP_NAMESPACE/$ARGOCD_APP_NAME.yaml", "$ARGOCD_ENV_EMPTY/web.yaml"} {
		if _, err := Render(context.Background(), memory(files).with(t, "value-files[]="+name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"$values/web.yaml", "$other-repo/web.yaml"} {
		_, err := Render(context.Background(), memory(files).with(t, "value-files[]="+name))
		if err == nil || !strings.Contains(err.Error(), "of a multi-source Application") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

func TestRequestErrors(t *testing.T) {
	t.Parallel()
	files := map[string]string{"app/Chart.yaml": chartYAML, "app/templates/a.yaml": configMap}
	tests := map[string]struct {
		request *Request
		want    string
		hint    string
	}{
		"path missing":     {func() *Request { r := memory(files); r.Path = "nope"; return r }(), `application path "nope" does not exist`, ""},
		"path is a file":   {func() *Request { r := memory(files); r.Path = "app/Chart.yaml"; return r }(), "is a file, want a folder", ""},
		"path leaves":      {func() *Request { r := memory(files); r.Path = "../app"; return r }(), "leaves the repository root", ""},
		"release name":     {func() *Request { r := memory(files); r.App = "Web_App"; return r }(), `release name "App"`, "release-name"},
		"kube version":     {memory(files).with(t, "kube-version=new"), `kube-version "new"`, ""},
		"replicas":         {memory(files).with(t, "renderer=kustomize", "kustomize-replicas[web]=many"), `kustomize-replicas[web]: got "many"`, ""},
		"patches":          {memory(files).with(t, "renderer=kustomize", "kustomize-patches=a: b"), "kustomize-patches: want a YAML list", ""},
		"renderer":         {memory(files).with(t, "renderer=jsonnet"), `parameter "renderer": got "jsonnet"`, ""},
		"no kustomization": {memory(files).with(t, "renderer=kustomize"), "kustomization", ""},
		"objects": {func() *Request {
			r := memory(map[string]string{"app/a.yaml": configMap + "---\n" + strings.Replace(configMap, "name: a", "name: b", 1)})
			r.Limits.Objects = 1
			return r
		}(), "more than limits.objects allows (1)", "limits.objects"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := Render(context.Background(), tt.request)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got error %v, want %q", err, tt.want)
			}
			if result != nil {
				t.Error("got a result beside the error")
			}
			if !strings.Contains(diag.Hint(err), tt.hint) {
				t.Errorf("got hint %q, want %q", diag.Hint(err), tt.hint)
			}
		})
	}
}

// Whatever a renderer does, the caller gets an answer when its time is over, and
// is told when the work has ended.
func TestTimeBoundsEveryRender(t *testing.T) {
	t.Parallel()
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	block, ended := make(chan struct{}), make(chan struct{})
	r := &Request{Ended: func() { close(ended) }}
	_, err := within(ctx, r, func(context.Context, *crew) (int, error) { <-block; return 1, nil })
	if !errors.Is(err, cause) {
		t.Errorf("got error %v, want the context's cause", err)
	}
	select {
	case <-ended:
		t.Error("the render has ended before its work")
	default:
	}
	close(block)
	<-ended
	_, err = within(context.Background(), &Request{}, func(context.Context, *crew) (int, error) { panic("s3cr3t-marker") })
	if !errors.Is(err, ErrPanic) {
		t.Errorf("got error %v, want that of a panic", err)
	}
}

// A template that loops costs its request its time and no more.
func TestEndlessTemplate(t *testing.T) {
	t.Parallel()
	for _, renderer := range []string{RendererHelm3, RendererHelm4} {
		r := memory(map[string]string{
			"app/Chart.yaml":       chartYAML,
			"app/templates/a.yaml": "{{ range until 3000 }}{{ range until 10000 }}{{ end }}{{ end }}",
		})
		if err := r.Parameters.Set("renderer=" + renderer); err != nil {
			t.Fatal(err)
		}
		r.Limits.RenderTime = 10 * time.Millisecond
		limit := (*LimitError)(nil)
		if _, err := Render(context.Background(), r); !errors.As(err, &limit) || limit.Limit != "renderTime" {
			t.Errorf("%s: got error %v, want limit renderTime", renderer, err)
		}
	}
}

// Kustomize builds one kustomization at a time. A chart in one that does not end
// costs its request its time, and the next kustomization is built.
func TestEndlessTemplateInKustomization(t *testing.T) {
	t.Parallel()
	endless := memory(map[string]string{
		"app/kustomization.yaml":          "helmGlobals: {chartHome: charts}\nhelmCharts: [{name: web}]\n",
		"app/charts/web/Chart.yaml":       chartYAML,
		"app/charts/web/values.yaml":      "",
		"app/charts/web/templates/a.yaml": "{{ range until 3000 }}{{ range until 10000 }}{{ end }}{{ end }}",
	})
	ended := make(chan struct{})
	endless.Ended = func() { close(ended) }
	endless.Limits.RenderTime = 50 * time.Millisecond
	limit := (*LimitError)(nil)
	if _, err := Render(context.Background(), endless); !errors.As(err, &limit) {
		t.Fatalf("got error %v, want a limit", err)
	}
	select {
	case <-ended:
		t.Error("the template has ended; it is no test of one that does not")
	default:
	}
	mustRender(t, memory(map[string]string{"app/kustomization.yaml": "resources: [a.yaml]\n", "app/a.yaml": configMap}))
	<-ended
}

// A few hundred bytes of aliases are gigabytes for a parser without a bound.
func TestAliasesAreBounded(t *testing.T) {
	t.Parallel()
	bomb := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx0: &x0 [a,a,a,a,a,a,a,a,a]\n"
	for i := 1; i < 9; i++ {
		bomb += fmt.Sprintf("x%d: &x%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d,", i-1), 9), ","))
	}
	for _, files := range []map[string]string{
		{"app/a.yaml": bomb},
		{"app/kustomization.yaml": "resources: [a.yaml]\n", "app/a.yaml": bomb},
		{"app/kustomization.yaml": "resources: [b.yaml]\npatches: [{path: a.yaml}]\n", "app/a.yaml": bomb, "app/b.yaml": configMap},
		{"app/kustomization.yaml": "resources: [b.yaml]\npatches:\n- patch: |\n    " + strings.ReplaceAll(bomb, "\n", "\n    ") + "\n", "app/b.yaml": configMap},
		{"app/Chart.yaml": chartYAML, "app/templates/a.yaml": bomb},
		{"app/Chart.yaml": chartYAML, "app/values.yaml": bomb},
	} {
		if _, err := Render(context.Background(), memory(files)); err == nil || !strings.Contains(err.Error(), "aliases expand the document") && !strings.Contains(err.Error(), "document contains") {
			t.Errorf("%q: got error %v", slices.Sorted(maps.Keys(files)), err)
		}
	}
	// Anchors that are used as they are meant to be.
	mustRender(t, memory(map[string]string{
		"app/kustomization.yaml": "resources: [a.yaml]\n",
		"app/a.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: &l {x: y}, annotations: *l}\n",
	}))
}

// An empty list of API versions means Helm's defaults, not one empty entry.
func TestEmptyAPIVersions(t *testing.T) {
	t.Parallel()
	r := memory(map[string]string{
		"app/Chart.yaml":       chartYAML,
		"app/templates/a.yaml": `{{ if .Capabilities.APIVersions.Has "" }}{{ fail "an empty API version" }}{{ end }}` + configMap,
	})
	r.APIVersions = []string{"", " "}
	mustRender(t, r)
}
