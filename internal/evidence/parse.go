package evidence

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/object"
)

// Parse reads a record that [Marshal] wrote, or a later version of hallmark:
// fields that it does not know are skipped, as in-toto asks of consumers. Values
// of sensitive parameters are nil, and whole numbers in the others are float64.
// Parse checks the form of a record and no signature.
//
// file is the name for messages. An error is a [diag.Error].
func Parse(file string, text []byte) (Record, error) {
	fault := func(format string, args ...any) (Record, error) {
		return Record{}, &diag.Error{File: file, Msg: fmt.Sprintf(format, args...)}
	}
	var s statement
	if err := json.Unmarshal(text, &s); err != nil {
		return Record{}, positioned(file, text, err)
	}
	build, run := s.Predicate.BuildDefinition, s.Predicate.RunDetails
	for _, id := range []struct{ field, got, want string }{
		{"_type", s.Type, StatementType},
		{"predicateType", s.PredicateType, PredicateType},
		{"predicate.buildDefinition.buildType", build.BuildType, BuildType},
	} {
		if id.got != id.want {
			return fault("%s is %q, want %q", id.field, id.got, id.want)
		}
	}
	if len(s.Subject) != 1 {
		return fault("the record has %d subjects, want 1", len(s.Subject))
	}

	external, internal := build.ExternalParameters, build.InternalParameters
	r := Record{
		RenderHash:   digest(s.Subject[0]),
		InputsHash:   internal.InputsHash,
		StampFormat:  internal.StampFormat,
		SecretsKeyed: internal.SecretValues == secretValuesKeyed,
		App:          external.App,
		Namespace:    external.Namespace,
		Project:      external.Project,
		Source:       Source{Repo: external.Repo, Path: external.Path},
		Renderer:     internal.Renderer,
		KubeVersion:  internal.KubeVersion,
		APIVersions:  internal.APIVersions,
		Limits:       internal.Limits,
		Determinism:  internal.Determinism.Mode,
		Functions:    internal.Functions,
		Versions:     run.Builder.Version,
		InvocationID: run.Metadata.InvocationID,
		StartedOn:    run.Metadata.StartedOn,
	}
	if _, err := digestSet("the digest of the subject", r.RenderHash); err != nil {
		return fault("%v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(external.Parameters)) {
		r.Parameters = append(r.Parameters, Parameter{Name: name, Value: external.Parameters[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(external.SensitiveParameters)) {
		r.Parameters = append(r.Parameters, Parameter{Name: name, Sensitive: true})
	}
	for _, i := range internal.Determinism.Ignored {
		// A verification leaves these fields out, so that a pointer that
		// means nothing must not pass for one that does.
		if !validPointer(i.Pointer) {
			return fault("ignored field of %s: %q is not a JSON pointer to a field", object.ID(i.Object), i.Pointer)
		}
		r.Ignored = append(r.Ignored, Ignored{
			Object: object.ID(i.Object), Pointer: i.Pointer, Template: i.Template, Function: i.Function,
		})
	}
	r.Seed = internal.Determinism.Seed
	for _, d := range internal.Determinism.Derived {
		r.Derived = append(r.Derived, Derived{
			Object: object.ID(d.Object), Field: d.Field, Reason: d.Reason, Names: d.Names, Generation: d.Generation,
		})
	}
	if internal.Lint != nil {
		r.Lint = &Lint{}
		for _, f := range internal.Lint.Findings {
			next := Finding{Rule: f.Rule, Level: f.Level, Object: object.ID(f.Object), Field: f.Field, Message: f.Message}
			if f.Waiver != nil {
				next.Waiver = &Waiver{Day: f.Waiver.Day, Reason: f.Waiver.Reason}
			}
			r.Lint.Findings = append(r.Lint.Findings, next)
		}
	}
	for _, d := range build.ResolvedDependencies {
		commit, isCommit := d.Digest["gitCommit"]
		switch {
		case isCommit:
			r.Source.Revision = commit
		case d.URI != "" || d.Annotations.Revision != "":
			r.Source.Revision = d.Annotations.Revision
		default:
			r.Files = append(r.Files, File{Path: d.Name, Digest: digest(d)})
		}
	}
	for _, d := range run.Byproducts {
		id, err := parseByproductName(d.Name)
		if err == nil {
			_, err = digestSet("the digest", digest(d))
		}
		if err != nil {
			return fault("byproduct %q: %v", d.Name, err)
		}
		r.Objects = append(r.Objects, Object{ID: id, Digest: digest(d), Origin: d.Annotations.Origin, Line: d.Annotations.Line})
	}
	return r, nil
}

// digest returns the SHA-256 of d as "sha256:<hex>", or "".
func digest(d descriptor) string {
	digits, ok := d.Digest["sha256"]
	if !ok {
		return ""
	}
	return "sha256:" + digits
}

// positioned turns the library's byte offset into a line and column.
func positioned(file string, text []byte, err error) error {
	var (
		offset int64
		fact   string
	)
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset, fact = syntax.ByteOffset, syntax.Err.Error()
		if syntax.JSONPointer != "" {
			fact = string(syntax.JSONPointer) + ": " + fact
		}
	} else if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		offset, fact = semantic.ByteOffset, fmt.Sprintf("%s is not what a record has there", kindName(semantic.JSONKind))
		if semantic.JSONPointer != "" {
			fact = string(semantic.JSONPointer) + ": " + fact
		}
	} else {
		return &diag.Error{File: file, Msg: err.Error()}
	}
	line, col := 1, 1
	for before := text[:min(max(offset, 0), int64(len(text)))]; len(before) > 0; {
		r, size := utf8.DecodeRune(before)
		before = before[size:]
		if col++; r == '\n' {
			line, col = line+1, 1
		}
	}
	return &diag.Error{File: file, Line: line, Col: col, Msg: fact}
}

func kindName(kind jsontext.Kind) string {
	switch kind {
	case 'n':
		return "null"
	case 't', 'f':
		return "a bool"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "the value"
}
