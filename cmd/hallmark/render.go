package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/internal/evidence"
	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/source"
	"hallmark.dev/hallmark/plugin/stamp"
)

// renderFlags are the flags of `hallmark render`.
type renderFlags struct {
	app, namespace, project  string
	repoURL, revision, root  string
	kubeVersion              string
	apiVersions              []string
	params                   []string
	paramsFile               string
	limits                   []string
	hashKey                  string
	evidence                 string
	output                   string
	revisionGiven, repoGiven bool
}

func renderCommand(env *environment) *cobra.Command {
	var f renderFlags
	cmd := &cobra.Command{
		Use: "render [DIR]", Short: "Render, gate and stamp an application",
		Long: renderHelp, Example: renderExample, Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.revisionGiven = cmd.Flags().Changed("revision")
			f.repoGiven = cmd.Flags().Changed("repo-url")
			return env.render(cmd.Context(), &f, slices.Concat(args, []string{"."})[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.app, "app", "", "`name` of the application (default: the name of DIR)")
	flags.StringVar(&f.namespace, "namespace", "default", "`namespace` of the destination")
	flags.StringVar(&f.project, "project", "", "`name` of the AppProject")
	flags.StringVar(&f.repoURL, "repo-url", "", "`URL` of the repository (default: git's origin)")
	flags.StringVar(&f.revision, "revision", "", "`commit` that is rendered (default: git's HEAD, with -dirty behind it if there are local changes)")
	flags.StringVar(&f.root, "root", "", "`folder` that paths may not leave (default: git's top level, else DIR)")
	flags.StringVar(&f.kubeVersion, "kube-version", "", "`version` of the destination's Kubernetes (default: Helm's own)")
	flags.StringArrayVar(&f.apiVersions, "api-versions", nil, "`group/version` or group/version/Kind that the destination serves (repeatable)")
	flags.StringArrayVar(&f.params, "param", nil, "parameter as `name=value`, name[]=item or name[key]=value (repeatable)")
	flags.StringVar(&f.paramsFile, "params", "", "`file` with the JSON that Argo CD sends in ARGOCD_APP_PARAMETERS")
	flags.StringArrayVar(&f.limits, "limit", nil, "limit as `name=N`: files, fileBytes, treeBytes, objects, outputBytes, memoryBytes, renderTime (repeatable)")
	flags.StringVar(&f.hashKey, "hash-key", "", "`file` with the key under which values of Secrets enter the hashes")
	flags.StringVar(&f.evidence, "evidence", "", "`file` to write the in-toto statement of this render to")
	flags.StringVarP(&f.output, "output", "o", "yaml", "`format` of the manifests: yaml or json")
	return cmd
}

func (env *environment) render(ctx context.Context, f *renderFlags, dir string) error {
	if f.output != "yaml" && f.output != "json" {
		return usageError{fmt.Errorf("-o: got %q, want yaml or json", f.output)}
	}
	request, err := f.request(ctx, dir)
	if err != nil {
		return err
	}
	result, err := plugin.Render(ctx, request)
	if err != nil {
		return err
	}
	var record []byte
	if f.evidence != "" {
		if record, err = evidence.Marshal(result.Evidence); err != nil {
			return err
		}
	}
	printWarnings(env.stderr, result.Warnings)
	commit, err := stage(f.evidence, record)
	if err != nil {
		return err
	}
	if err := writeManifests(env.stdout, result.Objects, f.output); err != nil {
		return errors.Join(fmt.Errorf("writing the manifests: %w", err), commit(false))
	}
	return commit(true)
}

// request turns the flags into a request.
func (f *renderFlags) request(ctx context.Context, dir string) (*plugin.Request, error) {
	r := &plugin.Request{
		Namespace: f.namespace, Project: f.project, RepoURL: f.repoURL, Revision: f.revision,
		KubeVersion: f.kubeVersion, APIVersions: f.apiVersions, Version: hallmarkVersion(),
	}
	if err := f.parameters(&r.Parameters); err != nil {
		return nil, err
	}
	treeLimits, err := f.setLimits(&r.Limits)
	if err != nil {
		return nil, err
	}
	if r.HashKey, err = readKey(f.hashKey); err != nil {
		return nil, err
	}
	abs, err := realPath(dir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%q is not a folder", dir)
	}
	top := gitTopLevel(abs)
	root := cmp.Or(top, abs)
	if f.root != "" {
		if root, err = realPath(f.root); err != nil {
			return nil, err
		}
	}
	rel, err := filepath.Rel(root, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%q is not inside the root %q", dir, root)
	}
	if top != "" && !f.revisionGiven {
		r.Revision = gitRevision(ctx, top)
	}
	if top != "" && !f.repoGiven {
		r.RepoURL = gitRemote(top)
	}
	r.App = cmp.Or(f.app, appName(abs))
	r.Path = filepath.ToSlash(rel)
	r.Tree, err = source.Dir(root, treeLimits)
	return r, err
}

func (f *renderFlags) parameters(p *plugin.Parameters) error {
	if f.paramsFile != "" {
		data, err := os.ReadFile(f.paramsFile)
		if err != nil {
			return err
		}
		if *p, err = plugin.ParseParameters(data); err != nil {
			return fmt.Errorf("%s: %w", f.paramsFile, err)
		}
	}
	for _, assignment := range f.params {
		if err := p.Set(assignment); err != nil {
			return fmt.Errorf("--param: %w", err)
		}
	}
	return nil
}

// setLimits applies --limit to the limits of the render and returns those of
// the tree.
func (f *renderFlags) setLimits(l *plugin.Limits) (source.Limits, error) {
	var tree source.Limits
	for _, assignment := range f.limits {
		name, value, _ := strings.Cut(assignment, "=")
		if name == "renderTime" {
			d, err := time.ParseDuration(value)
			if err != nil || d <= 0 {
				return tree, usageError{fmt.Errorf("--limit %s: got %q, want a duration such as 90s", name, value)}
			}
			l.RenderTime = d
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n <= 0 {
			return tree, usageError{fmt.Errorf("--limit %s: got %q, want a whole number above 0", name, value)}
		}
		switch name {
		case "files":
			tree.Files = int(n)
		case "fileBytes":
			tree.FileBytes = n
		case "treeBytes":
			tree.TreeBytes = n
		case "objects":
			l.Objects = int(n)
		case "outputBytes":
			l.OutputBytes = int(n)
		case "memoryBytes":
			l.MemoryBytes = n
		default:
			return tree, usageError{fmt.Errorf("--limit: unknown limit %q", name)}
		}
	}
	return tree, nil
}

func readKey(file string) (stamp.Key, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return stamp.Key(data), nil
}

// realPath is absolute and free of links, so that the root and the folder in it
// compare.
func realPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
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
