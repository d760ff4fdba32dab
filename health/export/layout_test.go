package export

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"sigs.k8s.io/yaml"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/eval"
	"hallmark.dev/hallmark/lua/vm"
)

// healthTest is a health_test.yaml as Argo CD reads it.
type healthTest struct {
	Tests []struct {
		InputPath    string `json:"inputPath"`
		HealthStatus struct {
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"healthStatus"`
	} `json:"tests"`
}

// passes does what Argo CD's TestLuaHealthScript does with the files: for each
// folder with a health.lua it reads the tests beside it, has the object choose its
// script, and wants the exact verdict. It returns how many tests there are.
func passes(t *testing.T, files map[string][]byte) int {
	t.Helper()
	n := 0
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if !strings.Contains(file, "health.lua") {
			continue
		}
		dir := path.Dir(file)
		var tests healthTest
		if err := yaml.Unmarshal(files[dir+"/health_test.yaml"], &tests); err != nil || files[dir+"/health_test.yaml"] == nil {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, test := range tests.Tests {
			n++
			object := map[string]any{}
			if err := yaml.Unmarshal(files[path.Join(dir, test.InputPath)], &object); err != nil || len(object) == 0 {
				t.Fatalf("%s: %d keys, %v", test.InputPath, len(object), err)
			}
			got, err := vm.Run(chosen(files, object), true, object)
			if want := (vm.Verdict{Status: test.HealthStatus.Status, Message: test.HealthStatus.Message}); err != nil || got != want {
				t.Errorf("%s/%s: got %+v, %v, want %+v", dir, test.InputPath, got, err, want)
			}
		}
	}
	return n
}

// chosen is the script that Argo CD 3.1 and later take for an object: that of the
// folder with its name, or of the first with a "_" that it matches.
func chosen(files map[string][]byte, object map[string]any) string {
	version, kind := object["apiVersion"].(string), object["kind"].(string)
	name := kind
	if group, _, grouped := strings.Cut(version, "/"); grouped {
		name = group + "/" + kind
	}
	if lua, ok := files[name+"/health.lua"]; ok {
		return string(lua)
	}
	var folders []string
	for file := range files {
		if dir, ok := strings.CutSuffix(file, "/health.lua"); ok && strings.Contains(dir, "_") {
			folders = append(folders, dir)
		}
	}
	for _, dir := range slices.Sorted(slices.Values(folders)) {
		if doublestar.PathMatchUnvalidated(strings.ReplaceAll(dir, "_", "*"), name) {
			return string(files[dir+"/health.lua"])
		}
	}
	return ""
}

// TestLayoutOfLibrary writes every check that ships, with its cases.
func TestLayoutOfLibrary(t *testing.T) {
	t.Parallel()
	var checks []*health.Check
	cases := map[*health.Check][]Case{}
	n := 0
	for _, c := range libraryChecks(t) {
		checks = append(checks, c.check)
		oracle, err := eval.New(c.check, func() int64 { return 1_700_000_000 })
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range c.objects {
			v := oracle.Eval(o)
			cases[c.check] = append(cases[c.check], Case{c.names[i], o, string(v.Status), v.Message})
			n++
		}
	}
	files, err := Layout(compiled(t, checks), cases)
	if err != nil {
		t.Fatal(err)
	}
	if got := passes(t, files); got != n || n == 0 {
		t.Errorf("%d tests, want %d", got, n)
	}
}

// TestLayoutHazards has the texts that YAML 1.1 takes for something else.
func TestLayoutHazards(t *testing.T) {
	t.Parallel()
	c := parseText(t, `
apiVersion: hallmark.dev/v1
kind: HealthCheck
metadata: {name: echo}
spec:
  targets:
    - {group: "", kinds: [Echo]}
    - {group: "*.echo.example.org", kinds: ["*Echo"]}
    - {group: echo.example.org, kinds: [Echo, Silent]}
  rules:
    - {status: Degraded, when: status.on == 'yes' && metadata.n == 3, message: status.text}
    - {status: Healthy, when: has(status.text), message: status.text}
`)
	texts := []string{"True", "yes", "0777", "1.10", "12:30", "2001-01-01", "~", "null", "", " blanks ", "a: b", "# no comment", "- item", "line\nline\n",
		"\ttab\n trailing \n", "it's \"quoted\" \\ and ]] --[[", "größer 語 👍", "nul \x00 bell \x07", "'", "|", "<<", "y", "=", "\r\n", strings.Repeat("long ", 100)}
	var cases []Case
	for _, text := range texts {
		for _, of := range [][2]string{{"v1", "Echo"}, {"x.echo.example.org/v1", "NoEcho"}, {"echo.example.org/v1beta1", "Echo"}} {
			cases = append(cases,
				Case{"on " + text, map[string]any{"apiVersion": of[0], "kind": of[1], "metadata": map[string]any{"n": int64(3)},
					"status": map[string]any{"on": "yes", "text": text, "y": nil}}, "Degraded", text},
				Case{"off " + text, map[string]any{"apiVersion": of[0], "kind": of[1], "metadata": map[string]any{"n": 3.5},
					"status": map[string]any{"on": true, "text": text}}, "Healthy", text})
		}
	}
	files, err := Layout(compiled(t, []*health.Check{c}), map[*health.Check][]Case{c: cases})
	if err != nil {
		t.Fatal(err)
	}
	if n := passes(t, files); n != len(cases) {
		t.Errorf("%d tests, want %d", n, len(cases))
	}
	for _, file := range []string{"Echo/health.lua", "_.echo.example.org/_Echo/health.lua", "echo.example.org/Echo/health.lua",
		"echo.example.org/Silent/health.lua", "echo.example.org/Silent/health_test.yaml", "Echo/testdata/on-true.yaml", "Echo/testdata/on.yaml", "Echo/testdata/on-2.yaml"} {
		if files[file] == nil {
			t.Errorf("no %s", file)
		}
	}
	for file := range files {
		if rest := strings.Trim(file, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./"); rest != "" {
			t.Errorf("a file is called %q", file)
		}
	}
}

func TestLayoutFaults(t *testing.T) {
	t.Parallel()
	wild := check("wild", 1, target("*.example.org", "*"))
	exact := check("exact", 9, target("a.example.org", "Kind"))
	object := func(version, kind string) map[string]any {
		return map[string]any{"apiVersion": version, "kind": kind}
	}
	_, err := Layout([]Script{{wild, "return {}"}, {exact, "return {}"}}, map[*health.Check][]Case{
		wild: {
			{Name: "good", Object: object("b.example.org/v1", "Kind")},
			{Name: "another's", Object: object("a.example.org/v1", "Kind")},
			{Name: "nobody's", Object: object("v1", "Kind")},
			{Name: "no kind", Object: object("a.example.org/v1", "")},
		},
	})
	want := `checks.yaml:1: case "another's" of check "wild": its object, a.example.org/v1 Kind, belongs to a.example.org/Kind of check "exact"
checks.yaml:1: case "no kind" of check "wild": its object has no apiVersion or no kind
checks.yaml:1: case "nobody's" of check "wild": no check has a target for its object, v1 Kind`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}
