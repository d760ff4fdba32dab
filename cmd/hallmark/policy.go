package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/policy"
	"hallmark.dev/hallmark/plugin/source"
)

func policyCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use: "policy", Short: "Check a policy, and explain what it decides",
		Long: policyHelp, Example: policyExample,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q", "policy "+args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error { return usageError{errors.New("no command given")} },
	}
	cmd.AddCommand(policyCheckCommand(env), policyExplainCommand(env))
	return cmd
}

func policyCheckCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "check FILE", Short: "Read a policy and name its faults",
		Long: policyCheckHelp, Example: policyCheckExample, Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := policy.Load(args[0])
			if err != nil {
				return err
			}
			unit := "rules"
			if p.Len() == 1 {
				unit = "rule"
			}
			_, err = fmt.Fprintf(env.stdout, "ok: %d %s\n", p.Len(), unit)
			return err
		},
	}
}

// usageArgs makes what args refuses a wrong call. The root command does this for
// its own commands only.
func usageArgs(args cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if err := args(cmd, given); err != nil {
			return usageError{err}
		}
		return nil
	}
}

func policyExplainCommand(env *environment) *cobra.Command {
	var file, output string
	var subject policy.Subject
	cmd := &cobra.Command{
		Use: "explain", Short: "Say which rule decides for an application, and why",
		Long: policyExplainHelp, Example: policyExplainExample, Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if output != "text" && output != "json" {
				return usageError{fmt.Errorf("-o: got %q, want text or json", output)}
			}
			p, err := policy.Load(cmp.Or(file, policy.DefaultFile))
			if file == "" && errors.Is(err, fs.ErrNotExist) {
				return diag.WithHint(err, hintNoPolicy)
			}
			if err != nil {
				return err
			}
			e := explainPolicy(p, subject)
			text := []byte(e.text())
			if output == "json" {
				if text, err = indented(e); err != nil {
					return err
				}
			}
			_, err = env.stdout.Write(text)
			return err
		},
	}
	cmd.Flags().StringVar(&file, "policy", "", "`file` of the policy (default: "+policy.DefaultFile+")")
	cmd.Flags().StringVar(&subject.Project, "project", "", "`name` of the application's project")
	cmd.Flags().StringVar(&subject.RepoURL, "repo-url", "", "`address` of the repository, as it stands in the Application")
	cmd.Flags().StringVar(&subject.Namespace, "namespace", "", "`namespace` of the destination")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`format`: text or json")
	return cmd
}

// explanation is the object of -o json; its fields are described in the help.
type explanation struct {
	Subject    explainedSubject `json:"subject"`
	Considered []explainedRule  `json:"considered"`
	Decides    *explainedPlace  `json:"decides"`
	Allows     explainedGrant   `json:"allows"`

	rule *policy.Rule
}

type explainedSubject struct {
	Project   string `json:"project"`
	RepoURL   string `json:"repoURL"`
	Namespace string `json:"namespace"`
}

type explainedPlace struct {
	Name string `json:"name"`
	File string `json:"file"`
	Line int    `json:"line"`
}

type explainedRule struct {
	explainedPlace
	Matches bool   `json:"matches"`
	Why     string `json:"why"`
}

type explainedGrant struct {
	Renderers   []string             `json:"renderers"`
	Decryption  *explainedDecryption `json:"decryption"`
	FetchCharts bool                 `json:"fetchCharts"`
	Determinism string               `json:"determinism"`
	Allowed     []string             `json:"determinismAllowed"`
	Derivation  *explainedDerivation `json:"derivation"`
	AllowEmpty  bool                 `json:"allowEmpty"`
	Limits      explainedLimits      `json:"limits"`
	Lint        *explainedLint       `json:"lint"`
}

type explainedLint struct {
	Default      policy.Level            `json:"default"`
	Rules        map[string]policy.Level `json:"rules"`
	Waivers      bool                    `json:"waivers"`
	HealthChecks []explainedHealthCheck  `json:"healthChecks"`
	Policies     []string                `json:"policies"`
}

type explainedHealthCheck struct {
	Group string   `json:"group"`
	Kinds []string `json:"kinds"`
}

type explainedDecryption struct {
	Keys           []explainedKeys `json:"keys"`
	Roles          []string        `json:"roles"`
	OutsideSecrets string          `json:"outsideSecrets"`
}

type explainedDerivation struct {
	Project        string `json:"project,omitempty"`
	OutsideSecrets string `json:"outsideSecrets"`
}

type explainedKeys struct {
	Kind  string   `json:"kind"`
	Names []string `json:"names"` // null where every key of the kind may be used
}

type explainedLimits struct {
	Files       int    `json:"files"`
	FileBytes   int64  `json:"fileBytes"`
	TreeBytes   int64  `json:"treeBytes"`
	Objects     int    `json:"objects"`
	OutputBytes int    `json:"outputBytes"`
	MemoryBytes int64  `json:"memoryBytes"`
	RenderTime  string `json:"renderTime"`
}

func explainPolicy(p *policy.Policy, s policy.Subject) explanation {
	rule, reasons := p.Explain(s)
	e := explanation{
		Subject:    explainedSubject{s.Project, redact.URL(s.RepoURL), s.Namespace},
		Considered: []explainedRule{},
		Allows: explainedGrant{
			Renderers: rule.Renderers, Determinism: rule.Determinism, AllowEmpty: rule.AllowEmpty,
			Allowed: append([]string{policy.Enforce}, rule.Lenient...),
			Limits:  explainLimits(rule.Limits),
		},
		rule: rule,
	}
	if d := rule.Derivation; d != nil {
		e.Allows.Derivation = &explainedDerivation{d.Project, d.OutsideSecrets}
	}
	if rule.Renderers == nil {
		e.Allows.Renderers = policy.Renderers()
	}
	if d := rule.Decryption; d != nil {
		e.Allows.Decryption = &explainedDecryption{Roles: append([]string{}, d.Roles...), OutsideSecrets: d.OutsideSecrets}
		for _, k := range d.Keys {
			e.Allows.Decryption.Keys = append(e.Allows.Decryption.Keys, explainedKeys(k))
		}
	}
	e.Allows.Lint = explainLint(rule.Lint)
	for _, r := range reasons {
		e.Considered = append(e.Considered, explainedRule{place(r.Rule), r.Matches, r.Why})
		if r.Matches {
			decides := place(r.Rule)
			e.Decides = &decides
		}
	}
	return e
}

func place(r *policy.Rule) explainedPlace { return explainedPlace{r.Name, r.File, r.Line} }

func explainLint(l *policy.Lint) *explainedLint {
	if l == nil {
		return nil
	}
	out := &explainedLint{
		Default: l.Default, Rules: map[string]policy.Level{}, Waivers: l.Waivers,
		HealthChecks: []explainedHealthCheck{}, Policies: []string{},
	}
	maps.Copy(out.Rules, l.Levels)
	for _, c := range l.HealthChecks {
		out.HealthChecks = append(out.HealthChecks, explainedHealthCheck(c))
	}
	for _, rule := range l.Team {
		out.Policies = append(out.Policies, rule.Name())
	}
	return out
}

func explainLimits(l policy.Limits) explainedLimits {
	render, tree := plugin.DefaultLimits(), source.DefaultLimits()
	return explainedLimits{
		Files:       cmp.Or(l.Files, tree.Files),
		FileBytes:   cmp.Or(l.FileBytes, tree.FileBytes),
		TreeBytes:   cmp.Or(l.TreeBytes, tree.TreeBytes),
		Objects:     cmp.Or(l.Objects, render.Objects),
		OutputBytes: cmp.Or(l.OutputBytes, render.OutputBytes),
		MemoryBytes: cmp.Or(l.MemoryBytes, render.MemoryBytes),
		RenderTime:  cmp.Or(l.RenderTime, render.RenderTime).String(),
	}
}

func (e explanation) text() string {
	var b strings.Builder
	line := func(format string, args ...any) { b.WriteString(printable(fmt.Sprintf(format, args...)) + "\n") }
	setting := func(name string, value any) { line("  %-26s %v", name, value) }
	limit := func(name string, value any, isSet bool) {
		if !isSet {
			value = fmt.Sprintf("%v (default)", value)
		}
		setting("limits."+name, value)
	}

	line("project %q, repository %q, namespace %q", e.Subject.Project, e.Subject.RepoURL, e.Subject.Namespace)
	for _, r := range e.Considered {
		verdict := "does not match"
		if r.Matches {
			verdict = "matches"
		}
		line("  %s:%d: rule %q %s: %s", r.File, r.Line, r.Name, verdict, r.Why)
	}
	if e.Decides == nil {
		line("the policy's default decides, since no rule matches:")
	} else {
		line("%s decides:", e.rule)
	}
	setting("renderers", names(e.Allows.Renderers))
	if d := e.Allows.Decryption; d == nil {
		setting("decryption", "none")
	} else {
		for _, k := range d.Keys {
			which := "every key"
			if k.Names != nil {
				which = names(k.Names)
			}
			setting("decryption.keys."+k.Kind, which)
		}
		setting("decryption.roles", names(d.Roles))
		setting("decryption.outsideSecrets", d.OutsideSecrets)
	}
	setting("fetchCharts", e.Allows.FetchCharts)
	setting("determinism", e.Allows.determinism())
	if d := e.Allows.Derivation; d != nil {
		if d.Project != "" {
			setting("derivation.project", d.Project)
		}
		setting("derivation.outsideSecrets", d.OutsideSecrets)
	}
	setting("allowEmpty", e.Allows.AllowEmpty)
	given, l := e.rule.Limits, e.Allows.Limits
	limit("files", l.Files, given.Files > 0)
	limit("fileBytes", l.FileBytes, given.FileBytes > 0)
	limit("treeBytes", l.TreeBytes, given.TreeBytes > 0)
	limit("objects", l.Objects, given.Objects > 0)
	limit("outputBytes", l.OutputBytes, given.OutputBytes > 0)
	limit("memoryBytes", l.MemoryBytes, given.MemoryBytes > 0)
	limit("renderTime", l.RenderTime, given.RenderTime > 0)
	e.Allows.Lint.settings(setting)
	return b.String()
}

// determinism is what holds, with what an application may ask for in place of it.
func (g explainedGrant) determinism() string {
	others := slices.DeleteFunc(slices.Clone(g.Allowed), func(mode string) bool { return mode == g.Determinism })
	if len(others) == 0 {
		return g.Determinism
	}
	return fmt.Sprintf("%s (an application may ask for %s)", g.Determinism, strings.Join(others, ", "))
}

// settings shows the section, one setting a line.
func (l *explainedLint) settings(setting func(name string, value any)) {
	if l == nil {
		setting("lint", "none")
		return
	}
	setting("lint.default", l.Default)
	for _, rule := range slices.Sorted(maps.Keys(l.Rules)) {
		setting("lint.rules", rule+": "+string(l.Rules[rule]))
	}
	setting("lint.waivers", l.Waivers)
	for _, c := range l.HealthChecks {
		setting("lint.healthChecks", c.Group+": "+names(c.Kinds))
	}
	setting("lint.policies", names(l.Policies))
}

func names(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
