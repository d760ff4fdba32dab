package chart

import (
	"fmt"
	"path"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/strvals"
	"sigs.k8s.io/yaml"
)

// prepare3 does what `helm template` of Helm 3 does before its engine runs:
// cmd/helm/install.go runInstall and pkg/action/install.go RunWithContext.
func (c *Chart) prepare3(o Options) (*prepared, error) {
	chartFile := path.Join(c.dir, "Chart.yaml")
	values, err := values3(o)
	if err != nil {
		return nil, err
	}
	buffered := make([]*loader.BufferedFile, len(c.files))
	for i, f := range c.files {
		buffered[i] = &loader.BufferedFile{Name: f.name, Data: f.data}
	}
	ch, err := loader.LoadFiles(buffered)
	if err != nil {
		return nil, loadError(c.dir, err)
	}
	sortDependencies3(ch)
	if t := ch.Metadata.Type; t != "" && t != "application" {
		return nil, notInstallable(chartFile, t)
	}
	if missing := missing3(ch); len(missing) > 0 {
		return nil, missingDependency(ch.Name(), chartFile, missing)
	}
	p := &prepared{warnings: warnings3(ch)}
	if err := chartutil.ProcessDependenciesWithMerge(ch, values); err != nil {
		return nil, mergeError(c.dir, err)
	}
	caps, err := capabilities3(o)
	if err != nil {
		return nil, err
	}
	release := chartutil.ReleaseOptions{Name: o.ReleaseName, Namespace: o.Namespace, Revision: 1, IsInstall: true}
	top, err := chartutil.ToRenderValuesWithSchemaValidation(ch, values, release, caps, true)
	if err != nil {
		return nil, mergeError(c.dir, err)
	}
	merged := top["Values"].(chartutil.Values).AsMap()
	if !o.SkipSchemaValidation {
		// Here and not before: a disabled dependency has left the chart.
		if err := checkSchemas(schemasOf(ch, c.dir, merged, schema3)); err != nil {
			return nil, err
		}
	}
	if want := ch.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, caps.KubeVersion.String()) {
		return nil, kubeVersionError(chartFile, want, caps.KubeVersion.Version)
	}
	visit3(ch, func(sub *chart.Chart) {
		for _, t := range sub.Templates {
			p.templates = append(p.templates, &template{
				name: path.Join(sub.ChartFullPath(), t.Name),
				text: string(t.Data),
				set:  func(text string) { t.Data = []byte(text) },
			})
		}
	})
	for _, crd := range ch.CRDObjects() {
		p.crds = append(p.crds, namedFile{crd.Filename, crd.File.Data})
	}
	p.texts = func(yield func(text)) {
		walkStrings("values", merged, nil, yield)
		visit3(ch, func(sub *chart.Chart) {
			for _, f := range sub.Files {
				yield(text{path.Join(sub.ChartFullPath(), f.Name), string(f.Data), func(s string) { f.Data = []byte(s) }})
			}
			for _, f := range sub.Raw {
				if f.Name == "Chart.yaml" { // what templates see as .Chart
					yield(text{path.Join(sub.ChartFullPath(), f.Name), string(f.Data), nil})
				}
			}
		})
	}
	p.run = func() (map[string]string, error) {
		if p.oracle != nil {
			return engine.RenderWithClientProvider(ch, top, p.oracle)
		}
		return engine.Render(ch, top)
	}
	return p, nil
}

// values3 merges the values that the user gave; pkg/cli/values/options.go.
func values3(o Options) (map[string]any, error) {
	base := map[string]any{}
	for _, doc := range o.Values {
		current := map[string]any{}
		if err := yaml.Unmarshal(doc.Data, &current); err != nil {
			return nil, valuesError(doc, err)
		}
		base = mergeMaps(base, current)
	}
	return base, assign(base, o, strvals.ParseInto, strvals.ParseIntoString,
		func(s string, dest map[string]any, read func([]rune) (any, error)) error {
			return strvals.ParseIntoFile(s, dest, read)
		})
}

func visit3(ch *chart.Chart, visit func(*chart.Chart)) {
	visit(ch)
	for _, d := range ch.Dependencies() {
		visit3(d, visit)
	}
}

func sortDependencies3(ch *chart.Chart) {
	deps := slices.Clone(ch.Dependencies())
	slices.SortStableFunc(deps, func(a, b *chart.Chart) int {
		return byNameAndVersion(a.Name(), a.Metadata.Version, b.Name(), b.Metadata.Version)
	})
	ch.SetDependencies(deps...)
	for _, d := range deps {
		sortDependencies3(d)
	}
}

// missing3 is pkg/action/install.go CheckDependencies, with what the user needs
// to know of the missing ones.
func missing3(ch *chart.Chart) []dependency {
	var missing []dependency
	for _, r := range ch.Metadata.Dependencies {
		if r == nil {
			continue
		}
		if !slices.ContainsFunc(ch.Dependencies(), func(d *chart.Chart) bool { return d.Name() == r.Name }) {
			missing = append(missing, dependency{r.Name, r.Version, r.Repository})
		}
	}
	return missing
}

func schema3(ch *chart.Chart) (name string, schema []byte, dependencies []*chart.Chart) {
	return ch.Name(), ch.Schema, ch.Dependencies()
}

func warnings3(ch *chart.Chart) []string {
	var warnings []string
	if ch.Metadata.Deprecated {
		warnings = append(warnings, fmt.Sprintf("chart %q is deprecated", ch.Name()))
	}
	if ch.Lock == nil {
		return warnings
	}
	var lock, vendored []dependency
	for _, d := range ch.Lock.Dependencies {
		lock = append(lock, dependency{d.Name, d.Version, d.Repository})
	}
	for _, d := range ch.Dependencies() {
		vendored = append(vendored, dependency{name: d.Name(), version: d.Metadata.Version})
	}
	return append(warnings, lockWarnings(lock, vendored)...)
}
