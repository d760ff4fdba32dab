package overlay

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	_ "unsafe" // for go:linkname

	"sigs.k8s.io/kustomize/api/ifc"
	"sigs.k8s.io/kustomize/api/resmap"
)

// pluginType has the underlying type of Kustomize's BuiltinPluginType, which
// cannot be imported.
type pluginType int

// The factories that Kustomize makes its built-in plugins with. They are the
// one seam through which a chart can be inflated in-process at its exact place
// in a build (after the Secret generators, before external generators, under
// the namespace inherited from the parent kustomization), and through which
// every file access of every plugin can be watched. Rewriting kustomizations
// instead loses order, merge behaviour and origin annotations.
//
// The names are pinned with the module version; a test fails when a new version
// of Kustomize moves them. They are replaced and restored while building is taken.
//
//go:linkname generatorFactories sigs.k8s.io/kustomize/api/internal/plugins/builtinhelpers.GeneratorFactories
var generatorFactories map[pluginType]func() resmap.GeneratorPlugin

//go:linkname transformerFactories sigs.k8s.io/kustomize/api/internal/plugins/builtinhelpers.TransformerFactories
var transformerFactories map[pluginType]func() resmap.TransformerPlugin

// inflationPlugin is the type of the generator that would run helm.
const inflationPlugin = "*builtins.HelmChartInflationGeneratorPlugin"

// observerName marks the configuration of the observer transformer that
// prepare adds to the kustomization that is built.
const observerName = "hallmark-origin-observer"

const observerConfig = "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata:\n  name: " + observerName + "\n"

// hook puts the session's plugins in place of Kustomize's and returns the
// function that restores those. The caller has taken building.
func (s *session) hook() (restore func()) {
	generators, transformers := generatorFactories, transformerFactories
	hookedGenerators := make(map[pluginType]func() resmap.GeneratorPlugin, len(generators))
	for kind, factory := range generators {
		hookedGenerators[kind] = func() resmap.GeneratorPlugin {
			next := factory()
			if fmt.Sprintf("%T", next) == inflationPlugin {
				next = &inflator{session: s}
			}
			return &generator{plugin: plugin{session: s}, next: next}
		}
	}
	hookedGenerators[unknownPlugin] = func() resmap.GeneratorPlugin {
		return &generator{plugin: plugin{session: s}, next: &ksopsGenerator{session: s}}
	}
	hookedTransformers := make(map[pluginType]func() resmap.TransformerPlugin, len(transformers))
	for kind, factory := range transformers {
		hookedTransformers[kind] = func() resmap.TransformerPlugin {
			return &transformer{plugin: plugin{session: s}, next: factory()}
		}
	}
	generatorFactories, transformerFactories = hookedGenerators, hookedTransformers
	return func() { generatorFactories, transformerFactories = generators, transformers }
}

// plugin is what the wrapped plugins share: the session, and the folder of the
// kustomization that uses them, for messages.
type plugin struct {
	session *session
	root    string
	// subject says which of several entries the plugin stands for.
	subject string
}

// subject finds the entry in a configuration, whose keys Kustomize sorts: the
// name of a generator, the file of a patch.
var subject = regexp.MustCompile(`(?m)^(name|path): ([\w./-]+)$`)

// helpers returns h with a guarded loader.
func (p *plugin) helpers(h *resmap.PluginHelpers, config []byte) *resmap.PluginHelpers {
	if match := subject.FindSubmatch(config); match != nil {
		p.subject = fmt.Sprintf("%s %q: ", match[1], match[2])
	}
	p.root = h.Loader().Root()
	return resmap.NewPluginHelpers(guard{h.Loader(), p.session}, h.Validator(), h.ResmapFactory(), h.GeneralConfig())
}

// note keeps the first fault of a plugin, before Kustomize wraps it.
func (p *plugin) note(err error) error {
	if err != nil {
		p.session.noteFault(p.session.inKustomization(p.root, p.subject, err))
	}
	return err
}

type generator struct {
	plugin
	next resmap.GeneratorPlugin
}

func (g *generator) Config(h *resmap.PluginHelpers, config []byte) error {
	return g.note(g.next.Config(g.helpers(h, config), config))
}

func (g *generator) Generate() (resmap.ResMap, error) {
	if err := g.session.ctx.Err(); err != nil {
		return nil, err
	}
	m, err := g.next.Generate()
	if err != nil {
		return nil, g.note(err)
	}
	switch g.next.(type) {
	case *inflator, *ksopsGenerator: // note finer places themselves
	default:
		if m != nil {
			g.session.origins.generator(place{file: g.session.fileIn(g.root)}, m.Resources())
		}
	}
	return m, nil
}

// String keeps %v in Kustomize's messages from printing the configuration, which
// may hold the literals of a Secret.
func (g *generator) String() string { return fmt.Sprintf("%T", g.next) }

type transformer struct {
	plugin
	next resmap.TransformerPlugin
	// own does the work of a transformer that a build adds, instead of next.
	own func(resmap.ResMap) error
}

func (t *transformer) Config(h *resmap.PluginHelpers, config []byte) error {
	switch {
	case bytes.Contains(config, []byte(observerName)):
		t.own = t.session.origins.observe
		return nil
	case bytes.Contains(config, []byte(converterName)):
		t.own = convert
		return nil
	}
	return t.note(t.next.Config(t.helpers(h, config), config))
}

func (t *transformer) Transform(m resmap.ResMap) error {
	if err := t.session.ctx.Err(); err != nil {
		return err
	}
	if t.own != nil {
		return t.own(m)
	}
	return t.note(t.next.Transform(m))
}

// guard is the loader that plugins get: Kustomize's own fetches http(s) paths.
type guard struct {
	ifc.Loader
	session *session
}

func (g guard) Load(location string) ([]byte, error) {
	if remoteFile(location) {
		return nil, g.session.refuseRemote(location)
	}
	g.session.tree.inPlugin = true
	defer func() { g.session.tree.inPlugin = false }()
	return g.Loader.Load(location)
}

func (g guard) New(location string) (ifc.Loader, error) {
	return nil, fmt.Errorf("plugin asks for another root %q", location)
}

// remoteFile is Kustomize's own test for a path that its loader fetches by HTTP.
func remoteFile(location string) bool {
	u, err := url.Parse(location)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}
