package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestExamplePolicy asks hallmark which rule of the example decides for the
// example of an Application.
func TestExamplePolicy(t *testing.T) {
	t.Parallel()
	needPrograms(t, "hallmark")
	const file = manifestsDir + "/policy/policy.yaml"
	if err := hallmark("policy", "check", file); err != nil {
		t.Fatal(err)
	}
	var app struct {
		Spec struct {
			Project     string
			Source      struct{ RepoURL string }
			Destination struct{ Namespace string }
		}
	}
	decodeFile(t, manifestsDir+"/application.yaml", &app)
	var project struct {
		Metadata struct{ Name string }
		Spec     struct {
			SourceRepos  []string
			Destinations []struct{ Namespace string }
		}
	}
	decodeFile(t, manifestsDir+"/appproject.yaml", &project)
	var example struct {
		Spec struct {
			Rules []struct {
				Name  string
				Match map[string]string
			}
		}
	}
	decodeFile(t, file, &example)
	rule := example.Spec.Rules[0]
	if want := map[string]string{
		"project": project.Metadata.Name, "repoURL": project.Spec.SourceRepos[0], "namespace": project.Spec.Destinations[0].Namespace,
	}; !maps.Equal(rule.Match, want) {
		t.Errorf("the rule %q matches %v, and the project of appproject.yaml is %v", rule.Name, rule.Match, want)
	}

	type subject struct{ project, repoURL, namespace string }
	mine := subject{app.Spec.Project, app.Spec.Source.RepoURL, app.Spec.Destination.Namespace}
	for _, c := range []struct {
		subject  subject
		rule     string
		decrypts bool
	}{
		{mine, rule.Name, true},
		{subject{"other", mine.repoURL, mine.namespace}, "everybody else", false},
		{subject{mine.project, "https://git.example.com/other/x.git", mine.namespace}, "everybody else", false},
		{subject{mine.project, mine.repoURL, "other"}, "everybody else", false},
	} {
		out, err := exec.Command(filepath.Join(*bin, "hallmark"), "policy", "explain", "-o", "json", "--policy", file,
			"--project", c.subject.project, "--repo-url", c.subject.repoURL, "--namespace", c.subject.namespace).Output()
		if err != nil {
			t.Fatal(err)
		}
		var explained struct {
			Decides struct{ Name string }
			Allows  struct {
				Decryption              any
				Determinism             string
				AllowEmpty, FetchCharts bool
			}
		}
		if err := json.Unmarshal(out, &explained); err != nil {
			t.Fatal(err)
		}
		allows := explained.Allows
		if explained.Decides.Name != c.rule || (allows.Decryption != nil) != c.decrypts {
			t.Errorf("%v: got rule %q and decryption %v, want %q and %v", c.subject, explained.Decides.Name, allows.Decryption, c.rule, c.decrypts)
		}
		if allows.Determinism != "enforce" || allows.AllowEmpty || allows.FetchCharts {
			t.Errorf("%v: the rule is not strict: %+v", c.subject, allows)
		}
	}
}

// TestExampleApplication renders examples/checkout with the parameters of
// application.yaml.
func TestExampleApplication(t *testing.T) {
	t.Parallel()
	needPrograms(t, "hallmark")
	var app struct {
		Spec struct {
			Source struct{ Plugin struct{ Parameters any } }
		}
	}
	decodeFile(t, manifestsDir+"/application.yaml", &app)
	data, err := json.Marshal(app.Spec.Source.Plugin.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "parameters.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := hallmark("render", root+"/examples/checkout", "--params", file); err != nil {
		t.Error(err)
	}
}
