package health

import (
	"github.com/google/cel-go/common/types"

	"hallmark.dev/hallmark/internal/fields"
)

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
	{Progressing, "int(string(status.observedGeneration)) != metadata.generation",
		"'waiting for generation ' + string(metadata.generation) + ' to be observed, seen is ' + string(status.observedGeneration)"},
	{Progressing, exists("Reconciling", "True"), messageOf("Reconciling")},
	{Degraded, exists("Stalled", "True"), messageOf("Stalled")},
	{Healthy, exists("Ready", "True"), messageOf("Ready")},
	{Progressing, "status.conditions.exists(c, c.type == 'Ready')", messageOf("Ready")},
}

// jobRules are those of a batch Job. A Job that is Complete says that a container
// exited with 0, and no more.
var jobRules = []presetRule{
	{Degraded, exists("Failed", "True"), messageOf("Failed")},
	{Healthy, exists("Complete", "True"), messageOf("Complete")},
	{Suspended, exists("Suspended", "True") + " || spec.suspend == true", "'the job is suspended'"},
	{Progressing, "status.active > 0", "string(status.active) + ' active pods'"},
}

// ledgerRules are those of a MigrationLedger. Healthy needs every change that the
// object asks for to be recorded as SUCCEEDED, and, where it asks for one, by that
// source revision: a change that an earlier release recorded proves nothing of
// this one. An expired lease means that somebody has to look, never that the
// change did not happen.
var ledgerRules = []presetRule{
	{Progressing, "int(string(status.observedGeneration)) < metadata.generation",
		"'waiting for generation ' + string(metadata.generation) + ' to be observed, seen is ' + string(status.observedGeneration)"},
	{Degraded, exists("Stalled", "True"), messageOf("Stalled")},
	{Degraded, "status.changes.exists(c, c.state == 'FAILED' && spec.changes.exists(s, s.key == c.key))",
		"'failed: ' + status.changes.filter(c, c.state == 'FAILED').map(c, c.key).join(', ')"},
	{Degraded, "status.changes.exists(c, c.state == 'SUCCEEDED' && c.invariants.exists(i, i.holds == false) && spec.changes.exists(s, s.key == c.key))",
		"'an invariant is broken'"},
	{Degraded, exists("LeaseExpired", "True"), messageOf("LeaseExpired")},
	{Healthy, "size(spec.changes) > 0 && spec.changes.all(s, status.changes.exists(c, c.key == s.key && c.state == 'SUCCEEDED' && (!has(s.sourceRevision) || s.sourceRevision == c.sourceRevision)))",
		"string(size(spec.changes)) + ' changes are recorded as done'"},
	{Progressing, "size(spec.changes) > 0",
		"'waiting for ' + spec.changes.filter(s, !status.changes.exists(c, c.key == s.key && c.state == 'SUCCEEDED')).map(s, s.key).join(', ')"},
}

func exists(condition, status string) string {
	return "status.conditions.exists(c, c.type == '" + condition + "' && c.status == '" + status + "')"
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
			Label:  label + "." + string(rune('1'+i)),
			Status: rule.status, Line: line, Col: col,
			When:    p.implied(f, rule.when, types.BoolType),
			Message: p.implied(f, rule.message, nil),
		})
	}
}
