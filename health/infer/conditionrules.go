package infer

import (
	"fmt"
	"slices"
	"strings"

	"hallmark.dev/hallmark/health"
)

// conditionRules are those of the list of conditions, but for what says that an object
// failed or is held, which comes before them.
func (d *draft) conditionRules(types decisive) {
	if d.conditions == nil || d.conditions.each {
		return
	}
	if d.by == byConvention {
		ready := &conditionType{name: "Ready", polarity: summary, from: []string{"by convention, nothing names a condition type"}}
		types = decisive{lasting: []*conditionType{ready}}
		d.askFirst("Nothing in the schema names a condition type of %s. Ready is only the convention: is there such a condition? If not, no object is ever Healthy.", d.conditions.shown())
	}
	if !d.conditions.sure {
		d.ask("The schema does not say what the entries of %s have. The draft takes them for conditions with type and status.", d.conditions.shown())
	}
	if d.kstatus() && d.by == byConditions {
		d.kstatusRules(types)
		return
	}
	for _, t := range d.typesOf(busy) {
		r := rule{status: health.Progressing, conditions: []condition{{t.name, []string{"True"}, nil}}, guess: t.guess()}
		if t.name == "Progressing" {
			r.decision = d.ask("Progressing=True: a controller that does as Deployment does leaves it True when all is done. Then this rule has to go.")
		}
		d.add(r)
	}
	if d.by != byConditions && d.by != byConvention {
		return
	}
	d.falseRules(types)
	if len(types.lasting) > 0 {
		d.add(rule{status: health.Healthy, conditions: allTrue(types.lasting), guess: guessOf(types.lasting)})
	}
	for _, t := range types.ended {
		r := rule{status: health.Healthy, conditions: allTrue([]*conditionType{t}), guess: t.guess()}
		if strings.EqualFold(t.name, "finished") {
			r.decision = d.ask("%s=True: does it say success, or only that the work is over?", printable(t.name))
		}
		d.add(r)
	}
	if len(types.lasting) > 1 {
		d.ask("Has Healthy to wait for all of %s?", inWords(typeNames(types.lasting), "and"))
	}
	if all := slices.Concat(types.lasting, types.ended); types.strength == byMention {
		d.askFirst("Only a word in a description names %s. Is it a condition that the controller sets?", inWords(typeNames(all), "and"))
	} else if len(all) > 0 && all[0].polarity == unclear && types.strength > 0 {
		d.askFirst("Is it good when %s is True? Its name does not tell, but a printer column shows it.", inWords(typeNames(all), "and"))
	}
}

// falseRules say what an object is while a condition that has to be True is not.
func (d *draft) falseRules(types decisive) {
	ownSign := d.failureSign(types)
	for _, t := range slices.Concat(types.lasting, types.ended) {
		var passing, failing, other, holding []string
		reasons := t.reasons("False")
		for _, reason := range reasons {
			switch meaning(reason, nil) {
			case health.Progressing:
				passing = append(passing, reason)
			case health.Degraded:
				failing = append(failing, reason)
			case health.Suspended:
				holding = append(holding, reason)
			default:
				other = append(other, reason)
			}
		}
		byReason := func(status health.Status, reasons []string) {
			if len(reasons) > 0 {
				d.add(rule{status: status, conditions: []condition{{t.name, []string{"False"}, reasons}}, guess: "a reason " + t.sightings(reasons)})
			}
		}
		byReason(health.Suspended, holding)
		// The end of some work is not there while it is being done.
		failure := ownSign == "" && (t.polarity != finished || strings.EqualFold(t.name, "Succeeded"))
		if failure {
			byReason(health.Progressing, passing)
		} else {
			byReason(health.Degraded, failing)
		}
		verdict := rule{status: health.Progressing, conditions: []condition{{t.name, []string{"False"}, nil}}, guess: t.guess()}
		name := printable(t.name)
		seen := ""
		if len(other) > 0 {
			seen = fmt.Sprintf(" Reasons that objects have, of which the word lists know nothing: %s.", strings.Join(printables(other), ", "))
		}
		switch {
		case failure:
			verdict.status = health.Degraded
			verdict.decision = d.ask("%s=False: a failure, or a state that passes? The draft says Degraded, which fails a sync wave at once; as Progressing the wave waits.%s", name, seen)
		case ownSign != "":
			verdict.decision = d.ask("%s=False: a failure, or a state that passes? The draft says Progressing, since %s tells a failure.%s", name, ownSign, seen)
		default:
			verdict.decision = d.ask("What tells that it failed? %s=False only tells that it has not come to its end.%s", name, seen)
		}
		d.add(verdict)
		d.add(rule{status: health.Progressing, conditions: []condition{{t.name, []string{"Unknown"}, nil}}, guess: t.guess()})
	}
}

// failureSign names what else tells that an object failed, "" for nothing.
func (d *draft) failureSign(types decisive) string {
	if signs := d.typesOf(bad); len(signs) > 0 {
		return inWords(typeNames(signs), "or")
	}
	if d.phase != nil && d.phase.tells(health.Degraded) {
		return d.phase.shown()
	}
	if len(d.failures) > 0 {
		return namesOf(d.failures)
	}
	return ""
}

func (t *conditionType) sightings(reasons []string) string {
	var files []string
	for _, s := range t.seen {
		if slices.Contains(reasons, s.reason) {
			files = unite(files, []string{s.file})
		}
	}
	return "seen in " + strings.Join(files, ", ")
}

func (d *draft) kstatusRules(types decisive) {
	var names []string
	var guess []string
	for _, name := range []string{"Ready", "Reconciling", "Stalled"} {
		if t := d.conditions.find(name); t != nil {
			names = append(names, name)
			guess = unite(guess, t.from)
		}
	}
	d.add(rule{
		kstatus: true, guess: inWords(names, "and") + ", the conditions of kstatus: " + strings.Join(guess, "; "),
		decision: d.ask("The conditions look like those of kstatus, for which Ready=False is Progressing unless Stalled is True. Does the controller set Stalled, or is Ready=False a failure with certain reasons?"),
	})
}

// entryRules are those of a list whose entries have conditions.
func (d *draft) entryRules(types decisive) {
	if d.by != byEntries {
		return
	}
	l := d.conditions
	wanted := types.lasting
	if len(wanted) == 0 {
		wanted = types.ended
	}
	if len(wanted) == 0 {
		name := "Ready"
		if last := l.path[len(l.path)-1]; last == "parents" || last == "ancestors" {
			name = "Accepted"
		}
		wanted = []*conditionType{{name: name, from: []string{"by convention, nothing names a condition type"}}}
		d.askFirst("Nothing in the schema names a condition type of %s. %s is only the convention: is there such a condition? If not, no object is ever Healthy.", l.shown(), name)
	}
	list := expr(l.path)
	var all, any []string
	for _, t := range wanted {
		one := func(status string) string {
			text := fmt.Sprintf("c.type == %s && c.status == '%s'", celText(t.name), status)
			if l.current {
				text += " && (!has(c.observedGeneration) || c.observedGeneration >= metadata.generation)"
			}
			return "e.conditions.exists(c, " + text + ")"
		}
		all, any = append(all, one("True")), append(any, one("False"))
	}
	d.add(rule{
		status: health.Degraded, when: fmt.Sprintf("%s.exists(e, %s)", list, strings.Join(any, " || ")), guess: guessOf(wanted),
		decision: d.ask("%s=False in one entry of %s: a failure, or a state that passes? The draft says Degraded.", inWords(typeNames(wanted), "or"), printable(strings.Join(l.path, "."))),
	})
	d.add(rule{
		status: health.Healthy, when: fmt.Sprintf("size(%s) > 0 && %[1]s.all(e, %s)", list, strings.Join(all, " && ")), guess: guessOf(wanted),
		decision: d.ask("Have all entries of %s to be well, or is one enough? An entry that nobody updates any more holds the object back.", printable(strings.Join(l.path, "."))),
	})
}

func allTrue(types []*conditionType) []condition {
	var all []condition
	for _, t := range types {
		all = append(all, condition{t.name, []string{"True"}, nil})
	}
	return all
}

func guessOf(types []*conditionType) string {
	var from []string
	for _, t := range types {
		from = unite(from, t.from)
	}
	return strings.Join(from, "; ")
}

func typeNames(types []*conditionType) []string {
	var names []string
	for _, t := range types {
		names = append(names, printable(t.name))
	}
	return names
}
