package infer

import (
	"fmt"
	"slices"
	"strings"
)

// conditionList is a list of conditions and what is known of their types.
type conditionList struct {
	path []string
	// each tells that path is a list, of which each entry has conditions.
	each bool
	// current tells that a condition says which generation it is of.
	current bool
	// sure is false where the schema does not say what a condition has.
	sure  bool
	from  string // what says that there is the list
	types []*conditionType
}

func (l *conditionList) shown() string {
	path := strings.Join(l.path, ".")
	if l.each {
		path += "[].conditions"
	}
	return printable(path)
}

// maxTypes bounds the condition types of one list.
const maxTypes = 60

// How sure a source is of a condition type.
const (
	byMention = iota + 1 // a word in a description
	byText               // a list in a description
	byObject             // an object has it
	bySchema             // an enum or a default
	byColumn             // a printer column
)

type conditionType struct {
	name     string
	polarity polarity
	strength int
	from     []string // the surest first
	seen     []sighting
}

func (t *conditionType) guess() string { return strings.Join(t.from, "; ") }

// reasons are those that objects have with a status.
func (t *conditionType) reasons(status string) []string {
	var reasons []string
	for _, s := range t.seen {
		if s.value == status && s.reason != "" {
			reasons = unite(reasons, []string{s.reason})
		}
	}
	return reasons
}

func (l *conditionList) add(names []string, strength int, from string) {
	for _, name := range names {
		i := slices.IndexFunc(l.types, func(t *conditionType) bool { return t.name == name })
		if i < 0 && len(l.types) == maxTypes {
			return
		}
		if i < 0 {
			l.types = append(l.types, &conditionType{name: name, polarity: polarityOf(name), strength: strength, from: []string{from}})
			continue
		}
		t := l.types[i]
		if strength > t.strength {
			t.strength = strength
		}
		// A word in passing adds nothing to what is known.
		if strength > byMention {
			t.from = unite(t.from, []string{from})
		}
	}
}

// findConditions finds the list that counts, and the paths of others.
func findConditions(def *definition, status schema, samples []sample) (list *conditionList, others []string) {
	var lists []*conditionList
	consider := func(path []string, s schema, item schema, each bool) {
		ok, sure := s.isConditions()
		if !ok || slices.ContainsFunc(path, func(name string) bool { return !isIdentifier(name) }) {
			return
		}
		from := "the schema of " + strings.Join(path, ".")
		if file := s.seen(); file != "" {
			from = "seen in " + file
		}
		l := &conditionList{path: path, each: each, sure: sure, from: from, current: s.items().child("observedGeneration") != nil}
		l.gather(def, s, item, samples)
		l.settle()
		lists = append(lists, l)
	}
	consider([]string{"status", "conditions"}, status.child("conditions"), nil, false)
	for _, name := range status.children() {
		child := status.child(name)
		consider([]string{"status", name, "conditions"}, child.child("conditions"), nil, false)
		if ok, _ := child.isConditions(); !ok && child.is("array") {
			consider([]string{"status", name}, child.items().child("conditions"), child.items(), true)
		}
	}
	// A schema may leave the status open and a column name a condition of it all the same.
	for _, c := range def.columns {
		path := strings.Split(c.path, ".")
		known := slices.ContainsFunc(lists, func(l *conditionList) bool { return strings.Join(l.path, ".") == c.path })
		if c.condition == "" || known || slices.ContainsFunc(path, func(name string) bool { return !isIdentifier(name) }) {
			continue
		}
		l := &conditionList{path: path, from: fmt.Sprintf("the printer column %q", c.name)}
		l.gather(def, nil, nil, samples)
		l.settle()
		lists = append(lists, l)
	}
	if len(lists) == 0 {
		return nil, nil
	}
	// A list that a printer column reads comes first, the order of discovery decides
	// otherwise.
	slices.SortStableFunc(lists, func(a, b *conditionList) int { return b.strength() - a.strength() })
	for _, l := range lists[1:] {
		others = append(others, l.shown())
	}
	return lists[0], others
}

// strength is byColumn for a list with a column, 0 for any other.
func (l *conditionList) strength() int {
	for _, t := range l.types {
		if t.strength == byColumn {
			return byColumn
		}
	}
	return 0
}

// settle looks at all types together: Running beside a type that tells an end is of work
// that is being done.
func (l *conditionList) settle() {
	ends := slices.ContainsFunc(l.types, func(t *conditionType) bool {
		return t.polarity == finished || strings.EqualFold(t.name, "Successful")
	})
	if t := l.find("Running"); t != nil && ends {
		t.polarity = busy
	}
}

// exampleTypes are those of the example in the documentation of the type Condition of
// Kubernetes, which is copied more often than it is changed.
var exampleTypes = []string{"Available", "Progressing", "Degraded"}

// gather collects the types from all sources, the surest first.
func (l *conditionList) gather(def *definition, s, entry schema, samples []sample) {
	path := strings.Join(l.path, ".")
	for _, c := range def.columns {
		// One is enough: others show the reason and the message.
		if c.condition != "" && c.path == path && !l.each && l.find(c.condition) == nil {
			l.add([]string{c.condition}, byColumn, fmt.Sprintf("the printer column %q", c.name))
		}
	}
	where := l.shown()
	l.add(s.items().child("type").enum(), bySchema, "the enum of "+where+"[].type")
	defaults, _ := s["default"].([]any)
	for _, item := range defaults {
		if name, _ := lookup(item, "type").(string); name != "" {
			l.add([]string{name}, bySchema, "the default of "+where)
		}
	}
	for _, o := range samples {
		o.conditionsOf(l.path, l.each, func(name, status, reason string) {
			from := "seen in " + o.file
			if t := l.find(name); t != nil && len(t.seen) > 0 {
				from = t.from[len(t.from)-1] // one file is enough
			}
			l.add([]string{name}, byObject, from)
			if len(status) > maxValue || len(reason) > maxValue {
				return
			}
			for _, t := range l.types {
				known := slices.ContainsFunc(t.seen, func(s sighting) bool { return s.value == status && s.reason == reason })
				if t.name == name && len(t.seen) < maxSeen && !known {
					t.seen = append(t.seen, sighting{status, reason, o.file})
				}
			}
		})
	}
	described := []schema{s, s.items(), s.items().child("type")}
	if l.each {
		described = append(described, entry)
	}
	for _, d := range described {
		listed, strength, from := listedTypes(d.description()), byText, "the description of "+where
		if slices.Equal(listed, exampleTypes) {
			strength, from = byMention, from+", in the words of the example that Kubernetes gives"
		}
		l.add(listed, strength, from)
	}
	for _, d := range described {
		l.add(namedTypes(d.description()), byMention, "a word in the description of "+where)
	}
}

// decisive are the types that have to be True of an object that is Healthy: those of
// a state that lasts, and those that tell the end of some work, of which one does.
type decisive struct {
	lasting, ended []*conditionType
	strength       int
	// unclear are, where there are none of these, those that a printer column shows
	// and whose names say nothing.
	unclear []*conditionType
}

func (l *conditionList) decide() decisive {
	var d decisive
	if l == nil {
		return d
	}
	pick := func(column bool, wanted ...polarity) []*conditionType {
		var found []*conditionType
		for _, t := range l.types {
			if slices.Contains(wanted, t.polarity) && (t.strength == byColumn || !column) {
				found = append(found, t)
			}
		}
		return found
	}
	// With columns, what only a description mentions does not count.
	columns := len(pick(true, summary, good, partlyGood, finished)) > 0
	if best := l.summary(columns); best != nil {
		d.lasting = []*conditionType{best}
		// What Crossplane and those like it show beside Ready: if the object itself
		// has been accepted.
		for _, t := range pick(false, good) {
			if strings.EqualFold(t.name, "Synced") && t.strength >= byObject {
				d.lasting = append(d.lasting, t)
			}
		}
	} else if d.lasting = pick(columns, good); len(d.lasting) == 0 {
		d.lasting = pick(columns, partlyGood)
	}
	d.ended = pick(columns, finished)
	if len(d.ended) > 0 && len(d.lasting) > 0 && d.lasting[0].polarity != summary && d.lasting[0].strength <= d.ended[0].strength {
		d.lasting = nil
	}
	if len(d.lasting)+len(d.ended) == 0 {
		d.unclear = pick(true, unclear)
	}
	for _, t := range slices.Concat(d.lasting, d.ended) {
		d.strength = max(d.strength, t.strength)
	}
	return d
}

// summary is the type that says by its name that it stands for all others.
func (l *conditionList) summary(columns bool) *conditionType {
	var best *conditionType
	rank := func(t *conditionType) int { return slices.Index(summaryTypes, strings.ToLower(t.name)) }
	for _, t := range l.types {
		if t.polarity != summary || columns && t.strength < byObject {
			continue
		}
		if best == nil || rank(t) < rank(best) {
			best = t
		}
	}
	return best
}

// find returns a type by its name.
func (l *conditionList) find(name string) *conditionType {
	if l == nil {
		return nil
	}
	for _, t := range l.types {
		if t.name == name {
			return t
		}
	}
	return nil
}
