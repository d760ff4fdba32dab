package lint

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"hallmark.dev/hallmark/health/corpus"
	"hallmark.dev/hallmark/lua/vm"
)

// slowLimit is how long a check may take for one object. A controller judges
// thousands of objects one after the other.
const slowLimit = 50 * time.Millisecond

// maxTimeouts is how often a script is waited for until the rest of the objects is
// left out.
const maxTimeouts = 3

// maxMeasured is how many objects that took long are measured again.
const maxMeasured = 5

// Script lints one health script. file is its name for messages.
func Script(file, script string, opts Options) []Finding {
	l := &linter{file: file, opts: opts, groups: map[group]*Finding{}}
	source, err := vm.Read(script)
	if err == nil {
		l.script, err = vm.Compile(script, opts.OpenLibs)
	}
	if err != nil {
		line, msg := scriptError(err)
		return []Finding{{File: file, Line: line, Rule: Syntax, Severity: Error, Message: msg}}
	}
	l.source = source
	l.static()
	l.run()
	return sorted(l.findings)
}

// linter collects the findings of one script.
type linter struct {
	file     string
	opts     Options
	source   *vm.Source
	lacking  []vm.Use
	script   *vm.Script
	findings []Finding

	byName   map[string]*result // the objects as they were given or made up
	empty    []*result          // Healthy with one empty list
	unlikely []unlikely
	timeouts int
	measured int
	groups   map[group]*Finding
	order    []group
}

// A group is the findings that are told as one.
type group struct {
	rule Rule
	line int
	what string
}

// result is a case and what the script made of it.
type result struct {
	corpus.Case
	name    string // for the user
	given   bool   // made from an object that the user gave
	likely  bool   // a cluster can hold it
	returns vm.Return
	err     error // the script's
	verdict vm.Verdict
}

func scriptError(err error) (line int, msg string) {
	if e, ok := errors.AsType[*vm.Error](err); ok {
		return e.Line, e.Msg
	}
	return 0, err.Error()
}

// run tries the script on all objects: first those that the user gave, so that they
// are the ones that are shown.
func (l *linter) run() {
	l.try(l.opts.Objects, true)
	l.try(seeds(l.source, l.opts), false)
	l.emptyLists()
	l.raisesUnlikely()
	for _, g := range l.order {
		l.findings = append(l.findings, *l.groups[g])
	}
}

// try runs the script on objects and on what the corpus makes of them.
func (l *linter) try(objects []Object, given bool) {
	var values []map[string]any
	for _, o := range objects {
		values = append(values, o.Value)
	}
	l.byName = map[string]*result{}
	for _, c := range corpus.Objects(apiVersion(l.opts.Group), l.opts.Kind, values) {
		if l.timeouts == maxTimeouts {
			return
		}
		seed, rest, varied := strings.Cut(c.Name, ": ")
		if !l.matters(c) || seed == bareObject && !given {
			continue // a bare object has been tried with those that were given
		}
		r := result{Case: c, name: c.Name, given: given, likely: c.Variation != corpus.Refused && c.Variation != corpus.Large}
		n := 0
		if _, err := fmt.Sscanf(seed, "object %d", &n); err == nil {
			if r.name = objects[n-1].Name; !given {
				r.name = "made-up object with " + r.name
			}
			if varied {
				r.name += ": " + rest
			}
		}
		l.judge(&r)
		if n == 0 {
			r.given = false
			if r.err != nil && l.reads("spec") {
				r.likely = false // the schema may require what the empty spec lacks
			}
		}
		if c.Variation == corpus.AsGiven {
			l.byName[c.Name] = &r
		}
		l.one(&r)
		l.against(&r)
	}
}

// matters tells whether the script looks at what was changed. A controller's objects
// are large, and a script looks at few of their fields.
func (l *linter) matters(c corpus.Case) bool {
	if c.Variation == corpus.Large && l.opts.Now == nil {
		return false
	}
	if c.Path == "" || c.Variation == corpus.Stale || c.Variation == corpus.NoStatus {
		return true
	}
	changed := anyEntry.ReplaceAllString(c.Path, vm.Each)
	return slices.ContainsFunc(l.source.Fields, func(f vm.Field) bool {
		read := fieldText(f)
		return within(read, changed) || within(changed, read)
	})
}

var anyEntry = regexp.MustCompile(`\[\d+\]`)

// within tells whether path is outer or a field below it.
func within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func fieldText(f vm.Field) string {
	return strings.ReplaceAll(strings.Join(f.Path, "."), "."+vm.Each, vm.Each)
}

// raisesUnlikely adds one finding for all lines that raise on unlikely objects only.
// Most scripts have many.
func (l *linter) raisesUnlikely() {
	var first *unlikely
	lines := map[int]bool{}
	cases := 0
	for _, u := range l.unlikely {
		if l.groups[group{rule: Raises, line: u.line}] != nil {
			continue
		}
		if first == nil || u.line < first.line {
			first = &u
		}
		lines[u.line] = true
		cases++
	}
	if first == nil {
		return
	}
	message := first.message
	if len(lines) > 1 {
		message += fmt.Sprintf("; %d lines raise on such objects", len(lines))
	}
	l.findings = append(l.findings, Finding{
		File: l.file, Line: first.line, Rule: Raises, Severity: Warning, Message: message, Hint: first.hint,
		Case: first.r.name, Cases: cases, Object: shown(first.r),
	})
}

// unlikely is an error on an object that a schema would refuse.
type unlikely struct {
	r             *result
	line          int
	message, hint string
}

// shown is the object of a case, unless nobody can look at it.
func shown(r *result) map[string]any {
	if r.Variation == corpus.Large {
		return nil
	}
	return r.Object
}

// judge runs the script.
func (l *linter) judge(r *result) {
	var begin time.Time
	if l.opts.Now != nil {
		begin = l.opts.Now()
	}
	// A second of real time is soon over on a busy machine, so a script that runs for
	// ever is one that does so more than once.
	const tries = 4
	for range tries {
		if r.returns, r.err = l.script.Inspect(r.Object); r.err == nil || !strings.Contains(r.err.Error(), "deadline exceeded") {
			break
		}
	}
	if l.opts.Now != nil && r.err == nil && l.measured < maxMeasured && l.opts.Now().Sub(begin) > slowLimit {
		l.measured++
		l.slow(r)
	}
	if r.err == nil {
		r.verdict, r.err = r.returns.Verdict()
	}
}

// report adds a case to a finding. The first case is shown, a likely one before an
// unlikely one; and the finding is an error as soon as one case makes it one.
func (l *linter) report(r *result, line int, rule Rule, what string, severity Severity, message, hint string) {
	if !r.likely {
		severity = Warning
	}
	g := group{rule: rule, line: line, what: what}
	if rule == Raises && !r.likely {
		l.unlikely = append(l.unlikely, unlikely{r, line, message, hint})
		return
	}
	f := l.groups[g]
	if f == nil {
		f = &Finding{File: l.file, Line: line, Rule: rule}
		l.groups[g] = f
		l.order = append(l.order, g)
	}
	f.Cases++
	if f.Cases == 1 || f.Severity == Warning && severity == Error {
		f.Severity, f.Message, f.Hint, f.Case, f.Object = severity, message, hint, r.name, shown(r)
	}
}

const (
	hintAlways = "end the script with a return of a status and a message for everything that no line above it matched"
	hintText   = "put tostring(...) round the value"
)

// one reports what a single run shows.
func (l *linter) one(r *result) {
	if r.err != nil {
		line, msg := scriptError(r.err)
		switch {
		case msg == "context deadline exceeded":
			l.timeouts++
			l.report(r, line, Timeout, "", Error, "does not end within a second", "")
		case r.returns.Type != "":
			l.report(r, 0, NoVerdict, r.returns.Type, Error, "returns what is no verdict: "+msg, "")
		case l.told(line, msg):
		default:
			l.report(r, line, Raises, "", Error, msg, "test each value on the way for nil before it is indexed, concatenated or compared")
		}
		return
	}
	status := r.returns.Status
	switch {
	case r.returns.Type == "nil":
		l.report(r, 0, ReturnsNil, "", Error, "returns nil", hintAlways)
	case r.returns.Empty:
		l.report(r, 0, ReturnsEmpty, "", Error, "returns an empty table", hintAlways)
	case r.verdict.Status == "":
		l.erased(r)
	case status.Type == "nil":
		l.report(r, 0, InvalidStatus, "", Error, "returns a table without a status", hintAlways)
	case !vm.Valid(status.Text):
		l.report(r, 0, InvalidStatus, status.Text, Error, fmt.Sprintf("returns the status %q, which Argo CD does not know", status.Text), "")
	case status.Text == "Missing":
		l.report(r, 0, ReturnsMissing, "", Warning, "returns the status Missing", "return Progressing")
	case status.Text == "Unknown":
		l.report(r, 0, ReturnsUnknown, "", Warning, "returns the status Unknown", "return Progressing")
	case status.Text == "Healthy":
		l.healthy(r)
	}
}

// erased reports a verdict that Argo CD drops without an error.
func (l *linter) erased(r *result) {
	status, message := r.returns.Status, r.returns.Message
	switch {
	case message.Type != "nil" && message.Type != "string":
		verdict := "the verdict"
		if status.Text != "" {
			verdict = "the status " + status.Text
		}
		l.report(r, 0, ErasedVerdict, "message", Error, fmt.Sprintf("the message is a %s, which erases %s without an error", message.Type, verdict), hintText)
	case status.Type == "nil":
		l.report(r, 0, NoVerdict, "list", Error, "returns a list, which is dropped without an error", "")
	default:
		l.report(r, 0, ErasedVerdict, "status", Error, fmt.Sprintf("the status is a %s, which erases the verdict without an error", status.Type), hintText)
	}
}

// reads tells whether the script looks at the field or at one below it.
func (l *linter) reads(path ...string) bool {
	return slices.ContainsFunc(l.source.Fields, func(f vm.Field) bool {
		return len(f.Path) >= len(path) && slices.Equal(f.Path[:len(path)], path)
	})
}

// readsOfEntries tells whether the script looks at a field of entries of lists.
func (l *linter) readsOfEntries(name string) bool {
	return slices.ContainsFunc(l.source.Fields, func(f vm.Field) bool {
		return f.Path[len(f.Path)-1] == name && slices.Contains(f.Path, vm.Each)
	})
}

func (l *linter) healthy(r *result) {
	switch r.Variation {
	case corpus.NoStatus:
		if !l.reads("status") {
			break // a kind of which every object is Healthy, such as a configuration
		}
		what := "no status"
		if status, ok := r.Object["status"].(map[string]any); ok && len(status) == 0 {
			what = emptyStatus
		}
		severity := Error
		if !r.given && r.Base != bareObject {
			severity = Warning // a spec was made up for which the status may not matter
		}
		l.report(r, 0, HealthyNoStatus, what, severity, "Healthy for an object with "+what, "return Progressing until the controller has said something")
	case corpus.EmptyList:
		l.empty = append(l.empty, r)
	case corpus.Stale:
		l.stale(r)
	}
}

// emptyLists reports what is Healthy with an empty list and nothing else, unless it is
// Healthy with an empty status anyway.
func (l *linter) emptyLists() {
	if l.groups[group{rule: HealthyNoStatus, what: emptyStatus}] != nil {
		return
	}
	for _, r := range l.empty {
		path := cmp.Or(r.Path, "status.conditions")
		if l.reads(strings.Split(path, ".")...) {
			l.report(r, 0, HealthyEmptyList, path, Warning, "Healthy with an empty "+path, "return Progressing until the list has an entry")
		}
	}
}

const (
	emptyStatus = "an empty status"
	bareObject  = "bare object" // package corpus calls it so
)

// stale looks at an object that is Healthy whatever generation its status is of.
func (l *linter) stale(r *result) {
	base := l.byName[r.Base]
	if !l.reads("status") || base == nil || base.err != nil || base.verdict.Status != "Healthy" {
		return
	}
	status, _ := base.Object["status"].(map[string]any)
	has := status["observedGeneration"] != nil
	ofEntries := r.Path == ""
	switch {
	case has && ofEntries:
		return // the generation of the object as a whole counts
	case !has && !ofEntries && (len(l.opts.Objects) > 0 || l.readsOfEntries("observedGeneration")):
		return // the controller does not write it, or writes it elsewhere
	}
	severity := Warning
	if r.given {
		severity = Error
	}
	l.report(r, 0, StaleGeneration, "", severity, "Healthy by a status whose observedGeneration is older than metadata.generation",
		"return Progressing where observedGeneration is older than metadata.generation")
}

// against compares a case with the one that it was made from.
func (l *linter) against(r *result) {
	if r.Variation == corpus.AsGiven && r.err == nil {
		if other, err := l.script.InspectReversed(r.Object); err == nil {
			if v, err := other.Verdict(); err == nil && v.Status != r.verdict.Status {
				l.report(r, 0, KeyOrder, "", Error,
					fmt.Sprintf("%s or %s, as pairs happens to visit the keys of a table", statusText(r.verdict), statusText(v)), "")
			}
		}
	}
	if r.Variation != corpus.Order || r.err != nil {
		return
	}
	base := l.byName[r.Base]
	if base.err != nil || base.verdict.Status == r.verdict.Status || !conditions(r.Object, r.Path) {
		return
	}
	severity := Warning
	if r.given {
		severity = Error
	}
	l.report(r, 0, ConditionOrder, r.Path, severity,
		fmt.Sprintf("%s, but %s with the conditions in another order", statusText(base.verdict), statusText(r.verdict)),
		"look for one type after the other, the worst first, in all conditions")
}

func statusText(v vm.Verdict) string {
	if v.Status == "" {
		return "no status"
	}
	return v.Status
}

// conditions tells whether the entries of the list at a path have types.
func conditions(object map[string]any, path string) bool {
	var v any = object
	for step := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[step]
	}
	list, _ := v.([]any)
	return len(list) > 0 && !slices.ContainsFunc(list, func(item any) bool {
		entry, _ := item.(map[string]any)
		_, ok := entry["type"].(string)
		return !ok
	})
}
