package application

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin"
)

// Application is one Argo CD Application.
type Application struct {
	Namespace, Name string // of metadata; Namespace may be ""
	// File is where the manifest stands, or that of the ApplicationSet that it comes
	// from, and Line, from 1, where it begins. Line is 0 where that is not known.
	File string
	Line int
	// From is what it comes from, such as "ApplicationSet shop/previews", or "".
	From        string
	Project     string // "default" where the manifest has none
	Destination Destination
	// Sources are what it renders, in order; at least one.
	Sources []Source
	// Value is the whole manifest.
	Value map[string]any
}

// Destination is where an application goes.
type Destination struct{ Server, Name, Namespace string }

// The values of Source.Native.
const (
	NativeHelm      = "helm"
	NativeKustomize = "kustomize"
	NativeDirectory = "directory"
	NativePlugin    = "plugin"
)

// Source is one source of an application.
//
// A native source has the renderer parameter: kustomize, plain, or for helm helm3,
// which is the Helm of Argo CD before 3.5. Without it hallmark finds out by the files,
// as Argo CD does.
type Source struct {
	Name, Ref, RepoURL, Path, Chart, TargetRevision string
	// Parameters are those of the plugin source, or what the fields of the native one
	// mean.
	Parameters plugin.Parameters
	// Env is plugin.env by the names that Argo CD gives it: ARGOCD_ENV_<name>.
	Env map[string]string
	// KubeVersion and APIVersions are what the native source has in place of the
	// cluster's. They are among Parameters too.
	KubeVersion string
	APIVersions []string
	// Native is the field that says what renders the source: "helm", "kustomize",
	// "directory" or "plugin"; "" where the files decide.
	Native string
	// Unsupported says why hallmark cannot render the source, such as another plugin's
	// name. Where the repository or chart comes from is not considered.
	Unsupported string
	// Notes are fields without an effect here, one line each.
	Notes []string

	value map[string]any
}

const argoGroup = "argoproj.io/"

// Parse reads an Application. The error lists all faults of the manifest, with the
// path of each field; columns are known to [Find] alone, which has the text.
func Parse(o object.Object) (*Application, error) {
	return readApplication(o.Value, &faults{file: o.Origin, line: o.Line})
}

func readApplication(manifest map[string]any, f *faults) (*Application, error) {
	if object.Text(manifest["kind"]) != "Application" || !strings.HasPrefix(object.Text(manifest["apiVersion"]), argoGroup) {
		f.addf(nil, `want kind "Application" of argoproj.io`)
		return nil, f.err()
	}
	applicationShape.check(f, nil, manifest)
	a := &Application{File: f.file, Line: f.line, Value: manifest}
	a.Name, a.Namespace = identity(f, manifest)
	spec := object.Mapping(manifest["spec"])
	if spec == nil {
		f.addf([]any{"spec"}, "missing")
		return nil, f.err()
	}
	if a.Project = object.Text(spec["project"]); a.Project == "" {
		a.Project = "default"
	}
	a.Destination = Destination{
		Server:    object.Text(object.Field(spec, "destination", "server")),
		Name:      object.Text(object.Field(spec, "destination", "name")),
		Namespace: object.Text(object.Field(spec, "destination", "namespace")),
	}
	for _, at := range sources(spec) {
		value, _ := object.Lookup(spec, at)
		s := Source{value: object.Mapping(value)}
		s.read(f, below([]any{"spec"}, at...), at[0] == "sources")
		a.Sources = append(a.Sources, s)
	}
	if len(a.Sources) == 0 {
		f.addf([]any{"spec"}, "neither source nor sources")
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	return a, nil
}

// identity returns name and namespace of a manifest.
func identity(f *faults, manifest map[string]any) (name, namespace string) {
	for key, to := range map[string]*string{"name": &name, "namespace": &namespace} {
		value := object.Field(manifest, "metadata", key)
		text.check(f, []any{"metadata", key}, value)
		*to = object.Text(value)
		switch {
		case *to != "" && len(validation.IsDNS1123Subdomain(*to)) > 0:
			f.addf([]any{"metadata", key}, "%q is no name: want lower case letters, digits, dashes and dots", *to)
		case value == nil && key == "name":
			f.addf([]any{"metadata", key}, "missing")
		}
	}
	return name, namespace
}

// sources returns the paths of the sources that count: of several ways to give them,
// that which Argo CD takes.
func sources(spec map[string]any) (paths [][]any) {
	if object.Field(spec, "sourceHydrator") != nil {
		return [][]any{{"sourceHydrator", "drySource"}}
	}
	for i := range object.Items(spec["sources"]) {
		paths = append(paths, []any{"sources", i})
	}
	if len(paths) == 0 && spec["source"] != nil {
		paths = [][]any{{"source"}}
	}
	return paths
}

// read fills the source from its value, which is at path. It adds what Argo CD checks
// beside the types.
func (s *Source) read(f *faults, path []any, several bool) {
	if s.value == nil {
		f.addf(path, "missing")
		return
	}
	for name, to := range map[string]*string{
		"name": &s.Name, "ref": &s.Ref, "repoURL": &s.RepoURL, "path": &s.Path, "chart": &s.Chart,
		"targetRevision": &s.TargetRevision,
	} {
		*to = object.Text(s.value[name])
	}
	switch {
	case s.RepoURL == "":
		f.addf(below(path, "repoURL"), "missing")
	case s.Path == "" && s.Chart == "" && (!several || s.Ref == "") && !strings.HasPrefix(s.RepoURL, "oci://"):
		want := "path or chart"
		if several {
			want = "path, chart or ref"
		}
		f.addf(path, "it has no %s", want)
	}
	s.tool(f, path)
}

// tool reads what renders the source.
func (s *Source) tool(f *faults, path []any) {
	var given []string
	for _, name := range []string{NativeKustomize, NativeHelm, NativeDirectory, NativePlugin} {
		if s.value[name] != nil {
			given = append(given, name)
		}
	}
	switch len(given) {
	case 0:
		return
	case 1:
		s.Native = given[0]
	default:
		f.addf(path, "it has %s, and Argo CD takes one of them: multiple application sources defined", strings.Join(given, " and "))
		return
	}
	p := &parameters{faults: f, path: below(path, s.Native)}
	config := object.Mapping(s.value[s.Native])
	// Parameters of what has another shape would have faults that say the same again.
	shaped := &faults{}
	tools[s.Native].check(shaped, nil, s.value[s.Native])
	if len(shaped.list) > 0 {
		return
	}
	before := len(f.list)
	switch s.Native {
	case NativeHelm:
		s.helm(p, config)
	case NativeKustomize:
		s.kustomize(p, config)
	case NativeDirectory:
		s.directory(p, config)
	case NativePlugin:
		s.plugin(p, config)
	}
	if len(f.list) == before {
		s.Parameters = p.parse()
	}
}

func (s *Source) note(text string) { s.Notes = append(s.Notes, text) }

// ours reports whether a plugin's name is hallmark's: the name of its configuration,
// with its version where that has one. Without a name the plugin is found by discovery.
func ours(name string) bool {
	return name == "" || name == "hallmark" || strings.HasPrefix(name, "hallmark-")
}

func (s *Source) plugin(p *parameters, config map[string]any) {
	name := object.Text(config["name"])
	for _, entry := range object.Items(config["env"]) {
		if s.Env == nil {
			s.Env = map[string]string{}
		}
		s.Env["ARGOCD_ENV_"+object.Text(object.Field(entry, "name"))] = object.Text(object.Field(entry, "value"))
	}
	if !ours(name) {
		s.Unsupported = `it is rendered by the plugin "` + name + `"`
		return
	}
	for i, item := range object.Items(config["parameters"]) {
		entry := parameter{Name: object.Text(object.Field(item, "name"))}
		if value := object.Field(item, "string"); value != nil {
			given := object.Text(value)
			entry.String = &given
		}
		if value := object.Field(item, "array"); value != nil {
			entry.Array = append([]string{}, texts(value)...)
		}
		entry.Map = textTable(object.Field(item, "map"))
		at := below(p.path, "parameters", i)
		if entry.String == nil && entry.Array == nil && entry.Map == nil {
			p.faults.addf(at, "the parameter %q has neither string nor array nor map", entry.Name)
			continue
		}
		if slices.ContainsFunc(p.list, func(earlier parameter) bool { return earlier.Name == entry.Name }) {
			p.faults.addf(at, "the parameter %q is there twice", entry.Name)
			continue
		}
		if _, err := plugin.ParseParameters(marshal([]parameter{entry})); err != nil {
			p.faults.addf(at, "%v", err)
			if p.faults.hint == "" {
				p.faults.hint = diag.Hint(err)
			}
			continue
		}
		p.list = append(p.list, entry)
	}
}
