package chart

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/redact"
)

// Helm checks values with a loader for http, https and file URLs: a schema that
// refers to one makes a render reach for the network or for any file of the
// machine. What a schema refers to is known only to who compiles it ($schema,
// $ref, $dynamicRef, against each $id). So the check of pkg/chartutil/jsonschema.go,
// which is the same in both versions, stands here with the same validator, and
// with a loader that gives nothing out. The meta-schemas of json-schema.org are
// compiled into the validator.

// chartSchema is what one chart's values have to follow.
type chartSchema struct {
	chart  string // the chart's name
	file   string // its values.schema.json, as messages name it
	text   []byte // nil if the chart has none
	values any    // its part of the merged values
}

// schemasOf lists the charts that Helm would validate: the chart, and each
// dependency that is left and has values.
func schemasOf[C any](ch C, dir string, values any, look func(C) (name string, schema []byte, dependencies []C)) []chartSchema {
	name, text, dependencies := look(ch)
	list := []chartSchema{{name, path.Join(dir, schemaFile), text, values}}
	table, ok := values.(map[string]any)
	if !ok {
		return list
	}
	for _, d := range dependencies {
		name, _, _ := look(d)
		if table[name] != nil {
			list = append(list, schemasOf(d, path.Join(dir, "charts", name), table[name], look)...)
		}
	}
	return list
}

const schemaFile = "values.schema.json"

// checkSchemas validates the values of all charts.
func checkSchemas(list []chartSchema) error {
	var faults diag.List
	for _, s := range list {
		if _, ok := s.values.(map[string]any); !ok {
			faults.Addf(path.Join(path.Dir(s.file), "values.yaml"), 0, 0, "values of chart %q: got %s, want a mapping", s.chart, describe(s.values))
			continue
		}
		if s.text == nil {
			continue
		}
		found, err := s.check()
		if err != nil {
			return err
		}
		faults = append(faults, found...)
	}
	return diag.WithHint(faults.Err(), schemaHint)
}

const schemaHint = "skip-schema-validation renders without checking values against the schema"

// check returns what the values break, or an error about the schema.
func (s chartSchema) check() (faults diag.List, err error) {
	defer func() {
		if r := recover(); r != nil { // as Helm does; the validator panics on some references
			faults, err = nil, s.fault("the schema cannot be evaluated")
		}
	}()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.text))
	if err != nil {
		return nil, s.fault("%s", oneLine(err.Error()))
	}
	outside := &refusingLoader{}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(outside)
	const at = "file:///" + schemaFile
	if err := compiler.AddResource(at, doc); err != nil {
		return nil, s.fault("%s", oneLine(err.Error()))
	}
	schema, err := compiler.Compile(at)
	if outside.refused != "" {
		return nil, diag.WithHint(
			s.fault("the schema refers to %q, which is outside the chart", redact.URL(outside.refused)),
			"put the definitions into the schema, or set skip-schema-validation")
	}
	if invalid := (*jsonschema.SchemaValidationError)(nil); errors.As(err, &invalid) {
		if broken := (*jsonschema.ValidationError)(nil); errors.As(invalid.Err, &broken) {
			s.collect(broken, "the schema is not valid", &faults)
			return nil, faults.Err()
		}
	}
	if err != nil {
		return nil, s.fault("the schema does not compile: %s", strings.ReplaceAll(oneLine(err.Error()), at, schemaFile))
	}
	err = schema.Validate(s.values)
	if broken := (*jsonschema.ValidationError)(nil); errors.As(err, &broken) {
		s.collect(broken, fmt.Sprintf("values of chart %q", s.chart), &faults)
		return faults, nil
	}
	return nil, err
}

func (s chartSchema) fault(format string, args ...any) error {
	return &diag.Error{File: s.file, Msg: fmt.Sprintf(format, args...)}
}

// refusingLoader is asked for what a schema refers to and does not hold.
type refusingLoader struct{ refused string }

func (l *refusingLoader) Load(location string) (any, error) {
	// Helm takes any URN that it cannot resolve, and by itself it resolves none,
	// for a schema that accepts everything.
	if u, err := url.Parse(location); err == nil && u.Scheme == "urn" {
		return true, nil
	}
	if l.refused == "" {
		l.refused = location
	}
	return nil, errors.New("a schema is read from the chart only")
}

// collect adds the faults below e, each with the place of its value. An error
// that only says that those below it exist is left out.
func (s chartSchema) collect(e *jsonschema.ValidationError, about string, faults *diag.List) {
	silent := false
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Reference, *kind.Group, *kind.AllOf:
		silent = len(e.Causes) > 0
	}
	if !silent {
		faults.Addf(s.file, 0, 0, "%s: at '%s': %s", about, jsonPointer(e.InstanceLocation), schemaFact(e))
	}
	for _, cause := range e.Causes {
		s.collect(cause, about, faults)
	}
}

// jsonPointer is the JSON pointer (RFC 6901) of a place.
func jsonPointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(t))
	}
	return oneLine(b.String())
}

// schemaFact words the rule that a value breaks in the validator's words, which
// name what the schema wants, without what the value is.
func schemaFact(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Pattern:
		return fmt.Sprintf("a value does not match pattern '%s'", oneLine(k.Want))
	case *kind.Format:
		return "a value is not valid " + k.Want
	case *kind.ContentEncoding:
		return fmt.Sprintf("a value is not '%s' encoded", k.Want)
	case *kind.ContentMediaType:
		return fmt.Sprintf("a value is not of mediatype '%s'", k.Want)
	case *kind.MinLength:
		return fmt.Sprintf("minLength: a value is too short, want %d", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("maxLength: a value is too long, want %d", k.Want)
	case *kind.Minimum:
		return "minimum: a value is too small, want at least " + k.Want.RatString()
	case *kind.ExclusiveMinimum:
		return "exclusiveMinimum: a value is too small, want more than " + k.Want.RatString()
	case *kind.Maximum:
		return "maximum: a value is too large, want at most " + k.Want.RatString()
	case *kind.ExclusiveMaximum:
		return "exclusiveMaximum: a value is too large, want less than " + k.Want.RatString()
	case *kind.MultipleOf:
		return "multipleOf: a value is no multiple of " + k.Want.RatString()
	case *kind.Type, *kind.Enum, *kind.Const, *kind.FalseSchema, *kind.Not, *kind.AllOf, *kind.AnyOf, *kind.OneOf,
		*kind.MinItems, *kind.MaxItems, *kind.MinProperties, *kind.MaxProperties, *kind.AdditionalItems, *kind.AdditionalProperties,
		*kind.Required, *kind.Dependency, *kind.DependentRequired, *kind.PropertyNames, *kind.UniqueItems,
		*kind.Contains, *kind.MinContains, *kind.MaxContains, *kind.ContentSchema, *kind.RefCycle, *kind.InvalidJsonValue:
		// These quote types, counts, names of fields and what the schema wants.
		bare := *e
		bare.InstanceLocation, bare.Causes = nil, nil
		return oneLine(strings.TrimPrefix(bare.Error(), "at '': "))
	default:
		return fmt.Sprintf("a value breaks the rule %q", strings.Join(k.KeywordPath(), "/"))
	}
}
