// Package infer drafts a HealthCheck from a CustomResourceDefinition and, where
// there are some, from objects of its kind.
//
// A schema says which fields a status has and hardly ever what they mean. So a
// draft is made of guesses: each carries a comment with what it rests on, and what
// only a person can answer is listed at the top. A draft is always a valid spec,
// and it never calls an object Healthy for want of knowledge: where nothing says
// when an object is Healthy, the Healthy rule asks for a field that no object has
// and stands under a comment that says so.
//
// # What is looked for
//
//   - status.observedGeneration, and observedGeneration in each condition;
//   - status.conditions, or such a list one level deeper (status.v1.conditions), or
//     one in each entry of a list (status.parents of the Gateway API), whose entries
//     have type and status;
//   - condition types, the surest source first: printer columns, the enum or the
//     default of the schema, objects, lists in descriptions, words in descriptions;
//   - a text that tells a state: a field below status, or one level deeper, whose
//     name ends in phase, state, status, health, stage or result, or whose enum has
//     values both of what is Healthy and of what is not. Its values are those of the
//     enum, of lists in its description ("one of Pending, Running, Failed"), and
//     those seen in objects;
//   - flags below spec: suspend, suspended, pause, paused;
//   - counts: status.readyReplicas or status.availableReplicas against
//     spec.replicas, and the same for what the scale subresource names;
//   - booleans that tell a state (status.ready) and texts that tell of a failure
//     (status.failureReason).
//
// Printer columns tell which of these counts, since somebody chose them for people
// to read. Of a definition with several versions the storage version counts.
//
// # What words mean
//
// The lists are in words.go. A value is compared by its words, in lower case:
// CREATE_FAILED is "create failed". It has a meaning if it is in a list as a whole,
// or if its words say one thing: failure, a pause, or work under way, by the list or
// because a word ends in -ing. A value whose words say several things, or that is
// negated ("NotFailed"), has none. A value is never Healthy because of one of its
// words: PartiallyReady is not. What has no meaning is in no rule and stands in the
// list of what to decide; the draft gives such an object Progressing.
//
// Running is Healthy, or Progressing where another value says that the work comes
// to an end (Succeeded, Completed). Words that may be a step on the way, such as
// Provisioned or Deployed, are Healthy only where no other value is, and where there
// are values of failure or of work under way.
package infer
