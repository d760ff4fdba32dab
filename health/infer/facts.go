package infer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hallmark.dev/hallmark/health"
)

// facts are what a definition and its samples say of a kind.
type facts struct {
	*definition
	samples int
	files   []string // of the samples

	hasStatus    bool
	known        schema // the status, also what only objects have of it
	observed     string // why status.observedGeneration is taken to be there
	observedElse []string

	conditions *conditionList
	otherLists []string
	states     []*state // the one that counts first
	flags      []field  // of spec, true of an object that is suspended
	counts     *counts
	ready      []field // booleans that are true of an object that is as it should be
	failures   []field // what is there when something failed
	unusedEnum []string
}

// state is a text that tells a state.
type state struct {
	field
	values  []sighting // and in file what says that there is the value
	column  string
	rank    int
	long    bool
	message string // what tells more about it, in CEL
}

// counts are a number that is wanted and the number that is there.
type counts struct {
	want, have field
	updated    *field // of those that are there, how many are of the latest kind
	fallback   string // of want where the object leaves it out
	from       string
}

func gather(def *definition, samples []sample) *facts {
	f := &facts{definition: def, samples: len(samples)}
	status := def.status
	for _, s := range samples {
		f.files = unite(f.files, []string{s.file})
		if len(s.status()) > 0 {
			const levels = 4 // status.parents[].conditions[].type
			status = status.learn(s.file, s.status(), levels)
		}
	}
	f.hasStatus, f.known = status != nil, status
	f.observe(status)
	f.conditions, f.otherLists = findConditions(def, status, samples)
	f.findStates(status, samples)
	for _, name := range []string{"suspend", "suspended", "pause", "paused"} {
		if def.spec.child(name).is("boolean") {
			f.flags = append(f.flags, field{[]string{"spec", name}, def.spec.child(name)})
		}
	}
	f.findCounts(status)
	f.findBooleans(status)
	for _, name := range []string{"failureReason", "failureMessage", "errorReason", "errorMessage", "error"} {
		if child := status.child(name); child.is("string", "object") {
			f.failures = append(f.failures, field{[]string{"status", name}, child})
		}
	}
	return f
}

// findBooleans looks for booleans that tell a state, those in a printer column first.
func (f *facts) findBooleans(status schema) {
	rank := map[string]int{}
	for _, name := range status.children() {
		one := field{[]string{"status", name}, status.child(name)}
		if !one.is("boolean") {
			continue
		}
		switch polarityOf(name) {
		case summary:
			rank[name] = 1
		case good, finished:
			rank[name] = 2
		default:
			continue
		}
		if f.columnOf(one) != "" {
			rank[name] -= 10
		}
		f.ready = append(f.ready, one)
	}
	slices.SortStableFunc(f.ready, func(a, b field) int { return cmp.Compare(rank[a.name()], rank[b.name()]) })
}

// columnOf is the printer column that shows a field, "" for none.
func (f *facts) columnOf(one field) string {
	for _, c := range f.columns {
		if c.condition == "" && c.path == strings.Join(one.path, ".") {
			return c.name
		}
	}
	return ""
}

func (f *facts) observe(status schema) {
	const name = "observedGeneration"
	if s := status.child(name); s.is("integer", "number", "string") || s.isIntOrString() {
		f.observed = origin(s, "the schema has it")
		return
	}
	for _, below := range status.fields() {
		if strings.EqualFold(below.name(), name) {
			f.observedElse = append(f.observedElse, below.shown())
		}
	}
}

// origin is what says that there is a field.
func origin(s schema, otherwise string) string {
	if file := s.seen(); file != "" {
		return "seen in " + file
	}
	return otherwise
}

// Last words of the names of fields that tell a state, the better ones first.
var stateNames = []string{"phase", "state", "status", "health", "stage", "result"}

func (f *facts) findStates(status schema, samples []sample) {
	for _, one := range status.fields() {
		if !one.is("string") || one.name() == "observedGeneration" {
			continue
		}
		s := &state{field: one}
		enum := one.enum()
		named := f.rank(s)
		if !named && len(enum) == 0 {
			continue
		}
		s.collect(enum, samples)
		// One level deeper much has such a name that is not about the object.
		if len(s.values) == 0 && !s.prominent() {
			continue
		}
		if !named && !s.tells(health.Healthy, health.Degraded) && !s.tells(health.Healthy, health.Progressing) {
			f.unusedEnum = append(f.unusedEnum, fmt.Sprintf("%s (%s)", one.shown(), some(enum)))
			continue
		}
		s.message = messageOf(status, one)
		f.states = append(f.states, s)
	}
	slices.SortStableFunc(f.states, func(a, b *state) int { return cmp.Compare(a.rank, b.rank) })
	// One that has a value for Healthy goes before one that has none.
	if i := slices.IndexFunc(f.states, func(s *state) bool { return s.tells(health.Healthy) }); i > 0 {
		best := f.states[i]
		f.states = slices.Insert(slices.Delete(f.states, i, i+1), 0, best)
	}
}

// rank orders states, the lowest first, and reports whether the field has the name of
// one.
func (f *facts) rank(s *state) bool {
	words := split(s.name())
	i := -1
	if len(words) > 0 {
		i = slices.Index(stateNames, words[len(words)-1])
	}
	s.column = f.columnOf(s.field)
	switch s.rank = i; {
	case i < 0:
		s.rank = 100
	case len(words) > 1:
		s.rank += 10
	}
	if len(s.path) > 2 {
		s.rank += 20
	}
	if s.column != "" && i >= 0 {
		s.rank -= 40
	}
	// One level deeper there are copies of whole objects of others.
	return i >= 0 && (s.prominent() || len(words) == 1)
}

// maxValues bounds what one rule has to name.
const maxValues = 60

// collect gathers the values from all sources, the surest first.
func (s *state) collect(enum []string, samples []sample) {
	add := func(values []string, from string) {
		for _, v := range values {
			if len(v) <= maxValue && len(s.values) < maxValues && !slices.ContainsFunc(s.values, func(known sighting) bool { return known.value == v }) {
				s.values = append(s.values, sighting{value: v, file: from})
			}
		}
	}
	add(enum, "the enum of "+s.shown())
	if len(enum) == 0 {
		add(listed(s.description()), "the description of "+s.shown())
	}
	var seen []sighting
	seen, s.long = valuesOf(samples, s.path)
	for _, v := range seen {
		add([]string{v.value}, "seen in "+v.file)
	}
}

func (s *state) all() []string {
	var values []string
	for _, v := range s.values {
		values = append(values, v.value)
	}
	return values
}

// of are the values that mean a status, "" those that mean nothing known, and what
// says that there are these values.
func (s *state) of(status health.Status) (values []string, from string) {
	var sources []string
	all := s.all()
	for _, v := range s.values {
		if meaning(v.value, all) == status {
			values = append(values, v.value)
			sources = unite(sources, []string{v.file})
		}
	}
	return values, strings.Join(sources, "; ")
}

// tells reports whether there is a value for each of the statuses.
func (s *state) tells(statuses ...health.Status) bool {
	for _, status := range statuses {
		if values, _ := s.of(status); len(values) == 0 {
			return false
		}
	}
	return true
}

// messageOf finds the text that tells more about a field, beside it or directly below
// the status.
func messageOf(status schema, f field) string {
	for depth := len(f.path) - 1; depth > 0; depth-- {
		for _, name := range []string{"message", "reason", "statusMessage"} {
			path := append(slices.Clone(f.path[:depth]), name)
			if status.at(path[1:]...).is("string") && name != f.name() {
				return expr(path)
			}
		}
	}
	return ""
}

// findCounts looks for readyReplicas and the like. What the scale subresource names
// as the number that is there counts also what is not ready, so it is of no use.
func (f *facts) findCounts(status schema) {
	wanted := [][]string{{"spec", "replicas"}}
	if path := strings.Split(f.wantPath, "."); len(path) == 2 && path[0] == "spec" && isIdentifier(path[1]) {
		wanted = append(wanted, path)
	}
	for _, want := range wanted {
		s := f.spec.at(want[1:]...)
		if !s.is("integer") {
			continue
		}
		title := strings.ToUpper(want[1][:1]) + want[1][1:]
		for _, name := range []string{"ready" + title, "available" + title, "readyReplicas", "availableReplicas"} {
			if !status.child(name).is("integer") {
				continue
			}
			f.counts = &counts{want: field{want, s}, have: field{[]string{"status", name}, status.child(name)}, fallback: "1"}
			const updated = "updatedReplicas"
			if child := status.child(updated); child.is("integer") {
				f.counts.updated = &field{[]string{"status", updated}, child}
			}
			if n, ok := s["default"].(int64); ok && n >= 0 {
				f.counts.fallback = fmt.Sprint(n)
			}
			f.counts.from = origin(status.child(name), "the schema has both fields")
			return
		}
	}
}
