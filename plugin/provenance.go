package plugin

import (
	"maps"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/evidence"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/chart"
	"hallmark.dev/hallmark/plugin/decrypt"
	"hallmark.dev/hallmark/plugin/overlay"
	"hallmark.dev/hallmark/plugin/source"
	"hallmark.dev/hallmark/plugin/stamp"
)

// Component is a program that is compiled in.
type Component struct{ Name, Version string }

// Components returns what is compiled in, in the order of the renderers.
func Components() []Component {
	return []Component{
		{"helm3", chart.Helm3.Version()},
		{"helm4", chart.Helm4.Version()},
		{"kustomize", overlay.Version},
		{"sops", decrypt.Version},
	}
}

// stamp writes the annotations and the record.
func (s *session) stamp(files []source.File, out *Output, objects []object.Object) (*Result, error) {
	r, in := s.Request, s.in
	given := in.Parameters.expanded(in.Env)
	inputs := stamp.Inputs{
		Key: r.HashKey, App: r.App, Namespace: r.Namespace,
		KubeVersion: in.KubeVersion, APIVersions: in.APIVersions, Renderer: out.Version,
		Parameters: maps.Clone(given),
	}
	for _, f := range files {
		inputs.Files = append(inputs.Files, stamp.File{Path: f.Path, Digest: f.Digest})
	}
	// Without a key every parameter counts as it is: the hash has to move with
	// each input, and an Application shows its parameters in plain text. With a
	// key, those that can hold secrets count under it.
	if r.HashKey != nil {
		inputs.Sensitive = map[string]any{}
		for _, spec := range specs {
			if value, given := inputs.Parameters[spec.Name]; given && spec.Sensitive {
				inputs.Sensitive[spec.Name] = value
				delete(inputs.Parameters, spec.Name)
			}
		}
	}
	inputsHash, err := stamp.InputsHash(inputs)
	if err != nil {
		return nil, err
	}
	provenance := stamp.Provenance{InputsHash: inputsHash, SourceRevision: r.Revision, Renderer: out.Version}
	options := stamp.Options{Key: r.HashKey, Ignore: ignored(out.Unstable)}
	if in.Parameters.ConfigHash {
		if objects, err = stamp.RollOnConfig(objects, r.Namespace, options); err != nil {
			return nil, err
		}
	}
	stamped, err := stamp.Apply(objects, provenance, options)
	if err != nil {
		return nil, err
	}
	result := &Result{
		Objects: stamped.Objects, RenderHash: stamped.RenderHash, ObjectHashes: stamped.ObjectHashes,
		Provenance: provenance, Decrypted: s.tree.Opened(),
		Findings: s.findings, waivers: s.waivers, Derived: out.Derived, renewed: out.renewed,
	}
	warnings := slices.Clone(out.Warnings)
	for _, u := range out.Unstable {
		warnings = append(warnings, u.message())
	}
	if len(warnings) > 0 { // in one go, since a search costs as much as a long text
		result.Warnings = strings.Split(s.secrets.Text(strings.Join(warnings, "\n")), "\n")
	}
	result.Evidence = r.record(in, out, given, files, result)
	result.Evidence.Lint = s.recorded()
	result.Evidence.Seed, result.Evidence.Derived = s.seed.ID, recordedDerived(out.Derived)
	return result, nil
}

// expanded returns the parameters as they took effect: with variables replaced
// where the renderer replaces them.
func (p Parameters) expanded(env map[string]string) map[string]any {
	q := p
	q.ValueFiles = expandList(p.ValueFiles, env)
	q.HelmParameters = expandMap(p.HelmParameters, env)
	q.HelmStringParameters = expandMap(p.HelmStringParameters, env)
	q.HelmFileParameters = expandMap(p.HelmFileParameters, env)
	q.KustomizeImages = expandList(p.KustomizeImages, env)
	q.KustomizeCommonLabels = expandMap(p.KustomizeCommonLabels, env)
	if p.KustomizeAnnotationsEnvsubst {
		q.KustomizeCommonAnnotations = expandMap(p.KustomizeCommonAnnotations, env)
	}
	return q.given()
}

func expandList(list []string, env map[string]string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = expand(s, env)
	}
	return out
}

// ignored are the fields that do not count in the hashes.
func ignored(unstable []Unstable) map[object.ID][]stamp.Path {
	out := map[object.ID][]stamp.Path{}
	for _, u := range unstable {
		out[u.Object] = append(out[u.Object], u.Path)
	}
	return out
}

func (r *Request) record(in *Input, out *Output, given map[string]any, files []source.File, result *Result) evidence.Record {
	record := evidence.Record{
		RenderHash: result.RenderHash, InputsHash: result.Provenance.InputsHash,
		StampFormat: stamp.Format, SecretsKeyed: r.HashKey != nil,
		App: r.App, Namespace: r.Namespace, Project: r.Project,
		Source:   evidence.Source{Repo: r.Repository(), Revision: r.Revision, Path: r.Path},
		Renderer: out.Version, KubeVersion: in.KubeVersion, APIVersions: in.APIVersions,
		Limits: map[string]int64{
			"objects": int64(in.Limits.Objects), "outputBytes": int64(in.Limits.OutputBytes),
			"memoryBytes": in.Limits.MemoryBytes, "renderTimeMilliseconds": in.Limits.RenderTime.Milliseconds(),
		},
		Determinism: in.Parameters.Determinism, Functions: out.Noticed,
		Versions: map[string]string{"hallmark": r.Version},
	}
	if record.Determinism == "" {
		record.Determinism = DeterminismEnforce
	}
	for _, c := range Components() {
		record.Versions[c.Name] = c.Version
	}
	for _, spec := range specs {
		if value, ok := given[spec.Name]; ok {
			record.Parameters = append(record.Parameters, evidence.Parameter{Name: spec.Name, Value: value, Sensitive: spec.Sensitive})
		}
	}
	for _, f := range files {
		record.Files = append(record.Files, evidence.File{Path: f.Path, Digest: f.Digest})
	}
	for _, u := range out.Unstable {
		field := evidence.Ignored{Object: u.Object, Pointer: u.Path.Pointer(), Template: u.Origin}
		if len(u.Calls) > 0 {
			field.Template, field.Function = u.Calls[0].Template, u.Calls[0].Function
		}
		record.Ignored = append(record.Ignored, field)
	}
	for i, o := range result.Objects {
		record.Objects = append(record.Objects, evidence.Object{ID: o.ID(), Digest: result.ObjectHashes[i], Origin: o.Origin, Line: o.Line})
	}
	return record
}

// RecordedFields returns the fields that a record leaves out of the hashes.
func RecordedFields(record evidence.Record) (map[object.ID][]stamp.Path, error) {
	out := map[object.ID][]stamp.Path{}
	for _, f := range record.Ignored {
		p, err := stamp.ParsePath(f.Pointer)
		if err != nil {
			return nil, err
		}
		out[f.Object] = append(out[f.Object], p)
	}
	return out, nil
}

// differences are the fields in which two builds of one application differ,
// object by object in their order.
func differences(a, b []object.Object) []Unstable {
	var out []Unstable
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) {
			out = append(out, Unstable{})
			break
		}
		if a[i].ID() != b[i].ID() {
			out = append(out, Unstable{Object: a[i].ID(), Origin: a[i].Origin})
			continue
		}
		chart.Diff(a[i].Value, b[i].Value, func(path []any) {
			out = append(out, Unstable{Object: a[i].ID(), Origin: a[i].Origin, Path: path})
		})
	}
	return out
}
