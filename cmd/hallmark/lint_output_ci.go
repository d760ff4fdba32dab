package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"hallmark.dev/hallmark/plugin/rules"
)

// SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html), the
// part of it that code scanning shows. The types have the names of the specification.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool              sarifTool             `json:"tool"`
		AutomationDetails sarifID               `json:"automationDetails"`
		OriginalURIBases  map[string]sarifLabel `json:"originalUriBaseIds"`
		Results           []sarifResult         `json:"results"`
	}
	sarifID struct {
		ID string `json:"id"`
	}
	sarifLabel struct {
		Description sarifText `json:"description"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}

	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifRule struct {
		ID                   string     `json:"id"`
		ShortDescription     sarifText  `json:"shortDescription"`
		FullDescription      sarifText  `json:"fullDescription"`
		Help                 sarifText  `json:"help"`
		DefaultConfiguration sarifLevel `json:"defaultConfiguration"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifResult struct {
		RuleID              string              `json:"ruleId"`
		RuleIndex           int                 `json:"ruleIndex"`
		Level               string              `json:"level"`
		Message             sarifText           `json:"message"`
		Locations           []sarifLocation     `json:"locations"`
		PartialFingerprints map[string]string   `json:"partialFingerprints"`
		Suppressions        *[]sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPhysicalLocation  `json:"physicalLocation"`
		LogicalLocations []sarifLogicalLocation `json:"logicalLocations"`
	}
	sarifPhysicalLocation struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogicalLocation struct {
		Name               string `json:"name"`
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
)

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	// sourceRoot is the base that code scanning takes for the root of the repository.
	sourceRoot = "%SRCROOT%"
	// fingerprint is hallmark's own. GitHub's primaryLocationLineHash is left to its
	// upload action, which makes it from the line and warns of another one.
	fingerprint = "hallmark/v1"
)

// sarif has one run, whose category on GitHub is the application: the findings of one
// do not close those of another.
func (r *ruleReport) sarif() sarifLog {
	driver := sarifDriver{Name: "hallmark", Version: hallmarkVersion()}
	index := map[string]int{}
	add := func(rule sarifRule) {
		index[rule.ID] = len(driver.Rules)
		driver.Rules = append(driver.Rules, rule)
	}
	for _, rule := range rules.All() {
		add(sarifRule{
			ID: rule.ID, ShortDescription: sarifText{Text: title(rule)}, FullDescription: sarifText{Text: sentence(rule.Reason)},
			Help:                 sarifText{Text: explained(rule), Markdown: explainedMarkdown(rule)},
			DefaultConfiguration: sarifLevel{sarifLevelOf(rule.Severity)},
		})
	}
	results := []sarifResult{}
	for _, f := range r.Findings {
		if _, known := index[f.Rule]; !known { // the team's
			text := sarifText{Text: fmt.Sprintf("The policy's rule %q.", f.Rule)}
			add(sarifRule{ID: f.Rule, ShortDescription: text, FullDescription: text, Help: text, DefaultConfiguration: sarifLevel{sarifLevelOf(f.Severity)}})
		}
		results = append(results, f.sarif(index[f.Rule], r.showWaived))
	}
	return sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{{
		Tool: sarifTool{driver}, AutomationDetails: sarifID{"hallmark-lint/" + r.Path + "/"},
		OriginalURIBases: map[string]sarifLabel{sourceRoot: {sarifText{Text: "The root of the repository."}}},
		Results:          results,
	}}}
}

func (f *ruleFinding) sarif(ruleIndex int, withWaivers bool) sarifResult {
	out := sarifResult{
		RuleID: f.Rule, RuleIndex: ruleIndex, Level: sarifLevelOf(f.weight()), Message: sarifText{Text: f.fact()},
		Locations: []sarifLocation{{
			PhysicalLocation: sarifPhysicalLocation{
				ArtifactLocation: sarifArtifact{URI: (&url.URL{Path: f.File}).EscapedPath(), URIBaseID: sourceRoot},
				Region:           sarifRegion{StartLine: max(f.Line, 1)},
			},
			LogicalLocations: []sarifLogicalLocation{{Name: f.Object.Name, FullyQualifiedName: f.id.String(), Kind: "object"}},
		}},
		PartialFingerprints: map[string]string{fingerprint: f.fingerprint()},
	}
	// By the specification all results of a run have suppressions, or none has.
	if withWaivers {
		suppressions := []sarifSuppression{}
		if f.Waiver != nil {
			suppressions = append(suppressions, sarifSuppression{"inSource", fmt.Sprintf("until %s: %s", f.Waiver.Until, f.Waiver.Reason)})
		}
		out.Suppressions = &suppressions
	}
	return out
}

// fingerprint stays the same when lines move and when a message is put differently.
func (f *ruleFinding) fingerprint() string {
	o := f.Object
	sum := sha256.Sum256([]byte(strings.Join([]string{f.Rule, o.Group, o.Kind, o.Namespace, o.Name, f.Field}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

func sarifLevelOf(s rules.Severity) string {
	if s == rules.Info {
		return "note"
	}
	return string(s)
}

// github has a workflow command for each finding, which GitHub Actions shows at the
// line of a pull request, and the summary.
// https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
func (r *ruleReport) github() []byte {
	var out bytes.Buffer
	for _, f := range r.Findings {
		command := string(f.weight())
		if f.weight() == rules.Info || f.Waiver != nil {
			command = "notice"
		}
		message := f.fact()
		for _, more := range slices.DeleteFunc([]string{f.Remedy, f.waived()}, func(s string) bool { return s == "" }) {
			message += "\n" + more
		}
		fmt.Fprintf(&out, "::%s file=%s,line=%d,title=%s::%s\n", command,
			commandProperty.Replace(printable(f.File)), max(f.Line, 1), commandProperty.Replace(printable(f.Rule)), commandMessage(message))
	}
	out.WriteString(r.summary() + "\n")
	return out.Bytes()
}

func (f *ruleFinding) waived() string {
	if f.Waiver == nil {
		return ""
	}
	return fmt.Sprintf("waived until %s: %s", f.Waiver.Until, f.Waiver.Reason)
}

// What a workflow command escapes: in properties also what separates them.
var (
	commandData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	commandProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func commandMessage(text string) string { return printable(commandData.Replace(text)) }
