package chart

import (
	"bytes"
	"fmt"
	"path"
	"slices"

	"hallmark.dev/hallmark/internal/diag"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"helm.sh/helm/v4/pkg/strvals"
)

// prepare4 does what `helm template` of Helm 4 does before its engine runs:
// pkg/cmd/install.go runInstall and pkg/action/install.go RunWithContext.
func (c *Chart) prepare4(o Options) (*prepared, error) {
	chartFile := path.Join(c.dir, "Chart.yaml")
	values, err := values4(o)
	if err != nil {
		return nil, err
	}
	buffered := make([]*archive.BufferedFile, len(c.files))
	for i, f := range c.files {
		buffered[i] = &archive.BufferedFile{Name: f.name, Data: f.data}
	}
	ch, err := loader.LoadFiles(buffered)
	if err != nil {
		return nil, loadError(c.dir, err)
	}
	// Helm 4 chooses the loader by the version; `helm template` takes no other.
	if v := ch.Metadata.APIVersion; v != chart.APIVersionV1 && v != chart.APIVersionV2 {
		return nil, &diag.Error{File: chartFile, Msg: fmt.Sprintf("Helm 4 does not render charts of apiVersion %q, only v1 and v2", v)}
	}
	sortDependencies4(ch)
	if t := ch.Metadata.Type; t != "" && t != "application" {
		return nil, notInstallable(chartFile, t)
	}
	if missing := missing4(ch); len(missing) > 0 {
		return nil, missingDependency(ch.Name(), chartFile, missing)
	}
	p := &prepared{warnings: warnings4(ch)}
	if err := chartutil.ProcessDependencies(ch, values); err != nil {
		return nil, mergeError(c.dir, err)
	}
	caps, err := capabilities4(o)
	if err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: o.ReleaseName, Namespace: o.Namespace, Revision: 1, IsInstall: true}
	top, err := util.ToRenderValuesWithSchemaValidation(ch, values, release, caps, true)
	if err != nil {
		return nil, mergeError(c.dir, err)
	}
	merged := top["Values"].(common.Values).AsMap()
	if !o.SkipSchemaValidation {
		// Here and not before: a disabled dependency has left the chart.
		if err := checkSchemas(schemasOf(ch, c.dir, merged, schema4)); err != nil {
			return nil, err
		}
	}
	if want := ch.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, caps.KubeVersion.String()) {
		return nil, kubeVersionError(chartFile, want, caps.KubeVersion.Version)
	}
	visit4(ch, func(sub *chart.Chart) {
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
		visit4(ch, func(sub *chart.Chart) {
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

// values4 merges the values that the user gave; pkg/cli/values/options.go.
func values4(o Options) (map[string]any, error) {
	base := map[string]any{}
	for _, doc := range o.Values {
		// Unlike Helm 3, Helm 4 merges all documents of a values file.
		current, err := loader.LoadValues(bytes.NewReader(doc.Data))
		if err != nil {
			return nil, valuesError(doc, err)
		}
		base = loader.MergeMaps(base, current)
	}
	return base, assign(base, o, strvals.ParseInto, strvals.ParseIntoString,
		func(s string, dest map[string]any, read func([]rune) (any, error)) error {
			return strvals.ParseIntoFile(s, dest, read)
		})
}

func visit4(ch *chart.Chart, visit func(*chart.Chart)) {
	visit(ch)
	for _, d := range ch.Dependencies() {
		visit4(d, visit)
	}
}

func sortDependencies4(ch *chart.Chart) {
	deps := slices.Clone(ch.Dependencies())
	slices.SortStableFunc(deps, func(a, b *chart.Chart) int {
		return byNameAndVersion(a.Name(), a.Metadata.Version, b.Name(), b.Metadata.Version)
	})
	ch.SetDependencies(deps...)
	for _, d := range deps {
		sortDependencies4(d)
	}
}

// missing4 is pkg/action/install.go CheckDependencies, with what the user needs
// to know of the missing ones.
func missing4(ch *chart.Chart) []dependency {
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

func schema4(ch *chart.Chart) (name string, schema []byte, dependencies []*chart.Chart) {
	return ch.Name(), ch.Schema, ch.Dependencies()
}

func warnings4(ch *chart.Chart) []string {
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
