package infer

import (
	"maps"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
)

// Bounds of what objects may bring into a draft. What is longer than a value has a
// need to be is a text for people and means nothing to a rule.
const (
	maxValue   = 64 // bytes
	maxSeen    = 50 // different values of one field
	maxEntries = 100
	maxSamples = 1000 // of one kind
)

// A sample is an object of the kind.
type sample struct {
	file  string
	value map[string]any
}

func (s sample) status() map[string]any {
	m, _ := s.value["status"].(map[string]any)
	return m
}

// samples reads files of objects and gives each definition those of its kind.
func samples(files []File, defs []*definition) (map[*definition][]sample, error) {
	found := map[*definition][]sample{}
	byKind := map[string]*definition{}
	for _, def := range defs {
		byKind[def.kind+"."+def.group] = def
	}
	for _, f := range files {
		docs, err := documents(f)
		if err != nil {
			return nil, err
		}
		matched := false
		for _, d := range docs {
			if d.text("kind") == "" {
				return nil, d.faultAt(f.Name, nil, "the object has no kind")
			}
			group, _, _ := strings.Cut(d.text("apiVersion"), "/")
			if def := byKind[d.text("kind")+"."+group]; def != nil {
				matched = true
				if len(found[def]) == maxSamples {
					continue
				}
				found[def] = append(found[def], sample{inComment(f.Name), d.value})
			}
		}
		if !matched {
			fault := &diag.Error{File: f.Name, Msg: "no object of a kind that the definitions are of: " + kinds(defs)}
			if len(docs) > 0 {
				fault = docs[0].faultAt(f.Name, []any{"kind"}, "%s", fault.Msg)
			}
			return nil, fault
		}
	}
	return found, nil
}

func kinds(defs []*definition) string {
	const most = 5
	var names []string
	for i, def := range defs {
		if i == most {
			names = append(names, "...")
			break
		}
		names = append(names, def.kind+"."+def.group)
	}
	return strings.Join(names, ", ")
}

// seenIn is a key that no schema has, under which one that was learned from an object
// has the name of the object's file.
const seenIn = "seen in"

func (s schema) seen() string {
	file, _ := s[seenIn].(string)
	return file
}

// learn returns the schema with the fields of value, which is an object's, that it
// does not know, levels deep.
func (s schema) learn(file string, value any, levels int) schema {
	if levels == 0 {
		return s
	}
	switch value := value.(type) {
	case map[string]any:
		if s == nil {
			s = schema{"type": "object", seenIn: file}
		}
		if !s.is("object") && len(s.children()) == 0 {
			return s
		}
		known, _ := s["properties"].(map[string]any)
		properties := maps.Clone(known)
		if properties == nil {
			properties = map[string]any{}
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			child := s.child(name)
			if value[name] == nil || child == nil && len(properties) >= maxFields {
				continue
			}
			if child = child.learn(file, value[name], levels-1); child != nil {
				properties[name] = map[string]any(child)
			}
		}
		return s.with("properties", properties)
	case []any:
		if s == nil {
			s = schema{"type": "array", seenIn: file}
		}
		if !s.is("array") {
			return s
		}
		items := s.items()
		for i, v := range value {
			if _, isObject := v.(map[string]any); isObject && i < maxEntries {
				items = items.learn(file, v, levels)
			}
		}
		if items == nil {
			return s
		}
		return s.with("items", map[string]any(items))
	}
	if s != nil {
		return s
	}
	switch value.(type) {
	case string:
		return schema{"type": "string", seenIn: file}
	case bool:
		return schema{"type": "boolean", seenIn: file}
	case int64, float64:
		return schema{"type": "integer", seenIn: file}
	}
	return nil
}

func (s schema) with(key string, value any) schema {
	changed := maps.Clone(s)
	changed[key] = value
	return changed
}

// lookup returns what an object has at a path.
func lookup(value any, path ...string) any {
	for _, name := range path {
		m, _ := value.(map[string]any)
		value = m[name]
	}
	return value
}

// A sighting is a condition, or a value, that objects have.
type sighting struct{ value, reason, file string }

// conditionsOf yields the conditions at a path. Where each is set the path is of a list,
// and they are those of its entries.
func (s sample) conditionsOf(path []string, each bool, yield func(conditionType, status, reason string)) {
	list, _ := lookup(s.value, path...).([]any)
	if each {
		entries := list
		list = nil
		for _, entry := range entries[:min(len(entries), maxEntries)] {
			more, _ := lookup(entry, "conditions").([]any)
			list = append(list, more[:min(len(more), maxEntries)]...)
		}
	}
	for _, item := range list[:min(len(list), maxEntries*maxEntries)] {
		name, _ := lookup(item, "type").(string)
		status, _ := lookup(item, "status").(string)
		reason, _ := lookup(item, "reason").(string)
		if name != "" && len(name) <= 2*maxValue {
			yield(name, status, reason)
		}
	}
}

// valuesOf are the values that objects have at a path. long tells of one that is
// left out because of its length.
func valuesOf(samples []sample, path []string) (found []sighting, long bool) {
	for _, s := range samples {
		switch value, _ := lookup(s.value, path...).(string); {
		case len(value) > maxValue:
			long = true
		case value != "" && len(found) < maxSeen && !slices.ContainsFunc(found, func(f sighting) bool { return f.value == value }):
			found = append(found, sighting{value: value, file: s.file})
		}
	}
	return found, long
}
