package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hallmark.dev/hallmark/plugin/rules"
)

// What `hallmark lint` says to a person.

const lintHelp = `Render the application in DIR (default: the current folder) as ` + "`hallmark render`" + ` does,
and check the objects by the release rules: jobs and hooks, the order of a sync, two
writers of one field, deletion, references between objects, images and secrets. No
cluster is asked. --list prints the rules, --explain one of them with an example.

An error breaks a release or gives a secret away, a warning is a risk that a reviewer
would raise, an info is advice. An annotation waives a rule on its object until a day,
for a reason:

  waive.hallmark.dev/job-deadline: "2027-03-31 the vendor's chart has no value for it"

With --policy the lint section of the rule for this application switches rules off, says
which ones the plugin denies, and adds rules of the team.

A finding is at the file of the repository that the object is written in, and at the
line of its field where that can be told; for a subchart that is packed it is at the
line of Chart.yaml that asks for it. Fields that differ from render to render are a
warning here, unless the parameter determinism or the policy enforces that none does.
Where they are derived (determinism=derive) that takes --seed-file, without which they are
a warning as well.

The findings are the result and on standard output; the exit code is 1 where one of
them fails the run (--fail-on) or the application cannot be rendered. With -o json the
result is one object:

  app, path, renderer
            what was rendered, from which folder of the repository, and by what
  objects   how many objects there are
  errors, warnings, infos
            how many findings there are that nothing waives
  denied    how many of these the policy denies
  waived    how many findings are waived
  findings  each with rule, severity, level (what the policy gives: warn or deny),
            object, origin (the file or template as the renderer calls it), file, line,
            field (a JSON pointer), message, remedy and, where it is waived, waiver

-o sarif is SARIF 2.1.0 for code scanning, -o github the workflow commands by which
GitHub Actions shows findings at the lines of a pull request.`

const lintExample = `  hallmark lint examples/checkout
  hallmark lint --rule job-deadline --rule hook-dependency examples/checkout
  hallmark lint --policy policy.yaml --project shop --namespace shop examples/checkout
  hallmark lint -o sarif examples/checkout > hallmark.sarif
  hallmark lint --explain job-deadline`

// exampleWaiver is the value of an annotation that waives a rule.
const exampleWaiver = "2027-03-31 the vendor's chart has no value for it"

// tellRules prints what --list or --explain asks for.
func (env *environment) tellRules(f *lintFlags, args []string) error {
	switch {
	case f.list && f.explainSome:
		return usageError{errors.New("--list and --explain exclude each other")}
	case len(args) > 0:
		return usageError{errors.New("--list and --explain render nothing, and take no folder")}
	case f.output != "text" && f.output != "json":
		return usageError{fmt.Errorf("-o: got %q, want text or json with --list and --explain", f.output)}
	}
	all := rules.All()
	told := all
	if f.explainSome {
		i := slices.IndexFunc(all, func(r rules.Rule) bool { return r.ID == f.explain })
		if i < 0 {
			return unknownRule("--explain", f.explain, ruleNames())
		}
		told = all[i : i+1]
	}
	var out []byte
	var err error
	switch {
	case f.output == "json" && f.list:
		list := make([]toldRule, len(told))
		for i, rule := range told {
			list[i] = newToldRule(rule)
		}
		out, err = indented(list)
	case f.output == "json":
		out, err = indented(newToldRule(told[0]))
	case f.list:
		out = ruleTable(told)
	default:
		out = []byte(explained(told[0]))
	}
	if err == nil {
		_, err = env.stdout.Write(out)
	}
	return err
}

// toldRule is a rule in JSON.
type toldRule struct {
	ID       string         `json:"id"`
	Group    string         `json:"group"`
	Severity rules.Severity `json:"severity"`
	Reason   string         `json:"reason"`
	Remedy   string         `json:"remedy"`
	Fault    string         `json:"fault"`    // YAML in which the rule finds something
	PutRight string         `json:"putRight"` // the same without the fault
	Waiver   string         `json:"waiver,omitempty"`
}

func newToldRule(rule rules.Rule) toldRule {
	bad, good := rule.Examples()
	return toldRule{rule.ID, rule.Group, rule.Severity, rule.Reason, rule.Remedy, bad, good, waiverOf(rule)}
}

// waiverOf is an annotation that waives the rule, or "" where nothing does.
func waiverOf(rule rules.Rule) string {
	if rule.ID == "waiver" {
		return ""
	}
	return fmt.Sprintf("%s%s: %q", rules.WaiverPrefix, rule.ID, exampleWaiver)
}

func ruleTable(all []rules.Rule) []byte {
	var out bytes.Buffer
	id, group := 0, 0
	for _, rule := range all {
		id, group = max(id, len(rule.ID)), max(group, len(rule.Group))
	}
	for _, rule := range all {
		fmt.Fprintf(&out, "%-*s  %-7s  %-*s  %s\n", id, rule.ID, rule.Severity, group, rule.Group, rule.Reason)
	}
	return out.Bytes()
}

// title is what is in front of a rule's reason.
func title(rule rules.Rule) string {
	return fmt.Sprintf("%s (%s, %s)", rule.ID, rule.Severity, rule.Group)
}

// sentence makes one of a line of a rule, unless that begins with the name of a field.
func sentence(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if strings.ToLower(word) == word {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	return s + "."
}

// explained is a rule in text.
func explained(rule rules.Rule) string {
	bad, good := rule.Examples()
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n%s\n\nThe fault:\n\n%s\nPut right:\n\n%s\nRemedy: %s\n",
		title(rule), sentence(rule.Reason), indent(bad), indent(good), sentence(rule.Remedy))
	if waiver := waiverOf(rule); waiver != "" {
		fmt.Fprintf(&out, "\nTo waive it on an object, until a day and for a reason:\n\n%s", indent("metadata:\n  annotations:\n    "+waiver+"\n"))
	}
	return out.String()
}

// explainedMarkdown is the same in Markdown, below a heading that says the rule.
func explainedMarkdown(rule rules.Rule) string {
	bad, good := rule.Examples()
	return fmt.Sprintf("%s\n\nThe fault:\n\n```yaml\n%s```\n\nPut right:\n\n```yaml\n%s```\n\n**Remedy:** %s\n",
		sentence(rule.Reason), bad, good, sentence(rule.Remedy))
}

// indent puts four spaces in front of lines that are not empty.
func indent(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			out.WriteString("    ")
		}
		out.WriteString(line)
	}
	return out.String()
}
