package overlay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime/debug"
	"slices"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"
)

// Version is the Kustomize release whose output Build gives: the one that is
// built on the api module compiled in here (v0.21.2).
const Version = "v5.8.2"

// Options change a build in the way of an Argo CD Application's
// source.kustomize. Environment substitution is the caller's. The zero value
// builds the folder as it is.
type Options struct {
	// NamePrefix and NameSuffix replace those of the kustomization.
	NamePrefix, NameSuffix string
	// Images are arguments of `kustomize edit set image`:
	// name=newname:tag@digest, where all but one part may be absent.
	Images []string
	// Replicas replace entries of the same name.
	Replicas []Replica
	// CommonLabels are added; a key that is there already is an error unless
	// ForceCommonLabels is set. LabelWithoutSelector keeps them out of selectors,
	// and then LabelIncludeTemplates puts them into pod templates.
	CommonLabels                                                   map[string]string
	LabelWithoutSelector, LabelIncludeTemplates, ForceCommonLabels bool
	// CommonAnnotations are added; a key that is there already is an error
	// unless ForceCommonAnnotations is set.
	CommonAnnotations      map[string]string
	ForceCommonAnnotations bool
	// Namespace replaces that of the kustomization.
	Namespace string
	// Components are paths relative to the folder, globs allowed, appended to
	// those of the kustomization. One that does not exist is an error unless
	// IgnoreMissingComponents is set.
	Components              []string
	IgnoreMissingComponents bool
	// Patches are appended to those of the kustomization.
	Patches []Patch

	// KubeVersion and APIVersions reach charts that name none themselves.
	KubeVersion string
	APIVersions []string
	// Inflate renders the charts that kustomizations refer to; with nil a
	// kustomization with a chart is an error. It is called on one goroutine, at
	// its place in the build, and must not call Build.
	Inflate InflateFunc
}

// Replica sets the replica count of workloads called Name.
type Replica struct {
	Name  string
	Count int64
}

// Patch is an entry of `patches`: Path names a file relative to the folder, or
// Patch holds the patch itself. The JSON form is that of Argo CD's
// KustomizePatch.
type Patch struct {
	Path    string          `json:"path,omitempty"`
	Patch   string          `json:"patch,omitempty"`
	Target  *Selector       `json:"target,omitempty"`
	Options map[string]bool `json:"options,omitempty"`
}

// Selector says which objects a patch applies to. Name, namespace, group,
// version and kind are anchored regular expressions; empty matches all.
type Selector struct {
	Group              string `json:"group,omitempty"`
	Version            string `json:"version,omitempty"`
	Kind               string `json:"kind,omitempty"`
	Name               string `json:"name,omitempty"`
	Namespace          string `json:"namespace,omitempty"`
	AnnotationSelector string `json:"annotationSelector,omitempty"`
	LabelSelector      string `json:"labelSelector,omitempty"`
}

// building holds one entry while a build runs. Kustomize keeps the OpenAPI schema
// of the build that runs in package variables (`openapi` and custom schemas
// replace it), and the plugin factories that hook replaces are a package variable
// too. No other package of this module uses Kustomize. It is a channel so that a
// build that waits can give up.
var building = make(chan struct{}, 1)

// Build renders the kustomization in the folder dir of fsys ("." is its root)
// and returns the objects in the order in which `kustomize build --enable-helm`
// prints them. Every file is read through fsys, and none outside it; there is no
// network access and no child process. What a ksops generator names is decrypted
// by fsys, which is a source.Unsealer then.
//
// Origin of an object is the file that it is written in (for ksops the encrypted
// one), the file that generates it, or for a chart the template's name as Helm prints it; it is
// empty where that is not certain.
//
// Only one build runs at a time. When ctx is done, a build that waits for another
// returns; one that runs does so when Kustomize next reads a file or runs a plugin.
func Build(ctx context.Context, fsys fs.FS, dir string, o Options) ([]object.Object, error) {
	dir = path.Clean(dir)
	if !fs.ValidPath(dir) {
		return nil, fmt.Errorf("folder %q is not in the repository", dir)
	}
	select {
	case building <- struct{}{}:
		defer func() { <-building }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	objects, err := newSession(ctx, fsys, dir, &o).build()
	if errors.Is(err, errFreshSchema) {
		openapi.ResetOpenAPI()
		again := newSession(ctx, fsys, dir, &o)
		again.freshSchema = true
		objects, err = again.build()
	}
	return objects, err
}

// session is one build.
type session struct {
	ctx     context.Context
	tree    *tree
	dir     string
	options *Options
	origins *origins
	// resources parses plugin configurations for the scan.
	resources *resource.Factory
	// kustomizations maps a folder to its kustomization file, as read so far.
	kustomizations map[string]string
	scanned        map[string]bool
	// ksops are the generators of that kind in files and inline entries.
	ksops []*ksopsConfig
	// generatorDirs are the folders that are listed under generators.
	generatorDirs map[string]bool
	fault         error
	// freshSchema says that the build started on a pristine OpenAPI schema.
	freshSchema bool
}

func newSession(ctx context.Context, fsys fs.FS, dir string, o *Options) *session {
	s := &session{
		ctx:            ctx,
		tree:           newTree(ctx, fsys),
		dir:            dir,
		options:        o,
		origins:        newOrigins(),
		resources:      provider.NewDefaultDepProvider().GetResourceFactory(),
		kustomizations: map[string]string{},
		scanned:        map[string]bool{},
		generatorDirs:  map[string]bool{},
	}
	s.tree.onRead = s.onRead
	s.tree.onFault = s.noteFault
	return s
}

// build runs Kustomize. It is the edge at which a panic inside Kustomize becomes
// an error: a custom schema that does not parse is one, and one bad repository
// must not end the process for all.
func (s *session) build() (objects []object.Object, err error) {
	defer s.resetSchema()
	defer func() {
		if cause := recover(); cause != nil {
			objects, err = nil, s.panicked(cause, debug.Stack())
		}
	}()
	defer s.hook()()

	top, err := s.prepare()
	if err != nil {
		return nil, err
	}
	options := krusty.MakeDefaultOptions()
	// The CLI's default, which sortOptions in the file overrides.
	options.Reorder = krusty.ReorderOptionUnspecified
	options.PluginConfig.HelmConfig.Enabled = true
	m, err := krusty.MakeKustomizer(options).Run(s.tree, outside(s.dir))
	if err != nil {
		return nil, s.explain(err)
	}
	return s.objects(m, top)
}

// panicked words a panic. The value that was passed to panic may hold file
// content unless it is an error of Kustomize about a schema.
func (s *session) panicked(cause any, stack []byte) error {
	if err, ok := cause.(error); ok {
		return &fault{message: s.target() + ": the build panicked: " + withoutContentText(err.Error()), cause: errors.Join(ErrPanic, err)}
	}
	return &fault{message: fmt.Sprintf("%s: the build panicked (%T) at %s", s.target(), cause, panicSite(stack)), cause: ErrPanic}
}

// ErrPanic is inside the error of a build in which Kustomize panicked.
var ErrPanic = errors.New("kustomize panicked")

// errFreshSchema asks for a build on a pristine OpenAPI schema. A process that
// has built before has the built-in schema loaded or marked to be loaded, and a
// custom one would be merged with it, in an order that depends on what those
// builds were. The CLI starts with nothing; so a build that meets an `openapi`
// field starts again with nothing, while all others share the loaded schema.
var errFreshSchema = errors.New("the build needs a fresh openapi schema")

// resetSchema drops what a build with an `openapi` field loaded.
func (s *session) resetSchema() {
	if s.freshSchema {
		openapi.ResetOpenAPI()
	}
}

// prepare applies the options to the kustomization that is built, and adds the
// observer. It returns the outcome.
func (s *session) prepare() (*types.Kustomization, error) {
	k := &types.Kustomization{}
	name, ok, err := Find(s.tree.fsys, s.dir)
	if err != nil {
		return nil, err
	}
	if !ok {
		if _, isDir, err := s.tree.stat(s.dir); err != nil || !isDir {
			return nil, fmt.Errorf("folder %q does not exist", s.dir)
		}
		return nil, fmt.Errorf("%s: no kustomization.yaml, kustomization.yml or Kustomization", s.dir)
	}
	resolved, err := s.tree.resolve(path.Join(s.dir, name))
	if err != nil {
		return nil, err
	}
	content, err := fs.ReadFile(s.tree.fsys, resolved)
	if err != nil {
		return nil, err
	}
	file := path.Join(s.dir, name)
	if err := k.Unmarshal(content); err != nil {
		return nil, s.unmarshalFault(file, err)
	}
	k.FixKustomization()
	if s.options.edits() {
		if err := s.tree.edit(k, s.dir, s.options); err != nil {
			return nil, fmt.Errorf("%s: applying the options: %w", file, err)
		}
	}
	observed := *k
	// With transformer annotations the observer would be listed in them.
	if !slices.Contains(k.BuildMetadata, types.TransformerAnnotations) && k.CheckEmpty() == nil {
		observed.Transformers = append(slices.Clone(k.Transformers), observerConfig)
	}
	replacement, err := yaml.Marshal(&observed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s.tree.replaced[resolved] = replacement
	return k, nil
}

// objects converts the outcome of a build.
func (s *session) objects(m resmap.ResMap, top *types.Kustomization) ([]object.Object, error) {
	resources := m.Resources()
	places := s.origins.assign(resources)
	objects := make([]object.Object, 0, len(resources))
	for i, res := range resources {
		if err := s.ctx.Err(); err != nil {
			return nil, err
		}
		if misplaced(res) {
			apiVersion, hint := res.GetApiVersion(), resourceHint
			if version, ok := ksopsVersion(res); ok {
				apiVersion, hint = version, ksopsResourceHint
			}
			return nil, diag.WithHint(&fault{message: fmt.Sprintf("%s: apiVersion %q, kind %q is no Kubernetes resource",
				s.at(places[i]), apiVersion, res.GetKind())}, hint)
		}
		value, err := decode(res)
		if err != nil {
			return nil, &fault{message: fmt.Sprintf("%s: %v", s.at(places[i]), err), cause: err}
		}
		if slices.Contains(top.BuildMetadata, types.ManagedByLabelOption) {
			managedBy(value)
		}
		objects = append(objects, object.Object{Value: value, Origin: places[i].file, Line: places[i].line})
	}
	return objects, nil
}

func (s *session) at(p place) string {
	if p.file == "" {
		return s.target()
	}
	return p.String()
}

// managedBy corrects the label that buildMetadata asks for: Kustomize takes the
// version of the main module for its own.
func managedBy(value map[string]any) {
	meta, _ := value["metadata"].(map[string]any)
	if labels, ok := meta["labels"].(map[string]any); ok {
		labels[konfig.ManagedbyLabelKey] = "kustomize-" + Version
	}
}
