// Package rules holds the release rules behind `hallmark lint` and the lint section
// of a policy: jobs and hooks, the order of a sync, two writers of one field,
// deletion, references between objects, images and secrets.
//
// A rule reads the objects of one render and reports findings; it never changes an
// object and needs no cluster. What must never pass, whatever the policy, is no rule
// but belongs to package gate.
//
// # Which findings
//
// A finding is something that a careful reviewer would raise, with the object, the
// field and the remedy. So a rule judges only what the render itself shows: that a
// ConfigMap is not among the objects is no finding, since another application may
// bring it; that it is created after the hook that mounts it is one. Where a custom
// resource may make the pods that a Service selects, nobody can tell, and nothing is
// said.
//
// Phases, waves and hooks are read by the code of Argo CD itself (gitops-engine), so
// that Helm's hooks mean here what they mean there.
//
// # Waivers
//
// An annotation waives a rule on its object until a day, for a reason:
//
//	metadata:
//	  annotations:
//	    waive.hallmark.dev/job-deadline: 2027-03-31 the vendor's chart has no value for it
//
// The day is the last on which it holds, in UTC. Without a day and a reason, after the
// day, and for a rule whose name is misspelt the waiver is a finding itself. The name of
// a rule that is not known is one where [Options.Team] has rules, and otherwise may be
// that of a policy which is not at hand: then it is advice.
//
// # Rules of a team
//
// Package rules/admission evaluates rules in CEL, in the form of a
// ValidatingAdmissionPolicy; [Options.Team] runs them with the others.
package rules
