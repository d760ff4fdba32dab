package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/chart"
	"hallmark.dev/hallmark/plugin/decrypt"
	"hallmark.dev/hallmark/plugin/derive"
	"hallmark.dev/hallmark/plugin/gate"
	"hallmark.dev/hallmark/plugin/overlay"
	"hallmark.dev/hallmark/plugin/policy"
	"hallmark.dev/hallmark/plugin/source"
	"hallmark.dev/hallmark/plugin/stamp"
)

// Renderer turns the sources of one application into objects.
type Renderer interface {
	// Version is the renderer's name and version, such as "helm3/v3.22.0".
	Version() string
	// Render returns the objects in the renderer's own order. It may run on
	// when ctx is done.
	Render(ctx context.Context, in *Input) (*Output, error)
}

// Input is what a renderer works on: a request whose parameters are final.
type Input struct {
	// FS is the tree; every read of it is recorded.
	FS fs.FS
	// Dir is the application's folder in FS.
	Dir string
	// Name is the application's name without a namespace in front of it.
	Name       string
	Namespace  string
	Parameters Parameters
	Env        map[string]string
	Refs       []string // other sources, see Request.Refs
	Limits     Limits

	KubeVersion string
	APIVersions []string

	// Derive says how charts derive what they make at random; nil where they do not.
	Derive *derive.Options

	loaded func()  // called when the sources are read and the engine begins
	crew   *crew   // works on the render
	charts *charts // nil where no chart is kept
}

// Output is what a renderer returns.
type Output struct {
	Objects []object.Object
	// Version is that of the renderer, and of what else took part.
	Version string
	// Unstable are fields that differ from render to render. They are found
	// only if the determinism parameter asks for it.
	Unstable []Unstable
	// Derived are the fields whose values were derived, where Input.Derive asks for
	// that.
	Derived []Derived
	// Noticed are template functions that the evidence names.
	Noticed  []string
	Warnings []string

	renewed time.Time // see Result
}

// Unstable is a field that differs from render to render.
type Unstable struct {
	Object object.ID
	Origin string
	// Path leads to the field; it is empty if the whole object differs.
	Path stamp.Path
	// Reason says why the render is not stable where no field shows it: it fails
	// at another time, or the time in it cannot be moved. Of a field it says why its
	// value cannot be derived.
	Reason string
	// Calls are the template functions that can be the reason.
	Calls []chart.Call
}

// Render renders, gates and stamps one application.
func Render(ctx context.Context, r *Request) (*Result, error) {
	return within(ctx, r, func(ctx context.Context, c *crew) (*Result, error) {
		s, err := r.open(ctx, c, false)
		if err != nil {
			return nil, err
		}
		result, err := s.render(ctx)
		if err != nil {
			return nil, err
		}
		if result.key, err = s.key(); err != nil {
			return nil, err
		}
		result.view, result.helm, result.secrets = s.view, r.Helm, s.secrets
		return result, nil
	})
}

// session is a render whose parameters are settled.
type session struct {
	*Request
	rule     *policy.Rule
	view     *source.View // the tree as it is stored
	tree     *decrypt.FS  // the tree as renderers see it
	secrets  *secrets
	in       *Input
	renderer Renderer

	seed Seed // the one in use, where in.Derive is set
	// underived is what is not there to derive values with, or "".
	underived need

	// What the release rules found, where linted says that they were checked.
	linted   bool
	findings []Finding
	waivers  time.Time // see rules.WaivedUntil
}

// open begins a render that the crew c works on. With asStored nothing is
// decrypted.
func (r *Request) open(ctx context.Context, c *crew, asStored bool) (*session, error) {
	s := &session{Request: r, rule: r.rule(), view: r.Tree.View(), secrets: &c.secrets}
	s.tree = decrypt.New(s.view, decrypt.Options{
		Keys: r.Keys, Context: ctx, Permit: permit(s.rule), Secrets: &s.secrets.decrypted, AsStored: asStored,
	})
	r.enter(StageLoad, "")
	var err error
	var asked bool
	s.in, s.renderer, asked, err = s.resolve()
	if err != nil {
		return nil, err
	}
	if !asStored {
		if err := s.seeded(asked); err != nil {
			return nil, err
		}
	}
	name, _, _ := strings.Cut(s.renderer.Version(), "/")
	r.enter(StageLoad, name)
	s.in.loaded = func() { r.enter(StageRender, name) }
	s.in.crew = c
	return s, nil
}

func (s *session) render(ctx context.Context) (*Result, error) {
	in := s.in
	out, err := s.renderer.Render(ctx, in)
	if err != nil {
		return nil, err
	}
	for i := range out.Unstable {
		out.Unstable[i].Path = s.named(out.Unstable[i].Path)
	}
	for i := range out.Derived {
		d := &out.Derived[i]
		d.Path = s.named(d.Path)
		for n, name := range d.Names {
			d.Names[n] = s.secrets.decrypted.Text(name)
		}
	}
	s.enter(StageGate, "")
	objects, err := gate.Expand(out.Objects)
	if err != nil {
		return nil, err
	}
	// The digests of the files that were read are needed last; they are made
	// while the gates run.
	files := make(chan []source.File, 1)
	go func() { files <- s.view.Files() }()
	// Whatever goes wrong is reported together: a person fixes all of it at once.
	check := gate.Check(objects, gate.Options{
		AllowEmpty: in.Parameters.AllowEmpty, Namespace: s.Namespace, MaxObjects: in.Limits.Objects,
	})
	out.Warnings = append(out.Warnings, s.noEffect()...)
	unstable, outside := s.refuseUnstable(out), s.outsideSecrets(out, objects)
	if unstable == nil {
		unstable = s.rotated(out)
	}
	var denied error
	if check == nil { // rules take for granted what the gate demands of an object
		denied = s.lint(out, objects)
	}
	if err := errors.Join(check, unstable, outside, denied); err != nil {
		return nil, err
	}
	s.enter(StageStamp, "")
	return s.stamp(<-files, out, objects)
}

// named cuts the path of a field in front of a key that is a decrypted value: the
// path goes into messages and into the evidence, and what it then leads to is left
// out of the hashes as a whole.
func (s *session) named(p stamp.Path) stamp.Path {
	for i, step := range p {
		if key, isKey := step.(string); isKey && s.secrets.decrypted.Text(key) != key {
			return p[:i]
		}
	}
	return p
}

// resolve settles the parameters, the folder and the renderer. derives says that the
// application asks for derived values.
func (s *session) resolve() (in *Input, renderer Renderer, derives bool, err error) {
	r, view, dir := s.Request, s.view, path.Clean(s.Path)
	if !fs.ValidPath(dir) {
		return nil, nil, false, fmt.Errorf("application path %q leaves the repository root", r.Path)
	}
	info, err := fs.Stat(view, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, false, fmt.Errorf("application path %q does not exist", r.Path)
	case err != nil:
		return nil, nil, false, err
	case !info.IsDir():
		return nil, nil, false, fmt.Errorf("application path %q is a file, want a folder", r.Path)
	}
	parameters, err := loadFile(view, dir)
	if err != nil {
		return nil, nil, false, err
	}
	parameters = parameters.override(r.Parameters)
	if err := parameters.validate(); err != nil {
		return nil, nil, false, err
	}
	if r.Tolerant && parameters.Determinism == "" && s.rule.Determinism == "" {
		parameters.Determinism = DeterminismWarn
	}
	derives = parameters.Determinism == DeterminismDerive
	if err := grant(s.rule, &parameters); err != nil {
		return nil, nil, false, err
	}
	if r.Helm != "" {
		parameters.KustomizeHelm = r.Helm
		parameters.mark("kustomize-helm")
	}
	renderer, err = choose(view, dir, parameters, s.rule, r.Helm)
	if err != nil {
		return nil, nil, false, err
	}
	in = &Input{
		FS: s.tree, Dir: dir, Name: r.instance(), Namespace: r.Namespace,
		Parameters: parameters, Env: r.environment(), Refs: r.Refs, Limits: r.limits(),
		KubeVersion: r.KubeVersion, APIVersions: nonEmpty(r.APIVersions),
	}
	if parameters.KubeVersion != "" {
		in.KubeVersion = parameters.KubeVersion
	}
	if len(parameters.APIVersions) > 0 {
		in.APIVersions = parameters.APIVersions
	}
	if in.KubeVersion, err = genericVersion(in.KubeVersion); err != nil {
		return nil, nil, false, err
	}
	return in, renderer, derives, nil
}

// nonEmpty drops empty entries: Argo CD sends KUBE_API_VERSIONS set but empty
// when it does not know the cluster's.
func nonEmpty(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return strings.TrimSpace(s) == "" })
}

// validate checks the parameters that have a closed set of values, or are numbers.
func (p *Parameters) validate() error {
	oneOf := func(name, value string, allowed ...string) error {
		if value == "" || slices.Contains(allowed, value) {
			return nil
		}
		return fmt.Errorf("parameter %q: got %q, want one of %s", name, value, strings.Join(allowed, ", "))
	}
	_, _, generations := p.generations()
	return errors.Join(
		oneOf("renderer", p.Renderer, RendererHelm3, RendererHelm4, RendererKustomize, RendererPlain),
		oneOf("determinism", p.Determinism, DeterminismEnforce, DeterminismDerive, DeterminismWarn),
		oneOf("kustomize-helm", p.KustomizeHelm, RendererHelm3, RendererHelm4),
		generations,
	)
}

// choose picks the renderer that the parameters name or, as Argo CD does, a
// kustomization before a chart before plain files. helm, unless it is empty, is the
// Helm that is used where one is.
func choose(fsys fs.FS, dir string, p Parameters, rule *policy.Rule, helm string) (Renderer, error) {
	name := p.Renderer
	if name == "" {
		var err error
		if name, err = discover(fsys, dir); err != nil {
			return nil, err
		}
	}
	if helm != "" && (name == RendererHelm3 || name == RendererHelm4) {
		name, p.RendererVersion = helm, ""
	}
	if err := grantRenderer(rule, name); err != nil {
		return nil, err
	}
	var renderer Renderer
	switch name {
	case RendererHelm3, RendererHelm4:
		renderer = helmRenderer{chart.Engine(name)}
	case RendererKustomize:
		renderer = kustomizeRenderer{}
	default:
		renderer = plainRenderer{}
	}
	_, version, _ := strings.Cut(renderer.Version(), "/")
	if pin := p.RendererVersion; pin != "" && strings.TrimPrefix(pin, "v") != strings.TrimPrefix(version, "v") {
		return nil, diag.WithHint(
			fmt.Errorf("renderer-version pins %s %q, but this hallmark renders with %s", name, pin, version),
			"use a hallmark release with the pinned version, or move the pin after `hallmark render` shows what changes")
	}
	return renderer, nil
}

// Recognised is what can be told of an application's folder without rendering it.
type Recognised struct {
	Marked   bool   // it holds a hallmark.yaml
	Renderer string // the one that is used where no parameter names one
}

// Recognise looks at the application's folder.
func Recognise(r *Request) (found Recognised, err error) {
	view, dir := r.Tree.View(), path.Clean(r.Path)
	_, err = fs.Stat(view, path.Join(dir, ConfigFile))
	if found.Marked = err == nil; err != nil && !errors.Is(err, fs.ErrNotExist) {
		return found, err
	}
	found.Renderer, err = discover(view, dir)
	return found, err
}

func discover(fsys fs.FS, dir string) (string, error) {
	if _, found, err := overlay.Find(fsys, dir); err != nil || found {
		return RendererKustomize, err
	}
	_, err := fs.Stat(fsys, path.Join(dir, "Chart.yaml"))
	switch {
	case err == nil:
		return RendererHelm3, nil
	case errors.Is(err, fs.ErrNotExist):
		return RendererPlain, nil
	}
	return "", err
}

// refuseUnstable turns unstable fields into the error of the determinism gate.
// Where fields may differ, the set of objects still may not: no hash would mean
// anything.
func (s *session) refuseUnstable(out *Output) error {
	fieldsMay := s.in.Parameters.Determinism == DeterminismWarn
	var list diag.List
	clock, random, lookup := false, false, slices.Contains(out.Noticed, "lookup")
	for _, u := range out.Unstable {
		if fieldsMay && len(u.Path) > 0 {
			continue
		}
		list.Add(&diag.Error{File: u.Origin, Msg: u.message()})
		for _, c := range u.Calls {
			clock = clock || c.Function == "now" || c.Function == "ago"
			random = random || derivable(c.Function)
		}
	}
	if len(list) == 0 {
		if s.underived != "" && len(out.Unstable) > 0 {
			out.Warnings = append(out.Warnings, "without a "+string(s.underived)+" nothing is derived: the fields that differ are left out here, as with determinism=warn")
		}
		return nil
	}
	hint := "set the value explicitly, for example from a Secret that is not rendered here; determinism=warn accepts the difference and leaves the field out of the hash"
	switch {
	case s.underived != "":
		hint = fmt.Sprintf("values are derived here, and there is no %s to derive them from: %s", s.underived, s.underived.hint())
	case s.in.Derive != nil:
		hint = "what is not understood is not derived: set the value explicitly, for example from a Secret that is not rendered here"
	case lookup && random:
		hint = "the chart looks for an existing object with lookup, which is empty outside a cluster, so it makes a new value on each render: determinism=derive makes one that stays, from a seed of the platform team; or set the value explicitly"
	case lookup:
		hint = "the chart looks for an existing object with lookup, which is empty outside a cluster, so it makes a new value on each render: set the value explicitly"
	case random:
		hint = "determinism=derive makes a value that stays, from a seed of the platform team; or " + hint
	case clock:
		hint = "the output depends on the time of rendering: set the value explicitly, or remove it"
	}
	return diag.WithHint(list.Err(), hint)
}

// derivable reports whether determinism=derive replaces what a template function
// makes at random.
func derivable(function string) bool {
	return strings.HasPrefix(function, "rand") || strings.HasPrefix(function, "gen") ||
		slices.Contains([]string{"uuidv4", "shuffle", "bcrypt", "htpasswd"}, function)
}

// message names the object, the field and the calls that can be the reason.
func (u Unstable) message() string {
	what := "the number or kind of the documents"
	if u.Object != (object.ID{}) {
		what = u.Object.String()
		if len(u.Path) > 0 {
			what += " field " + u.Path.Pointer()
		}
	}
	msg := what + " differs from render to render"
	switch {
	case u.Reason != "" && u.Object == (object.ID{}):
		msg = u.Reason
	case u.Reason != "":
		msg += ", and is not derived: " + u.Reason
	}
	const most = 4
	for i, c := range u.Calls {
		switch {
		case i == 0:
			msg += ", because of "
		case i == most:
			return msg + fmt.Sprintf(" or %d more", len(u.Calls)-most)
		case i == len(u.Calls)-1:
			msg += " or "
		default:
			msg += ", "
		}
		msg += fmt.Sprintf("%s in %s", c.Function, c.Template)
		if c.Line > 0 {
			msg += fmt.Sprintf(":%d", c.Line)
		}
	}
	return msg
}
