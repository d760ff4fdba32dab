package chart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The versions that users see in stamps are those that are compiled in.
func TestVersionsMatchModules(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for engine, module := range map[Engine]string{Helm3: "helm.sh/helm/v3", Helm4: "helm.sh/helm/v4"} {
		m := regexp.MustCompile(regexp.QuoteMeta(module) + ` (v\S+)`).FindSubmatch(data)
		if m == nil || string(m[1]) != engine.Version() {
			t.Errorf("%s: got version %s, go.mod has %s", engine, engine.Version(), m)
		}
	}
}

// Messages name the file and the place in one line, whichever way the engine
// reports them.
func TestErrorsArePositioned(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nil pointer", map[string]string{"templates/c.yaml": "a: b\nc: {{ .Values.x.y.z }}\n"},
			"web/templates/c.yaml:2:14: nil pointer evaluating interface {}.y (at <.Values.x.y.z>)"},
		{"required", map[string]string{"templates/c.yaml": "\n{{ required \"x is needed\" .Values.x }}"},
			"web/templates/c.yaml:2:4: x is needed"},
		{"fail", map[string]string{"templates/c.yaml": "{{ fail \"no\\nway\" }}"}, "web/templates/c.yaml:1:4: no way"},
		{"unknown function", map[string]string{"templates/c.yaml": "\n\n{{ nope }}"}, "web/templates/c.yaml:3: function \"nope\" not defined"},
		{"unclosed action", map[string]string{"templates/c.yaml": "a\n{{ .Values"}, "web/templates/c.yaml:2: unclosed action"},
		{"unknown template", map[string]string{"templates/c.yaml": "{{ include \"nope\" . }}"}, `web/templates/c.yaml:1:4: error calling include: template: no template "nope" associated with template "gotpl"`},
		{"inside an include", map[string]string{
			"templates/_h.tpl": "{{ define \"h\" }}\n{{ .Values.x.y.z }}{{ end }}",
			"templates/c.yaml": "a: {{ include \"h\" . }}"},
			"web/templates/_h.tpl:2:11: nil pointer evaluating interface {}.y (at <.Values.x.y.z>), while rendering web/templates/c.yaml"},
		{"bad YAML out", map[string]string{"templates/c.yaml": "a: b\n c: d\n"}, "web/templates/c.yaml:2:"},
		{"list out", map[string]string{"templates/c.yaml": "- a\n"}, "web/templates/c.yaml: the document is a list, want a mapping"},
		{"annotations list", map[string]string{"templates/c.yaml": "kind: A\nmetadata: {annotations: [a]}\n"}, "web/templates/c.yaml: metadata.annotations is a list, want a mapping"},
		{"annotation map", map[string]string{"templates/c.yaml": "kind: A\nmetadata: {annotations: {a: {b: c}}}\n"}, "web/templates/c.yaml: a is a mapping, want a string"},
		{"bad values.yaml", map[string]string{"values.yaml": "a: [b\n", "templates/c.yaml": ""}, "web/values.yaml"},
		{"bad Chart.yaml", map[string]string{"Chart.yaml": "name: [\n"}, "web/Chart.yaml"},
		{"no version", map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\n"}, "web/Chart.yaml: chart.metadata.version"},
		{"library", map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\ntype: library\n"}, "web/Chart.yaml: library charts are not installable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, func(t *testing.T, engine Engine) {
				_, err := render(t, engine, tt.files, Options{})
				wantError(t, err, tt.want)
			})
		})
	}
}

// A panic in an engine is an error, and says nothing of what was in it.
func TestPanicIsAnError(t *testing.T) {
	t.Parallel()
	_, err := guarded(func() (*Output, error) { panic("s3cr3t-marker") })
	if !errors.Is(err, ErrPanic) || strings.Contains(fmt.Sprintf("%+v", err), "s3cr3t-marker") {
		t.Errorf("got error %v, want ErrPanic", err)
	}
}

// Helm 4 has charts of a further version, which `helm template` does not take.
func TestChartVersions(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v3", "V2", "v9"} {
		files := map[string]string{"Chart.yaml": "apiVersion: " + version + "\nname: web\nversion: 1.0.0\n", "templates/c.yaml": configMap("c", "a: b")}
		_, err := render(t, Helm4, files, Options{})
		wantError(t, err, "web/Chart.yaml: Helm 4 does not render charts of apiVersion "+strconv.Quote(version))
		if _, err := render(t, Helm3, files, Options{}); err != nil {
			t.Errorf("Helm 3 and %s: %v", version, err)
		}
	}
}

// Of two fitting versions in charts/ the lower one is taken, by their order as
// versions.
func TestTwoVersionsOfADependency(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine Engine) {
		files := map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: sub, version: \">=0.1.0\"}]\n"}
		for folder, version := range map[string]string{"a": "0.10.0", "b": "0.9.0"} {
			files["charts/"+folder+"/Chart.yaml"] = "apiVersion: v2\nname: sub\nversion: " + version + "\n"
			files["charts/"+folder+"/templates/c.yaml"] = configMap("c", "version: v{{ .Chart.Version }}")
		}
		out, err := render(t, engine, files, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Objects[0].Value["data"].(map[string]any)["version"]; len(out.Objects) != 1 || got != "v0.9.0" {
			t.Errorf("got %d objects and version %v, want one of v0.9.0", len(out.Objects), got)
		}
	})
}

// Nothing is begun for a request that is over.
func TestRenderWithItsContextDone(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine Engine) {
		ch, err := Load(chartFS(map[string]string{"templates/c.yaml": ""}), "web")
		if err != nil {
			t.Fatal(err)
		}
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		o := Options{ReleaseName: "web", SetFile: []Assignment{{Name: "a", Value: "a"}}, ReadFile: func(string) ([]byte, error) {
			cancel(cause)
			return nil, nil
		}}
		if _, err := ch.Render(ctx, engine, o); !errors.Is(err, cause) {
			t.Errorf("done while it renders: got error %v, want the context's cause", err)
		}
		o.ReadFile = func(string) ([]byte, error) { t.Error("the engine ran"); return nil, nil }
		if _, err := ch.Render(ctx, engine, o); !errors.Is(err, cause) {
			t.Errorf("done before: got error %v, want the context's cause", err)
		}
	})
}

// Stream is what a kustomization reads when it inflates the chart.
func TestStream(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine Engine) {
		out, err := render(t, engine, map[string]string{
			"crds/a.yaml":      "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n",
			"templates/c.yaml": configMap("c", "a: b"),
		}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		text := string(out.Stream())
		for _, want := range []string{"---\n# Source: web/crds/a.yaml\napiVersion", "---\n# Source: web/templates/c.yaml\napiVersion: v1\nkind: ConfigMap\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("got\n%s\nwant it to contain\n%s", text, want)
			}
		}
	})
}

// One loaded chart serves renders at once, with both engines.
func TestConcurrentRenders(t *testing.T) {
	t.Parallel()
	ch, err := Load(chartFS(map[string]string{
		"crds/a.yaml":      "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n",
		"values.yaml":      "m: {a: 1}\n",
		"templates/c.yaml": "{{ $_ := set .Values.m \"b\" 2 }}" + configMap("c", "a: {{ toJson .Values.m | quote }}"),
	}), "web")
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan string)
	for i := range 16 {
		go func() {
			out, err := ch.Render(context.Background(), engines[i%2], Options{ReleaseName: "web"})
			if err != nil {
				results <- err.Error()
				return
			}
			results <- string(out.Stream())
		}()
	}
	first := ""
	for range 16 {
		got := strings.TrimSpace(<-results)
		if first == "" {
			first = got
		}
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(first), " ") {
			t.Errorf("got\n%s\nand\n%s", got, first)
		}
	}
}
