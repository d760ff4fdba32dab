package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hallmark.dev/hallmark/internal/evidence"
	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/source"
)

// renderFlags say what is rendered and how: the flags of `hallmark render`, and of
// the commands that look at what it renders.
type renderFlags struct {
	app, namespace, project string
	repoURL, revision, root string
	kubeVersion             string
	apiVersions             []string
	params                  []string
	paramsFile              string
	limits                  limitFlags
	trust                   trustFlags
	hashKey                 string // of render alone
	flags                   *pflag.FlagSet
}

// register adds the flags. The policy's usage says what counts without one.
func (f *renderFlags) register(cmd *cobra.Command, policyUsage string) {
	flags := cmd.Flags()
	f.flags = flags
	flags.StringVar(&f.app, "app", "", "`name` of the application (default: the name of DIR)")
	flags.StringVar(&f.namespace, "namespace", "default", "`namespace` of the destination")
	flags.StringVar(&f.project, "project", "", "`name` of the AppProject")
	flags.StringVar(&f.repoURL, "repo-url", "", "`URL` of the repository (default: git's origin)")
	flags.StringVar(&f.revision, "revision", "", "`commit` that is rendered (default: what git says of the work tree, with -dirty behind it if there are local changes; where it is given, git is not started)")
	flags.StringVar(&f.root, "root", "", "`folder` that paths may not leave (default: git's top level, else DIR)")
	flags.StringVar(&f.kubeVersion, "kube-version", "", "`version` of the destination's Kubernetes (default: Helm's own)")
	flags.StringArrayVar(&f.apiVersions, "api-versions", nil, "`group/version` or group/version/Kind that the destination serves (repeatable)")
	flags.StringArrayVar(&f.params, "param", nil, "parameter as `name=value`, name[]=item or name[key]=value (repeatable)")
	flags.StringVar(&f.paramsFile, "params", "", "`file` with the JSON that Argo CD sends in ARGOCD_APP_PARAMETERS")
	f.limits.register(cmd)
	f.trust.registerPolicy(cmd, policyUsage)
	f.trust.registerKeys(cmd, "beside those that sops finds by itself")
	f.trust.seeds.register(cmd, callerSeeds)
}

const callerPolicy = "default: none; what your own keys open is decrypted, and nothing is fetched"

func renderCommand(env *environment) *cobra.Command {
	var f renderFlags
	var record, output string
	cmd := &cobra.Command{
		Use: "render [DIR]", Short: "Render, gate and stamp an application",
		Long: renderHelp, Example: renderExample, Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.render(cmd.Context(), &f, slices.Concat(args, []string{"."})[0], record, output)
		},
	}
	f.register(cmd, callerPolicy)
	flags := cmd.Flags()
	flags.StringVar(&f.hashKey, "hash-key", "", hashKeyUsage)
	flags.StringVar(&record, "evidence", "", "`file` to write the in-toto statement of this render to")
	flags.StringVarP(&output, "output", "o", "yaml", "`format` of the manifests: yaml or json")
	return cmd
}

// render prints the manifests of dir in the format output, and writes the evidence to
// the file record where it is named.
func (env *environment) render(ctx context.Context, f *renderFlags, dir, record, output string) error {
	if output != "yaml" && output != "json" {
		return usageError{fmt.Errorf("-o: got %q, want yaml or json", output)}
	}
	if err := checkTarget(record); err != nil {
		return err
	}
	request, err := env.renderRequest(ctx, f, dir)
	if err != nil {
		return err
	}
	result, err := plugin.Render(ctx, request)
	if err != nil {
		return err
	}
	var statement []byte
	if record != "" {
		if statement, err = evidence.Marshal(result.Evidence); err != nil {
			return err
		}
	}
	printWarnings(env.stderr, result.Warnings)
	commit, err := stage(record, statement)
	if err != nil {
		return err
	}
	if err := writeManifests(env.stdout, result.Objects, output); err != nil {
		return errors.Join(fmt.Errorf("writing the manifests: %w", err), commit(false))
	}
	return commit(true)
}

// renderRequest turns the flags into a request.
func (env *environment) renderRequest(ctx context.Context, f *renderFlags, dir string) (*plugin.Request, error) {
	r := &plugin.Request{
		Namespace: f.namespace, Project: f.project, RepoURL: f.repoURL, Revision: f.revision,
		KubeVersion: f.kubeVersion, APIVersions: f.apiVersions, Version: hallmarkVersion(),
	}
	env.judge(r)
	if err := f.parameters(&r.Parameters); err != nil {
		return nil, err
	}
	treeLimits, err := f.limits.set(&r.Limits)
	if err != nil {
		return nil, err
	}
	if r.HashKey, err = readKey(f.hashKey); err != nil {
		return nil, err
	}
	if r.Policy, r.Keys, err = env.callerTrust(&f.trust); err != nil {
		return nil, err
	}
	abs, err := folder(dir)
	if err != nil {
		return nil, err
	}
	top := gitTopLevel(abs)
	root := cmp.Or(top, abs)
	if f.root != "" {
		if root, err = folder(f.root); err != nil {
			return nil, err
		}
	}
	rel, err := within(root, abs)
	if err != nil {
		return nil, err
	}
	if r.Seeds, err = f.trust.seeds.callers(root); err != nil {
		return nil, err
	}
	if top != "" && !f.flags.Changed("revision") {
		r.Revision = gitRevision(ctx, top)
	}
	if top != "" && !f.flags.Changed("repo-url") {
		r.RepoURL = gitRemote(top)
	}
	r.App = cmp.Or(f.app, appName(abs))
	r.Path = rel
	r.Tree, err = source.Dir(root, r.TreeLimits(treeLimits))
	return r, err
}

func (f *renderFlags) parameters(p *plugin.Parameters) error {
	if f.paramsFile != "" {
		data, err := readFile(f.paramsFile, "parameters", maxParameters)
		if err != nil {
			return err
		}
		if *p, err = plugin.ParseParameters(data); err != nil {
			return fmt.Errorf("%s: %w", f.paramsFile, err)
		}
	}
	for _, assignment := range f.params {
		if err := p.Set(assignment); err != nil {
			return assignmentError(assignment, fmt.Errorf("--param: %w", err))
		}
	}
	return nil
}

// assignmentError makes err a wrong call, unless it is about the value: a name
// or a form that does not exist is a slip of the keyboard, while a value can come
// from anywhere and fails like one in hallmark.yaml. Of the values only booleans
// are judged when a parameter is set.
func assignmentError(assignment string, err error) error {
	name, _, hasValue := strings.Cut(assignment, "=")
	if hasValue && slices.ContainsFunc(plugin.Specs(), func(s plugin.ParameterSpec) bool { return s.Boolean && s.Name == name }) {
		return err
	}
	return usageError{err}
}

// appName makes a release name of a folder's name: lower case, with every other
// character turned into a dash.
func appName(dir string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, filepath.Base(dir))
	name = strings.Trim(name[:min(len(name), 53)], "-.")
	return cmp.Or(name, "app")
}
