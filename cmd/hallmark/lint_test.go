package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/rules"
)

// What is said of each rule is one page, so that a team can read it before the first run.
// `go test ./cmd/hallmark -run TestRulesPage -update` writes it anew.
func TestRulesPage(t *testing.T) {
	t.Parallel()
	const file = "../../docs/rules.md"
	page := rulesPage()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, file) != page {
		t.Errorf("%s is not what the rules say; run this test with -update", file)
	}
}

const rulesPageHead = `# The release rules

<!-- Written by: go test ./cmd/hallmark -run TestRulesPage -update -->

` + "`hallmark lint DIR`" + ` renders an application and checks its objects by these rules. The same
rules are a gate in the plugin where a policy has a ` + "`lint`" + ` section.
` + "`hallmark lint --explain RULE`" + ` prints what stands here of one rule.

## Severities

| severity | means | fails ` + "`hallmark lint`" + ` |
|---|---|---|
| error | the release breaks, or gives a secret away | yes |
| warning | a risk that a reviewer of the change would raise | yes, unless ` + "`--fail-on error`" + ` |
| info | advice | only with ` + "`--fail-on info`" + ` |

Where a policy has a ` + "`lint`" + ` section its levels count instead: what it denies fails.

## Waiving a rule

An annotation waives a rule on its object until a day, for a reason. The day is the last one
on which it holds, in UTC; after it, and without a day or a reason, the waiver is an error.

` + "```yaml" + `
metadata:
  annotations:
    waive.hallmark.dev/job-deadline: "2027-03-31 the vendor's chart has no value for it"
` + "```" + `

## Levels in a policy

The rule of a RenderPolicy that decides for an application says which release rules count, and
adds rules of the team in the form of a ValidatingAdmissionPolicy:

` + "```yaml" + `
apiVersion: hallmark.dev/v1
kind: RenderPolicy
spec:
  rules:
    - name: shop
      match: {project: shop}
      lint:
        default: warn        # off, warn or deny: for the rules that are not named
        rules:
          job-deadline: deny
          image-tag: "off"
        waivers: true        # whether objects may waive rules by annotation
        healthChecks:        # custom resources whose health Argo CD is taught elsewhere
          - {group: example.com, kinds: [Widget]}
        policies:
          - name: owner-label
            matchConstraints:
              resourceRules:
                - {apiGroups: [apps], apiVersions: ["*"], operations: ["*"], resources: [deployments]}
            validations:
              - expression: "'owner' in object.metadata.?labels.orValue({})"
                message: every Deployment names its owner in the label owner
` + "```" + `

What the plugin denies it does not render; a warning goes to its log and to the evidence.

## The rules
`

func rulesPage() string {
	var page strings.Builder
	page.WriteString(rulesPageHead)
	all := rules.All()
	page.WriteString("\n| rule | severity | otherwise |\n|---|---|---|\n")
	for _, rule := range all {
		fmt.Fprintf(&page, "| [%s](#%[1]s) | %s | %s |\n", rule.ID, rule.Severity, strings.ReplaceAll(rule.Reason, "|", `\|`))
	}
	group := ""
	for _, rule := range all {
		if rule.Group != group {
			group = rule.Group
			fmt.Fprintf(&page, "\n## %s\n", group)
		}
		fmt.Fprintf(&page, "\n### %s\n\nSeverity: %s. %s", rule.ID, rule.Severity, explainedMarkdown(rule))
	}
	return page.String()
}

// findings are one of each kind that a report has.
func findings() *ruleReport {
	id := object.ID{Group: "batch", Kind: "Job", Namespace: "shop", Name: "migrate"}
	one := func(rule string, severity rules.Severity, line int) ruleFinding {
		return ruleFinding{
			Rule: rule, Severity: severity, Object: ruleObject(id), Origin: "checkout/templates/migrate job.yaml",
			File: "apps/a b/100%/x.yaml", Line: line, Field: "/spec", Message: "50% of: it,\nor so", id: id,
		}
	}
	waived, team := one("job-deadline", rules.Warning, 3), one("owner-label", rules.Error, 0)
	waived.Waiver = &ruleWaiver{Until: "2027-03-31", Reason: "it is the vendor's"}
	team.Level = "warn"
	denied := one("job-token", rules.Info, 7)
	denied.Level = "deny"
	return &ruleReport{
		Path: "apps/a b", Objects: 3, showWaived: true,
		Findings: []ruleFinding{one("job-deadline", rules.Warning, 3), one("image-tag", rules.Info, 4), waived, team, denied},
	}
}

// testdata/sarif.json is a schema for what this command writes, stricter than that of
// SARIF 2.1.0, whose rules for the fields that are used it has: what code scanning needs
// is required, and nothing else is there.
func TestSARIF(t *testing.T) {
	t.Parallel()
	c := jsonschema.NewCompiler()
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(read(t, "testdata/sarif.json")))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("sarif.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, report := range map[string]*ruleReport{"findings": findings(), "none": {Path: "."}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := report.write(&out, "sarif"); err != nil {
				t.Fatal(err)
			}
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if err := compiled.Validate(value); err != nil {
				t.Error(err)
			}
			var log sarifLog
			if err := json.Unmarshal(out.Bytes(), &log); err != nil {
				t.Fatal(err)
			}
			run := log.Runs[0]
			if len(run.Results) != len(report.Findings) {
				t.Errorf("got %d results, want %d", len(run.Results), len(report.Findings))
			}
			for _, result := range run.Results {
				if rule := run.Tool.Driver.Rules[result.RuleIndex].ID; rule != result.RuleID {
					t.Errorf("result of %s points at rule %s", result.RuleID, rule)
				}
			}
		})
	}
}

func TestSARIFOfFindings(t *testing.T) {
	t.Parallel()
	results := findings().sarif().Runs[0].Results
	var levels []string
	for _, r := range results {
		levels = append(levels, r.Level)
	}
	if want := []string{"warning", "note", "warning", "warning", "error"}; !slices.Equal(levels, want) {
		t.Errorf("got levels %q, want %q", levels, want)
	}
	if got := results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI; got != "apps/a%20b/100%25/x.yaml" {
		t.Errorf("got URI %q", got)
	}
	if s := *results[2].Suppressions; len(s) != 1 || s[0].Kind != "inSource" || s[0].Justification != "until 2027-03-31: it is the vendor's" {
		t.Errorf("got suppressions %v", s)
	}
	if s := results[0].Suppressions; s == nil || len(*s) != 0 {
		t.Errorf("got suppressions %v, want an empty list beside those of others", s)
	}
	moved, other := findings().Findings[0], findings().Findings[0]
	moved.Line, moved.Message = 99, "put differently"
	other.Field = "/spec/template"
	if moved.fingerprint() != findings().Findings[0].fingerprint() || other.fingerprint() == moved.fingerprint() {
		t.Error("a fingerprint has to follow the field of the object, and nothing else")
	}
}

func TestGitHubCommands(t *testing.T) {
	t.Parallel()
	const at, fact = " file=apps/a b/100%25/x.yaml,line=", `Job.batch "shop/migrate": /spec: 50%25 of: it,%0Aor so`
	want := strings.Join([]string{
		"::warning" + at + "3,title=job-deadline::" + fact,
		"::notice" + at + "4,title=image-tag::" + fact,
		"::notice" + at + "3,title=job-deadline::" + fact + "%0Awaived until 2027-03-31: it is the vendor's",
		"::warning" + at + "1,title=owner-label::" + fact,
		"::error" + at + "7,title=job-token::" + fact,
		"ok: 3 objects", "",
	}, "\n")
	if got := string(findings().github()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := commandProperty.Replace("a:b,c%d\r\n"); got != "a%3Ab%2Cc%25d%0D%0A" {
		t.Errorf("got property %q", got)
	}
}

func TestHealthChecked(t *testing.T) {
	t.Parallel()
	if _, err := libraryTargets(); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[[2]string]bool{
		{"cert-manager.io", "Certificate"}:      true, // Argo CD's own
		{"keda.sh", "ScaledObject"}:             true,
		{"postgresql.cnpg.io", "Cluster"}:       true,  // the library's
		{"rds.aws.crossplane.io", "Anything"}:   true,  // by a wildcard of the library
		{"crossplane.io", "Anything"}:           false, // which this group does not match
		{"example.com", "Widget"}:               false,
		{"cert-manager.io", "Certificates/../"}: false,
		{"", ""}:                                false,
	} {
		if got := healthChecked(kind[0], kind[1]); got != want {
			t.Errorf("%s/%s: got %v, want %v", kind[0], kind[1], got, want)
		}
	}
}

func TestSimilar(t *testing.T) {
	t.Parallel()
	names := []string{"job-deadline", "job-ttl", "image-tag", "hook-annotations", "hook-dependency", "waiver"}
	for name, want := range map[string][]string{
		"deadline": {"job-deadline"}, "job-dedline": {"job-deadline"}, "Job-TTL": {"job-ttl"}, "tag": {"image-tag"},
		"hook-dependencies": {"hook-dependency"}, "xyz": nil, "": nil,
	} {
		if got := similar(name, names); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
