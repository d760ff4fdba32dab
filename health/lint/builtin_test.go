package lint

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hallmark.dev/hallmark/lua/vm"
)

// `go test ./health/lint -run TestBuiltins -update` writes the golden anew.
var update = flag.Bool("update", false, "write the golden of the scripts of Argo CD anew")

// A defect of a script that Argo CD brings along, found by other means: each script was
// run on an object without a status and on one with an empty status, and what came of
// it was read.
type defect struct {
	kind string
	rule Rule
	line int    // 0 where the rule has none
	what string // part of the message
}

const noStatus, emptyStatusText = "with no status", "with an empty status"

var defects = []defect{
	// No status: the script raises.
	{"apps.kruise.io/AdvancedCronJob", Raises, 5, "lastScheduleTime"},
	{"core.humio.com/HumioCluster", Raises, 9, "message"},
	{"lifecycle.keptn.sh/KeptnAppVersion", Raises, 2, "status"},
	{"lifecycle.keptn.sh/KeptnEvaluation", Raises, 2, "overallStatus"},
	{"lifecycle.keptn.sh/KeptnTask", Raises, 2, "status"},
	{"lifecycle.keptn.sh/KeptnWorkloadInstance", Raises, 2, "status"},
	{"lifecycle.keptn.sh/KeptnWorkloadVersion", Raises, 2, "status"},
	{"metrics.keptn.sh/Analysis", Raises, 2, "pass"},
	{"metrics.keptn.sh/KeptnMetric", Raises, 2, "errMsg"},
	{"rollouts.kruise.io/Rollout", Raises, 3, "observedGeneration"},
	// No status: Healthy, or nothing.
	{"argoproj.io/ApplicationSet", HealthyNoStatus, 0, noStatus},
	{"argoproj.io/CronWorkflow", HealthyNoStatus, 0, noStatus},
	{"astra.netapp.io/Schedule", HealthyNoStatus, 0, noStatus},
	{"spot.io/SpotDeployment", ReturnsEmpty, 0, ""},
	// An empty status: the script raises.
	{"argoproj.io/Rollout", Raises, 100, "ipairs"},
	{"flagger.app/Canary", Raises, 5, "compare number with nil"},
	{"kubernetes-client.io/ExternalSecret", Raises, 6, "find"},
	{"psmdb.percona.com/PerconaServerMongoDB", Raises, 12, "concat"},
	{"sparkoperator.k8s.io/SparkApplication", Raises, 62, "state"},
	// An empty status: nothing, or Healthy.
	{"argoproj.io/AnalysisRun", ReturnsEmpty, 0, ""},
	{"argoproj.io/Experiment", ReturnsEmpty, 0, ""},
	{"argoproj.io/ApplicationSet", HealthyNoStatus, 0, emptyStatusText},
	{"argoproj.io/CronWorkflow", HealthyNoStatus, 0, emptyStatusText},
	{"astra.netapp.io/Schedule", HealthyNoStatus, 0, emptyStatusText},
	{"grafana.integreatly.org/GrafanaDatasource", HealthyNoStatus, 0, emptyStatusText},
	{"zookeeper.pravega.io/ZookeeperCluster", HealthyNoStatus, 0, emptyStatusText},
	// An empty list is Healthy.
	{"route.openshift.io/Route", HealthyEmptyList, 0, "status.ingress"},
	{"solr.apache.org/SolrCloud", HealthyEmptyList, 0, "status.solrNodes"},
	{"k8s.mariadb.com/MariaDB", HealthyEmptyList, 0, "status.conditions"},
	{"mariadb.mmontes.io/MariaDB", HealthyEmptyList, 0, "status.conditions"},
}

// notYet are kinds with a known defect in later versions, of which 2.14.21 has no
// script.
var notYet = []vm.Kind{
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}, {Group: "postgresql.cnpg.io", Kind: "Cluster"},
	{Group: "datadoghq.com", Kind: "DatadogMetric"}, {Group: "services.cloud.sap.com", Kind: "ServiceInstance"},
	{Group: "_.crossplane.io", Kind: "_"}, {Group: "_.upbound.io", Kind: "_"},
}

// TestBuiltins lints all scripts that Argo CD brings along, but with the race detector
// only those with a known defect.
func TestBuiltins(t *testing.T) {
	t.Parallel()
	kinds := vm.Builtins()
	if len(kinds) != 182 {
		t.Errorf("got %d scripts, want the 182 of argo-cd v2.14.21", len(kinds))
	}
	if raceDetector {
		kinds = slices.DeleteFunc(kinds, func(k vm.Kind) bool {
			return !slices.ContainsFunc(defects, func(d defect) bool { return d.kind == overrideKey(k.Group, k.Kind) })
		})
	}
	findings := Builtins(kinds)
	for _, d := range defects {
		if !slices.ContainsFunc(findings, func(f Finding) bool {
			return f.File == d.kind+"/health.lua" && f.Rule == d.rule && f.Line == d.line && strings.Contains(f.Message, d.what) &&
				(f.Severity == Error || d.rule == HealthyEmptyList)
		}) {
			t.Errorf("%s: %s with %q in line %d was not found", d.kind, d.rule, d.what, d.line)
		}
	}
	for _, k := range notYet {
		if _, ok := vm.Builtin(k.Group, k.Kind); ok {
			t.Errorf("there is a script for %s/%s now, which has a known defect: move it to the table", k.Group, k.Kind)
		}
	}
	if !raceDetector {
		golden(t, "testdata/builtin.txt", summary(findings))
	}
}

// summary counts the findings of each rule and names the errors.
func summary(findings []Finding) string {
	var b strings.Builder
	for _, e := range Rules() {
		errors, warnings, files := 0, 0, map[string]bool{}
		for _, f := range findings {
			if f.Rule != e.Rule {
				continue
			}
			files[f.File] = true
			if f.Severity == Error {
				errors++
			} else {
				warnings++
			}
		}
		if len(files) > 0 {
			fmt.Fprintf(&b, "%s: %d errors, %d warnings, %d scripts\n", e.Rule, errors, warnings, len(files))
		}
	}
	for _, f := range findings {
		if f.Severity == Error {
			fmt.Fprintf(&b, "%s:%d %s\n", f.File, f.Line, f.Rule)
		}
	}
	return b.String()
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.FromSlash(file), []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what was found (-update writes it anew):\n%s", file, got)
	}
}
