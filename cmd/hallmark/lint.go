package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/health"
	"hallmark.dev/hallmark/health/library"
	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/lua/vm"
	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/policy"
	"hallmark.dev/hallmark/plugin/rules"
)

// lintFlags are the flags of `hallmark lint`.
type lintFlags struct {
	render      renderFlags
	rules       []string
	failOn      string
	showWaived  bool
	output      string
	explain     string
	list        bool
	explainSome bool // --explain is there, with an empty value too
}

// The values of --fail-on beside the severities.
const (
	failOnDeny  = "deny"
	failOnNever = "never"
)

func lintCommand(env *environment) *cobra.Command {
	var f lintFlags
	cmd := &cobra.Command{
		Use: "lint [DIR]", Short: "Find the faults of a release before it is merged",
		Long: lintHelp, Example: lintExample, Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.explainSome = cmd.Flags().Changed("explain")
			if f.list || f.explainSome {
				return env.tellRules(&f, args)
			}
			return env.lint(cmd.Context(), &f, slices.Concat(args, []string{"."})[0])
		},
	}
	f.render.register(cmd, "its lint section sets the levels and brings the team's own rules; default: none, all rules are checked")
	flags := cmd.Flags()
	flags.StringArrayVar(&f.rules, "rule", nil, "report the findings of the rule `ID` only (repeatable)")
	flags.StringVar(&f.failOn, "fail-on", "", "fail on findings of this `severity` or a worse one: error, warning or info; or on what the policy would deny: deny; or never (default: deny where the policy has a lint section, else warning)")
	flags.BoolVar(&f.showWaived, "show-waived", false, "show the findings that an annotation waives as well; they fail nothing")
	flags.StringVarP(&f.output, "output", "o", "text", "`format`: text, json, sarif or github")
	flags.StringVar(&f.explain, "explain", "", "print the reason, an example and the remedy of the rule `ID`, and render nothing")
	flags.BoolVar(&f.list, "list", false, "print the list of rules, and render nothing")
	return cmd
}

func (env *environment) lint(ctx context.Context, f *lintFlags, dir string) error {
	formats := []string{"text", "json", "sarif", "github"}
	thresholds := []string{"", string(rules.Error), string(rules.Warning), string(rules.Info), failOnDeny, failOnNever}
	switch {
	case !slices.Contains(formats, f.output):
		return usageError{fmt.Errorf("-o: got %q, want text, json, sarif or github", f.output)}
	case !slices.Contains(thresholds, f.failOn):
		return usageError{fmt.Errorf("--fail-on: got %q, want error, warning, info, deny or never", f.failOn)}
	}
	request, err := env.renderRequest(ctx, &f.render, dir)
	if err != nil {
		return err
	}
	defer func() { _ = request.Tree.Close() }() // it was only read
	rule := request.Policy.For(policy.Subject{Project: request.Project, RepoURL: request.RepoURL, Namespace: request.Namespace})
	failOn, err := f.threshold(rule.Lint)
	if err != nil {
		return err
	}
	if err := f.knownRules(rule.Lint); err != nil {
		return err
	}
	request.Review, request.Tolerant = true, true
	result, err := plugin.Render(ctx, request)
	if err != nil {
		return err
	}
	printWarnings(env.stderr, slices.Concat(f.switchedOff(rule), result.Warnings))
	report := newRuleReport(request, result, f)
	if err := report.write(env.stdout, f.output); err != nil {
		return fmt.Errorf("writing the findings: %w", err)
	}
	return report.verdict(failOn)
}

// threshold is what fails the run.
func (f *lintFlags) threshold(section *policy.Lint) (string, error) {
	switch {
	case f.failOn == failOnDeny && section == nil:
		return "", usageError{errors.New("--fail-on: deny needs a policy whose rule for this application has a lint section")}
	case f.failOn == "" && section != nil:
		return failOnDeny, nil
	}
	return cmp.Or(f.failOn, string(rules.Warning)), nil
}

// judge gives a request what the release rules ask beside the objects: the day, for
// waivers, and which custom resources have a health check.
func (env *environment) judge(r *plugin.Request) {
	r.Today, r.HealthChecked = env.now().UTC(), healthChecked
}

// knownRules refuses names of rules that neither hallmark nor the policy has.
func (f *lintFlags) knownRules(section *policy.Lint) error {
	known := ruleNames()
	if section != nil {
		for _, rule := range section.Team {
			known = append(known, rule.Name())
		}
	}
	for _, name := range f.rules {
		if !slices.Contains(known, name) {
			return unknownRule("--rule", name, known)
		}
	}
	return nil
}

// switchedOff says which of the rules that were asked for the policy does not check.
func (f *lintFlags) switchedOff(rule *policy.Rule) (warnings []string) {
	for _, name := range f.rules {
		if rule.Lint.Level(name) == policy.LevelOff {
			warnings = append(warnings, fmt.Sprintf("%s switches %q off", rule, name))
		}
	}
	return warnings
}

func ruleNames() (names []string) {
	for _, rule := range rules.All() {
		names = append(names, rule.ID)
	}
	return names
}

// unknownRule names the rules that may have been meant.
func unknownRule(flag, name string, known []string) error {
	err := usageError{fmt.Errorf("%s: there is no rule %q", flag, name)}
	if near := similar(name, known); len(near) > 0 {
		return diag.WithHint(err, "did you mean "+quotedOr(near)+"?")
	}
	return diag.WithHint(err, "`hallmark lint --list` prints the rules")
}

func quotedOr(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	return strings.Join(quoted, " or ")
}

// similar returns those of the names that are most like name, the most similar first:
// by the pairs of letters that both have, so that a part of a name finds it as well as
// a slip of the keyboard.
func similar(name string, names []string) []string {
	pairs := func(s string) map[string]bool {
		set := map[string]bool{}
		for i := range max(len(s)-1, 0) {
			set[s[i:i+2]] = true
		}
		return set
	}
	const enough, most = 0.4, 3
	score := map[string]float64{}
	of := pairs(strings.ToLower(name))
	var near []string
	for _, other := range names {
		theirs, common := pairs(other), 0
		for pair := range of {
			if theirs[pair] {
				common++
			}
		}
		if score[other] = 2 * float64(common) / float64(max(len(of)+len(theirs), 1)); score[other] >= enough {
			near = append(near, other)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(score[b], score[a]) })
	return near[:min(len(near), most)]
}

// healthChecked tells the custom resources whose health Argo CD knows by the scripts
// that it brings along, or by the specs of hallmark's library. The policy adds the
// team's own.
func healthChecked(group, kind string) bool {
	if _, found := vm.Builtin(group, kind); found {
		return true
	}
	targets, err := libraryTargets()
	return err == nil && // a test reads them
		slices.ContainsFunc(targets, func(t health.Target) bool {
			return wildcard(t.Group, group) && slices.ContainsFunc(t.Kinds, func(k string) bool { return wildcard(k, kind) })
		})
}

// libraryTargets are the kinds of the library.
var libraryTargets = sync.OnceValues(func() ([]health.Target, error) {
	files, err := fs.Glob(library.Files, "*/*.yaml")
	if err != nil {
		return nil, err
	}
	var targets []health.Target
	for _, file := range files {
		if !isSpecFile(file) {
			continue
		}
		data, err := fs.ReadFile(library.Files, file)
		if err != nil {
			return nil, err
		}
		checks, err := health.Parse(shipped.shown(file), data)
		if err != nil {
			return nil, err
		}
		for _, check := range checks {
			targets = append(targets, check.Targets...)
		}
	}
	return targets, nil
})

// wildcard reports whether a text matches a pattern in which "*" stands for any text.
// Neither has a slash.
func wildcard(pattern, text string) bool {
	matches, err := path.Match(pattern, text)
	return err == nil && matches
}
