// Package health is the health check of a custom resource as a spec: what its
// YAML means, with positions, and how its CEL expressions are type-checked.
//
// A spec is data and independent of where it runs. Package compile turns it into
// the Lua that Argo CD runs, package eval evaluates it directly and is the oracle
// that the generated script is compared with.
//
// The rule of the folder: whatever object it is given, a spec yields one of four
// statuses (Healthy, Progressing, Degraded, Suspended) and a message. A rule whose
// expression errors, such as on a missing field, does not match.
//
// # The format
//
//	apiVersion: hallmark.dev/v1
//	kind: HealthCheck
//	metadata: {name: certificate}
//	spec:
//	  targets:                                # what it is for; globs as in argocd-cm
//	    - {group: cert-manager.io, kinds: [Certificate]}
//	  observedGeneration: status.observedGeneration
//	  noStatus: {status: Progressing, message: waiting for the controller}
//	  rules:                                  # the first that matches wins
//	    - {status: Progressing, condition: {type: Issuing, status: "True"}}
//	    - {status: Degraded, condition: {type: Ready, status: "False"}}
//	    - {status: Healthy, when: "status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')"}
//	  otherwise: {status: Progressing, message: no condition reported yet}
//
// The fields of spec:
//
//	targets             group ("" is the core group) and kinds. "*" stands for any text.
//	observedGeneration  a CEL expression, the generation that the controller has seen, a whole number or its
//	                    decimal text. Older than metadata.generation is Progressing; absent is not older.
//	conditions          defaults of the shorthand condition: {path: status.conditions, current: false}
//	phase               the path of the shorthand phase; default status.phase
//	variables           further top-level keys of the object that expressions may use, beside apiVersion, kind,
//	                    metadata, spec and status: [data]
//	useOpenLibs         the script may use Lua's string library, and argocd-cm says so to Argo CD
//	noStatus            a status and a plain message for an object that has no status, or an empty one
//	rules               see below; noStatus is tried first, then observedGeneration, then these
//	otherwise           a status and a plain message where nothing matches; default Progressing
//
// A rule has a status, and one or more of when, condition and phase, which must
// all hold:
//
//	when       a CEL expression
//	condition  {type, status, reason, notReason, current, path}, or a list of such. type, status, reason and
//	           notReason are a text or a list of texts. With current: true an entry whose own observedGeneration is older
//	           than metadata.generation does not count.
//	phase      a text or a list of texts
//	message    a CEL expression. Numbers and booleans are printed; no value, or any other, is no message.
//	           The default is the message of the first condition that the rule names, or none.
//
// Or it is one of the shorthands that stand for several rules:
//
//	{kstatus: {}}  a resource that follows the conventions of kstatus, with the condition Ready
//	{job: {}}      a Job of batch
//	{ledger: {}}   a MigrationLedger. Degraded: a change failed, an invariant is broken, a lease has
//	               expired. Healthy: all that the spec asks for is recorded as done, its invariants were checked
//	               and hold, and the revision is the one that is asked for, which can be the one that
//	               the plugin has stamped on the object. Progressing: everything else, also what is UNKNOWN.
//
// What each stands for is in presets.go, and `hallmark health build --expand` prints it
// for a spec.
//
// # What an expression sees
//
// The variables are the object's top-level keys, as in Flux. An expression means
// what CEL says it means, over the object as Lua in Argo CD can see it:
//
//   - A null is absent, also in a list: Argo CD drops it before the script runs.
//   - A number is an int where it is whole and below 2^53, and a double otherwise;
//     Lua has one kind of number. Arithmetic is for ints; a result of 2^53 or more
//     is an error, as an overflow is in CEL. A double can be compared.
//   - An empty list and an empty map are equal, and each does for the other.
//   - The keys of a map are visited in their order.
//   - int(text) wants the canonical decimal form, so "007" is an error.
//   - size() counts a list or a map. Of a text it only tells whether it is empty,
//     unless useOpenLibs is set; any other use is an error.
//
// What Lua cannot do exactly is a fault of the spec that names the construct and
// the way out; nothing is approximated.
//
// Two functions are hallmark's own and not in Flux: now() is the time in seconds
// since 1970, and list.first(c, test) is the first entry for which the test is
// true, an error if it is for none. Messages, which Flux does not have, may use
// both freely.
package health
