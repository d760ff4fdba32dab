package overlay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/internal/yamldoc"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	"sigs.k8s.io/yaml"
)

// Chart is one chart that a kustomization inflates.
type Chart struct {
	// Dir is the chart's folder in the tree.
	Dir string
	// Name, Version and Repo are as the kustomization has them; Version and Repo
	// may be empty. They say what was asked for; Dir is what is rendered.
	Name, Version, Repo string
	// ReleaseName is never empty: it is "release-name", as `helm template`
	// chooses, where the kustomization gives none. With a NameTemplate it has no
	// meaning.
	ReleaseName string
	// NameTemplate is a Go template for the release name, or empty.
	NameTemplate string
	// Namespace is the release namespace; empty means Helm's default.
	Namespace string
	// Values are YAML documents in order of rising precedence, to be merged over
	// the chart's own values as Helm merges several --values files. The first
	// one is valuesFile and valuesInline, merged as valuesMerge says.
	Values [][]byte
	// KubeVersion and APIVersions are Helm's capabilities; empty means Helm's
	// defaults.
	KubeVersion string
	APIVersions []string
	// IncludeCRDs, SkipHooks and SkipTests are Helm's --include-crds, --no-hooks
	// and --skip-tests.
	IncludeCRDs, SkipHooks, SkipTests bool
}

// InflateFunc renders one chart and returns the YAML stream that
// `helm template` prints.
type InflateFunc func(ctx context.Context, c Chart) ([]byte, error)

// Values of valuesMerge.
const (
	mergeInlineLoses = "merge"
	mergeInlineWins  = "override"
	mergeInlineOnly  = "replace"
)

// defaultRelease is the name that `helm template` uses when it gets none.
const defaultRelease = "release-name"

// inflator is Kustomize's HelmChartInflationGenerator without the helm binary:
// the same fields, defaults and checks in the same order, with the chart found
// in the tree and rendered by the session's InflateFunc.
type inflator struct {
	session *session
	h       *resmap.PluginHelpers
	types.HelmGlobals
	types.HelmChart

	// additional are the contents of AdditionalValuesFiles.
	additional [][]byte
}

// Config implements resmap.Configurable.
func (p *inflator) Config(h *resmap.PluginHelpers, config []byte) error {
	// The options come first and the file's own fields override them, which is
	// what Kustomize does (its comment says the opposite).
	p.KubeVersion = p.session.options.KubeVersion
	p.ApiVersions = slices.Clone(p.session.options.APIVersions)
	p.h = h
	if err := yaml.Unmarshal(config, p); err != nil {
		return fmt.Errorf("chart configuration: %w", err)
	}
	return p.validate()
}

func (p *inflator) validate() error {
	switch {
	case p.Name == "":
		return errors.New("chart name cannot be empty")
	case strings.HasPrefix(p.ReleaseName, "-"):
		return fmt.Errorf("chart %q: releaseName %q must not start with '-'", p.Name, p.ReleaseName)
	case strings.HasPrefix(p.Name, "-"):
		return fmt.Errorf("chart name %q must not start with '-'", p.Name)
	case p.ReleaseName != "" && p.NameTemplate != "":
		return fmt.Errorf("chart %q: got both releaseName and nameTemplate, want one", p.Name)
	}
	if p.ChartHome == "" {
		p.ChartHome = types.HelmDefaultHome
	}
	for _, file := range p.AdditionalValuesFiles {
		content, err := p.h.Loader().Load(file)
		if err != nil {
			return fmt.Errorf("chart %q: additionalValuesFiles %q: %w", p.Name, file, err)
		}
		p.additional = append(p.additional, content)
	}
	switch p.ValuesMerge {
	case "":
		p.ValuesMerge = mergeInlineWins
	case mergeInlineLoses, mergeInlineWins, mergeInlineOnly:
	default:
		return fmt.Errorf("chart %q: valuesMerge is %q, want %q, %q or %q", p.Name, p.ValuesMerge, mergeInlineLoses, mergeInlineWins, mergeInlineOnly)
	}
	return nil
}

// Generate implements resmap.Generator.
func (p *inflator) Generate() (resmap.ResMap, error) {
	dir, err := p.find()
	if err != nil {
		return nil, err
	}
	values, err := p.values(dir)
	if err != nil {
		return nil, err
	}
	if p.session.options.Inflate == nil {
		return nil, fmt.Errorf("chart %q: no helm renderer is set", p.Name)
	}
	release := p.ReleaseName
	if release == "" {
		release = defaultRelease
	}
	stream, err := p.session.options.Inflate(p.session.ctx, Chart{
		Dir: dir, Name: p.Name, Version: p.Version, Repo: p.Repo,
		ReleaseName: release, NameTemplate: p.NameTemplate, Namespace: p.Namespace,
		Values:      append([][]byte{values}, p.additional...),
		KubeVersion: p.KubeVersion, APIVersions: p.ApiVersions,
		IncludeCRDs: p.IncludeCRDs, SkipHooks: p.SkipHooks, SkipTests: p.SkipTests,
	})
	if err != nil {
		// The renderer's message is ours; it is kept as it is.
		return nil, &fault{
			message: fmt.Sprintf("%s: rendering chart %q: %v", p.session.fileIn(p.h.Loader().Root()), p.Name, err),
			cause:   err,
		}
	}
	p.session.origins.chart(stream)
	return p.resources(stream)
}

// home is the folder below which the chart is looked for first: helm pull
// unpacks into name-version there.
func (p *inflator) home() (all, pulled string) {
	all = p.ChartHome
	if !filepath.IsAbs(all) {
		all = filepath.Join(p.h.Loader().Root(), all)
	}
	if p.Version != "" && p.Repo != "" {
		return all, filepath.Join(all, p.Name+"-"+p.Version)
	}
	return all, all
}

// find returns the chart's folder in the tree: home/name-version/name with a
// version and a repository, else home/name, which is where Kustomize looks. A
// chart that Kustomize would pull is also accepted as home/name or directly in
// home/name-version, if it is of the wanted version.
func (p *inflator) find() (string, error) {
	all, pulled := p.home()
	if dir, ok := p.folder(filepath.Join(pulled, p.Name)); ok {
		return dir, nil
	}
	var other []string
	if pulled != all {
		for _, candidate := range []string{filepath.Join(all, p.Name), pulled} {
			dir, ok := p.folder(candidate)
			if !ok {
				continue
			}
			version, ok := p.version(dir)
			if ok && strings.TrimPrefix(version, "v") == strings.TrimPrefix(p.Version, "v") {
				return dir, nil
			}
			if ok {
				other = append(other, fmt.Sprintf("%q has version %q", dir, version))
			}
		}
	}
	home, ok := inside(all)
	if !ok {
		return "", fmt.Errorf("chart %q: chartHome %q leaves the repository", p.Name, p.ChartHome)
	}
	var wanted strings.Builder
	fmt.Fprintf(&wanted, "chart %q", p.Name)
	if p.Version != "" {
		fmt.Fprintf(&wanted, " version %q", p.Version)
	}
	if p.Repo != "" {
		fmt.Fprintf(&wanted, " from %q", redact.URL(p.Repo))
	}
	fmt.Fprintf(&wanted, " is not vendored in %q", home)
	if len(other) > 0 {
		fmt.Fprintf(&wanted, " (%s)", strings.Join(other, ", "))
	}
	return "", diag.WithHint(errors.New(wanted.String()),
		fmt.Sprintf("a render fetches nothing: commit the chart as %q", path.Join(home, p.Name)))
}

// folder resolves an absolute path and reports whether a folder is there.
func (p *inflator) folder(abs string) (string, bool) {
	name, ok := inside(abs)
	if !ok {
		return "", false
	}
	resolved, dir, err := p.session.tree.stat(name)
	return resolved, err == nil && dir
}

func (p *inflator) version(dir string) (string, bool) {
	content, err := fs.ReadFile(p.session.tree.fsys, path.Join(dir, "Chart.yaml"))
	if err != nil {
		return "", false
	}
	var chart struct {
		Version string `json:"version"`
	}
	if err := yaml.Unmarshal(content, &chart); err != nil {
		return "", false
	}
	return chart.Version, true
}

// values merges valuesFile and valuesInline. The default valuesFile is the
// chart's own, which makes the merge a matter of the kustomization alone.
func (p *inflator) values(dir string) ([]byte, error) {
	if len(p.ValuesInline) == 0 {
		return p.loadValues(dir)
	}
	inline := p.ValuesInline
	if p.ValuesMerge != mergeInlineOnly {
		merged, err := p.mergeValues(dir)
		if err != nil {
			return nil, err
		}
		inline = merged
	}
	return yaml.Marshal(inline)
}

func (p *inflator) loadValues(dir string) ([]byte, error) {
	if p.ValuesFile != "" {
		content, err := p.h.Loader().Load(p.ValuesFile)
		if err != nil {
			return nil, fmt.Errorf("chart %q: valuesFile %q: %w", p.Name, p.ValuesFile, err)
		}
		return content, nil
	}
	content, err := p.h.Loader().Load(outside(path.Join(dir, "values.yaml")))
	if err != nil {
		return nil, diag.WithHint(fmt.Errorf("chart %q: %w", p.Name, err),
			"kustomize reads the chart's own values.yaml unless valuesFile names another")
	}
	return content, nil
}

// mergeValues follows Kustomize: merge2 with the winning side as the source,
// in which a null deletes a key.
func (p *inflator) mergeValues(dir string) (map[string]any, error) {
	content, err := p.loadValues(dir)
	if err != nil {
		return nil, err
	}
	fromFile, err := kyaml.Parse(string(content))
	if err != nil && len(bytes.TrimSpace(content)) > 0 {
		return nil, fmt.Errorf("chart %q: values file: %w", p.Name, err)
	}
	inline, err := kyaml.FromMap(p.ValuesInline)
	if err != nil {
		return nil, fmt.Errorf("chart %q: valuesInline: %w", p.Name, err)
	}
	winner, loser := inline, fromFile
	if p.ValuesMerge == mergeInlineLoses {
		winner, loser = fromFile, inline
	}
	if loser == nil {
		return p.ValuesInline, nil
	}
	merged, err := merge2.Merge(winner, loser.Copy(), kyaml.MergeOptions{})
	if err != nil {
		return nil, fmt.Errorf("chart %q: merging values: %w", p.Name, err)
	}
	values, err := merged.Map()
	if err != nil {
		return nil, fmt.Errorf("chart %q: merged values: %w", p.Name, err)
	}
	return values, nil
}

// resources reads the stream and marks each object as Helm's, which keeps the
// namespace transformer from moving objects that have a namespace.
func (p *inflator) resources(stream []byte) (resmap.ResMap, error) {
	if err := yamldoc.CheckAliases(fmt.Sprintf("output of chart %q", p.Name), stream); err != nil {
		return nil, err
	}
	m, err := p.h.ResmapFactory().NewResMapFromBytes(stream)
	if err != nil {
		return nil, fmt.Errorf("chart %q: output of helm: %w", p.Name, err)
	}
	for _, res := range m.Resources() {
		if err := res.PipeE(kyaml.SetAnnotation(konfig.HelmGeneratedAnnotation, "true")); err != nil {
			return nil, fmt.Errorf("chart %q: marking %s: %w", p.Name, describe(res), err)
		}
	}
	return m, nil
}
