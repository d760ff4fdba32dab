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
// somebody has to look, never that the change did not happen. What was read of the
// database stays true while it cannot be read: that is only said where the object waits.
var ledgerRules = []presetRule{
	{Progressing, "int(string(status.observedGeneration)) < metadata.generation", staleMessage + unread},
	{Degraded, "status.changes.exists(c, c.state == 'FAILED' && " + asked + ")",
		"'failed: ' + status.changes.filter(c, c.state == 'FAILED' && " + asked + ").map(c, c.key + " + said + ").join(', ')"},
	{Degraded, "status.changes.exists(c, " + broken + " && " + asked + ")",
		"'an invariant is broken: ' + status.changes.first(c, " + broken + " && " + asked + ").key + ': ' + " +
			"status.changes.first(c, " + broken + " && " + asked + ").invariants.filter(i, i.?holds.orValue(true) == false).map(i, i.name).join(', ')"},
	{Degraded, isTrue("LeaseExpired"), "'investigate, do not re-run: ' + " + messageOf("LeaseExpired")},
	{Degraded, isTrue("Stalled"), messageOf("Stalled")},
	{Healthy, "size(spec.changes) > 0 && spec.changes.all(s, status.changes.exists(c, " + done +
		" && (!has(s.sourceRevision) || s.sourceRevision == c.sourceRevision)" +
		" && (s.?requireRenderedRevision.orValue(false) == false || " + rendered + " == c.sourceRevision)" +
		" && " + checked + "))",
		"'recorded as done: ' + spec.changes.map(s, s.key).join(', ')"},
	{Progressing, "!has(status.changes)", "'nothing is recorded yet'" + unread},
	{Progressing, "spec.changes.exists(s, s.requireRenderedRevision == true) && !metadata.?annotations['" + revisionAnnotation + "'].hasValue()",
		"'asks for the revision that was rendered, and has no annotation " + revisionAnnotation + "'" + unread},
	{Progressing, "spec.changes.exists(s, status.changes.exists(c, " + done + " && " + byAnother + "))",
		"'recorded by another revision: ' + spec.changes.filter(s, status.changes.exists(c, " + done + " && " + byAnother + "))" +
			".map(s, s.key + ' by ' + status.changes.first(c, c.key == s.key).?sourceRevision.orValue('one that is not known') + ', not ' + " +
			"s.?sourceRevision.orValue(" + rendered + ")).join('; ')" + unread},
	{Progressing, "spec.changes.exists(s, !status.changes.exists(c, " + done + "))",
		"'waiting for ' + spec.changes.filter(s, !status.changes.exists(c, " + done + ")).map(s, s.key + " +
			"status.changes.filter(c, c.key == s.key).map(c, ' (' + c.state + (has(c.leaseUntil) ? ' until ' + c.leaseUntil : '') + ')' + " + said + ").join('')).join(', ')" + unread},
	{Progressing, "size(spec.changes) > 0", "'an invariant is not checked yet: ' + " +
		"spec.changes.filter(s, !status.changes.exists(c, " + done + " && " + checked + ")).map(s, s.key).join(', ')" + unread},
}

// What the rules say of an entry c of the status and the entry s of the spec that asks
// for it.
const (
	asked  = "spec.changes.exists(s, s.key == c.key)"
	done   = "c.key == s.key && c.state == 'SUCCEEDED'"
	broken = "c.state == 'SUCCEEDED' && c.invariants.exists(i, i.holds == false)"
	// checked is true where the invariants that s names are recorded, and all that are recorded hold.
	checked = "s.?invariants.orValue([]).all(n, c.?invariants.orValue([]).exists(i, i.name == n))" +
		" && c.?invariants.orValue([]).all(i, i.?holds.orValue(false) == true)"
	// byAnother is true where c was not recorded by the revision that s asks for.
	byAnother = "(has(s.sourceRevision) && c.?sourceRevision.orValue('') != s.sourceRevision" +
		" || s.?requireRenderedRevision.orValue(false) == true && c.?sourceRevision.orValue('') != " + rendered + ")"

	// said is what the status says of c beside its state.
	said = "(has(c.message) ? ': ' + c.message : '')"

	// The plugin stamps an object with the revision that it was rendered from.
	revisionAnnotation = "hallmark.dev/source-revision"
	rendered           = "metadata.annotations['" + revisionAnnotation + "']"

	// unread ends a message where the database cannot be read at the moment.
	unread = " + status.?conditions.orValue([]).filter(c, c.type == 'DatabaseUnreachable' && c.status == 'True')" +
		".map(c, '; DatabaseUnreachable: ' + c.?message.orValue('')).join('')"
)

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
