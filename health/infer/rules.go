package infer

import (
	"fmt"
	"slices"
	"strings"

	"hallmark.dev/hallmark/health"
)

// A draft is a spec in the making.
type draft struct {
	*facts
	rules     []rule
	healthy   []rule // come after all others
	decisions []*decision
	// by is what makes an object Healthy.
	by basis
	// phase is the state that the shorthand phase reads, where a rule uses it.
	phase *state
}

// A rule is one of spec.rules. Of the shorthands one is set; when is CEL.
type rule struct {
	status     health.Status
	conditions []condition
	phase      []string
	when       string
	kstatus    bool
	message    string // CEL
	guess      string // what it rests on
	decision   *decision
}

// A condition is the shorthand of that name.
type condition struct {
	kind     string
	statuses []string
	reasons  []string
}

// A decision is a question that only a person can answer.
type decision struct {
	text   string
	first  bool // of those that come before all others: is there a rule for Healthy at all?
	number int
}

func (d *draft) ask(format string, args ...any) *decision {
	q := &decision{text: fmt.Sprintf(format, args...)}
	d.decisions = append(d.decisions, q)
	return q
}

func (d *draft) askFirst(format string, args ...any) *decision {
	q := d.ask(format, args...)
	q.first = true
	return q
}

func (d *draft) add(r rule) {
	if r.status == health.Healthy {
		d.healthy = append(d.healthy, r)
	} else {
		d.rules = append(d.rules, r)
	}
}

// What makes an object Healthy.
type basis int

const (
	byNothing basis = iota
	byConditions
	byUnclear    // a condition in a printer column whose name says nothing
	byConvention // the condition Ready, which nothing names
	byState
	byBoolean
	byCounts
	byEntries // the conditions of each entry of a list
)

// newDraft decides what the rules rest on and makes them, in the order in which they are
// tried: held on purpose, failed, under way, and only then Healthy.
func newDraft(f *facts) *draft {
	d := &draft{facts: f}
	types := f.conditions.decide()
	d.by = d.basis(types)
	d.askOfGeneration()
	d.suspended()
	d.staleRule()
	d.failed()
	d.stateRules()
	d.conditionRules(&types)
	d.entryRules(types)
	d.countRules()
	d.booleanRules()
	if d.by == byNothing {
		d.placeholder()
	}
	d.rest(types)
	d.rules = append(d.rules, d.healthy...)
	return d
}

func (d *draft) basis(types decisive) basis {
	var primary *state
	if len(d.states) > 0 && d.states[0].tells(health.Healthy) {
		primary = d.states[0]
	}
	known := len(types.lasting)+len(types.ended) > 0
	switch {
	case known && types.strength == byColumn:
		return byConditions
	case primary != nil && primary.column != "":
		return byState
	case known && !d.conditions.each && (primary == nil || types.strength > byMention):
		return byConditions
	case primary != nil:
		return byState
	case len(d.ready) > 0:
		return byBoolean
	case known:
		return byEntries
	case d.counts != nil:
		return byCounts
	case d.conditions != nil && d.conditions.each:
		return byEntries
	case d.shownState():
		return byNothing // a printer column shows it, but nothing says its values
	case len(types.unclear) > 0:
		return byUnclear
	case d.conditions != nil && !slices.ContainsFunc(d.states, func(s *state) bool { return len(s.values) > 0 && s.prominent() }):
		return byConvention
	}
	return byNothing
}

// prominent reports whether the state is one of the object itself.
func (s *state) prominent() bool { return len(s.path) == 2 || s.column != "" }

// shownState reports whether a printer column shows the state that counts.
func (d *draft) shownState() bool { return len(d.states) > 0 && d.states[0].column != "" }

func (d *draft) askOfGeneration() {
	switch {
	case d.observed != "" || d.conditions != nil && d.conditions.current:
	case !d.hasStatus:
	case len(d.observedElse) > 0:
		d.ask("%s says of which generation a part of the status is. If it is that of the whole, write it into observedGeneration.", listing(d.observedElse))
	default:
		d.ask("Nothing says of which generation the status is. From a change of the spec until the controller has seen it, the object has the health that it had before.")
	}
}

// staleRule is the gate of the generation where only conditions say which they are of, and
// something else decides.
func (d *draft) staleRule() {
	l := d.conditions
	if d.observed != "" || l == nil || !l.current || l.each || !slices.Contains([]basis{byState, byBoolean, byCounts}, d.by) {
		return
	}
	d.add(rule{
		status: health.Progressing, when: expr(l.path) + ".exists(c, c.observedGeneration < metadata.generation)",
		guess: "a condition has observedGeneration, and nothing else", message: "'a condition is of an earlier generation'",
		decision: d.ask("A condition of an earlier generation makes the object Progressing. Does the controller keep all of them up to date?"),
	})
}

func (d *draft) suspended() {
	for _, flag := range d.flags {
		d.add(rule{
			status: health.Suspended, when: flag.expr() + " == true", guess: "the boolean " + flag.shown(),
			decision: d.ask("Is an object with %s really Suspended? A sync wave waits for it until somebody resumes it; Healthy would let the wave pass.", flag.shown()),
		})
	}
	for _, t := range d.typesOf(held) {
		d.add(rule{status: health.Suspended, conditions: []condition{{t.name, []string{"True"}, nil}}, guess: t.guess()})
	}
}

// typesOf are the condition types of a polarity.
func (d *draft) typesOf(p polarity) []*conditionType {
	if d.conditions == nil || d.conditions.each {
		return nil
	}
	var found []*conditionType
	for _, t := range d.conditions.types {
		if t.polarity == p {
			found = append(found, t)
		}
	}
	return found
}

func (d *draft) failed() {
	for _, t := range d.typesOf(bad) {
		if d.kstatus() && t.name == "Stalled" {
			continue
		}
		d.add(rule{status: health.Degraded, conditions: []condition{{t.name, []string{"True"}, nil}}, guess: t.guess()})
	}
	for _, f := range d.failures {
		r := rule{status: health.Degraded, guess: origin(f.schema, "the schema has "+f.shown())}
		if f.is("object") {
			r.when = "size(" + f.expr() + ") > 0"
		} else {
			r.when, r.message = f.expr()+" != ''", f.expr()
		}
		d.add(r)
	}
	if len(d.failures) > 0 {
		d.ask("Does %s go away when the failure is over? If it stays, its rule has to go.", namesOf(d.failures))
	}
}

// kstatus reports whether the conditions are those of kstatus, and decide.
func (d *draft) kstatus() bool {
	return d.by == byConditions && d.conditions.shown() == "status.conditions" && d.conditions.find("Ready") != nil &&
		(d.conditions.find("Reconciling") != nil || d.conditions.find("Stalled") != nil)
}

// fewer is the rule of an object of which not all is there.
func (d *draft) fewer() rule {
	return rule{
		status: health.Progressing, when: d.compare("<", "||"), guess: d.counts.from,
		decision: d.ask("Are fewer of %s than of %s Progressing, also while the controller says that all is well?", d.counts.have.shown(), d.counts.want.shown()),
	}
}

// compare compares what is there with what is wanted. Controllers leave a count of 0
// out.
func (d *draft) compare(operator, join string) string {
	optional := func(f field, fallback string) string {
		return fmt.Sprintf("%s.?%s.orValue(%s)", f.path[0], f.path[1], fallback)
	}
	want := " " + operator + " " + optional(d.counts.want, d.counts.fallback)
	text := optional(d.counts.have, "0") + want
	if d.counts.updated != nil {
		text += " " + join + " " + optional(*d.counts.updated, "0") + want
	}
	return text
}

func (d *draft) countRules() {
	if d.counts == nil {
		return
	}
	if d.by != byCounts {
		if d.by != byState {
			d.ask("%s and %s are there too. Is an object that has too few Healthy? No rule reads them.", d.counts.have.shown(), d.counts.want.shown())
		}
		return
	}
	q := d.askFirst("Is it Healthy as soon as %s has reached %s? Nothing else says so", d.counts.have.shown(), d.counts.want.shown())
	if d.counts.updated == nil {
		q.text += ", and of a rolling update old ones may count"
	}
	q.text += "."
	d.add(rule{status: health.Healthy, when: d.compare(">=", "&&"), guess: d.counts.from, decision: q})
}

func (d *draft) booleanRules() {
	switch {
	case len(d.ready) == 0:
	case d.by != byBoolean:
		if d.by != byConditions {
			d.ask("Does %s count too? No rule reads it.", namesOf(d.ready))
		}
	default:
		f := d.ready[0]
		d.add(rule{
			status: health.Healthy, when: f.expr() + " == true", message: messageOf(d.known, f), guess: origin(f.schema, "the boolean "+f.shown()),
			decision: d.askFirst("Is it Healthy when %s is true, and Progressing until then? The boolean does not tell a failure.", f.shown()),
		})
	}
}

// placeholderName is of a field, or of a value, that nothing has.
const placeholderName = "replaceMe"

func (d *draft) placeholder() {
	r := rule{status: health.Healthy, when: "has(status." + placeholderName + ")", guess: "none, this is a placeholder"}
	const until = "Until then no object is Healthy, and a sync wave waits for ever."
	switch {
	case len(d.states) > 0 && len(d.states[0].values) == 0:
		s := d.states[0]
		d.phase = s
		r = s.rule(health.Healthy, []string{placeholderName}, r.guess)
		r.decision = d.askFirst("Nothing in the schema says when it is Healthy. %s tells a state, but nothing says its values: give objects with -f, or replace %s by the value of an object that is Healthy. %s", s.shown(), placeholderName, until)
		if s.long {
			r.decision.text += fmt.Sprintf(" In the objects it has more than %d bytes and may be a text for people.", maxValue)
		}
	case !d.hasStatus:
		r.decision = d.askFirst("Nothing says when it is Healthy: the schema says nothing of a status. If no controller writes one, the kind needs no health check, and Argo CD passes over it; with this one, it waits for ever. Otherwise give objects with -f, or replace the placeholder by what the controller writes.")
	default:
		r.decision = d.askFirst("Nothing in the schema says when it is Healthy. Replace the placeholder by a field that says so%s. %s", d.statusFields(), until)
	}
	d.add(r)
}

func (d *draft) statusFields() string {
	const most = 12
	names := d.known.children()
	if len(names) == 0 {
		return ", or give objects with -f: the schema does not say what the status has"
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "conditions" || name == "observedGeneration" })
	if len(names) == 0 {
		return ""
	}
	more := ""
	if len(names) > most {
		names, more = names[:most], ", ..."
	}
	return " (the status has " + strings.Join(printables(names), ", ") + more + ")"
}

// rest asks about what was found and is in no rule.
func (d *draft) rest(types decisive) {
	if d.by != byNothing && d.by != byState && len(d.states) > 0 && len(d.states[0].values) == 0 {
		d.ask("%s tells a state, but nothing says its values. Objects given with -f would.", d.states[0].shown())
	}
	if d.conditions != nil {
		var unclearOnes, more []string
		for _, t := range d.conditions.types {
			switch {
			case slices.Contains(types.lasting, t), slices.Contains(types.ended, t), d.by == byConditions && slices.Contains(d.parts(types), t):
			case t.polarity == unclear:
				unclearOnes = append(unclearOnes, printable(t.name))
			case t.polarity == summary, t.polarity == good, t.polarity == partlyGood, t.polarity == finished:
				more = append(more, printable(t.name))
			}
		}
		if len(unclearOnes) > 0 {
			d.ask("Conditions whose names do not tell if True is good: %s. No rule reads them.", strings.Join(unclearOnes, ", "))
		}
		if len(more) > 0 {
			d.ask("Does Healthy need these conditions too? No rule reads them: %s.", strings.Join(more, ", "))
		}
		if !slices.Contains([]basis{byConditions, byUnclear, byConvention, byEntries}, d.by) && len(d.conditions.types) == 0 {
			d.ask("%s is there, but nothing says which types it has. Objects given with -f would.", d.conditions.shown())
		}
	}
	if len(d.otherLists) > 0 {
		d.ask("There are further lists of conditions, which no rule reads: %s.", listing(d.otherLists))
	}
	if len(d.unusedEnum) > 0 {
		d.ask("These have an enum that does not sound like a health, and no rule: %s.", listing(d.unusedEnum))
	}
}

func namesOf(fields []field) string {
	var names []string
	for _, f := range fields {
		names = append(names, f.shown())
	}
	return inWords(names, "or")
}
