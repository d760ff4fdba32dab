package infer

import (
	"fmt"
	"slices"
	"strings"

	"hallmark.dev/hallmark/health"
)

// stateRules are those of the values of the state that counts.
func (d *draft) stateRules() {
	var others []string
	for i, s := range d.states {
		switch {
		case len(s.values) == 0:
		case i > 0 && s.prominent() && s.plain():
			d.secondState(s)
		case i > 0 || d.by != byState && !s.prominent():
			others = append(others, fmt.Sprintf("%s (%s)", s.shown(), some(s.all())))
		default:
			d.stateRulesOf(s)
		}
	}
	if len(others) > 0 {
		d.ask("Does any of these count too? No rule reads them: %s.", listing(others))
	}
}

// plain reports whether the name of a state is one of the words for it, and not of a part
// such as lastBackupStatus.
func (s *state) plain() bool { return slices.Contains(stateNames[:4], strings.ToLower(s.name())) }

// secondState makes rules of the values of another state that say that all is not well.
func (d *draft) secondState(s *state) {
	found := false
	for _, status := range []health.Status{health.Suspended, health.Degraded, health.Progressing} {
		if values, from := s.of(status); len(values) > 0 {
			d.add(rule{status: status, when: s.within(values), guess: from, message: s.message})
			found = true
		}
	}
	verb := "Does it count too? No rule reads it"
	if found {
		verb = "Does it count too? Its values of failure and of work under way have rules"
	}
	d.ask("%s has values as well (%s). %s.", s.shown(), some(s.all()), verb)
}

func (d *draft) stateRulesOf(s *state) {
	d.phase = s
	for _, status := range []health.Status{health.Suspended, health.Degraded, health.Progressing} {
		if values, from := s.of(status); len(values) > 0 {
			d.add(s.rule(status, values, from))
		}
	}
	d.askOfValues(s)
	values, from := s.of(health.Healthy)
	switch {
	case d.by == byState:
		r := s.rule(health.Healthy, values, from)
		if len(values) > 1 {
			r.decision = d.ask("%s: are %s all Healthy, or is one of them a step on the way?", s.shown(), inWords(printables(values), "and"))
		}
		d.add(r)
	case len(values) > 0:
		d.ask("%s has values that sound Healthy (%s). They do not decide, the rule for Healthy does.", s.shown(), inWords(printables(values), "or"))
	case d.by == byNothing:
		r := s.rule(health.Healthy, []string{placeholderName}, "none, this is a placeholder")
		r.decision = d.askFirst("Which value of %s means Healthy? The word lists take none of %s for it. Until there is one in its rule, no object is Healthy.", s.shown(), inWords(printables(s.all()), "or"))
		d.add(r)
		d.by = byState
	}
	if d.counts != nil && d.by == byState {
		d.add(d.fewer())
	}
}

// askOfValues asks about the values that have no meaning or may have two.
func (d *draft) askOfValues(s *state) {
	switch unknown, from := s.of(""); len(unknown) {
	case 0:
	case 1:
		d.ask("%s: no idea what %s means (%s). No rule names it, so that otherwise decides.", s.shown(), printable(unknown[0]), from)
	default:
		d.ask("%s: no idea what %s mean (%s). No rule names them, so that otherwise decides.", s.shown(), inWords(printables(unknown), "and"), from)
	}
	if s.long {
		d.ask("%s has values of more than %d bytes, which are left out: it may be a text for people, and no state.", s.shown(), maxValue)
	}
	running := slices.ContainsFunc(s.all(), func(v string) bool { return strings.EqualFold(v, "running") })
	switch said := meaning("running", s.all()); {
	case !running:
	case said == health.Progressing:
		d.ask("%s: Running is Healthy of what runs for ever, and Progressing of what comes to an end. The draft says Progressing, since there is a value for an end.", s.shown())
	case d.by == byState:
		d.ask("%s: Running is Healthy of what runs for ever, and Progressing of what comes to an end. The draft says Healthy, since there is no value for an end, such as Succeeded.", s.shown())
	}
}

func (s *state) rule(status health.Status, values []string, from string) rule {
	r := rule{status: status, guess: from, message: s.message}
	if slices.ContainsFunc(s.path, func(name string) bool { return !isIdentifier(name) }) {
		r.when = s.within(values)
	} else {
		r.phase = values
	}
	return r
}

// within is the test for values, in CEL.
func (s *state) within(values []string) string {
	return s.expr() + " in [" + strings.Join(celTexts(values), ", ") + "]"
}
