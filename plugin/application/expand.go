package application

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// Options say what else can be read.
type Options struct {
	// Here returns the files of a repository at a revision, for git generators; false
	// where they are not at hand. The caller knows which addresses name one repository.
	// Nil has none.
	Here func(repoURL, revision string) (fs.FS, bool)
	// NewGitFileGlobbing is Argo CD's option of that name: patterns of git file
	// generators are globs with ** for folders. By default they are git's pathspecs, in
	// which * spans slashes and a folder stands for all below it.
	NewGitFileGlobbing bool
}

// A Fault is why a manifest, or one application of an ApplicationSet, cannot be used.
type Fault struct {
	// Name is that of the application, with its namespace as "shop/web", or
	// "ApplicationSet shop/previews"; "" where it cannot be told.
	Name string
	File string
	Line int // from 1; 0 where it is not known
	Err  error
}

// Expand returns the applications of an ApplicationSet. Beside an error, which lists
// all faults, it returns those that could be made in spite of them.
//
// One expansion gives at most 20,000 applications, executes at most some million steps
// of templates, and holds no value above 1 MiB and no more than 256 MiB of text.
func Expand(o object.Object, opt Options) ([]Application, error) {
	made, faults := expand(o.Value, &faults{file: o.Origin, line: o.Line}, opt)
	var errs []error
	for _, f := range faults {
		errs = append(errs, f.Err)
	}
	return made, errors.Join(errs...)
}

// A set is an ApplicationSet that is being expanded.
type set struct {
	faults *faults // of the set itself
	engine *engine
	opt    Options
	spec   map[string]any
	trees  map[[2]string]*tree // by repository and revision
	sets   int                 // of parameters, that generators may still give
	full   bool                // there are as many applications as there may be
}

func expand(manifest map[string]any, f *faults, opt Options) (made []Application, all []Fault) {
	setShape.check(f, nil, manifest)
	name, namespace := identity(f, manifest)
	title := "ApplicationSet " + qualified(namespace, name)
	spec := object.Mapping(manifest["spec"])
	s := &set{faults: f, opt: opt, spec: spec, trees: map[[2]string]*tree{}, sets: maxSets}
	options := texts(spec["goTemplateOptions"])
	for i, option := range options {
		if !slices.Contains([]string{"missingkey=default", "missingkey=invalid", "missingkey=zero", "missingkey=error"}, option) {
			f.addf([]any{"spec", "goTemplateOptions", i}, "unknown option %q, want missingkey=error or another of missingkey", option)
		}
	}
	if len(object.Items(spec["generators"])) == 0 {
		f.addf([]any{"spec", "generators"}, "there are none")
	}
	if err := f.err(); err != nil {
		return nil, []Fault{{Name: title, File: f.file, Line: f.line, Err: err}}
	}
	s.engine = newEngine(spec["goTemplate"] == true, options)

	taken := map[string]bool{}
	add := func(manifest map[string]any) {
		own := &faults{file: f.file, line: f.line}
		name := object.Text(object.Field(manifest, "metadata", "name"))
		own.about = fmt.Sprintf("application %q: ", name)
		a, err := readApplication(manifest, own)
		if err == nil && taken[name] {
			own.addf(nil, "an application of this ApplicationSet has the name already")
			err = own.err()
		}
		taken[name] = true
		if err != nil {
			all = append(all, Fault{Name: qualified(namespace, name), File: f.file, Line: f.line, Err: err})
			return
		}
		a.From = title
		made = append(made, *a)
	}
	for i, generator := range object.Items(spec["generators"]) {
		at := []any{"spec", "generators", i}
		err := guarded(func() error {
			return s.transform(object.Mapping(generator), at, object.Mapping(spec["template"]), nil, func(params map[string]any, template map[string]any) error {
				if s.full = len(made)+len(all) >= maxApplications; s.full {
					return limitError("the ApplicationSet gives more than %d applications", maxApplications)
				}
				manifest, err := s.application(template, params, namespace)
				if err == nil {
					add(manifest)
				}
				return err
			})
		})
		if err != nil {
			s.fault(at, err)
		}
		if s.spent() {
			break
		}
	}
	if err := f.err(); err != nil {
		all = append(all, Fault{Name: title, File: f.file, Line: f.line, Err: err})
	}
	return made, all
}

// spent reports whether a bound was reached, so that nothing more is to be tried.
func (s *set) spent() bool { return s.full || s.sets < 0 || s.engine.steps < 0 || s.engine.bytes < 0 }

// fault adds an error of a generator, at the place that it names if it names one.
func (s *set) fault(at []any, err error) {
	var placed *placedError
	if errors.As(err, &placed) {
		at = placed.path
	}
	s.faults.addf(at, "%v", err)
	if s.faults.hint == "" {
		s.faults.hint = diag.Hint(err)
	}
}

// placedError is an error of a field.
type placedError struct {
	path []any
	error
}

func (e *placedError) Unwrap() error { return e.error }

// guarded makes an error of a panic: template functions are called with whatever a
// stranger's repository says.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the expansion broke off (%T)", r)
		}
	}()
	return f()
}

func qualified(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// application makes one application of a template.
func (s *set) application(template, params map[string]any, namespace string) (map[string]any, error) {
	metadata := maps.Clone(object.Mapping(template["metadata"]))
	if metadata == nil {
		metadata = map[string]any{}
	}
	made := map[string]any{"metadata": metadata}
	if spec := object.Mapping(template["spec"]); spec != nil {
		made["spec"] = spec
	}
	// Argo CD leaves a template without parameters as it is.
	if len(params) > 0 {
		replaced, err := s.replaceAll(made, params)
		if err != nil {
			return nil, err
		}
		made = object.Mapping(replaced)
		metadata = object.Mapping(made["metadata"])
		if len(object.Items(metadata["finalizers"])) == 0 && object.Field(s.spec, "syncPolicy", "preserveResourcesOnDeletion") != true {
			metadata["finalizers"] = []any{"resources-finalizer.argocd.argoproj.io"}
		}
	}
	if patch, given := s.spec["templatePatch"].(string); given {
		text, err := s.engine.replace(patch, params)
		if err != nil {
			return nil, fmt.Errorf("templatePatch: %w", err)
		}
		project, had := object.Mapping(made["spec"])["project"]
		if made, err = applyPatch(made, text); err != nil {
			return nil, fmt.Errorf("templatePatch: %w", err)
		}
		// A patch has no say in the project.
		if spec := object.Mapping(made["spec"]); spec != nil {
			delete(spec, "project")
			if had {
				spec["project"] = project
			}
		}
	}
	metadata = object.Mapping(made["metadata"])
	if metadata == nil {
		return nil, errors.New("templatePatch: it removes metadata")
	}
	// The application stands where its ApplicationSet does, whatever the template says.
	delete(metadata, "namespace")
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	made["apiVersion"], made["kind"] = "argoproj.io/v1alpha1", "Application"
	return made, nil
}

// replaceAll fills in all strings of a value, keys too. Fields that are null go.
func (s *set) replaceAll(v any, params map[string]any) (any, error) {
	switch v := v.(type) {
	case string:
		return s.engine.replace(v, params)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			replaced, err := s.replaceAll(item, params)
			if err != nil {
				return nil, err
			}
			out[i] = replaced
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if v[key] == nil {
				continue
			}
			value, err := s.replaceAll(v[key], params)
			if err != nil {
				return nil, err
			}
			if key, err = s.engine.replace(key, params); err != nil {
				return nil, err
			}
			out[key] = value
		}
		return out, nil
	}
	return v, nil
}

// applyPatch applies a strategic merge patch for an Application: lists are replaced but
// for the finalizers, which are added, and $patch and its like mean what they mean to
// kubectl.
func applyPatch(manifest map[string]any, text string) (map[string]any, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") && !json.Valid([]byte(text)) {
		return nil, errors.New("it begins with { and is no JSON")
	}
	value, err := yamldoc.Limits{Bytes: maxResult, Depth: 64}.Decode("", []byte(text))
	if err != nil {
		return nil, err
	}
	patch := object.Mapping(value)
	if patch == nil && value != nil {
		return nil, errors.New("want a mapping")
	}
	merged, err := strategicpatch.StrategicMergePatchUsingLookupPatchMeta(
		yamldoc.AppendJSON(nil, manifest, ""), yamldoc.AppendJSON(nil, patch, ""), patchMeta{})
	if err != nil {
		return nil, err
	}
	// Decoded here, numbers are those of a manifest.
	value, err = yamldoc.Decode("", merged)
	return object.Mapping(value), err
}

// patchMeta says how fields of an Application are patched.
type patchMeta struct{ metadata bool }

// LookupPatchMetadataForStruct implements strategicpatch.LookupPatchMeta.
func (m patchMeta) LookupPatchMetadataForStruct(key string) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta, error) {
	return patchMeta{metadata: key == "metadata" && !m.metadata}, strategicpatch.PatchMeta{}, nil
}

// LookupPatchMetadataForSlice implements strategicpatch.LookupPatchMeta.
func (m patchMeta) LookupPatchMetadataForSlice(key string) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta, error) {
	var how strategicpatch.PatchMeta
	if m.metadata && key == "finalizers" {
		how.SetPatchStrategies([]string{"merge"})
	}
	return patchMeta{}, how, nil
}

// Name implements strategicpatch.LookupPatchMeta.
func (patchMeta) Name() string { return "Application" }
