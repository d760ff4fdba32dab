package application

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/fields"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
)

// Parameters of a generator are what a JSON decoder yields: a number is a float64, and
// a template prints 1000000 as 1e+06. Beside that there are the types that Argo CD has:
// map[string]string for values and []string for the segments of a path.

// order is that in which Argo CD takes the generators of one entry, each with what it
// needs that is not here.
var order = []struct{ name, needs string }{
	{"list", ""}, {"clusters", "a cluster"}, {"git", ""}, {"scmProvider", "a forge"},
	{"clusterDecisionResource", "a cluster"}, {"pullRequest", "a forge"},
	{"matrix", ""}, {"merge", ""}, {"plugin", "a service"},
}

// transform calls yield with each parameter set of a generator, filled in with the
// parameters outer, and with the template that it has for them, over base.
func (s *set) transform(generator map[string]any, at []any, base, outer map[string]any, yield func(params, template map[string]any) error) error {
	selects, err := newSelector(generator["selector"])
	if err != nil {
		return &placedError{below(at, "selector"), err}
	}
	original := generator
	if len(outer) > 0 {
		replaced, err := s.replaceAll(generator, outer)
		if err != nil {
			return &placedError{at, err}
		}
		generator = object.Mapping(replaced)
	}
	found := false
	var errs []error
	for _, kind := range order {
		if original[kind.name] == nil {
			continue
		}
		found = true
		here := below(at, kind.name)
		if kind.needs != "" {
			errs = append(errs, &placedError{here, diag.WithHint(
				fmt.Errorf("the generator asks %s, and so cannot be expanded here", kind.needs),
				"render such an application by its folder, or keep the applications that it makes in a file")})
			continue
		}
		template := fill(object.Mapping(object.Field(original, kind.name, "template")), base)
		sets, err := s.generate(kind.name, object.Mapping(generator[kind.name]), here)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, params := range sets {
			if selects != nil && !selects.match(flatten(params)) {
				continue
			}
			if s.sets--; s.sets < 0 {
				return limitError("the generators of this ApplicationSet give more than %d sets of parameters", maxSets)
			}
			if err := yield(params, template); err != nil {
				errs = append(errs, err)
				if s.spent() {
					return err
				}
			}
		}
	}
	if !found {
		errs = append(errs, &placedError{at, errors.New("no generator")})
	}
	return s.first(at, errs)
}

// first adds all errors but the first to the faults, and returns that.
func (s *set) first(at []any, errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	for _, err := range errs[1:] {
		s.fault(at, err)
	}
	return errs[0]
}

// generate returns the parameter sets of a generator.
func (s *set) generate(kind string, generator map[string]any, at []any) (sets []map[string]any, err error) {
	switch kind {
	case "list":
		sets, err = s.list(generator)
	case "git":
		sets, err = s.git(generator)
	case "matrix":
		return s.matrix(generator, at)
	case "merge":
		return s.merge(generator, at)
	}
	if err != nil {
		err = &placedError{at, err}
	}
	return sets, err
}

// list returns the elements. Without goTemplate parameters are texts.
func (s *set) list(generator map[string]any) (sets []map[string]any, err error) {
	for i, item := range object.Items(generator["elements"]) {
		element := object.Mapping(jsonValue(item))
		if s.engine.goTemplate {
			sets = append(sets, element)
			continue
		}
		params := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(element)) {
			if value, ok := element[key].(string); ok && key != "values" {
				params[key] = value
				continue
			}
			values, ok := element[key].(map[string]any)
			if key != "values" || !ok {
				return nil, fmt.Errorf("elements[%d].%s: got %s, and without goTemplate a parameter is a string", i, key, fields.KindOf(element[key]))
			}
			for _, name := range slices.Sorted(maps.Keys(values)) {
				if params["values."+name], ok = values[name].(string); !ok {
					return nil, fmt.Errorf("elements[%d].values.%s: got %s, and without goTemplate a parameter is a string", i, name, fields.KindOf(values[name]))
				}
			}
		}
		sets = append(sets, params)
	}
	text := object.Text(generator["elementsYaml"])
	if text == "" {
		return sets, nil
	}
	value, err := yamldoc.Limits{Bytes: maxResult, Depth: 64}.Decode("", []byte(text))
	if err != nil {
		return nil, fmt.Errorf("elementsYaml: %w", err)
	}
	more, ok := mappings(value)
	if !ok {
		return nil, errors.New("elementsYaml: want a list of mappings")
	}
	return append(sets, more...), nil
}

// mappings returns the items of a list of mappings, with null for an empty one.
func mappings(v any) (out []map[string]any, ok bool) {
	items, isList := v.([]any)
	for _, item := range items {
		m, isMapping := jsonValue(item).(map[string]any)
		if !isMapping && item != nil {
			return nil, false
		}
		out = append(out, m)
	}
	return out, isList || v == nil
}

// gather returns what a child of another generator generates. Its template does not
// count.
func (s *set) gather(child any, at []any, outer map[string]any) ([]map[string]any, error) {
	kinds := 0
	for _, kind := range order {
		if object.Field(child, kind.name) != nil {
			kinds++
		}
	}
	if kinds > 1 {
		return nil, &placedError{at, errors.New("more than one generator, want one")}
	}
	var sets []map[string]any
	err := s.transform(object.Mapping(child), at, nil, outer, func(params, _ map[string]any) error {
		sets = append(sets, params)
		return nil
	})
	return sets, err
}

// matrix returns each set of the first generator with each of the second, which may
// refer to the parameters of the first.
func (s *set) matrix(generator map[string]any, at []any) ([]map[string]any, error) {
	children := object.Items(generator["generators"])
	if len(children) != 2 {
		return nil, &placedError{below(at, "generators"), fmt.Errorf("got %d generators, and a matrix has two", len(children))}
	}
	first, err := s.gather(children[0], below(at, "generators", 0), nil)
	if err != nil {
		return nil, err
	}
	var sets []map[string]any
	for _, a := range first {
		second, err := s.gather(children[1], below(at, "generators", 1), a)
		if err != nil {
			return nil, err
		}
		for _, b := range second {
			if s.engine.goTemplate {
				sets = append(sets, override(override(nil, b), a))
				continue
			}
			both, err := combine(a, b)
			if err != nil {
				return nil, &placedError{at, err}
			}
			sets = append(sets, both)
		}
	}
	return sets, nil
}

// combine puts two flat sets together, in which a parameter may not have two values.
func combine(a, b map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(a)+len(b))
	for key, value := range a {
		out[key] = fmt.Sprint(value)
	}
	for _, key := range slices.Sorted(maps.Keys(b)) {
		value := fmt.Sprint(b[key])
		if earlier, found := out[key]; found && earlier != value {
			return nil, fmt.Errorf("both generators have the parameter %q, with different values: %q and %q", key, earlier, value)
		}
		out[key] = value
	}
	return out, nil
}

// merge returns the sets of the first generator, over which come those of the others
// that agree with them in the merge keys.
func (s *set) merge(generator map[string]any, at []any) ([]map[string]any, error) {
	children := object.Items(generator["generators"])
	if len(children) < 2 {
		return nil, &placedError{below(at, "generators"), fmt.Errorf("got %d generators, and a merge has two or more", len(children))}
	}
	keys := texts(generator["mergeKeys"])
	if len(keys) == 0 {
		return nil, &placedError{at, errors.New("no mergeKeys, want one or more")}
	}
	var base []map[string]any
	var index map[string]int // in base
	for i, child := range children {
		here := below(at, "generators", i)
		sets, err := s.gather(child, here, nil)
		if err != nil {
			return nil, err
		}
		places := map[string]int{}
		for n, params := range sets {
			key, err := mergeKey(keys, params)
			if err != nil {
				return nil, &placedError{here, err}
			}
			if _, taken := places[key]; taken {
				return nil, &placedError{here, fmt.Errorf("two sets of parameters have the same mergeKeys: %s", key)}
			}
			places[key] = n
		}
		if i == 0 {
			base, index = sets, places
			continue
		}
		for key, n := range places {
			to, found := index[key]
			switch {
			case !found:
			case s.engine.goTemplate:
				base[to] = override(base[to], sets[n])
			default:
				base[to] = maps.Clone(base[to])
				maps.Copy(base[to], sets[n])
			}
		}
	}
	return base, nil
}

func mergeKey(keys []string, params map[string]any) (string, error) {
	key := map[string]any{}
	for _, name := range keys {
		key[name] = params[name]
	}
	data, err := json.Marshal(key)
	return string(data), err
}

// A selector is a label selector over flat parameters. Values are not held to the rules
// for labels: they may be URLs.
type selector []requirement

type requirement struct {
	key, operator string
	values        []string
}

// newSelector returns nil for none.
func newSelector(v any) (selector, error) {
	if v == nil {
		return nil, nil
	}
	s := selector{}
	labels := textTable(object.Field(v, "matchLabels"))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		s = append(s, requirement{key, "In", []string{labels[key]}})
	}
	for _, item := range object.Items(object.Field(v, "matchExpressions")) {
		r := requirement{object.Text(object.Field(item, "key")), object.Text(object.Field(item, "operator")), texts(object.Field(item, "values"))}
		switch r.operator {
		case "In", "NotIn":
			if len(r.values) == 0 {
				return nil, fmt.Errorf("%s of %q: no values", r.operator, r.key)
			}
		case "Exists", "DoesNotExist":
			if len(r.values) > 0 {
				return nil, fmt.Errorf("%s of %q: it has values", r.operator, r.key)
			}
		default:
			return nil, fmt.Errorf("unknown operator %q, want one of In, NotIn, Exists, DoesNotExist", r.operator)
		}
		s = append(s, r)
	}
	for _, r := range s {
		if errs := validation.IsQualifiedName(r.key); len(errs) > 0 {
			return nil, fmt.Errorf("key %q: %s", r.key, strings.Join(errs, "; "))
		}
	}
	return s, nil
}

func (s selector) match(params map[string]string) bool {
	for _, r := range s {
		value, found := params[r.key]
		is := found
		if r.operator == "In" || r.operator == "NotIn" {
			is = found && slices.Contains(r.values, value)
		}
		if is == (r.operator == "NotIn" || r.operator == "DoesNotExist") {
			return false
		}
	}
	return true
}
