package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/compare"
	"hallmark.dev/hallmark/plugin/compare/report"
	"hallmark.dev/hallmark/plugin/source"
)

// The exit codes of compare beside those for all commands: 0 says that nothing
// changes, 1 that something does, and exitIncomplete that not everything was compared,
// or that there is no report at all.
const exitIncomplete = 3

// compareFlags are the flags of `hallmark compare`.
type compareFlags struct {
	from, to         string
	fromRef, toRef   string
	applications     string
	include, exclude []string
	repoURL          string
	repos            []string
	namespace        string
	kubeVersion      string
	apiVersions      []string
	params           []string
	jobs             int
	limits           limitFlags
	trust            trustFlags
	output           string
	maxBytes         int
	unchanged        bool
}

func compareCommand(env *environment) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use: "compare [FOLDER|GLOB]...", Short: "Show what another renderer or revision changes, object by object",
		Long: compareHelp, Example: compareExample, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, flag := range []string{"from-ref", "to-ref"} {
				if set := cmd.Flags().Lookup(flag); set.Changed && set.Value.String() == "" { // a variable that is not set
					return usageError{fmt.Errorf("--%s: got \"\", want a revision; without the flag the side is the work tree", flag)}
				}
			}
			err := env.compare(cmd.Context(), &f, args)
			if code := (coded{}); err == nil || isUsage(err) || errors.As(err, &code) {
				return err
			}
			return coded{err, exitIncomplete} // 1 would say that there are changes
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "`renderer` of the first side: helm3 or helm4 for all charts; kustomize or plain for everything (default: what each application says)")
	flags.StringVar(&f.to, "to", "", "`renderer` of the second side")
	flags.StringVar(&f.fromRef, "from-ref", "", "git `revision` of the first side (default: the work tree)")
	flags.StringVar(&f.toRef, "to-ref", "", "git `revision` of the second side (default: the work tree)")
	flags.StringVar(&f.applications, "applications", "", "`folder` below which the manifests of Applications and ApplicationSets are (default without FOLDER: the current one)")
	flags.StringArrayVar(&f.include, "include", nil, "`glob` of the names of the applications, or folders, to compare (repeatable; default: all)")
	flags.StringArrayVar(&f.exclude, "exclude", nil, "`glob` of the names of those to leave out (repeatable)")
	flags.StringVar(&f.repoURL, "repo-url", "", "`URL` by which Applications name this repository (default: git's origin; where no Application names that, the one whose paths are all here)")
	flags.StringArrayVar(&f.repos, "repo", nil, "another repository as `URL=FOLDER`; of one with charts, the folder around them (repeatable)")
	flags.StringVar(&f.namespace, "namespace", "default", "`namespace` of the destination, for folders")
	flags.StringVar(&f.kubeVersion, "kube-version", "", "`version` of the destinations' Kubernetes (default: Helm's own)")
	flags.StringArrayVar(&f.apiVersions, "api-versions", nil, "`group/version` or group/version/Kind that the destinations serve (repeatable)")
	flags.StringArrayVar(&f.params, "param", nil, "parameter for folders as `name=value`, name[]=item or name[key]=value (repeatable)")
	flags.IntVar(&f.jobs, "jobs", runtime.GOMAXPROCS(0), "the most applications that are rendered at once")
	f.limits.register(cmd)
	f.trust.registerPolicy(cmd, callerPolicy)
	f.trust.registerKeys(cmd, "beside those that sops finds by itself")
	f.trust.seeds.register(cmd, callerSeeds)
	flags.StringVarP(&f.output, "output", "o", "text", "`format`: text, json, markdown (for a comment) or html (one file, without network)")
	flags.IntVar(&f.maxBytes, "max-bytes", 65_536, "the most `bytes` of markdown, what a comment on GitHub takes; what is cut is counted; 0 for no limit")
	flags.BoolVar(&f.unchanged, "unchanged", false, "list unchanged applications too, in text")
	return cmd
}

// check refuses calls that mean nothing.
func (f *compareFlags) check(args []string) error {
	known := []string{"", plugin.RendererHelm3, plugin.RendererHelm4, plugin.RendererKustomize, plugin.RendererPlain}
	for _, flag := range []struct{ name, value string }{{"--from", f.from}, {"--to", f.to}} {
		if !slices.Contains(known, flag.value) {
			return usageError{fmt.Errorf("%s: got %q, want one of %s", flag.name, flag.value, strings.Join(known[1:], ", "))}
		}
	}
	switch {
	case !slices.Contains([]string{"text", "json", "markdown", "html"}, f.output):
		return usageError{fmt.Errorf("-o: got %q, want text, json, markdown or html", f.output)}
	case f.from == f.to && f.fromRef == f.toRef:
		return usageError{errors.New("both sides are the same: give --from and --to, or --from-ref and --to-ref")}
	case f.applications != "" && len(args) > 0:
		return usageError{errors.New("--applications and folders exclude each other")}
	case f.jobs < 1:
		return usageError{fmt.Errorf("--jobs: got %d, want 1 or more", f.jobs)}
	case f.maxBytes < 0:
		return usageError{fmt.Errorf("--max-bytes: got %d, want 0 or more", f.maxBytes)}
	}
	for _, glob := range slices.Concat(f.include, f.exclude, args) {
		if !doublestar.ValidatePattern(glob) {
			return usageError{fmt.Errorf("%q is not a valid glob", glob)}
		}
	}
	return nil
}

// wanted applies --include and --exclude to what an application is called.
func (f *compareFlags) wanted(names ...string) bool {
	matches := func(glob string) bool {
		return slices.ContainsFunc(names, func(name string) bool { ok, err := doublestar.Match(glob, name); return err == nil && ok })
	}
	return (len(f.include) == 0 || slices.ContainsFunc(f.include, matches)) && !slices.ContainsFunc(f.exclude, matches)
}

func (env *environment) compare(ctx context.Context, f *compareFlags, args []string) error {
	if err := f.check(args); err != nil {
		return err
	}
	fleet, at, err := env.fleet(ctx, f)
	if err != nil {
		return err
	}
	defer at.close()
	progress := newProgress(env.stderr)
	fleet.Progress = progress.show
	r, err := at.run(ctx, fleet, f, args)
	progress.end()
	if err != nil {
		return err
	}
	if len(r.Applications) == 0 {
		return usageError{errors.New("nothing is left to compare: no name matches --include, or --exclude matches all")}
	}
	r.From.Ref, r.To.Ref = f.fromRef, f.toRef
	var out bytes.Buffer
	switch f.output {
	case "json":
		err = report.JSON(&out, r)
	case "markdown":
		err = report.Markdown(&out, r, f.maxBytes)
	case "html":
		err = report.HTML(&out, r)
	default:
		err = report.Text(&out, r, report.Options{Unchanged: f.unchanged})
	}
	if err != nil {
		return err
	}
	if _, err := env.stdout.Write(out.Bytes()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	code := exitDone
	for _, a := range r.Applications {
		switch a.Status {
		case compare.StatusRefused:
			return coded{code: exitIncomplete}
		case compare.StatusUnchanged:
		default:
			code = exitFailed
		}
	}
	if code != exitDone {
		return coded{code: code}
	}
	return nil
}

// workspace is the repository that the command runs in.
type workspace struct {
	root, dir string // absolute; dir is the current folder
	git       *gitObjects
	opened    []*source.Tree
}

func (w *workspace) close() {
	if w.git != nil {
		w.git.close()
	}
	for _, tree := range w.opened {
		_ = tree.Close() // it was only read
	}
}

// fleet turns the flags into what is compared.
func (env *environment) fleet(ctx context.Context, f *compareFlags) (fleet *compare.Fleet, w *workspace, err error) {
	w = &workspace{}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.dir, err = folder("."); err != nil {
		return nil, nil, err
	}
	top := gitTopLevel(w.dir)
	w.root = cmp.Or(top, w.dir)
	if top == "" && (f.fromRef != "" || f.toRef != "") {
		return nil, w, errors.New("--from-ref and --to-ref want a git repository, and this folder is in none")
	}
	if top != "" {
		w.git = &gitObjects{ctx: ctx, top: top}
	}
	fleet = &compare.Fleet{Wanted: f.wanted, Bounds: compare.Bounds{Parallel: f.jobs}}
	common := &fleet.Common
	common.Namespace, common.KubeVersion, common.APIVersions = f.namespace, f.kubeVersion, f.apiVersions
	common.Version, common.Tolerant = hallmarkVersion(), true
	env.judge(common)
	limits, err := f.limits.set(&common.Limits)
	if err != nil {
		return nil, w, err
	}
	fleet.Bounds.MemoryBytes = cmp.Or(common.Limits.MemoryBytes, plugin.DefaultLimits().MemoryBytes) / 2
	for _, assignment := range f.params {
		if err := common.Parameters.Set(assignment); err != nil {
			return nil, w, assignmentError(assignment, fmt.Errorf("--param: %w", err))
		}
	}
	if common.Policy, common.Keys, err = env.callerTrust(&f.trust); err != nil {
		return nil, w, err
	}
	if common.Seeds, err = f.trust.seeds.callers(w.root); err != nil {
		return nil, w, err
	}
	others, err := w.others(f.repos, limits)
	if err != nil {
		return nil, w, err
	}
	url := f.repoURL
	if url == "" && top != "" {
		url = gitRemote(top)
	}
	common.RepoURL = url
	side := func(renderer, ref string) (*compare.Checkout, error) {
		c := &compare.Checkout{Renderer: renderer, Others: others}
		if url != "" {
			c.URLs = []string{url}
		}
		return c, w.checkout(ctx, c, ref, limits)
	}
	if fleet.From, err = side(f.from, f.fromRef); err != nil {
		return nil, w, err
	}
	if f.fromRef == f.toRef { // two renderers on one input
		fleet.To = fleet.From.With(f.to)
	} else if fleet.To, err = side(f.to, f.toRef); err != nil {
		return nil, w, err
	}
	fleet.Guess = f.repoURL == ""
	return fleet, w, nil
}

// others opens the repositories of --repo.
func (w *workspace) others(flags []string, limits source.Limits) (map[string]*source.Tree, error) {
	others := map[string]*source.Tree{}
	for _, flag := range flags {
		// A URL may hold an equal sign, a folder hardly ever.
		i := strings.LastIndex(flag, "=")
		if i <= 0 || i == len(flag)-1 {
			return nil, usageError{fmt.Errorf("--repo: got %q, want URL=FOLDER", flag)}
		}
		dir, err := folder(flag[i+1:])
		if err != nil {
			return nil, fmt.Errorf("--repo: %w", err)
		}
		tree, err := source.Dir(dir, limits)
		if err != nil {
			return nil, err
		}
		w.opened = append(w.opened, tree)
		others[flag[:i]] = tree
	}
	return others, nil
}

// checkout opens the repository at a revision, or the work tree.
func (w *workspace) checkout(ctx context.Context, c *compare.Checkout, ref string, limits source.Limits) (err error) {
	if w.git != nil {
		c.Pinned = w.pinned(limits)
	}
	if ref == "" {
		if w.git != nil {
			c.Commit = gitRevision(ctx, w.root)
			if c.Foreign, err = w.git.submodules(); err != nil {
				return err
			}
		}
		c.Tree, err = source.Dir(w.root, limits)
		if err == nil {
			w.opened = append(w.opened, c.Tree)
		}
		return err
	}
	if c.Commit, err = w.git.commit(ref); err != nil {
		return err
	}
	tree, err := w.git.tree(c.Commit, limits)
	if err != nil {
		return err
	}
	c.Tree = tree.Tree
	c.Missing = tree.missing
	return nil
}

// pinned returns the trees of tags and commits that Applications name, each once.
func (w *workspace) pinned(limits source.Limits) func(string) (*compare.Revision, string, error) {
	type answer struct {
		revision *compare.Revision
		note     string
		err      error
	}
	known := map[string]answer{}
	return func(revision string) (*compare.Revision, string, error) {
		a, asked := known[revision]
		if !asked {
			var commit string
			if commit, a.note, a.err = w.git.pinned(revision); commit != "" {
				var tree *gitTree
				if tree, a.err = w.git.tree(commit, limits); a.err == nil {
					a.revision = &compare.Revision{Tree: tree.Tree, Commit: commit, Missing: tree.missing}
				}
			}
			known[revision] = a
		}
		return a.revision, a.note, a.err
	}
}

// run compares what the arguments name.
func (w *workspace) run(ctx context.Context, fleet *compare.Fleet, f *compareFlags, args []string) (*compare.Report, error) {
	if len(args) == 0 {
		dir, err := w.relative(cmp.Or(f.applications, "."))
		if err != nil {
			return nil, err
		}
		r, found, err := fleet.Applications(ctx, dir)
		if err != nil || found > 0 {
			return r, err
		}
		if f.applications != "" {
			return nil, fmt.Errorf("%q: no manifest of an Application or ApplicationSet below it", f.applications)
		}
		args = []string{"."}
		return w.folders(ctx, fleet, args, true)
	}
	return w.folders(ctx, fleet, args, false)
}

// folders compares folders. With below, those in them that can be rendered count
// and not they themselves.
func (w *workspace) folders(ctx context.Context, fleet *compare.Fleet, args []string, below bool) (*compare.Report, error) {
	var dirs []string
	for _, arg := range args {
		pattern, err := w.relative(arg)
		if err != nil {
			return nil, err
		}
		var found []string
		for _, c := range []*compare.Checkout{fleet.From, fleet.To} {
			some, err := expandFolders(c.Tree, pattern, below)
			if err != nil {
				return nil, err
			}
			found = append(found, some...)
		}
		if len(found) == 0 {
			if below {
				return nil, errors.New("nothing to compare: below this folder there is no Application, no chart and no kustomization")
			}
			return nil, fmt.Errorf("%q: there is no such folder on either side", arg)
		}
		dirs = append(dirs, found...)
	}
	slices.Sort(dirs)
	return fleet.Folders(ctx, slices.Compact(dirs), func(dir string) string {
		return appName(filepath.Join(w.root, filepath.FromSlash(dir)))
	})
}

// expandFolders returns the folders of a tree that a glob matches.
func expandFolders(tree *source.Tree, pattern string, below bool) ([]string, error) {
	view := tree.View()
	if below {
		found, err := compare.Folders(tree, pattern)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return found, err
	}
	matches, err := doublestar.Glob(view, pattern, doublestar.WithNoFollow())
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(matches, func(name string) bool {
		info, err := fs.Stat(view, name)
		return err != nil || !info.IsDir()
	}), nil
}

// relative is a path or glob as one relative to the root of the repository. The
// folder need not be there: it can be of a revision.
func (w *workspace) relative(arg string) (string, error) {
	abs := arg
	if !filepath.IsAbs(arg) {
		abs = filepath.Join(w.dir, arg)
	}
	rel, err := filepath.Rel(w.root, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%q is not inside the repository %q", arg, w.root)
	}
	return path.Clean(filepath.ToSlash(rel)), nil
}
