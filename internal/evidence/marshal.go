package evidence

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/redact"
)

// Marshal returns r as indented JSON with a newline at its end. Equal records
// give equal bytes; the order of files, objects, parameters, API versions,
// functions, findings, ignored and derived fields does not count. r is only read.
//
// An error says which part of r cannot be recorded: a digest or pointer of the
// wrong form, a parameter given twice or without a JSON form. It holds no value.
func Marshal(r Record) ([]byte, error) {
	subject, err := digestSet("the render hash", r.RenderHash)
	if err != nil {
		return nil, err
	}
	if r.Versions["hallmark"] == "" {
		return nil, errors.New("the versions do not name that of hallmark")
	}
	external, err := r.externalParameters()
	if err != nil {
		return nil, err
	}
	internal, err := r.internalParameters()
	if err != nil {
		return nil, err
	}
	dependencies, err := r.dependencies()
	if err != nil {
		return nil, err
	}
	byproducts, err := r.byproducts()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(statement{
		Type:          StatementType,
		Subject:       []descriptor{{Name: cmp.Or(r.App, "manifests"), Digest: subject}},
		PredicateType: PredicateType,
		Predicate: provenance{
			BuildDefinition: buildDefinition{
				BuildType:            BuildType,
				ExternalParameters:   external,
				InternalParameters:   internal,
				ResolvedDependencies: dependencies,
			},
			RunDetails: runDetails{
				Builder:    builder{ID: BuilderID, Version: r.Versions},
				Metadata:   metadata{InvocationID: r.InvocationID, StartedOn: r.StartedOn.UTC()},
				Byproducts: byproducts,
			},
		},
	}, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("evidence record: %w", jsonFault(err))
	}
	return append(text, '\n'), nil
}

func (r Record) externalParameters() (externalParameters, error) {
	out := externalParameters{
		App: r.App, Namespace: r.Namespace, Project: r.Project,
		Repo: redact.URL(r.Source.Repo), Path: r.Source.Path,
		Parameters:          make(map[string]any, len(r.Parameters)),
		SensitiveParameters: make(map[string][]string),
	}
	for _, p := range r.Parameters {
		_, plain := out.Parameters[p.Name]
		_, sensitive := out.SensitiveParameters[p.Name]
		switch {
		case plain || sensitive:
			return externalParameters{}, fmt.Errorf("parameter %q is given twice", p.Name)
		case p.Sensitive:
			out.SensitiveParameters[p.Name] = slices.Sorted(slices.Values(leafPointers(p.Value, "")))
		default:
			out.Parameters[p.Name] = p.Value
		}
	}
	return out, nil
}

// leafPointers returns the JSON pointers of all leaves of v; an empty map or
// list is a leaf.
func leafPointers(v any, at string) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for key, field := range v {
			out = append(out, leafPointers(field, at+object.Pointer(key))...)
		}
	case []any:
		for i, item := range v {
			out = append(out, leafPointers(item, at+object.Pointer(i))...)
		}
	}
	if out == nil {
		return []string{at}
	}
	return out
}

func (r Record) internalParameters() (internalParameters, error) {
	out := internalParameters{
		StampFormat:  r.StampFormat,
		InputsHash:   r.InputsHash,
		SecretValues: secretValuesOmitted,
		Renderer:     r.Renderer,
		KubeVersion:  r.KubeVersion,
		APIVersions:  sortedSet(r.APIVersions),
		Limits:       r.Limits,
		Determinism:  determinism{Mode: r.Determinism, Seed: validUTF8(r.Seed)},
		Functions:    sortedSet(r.Functions),
		Lint:         r.lint(),
	}
	if r.SecretsKeyed {
		out.SecretValues = secretValuesKeyed
	}
	if r.InputsHash != "" {
		if _, err := digestSet("the inputs hash", r.InputsHash); err != nil {
			return internalParameters{}, err
		}
	}
	for _, i := range slices.SortedFunc(slices.Values(r.Ignored), compareIgnored) {
		if !validPointer(i.Pointer) {
			return internalParameters{}, fmt.Errorf("ignored field of %s: %q is not a JSON pointer to a field", i.Object, i.Pointer)
		}
		out.Determinism.Ignored = append(out.Determinism.Ignored, ignoredField{
			Object: objectRef(i.Object), Pointer: i.Pointer, Template: i.Template, Function: i.Function,
		})
	}
	for _, d := range slices.SortedFunc(slices.Values(r.Derived), compareDerived) {
		if !validPointer(d.Field) {
			return internalParameters{}, fmt.Errorf("derived field of %s: %q is not a JSON pointer to a field", d.Object, d.Field)
		}
		names := []string{}
		for _, name := range sortedSet(d.Names) {
			names = append(names, validUTF8(name))
		}
		out.Determinism.Derived = append(out.Determinism.Derived, derivedField{
			Object: objectRef(d.Object), Field: validUTF8(d.Field), Reason: d.Reason, Names: names, Generation: d.Generation,
		})
	}
	return out, nil
}

func compareDerived(a, b Derived) int {
	return cmp.Or(a.Object.Compare(b.Object), strings.Compare(a.Field, b.Field), strings.Compare(a.Reason, b.Reason))
}

// lint has the findings in the order of their objects.
func (r Record) lint() *lint {
	if r.Lint == nil {
		return nil
	}
	out := &lint{}
	for _, f := range slices.SortedFunc(slices.Values(r.Lint.Findings), compareFindings) {
		next := finding{Rule: f.Rule, Level: f.Level, Object: objectRef(f.Object), Field: validUTF8(f.Field), Message: validUTF8(f.Message)}
		if f.Waiver != nil {
			next.Waiver = &waiver{Day: f.Waiver.Day, Reason: validUTF8(f.Waiver.Reason)}
		}
		out.Findings = append(out.Findings, next)
	}
	return out
}

func compareFindings(a, b Finding) int {
	return cmp.Or(
		a.Object.Compare(b.Object),
		strings.Compare(a.Rule, b.Rule),
		strings.Compare(a.Field, b.Field),
		strings.Compare(a.Message, b.Message),
	)
}

func compareIgnored(a, b Ignored) int {
	return cmp.Or(
		a.Object.Compare(b.Object),
		strings.Compare(a.Pointer, b.Pointer),
		strings.Compare(a.Template, b.Template),
		strings.Compare(a.Function, b.Function),
	)
}

// validPointer reports whether s is an RFC 6901 pointer below the root.
func validPointer(s string) bool {
	rest := strings.NewReplacer("~0", "", "~1", "").Replace(s)
	return strings.HasPrefix(s, "/") && !strings.Contains(rest, "~")
}

// dependencies has the commit first, then the files by path.
func (r Record) dependencies() ([]descriptor, error) {
	var out []descriptor
	if source := r.Source; source.Repo != "" || source.Revision != "" {
		d := descriptor{URI: redact.URL(source.Repo)}
		if isCommit(source.Revision) {
			d.Digest = map[string]string{"gitCommit": source.Revision}
		} else {
			// A digest would claim that the content is that of a commit.
			d.Annotations.Revision = source.Revision
		}
		if d.URI == "" {
			d.Name = sourceName
		}
		out = append(out, d)
	}
	files := slices.SortedFunc(slices.Values(r.Files), func(a, b File) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Digest, b.Digest))
	})
	for _, f := range slices.Compact(files) {
		digest, err := digestSet(fmt.Sprintf("the digest of file %q", f.Path), f.Digest)
		if err != nil {
			return nil, err
		}
		out = append(out, descriptor{Name: validUTF8(f.Path), Digest: digest})
	}
	return out, nil
}

// sourceName is what the repository goes by where its URL is not known; a
// descriptor must have one of name, URI and digest.
const sourceName = "source"

// isCommit reports whether s is the SHA-1 name of a commit. SHA-256 names have no
// agreed digest algorithm in in-toto's list.
func isCommit(s string) bool {
	return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == ""
}

func (r Record) byproducts() ([]descriptor, error) {
	objects := slices.SortedFunc(slices.Values(r.Objects), func(a, b Object) int {
		return cmp.Or(a.ID.Compare(b.ID), strings.Compare(a.Digest, b.Digest),
			strings.Compare(a.Origin, b.Origin), cmp.Compare(a.Line, b.Line))
	})
	var out []descriptor
	for _, o := range objects {
		digest, err := digestSet("the digest of "+o.ID.String(), o.Digest)
		if err != nil {
			return nil, err
		}
		out = append(out, descriptor{
			Name:        byproductName(o.ID),
			Digest:      digest,
			Annotations: annotations{Origin: validUTF8(o.Origin), Line: max(o.Line, 0)},
		})
	}
	return out, nil
}

// digestSet turns "sha256:<hex>" into in-toto's form.
func digestSet(what, digest string) (map[string]string, error) {
	digits, ok := strings.CutPrefix(digest, "sha256:")
	if !ok || len(digits) != 64 || strings.Trim(digits, "0123456789abcdef") != "" {
		return nil, fmt.Errorf("%s is %q, want sha256: and 64 hex digits", what, digest)
	}
	return map[string]string{"sha256": digits}, nil
}

// validUTF8 makes a file name that git allows into one that JSON allows.
func validUTF8(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }

func sortedSet(set []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(set)))
}

// jsonFault says which field has no JSON form, without the field's value.
func jsonFault(err error) error {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("at %q: %w", syntax.JSONPointer, syntax.Err)
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		return fmt.Errorf("at %q: a value of Go type %v has no JSON form", semantic.JSONPointer, semantic.GoType)
	}
	return err
}
