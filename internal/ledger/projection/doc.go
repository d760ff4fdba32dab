// Package projection turns what a database has of some changes into the status of a
// MigrationLedger, on which Argo CD, Flux, Helm, kubectl wait and a person can wait.
// [Project] is a function of its arguments alone: it asks no database and no clock.
//
// # Verdicts
//
// Each change that the spec asks for has an entry in status.changes. The worst of them
// decides the conditions, in this order; the reason is that of Ready and of the
// condition beside it:
//
//	reason                 Ready  beside it         what it means
//	Failed                 False  Stalled           it is recorded as failed, a person decides
//	InvariantBroken        False  Stalled           it is done, and a query says that it is not well
//	LeaseExpired           False  Stalled, and      whoever ran it is gone: investigate, do not re-run
//	                              LeaseExpired
//	StateUnknown           False  Reconciling       the row speaks of another target, or the tool's
//	                                                table cannot tell
//	RevisionNotStamped     False  Reconciling       the rendered revision is asked for and the object has none
//	OtherRevision          False  Reconciling       another revision recorded it
//	Running                False  Reconciling       somebody runs it and their lease is not over
//	NotRecorded            False  Reconciling       nothing is recorded, or a person issued an attempt
//	                                                that has not begun
//	InvariantUnchecked     False  Reconciling       it is done, and a query was not asked yet
//	Succeeded              True   -                 all are done, by the revision that is asked for
//
// An attempt that a person issued is ABSENT until it begins, although the row still
// says how the one before it failed: a release that goes on after that decision must
// not find the failure that was just dealt with.
//
// # A database that cannot be read
//
// What was read before stays as it is, and DatabaseUnreachable says that it is not
// renewed. Facts do not stop being true because nobody can look. A new generation stays
// unobserved meanwhile, so that everybody waits. An object of which nothing was ever
// read waits with Reconciling.
//
// # The rendered revision
//
// requireRenderedRevision compares with an annotation, and a change of an annotation is
// no new generation. Until the next look a status answers the annotation before it. The
// health check of Argo CD compares for itself; Flux and kubectl wait have kstatus alone,
// and are to ask for a sourceRevision, or for a new key, which are part of the spec.
//
// # What makes a status differ
//
// Writes cost, and each one makes Argo CD look at the application again. Nothing in a
// status moves by itself: lastTransitionTime is kept while a condition keeps its status,
// and no message has a time that changes. leaseUntil does change, at each renewal of a
// running change. It is written nevertheless: a status that shows a lease as over while
// the executor holds it would send a person to investigate a healthy run. That is one
// write for each renewal, a few in the life of a change.
package projection
