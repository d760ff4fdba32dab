package plugin

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

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/chart"
	"hallmark.dev/hallmark/plugin/derive"
	"hallmark.dev/hallmark/plugin/directory"
	"hallmark.dev/hallmark/plugin/overlay"
	"hallmark.dev/hallmark/plugin/stamp"

	"sigs.k8s.io/yaml"
)

// plainVersion is the version of the plain renderer: it changes when the same
// files would give other objects.
const plainVersion = "v1"

// helmRenderer renders the chart in the application's folder.
type helmRenderer struct{ engine chart.Engine }

func (h helmRenderer) Version() string { return rendererVersion(h.engine) }

func (h helmRenderer) Render(ctx context.Context, in *Input) (*Output, error) {
	ch, err := loadChart(in.charts, in.FS, in.Dir)
	if err != nil {
		return nil, err
	}
	opts, err := helmOptions(in)
	if err != nil {
		return nil, err
	}
	in.loaded()
	opts.Derive = in.Derive
	rendered, err := ch.Render(ctx, h.engine, opts)
	if err != nil {
		return nil, err
	}
	in.hide(rendered)
	out := &Output{
		Objects:  rendered.Objects,
		Version:  h.Version(),
		Unstable: unstableFields(rendered.Findings),
		Noticed:  rendered.Noticed,
		Warnings: rendered.Warnings,
		renewed:  rendered.Until,
	}
	out.addDerived(rendered.Objects, rendered.Derived, in.Derive)
	return out, nil
}

// hide makes the values that a chart derived known to the messages of the request.
func (in *Input) hide(rendered *chart.Output) {
	for _, value := range rendered.Secrets {
		in.crew.secrets.derived.Add(value)
	}
}

func (in *Input) readFile(name string) ([]byte, error) { return fs.ReadFile(in.FS, name) }

func rendererVersion(e chart.Engine) string { return string(e) + "/" + e.Version() }

// helmOptions translates the parameters as Argo CD's helmTemplate does.
func helmOptions(in *Input) (chart.Options, error) {
	p := in.Parameters
	o := chart.Options{
		ReleaseName:          in.Name,
		Namespace:            in.Namespace,
		KubeVersion:          in.KubeVersion,
		APIVersions:          in.APIVersions,
		SkipCRDs:             p.SkipCRDs,
		SkipTests:            p.SkipTests,
		SkipSchemaValidation: p.SkipSchemaValidation,
		Prove:                true,
		MaxOutput:            in.Limits.OutputBytes,
		ReadFile:             in.readFile,
		Unseal:               in.readFile,
	}
	if p.ReleaseName != "" {
		o.ReleaseName = p.ReleaseName
	}
	if p.Namespace != "" {
		o.Namespace = p.Namespace
	}
	if err := checkReleaseName(o.ReleaseName); err != nil {
		return o, err
	}
	files, err := in.valueFiles()
	if err != nil {
		return o, err
	}
	for _, name := range files {
		data, err := fs.ReadFile(in.FS, name)
		if err != nil {
			return o, err
		}
		o.Values = append(o.Values, chart.Document{Name: name, Data: data})
	}
	if p.Values != "" {
		o.Values = append(o.Values, chart.Document{Name: "parameter values", Data: []byte(p.Values)})
	}
	for _, name := range sortedKeys(p.HelmParameters) {
		o.Set = append(o.Set, chart.Assignment{Name: name, Value: expand(p.HelmParameters[name], in.Env)})
	}
	for _, name := range sortedKeys(p.HelmStringParameters) {
		o.SetString = append(o.SetString, chart.Assignment{Name: name, Value: expand(p.HelmStringParameters[name], in.Env)})
	}
	for _, name := range sortedKeys(p.HelmFileParameters) {
		given, mayBeAbsent, err := in.file(p.HelmFileParameters[name])
		if err != nil {
			return o, err
		}
		file, err := chart.ResolvePath(in.Dir, given)
		if err != nil {
			return o, fmt.Errorf("helm-file-parameters[%s]: %w", name, err)
		}
		if mayBeAbsent && in.absent(file) {
			continue
		}
		o.SetFile = append(o.SetFile, chart.Assignment{Name: name, Value: file})
	}
	return o, nil
}

// refuseOtherSource refuses `$ref/path`, which in an Application with several
// sources names a file of another one: repo-server sends a plugin one source.
// Expanded as a variable it would become `/path`, another file altogether.
func refuseOtherSource(raw string, env map[string]string) error {
	first, _, found := strings.Cut(raw, "/")
	name, dollar := strings.CutPrefix(first, "$")
	if !found || !dollar || name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isNameRune(r) && r != '-' }) {
		return nil
	}
	// The name of a variable ends where os.Expand ends it; behind a known one
	// the rest is text.
	variable := name
	if end := strings.IndexFunc(name, func(r rune) bool { return !isNameRune(r) }); end >= 0 {
		variable = name[:end]
	}
	// Argo CD's own variables and those of the Application are variables even
	// where they are empty: argocd-cmp-server leaves empty ones out.
	if _, known := env[variable]; known || strings.HasPrefix(variable, "ARGOCD_") {
		return nil
	}
	return diag.WithHint(
		fmt.Errorf("%q refers to the source %q of a multi-source Application, and Argo CD sends a plugin only its own source", raw, name),
		"keep the file in the repository that is rendered, or give its content in the values parameter")
}

func isNameRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// checkReleaseName applies Helm's rule for release names.
func checkReleaseName(name string) error {
	if err := chart.ValidReleaseName(name); err != nil {
		return diag.WithHint(err, "set the release-name parameter, or --app on the command line")
	}
	return nil
}

// kustomizeRenderer builds the kustomization in the application's folder.
type kustomizeRenderer struct{}

func (kustomizeRenderer) Version() string { return RendererKustomize + "/" + overlay.Version }

// Render builds the kustomization, which reads its files as it goes.
func (k kustomizeRenderer) Render(ctx context.Context, in *Input) (*Output, error) {
	in.loaded()
	opts, err := kustomizeOptions(in)
	if err != nil {
		return nil, err
	}
	engine := chart.Helm3
	if in.Parameters.KustomizeHelm == RendererHelm4 {
		engine = chart.Helm4
	}
	inflated := &inflator{in: in, engine: engine}
	opts.Inflate = inflated.inflate
	objects, err := overlay.Build(ctx, in.FS, in.Dir, opts)
	if err != nil {
		return nil, err
	}
	out := &Output{Objects: objects, Version: k.Version(), Noticed: inflated.noticed, Warnings: inflated.warnings}
	if inflated.used {
		out.Version += "+" + rendererVersion(engine)
	}
	out.Derived, out.renewed = inflated.derived.Derived, inflated.derived.renewed
	if clashes := inflated.clashes(); len(clashes) > 0 {
		out.Unstable = clashes
		return out, nil
	}
	if out.Unstable, err = inflated.unstable(ctx, objects, opts); err != nil || len(out.Unstable) > 0 {
		return out, err
	}
	out.Derived, err = inflated.reaching(ctx, objects, opts)
	return out, err
}

// inflator renders the charts of a kustomization. Kustomize calls it on one
// goroutine.
type inflator struct {
	in     *Input
	engine chart.Engine
	// disturbed says that unstable fields are to come out changed.
	disturbed bool

	used     bool
	rendered []*chart.Output // in the order in which Kustomize asks for them
	findings []chart.Finding
	whole    []chart.Finding // those that are about no field
	noticed  []string
	warnings []string
	derived  Output // Derived and renewed of all charts
}

// clashes are derived fields that two charts of the kustomization have in common, or
// that one has which is built twice: their values would be the same.
func (i *inflator) clashes() (out []Unstable) {
	known := map[string]bool{}
	for _, d := range i.derived.Derived {
		field := d.namespace + "\n" + d.name
		switch {
		case len(d.Names) == 0: // made stable, and not of a value of its own
			continue
		case known[field]:
			out = append(out, Unstable{Object: d.Object, Origin: i.in.Dir, Path: d.Path, Reason: "another chart of the kustomization has the same field, and would get the same value: give each a releaseName or a namespace of its own"})
		}
		known[field] = true
	}
	return out
}

// unstable finds the fields of the built objects that the charts' unstable ones
// reach: the overlay may have renamed, moved, patched or dropped them. So the
// application is built once more from charts whose unstable fields are changed.
func (i *inflator) unstable(ctx context.Context, objects []object.Object, opts overlay.Options) ([]Unstable, error) {
	if len(i.whole) > 0 {
		return unstableFields(i.whole), nil
	}
	if len(i.findings) == 0 {
		return nil, nil
	}
	again := &inflator{in: i.in, engine: i.engine, disturbed: true}
	opts.Inflate = again.inflate
	other, err := overlay.Build(ctx, i.in.FS, i.in.Dir, opts)
	if err != nil {
		return nil, err
	}
	out := differences(objects, other)
	for n := range out {
		out[n].Calls = i.calls(out[n].Path)
	}
	return out, nil
}

// calls returns the calls behind a field: those of the charts' fields with the
// same path, or all where the overlay moved it.
func (i *inflator) calls(path stamp.Path) []chart.Call {
	var same, all []chart.Call
	for _, f := range i.findings {
		for _, c := range f.Calls {
			if stamp.Path(f.Path).Pointer() == path.Pointer() && !slices.Contains(same, c) {
				same = append(same, c)
			}
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	if len(same) > 0 {
		return same
	}
	return all
}

func (i *inflator) inflate(ctx context.Context, c overlay.Chart) ([]byte, error) {
	ch, err := loadChart(i.in.charts, i.in.FS, c.Dir)
	if err != nil {
		return nil, err
	}
	release := c.ReleaseName
	if c.NameTemplate != "" {
		if release, err = chart.ReleaseName(c.NameTemplate); err != nil {
			return nil, err
		}
	}
	o := chart.Options{
		ReleaseName: release, Namespace: cmp.Or(c.Namespace, "default"),
		KubeVersion: c.KubeVersion, APIVersions: c.APIVersions,
		SkipCRDs: !c.IncludeCRDs, SkipHooks: c.SkipHooks, SkipTests: c.SkipTests,
		Prove: true, MaxOutput: i.in.Limits.OutputBytes, Unseal: i.in.readFile,
		Derive: i.in.Derive,
	}
	if i.in.Derive != nil && c.Namespace != "" {
		// Where the kustomization says whose namespace the objects are for.
		own := *i.in.Derive
		own.Scope.Namespace = c.Namespace
		o.Derive = &own
	}
	for n, data := range c.Values {
		o.Values = append(o.Values, chart.Document{Name: fmt.Sprintf("values %d of chart %s", n+1, c.Name), Data: data})
	}
	// Apart, so that Kustomize, which builds one kustomization at a time, ends in
	// time also where a template does not.
	out, err := apart(ctx, i.in.crew, func() (*chart.Output, error) { return ch.Render(ctx, i.engine, o) })
	if err != nil {
		return nil, err
	}
	i.used, i.rendered = true, append(i.rendered, out)
	i.in.hide(out)
	i.add(out, o.Derive)
	i.findings = append(i.findings, out.Findings...)
	i.warnings = append(i.warnings, out.Warnings...)
	for _, name := range out.Noticed {
		if !slices.Contains(i.noticed, name) {
			i.noticed = append(i.noticed, name)
		}
	}
	if len(out.Findings) > 0 {
		stream, ok := out.Disturbed()
		if !ok {
			i.whole = append(i.whole, out.Findings...)
		} else if i.disturbed {
			return stream, nil
		}
	}
	return out.Stream(), nil
}

// add takes up what a chart derived.
func (i *inflator) add(out *chart.Output, o *derive.Options) {
	i.derived.addDerived(out.Objects, out.Derived, o)
	if until := out.Until; !until.IsZero() && (i.derived.renewed.IsZero() || until.Before(i.derived.renewed)) {
		i.derived.renewed = until
	}
}

// kustomizeOptions translates the parameters as Argo CD's kustomize.Build does.
func kustomizeOptions(in *Input) (overlay.Options, error) {
	p := in.Parameters
	o := overlay.Options{
		NamePrefix: p.KustomizeNamePrefix, NameSuffix: p.KustomizeNameSuffix,
		CommonLabels:         expandMap(p.KustomizeCommonLabels, in.Env),
		CommonAnnotations:    p.KustomizeCommonAnnotations,
		LabelWithoutSelector: p.KustomizeLabelWithoutSelector, LabelIncludeTemplates: p.KustomizeLabelIncludeTemplates,
		ForceCommonLabels: p.KustomizeForceCommonLabels, ForceCommonAnnotations: p.KustomizeForceCommonAnnotations,
		Namespace:  p.KustomizeNamespace,
		Components: p.KustomizeComponents, IgnoreMissingComponents: p.KustomizeIgnoreMissingComponents,
		KubeVersion: in.KubeVersion, APIVersions: in.APIVersions,
	}
	if p.KustomizeAnnotationsEnvsubst {
		o.CommonAnnotations = expandMap(p.KustomizeCommonAnnotations, in.Env)
	}
	for _, image := range p.KustomizeImages {
		o.Images = append(o.Images, expand(image, in.Env))
	}
	for _, name := range sortedKeys(p.KustomizeReplicas) {
		count, err := strconv.ParseInt(p.KustomizeReplicas[name], 10, 64)
		if err != nil {
			return o, fmt.Errorf("kustomize-replicas[%s]: got %q, want a whole number", name, p.KustomizeReplicas[name])
		}
		o.Replicas = append(o.Replicas, overlay.Replica{Name: name, Count: count})
	}
	if p.KustomizePatches != "" {
		if err := yaml.UnmarshalStrict([]byte(p.KustomizePatches), &o.Patches); err != nil {
			return o, errors.New("kustomize-patches: want a YAML list of patches, each with path or patch, target and options")
		}
	}
	return o, nil
}

// plainRenderer takes the manifests of the application's folder as they are.
type plainRenderer struct{}

func (plainRenderer) Version() string { return RendererPlain + "/" + plainVersion }

func (r plainRenderer) Render(ctx context.Context, in *Input) (*Output, error) {
	in.loaded()
	p := in.Parameters
	objects, warnings, err := directory.Load(ctx, in.FS, in.Dir, directory.Options{
		Recurse: p.DirectoryRecurse, Include: p.DirectoryInclude, Exclude: p.DirectoryExclude,
	})
	if err != nil {
		return nil, err
	}
	out := &Output{Objects: objects, Version: r.Version()}
	for _, w := range warnings {
		out.Warnings = append(out.Warnings, w.Error())
	}
	return out, nil
}

func unstableFields(findings []chart.Finding) []Unstable {
	out := make([]Unstable, len(findings))
	for i, f := range findings {
		out[i] = Unstable{Object: f.Object, Origin: f.Template, Path: stamp.Path(f.Path), Reason: f.Reason, Calls: f.Calls}
	}
	return out
}

// genericVersion drops what a cluster adds to its version ("v1.31.2-eks.7"), as
// Argo CD does before it hands the version to Helm.
func genericVersion(v string) (string, error) {
	if v == "" {
		return "", nil
	}
	generic, err := chart.GenericVersion(v)
	if err != nil {
		return "", fmt.Errorf("kube-version %q: want a version such as 1.31 or 1.31.2", path.Base(v))
	}
	return generic, nil
}
