package library_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/corpus"
	"hallmark.dev/hallmark/health/suite"
	"hallmark.dev/hallmark/lua/vm"
)

func named(t *testing.T, all []suite.Subject, name string) suite.Subject {
	t.Helper()
	i := slices.IndexFunc(all, func(s suite.Subject) bool { return s.Check.Name == name })
	if i < 0 {
		t.Fatalf("no check is called %s", name)
	}
	return all[i]
}

// TestProjectedVerdicts judges each status that hallmark ledger project writes. The file
// says in front of the object what Argo CD is to make of it.
func TestProjectedVerdicts(t *testing.T) {
	t.Parallel()
	s := named(t, subjects(t), "migrationledger")
	files, err := filepath.Glob("../../internal/ledger/projection/testdata/verdicts/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	s.Cases = nil
	unread := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := regexp.MustCompile(`(?m)^# health: (\w+)$`).FindSubmatch(data)
		if want == nil {
			t.Fatalf("%s does not say what Argo CD is to make of it", file)
		}
		c := suite.Case{Name: filepath.Base(file), File: file, AnyMessage: true, Want: health.Verdict{Status: health.Status(want[1])}}
		if err := sigsyaml.Unmarshal(data, &c.Object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		unread[c.Name] = messageOf(t, data, "DatabaseUnreachable")
		s.Cases = append(s.Cases, c)
	}
	statuses := map[health.Status]int{}
	for _, c := range run(t, s).Cases {
		statuses[c.Got.Status]++
		if c.Got.Message == "" {
			t.Errorf("%s: no message", c.Name)
		}
		if c.Got.Status == health.Progressing && !strings.Contains(c.Got.Message, unread[c.Name]) {
			t.Errorf("%s: the message %q does not say %q", c.Name, c.Got.Message, unread[c.Name])
		}
	}
	for _, status := range []health.Status{health.Healthy, health.Progressing, health.Degraded} {
		if statuses[status] == 0 {
			t.Errorf("no file is %s", status)
		}
	}
}

// messageOf is the message of a condition, "" where the object does not have it.
func messageOf(t *testing.T, data []byte, condition string) string {
	t.Helper()
	var object struct {
		Status struct {
			Conditions []struct{ Type, Message string }
		}
	}
	if err := sigsyaml.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	for _, c := range object.Status.Conditions {
		if c.Type == condition {
			return c.Message
		}
	}
	return ""
}

// recipes are the checks for those who cannot install a CRD. They are no part of the
// library, because they are for all ConfigMaps and all Jobs.
func recipes(t *testing.T) []suite.Subject {
	t.Helper()
	return load(t, os.DirFS("../../examples/ledger/health").(fs.ReadFileFS), "*.yaml")
}

// TestRecipes runs their cases, which reach every rule.
func TestRecipes(t *testing.T) {
	t.Parallel()
	all := recipes(t)
	if len(all) != 2 {
		t.Fatalf("%d recipes", len(all))
	}
	for _, s := range all {
		t.Run(s.Check.Name, func(t *testing.T) {
			t.Parallel()
			runAll(t, s)
		})
	}
}

// TestRecipesLeaveOthersAlone has the recipes judge objects without their annotation: a
// ConfigMap is Healthy whatever it is, and a Job is what the library says of it, also in
// the robustness corpus.
func TestRecipesLeaveOthersAlone(t *testing.T) {
	t.Parallel()
	all := recipes(t)
	configMap, job := named(t, all, "ledger-configmap"), named(t, all, "ledger-job")
	verdict := func(s suite.Subject, object map[string]any) vm.Verdict {
		v, err := vm.RunTrusted(s.Script, s.Check.UseOpenLibs, object)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range corpus.Objects("v1", "ConfigMap", []map[string]any{{
		"metadata": map[string]any{"name": "settings", "labels": map[string]any{"app": "shop"}, "annotations": map[string]any{"owner": "shop"}},
		"data":     map[string]any{"changeKey": "shop:add-order-index:v3", "state": "RUNNING", "leaseExpired": "true"},
	}}) {
		if c.Variation == corpus.Refused { // metadata that no API server has
			continue
		}
		if got := verdict(configMap, c.Object); got.Status != "Healthy" || got.Message != "" {
			t.Errorf("%s: got %+v, want Healthy and no message", c.Name, got)
		}
	}

	library := named(t, subjects(t), "job")
	var seeds []map[string]any
	for _, c := range library.Cases {
		seeds = append(seeds, c.Object)
	}
	compared := 0
	for _, c := range corpus.Objects("batch/v1", "Job", seeds) {
		compared++
		if got, want := verdict(job, c.Object), verdict(library, c.Object); got != want {
			t.Errorf("%s: got %+v, the library says %+v", c.Name, got, want)
		}
	}
	if compared < 100 {
		t.Errorf("only %d Jobs were compared", compared)
	}

	// What the library says of a Job is what Argo CD says, but for these. A Job controller
	// writes Failed and Complete only where they are true.
	known := map[string]string{
		"suspended, not yet seen by the controller": "Progressing",
		"resumed":                      "Healthy",
		"conditions that are not true": "Degraded",
	}
	for _, c := range library.Cases {
		native, ok, err := vm.Native(c.Object)
		if err != nil || !ok {
			t.Fatalf("%s: Argo CD has no verdict: %v", c.Name, err)
		}
		want, differs := known[c.Name]
		delete(known, c.Name)
		if !differs {
			want = string(c.Want.Status)
		}
		if native.Status != want {
			t.Errorf("%s: Argo CD says %+v, want %s", c.Name, native, want)
		}
	}
	for name := range known {
		t.Errorf("there is no case %q", name)
	}
}
