package health

import (
	"strconv"

	"github.com/google/cel-go/common/types"

	"hallmark.dev/hallmark/internal/fields"
)

// staleMessage is that of an object whose latest generation was not observed yet.
const staleMessage = "'waiting for the controller to observe the latest generation'"

// presetRule is a rule that a shorthand stands for.
type presetRule struct {
	status        Status
	when, message string // CEL
}

// kstatusRules are the rules of cli-utils' kstatus for a resource that follows its
// conventions, with one exception: kstatus calls an object without a Ready
// condition current, so that a wave would pass before its controller has done
// anything; here such an object comes to what follows the shorthand.
// Source: kubernetes-sigs/cli-utils, pkg/kstatus/status.
var kstatusRules = []presetRule{
	{Progressing, "has(metadata.deletionTimestamp)", "'being deleted'"},
	{Progressing, "int(string(status.observedGeneration)) != metadata.generation", staleMessage},
	{Progressing, isTrue("Reconciling"), messageOf("Reconciling")},
	{Degraded, isTrue("Stalled"), messageOf("Stalled")},
	{Healthy, isTrue("Ready"), messageOf("Ready")},
	{Progressing, "status.conditions.exists(c, c.type == 'Ready')", messageOf("Ready")},
}

// jobRules are those of a batch Job. A Job that is Complete says that a container
// exited with 0, and no more.
var jobRules = []presetRule{
	{Degraded, isTrue("Failed"), messageOf("Failed")},
	{Healthy, isTrue("Complete"), messageOf("Complete")},
	{Suspended, isTrue("Suspended") + " || spec.suspend == true", "'the job is suspended'"},
	{Progressing, "status.active > 0", "string(status.active) + ' active pods'"},
}

// ledgerRules are those of a MigrationLedger. Healthy needs every change that the
// object asks for to be recorded as SUCCEEDED, with its invariants checked and
// holding, and, where it asks for one, by that source revision: a change that an
// earlier release recorded proves nothing of this one. An expired lease means that
// somebody has to look, never that the change did not happen.
var ledgerRules = []presetRule{
	{Progressing, "int(string(status.observedGeneration)) < metadata.generation", staleMessage},
	{Degraded, "status.changes.exists(c, c.state == 'FAILED' && " + asked + ")",
		"'failed: ' + status.changes.filter(c, c.state == 'FAILED' && " + asked + ").map(c, c.key).join(', ')"},
	{Degraded, "status.changes.exists(c, c.state == 'SUCCEEDED' && c.invariants.exists(i, i.holds == false) && " + asked + ")",
		"'an invariant is broken: ' + status.changes.first(c, c.state == 'SUCCEEDED' && c.invariants.exists(i, i.holds == false) && " + asked + ").key"},
	{Degraded, isTrue("LeaseExpired"), "'investigate, do not re-run: ' + " + messageOf("LeaseExpired")},
	{Degraded, isTrue("Stalled"), messageOf("Stalled")},
	{Healthy, "size(spec.changes) > 0 && spec.changes.all(s, status.changes.exists(c, c.key == s.key && c.state == 'SUCCEEDED'" +
		" && (!has(s.sourceRevision) || s.sourceRevision == c.sourceRevision) && (!has(c.invariants) || c.invariants.all(i, i.holds == true))))",
		"'recorded as done: ' + spec.changes.map(s, s.key).join(', ')"},
	{Progressing, "spec.changes.exists(s, status.changes.exists(c, c.key == s.key && c.state == 'SUCCEEDED' && has(s.sourceRevision) && " + anotherRevision + "))",
		"'recorded by another revision: ' + status.changes.filter(c, spec.changes.exists(s, s.key == c.key && has(s.sourceRevision) && " + anotherRevision + "))" +
			".map(c, c.key + ' by ' + c.?sourceRevision.orValue('one that is not known')).join(', ')"},
	{Progressing, "spec.changes.exists(s, !status.changes.exists(c, c.key == s.key && c.state == 'SUCCEEDED'))",
		"'waiting for ' + spec.changes.filter(s, !status.changes.exists(c, c.key == s.key && c.state == 'SUCCEEDED')).map(s, s.key).join(', ')"},
	{Progressing, "size(spec.changes) > 0", "'an invariant is not checked yet'"},
}

// anotherRevision is true of an entry c of the status that was not recorded by the
// revision that the spec's entry s asks for.
const anotherRevision = "(!has(c.sourceRevision) || s.sourceRevision != c.sourceRevision)"

// asked is true of an entry c of the status that the spec asks for.
const asked = "spec.changes.exists(s, s.key == c.key)"

// isTrue is true where the object has the condition.
func isTrue(condition string) string {
	return "status.conditions.exists(c, c.type == '" + condition + "' && c.status == 'True')"
}

func messageOf(condition string) string {
	return "status.conditions.first(c, c.type == '" + condition + "').message"
}

// preset adds the rules that a shorthand stands for.
func (p *parser) preset(label, name string, f fields.Field) {
	f.Mapping() // it has no settings yet: {}
	rules := map[string][]presetRule{"kstatus": kstatusRules, "job": jobRules, "ledger": ledgerRules}[name]
	line, col := f.Position()
	for i, rule := range rules {
		p.add(Rule{
			Label:  label + "." + strconv.Itoa(i+1),
			Status: rule.status, Line: line, Col: col,
			When:    p.implied(f, rule.when, types.BoolType),
			Message: p.implied(f, rule.message, nil),
		})
	}
}
