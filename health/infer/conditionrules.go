package infer

import (
	"fmt"
	"slices"
	"strings"

	"hallmark.dev/hallmark/health"
)

// conditionRules are those of the list of conditions, but for what says that an object
// failed or is held, which comes before them.
func (d *draft) conditionRules(types *decisive) {
	if d.conditions == nil || d.conditions.each {
		return
	}
	sure := d.sureTypes(types)
	if !d.conditions.sure {
		d.ask("The schema does not say what the entries of %s have. The draft takes them for conditions with type and status.", d.conditions.shown())
	}
	if d.kstatus() {
		d.kstatusRules()
		return
	}
	for _, t := range d.typesOf(busy) {
		r := rule{status: health.Progressing, conditions: []condition{{t.name, []string{"True"}, nil}}, guess: t.guess()}
		if t.name == "Progressing" {
			r.decision = d.ask("Progressing=True: a controller that does as Deployment does leaves it True when all is done. Then this rule has to go.")
		}
		d.add(r)
	}
	if d.by != byConditions && d.by != byUnclear && d.by != byConvention {
		return
	}
	d.falseRules(*types)
	if len(types.lasting) > 0 {
		d.add(rule{status: health.Healthy, conditions: allTrue(types.lasting), guess: guessOf(types.lasting), decision: sure})
	}
	for _, t := range types.ended {
		r := rule{status: health.Healthy, conditions: allTrue([]*conditionType{t}), guess: t.guess(), decision: sure}
		if strings.EqualFold(t.name, "finished") && sure == nil {
			r.decision = d.ask("%s=True: does it say success, or only that the work is over?", printable(t.name))
		}
		d.add(r)
	}
	if len(types.lasting) > 1 {
		d.ask("Has Healthy to wait for all of %s?", inWords(typeNames(types.lasting), "and"))
	}
}

// sureTypes completes the types that decide, and asks about them unless they are sure.
func (d *draft) sureTypes(types *decisive) *decision {
	switch {
	case d.by == byUnclear:
		types.lasting = types.unclear
		return d.askFirst("Is it good when %s is True? The name does not tell, but a printer column shows it.", inWords(typeNames(types.lasting), "and"))
	case d.by == byConvention:
		ready := &conditionType{name: "Ready", polarity: summary, from: []string{"by convention, nothing names a condition type"}}
		types.lasting, types.ended = []*conditionType{ready}, nil
		return d.askFirst("Nothing in the schema names a condition type of %s. Ready is only the convention: is there such a condition? If not, no object is ever Healthy.", d.conditions.shown())
	case d.by == byConditions && types.strength == byMention:
		all := slices.Concat(types.lasting, types.ended)
		return d.askFirst("Only a description names %s, in passing or as an example. Is it a condition that the controller sets?", inWords(typeNames(all), "and"))
	}
	return nil
}

// falseRules say what an object is while a condition that has to be True is not. Those
// that tell a part come before the one that tells the whole: their reasons say more.
func (d *draft) falseRules(types decisive) {
	ownSign := d.failureSign()
	for _, t := range slices.Backward(slices.Concat(types.ended, types.lasting, d.parts(types))) {
		r := t.sortReasons("True")
		d.reasonRule(t, "True", health.Suspended, r.holding)
		d.reasonRule(t, "True", health.Degraded, r.failing)
		r = t.sortReasons("False")
		d.reasonRule(t, "False", health.Suspended, r.holding)
		// The end of some work is not there while it is being done.
		failure := ownSign == "" && t.polarity != unclear && (t.polarity != finished || strings.EqualFold(t.name, "Succeeded"))
		verdict := rule{status: health.Progressing, conditions: []condition{{t.name, []string{"False"}, nil}}, guess: t.guess()}
		name := printable(t.name)
		seen := ""
		if len(r.other) > 0 {
			seen = fmt.Sprintf(" Reasons that objects have and no rule names: %s.", strings.Join(printables(r.other), ", "))
		}
		switch {
		case failure:
			d.reasonRule(t, "False", health.Progressing, r.passing)
			verdict.status = health.Degraded
			verdict.decision = d.ask("%s=False: a failure, or a state that passes? The draft says Degraded, which fails a sync wave at once; as Progressing the wave waits.%s%s", name, d.kstatusNote(t), seen)
		case ownSign != "":
			d.reasonRule(t, "False", health.Degraded, r.failing)
			verdict.decision = d.ask("%s=False: a failure, or a state that passes? The draft says Progressing, since %s tells a failure.%s", name, ownSign, seen)
		default:
			d.reasonRule(t, "False", health.Degraded, r.failing)
			verdict.decision = d.ask("What tells that it failed? %s=False only tells that it has not come to its end.%s", name, seen)
		}
		if t.polarity == unclear {
			verdict.decision = nil // it is asked already what the condition means
		}
		d.add(verdict)
		d.add(rule{status: health.Progressing, conditions: []condition{{t.name, []string{"Unknown"}, nil}}, guess: t.guess()})
	}
}

// parts are conditions that need not be there, but are no good sign when they are False:
// that an object is Available says nothing of the latest spec if that was not Accepted.
func (d *draft) parts(types decisive) []*conditionType {
	var found []*conditionType
	for _, t := range d.typesOf(good) {
		if acceptance[strings.ToLower(t.name)] && t.strength >= byObject && !slices.Contains(types.lasting, t) {
			found = append(found, t)
		}
	}
	return found
}

// reasons are those that objects have, by what they say.
type reasons struct{ passing, failing, holding, other []string }

func (t *conditionType) sortReasons(status string) (r reasons) {
	for _, reason := range t.reasons(status) {
		said := meaning(reason, nil)
		if repeats[strings.ToLower(reason)] {
			said = ""
		}
		switch said {
		case health.Progressing:
			r.passing = append(r.passing, reason)
		case health.Degraded:
			r.failing = append(r.failing, reason)
		case health.Suspended:
			r.holding = append(r.holding, reason)
		default:
			r.other = append(r.other, reason)
		}
	}
	return r
}

func (d *draft) reasonRule(t *conditionType, status string, verdict health.Status, reasons []string) {
	if len(reasons) > 0 {
		d.add(rule{status: verdict, conditions: []condition{{t.name, []string{status}, reasons}}, guess: "a reason seen in " + t.seenIn(reasons)})
	}
}

// kstatusNote tells of the shorthand for what a schema does not show.
func (d *draft) kstatusNote(t *conditionType) string {
	if t.name != "Ready" || d.observed == "" || d.conditions.shown() != "status.conditions" {
		return ""
	}
	return " If the controller follows kstatus, with the conditions Reconciling and Stalled, {kstatus: {}} takes the place of the rules of Ready."
}

// failureSign names what else tells that an object failed, "" for nothing.
func (d *draft) failureSign() string {
	// QuotaFailure tells one failure of several, Failed tells any.
	signs := slices.DeleteFunc(d.typesOf(bad), func(t *conditionType) bool { return !anyFailure[strings.ToLower(t.name)] })
	if len(signs) > 0 {
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

// seenIn are the files of the objects that have one of the reasons.
func (t *conditionType) seenIn(reasons []string) string {
	var files []string
	for _, s := range t.seen {
		if slices.Contains(reasons, s.reason) {
			files = unite(files, []string{s.file})
		}
	}
	return listing(files)
}

func (d *draft) kstatusRules() {
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
	var well, failed []string
	for _, t := range wanted {
		one := func(status string) string {
			text := fmt.Sprintf("c.type == %s && c.status == '%s'", celText(t.name), status)
			if l.current {
				text += " && (!has(c.observedGeneration) || !has(metadata.generation) || c.observedGeneration >= metadata.generation)"
			}
			return "e.conditions.exists(c, " + text + ")"
		}
		well, failed = append(well, one("True")), append(failed, one("False"))
	}
	d.add(rule{
		status: health.Degraded, when: fmt.Sprintf("%s.exists(e, %s)", list, strings.Join(failed, " || ")), guess: guessOf(wanted),
		decision: d.ask("%s=False in one entry of %s: a failure, or a state that passes? The draft says Degraded.", inWords(typeNames(wanted), "or"), printable(strings.Join(l.path, "."))),
	})
	d.add(rule{
		status: health.Healthy, when: fmt.Sprintf("size(%s) > 0 && %[1]s.all(e, %s)", list, strings.Join(well, " && ")), guess: guessOf(wanted),
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
