package stamp

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const recipe = "testdata/recompute.sh"

// TestRecipeIsTheComment keeps the commands that the package comment shows and
// the ones that TestRecipe runs the same.
func TestRecipeIsTheComment(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(recipe)
	if err != nil {
		t.Fatal(err)
	}
	comment, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for line := range strings.Lines(string(script)) {
		if line == "\n" {
			want.WriteString("//\n")
		} else {
			want.WriteString("//\t" + line)
		}
	}
	if !strings.Contains(string(comment), "//\n"+want.String()+"//\n") {
		t.Errorf("doc.go does not show %s as it is; it should have\n%s", recipe, want.String())
	}
}

// TestRecipe recomputes a stamp with nothing but a shell, jq and sha256sum: the
// format promises that they are enough. CI installs jq, and the test fails there
// without it; on a machine that has only Go it is skipped.
func TestRecipe(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("jq"); err != nil && os.Getenv("CI") == "" {
		t.Skip("jq is not installed")
	}
	texts := []string{
		webJSON, loginJSON, configJSON,
		`{"apiVersion": "v1", "kind": "Namespace"}`,
		`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "odd"}, "data": "text", "stringData": null}`,
		`{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bare", "labels": {"app.kubernetes.io/instance": "x"}, "annotations": {}}}`,
		`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "hook-"}, "spec": {"n": 1}}`,
		`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "hook-"}, "spec": {"n": 2}}`,
		`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "held", "finalizers": ["argocd.argoproj.io/hook-finalizer"]}}`,
		`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "both", "finalizers": ["a.io/f", "argocd.argoproj.io/hook-finalizer"]}}`,
		`{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "none", "finalizers": null}}`,
		`{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "system:a b"}}`,
		`{"apiVersion": "a.io/v1", "kind": "Odd", "metadata": {"name": "n"}, "spec": {
			"numbers": [0, -1, 9007199254740992, -9007199254740992, 0.5, 1234.5678, 0.001, 123456789.012345],
			"text": "tab\t quote\" back\\slash / \b\f\r\n \u0001\u001f <&> é 日本 \ud83d\ude00 \u2028 \u0085 %s  $(x) ` + "`x`" + `",
			"": {"é": 1, "z": 2, "Z": 3, "\ud83d\ude00": 4, "0": 5}, "nested": [[[]], {}, [{}], null, true]}}`,
	}
	in := objects(t, texts...)
	result := apply(t, in, Options{})

	script, err := filepath.Abs(recipe)
	if err != nil {
		t.Fatal(err)
	}
	for name, set := range map[string][]string{"rendered": texts, "stamped": canonicalTexts(t, result)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "objects.json"), []byte(strings.Join(set, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			var stderr strings.Builder
			command := exec.Command("sh", "-eu", script)
			command.Dir = dir
			command.Stderr = &stderr
			out, err := command.Output()
			if err != nil || stderr.Len() > 0 {
				t.Fatalf("%s: %v\n%s(jq and sha256sum must be installed)", recipe, err, stderr.String())
			}
			got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			want := slices.Concat(result.ObjectHashes, []string{result.RenderHash})
			if len(got) != len(want) {
				t.Fatalf("%d lines, want %d:\n%s", len(got), len(want), out)
			}
			for i := range want {
				switch {
				case got[i] == want[i]:
				case i < len(in):
					t.Errorf("object hash of %s: jq says %s, hallmark %s", in[i].ID(), got[i], want[i])
				default:
					t.Errorf("render hash: jq says %s, hallmark %s", got[i], want[i])
				}
			}
		})
	}
}

// canonicalTexts is the stamped set as JSON.
func canonicalTexts(t *testing.T, result Result) []string {
	t.Helper()
	var out []string
	for _, o := range result.Objects {
		text, err := canonicalByJCS(o.Value)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}
