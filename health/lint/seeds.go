package lint

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"hallmark.dev/hallmark/lua/vm"
)

// maxSeeds bounds how many objects are made up for a script.
const maxSeeds = 48

// A node is a field that the script looks at, with what it looks at below it.
type node struct {
	name     string
	field    vm.Field
	children map[string]*node
	each     *node // any entry of a list
	inSpec   bool
}

func tree(fields []vm.Field) *node {
	root := &node{}
	for _, f := range fields {
		n := root
		for _, step := range f.Path {
			n = n.below(step)
		}
		n.field = f
	}
	return root
}

func (n *node) below(step string) *node {
	if step == vm.Each {
		if n.each == nil {
			n.each = &node{name: n.name, inSpec: n.inSpec}
		}
		return n.each
	}
	if n.children == nil {
		n.children = map[string]*node{}
	}
	if n.children[step] == nil {
		n.children[step] = &node{name: step, inSpec: n.inSpec || step == "spec"}
	}
	return n.children[step]
}

// typed tells whether the entries of a list are conditions: a type that is compared
// with texts, and a status.
func (n *node) typed() bool {
	return n.each != nil && n.each.children["type"] != nil && len(n.each.children["type"].field.Texts) > 0
}

// sample gives a field the first of its values.
func (n *node) sample() any {
	switch {
	case n.typed():
		var list []any
		for _, name := range n.each.children["type"].field.Texts {
			list = append(list, n.condition(name, "True"))
		}
		return list
	case len(n.children) > 0:
		m := map[string]any{}
		for key, child := range n.children {
			m[key] = child.sample()
		}
		return m
	case n.each != nil:
		return []any{n.each.sample()}
	case n.field.List:
		return []any{"text"}
	}
	return n.values()[0]
}

// condition is an entry of the list n with all fields that the script looks at.
func (n *node) condition(name, status string) map[string]any {
	entry, ok := n.each.sample().(map[string]any)
	if !ok {
		entry = map[string]any{}
	}
	entry["type"], entry["status"] = name, status
	return entry
}

// otherText is none that a script compares with.
const otherText = "SomethingElse"

// What a field holds that the script compares with nothing is told by its name alone. To
// use a number as a message erases the verdict.
var (
	countName  = regexp.MustCompile(`(?i)(replicas|count|instances|nodes|number|total|size|percentage|weight)$`)
	switchName = regexp.MustCompile(`(?i)(paused?|suspend(ed)?|stopped|disabled?|enabled?)$`)
	readyName  = regexp.MustCompile(`(?i)(toUse|isReady)$`)
)

// values are what a field without fields of its own may hold, as far as the script
// makes a difference.
func (n *node) values() []any {
	var values []any
	for _, text := range n.field.Texts {
		values = append(values, text)
	}
	switch {
	case slices.Contains(n.field.Texts, "True"), slices.Contains(n.field.Texts, "False"):
		values = append([]any{"True", "False", "Unknown"}, values...)
	case len(values) > 0:
		values = append(values, otherText)
	}
	for _, number := range n.field.Numbers {
		values = append(values, number)
	}
	switch {
	case strings.HasSuffix(strings.ToLower(n.name), "generation"):
		return []any{int64(2)} // that of metadata
	case n.field.Number:
		values = append(values, 1.0, 0.0)
	case n.inSpec && (n.field.Bool || len(values) == 0 && switchName.MatchString(n.name)):
		values = append(values, false, true) // most of them pause or suspend
	case n.field.Bool, len(values) == 0 && readyName.MatchString(n.name):
		values = append(values, true, false)
	case strings.HasSuffix(n.name, "Time"), strings.HasSuffix(n.name, "Timestamp"):
		values = append(values, "2024-05-01T10:00:00Z")
	case len(values) == 0 && countName.MatchString(n.name):
		values = append(values, int64(1))
	case len(values) == 0:
		values = append(values, "text")
	}
	return distinct(values)
}

func distinct(values []any) []any {
	var out []any
	for _, v := range values {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// seeds makes objects up out of what a script looks at:
//
//   - one with all fields at the first value that the script knows for each, and all
//     conditions True;
//   - for each other value of each field, that object with this value, and one in
//     which the status has nothing else but observedGeneration;
//   - for each list of conditions, each type alone with each status and reason, and
//     each two types against each other.
func seeds(s *vm.Source, opts Options) []Object {
	m := &seeder{root: tree(s.Fields), apiVersion: apiVersion(opts.Group), kind: opts.Kind}
	all := m.root.sample()
	m.base, _ = all.(map[string]any)
	if m.base == nil {
		m.base = map[string]any{}
	}
	m.add("all that the script looks at", m.base)
	m.visit(m.root, nil)
	return m.seeds[:min(len(m.seeds), maxSeeds)]
}

func apiVersion(group string) string {
	if group == "" {
		return "v1"
	}
	return group + "/v1"
}

type seeder struct {
	root             *node
	base             map[string]any
	apiVersion, kind string
	seeds            []Object
}

func (m *seeder) add(name string, object map[string]any) {
	object = maps.Clone(object)
	metadata, _ := object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["name"], metadata["namespace"], metadata["generation"] = "example", "default", int64(2)
	object["apiVersion"], object["kind"], object["metadata"] = m.apiVersion, m.kind, metadata
	m.seeds = append(m.seeds, Object{Name: name, Value: object})
}

func (m *seeder) visit(n *node, path []any) {
	if n.typed() {
		m.conditions(n, path)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(n.children)) {
		if len(path) == 0 && key != "status" && key != "spec" && n.children[key].each == nil && len(n.children[key].children) == 0 {
			continue // kind and the like
		}
		if len(path) > 0 || key != "metadata" {
			m.visit(n.children[key], append(slices.Clone(path), key))
		}
	}
	if n.each != nil {
		m.visit(n.each, append(slices.Clone(path), 0))
	}
	if len(n.children) > 0 || n.each != nil || len(path) == 0 {
		return
	}
	for i, v := range n.values() {
		name := fmt.Sprintf("%s: %s", pathText(path), valueText(v))
		if i > 0 {
			m.add(name, set(m.base, v, path))
		}
		if path[0] == "status" {
			m.add(name+" alone", set(m.bare(), v, path))
		}
	}
}

// bare is the base without its status, but for the generation that is seen: without it
// a script often looks no further.
func (m *seeder) bare() map[string]any {
	object := maps.Clone(m.base)
	status, _ := object["status"].(map[string]any)
	delete(object, "status")
	if seen, ok := status["observedGeneration"]; ok {
		object["status"] = map[string]any{"observedGeneration": seen}
	}
	return object
}

// conditions adds the types alone and against each other, which say most of a script,
// in front of the values of fields.
func (m *seeder) conditions(n *node, path []any) {
	types := n.each.children["type"].field.Texts
	at := pathText(path)
	alone := func(name string, entries ...any) { m.add(at+": "+name, set(m.bare(), entries, path)) }
	for i, kind := range types {
		for _, status := range []string{"True", "False", "Unknown"} {
			alone(kind+"="+status, n.condition(kind, status))
		}
		all, _ := n.sample().([]any)
		all = slices.Clone(all)
		all[i] = n.condition(kind, "False")
		m.add(at+": all True but "+kind, set(m.base, all, path))
	}
	for i, first := range types {
		for _, second := range types[i+1:] {
			alone(first+"=False and "+second+"=True", n.condition(first, "False"), n.condition(second, "True"))
			alone(first+"=True and "+second+"=False", n.condition(first, "True"), n.condition(second, "False"))
		}
	}
	if reason := n.each.children["reason"]; reason != nil {
		for _, text := range append([]string{otherText}, reason.field.Texts...) {
			for _, kind := range types {
				for _, status := range []string{"False", "True"} {
					entry := n.condition(kind, status)
					entry["reason"] = text
					alone(fmt.Sprintf("%s=%s with reason %s", kind, status, text), entry)
				}
			}
		}
	}
}

func valueText(v any) string {
	if text, ok := v.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprint(v)
}

func pathText(path []any) string {
	var b strings.Builder
	for i, step := range path {
		if index, ok := step.(int); ok {
			fmt.Fprintf(&b, "[%d]", index)
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		fmt.Fprint(&b, step)
	}
	return b.String()
}

// set returns v with a value at a path; what is on the way is copied or made.
func set(v any, value any, path []any) map[string]any {
	m, _ := put(v, value, path).(map[string]any)
	return m
}

func put(v, value any, path []any) any {
	if len(path) == 0 {
		return value
	}
	if _, ok := path[0].(int); ok {
		list, _ := v.([]any)
		if len(list) == 0 {
			list = []any{nil}
		}
		list = slices.Clone(list)
		list[0] = put(list[0], value, path[1:])
		return list
	}
	key := fmt.Sprint(path[0])
	m, _ := v.(map[string]any)
	if m = maps.Clone(m); m == nil {
		m = map[string]any{}
	}
	m[key] = put(m[key], value, path[1:])
	return m
}
